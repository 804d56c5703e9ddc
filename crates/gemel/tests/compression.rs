//! Compressed files of tables on disk: beside others, under other options, damaged, and under the commands.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use gemel::{Compression, Database, Direction, Engine, Error, Isolation, Keyspace, Options, Result};
use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::ops::{Bound, ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Length of the largest allocation.
static LARGEST: AtomicUsize = AtomicUsize::new(0);

struct Watched;

#[global_allocator]
static ALLOCATOR: Watched = Watched;

// SAFETY: each call is passed on.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(at, layout) }
    }
}

const ROWS: u32 = 2000;

fn open_with(path: &Path, compression: Compression) -> (Database, Keyspace) {
    let options = Options { compression, cache_bytes: 1 << 20, ..Options::default() };
    let db = Database::open(path, options).unwrap();
    let rows = db.open_or_create_keyspace("rows", Engine::Disk).unwrap();
    (db, rows)
}

fn value(row: u32) -> Vec<u8> {
    format!("row {row} of the table, and something that is in each row; ").repeat(3).into_bytes()
}

/// Writes rows into a file of their own.
fn write(db: &Database, keyspace: &Keyspace, rows: Range<u32>) {
    let work = |transaction: &mut gemel::Transaction| {
        rows.clone().try_for_each(|row| transaction.put(keyspace, &row.to_be_bytes(), &value(row)))
    };
    db.run(Isolation::Snapshot, work).unwrap();
    db.checkpoint().unwrap();
}

/// Returns the number of rows. Each one must be as it was written.
fn read(db: &Database, keyspace: &Keyspace) -> Result<u32> {
    let (mut transaction, mut rows) = (db.begin(Isolation::Snapshot)?, 0_u32);
    transaction.scan(keyspace, Bound::Unbounded, Bound::Unbounded, Direction::Forward, |key, found| {
        assert_eq!((key, found), (&rows.to_be_bytes()[..], &*value(rows)));
        rows += 1;
        ControlFlow::Continue(())
    })?;
    Ok(rows)
}

/// Returns the bytes of files, and of the compressed ones among them.
fn bytes(db: &Database) -> (u64, u64) {
    let sizes = db.sizes().unwrap();
    (sizes[0].file_bytes, sizes[0].compressed_bytes)
}

#[test]
fn compressed_files_and_others_make_one_table() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let (db, rows) = open_with(path, Compression::None);
    write(&db, &rows, 0..ROWS);
    let (plain, compressed) = bytes(&db);
    assert_eq!(compressed, 0);
    drop(db);

    let (db, rows) = open_with(path, Compression::Lz4);
    // It must be durable before a file is compressed: versions that can't read such files reject this format.
    let manifest = fs::read_to_string(path.join("gemel.manifest")).unwrap();
    assert!(manifest.starts_with("gemel 7 ") && manifest.contains("\"compression\":\"lz4\""), "{manifest}");
    assert_eq!(read(&db, &rows).unwrap(), ROWS);
    write(&db, &rows, ROWS..2 * ROWS);
    let (both, compressed) = bytes(&db);
    assert_eq!(both - compressed, plain);
    assert!(compressed > 0 && compressed < plain / 2, "{compressed} of {both} bytes are compressed");
    assert_eq!(read(&db, &rows).unwrap(), 2 * ROWS);
    drop(db);

    let (db, rows) = open_with(path, Compression::None);
    assert_eq!(read(&db, &rows).unwrap(), 2 * ROWS);
    write(&db, &rows, 2 * ROWS..3 * ROWS);
    assert_eq!(bytes(&db).1, compressed);
    assert!(db.compact("rows").unwrap().is_complete);
    let (all, compressed) = bytes(&db);
    assert!(compressed == 0 && all > 5 * plain / 2, "{compressed} of {all} bytes are compressed");
    drop(db);

    let (db, rows) = open_with(path, Compression::Lz4);
    assert!(db.compact("rows").unwrap().is_complete);
    let (merged, compressed) = bytes(&db);
    assert!(compressed == merged && merged < all / 2, "{compressed} of {merged} bytes are compressed");
    assert_eq!(read(&db, &rows).unwrap(), 3 * ROWS);
    drop(db);
    let report = gemel::check(path).unwrap();
    assert!(report.is_good() && report.parts[0].rows == u64::from(3 * ROWS), "{report}");
}

#[test]
fn a_tool_keeps_the_compression_of_the_last_opening() {
    let directory = tempfile::tempdir().unwrap();
    let (path, copy) = (directory.path().join("db"), directory.path().join("copy"));
    let (db, rows) = open_with(&path, Compression::Lz4);
    write(&db, &rows, 0..ROWS);
    drop(db);
    let merged = |path: &Path, compression| {
        let db = Database::open_existing(path, Options { compression, ..Options::default() }).unwrap();
        db.compact("rows").unwrap();
        bytes(&db)
    };
    let (all, compressed) = merged(&path, Compression::None);
    assert_eq!(all, compressed);
    // The copy is compressed too, and another option makes no other database of it.
    gemel::backup(&path, &copy, |_| ()).unwrap();
    assert_eq!(merged(&copy, Compression::None), (all, all));
    let fresh = directory.path().join("fresh");
    gemel::backup(&path, &fresh, |_| ()).unwrap();
    drop(open_with(&path, Compression::None));
    let report = gemel::backup(&path, &fresh, |_| ()).unwrap();
    assert!(report.files_kept > 0, "{report:?}");
    assert_eq!(merged(&path, Compression::Lz4).1, 0);
}

#[test]
fn stat_shows_the_bytes_of_compressed_files() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let stat = |arguments: &[&str]| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_gemel"));
        let output = program.arg("stat").arg(path).args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let (db, rows) = open_with(path, Compression::None);
    write(&db, &rows, 0..ROWS);
    drop(db);
    assert!(!stat(&[]).contains("compressed files"));
    let (db, rows) = open_with(path, Compression::Lz4);
    write(&db, &rows, ROWS..2 * ROWS);
    let compressed = bytes(&db).1;
    drop(db);
    let shown = stat(&[]);
    assert!(shown.contains(&format!("; {compressed} bytes of them are in compressed files")), "{shown}");
    let json = stat(&["--format", "json"]);
    assert!(json.contains(&format!("\"compressed_bytes\":{compressed}}}")), "{json}");
}

/// Returns the file of the only table.
fn table(path: &Path) -> PathBuf {
    let tree = fs::read_dir(path.join("disk")).unwrap().next().unwrap().unwrap().path();
    let mut tables = fs::read_dir(tree.join("tables")).unwrap();
    let table = tables.next().unwrap().unwrap().path();
    assert!(tables.next().is_none());
    table
}

#[test]
fn a_changed_byte_of_a_compressed_block_is_found_and_no_length_makes_memory_run_out() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let (db, rows) = open_with(path, Compression::Lz4);
    write(&db, &rows, 0..ROWS);
    drop(db);
    let table = table(path);
    let good = fs::read(&table).unwrap();
    // A block begins with its magic bytes, its kind, a checksum of 16 bytes, its length, its length before compression,
    // and a checksum of these.
    assert!(good.starts_with(b"LSM"), "{:?}", &good[..8]);
    for place in (0..40).chain((40..good.len() / 2).step_by(211)) {
        let mut bad = good.clone();
        // The highest bit of a length, too.
        bad[place] ^= 0x80;
        fs::write(&table, bad).unwrap();
        let (db, rows) = open_with(path, Compression::Lz4);
        let error = read(&db, &rows).unwrap_err();
        assert!(matches!(error, Error::Corruption { .. }), "byte {place}: {error}");
        if place < 40 {
            let error = db.compact("rows").unwrap_err();
            assert!(matches!(error, Error::Corruption { .. }), "byte {place}: {error}");
        }
        drop(db);
        let report = gemel::check(path).unwrap();
        assert!(!report.is_good(), "byte {place}");
    }
    let largest = LARGEST.load(Ordering::Relaxed);
    assert!(largest < 128 << 20, "a length of {largest} bytes was believed");
    fs::write(&table, good).unwrap();
    let (db, rows) = open_with(path, Compression::Lz4);
    assert_eq!(read(&db, &rows).unwrap(), ROWS);
}
