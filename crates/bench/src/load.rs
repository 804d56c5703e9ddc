//! Loads a database unit by unit, several units at a time. TPC-C's units are warehouses, and its load can be resumed;
//! the microbenchmark's units are tables.

use crate::control::RunControl;
use crate::load_course::{Course, LoadMeasures};
use crate::load_share::{Loaded, Missing};
use crate::share::Share;
use lydite_database::{
    DatabaseState, Demand, LoadProgress, LoadRows, LoadUnit, Loader, MicroLoader, MicroTarget, Target,
    TargetError, TargetErrorKind,
};
use lydite_micro::{Meta, TableId};
use lydite_tpcc::WarehouseId;
use lydite_tpcc::meta::DatabaseMeta;
use parking_lot::Mutex;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Time between two calls of the observer, and between two checks for a stop.
const STEP: Duration = Duration::from_millis(100);
/// Names of the phases that are the same for all databases.
const CREATING: &str = "creating tables";
const ROWS: &str = "rows";
/// Time between two reports of a share.
const REPORT: Duration = Duration::from_secs(1);

/// Progress of a load, reported to its observer several times a second.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadSnapshot {
    /// Rows sent to the database so far.
    pub rows: u64,
    /// Bytes sent so far.
    pub bytes: u64,
    /// Time since the load began.
    pub elapsed: Duration,
    /// Complete units (warehouses, or tables), including those of an earlier load that is resumed.
    pub units_done: u32,
    /// Units in all.
    pub total_units: u32,
    /// Time since all rows are loaded and the database builds keys and indexes; `None` before.
    pub building: Option<Duration>,
    /// Current work: `rows`, or the database's name of a step after them (keys, indexes, …).
    pub stage: String,
}

/// Results of a load.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadReport {
    /// Time of the load in seconds, including keys and indexes.
    pub seconds: f64,
    /// Rows sent to the database.
    pub rows: u64,
    /// Bytes sent to the database.
    pub bytes: u64,
    /// Units (warehouses, or tables) that this load has loaded; fewer than all if it resumed an earlier load.
    pub units: u32,
    /// Complete units in the database, including those of an earlier load.
    pub complete: u32,
    /// Connections that loaded at the same time.
    pub jobs: usize,
    /// True if [`RunControl::stop`] ended it early. A load of TPC-C can be resumed.
    pub interrupted: bool,
    /// Course of the load, and its costs.
    pub measures: LoadMeasures,
}

/// Failure of a load of TPC-C.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{cause}")]
pub struct LoadError {
    /// Error of the database, or of an agent.
    pub cause: TargetError,
    /// Rows that the failed load leaves in the database; `None` if it changed nothing.
    pub kept: Option<Kept>,
}

/// Rows of a failed load in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Complete warehouses, so the load can be resumed. The number is `None` if the database does not answer.
    Warehouses(Option<u32>),
    /// None of use: the database can't resume a load.
    Nothing,
}

/// Loads `rows` through `jobs` connections (at least 1). Creates the tables in an empty database. Completes an
/// unfinished load of the same rows if `resume` is set. Blocks until the load is over and calls `observer` several
/// times a second on this thread.
///
/// If `control` asks for a stop, unfinished units are rolled back and complete ones stay. The work on keys and indexes
/// stops as well, if the database can stop it.
///
/// # Errors
/// The database holds other data; or it fails, which returns the first error of any job.
pub fn load(
    target: &dyn Target,
    rows: &LoadRows,
    jobs: usize,
    resume: bool,
    control: &RunControl,
    observer: &mut dyn FnMut(&LoadSnapshot),
) -> Result<LoadReport, LoadError> {
    load_alone(target, rows, jobs, resume, |load| load.run(control, observer))
}

/// Work of agents on the missing rows. It passes the sum of their counts to the function that it gets, several times a
/// second, and returns false if it was stopped.
pub type Agents<'a> = dyn FnMut(&Missing, &mut dyn FnMut(Loaded)) -> Result<bool, TargetError> + 'a;

/// Loads as [`load`] does, but lets agents load the rows: each of them calls [`load_share`]. `jobs` is the number of
/// connections of all agents, and of the work on keys and indexes, which this process does.
///
/// # Errors
/// See [`load`]. After an error of `agents`, all of them must have ended their work.
pub fn load_by(
    target: &dyn Target,
    rows: &LoadRows,
    jobs: usize,
    resume: bool,
    control: &RunControl,
    observer: &mut dyn FnMut(&LoadSnapshot),
    agents: &mut Agents<'_>,
) -> Result<LoadReport, LoadError> {
    load_alone(target, rows, jobs, resume, |load| {
        let missing = Missing::new(load.source.items, &load.source.warehouses);
        let whole = agents(&missing, &mut |loaded| {
            load.set(loaded);
            load.course.look(&load.progress);
            observer(&load.snapshot());
        })?;
        load.conclude(whole, control, observer)
    })
}

/// Prepares a load of `rows`, and lets `work` load the rows while no other load may begin.
fn load_alone(
    target: &dyn Target,
    rows: &LoadRows,
    jobs: usize,
    resume: bool,
    work: impl FnOnce(&Load<'_, TpccRows<'_>>) -> Result<LoadReport, TargetError>,
) -> Result<LoadReport, LoadError> {
    let course = Course::begin();
    let unchanged = |cause| LoadError { cause, kept: None };
    let _alone = target.begin_load().map_err(unchanged)?;
    let source = prepare(target, rows, resume, &course).map_err(unchanged)?;
    work(&Load::new(&source, jobs, course)).map_err(|cause| failed_halfway(target, cause))
}

/// Loads a share of the missing rows through `jobs` connections (at least 1), into tables that
/// [`load_by`] has made. Passes the counts so far to `report` once a second and at the end. Returns false if `control`
/// asked for a stop: unfinished units are rolled back.
///
/// # Errors
/// The database fails: the first error of any job.
pub fn load_share(
    target: &dyn Target,
    rows: &LoadRows,
    (missing, share): (&Missing, Share),
    jobs: usize,
    control: &RunControl,
    report: &mut dyn FnMut(Loaded),
) -> Result<bool, TargetError> {
    let (items, warehouses) = missing.of(share);
    let source = TpccRows { target, rows, items, warehouses, done_before: 0, stores: false };
    let mut reported = Instant::now();
    let mut last = LoadSnapshot::default();
    let report_of =
        |now: &LoadSnapshot| Loaded { rows: now.rows, bytes: now.bytes, warehouses: now.units_done };
    let load = Load::new(&source, jobs, Course::begin());
    let loaded = load.run(control, &mut |now| {
        last = now.clone();
        if reported.elapsed() >= REPORT {
            reported = Instant::now();
            report(report_of(now));
        }
    });
    report(report_of(&last));
    Ok(!loaded?.interrupted)
}

/// Creates the tables of the microbenchmark in an empty database and loads them through `jobs` connections, as [`load`]
/// does for TPC-C. If `control` asks for a stop, the tables stay as they are and must be loaded again.
///
/// # Errors
/// See [`load`].
pub fn load_micro(
    target: &dyn Target,
    meta: &Meta,
    jobs: usize,
    control: &RunControl,
    observer: &mut dyn FnMut(&LoadSnapshot),
) -> Result<LoadReport, TargetError> {
    let course = Course::begin();
    let _alone = target.begin_load()?;
    match target.state()? {
        DatabaseState::Empty => {}
        DatabaseState::Foreign { tables } => return Err(foreign(&tables)),
        DatabaseState::Partial { tables, problem, .. } => return Err(partial(&tables, &problem)),
        _ => {
            return Err(TargetError::usage(
                "the database is not empty: name another one, or start over with --fresh",
            ));
        }
    }
    let micro = target.capabilities().micro()?;
    course.stage(CREATING);
    micro.create_tables(meta)?;
    let tables = meta.data.all_tables(micro.engines()).collect();
    let source = MicroRows { target, micro, meta, tables };
    Load::new(&source, jobs, course).run(control, observer)
}

/// Returns the failure of a load that had begun to change the database.
fn failed_halfway(target: &dyn Target, cause: TargetError) -> LoadError {
    let kept = match target.admit(&Demand::Resume) {
        Err(refused) if refused.kind == TargetErrorKind::Usage => Some(Kept::Nothing),
        Ok(_) | Err(_) => match target.state() {
            Ok(DatabaseState::Loading { warehouses, .. }) => {
                Some(Kept::Warehouses(Some(warehouses.len() as u32)))
            }
            // Nothing is stored, or the load was complete before its last answer got lost.
            Ok(_) => None,
            Err(_) => Some(Kept::Warehouses(None)),
        },
    };
    LoadError { cause, kept }
}

/// Finds out which units must be loaded, and creates the tables if there are none.
fn prepare<'a>(
    target: &'a dyn Target,
    rows: &'a LoadRows,
    resume: bool,
    course: &Course,
) -> Result<TpccRows<'a>, TargetError> {
    let wanted = described(rows);
    target.admit(&Demand::Districts(wanted.districts.clone()))?;
    let all = || (1..=wanted.warehouses).map(WarehouseId);
    let source = |items, warehouses, done_before, stores| TpccRows {
        target,
        rows,
        items,
        warehouses,
        done_before,
        stores,
    };
    match target.state()? {
        DatabaseState::Empty => {
            course.stage(CREATING);
            target.create_schema(&wanted)?;
            Ok(source(true, all().collect(), 0, true))
        }
        DatabaseState::AnyScale => Ok(source(true, all().collect(), 0, false)),
        DatabaseState::Loading { meta, .. } if !resume => Err(TargetError::usage(format!(
            "the database holds an unfinished load of {}: complete it with --resume, or start again with --fresh",
            meta.rows_in_words()
        ))),
        DatabaseState::Loading { meta, .. } if !meta.is_of_same_rows(&wanted) => {
            let other_rows = if meta.is_foreign() || wanted.is_foreign() {
                " in other files".to_owned()
            } else if meta.population == wanted.population {
                String::new()
            } else {
                format!(" by another version of Lydite ({})", meta.lydite)
            };
            Err(TargetError::usage(format!(
                "the unfinished load is of {}{other_rows}, not of {}: resume it as it was \
                 begun, or start again with --fresh",
                meta.rows_in_words(),
                wanted.rows_in_words()
            )))
        }
        DatabaseState::Loading { items, warehouses: done, .. } => {
            target.admit(&Demand::Resume)?;
            let warehouses: Vec<WarehouseId> = all().filter(|one| !done.contains(one)).collect();
            let done_before = wanted.warehouses - warehouses.len() as u32;
            Ok(source(!items, warehouses, done_before, true))
        }
        DatabaseState::Ready { meta } => Err(TargetError::usage(format!(
            "the database is loaded already, with {}: use it as it is, or load again with --fresh",
            meta.rows_in_words()
        ))),
        DatabaseState::Micro { meta, .. } => Err(TargetError::usage(format!(
            "the database holds the microbenchmark's tables ({}): name another one, or drop them with --fresh",
            meta.data
        ))),
        DatabaseState::Foreign { tables } => Err(foreign(&tables)),
        DatabaseState::Partial { tables, problem, .. } => Err(partial(&tables, &problem)),
    }
}

/// Returns the error for a database with tables of Lydite's that make up no database.
fn partial(tables: &[String], problem: &str) -> TargetError {
    TargetError::usage(format!(
        "the database holds tables of Lydite's that can't be used ({}): {problem}: drop them and start over with \
         --fresh, or name another database or schema",
        tables.join(", ")
    ))
}

/// Returns the description of a database with these rows.
fn described(rows: &LoadRows) -> DatabaseMeta {
    rows.meta(env!("CARGO_PKG_VERSION"))
}

/// Returns the error of a load after which the database does not hold what was loaded. It has acknowledged all of it.
fn not_stored(found: &DatabaseState) -> TargetError {
    let found = match found {
        // The message of a load that can be resumed goes on with the command for that.
        DatabaseState::Loading { .. } => "its own load unfinished".to_owned(),
        DatabaseState::Empty => "no tables: load again".to_owned(),
        DatabaseState::Ready { meta } => {
            format!("{} from seed {}: load again with --fresh", meta.warehouses_in_words(), meta.seed)
        }
        DatabaseState::Micro { meta, .. } => {
            format!("the microbenchmark's {}: load again with --fresh", meta.data)
        }
        DatabaseState::Foreign { tables } => {
            format!("tables without a description ({}): load again with --fresh", tables.join(", "))
        }
        DatabaseState::Partial { tables, problem, .. } => {
            format!(
                "tables that make up no database ({}): {problem}: load again with --fresh",
                tables.join(", ")
            )
        }
        DatabaseState::AnyScale => "nothing".to_owned(),
    };
    TargetError::database(format!(
        "the database acknowledged the whole load, but lost commits or was changed by another program: a new connection \
         finds {found}"
    ))
}

/// Returns the error for a database with tables that Lydite did not make.
fn foreign(tables: &[String]) -> TargetError {
    TargetError::usage(format!(
        "the database holds tables that Lydite did not make ({}), or whose drop it did not finish: name another \
         database or schema; if nobody needs these tables, --fresh drops them with all their rows",
        tables.join(", ")
    ))
}

/// Rows to load, in units.
trait RowSource: Sync {
    /// A connection that loads.
    type Loader;

    /// Returns the number of units to load.
    fn units(&self) -> usize;

    /// Returns the numbers of units that users see: complete before this load, and in all.
    fn visible_units(&self) -> (u32, u32);

    /// Returns true if users see this unit.
    fn is_visible(&self, _unit: usize) -> bool {
        true
    }

    /// True if the database stores any data.
    fn stores(&self) -> bool {
        true
    }

    fn loader(&self) -> Result<Self::Loader, TargetError>;

    fn load(
        &self,
        loader: &mut Self::Loader,
        unit: usize,
        progress: &LoadProgress,
    ) -> Result<(), TargetError>;

    /// Stops the database's work after all rows.
    fn stop(&self);

    /// Finishes the load after all rows: keys, indexes, and whatever else the database needs.
    fn finish(&self, jobs: usize, stage: &(dyn Fn(&str) + Sync)) -> Result<(), TargetError>;
}

/// Missing rows of TPC-C: ITEM if it is missing, then warehouses.
struct TpccRows<'a> {
    target: &'a dyn Target,
    rows: &'a LoadRows,
    items: bool,
    warehouses: Vec<WarehouseId>,
    /// Warehouses that an earlier load completed.
    done_before: u32,
    stores: bool,
}

impl RowSource for TpccRows<'_> {
    type Loader = Box<dyn Loader>;

    fn units(&self) -> usize {
        usize::from(self.items) + self.warehouses.len()
    }

    fn visible_units(&self) -> (u32, u32) {
        (self.done_before, self.rows.warehouses())
    }

    fn is_visible(&self, unit: usize) -> bool {
        unit >= usize::from(self.items)
    }

    fn stores(&self) -> bool {
        self.stores
    }

    fn loader(&self) -> Result<Box<dyn Loader>, TargetError> {
        self.target.loader()
    }

    fn load(
        &self,
        loader: &mut Box<dyn Loader>,
        unit: usize,
        progress: &LoadProgress,
    ) -> Result<(), TargetError> {
        let unit = match unit.checked_sub(usize::from(self.items)) {
            None => LoadUnit::Items,
            Some(index) => LoadUnit::Warehouse(self.warehouses[index]),
        };
        loader.load(unit, self.rows, progress)
    }

    fn stop(&self) {
        self.target.capabilities().stop_work();
    }

    fn finish(&self, jobs: usize, stage: &(dyn Fn(&str) + Sync)) -> Result<(), TargetError> {
        self.target.finish_load(jobs, stage)?;
        stage("reading back what is stored");
        let wanted = described(self.rows);
        match self.target.state()? {
            DatabaseState::Ready { meta } if meta.is_of_same_rows(&wanted) => Ok(()),
            found => Err(not_stored(&found)),
        }
    }
}

/// The tables of the microbenchmark.
struct MicroRows<'a> {
    target: &'a dyn Target,
    micro: &'a dyn MicroTarget,
    meta: &'a Meta,
    tables: Vec<TableId>,
}

impl RowSource for MicroRows<'_> {
    type Loader = Box<dyn MicroLoader>;

    fn units(&self) -> usize {
        self.tables.len()
    }

    fn visible_units(&self) -> (u32, u32) {
        (0, self.tables.len() as u32)
    }

    fn loader(&self) -> Result<Box<dyn MicroLoader>, TargetError> {
        self.micro.table_loader(self.meta)
    }

    fn load(
        &self,
        loader: &mut Box<dyn MicroLoader>,
        unit: usize,
        progress: &LoadProgress,
    ) -> Result<(), TargetError> {
        loader.load(self.tables[unit], progress)
    }

    fn stop(&self) {
        self.target.capabilities().stop_work();
    }

    fn finish(&self, jobs: usize, stage: &(dyn Fn(&str) + Sync)) -> Result<(), TargetError> {
        self.micro.finish_tables(self.meta, jobs, stage)?;
        stage("reading back what is stored");
        match self.target.state()? {
            DatabaseState::Micro { meta, ready: true } if meta == *self.meta => Ok(()),
            found => Err(not_stored(&found)),
        }
    }
}

/// A load in progress.
struct Load<'a, S> {
    source: &'a S,
    jobs: usize,
    course: Course,
    progress: LoadProgress,
    /// Units loaded so far.
    done: AtomicUsize,
    /// Number of these units that users see.
    visible_done: AtomicU32,
    stage: Mutex<String>,
    /// Time at which all rows were loaded and the database began to build.
    rows_in: OnceLock<Instant>,
}

impl<'a, S: RowSource> Load<'a, S> {
    fn new(source: &'a S, jobs: usize, course: Course) -> Self {
        course.stage(ROWS);
        Self {
            source,
            jobs: jobs.max(1),
            course,
            progress: LoadProgress::default(),
            done: AtomicUsize::new(0),
            visible_done: AtomicU32::new(0),
            stage: Mutex::new(ROWS.to_owned()),
            rows_in: OnceLock::new(),
        }
    }

    fn run(
        &self,
        control: &RunControl,
        observer: &mut dyn FnMut(&LoadSnapshot),
    ) -> Result<LoadReport, TargetError> {
        let whole = self.rows(control, observer)?;
        self.conclude(whole, control, observer)
    }

    /// Takes the counts of agents that load the rows.
    fn set(&self, loaded: Loaded) {
        let rows = loaded.rows.saturating_sub(self.progress.rows());
        let bytes = loaded.bytes.saturating_sub(self.progress.bytes());
        self.progress.add(rows, bytes);
        self.visible_done.store(loaded.warehouses, Ordering::Relaxed);
    }

    /// Finishes the load if all rows are there.
    fn conclude(
        &self,
        whole: bool,
        control: &RunControl,
        observer: &mut dyn FnMut(&LoadSnapshot),
    ) -> Result<LoadReport, TargetError> {
        let mut interrupted = !whole;
        if self.source.stores() && !interrupted {
            interrupted = !self.finish(control, observer)?;
        }
        observer(&self.snapshot());
        let units = self.visible_done.load(Ordering::Relaxed);
        Ok(LoadReport {
            seconds: self.course.elapsed().as_secs_f64(),
            rows: self.progress.rows(),
            bytes: self.progress.bytes(),
            units,
            complete: self.source.visible_units().0 + units,
            jobs: self.jobs,
            interrupted,
            measures: self.course.measures(&self.progress),
        })
    }

    /// Loads all rows. Returns false if it was interrupted.
    fn rows(
        &self,
        control: &RunControl,
        observer: &mut dyn FnMut(&LoadSnapshot),
    ) -> Result<bool, TargetError> {
        let next = AtomicUsize::new(0);
        let failure = Mutex::new(None);
        let interrupted = std::thread::scope(|scope| {
            let job = || {
                if let Err(error) = self.job(&next) {
                    failure.lock().get_or_insert(error);
                    self.progress.stop();
                }
            };
            let mut threads = Vec::new();
            for _ in 0..self.jobs.min(self.source.units()) {
                match std::thread::Builder::new().spawn_scoped(scope, job) {
                    Ok(thread) => threads.push(thread),
                    Err(error) => {
                        let message = format!("can't start {} jobs: {error}: use fewer", self.jobs);
                        failure.lock().get_or_insert(TargetError::usage(message));
                        self.progress.stop();
                    }
                }
            }
            // An error before the stop has ended the load. An error after the stop may be its consequence.
            let mut interrupted = false;
            while threads.iter().any(|thread| !thread.is_finished()) {
                if control.is_stopped() && !self.progress.stopped() {
                    interrupted = true;
                    self.progress.stop();
                }
                observer(&self.snapshot());
                self.course.look(&self.progress);
                wait(self.step(), || threads.iter().all(|thread| thread.is_finished()));
            }
            interrupted
        });
        match failure.into_inner() {
            Some(error) if error.kind == TargetErrorKind::Interrupted => Ok(false),
            Some(error) if !interrupted => Err(error),
            // The stop may have come when all units were loaded.
            _ => Ok(!interrupted || self.done.load(Ordering::Relaxed) == self.source.units()),
        }
    }

    /// Loads one unit after the other until there are no more.
    fn job(&self, next: &AtomicUsize) -> Result<(), TargetError> {
        let mut loader: Option<S::Loader> = None;
        while !self.progress.stopped() {
            let unit = next.fetch_add(1, Ordering::Relaxed);
            if unit >= self.source.units() {
                break;
            }
            let loader = match &mut loader {
                Some(loader) => loader,
                none => none.insert(self.source.loader()?),
            };
            self.source.load(loader, unit, &self.progress)?;
            self.visible_done.fetch_add(u32::from(self.source.is_visible(unit)), Ordering::Relaxed);
            self.done.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Builds keys, indexes, and whatever else the database needs. Returns false if it was interrupted.
    fn finish(
        &self,
        control: &RunControl,
        observer: &mut dyn FnMut(&LoadSnapshot),
    ) -> Result<bool, TargetError> {
        *self.stage.lock() = "building keys and indexes".to_owned();
        self.course.stage("finishing");
        self.rows_in.get_or_init(Instant::now);
        std::thread::scope(|scope| {
            let finish = scope.spawn(|| self.source.finish(self.jobs, &|stage| self.enter(stage)));
            let mut stopped = None;
            while !finish.is_finished() {
                if stopped.is_none() && control.is_stopped() {
                    stopped = Some(scope.spawn(|| self.source.stop()));
                }
                observer(&self.snapshot());
                self.course.look(&self.progress);
                wait(self.step(), || finish.is_finished());
            }
            match finish.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
                // An error after the stop is its consequence.
                Err(error) if stopped.is_none() && error.kind != TargetErrorKind::Interrupted => Err(error),
                Err(_) => Ok(false),
                Ok(()) => Ok(true),
            }
        })
    }

    /// Begins a step after the rows.
    fn enter(&self, stage: &str) {
        self.course.stage(stage);
        stage.clone_into(&mut self.stage.lock());
    }

    /// Returns the time until the next look, which is no later than the next second.
    fn step(&self) -> Duration {
        STEP.min(self.course.until_next_second())
    }

    fn snapshot(&self) -> LoadSnapshot {
        LoadSnapshot {
            rows: self.progress.rows(),
            bytes: self.progress.bytes(),
            elapsed: self.course.elapsed(),
            units_done: self.source.visible_units().0 + self.visible_done.load(Ordering::Relaxed),
            total_units: self.source.visible_units().1,
            building: self.rows_in.get().map(Instant::elapsed),
            stage: self.stage.lock().clone(),
        }
    }
}

/// Sleeps for `step`, or until `done` returns true.
fn wait(step: Duration, done: impl Fn() -> bool) {
    const NAP: Duration = Duration::from_millis(2);
    let begun = Instant::now();
    while begun.elapsed() < step && !done() {
        std::thread::sleep(NAP);
    }
}
