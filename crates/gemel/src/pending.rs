//! Bytes that running transactions hold until they end: the sizes of their parts, and the limit that they share.
//!
//! `transaction/room.rs` counts them.

use crate::error::Result;
use crate::ids::KeyspaceId;
use crate::key::{Key, MAX_KEY_BYTES};
use crate::mvcc::counters::ALLOCATION_BYTES;
use crate::order::clock::Timestamp;
use crossbeam_utils::CachePadded;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that a transaction may hold without taking them from the limit. Those of TPC-C need no more.
const FREE_BYTES: u64 = 64 << 10;
/// Bytes that a transaction takes from the limit at once.
const STEP_BYTES: u64 = 64 << 10;

/// Bytes of the allocation of a long key, beyond its length: the allocator's part. The length of the bytes on the heap
/// takes less than the first 16 bytes of the key, which are not there.
pub(crate) const LONG_KEY_BYTES: u64 = ALLOCATION_BYTES as u64 + 15;
/// Most bytes that a key takes on the heap.
pub(crate) const LONGEST_KEY_BYTES: u64 = MAX_KEY_BYTES as u64 + LONG_KEY_BYTES;

/// Returns the bytes of an entry of an ordered map, whose nodes may be little more than half full.
pub(crate) const fn map_entry_bytes(size: usize) -> u64 {
    (size * 9 / 4 + 16) as u64
}

/// Number of entries for which an ordered map makes room with its first one.
const NODE_ENTRIES: usize = 11;

/// Returns the bytes of an ordered map with so many entries of a size, without what they have on the heap. Two maps
/// count no less than one with the entries of both.
///
/// A transaction has many small maps only for its savepoints. For its other maps the entries alone count.
pub(crate) const fn map_bytes(entries: usize, size: usize) -> u64 {
    let node = (NODE_ENTRIES * size + 16 + ALLOCATION_BYTES).next_multiple_of(16) as u64;
    if entries == 0 { 0 } else { node + entries as u64 * map_entry_bytes(size) }
}

/// Returns the bytes that a copy of a key takes on the heap.
pub(crate) fn key_bytes(key: &Key) -> u64 {
    match key.heap_bytes() {
        0 => 0,
        heap => heap as u64 + LONG_KEY_BYTES,
    }
}

/// The bytes that all transactions together may hold.
pub(crate) struct PendingLimit {
    pub(crate) limit: u64,
    /// Bytes that running transactions have taken.
    taken: CachePadded<AtomicU64>,
}

impl PendingLimit {
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, taken: CachePadded::default() }
    }

    /// Returns the bytes that running transactions have taken.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Takes at least `least` bytes, and a whole step if so many are left. Returns the number, or none if there are
    /// fewer than `least`.
    pub(crate) fn take(&self, least: u64) -> Option<u64> {
        let mut taken = self.taken();
        loop {
            let bytes = self.limit.saturating_sub(taken).min(least.max(STEP_BYTES));
            if bytes < least {
                return None;
            }
            let (now, after) = (Ordering::Relaxed, taken + bytes);
            match self.taken.compare_exchange_weak(taken, after, now, now) {
                Ok(_) => return Some(bytes),
                Err(other) => taken = other,
            }
        }
    }

    pub(crate) fn give_back(&self, bytes: u64) {
        self.taken.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The bytes that a transaction may hold.
#[derive(Debug)]
pub(crate) struct Room {
    pub(crate) bytes: u64,
    /// The part that was taken from the limit.
    pub(crate) taken: u64,
}

impl Room {
    pub(crate) fn new() -> Self {
        Self { bytes: FREE_BYTES, taken: 0 }
    }

    /// Returns the room of a transaction of the database itself, which works in small pieces and has no limit.
    pub(crate) fn unlimited() -> Self {
        Self { bytes: u64::MAX, taken: 0 }
    }
}

/// A callback for a key and its value, which returns the deletions that follow from them.
pub type EachToDelete<'a> = dyn FnMut(&[u8], &[u8]) -> Result<Deletions> + 'a;

/// Keys that are to be deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deletions {
    /// Number of the keys.
    pub keys: usize,
    /// Bytes of the keys.
    pub bytes: usize,
}

impl Deletions {
    /// Adds the deletion of a key of this length.
    pub fn add_key(&mut self, bytes: usize) {
        self.add(Self { keys: 1, bytes });
    }

    /// Adds other deletions.
    pub(crate) fn add(&mut self, others: Self) {
        self.keys += others.keys;
        self.bytes += others.bytes;
    }
}

/// Room that a call takes while it reads, for what it writes in the end. Dropping it gives the room back.
pub(crate) struct Ahead<'c> {
    limit: &'c PendingLimit,
    /// Bytes that the transaction had to spare.
    spare: u64,
    /// Bytes that were taken from the limit.
    taken: u64,
}

impl<'c> Ahead<'c> {
    pub(crate) fn new(limit: &'c PendingLimit, spare: u64) -> Self {
        Self { limit, spare, taken: 0 }
    }

    /// Makes room for so many bytes in total. Returns false if there is none.
    #[inline]
    pub(crate) fn reach(&mut self, bytes: u64) -> bool {
        let missing = bytes.saturating_sub(self.spare).saturating_sub(self.taken);
        missing == 0 || self.take(missing)
    }

    #[cold]
    fn take(&mut self, missing: u64) -> bool {
        let got = self.limit.take(missing);
        self.taken += got.unwrap_or(0);
        got.is_some()
    }

    /// Returns the bytes that were taken from the limit. They are the caller's now.
    pub(crate) fn keep(mut self) -> u64 {
        std::mem::take(&mut self.taken)
    }
}

impl Drop for Ahead<'_> {
    fn drop(&mut self) {
        if self.taken > 0 {
            self.limit.give_back(self.taken);
        }
    }
}

/// Returns the bytes of the note that a key was read.
pub(crate) fn view_bytes(key: &Key) -> u64 {
    map_entry_bytes(size_of::<((KeyspaceId, Key), Timestamp)>()) + key_bytes(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A long key takes an allocation for its bytes after the first 16, and their number.
    #[test]
    fn a_long_key_counts_with_its_allocation_and_a_short_one_with_none() {
        assert_eq!(key_bytes(&Key::new(&[7; 16])), 0);
        let rounded = ALLOCATION_BYTES as u64 + 15;
        for length in [17, 40, MAX_KEY_BYTES] {
            let most = (length - 16 + size_of::<u32>()) as u64 + rounded;
            let bytes = key_bytes(&Key::new(&vec![7; length]));
            assert_eq!(bytes, most, "{length}");
            assert!(bytes <= LONGEST_KEY_BYTES);
        }
    }
}
