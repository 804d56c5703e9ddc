//! Transactions that race with changes of the catalog.

use super::people::{BEFORE, ENGINES, SNAPSHOTS, commit, fill, open, people, rows, rows_now, wait_for};
use super::wait::wait_until;
use gemel::row::{ColumnChange, ColumnType, Schema, Value};
use gemel::{Engine, Isolation};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// Takes steps again and again, in a thread for each level, while this thread makes `change` some times. After each change
/// it waits until the others have counted so many more steps; `step` returns true for one that counts. Returns the number
/// of steps that were counted.
#[track_caller]
fn race(
    levels: &[Isolation],
    step: impl Fn(Isolation) -> bool + Sync,
    changes: impl IntoIterator<Item = i64>,
    change: impl Fn(i64),
    more: i64,
) -> i64 {
    let (stop, counter) = (AtomicBool::new(false), AtomicI64::new(0));
    let count = || counter.load(Ordering::SeqCst);
    std::thread::scope(|scope| {
        for level in levels {
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    counter.fetch_add(i64::from(step(*level)), Ordering::SeqCst);
                }
            });
        }
        for n in changes {
            change(n);
            let before = count();
            // Without the stop the others would go on for ever.
            let too_few = |count: &i64| {
                stop.store(true, Ordering::SeqCst);
                format!("of {more}, only {} come", count - before)
            };
            wait_until(count, |count| *count >= before + more, too_few);
        }
        stop.store(true, Ordering::SeqCst);
    });
    counter.into_inner()
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
        let look = |level| {
            let mut transaction = db.begin(level).unwrap();
            let table = db.table_in(&transaction, "t").unwrap();
            let found = rows(&mut transaction, &table).unwrap();
            // The column's name has the value that was written with it, or its row is not there yet.
            let name = &table.schema().columns[1].name;
            let value = found[0].strip_prefix("1 ").unwrap();
            assert!(value == "null" || format!("c{value}") == *name, "{found:?} {name}");
            true
        };
        let change = |n: i64| {
            let changes = [
                ColumnChange::add(&format!("c{n}"), ColumnType::I64),
                ColumnChange::drop(&format!("c{}", n - 1)),
            ];
            let table = db.alter_table("t", &changes).unwrap();
            commit(&db, |transaction| {
                table.set(transaction, &[Value::Int(1)], &[(1, Value::Int(n))]).map(|set| assert!(set))
            });
        };
        race(&SNAPSHOTS, look, 1..40, change, 2);
    }
}

/// Readers of a table that is truncated again and again see all rows that one commit wrote, or none.
#[test]
fn readers_race_with_truncations_and_see_no_table_in_part() {
    for engine in ENGINES {
        let directory = tempfile::tempdir().unwrap();
        let db = open(directory.path());
        people(&db, engine);
        let look = |level| {
            let mut transaction = db.begin(level).unwrap();
            let table = db.table_in(&transaction, "people").unwrap();
            std::thread::yield_now();
            let found = rows(&mut transaction, &table).unwrap();
            assert!(found.is_empty() || found == BEFORE, "{found:?}");
            assert_eq!(rows(&mut transaction, &table).unwrap(), found);
            true
        };
        race(&SNAPSHOTS, look, 0..40, |_| fill(&db, &db.truncate_table("people").unwrap()), 2);
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
        let increment = |level| {
            let table = db.table("t")?;
            let mut transaction = db.begin(level)?;
            std::thread::yield_now();
            table.update(&mut transaction, &[Value::Int(1)], |row| {
                let count = row.view().int(1)?;
                row.set(1, Value::Int(count + 1))
            })?;
            transaction.commit()?.wait()
        };
        let step = |level| match increment(level) {
            Ok(()) => true,
            Err(error) if error.is_retryable() || error.is_outdated() => false,
            Err(error) => panic!("{error}"),
        };
        let change = |n: i64| {
            let change = if n % 2 == 0 {
                ColumnChange::add("more", ColumnType::Text)
            } else {
                ColumnChange::drop("more")
            };
            db.alter_table("t", &[change]).unwrap();
        };
        let levels = [Isolation::ReadCommitted, Isolation::Snapshot, Isolation::Serializable];
        let counted = race(&levels, step, 0..40, change, 3);
        let table = db.table("t").unwrap();
        assert_eq!(rows_now(&db, &table), [format!("1 {counted}")]);
    }
}
