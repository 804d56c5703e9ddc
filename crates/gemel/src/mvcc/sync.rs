//! Source of the locks, atomics, allocations and reclamation of records and their versions: the fast ones here, a model
//! checker's in `memory/model/sync.rs`. The index has its own, in `tree/sync.rs`.

use crossbeam_epoch as epoch;
use std::ptr::NonNull;

pub(crate) use crossbeam_utils::Backoff;
pub(crate) use parking_lot::Mutex;
pub(crate) use std::alloc::{alloc, dealloc};
pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

/// A pin of the epoch, which keeps the versions seen through it in memory.
///
/// It is a type of its own, because a guard of another collector than the one that frees would protect nothing.
pub(crate) struct Pin(epoch::Guard);

impl Pin {
    /// Pins this thread. Cheap, and even cheaper within another pin.
    pub(crate) fn new() -> Self {
        Self(epoch::pin())
    }

    /// Passes what this thread has retired to all threads, moves the epoch if no pin holds it, and frees a part of what
    /// nobody can reach any more. Otherwise a thread that has nothing more to do would keep its part forever.
    pub(crate) fn flush(&self) {
        self.0.flush();
    }

    /// Returns what is behind a pointer.
    ///
    /// # Safety
    /// The pointer was found under this pin in a place that is reachable for other threads, and what is behind it is
    /// freed only through [`Pin::defer`], after it was removed from there.
    #[inline]
    pub(crate) unsafe fn see<T>(&self, pointer: NonNull<T>) -> &T {
        // SAFETY: the caller guarantees that the epoch frees it, which waits for this pin.
        unsafe { pointer.as_ref() }
    }

    /// Runs `work` once all pins of this moment have ended, on any thread.
    ///
    /// # Safety
    /// `work` may run on another thread, and as late as at the end of the process.
    pub(crate) unsafe fn defer(&self, work: impl FnOnce() + 'static) {
        // SAFETY: the caller's guarantee is the one that the epoch asks for.
        unsafe { self.0.defer_unchecked(work) }
    }
}
