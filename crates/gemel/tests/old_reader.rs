//! Versions that an old reader held back, and rows that were deleted, leave the files of tables on disk by themselves.
//! Bytes of files and blocks that a scan reads are compared with those of a fresh database with the same rows.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use gemel::{Database, Direction, Durability, Engine, Isolation, Keyspace, Options};
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::time::{Duration, Instant};

const KEYS: u32 = 1000;
const VALUE_BYTES: usize = 1000;
/// Times that each key is written while the old reader is there.
const ROUNDS: u32 = 40;
/// Maximum time until the files are as before. It takes some tenths of a second.
const PATIENCE: Duration = Duration::from_secs(60);

struct Shop {
    db: Database,
    rows: Keyspace,
}

/// Bytes of files, and blocks that a scan of all rows reads from them.
#[derive(Clone, Copy, Debug)]
struct Size {
    bytes: u64,
    blocks: u64,
}

impl Size {
    fn is_within(self, times: u64, fresh: Self) -> bool {
        self.bytes <= times * fresh.bytes && self.blocks <= times * fresh.blocks
    }
}

impl Shop {
    fn open(path: &Path) -> Self {
        let options = Options {
            // Small, so scans read from files and each round fills a write buffer.
            cache_bytes: 1 << 16,
            write_buffer_bytes: 1 << 20,
            durability: Durability::Relaxed(Duration::from_millis(10)),
            ..Options::default()
        };
        let db = Database::open(path, options).unwrap();
        let rows = db.keyspace("rows", Engine::Disk).unwrap();
        Self { db, rows }
    }

    fn write(&self, keys: std::ops::Range<u32>, round: u32) {
        let mut transaction = self.db.begin(Isolation::Snapshot).unwrap();
        for key in keys {
            transaction.put(&self.rows, &key.to_be_bytes(), &[round as u8; VALUE_BYTES]).unwrap();
        }
        drop(transaction.commit().unwrap());
    }

    fn size(&self) -> Size {
        let blocks = || {
            let disk = self.db.state().disk;
            disk.blocks_cached + disk.blocks_from_files
        };
        let before = blocks();
        let mut transaction = self.db.begin(Isolation::Snapshot).unwrap();
        let (all, forward) = (Bound::Unbounded, Direction::Forward);
        transaction.scan(&self.rows, all, all, forward, |_, _| ControlFlow::Continue(())).unwrap();
        drop(transaction);
        Size { bytes: self.db.state().disk.file_bytes, blocks: blocks() - before }
    }

    /// Writes all keys many times under a snapshot, and returns the transaction with it.
    fn write_under_a_reader(&self, fresh: Size) -> gemel::Transaction {
        let mut old = self.db.begin(Isolation::Snapshot).unwrap();
        let first = old.get(&self.rows, &0_u32.to_be_bytes()).unwrap();
        for round in 1..=ROUNDS {
            self.write(0..KEYS, round);
        }
        self.db.checkpoint().unwrap();
        let size = self.size();
        assert!(size.bytes > 10 * fresh.bytes, "the reader holds back few versions: {size:?}");
        assert_eq!(old.get(&self.rows, &0_u32.to_be_bytes()).unwrap(), first);
        old
    }

    /// Waits until the files are as they should be, and does some work meanwhile.
    fn until(&self, is_right: impl Fn(Size) -> bool, mut work: impl FnMut()) {
        let begun = Instant::now();
        loop {
            let size = self.size();
            if is_right(size) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "the files stay as they are: {size:?}");
            work();
        }
    }
}

fn pause() {
    std::thread::sleep(Duration::from_millis(20));
}

/// Returns a database with fresh rows, and its size.
fn shop(path: &Path) -> (Shop, Size) {
    let shop = Shop::open(path);
    shop.write(0..KEYS, 0);
    shop.db.checkpoint().unwrap();
    let size = shop.size();
    assert!(size.blocks > 100, "{size:?}");
    (shop, size)
}

#[test]
fn files_shrink_once_an_old_reader_has_ended() {
    let directory = tempfile::tempdir().unwrap();
    let (shop, fresh) = shop(directory.path());
    drop(shop.write_under_a_reader(fresh));
    shop.until(|size| size.is_within(2, fresh), pause);
    // And under load, when another table's next versions come all the time.
    let old = shop.write_under_a_reader(fresh);
    let other = shop.db.keyspace("other", Engine::Disk).unwrap();
    // Before the reader ends: a merge may free the versions right afterwards.
    let written = shop.db.state().disk.file_bytes;
    drop(old);
    let mut round = 0_u32;
    shop.until(
        |size| size.bytes + 20 * fresh.bytes < written,
        || {
            round += 1;
            let mut transaction = shop.db.begin(Isolation::Snapshot).unwrap();
            for key in 0..100_u32 {
                transaction.put(&other, &key.to_be_bytes(), &[round as u8; VALUE_BYTES]).unwrap();
            }
            drop(transaction.commit().unwrap());
        },
    );
}

#[test]
fn files_shrink_after_an_opening_if_an_old_reader_left_them_large() {
    let directory = tempfile::tempdir().unwrap();
    let (shop, fresh) = shop(directory.path());
    let old = shop.write_under_a_reader(fresh);
    drop(shop);
    drop(old);
    let shop = Shop::open(directory.path());
    shop.until(|size| size.is_within(2, fresh), pause);
    let mut transaction = shop.db.begin(Isolation::Snapshot).unwrap();
    for key in 0..KEYS {
        let value = transaction.get(&shop.rows, &key.to_be_bytes()).unwrap().unwrap();
        assert_eq!(value, [ROUNDS as u8; VALUE_BYTES]);
    }
}

#[test]
fn files_shrink_once_most_rows_were_deleted() {
    let directory = tempfile::tempdir().unwrap();
    let (shop, fresh) = shop(directory.path());
    let mut transaction = shop.db.begin(Isolation::Snapshot).unwrap();
    for key in 0..KEYS - KEYS / 10 {
        transaction.delete(&shop.rows, &key.to_be_bytes()).unwrap();
    }
    transaction.commit().unwrap().wait().unwrap();
    shop.db.checkpoint().unwrap();
    shop.until(|size| size.bytes <= fresh.bytes / 5 && size.blocks <= fresh.blocks / 5, pause);
}
