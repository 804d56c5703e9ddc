//! Random transactions over tables of both engines, interleaved in one thread, at all isolation levels, with
//! checkpoints, clean ends and power cuts in between. A model of a few sorted maps predicts the results.
//!
//! In one thread everything except aborts is determined. So the model predicts exactly each read, the snapshot of the
//! disk engine that belongs with one of the memory engine (by the rule of `DESIGN.md`, applied to all pairs there ever
//! were), and the possible states after a power cut. For aborts it predicts which must and which may happen: the
//! database may abort a commit for a change near something that was read.
//!
//! `GEMEL_PROPERTIES=5000` runs that many sequences of steps.

mod cursors;
mod model;

use crate::check;
use crate::coordinator::MANY_ROWS;
use crate::database::Database;
use crate::error::{Conflict, Error, Result};
use crate::files::fail_point::{forget_here, once_here};
use crate::files::faulty::FaultyFiles;
use crate::ids::Direction;
use crate::keyspace::Engine;
use crate::lock_manager::Wait;
use crate::options::{CommitStamps, Isolation, LogMode, Options};
use crate::row::{ColumnType, RowRange, Schema, Table, Value};
use crate::scratch::directory;
use crate::ticket::Ticket;
use crate::transaction::Transaction;
use model::{Open, World, answer, effect, engine, over};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// Number of tables. Those with even numbers are in memory.
const TABLES: usize = 3;
/// Number of transactions that are open at once.
const SLOTS: usize = 4;

/// Table and primary key.
type Place = (usize, i64);
/// Group (in an index) and code (in a unique index, unless null).
type Row = (i64, Option<i64>);
type Rows = BTreeMap<Place, Row>;
/// Own writes; none deletes.
type Own = BTreeMap<Place, Option<Row>>;
/// Primary keys and rows, in the order of a read.
type Answer = Vec<(i64, Row)>;

#[derive(Clone, Debug)]
enum Read {
    Get(Place),
    GetForUpdate(Place),
    /// Locks a row, without waiting.
    GetLocked(Place),
    /// Scans up to a number of rows of a table, by primary key or by group.
    Scan {
        table: usize,
        by_group: bool,
        direction: Direction,
        limit: usize,
        /// True if a cursor reads the rows.
        by_cursor: bool,
    },
}

impl Read {
    fn table(&self) -> usize {
        let (Self::Get((table, _))
        | Self::GetForUpdate((table, _))
        | Self::GetLocked((table, _))
        | Self::Scan { table, .. }) = self;
        *table
    }
}

#[derive(Clone, Debug)]
enum Write {
    Insert(Place, Row),
    Upsert(Place, Row),
    /// Adds one to the group.
    Change(Place),
    Delete(Place),
}

#[derive(Clone, Debug)]
enum Step {
    Begin(usize),
    Read(usize, Read),
    Write(usize, Write),
    /// Commits the transaction of a slot. If true, waits until the commit is durable.
    Commit(usize, bool),
    Rollback(usize),
    /// Writes a checkpoint. Commits the transaction of the slot after some pieces of it, if there are so many.
    Checkpoint(usize, usize),
    Savepoint(usize),
    /// Rolls the transaction of a slot back to one of its savepoints.
    RollbackTo(usize, usize),
    /// Closes the database and opens it.
    Reopen,
    /// Cuts the power. The seed selects which unsynced changes are left.
    PowerCut(u64),
}

#[derive(Clone, Debug)]
struct Plan {
    log: LogMode,
    stamps: CommitStamps,
    capacity: usize,
    recycle: u64,
    /// Isolation levels of the transactions, one after the other.
    levels: Vec<Isolation>,
    steps: Vec<Step>,
}

fn plan() -> impl Strategy<Value = Plan> {
    let place = || (0..TABLES, 0..4_i64);
    let row = || (0..3_i64, proptest::option::of(0..3_i64));
    let scan = (0..TABLES, any::<bool>(), any::<bool>(), 1..6_usize, any::<bool>());
    let scan = scan.prop_map(|(table, by_group, forward, limit, by_cursor)| {
        let direction = if forward { Direction::Forward } else { Direction::Backward };
        Read::Scan { table, by_group, direction, limit, by_cursor }
    });
    let read = prop_oneof![
        3 => place().prop_map(Read::Get),
        1 => place().prop_map(Read::GetForUpdate),
        2 => place().prop_map(Read::GetLocked),
        2 => scan,
    ];
    let write = prop_oneof![
        2 => (place(), row()).prop_map(|(place, row)| Write::Insert(place, row)),
        2 => (place(), row()).prop_map(|(place, row)| Write::Upsert(place, row)),
        2 => place().prop_map(Write::Change),
        1 => place().prop_map(Write::Delete),
    ];
    let step = prop_oneof![
        8 => (0..SLOTS).prop_map(Step::Begin),
        30 => (0..SLOTS, read).prop_map(|(slot, read)| Step::Read(slot, read)),
        40 => (0..SLOTS, write).prop_map(|(slot, write)| Step::Write(slot, write)),
        25 => (0..SLOTS, any::<bool>()).prop_map(|(slot, waits)| Step::Commit(slot, waits)),
        2 => (0..SLOTS).prop_map(Step::Rollback),
        3 => (0..SLOTS, 0..8_usize).prop_map(|(slot, pieces)| Step::Checkpoint(slot, pieces)),
        3 => (0..SLOTS).prop_map(Step::Savepoint),
        4 => (0..SLOTS, any::<usize>()).prop_map(|(slot, which)| Step::RollbackTo(slot, which)),
        1 => Just(Step::Reopen),
        2 => (0..20_u64).prop_map(Step::PowerCut),
    ];
    let level = prop_oneof![
        1 => Just(Isolation::ReadCommitted),
        2 => Just(Isolation::Snapshot),
        2 => Just(Isolation::Serializable),
    ];
    (
        prop_oneof![Just(LogMode::Shared), Just(LogMode::PerEngine)],
        prop_oneof![Just(CommitStamps::Latched), Just(CommitStamps::Independent)],
        (prop_oneof![1..3_usize, Just(1000)], prop_oneof![1..4_u64, Just(1000)]),
        proptest::collection::vec(level, 8),
        proptest::collection::vec(step, 1..150),
    )
        .prop_map(|(log, stamps, (capacity, recycle), levels, steps)| Plan {
            log,
            stamps,
            capacity,
            recycle,
            levels,
            steps,
        })
}

struct Run {
    plan: Plan,
    path: PathBuf,
    files: FaultyFiles,
    /// The database; none while it is being reopened.
    db: Option<Database>,
    tables: Vec<Table>,
    world: World,
    open: [Option<(Transaction, Open)>; SLOTS],
    begun: usize,
    _directory: tempfile::TempDir,
}

fn open(files: &FaultyFiles, path: &Path, plan: &Plan) -> (Database, Vec<Table>) {
    let options = Options {
        log: plan.log,
        commit_stamps: plan.stamps,
        csr_capacity: plan.capacity,
        csr_recycle: plan.recycle,
        cache_bytes: 1 << 20,
        ..Options::default()
    };
    let db = Database::open_with(Arc::new(files.clone()), path, options).unwrap();
    let tables = (0..TABLES).map(|table| {
        let schema = Schema::new().column("id", ColumnType::I64).column("group", ColumnType::I64);
        let schema = schema.nullable("code", ColumnType::I64).primary_key(["id"]);
        let schema = schema.index("by_group", ["group"]).unique_index("by_code", ["code"]);
        let engine = [Engine::Memory, Engine::Disk][engine(table)];
        db.create_table(&format!("table {table}"), engine, schema).unwrap()
    });
    let tables = tables.collect();
    (db, tables)
}

fn values(place: Place, row: Row) -> [Value<'static>; 3] {
    [Value::Int(place.1), Value::Int(row.0), row.1.map_or(Value::Null, Value::Int)]
}

fn read(tables: &[Table], transaction: &mut Transaction, read: &Read) -> Result<Answer> {
    let mut rows = Vec::new();
    let mut each = |row: crate::row::RowView<'_>, limit: usize| {
        let code = if row.is_null(2)? { None } else { Some(row.int(2)?) };
        rows.push((row.int(0)?, (row.int(1)?, code)));
        Ok(if rows.len() == limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    };
    match read {
        Read::Get((table, id)) => {
            tables[*table].read(transaction, &[Value::Int(*id)], |row| each(row, 0).map(drop)).map(drop)?;
        }
        Read::GetForUpdate((table, id)) => {
            if let Some(row) = tables[*table].get_for_update(transaction, &[Value::Int(*id)])? {
                each(row.view(), 0).map(drop)?;
            }
        }
        Read::GetLocked((table, id)) => {
            if let Some(row) = tables[*table].get_locked(transaction, &[Value::Int(*id)], Wait::No)? {
                each(row.view(), 0).map(drop)?;
            }
        }
        Read::Scan { table, by_group, direction, limit, by_cursor: true } => {
            let (table, all) = (&tables[*table], RowRange::all());
            let mut cursor = if *by_group {
                table.cursor_index(transaction, "by_group", &all)?
            } else {
                table.cursor(transaction, &all)?
            };
            if *direction == Direction::Backward {
                cursor.seek_to_end();
            }
            loop {
                let row = match direction {
                    Direction::Forward => cursor.next(transaction)?,
                    Direction::Backward => cursor.prev(transaction)?,
                };
                match row {
                    Some(row) if each(row, *limit)?.is_continue() => {}
                    _ => break,
                }
            }
        }
        Read::Scan { table, by_group: false, direction, limit, .. } => {
            tables[*table].scan(transaction, &RowRange::all(), *direction, |row| each(row, *limit))?;
        }
        Read::Scan { table, by_group: true, direction, limit, .. } => {
            let all = RowRange::all();
            tables[*table].scan_index(transaction, "by_group", &all, *direction, |row| each(row, *limit))?;
        }
    }
    Ok(rows)
}

fn write(tables: &[Table], transaction: &mut Transaction, write: &Write) -> Result<()> {
    match write {
        Write::Insert(place, row) => tables[place.0].insert(transaction, &values(*place, *row)),
        Write::Upsert(place, row) => tables[place.0].upsert(transaction, &values(*place, *row)).map(drop),
        Write::Change((table, id)) => tables[*table]
            .update(transaction, &[Value::Int(*id)], |row| {
                let group = row.view().int(1)?;
                row.set(1, Value::Int(group + 1))
            })
            .map(drop),
        Write::Delete((table, id)) => tables[*table].delete(transaction, &[Value::Int(*id)]).map(drop),
    }
}

impl Run {
    fn new(plan: &Plan) -> Self {
        let directory = directory();
        let (path, files) = (directory.path().join("db"), FaultyFiles::default());
        let (db, tables) = open(&files, &path, plan);
        let world = World::new([Rows::new(), Rows::new()]);
        let open = [const { None }; SLOTS];
        Self {
            plan: plan.clone(),
            path,
            files,
            db: Some(db),
            tables,
            world,
            open,
            begun: 0,
            _directory: directory,
        }
    }

    fn begin(&self, isolation: Isolation) -> Transaction {
        self.db.as_ref().unwrap().begin(isolation).unwrap()
    }

    /// Returns the transaction of a slot, and begins it if there is none.
    fn take(&mut self, slot: usize) -> (Transaction, Open) {
        if let Some(open) = self.open[slot].take() {
            return open;
        }
        let isolation = self.plan.levels[self.begun % self.plan.levels.len()];
        self.begun += 1;
        let open = Open {
            isolation,
            anchor: self.world.sides[0].now(),
            disk: None,
            own: BTreeMap::new(),
            own_codes: BTreeMap::new(),
            reads: Vec::new(),
            used: BTreeMap::new(),
            has_many_reads: false,
            saved: Vec::new(),
            locks: Vec::new(),
        };
        (self.begin(isolation), open)
    }

    /// Returns the rows that a transaction sees of a table's engine, with its own writes, and the number of the
    /// engine's state below them.
    fn see(&mut self, open: &mut Open, table: usize) -> (Rows, usize) {
        let at = self.world.view(open, engine(table));
        open.used.entry(table).or_insert(at);
        let own = open.own.iter().map(|(place, (row, _))| (*place, *row));
        (over(&self.world.sides[engine(table)].states[at], own), at)
    }

    fn read(&mut self, slot: usize, what: &Read) {
        let (mut transaction, mut open) = self.take(slot);
        let table = &what.table();
        let fixed = transaction.has_fixed_snapshot();
        let outcome = read(&self.tables, &mut transaction, what);
        if let Read::GetLocked(place) = what
            && !open.locks.contains(place)
        {
            // While other transactions have only locked rows, the snapshot moves on.
            let is_busy = self.is_locked(*place);
            match &outcome {
                Err(Error::Csr(_)) => {}
                Err(Error::Locked { .. }) => {
                    assert!(is_busy, "{place:?} is free");
                    self.open[slot] = Some((transaction, open));
                    return;
                }
                Ok(_) | Err(Error::Conflict { kind: Conflict::Write, .. }) => {
                    assert!(!is_busy, "{place:?} is locked by another");
                    let is_newer = self.world.lock(&mut open, *place, fixed);
                    assert_eq!(outcome.is_err(), is_newer, "{place:?} at {:?}", open.isolation);
                    if is_newer {
                        return;
                    }
                }
                Err(error) => panic!("{error}"),
            }
        }
        let rows = match outcome {
            Ok(rows) => rows,
            // Only the registry aborts here, if its partition is closed. The transaction is over.
            Err(error) => return assert!(matches!(error, Error::Csr(_)), "{error}"),
        };
        let (seen, _) = self.see(&mut open, *table);
        // At read committed, the transaction's earlier writes may contradict later commits of others.
        if !self.world.is_overtaken(&open) {
            assert_eq!(rows, answer(what, &seen), "{what:?} at {:?}", open.isolation);
        }
        let own = open.own.iter().map(|(place, (row, _))| (*place, *row)).collect();
        open.reads.push((what.clone(), own, rows));
        self.open[slot] = Some((transaction, open));
    }

    fn write(&mut self, slot: usize, what: &Write) {
        let (mut transaction, mut open) = self.take(slot);
        let (Write::Insert(place, _) | Write::Upsert(place, _) | Write::Change(place) | Write::Delete(place)) =
            what;
        let outcome = write(&self.tables, &mut transaction, what);
        if let Err(Error::Csr(_)) = outcome {
            return;
        }
        let (seen, at) = self.see(&mut open, place.0);
        let expected = effect(what, &seen);
        if self.world.is_overtaken(&open) {
            // The transaction can't commit any more.
        } else {
            match &outcome {
                Ok(()) => assert!(expected.is_some(), "{what:?} should have been rejected"),
                Err(Error::Constraint(_)) => assert_eq!(expected, None, "{what:?} was rejected"),
                Err(error) => panic!("{what:?}: {error}"),
            }
        }
        if let (Ok(()), Some(Some((place, row)))) = (outcome, expected) {
            let codes = [seen.get(&place).and_then(|row| row.1), row.and_then(|row| row.1)];
            if codes[0] != codes[1] {
                for code in codes.into_iter().flatten() {
                    open.own_codes.entry((place.0, code)).or_insert(at);
                }
            }
            open.own.entry(place).and_modify(|(own, _)| *own = row).or_insert((row, at));
        }
        self.open[slot] = Some((transaction, open));
    }

    fn commit(&mut self, slot: usize, waits: bool) {
        let Some((transaction, mut open)) = self.open[slot].take() else { return };
        open.has_many_reads = transaction.rows_to_validate() > MANY_ROWS;
        let outcome = transaction.commit();
        self.note_commit(open, outcome, waits);
    }

    /// Writes a checkpoint, and commits after its first pieces.
    fn checkpoint(&mut self, slot: usize, pieces: usize) {
        let outcome = Rc::new(RefCell::new(None));
        let open = self.open[slot].take().map(|(transaction, mut open)| {
            open.has_many_reads = transaction.rows_to_validate() > MANY_ROWS;
            (0..pieces).for_each(|_| once_here("checkpoint.after_piece", || {}));
            let outcome = Rc::clone(&outcome);
            once_here("checkpoint.after_piece", move || *outcome.borrow_mut() = Some(transaction.commit()));
            open
        });
        self.db.as_ref().unwrap().checkpoint().unwrap();
        // Without so many pieces, this rolls the transaction back.
        forget_here();
        if let (Some(open), Some(outcome)) = (open, outcome.take()) {
            self.note_commit(open, outcome, false);
        }
        self.world.acknowledge();
    }

    /// Returns true if the transaction of another slot than the one that was taken holds the lock of a row.
    fn is_locked(&self, place: Place) -> bool {
        self.open.iter().flatten().any(|(_, open)| open.locks.contains(&place))
    }

    /// Compares the outcome of a commit with the model.
    fn note_commit(&mut self, open: Open, outcome: Result<Ticket>, waits: bool) {
        let meets_lock = open.own.keys().any(|place| self.is_locked(*place));
        let world = &mut self.world;
        let overtaken = world.is_overtaken(&open);
        let stale = world.is_stale(&open);
        let writes = !open.own.is_empty();
        match outcome {
            Ok(ticket) => {
                assert!(!overtaken, "an update was lost: {:?}", open.own);
                assert!(!meets_lock, "wrote what another one had locked: {:?}", open.own);
                assert!(!(writes && stale), "committed on what was read before it changed: {:?}", open.reads);
                if writes {
                    world.stamp(&open, true);
                    for table in 0..TABLES {
                        let rows = world.sides[engine(table)].newest().iter().filter(|row| row.0.0 == table);
                        let codes: Vec<_> = rows.filter_map(|(_, (_, code))| *code).collect();
                        let unique: BTreeSet<_> = codes.iter().collect();
                        assert_eq!(codes.len(), unique.len(), "a code exists twice in table {table}");
                    }
                }
                if waits {
                    ticket.wait().unwrap();
                    world.acknowledge();
                }
            }
            Err(Error::Conflict { kind, .. }) => {
                let may_conflict = world.may_conflict(&open) || meets_lock && kind == Conflict::Locked;
                assert!(writes && may_conflict, "aborted ({kind:?}) for nothing");
                if kind == Conflict::Read {
                    // The checks of constraints read too.
                    let validates =
                        open.isolation == Isolation::Serializable || open.validated().next().is_some();
                    assert!(validates, "{:?}", open.reads);
                    if !open.has_many_reads {
                        world.stamp(&open, false);
                    }
                }
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn savepoint(&mut self, slot: usize) {
        let (mut transaction, mut open) = self.take(slot);
        let savepoint = transaction.savepoint().unwrap();
        open.saved.push((savepoint, open.own.clone(), open.own_codes.clone(), open.locks.len()));
        self.open[slot] = Some((transaction, open));
    }

    fn rollback_to(&mut self, slot: usize, which: usize) {
        let Some((transaction, open)) = &mut self.open[slot] else { return };
        let Some(which) = which.checked_rem(open.saved.len()) else { return };
        open.saved.truncate(which + 1);
        let (savepoint, own, own_codes, locks) = &open.saved[which];
        transaction.rollback_to(savepoint).unwrap();
        (open.own, open.own_codes) = (own.clone(), own_codes.clone());
        open.locks.truncate(*locks);
    }

    fn all(&self) -> [Rows; 2] {
        let mut all = [Rows::new(), Rows::new()];
        let mut transaction = self.begin(Isolation::Snapshot);
        for table in 0..TABLES {
            let (direction, limit) = (Direction::Forward, usize::MAX);
            let scan = Read::Scan { table, by_group: true, direction, limit, by_cursor: false };
            let rows = read(&self.tables, &mut transaction, &scan).unwrap();
            all[engine(table)].extend(rows.into_iter().map(|(id, row)| ((table, id), row)));
        }
        all
    }

    fn reopen(&mut self, files: FaultyFiles) {
        self.open = [const { None }; SLOTS];
        self.tables.clear();
        // The open database holds the lock.
        drop(self.db.take());
        self.files = files;
        let (db, tables) = open(&self.files, &self.path, &self.plan);
        let report = check::report(&db).unwrap();
        assert!(report.is_good(), "{report}");
        (self.db, self.tables) = (Some(db), tables);
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Begin(slot) => self.open[*slot] = Some(self.take(*slot)),
            Step::Read(slot, what) => self.read(*slot, what),
            Step::Write(slot, what) => self.write(*slot, what),
            Step::Commit(slot, waits) => self.commit(*slot, *waits),
            Step::Rollback(slot) => drop(self.open[*slot].take()),
            Step::Checkpoint(slot, pieces) => self.checkpoint(*slot, *pieces),
            Step::Savepoint(slot) => self.savepoint(*slot),
            Step::RollbackTo(slot, which) => self.rollback_to(*slot, *which),
            Step::Reopen => {
                self.world.acknowledge();
                self.reopen(self.files.clone());
                let rows = self.all();
                assert_eq!(&rows, &[0, 1].map(|side| self.world.sides[side].newest().clone()));
                self.world = World::new(rows);
            }
            Step::PowerCut(seed) => {
                self.reopen(self.files.power_cut(*seed));
                let rows = self.all();
                assert!(
                    self.world.may_leave(&rows),
                    "{rows:?} are left, acknowledged {:?} of {:?}: {:?}",
                    self.world.acknowledged,
                    self.world.history,
                    self.world.sides
                );
                self.world = World::new(rows);
            }
        }
    }
}

fn cases() -> u32 {
    std::env::var("GEMEL_PROPERTIES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(1000)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn transactions_over_both_engines_behave_like_a_few_sorted_maps(plan in plan()) {
        let mut run = Run::new(&plan);
        for step in &plan.steps {
            run.step(step);
        }
        run.step(&Step::PowerCut(0));
        run.step(&Step::Reopen);
    }
}
