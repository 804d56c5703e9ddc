//! The load of a durability test, in a process of its own: a database within that process dies with it.

use lydite_audit::Acknowledged;
use lydite_audit::consistency::Look;
use lydite_console::exit::Failure;
use lydite_console::program::program;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Line that the process prints once all terminals are connected.
pub(crate) const READY: &str = "ready";
/// Line that it reads: the terminals stand still while it looks at the database, and prints what it saw as JSON.
pub(crate) const LOOK_NOW: &str = "look";
/// Begin of the line that it prints at its end: the transactions that the terminals saw acknowledged, as JSON.
pub(crate) const ACKNOWLEDGED: &str = "acknowledged ";
/// Time between two looks at the process.
const LOOK: Duration = Duration::from_millis(20);

/// The reason why a load did not do what it was asked to, in words.
pub(crate) struct LoadError(pub(crate) String);

/// The end of a load.
pub(crate) struct Ended {
    /// False if all terminals went on: nothing has failed.
    pub(crate) lost: bool,
    /// Transactions that the terminals saw acknowledged; none if they had to be killed.
    pub(crate) acknowledged: Option<Acknowledged>,
}

/// A load in another process. Dropping it kills the process.
pub(crate) struct LoadProcess {
    child: Child,
    /// The load stops when it is closed.
    input: Option<ChildStdin>,
    /// Lines that it prints.
    lines: Receiver<String>,
}

impl LoadProcess {
    /// Starts the load.
    pub(crate) fn start(
        url: &str,
        file: &Path,
        terminals: u32,
        seed: u64,
        reconnects: bool,
    ) -> io::Result<Self> {
        let mut command = Command::new(program()?);
        command.args([
            "audit-load",
            "--terminals",
            &terminals.to_string(),
            "--seed",
            &seed.to_string(),
            "--file",
        ]);
        command.arg(file).args(reconnects.then_some("--reconnect"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C must reach this process only.
        command.process_group(0);
        let mut child = command.spawn()?;
        let mut input = child.stdin.take();
        if let Some(input) = &mut input {
            io::Write::write_all(input, format!("{url}\n").as_bytes())?;
        }
        let (send, lines) = channel();
        if let Some(output) = child.stdout.take() {
            thread::Builder::new().name("audit-load".into()).spawn(move || {
                // Nobody waits if the test is over.
                BufReader::new(output).lines().map_while(Result::ok).try_for_each(|line| send.send(line))
            })?;
        }
        Ok(Self { child, input, lines })
    }

    /// Waits until all terminals are connected.
    ///
    /// # Errors
    /// The process ended before, and said why.
    pub(crate) fn wait_until_ready(
        &mut self,
        patience: Duration,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(), LoadError> {
        let line = self.line(Some(patience), interrupted)?;
        if line == READY {
            return Ok(());
        }
        Err(LoadError(format!("the load begins with {line:?}: please report this")))
    }

    /// Lets the terminals stand still while the process looks at the database.
    ///
    /// # Errors
    /// The process ended before, and said why.
    pub(crate) fn look(&mut self, interrupted: &dyn Fn() -> bool) -> Result<Look, LoadError> {
        if let Some(input) = &mut self.input {
            io::Write::write_all(input, format!("{LOOK_NOW}\n").as_bytes())
                .map_err(|error| LoadError(format!("the load takes no requests: {error}")))?;
        }
        let line = self.line(None, interrupted)?;
        serde_json::from_str(&line).map_err(|error| LoadError(format!("the load answers {line:?}: {error}")))
    }

    /// Waits for the next line that the process prints.
    fn line(
        &mut self,
        patience: Option<Duration>,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<String, LoadError> {
        let begun = Instant::now();
        loop {
            match self.lines.recv_timeout(LOOK) {
                Ok(line) => return Ok(line),
                Err(RecvTimeoutError::Disconnected) => return Err(LoadError(self.last_words())),
                Err(RecvTimeoutError::Timeout) if interrupted() => {
                    return Err(LoadError("interrupted".into()));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Some(patience) = patience.filter(|patience| begun.elapsed() >= *patience) {
                return Err(LoadError(format!("the load did not begin in {} s", patience.as_secs())));
            }
        }
    }

    /// Ends the process if it has not ended, and returns its messages.
    pub(crate) fn last_words(&mut self) -> String {
        let _gone = self.kill();
        let mut text = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            let _partial = stderr.read_to_string(&mut text);
        }
        let lines: Vec<&str> = text.lines().collect();
        if lines.is_empty() { "the load ended without a word".into() } else { lines.join("; ") }
    }

    /// True if the process has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// Kills the process (SIGKILL), and returns how it ended: perhaps by itself, before.
    pub(crate) fn kill(&mut self) -> io::Result<ExitStatus> {
        self.child.kill()?;
        self.child.wait()
    }

    /// Ends the process after a failure of the database. The terminals have the time `notice` to notice the failure. Those
    /// that have not are asked to stop, and killed after `patience`.
    ///
    /// # Errors
    /// The load ended for a reason of its own, for example because the success file can't be written.
    pub(crate) fn end(mut self, notice: Duration, patience: Duration) -> Result<Ended, LoadError> {
        let noticed = self.ended_within(notice);
        drop(self.input.take());
        if !noticed && !self.ended_within(patience) {
            return Ok(Ended { lost: true, acknowledged: None });
        }
        let lost = Failure::Target(String::new()).code().into();
        let lost = match self.child.wait() {
            Ok(status) if status.success() => false,
            Ok(status) if status.code() == Some(lost) => true,
            _ => return Err(LoadError(self.last_words())),
        };
        // The lines end with the process.
        let line = self.lines.iter().find_map(|line| line.strip_prefix(ACKNOWLEDGED).map(str::to_owned));
        let acknowledged = line.map(|line| serde_json::from_str(&line)).transpose();
        let bad =
            |error| LoadError(format!("the load's line about what was acknowledged can't be read: {error}"));
        Ok(Ended { lost, acknowledged: acknowledged.map_err(bad)? })
    }

    /// Waits for the end of the process. Returns false if it still runs after `patience`.
    fn ended_within(&mut self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        while !self.has_ended() {
            if Instant::now() >= deadline {
                return false;
            }
            thread::sleep(LOOK);
        }
        true
    }
}

impl Drop for LoadProcess {
    fn drop(&mut self) {
        let _gone = self.kill();
    }
}
