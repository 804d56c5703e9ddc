//! `command`: the user's own commands, for faults that no other kind knows.

use super::{Acts, Kind, no_arguments};
use crate::error::FaultError;
use crate::fault::Fault;
use crate::process::{ProcessId, trees};
use crate::spec::{Commands, FaultSpec};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::FromRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Longest time limit of a command. Injectors wait longer for the answer of a guard.
pub(super) const LIMIT: Duration = Duration::from_secs(120);
/// Most bytes of a failed command's errors that are read, from their end.
const SAID: u64 = 400;
/// Time between two looks at a command.
const LOOK: Duration = Duration::from_millis(5);

/// The kind.
pub(super) struct Command;

impl Kind for Command {
    type State = Commands;
    const NAME: &'static str = "command";
    const ACTS: Acts = Acts::Locally;
    const OUTLIVES_BOOT: bool = true;

    fn read(&self, fault: &FaultSpec) -> Result<(), FaultError> {
        match &fault.commands {
            None => Err(wrong("needs a table [[fault]] of a plan file, with begin = \"COMMAND\"")),
            Some(commands) if commands.begin.trim().is_empty() => {
                Err(wrong("has an empty begin: name a command"))
            }
            Some(commands) if commands.limit.is_zero() => {
                Err(wrong("has a limit of zero: write a time, as 10s"))
            }
            Some(commands) if commands.limit > LIMIT => {
                let most = LIMIT.as_secs();
                Err(wrong(format!("has a limit above {most} s: a fault begins at a moment of the run")))
            }
            Some(_) => no_arguments(fault),
        }
    }

    fn check(&self, fault: &Fault) -> Result<Commands, Vec<FaultError>> {
        let commands = fault.spec.commands.clone().ok_or_else(|| wrong("has no command"))?;
        // The shell reads the commands without running them.
        let texts = [Some(&commands.begin), commands.end.as_ref()];
        let problems: Vec<FaultError> =
            texts.into_iter().flatten().filter_map(|text| syntax(text).err()).collect();
        if problems.is_empty() { Ok(commands) } else { Err(problems) }
    }

    fn how(&self, _: &Commands) -> String {
        "sh -c".into()
    }

    fn begin(&self, commands: &mut Commands) -> Result<String, FaultError> {
        run("begin", &commands.begin, commands.limit)
    }

    fn end(&self, commands: &Commands) -> Result<String, FaultError> {
        commands.end.as_ref().map_or(Ok(String::new()), |end| run("end", end, commands.limit))
    }
}

/// Returns a problem of what the user wrote.
fn wrong(words: impl Into<String>) -> FaultError {
    FaultError::Wrong(words.into())
}

/// Rejects a command that the shell can't read.
fn syntax(text: &str) -> Result<(), FaultError> {
    let mut shell = std::process::Command::new("sh");
    shell.args(["-n", "-c", text]).stdin(Stdio::null());
    let output = shell.output().map_err(|error| FaultError::system("sh can't be started", error))?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let reason = stderr.lines().next().unwrap_or("no reason given");
    Err(wrong(format!("has a command that the shell can't read: {reason}")))
}

/// Runs a shell command; see [`run_to_end`].
fn run(name: &str, text: &str, limit: Duration) -> Result<String, FaultError> {
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", text]).stdout(Stdio::null());
    run_to_end(name, shell, limit)
}

/// Runs a command to its end. Returns how long it took. A command that takes longer than `limit` is killed with all
/// processes that it started.
///
/// # Errors
/// It can't be started, fails, or takes too long.
pub(super) fn run_to_end(
    name: &str,
    mut command: std::process::Command,
    limit: Duration,
) -> Result<String, FaultError> {
    let begun = Instant::now();
    let mut errors = memory_file().map_err(|error| FaultError::system(name, error))?;
    command
        .stdin(Stdio::null())
        .stderr(errors.try_clone().map_or_else(|_| Stdio::null(), Stdio::from))
        .process_group(0);
    let mut child = command.spawn().map_err(|error| {
        FaultError::system(format!("{name}: {} can't be started", command.get_program().display()), error)
    })?;
    let ended = wait(&mut child, begun, limit).map_err(|error| FaultError::system(name, error))?;
    let status = match ended {
        Some(status) => status,
        None => {
            let processes = ProcessId::of(child.id()).map(|root| trees(&[root])).unwrap_or_default();
            processes.iter().for_each(|process| drop(process.signal(libc::SIGKILL)));
            let _reaped = child.wait();
            let seconds = limit.as_secs_f64();
            return Err(FaultError::Failed(format!("{name} was ended after {seconds} s, its time limit")));
        }
    };
    if status.success() {
        Ok(format!("{name} took {:.1} s", begun.elapsed().as_secs_f64()))
    } else {
        Err(FaultError::Failed(format!("{name} failed: {status}{}", last_line(&mut errors))))
    }
}

/// Makes a file without a name, for what a command says. A pipe would be full at some time, or stay open as long as a
/// process that the command started.
pub(super) fn memory_file() -> std::io::Result<File> {
    // The function of the C library is newer (2.27) than the oldest one that released programs run with.
    // SAFETY: the name is a string with an end, and lives longer than the call.
    let made = unsafe { libc::syscall(libc::SYS_memfd_create, c"lydite-fault".as_ptr(), libc::MFD_CLOEXEC) };
    let Some(file) = i32::try_from(made).ok().filter(|file| *file >= 0) else {
        return Err(std::io::Error::last_os_error());
    };
    // SAFETY: the descriptor is new, and nobody else has it.
    Ok(unsafe { File::from_raw_fd(file) })
}

/// Returns the last line that a command said, behind a colon; empty if it said nothing that can be read.
pub(super) fn last_line(said: &mut File) -> String {
    let mut text = Vec::new();
    let length = said.seek(SeekFrom::End(0)).unwrap_or_default();
    let tail = SeekFrom::Start(length.saturating_sub(SAID));
    if said.seek(tail).and_then(|_| said.take(SAID).read_to_end(&mut text)).is_err() {
        return String::new();
    }
    let text = String::from_utf8_lossy(&text);
    text.lines()
        .rfind(|line| !line.trim().is_empty())
        .map_or_else(String::new, |line| format!(": {}", line.trim()))
}

/// Waits for a command; none if its time is over.
fn wait(child: &mut Child, begun: Instant, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begun.elapsed() >= limit {
            return Ok(None);
        }
        thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_ends_well_fails_or_is_ended() {
        let limit = Duration::from_secs(600);
        assert!(run("begin", "true", limit).unwrap().starts_with("begin took"));
        assert_eq!(run("end", "exit 3", limit).unwrap_err().to_string(), "end failed: exit status: 3");
        let said =
            run("end", "echo no disk; echo no disk >&2; echo >&2; exit 3", limit).unwrap_err().to_string();
        assert_eq!(said, "end failed: exit status: 3: no disk");
        let late = run("begin", "sleep 60 & sleep 60", Duration::from_millis(50)).unwrap_err().to_string();
        assert_eq!(late, "begin was ended after 0.05 s, its time limit");
    }

    #[test]
    fn a_command_that_the_shell_can_not_read_is_found_without_running_it() {
        assert!(syntax("exit 3").is_ok());
        assert!(syntax("if true").unwrap_err().to_string().contains("can't read"));
    }
}
