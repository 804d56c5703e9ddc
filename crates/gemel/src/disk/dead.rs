//! Dead versions in the files of a tree: how many there are, and which merge frees them.
//!
//! The tree's crate merges files because of their number and size. It does not see that most of their rows are versions
//! that nobody reads any more: those that an old snapshot held back when the files were written, and rows that were
//! deleted or written again since. Such files would stay until enough others come, and scans would read them.
//!
//! Each file says how many versions, different keys and deletions it has, so the count needs no read of the rows and holds
//! over openings. A merge pays if at least half of what it reads may go. So the work is at most proportional to the dead
//! versions that were written. Nobody knows how many keys two files have in common. That matters little: the crate lets
//! three unsorted files stay, and merges more of them by itself.

use lsm_tree::table::{Block, DataBlock};
use lsm_tree::{AbstractTree, CompressionType, SeqNo, Table, TableId, Tree};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fs::File;

/// Bytes of files below which a merge for the sake of dead versions does not pay. A scan of them takes a millisecond.
/// Tests have small files.
const SMALL: u64 = if cfg!(test) { 0 } else { 64 << 10 };
/// Name of the number of different keys in a file's metadata.
const KEY_COUNT: &[u8] = b"key_count";

/// A merge that frees dead versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tidying {
    /// Merges the unsorted files with those below that they overlap.
    Unsorted,
    /// Merges all files.
    All,
}

/// The number of different keys in each file of a tree, once it was asked for.
#[derive(Default)]
pub(super) struct Dead {
    keys: Mutex<HashMap<TableId, u64>>,
}

/// Counts of some files.
#[derive(Clone, Copy, Default)]
struct Counts {
    bytes: u64,
    versions: u64,
    /// Different keys in each file. A key in several files counts several times.
    keys: u64,
    deletions: u64,
}

impl Counts {
    fn add(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.versions += other.versions;
        self.keys += other.keys;
        self.deletions += other.deletions;
    }
}

impl Dead {
    /// Returns the merge that frees the most, if one pays. Only for trees without a version above the watermark.
    pub(super) fn worth_merging(&self, tree: &Tree) -> Option<Tidying> {
        let version = tree.current_version();
        let mut keys = self.keys.lock();
        let mut count = |table: &Table| {
            let distinct = *keys.entry(table.id()).or_insert_with(|| distinct_keys(table));
            let metadata = &table.metadata;
            Counts {
                bytes: metadata.file_size,
                versions: metadata.item_count,
                keys: distinct,
                deletions: metadata.tombstone_count,
            }
        };
        let mut sum = |tables: &[Table]| {
            let mut sum = Counts::default();
            tables.iter().for_each(|table| sum.add(count(table)));
            sum
        };
        let (mut all, mut unsorted, mut below) = (Counts::default(), Counts::default(), Counts::default());
        version.l0().iter().for_each(|run| unsorted.add(sum(run)));
        let range = (!version.l0().is_empty()).then(|| version.l0().aggregate_key_range());
        for run in version.iter_levels().skip(1).flat_map(|level| level.iter()) {
            all.add(sum(run));
            if let Some(range) = &range {
                below.add(sum(run.get_overlapping(range)));
            }
        }
        all.add(unsorted);
        let tables: Vec<TableId> = version.iter_tables().map(Table::id).collect();
        if keys.len() > 2 * tables.len() {
            keys.retain(|id, _| tables.contains(id));
        }
        below.add(unsorted);
        // A deletion goes together with a row below.
        let dead = unsorted.versions.saturating_sub(unsorted.keys) + 2 * unsorted.deletions;
        if range.is_some() && below.bytes >= SMALL && 2 * dead >= below.versions {
            return Some(Tidying::Unsorted);
        }
        let dead = all.versions.saturating_sub(all.keys) + all.deletions;
        (all.bytes >= SMALL && 2 * dead >= all.versions).then_some(Tidying::All)
    }
}

/// Returns the number of different keys in a file. If it can't be read, no version of the file counts as dead: a merge
/// that reads the file will meet the error.
fn distinct_keys(table: &Table) -> u64 {
    let read = || -> Option<u64> {
        let file = File::open(&*table.path).ok()?;
        let block = Block::from_file(&file, table.regions.metadata, CompressionType::None).ok()?;
        let entry = DataBlock::new(block).point_read(KEY_COUNT, SeqNo::MAX)?;
        Some(u64::from_le_bytes(entry.value.get(..8)?.try_into().ok()?))
    };
    read().unwrap_or(table.metadata.item_count)
}
