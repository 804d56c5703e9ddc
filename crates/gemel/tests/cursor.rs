//! The work of a cursor, counted: allocations of its thread, and blocks read from files. A walk with a cursor takes about
//! as much of both as a scan.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use gemel::{Database, Direction, Engine, Isolation, Keyspace, Options, Transaction};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ops::{Bound, ControlFlow};

const ROWS: u64 = 10_000;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends counts no more.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn filled(path: &std::path::Path, engine: Engine, options: Options) -> (Database, Keyspace) {
    let db = Database::open(path, options).unwrap();
    let rows = db.keyspace("rows", engine).unwrap();
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    for key in 0..ROWS {
        transaction.put(&rows, &key.to_be_bytes(), &[key as u8; 100]).unwrap();
    }
    transaction.commit().unwrap().wait().unwrap();
    db.checkpoint().unwrap();
    (db, rows)
}

/// Walks over all rows in both directions. Returns their number.
fn walk(transaction: &mut Transaction, rows: &Keyspace) -> u64 {
    let mut cursor = transaction.cursor(rows, Bound::Unbounded, Bound::Unbounded).unwrap();
    let mut passed = 0_u64;
    while let Some((key, _)) = cursor.next(transaction).unwrap() {
        assert_eq!(key, passed.to_be_bytes());
        passed += 1;
    }
    let mut left = passed;
    while let Some((key, _)) = cursor.prev(transaction).unwrap() {
        left -= 1;
        assert_eq!(key, left.to_be_bytes());
    }
    assert_eq!(left, 0);
    passed
}

#[test]
fn a_step_of_a_cursor_allocates_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (db, rows) = filled(directory.path(), Engine::Memory, Options::default());
    for isolation in [Isolation::ReadCommitted, Isolation::Snapshot, Isolation::Serializable] {
        for own in [0, ROWS / 2] {
            let mut transaction = db.begin(isolation).unwrap();
            for key in (0..ROWS).step_by(2).take(own as usize) {
                transaction.put(&rows, &key.to_be_bytes(), b"own").unwrap();
            }
            // The first walk makes the order of the own writes.
            assert_eq!(walk(&mut transaction, &rows), ROWS);
            let before = ALLOCATIONS.get();
            assert_eq!(walk(&mut transaction, &rows), ROWS);
            let allocations = ALLOCATIONS.get() - before;
            assert!(allocations < ROWS / 10, "{allocations} at {isolation:?} with {own} own writes");
        }
    }
}

#[test]
fn a_cursor_reads_the_same_blocks_as_a_scan_at_every_level() {
    let directory = tempfile::tempdir().unwrap();
    // A small cache: the blocks of a scan are read each time.
    let options = Options { cache_bytes: 1 << 16, ..Options::default() };
    let (db, rows) = filled(directory.path(), Engine::Disk, options);
    let blocks = || {
        let disk = db.state().disk;
        disk.blocks_cached + disk.blocks_from_files
    };
    for isolation in [Isolation::ReadCommitted, Isolation::Snapshot, Isolation::Serializable] {
        let mut transaction = db.begin(isolation).unwrap();
        let before = blocks();
        for direction in [Direction::Forward, Direction::Backward] {
            let (all, mut passed) = (Bound::Unbounded, 0);
            let each = |_: &[u8], _: &[u8]| {
                passed += 1;
                ControlFlow::Continue(())
            };
            transaction.scan(&rows, all, all, direction, each).unwrap();
            assert_eq!(passed, ROWS);
        }
        let scanned = blocks() - before;
        assert_eq!(walk(&mut transaction, &rows), ROWS);
        let walked = blocks() - before - scanned;
        assert!(scanned > 100, "a scan reads {scanned} blocks");
        // Each batch begins with an index block, and with the data block where the batch before ended.
        assert!(walked <= 3 * scanned, "{walked} instead of {scanned} at {isolation:?}");
    }
}

#[test]
fn a_cursor_at_read_committed_returns_the_newest_commits_and_loses_none() {
    let directory = tempfile::tempdir().unwrap();
    for engine in [Engine::Memory, Engine::Disk] {
        let path = directory.path().join(engine.name());
        let (db, rows) = filled(&path, engine, Options::default());
        let key = |number: u64| number.to_be_bytes();
        let other = |number: u64, value: &[u8]| {
            let mut transaction = db.begin(Isolation::Snapshot).unwrap();
            transaction.put(&rows, &key(number), value).unwrap();
            transaction.commit().unwrap().wait().unwrap();
        };
        let mut transaction = db.begin(Isolation::ReadCommitted).unwrap();
        let mut cursor = transaction.cursor(&rows, Bound::Unbounded, Bound::Unbounded).unwrap();
        for _ in 0..100 {
            cursor.next(&mut transaction).unwrap().unwrap();
        }
        // Rows that were read ahead, and are not returned yet.
        other(100, b"new");
        assert_eq!(cursor.next(&mut transaction).unwrap().unwrap(), (&key(100)[..], &b"new"[..]));
        for _ in 0..50 {
            cursor.next(&mut transaction).unwrap().unwrap();
        }
        // A write of a row that the cursor has not returned rests on no read of it.
        other(160, b"new");
        transaction.put(&rows, &key(160), b"mine").unwrap();
        transaction.commit().unwrap().wait().unwrap();
        // A write of one that it has returned does, although others were read since.
        let mut transaction = db.begin(Isolation::ReadCommitted).unwrap();
        let mut cursor = transaction.cursor(&rows, Bound::Unbounded, Bound::Unbounded).unwrap();
        for _ in 0..10 {
            cursor.next(&mut transaction).unwrap().unwrap();
        }
        other(5, b"in between");
        for _ in 0..10 {
            cursor.next(&mut transaction).unwrap().unwrap();
        }
        transaction.put(&rows, &key(5), b"mine").unwrap();
        let error = transaction.commit().map(drop).unwrap_err();
        assert!(error.is_retryable(), "{error}");
    }
}
