use super::super::tests::set_next_number;
use crate::copy::copy_directory;
use crate::files::fail_point::{once_here, while_it_stands_at};
use crate::files::faulty::{FaultyFiles, Operation};
use crate::keyspaces::ROOM;
use crate::row::{ColumnType, RowRange, Schema, Table, Value};
use crate::scratch::directory;
use crate::ticket::Ticket;
use crate::{
    Database, Direction, Durability, Engine, Error, Isolation, LogMode, Options, Result, Transaction,
};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

const ENGINES: [Engine; 2] = [Engine::Memory, Engine::Disk];
const LOGS: [LogMode; 2] = [LogMode::Shared, LogMode::PerEngine];

fn schema() -> Schema {
    Schema::new().column("id", ColumnType::I64).primary_key(["id"]).index("by_id", ["id"])
}

fn insert(transaction: &mut Transaction, table: &Table, id: i64) -> Result<()> {
    table.insert(transaction, &[Value::Int(id)])
}

fn count(transaction: &mut Transaction, table: &Table) -> Result<i64> {
    let mut rows = 0;
    table.scan(transaction, &RowRange::all(), Direction::Forward, |_| {
        rows += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(rows)
}

fn rows(db: &Database, name: &str) -> Result<i64> {
    count(&mut db.begin(Isolation::Snapshot)?, &db.table(name)?)
}

/// Makes a table in each engine, named after it.
fn make_old(db: &Database) -> [Table; 2] {
    ENGINES.map(|engine| db.create_table(engine.name(), engine, schema()).unwrap())
}

/// Makes a table of this name with three rows, and writes a row of this number to each of the tables that are named
/// after the engines.
fn begin_new(db: &Database, name: &str, home: Engine, id: i64) -> Result<Transaction> {
    let mut transaction = db.begin(Isolation::Snapshot)?;
    for engine in ENGINES {
        insert(&mut transaction, &db.table(engine.name())?, id)?;
    }
    let table = db.create_table_in(&mut transaction, name, home, schema())?;
    (0..3).try_for_each(|id| insert(&mut transaction, &table, id))?;
    Ok(transaction)
}

fn open(files: &FaultyFiles, path: &Path, options: &Options) -> Result<Database> {
    Database::open_with(Arc::new(files.clone()), path, options.clone())
}

/// Checks that a table that was made with the row `id` of others is there with these, or not at all. Returns true if it
/// is there.
fn whole(db: &Database, name: &str, id: i64) -> bool {
    let is_there = db.table(name).is_ok();
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    for engine in ENGINES {
        let old = db.table(engine.name());
        let has_row = old.is_ok_and(|old| old.get(&mut transaction, &[Value::Int(id)]).unwrap().is_some());
        assert_eq!(has_row, is_there, "{name} {}", engine.name());
    }
    if is_there {
        assert_eq!(rows(db, name).unwrap(), 3, "{name}");
        db.table(name).unwrap().verify(&mut transaction).unwrap();
    }
    is_there
}

/// Makes tables in many ways. Returns the names of those that are there for good.
fn make(
    files: &FaultyFiles,
    path: &Path,
    options: &Options,
    home: Engine,
    done: &mut Vec<&str>,
) -> Result<()> {
    let db = open(files, path, options)?;
    let is_lasting = options.durability == Durability::Full;
    for engine in ENGINES {
        db.create_table(engine.name(), engine, schema())?;
    }
    let ticket = begin_new(&db, "first", home, 1)?.commit()?;
    if is_lasting {
        ticket.wait()?;
        done.push("first");
    }
    // The manifest gets it now.
    db.create_table("later", Engine::Memory, schema())?;
    done.extend(["first", "later"]);
    drop(begin_new(&db, "gone", home, 2)?);
    let ticket = begin_new(&db, "second", home, 3)?.commit()?;
    if is_lasting {
        ticket.wait()?;
        done.push("second");
    }
    db.checkpoint()?;
    done.push("second");
    let _ticket = begin_new(&db, "third", home, 4)?.commit()?;
    db.rename_table("third", "renamed")?;
    done.push("renamed");
    db.close()
}

#[test]
fn a_power_cut_before_any_file_operation_leaves_tables_with_their_rows_or_none() {
    let (mut firsts, mut found) = (0, [0; 4]);
    for (log, home) in LOGS.into_iter().flat_map(|log| ENGINES.map(|home| (log, home))) {
        for durability in [Durability::Full, Durability::None] {
            let options = Options { log, durability, ..Options::default() };
            // Each combination cuts at others of the operations, unless all are asked for.
            let stride: u64 = std::env::var("GEMEL_FAULTS").ok().and_then(|it| it.parse().ok()).unwrap_or(3);
            firsts = firsts % stride + 1;
            for (nth, is_random) in
                (firsts..).step_by(stride as usize).flat_map(|nth| [(nth, false), (nth, true)])
            {
                let directory = directory();
                let (path, files) = (directory.path().join("db"), FaultyFiles::default());
                files.cut_power(nth, if is_random { nth } else { 0 });
                let mut done = Vec::new();
                let outcome = make(&files, &path, &options, home, &mut done);
                let Some(left) = files.image() else {
                    outcome.unwrap();
                    assert!(nth > 20, "{nth} operations are few");
                    break;
                };
                let db = open(&left, &path, &options).unwrap();
                assert!(db.table("gone").is_err());
                for (at, (name, id)) in
                    [("first", 1), ("second", 3), ("third", 4), ("renamed", 4)].into_iter().enumerate()
                {
                    let other = ["third", "renamed"].into_iter().find(|other| *other != name && id == 4);
                    if other.is_none_or(|other| db.table(other).is_err()) {
                        found[at] += u32::from(whole(&db, name, id));
                    }
                }
                done.iter().for_each(|name| assert!(db.table(name).is_ok(), "cut {nth}: {name} is lost"));
                // The names are free, or the tables take rows.
                if db.tables().len() >= 2 {
                    db.run(Isolation::Snapshot, |transaction| {
                        let table = match db.table_in(transaction, "first") {
                            Ok(table) => table,
                            Err(_) => db.create_table_in(transaction, "first", home, schema())?,
                        };
                        insert(transaction, &table, 9)
                    })
                    .unwrap();
                }
            }
        }
    }
    assert!(found.iter().all(|found| *found > 4), "{found:?}");
}

/// Whatever fails, the calls say so, and a power cut leaves no table without its rows.
#[test]
fn a_file_operation_that_fails_leaves_tables_with_their_rows_or_none() {
    for (log, home) in LOGS.into_iter().flat_map(|log| ENGINES.map(|home| (log, home))) {
        let options = Options { log, ..Options::default() };
        let (mut lost, mut failed) = (0, 0);
        for nth in 1.. {
            let directory = directory();
            let (path, files) = (directory.path().join("db"), FaultyFiles::default());
            let db = open(&files, &path, &options).unwrap();
            make_old(&db);
            files.fail(Operation::Any, nth, 5, 0);
            let new = begin_new(&db, "new", home, 1).and_then(Transaction::commit).and_then(Ticket::wait);
            let later = db.create_table("later", Engine::Memory, schema()).map(drop);
            let gone = begin_new(&db, "gone", home, 2).map(drop);
            if !files.mend() {
                new.and(later).and(gone).unwrap();
                assert!(nth > 10, "{nth}");
                break;
            }
            let outcomes = [&new, &later, &gone].map(|outcome| outcome.is_err());
            failed += u32::from(outcomes.contains(&true));
            // A rollback that can't write the manifest has happened nevertheless.
            assert!(db.table("gone").is_err());
            drop(db);
            let db = open(&files.power_cut(0), &path, &options).unwrap();
            let is_there = whole(&db, "new", 1);
            assert!(is_there || new.is_err(), "operation {nth}");
            assert!(db.table("later").is_ok() || later.is_err(), "operation {nth}");
            assert!(db.table("gone").is_err(), "operation {nth}");
            lost += u32::from(!is_there);
        }
        assert!(lost > 2 && failed > 5, "{lost} {failed}");
    }
}

/// The log may have the commit, so neither this process nor the next opening may drop the table alone.
#[test]
fn a_panic_during_the_commit_leaves_the_table_with_its_rows_or_none() {
    let mut found = [0; 2];
    for place in ["commit.locked", "commit.after_append", "ddl.publishing", "ddl.published"] {
        for (log, home) in LOGS.into_iter().flat_map(|log| ENGINES.map(|home| (log, home))) {
            let directory = directory();
            let options = Options { log, ..Options::default() };
            let db = Database::open(directory.path(), options.clone()).unwrap();
            make_old(&db);
            let transaction = begin_new(&db, "new", home, 1).unwrap();
            // The log gets the record before the panic stops it.
            let syncs = db.clone();
            once_here(place, move || {
                syncs.sync().unwrap();
                panic!("for the test");
            });
            assert!(catch_unwind(AssertUnwindSafe(|| transaction.commit())).is_err());
            // This process may not have it, or may write it.
            let later = db.create_table("later", Engine::Memory, schema());
            drop(db);
            let db = Database::open(directory.path(), options).unwrap();
            let is_there = whole(&db, "new", 1);
            assert_eq!(is_there, place != "commit.locked", "{place}");
            assert_eq!(db.table("later").is_ok(), later.is_ok());
            found[usize::from(is_there)] += 1;
        }
    }
    assert_eq!(found, [4, 12]);
}

/// Who begins while the commit is being published has nothing of it, whatever it looks up later.
#[test]
fn a_transaction_that_begins_while_a_table_appears_has_nothing_of_it() {
    for (home, level) in ENGINES.into_iter().flat_map(|home| {
        [Isolation::ReadCommitted, Isolation::Snapshot, Isolation::Serializable].map(|level| (home, level))
    }) {
        let directory = directory();
        let db = Database::open(directory.path(), Options::default()).unwrap();
        let [memory, disk] = make_old(&db);
        let transaction = begin_new(&db, "new", home, 1).unwrap();
        let made = db.table_in(&transaction, "new").unwrap();
        let commit = || transaction.commit().unwrap().wait().unwrap();
        let ((), mut met) = while_it_stands_at("ddl.publishing", commit, ["test.go", "test.go"], || {
            let mut met = db.begin(level).unwrap();
            assert_eq!(count(&mut met, &memory).unwrap(), 0);
            assert!(matches!(count(&mut met, &made), Err(Error::Usage(_))));
            crate::files::fail_point("test.go");
            met
        });
        if level == Isolation::ReadCommitted {
            assert_eq!(db.table_in(&met, "new").map(|table| count(&mut met, &table).unwrap()).unwrap(), 3);
            assert_eq!((count(&mut met, &memory).unwrap(), count(&mut met, &disk).unwrap()), (1, 1));
        } else {
            assert!(db.table_in(&met, "new").is_err());
            for table in [&made, &db.table("new").unwrap()] {
                assert!(matches!(count(&mut met, table), Err(Error::TooOld(_))));
            }
            assert_eq!((count(&mut met, &memory).unwrap(), count(&mut met, &disk).unwrap()), (0, 0));
        }
    }
}

/// The record of the commit is that of the new table, also if its keyspaces have the numbers of earlier ones.
#[test]
fn a_new_table_with_numbers_of_dropped_keyspaces_is_there_after_a_crash_if_it_was_committed() {
    for (home, commits) in ENGINES.into_iter().flat_map(|home| [(home, false), (home, true)]) {
        let directory = directory();
        let [path, crashed] = ["db", "crashed"].map(|name| directory.path().join(name));
        let open = |path: &Path| Database::open(path, Options::default()).unwrap();
        let db = open(&path);
        make_old(&db);
        let dropped = db.create_table("dropped", home, schema()).unwrap();
        db.run(Isolation::Snapshot, |transaction| insert(transaction, &dropped, 1)).unwrap();
        db.drop_table("dropped").unwrap();
        let dropped = db.create_table("dropped", home, schema()).unwrap();
        db.drop_table("dropped").unwrap();
        db.checkpoint().unwrap();
        drop((dropped, db));
        set_next_number(&path, ROOM);
        let db = open(&path);
        let transaction = begin_new(&db, "new", home, 1).unwrap();
        let ids = |db: &Database| db.catalog().keyspaces.iter().map(|entry| entry.id.0).collect::<Vec<_>>();
        // The mark gets the first one.
        let new = |db: &Database| {
            db.catalog().running[0].keyspaces.iter().map(|entry| entry.id.0).collect::<Vec<_>>()
        };
        assert_eq!((ids(&db), new(&db)), (vec![1, 2, 3, 4], vec![6, 7]));
        let kept = if commits {
            transaction.commit().unwrap().wait().unwrap();
            None
        } else {
            Some(transaction)
        };
        copy_directory(&path, &crashed);
        drop(kept);
        let db = open(&crashed);
        assert_eq!(whole(&db, "new", 1), commits);
        assert_eq!(ids(&db), if commits { vec![1, 2, 3, 4, 6, 7] } else { vec![1, 2, 3, 4] });
    }
}

/// Copies the rows of a table into a new one, drops the old one, and gives the new one its name. The rows of the copy
/// are one more.
fn begin_copy(db: &Database, name: &str, home: Engine, level: Isolation) -> Result<Transaction> {
    let mut transaction = db.begin(level)?;
    let old = db.table_in(&transaction, name)?;
    let number = count(&mut transaction, &old)?;
    let new = db.create_table_in(&mut transaction, "copy", home, schema())?;
    (0..=number).try_for_each(|id| insert(&mut transaction, &new, id))?;
    db.drop_table_in(&mut transaction, name)?;
    db.rename_table_in(&mut transaction, "copy", name)?;
    Ok(transaction)
}

/// Between the commit and the manifest that has its changes the disk is full, from each write on. The log decides:
/// nothing is lost, other changes of the catalog fail, and all goes on once there is space.
#[test]
fn a_full_disk_between_a_commit_and_the_next_manifest_loses_nothing() {
    const ENOSPC: i32 = 28;
    for (log, home) in LOGS.into_iter().flat_map(|log| ENGINES.map(|home| (log, home))) {
        let (mut failed, mut lost) = (0, 0);
        for nth in 1.. {
            let directory = directory();
            let options = Options { log, ..Options::default() };
            let (path, files) = (directory.path().join("db"), FaultyFiles::default());
            let db = open(&files, &path, &options).unwrap();
            let [memory, _] = make_old(&db);
            let mut transaction = begin_copy(&db, home.name(), home, Isolation::Snapshot).unwrap();
            let other = if home == Engine::Memory { "disk" } else { "memory" };
            insert(&mut transaction, &db.table(other).unwrap(), 1).unwrap();
            let full = files.clone();
            once_here("ddl.publishing", move || full.fail_from(Operation::Write, nth, ENOSPC));
            let ticket = transaction.commit().unwrap();
            // This process has the changes.
            assert_eq!((rows(&db, home.name()).unwrap(), rows(&db, other).unwrap()), (1, 1));
            let later = db.create_table("later", Engine::Memory, schema()).map(drop);
            let (cut, saved) = (files.power_cut(nth), directory.path().join("saved"));
            copy_directory(&path.join("disk"), &saved);
            if let Err(error) = &later {
                assert!(error.is_for_lack_of_space(), "{nth}: {error}");
                failed += 1;
            }
            let has_struck = files.mend();
            ticket.wait().unwrap();
            db.create_table("later", Engine::Memory, schema()).unwrap();
            drop((db, memory));
            let after = open(&files.power_cut(0), &path, &options).unwrap();
            assert_eq!((rows(&after, home.name()).unwrap(), rows(&after, other).unwrap()), (1, 1), "{nth}");
            assert!(after.table("copy").is_err() && after.table("later").is_ok());
            drop(after);
            // A power cut while the disk was full. The disk engine's files are not among those in memory.
            std::fs::remove_dir_all(path.join("disk")).unwrap();
            std::fs::rename(&saved, path.join("disk")).unwrap();
            let then = open(&cut, &path, &options).unwrap();
            let number = rows(&then, home.name()).unwrap();
            assert!(number == rows(&then, other).unwrap() && (number == 1 || later.is_err()), "{nth}");
            lost += u32::from(number == 0);
            if !has_struck {
                break;
            }
        }
        assert!(failed > 1 && lost > 0, "{failed} {lost}");
    }
}

/// A writer has its locks and has looked at the changes, so its row will be there: the copy lacks it.
#[test]
fn a_copy_gives_up_for_a_writer_that_is_committing() {
    for (home, level) in ENGINES.into_iter().flat_map(|home| {
        [Isolation::ReadCommitted, Isolation::Snapshot, Isolation::Serializable].map(|level| (home, level))
    }) {
        let directory = directory();
        let db = Database::open(directory.path(), Options::default()).unwrap();
        let old = &make_old(&db)[home.index()];
        let copy = begin_copy(&db, home.name(), home, level).unwrap();
        let write = || db.run(Isolation::Snapshot, |transaction| insert(transaction, old, 7));
        let (written, copied) =
            while_it_stands_at("commit.after_append", write, ["test.go", "ddl.published"], || {
                let copied = copy.commit().map(drop);
                crate::files::fail_point("test.go");
                copied
            });
        written.unwrap();
        assert!(matches!(copied, Err(Error::Conflict { .. })), "{copied:?}");
        assert_eq!(rows(&db, home.name()).unwrap(), 1);
    }
}

/// While a drop is being committed, others read the table. Their writes of it, and what serializable readers of it
/// write elsewhere, can't be committed any more: also if they begin only then.
#[test]
fn nobody_commits_by_a_table_while_its_drop_is_being_committed() {
    for (home, fails) in ENGINES.into_iter().flat_map(|home| [(home, false), (home, true)]) {
        let directory = directory();
        let db = Database::open(directory.path(), Options::default()).unwrap();
        let old = make_old(&db)[home.index()].clone();
        let other = db.create_table("other", home, schema()).unwrap();
        let mut copy = begin_copy(&db, home.name(), home, Isolation::Snapshot).unwrap();
        insert(&mut copy, &other, 1).unwrap();
        let begin = |level| db.begin(level).unwrap();
        let mut early = [begin(Isolation::Snapshot), begin(Isolation::Serializable)];
        insert(&mut early[0], &old, 5).unwrap();
        count(&mut early[1], &old).unwrap();
        insert(&mut early[1], &other, 5).unwrap();
        if fails {
            db.run(Isolation::Snapshot, |transaction| insert(transaction, &other, 1)).unwrap();
        }
        let (committed, ()) = while_it_stands_at(
            "ddl.leaving",
            || copy.commit().map(drop),
            ["test.go", "test.go"],
            || {
                for transaction in early {
                    let outcome = transaction.commit().map(drop);
                    assert!(outcome.unwrap_err().is_retryable());
                }
                let mut late = [begin(Isolation::Snapshot), begin(Isolation::Serializable)];
                assert!(insert(&mut late[0], &old, 6).unwrap_err().is_retryable());
                assert_eq!(count(&mut late[1], &old).unwrap(), 0);
                insert(&mut late[1], &other, 6).unwrap();
                let [_, late] = late;
                assert!(late.commit().map(drop).unwrap_err().is_retryable());
                // Other tables go on.
                let mut reader = begin(Isolation::Snapshot);
                assert_eq!(count(&mut reader, &old).unwrap(), 0);
                insert(&mut reader, &other, 8).unwrap();
                drop(reader.commit().unwrap());
                crate::files::fail_point("test.go");
            },
        );
        assert_eq!(committed.is_err(), fails, "{committed:?}");
        let expected = if fails { (0, 2) } else { (1, 2) };
        assert_eq!((rows(&db, home.name()).unwrap(), rows(&db, "other").unwrap()), expected);
        if fails {
            // As before.
            db.run(Isolation::Serializable, |transaction| insert(transaction, &old, 9)).unwrap();
        }
    }
}

/// Replaces a table by copies with one row more each, and writes as many rows to the table of the other engine. Counts
/// in `done` those that are there for good.
fn copy_often(
    files: &FaultyFiles,
    path: &Path,
    options: &Options,
    home: Engine,
    done: &mut i64,
) -> Result<()> {
    let db = open(files, path, options)?;
    for engine in ENGINES {
        db.create_table(engine.name(), engine, schema())?;
    }
    let other = ENGINES[1 - home.index()].name();
    for number in 0..5 {
        let mut transaction = begin_copy(&db, home.name(), home, Isolation::Snapshot)?;
        let table = db.table_in(&transaction, other)?;
        insert(&mut transaction, &table, number)?;
        // A reader keeps the old table, so the manifest waits for something else.
        let reader = db.begin(Isolation::Snapshot)?;
        transaction.commit()?.wait()?;
        *done = number + 1;
        match number {
            0 => drop(db.create_table("later", Engine::Memory, schema())?),
            1 => drop(begin_copy(&db, home.name(), home, Isolation::Snapshot)?),
            2 => db.checkpoint()?,
            3 => drop(reader),
            _ => {}
        }
    }
    db.close()
}

#[test]
fn a_power_cut_before_any_file_operation_leaves_a_table_or_its_copy() {
    let mut firsts = 0;
    for (log, home) in LOGS.into_iter().flat_map(|log| ENGINES.map(|home| (log, home))) {
        let options = Options { log, ..Options::default() };
        let stride: u64 = std::env::var("GEMEL_FAULTS").ok().and_then(|it| it.parse().ok()).unwrap_or(3);
        firsts = firsts % stride + 1;
        let mut found = std::collections::BTreeSet::new();
        for (nth, is_random) in
            (firsts..).step_by(stride as usize).flat_map(|nth| [(nth, false), (nth, true)])
        {
            let directory = directory();
            let (path, files) = (directory.path().join("db"), FaultyFiles::default());
            files.cut_power(nth, if is_random { nth } else { 0 });
            let mut done = 0;
            let outcome = copy_often(&files, &path, &options, home, &mut done);
            let Some(left) = files.image() else {
                outcome.unwrap();
                assert!(nth > 20, "{nth} operations are few");
                break;
            };
            let db = open(&left, &path, &options).unwrap();
            let there = ENGINES.map(|engine| rows(&db, engine.name()).unwrap_or(-1));
            assert!(db.table("copy").is_err());
            if there.iter().all(|rows| *rows >= 0) {
                assert!(there[0] == there[1] && there[0] >= done, "cut {nth}: {there:?} of {done}");
                db.table(home.name()).unwrap().verify(&mut db.begin(Isolation::Snapshot).unwrap()).unwrap();
                let copy = begin_copy(&db, home.name(), home, Isolation::Snapshot).unwrap();
                copy.commit().unwrap().wait().unwrap();
                found.insert(there[0]);
            } else {
                assert_eq!(done, 0, "cut {nth}: {there:?}");
            }
        }
        assert!(found.len() >= 5, "{found:?}");
    }
}
