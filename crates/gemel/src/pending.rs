//! Bytes that running transactions hold until they end: the sizes of their parts, and the limit that they share.
//!
//! `transaction/room.rs` counts them.

use crate::ids::KeyspaceId;
use crate::key::{Key, MAX_KEY_BYTES};
use crate::mvcc::counters::ALLOCATION_BYTES;
use crate::order::clock::Timestamp;
use crossbeam_utils::CachePadded;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that a transaction may hold without taking them from the limit. Those of TPC-C need no more.
const FREE_BYTES: u64 = 64 << 10;
/// Bytes that a transaction takes from the limit at once.
pub(crate) const STEP_BYTES: u64 = 64 << 10;

/// Bytes of the two allocations of a long key, beyond those of the key.
pub(crate) const LONG_KEY_BYTES: u64 = 2 * (ALLOCATION_BYTES as u64 + 15) + size_of::<Box<[u8]>>() as u64;
/// Most bytes that a key takes on the heap.
pub(crate) const LONGEST_KEY_BYTES: u64 = MAX_KEY_BYTES as u64 + LONG_KEY_BYTES;

/// Returns the bytes of an entry of an ordered map, whose nodes may be little more than half full.
pub(crate) const fn map_entry_bytes(size: usize) -> u64 {
    (size * 9 / 4 + 16) as u64
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

    /// Takes at least `least` bytes, and `wish` if so many are left. Returns the number, or none if fewer are left.
    pub(crate) fn take(&self, least: u64, wish: u64) -> Option<u64> {
        let mut taken = self.taken();
        loop {
            let bytes = self.limit.saturating_sub(taken).min(wish);
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

/// Returns the bytes of the note that a key was read.
pub(crate) fn view_bytes(key: &Key) -> u64 {
    map_entry_bytes(size_of::<((KeyspaceId, Key), Timestamp)>()) + key_bytes(key)
}
