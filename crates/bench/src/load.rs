//! Filling a database: warehouse by warehouse, several at a time, resumable.

use crate::control::RunControl;
use lydite_target::{DatabaseState, LoadProgress, LoadUnit, Loader, Target, TargetError};
use lydite_tpcc::WarehouseId;
use lydite_tpcc::meta::{DatabaseMeta, POPULATION_VERSION};
use lydite_tpcc::population::Population;
use parking_lot::Mutex;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How often the observer is called and a stop is looked for.
const STEP: Duration = Duration::from_millis(100);

/// What a load tells its observer, several times a second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadSnapshot {
    /// Rows handed to the database so far.
    pub rows: u64,
    /// Bytes so far, in the form in which they were sent.
    pub bytes: u64,
    /// Since the load began.
    pub elapsed: Duration,
    /// Warehouses complete, those of an earlier load that is resumed included.
    pub warehouses_done: u32,
    /// Warehouses in all.
    pub total_warehouses: u32,
    /// Since all rows are in and the database builds keys and indexes; none before.
    pub building: Option<Duration>,
    /// What is being done: `rows`, or what the database says of the work after them (keys, indexes, …).
    pub stage: String,
}

/// What came out of a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadReport {
    /// How long it took, keys and indexes included.
    pub seconds: f64,
    /// Rows handed to the database.
    pub rows: u64,
    /// Bytes, in the form in which they were sent.
    pub bytes: u64,
    /// Warehouses loaded now; fewer than there are if an earlier load was resumed.
    pub warehouses: u32,
    /// Warehouses that are complete in the database, those of an earlier load included.
    pub complete: u32,
    /// Connections that loaded at the same time.
    pub jobs: usize,
    /// Whether [`RunControl::stop`] ended it early. The load can be resumed.
    pub interrupted: bool,
}

/// What has to be loaded.
struct Work {
    items: bool,
    warehouses: Vec<WarehouseId>,
    /// Warehouses that an earlier load completed.
    done_before: u32,
    /// Whether the database keeps anything.
    stores: bool,
}

/// Loads `population` through `jobs` connections (at least 1). An empty database gets its tables first; one with
/// an unfinished load of the same rows is completed if `resume` is set. Blocks until it is over; `observer` is
/// called several times a second, on this thread.
///
/// When `control` asks for a stop, what is unfinished is rolled back and what is complete stays. Once all rows
/// are in and the database builds its keys it is not stopped any more.
///
/// # Errors
/// The database holds something else; or it fails, and then the first error of any job.
pub fn load(
    target: &dyn Target,
    population: &Population,
    jobs: usize,
    resume: bool,
    control: &RunControl,
    observer: &mut dyn FnMut(&LoadSnapshot),
) -> Result<LoadReport, TargetError> {
    let begun = Instant::now();
    let _alone = target.begin_load()?;
    let work = prepare(target, population, resume)?;
    let load = Load {
        target,
        population,
        jobs: jobs.max(1),
        work: &work,
        begun,
        progress: LoadProgress::default(),
        items_done: AtomicBool::new(false),
        done: AtomicU32::new(0),
        stage: Mutex::new("rows".to_owned()),
        rows_in: OnceLock::new(),
    };
    let interrupted = !load.rows(control, observer).map_err(resumable)?;
    if work.stores && !interrupted {
        load.finish(observer).map_err(resumable)?;
    }
    let report = LoadReport {
        seconds: begun.elapsed().as_secs_f64(),
        rows: load.progress.rows(),
        bytes: load.progress.bytes(),
        warehouses: load.done.load(Ordering::Relaxed),
        complete: work.done_before + load.done.load(Ordering::Relaxed),
        jobs: load.jobs,
        interrupted,
    };
    observer(&load.snapshot());
    Ok(report)
}

/// The error of a load that has begun: units are loaded whole or not at all, so nothing complete is lost.
fn resumable(mut error: TargetError) -> TargetError {
    error.message += "; what is complete stays, and `lydite load --resume` goes on with it";
    error
}

/// Finds out what has to be loaded, and makes the tables if there are none.
fn prepare(target: &dyn Target, population: &Population, resume: bool) -> Result<Work, TargetError> {
    let wanted = DatabaseMeta {
        warehouses: population.warehouses,
        seed: population.seed,
        c_load: population.c_load,
        population: POPULATION_VERSION,
        lydite: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let all = || population.warehouse_ids().collect();
    match target.state()? {
        DatabaseState::Empty => {
            target.create_schema(&wanted)?;
            Ok(Work { items: true, warehouses: all(), done_before: 0, stores: true })
        }
        DatabaseState::AnyScale => Ok(Work { items: true, warehouses: all(), done_before: 0, stores: false }),
        DatabaseState::Loading { meta, .. } if !resume => Err(TargetError::usage(format!(
            "the database holds an unfinished load of {}: complete it with --resume, or start again with --fresh",
            scale(&meta)
        ))),
        DatabaseState::Loading { meta, .. } if !same_rows(&meta, &wanted) => {
            let other_rows = if meta.population == wanted.population {
                String::new()
            } else {
                format!(" by another version of Lydite ({})", meta.lydite)
            };
            Err(TargetError::usage(format!(
                "the unfinished load is of {}{other_rows}, not of {}: resume it as it was begun, or start again with --fresh",
                scale(&meta),
                scale(&wanted)
            )))
        }
        DatabaseState::Loading { items, warehouses: done, .. } => {
            let warehouses: Vec<WarehouseId> =
                population.warehouse_ids().filter(|warehouse| !done.contains(warehouse)).collect();
            let done_before = population.warehouses - warehouses.len() as u32;
            Ok(Work { items: !items, warehouses, done_before, stores: true })
        }
        DatabaseState::Ready { meta } => Err(TargetError::usage(format!(
            "the database is loaded already, with {}: use it as it is, or load again with --fresh",
            scale(&meta)
        ))),
        DatabaseState::Foreign { tables } => Err(TargetError::usage(format!(
            "the database holds tables that Lydite did not make ({}): name another database or schema, or drop them with --fresh",
            tables.join(", ")
        ))),
    }
}

fn scale(meta: &DatabaseMeta) -> String {
    let plural = if meta.warehouses == 1 { "" } else { "s" };
    format!("{} warehouse{plural} from seed {}", meta.warehouses, meta.seed)
}

fn same_rows(a: &DatabaseMeta, b: &DatabaseMeta) -> bool {
    (a.warehouses, a.seed, a.c_load, a.population) == (b.warehouses, b.seed, b.c_load, b.population)
}

/// A load at work.
struct Load<'a> {
    target: &'a dyn Target,
    population: &'a Population,
    jobs: usize,
    work: &'a Work,
    begun: Instant,
    progress: LoadProgress,
    items_done: AtomicBool,
    /// Warehouses done now.
    done: AtomicU32,
    stage: Mutex<String>,
    /// When all rows were in and the database began to build.
    rows_in: OnceLock<Instant>,
}

impl Load<'_> {
    /// Loads all rows; no if it was interrupted.
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
            for _ in 0..self.jobs.min(self.units()) {
                match std::thread::Builder::new().spawn_scoped(scope, job) {
                    Ok(thread) => threads.push(thread),
                    Err(error) => {
                        let message = format!("can't start {} jobs: {error}: use fewer", self.jobs);
                        failure.lock().get_or_insert(TargetError::usage(message));
                        self.progress.stop();
                    }
                }
            }
            // An error that came before the stop is what ended the load; one after it may be its consequence.
            let mut interrupted = false;
            while threads.iter().any(|thread| !thread.is_finished()) {
                if control.is_stopped() && !self.progress.stopped() {
                    interrupted = true;
                    self.progress.stop();
                }
                observer(&self.snapshot());
                wait(STEP, || threads.iter().all(|thread| thread.is_finished()));
            }
            interrupted
        });
        match failure.into_inner() {
            Some(error) if !interrupted => Err(error),
            // The stop may have come when there was nothing left to stop.
            _ => Ok(!interrupted || self.units_done() == self.units()),
        }
    }

    /// Loads unit after unit until there are no more: ITEM if it is missing, then warehouses.
    fn job(&self, next: &AtomicUsize) -> Result<(), TargetError> {
        let mut loader: Option<Box<dyn Loader>> = None;
        while !self.progress.stopped() {
            let unit = next.fetch_add(1, Ordering::Relaxed);
            if unit >= self.units() {
                break;
            }
            let loader = match &mut loader {
                Some(loader) => loader,
                none => none.insert(self.target.loader()?),
            };
            match unit.checked_sub(usize::from(self.work.items)) {
                None => {
                    loader.load(LoadUnit::Items, self.population, &self.progress)?;
                    self.items_done.store(true, Ordering::Relaxed);
                }
                Some(index) => {
                    let warehouse = LoadUnit::Warehouse(self.work.warehouses[index]);
                    loader.load(warehouse, self.population, &self.progress)?;
                    self.done.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        Ok(())
    }

    fn units(&self) -> usize {
        usize::from(self.work.items) + self.work.warehouses.len()
    }

    fn units_done(&self) -> usize {
        usize::from(self.items_done.load(Ordering::Relaxed)) + self.done.load(Ordering::Relaxed) as usize
    }

    /// Keys, indexes and what else the database needs.
    fn finish(&self, observer: &mut dyn FnMut(&LoadSnapshot)) -> Result<(), TargetError> {
        *self.stage.lock() = "building keys and indexes".to_owned();
        self.rows_in.get_or_init(Instant::now);
        std::thread::scope(|scope| {
            let finish = scope
                .spawn(|| self.target.finish_load(self.jobs, &|stage| *self.stage.lock() = stage.to_owned()));
            while !finish.is_finished() {
                observer(&self.snapshot());
                wait(STEP, || finish.is_finished());
            }
            finish.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn snapshot(&self) -> LoadSnapshot {
        LoadSnapshot {
            rows: self.progress.rows(),
            bytes: self.progress.bytes(),
            elapsed: self.begun.elapsed(),
            warehouses_done: self.work.done_before + self.done.load(Ordering::Relaxed),
            total_warehouses: self.population.warehouses,
            building: self.rows_in.get().map(Instant::elapsed),
            stage: self.stage.lock().clone(),
        }
    }
}

/// Sleeps for `step`, or until `done` says so.
fn wait(step: Duration, done: impl Fn() -> bool) {
    const NAP: Duration = Duration::from_millis(2);
    let begun = Instant::now();
    while begun.elapsed() < step && !done() {
        std::thread::sleep(NAP);
    }
}
