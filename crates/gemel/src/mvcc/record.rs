//! Records: a lock and the versions of one key.

use super::sync::{AtomicU64, Pin};
use super::version::{Chain, shared_bytes};
use crate::error::Conflict;
use crate::order::clock::Timestamp;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The owner of a record that nobody has locked.
const FREE: u64 = 0;
/// The owner of a dead record: it is out of the index or about to be, for good. A thread that finds it looks up the key
/// again.
const DEAD: u64 = u64::MAX;
/// The owner of locks during recovery. No transaction has this number.
pub(crate) const RECOVERY: u64 = u64::MAX - 1;

/// Bytes of a record behind an `Arc`.
pub(crate) const RECORD_BYTES: u64 = shared_bytes::<Record>();

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
#[derive(Default)]
pub(crate) struct Record {
    /// Number of the transaction that has the lock, or [`FREE`], [`DEAD`] or [`RECOVERY`].
    owner: AtomicU64,
    pub(crate) versions: Chain,
}

impl Record {
    /// Locks the record for `owner`, without waiting.
    pub(crate) fn try_lock(&self, owner: u64) -> Attempt {
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
    pub(crate) fn is_locked_by_another(&self, owner: u64) -> bool {
        let now = self.owner.load(Ordering::Acquire);
        now != FREE && now != DEAD && now != owner
    }

    /// Returns true if no other owner has locked the record, and nobody has committed to it after `since`.
    pub(crate) fn is_unchanged(&self, owner: u64, since: Timestamp, pin: &Pin) -> bool {
        self.conflict(owner, since, pin).is_none()
    }

    /// Returns the conflict of a read at `since` with another owner's lock, or with a commit after it.
    pub(crate) fn conflict(&self, owner: u64, since: Timestamp, pin: &Pin) -> Option<Conflict> {
        // The lock is read first: an owner installs before it unlocks, so the version of an unlocked record is seen.
        if self.is_locked_by_another(owner) {
            return Some(Conflict::Locked);
        }
        let newer = self.versions.newest(pin).is_some_and(|newest| newest.timestamp > since);
        newer.then_some(Conflict::Write)
    }
}

/// A handle of a record. It stays valid however long it is kept.
#[derive(Clone)]
pub(crate) struct RecordRef(Arc<Record>);

impl RecordRef {
    /// Makes a record without a version, locked by `owner`.
    pub(crate) fn locked(owner: u64) -> Self {
        Self(Arc::new(Record { owner: AtomicU64::new(owner), versions: Chain::default() }))
    }

    /// Returns true if both handles are of the same record.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl std::ops::Deref for RecordRef {
    type Target = Record;

    fn deref(&self) -> &Record {
        &self.0
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
