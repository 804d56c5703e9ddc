//! Dead versions in the files of a tree: how many there are, and which merge frees them.
//!
//! The tree's crate merges files because of their number and size. It does not see that most of their rows are versions
//! that nobody reads any more: those that an old snapshot held back when the files were written, and rows that were
//! deleted or written again since. Such files would stay until enough others come, and scans would read them.
//!
//! Each file says how many versions, different keys and deletions it has, so the count needs no read of the rows and
//! holds over openings. A merge pays if at least half of what it reads may go. So the work is at most proportional to
//! the dead versions that were written. Nobody knows how many keys two files have in common. That matters little: the
//! crate lets three unsorted files stay, and merges more of them by itself.
//!
//! A merge has a maximum of bytes. The dead versions of a larger table go with the usual merges, as rows are written.

use lsm_tree::table::{Block, DataBlock};
use lsm_tree::{AbstractTree, CompressionType, SeqNo, Table, TableId, Tree};
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::fs::File;

/// Least bytes of files that are merged for the sake of dead versions. A scan of smaller files takes at most a
/// millisecond, dead versions included. In tests, which have small files, it is zero.
const SMALL: u64 = if cfg!(test) { 0 } else { 64 << 10 };
/// Number of the last level, in which deletions need not stay.
const LAST_LEVEL: u8 = 6;
/// Name of the number of different keys in a file's metadata.
const KEY_COUNT: &[u8] = b"key_count";

/// A merge that frees dead versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tidying {
    /// Merges the unsorted files with all those of the highest level below that has some.
    Unsorted { into: u8 },
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
    /// Returns the counts of a file. `known` has the numbers of keys that were read before.
    fn of(table: &Table, known: &mut HashMap<TableId, u64>) -> Self {
        let metadata = &table.metadata;
        let keys = known.get(&table.id()).copied().or_else(|| {
            let read = distinct_keys(table)?;
            known.insert(table.id(), read);
            Some(read)
        });
        Self {
            bytes: metadata.file_size,
            versions: metadata.item_count,
            // If the file can't be read, none of its versions counts as dead: a merge that reads it meets the error.
            keys: keys.unwrap_or(metadata.item_count),
            deletions: metadata.tombstone_count,
        }
    }

    fn add(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.versions += other.versions;
        self.keys += other.keys;
        self.deletions += other.deletions;
    }
}

impl Dead {
    /// Returns the merge that pays, if there is one, and the bytes that it reads: at most `most`. The count is right
    /// only if no version is above the watermark.
    pub(super) fn worth_merging(&self, tree: &Tree, most: u64) -> Option<(Tidying, u64)> {
        let version = tree.current_version();
        let mut keys = self.keys.lock();
        let mut sum = |tables: &[Table]| {
            let mut sum = Counts::default();
            tables.iter().for_each(|table| sum.add(Counts::of(table, &mut keys)));
            sum
        };
        let (mut all, mut unsorted) = (Counts::default(), Counts::default());
        // The files above the last level. A deletion there goes together with a row.
        let mut above = Counts::default();
        // The first level below the unsorted files that has some; the last level if none has.
        let (mut into, mut below) = (LAST_LEVEL, Counts::default());
        version.l0().iter().for_each(|run| unsorted.add(sum(run)));
        for (number, level) in (1..=LAST_LEVEL).zip(version.iter_levels().skip(1)) {
            let mut files = Counts::default();
            level.iter().for_each(|run| files.add(sum(run)));
            if below.bytes == 0 && files.bytes > 0 {
                (into, below) = (number, files);
            }
            if number < LAST_LEVEL {
                above.add(files);
            }
            all.add(files);
        }
        above.add(unsorted);
        all.add(unsorted);
        below.add(unsorted);
        if keys.len() > 2 * version.table_count() {
            let tables: HashSet<TableId> = version.iter_tables().map(Table::id).collect();
            keys.retain(|id, _| tables.contains(id));
        }
        // A deletion goes together with a row below. In a level that is not the last one, the deletion itself stays.
        let rows_of_deletion = if into == LAST_LEVEL { 2 } else { 1 };
        let dead = unsorted.versions.saturating_sub(unsorted.keys) + rows_of_deletion * unsorted.deletions;
        let pays =
            |files: &Counts, dead: u64| (SMALL..=most).contains(&files.bytes) && 2 * dead >= files.versions;
        if !version.l0().is_empty() && pays(&below, dead) {
            return Some((Tidying::Unsorted { into }, below.bytes));
        }
        let dead = all.versions.saturating_sub(all.keys) + all.deletions + above.deletions;
        pays(&all, dead).then_some((Tidying::All, all.bytes))
    }

    /// Returns an estimate of the rows in a tree's files: the different keys of each file, without the deletions.
    pub(super) fn rows(&self, tree: &Tree) -> u64 {
        let mut keys = self.keys.lock();
        let mut sum = Counts::default();
        for table in tree.current_version().iter_tables() {
            sum.add(Counts::of(table, &mut keys));
        }
        sum.keys.saturating_sub(sum.deletions)
    }
}

/// Reads the number of different keys in a file. Returns none if it can't be read.
fn distinct_keys(table: &Table) -> Option<u64> {
    let file = File::open(&*table.path).ok()?;
    let block = Block::from_file(&file, table.regions.metadata, CompressionType::None).ok()?;
    let entry = DataBlock::new(block).point_read(KEY_COUNT, SeqNo::MAX)?;
    Some(u64::from_le_bytes(entry.value.get(..8)?.try_into().ok()?))
}
