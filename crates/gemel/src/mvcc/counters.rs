//! Counters of memory that is held, and of what waits to be freed.

use crossbeam_utils::CachePadded;
use std::sync::atomic::{AtomicU64, Ordering};

/// Estimated overhead of the allocator per allocation, in bytes.
pub(crate) const ALLOCATION_BYTES: usize = 8;

/// The counters of [`MemoryState`](crate::MemoryState), in one cache line: a commit that inserts changes two of them. The
/// epoch may free memory when the engine is gone, so whoever retires memory has a reference of its own. Nobody asks for
/// those of the disk engine.
#[derive(Debug, Default)]
pub(crate) struct Counters(pub(crate) CachePadded<Counts>);

#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) bytes: AtomicU64,
    pub(crate) unfreed: AtomicU64,
    pub(crate) records: AtomicU64,
    pub(crate) versions_collected: AtomicU64,
}

impl Counters {
    /// Adds held bytes. Returns the sum.
    pub(crate) fn add(&self, bytes: u64) -> u64 {
        self.0.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes
    }

    /// Subtracts bytes that are free, or that a commit does not need after all.
    pub(crate) fn subtract(&self, bytes: u64) {
        self.0.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Notes that held bytes were passed to the epoch.
    pub(crate) fn note_retired(&self, bytes: u64) {
        self.0.unfreed.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Notes that the epoch has freed bytes.
    pub(crate) fn note_freed(&self, bytes: u64) {
        self.0.unfreed.fetch_sub(bytes, Ordering::Relaxed);
        self.subtract(bytes);
    }
}
