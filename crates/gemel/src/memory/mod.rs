//! The memory engine: multi-version records under an ordered index, everything in RAM.
//!
//! Readers walk the index and a record's versions without a lock. Writers lock records, without waiting, from
//! [`Engine::lock`] to [`Engine::install`]. Locking a new key puts its record into the index at once, locked and
//! without a version. So the validation of a range finds keys that are being inserted.

mod garbage;
mod keyspaces;
mod record;
#[cfg(test)]
mod tests;
mod tree;
mod version;

pub(crate) use record::RecordRef;

use crate::clock::{Clock, Timestamp};
use crate::engine::{Clash, Direction, Each, Engine, Found, Handle, KeyspaceId, Refusal, Write};
use crate::error::{Conflict, Error, Result};
use crate::key::{Key, KeyRange};
use crossbeam_utils::{Backoff, CachePadded};
use garbage::{Batch, Deleted, Garbage};
use keyspaces::Keyspaces;
use record::{Attempt, RECORD_BYTES, RECOVERY};
use std::mem;
use std::ops::{Bound, ControlFlow};
use std::sync::atomic::{AtomicU64, Ordering, fence};
use tree::Tree;
use version::{Cut, Pin, version_bytes};

/// Entries of a scan that are read under one pin. A pin keeps everything that is cut off during it from being freed, so
/// a checkpoint's scan must not hold one pin all the way.
const ENTRIES_PER_PIN: usize = 512;
/// Approximate number of records that one call of [`Engine::collect`] examines.
const RECORDS_PER_COLLECTION: usize = 1024;

/// Sizes and counters of the memory engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryState {
    /// Estimated bytes of keys, versions, records and their index entries, including those of commits in progress.
    pub bytes: u64,
    /// Memory limit in bytes.
    pub limit_bytes: u64,
    /// Records: keys that have a version (which may be a tombstone that a snapshot still needs) or are being inserted.
    pub records: u64,
    /// Versions collected since the database was opened.
    pub versions_collected: u64,
}

/// The counters of [`MemoryState`], in one cache line: a commit that inserts changes two of them.
#[derive(Debug, Default)]
struct Counters {
    bytes: AtomicU64,
    records: AtomicU64,
    versions_collected: AtomicU64,
}

/// Records of new keys, and their bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Placeholders {
    records: u64,
    bytes: u64,
}

impl Placeholders {
    fn add(&mut self, key: &Key) {
        self.records += 1;
        self.bytes += record_bytes(key);
    }
}

/// Returns the bytes of a record and its entry in the index. Leaves are assumed to be two thirds full.
fn record_bytes(key: &Key) -> u64 {
    let entry = Tree::<RecordRef>::ENTRY_BYTES * 3 / 2;
    let heap = match key.heap_bytes() {
        0 => 0,
        heap => (heap + version::ALLOCATION_BYTES).next_multiple_of(16),
    };
    RECORD_BYTES + (entry + heap) as u64
}

/// Returns the bytes of the version that a write makes.
fn bytes_of_version(write: &Write) -> u64 {
    version_bytes(write.value.as_ref().map_or(0, |value| value.len()))
}

/// Returns the bytes that installing `writes` takes, apart from new records. The writes must be locked.
fn bytes_to_install(writes: &[Write]) -> u64 {
    let bytes = |write: &Write| {
        // While a record is locked, nobody else changes if it has a version.
        let first = locked_record(write).is_some_and(|record| record.versions.is_empty());
        bytes_of_version(write) + garbage::entry_bytes(write, first)
    };
    writes.iter().map(bytes).sum()
}

/// Returns the record of a locked write.
fn locked_record(write: &Write) -> Option<&RecordRef> {
    match &write.handle {
        Handle::Memory(record) => Some(record),
        Handle::None => None,
    }
}

fn clash(kind: Conflict, write: &Write) -> Refusal {
    Refusal::Clash(Clash { kind, keyspace: write.keyspace })
}

/// The memory engine.
pub(crate) struct MemoryEngine {
    clock: Clock,
    keyspaces: Keyspaces<Tree<RecordRef>>,
    garbage: Garbage,
    limit_bytes: u64,
    counters: CachePadded<Counters>,
}

impl MemoryEngine {
    /// Makes an empty engine whose commits come after `last`. It rejects commits that would make it hold more than
    /// `limit_bytes`.
    pub(crate) fn new(last: Timestamp, limit_bytes: u64) -> Self {
        Self {
            clock: Clock::new(last),
            keyspaces: Keyspaces::default(),
            garbage: Garbage::default(),
            limit_bytes,
            counters: CachePadded::default(),
        }
    }

    /// Returns the current sizes and counters.
    pub(crate) fn state(&self) -> MemoryState {
        MemoryState {
            bytes: self.counters.bytes.load(Ordering::Relaxed),
            limit_bytes: self.limit_bytes,
            records: self.counters.records.load(Ordering::Relaxed),
            versions_collected: self.counters.versions_collected.load(Ordering::Relaxed),
        }
    }

    /// Makes `value` the only version of `key`, for recovery, unless the existing version is as new. No value deletes.
    /// Any number of threads may restore, in any order, but nobody else may use the engine before
    /// [`MemoryEngine::finish_restore`]. The memory limit does not apply: rows that fitted once must open again.
    pub(crate) fn restore(
        &self,
        keyspace: KeyspaceId,
        key: &Key,
        value: Option<&[u8]>,
        at: Timestamp,
    ) -> Result<()> {
        let tree = self.keyspaces.get(keyspace)?;
        let backoff = Backoff::new();
        let (record, new) = tree.get_or_insert(key, || RecordRef::locked(RECOVERY));
        // Another thread that restores the same key finishes soon.
        while !new && record.try_lock(RECOVERY) != Attempt::Locked {
            backoff.snooze();
        }
        let pin = Pin::new();
        let mut bytes = 0;
        let mut cut = Cut::default();
        if record.versions.newest(&pin).is_none_or(|newest| newest.timestamp < at) {
            record.versions.push(at, value);
            cut = record.versions.cut(at, &pin);
            bytes += version_bytes(value.map_or(0, <[u8]>::len));
            if value.is_none() {
                // The tombstone stays until recovery ends, because an older version may come later.
                let mut batch = Batch::new(at);
                batch.deleted.push(Deleted { keyspace, key: key.clone(), record: record.clone() });
                bytes += batch.bytes();
                self.garbage.push(batch);
            }
        }
        record.unlock();
        if new {
            bytes += record_bytes(key);
            self.counters.records.fetch_add(1, Ordering::Relaxed);
        }
        self.counters.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.counters.bytes.fetch_sub(cut.bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Ends recovery: collects all tombstones and the records of deleted keys.
    pub(crate) fn finish_restore(&self) {
        while !self.garbage.is_empty() {
            self.collect(Timestamp::MAX);
        }
    }

    /// Locks the record of one write. Returns true if the record is new.
    fn lock_record(&self, owner: u64, write: &mut Write, pin: &Pin) -> Result<bool, Refusal> {
        let backoff = Backoff::new();
        loop {
            let (record, new) = match mem::take(&mut write.handle) {
                Handle::Memory(record) => (record, false),
                Handle::None => {
                    let tree = self.keyspaces.get(write.keyspace).map_err(Refusal::Error)?;
                    tree.get_or_insert(&write.key, || RecordRef::locked(owner))
                }
            };
            if !new {
                match record.try_lock(owner) {
                    Attempt::Locked => {}
                    Attempt::Busy => return Err(clash(Conflict::Locked, write)),
                    Attempt::Dead => {
                        // The record is out of the index or about to be. The thread that killed it removes it without
                        // waiting for anything.
                        backoff.snooze();
                        continue;
                    }
                }
                if record.versions.newest(pin).is_some_and(|newest| newest.timestamp > write.since) {
                    record.unlock();
                    return Err(clash(Conflict::Write, write));
                }
            }
            write.handle = Handle::Memory(record);
            return Ok(new);
        }
    }

    /// Unlocks the records of `writes`, all of which are locked, and removes those without a version.
    fn unlock(&self, writes: &mut [Write]) -> Placeholders {
        let mut removed = Placeholders::default();
        for write in writes {
            let Handle::Memory(record) = mem::take(&mut write.handle) else { continue };
            if record.versions.is_empty() {
                record.kill();
                if let Ok(tree) = self.keyspaces.get(write.keyspace) {
                    tree.remove(&write.key, |found| found.is(&record));
                }
                removed.add(&write.key);
            } else {
                record.unlock();
            }
        }
        removed
    }

    /// Rejects writes that exceed the memory limit. Deletes are never rejected, because they are a way to free memory.
    fn check_limit(&self, writes: &[Write], held: u64) -> Result<(), Refusal> {
        if held <= self.limit_bytes || writes.iter().all(|write| write.value.is_none()) {
            return Ok(());
        }
        Err(Refusal::Error(Error::Capacity(format!(
            "the memory engine would hold {held} bytes with this commit, and its limit is {}: \
             raise memory_limit_bytes, delete rows, or move a table to disk",
            self.limit_bytes
        ))))
    }

    /// Collects the garbage of one batch. Entries that must wait go into `again`.
    fn collect_batch(&self, batch: Batch, watermark: Timestamp, again: &mut Vec<Batch>) {
        let pin = Pin::new();
        let mut freed = Cut { versions: 0, bytes: batch.bytes() };
        let mut removed = Placeholders::default();
        let mut cut = |cut: Cut| {
            freed.versions += cut.versions;
            freed.bytes += cut.bytes;
        };
        for record in &batch.updated {
            cut(record.versions.cut(watermark, &pin));
        }
        let mut waiting = Batch::new(batch.timestamp);
        for deleted in batch.deleted {
            let Deleted { keyspace, key, record } = &deleted;
            cut(record.versions.cut(watermark, &pin));
            // A newer version has an entry of its own.
            let still_deleted =
                || record.versions.newest(&pin).is_some_and(|newest| newest.timestamp == batch.timestamp);
            if !still_deleted() {
                continue;
            }
            match record.try_kill() {
                Attempt::Dead => {}
                // Another transaction has locked the key and will write it or give up. A later call examines it again.
                Attempt::Busy => waiting.deleted.push(deleted),
                Attempt::Locked if still_deleted() => {
                    if let Ok(tree) = self.keyspaces.get(*keyspace) {
                        tree.remove(key, |found| found.is(record));
                    }
                    // A leaf of the index may keep the record for long, so the version is freed separately.
                    cut(record.versions.clear(&pin));
                    removed.add(key);
                }
                Attempt::Locked => record.unlock(),
            }
        }
        freed.bytes -= waiting.bytes();
        if waiting.len() > 0 {
            again.push(waiting);
        }
        self.counters.bytes.fetch_sub(freed.bytes + removed.bytes, Ordering::Relaxed);
        if freed.versions > 0 {
            self.counters.versions_collected.fetch_add(freed.versions, Ordering::Relaxed);
        }
        if removed.records > 0 {
            self.counters.records.fetch_sub(removed.records, Ordering::Relaxed);
        }
    }
}

impl Engine for MemoryEngine {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn open_keyspace(&self, keyspace: KeyspaceId) -> Result<()> {
        self.keyspaces.open(keyspace)
    }

    fn get(
        &self,
        keyspace: KeyspaceId,
        key: &Key,
        at: Timestamp,
        handle: Option<&mut Handle>,
        found: &mut Found<'_>,
    ) -> Result<bool> {
        let tree = self.keyspaces.get(keyspace)?;
        let read = tree.get(key, |record| {
            if let Some(handle) = handle {
                *handle = Handle::Memory(record.clone());
            }
            let pin = Pin::new();
            let Some(seen) = record.versions.at(at, &pin) else { return false };
            let Some(value) = seen.value else { return false };
            found(value, seen.timestamp);
            true
        });
        Ok(read.unwrap_or(false))
    }

    fn scan(
        &self,
        keyspace: KeyspaceId,
        range: &KeyRange,
        direction: Direction,
        at: Timestamp,
        each: &mut Each<'_>,
    ) -> Result<()> {
        let tree = self.keyspaces.get(keyspace)?;
        let mut rest = range.clone();
        loop {
            let pin = Pin::new();
            let (mut entries, mut last) = (0, None);
            let flow = tree.scan(&rest, direction, |key, record| {
                if let Some((value, timestamp)) =
                    record.versions.at(at, &pin).and_then(|seen| Some((seen.value?, seen.timestamp)))
                {
                    key.with(|bytes| each(bytes, value, timestamp))?;
                }
                entries += 1;
                if entries < ENTRIES_PER_PIN {
                    return ControlFlow::Continue(());
                }
                last = Some(key.clone());
                ControlFlow::Break(())
            });
            match (flow, last) {
                (ControlFlow::Break(()), Some(last)) => match direction {
                    Direction::Forward => rest.lower = Bound::Excluded(last),
                    Direction::Backward => rest.upper = Bound::Excluded(last),
                },
                // The end of the range, or `each` broke.
                _ => return Ok(()),
            }
        }
    }

    /// Locks the writes, each of a different key. Writes beyond the memory limit are rejected here. The others count as
    /// held from here on.
    fn lock(&self, owner: u64, writes: &mut [Write]) -> Result<(), Refusal> {
        // Checked before any work: a full engine should not grow its index for a commit that it rejects.
        let least: u64 = writes.iter().map(bytes_of_version).sum();
        self.check_limit(writes, self.counters.bytes.load(Ordering::Relaxed) + least)?;
        let pin = Pin::new();
        let mut made = Placeholders::default();
        for i in 0..writes.len() {
            match self.lock_record(owner, &mut writes[i], &pin) {
                Ok(true) => made.add(&writes[i].key),
                Ok(false) => {}
                Err(refusal) => {
                    self.unlock(&mut writes[..i]);
                    return Err(refusal);
                }
            }
        }
        let bytes = bytes_to_install(writes) + made.bytes;
        let held = self.counters.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if let Err(refusal) = self.check_limit(writes, held) {
            self.counters.bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.unlock(writes);
            return Err(refusal);
        }
        if made.records > 0 {
            self.counters.records.fetch_add(made.records, Ordering::Relaxed);
        }
        // This fence pairs with those of validation. If two transactions each lock and then validate a key that the
        // other one locks, at least one sees the other's lock, even if they draw no timestamp in common.
        fence(Ordering::SeqCst);
        Ok(())
    }

    fn validate_key(&self, owner: u64, keyspace: KeyspaceId, key: &Key, since: Timestamp) -> Result<bool> {
        fence(Ordering::SeqCst);
        let valid =
            self.keyspaces.get(keyspace)?.get(key, |record| is_unchanged(record, owner, since, &Pin::new()));
        Ok(valid.unwrap_or(true))
    }

    fn validate_range(
        &self,
        owner: u64,
        keyspace: KeyspaceId,
        range: &KeyRange,
        since: Timestamp,
    ) -> Result<bool> {
        fence(Ordering::SeqCst);
        let pin = Pin::new();
        let flow = self.keyspaces.get(keyspace)?.scan(range, Direction::Forward, |_, record| {
            if is_unchanged(record, owner, since, &pin) {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        Ok(flow.is_continue())
    }

    fn install(&self, writes: &mut [Write], at: Timestamp) {
        let mut batch = Batch::new(at);
        for write in writes {
            let Handle::Memory(record) = mem::take(&mut write.handle) else { continue };
            let first = record.versions.is_empty();
            record.versions.push(at, write.value.as_deref());
            record.unlock();
            if write.value.is_none() {
                batch.deleted.push(Deleted { keyspace: write.keyspace, key: write.key.clone(), record });
            } else if !first {
                batch.updated.push(record);
            }
        }
        if batch.len() > 0 {
            self.garbage.push(batch);
        }
    }

    fn give_up(&self, writes: &mut [Write]) {
        let bytes = bytes_to_install(writes);
        let removed = self.unlock(writes);
        self.counters.bytes.fetch_sub(bytes + removed.bytes, Ordering::Relaxed);
        if removed.records > 0 {
            self.counters.records.fetch_sub(removed.records, Ordering::Relaxed);
        }
    }

    fn collect(&self, watermark: Timestamp) {
        let mut again = Vec::new();
        self.garbage
            .pop(watermark, RECORDS_PER_COLLECTION, |batch| self.collect_batch(batch, watermark, &mut again));
        for batch in again {
            self.garbage.push(batch);
        }
    }
}

/// Returns true if no other owner has locked a record, and nobody has committed to it after `since`.
fn is_unchanged(record: &RecordRef, owner: u64, since: Timestamp, pin: &Pin) -> bool {
    // The lock is read first: an owner installs before it unlocks, so the version of an unlocked record is seen.
    !record.is_locked_by_another(owner)
        && record.versions.newest(pin).is_none_or(|newest| newest.timestamp <= since)
}
