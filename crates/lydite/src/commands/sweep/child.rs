//! A run as a process of its own: this program again, with the plan through a pipe, so that memory, caches and crashes
//! are the run's, and no password is in a file or in the list of processes.

use super::grid::Point;
use super::store::Ending;
use crate::interrupt::Interrupt;
use lydite_plan::MAX_LABEL;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How often the run is looked at. Rarely, so as not to disturb it.
const LOOK: Duration = Duration::from_millis(100);
/// The most that is kept of what a run said.
const SAID_MAX: u64 = 64 * 1024;

/// What is told of a run that did not end well, in letters.
const SAID_SHOWN: usize = 400;

/// What database a run begins with.
pub(super) enum Begin {
    /// One that it loads anew.
    Fresh,
    /// What the template of this name holds.
    Template(String),
    /// What it finds.
    AsItIs,
}

/// Makes the run and waits for its end. `lock` stays locked until the run has ended, whatever becomes of this process;
/// `verify`: it may begin with function tests; `look` is called now and then with the time since the start. If the user
/// interrupts, the run is asked to end.
pub(super) fn run(
    point: &Point,
    json: &Path,
    begin: &Begin,
    verify: bool,
    lock: &File,
    interrupt: &Interrupt,
    look: &mut dyn FnMut(Duration),
) -> io::Result<Ending> {
    let begun = Instant::now();
    let mut command = Command::new(program()?);
    command.args(["run", "--quiet", "--config", "/dev/stdin", "--json"]).arg(json);
    let label = label(&point.label);
    if !label.is_empty() {
        command.arg(format!("--label={label}"));
    }
    match begin {
        Begin::Fresh => _ = command.arg("--fresh"),
        Begin::Template(name) => _ = command.args(["--template", name]),
        Begin::AsItIs => {}
    }
    if !verify && point.plan.micro.is_none() && !point.given.contains_key("verify") {
        command.args(["--set", "verify=off"]);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    // Ctrl-C reaches this process only, which passes it on once: a second signal would cut the run off.
    command.process_group(0);
    tie(&mut command, lock);
    let mut child = command.spawn()?;
    let stderr = child.stderr.take();
    let said = thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(mut stderr) = stderr {
            let _as_far_as_it_came = stderr.by_ref().take(SAID_MAX).read_to_end(&mut text);
            // Else a run that says more would wait for a reader.
            let _rest = io::copy(&mut stderr, &mut io::sink());
        }
        String::from_utf8_lossy(&text).into_owned()
    });
    if let Some(mut stdin) = child.stdin.take() {
        // A run that ended already says why itself.
        let _ended = stdin.write_all(plan_file(point).as_bytes());
    }
    let status = wait(&mut child, interrupt, begun, look)?;
    let said = said.join().unwrap_or_default();
    Ok(Ending { took_s: begun.elapsed().as_secs_f64(), exit_code: status.code(), said: words(&said, status) })
}

fn wait(
    child: &mut Child,
    interrupt: &Interrupt,
    begun: Instant,
    look: &mut dyn FnMut(Duration),
) -> io::Result<ExitStatus> {
    let mut asked = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if interrupt.asked() && !asked {
            asked = true;
            end(child);
        }
        look(begun.elapsed());
        thread::sleep(LOOK);
    }
}

/// This program, also if its file was replaced since it was started.
fn program() -> io::Result<std::path::PathBuf> {
    if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { std::env::current_exe() }
}

/// A point's label as a run takes it.
fn label(of_point: &str) -> String {
    let line = of_point.chars().map(|letter| if letter.is_control() { ' ' } else { letter });
    line.take(MAX_LABEL).collect::<String>().trim().to_owned()
}

/// The plan as a plan file; values are texts there as well as anywhere.
fn plan_file(point: &Point) -> String {
    point
        .given
        .iter()
        .map(|(key, value)| format!("{key} = {}\n", toml::Value::String(value.clone())))
        .collect()
}

/// What a run said, in one line, if it did not end well.
fn words(said: &str, status: ExitStatus) -> String {
    if status.success() {
        return String::new();
    }
    let lines: Vec<&str> = said
        .lines()
        .map(|line| line.strip_prefix("lydite: ").unwrap_or(line).trim())
        .filter(|line| !line.is_empty())
        .collect();
    let mut all = lines.join("; ");
    if let Some(signal) = status.signal() {
        all = format!("ended by signal {signal}{}{all}", if all.is_empty() { "" } else { ": " });
    }
    let clean: String = all.chars().filter(|letter| !letter.is_control()).collect();
    if clean.chars().count() <= SAID_SHOWN {
        return clean;
    }
    clean.chars().take(SAID_SHOWN).chain(['…']).collect()
}

/// Lets the run hold the lock, and end when this process does.
fn tie(command: &mut Command, lock: &File) {
    let lock = lock.as_raw_fd();
    let parent = std::process::id() as libc::pid_t;
    // SAFETY: fcntl, prctl and getppid are async-signal-safe, change only the child, and nothing else is done between fork and
    // exec. The descriptor is open as long as `lock`, which outlives the spawning.
    unsafe {
        command.pre_exec(move || {
            if libc::fcntl(lock, libc::F_SETFD, 0) == -1 {
                return Err(io::Error::last_os_error());
            }
            #[cfg(target_os = "linux")]
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) == -1 {
                return Err(io::Error::last_os_error());
            }
            // It may have ended before that.
            if libc::getppid() != parent {
                return Err(io::ErrorKind::Interrupted.into());
            }
            Ok(())
        });
    }
}

/// Asks the run to end as Ctrl-C would: it writes what it has measured.
fn end(child: &Child) {
    // SAFETY: kill has no memory preconditions; the child has not been waited for, so the number is its own.
    let _gone = unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
}
