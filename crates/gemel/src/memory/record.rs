//! Records: a lock and the versions of one key.

use super::version::{ALLOCATION_BYTES, Chain};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Nobody holds the lock.
const FREE: u64 = 0;
/// The record is out of the index, or on its way out, for ever: who finds it looks up its key again.
const DEAD: u64 = u64::MAX;
/// Holds locks while the database is recovered. Not a number of a transaction.
pub(super) const RECOVERY: u64 = u64::MAX - 1;

/// Bytes of a record: itself with its two reference counts, and what the allocator adds.
pub(super) const RECORD_BYTES: u64 =
    (size_of::<Record>() + 2 * size_of::<usize>() + ALLOCATION_BYTES).next_multiple_of(16) as u64;

/// How an attempt to lock a record ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attempt {
    /// It is ours.
    Locked,
    /// Somebody else has it.
    Busy,
    /// The record is dead.
    Dead,
}

/// A key's lock and versions.
///
/// A record in the index is locked, or has a version, or is dead: records are inserted locked, and who unlocks one
/// without a version kills and removes it.
#[derive(Default)]
pub(crate) struct Record {
    /// Number of the transaction that has the lock, or [`FREE`] or [`DEAD`].
    owner: AtomicU64,
    pub(super) versions: Chain,
}

impl Record {
    /// Locks for `owner`, without waiting.
    pub(super) fn try_lock(&self, owner: u64) -> Attempt {
        debug_assert!(owner != FREE && owner != DEAD);
        match self.owner.compare_exchange(FREE, owner, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Attempt::Locked,
            Err(DEAD) => Attempt::Dead,
            Err(_) => Attempt::Busy,
        }
    }

    /// Gives the lock back.
    pub(super) fn unlock(&self) {
        self.owner.store(FREE, Ordering::Release);
    }

    /// Ends a record that is locked by the caller, who then takes it out of the index.
    pub(super) fn kill(&self) {
        self.owner.store(DEAD, Ordering::Release);
    }

    /// Ends a record that nobody has locked. May be taken back by [`Record::unlock`] as long as it is in the index:
    /// who wants to lock it in between tries again.
    pub(super) fn try_kill(&self) -> Attempt {
        match self.owner.compare_exchange(FREE, DEAD, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Attempt::Locked,
            Err(DEAD) => Attempt::Dead,
            Err(_) => Attempt::Busy,
        }
    }

    /// Whether another transaction than `owner` has the lock.
    pub(super) fn is_locked_by_another(&self, owner: u64) -> bool {
        let now = self.owner.load(Ordering::Acquire);
        now != FREE && now != DEAD && now != owner
    }
}

/// A handle of a record that stays good however long it is kept.
#[derive(Clone)]
pub(crate) struct RecordRef(Arc<Record>);

impl RecordRef {
    /// A record without a version, locked by `owner`.
    pub(super) fn locked(owner: u64) -> Self {
        Self(Arc::new(Record { owner: AtomicU64::new(owner), versions: Chain::default() }))
    }

    /// Whether both are the same record.
    pub(super) fn is(&self, other: &Self) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_record_is_never_locked_again() {
        let record = RecordRef::locked(1);
        assert_eq!(record.try_lock(2), Attempt::Busy);
        assert_eq!(record.try_kill(), Attempt::Busy);
        assert!(record.is_locked_by_another(2) && !record.is_locked_by_another(1));
        record.unlock();
        assert_eq!(record.try_lock(2), Attempt::Locked);
        record.kill();
        assert_eq!((record.try_lock(3), record.try_kill()), (Attempt::Dead, Attempt::Dead));
        assert!(!record.is_locked_by_another(3));
    }
}
