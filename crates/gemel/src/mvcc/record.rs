//! Records: a lock and the versions of one key.

use super::sync::{AtomicU32, Pin, alloc, dealloc};
use super::version::Chain;
use crate::error::Conflict;
use crate::mvcc::counters::ALLOCATION_BYTES;
use crate::order::clock::Timestamp;
use std::alloc::{Layout, handle_alloc_error};
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, fence};

/// The owner of a record that nobody has locked.
const FREE: u32 = 0;
/// The owner of a dead record: it is out of the index or about to be, for good. A thread that finds it looks up the key
/// again.
const DEAD: u32 = u32::MAX;
/// The owner of locks during recovery. No transaction has this place.
pub(crate) const RECOVERY: u32 = u32::MAX - 1;
/// Number of handles from which on nobody counts them exactly. Such a record is never freed.
pub(crate) const MOST_HANDLES: u32 = 1 << 31;
/// The count of a record with so many handles. It is far from both ends, whoever counts at the same time.
pub(crate) const UNCOUNTED: u32 = MOST_HANDLES + MOST_HANDLES / 2;

/// Bytes of a record, with the allocator's overhead.
pub(crate) const RECORD_BYTES: u64 = (size_of::<Record>() + ALLOCATION_BYTES).next_multiple_of(16) as u64;

/// The result of an attempt to lock a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// The caller has the lock now.
    Locked,
    /// Another owner has the lock.
    Busy,
    /// The record is dead.
    Dead,
}

/// The lock and the versions of a key.
///
/// A record in the index is locked, has a version, or is dead. Records are inserted locked, and an owner that would
/// unlock one without a version kills and removes it instead.
pub(crate) struct Record {
    /// Number of handles, up to [`MOST_HANDLES`].
    handles: AtomicU32,
    /// Place of the transaction that has the lock, or [`FREE`], [`DEAD`] or [`RECOVERY`].
    owner: AtomicU32,
    pub(crate) versions: Chain,
}

// Most rows have a record of their own. The smallest size that allocators have for two words is 16 bytes.
const _: () = assert!(cfg!(test) || size_of::<Record>() == 16);

impl Record {
    /// Locks the record for `owner`, without waiting.
    pub(crate) fn try_lock(&self, owner: u32) -> Attempt {
        debug_assert!(owner != FREE && owner != DEAD);
        match self.owner.compare_exchange(FREE, owner, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Attempt::Locked,
            Err(DEAD) => Attempt::Dead,
            Err(_) => Attempt::Busy,
        }
    }

    /// Unlocks the record.
    pub(crate) fn unlock(&self) {
        self.owner.store(FREE, Ordering::Release);
    }

    /// Kills a record that the caller has locked. The caller then removes it from the index.
    pub(crate) fn kill(&self) {
        self.owner.store(DEAD, Ordering::Release);
    }

    /// Kills a record that nobody has locked. While it is in the index, [`Record::unlock`] can revive it: a thread that
    /// wants to lock it in between retries.
    pub(crate) fn try_kill(&self) -> Attempt {
        match self.owner.compare_exchange(FREE, DEAD, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Attempt::Locked,
            Err(DEAD) => Attempt::Dead,
            Err(_) => Attempt::Busy,
        }
    }

    /// Returns true if a transaction other than `owner` has the lock.
    pub(crate) fn is_locked_by_another(&self, owner: u32) -> bool {
        let now = self.owner.load(Ordering::Acquire);
        now != FREE && now != DEAD && now != owner
    }

    /// Returns true if no other owner has locked the record, and nobody has committed to it after `since`.
    pub(crate) fn is_unchanged(&self, owner: u32, since: Timestamp, pin: &Pin) -> bool {
        self.conflict(owner, since, pin).is_none()
    }

    /// Returns the conflict of a read at `since` with another owner's lock, or with a commit after it.
    pub(crate) fn conflict(&self, owner: u32, since: Timestamp, pin: &Pin) -> Option<Conflict> {
        // The lock is read first: an owner installs before it unlocks, so the version of an unlocked record is seen.
        if self.is_locked_by_another(owner) {
            return Some(Conflict::Locked);
        }
        let newer = self.versions.newest(pin).is_some_and(|newest| newest.timestamp > since);
        newer.then_some(Conflict::Write)
    }
}

/// A handle of a record. It stays valid however long it is kept. The last handle frees the record.
///
/// An [`Arc`](std::sync::Arc) would take twice the memory, for a larger count and one of weak handles.
pub(crate) struct RecordRef(NonNull<Record>);

// SAFETY: a record has no parts that a thread alone may use, and is freed by whoever drops the last handle.
unsafe impl Send for RecordRef {}
// SAFETY: same as above; a shared handle gives a shared record.
unsafe impl Sync for RecordRef {}

impl RecordRef {
    /// Makes a record without a version, locked by `owner`.
    pub(crate) fn locked(owner: u32) -> Self {
        let layout = Layout::new::<Record>();
        // SAFETY: the layout is not empty.
        let memory = unsafe { alloc(layout) }.cast::<Record>();
        let Some(record) = NonNull::new(memory) else { handle_alloc_error(layout) };
        let (handles, owner) = (AtomicU32::new(1), AtomicU32::new(owner));
        // SAFETY: nobody else has the memory, which is large enough and aligned for it.
        unsafe { record.write(Record { handles, owner, versions: Chain::default() }) };
        Self(record)
    }

    /// Returns true if both handles are of the same record.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    /// Returns the count of handles.
    #[cfg(test)]
    pub(crate) fn handles(&self) -> &AtomicU32 {
        &self.handles
    }
}

impl std::ops::Deref for RecordRef {
    type Target = Record;

    #[inline]
    fn deref(&self) -> &Record {
        // SAFETY: the record lives as long as it has a handle, and nobody has it mutably.
        unsafe { self.0.as_ref() }
    }
}

impl Clone for RecordRef {
    #[inline]
    fn clone(&self) -> Self {
        // Relaxed: whoever has a handle sees the record already. Another thread gets the new handle by other means.
        if self.handles.fetch_add(1, Ordering::Relaxed) >= MOST_HANDLES {
            self.handles.store(UNCOUNTED, Ordering::Relaxed);
        }
        Self(self.0)
    }
}

impl Drop for RecordRef {
    #[inline]
    fn drop(&mut self) {
        // Release: what was done through this handle comes before the record is freed, by whoever does that.
        match self.handles.fetch_sub(1, Ordering::Release) {
            1 => {
                fence(Ordering::Acquire);
                // SAFETY: this was the last handle, and a new one is only made of another one. `locked` allocated the
                // record with this layout.
                unsafe {
                    self.0.drop_in_place();
                    dealloc(self.0.as_ptr().cast(), Layout::new::<Record>());
                }
            }
            // A few handles more or less than the limit are still exact. Once it was exceeded, nobody counts any more.
            handles if handles > MOST_HANDLES => self.handles.store(UNCOUNTED, Ordering::Relaxed),
            _ => {}
        }
    }
}

impl fmt::Debug for RecordRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.owner.load(Ordering::Relaxed) {
            FREE => f.write_str("record"),
            DEAD => f.write_str("dead record"),
            owner => write!(f, "record locked by {owner}"),
        }
    }
}
