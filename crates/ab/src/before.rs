//! The command before a run: a shell command of the user's, with a limit of its time.

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

/// A command before a run.
#[derive(Debug)]
pub(crate) struct Before<'a> {
    /// The flag that has it.
    pub(crate) flag: &'a str,
    /// The command's text for the shell.
    pub(crate) command: &'a str,
    /// The file that gets its output. A pipe would stay open as long as a server that it started.
    pub(crate) log: &'a Path,
    /// Longest time.
    pub(crate) limit: Duration,
}

/// Rejects a command that the shell can't read.
///
/// # Errors
/// The shell's error.
pub(crate) fn check(flag: &str, command: &str) -> Outcome {
    let failed = |problem: &str| Failure::usage(format!("{flag}: {problem}"));
    if command.trim().is_empty() {
        return Err(failed("is empty: leave it out, or name a command"));
    }
    let mut shell = Command::new("sh");
    shell.args(["-n", "-c", command]).stdin(Stdio::null());
    let output = shell.output().map_err(|error| failed(&format!("sh can't be started: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(failed(&format!("the shell can't read it: {}", said.lines().next().unwrap_or("no reason given"))))
}

impl Before<'_> {
    /// Runs it to its end, and returns the lines that it printed.
    ///
    /// # Errors
    /// It fails, takes too long, or the user interrupts.
    pub(crate) fn run(&self, interrupt: &Interrupt) -> Result<Vec<String>, Failure> {
        let of_log = |error: io::Error| self.failed(&format!("{}: {error}", self.log.display()));
        let log = File::create(self.log).map_err(of_log)?;
        let errors = log.try_clone().map_err(of_log)?;
        let mut shell = Command::new("sh");
        shell.args(["-c", self.command]).stdin(Stdio::null()).stdout(log).stderr(errors);
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
            None if interrupt.asked() => {
                Err(Failure::Interrupted(format!("interrupted: {} was ended", self.flag)))
            }
            None => Err(self.failed(&format!(
                "was ended after {} s: give it more with --before-timeout (its output is {})",
                self.limit.as_secs_f64(),
                self.log.display()
            ))),
        }
    }

    /// Waits for the end; `None` if the command was ended.
    fn wait(
        &self,
        child: &mut Child,
        begun: Instant,
        interrupt: &Interrupt,
    ) -> io::Result<Option<ExitStatus>> {
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status));
            }
            if begun.elapsed() >= self.limit || interrupt.asked() {
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
        Failure::usage(format!("{}: {problem}", self.flag))
    }
}
