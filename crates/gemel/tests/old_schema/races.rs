//! Transactions that race with changes of the catalog.

use super::people::{BEFORE, ENGINES, SNAPSHOTS, commit, fill, open, people, rows, rows_now, wait_for};
use super::wait::wait_until;
use gemel::row::{ColumnChange, ColumnType, Schema, Value};
use gemel::{Engine, Isolation};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// Waits until other threads have counted so much more. Tells them to stop if they don't: otherwise they would go on
/// for ever.
#[track_caller]
fn until_more(counter: &AtomicI64, more: i64, stop: &AtomicBool) {
    let count = || counter.load(Ordering::SeqCst);
    let before = count();
    wait_until(
        count,
        |count| *count >= before + more,
        |count| {
            stop.store(true, Ordering::SeqCst);
            format!("of {more}, only {} come", count - before)
        },
    );
}

/// Each thread looks up the table in its transaction, so no look-up is of another time than the rows.
#[test]
fn rows_fit_the_table_of_the_transaction_while_columns_come_and_go() {
    for engine in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let db = open(directory.path());
        let schema = Schema::new().column("id", ColumnType::I64).nullable("c0", ColumnType::I64);
        let table = db.create_table("t", engine, schema.primary_key(["id"])).unwrap();
        commit(&db, |transaction| table.insert(transaction, &[Value::Int(1), Value::Int(0)]));
        let (stop, looks) = (AtomicBool::new(false), AtomicI64::new(0));
        std::thread::scope(|scope| {
            for level in SNAPSHOTS {
                let (db, stop, looks) = (&db, &stop, &looks);
                scope.spawn(move || {
                    while !stop.load(Ordering::SeqCst) {
                        let mut transaction = db.begin(level).unwrap();
                        let table = db.table_in(&transaction, "t").unwrap();
                        let found = rows(&mut transaction, &table).unwrap();
                        // The column's name has the value that was written with it, or its row is not there yet.
                        let name = &table.schema().columns[1].name;
                        let value = found[0].strip_prefix("1 ").unwrap();
                        assert!(value == "null" || format!("c{value}") == *name, "{found:?} {name}");
                        looks.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
            for n in 1..40 {
                let changes = [
                    ColumnChange::add(&format!("c{n}"), ColumnType::I64),
                    ColumnChange::drop(&format!("c{}", n - 1)),
                ];
                let table = db.alter_table("t", &changes).unwrap();
                commit(&db, |transaction| {
                    table.set(transaction, &[Value::Int(1)], &[(1, Value::Int(n))]).map(|set| assert!(set))
                });
                until_more(&looks, 2, &stop);
            }
            stop.store(true, Ordering::SeqCst);
        });
    }
}

/// Readers of a table that is truncated again and again see all rows that one commit wrote, or none.
#[test]
fn readers_race_with_truncations_and_see_no_table_in_part() {
    for engine in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let db = open(directory.path());
        people(&db, engine);
        let (stop, looks) = (AtomicBool::new(false), AtomicI64::new(0));
        std::thread::scope(|scope| {
            for level in SNAPSHOTS {
                let (db, stop, looks) = (&db, &stop, &looks);
                scope.spawn(move || {
                    while !stop.load(Ordering::SeqCst) {
                        let mut transaction = db.begin(level).unwrap();
                        let table = db.table_in(&transaction, "people").unwrap();
                        std::thread::yield_now();
                        let found = rows(&mut transaction, &table).unwrap();
                        assert!(found.is_empty() || found == BEFORE, "{found:?}");
                        assert_eq!(rows(&mut transaction, &table).unwrap(), found);
                        looks.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
            for _ in 0..40 {
                let table = db.truncate_table("people").unwrap();
                fill(&db, &table);
                until_more(&looks, 2, &stop);
            }
            stop.store(true, Ordering::SeqCst);
        });
        let left = if engine == Engine::Memory { (6, 0) } else { (0, 2) };
        wait_for(&db, left);
    }
}

/// Threads count in a row, at each level, while columns come and go.
#[test]
fn transactions_race_with_changes_of_columns_and_no_update_is_lost() {
    for engine in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let db = open(directory.path());
        let schema = Schema::new().column("id", ColumnType::I64).column("count", ColumnType::I64);
        let first = db.create_table("t", engine, schema.primary_key(["id"])).unwrap();
        commit(&db, |transaction| first.insert(transaction, &[Value::Int(1), Value::Int(0)]));
        let (stop, counted) = (AtomicBool::new(false), AtomicI64::new(0));
        std::thread::scope(|scope| {
            for level in [Isolation::ReadCommitted, Isolation::Snapshot, Isolation::Serializable] {
                let (db, stop, counted) = (&db, &stop, &counted);
                scope.spawn(move || {
                    while !stop.load(Ordering::SeqCst) {
                        let outcome = (|| {
                            let table = db.table("t")?;
                            let mut transaction = db.begin(level)?;
                            std::thread::yield_now();
                            table.update(&mut transaction, &[Value::Int(1)], |row| {
                                let count = row.view().int(1)?;
                                row.set(1, Value::Int(count + 1))
                            })?;
                            transaction.commit()?.wait()
                        })();
                        match outcome {
                            Ok(()) => drop(counted.fetch_add(1, Ordering::SeqCst)),
                            Err(error) if error.is_retryable() || error.is_outdated() => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                });
            }
            for n in 0..40 {
                let change = if n % 2 == 0 {
                    ColumnChange::add("more", ColumnType::Text)
                } else {
                    ColumnChange::drop("more")
                };
                db.alter_table("t", &[change]).unwrap();
                until_more(&counted, 3, &stop);
            }
            stop.store(true, Ordering::SeqCst);
        });
        let table = db.table("t").unwrap();
        assert_eq!(rows_now(&db, &table), [format!("1 {}", counted.into_inner())]);
    }
}
