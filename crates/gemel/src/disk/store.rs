//! The interface of the structure that holds a keyspace on disk: an ordered map with versions, whose newest writes are
//! in memory and the rest in files. An LSM tree is one; a B+-tree with a buffer pool could be another.

use crate::draw::{EachDrawn, Random};
use crate::engine::{Each, Found};
use crate::error::Result;
use crate::ids::Direction;
use crate::key::{Key, KeyRange};
use crate::mvcc::Draft;
use crate::order::clock::Timestamp;

/// The result of a step of [`Store::compact`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compaction {
    /// The files are in good order.
    Idle,
    /// Some files were merged; there may be more to do.
    Done,
    /// Some files were merged for the sake of dead versions; other keyspaces may need it more.
    Tidied,
    /// There may be work, but it must wait: for the watermark to pass the versions in the files, for space, for those
    /// that interrupted it, or for the end of a pause.
    Later,
}

/// Counts of blocks that reads have used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockReads {
    /// Blocks found in the cache.
    pub(crate) cached: u64,
    /// Blocks read from files.
    pub(crate) from_files: u64,
}

/// Size of a keyspace on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StoreSize {
    /// Estimate of the rows.
    pub(crate) rows: u64,
    /// Estimate of the bytes of their keys and values.
    pub(crate) bytes: u64,
    /// Files in use.
    pub(crate) files: u64,
    /// Bytes of these files.
    pub(crate) file_bytes: u64,
    /// Bytes of those files whose blocks are compressed.
    pub(crate) compressed_bytes: u64,
}

/// A check that so many bytes are free on the disk.
pub(crate) type Room<'a> = dyn Fn(u64) -> Result<()> + 'a;

/// One keyspace on disk. The caller's timestamps distinguish the versions of a key.
///
/// Callers ensure that nobody inserts while [`Store::rotate`] runs, that only one thread at a time rotates, flushes or
/// clears, and that only one compacts.
pub(crate) trait Store: Send + Sync {
    /// Adds the version of `key` at `at`; none deletes the key. Returns the bytes that the version takes in memory.
    /// `at` must be newer than all versions of the key, and nobody else may add one meanwhile.
    fn insert(&self, key: &Key, value: Option<Draft>, at: Timestamp) -> u64;

    /// Same as [`Store::insert`], for a version of the log that may be there already.
    fn restore(&self, key: &Key, value: Option<Draft>, at: Timestamp) -> u64;

    /// Passes the newest value at or before `at` to `found`. Returns false if there is none.
    fn get(&self, key: &Key, at: Timestamp, found: &mut Found<'_>) -> Result<bool>;

    /// Passes all keys of the range that have a value at `at` to `each`, in order, until it breaks.
    fn scan(&self, range: &KeyRange, direction: Direction, at: Timestamp, each: &mut Each<'_>) -> Result<()>;

    /// Draws keys at random, and passes those that have a value at `at` to `each`: see
    /// [`Engine::draw`](crate::engine::Engine::draw).
    fn draw(&self, draws: u64, at: Timestamp, random: &mut Random, each: &mut EachDrawn<'_>) -> Result<()>;

    /// Returns the bytes of the memtable that is not sealed, as [`Store::insert`] counted them.
    fn memtable_bytes(&self) -> u64;

    /// Returns the bytes of the sealed memtables, counted in the same way.
    fn sealed_bytes(&self) -> u64;

    /// Drops all content. Nobody may insert any more; readers may miss rows.
    fn clear(&self) -> Result<()>;

    /// Seals the memtable and begins a new one.
    fn rotate(&self);

    /// Writes the sealed memtables to files, without the versions that no snapshot at or after `watermark` reads. After
    /// [`Error::DiskFull`](crate::Error::DiskFull) it can be called again.
    fn flush(&self, watermark: Timestamp) -> Result<()>;

    /// Merges some files, so reads become faster, and drops versions that no snapshot at or after `watermark` reads.
    /// Asks for room for the files that it writes. After [`Error::DiskFull`](crate::Error::DiskFull) it can be called
    /// again.
    fn compact(&self, watermark: Timestamp, room: &Room<'_>) -> Result<Compaction>;

    /// Merges all files. Returns true if that dropped the versions that no snapshot at or after `watermark` reads, and
    /// false if all versions had to stay. Asks for room for the files that it writes. After
    /// [`Error::DiskFull`](crate::Error::DiskFull) it can be called again.
    fn compact_all(&self, watermark: Timestamp, room: &Room<'_>) -> Result<bool>;

    /// Returns true if a flush or merge that failed may have left files.
    fn has_strays(&self) -> bool;

    /// Removes the files that a flush or merge that failed has left. Nobody may flush or compact meanwhile.
    fn remove_strays(&self);

    /// Returns the maximum number of unsorted files that a read of one key has to search before the sorted ones.
    fn unsorted_runs(&self) -> usize;

    /// Returns the newest timestamp in the files. They contain everything at or before it that was ever flushed.
    fn persisted(&self) -> Timestamp;

    /// Returns true if the files have deletions of keys.
    fn has_deletions(&self) -> bool;

    /// Returns a number of the durable files: each flush and each compaction increases it, also over openings.
    fn list_number(&self) -> u64;

    /// Returns the bytes of the files in use.
    fn disk_bytes(&self) -> u64;

    /// Returns the size, which it takes from the memtables and the lists of the files.
    fn size(&self) -> StoreSize;

    /// Returns the counts of blocks read since the store was opened.
    fn block_reads(&self) -> BlockReads;
}
