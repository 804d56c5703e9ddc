//! The durability test (clause 3.5.4): a load with a success file, a failure, the recovery, and the comparison.

use super::load::LoadProcess;
use crate::commands::faults::places;
use crate::interrupt::Interrupt;
use crate::scratch::Scratch;
use lydite_audit::durability::{Recovered, Trial};
use lydite_audit::load::SuccessFile;
use lydite_audit::{Finding, Scope};
use lydite_database::{DatabaseState, Target, TargetError};
use lydite_families::TargetSpec;
use lydite_faults::{Fault, FaultSpec, Injector, Where};
use lydite_plan::controls::faults::addresses_of;
use lydite_tpcc::meta::DatabaseMeta;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Longest wait for the load, for a command of the user's, and for the database after it.
const PATIENCE: Duration = Duration::from_secs(300);
/// Longest wait until the terminals of a database that has failed notice it, and then until they stop.
const LOAD_ENDS: Duration = Duration::from_secs(10);
/// Entries of the success file before the failure.
const LEAST_ENTRIES: usize = 10;
/// A failure that is none.
const WENT_ON: &str =
    "answered all terminals without a break: use a --kill that ends the servers of this database";
/// Time between two looks.
const LOOK: Duration = Duration::from_millis(50);

/// The failure of the test.
pub(super) enum Crash {
    /// The process with the database is killed.
    Process,
    /// The servers of a lab are killed, and started again.
    Lab(Fault),
    /// The user's own shell commands.
    Commands {
        /// Ends the database.
        kill: String,
        /// Starts it again.
        restart: String,
    },
    /// None, for this reason.
    Unknown(String),
}

impl Crash {
    /// Returns the failure of the servers of a lab, if the URL names one.
    pub(super) fn of_lab(url: &str) -> Self {
        let spec = FaultSpec {
            kind: "kill".into(),
            arguments: None,
            from: Duration::ZERO,
            // The audit ends it, which starts the servers again.
            to: Some(PATIENCE),
            host: None,
            places: vec![Where::Nodes(None)],
            commands: None,
        };
        match places::resolve(&spec, &addresses_of(url)) {
            Ok(fault) => Self::Lab(fault),
            Err(problems) => Self::Unknown(format!(
                "the database can't be made to fail ({}): use --kill COMMAND and --restart COMMAND",
                problems.join("; ")
            )),
        }
    }
}

/// Everything that the test needs.
pub(super) struct Test<'a> {
    pub(super) spec: &'a TargetSpec,
    pub(super) url: &'a str,
    pub(super) meta: &'a DatabaseMeta,
    pub(super) scope: Scope,
    pub(super) crash: &'a Crash,
    /// True if the database's settings make a commit survive the loss of power.
    pub(super) durable: bool,
    pub(super) duration: Duration,
    pub(super) terminals: u32,
    pub(super) seed: u64,
    pub(super) scratch: &'a Scratch,
    pub(super) interrupt: &'a Interrupt,
}

impl Test<'_> {
    /// Makes the test. A database within this process is closed first, so it takes the only handle.
    pub(super) fn make(&self, target: Arc<dyn Target>) -> Finding {
        let mut trial = match Trial::begin(&*target, self.meta, self.scope) {
            Ok(trial) => trial,
            Err(error) => return Trial::impossible(self.scope, error.message),
        };
        drop(target);
        if let Crash::Unknown(why) = self.crash {
            return trial.not_run(why.clone());
        }
        match self.fail(&mut trial) {
            Ok(()) => {}
            Err(Problem::NotRun(why)) => return trial.not_run(why),
            Err(Problem::Gone(why)) => return trial.failed(why),
            Err(Problem::Stopped) => return trial.stopped(),
        }
        let begun = Instant::now();
        let recovered = match self.recovered(&trial) {
            Ok(recovered) => recovered,
            Err(Problem::Stopped) => return trial.stopped(),
            Err(Problem::NotRun(why) | Problem::Gone(why)) => return trial.failed(why),
        };
        trial.step(format!("the database answers again after {:.1} s", begun.elapsed().as_secs_f64()));
        match SuccessFile::read(&self.file()) {
            Ok(file) => trial.judge(&recovered, &file, self.terminals, self.durable),
            Err(problem) => trial.not_run(problem),
        }
    }

    fn file(&self) -> std::path::PathBuf {
        self.scratch.path().join("success")
    }

    /// Runs the load, and the failure in it. Afterwards the database has been started again.
    fn fail(&self, trial: &mut Trial) -> Result<(), Problem> {
        let failed = |error: std::io::Error| Problem::NotRun(format!("the load can't be started: {error}"));
        let mut load =
            LoadProcess::start(self.url, &self.file(), self.terminals, self.seed).map_err(failed)?;
        let asked = || self.interrupt.asked();
        load.wait_until_ready(PATIENCE, &asked)
            .map_err(|problem| if asked() { Problem::Stopped } else { Problem::NotRun(problem) })?;
        let begun = Instant::now();
        let ripe = || {
            begun.elapsed() >= self.duration
                && SuccessFile::read(&self.file()).is_ok_and(|file| file.entries() >= LEAST_ENTRIES)
        };
        while !ripe() {
            if self.interrupt.asked() {
                return Err(Problem::Stopped);
            }
            if load.has_ended() {
                return Err(Problem::NotRun(format!(
                    "the load ended before the failure: {}",
                    load.last_words()
                )));
            }
            if begun.elapsed() > self.duration + PATIENCE {
                return Err(Problem::NotRun(format!(
                    "the load ended fewer than {LEAST_ENTRIES} New-Orders in {:.0} s",
                    begun.elapsed().as_secs_f64()
                )));
            }
            thread::sleep(LOOK);
        }
        let entries = SuccessFile::read(&self.file()).map_or(0, |file| file.entries());
        let seconds = begun.elapsed().as_secs_f64();
        let short = if self.duration < Duration::from_secs(300) {
            ", shorter than the 5 min of the clause"
        } else {
            ""
        };
        trial.step(format!(
            "a load of {} terminals for {seconds:.0} s{short}: {entries} entries in the success file",
            self.terminals
        ));
        match self.crash {
            Crash::Process => {
                load.kill().map_err(|error| Problem::NotRun(format!("the load can't be killed: {error}")))?;
                trial.step("the process with the database and its terminals is killed (SIGKILL)");
            }
            Crash::Lab(fault) => {
                let mut injector = Injector::start(fault.clone(), Some(PATIENCE))
                    .map_err(|error| Problem::NotRun(format!("the guard can't be started: {error}")))?;
                injector.wait_until_ready().map_err(Problem::NotRun)?;
                let begun = injector.begin().map_err(Problem::NotRun)?;
                trial.step(format!("all servers are killed: {}", begun.proof));
                let failed = load.end(LOAD_ENDS);
                let proof = injector.end().map_err(Problem::Gone)?;
                trial.step(format!("the servers are started again: {proof}"));
                failed
                    .then_some(())
                    .ok_or_else(|| Problem::NotRun(format!("the killed servers {WENT_ON}")))?;
            }
            Crash::Commands { kill, restart } => {
                let killed = shell(kill);
                trial.step(format!("failure: {kill}"));
                let failed = load.end(LOAD_ENDS);
                // A command that failed may have done its work in part.
                let restarted = shell(restart);
                trial.step(format!("recovery: {restart}"));
                killed.and(restarted).map_err(Problem::NotRun)?;
                failed
                    .then_some(())
                    .ok_or_else(|| Problem::NotRun(format!("'{kill}' ended, but the database {WENT_ON}")))?;
            }
            Crash::Unknown(why) => return Err(Problem::NotRun(why.clone())),
        }
        Ok(())
    }

    /// Opens the database again and reads it, once all its nodes have recovered.
    fn recovered(&self, trial: &Trial) -> Result<Recovered, Problem> {
        let begun = Instant::now();
        let look = || {
            let target = self.spec.open()?;
            match target.state()? {
                DatabaseState::Ready { .. } => trial.recovered(&*target, self.meta),
                state => {
                    Err(TargetError::database(format!("it is not the loaded database any more: {state:?}")))
                }
            }
        };
        loop {
            match look() {
                Ok(recovered) => return Ok(recovered),
                Err(_) if self.interrupt.asked() => return Err(Problem::Stopped),
                Err(error) if begun.elapsed() > PATIENCE => {
                    return Err(Problem::Gone(format!("the database did not come back: {error}")));
                }
                Err(_) => thread::sleep(LOOK),
            }
        }
    }
}

/// Early end of the test.
enum Problem {
    /// The test could not be made.
    NotRun(String),
    /// The database did not come back.
    Gone(String),
    /// The user stopped it.
    Stopped,
}

/// Runs a command of the user's to its end. Ctrl-C does not reach it, because a database that it restarts must come back.
fn shell(command: &str) -> Result<(), String> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("{command}: {error}"))?;
    let begun = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("{command}: {status}")),
            Ok(None) if begun.elapsed() < PATIENCE => thread::sleep(LOOK),
            Ok(None) => {
                let _gone = child.kill().and_then(|()| child.wait().map(drop));
                return Err(format!("{command}: it did not end in {} s", PATIENCE.as_secs()));
            }
            Err(error) => return Err(format!("{command}: {error}")),
        }
    }
}
