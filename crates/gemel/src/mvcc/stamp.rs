//! The timestamps of versions.

use super::sync::{AtomicPtr, AtomicU64, Pin, alloc, dealloc};
use crate::order::clock::Timestamp;
use std::alloc::{Layout, handle_alloc_error};
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering;

/// The value of a mark that is not set: later than every snapshot.
const NOT_SET: u64 = u64::MAX;

/// The timestamp of a commit, which its versions share.
struct Shared(AtomicU64);

/// The versions of a large commit have it in the place of a timestamp, until the commit has one: see
/// [`Hidden`](crate::mvcc::hidden::Hidden).
#[derive(Clone, Copy)]
pub(crate) struct Mark(NonNull<Shared>);

// SAFETY: the timestamp is atomic, and freed only through `Mark::free`.
unsafe impl Send for Mark {}
// SAFETY: same as above.
unsafe impl Sync for Mark {}

/// The timestamp of a version: a number, or the address of a shared one. A number is stored as twice itself and one, and
/// an address is even.
pub(crate) struct Stamp(AtomicPtr<Shared>);

const _: () = assert!(align_of::<Shared>() > 1 && usize::BITS == 64);

impl Mark {
    /// Makes a mark that is not set.
    pub(crate) fn new() -> Self {
        let layout = Layout::new::<Shared>();
        // SAFETY: the layout is not empty.
        let memory = unsafe { alloc(layout) }.cast::<Shared>();
        let Some(shared) = NonNull::new(memory) else { handle_alloc_error(layout) };
        // SAFETY: nobody else has the memory, which is large enough and aligned for it.
        unsafe { shared.as_ptr().write(Shared(AtomicU64::new(NOT_SET))) };
        Self(shared)
    }

    /// Gives all versions with this mark their timestamp, at once.
    pub(crate) fn set(self, at: Timestamp) {
        // SAFETY: `new` made it, and it lives until `free`, after which the mark is not used.
        unsafe { self.0.as_ref() }.0.store(at.0, Ordering::Release);
    }

    /// Frees the mark once nobody can have found it.
    ///
    /// # Safety
    /// No version that can be found has the mark, and no copy of it is used any more.
    pub(crate) unsafe fn free(self) {
        let shared = self;
        // SAFETY: the caller guarantees that nobody finds the mark from here on, and the epoch waits for those who have
        // found it. It is a plain number.
        unsafe { Pin::new().defer(move || shared.deallocate()) };
    }

    /// # Safety
    /// Nobody has the mark any more.
    unsafe fn deallocate(self) {
        // SAFETY: `new` allocated it with this layout.
        unsafe { dealloc(self.0.as_ptr().cast(), Layout::new::<Shared>()) };
    }
}

fn number(at: Timestamp) -> *mut Shared {
    debug_assert!(at.0 >> 63 == 0);
    ptr::without_provenance_mut((at.0 << 1 | 1) as usize)
}

impl Stamp {
    pub(crate) fn new(at: Timestamp) -> Self {
        Self(AtomicPtr::new(number(at)))
    }

    pub(crate) fn of(mark: Mark) -> Self {
        Self(AtomicPtr::new(mark.0.as_ptr()))
    }

    /// Returns the timestamp, later than every snapshot if the mark is not set. The stamp must have been found under this
    /// pin.
    #[inline]
    pub(crate) fn get(&self, pin: &Pin) -> Timestamp {
        let stamp = self.0.load(Ordering::Acquire);
        if stamp.addr() & 1 == 1 {
            return Timestamp(stamp.addr() as u64 >> 1);
        }
        // SAFETY: the stamp is no number, so it is a mark, whose address is never null. It was found under this pin, and a
        // mark is freed by the epoch, after no version has it any more.
        let shared = unsafe { pin.see(NonNull::new_unchecked(stamp)) };
        Timestamp(shared.0.load(Ordering::Acquire))
    }

    /// Replaces a mark by its timestamp.
    pub(crate) fn settle(&self, at: Timestamp) {
        self.0.store(number(at), Ordering::Release);
    }
}
