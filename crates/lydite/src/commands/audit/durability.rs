//! The durability tests (clause 3.5.4): a load with a success file, a failure, the recovery, and the comparison.

use super::load::LoadProcess;
use crate::commands::faults::places;
use crate::interrupt::Interrupt;
use crate::scratch::Scratch;
use lydite_audit::durability::{Failure, Recovered, Trial};
use lydite_audit::success_file::SuccessFile;
use lydite_audit::{Finding, Scope};
use lydite_database::{DatabaseState, Target, TargetError};
use lydite_families::TargetSpec;
use lydite_faults::{Commands, Fault, FaultSpec, Injector, Where};
use lydite_plan::controls::faults::addresses_of;
use lydite_tpcc::meta::DatabaseMeta;
use std::num::NonZeroU32;
use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Longest wait for the load, and for the database after its failure.
const PATIENCE: Duration = Duration::from_secs(300);
/// Longest time of a command of the user's.
const COMMAND_LIMIT: Duration = Duration::from_secs(240);
/// Longest wait until the terminals of a database that has failed notice it, and then until they stop.
const LOAD_ENDS: Duration = Duration::from_secs(10);
/// Load on the other nodes after the loss of a disk.
const GOES_ON: Duration = Duration::from_secs(3);
/// Entries of the success file before the failure.
const LEAST_ENTRIES: usize = 10;
/// A failure that is none.
const WENT_ON: &str =
    "answered all terminals without a break: use a --kill that ends the servers of this database";
/// Longest load between a standstill of the terminals and the failure.
const RESUMED: Duration = Duration::from_secs(5);
/// Longest wait until a node with a new disk has all rows.
const COPIED: Duration = Duration::from_secs(30 * 60);
/// The kind of fault that takes a node's disk.
const DISK_LOSS: &str = "disk-loss";
/// Time between two looks.
const LOOK: Duration = Duration::from_millis(50);

/// The failure of the test.
pub(super) enum Crash {
    /// The process with the database is killed.
    Process,
    /// The servers of a lab are killed and started again, or the user's own commands do that.
    Fault(Fault),
    /// A node of a lab loses its data, and copies them from the other nodes again.
    DiskLoss {
        /// The fault.
        fault: Fault,
        /// The node alone.
        node: Box<TargetSpec>,
    },
    /// None, for this reason.
    Unknown(Failure, String),
}

impl Crash {
    /// Returns the failure of the servers of a lab, if the URL names one.
    pub(super) fn of_lab(url: &str) -> Self {
        match places::resolve(&fault("kill", Where::Nodes(None), None), &addresses_of(url)) {
            Ok(fault) => Self::Fault(fault),
            // The advice comes first: the problems advise places of faults, which an audit does not have.
            Err(problems) => Self::Unknown(
                Failure::Crash,
                format!(
                    "use --kill COMMAND and --restart COMMAND: Lydite can't kill these servers by itself ({})",
                    problems.join("; ")
                ),
            ),
        }
    }

    /// Returns the loss of a node's disk, if the URL names a lab whose nodes have all rows each.
    pub(super) fn disk_loss(url: &str, spec: &TargetSpec) -> Option<Self> {
        let addresses = addresses_of(url);
        let server = places::last_server(&addresses)?;
        server.copies.as_ref()?;
        let node = Box::new(spec.on_port(server.port)?);
        let last = Where::Nodes(Some(NonZeroU32::MIN));
        Some(match places::resolve(&fault(DISK_LOSS, last, None), &addresses) {
            Ok(fault) => Self::DiskLoss { fault, node },
            Err(problems) => Self::Unknown(Failure::DiskLoss, problems.join("; ")),
        })
    }

    /// Returns true unless there is no way to make the database fail.
    pub(super) fn is_known(&self) -> bool {
        !matches!(self, Self::Unknown(..))
    }

    /// Returns what the database has to survive.
    fn failure(&self) -> Failure {
        match self {
            Self::Process | Self::Fault(_) => Failure::Crash,
            Self::DiskLoss { .. } => Failure::DiskLoss,
            Self::Unknown(failure, _) => *failure,
        }
    }

    /// Returns the failure by shell commands: `kill` makes the database fail, `restart` starts it again.
    ///
    /// # Errors
    /// The shell can't read a command.
    pub(super) fn of_commands(kill: &str, restart: &str) -> Result<Self, Vec<String>> {
        let commands = Commands { begin: kill.into(), end: Some(restart.into()), limit: COMMAND_LIMIT };
        places::resolve(&fault("command", Where::Local, Some(commands)), &[]).map(Self::Fault)
    }
}

/// Returns a fault that the audit begins and ends.
fn fault(kind: &str, place: Where, commands: Option<Commands>) -> FaultSpec {
    FaultSpec {
        kind: kind.into(),
        arguments: None,
        from: Duration::ZERO,
        to: Some(PATIENCE),
        host: None,
        places: vec![place],
        commands,
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
    /// True if the load serves `consistency-2`, too.
    pub(super) judges_conditions: bool,
}

/// The findings of a test.
pub(super) struct Tested {
    /// Finding of `consistency-2`, if the load served it.
    pub(super) conditions: Option<Finding>,
    /// Finding of the test itself.
    pub(super) durability: Finding,
}

impl Test<'_> {
    /// Returns the findings of a test that could not begin.
    pub(super) fn impossible(&self, why: impl Into<String>) -> Tested {
        let durability = Trial::impossible(self.crash.failure(), self.scope, why);
        Tested { conditions: None, durability }
    }

    /// Runs the test. A database within this process is closed first, so it takes the only handle.
    pub(super) fn run(&self, target: Arc<dyn Target>) -> Tested {
        let mut conditions = None;
        let durability = self.durability(target, &mut conditions);
        Tested { conditions, durability }
    }

    fn durability(&self, target: Arc<dyn Target>, conditions: &mut Option<Finding>) -> Finding {
        let mut trial = match Trial::begin(&*target, self.meta, self.crash.failure(), self.scope) {
            Ok(trial) => trial,
            Err(error) => return self.impossible(error.message).durability,
        };
        drop(target);
        if let Crash::Unknown(_, why) = self.crash {
            return trial.not_run(why.clone());
        }
        match self.fail(&mut trial, conditions) {
            Ok(()) => {}
            Err(Problem::NotRun(why)) => return trial.not_run(why),
            Err(Problem::Gone(why)) => return trial.failed(why),
            Err(Problem::Stopped) => return trial.stopped(),
        }
        let begun = Instant::now();
        let recovered = match self.recovered(&trial) {
            Ok(recovered) => recovered,
            Err(Problem::Stopped) => return trial.stopped(),
            Err(Problem::NotRun(why)) => return trial.not_run(why),
            Err(Problem::Gone(why)) => return trial.failed(why),
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
    fn fail(&self, trial: &mut Trial, conditions: &mut Option<Finding>) -> Result<(), Problem> {
        let failed = |error: std::io::Error| Problem::NotRun(format!("the load can't be started: {error}"));
        let mut load =
            LoadProcess::start(self.url, &self.file(), self.terminals, self.seed).map_err(failed)?;
        let asked = || self.interrupt.asked();
        load.wait_until_ready(PATIENCE, &asked)
            .map_err(|problem| if asked() { Problem::Stopped } else { Problem::NotRun(problem) })?;
        let begun = Instant::now();
        let ended_early = |load: &mut LoadProcess| {
            Problem::NotRun(format!("the load ended before the failure: {}", load.last_words()))
        };
        let entries = loop {
            if self.interrupt.asked() {
                return Err(Problem::Stopped);
            }
            if load.has_ended() {
                return Err(ended_early(&mut load));
            }
            if begun.elapsed() >= self.duration {
                // An entry that is written right now is cut off; the next look has it.
                let entries = SuccessFile::read(&self.file()).map_or(0, |file| file.entries());
                if entries >= LEAST_ENTRIES {
                    break entries;
                }
            }
            if begun.elapsed() > self.duration + PATIENCE {
                return Err(Problem::NotRun(format!(
                    "the load ended fewer than {LEAST_ENTRIES} New-Orders in {:.0} s",
                    begun.elapsed().as_secs_f64()
                )));
            }
            thread::sleep(LOOK);
        };
        let duration = begun.elapsed();
        trial.loaded(self.terminals, duration, entries);
        if self.judges_conditions {
            let look = load
                .look(&asked)
                .map_err(|problem| if asked() { Problem::Stopped } else { Problem::NotRun(problem) })?;
            *conditions = Some(look.finding(self.scope, (self.terminals, duration, entries), begun));
            trial.step("the terminals stand still for consistency-2, and go on");
            // The failure comes under the full load.
            let resumed = Instant::now();
            while resumed.elapsed() < RESUMED.min(self.duration) && !asked() {
                thread::sleep(LOOK);
            }
        }
        match self.crash {
            Crash::Process => {
                let status = load
                    .kill()
                    .map_err(|error| Problem::NotRun(format!("the load can't be killed: {error}")))?;
                if status.signal() != Some(libc::SIGKILL) {
                    return Err(ended_early(&mut load));
                }
                trial.step("the process with the database and its terminals is killed (SIGKILL)");
            }
            Crash::Fault(fault) => inject(fault, load, trial)?,
            Crash::DiskLoss { fault, .. } => {
                inject(fault, load, trial)?;
                let all = SuccessFile::read(&self.file()).map_err(Problem::NotRun)?.entries();
                let more = all.saturating_sub(entries);
                trial.step(format!("{more} more New-Orders ended before the load did"));
            }
            Crash::Unknown(_, why) => return Err(Problem::NotRun(why.clone())),
        }
        Ok(())
    }

    /// Opens the database again and reads it, once all its nodes have recovered: after the loss of a disk, on the node
    /// that has lost it.
    fn recovered(&self, trial: &Trial) -> Result<Recovered, Problem> {
        let begun = Instant::now();
        let (spec, patience) = match self.crash {
            Crash::DiskLoss { node, .. } => (&**node, COPIED),
            _ => (self.spec, PATIENCE),
        };
        let look = || {
            let target = spec.open()?;
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
                Err(error) if begun.elapsed() > patience => {
                    let minutes = patience.as_secs() / 60;
                    return Err(match self.crash {
                        // Only rows that are missing or wrong speak against the database.
                        Crash::DiskLoss { .. } => Problem::NotRun(format!(
                            "the node has not copied all rows from the others within {minutes} min: {error}"
                        )),
                        _ => Problem::Gone(format!("the database did not come back: {error}")),
                    });
                }
                Err(_) => thread::sleep(LOOK),
            }
        }
    }
}

/// Early end of the test.
enum Problem {
    /// The test could not be run.
    NotRun(String),
    /// The database did not come back.
    Gone(String),
    /// The user stopped it.
    Stopped,
}

/// Makes the database fail under its load, and starts it again.
fn inject(fault: &Fault, load: LoadProcess, trial: &mut Trial) -> Result<(), Problem> {
    let commands = fault.spec.commands.as_ref();
    let loses_disk = fault.spec.kind == DISK_LOSS;
    let mut injector = Injector::start(fault.clone(), Some(PATIENCE))
        .map_err(|error| Problem::NotRun(format!("the guard can't be started: {error}")))?;
    injector.wait_until_ready().map_err(Problem::NotRun)?;
    // A command that failed may have done its work in part, so its guard has started the database again.
    let begun = injector.begin().map_err(Problem::NotRun)?;
    trial.step(match commands {
        Some(Commands { begin, .. }) => format!("failure: {begin}"),
        None if loses_disk => format!("the last node is killed and loses its data: {}", begun.proof),
        None => format!("all servers are killed: {}", begun.proof),
    });
    // The others go on after the loss of a disk.
    let failed = load.end(if loses_disk { GOES_ON } else { LOAD_ENDS }, LOAD_ENDS);
    let ended = injector.end();
    match commands {
        Some(Commands { end, .. }) => {
            ended.map_err(Problem::NotRun)?;
            trial.step(format!("recovery: {}", end.as_deref().unwrap_or_default()));
        }
        None => {
            let ended = ended.map_err(Problem::Gone)?;
            let who = if loses_disk {
                "the node is started with empty data"
            } else {
                "the servers are started again"
            };
            trial.step(format!("{who}: {}", ended.proof));
        }
    }
    // No terminal may have a session on the node that has lost its disk.
    if failed.map_err(Problem::NotRun)? || loses_disk {
        return Ok(());
    }
    Err(Problem::NotRun(match commands {
        Some(Commands { begin, .. }) => format!("'{begin}' ended, but the database {WENT_ON}"),
        None => format!("the killed servers {WENT_ON}"),
    }))
}
