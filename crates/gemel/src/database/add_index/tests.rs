//! An index that is being added, stopped at each step, with commits there.

use crate::copy::copy_directory;
use crate::error::{Error, Result};
use crate::files::fail_point::{forget_here, once_here};
use crate::files::faulty::{FaultyFiles, Operation};
use crate::ids::Direction;
use crate::row::{ColumnType, IndexDef, RowRange, Schema, Table, Value};
use crate::{Database, Durability, Engine, Isolation, Options, Transaction};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

const ENGINES: [Engine; 2] = [Engine::Memory, Engine::Disk];
/// Rows of a table: several batches.
const ROWS: i64 = 50;

fn schema() -> Schema {
    let schema = Schema::new().column("id", ColumnType::I64).nullable("value", ColumnType::I64);
    schema.column("note", ColumnType::I64).primary_key(["id"])
}

fn by_value(unique: bool) -> IndexDef {
    IndexDef { unique, ..IndexDef::new("by_value", ["value"]).include(["note"]) }
}

fn row(id: i64, value: impl Into<Option<i64>>, note: i64) -> [Value<'static>; 3] {
    [Value::Int(id), value.into().into(), Value::Int(note)]
}

/// Makes a table of [`ROWS`] rows.
fn filled(db: &Database, engine: Engine) -> Table {
    let table = db.create_table("t", engine, schema()).unwrap();
    commit(db, |transaction| (0..ROWS).try_for_each(|id| table.insert(transaction, &row(id, id * 10, 0))))
        .unwrap();
    table
}

fn open(directory: &Path) -> Database {
    Database::open(directory.join("db"), Options::default()).unwrap()
}

fn commit(db: &Database, work: impl FnOnce(&mut Transaction) -> Result<()>) -> Result<()> {
    let mut transaction = db.begin(Isolation::Snapshot)?;
    work(&mut transaction)?;
    transaction.commit()?.wait()
}

/// A row without its key: the value and the note.
type Rest = (Option<i64>, i64);

/// Returns what the index has of each row, and verifies both against each other.
fn by_index(db: &Database, table: &Table) -> BTreeMap<i64, Rest> {
    let (mut transaction, mut found) = (db.begin(Isolation::Snapshot).unwrap(), BTreeMap::new());
    table.verify(&mut transaction).unwrap();
    table
        .scan_index_only(&mut transaction, "by_value", &RowRange::all(), Direction::Forward, |row| {
            let value = if row.is_null(1)? { None } else { Some(row.int(1)?) };
            assert!(found.insert(row.int(0)?, (value, row.int(2)?)).is_none());
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    found
}

fn outdated<T: std::fmt::Debug>(outcome: Result<T>) {
    assert!(matches!(&outcome, Err(Error::Outdated(_))), "{outcome:?}");
}

#[test]
fn transactions_commit_while_an_index_is_being_added() {
    for (engine, unique) in ENGINES.into_iter().flat_map(|engine| [(engine, false), (engine, true)]) {
        let directory = tempfile::tempdir().unwrap();
        let db = open(directory.path());
        let old = filled(&db, engine);
        let (stands, standing) = channel();
        let (go, going) = channel();
        let (mut reader, mut early) = (db.begin(Isolation::Snapshot).unwrap(), None);
        let mut late = None;
        std::thread::scope(|scope| {
            let builder = scope.spawn(|| {
                once_here("catalog.index_step", move || {
                    stands.send(()).unwrap();
                    going.recv().unwrap();
                });
                db.add_index("t", by_value(unique))
            });
            // The first batch is there, and the rest waits for this thread.
            standing.recv().unwrap();
            outdated(commit(&db, |transaction| old.delete(transaction, &[Value::Int(1)]).map(drop)));
            let table = db.table("t").unwrap();
            assert!(table.schema().indexes.is_empty() && table.index_columns("by_value").is_err());
            commit(&db, |transaction| {
                for id in [1, 40] {
                    assert!(table.delete(transaction, &[Value::Int(id)])?);
                    assert!(table.set(transaction, &[Value::Int(id + 1)], &[(1, Value::Int(7 + id))])?);
                    assert!(table.set(transaction, &[Value::Int(id + 2)], &[(2, Value::Int(5))])?);
                    assert!(table.upsert(transaction, &row(id + 3, None, 1))?);
                }
                table.insert(transaction, &row(-1, -10, 0))?;
                table.insert(transaction, &row(ROWS, ROWS * 10, 0))?;
                let range = [Value::Int(10), Value::Int(30)].map(|id| [id]);
                for from in &range {
                    assert_eq!(table.delete_range(transaction, &RowRange::prefix(from))?, 1);
                }
                Ok(())
            })
            .unwrap();
            early = Some(db.begin(Isolation::Snapshot).unwrap());
            late = Some(table);
            go.send(()).unwrap();
            builder.join().unwrap().unwrap();
        });
        let (mut early, during) = (early.unwrap(), late.unwrap());
        let table = db.table("t").unwrap();
        let mut expected: BTreeMap<i64, Rest> = (0..ROWS).map(|id| (id, (Some(id * 10), 0))).collect();
        for id in [1, 40] {
            expected.remove(&id);
            expected.insert(id + 1, (Some(7 + id), 0));
            expected.insert(id + 2, (Some((id + 2) * 10), 5));
            expected.insert(id + 3, (None, 1));
        }
        for id in [-1, ROWS] {
            expected.insert(id, (Some(id * 10), 0));
        }
        for id in [10, 30] {
            expected.remove(&id);
        }
        assert_eq!(by_index(&db, &table), expected);

        // Who began meanwhile goes on, through the handle of then or the one of its snapshot, and can't read the index.
        let then = db.table_in(&early, "t").unwrap();
        assert!(then.schema().indexes.is_empty());
        then.insert(&mut early, &row(100, 1000, 0)).unwrap();
        during.insert(&mut early, &row(101, 1010, 0)).unwrap();
        let error = table.first_index(&mut early, "by_value", &RowRange::all()).map(drop).unwrap_err();
        assert!(matches!(error, Error::TooOld(_)), "{error}");
        early.commit().unwrap().wait().unwrap();
        commit(&db, |transaction| during.insert(transaction, &row(102, 1020, 0))).unwrap();
        expected.extend((100..103).map(|id| (id, (Some(id * 10), 0))));
        assert_eq!(by_index(&db, &table), expected);
        assert_eq!(old.get(&mut reader, &[Value::Int(1)]).unwrap().unwrap().view().int(1).unwrap(), 10);
        assert_eq!(db.tables_in(&reader).unwrap().len(), 1);
        // It goes on over a move too, although it did not see the end.
        let other = if engine == Engine::Memory { Engine::Disk } else { Engine::Memory };
        db.move_table("t", other).unwrap();
        commit(&db, |transaction| {
            assert!(during.delete(transaction, &[Value::Int(102)])?);
            during.insert(transaction, &row(104, 1040, 0))
        })
        .unwrap();
        expected.remove(&102);
        expected.insert(104, (Some(1040), 0));
        assert_eq!(by_index(&db, &db.table("t").unwrap()), expected);
        // A handle that only writes the index ends with it.
        db.drop_index("t", "by_value").unwrap();
        outdated(commit(&db, |transaction| during.insert(transaction, &row(103, 1030, 0))));
        drop((reader, during, then, old, table, db));
        assert!(crate::check(directory.path().join("db")).unwrap().is_good());
    }
}

#[test]
fn what_is_written_before_or_while_its_batch_is_committed_is_not_overwritten() {
    for (engine, unique) in ENGINES.into_iter().flat_map(|engine| [(engine, false), (engine, true)]) {
        let directory = tempfile::tempdir().unwrap();
        let db = open(directory.path());
        filled(&db, engine);
        // Between the first batch's reads and its commit.
        once_here("catalog.index_read", {
            let db = db.clone();
            move || {
                let table = db.table("t").unwrap();
                commit(&db, |transaction| {
                    table.delete(transaction, &[Value::Int(1)])?;
                    table.set(transaction, &[Value::Int(2)], &[(1, Value::Int(7))])?;
                    table.set(transaction, &[Value::Int(3)], &[(2, Value::Int(8))])?;
                    table.insert(transaction, &row(100, 10, 0))
                })
                .unwrap();
            }
        });
        let table = db.add_index("t", by_value(unique)).unwrap();
        let mut expected: BTreeMap<i64, Rest> = (0..ROWS).map(|id| (id, (Some(id * 10), 0))).collect();
        expected.remove(&1);
        expected.extend([(2, (Some(7), 0)), (3, (Some(30), 8)), (100, (Some(10), 0))]);
        assert_eq!(by_index(&db, &table), expected);
    }
}

#[test]
fn equal_values_are_found_whoever_writes_them_first() {
    for engine in ENGINES {
        // A writer gives its row the value of row 2, which is in the first batch, or of row 40. Either the writer gets the
        // error (`is_told`), or the builder.
        for (place, value, is_told) in [
            ("catalog.indexing", 20, false),
            ("catalog.index_read", 20, false),
            ("catalog.index_step", 20, true),
            ("catalog.index_step", 400, false),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let db = open(directory.path());
            filled(&db, engine);
            once_here(place, {
                let db = db.clone();
                move || {
                    let table = db.table("t").unwrap();
                    let written = commit(&db, |transaction| table.insert(transaction, &row(-1, value, 0)));
                    match written {
                        Err(Error::Constraint(text)) => assert!(is_told && text.contains("(id = 2)")),
                        written => assert!(!is_told && written.is_ok(), "{written:?}"),
                    }
                }
            });
            let added = db.add_index("t", by_value(true));
            if is_told {
                assert_eq!(by_index(&db, &added.unwrap()).len() as i64, ROWS);
                continue;
            }
            let error = added.unwrap_err();
            let names = [format!("(value = {value})"), format!("(id = {})", value / 10), "(id = -1)".into()];
            let text = error.to_string();
            assert!(matches!(error, Error::Constraint(_)), "{text}");
            assert!(names.iter().all(|name| text.contains(name)), "{text}");
            // Nothing of the index is left.
            assert_eq!(db.keyspaces().len(), 1);
            let table = db.table("t").unwrap();
            commit(&db, |transaction| table.insert(transaction, &row(-2, value, 0))).unwrap();
            let table = db.add_index("t", by_value(false)).unwrap();
            assert_eq!(by_index(&db, &table).len() as i64, ROWS + 2);
        }
    }
}

/// Row 40 has no entry yet when another row gets its value. Then one of the two changes.
#[test]
fn a_value_that_moves_to_another_row_before_its_batch_keeps_its_entry() {
    type Work = fn(&Table, &mut Transaction) -> Result<()>;
    let works: [(Work, Option<Rest>); 6] = [
        (|table, transaction| table.delete(transaction, &[Value::Int(40)]).map(drop), None),
        (
            |table, transaction| {
                table.delete_range(transaction, &RowRange::prefix(&[Value::Int(40)])).map(drop)
            },
            None,
        ),
        (
            |table, transaction| table.set(transaction, &[Value::Int(40)], &[(1, Value::Int(7))]).map(drop),
            Some((Some(7), 0)),
        ),
        (|table, transaction| table.upsert(transaction, &row(40, None, 3)).map(drop), Some((None, 3))),
        // The entry of row -1 stays as it is, so this change is seen when that row is gone.
        (
            |table, transaction| {
                table.set(transaction, &[Value::Int(40)], &[(2, Value::Int(9))])?;
                table.delete(transaction, &[Value::Int(-1)]).map(drop)
            },
            Some((Some(400), 9)),
        ),
        (
            |table, transaction| table.set(transaction, &[Value::Int(-1)], &[(1, Value::Int(7))]).map(drop),
            Some((Some(400), 0)),
        ),
    ];
    for engine in ENGINES {
        for (number, (work, left)) in works.iter().enumerate() {
            // In one transaction, or one after the other.
            for at_once in [true, false] {
                let directory = tempfile::tempdir().unwrap();
                let db = open(directory.path());
                filled(&db, engine);
                once_here("catalog.index_step", {
                    let (db, work) = (db.clone(), *work);
                    move || {
                        let table = db.table("t").unwrap();
                        let insert =
                            |transaction: &mut Transaction| table.insert(transaction, &row(-1, 400, 0));
                        if at_once {
                            commit(&db, |transaction| {
                                insert(transaction).and_then(|()| work(&table, transaction))
                            })
                            .unwrap();
                        } else {
                            commit(&db, insert).unwrap();
                            commit(&db, |transaction| work(&table, transaction)).unwrap();
                        }
                    }
                });
                let table = db.add_index("t", by_value(true)).unwrap();
                let found = by_index(&db, &table);
                assert_eq!(found.get(&40), left.as_ref(), "{number}");
                let moved = match number {
                    4 => None,
                    5 => Some((Some(7), 0)),
                    _ => Some((Some(400), 0)),
                };
                assert_eq!(found.get(&-1).copied(), moved, "{number}");
            }
        }
    }
}

/// The row that has no entry yet must not take that of the row that got its value.
#[test]
fn a_change_of_a_row_without_an_entry_does_not_hide_equal_values() {
    for engine in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let db = open(directory.path());
        filled(&db, engine);
        once_here("catalog.index_step", {
            let db = db.clone();
            move || {
                let table = db.table("t").unwrap();
                commit(&db, |transaction| table.insert(transaction, &row(-1, 400, 0))).unwrap();
                let note = [(2, Value::Int(9))];
                commit(&db, |transaction| table.set(transaction, &[Value::Int(40)], &note).map(drop))
                    .unwrap();
            }
        });
        let error = db.add_index("t", by_value(true)).unwrap_err();
        assert!(matches!(&error, Error::Constraint(text) if text.contains("(value = 400)")), "{error}");
    }
}

/// The manifest names the index only when its entries are durable, whatever the durability of commits.
#[test]
fn an_index_that_is_there_after_a_power_cut_has_its_entries() {
    let directory = tempfile::tempdir().unwrap();
    let (path, files) = (directory.path().join("db"), FaultyFiles::default());
    let options =
        Options { durability: Durability::Relaxed(Duration::from_secs(3600)), ..Options::default() };
    let open =
        |files: &FaultyFiles| Database::open_with(Arc::new(files.clone()), &path, options.clone()).unwrap();
    let db = open(&files);
    filled(&db, Engine::Memory);
    db.sync().unwrap();
    db.add_index("t", by_value(true)).unwrap();
    let cut = files.power_cut(0);
    drop(db);
    let db = open(&cut);
    assert_eq!(by_index(&db, &db.table("t").unwrap()).len() as i64, ROWS);
}

#[test]
fn an_index_that_panics_or_dies_halfway_leaves_nothing() {
    for (engine, place) in ENGINES.into_iter().flat_map(|engine| {
        ["catalog.indexing", "catalog.index_read", "catalog.index_step", "catalog.index_filled"]
            .map(|place| (engine, place))
    }) {
        let directory = tempfile::tempdir().unwrap();
        let db = open(directory.path());
        filled(&db, engine);
        let path = directory.path().to_owned();
        let during: Rc<RefCell<Option<Table>>> = Rc::default();
        once_here(place, {
            let (db, path, during) = (db.clone(), path.clone(), Rc::clone(&during));
            move || {
                let table = db.table("t").unwrap();
                commit(&db, |transaction| {
                    table.insert(transaction, &row(100, 1000, 0))?;
                    table.delete(transaction, &[Value::Int(1)]).map(drop)
                })
                .unwrap();
                // As a process leaves the files that dies here.
                copy_directory(&path.join("db"), &path.join("dead/db"));
                *during.borrow_mut() = Some(table);
                panic!("for the test");
            }
        });
        assert!(catch_unwind(AssertUnwindSafe(|| db.add_index("t", by_value(true)))).is_err());
        let during = during.take().unwrap();
        outdated(commit(&db, |transaction| during.delete(transaction, &[Value::Int(2)]).map(drop)));
        let check = |db: &Database| {
            assert_eq!((db.keyspaces().len(), db.table("t").unwrap().schema().indexes.len()), (1, 0));
            let table = db.table("t").unwrap();
            commit(db, |transaction| table.insert(transaction, &row(101, 1010, 0))).unwrap();
            let found = by_index(db, &db.add_index("t", by_value(true)).unwrap());
            assert!(!found.contains_key(&1) && found[&100].0 == Some(1000) && found[&101].0 == Some(1010));
            assert_eq!(found.len() as i64, ROWS + 1);
        };
        check(&db);
        drop((db, during));
        let dead = path.join("dead");
        assert!(crate::check(dead.join("db")).unwrap().is_good());
        let db = open(&dead);
        check(&db);
        drop(db);
        for directory in [&path, &dead] {
            assert!(crate::check(directory.join("db")).unwrap().is_good());
        }
    }
}

#[test]
fn an_index_that_fails_is_there_as_a_whole_or_not_at_all() {
    let (mut without, mut with) = (0, 0);
    for nth in 1.. {
        let directory = tempfile::tempdir().unwrap();
        let (path, files) = (directory.path().join("db"), FaultyFiles::default());
        let open = |files: &FaultyFiles| {
            Database::open_with(Arc::new(files.clone()), &path, Options::default()).unwrap()
        };
        let db = open(&files);
        filled(&db, Engine::Memory);
        once_here("catalog.index_step", {
            let db = db.clone();
            move || {
                // After an error of the log there are no more commits.
                let table = db.table("t").unwrap();
                let _ = commit(&db, |transaction| table.insert(transaction, &row(100, 1000, 0)));
            }
        });
        files.fail(Operation::Any, nth, 5, 0);
        let added = db.add_index("t", by_value(true)).map(drop);
        let struck = files.mend();
        forget_here();
        let table = db.table("t").unwrap();
        assert!(added.is_err() || table.schema().indexes.len() == 1);
        let written = commit(&db, |transaction| table.insert(transaction, &row(101, 1010, 0)));
        assert!(written.is_ok() || matches!(written, Err(Error::Poisoned(_))), "{written:?}");
        table.verify(&mut db.begin(Isolation::Snapshot).unwrap()).unwrap();
        if nth % 2 == 0 {
            let _ = db.checkpoint();
        }
        drop((db, table));
        let db = open(&files.power_cut(nth % 3));
        let table = db.table("t").unwrap();
        let is_there = table.schema().indexes.len() == 1;
        assert!(is_there || added.is_err(), "{nth}");
        (without, with) = (without + u32::from(!is_there), with + u32::from(is_there));
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        table.verify(&mut transaction).unwrap();
        assert!(written.is_err() || table.get(&mut transaction, &[Value::Int(101)]).unwrap().is_some());
        drop(transaction);
        let table = if is_there { table } else { db.add_index("t", by_value(true)).unwrap() };
        commit(&db, |transaction| table.insert(transaction, &row(102, 1020, 0))).unwrap();
        assert!(by_index(&db, &table).len() as i64 > ROWS);
        if !struck {
            break;
        }
    }
    assert!(without > 1 && with > 0, "{without} {with}");
}

/// A change of rows: its kind, two places among the keys, a value, and true if it is committed at the next step.
type Step = (u8, i64, i64, u8, bool);

fn step() -> impl Strategy<Value = Step> {
    (0..8_u8, 0..ROWS + 10, 0..ROWS + 10, any::<u8>(), any::<bool>())
}

/// A transaction that is committed later: the rows at its snapshot, and as it leaves those.
struct Waiting {
    transaction: Transaction,
    changes: BTreeMap<i64, Option<Rest>>,
}

/// A table with an index that is being added, and the rows that it must have.
struct World {
    db: Database,
    rows: BTreeMap<i64, Rest>,
    steps: Vec<Step>,
    waiting: Vec<Waiting>,
    unique: bool,
    fresh: i64,
    had_equal: bool,
}

impl World {
    fn has_equal(&self) -> bool {
        let mut values: Vec<i64> = self.rows.values().filter_map(|(value, _)| *value).collect();
        let all = values.len();
        values.sort_unstable();
        values.dedup();
        values.len() < all
    }

    fn put(&mut self, Waiting { transaction, changes }: Waiting) {
        match transaction.commit().and_then(|ticket| ticket.wait()) {
            Ok(()) => {
                for (id, rest) in changes {
                    match rest {
                        Some(rest) => self.rows.insert(id, rest),
                        None => self.rows.remove(&id),
                    };
                }
            }
            Err(error) => assert!(error.is_retryable() || error.is_outdated(), "{error}"),
        }
        self.had_equal |= self.has_equal();
    }

    /// Commits what waited, and makes some more changes.
    fn go(&mut self) {
        for waiting in std::mem::take(&mut self.waiting) {
            self.put(waiting);
        }
        for _ in 0..3 {
            let Some(step) = self.steps.pop() else { return };
            let is_later = step.4;
            if let Some(waiting) = self.change(step) {
                if is_later { self.waiting.push(waiting) } else { self.put(waiting) }
            }
        }
    }

    /// Begins a transaction with a change. Returns none if it is rejected.
    fn change(&mut self, (kind, id, other, value, _): Step) -> Option<Waiting> {
        let table = self.db.table("t").unwrap();
        let mut transaction = self.db.begin(Isolation::Snapshot).unwrap();
        self.fresh += 1;
        // One of an existing row, null, or a new one.
        let value = match value {
            0..24 => Some(i64::from(value) * 20),
            24..48 => None,
            _ => Some(10_000 + self.fresh),
        };
        let note = self.fresh;
        let (before, mut after) = (&self.rows, self.rows.clone());
        let key = [Value::Int(id)];
        let outcome = (|| {
            match kind {
                0 => {
                    table.insert(&mut transaction, &row(id, value, note))?;
                    after.insert(id, (value, note));
                }
                1 => {
                    table.upsert(&mut transaction, &row(id, value, note))?;
                    after.insert(id, (value, note));
                }
                2 => {
                    if table.set(&mut transaction, &key, &[(1, value.into())])? {
                        after.entry(id).and_modify(|rest| rest.0 = value);
                    }
                }
                3 => {
                    if table.set(&mut transaction, &key, &[(2, Value::Int(note))])? {
                        after.entry(id).and_modify(|rest| rest.1 = note);
                    }
                }
                4 => {
                    assert_eq!(table.delete(&mut transaction, &key)?, after.remove(&id).is_some());
                }
                5 => {
                    let until = [Value::Int(id + 3)];
                    let range = RowRange::new(Bound::Included(&key), Bound::Excluded(&until));
                    table.delete_range(&mut transaction, &range)?;
                    after.retain(|at, _| !(id..id + 3).contains(at));
                }
                // The value goes to another row, which gets it before or after the first one is deleted.
                _ => {
                    let Some((moved, _)) = after.get(&id).copied() else { return Ok(()) };
                    if id == other {
                        return Ok(());
                    }
                    if kind == 6 {
                        table.delete(&mut transaction, &key)?;
                    }
                    table.upsert(&mut transaction, &row(other, moved, note))?;
                    if kind == 7 {
                        table.delete(&mut transaction, &key)?;
                    }
                    after.remove(&id);
                    after.insert(other, (moved, note));
                }
            }
            Ok(())
        })();
        if let Err(error) = outcome {
            assert!(matches!(error, Error::Constraint(_)), "{error}");
            let wanted = if kind < 6 { value } else { before.get(&id).and_then(|rest| rest.0) };
            let is_taken = wanted.is_some() && before.values().any(|rest| rest.0 == wanted);
            assert!(self.unique && is_taken || kind == 0 && before.contains_key(&id), "{error}");
            return None;
        }
        let ids = before.keys().chain(after.keys());
        let changed = ids.filter(|id| before.get(id) != after.get(id));
        let changes = changed.map(|id| (*id, after.get(id).copied())).collect();
        Some(Waiting { transaction, changes })
    }
}

fn arm(place: &'static str, world: Rc<RefCell<World>>) {
    once_here(place, move || {
        world.borrow_mut().go();
        arm(place, world);
    });
}

fn run(engine: Engine, unique: bool, steps: Vec<Step>) {
    let directory = tempfile::tempdir().unwrap();
    let db = open(directory.path());
    filled(&db, engine);
    let rows = (0..ROWS).map(|id| (id, (Some(id * 10), 0))).collect();
    let world =
        World { db: db.clone(), rows, steps, waiting: Vec::new(), unique, fresh: 0, had_equal: false };
    let world = Rc::new(RefCell::new(world));
    for place in ["catalog.indexing", "catalog.index_read", "catalog.index_step", "catalog.index_filled"] {
        arm(place, Rc::clone(&world));
    }
    let added = db.add_index("t", by_value(unique));
    forget_here();
    let mut world = world.borrow_mut();
    let (equal, rows) = (world.has_equal(), world.rows.clone());
    let table = match added {
        Ok(table) => {
            assert!(!(unique && equal));
            assert_eq!(by_index(&db, &table), rows);
            table
        }
        Err(error) => {
            assert!(matches!(error, Error::Constraint(_)) && unique && world.had_equal, "{error}");
            assert_eq!(db.keyspaces().len(), 1);
            db.add_index("t", by_value(false)).unwrap()
        }
    };
    assert_eq!(by_index(&db, &table), rows);
    // What waits has the handle from before the end.
    world.go();
    let rows = world.rows.clone();
    assert_eq!(by_index(&db, &table), rows);
}

fn cases() -> u32 {
    std::env::var("GEMEL_PROPERTIES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(24)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_index_has_the_entries_of_the_rows_whatever_is_written_meanwhile(
        steps in proptest::collection::vec(step(), 0..40),
    ) {
        for (engine, unique) in ENGINES.into_iter().flat_map(|engine| [(engine, false), (engine, true)]) {
            run(engine, unique, steps.clone());
        }
    }
}
