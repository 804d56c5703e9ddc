//! Versions that are in their chains before their commit draws a timestamp.
//!
//! Commits are published in the order of their timestamps, so whatever a commit does between drawing and publishing, it
//! delays all later commits. A commit of many rows would install them in this time. Instead:
//!
//! 1. It installs its versions before it draws, with a [`Mark`] that they share in the place of a timestamp. No snapshot
//!    contains a mark that is not set, so readers pass over the versions.
//! 2. It draws its timestamp, sets the mark, and publishes. From then on readers see all its versions at once.
//! 3. It writes the timestamp into the versions, unlocks the records, and frees the mark once no reader can have it.
//!
//! The records are locked all the time, so nobody else changes the newest version meanwhile.

use super::garbage::Batch;
use super::sync::{AtomicPtr, AtomicU64, Pin, alloc, dealloc};
use crate::clock::Timestamp;
use std::alloc::{Layout, handle_alloc_error};
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering;

/// The value of a mark that is not set: later than every snapshot.
const NOT_SET: u64 = u64::MAX;

/// The timestamp that the versions of a commit share.
pub(super) struct Mark(AtomicU64);

/// The timestamp of a version: a number, or the address of a mark. A number is stored as twice itself and one, and an
/// address is even.
pub(super) struct Stamp(AtomicPtr<Mark>);

const _: () = assert!(align_of::<Mark>() > 1 && usize::BITS == 64);

fn number(at: Timestamp) -> *mut Mark {
    debug_assert!(at.0 >> 63 == 0);
    ptr::without_provenance_mut((at.0 << 1 | 1) as usize)
}

impl Stamp {
    pub(super) fn new(at: Timestamp) -> Self {
        Self(AtomicPtr::new(number(at)))
    }

    pub(super) fn of(mark: NonNull<Mark>) -> Self {
        Self(AtomicPtr::new(mark.as_ptr()))
    }

    /// Returns the timestamp, later than every snapshot if the mark is not set. The stamp must have been found under this
    /// pin.
    #[inline]
    pub(super) fn get(&self, pin: &Pin) -> Timestamp {
        let stamp = self.0.load(Ordering::Acquire);
        if stamp.addr() & 1 == 1 {
            return Timestamp(stamp.addr() as u64 >> 1);
        }
        // SAFETY: the stamp is no number, so it is a mark, whose address is never null. It was found under this pin, and a
        // mark is freed by the epoch, after no version has it any more.
        let mark = unsafe { pin.see(NonNull::new_unchecked(stamp)) };
        Timestamp(mark.0.load(Ordering::Acquire))
    }

    /// Replaces a mark by its timestamp.
    pub(super) fn settle(&self, at: Timestamp) {
        self.0.store(number(at), Ordering::Release);
    }
}

/// The versions of a commit that are installed and that no snapshot contains. The engine that made this must get it back:
/// a mark that versions have must not be freed, so dropping this frees nothing.
pub(crate) struct Hidden {
    pub(super) mark: NonNull<Mark>,
    /// What the commit will leave to the collector. It has no timestamp yet.
    pub(super) garbage: Batch,
}

// SAFETY: a mark is atomic, and freed only through `Hidden::free`.
unsafe impl Send for Hidden {}
// SAFETY: same as above.
unsafe impl Sync for Hidden {}

impl Hidden {
    pub(super) fn new() -> Self {
        let layout = Layout::new::<Mark>();
        // SAFETY: a mark is not empty.
        let memory = unsafe { alloc(layout) }.cast::<Mark>();
        let Some(mark) = NonNull::new(memory) else { handle_alloc_error(layout) };
        // SAFETY: nobody else has the memory, which is large enough and aligned for a mark.
        unsafe { mark.as_ptr().write(Mark(AtomicU64::new(NOT_SET))) };
        Self { mark, garbage: Batch::new(Timestamp::ZERO) }
    }

    /// Gives all versions their timestamp, at once. Call it before the timestamp is published.
    pub(crate) fn reveal(&self, at: Timestamp) {
        // SAFETY: the mark lives until `free`, which takes this.
        unsafe { self.mark.as_ref() }.0.store(at.0, Ordering::Release);
    }

    /// Frees the mark once nobody can have found it.
    ///
    /// # Safety
    /// No version that can be found has the mark.
    pub(super) unsafe fn free(self) -> Batch {
        let mark = self.mark;
        // SAFETY: the caller guarantees that nobody finds the mark from here on, and the epoch waits for those who have
        // found it. It is a plain number.
        unsafe { Pin::new().defer(move || dealloc(mark.as_ptr().cast(), Layout::new::<Mark>())) };
        self.garbage
    }
}
