//! Moves that are stopped at one place while something else happens there.

use super::*;
use crate::MoveState;
use crate::Options;
use crate::files::fail_point::{forget_here, once_here, while_it_stands_at};
use crate::files::faulty::{FaultyFiles, Operation};
use crate::options::Isolation;
use crate::row::{ColumnType, RowRange, Schema, Table, Value};
use crate::scratch::directory;
use crate::transaction::Transaction;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

const ENGINES: [Engine; 2] = [Engine::Memory, Engine::Disk];
/// Several batches.
const ROWS: i64 = 3 * COPIED_AT_ONCE as i64;

fn other(engine: Engine) -> Engine {
    if engine == Engine::Memory { Engine::Disk } else { Engine::Memory }
}

fn schema() -> Schema {
    let schema = Schema::new().column("id", ColumnType::I64).column("value", ColumnType::I64);
    schema.primary_key(["id"]).index("by_value", ["value"]).unique_index("unique", ["value"])
}

/// A database with a table of rows from 0 to [`ROWS`], whose values are ten times as large.
fn shop(path: &Path, engine: Engine, options: Options) -> (Database, Table) {
    let db = Database::open(path, options).unwrap();
    let table = db.create_table("t", engine, schema()).unwrap();
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    (0..ROWS).for_each(|id| table.insert(&mut transaction, &row(id, id * 10)).unwrap());
    transaction.commit().unwrap().wait().unwrap();
    (db, table)
}

fn row(id: i64, value: i64) -> [Value<'static>; 2] {
    [Value::Int(id), Value::Int(value)]
}

fn upsert(db: &Database, table: &Table, id: i64, value: i64) -> Result<()> {
    let mut transaction = db.begin(Isolation::Snapshot)?;
    table.upsert(&mut transaction, &row(id, value))?;
    transaction.commit()?.wait()
}

fn delete(db: &Database, table: &Table, id: i64) {
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    assert!(table.delete(&mut transaction, &[Value::Int(id)]).unwrap());
    transaction.commit().unwrap().wait().unwrap();
}

fn content(transaction: &mut Transaction, table: &Table) -> BTreeMap<i64, i64> {
    let mut rows = BTreeMap::new();
    table
        .scan(transaction, &RowRange::all(), Direction::Forward, |row| {
            assert_eq!(rows.insert(row.int(0)?, row.int(1)?), None);
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    table.verify(transaction).unwrap();
    rows
}

/// Returns the rows by their keys, and compares them with the indexes.
fn rows(db: &Database, table: &Table) -> BTreeMap<i64, i64> {
    content(&mut db.begin(Isolation::Snapshot).unwrap(), table)
}

fn expected() -> BTreeMap<i64, i64> {
    (0..ROWS).map(|id| (id, id * 10)).collect()
}

fn engine_of(db: &Database) -> Engine {
    db.tables()[0].1
}

/// Checks the rows through an old handle, a new one, and after reopening.
fn has(db: Database, table: &Table, engine: Engine, expected: &BTreeMap<i64, i64>) {
    assert_eq!(engine_of(&db), engine);
    assert_eq!(&rows(&db, table), expected);
    assert_eq!(&rows(&db, &db.table("t").unwrap()), expected);
    let path = db.path().to_path_buf();
    drop(db);
    let report = crate::check(&path).unwrap();
    assert!(report.is_good() && report.parts.len() == 3, "{report}");
    let db = Database::open(&path, Options::default()).unwrap();
    assert_eq!(engine_of(&db), engine);
    assert_eq!(&rows(&db, &db.table("t").unwrap()), expected);
    let trees = std::fs::read_dir(path.join("disk")).unwrap().count();
    assert_eq!(trees, if engine == Engine::Disk { 3 } else { 0 });
}

#[test]
fn a_commit_after_its_rows_were_copied_is_moved_too() {
    for engine in ENGINES {
        let directory = directory();
        let (db, table) = shop(directory.path(), engine, Options::default());
        let (inner, handle) = (db.clone(), table.clone());
        once_here("move.copying", move || {
            let state = inner.state().moves;
            let running = state.running.unwrap();
            assert_eq!((state.done, &*running.name, running.to), (0, "t", other(engine)));
            assert_eq!(running.copied, COPIED_AT_ONCE as u64);
            upsert(&inner, &handle, 0, -5).unwrap();
            upsert(&inner, &handle, -1, -1).unwrap();
            delete(&inner, &handle, 1);
            // Not copied yet.
            upsert(&inner, &handle, ROWS - 1, -7).unwrap();
            delete(&inner, &handle, ROWS - 2);
        });
        db.move_table("t", other(engine)).unwrap();
        let mut expected = expected();
        expected.extend([(0, -5), (-1, -1), (ROWS - 1, -7)]);
        expected.remove(&1);
        expected.remove(&(ROWS - 2));
        let moves = db.state().moves;
        assert_eq!(moves, MoveState { done: 1, running: None });
        has(db, &table, other(engine), &expected);
    }
}

#[test]
fn a_commit_of_a_row_that_is_being_copied_is_not_undone() {
    for engine in ENGINES {
        let directory = directory();
        let (db, table) = shop(directory.path(), engine, Options::default());
        let (inner, handle) = (db.clone(), table.clone());
        once_here("move.read", move || {
            upsert(&inner, &handle, 3, -5).unwrap();
            delete(&inner, &handle, 4);
            delete(&inner, &handle, 5);
            upsert(&inner, &handle, 5, 50).unwrap();
        });
        db.move_table("t", other(engine)).unwrap();
        let mut expected = expected();
        expected.insert(3, -5);
        expected.remove(&4);
        has(db, &table, other(engine), &expected);
    }
}

#[test]
fn a_move_waits_for_commits_that_do_not_know_of_it() {
    for engine in ENGINES {
        let directory = directory();
        let (db, table) = shop(directory.path(), engine, Options::default());
        let (written, moved) = while_it_stands_at(
            "commit.after_append",
            || upsert(&db, &table, 3, -5),
            // A move that does not wait copies everything before the commit goes on.
            ["catalog.settling", "move.copied"],
            || db.move_table("t", other(engine)),
        );
        written.unwrap();
        moved.unwrap();
        let mut expected = expected();
        expected.insert(3, -5);
        has(db, &table, other(engine), &expected);
    }
}

#[test]
fn a_commit_that_collected_its_writes_before_the_move_is_retried() {
    for engine in ENGINES {
        let directory = directory();
        let (db, table) = shop(directory.path(), engine, Options::default());
        let (reached, copied) = channel();
        let (go, going) = channel::<()>();
        let inner = db.clone();
        let (tell, told) = channel();
        once_here("commit.collected", move || {
            let mover = std::thread::spawn(move || {
                once_here("move.copied", move || {
                    reached.send(()).unwrap();
                    going.recv().unwrap();
                });
                inner.move_table("t", other(engine))
            });
            copied.recv().unwrap();
            tell.send(mover).unwrap();
        });
        let outcome = upsert(&db, &table, 3, -5);
        assert!(matches!(&outcome, Err(Error::Moved(name)) if name.starts_with('t')), "{outcome:?}");
        assert_eq!(db.state().aborted.moved, 1);
        upsert(&db, &table, 3, -6).unwrap();
        go.send(()).unwrap();
        told.recv().unwrap().join().unwrap().unwrap();
        let mut expected = expected();
        expected.insert(3, -6);
        has(db, &table, other(engine), &expected);
    }
}

#[test]
fn a_commit_that_writes_a_twin_of_a_move_that_was_given_up_is_retried() {
    for engine in ENGINES {
        let directory = directory();
        let (db, table) = shop(directory.path(), engine, Options::default());
        let (begun, begins) = channel();
        let (stop, stopped) = channel::<()>();
        let (inner, handle) = (db.clone(), table.clone());
        let mover = std::thread::spawn(move || {
            once_here("move.copied", move || {
                begun.send(()).unwrap();
                stopped.recv().unwrap();
                panic!("for the test");
            });
            let _ = inner.move_table("t", other(engine));
        });
        begins.recv().unwrap();
        once_here("commit.collected", move || {
            stop.send(()).unwrap();
            assert!(mover.join().is_err());
        });
        let outcome = upsert(&db, &handle, 3, -5);
        assert!(matches!(outcome, Err(Error::Moved(_))), "{outcome:?}");
        assert_eq!(db.state().memory.records, if engine == Engine::Memory { 3 * ROWS as u64 } else { 0 });
        upsert(&db, &handle, 3, -5).unwrap();
        let mut expected = expected();
        expected.insert(3, -5);
        has(db, &table, engine, &expected);
    }
}

#[test]
fn a_commit_waits_for_a_batch_that_has_locked_its_keys() {
    for engine in ENGINES {
        let directory = directory();
        let (db, table) = shop(directory.path(), engine, Options::default());
        let (has_locks, locked) = channel();
        let (go, going) = channel::<()>();
        let (installs, installed) = channel();
        let (commits, committed) = channel();
        std::thread::scope(|scope| {
            let (db, table) = (&db, &table);
            let mover = scope.spawn(move || {
                once_here("commit.after_append", move || {
                    has_locks.send(()).unwrap();
                    going.recv().unwrap();
                });
                once_here("commit.after_install", move || installs.send(()).unwrap());
                // The next batch must not lock keys of the same commit.
                once_here("move.copying", move || committed.recv().unwrap());
                db.move_table("t", other(engine))
            });
            locked.recv().unwrap();
            let disk = Arc::clone(&db.inner.disk);
            once_here("commit.locked_again", move || {
                go.send(()).unwrap();
                installed.recv().unwrap();
                // A flush waits for all commits in the engine, and later commits wait for the flush.
                let (flushes, flushed) = channel();
                std::thread::spawn(move || flushes.send(disk.flush_all()));
                let flushed = flushed.recv_timeout(Duration::from_secs(60));
                flushed.expect("a flush waits for a commit that pauses").unwrap();
            });
            let outcome = upsert(db, table, 3, -5);
            forget_here();
            commits.send(()).unwrap();
            outcome.unwrap();
            mover.join().unwrap().unwrap();
        });
        assert_eq!(db.state().aborted.locked, 0);
        let mut expected = expected();
        expected.insert(3, -5);
        has(db, &table, other(engine), &expected);
    }
}

#[test]
fn a_commit_beside_the_end_of_a_move_is_retried() {
    for engine in ENGINES {
        let directory = directory();
        let (db, table) = shop(directory.path(), engine, Options::default());
        let (start, starts) = channel();
        let (wrote, written) = channel();
        let (change, changed) = channel();
        std::thread::scope(|scope| {
            let (db, table) = (&db, &table);
            let writer = scope.spawn(move || {
                starts.recv().unwrap();
                let mut transaction = db.begin(Isolation::Snapshot).unwrap();
                table.upsert(&mut transaction, &row(3, -5)).unwrap();
                wrote.send(()).unwrap();
                starts.recv().unwrap();
                // A commit that sees no change goes on to its end.
                let seen = change.clone();
                once_here("commit.changed", move || seen.send(()).unwrap());
                let outcome = transaction.commit().map(drop);
                let _ = change.send(());
                outcome
            });
            // The transaction knows of the move's beginning.
            let begin = start.clone();
            once_here("move.copied", move || {
                begin.send(()).unwrap();
                written.recv().unwrap();
            });
            once_here("move.switching", move || {
                start.send(()).unwrap();
                changed.recv().unwrap();
            });
            db.move_table("t", other(engine)).unwrap();
            let outcome = writer.join().unwrap();
            assert!(matches!(&outcome, Err(Error::Moved(name)) if name.starts_with('t')), "{outcome:?}");
        });
        has(db, &table, other(engine), &expected());
    }
}

/// Puts values into a keyspace in memory until less than `left` bytes are free.
fn fill_memory(db: &Database, left: u64) {
    let blobs = db.keyspace("blobs", Engine::Memory).unwrap();
    for n in 0_u64.. {
        let memory = db.state().memory;
        let free = memory.limit_bytes - memory.bytes;
        if free < left {
            return;
        }
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        let bytes = (free - left + 300).min(20_000) as usize;
        transaction.put(&blobs, &n.to_be_bytes(), &vec![1; bytes]).unwrap();
        drop(transaction.commit().unwrap());
    }
}

#[test]
fn a_commit_that_finds_no_memory_for_the_twin_gives_up_the_move_and_succeeds() {
    let directory = directory();
    let options = Options { memory_limit_bytes: 1 << 20, ..Options::default() };
    let (db, table) = shop(directory.path(), Engine::Disk, options);
    let (inner, handle) = (db.clone(), table.clone());
    once_here("move.copying", move || {
        // Too little for a commit of some rows.
        fill_memory(&inner, 1000);
        let mut transaction = inner.begin(Isolation::Snapshot).unwrap();
        (100..120).for_each(|id| handle.insert(&mut transaction, &row(id, -id)).unwrap());
        transaction.commit().unwrap().wait().unwrap();
    });
    let error = db.move_table("t", Engine::Memory).unwrap_err();
    assert!(matches!(&error, Error::Capacity(text) if text.contains("memory_limit_bytes")), "{error}");
    let mut expected = expected();
    expected.extend((100..120).map(|id| (id, -id)));
    assert_eq!(rows(&db, &table), expected);
    assert_eq!(db.state().moves, MoveState::default());
    db.drop_keyspace("blobs").unwrap();
    let memory = db.state().memory;
    assert_eq!((memory.records, memory.bytes - memory.unfreed_bytes), (0, 0));
    has(db, &table, Engine::Disk, &expected);
}

#[test]
fn a_table_that_does_not_fit_into_memory_stays_and_others_keep_room() {
    let directory = directory();
    let options = Options { memory_limit_bytes: 1 << 20, ..Options::default() };
    let db = Database::open(directory.path(), options).unwrap();
    let cold = db.keyspace("cold", Engine::Disk).unwrap();
    for n in 0_u64..200 {
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        transaction.put(&cold, &n.to_be_bytes(), &[3; 10_000]).unwrap();
        drop(transaction.commit().unwrap());
    }
    let error = db.move_keyspace("cold", Engine::Memory).unwrap_err();
    assert!(matches!(&error, Error::Capacity(text) if text.contains("move less")), "{error}");
    let memory = db.state().memory;
    assert_eq!((memory.records, memory.bytes - memory.unfreed_bytes), (0, 0));
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    transaction.put(&cold, &7_u64.to_be_bytes(), b"new").unwrap();
    transaction.commit().unwrap().wait().unwrap();
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    assert_eq!(transaction.get(&cold, &7_u64.to_be_bytes()).unwrap().unwrap(), b"new");
    assert_eq!(transaction.get(&cold, &199_u64.to_be_bytes()).unwrap().unwrap(), [3; 10_000]);
    assert_eq!(db.keyspaces(), [("cold".to_string(), Engine::Disk)]);
}

/// The places of a move, and true if the table has moved once they are reached.
const PLACES: [(&str, bool); 8] = [
    ("move.begun", false),
    ("move.settled", false),
    ("move.read", false),
    ("move.copying", false),
    ("move.copied", false),
    ("move.before_manifest", false),
    ("move.after_manifest", true),
    ("move.switched", true),
];

#[test]
fn a_move_that_panics_leaves_the_table_in_one_engine() {
    for engine in ENGINES {
        for (place, moved) in PLACES {
            let directory = directory();
            let (db, table) = shop(directory.path(), engine, Options::default());
            once_here(place, || panic!("for the test"));
            assert!(catch_unwind(AssertUnwindSafe(|| db.move_table("t", other(engine)))).is_err());
            assert_eq!(db.state().moves.running, None, "{place}");
            upsert(&db, &table, 3, -5).unwrap();
            let mut expected = expected();
            expected.insert(3, -5);
            if !moved {
                // Nothing of the first move is in the way.
                db.move_table("t", other(engine)).unwrap();
            }
            has(db, &table, other(engine), &expected);
        }
    }
}

#[test]
fn a_move_that_panics_in_a_commit_poisons_the_database_and_loses_nothing() {
    for engine in ENGINES {
        let directory = directory();
        let (db, table) = shop(directory.path(), engine, Options::default());
        once_here("commit.after_append", || panic!("for the test"));
        assert!(catch_unwind(AssertUnwindSafe(|| db.move_table("t", other(engine)))).is_err());
        let outcome = upsert(&db, &table, 3, -5);
        assert!(matches!(outcome, Err(Error::Poisoned(_))), "{outcome:?}");
        assert!(matches!(db.move_table("t", other(engine)), Err(Error::Poisoned(_))));
        drop(db);
        let db = Database::open(directory.path(), Options::default()).unwrap();
        let table = db.table("t").unwrap();
        has(db, &table, engine, &expected());
    }
}

/// The names of keyspaces that are gone are kept for the errors of late commits, and not for good.
#[test]
fn keyspaces_that_are_gone_are_forgotten_when_no_transaction_can_have_written_them() {
    let directory = directory();
    let (db, table) = shop(directory.path(), Engine::Memory, Options::default());
    let mut engine = Engine::Memory;
    let mut move_often = |times| {
        for _ in 0..times {
            engine = other(engine);
            db.move_table("t", engine).unwrap();
        }
    };
    let of_a_move = 3;
    move_often(10);
    assert!(db.inner.core.gone() <= 2 * of_a_move, "{}", db.inner.core.gone());
    let mut late = db.begin(Isolation::ReadCommitted).unwrap();
    table.upsert(&mut late, &row(1, -1)).unwrap();
    move_often(10);
    assert!(db.inner.core.gone() >= 10 * of_a_move, "{}", db.inner.core.gone());
    let error = late.commit().unwrap_err();
    assert!(matches!(&error, Error::Moved(name) if name.starts_with('t')) && error.is_retryable(), "{error}");
    move_often(2);
    assert!(db.inner.core.gone() <= 2 * of_a_move, "{}", db.inner.core.gone());
    // Twins of moves that fail are gone too.
    for _ in 0..10 {
        once_here("move.copied", || panic!("for the test"));
        let to = other(engine_of(&db));
        assert!(catch_unwind(AssertUnwindSafe(|| db.move_table("t", to))).is_err());
    }
    assert!(db.inner.core.gone() <= 2 * of_a_move, "{}", db.inner.core.gone());
}

#[test]
fn other_changes_of_a_table_wait_for_its_move() {
    let index = || schema().index("second", ["value"]).indexes.remove(2);
    for engine in ENGINES {
        for action in ["drop", "truncate", "index", "move"] {
            let directory = directory();
            let (db, table) = shop(directory.path(), engine, Options::default());
            let (sender, receiver) = channel();
            let (inner, index) = (db.clone(), index());
            once_here("move.copying", move || {
                let change = std::thread::spawn(move || match action {
                    "drop" => inner.drop_table("t"),
                    "truncate" => inner.truncate_table("t").map(drop),
                    "index" => inner.add_index("t", index).map(drop),
                    _ => inner.move_table("t", engine),
                });
                sender.send(change).unwrap();
            });
            db.move_table("t", other(engine)).unwrap();
            receiver.recv().unwrap().join().unwrap().unwrap();
            match action {
                "drop" => assert!(db.tables().is_empty()),
                "truncate" => {
                    assert_eq!(engine_of(&db), other(engine));
                    assert!(rows(&db, &db.table("t").unwrap()).is_empty());
                }
                "index" => {
                    assert_eq!(
                        (rows(&db, &table), rows(&db, &db.table("t").unwrap())),
                        (expected(), expected())
                    );
                    assert_eq!((db.keyspaces().len(), engine_of(&db)), (4, other(engine)));
                }
                _ => has(db, &table, engine, &expected()),
            }
        }
    }
}

#[test]
fn a_backup_during_a_move_has_the_whole_table() {
    for engine in ENGINES {
        for (place, _) in PLACES.iter().filter(|(place, _)| !place.ends_with("_manifest")) {
            let directory = directory();
            let [path, copy] = ["db", "copy"].map(|name| directory.path().join(name));
            let (db, table) = shop(&path, engine, Options::default());
            let (inner, to) = (db.clone(), copy.clone());
            once_here(place, move || {
                upsert(&inner, &inner.table("t").unwrap(), 3, -5).unwrap();
                inner.checkpoint().unwrap();
                upsert(&inner, &inner.table("t").unwrap(), 5, -7).unwrap();
                inner.backup(&to).unwrap();
            });
            db.move_table("t", other(engine)).unwrap();
            let mut expected = expected();
            expected.extend([(3, -5), (5, -7)]);
            let opened = Database::open(&copy, Options::default()).unwrap();
            let there = opened.table("t").unwrap();
            assert_eq!(rows(&opened, &there), expected, "{place}");
            let now = engine_of(&opened);
            assert_eq!(now, if *place == "move.switched" { other(engine) } else { engine });
            opened.move_table("t", other(now)).unwrap();
            has(opened, &there, other(now), &expected);
            has(db, &table, other(engine), &expected);
        }
    }
}

/// Moves a table while a file operation fails, the `nth` after a place. Returns none if there are fewer operations,
/// otherwise true if the table's engine is unknown until the power cut that follows. Whatever fails, the table is whole
/// and takes commits, before and after the power cut, and no commit is lost.
fn fail(engine: Engine, place: &'static str, nth: u64) -> Option<bool> {
    let directory = directory();
    let (path, files) = (directory.path().join("db"), FaultyFiles::default());
    let open = |files: FaultyFiles| Database::open_with(Arc::new(files), &path, Options::default());
    let db = open(files.clone()).unwrap();
    let table = db.create_table("t", engine, schema()).unwrap();
    upsert(&db, &table, 1, 10).unwrap();
    let failing = files.clone();
    let fault = move || failing.fail(Operation::Any, nth, 5, 0);
    if place.is_empty() {
        fault()
    } else {
        once_here(place, fault)
    }
    let outcome = db.move_table("t", other(engine));
    if !files.mend() {
        outcome.unwrap();
        return None;
    }
    let error = outcome.unwrap_err();
    let (taken, mut unknown) = (upsert(&db, &table, 2, 20), false);
    if let Err(refused) = &taken {
        // The log failed.
        assert!(matches!(refused, Error::Poisoned(_)), "{place} {nth}: {refused}");
    } else {
        assert!(matches!(error, Error::Io { .. }), "{place} {nth}: {error}");
        let known = db.table("t").unwrap();
        upsert(&db, &known, 3, 30).unwrap();
        let expected: BTreeMap<_, _> = (1..4).map(|id| (id, id * 10)).collect();
        assert_eq!((&rows(&db, &known), &rows(&db, &table)), (&expected, &expected));
        if let Err(error) = db.move_table("t", other(engine_of(&db))) {
            assert!(error.to_string().contains("open it again"), "{place} {nth}: {error}");
            unknown = true;
        }
    }
    let was_in = if unknown { None } else { Some(engine_of(&db)) };
    drop((db, table));
    let db = open(files.power_cut(0)).unwrap();
    let known = db.table("t").unwrap();
    let expected = (1..if taken.is_ok() { 4 } else { 2 }).map(|id| (id, id * 10)).collect();
    assert_eq!(rows(&db, &known), expected, "{place} {nth}");
    let engine = engine_of(&db);
    assert!(was_in.is_none_or(|was_in| was_in == engine));
    db.move_table("t", other(engine)).unwrap();
    assert_eq!(rows(&db, &known), expected, "{place} {nth}");
    Some(unknown)
}

#[test]
fn a_move_whose_files_fail_leaves_the_table_in_one_engine() {
    for engine in ENGINES {
        // The manifest with the twins, the log with their rows, the manifest that names them.
        for (place, operations) in [("", 6), ("move.settled", 2), ("move.before_manifest", 6)] {
            let mut unknown = 0;
            for nth in 1.. {
                let Some(is_unknown) = fail(engine, place, nth) else {
                    assert!(nth > operations - 2, "{place}: {nth}");
                    break;
                };
                unknown += u32::from(is_unknown);
                if nth == operations {
                    break;
                }
            }
            assert_eq!(unknown > 0, place == "move.before_manifest");
        }
    }
}

/// Moves a table, and cuts the power at the `nth` file operation after a place. Returns the table's engine afterwards, or
/// none if there are fewer operations. The seed selects which unsynced changes are left.
fn cut_power(engine: Engine, place: &'static str, nth: u64, seed: u64) -> Option<Engine> {
    let directory = directory();
    let (path, files) = (directory.path().join("db"), FaultyFiles::default());
    let open = |files: FaultyFiles| Database::open_with(Arc::new(files), &path, Options::default());
    let db = open(files.clone()).unwrap();
    let table = db.create_table("t", engine, schema()).unwrap();
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    (0..ROWS).for_each(|id| table.insert(&mut transaction, &row(id, id * 10)).unwrap());
    transaction.commit().unwrap().wait().unwrap();
    let failing = files.clone();
    let cut = move || failing.cut_power(nth, seed);
    if place.is_empty() {
        cut()
    } else {
        once_here(place, cut)
    }
    let _ = db.move_table("t", other(engine));
    let image = files.image()?;
    drop((db, table));
    let db = open(image).unwrap();
    let table = db.table("t").unwrap();
    assert_eq!(rows(&db, &table), expected(), "{place} {nth} {seed}");
    let engine = engine_of(&db);
    upsert(&db, &table, 3, -5).unwrap();
    db.move_table("t", other(engine)).unwrap();
    assert_eq!(rows(&db, &table)[&3], -5);
    Some(engine)
}

#[test]
fn a_power_cut_during_a_move_leaves_the_whole_table_in_one_engine() {
    for engine in ENGINES {
        // The log's thread decides how many operations there are.
        for nth in 1..15 {
            cut_power(engine, "", nth, nth);
        }
        let ends = (1..6).flat_map(|nth| (0..8).map(move |seed| (nth, seed)));
        let ends: Vec<_> =
            ends.filter_map(|(nth, seed)| cut_power(engine, "move.before_manifest", nth, seed)).collect();
        assert!(ends.contains(&engine) && ends.contains(&other(engine)), "{ends:?}");
    }
}
