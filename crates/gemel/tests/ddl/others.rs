//! Changes of the catalog within a transaction beside other transactions, other changes, backups and checkpoints.

use crate::base::{ENGINES, LEVELS, begin, commit, good, insert, logs_and_homes, open};
use crate::changes::{alter_by_copy, count, is_wider, make, names, rows, schema, write_others};
use crate::outcome::{conflict, outdated, rejected, too_old};
use crate::scratch::directory;
use gemel::row::{ColumnChange, IndexDef, Value};
use gemel::{Conflict, Database, Durability, Engine, Isolation, LogMode, Options, Transaction, Wait};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const SNAPSHOTS: [Isolation; 2] = [Isolation::Snapshot, Isolation::Serializable];

#[test]
fn a_drop_conflicts_with_writes_of_the_table_since_it_was_read() {
    for (home, level) in ENGINES.into_iter().flat_map(|home| LEVELS.map(|level| (home, level))) {
        let directory = directory();
        let db = open(directory.path(), LogMode::Shared);
        let old = make(&db, home);
        let write = |id| db.run(Isolation::Snapshot, |other| insert(other, &old, id..id + 1)).unwrap();
        for is_truncated in [false, true] {
            let mut transaction = db.begin(level).unwrap();
            let before = count(&mut transaction, &old).unwrap() as i64;
            write(before);
            if is_truncated {
                db.truncate_table_in(&mut transaction, "t").unwrap();
            } else {
                db.drop_table_in(&mut transaction, "t").unwrap();
            }
            conflict(transaction.commit(), Conflict::Read);
            assert_eq!(rows(&db, "t") as i64, before + 1);
        }
        // After the call.
        let mut transaction = db.begin(level).unwrap();
        db.drop_table_in(&mut transaction, "t").unwrap();
        write(100);
        conflict(transaction.commit(), Conflict::Read);
        // A change of an existing row, and its deletion.
        for row in [100, 101] {
            let mut transaction = db.begin(level).unwrap();
            db.drop_table_in(&mut transaction, "t").unwrap();
            db.run(Isolation::Snapshot, |other| {
                let key = [Value::Int(100)];
                if row == 100 {
                    old.set(other, &key, &[(1, Value::Null)]).map(drop)
                } else {
                    old.delete(other, &key).map(drop)
                }
            })
            .unwrap();
            conflict(transaction.commit(), Conflict::Read);
        }
        // The lock of a row, although it is not there.
        let mut holder = begin(&db);
        old.get_locked(&mut holder, &[Value::Int(999)], Wait::No).unwrap();
        let mut transaction = db.begin(level).unwrap();
        db.drop_table_in(&mut transaction, "t").unwrap();
        conflict(transaction.commit(), Conflict::Locked);
        drop(holder);
        // Writes that are rolled back do not matter, nor do reads, nor own writes and locks.
        let mut transaction = db.begin(level).unwrap();
        insert(&mut transaction, &old, 700..710).unwrap();
        old.get_locked(&mut transaction, &[Value::Int(3)], Wait::No).unwrap();
        db.drop_table_in(&mut transaction, "t").unwrap();
        insert(&mut begin(&db), &old, 800..801).unwrap();
        count(&mut db.begin(Isolation::Serializable).unwrap(), &old).unwrap();
        // These two come too late.
        let (mut writer, mut reader) = (begin(&db), db.begin(Isolation::Serializable).unwrap());
        insert(&mut writer, &old, 900..901).unwrap();
        count(&mut reader, &old).unwrap();
        insert(&mut reader, &db.table(home.name()).unwrap(), 0..1).unwrap();
        commit(transaction);
        outdated(writer.commit(), "dropped or truncated");
        outdated(reader.commit(), "dropped or truncated");
        assert_eq!(names(&db), ["disk", "memory"]);
    }
}

#[test]
fn a_table_that_a_transaction_changes_is_taken_for_others_until_its_end() {
    for home in ENGINES {
        let directory = directory();
        let db = open(directory.path(), LogMode::Shared);
        let old = make(&db, home);
        let taken = |db: &Database| {
            conflict(db.drop_table("t"), Conflict::Locked);
            conflict(db.truncate_table("t"), Conflict::Locked);
            conflict(db.drop_index("t", "once"), Conflict::Locked);
            conflict(db.rename_table("t", "other"), Conflict::Locked);
            conflict(db.alter_table("t", &[ColumnChange::drop("value")]), Conflict::Locked);
            conflict(db.add_index("t", IndexDef::new("third", ["value"])), Conflict::Locked);
            let other = if home == Engine::Memory { Engine::Disk } else { Engine::Memory };
            conflict(db.move_table("t", other), Conflict::Locked);
            let mut second = begin(db);
            conflict(db.drop_table_in(&mut second, "t"), Conflict::Locked);
            conflict(db.rename_table_in(&mut begin(db), "t", "other"), Conflict::Locked);
            conflict(db.truncate_table_in(&mut begin(db), "t"), Conflict::Locked);
        };
        for change in [
            |db: &Database, one: &mut Transaction| db.drop_table_in(one, "t"),
            |db: &Database, one: &mut Transaction| db.rename_table_in(one, "t", "new").map(drop),
            |db: &Database, one: &mut Transaction| db.truncate_table_in(one, "t").map(drop),
            |db: &Database, one: &mut Transaction| db.drop_index_in(one, "t", "once").map(drop),
            |db: &Database, one: &mut Transaction| {
                db.alter_table_in(one, "t", &[ColumnChange::rename("value", "price")]).map(drop)
            },
        ] {
            let mut transaction = begin(&db);
            change(&db, &mut transaction).unwrap();
            taken(&db);
            // Its rows are not.
            db.run(Isolation::Serializable, |other| {
                old.set(other, &[Value::Int(1)], &[(1, Value::Null)]).map(|set| assert!(set))
            })
            .unwrap();
            drop(transaction);
        }
        // Its new name is taken too, with those of its indexes.
        let mut transaction = begin(&db);
        db.rename_table_in(&mut transaction, "t", "new").unwrap();
        for name in ["new", "new.once"] {
            conflict(db.keyspace(name, home), Conflict::Locked);
            conflict(db.create_table(name, home, schema()), Conflict::Locked);
            conflict(db.create_table_in(&mut begin(&db), name, home, schema()), Conflict::Locked);
            conflict(db.rename_table("disk", name), Conflict::Locked);
        }
        rejected(db.keyspace("t.once", home), "part of table \"t\"");
        drop(transaction);
        // What was changed since the transaction began is not changed by it.
        let (mut old, mut newest) = (begin(&db), db.begin(Isolation::ReadCommitted).unwrap());
        db.rename_table("t", "new").unwrap();
        too_old(db.drop_table_in(&mut old, "t"), "was changed after the transaction began");
        too_old(db.drop_table_in(&mut begin_before(&db), "new"), "was changed after the transaction began");
        db.drop_table_in(&mut newest, "new").unwrap();
        commit(newest);
        assert_eq!(names(&db), ["disk", "memory"]);
        // Prepared transactions.
        let mut user = begin(&db);
        insert(&mut user, &db.table(home.name()).unwrap(), 0..1).unwrap();
        user.prepare("p").unwrap().wait().unwrap();
        let name = home.name();
        let mut transaction = begin(&db);
        let says = "the prepared transaction \"p\" that used it is undecided";
        rejected(db.drop_table_in(&mut transaction, name), says);
        rejected(db.truncate_table_in(&mut transaction, name), says);
        rejected(db.drop_index_in(&mut transaction, name, "once"), says);
        db.rename_table_in(&mut transaction, name, "renamed").unwrap();
        rejected(transaction.prepare("q"), "a transaction that has changed the catalog can't prepare");
        let mut transaction = begin(&db);
        db.roll_back_prepared("p").unwrap().wait().unwrap();
        db.drop_table_in(&mut transaction, name).unwrap();
        let mut user = db.begin(Isolation::Serializable).unwrap();
        count(&mut user, &db.table(name).unwrap()).unwrap();
        user.prepare("p").unwrap().wait().unwrap();
        rejected(transaction.commit(), says);
        db.commit_prepared("p").unwrap().wait().unwrap();
        db.run(Isolation::Snapshot, |transaction| db.drop_table_in(transaction, name)).unwrap();
        assert_eq!(names(&db).len(), 1);
        // Misuse.
        let mut reader = db.begin_read_only().unwrap();
        rejected(db.drop_table_in(&mut reader, name), "the transaction is read-only");
        let elsewhere = self::directory();
        let other = open(elsewhere.path(), LogMode::Shared);
        rejected(db.drop_table_in(&mut begin(&other), name), "one of another database");
    }
}

/// Begins a transaction that does not have the last change of the catalog.
fn begin_before(db: &Database) -> Transaction {
    let transaction = begin(db);
    db.rename_table("new", "newer").unwrap();
    db.rename_table("newer", "new").unwrap();
    transaction
}

/// Threads add rows while the table is copied and replaced again and again. No row that was acknowledged is lost.
#[test]
fn writers_race_with_copies_and_no_row_is_lost() {
    const COPIES: usize = 25;
    /// Tries of a copy beside writers. On a slow machine all of them may fail.
    const MOST_TRIES: usize = 20;
    for (log, home) in logs_and_homes() {
        let directory = directory();
        let path = directory.path().join("db");
        let db = Database::open(&path, Options { log, durability: Durability::None, ..Options::default() });
        let db = db.unwrap();
        make(&db, home);
        let (is_done, tries) = (AtomicBool::new(false), AtomicUsize::new(0));
        let written: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = LEVELS
                .into_iter()
                .enumerate()
                .map(|(thread, level)| {
                    let (db, is_done, tries) = (&db, &is_done, &tries);
                    scope.spawn(move || {
                        let mut rows = 0;
                        while !is_done.load(Ordering::SeqCst) {
                            let id = 1000 + rows * 3 + thread as i64;
                            let write = || {
                                let mut transaction = db.begin(level)?;
                                let table = db.table_in(&transaction, "t")?;
                                insert(&mut transaction, &table, id..id + 1)?;
                                transaction.commit().map(drop)
                            };
                            match write() {
                                Ok(()) => rows += 1,
                                Err(error) => {
                                    assert!(error.is_retryable() || error.is_outdated(), "{error}");
                                }
                            }
                            // Copies without a writer beside them get their turn, and the last tries of one that fails
                            // again and again.
                            std::thread::sleep(Duration::from_millis(1 << (rows % 5)));
                            while tries.load(Ordering::SeqCst) > MOST_TRIES && !is_done.load(Ordering::SeqCst)
                            {
                                std::thread::yield_now();
                            }
                        }
                        rows as usize
                    })
                })
                .collect();
            scope.spawn(|| {
                while !is_done.load(Ordering::SeqCst) {
                    db.checkpoint().unwrap();
                }
            });
            for number in 0..COPIES {
                let level = SNAPSHOTS[number % 2];
                tries.store(0, Ordering::SeqCst);
                loop {
                    tries.fetch_add(1, Ordering::SeqCst);
                    let mut transaction = db.begin(level).unwrap();
                    let done = alter_by_copy(&db, &mut transaction, home).and_then(|_| transaction.commit());
                    match done {
                        Ok(_) => break,
                        Err(error) => assert!(error.is_retryable(), "{error}"),
                    }
                }
            }
            is_done.store(true, Ordering::SeqCst);
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(rows(&db, "t"), 30 + written);
        db.table("t").unwrap().verify(&mut begin(&db)).unwrap();
        drop(db);
        good(&path);
        assert_eq!(rows(&open(&path, log), "t"), 30 + written);
    }
}

#[test]
fn backups_and_checkpoints_have_the_table_before_or_after_its_copy() {
    for (log, home) in logs_and_homes() {
        let directory = directory();
        let [path, early, late] = ["db", "early", "late"].map(|name| directory.path().join(name));
        let db = open(&path, log);
        make(&db, home);
        let mut transaction = begin(&db);
        write_others(&db, &mut transaction).unwrap();
        alter_by_copy(&db, &mut transaction, home).unwrap();
        db.checkpoint().unwrap();
        db.backup(&early).unwrap();
        commit(transaction);
        db.backup(&late).unwrap();
        for (backup, is_new) in [(&early, false), (&late, true)] {
            good(backup);
            let copy = open(backup, log);
            assert_eq!((names(&copy).len(), rows(&copy, "t")), (3, 30));
            assert_eq!(is_wider(&copy.table("t").unwrap()), is_new);
            assert_eq!(rows(&copy, "disk"), if is_new { 20 } else { 0 });
            drop(copy);
            // One that was only opened is still a backup.
            db.backup(backup).unwrap();
            assert!(is_wider(&open(backup, log).table("t").unwrap()));
        }
        db.checkpoint().unwrap();
        drop(db);
        good(&path);
    }
}
