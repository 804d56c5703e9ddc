//! What the disk engine needs of the structure that holds a keyspace: one ordered map with versions, whose newest
//! writes are in memory and the rest in files. An LSM tree is one; a B+-tree with a buffer pool could be another.

use crate::clock::Timestamp;
use crate::engine::{Direction, Each, Found};
use crate::error::Result;
use crate::key::KeyRange;

/// What a step of [`Store::compact`] came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compaction {
    /// The files are in good order.
    Idle,
    /// Some files were merged; there may be more to do.
    Done,
    /// There may be something to do, and it is better done once the watermark has passed what is in the files.
    Later,
}

/// Blocks that reads have looked into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockReads {
    /// Found in the cache.
    pub(crate) cached: u64,
    /// Read from files.
    pub(crate) from_files: u64,
}

/// One keyspace on disk. Versions are told apart by the timestamps that the caller gives.
///
/// Callers see to it that nobody inserts while [`Store::rotate`] runs, and that no two threads flush at a time, nor
/// compact.
pub(crate) trait Store: Send + Sync {
    /// Adds the version of `key` as of `at`, a deletion if there is no value. Returns the bytes that it takes in memory.
    fn insert(&self, key: &[u8], value: Option<&[u8]>, at: Timestamp) -> u64;

    /// The newest value at or before `at`; false when there is none.
    fn get(&self, key: &[u8], at: Timestamp, found: &mut Found<'_>) -> Result<bool>;

    /// All keys of the range with a value at `at`, in order, until `each` breaks.
    fn scan(&self, range: &KeyRange, direction: Direction, at: Timestamp, each: &mut Each<'_>) -> Result<()>;

    /// Seals what is in memory, and starts anew.
    fn rotate(&self);

    /// Writes what is sealed to files, without the versions that no snapshot at or after `watermark` reads.
    fn flush(&self, watermark: Timestamp) -> Result<()>;

    /// One step towards files that are fast to read, dropping versions that no snapshot at or after `watermark` reads.
    fn compact(&self, watermark: Timestamp) -> Result<Compaction>;

    /// Most files that a read of one key may have to look into before it comes to files in good order.
    fn unsorted_runs(&self) -> usize;

    /// The newest timestamp in the files. Everything at or before it that was ever flushed is in them.
    fn persisted(&self) -> Timestamp;

    /// Bytes of the files in use.
    fn disk_bytes(&self) -> u64;

    /// Blocks read since the store was opened.
    fn block_reads(&self) -> BlockReads;
}
