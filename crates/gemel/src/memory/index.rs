//! Keys in the index of a keyspace: locking, committing, giving up, and collecting their records.
//!
//! A record is in the index from the lock of its first writer until it is dead. Whoever kills a record removes it.

use super::garbage::{Batch, Deleted};
use super::record::{Attempt, RecordRef};
use super::sync::{Backoff, Pin};
use super::tree::Tree;
use super::version::{Draft, Retired};
use crate::error::Conflict;
use crate::ids::KeyspaceId;
use crate::key::Key;
use crate::order::clock::Timestamp;

/// The index of a keyspace.
pub(super) type Index = Tree<RecordRef>;

/// Locks the record of a key for the owner at a place: `known`, a handle of an earlier look-up, or the one in the index. Returns it,
/// and true if it is new. Waits for no other transaction.
///
/// # Errors
/// Another transaction has the lock, or has committed the key after `since`. Then nothing is locked.
pub(super) fn lock(
    index: &Index,
    key: &Key,
    mut known: Option<RecordRef>,
    owner: u32,
    since: Timestamp,
    pin: &Pin,
) -> Result<(RecordRef, bool), Conflict> {
    let backoff = Backoff::new();
    loop {
        let (record, new) = match known.take() {
            Some(record) => (record, false),
            None => index.get_or_insert(key, || RecordRef::locked(owner)),
        };
        if !new {
            match record.try_lock(owner) {
                Attempt::Locked => {}
                Attempt::Busy => return Err(Conflict::Locked),
                Attempt::Dead => {
                    // The record is out of the index or about to be. The thread that killed it removes it without
                    // waiting for anything.
                    backoff.snooze();
                    continue;
                }
            }
            if record.versions.newest(pin).is_some_and(|newest| newest.timestamp > since) {
                record.unlock();
                return Err(Conflict::Write);
            }
        }
        return Ok((record, new));
    }
}

/// Adds a version to a locked record, and unlocks it. Returns true if it is the first version.
pub(super) fn install(record: &RecordRef, at: Timestamp, value: Option<Draft>) -> bool {
    let first = record.versions.is_empty();
    record.versions.push(at, value);
    record.unlock();
    first
}

/// Gives a locked record's newest version, which was hidden, its timestamp, and unlocks the record.
pub(super) fn settle(record: &RecordRef, at: Timestamp) {
    record.versions.settle(at, &Pin::new());
    record.unlock();
}

/// Unlocks a locked record, or removes it if it has no version. Returns true if it was removed.
pub(super) fn give_up(index: &Index, key: &Key, record: &RecordRef) -> bool {
    if !record.versions.is_empty() {
        record.unlock();
        return false;
    }
    record.kill();
    index.remove(key, |found| found.is(record));
    true
}

/// Kills and removes a record that nobody has locked, with all its versions, if `still` returns true once it is dead.
/// Returns the number of versions if it was removed.
///
/// # Errors
/// The record is locked.
pub(super) fn remove(
    index: &Index,
    key: &Key,
    record: &RecordRef,
    still: impl Fn() -> bool,
    retired: &mut Retired<'_>,
) -> Result<Option<u64>, Busy> {
    match record.try_kill() {
        Attempt::Dead => Ok(None),
        Attempt::Busy => Err(Busy),
        Attempt::Locked if still() => {
            index.remove(key, |found| found.is(record));
            // A leaf of the index may keep the record for long, so the versions are freed separately.
            Ok(Some(record.versions.clear(retired).versions))
        }
        Attempt::Locked => {
            record.unlock();
            Ok(None)
        }
    }
}

/// Another transaction has locked a record.
pub(super) struct Busy;

/// The result of [`collect`].
pub(super) struct Collected {
    /// Number of collected versions.
    pub(super) versions: u64,
    /// Tombstones of locked keys. Their transactions will write the keys or give up, so a later call must examine them
    /// again.
    pub(super) waiting: Batch,
}

/// Collects the garbage of a commit at or before `watermark`. Passes the key of each record that it removes to
/// `removed`. `index_of` returns none if there is no such keyspace.
pub(super) fn collect<'i>(
    batch: Batch,
    watermark: Timestamp,
    index_of: impl Fn(KeyspaceId) -> Option<&'i Index>,
    mut removed: impl FnMut(&Key),
    retired: &mut Retired<'_>,
) -> Collected {
    let pin = Pin::new();
    let mut versions = 0;
    for record in &batch.updated {
        versions += record.versions.cut(watermark, &pin, retired).versions;
    }
    let mut waiting = Batch::new(batch.timestamp);
    for deleted in batch.deleted {
        let Deleted { keyspace, key, record } = &deleted;
        versions += record.versions.cut(watermark, &pin, retired).versions;
        // A newer version has an entry of its own.
        let still_deleted =
            || record.versions.newest(&pin).is_some_and(|newest| newest.timestamp == batch.timestamp);
        if !still_deleted() {
            continue;
        }
        let Some(index) = index_of(*keyspace) else { continue };
        match remove(index, key, record, still_deleted, retired) {
            Ok(Some(cleared)) => {
                versions += cleared;
                removed(key);
            }
            Ok(None) => {}
            Err(Busy) => waiting.deleted.push(deleted),
        }
    }
    Collected { versions, waiting }
}
