//! Tables that are made within a transaction: they appear with its rows, in both engines, or not at all.

use crate::base::{ENGINES, LEVELS, LOGS, good, insert, logs_and_homes, open, trees};
use crate::copy::copy_directory;
use crate::outcome::{conflict, outdated, rejected, too_old};
use crate::scratch::directory;
use gemel::row::{ColumnChange, ColumnType, IndexDef, RowRange, Schema, Table, Value};
use gemel::{
    Conflict, Database, Direction, Durability, Engine, Isolation, LogMode, Options, Result, Transaction,
};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

pub(crate) fn schema() -> Schema {
    let schema = Schema::new().column("id", ColumnType::I64).nullable("value", ColumnType::I64);
    schema.primary_key(["id"]).index("by_value", ["value"]).unique_index("once", ["value", "id"])
}

fn count(transaction: &mut Transaction, table: &Table) -> Result<usize> {
    let mut rows = 0;
    table.scan(transaction, &RowRange::all(), Direction::Forward, |_| {
        rows += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    let mut entries = 0;
    table.scan_index(transaction, "by_value", &RowRange::all(), Direction::Backward, |_| {
        entries += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    assert_eq!(rows, entries);
    Ok(rows)
}

pub(crate) fn rows(db: &Database, name: &str) -> usize {
    count(&mut db.begin(Isolation::Snapshot).unwrap(), &db.table(name).unwrap()).unwrap()
}

fn names(db: &Database) -> Vec<String> {
    db.tables().into_iter().map(|(name, _)| name).collect()
}

/// Makes a table in each engine, named after it.
pub(crate) fn make_old(db: &Database) -> [Table; 2] {
    ENGINES.map(|engine| db.create_table(engine.name(), engine, schema()).unwrap())
}

/// Makes a table "new" with 50 rows, and writes 20 rows to each table of [`make_old`].
pub(crate) fn make_new(db: &Database, transaction: &mut Transaction, home: Engine) -> Result<Table> {
    for engine in ENGINES {
        insert(transaction, &db.table(engine.name())?, 0..20)?;
    }
    let table = db.create_table_in(transaction, "new", home, schema())?;
    insert(transaction, &table, 0..50)?;
    Ok(table)
}

#[test]
fn a_table_and_its_rows_appear_together_with_rows_of_other_tables() {
    for (log, home, level) in LOGS
        .into_iter()
        .flat_map(|log| ENGINES.map(|home| (log, home)))
        .flat_map(|(log, home)| LEVELS.map(|level| (log, home, level)))
    {
        let directory = directory();
        let path = directory.path().join("db");
        let db = open(&path, log);
        let [memory, _] = make_old(&db);
        let mut before = db.begin(Isolation::Snapshot).unwrap();
        let mut transaction = db.begin(level).unwrap();
        let table = make_new(&db, &mut transaction, home).unwrap();
        // The transaction has the table.
        assert_eq!(count(&mut transaction, &table).unwrap(), 50);
        table.delete(&mut transaction, &[Value::Int(3)]).unwrap();
        let found = db.table_in(&transaction, "new").unwrap();
        assert_eq!(count(&mut transaction, &found).unwrap(), 49);
        let expected = [("memory", Engine::Memory), ("disk", Engine::Disk), ("new", home)];
        let expected = expected.map(|(name, engine)| (name.to_owned(), engine));
        assert_eq!(db.tables_in(&transaction).unwrap(), expected);
        // Nobody else has it.
        for other in [&mut before, &mut db.begin(Isolation::ReadCommitted).unwrap()] {
            rejected(db.table_in(other, "new"), "a transaction makes it, and has not committed");
            assert_eq!(db.tables_in(other).unwrap().len(), 2);
            rejected(count(other, &table), "\"new\" is being made by another transaction");
            rejected(insert(other, &table, 60..61), "\"new\" is being made by another transaction");
        }
        rejected(db.table("new"), "there is no table \"new\"");
        assert_eq!((names(&db).len(), db.keyspaces().len(), db.sizes().unwrap().len()), (2, 6, 6));
        transaction.commit().unwrap().wait().unwrap();
        // A snapshot from before has nothing of it.
        rejected(db.table_in(&before, "new"), "there is no table \"new\" in the snapshot");
        assert_eq!(db.tables_in(&before).unwrap().len(), 2);
        assert_eq!(count(&mut before, &memory).unwrap(), 0);
        too_old(count(&mut before, &table), "was changed after the transaction began");
        too_old(insert(&mut before, &table, 60..61), "was changed after the transaction began");
        // A later one has all of it, by the handle of the transaction too.
        let check = |db: &Database| {
            let all = ["memory", "disk", "new"].map(|name| rows(db, name));
            assert_eq!(all, [20, 20, 49], "{log:?} {home:?} {level:?}");
            let mut later = db.begin(Isolation::Serializable).unwrap();
            let found = db.table_in(&later, "new").unwrap();
            found.verify(&mut later).unwrap();
            later
        };
        let mut later = check(&db);
        insert(&mut later, &table, 60..61).unwrap();
        table.delete(&mut later, &[Value::Int(60)]).unwrap();
        later.commit().unwrap().wait().unwrap();
        drop((before, memory, table, found, db));
        let db = open(&path, log);
        drop(check(&db));
        // Everything can be done with it.
        db.alter_table("new", &[ColumnChange::add("more", ColumnType::Text)]).unwrap();
        db.add_index("new", IndexDef::new("third", ["value"])).unwrap();
        db.move_table("new", if home == Engine::Memory { Engine::Disk } else { Engine::Memory }).unwrap();
        drop(check(&db));
        db.drop_table("new").unwrap();
        drop(db);
        good(&path);
    }
}

/// A reader that has the rows of a commit in a table that was there has its new table with all rows, and the other way
/// round.
#[test]
fn no_snapshot_has_a_new_table_without_the_other_rows_of_its_commit() {
    const ROUNDS: i64 = 60;
    for (log, home) in logs_and_homes() {
        let directory = directory();
        let options = Options { log, durability: Durability::None, ..Options::default() };
        let db = Database::open(directory.path(), options).unwrap();
        let old = make_old(&db);
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for reader in 0..2 {
                let (db, old, is_done) = (&db, &old, &is_done);
                scope.spawn(move || {
                    while !is_done.load(Ordering::SeqCst) {
                        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
                        let tables = db.tables_in(&transaction).unwrap().len();
                        let found = [0, 1].map(|at| count(&mut transaction, &old[at ^ reader]).unwrap());
                        assert_eq!(found, [tables - 2; 2]);
                        if tables > 2 {
                            let newest = db.table_in(&transaction, &(tables - 3).to_string()).unwrap();
                            assert_eq!(count(&mut transaction, &newest).unwrap(), 3);
                        }
                        rejected(db.table_in(&transaction, &(tables - 2).to_string()), "there is no table");
                    }
                });
            }
            for round in 0..ROUNDS {
                db.run(Isolation::Snapshot, |transaction| {
                    let table = db.create_table_in(transaction, &round.to_string(), home, schema())?;
                    old.iter().try_for_each(|old| insert(transaction, old, round..round + 1))?;
                    insert(transaction, &table, 0..3)
                })
                .unwrap();
            }
            is_done.store(true, Ordering::SeqCst);
        });
    }
}

#[test]
fn a_table_without_a_row_is_made_and_several_of_both_engines_at_once() {
    for log in LOGS {
        let directory = directory();
        let path = directory.path().join("db");
        let db = open(&path, log);
        // The anchor's clock is ahead of the other one.
        let other = db.keyspace("other", Engine::Memory).unwrap();
        for _ in 0..20 {
            db.run(Isolation::Snapshot, |transaction| transaction.put(&other, b"k", b"v")).unwrap();
        }
        for home in ENGINES {
            let before = db.begin(Isolation::Snapshot).unwrap();
            let mut transaction = db.begin(Isolation::Snapshot).unwrap();
            db.create_table_in(&mut transaction, home.name(), home, schema()).unwrap();
            transaction.commit().unwrap().wait().unwrap();
            assert!(db.table_in(&before, home.name()).is_err());
            assert!(db.table_in(&db.begin(Isolation::Snapshot).unwrap(), home.name()).is_ok());
        }
        let mut transaction = db.begin(Isolation::Serializable).unwrap();
        for (number, home) in ENGINES.into_iter().cycle().enumerate().take(6) {
            let table = db.create_table_in(&mut transaction, &number.to_string(), home, schema()).unwrap();
            insert(&mut transaction, &table, 0..number as i64).unwrap();
            // This row has the key of the mark.
            let flags = Schema::new().column("flag", ColumnType::Bool).primary_key(["flag"]);
            let flags =
                db.create_table_in(&mut transaction, &format!("flags {number}"), home, flags).unwrap();
            flags.insert(&mut transaction, &[Value::Bool(false)]).unwrap();
        }
        transaction.commit().unwrap().wait().unwrap();
        // As a crash leaves it.
        let crashed = directory.path().join("crashed");
        copy_directory(&path, &crashed);
        drop(db);
        for path in [&path, &crashed] {
            let db = open(path, log);
            assert_eq!(db.tables().len(), 14);
            ENGINES.iter().for_each(|home| assert_eq!(rows(&db, home.name()), 0));
            for number in 0..6 {
                assert_eq!(rows(&db, &number.to_string()), number);
                let flags = db.table(&format!("flags {number}")).unwrap();
                let mut transaction = db.begin(Isolation::Snapshot).unwrap();
                assert!(flags.get(&mut transaction, &[Value::Bool(false)]).unwrap().is_some());
                assert!(flags.get(&mut transaction, &[Value::Bool(true)]).unwrap().is_none());
            }
            drop(db);
            good(path);
        }
    }
}

#[test]
fn two_that_make_the_same_name_conflict_and_the_name_is_free_after_a_rollback() {
    for home in ENGINES {
        let directory = directory();
        let db = open(directory.path(), LogMode::Shared);
        db.create_table("t", home, schema()).unwrap();
        let begin = || db.begin(Isolation::Snapshot).unwrap();
        let (mut first, mut second, mut old) = (begin(), begin(), begin());
        db.create_table_in(&mut first, "new", home, schema()).unwrap();
        for engine in ENGINES {
            let again = db.create_table_in(&mut first, "new", engine, schema());
            rejected(again, "table \"new\" exists already");
            conflict(db.create_table_in(&mut second, "new", engine, schema()), Conflict::Locked);
            conflict(db.create_table("new", engine, schema()), Conflict::Locked);
            conflict(db.keyspace("new", engine), Conflict::Locked);
            conflict(db.keyspace("new.once", engine), Conflict::Locked);
        }
        conflict(db.rename_table("t", "new"), Conflict::Locked);
        rejected(db.create_table_in(&mut first, "t", home, schema()), "table \"t\" exists already");
        // Free again.
        drop(first);
        db.create_table_in(&mut second, "new", home, schema()).unwrap();
        second.rollback();
        db.create_table("new", home, schema()).unwrap();
        // Names that changed since the begin: a later transaction succeeds.
        conflict(db.create_table_in(&mut old, "new", home, schema()), Conflict::Write);
        let mut old = begin();
        db.drop_table("new").unwrap();
        too_old(
            db.create_table_in(&mut old, "new", home, schema()),
            "was dropped after the transaction began",
        );
        // One at read committed sees the catalog of now.
        let mut newest = db.begin(Isolation::ReadCommitted).unwrap();
        db.create_table("new", home, schema()).unwrap();
        rejected(db.create_table_in(&mut newest, "new", home, schema()), "exists already");
        db.drop_table("new").unwrap();
        db.create_table_in(&mut newest, "new", home, schema()).unwrap();
        newest.commit().unwrap().wait().unwrap();
        // `run` tries again. The other one has ended by then.
        let mut other = Some(begin());
        db.create_table_in(other.as_mut().unwrap(), "more", home, schema()).unwrap();
        let mut tries = 0;
        let made = db.run(Isolation::Snapshot, |transaction| {
            tries += 1;
            let made = db.create_table_in(transaction, "more", home, schema());
            other = None;
            made
        });
        insert(&mut begin(), &made.unwrap(), 0..3).unwrap();
        assert_eq!((tries, names(&db).len()), (2, 3));
    }
}

#[test]
fn a_rollback_leaves_nothing_of_a_table() {
    for log in LOGS {
        let directory = directory();
        let path = directory.path().join("db");
        let db = open(&path, log);
        make_old(&db);
        let before = trees(&path);
        for home in ENGINES {
            let mut transaction = db.begin(Isolation::Snapshot).unwrap();
            let table = make_new(&db, &mut transaction, home).unwrap();
            drop(transaction);
            // One whose commit fails.
            let mut transaction = db.begin(Isolation::Snapshot).unwrap();
            let again = make_new(&db, &mut transaction, home).unwrap();
            db.run(Isolation::Snapshot, |other| {
                let old = db.table("memory")?;
                insert(other, &old, 0..1)?;
                old.delete(other, &[Value::Int(0)]).map(drop)
            })
            .unwrap();
            conflict(transaction.commit(), Conflict::Write);
            for table in [table, again] {
                let mut later = db.begin(Isolation::Snapshot).unwrap();
                outdated(count(&mut later, &table), "\"new\" was dropped");
                outdated(insert(&mut later, &table, 0..1), "\"new\" was dropped");
            }
            rejected(db.table("new"), "there is no table \"new\": Database::tables");
            assert_eq!((names(&db), trees(&path)), (vec!["memory".to_owned(), "disk".to_owned()], before));
            assert_eq!(["memory", "disk"].map(|name| rows(&db, name)), [0, 0]);
        }
        drop(db);
        let manifest = std::fs::read_to_string(path.join("gemel.manifest")).unwrap();
        assert!(!manifest.contains("new"), "{manifest}");
        good(&path);
    }
}

#[test]
fn a_rollback_to_a_savepoint_drops_the_tables_made_since() {
    for (home, level) in ENGINES.into_iter().flat_map(|home| LEVELS.map(|level| (home, level))) {
        let directory = directory();
        let path = directory.path().join("db");
        let db = open(&path, LogMode::Shared);
        make_old(&db);
        let mut transaction = db.begin(level).unwrap();
        let kept = db.create_table_in(&mut transaction, "kept", home, schema()).unwrap();
        let savepoint = transaction.savepoint().unwrap();
        let gone = make_new(&db, &mut transaction, home).unwrap();
        let inner = transaction.savepoint().unwrap();
        insert(&mut transaction, &gone, 100..110).unwrap();
        assert_eq!(count(&mut transaction, &gone).unwrap(), 60);
        transaction.rollback_to(&inner).unwrap();
        assert_eq!(count(&mut transaction, &gone).unwrap(), 50);
        transaction.rollback_to(&savepoint).unwrap();
        outdated(count(&mut transaction, &gone), "\"new\" was dropped");
        outdated(insert(&mut transaction, &gone, 0..1), "\"new\" was dropped");
        rejected(db.table_in(&transaction, "new"), "there is no table \"new\": ");
        assert_eq!(db.tables_in(&transaction).unwrap().len(), 3);
        // Others can have the name, and so can the transaction.
        let mut other = db.begin(level).unwrap();
        db.create_table_in(&mut other, "new", home, schema()).unwrap();
        drop(other);
        let again = db.create_table_in(&mut transaction, "new", home, schema()).unwrap();
        insert(&mut transaction, &again, 0..5).unwrap();
        insert(&mut transaction, &kept, 0..4).unwrap();
        // A change of the catalog makes the commit look at each table.
        db.create_table("other", Engine::Memory, schema()).unwrap();
        db.drop_table("other").unwrap();
        transaction.commit().unwrap().wait().unwrap();
        assert_eq!(["kept", "new", "memory"].map(|name| rows(&db, name)), [4, 5, 0]);
        assert_eq!(trees(&path), if home == Engine::Disk { 9 } else { 3 });
        // Only what is withdrawn.
        let mut transaction = db.begin(level).unwrap();
        let savepoint = transaction.savepoint().unwrap();
        db.create_table_in(&mut transaction, "last", home, schema()).unwrap();
        transaction.rollback_to(&savepoint).unwrap();
        transaction.commit().unwrap().wait().unwrap();
        assert_eq!((db.tables().len(), trees(&path)), (4, if home == Engine::Disk { 9 } else { 3 }));
        drop(db);
        good(&path);
    }
}

#[test]
fn what_a_new_table_does_not_support_is_rejected_and_changes_nothing() {
    let (elsewhere, directory) = (directory(), directory());
    let db = open(directory.path(), LogMode::Shared);
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    let table = db.create_table_in(&mut transaction, "new", Engine::Disk, schema()).unwrap();
    let says = "there is no table \"new\": a transaction makes it, and has not committed";
    rejected(db.alter_table("new", &[ColumnChange::drop("value")]), says);
    rejected(db.add_index("new", IndexDef::new("third", ["value"])), says);
    rejected(db.drop_index("new", "once"), says);
    rejected(db.rename_table("new", "other"), says);
    rejected(db.truncate_table("new"), says);
    rejected(db.drop_table("new"), says);
    rejected(db.move_table("new", Engine::Memory), "a transaction makes it, and has not committed");
    rejected(db.statistics("new", &Default::default()), says);
    insert(&mut transaction, &table, 0..3).unwrap();
    rejected(transaction.prepare("p"), "a transaction that has changed the catalog can't prepare");
    assert!(db.prepared().is_empty() && db.tables().is_empty());
    let mut reader = db.begin_read_only().unwrap();
    rejected(db.create_table_in(&mut reader, "new", Engine::Disk, schema()), "the transaction is read-only");
    let other = open(elsewhere.path(), LogMode::Shared);
    let mut foreign = other.begin(Isolation::Snapshot).unwrap();
    rejected(db.create_table_in(&mut foreign, "new", Engine::Disk, schema()), "one of another database");
    let bad = Schema::new().column("id", ColumnType::I64).primary_key(["other"]);
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    assert!(db.create_table_in(&mut transaction, "new", Engine::Disk, bad).is_err());
    // It can go on.
    db.create_table_in(&mut transaction, "new", Engine::Disk, schema()).unwrap();
    transaction.commit().unwrap().wait().unwrap();
    assert_eq!(rows(&db, "new"), 0);
}

#[test]
fn a_transaction_that_outlives_its_database_leaves_no_table() {
    for (log, home) in logs_and_homes() {
        let directory = directory();
        let path = directory.path().join("db");
        for commits in [false, true] {
            let db = open(&path, log);
            let mut transaction = db.begin(Isolation::Snapshot).unwrap();
            make_old(&db);
            drop(transaction);
            transaction = db.begin(Isolation::Snapshot).unwrap();
            make_new(&db, &mut transaction, home).unwrap();
            db.close().unwrap();
            if commits {
                rejected(transaction.commit(), "the database is closed");
            } else {
                drop(transaction);
            }
            let db = open(&path, log);
            assert_eq!((names(&db).len(), rows(&db, "memory"), trees(&path)), (2, 0, 3));
        }
        good(&path);
    }
}

/// A ticket's callback runs on a thread that writes a log, for which a change of the catalog may wait.
#[test]
fn a_callback_drops_a_transaction_with_a_table_and_does_not_commit_it() {
    for (home, commits) in ENGINES.into_iter().flat_map(|home| [(home, false), (home, true)]) {
        let place = directory();
        // The log waits until it is asked, so the callback is there when the commit becomes durable.
        let options = Options { gather: Some(Duration::from_secs(1)), ..Options::default() };
        let db = Database::open(place.path(), options).unwrap();
        let [old, _] = make_old(&db);
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        let savepoint = transaction.savepoint().unwrap();
        make_new(&db, &mut transaction, home).unwrap();
        let mut other = db.begin(Isolation::Snapshot).unwrap();
        insert(&mut other, &old, 100..101).unwrap();
        let (done, answer) = mpsc::channel();
        let made = db.clone();
        other.commit().unwrap().on_done(move |outcome| {
            outcome.unwrap();
            let mut late = made.begin(Isolation::Snapshot).unwrap();
            rejected(made.create_table_in(&mut late, "late", home, schema()), "do this on another thread");
            rejected(made.create_table("late", home, schema()), "do this on another thread");
            rejected(made.keyspace("late", home), "do this on another thread");
            rejected(made.drop_table("disk"), "do this on another thread");
            rejected(made.rename_table("disk", "late"), "do this on another thread");
            rejected(made.alter_table("disk", &[ColumnChange::drop("value")]), "do this on another thread");
            made.create_table("disk", Engine::Disk, schema()).unwrap();
            rejected(transaction.rollback_to(&savepoint), "do this on another thread");
            assert_eq!(made.tables_in(&transaction).unwrap().len(), 3);
            if commits {
                rejected(transaction.commit(), "do this on another thread");
            } else {
                drop(transaction);
            }
            done.send(()).unwrap();
        });
        db.hurry();
        answer.recv().unwrap();
        // Another thread frees the name.
        while let Err(error) = db.create_table("new", home, schema()) {
            assert!(error.is_retryable(), "{error}");
            std::thread::yield_now();
        }
        assert_eq!((rows(&db, "new"), rows(&db, "memory")), (0, 1));
    }
}

#[test]
fn a_new_table_survives_checkpoints_and_backups_in_between() {
    for (log, home) in logs_and_homes() {
        let directory = directory();
        let [path, crashed, early, late] =
            ["db", "crashed", "early", "late"].map(|name| directory.path().join(name));
        let db = open(&path, log);
        make_old(&db);
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        make_new(&db, &mut transaction, home).unwrap();
        db.checkpoint().unwrap();
        db.backup(&early).unwrap();
        transaction.commit().unwrap().wait().unwrap();
        db.backup(&late).unwrap();
        // With the record in the log, without it, and with more of both.
        for round in 0..3 {
            copy_directory(&path, &crashed);
            let copy = open(&crashed, log);
            assert_eq!(["memory", "disk", "new"].map(|name| rows(&copy, name)), [20, 20, 50]);
            drop(copy);
            good(&crashed);
            std::fs::remove_dir_all(&crashed).unwrap();
            match round {
                0 => db.checkpoint().unwrap(),
                _ => {
                    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
                    db.create_table_in(&mut transaction, "more", home, schema()).unwrap();
                    drop(transaction);
                }
            }
        }
        for (backup, tables) in [(&early, 2), (&late, 3)] {
            good(backup);
            let copy = open(backup, log);
            assert_eq!((names(&copy).len(), rows(&copy, "disk")), (tables, if tables == 2 { 0 } else { 20 }));
            assert_eq!(copy.table("new").is_ok(), tables == 3);
            drop(copy);
            // One that was only opened is still a backup.
            db.backup(backup).unwrap();
            assert_eq!(rows(&open(backup, log), "new"), 50);
        }
    }
}

/// Commits that make tables, checkpoints, backups and other changes of the catalog wait for each other, and none for ever.
#[test]
fn commits_that_make_tables_race_with_all_that_changes_the_manifest() {
    const ROUNDS: usize = 15;
    for log in LOGS {
        let directory = directory();
        let [path, copy] = ["db", "copy"].map(|name| directory.path().join(name));
        let small = Options { log, durability: Durability::None, ..Options::default() };
        let db = Database::open(&path, small).unwrap();
        std::thread::scope(|scope| {
            for home in ENGINES {
                let db = &db;
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        let name = format!("{} {}", home.name(), round % 3);
                        db.run(Isolation::Serializable, |transaction| {
                            let table = db.create_table_in(transaction, &name, home, schema())?;
                            insert(transaction, &table, 0..100)
                        })
                        .unwrap();
                        assert_eq!(rows(db, &name), 100);
                        db.drop_table(&name).unwrap();
                        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
                        db.create_table_in(&mut transaction, &name, home, schema()).unwrap();
                    }
                });
            }
            scope.spawn(|| (0..ROUNDS).for_each(|_| db.checkpoint().unwrap()));
            scope.spawn(|| {
                for _ in 0..ROUNDS / 3 {
                    db.backup(&copy).unwrap();
                    good(&copy);
                }
            });
        });
        assert!(db.tables().is_empty());
        assert_eq!(trees(&path), 0);
        drop(db);
        good(&path);
    }
}
