//! The limit of what running transactions hold: writes, savepoints and reads count as they grow, the call that would
//! exceed the limit changes nothing, and everything is given back.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use gemel::row::{ColumnType, RowRange, RowView, Schema, Table, Value};
use gemel::{Database, Direction, Engine, Error, Isolation, Keyspace, Options, Result, Transaction};
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

const LIMIT: u64 = 1 << 20;
/// Bytes of a transaction that do not count.
const FREE: u64 = 64 << 10;
const LEVELS: [Isolation; 3] = [Isolation::ReadCommitted, Isolation::Snapshot, Isolation::Serializable];

struct Shop {
    db: Database,
    spaces: [Keyspace; 2],
    _directory: tempfile::TempDir,
}

fn shop(options: Options) -> Shop {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(directory.path().join("db"), options).unwrap();
    let spaces = [("hot", Engine::Memory), ("cold", Engine::Disk)];
    let spaces = spaces.map(|(name, engine)| db.keyspace(name, engine).unwrap());
    Shop { db, spaces, _directory: directory }
}

fn limited() -> Shop {
    shop(Options { pending_limit_bytes: LIMIT, ..Options::default() })
}

impl Shop {
    fn begin(&self, isolation: Isolation) -> Transaction {
        self.db.begin(isolation).unwrap()
    }

    fn pending(&self) -> u64 {
        self.db.state().pending_bytes
    }

    /// Fills tables with small transactions.
    fn fill(&self, rows: u32) {
        for space in &self.spaces {
            for first in (0..rows).step_by(100) {
                let mut transaction = self.begin(Isolation::Snapshot);
                (first..rows.min(first + 100))
                    .for_each(|row| transaction.put(space, &key(row), b"old").unwrap());
                drop(transaction.commit().unwrap());
            }
        }
    }
}

fn key(row: u32) -> [u8; 4] {
    row.to_be_bytes()
}

fn assert_capacity<T: std::fmt::Debug>(outcome: Result<T>) {
    let error = outcome.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::Capacity(_)) && !error.is_retryable(), "{error:?}");
    for word in ["pending_limit_bytes", "1048576", "roll back", "several transactions"] {
        assert!(text.contains(word), "{text}");
    }
}

fn rows(transaction: &mut Transaction, space: &Keyspace) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut rows = BTreeMap::new();
    transaction
        .scan(space, Bound::Unbounded, Bound::Unbounded, Direction::Forward, |key, value| {
            rows.insert(key.to_vec(), value.to_vec());
            ControlFlow::Continue(())
        })
        .unwrap();
    rows
}

/// Calls `step` with rising numbers until it fails; returns the number of calls that succeeded, and the failure.
fn until_refused(mut step: impl FnMut(u32) -> Result<()>) -> (u32, Error) {
    (0..1_000_000).find_map(|number| step(number).err().map(|error| (number, error))).unwrap()
}

#[test]
fn writes_are_rejected_as_they_grow_and_the_transaction_commits_what_it_has() {
    for level in LEVELS {
        for engine in 0..2 {
            let shop = limited();
            let space = &shop.spaces[engine];
            let value = vec![7; 1000];
            let mut transaction = shop.begin(level);
            let (count, error) = until_refused(|row| transaction.put(space, &key(row), &value));
            assert_capacity::<()>(Err(error));
            // Each row takes its value twice, for the commit has a log record.
            assert!((400..=(LIMIT + FREE) as u32 / 2000).contains(&count), "{count}");
            assert!(shop.pending() <= LIMIT && shop.pending() > LIMIT - 3000, "{}", shop.pending());
            assert_capacity(transaction.insert(space, b"new", &value));
            assert_capacity(transaction.update(space, &key(0), |value| value.extend([8; 4000])));
            // At the other levels reads need room too.
            if level == Isolation::Snapshot {
                assert_eq!(transaction.get(space, &key(0)).unwrap().as_ref(), Some(&value));
                assert_eq!(transaction.get(space, &key(count)).unwrap(), None);
            }
            transaction.commit().unwrap().wait().unwrap();
            assert_eq!(shop.pending(), 0);
            assert_eq!(rows(&mut shop.begin(Isolation::Snapshot), space).len(), count as usize);
        }
    }
}

#[test]
fn deletions_count_too() {
    let shop = limited();
    let mut transaction = shop.begin(Isolation::Snapshot);
    let (count, error) = until_refused(|row| transaction.delete(&shop.spaces[0], &key(row)));
    assert_capacity::<()>(Err(error));
    assert!(count > 1000, "{count}");
    transaction.rollback();
    assert_eq!(shop.pending(), 0);
}

#[test]
fn all_transactions_together_are_limited_and_small_ones_still_go_on() {
    let shop = limited();
    let value = vec![7; 10_000];
    let mut large: Vec<_> = (0..3).map(|_| shop.begin(Isolation::Snapshot)).collect();
    let (count, error) = until_refused(|row| {
        let of = row as usize % large.len();
        large[of].put(&shop.spaces[1], &key(row), &value)
    });
    assert_capacity::<()>(Err(error));
    assert!((40..70).contains(&count), "{count}");
    for space in &shop.spaces {
        let mut small = shop.begin(Isolation::Serializable);
        small.get(space, b"small").unwrap();
        small.put(space, b"small", &value).unwrap();
        small.commit().unwrap().wait().unwrap();
    }
    // What one gives back, another one can have.
    drop(large.pop());
    large[0].put(&shop.spaces[1], b"more", &value).unwrap();
    drop(large);
    assert_eq!(shop.pending(), 0);
}

#[test]
fn a_rollback_to_a_savepoint_gives_its_bytes_back() {
    let shop = limited();
    let value = vec![7; 1000];
    for space in &shop.spaces {
        let mut transaction = shop.begin(Isolation::Snapshot);
        (0..100).for_each(|row| transaction.put(space, &key(row), &value).unwrap());
        let before = rows(&mut transaction, space);
        let mut firsts = Vec::new();
        for _ in 0..3 {
            let savepoint = transaction.savepoint().unwrap();
            let held = shop.pending();
            // Replaced values are kept for the rollback, so they count too.
            let (first, error) = until_refused(|row| transaction.put(space, &key(row), &[row as u8; 500]));
            assert_capacity::<()>(Err(error));
            firsts.push(first);
            assert_capacity(transaction.put(space, b"further", &value));
            transaction.rollback_to(&savepoint).unwrap();
            assert!(shop.pending() <= held, "{} after {held}", shop.pending());
            assert_eq!(rows(&mut transaction, space), before);
            transaction.release(savepoint).unwrap();
        }
        assert!(firsts[0] > 300 && firsts.iter().all(|first| first.abs_diff(firsts[0]) < 10), "{firsts:?}");
        drop(transaction);
        assert_eq!(shop.pending(), 0);
    }
}

#[test]
fn savepoints_count_and_a_release_gives_their_bytes_back() {
    let shop = limited();
    let mut transaction = shop.begin(Isolation::Snapshot);
    let oldest = transaction.savepoint().unwrap();
    let (count, error) = until_refused(|_| transaction.savepoint().map(drop));
    assert_capacity::<()>(Err(error));
    assert!(count > 1000, "{count}");
    transaction.release(oldest).unwrap();
    assert_eq!(shop.pending(), 0);
    transaction.put(&shop.spaces[0], b"k", b"v").unwrap();
    let released = transaction.savepoint().unwrap();
    for round in 0..2000_u32 {
        let savepoint = transaction.savepoint().unwrap();
        transaction.put(&shop.spaces[0], b"k", &[round as u8; 500]).unwrap();
        transaction.release(savepoint).unwrap();
    }
    transaction.release(released).unwrap();
    assert_eq!(shop.pending(), 0);
    transaction.commit().unwrap().wait().unwrap();
}

#[test]
fn reads_count_where_the_commit_must_check_them() {
    let shop = limited();
    shop.fill(30_000);
    for space in &shop.spaces {
        for level in LEVELS {
            let mut transaction = shop.begin(level);
            let outcome = (0..30_000).try_for_each(|row| transaction.get(space, &key(row)).map(drop));
            if level == Isolation::Snapshot {
                outcome.unwrap();
                assert_eq!(shop.pending(), 0, "reads at snapshot leave nothing");
            } else {
                assert_capacity(outcome);
            }
            drop(transaction);
            let mut transaction = shop.begin(level);
            assert_capacity(
                (0..30_000).try_for_each(|row| transaction.get_for_update(space, &key(row)).map(drop)),
            );
            // What it has read is still validated.
            if level == Isolation::Serializable {
                transaction.rollback();
                continue;
            }
            let mut other = shop.begin(Isolation::Snapshot);
            other.put(space, &key(0), b"new").unwrap();
            other.commit().unwrap().wait().unwrap();
            let outcome =
                transaction.put(space, &key(0), b"mine").and_then(|()| transaction.commit().map(drop));
            assert!(outcome.is_err(), "{level:?}");
        }
    }
    assert_eq!(shop.pending(), 0);
}

#[test]
fn scans_and_cursors_count_where_the_commit_must_check_them() {
    let shop = limited();
    shop.fill(100);
    let none = |_: &[u8], _: &[u8]| ControlFlow::Continue(());
    for space in &shop.spaces {
        for level in [Isolation::ReadCommitted, Isolation::Serializable] {
            let mut transaction = shop.begin(level);
            let scans = until_refused(|row| {
                // Ranges with gaps between them are not merged.
                let (lower, upper) = (key(2 * row), key(2 * row + 1));
                let (lower, upper) = (Bound::Included(&lower[..]), Bound::Excluded(&upper[..]));
                transaction.scan(space, lower, upper, Direction::Forward, none)
            });
            assert_capacity::<()>(Err(scans.1));
            assert!(scans.0 > 1000, "{}", scans.0);
            let mut cursor = transaction.cursor(space, Bound::Unbounded, Bound::Unbounded).unwrap();
            if level == Isolation::Serializable {
                assert_capacity(cursor.next(&mut transaction).map(drop));
            }
            drop(transaction);
            assert_eq!(shop.pending(), 0);
            let mut transaction = shop.begin(level);
            let mut cursor = transaction.cursor(space, Bound::Unbounded, Bound::Unbounded).unwrap();
            let steps = until_refused(|row| {
                cursor.seek(&key(2 * row))?;
                cursor.next(&mut transaction).map(drop)
            });
            assert_capacity::<()>(Err(steps.1));
            assert!(steps.0 > 1000, "{}", steps.0);
        }
    }
    assert_eq!(shop.pending(), 0);
}

#[test]
fn the_order_of_many_writes_counts() {
    let shop = limited();
    let space = &shop.spaces[0];
    let mut transaction = shop.begin(Isolation::Snapshot);
    let (count, _) = until_refused(|row| transaction.put(space, &key(row), b""));
    // A scan over own writes needs their order, for which there is no room.
    let all = Bound::Unbounded;
    let scanned = transaction.scan(space, all, all, Direction::Forward, |_, _| ControlFlow::Continue(()));
    assert_capacity(scanned);
    let mut cursor = transaction.cursor(space, all, all).unwrap();
    assert_capacity(cursor.next(&mut transaction).map(drop));
    transaction.commit().unwrap().wait().unwrap();
    assert_eq!(rows(&mut shop.begin(Isolation::Snapshot), space).len(), count as usize);
    assert_eq!(shop.pending(), 0);
}

fn people(db: &Database, engine: Engine) -> Table {
    let schema = Schema::new()
        .column("id", ColumnType::I64)
        .column("name", ColumnType::Text)
        .column("note", ColumnType::Text)
        .primary_key(["id"])
        .unique_index("by_name", ["name"])
        .index("by_note", ["note"]);
    db.create_table(engine.name(), engine, schema).unwrap()
}

/// An index entry without its row, or a row without its entry, would be found by the verification.
#[test]
fn a_rejected_change_of_a_row_leaves_its_indexes_as_they_were() {
    let text = "x".repeat(700);
    let shop = limited();
    for engine in [Engine::Memory, Engine::Disk] {
        let mut table = people(&shop.db, engine);
        for start in 0..30 {
            let mut transaction = shop.begin(Isolation::Snapshot);
            // Each time the limit comes at another byte.
            transaction.put(&shop.spaces[0], b"shift", &vec![7; 100 * start]).unwrap();
            let insert = |transaction: &mut Transaction, row: u32| {
                let (name, note) = (format!("{row} {text}"), format!("{} {text}", row / 3));
                table.insert(
                    transaction,
                    &[Value::Int(row.into()), name.as_str().into(), note.as_str().into()],
                )
            };
            let (count, error) = until_refused(|row| insert(&mut transaction, row));
            assert_capacity::<()>(Err(error));
            let long = format!("long {text} {text}");
            assert_capacity(table.set(&mut transaction, &[Value::Int(0)], &[(2, long.as_str().into())]));
            let upsert = [Value::Int(1), long.as_str().into(), long.as_str().into()];
            assert_capacity(table.upsert(&mut transaction, &upsert));
            transaction.commit().unwrap().wait().unwrap();
            let mut transaction = shop.begin(Isolation::Snapshot);
            table.verify(&mut transaction).unwrap();
            let mut found = 0;
            table
                .scan(&mut transaction, &RowRange::all(), Direction::Forward, |_| {
                    found += 1;
                    Ok(ControlFlow::Continue(()))
                })
                .unwrap();
            assert_eq!(found, count);
            drop(transaction);
            table = shop.db.truncate_table(engine.name()).unwrap();
            assert_eq!(shop.pending(), 0);
        }
    }
}

#[test]
fn a_deletion_of_a_range_deletes_all_of_it_or_nothing() {
    let shop = limited();
    shop.fill(8000);
    let all = Bound::Unbounded;
    for (space, engine) in shop.spaces.iter().zip([Engine::Memory, Engine::Disk]) {
        let mut transaction = shop.begin(Isolation::Snapshot);
        assert_capacity(transaction.delete_range(space, all, all));
        assert_eq!(transaction.delete_range(space, all, Bound::Excluded(&key(500))).unwrap(), 500);
        transaction.commit().unwrap().wait().unwrap();
        assert_eq!(rows(&mut shop.begin(Isolation::Snapshot), space).len(), 7500);

        let table = people(&shop.db, engine);
        for start in (0..2000).step_by(100) {
            let mut transaction = shop.begin(Isolation::Snapshot);
            for row in start..start + 100 {
                let name = row.to_string();
                let row = [Value::Int(row), name.as_str().into(), "note".into()];
                table.insert(&mut transaction, &row).unwrap();
            }
            drop(transaction.commit().unwrap());
        }
        let mut transaction = shop.begin(Isolation::Snapshot);
        assert_capacity(table.delete_range(&mut transaction, &RowRange::all()));
        let end = [Value::Int(300)];
        let first = RowRange::new(Bound::Unbounded, Bound::Excluded(&end));
        assert_eq!(table.delete_range(&mut transaction, &first).unwrap(), 300);
        transaction.commit().unwrap().wait().unwrap();
        let mut transaction = shop.begin(Isolation::Snapshot);
        table.verify(&mut transaction).unwrap();
        let mut left = 0;
        let each = |_: RowView<'_>| {
            left += 1;
            Ok(ControlFlow::Continue(()))
        };
        table.scan(&mut transaction, &RowRange::all(), Direction::Forward, each).unwrap();
        assert_eq!((left, shop.pending()), (1700, 0));
    }
}

#[test]
fn a_write_beyond_the_memory_limit_is_rejected_long_before_the_commit() {
    let shop = shop(Options { memory_limit_bytes: 1 << 20, ..Options::default() });
    let value = vec![7; 1000];
    let mut transaction = shop.begin(Isolation::Snapshot);
    let (count, error) = until_refused(|row| transaction.put(&shop.spaces[0], &key(row), &value));
    assert!(
        matches!(error, Error::Capacity(_)) && error.to_string().contains("memory_limit_bytes"),
        "{error}"
    );
    assert!((900..1200).contains(&count), "{count}");
    // Tables on disk and deletions have no part in it.
    (0..2000).for_each(|row| transaction.put(&shop.spaces[1], &key(row), &value).unwrap());
    (0..count).for_each(|row| transaction.delete(&shop.spaces[0], &key(row)).unwrap());
    (0..500).for_each(|row| transaction.put(&shop.spaces[0], &key(row), &value).unwrap());
    transaction.commit().unwrap().wait().unwrap();
    let mut after = shop.begin(Isolation::Snapshot);
    assert_eq!(rows(&mut after, &shop.spaces[0]).len(), 500);
    assert_eq!(rows(&mut after, &shop.spaces[1]).len(), 2000);
    assert_eq!(shop.pending(), 0);
}

#[test]
fn bytes_are_given_back_after_a_conflict() {
    let shop = limited();
    let space = &shop.spaces[0];
    let mut loser = shop.begin(Isolation::Snapshot);
    (0..200).for_each(|row| loser.put(space, &key(row), &[7; 1000]).unwrap());
    assert!(shop.pending() > 200_000);
    let mut winner = shop.begin(Isolation::Snapshot);
    winner.put(space, &key(0), b"won").unwrap();
    winner.commit().unwrap().wait().unwrap();
    assert!(matches!(loser.commit(), Err(Error::Conflict { .. })));
    assert_eq!(shop.pending(), 0);
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

type Rows = [BTreeMap<Vec<u8>, Vec<u8>>; 2];

/// Random writes, savepoints and rollbacks to them around the limit, compared with sorted maps: a rejected call has
/// changed nothing, and whatever remains is committed.
#[test]
fn a_rejected_call_leaves_the_transaction_as_it_was() {
    let mut rejected = 0;
    for seed in 0..60 {
        let mut random = Random(seed);
        let shop = limited();
        let level = LEVELS[random.below(3) as usize];
        let mut transaction = shop.begin(level);
        let mut model = Rows::default();
        let mut savepoints = Vec::new();
        for _ in 0..400 {
            let of = random.below(2) as usize;
            let (space, keys) = (&shop.spaces[of], random.below(40));
            let key = vec![keys as u8; 1 + keys as usize % 40];
            let value = vec![random.below(256) as u8; random.below(40_000) as usize];
            match random.below(10) {
                0..=4 => match transaction.put(space, &key, &value) {
                    Ok(()) => drop(model[of].insert(key, value)),
                    outcome => (rejected, _) = (rejected + 1, assert_capacity(outcome)),
                },
                5 => match transaction.delete(space, &key) {
                    Ok(()) => drop(model[of].remove(&key)),
                    outcome => assert_capacity(outcome),
                },
                6 => match transaction.update(space, &key, |stored| stored.extend(&value)) {
                    Ok(found) => match model[of].get_mut(&key) {
                        Some(stored) => (stored.extend(&value), assert!(found)).1,
                        None => assert!(!found),
                    },
                    outcome => (rejected, _) = (rejected + 1, assert_capacity(outcome)),
                },
                7 => match transaction.savepoint() {
                    Ok(savepoint) => savepoints.push((savepoint, model.clone())),
                    outcome => assert_capacity(outcome),
                },
                8 if !savepoints.is_empty() => {
                    let place = random.below(savepoints.len() as u64) as usize;
                    savepoints.truncate(place + 1);
                    transaction.rollback_to(&savepoints[place].0).unwrap();
                    model = savepoints[place].1.clone();
                }
                9 if !savepoints.is_empty() => {
                    let place = random.below(savepoints.len() as u64) as usize;
                    let released = savepoints.drain(place..).next().unwrap();
                    transaction.release(released.0).unwrap();
                }
                _ => match transaction.get(space, &key) {
                    Ok(found) => assert_eq!(found.as_ref(), model[of].get(&key)),
                    outcome => assert_capacity(outcome),
                },
            }
            assert!(shop.pending() <= LIMIT);
        }
        transaction.commit().unwrap().wait().unwrap();
        assert_eq!(shop.pending(), 0, "seed {seed}");
        let mut after = shop.begin(Isolation::Snapshot);
        for (space, model) in shop.spaces.iter().zip(&model) {
            assert_eq!(&rows(&mut after, space), model, "seed {seed}");
        }
    }
    assert!(rejected > 100, "only {rejected} calls came to the limit");
}
