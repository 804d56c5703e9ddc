//! The memory of what running transactions hold, measured on the heap and compared with what counts.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use gemel::row::{ColumnType, RowRange, Schema, Table, Value};
use gemel::{Database, Engine, Error, Isolation, Keyspace, Options, Transaction};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ops::Bound;

const LIMIT: u64 = 1 << 20;
/// Bytes of a transaction that do not count, and of what a call takes beside what the transaction holds: copies of a
/// few keys, the batches of a scan, and the text of an error.
const BESIDE: i64 = 128 << 10;

struct Counting;

thread_local! {
    /// Bytes that the thread has allocated and not freed.
    static HELD: Cell<i64> = const { Cell::new(0) };
    /// The highest value of `HELD` since it was last set.
    static MOST: Cell<i64> = const { Cell::new(0) };
}

fn note(bytes: i64) {
    // A thread that ends counts no more.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = MOST.try_with(|most| most.set(most.get().max(held.get())));
    });
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size() as i64);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        note(-(layout.size() as i64));
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns the result of `work`, the bytes by which the thread holds more afterwards, and those by which it held more
/// at most.
fn measured<R>(work: impl FnOnce() -> R) -> (R, i64, i64) {
    let before = HELD.get();
    MOST.set(before);
    let result = work();
    (result, HELD.get() - before, MOST.get() - before)
}

fn open(limit: u64) -> (tempfile::TempDir, Database) {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { pending_limit_bytes: limit, ..Options::default() };
    let db = Database::open(directory.path().join("db"), options).unwrap();
    (directory, db)
}

/// Commits rows in small transactions.
fn fill(db: &Database, rows: i64, write: impl Fn(&mut Transaction, i64)) {
    for first in (0..rows).step_by(100) {
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        (first..rows.min(first + 100)).for_each(|row| write(&mut transaction, row));
        drop(transaction.commit().unwrap());
    }
    db.sync().unwrap();
}

fn key(row: i64) -> Vec<u8> {
    format!("a key that is longer than sixteen bytes {row:08}").into_bytes()
}

fn keyspace_and_table(db: &Database, engine: Engine, rows: i64) -> (Keyspace, Table) {
    let space = db.keyspace("space", engine).unwrap();
    fill(db, rows, |transaction, row| transaction.put(&space, &key(row), b"").unwrap());
    let schema = Schema::new().column("id", ColumnType::I64).column("name", ColumnType::Text);
    let schema = schema.primary_key(["id"]).index("by_name", ["name"]);
    let table = db.create_table("table", engine, schema).unwrap();
    fill(db, rows, |transaction, row| table.insert(transaction, &[Value::Int(row), "name".into()]).unwrap());
    (space, table)
}

#[test]
fn the_deletion_of_a_long_range_takes_no_more_memory_than_the_limit() {
    for engine in [Engine::Memory, Engine::Disk] {
        let (_directory, db) = open(LIMIT);
        let (space, table) = keyspace_and_table(&db, engine, 40_000);
        for level in [Isolation::ReadCommitted, Isolation::Snapshot, Isolation::Serializable] {
            let mut transaction = db.begin(level).unwrap();
            let all = (Bound::Unbounded, Bound::Unbounded);
            let keys = measured(|| transaction.delete_range(&space, all.0, all.1));
            let rows = measured(|| table.delete_range(&mut transaction, &RowRange::all()));
            for (outcome, _, most) in [keys, rows] {
                assert!(matches!(outcome, Err(Error::Capacity(_))), "{outcome:?}");
                assert!(most < LIMIT as i64 + BESIDE, "{most} bytes in the {} engine", engine.name());
            }
            // Nothing is held for a call that was rejected, and what fits is deleted.
            assert!(db.state().pending_bytes <= 64 << 10, "{}", db.state().pending_bytes);
            let (deleted, _, most) = measured(|| {
                let (keys, rows) = (key(500), [Value::Int(250)]);
                let keys = transaction.delete_range(&space, all.0, Bound::Excluded(&keys)).unwrap();
                let first = RowRange::new(Bound::Unbounded, Bound::Excluded(&rows));
                (keys, table.delete_range(&mut transaction, &first).unwrap())
            });
            assert_eq!(deleted, (500, 250));
            let counted = db.state().pending_bytes as i64;
            assert!(most < counted + BESIDE, "{most} bytes, and {counted} count");
            transaction.rollback();
            assert_eq!(db.state().pending_bytes, 0);
        }
    }
}

/// A rejected call has read nothing, so a later write rests on what the program has read before.
#[test]
fn a_rejected_deletion_of_a_range_is_no_newer_read_of_its_keys() {
    for engine in [Engine::Memory, Engine::Disk] {
        let (_directory, db) = open(LIMIT);
        let (space, _) = keyspace_and_table(&db, engine, 20_000);
        let mut transaction = db.begin(Isolation::ReadCommitted).unwrap();
        assert_eq!(transaction.get(&space, &key(7)).unwrap().unwrap(), b"");
        let mut other = db.begin(Isolation::Snapshot).unwrap();
        other.put(&space, &key(7), b"theirs").unwrap();
        other.commit().unwrap().wait().unwrap();
        let outcome = transaction.delete_range(&space, Bound::Unbounded, Bound::Unbounded);
        assert!(matches!(outcome, Err(Error::Capacity(_))), "{outcome:?}");
        transaction.put(&space, &key(7), b"mine").unwrap();
        assert!(transaction.commit().is_err_and(|error| error.is_retryable()), "their write is lost");
    }
}

#[test]
fn savepoints_and_their_notes_count_with_the_memory_that_they_take() {
    for notes in [0, 1, 2, 5, 6, 11, 12, 100] {
        for long in [false, true] {
            let (_directory, db) = open(1 << 30);
            let space = db.keyspace("space", Engine::Memory).unwrap();
            let keys: Vec<Vec<u8>> =
                (0..100_i64).map(|row| if long { key(row) } else { row.to_be_bytes().to_vec() }).collect();
            let mut transaction = db.begin(Isolation::Snapshot).unwrap();
            let first = transaction.savepoint().unwrap();
            keys.iter().for_each(|key| transaction.put(&space, key, &[7; 300]).unwrap());
            let before = db.state().pending_bytes as i64;
            let ((), held, _) = measured(|| {
                for _ in 0..1000 {
                    // It stays until the rollback, though nobody has a handle of it.
                    let _ = transaction.savepoint().unwrap();
                    keys[..notes].iter().for_each(|key| transaction.put(&space, key, &[8; 300]).unwrap());
                }
            });
            let counted = db.state().pending_bytes as i64 - before;
            assert!(
                held <= counted + BESIDE && counted < 4 * (held + BESIDE),
                "{notes} notes, long keys: {long}: {held} bytes, and {counted} count"
            );
            transaction.rollback_to(&first).unwrap();
            transaction.release(first).unwrap();
            assert_eq!(db.state().pending_bytes, 0);
        }
    }
}
