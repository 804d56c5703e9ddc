//! The durability tests (clause 3.5.4): a load with a success file, a failure, the recovery, and the comparison.

use super::load::LoadProcess;
use crate::scratch::Scratch;
use lydite_audit::durability::{Failure, Recovered, Trial};
use lydite_audit::success_file::SuccessFile;
use lydite_audit::{Finding, Scope};
use lydite_console::interrupt::Interrupt;
use lydite_database::{DatabaseState, Target, TargetError};
use lydite_families::TargetSpec;
use lydite_faults::sockets::accepts;
use lydite_faults::{Commands, Fault, FaultSpec, Injector, Where};
use lydite_lab::places;
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
/// Least load on the other nodes after the loss of a disk.
const GOES_ON: Duration = Duration::from_secs(3);
/// Longest wait until the other nodes go on without the lost one.
const STANDS_STILL: Duration = Duration::from_secs(30);
/// Entries of the success file before the failure.
const LEAST_ENTRIES: usize = 10;
/// A failure that is none.
const WENT_ON: &str =
    "answered all terminals without a break: use a --kill that ends the servers of this database";
/// Longest load between a standstill of the terminals and the failure.
const RESUMED: Duration = Duration::from_secs(5);
/// Longest wait until a node with a new disk has all rows.
const COPIED: Duration = Duration::from_secs(30 * 60);
/// Longest time without a listener after which a node that copies rows has ended.
const NODE_IS_DOWN: Duration = Duration::from_secs(5);
/// The kind of fault that takes a node's disk.
const DISK_LOSS: &str = "disk-loss";
/// Time between two looks.
const LOOK: Duration = Duration::from_millis(50);

/// The failure of the test.
pub(super) enum Crash {
    /// The process with the database is killed.
    Process,
    /// The servers of a lab are killed and started again, or the user's own commands do that.
    Fault {
        fault: Fault,
        /// The nodes of a lab that each have all rows; none of another database.
        nodes: Vec<Node>,
    },
    /// A node of a lab loses its data, and copies them from the other nodes again.
    DiskLoss { fault: Fault, node: Node },
    /// None, for this reason.
    Unknown(Failure, String),
}

/// A node that has all rows.
pub(super) struct Node {
    port: u16,
    /// The database on this node alone.
    spec: TargetSpec,
}

impl Node {
    /// Returns the node of a port.
    ///
    /// # Errors
    /// The URL can't name it alone.
    fn on(spec: &TargetSpec, port: u16) -> Result<Self, Vec<String>> {
        let problem = || vec![format!("this URL can't name the node on port {port} alone")];
        spec.on_port(port).map(|spec| Self { port, spec }).ok_or_else(problem)
    }
}

impl Crash {
    /// Returns the failure of the servers of a lab, if the URL names one.
    pub(super) fn of_lab(url: &str, spec: &TargetSpec) -> Self {
        let addresses = addresses_of(url);
        let made = places::resolve(&fault("kill", Where::Nodes(None), None), &addresses).and_then(|fault| {
            let last = places::last_server(&addresses).map_err(|problem| vec![problem.to_string()])?;
            let ports = last.and_then(|server| server.cluster).map_or_else(Vec::new, |cluster| cluster.ports);
            let nodes = ports.into_iter().map(|port| Node::on(spec, port)).collect::<Result<_, _>>()?;
            Ok(Self::Fault { fault, nodes })
        });
        let is_lab = lab_of(url).is_some();
        made.unwrap_or_else(|problems| {
            let problems = problems.join("; ");
            // The advice comes first: the problems advise places of faults, which an audit does not have.
            let why = if is_lab {
                problems
            } else {
                format!(
                    "use --kill COMMAND and --restart COMMAND: Lydite can't kill these servers by itself ({problems})"
                )
            };
            Self::Unknown(Failure::Crash, why)
        })
    }

    /// Returns the loss of a node's disk, if the URL names a lab whose nodes have all rows each.
    pub(super) fn disk_loss(url: &str, spec: &TargetSpec) -> Option<Self> {
        let addresses = addresses_of(url);
        let made = match places::last_server(&addresses) {
            Ok(last) => {
                let server = last.filter(|server| server.cluster.is_some())?;
                let last = Where::Nodes(Some(NonZeroU32::MIN));
                places::resolve(&fault(DISK_LOSS, last, None), &addresses)
                    .and_then(|fault| Ok(Self::DiskLoss { fault, node: Node::on(spec, server.port)? }))
            }
            Err(problem) => Err(vec![problem.to_string()]),
        };
        Some(made.unwrap_or_else(|problems| Self::Unknown(Failure::DiskLoss, problems.join("; "))))
    }

    /// Returns true unless there is no way to make the database fail.
    pub(super) fn is_known(&self) -> bool {
        !matches!(self, Self::Unknown(..))
    }

    /// Returns what the database has to survive.
    fn failure(&self) -> Failure {
        match self {
            Self::Process | Self::Fault { .. } => Failure::Crash,
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
        places::resolve(&fault("command", Where::Local, Some(commands)), &[])
            .map(|fault| Self::Fault { fault, nodes: Vec::new() })
    }

    /// Returns what is read after the recovery: each node alone, or the database as `spec` names it.
    fn places<'a>(&'a self, spec: &'a TargetSpec) -> Vec<(Option<u16>, &'a TargetSpec)> {
        let nodes = match self {
            Self::Fault { nodes, .. } => &nodes[..],
            Self::DiskLoss { node, .. } => std::slice::from_ref(node),
            Self::Process | Self::Unknown(..) => &[],
        };
        match nodes {
            [] => vec![(None, spec)],
            nodes => nodes.iter().map(|node| (Some(node.port), &node.spec)).collect(),
        }
    }
}

/// Returns the name of the lab that the URL names, if that is known.
pub(super) fn lab_of(url: &str) -> Option<&'static str> {
    places::lab_of(&addresses_of(url)).ok()?
}

/// Returns a fault that the audit begins and ends.
fn fault(kind: &str, place: Where, commands: Option<Commands>) -> FaultSpec {
    FaultSpec {
        kind: kind.into(),
        arguments: None,
        from: Duration::ZERO,
        to: Some(PATIENCE),
        every: None,
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

    /// Returns the finding of a test that did not begin because the user wants that.
    pub(super) fn skipped(&self) -> Tested {
        Tested { conditions: None, durability: Trial::skipped(self.crash.failure(), self.scope) }
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
        let recovered = match self.recovered(&mut trial, conditions) {
            Ok(recovered) => recovered,
            Err(Problem::Stopped) => return trial.stopped(),
            Err(Problem::NotRun(why)) => return trial.not_run(why),
            Err(Problem::Gone(why)) => return trial.failed(why),
        };
        match SuccessFile::read(&self.file()) {
            Ok(file) => trial.judge(&recovered, &file, self.terminals, self.durable),
            Err(problem) => trial.not_run(problem),
        }
    }

    fn file(&self) -> std::path::PathBuf {
        self.scratch.path().join("success")
    }

    /// Runs the load and the failure in it, and reads the recovered database.
    fn recovered(
        &self,
        trial: &mut Trial,
        conditions: &mut Option<Finding>,
    ) -> Result<Vec<Recovered>, Problem> {
        let load = self
            .interrupt
            .saying("interrupted: the load ends; once more ends at once", || self.load(trial, conditions))?;
        let words = match self.crash {
            Crash::DiskLoss { node, .. } => format!(
                "interrupted: waits until the node on port {} has its rows again; once more ends at once: then a guard \
                 starts the node, and it gets its rows from the others",
                node.port
            ),
            _ => "interrupted: waits until the database runs again; once more ends at once, and a guard starts it"
                .to_owned(),
        };
        self.interrupt.saying(&words, || {
            self.fail(load, trial)?;
            let begun = Instant::now();
            let recovered = self.read_all(trial)?;
            let who = match self.crash {
                Crash::DiskLoss { .. } => "the node has copied all rows and answers",
                _ => "the database answers again",
            };
            trial.step(format!("{who}, {:.1} s after that", begun.elapsed().as_secs_f64()));
            Ok(recovered)
        })
    }

    /// Runs the load until the failure may come.
    fn load(&self, trial: &mut Trial, conditions: &mut Option<Finding>) -> Result<LoadProcess, Problem> {
        let failed = |error: std::io::Error| Problem::NotRun(format!("the load can't be started: {error}"));
        let mut load =
            LoadProcess::start(self.url, &self.file(), self.terminals, self.seed).map_err(failed)?;
        let asked = || self.interrupt.asked();
        load.wait_until_ready(PATIENCE, &asked)
            .map_err(|problem| if asked() { Problem::Stopped } else { Problem::NotRun(problem.0) })?;
        let begun = Instant::now();
        let entries = loop {
            if self.interrupt.asked() {
                return Err(Problem::Stopped);
            }
            if load.has_ended() {
                return Err(Problem::ended_early(&mut load));
            }
            if begun.elapsed() >= self.duration {
                let entries = self.entries()?;
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
                .map_err(|problem| if asked() { Problem::Stopped } else { Problem::NotRun(problem.0) })?;
            *conditions = Some(look.finding(self.scope, (self.terminals, duration, entries), begun));
            trial.step("the terminals stand still for consistency-2, and go on");
            // The failure comes under the full load.
            let resumed = Instant::now();
            while resumed.elapsed() < RESUMED.min(self.duration) && !asked() {
                thread::sleep(LOOK);
            }
        }
        if asked() { Err(Problem::Stopped) } else { Ok(load) }
    }

    /// Makes the database fail, and starts it again.
    fn fail(&self, mut load: LoadProcess, trial: &mut Trial) -> Result<(), Problem> {
        match self.crash {
            Crash::Process => {
                let status = load
                    .kill()
                    .map_err(|error| Problem::NotRun(format!("the load can't be killed: {error}")))?;
                if status.signal() != Some(libc::SIGKILL) {
                    return Err(Problem::ended_early(&mut load));
                }
                trial.step("the process with the database and its terminals is killed (SIGKILL)");
            }
            Crash::Fault { fault, .. } | Crash::DiskLoss { fault, .. } => self.inject(fault, load, trial)?,
            Crash::Unknown(_, why) => return Err(Problem::NotRun(why.clone())),
        }
        Ok(())
    }

    /// Reads the database again once it has recovered: each node alone, if each has all rows. After the loss of a disk, only
    /// the node that has lost it.
    fn read_all(&self, trial: &Trial) -> Result<Vec<Recovered>, Problem> {
        let begun = Instant::now();
        let read = |(port, spec)| self.read(trial, port, spec, begun);
        self.crash.places(self.spec).into_iter().map(read).collect()
    }

    /// Reads the database as `spec` names it, once it has recovered.
    fn read(
        &self,
        trial: &Trial,
        port: Option<u16>,
        spec: &TargetSpec,
        begun: Instant,
    ) -> Result<Recovered, Problem> {
        let look = || {
            let target = spec.open()?;
            match target.state()? {
                DatabaseState::Ready { .. } => trial.recovered(&*target, self.meta, port),
                state => {
                    let why = if matches!(state, DatabaseState::Empty) { ": it is empty" } else { "" };
                    Err(TargetError::database(format!("it is not the loaded database any more{why}")))
                }
            }
        };
        let mut down: Option<Instant> = None;
        loop {
            let error = match look() {
                Ok(recovered) => return Ok(recovered),
                Err(error) => error,
            };
            if let Crash::DiskLoss { node, .. } = self.crash {
                // Only rows that are missing or wrong speak against the database.
                if begun.elapsed() > COPIED {
                    return Err(Problem::NotRun(format!(
                        "the node has not copied all rows from the others within {} min: {error}",
                        COPIED.as_secs() / 60
                    )));
                }
                // It took connections before. A node that can't copy ends.
                down = if accepts(node.port) { None } else { down.or_else(|| Some(Instant::now())) };
                if down.is_some_and(|down| down.elapsed() > NODE_IS_DOWN) {
                    return Err(Problem::NotRun(format!(
                        "the node on port {} has ended before it had copied all rows: see its log, and start it with lydite \
                         lab restart",
                        node.port
                    )));
                }
                // Ctrl-C does not end this wait: the next command would find a cluster that lacks a node.
            } else if self.interrupt.asked() {
                return Err(Problem::Stopped);
            } else if begun.elapsed() > PATIENCE {
                return Err(Problem::Gone(format!("the database did not come back: {error}")));
            }
            thread::sleep(LOOK);
        }
    }

    /// Makes the database fail under its load, and starts it again.
    fn inject(&self, fault: &Fault, mut load: LoadProcess, trial: &mut Trial) -> Result<(), Problem> {
        let commands = fault.spec.commands.as_ref();
        let loses_disk = matches!(self.crash, Crash::DiskLoss { .. });
        let mut injector = Injector::start(fault.clone(), Some(PATIENCE))
            .map_err(|error| Problem::NotRun(format!("the guard can't be started: {error}")))?;
        injector.wait_until_ready().map_err(|problem| Problem::NotRun(problem.to_string()))?;
        // A command that failed may have done its work in part, so its guard has started the database again.
        let killed = Instant::now();
        let begun = injector.begin().map_err(|problem| Problem::NotRun(problem.to_string()))?;
        trial.step(match commands {
            Some(Commands { begin, .. }) => format!("failure: {begin}"),
            None if loses_disk => format!("the last node is killed and loses its data: {}", begun.proof),
            None => format!("all servers are killed: {}", begun.proof),
        });
        let failed = if loses_disk {
            trial.step(self.go_on(&mut load, killed)?);
            load.end(Duration::ZERO, LOAD_ENDS)
        } else {
            load.end(LOAD_ENDS, LOAD_ENDS)
        };
        let ended = injector.end().map_err(|problem| problem.to_string());
        match commands {
            Some(Commands { end, .. }) => {
                ended.map_err(Problem::NotRun)?;
                trial.step(format!("recovery: {}", end.as_deref().unwrap_or_default()));
            }
            None => {
                let ended = ended.map_err(if loses_disk { Problem::NotRun } else { Problem::Gone })?;
                let who = if loses_disk {
                    "the node is started with empty data"
                } else {
                    "the servers are started again"
                };
                trial.step(format!("{who}: {}", ended.proof));
            }
        }
        // Perhaps no terminal had a session on the node that has lost its disk.
        if failed.map_err(|problem| Problem::NotRun(problem.0))? || loses_disk {
            return Ok(());
        }
        Err(Problem::NotRun(match commands {
            Some(Commands { begin, .. }) => format!("'{begin}' ended, but the database {WENT_ON}"),
            None => format!("the killed servers {WENT_ON}"),
        }))
    }

    /// Waits until the other nodes acknowledge orders without the lost one: a cluster may stand still until it has given up
    /// the node. Returns a step that says for how long it did.
    fn go_on(&self, load: &mut LoadProcess, killed: Instant) -> Result<String, Problem> {
        let before = self.entries()?;
        let (mut last, mut count, mut longest) = (killed, before, Duration::ZERO);
        let how = loop {
            let (now, found) = (Instant::now(), self.entries()?);
            longest = longest.max(now - last);
            if found > count {
                (last, count) = (now, found);
            }
            if now - killed >= GOES_ON && now - last < GOES_ON / 4 {
                break "the others go on without it";
            }
            if now - killed >= STANDS_STILL {
                break "the others stand still without it";
            }
            if load.has_ended() {
                break "no terminal has a session left without it";
            }
            if self.interrupt.asked() {
                break "interrupted";
            }
            thread::sleep(2 * LOOK);
        };
        Ok(format!(
            "{how}: {} New-Orders acknowledged within {:.1} s of the kill, with a longest gap of {:.1} s",
            count.saturating_sub(before),
            killed.elapsed().as_secs_f64(),
            longest.as_secs_f64()
        ))
    }

    /// Returns the number of entries in the success file.
    fn entries(&self) -> Result<usize, Problem> {
        SuccessFile::read(&self.file()).map(|file| file.entries()).map_err(Problem::NotRun)
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

impl Problem {
    /// The load ended by itself.
    fn ended_early(load: &mut LoadProcess) -> Self {
        Self::NotRun(format!("the load ended before the failure: {}", load.last_words()))
    }
}
