//! The load of the durability test, in a process of its own: a database within that process dies with it.

use crate::cli::AuditLoadArgs;
use crate::exit::{Failure, Outcome};
use crate::host::program;
use crate::output::print;
use lydite_audit::checkpoints::Checkpoints;
use lydite_audit::load::Load;
use lydite_database::{DatabaseState, Target, TxMode};
use lydite_families::TargetSpec;
use lydite_plan::values::time;
use lydite_report::observed::counts_checkpoints;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Line that the process prints once all terminals are connected.
const READY: &str = "ready";
/// Line that it prints while the database counts checkpoints, and there was none yet.
const NO_CHECKPOINT: &str = "no checkpoint yet";
/// Line that it prints after a checkpoint.
const CHECKPOINT: &str = "checkpoint";
/// Time between two looks at the counters of checkpoints.
const COUNT: Duration = Duration::from_secs(1);
/// Time between two looks at the process.
const LOOK: Duration = Duration::from_millis(20);

/// Runs `lydite audit-load`: reads the URL from the standard input, since it may hold a password, and plays the load
/// until the input ends.
pub(crate) fn command(args: &AuditLoadArgs) -> Outcome {
    let mut input = BufReader::new(io::stdin());
    let mut url = String::new();
    input.read_line(&mut url).map_err(|error| Failure::usage(format!("standard input: {error}")))?;
    let spec = TargetSpec::parse(url.trim_end(), TxMode::Statements).map_err(Failure::Usage)?;
    let target: Arc<dyn Target> = spec.open()?;
    let DatabaseState::Ready { meta } = target.state()? else {
        return Err(Failure::usage("the database is not loaded: use lydite audit"));
    };
    let stop = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&stop);
    thread::Builder::new()
        .name("input".into())
        .spawn(move || {
            let _ended = input.read_to_end(&mut Vec::new());
            over.store(true, Ordering::Relaxed);
        })
        .map_err(|error| Failure::usage(format!("the system gives no thread to watch the input: {error}")))?;
    let counted = (Arc::clone(&target), Arc::clone(&stop));
    let turns = args.turns.as_deref().map(time).transpose().map_err(Failure::usage)?;
    let load =
        Load { target, meta, terminals: args.terminals, seed: args.seed, file: args.file.clone(), turns };
    let mut printed = Ok(());
    let ready = || {
        printed = print(&format!("{READY}\n"));
        // Without the thread nobody knows of checkpoints.
        let counter = thread::Builder::new().name("checkpoints".into());
        let _started = counter.spawn(move || report_checkpoints(&*counted.0, &counted.1));
    };
    let played = load.play(ready, &stop)?;
    if turns.is_some() {
        let counts: Vec<String> = played.new_orders.iter().map(u64::to_string).collect();
        print(&format!("New-Orders of each turn: {}\n", counts.join(" ")))?;
    }
    // The test that made the database fail does not read it; one whose database failed by itself does.
    match played.lost.first() {
        Some(lost) => Err(Failure::Target(lost.clone())),
        None => printed,
    }
}

/// Prints whether the database has made a checkpoint, until it has. A database that counts none ends it, and so does one
/// that has failed.
fn report_checkpoints(target: &dyn Target, stop: &AtomicBool) {
    let Ok(mut checkpoints) = Checkpoints::watch(target, counts_checkpoints) else { return };
    let mut printed = "";
    while !stop.load(Ordering::Relaxed) && printed != CHECKPOINT {
        let line = match checkpoints.seen() {
            Ok(Some(true)) => CHECKPOINT,
            Ok(Some(false)) => NO_CHECKPOINT,
            Ok(None) | Err(_) => return,
        };
        if line != printed && print(&format!("{line}\n")).is_err() {
            return;
        }
        printed = line;
        thread::sleep(COUNT);
    }
}

/// A load in another process. Dropping it kills the process.
pub(super) struct LoadProcess {
    child: Child,
    /// The load stops when it is closed.
    input: Option<ChildStdin>,
    ready: Receiver<()>,
    /// True once the database has made a checkpoint; `None` while it is not known to count them.
    checkpoint: Arc<Mutex<Option<bool>>>,
}

impl LoadProcess {
    /// Starts the load.
    pub(super) fn start(url: &str, file: &Path, terminals: u32, seed: u64) -> io::Result<Self> {
        let mut command = Command::new(program()?);
        command.args([
            "audit-load",
            "--terminals",
            &terminals.to_string(),
            "--seed",
            &seed.to_string(),
            "--file",
        ]);
        command.arg(file).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C must reach this process only.
        command.process_group(0);
        let mut child = command.spawn()?;
        let mut input = child.stdin.take();
        if let Some(input) = &mut input {
            io::Write::write_all(input, format!("{url}\n").as_bytes())?;
        }
        let (send, ready) = channel();
        let checkpoint = Arc::<Mutex<Option<bool>>>::default();
        let seen = Arc::clone(&checkpoint);
        if let Some(output) = child.stdout.take() {
            thread::Builder::new().name("audit-load".into()).spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    match line.as_str() {
                        // Nobody waits if the test is over.
                        READY => drop(send.send(())),
                        CHECKPOINT | NO_CHECKPOINT => {
                            *seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(line == CHECKPOINT);
                        }
                        _ => {}
                    }
                }
            })?;
        }
        Ok(Self { child, input, ready, checkpoint })
    }

    /// Returns true if the database has made a checkpoint; `None` if it is not known to count them.
    pub(super) fn checkpoint(&self) -> Option<bool> {
        *self.checkpoint.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all terminals are connected.
    ///
    /// # Errors
    /// The process ended before, and said why.
    pub(super) fn wait_until_ready(
        &mut self,
        patience: Duration,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(), String> {
        let begun = Instant::now();
        loop {
            match self.ready.recv_timeout(LOOK) {
                Ok(()) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => return Err(self.last_words()),
                Err(RecvTimeoutError::Timeout) if interrupted() => return Err("interrupted".into()),
                Err(RecvTimeoutError::Timeout) if begun.elapsed() >= patience => {
                    return Err(format!("the load did not begin in {} s", patience.as_secs()));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Ends the process if it has not ended, and returns its messages.
    pub(super) fn last_words(&mut self) -> String {
        let _gone = self.kill();
        let mut text = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            let _partial = stderr.read_to_string(&mut text);
        }
        let lines: Vec<&str> = text.lines().collect();
        if lines.is_empty() { "the load ended without a word".into() } else { lines.join("; ") }
    }

    /// True if the process has ended.
    pub(super) fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// Kills the process (SIGKILL), and returns how it ended: perhaps by itself, before.
    pub(super) fn kill(&mut self) -> io::Result<ExitStatus> {
        self.child.kill()?;
        self.child.wait()
    }

    /// Ends the process after a failure of the database. Waits for the terminals to notice the failure, then asks those
    /// that have not to stop, then kills the process. Returns false if all terminals went on: nothing has failed.
    ///
    /// # Errors
    /// The load ended for a reason of its own, for example because the success file can't be written.
    pub(super) fn end(mut self, patience: Duration) -> Result<bool, String> {
        let noticed = self.ended_within(patience);
        drop(self.input.take());
        if !noticed && !self.ended_within(patience) {
            return Ok(true);
        }
        let lost = Failure::Target(String::new()).code().into();
        match self.child.wait() {
            Ok(status) if status.success() => Ok(false),
            Ok(status) if status.code() == Some(lost) => Ok(true),
            _ => Err(self.last_words()),
        }
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
