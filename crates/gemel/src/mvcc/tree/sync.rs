//! Source of the tree's locks, atomics and reclamation: the fast ones here, a model checker's in `model/sync.rs`.

use crate::mvcc::counters::ALLOCATION_BYTES;
use crossbeam_epoch as epoch;
use std::sync::{Arc, PoisonError};

pub(super) use crate::mvcc::Counters;
pub(super) use std::sync::MutexGuard;
pub(super) use std::sync::atomic::{AtomicPtr, AtomicU64};

/// Maximum number of children of an inner node: as many as fit 2,560 bytes, a size that allocators have.
pub(super) const FANOUT: usize = 63;
/// Entries of a leaf: as many as an [`Order`](super::leaf::Order) can name.
pub(super) const SLOTS: usize = 15;

/// The standard library's mutex, because Miri can run it. Its content is consistent at every step, so a panic poisons
/// nothing.
#[derive(Debug)]
pub(super) struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(super) fn new(inner: T) -> Self {
        Self(std::sync::Mutex::new(inner))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A guard, which keeps the nodes reached under it in memory.
pub(super) struct Guard(epoch::Guard);

impl Guard {
    #[inline]
    pub(super) fn pin() -> Self {
        Self(epoch::pin())
    }

    /// Passes the nodes that this thread has retired to all threads, and frees some that nobody can reach any more. A
    /// thread that does nothing more would keep its nodes. Call it without locks: freeing takes a while.
    pub(super) fn flush(&self) {
        self.0.flush();
    }

    /// Returns the node behind a pointer.
    ///
    /// # Safety
    /// `node` was made by [`Box::into_raw`], and was read under this guard from a place where the tree keeps its nodes.
    #[inline]
    pub(super) unsafe fn node<T>(&self, node: *mut T) -> &T {
        // SAFETY: nodes are retired after they leave the tree, so a node found in the tree under the guard is not freed
        // before the guard ends. Nobody has a node mutably: the fields that change are atomic or under a mutex.
        unsafe { &*node }
    }

    /// Frees a node once nobody can have it any more. Until then its bytes count beside those of the nodes that took
    /// its place.
    ///
    /// # Safety
    /// `node` was made by [`Box::into_raw`], has left the tree, and is retired only once.
    pub(super) unsafe fn retire<T>(&self, node: *mut T, counters: &Arc<Counters>) {
        let bytes = (size_of::<T>() + ALLOCATION_BYTES) as u64;
        let counters = Arc::clone(counters);
        counters.add(bytes);
        counters.note_retired(bytes);
        // SAFETY: a thread that looks for nodes from now on doesn't find this one. Threads that found it before are
        // pinned, and the epoch waits for them. A node may be dropped on any thread, because its keys and values may.
        unsafe {
            self.0.defer_unchecked(move || {
                drop(Box::from_raw(node));
                counters.note_freed(bytes);
            });
        }
    }
}
