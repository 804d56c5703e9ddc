//! A command before or after a run: a shell command of the user's, with a limit of its time.

use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_faults::process::{ProcessId, Processes};
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two looks at the command.
const LOOK: Duration = Duration::from_millis(20);
/// Most lines of its output that are shown.
const LINES: usize = 20;
/// Most letters of a shown line.
const LETTERS: usize = 200;

/// The longest time of a command, unless the user says another one.
pub const COMMAND_LIMIT: Duration = Duration::from_secs(600);

/// A command before or after a run.
#[derive(Debug)]
pub struct ShellCommand<'a> {
    /// The flag or the key that has it.
    pub name: &'a str,
    /// The command's text for the shell.
    pub command: &'a str,
    /// Variables of its environment, beside those of this process.
    pub variables: &'a [(String, String)],
    /// The file that gets its output. A pipe would stay open as long as a server that it started.
    pub log: &'a Path,
    /// Longest time.
    pub limit: Duration,
    /// The flag or the key that has the longest time.
    pub limit_name: &'a str,
}

impl ShellCommand<'_> {
    /// Rejects a command that the shell can't read. `name` is the flag or the key that has it.
    ///
    /// # Errors
    /// The shell's error.
    pub fn check(name: &str, command: &str) -> Outcome {
        problem(command).map_or(Ok(()), |problem| Err(Failure::usage(format!("{name}: {problem}"))))
    }

    /// Runs it to its end, and returns the lines that it printed. It runs on when the user interrupts, if `interrupt` is
    /// `None`.
    ///
    /// # Errors
    /// It fails, takes too long, or the user interrupts.
    pub fn run(&self, interrupt: Option<&Interrupt>) -> Result<Vec<String>, Failure> {
        let of_log = |error: io::Error| self.failed(&format!("{}: {error}", self.log.display()));
        let log = File::create(self.log).map_err(of_log)?;
        let errors = log.try_clone().map_err(of_log)?;
        let mut shell = Command::new("sh");
        shell.args(["-c", self.command]).stdin(Stdio::null()).stdout(log).stderr(errors);
        shell.envs(self.variables.iter().map(|(name, value)| (name, value)));
        // Ctrl-C must reach this process only, which then ends the command.
        shell.process_group(0);
        let begun = Instant::now();
        let mut child =
            shell.spawn().map_err(|error| self.failed(&format!("sh can't be started: {error}")))?;
        let ended = self.wait(&mut child, begun, interrupt);
        let lines = self.printed();
        match ended.map_err(|error| self.failed(&error.to_string()))? {
            Some(status) if status.success() => Ok(lines),
            Some(status) => {
                let last = lines.last().map_or_else(String::new, |line| format!(": {line}"));
                Err(self.failed(&format!("failed: {status}{last} (its output is {})", self.log.display())))
            }
            None if asked(interrupt) => {
                Err(Failure::Interrupted(format!("interrupted: {} was ended", self.name)))
            }
            None => Err(self.failed(&format!(
                "was ended after {} s: give it more with {} (its output is {})",
                self.limit.as_secs_f64(),
                self.limit_name,
                self.log.display()
            ))),
        }
    }

    /// Waits for the end; `None` if the command was ended.
    fn wait(
        &self,
        child: &mut Child,
        begun: Instant,
        interrupt: Option<&Interrupt>,
    ) -> io::Result<Option<ExitStatus>> {
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status));
            }
            if begun.elapsed() >= self.limit || asked(interrupt) {
                let root = ProcessId::of(child.id());
                let processes = root.map(|root| Processes::now().tree(root)).unwrap_or_default();
                // One that has ended gets no signal.
                processes.iter().for_each(|process| drop(process.signal(libc::SIGKILL)));
                child.wait()?;
                return Ok(None);
            }
            thread::sleep(LOOK);
        }
    }

    /// Returns the last lines of its output.
    fn printed(&self) -> Vec<String> {
        let text = fs::read(self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let all: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let clean = |line: &str| -> String {
            line.trim_end().chars().filter(|letter| !letter.is_control()).take(LETTERS).collect()
        };
        let skipped = all.len().saturating_sub(LINES);
        let first = (skipped > 0).then(|| format!("… {skipped} lines before, in {}", self.log.display()));
        first.into_iter().chain(all.into_iter().skip(skipped).map(clean)).collect()
    }

    fn failed(&self, problem: &str) -> Failure {
        Failure::usage(format!("{}: {problem}", self.name))
    }
}

/// Returns the reason why the shell can't read a command; none if it can.
pub(crate) fn problem(command: &str) -> Option<String> {
    if command.trim().is_empty() {
        return Some("is empty: leave it out, or name a command".to_owned());
    }
    let mut shell = Command::new("sh");
    shell.args(["-n", "-c", command]).stdin(Stdio::null());
    match shell.output() {
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Some(format!("the shell can't read it: {}", said.lines().next().unwrap_or("no reason given")))
        }
        Err(error) => Some(format!("sh can't be started: {error}")),
    }
}

fn asked(interrupt: Option<&Interrupt>) -> bool {
    interrupt.is_some_and(Interrupt::asked)
}
