//! A durability test (clause 3.5.4): a load with a success file, a failure, the recovery, and the comparison.

use crate::crash::Crash;
use crate::load::{LoadError, LoadProcess};
use lydite_audit::durability::{Recovered, Trial};
use lydite_audit::success_file::SuccessFile;
use lydite_audit::{Finding, Scope};
use lydite_console::interrupt::Interrupt;
use lydite_database::{DatabaseState, Target, TargetError, TargetErrorKind};
use lydite_families::TargetSpec;
use lydite_faults::sockets::accepts;
use lydite_faults::{Commands, Fault, FaultError, Injector, Where};
use lydite_tpcc::meta::DatabaseMeta;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Longest wait for the load, and for the database after its failure.
const PATIENCE: Duration = Duration::from_secs(300);
/// Longest wait until the terminals of a database that has failed notice it, and then until they stop.
pub(crate) const LOAD_ENDS: Duration = Duration::from_secs(10);
/// Least load on the other nodes after the loss of a disk.
const GOES_ON: Duration = Duration::from_secs(3);
/// Longest wait until the other nodes go on without the lost one.
const STANDS_STILL: Duration = Duration::from_secs(30);
/// Entries of the success file before the failure.
const LEAST_ENTRIES: usize = 10;
/// Words about a database that has not failed.
const WENT_ON: &str =
    "answered all terminals without a break: use a --kill that ends the servers of this database";
/// Longest load between a standstill of the terminals and the failure.
const RESUMED: Duration = Duration::from_secs(5);
/// Longest wait until a node with a new disk has all rows.
const COPIED: Duration = Duration::from_secs(30 * 60);
/// Longest time without a listener after which a node that copies rows has ended.
const NODE_IS_DOWN: Duration = Duration::from_secs(5);
/// Longest wait for the database on a server that answers after a loss of power. A server without it by then has recovered,
/// and lost it.
const RECOVERED: Duration = Duration::from_secs(15);
/// Time between two looks.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// Everything that the test needs.
pub struct Test<'a> {
    /// The database.
    pub spec: &'a TargetSpec,
    /// URL of the database, with the password.
    pub url: &'a str,
    /// Scale of the database.
    pub meta: &'a DatabaseMeta,
    /// Scope of the findings.
    pub scope: Scope,
    /// The failure.
    pub crash: &'a Crash,
    /// True if the database's settings make a commit survive the loss of power.
    pub durable: bool,
    /// Length of the load before the failure.
    pub duration: Duration,
    /// Terminals of the load.
    pub terminals: u32,
    /// Seed of their inputs.
    pub seed: u64,
    /// Directory of the success file.
    pub scratch: &'a Path,
    /// The user's wish to stop.
    pub interrupt: &'a Interrupt,
    /// True if the load serves `consistency-2`, too.
    pub judges_conditions: bool,
}

/// The findings of a test.
pub struct Tested {
    /// Finding of `consistency-2`, if the load served it.
    pub conditions: Option<Finding>,
    /// Finding of the test itself.
    pub durability: Finding,
}

impl Test<'_> {
    /// Returns the findings of a test that could not begin.
    pub fn impossible(&self, why: impl Into<String>) -> Tested {
        let durability = Trial::impossible(self.crash.failure(), self.scope, why);
        Tested { conditions: None, durability }
    }

    /// Returns the finding of a test that did not begin because the user wants that.
    pub fn skipped(&self) -> Tested {
        Tested { conditions: None, durability: Trial::skipped(self.crash.failure(), self.scope) }
    }

    /// Runs the test. A database within this process is closed first, so it takes the only handle.
    pub fn run(&self, target: Arc<dyn Target>) -> Tested {
        let mut conditions = None;
        let durability = self.durability(target, &mut conditions);
        Tested { conditions, durability }
    }

    fn durability(&self, target: Arc<dyn Target>, conditions: &mut Option<Finding>) -> Finding {
        if let Some(why) = self.crash.obstacle() {
            return self.impossible(why).durability;
        }
        let mut trial = match Trial::begin(&*target, self.meta, self.crash.failure(), self.scope) {
            Ok(trial) => trial,
            Err(error) => return self.impossible(error.message).durability,
        };
        drop(target);
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

    fn file(&self) -> PathBuf {
        self.scratch.join("success")
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
        let words = match self.crash.copying() {
            Some(node) => format!(
                "interrupted: waits until the node on port {} has its rows again; once more ends at once: then a guard \
                 starts the node, and it gets its rows from the others",
                node.port
            ),
            None if matches!(self.crash, Crash::NodesLost(_)) => {
                "interrupted: waits until all servers run again; once more ends at once, and guards start them".to_owned()
            }
            None => "interrupted: waits until the database runs again; once more ends at once, and a guard starts it"
                .to_owned(),
        };
        self.interrupt.saying(&words, || {
            self.fail(load, trial)?;
            let begun = Instant::now();
            let recovered = self.read_all(trial)?;
            let who = match self.crash {
                Crash::DiskLoss { .. } => "the node has copied all rows and answers",
                Crash::NodesLost(losses) if losses.node.is_some() => {
                    "all nodes answer, and the lost one has copied all rows"
                }
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
            LoadProcess::start(self.url, &self.file(), self.terminals, self.seed, self.reconnects())
                .map_err(failed)?;
        let asked = || self.interrupt.asked();
        let early = |problem: LoadError| if asked() { Problem::Stopped } else { Problem::NotRun(problem.0) };
        load.wait_until_ready(PATIENCE, &asked).map_err(early)?;
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
            let look = load.look(&asked).map_err(early)?;
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
            Crash::Fault { fault, .. } | Crash::DiskLoss { fault, .. } | Crash::PowerLoss { fault, .. } => {
                self.inject(fault, load, trial)?;
            }
            Crash::NodesLost(losses) => self.lose_nodes(losses, load, trial)?,
            Crash::Unknown(_, why) | Crash::NoPower(why) => return Err(Problem::NotRun(why.clone())),
        }
        Ok(())
    }

    fn loses_power(&self) -> bool {
        matches!(self.crash, Crash::PowerLoss { .. })
    }

    /// Returns true if the terminals go on after a failure.
    fn reconnects(&self) -> bool {
        matches!(self.crash, Crash::NodesLost(_))
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
        let (mut down, mut answered) = (None::<Instant>, None::<Instant>);
        loop {
            let error = match look() {
                Ok(recovered) => return Ok(recovered),
                Err(error) => error,
            };
            answered = match error.kind {
                TargetErrorKind::Database => answered.or_else(|| Some(Instant::now())),
                _ => None,
            };
            if let Some(node) = self.crash.copying().filter(|node| Some(node.port) == port) {
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
            } else if begun.elapsed() > PATIENCE
                || self.loses_power() && answered.is_some_and(|since| since.elapsed() > RECOVERED)
            {
                return Err(Problem::Gone(format!("the database did not come back: {error}")));
            }
            thread::sleep(LOOK);
        }
    }

    /// Makes the database fail under its load, and starts it again.
    fn inject(&self, fault: &Fault, mut load: LoadProcess, trial: &mut Trial) -> Result<(), Problem> {
        let commands = fault.spec.commands.as_ref();
        let loses_disk = matches!(self.crash, Crash::DiskLoss { .. });
        let mut injector = ready(fault, PATIENCE)?;
        // A command that failed may have done its work in part, so its guard has started the database again.
        let killed = Instant::now();
        let begun = injector.begin().map_err(|problem| Problem::NotRun(problem.to_string()))?;
        trial.step(match commands {
            Some(Commands { begin, .. }) => format!("failure: {begin}"),
            None if loses_disk => format!("the last node is killed and loses its data: {}", begun.proof),
            None if self.loses_power() => {
                format!("the power is cut, of the disk and of all servers: {}", begun.proof)
            }
            None => match &fault.spec.places[..] {
                [Where::Lab { node: Some(_), .. }] => format!("the primary is killed: {}", begun.proof),
                _ => format!("all servers are killed: {}", begun.proof),
            },
        });
        let failed = if loses_disk {
            trial.step(self.go_on(&mut load, killed)?);
            load.end(Duration::ZERO, LOAD_ENDS)
        } else {
            load.end(LOAD_ENDS, LOAD_ENDS)
        };
        let ended = injector.end().map_err(Problem::of_end);
        match commands {
            Some(Commands { end, .. }) => {
                ended?;
                trial.step(format!("recovery: {}", end.as_deref().unwrap_or_default()));
            }
            None => {
                // A node without its data that ends has lost nothing that the others have.
                let not_shown = |problem: Problem| if loses_disk { problem.not_shown() } else { problem };
                let ended = ended.map_err(not_shown)?;
                let who = if loses_disk {
                    "the node is started with empty data"
                } else {
                    "the servers are started again"
                };
                trial.step(format!("{who}: {}", ended.proof));
            }
        }
        let ended = failed.map_err(|problem| Problem::NotRun(problem.0))?;
        trial.acknowledged(ended.acknowledged);
        // Perhaps no terminal had a session on the node that has lost its disk.
        if ended.lost || loses_disk {
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
    pub(crate) fn entries(&self) -> Result<usize, Problem> {
        SuccessFile::read(&self.file()).map(|file| file.entries()).map_err(Problem::NotRun)
    }
}

/// Starts the guard of a fault, and waits until it is prepared. If the test does not end the fault, the guard does so this
/// time after its begin.
pub(crate) fn ready(fault: &Fault, longest: Duration) -> Result<Injector, Problem> {
    let injector = Injector::start(fault.clone(), Some(longest))
        .map_err(|error| Problem::NotRun(format!("the guard can't be started: {error}")))?;
    injector.wait_until_ready().map_err(|problem| Problem::NotRun(problem.to_string()))?;
    Ok(injector)
}

/// Early end of the test.
pub(crate) enum Problem {
    /// The test could not be run.
    NotRun(String),
    /// The database did not come back.
    Gone(String),
    /// The user stopped it.
    Stopped,
}

impl Problem {
    /// A failure could not be undone. Only a server that was started again and did not recover speaks against the database.
    pub(crate) fn of_end(problem: FaultError) -> Self {
        match problem {
            FaultError::Down(words) => Self::Gone(words),
            problem => Self::NotRun(problem.to_string()),
        }
    }

    /// Returns the problem as one that says nothing about the database.
    pub(crate) fn not_shown(self) -> Self {
        match self {
            Self::Gone(words) => Self::NotRun(words),
            problem => problem,
        }
    }

    /// The load ended by itself.
    pub(crate) fn ended_early(load: &mut LoadProcess) -> Self {
        Self::NotRun(format!("the load ended before the failure: {}", load.last_words()))
    }
}
