//! Dropping and truncating tables, and adding indexes: what handles and transactions see, what concurrent commits do,
//! what is there after reopening and after a crash in between.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod outcome;
mod wait;

use gemel::row::{ColumnType, IndexDef, RowRange, Schema, Table, Value};
use gemel::{Database, Direction, Engine, Error, Isolation, LogMode, Options, Transaction};
use outcome::{outdated, rejected, too_old};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc;
use wait::wait_until;

const ENGINES: [Engine; 2] = [Engine::Memory, Engine::Disk];

fn open(path: &Path) -> Database {
    Database::open(path, Options::default()).unwrap()
}

fn schema() -> Schema {
    let schema = Schema::new().column("id", ColumnType::I64).nullable("value", ColumnType::I64);
    schema.primary_key(["id"]).index("by_value", ["value"])
}

fn fill(db: &Database, table: &Table, ids: std::ops::Range<i64>) {
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    for id in ids {
        table.insert(&mut transaction, &[Value::Int(id), Value::Int(id * 10)]).unwrap();
    }
    transaction.commit().unwrap().wait().unwrap();
}

fn count(transaction: &mut Transaction, table: &Table) -> gemel::Result<usize> {
    let mut rows = 0;
    table.scan(transaction, &RowRange::all(), Direction::Forward, |_| {
        rows += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(rows)
}

fn rows(db: &Database, table: &Table) -> usize {
    count(&mut db.begin(Isolation::Snapshot).unwrap(), table).unwrap()
}

/// Waits until so many records are left in memory: rows that a transaction could read are freed after it.
fn has_records(db: &Database, records: u64) {
    let problem = |found: &u64| format!("{found} records in memory");
    wait_until(|| db.state().memory.records, |found| *found == records, problem);
}

fn trees(path: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(path.join("disk")).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn good(path: &Path) {
    let report = gemel::check(path).unwrap();
    assert!(report.is_good(), "{report}");
}

#[test]
fn a_dropped_table_is_gone_and_its_name_is_free() {
    for log in [LogMode::Shared, LogMode::PerEngine] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        let options = Options { log, ..Options::default() };
        let db = Database::open(&path, options.clone()).unwrap();
        for engine in ENGINES {
            let kept = db.create_table("kept", Engine::Memory, schema()).unwrap();
            let table = db.create_table("t", engine, schema()).unwrap();
            fill(&db, &table, 0..1000);
            if engine == Engine::Disk {
                db.checkpoint().unwrap();
            }
            fill(&db, &table, 1000..2000);
            let other = db.create_table("other", Engine::Disk, schema()).unwrap();
            db.drop_table("t").unwrap();
            rejected(db.table("t"), "there is no table \"t\"");
            rejected(db.drop_table("t"), "there is no table \"t\"");
            let mut transaction = db.begin(Isolation::Snapshot).unwrap();
            outdated(count(&mut transaction, &table), "\"t\" was dropped");
            outdated(table.get(&mut transaction, &[Value::Int(1)]), "\"t\" was dropped");
            outdated(table.insert(&mut transaction, &[Value::Int(1), Value::Null]), "was dropped");
            drop(transaction);
            let memory = db.state().memory;
            assert_eq!((memory.records, memory.bytes - memory.unfreed_bytes), (0, 0));
            assert_eq!(db.state().disk.memtable_bytes, 0);
            assert_eq!(trees(&path).len(), 2, "only those of the table that is there");
            let next = db.create_table("t", Engine::Memory, schema()).unwrap();
            fill(&db, &next, 0..3);
            assert_eq!(rows(&db, &next), 3);
            drop((kept, other, next));
            db.drop_table("t").unwrap();
            db.drop_table("other").unwrap();
            db.drop_table("kept").unwrap();
        }
        let table = db.create_table("t", Engine::Disk, schema()).unwrap();
        fill(&db, &table, 5..7);
        drop((db, table));
        for _ in 0..2 {
            let db = Database::open(&path, options.clone()).unwrap();
            assert_eq!(rows(&db, &db.table("t").unwrap()), 2);
            assert_eq!(db.tables(), [("t".to_string(), Engine::Disk)]);
        }
        good(&path);
    }
}

#[test]
fn a_keyspace_of_a_table_is_not_dropped_alone() {
    let directory = tempfile::tempdir().unwrap();
    let db = open(directory.path());
    db.create_table("t", Engine::Memory, schema()).unwrap();
    rejected(db.drop_keyspace("t.by_value"), "part of table \"t\"");
    rejected(db.drop_keyspace("none"), "there is no keyspace");
    for engine in ENGINES {
        let old = db.keyspace("k", engine).unwrap();
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        transaction.put(&old, b"k", b"v").unwrap();
        transaction.commit().unwrap().wait().unwrap();
        db.drop_keyspace("k").unwrap();
        let new = db.keyspace("k", engine).unwrap();
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        assert_eq!(transaction.get(&new, b"k").unwrap(), None);
        outdated(transaction.get(&old, b"k"), "\"k\" was dropped");
        drop(transaction);
        db.drop_keyspace("k").unwrap();
    }
}

#[test]
fn the_keyspace_of_an_index_does_not_take_the_name_of_another_one() {
    let directory = tempfile::tempdir().unwrap();
    let db = open(directory.path());
    let other = db.keyspace("t.by_value", Engine::Disk).unwrap();
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    transaction.put(&other, b"k", b"v").unwrap();
    transaction.commit().unwrap().wait().unwrap();
    let says = "\"t.by_value\" is a keyspace already: choose another name for the index";
    rejected(db.create_table("t", Engine::Memory, schema()), says);
    assert!(db.tables().is_empty());
    let without = Schema::new().column("id", ColumnType::I64).nullable("value", ColumnType::I64);
    db.create_table("t", Engine::Memory, without.primary_key(["id"])).unwrap();
    let index = IndexDef::new("by_value", ["value"]);
    rejected(db.add_index("t", index), says);
    let names: Vec<_> = db.keyspaces().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["t.by_value", "t"]);
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    assert_eq!(transaction.get(&other, b"k").unwrap().as_deref(), Some(b"v".as_slice()));
}

#[test]
fn a_transaction_over_a_drop_fails_with_a_clear_error_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let db = open(&path);
    let kept = db.create_table("kept", Engine::Memory, schema()).unwrap();
    for engine in ENGINES {
        for isolation in [Isolation::ReadCommitted, Isolation::Snapshot, Isolation::Serializable] {
            let table = db.create_table("t", engine, schema()).unwrap();
            fill(&db, &table, 0..10);
            let mut reader = db.begin(isolation).unwrap();
            assert_eq!(count(&mut reader, &table).unwrap(), 10);
            let mut writer = db.begin(isolation).unwrap();
            table.insert(&mut writer, &[Value::Int(100), Value::Null]).unwrap();
            kept.insert(&mut writer, &[Value::Int(100), Value::Null]).unwrap();
            db.drop_table("t").unwrap();
            match isolation {
                Isolation::ReadCommitted => outdated(count(&mut reader, &table), "was dropped"),
                _ => assert_eq!(count(&mut reader, &table).unwrap(), 10),
            }
            kept.upsert(&mut reader, &[Value::Int(1), Value::Null]).unwrap();
            match isolation {
                // Its reads can no longer be validated.
                Isolation::Serializable => outdated(reader.commit().map(drop), "was dropped"),
                _ => reader.commit().unwrap().wait().unwrap(),
            }
            outdated(writer.commit().map(drop), "was dropped");
            assert!(rows(&db, &kept) <= 1);
        }
    }
    drop((db, kept));
    let db = open(&path);
    assert_eq!(db.tables().len(), 1);
    assert_eq!(rows(&db, &db.table("kept").unwrap()), 1);
}

/// Writers commit to a table in each engine and to one that stays, while both are dropped.
#[test]
fn commits_race_with_drops_and_nothing_is_there_in_part() {
    for log in [LogMode::Shared, LogMode::PerEngine] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        let options = Options { log, ..Options::default() };
        let db = Database::open(&path, options.clone()).unwrap();
        let kept = db.create_table("kept", Engine::Disk, schema()).unwrap();
        let hot = db.create_table("hot", Engine::Memory, schema()).unwrap();
        let cold = db.create_table("cold", Engine::Disk, schema()).unwrap();
        let committed = AtomicI64::new(0);
        let (done, enough) = mpsc::channel();
        std::thread::scope(|scope| {
            for worker in 0..3_i64 {
                let (db, kept, tables, committed) = (&db, &kept, [&hot, &cold], &committed);
                let done = done.clone();
                scope.spawn(move || {
                    for n in 0.. {
                        let row = [Value::Int(worker * 1_000_000 + n), Value::Int(n)];
                        let outcome = (|| {
                            let mut transaction = db.begin(Isolation::Snapshot)?;
                            kept.insert(&mut transaction, &row)?;
                            tables.iter().try_for_each(|table| table.insert(&mut transaction, &row))?;
                            transaction.commit()?.wait()
                        })();
                        match outcome {
                            Ok(()) => drop(committed.fetch_add(1, Ordering::SeqCst)),
                            Err(error) if error.is_retryable() => {}
                            Err(error) => return outdated::<()>(Err(error), "was dropped"),
                        }
                        if n == 20 {
                            done.send(()).unwrap();
                        }
                    }
                });
            }
            (0..3).for_each(|_| enough.recv().unwrap());
            db.drop_table("hot").unwrap();
            db.drop_table("cold").unwrap();
        });
        assert_eq!(rows(&db, &kept) as i64, committed.load(Ordering::SeqCst));
        has_records(&db, 0);
        drop((db, kept, hot, cold));
        let db = Database::open(&path, options).unwrap();
        assert_eq!(rows(&db, &db.table("kept").unwrap()) as i64, committed.into_inner());
        assert_eq!(db.state().memory.records, 0);
    }
}

#[test]
fn a_truncated_table_is_empty_for_new_handles_and_closed_for_old_ones() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let db = open(&path);
    for engine in ENGINES {
        let old = db.create_table(engine.name(), engine, schema()).unwrap();
        fill(&db, &old, 0..700);
        let mut before = db.begin(Isolation::Snapshot).unwrap();
        let mut writer = db.begin(Isolation::Snapshot).unwrap();
        old.delete(&mut writer, &[Value::Int(3)]).unwrap();
        let new = db.truncate_table(engine.name()).unwrap();
        assert_eq!(count(&mut before, &old).unwrap(), 700);
        too_old(count(&mut before, &new), "after the transaction began");
        outdated(count(&mut db.begin(Isolation::Snapshot).unwrap(), &old), "was truncated");
        outdated(writer.commit().map(drop), "truncated");
        assert_eq!(rows(&db, &new), 0);
        fill(&db, &new, 0..4);
        assert_eq!(rows(&db, &db.table(engine.name()).unwrap()), 4);
    }
    rejected(db.truncate_table("none"), "there is no table");
    has_records(&db, 8);
    drop(db);
    let db = open(&path);
    for engine in ENGINES {
        assert_eq!(rows(&db, &db.table(engine.name()).unwrap()), 4);
    }
    drop(db);
    good(&path);
}

fn index(name: &str, unique: bool) -> IndexDef {
    IndexDef { unique, ..IndexDef::new(name, ["value"]) }
}

fn by_index(db: &Database, table: &Table, index: &str) -> usize {
    let (mut transaction, mut found) = (db.begin(Isolation::Snapshot).unwrap(), 0);
    table
        .scan_index(&mut transaction, index, &RowRange::all(), Direction::Forward, |_| {
            found += 1;
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    found
}

#[test]
fn an_added_index_has_all_rows_and_old_handles_read_only() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let db = open(&path);
    for engine in ENGINES {
        let old = db.create_table(engine.name(), engine, schema()).unwrap();
        fill(&db, &old, 0..1200);
        let mut before = db.begin(Isolation::Snapshot).unwrap();
        assert_eq!(count(&mut before, &old).unwrap(), 1200);
        let mut writer = db.begin(Isolation::Snapshot).unwrap();
        old.delete(&mut writer, &[Value::Int(3)]).unwrap();
        let new = db.add_index(engine.name(), index("unique", true)).unwrap();
        outdated(writer.commit().map(drop), "indexes of the table");
        assert_eq!(count(&mut before, &old).unwrap(), 1200, "reads go on");
        too_old(count(&mut before, &new), "after the transaction began");
        let mut writer = db.begin(Isolation::Snapshot).unwrap();
        outdated(old.delete(&mut writer, &[Value::Int(3)]), "get the table again");
        drop(writer);
        fill(&db, &new, 1200..1210);
        assert_eq!(by_index(&db, &new, "unique"), 1210);
        let mut writer = db.begin(Isolation::Snapshot).unwrap();
        let same = new.insert(&mut writer, &[Value::Int(-1), Value::Int(70)]).unwrap_err();
        assert!(matches!(same, Error::Constraint(_)), "{same}");
        drop(writer);
        rejected(db.add_index(engine.name(), index("unique", false)), "exists twice");
    }
    drop(db);
    good(&path);
    let db = open(&path);
    for engine in ENGINES {
        assert_eq!(by_index(&db, &db.table(engine.name()).unwrap(), "unique"), 1210);
    }
}

#[test]
fn a_unique_index_over_equal_values_is_rejected_and_writers_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let db = open(&path);
    for engine in ENGINES {
        let table = db.create_table(engine.name(), engine, schema()).unwrap();
        fill(&db, &table, 0..600);
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        table.insert(&mut transaction, &[Value::Int(1000), Value::Null]).unwrap();
        table.insert(&mut transaction, &[Value::Int(1001), Value::Null]).unwrap();
        table.insert(&mut transaction, &[Value::Int(1002), Value::Int(70)]).unwrap();
        transaction.commit().unwrap().wait().unwrap();
        let (records, keyspaces) = (db.state().memory.records, db.keyspaces());
        let error = db.add_index(engine.name(), index("unique", true)).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::Constraint(_)), "{text}");
        assert!(["(value = 70)", "(id = 7)", "(id = 1002)"].iter().all(|part| text.contains(part)), "{text}");
        // In the second round, rows that the first one deleted may be collected meanwhile.
        assert!(db.state().memory.records == records || engine == Engine::Disk);
        assert_eq!(db.keyspaces(), keyspaces);
        outdated(
            table.delete(&mut db.begin(Isolation::Snapshot).unwrap(), &[Value::Int(1)]),
            "other indexes",
        );
        let table = db.table(engine.name()).unwrap();
        fill(&db, &table, 2000..2002);
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        table.delete(&mut transaction, &[Value::Int(1002)]).unwrap();
        transaction.commit().unwrap().wait().unwrap();
        let table = db.add_index(engine.name(), index("unique", true)).unwrap();
        assert_eq!(by_index(&db, &table, "unique"), 604);
    }
    drop(db);
    good(&path);
}

/// Inserts rows, and changes and deletes some of those before, each with a value that no other row ever has. Gets the
/// table again when it must.
fn write_until(db: &Database, name: &str, worker: i64, stop: &AtomicBool, done: &mpsc::Sender<()>) {
    let mut table = db.table(name).unwrap();
    let (first, mut failed) = (worker * 1_000_000, 0);
    for n in 0.. {
        if stop.load(Ordering::SeqCst) {
            return;
        }
        let id = first + n;
        let outcome = db.run(Isolation::Snapshot, |transaction| {
            table.upsert(transaction, &[Value::Int(id), Value::Int(id)])?;
            match n % 4 {
                1 => table.set(transaction, &[Value::Int(id - 1)], &[(1, Value::Int(-id))]).map(drop),
                2 => table.delete(transaction, &[Value::Int(id - 1)]).map(drop),
                // The value goes from a row that was there to another one.
                3 => {
                    let left = worker * 100 + n / 4 % 100;
                    if table.delete(transaction, &[Value::Int(left)])? {
                        let value = Value::Int(left * 10);
                        table.upsert(transaction, &[Value::Int(-first - n), value])?;
                    }
                    Ok(())
                }
                _ => Ok(()),
            }
        });
        match outcome {
            Ok(()) => failed = 0,
            Err(error) if error.is_outdated() => {
                failed += 1;
                assert!(failed < 10, "a new handle can't write: {error}");
                table = db.table(name).unwrap();
            }
            Err(error) => panic!("{error}"),
        }
        if n % 20 == 19 {
            done.send(()).unwrap();
        }
    }
}

#[test]
fn writers_race_with_an_index_and_no_entry_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let db = open(&path);
    for (engine, unique) in ENGINES.into_iter().flat_map(|engine| [(engine, false), (engine, true)]) {
        let name = format!("{} {unique}", engine.name());
        fill(&db, &db.create_table(&name, engine, schema()).unwrap(), 0..600);
        let (done, enough) = mpsc::channel();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for worker in 1..4 {
                let (db, name, stop, done) = (&db, &name, &stop, done.clone());
                scope.spawn(move || write_until(db, name, worker, stop, &done));
            }
            for round in 0..3 {
                (0..3).for_each(|_| enough.recv().unwrap());
                let table = db.add_index(&name, index("second", unique)).unwrap();
                table.verify(&mut db.begin(Isolation::Snapshot).unwrap()).unwrap();
                (0..3).for_each(|_| enough.recv().unwrap());
                table.verify(&mut db.begin(Isolation::Snapshot).unwrap()).unwrap();
                if round < 2 {
                    db.drop_index(&name, "second").unwrap();
                }
            }
            stop.store(true, Ordering::SeqCst);
        });
        let table = db.table(&name).unwrap();
        assert_eq!(by_index(&db, &table, "second"), rows(&db, &table));
        // The values of rows that were there are all there still.
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        for value in 100..400 {
            let range = [Value::Int(value * 10)];
            assert!(
                table.first_index(&mut transaction, "second", &RowRange::prefix(&range)).unwrap().is_some()
            );
        }
    }
    drop(db);
    good(&path);
}

#[test]
fn a_handle_from_before_an_index_does_not_read_a_table_that_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let db = open(directory.path());
    for engine in ENGINES {
        let oldest = db.create_table(engine.name(), engine, schema()).unwrap();
        fill(&db, &oldest, 0..50);
        let old = db.add_index(engine.name(), index("second", false)).unwrap();
        db.add_index(engine.name(), index("third", false)).unwrap();
        assert_eq!((rows(&db, &oldest), rows(&db, &old)), (50, 50));
        let mut before = db.begin(Isolation::Snapshot).unwrap();
        db.truncate_table(engine.name()).unwrap();
        assert_eq!(count(&mut before, &oldest).unwrap(), 50);
        outdated(count(&mut db.begin(Isolation::Snapshot).unwrap(), &oldest), "was truncated");
        outdated(count(&mut db.begin(Isolation::Snapshot).unwrap(), &old), "was truncated");
        let old = db.table(engine.name()).unwrap();
        db.add_index(engine.name(), index("fourth", false)).unwrap();
        db.drop_table(engine.name()).unwrap();
        outdated(count(&mut db.begin(Isolation::Snapshot).unwrap(), &old), "was dropped");
    }
}

/// The place where a process is killed, and which pass; what it does; true if that must be there as a whole
/// afterwards, false if it must not be there at all.
const DEATHS: &[(&str, &str, bool)] = &[
    ("catalog.before_manifest", "drop", false),
    ("files.before_rename", "drop", false),
    ("catalog.after_manifest", "drop", true),
    ("disk.before_remove", "drop", true),
    ("catalog.before_manifest", "truncate", false),
    ("files.before_rename", "truncate", false),
    ("catalog.after_manifest", "truncate", true),
    ("disk.before_remove", "truncate", true),
    ("files.before_rename", "index", false),
    ("catalog.indexing", "index", false),
    ("catalog.index_step:3", "index", false),
    ("catalog.index_filled", "index", false),
    ("files.before_rename:2", "index", false),
];

const DIRECTORY: &str = "GEMEL_CATALOG_DIRECTORY";
const ACTION: &str = "GEMEL_CATALOG_ACTION";

/// The process that is killed. As a test by itself it does nothing.
#[test]
fn the_process_that_dies() {
    let (Ok(path), Ok(action)) = (std::env::var(DIRECTORY), std::env::var(ACTION)) else { return };
    let db = open(Path::new(&path));
    for engine in ENGINES {
        match action.as_str() {
            "drop" => db.drop_table(engine.name()).unwrap(),
            "truncate" => drop(db.truncate_table(engine.name()).unwrap()),
            _ => drop(db.add_index(engine.name(), index("second", false)).unwrap()),
        }
    }
    unreachable!("the process should have died");
}

#[test]
fn a_change_that_a_crash_interrupts_is_there_as_a_whole_or_not_at_all() {
    for (place, action, done) in DEATHS {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        let db = open(&path);
        for engine in ENGINES {
            fill(&db, &db.create_table(engine.name(), engine, schema()).unwrap(), 0..600);
        }
        drop(db);
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "the_process_that_dies"]).env(DIRECTORY, &path).env(ACTION, action);
        let died = child.env("GEMEL_FAIL_POINT", place).output().unwrap();
        assert_eq!(died.status.code(), None, "{place}: {}", String::from_utf8_lossy(&died.stderr));
        let db = open(&path);
        // The disk engine's table is changed second. A place of its own comes after the memory engine's whole change.
        let second = place.starts_with("disk.");
        for engine in ENGINES {
            let changed = *done && (engine == Engine::Memory || second);
            match (db.table(engine.name()), *action) {
                (Err(_), "drop") => assert!(changed, "{place}"),
                (table, "truncate") if changed => assert_eq!(rows(&db, &table.unwrap()), 0),
                (table, _) => {
                    let table = table.unwrap();
                    assert!(!changed, "{place}");
                    assert_eq!((rows(&db, &table), table.schema().indexes.len()), (600, 1), "{place}");
                    fill(&db, &table, 600..610);
                    let table = db.add_index(engine.name(), index("third", false)).unwrap();
                    assert_eq!(by_index(&db, &table, "third"), 610);
                }
            }
        }
        let on_disk = db.keyspaces().iter().filter(|(_, engine)| *engine == Engine::Disk).count();
        assert_eq!(trees(&path).len(), on_disk, "{place} {action}: {:?}", trees(&path));
        drop(db);
        good(&path);
    }
}

#[test]
fn opening_removes_only_trees_that_gemel_made() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let db = open(&path);
    db.keyspace("k", Engine::Disk).unwrap();
    drop(db);
    let stray = |name: &str, file: &str| {
        let place = path.join("disk").join(name);
        std::fs::create_dir_all(place.join("tables")).unwrap();
        std::fs::write(place.join(file), b"x").unwrap();
    };
    stray("ks-7", "v0");
    stray("ks-8", "notes.txt");
    stray("ks-09", "v0");
    stray("other", "v0");
    std::fs::write(path.join("disk/ks-10"), b"x").unwrap();
    drop(open(&path));
    assert_eq!(trees(&path), ["ks-09", "ks-1", "ks-10", "ks-8", "other"]);
}
