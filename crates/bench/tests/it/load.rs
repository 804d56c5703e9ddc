//! Loading: loaded units, loaded once, and rejected databases.

use lydite_bench::{Kept, LoadError, LoadReport, RunControl, load};
use lydite_database::{
    Capabilities, ConditionFinding, DatabaseState, Demand, Description, FoundRows, HalfCounts, LedgerCounts,
    LoadProgress, LoadRows, LoadUnit, Loader, RowKeys, Session, TableChecksum, Target, TargetError,
    TargetErrorKind, Written,
};
use lydite_tpcc::consistency::Condition;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::population::Population;
use lydite_tpcc::{Districts, OrderId, Timestamp, TransactionKind, WarehouseId};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// Action of a loader before it has loaded a warehouse.
type Script = dyn Fn(WarehouseId, &LoadProgress) -> Result<(), TargetError> + Send + Sync;

/// A database that records the loaded units, not the rows.
struct Shelf {
    state: Arc<Mutex<DatabaseState>>,
    script: Arc<Script>,
    finished: Mutex<u32>,
}

impl Shelf {
    fn new(state: DatabaseState) -> Self {
        Self { state: Arc::new(Mutex::new(state)), script: Arc::new(|_, _| Ok(())), finished: Mutex::new(0) }
    }

    fn with(
        mut self,
        script: impl Fn(WarehouseId, &LoadProgress) -> Result<(), TargetError> + Send + Sync + 'static,
    ) -> Self {
        self.script = Arc::new(script);
        self
    }

    fn now(&self) -> DatabaseState {
        lock(&self.state).clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

struct ShelfLoader {
    state: Arc<Mutex<DatabaseState>>,
    script: Arc<Script>,
}

impl Loader for ShelfLoader {
    fn load(&mut self, unit: LoadUnit, _rows: &LoadRows, progress: &LoadProgress) -> Result<(), TargetError> {
        let LoadUnit::Warehouse(warehouse) = unit else {
            if let DatabaseState::Loading { items, .. } = &mut *lock(&self.state) {
                assert!(!*items, "ITEM was loaded twice");
                *items = true;
            }
            progress.add(100, 1_000);
            return Ok(());
        };
        (self.script)(warehouse, progress)?;
        if let DatabaseState::Loading { warehouses, .. } = &mut *lock(&self.state) {
            assert!(!warehouses.contains(&warehouse), "warehouse {warehouse} was loaded twice");
            warehouses.push(warehouse);
        }
        progress.add(10, 100);
        Ok(())
    }
}

impl Target for Shelf {
    fn describe(&self) -> Result<Description, TargetError> {
        Err(TargetError::usage("not here"))
    }
    fn state(&self) -> Result<DatabaseState, TargetError> {
        Ok(self.now())
    }
    fn admit(&self, _demand: &Demand) -> Result<Vec<String>, TargetError> {
        Ok(Vec::new())
    }
    fn begin_load(&self) -> Result<Box<dyn Send>, TargetError> {
        Ok(Box::new(()))
    }
    fn create_schema(&self, meta: &DatabaseMeta) -> Result<(), TargetError> {
        *lock(&self.state) =
            DatabaseState::Loading { meta: meta.clone(), items: false, warehouses: Vec::new() };
        Ok(())
    }
    fn loader(&self) -> Result<Box<dyn Loader>, TargetError> {
        Ok(Box::new(ShelfLoader { state: Arc::clone(&self.state), script: Arc::clone(&self.script) }))
    }
    fn finish_load(&self, _jobs: usize, stage: &(dyn Fn(&str) + Sync)) -> Result<(), TargetError> {
        stage("indexes");
        std::thread::sleep(Duration::from_millis(20));
        *lock(&self.finished) += 1;
        if let DatabaseState::Loading { meta, items, warehouses } = self.now() {
            assert!(items);
            let all: BTreeSet<_> = warehouses.into_iter().collect();
            assert_eq!(all.len() as u32, meta.warehouses);
            *lock(&self.state) = DatabaseState::Ready { meta };
        }
        Ok(())
    }
    fn note_played(&self, _kinds: &[TransactionKind]) -> Result<(), TargetError> {
        Err(TargetError::usage("not here"))
    }
    fn connect(&self) -> Result<Box<dyn Session>, TargetError> {
        Err(TargetError::usage("not here"))
    }
    fn reset(&self) -> Result<(), TargetError> {
        Err(TargetError::usage("not here"))
    }
    fn check(
        &self,
        _conditions: &[Condition],
        _done: &(dyn Fn(&ConditionFinding) + Sync),
    ) -> Result<Vec<ConditionFinding>, TargetError> {
        Err(TargetError::usage("not here"))
    }
    fn checksums(&self) -> Result<Vec<TableChecksum>, TargetError> {
        Err(TargetError::usage("not here"))
    }
    fn counts(&self, _warehouses: &RangeInclusive<u32>) -> Result<LedgerCounts, TargetError> {
        Err(TargetError::usage("not here"))
    }
    fn written(
        &self,
        _warehouses: &RangeInclusive<u32>,
        _orders_from: Option<OrderId>,
    ) -> Result<Written, TargetError> {
        Err(TargetError::usage("not here"))
    }

    fn reread(&self, _keys: &RowKeys) -> Result<FoundRows, TargetError> {
        Err(TargetError::usage("not here"))
    }

    fn halves(
        &self,
        _warehouses: &RangeInclusive<u32>,
        _loaded_orders: OrderId,
    ) -> Result<HalfCounts, TargetError> {
        Err(TargetError::usage("not here"))
    }
    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities::default()
    }
}

const SEED: u64 = 7;

fn rows(warehouses: u32) -> LoadRows {
    LoadRows::from(&Population::new(warehouses, SEED, Timestamp(0)))
}

fn meta(warehouses: u32) -> DatabaseMeta {
    DatabaseMeta::uniform(warehouses, SEED, "0.0.1")
}

fn loading(warehouses: u32, done: &[u32]) -> DatabaseState {
    let done = done.iter().copied().map(WarehouseId).collect();
    DatabaseState::Loading { meta: meta(warehouses), items: true, warehouses: done }
}

fn fill(shelf: &Shelf, warehouses: u32, resume: bool) -> Result<LoadReport, LoadError> {
    load(shelf, &rows(warehouses), 3, resume, &RunControl::default(), &mut |_| {})
}

#[test]
fn an_empty_database_gets_every_warehouse_once() {
    let shelf = Shelf::new(DatabaseState::Empty);
    let mut snapshots = Vec::new();
    let report = load(&shelf, &rows(8), 3, false, &RunControl::default(), &mut |snapshot| {
        snapshots.push(snapshot.clone());
    })
    .unwrap();
    assert!(
        matches!(shelf.now(), DatabaseState::Ready { meta } if meta.warehouses == 8 && meta.seed == SEED)
    );
    assert_eq!((report.rows, report.bytes), (180, 1_800));
    assert_eq!((report.units, report.jobs, report.interrupted), (8, 3, false));
    let last = snapshots.last().unwrap();
    assert_eq!((last.units_done, last.total_units, last.rows), (8, 8, 180));
    assert_eq!(last.stage, "reading back what is stored");
    assert!(last.building.is_some_and(|building| building <= last.elapsed), "{last:?}");
    assert!(snapshots.iter().all(|snapshot| (snapshot.stage == "rows") == snapshot.building.is_none()));
}

#[test]
fn an_unfinished_load_is_completed_only_when_asked() {
    let shelf = Shelf::new(loading(5, &[2, 4]));
    let error = fill(&shelf, 5, false).unwrap_err();
    assert_eq!(error.cause.kind, TargetErrorKind::Usage);
    assert_eq!(
        error.cause.message,
        "the database holds an unfinished load of 5 warehouses from seed 7: complete it with --resume, or start \
         again with --fresh"
    );
    let report = fill(&shelf, 5, true).unwrap();
    assert_eq!(report.units, 3);
    assert!(matches!(shelf.now(), DatabaseState::Ready { .. }));
}

#[test]
fn a_load_whose_rows_are_all_there_is_only_finished() {
    let shelf = Shelf::new(loading(2, &[1, 2]));
    assert_eq!(fill(&shelf, 2, true).unwrap().rows, 0);
    assert_eq!(*lock(&shelf.finished), 1);
}

#[test]
fn an_unfinished_load_of_other_rows_is_refused() {
    let shelf = Shelf::new(loading(5, &[2]));
    let error = fill(&shelf, 6, true).unwrap_err();
    assert!(
        error.cause.message.contains("of 5 warehouses from seed 7, not of 6 warehouses from seed 7"),
        "{error}"
    );
    assert_eq!(shelf.now(), loading(5, &[2]));

    let districts = Districts::spread("zipf(1.5)".parse().unwrap(), 5).unwrap();
    let (warehouses, items) = (vec![WarehouseId(2)], true);
    let skewed = DatabaseState::Loading { meta: DatabaseMeta { districts, ..meta(5) }, items, warehouses };
    let shelf = Shelf::new(skewed.clone());
    let error = fill(&shelf, 5, true).unwrap_err();
    assert!(
        error.cause.message.contains("of 5 warehouses with data_skew zipf(1.5) from seed 7, not of 5"),
        "{error}"
    );
    assert_eq!(shelf.now(), skewed);
}

#[test]
fn a_database_with_data_is_refused_and_left_alone() {
    let ready = DatabaseState::Ready { meta: meta(1) };
    let foreign = DatabaseState::Foreign { tables: vec!["orders".to_owned(), "stock".to_owned()] };
    for (state, words) in [(ready, "is loaded already, with 1 warehouse from"), (foreign, "(orders, stock)")]
    {
        let shelf = Shelf::new(state.clone());
        let error = fill(&shelf, 1, true).unwrap_err();
        assert_eq!(error.cause.kind, TargetErrorKind::Usage);
        assert!(error.cause.message.contains(words), "{error}");
        assert_eq!(shelf.now(), state);
    }
}

#[test]
fn a_target_of_any_scale_gets_rows_but_neither_tables_nor_keys() {
    let shelf = Shelf::new(DatabaseState::AnyScale);
    let report = fill(&shelf, 4, false).unwrap();
    assert_eq!((report.rows, report.units), (140, 4));
    assert_eq!((shelf.now(), *lock(&shelf.finished)), (DatabaseState::AnyScale, 0));
}

/// Waits until the load is asked to stop.
fn wait_for_stop(progress: &LoadProgress) -> Result<(), TargetError> {
    while !progress.stopped() {
        std::thread::sleep(Duration::from_millis(1));
    }
    Err(TargetError::database("rolled back as asked"))
}

#[test]
fn an_error_in_one_job_stops_the_others_and_is_the_one_that_is_told() {
    let shelf = Shelf::new(DatabaseState::Empty).with(|warehouse, progress| match warehouse.0 {
        1 => Ok(()),
        3 => Err(TargetError::database("no space left on device")),
        _ => wait_for_stop(progress),
    });
    let error = fill(&shelf, 100, false).unwrap_err();
    assert_eq!(
        (error.cause.message.as_str(), error.kept),
        ("no space left on device", Some(Kept::Warehouses(Some(1))))
    );
    assert_eq!(*lock(&shelf.finished), 0);
    assert!(
        matches!(shelf.now(), DatabaseState::Loading { warehouses, .. } if warehouses == [WarehouseId(1)])
    );
}

#[test]
fn a_stop_keeps_what_is_complete_so_that_the_load_can_be_resumed() {
    let control = Arc::new(RunControl::default());
    let stopper = Arc::clone(&control);
    let shelf = Shelf::new(DatabaseState::Empty).with(move |warehouse, progress| {
        if warehouse.0 < 3 {
            return Ok(());
        }
        stopper.stop();
        wait_for_stop(progress)
    });
    let report = load(&shelf, &rows(100), 3, false, &control, &mut |_| {}).unwrap();
    assert!(report.interrupted);
    assert_eq!((report.units, *lock(&shelf.finished)), (2, 0));
    let shelf = Shelf::new(shelf.now());
    let report = fill(&shelf, 100, true).unwrap();
    assert_eq!((report.units, report.interrupted), (98, false));
}
