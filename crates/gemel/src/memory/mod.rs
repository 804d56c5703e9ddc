//! The memory engine: multi-version records under an ordered index, everything in RAM.
//!
//! Readers walk the index and a record's versions without a lock. Writers lock records, without waiting, from
//! [`Engine::lock`] to [`Engine::install`]. Locking a new key puts its record into the index at once, locked and
//! without a version. So the validation of a range finds keys that are being inserted.

mod dropping;
mod index;
#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

use crate::draw::{EachDrawn, Random};
use crate::engine::{Clash, Each, Engine, Found, FoundEach, Handle, Refusal, Write};
use crate::error::{Conflict, Error, Result};
use crate::ids::{Direction, KeyspaceId, Owner};
use crate::key::{Key, KeyRange};
use crate::keyspaces::Keyspaces;
use crate::mvcc::{
    Counters, Draft, Retired, Seen, Tree, garbage, hidden, prefetch, record, sync, tree, version,
};
use crate::order::clock::{Clock, Timestamp};
use crossbeam_utils::Backoff;
use garbage::{Batch, Deleted, Garbage};
use hidden::Hidden;
use index::{Collected, Index};
use record::{Attempt, RECORD_BYTES, RECOVERY, RecordRef};
use std::mem;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use sync::Pin;
use version::version_bytes;

/// Name of the engine in messages and counters.
const NAME: &str = "memory";
/// Entries of a scan that are read under one pin. A pin keeps everything that any thread removes during it from being
/// freed, and the reader's code runs under it.
const ENTRIES_PER_PIN: usize = 64;
/// Entries that are validated under one pin. No foreign code runs meanwhile.
const VALIDATED_PER_PIN: usize = if cfg!(test) { 4 } else { 1024 };
/// Writes that are locked under one pin.
const LOCKED_PER_PIN: usize = if cfg!(test) { 4 } else { 256 };
/// Bytes of values after which a scan renews its pin.
const BYTES_PER_PIN: usize = 256 << 10;
/// A commit at the memory limit tries so many times to let the epoch free memory, and is rejected only then. Two attempts
/// free everything unless a reader holds it.
const ROUNDS_OF_HELP: u32 = 64;
/// Approximate number of records that one call of [`Engine::collect`] examines.
const RECORDS_PER_COLLECTION: usize = 1024;

/// Sizes and counters of the memory engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryState {
    /// Estimated bytes of keys, versions, records and their index entries, including those of commits in progress and
    /// those in [`MemoryState::unfreed_bytes`].
    pub bytes: u64,
    /// Bytes that were removed already, and are kept in memory until readers that may still use them are done.
    pub unfreed_bytes: u64,
    /// Memory limit in bytes.
    pub limit_bytes: u64,
    /// Records: keys that have a version (which may be a tombstone that a snapshot still needs) or are being inserted.
    pub records: u64,
    /// Versions collected since the database was opened.
    pub versions_collected: u64,
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

/// Returns the bytes of a record and its entry in the index.
fn record_bytes(key: &Key) -> u64 {
    RECORD_BYTES + Index::entry_bytes(key)
}

/// Returns the bytes of the version that a write makes.
fn bytes_of_version(write: &Write) -> u64 {
    version_bytes(write.value.as_ref().map_or(0, |value| value.len()))
}

/// Returns the bytes of the versions that writes make.
fn bytes_of_versions(writes: &[Write]) -> u64 {
    writes.iter().map(bytes_of_version).sum()
}

/// Returns the bytes that installing `writes` takes, apart from new records. The writes must be locked.
fn bytes_to_install(writes: &[Write]) -> u64 {
    let bytes = |write: &Write| {
        // While a record is locked, nobody else changes if it has a version.
        let first = locked_record(write).is_some_and(|record| record.versions.is_empty());
        bytes_of_version(write) + garbage::entry_bytes(&write.key, write.value.is_none(), first)
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

/// Brings records and their newest versions into the processor's caches. All of them are on their way at the same time.
fn prefetch_records<'r>(records: impl Iterator<Item = &'r RecordRef> + Clone, pin: &Pin) {
    records.clone().for_each(|record| prefetch::prefetch_value(&**record));
    records.for_each(|record| record.versions.prefetch_newest(pin));
}

/// What a scan does with its pin after a record.
enum Held {
    Kept,
    Renewed,
}

/// Passes the records of a range to `each`, in order, until it breaks.
#[inline]
fn scan_records(
    index: &Index,
    range: &KeyRange,
    direction: Direction,
    mut each: impl FnMut(&Key, &RecordRef, &Pin) -> ControlFlow<(), Held>,
) -> ControlFlow<()> {
    let mut rest = range.clone();
    loop {
        let pin = Pin::new();
        let mut last = None;
        let coming = |records: &[&RecordRef]| prefetch_records(records.iter().copied(), &pin);
        let flow = index.scan(&rest, direction, coming, |key, record| match each(key, record, &pin)? {
            Held::Kept => ControlFlow::Continue(()),
            Held::Renewed => {
                last = Some(key.clone());
                ControlFlow::Break(())
            }
        });
        let Some(last) = last else { return flow };
        direction.go_on(&mut rest, last);
    }
}

fn clash(kind: Conflict, write: &Write, number: usize) -> Refusal {
    Refusal::Clash(Clash { kind, keyspace: write.keyspace, number })
}

/// The memory engine.
pub(crate) struct MemoryEngine {
    clock: Clock,
    keyspaces: Keyspaces<Index>,
    garbage: Garbage,
    limit_bytes: u64,
    counters: Arc<Counters>,
}

impl MemoryEngine {
    /// Makes an empty engine whose commits come after `last`. It rejects commits that would make it hold more than
    /// `limit_bytes`.
    pub(crate) fn new(last: Timestamp, limit_bytes: u64) -> Self {
        Self {
            clock: Clock::new(last),
            keyspaces: Keyspaces::of(NAME),
            garbage: Garbage::default(),
            limit_bytes,
            counters: Arc::default(),
        }
    }

    /// Returns the current sizes and counters.
    pub(crate) fn state(&self) -> MemoryState {
        let counts = &*self.counters.0;
        MemoryState {
            bytes: counts.bytes.load(Ordering::Relaxed),
            unfreed_bytes: counts.unfreed.load(Ordering::Relaxed),
            limit_bytes: self.limit_bytes,
            records: counts.records.load(Ordering::Relaxed),
            versions_collected: counts.versions_collected.load(Ordering::Relaxed),
        }
    }

    /// Makes a place for versions that [`MemoryEngine::restore`] replaces.
    pub(crate) fn retired(&self) -> Retired<'_> {
        Retired::new(&self.counters)
    }

    /// Makes `value` the only version of `key`, for recovery, unless the existing version is as new. No value deletes.
    /// Any number of threads may restore, in any order, but nobody else may use the engine before
    /// [`MemoryEngine::finish_restore`]. The memory limit does not apply: rows that fitted once must open again.
    /// `retired` gets the replaced versions, and is cheapest for many rows.
    pub(crate) fn restore(
        &self,
        keyspace: KeyspaceId,
        key: &Key,
        value: Option<&[u8]>,
        at: Timestamp,
        retired: &mut Retired<'_>,
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
        if record.versions.newest(&pin).is_none_or(|newest| newest.timestamp < at) {
            record.versions.push(at, value.map(Draft::first));
            record.versions.cut(at, &pin, retired);
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
            self.counters.0.records.fetch_add(1, Ordering::Relaxed);
        }
        self.counters.add(bytes);
        Ok(())
    }

    /// Ends recovery: collects all tombstones and the records of deleted keys.
    pub(crate) fn finish_restore(&self) {
        while !self.garbage.is_empty() {
            self.collect(Timestamp::MAX);
        }
        // Otherwise replaced versions would count for a while against the limit of the first commits.
        self.help_to_free(u64::MAX);
    }

    /// Locks the record of one write, which has this number. Returns true if the record is new.
    fn lock_record(
        &self,
        owner: Owner,
        write: &mut Write,
        number: usize,
        pin: &Pin,
    ) -> Result<bool, Refusal> {
        let index = self.keyspaces.get(write.keyspace).map_err(Refusal::Error)?;
        let known = match mem::take(&mut write.handle) {
            Handle::Memory(record) => Some(record),
            Handle::None => None,
        };
        let (record, new) = index::lock(index, &write.key, known, owner.place, write.since, pin)
            .map_err(|kind| clash(kind, write, number))?;
        if let Some(draft) = &mut write.value {
            // A copy may be necessary. It is made here, because all later commits wait for the installation.
            draft.follow(&record.versions, pin);
        }
        write.handle = Handle::Memory(record);
        Ok(new)
    }

    /// Unlocks the records of `writes`, all of which are locked, and removes those without a version.
    fn unlock(&self, writes: &mut [Write]) -> Placeholders {
        let mut removed = Placeholders::default();
        for write in writes {
            let Handle::Memory(record) = mem::take(&mut write.handle) else { continue };
            if let Ok(index) = self.keyspaces.get(write.keyspace)
                && index::give_up(index, &write.key, &record)
            {
                removed.add(&write.key);
            }
        }
        removed
    }

    /// Rejects writes that exceed the memory limit. Deletes are never rejected, because they are a way to free memory.
    fn check_limit(&self, writes: &[Write], held: u64) -> Result<(), Refusal> {
        if held <= self.limit_bytes || writes.iter().all(|write| write.value.is_none()) {
            return Ok(());
        }
        let unfreed = self.counters.0.unfreed.load(Ordering::Relaxed);
        let removed = match unfreed {
            0 => String::new(),
            _ => format!(
                " ({unfreed} of them are removed, and kept until readers that may still use them are done)"
            ),
        };
        Err(Refusal::Error(Error::Capacity(format!(
            "the memory engine would hold {held} bytes{removed} with this commit, and its limit is {}: \
             raise memory_limit_bytes, delete rows, or move a table to disk",
            self.limit_bytes
        ))))
    }

    /// Helps the epoch to free what was removed, until `bytes` more fit or no progress can be expected: a reader is in
    /// between. Returns false if nothing waits to be freed.
    #[cold]
    fn help_to_free(&self, bytes: u64) -> bool {
        let counts = &*self.counters.0;
        if counts.unfreed.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let backoff = Backoff::new();
        for _ in 0..ROUNDS_OF_HELP {
            Pin::new().flush();
            let fits = counts.bytes.load(Ordering::Relaxed).saturating_add(bytes) <= self.limit_bytes;
            if fits || counts.unfreed.load(Ordering::Relaxed) == 0 {
                break;
            }
            // A reader that is in between may need the processor.
            backoff.snooze();
        }
        true
    }

    /// Collects the garbage of one batch. Entries that must wait go into `again`.
    fn collect_batch(
        &self,
        batch: Batch,
        watermark: Timestamp,
        again: &mut Vec<Batch>,
        retired: &mut Retired<'_>,
    ) {
        let mut freed = batch.bytes();
        let mut removed = Placeholders::default();
        let index_of = |keyspace| self.keyspaces.get(keyspace).ok();
        let Collected { versions, waiting } =
            index::collect(batch, watermark, index_of, |key| removed.add(key), retired);
        freed -= waiting.bytes();
        if waiting.len() > 0 {
            again.push(waiting);
        }
        self.counters.subtract(freed);
        retired.add_bytes(removed.bytes);
        if versions > 0 {
            self.counters.0.versions_collected.fetch_add(versions, Ordering::Relaxed);
        }
        if removed.records > 0 {
            self.counters.0.records.fetch_sub(removed.records, Ordering::Relaxed);
        }
    }

    /// Does the same as [`Engine::lock`], without help for the epoch.
    fn lock_within_limit(&self, owner: Owner, writes: &mut [Write]) -> Result<(), Refusal> {
        // Checked before any work: a full engine should not grow its index for a commit that it rejects.
        let held = self.counters.0.bytes.load(Ordering::Relaxed);
        self.check_limit(writes, held + bytes_of_versions(writes))?;
        let (bytes, made) = self.lock_records(owner, writes)?;
        let held = self.counters.add(bytes);
        if let Err(refusal) = self.check_limit(writes, held) {
            self.counters.subtract(bytes);
            self.unlock(writes);
            return Err(refusal);
        }
        if made.records > 0 {
            self.counters.0.records.fetch_add(made.records, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Locks the records of all writes. Returns the bytes that the commit will take, and the new records. After an error
    /// no record is locked.
    fn lock_records(&self, owner: Owner, writes: &mut [Write]) -> Result<(u64, Placeholders), Refusal> {
        let mut pin = Pin::new();
        let mut made = Placeholders::default();
        for i in 0..writes.len() {
            if i % LOCKED_PER_PIN == LOCKED_PER_PIN - 1 {
                // Otherwise all nodes of the index that the commit replaces would stay in memory until its end.
                drop(pin);
                pin = Pin::new();
            }
            match self.lock_record(owner, &mut writes[i], i, &pin) {
                Ok(true) => made.add(&writes[i].key),
                Ok(false) => {}
                Err(refusal) => {
                    self.unlock(&mut writes[..i]);
                    return Err(refusal);
                }
            }
        }
        Ok((bytes_to_install(writes) + made.bytes, made))
    }
}

impl Engine for MemoryEngine {
    fn name(&self) -> &'static str {
        NAME
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn check_room(&self, bytes: u64) -> Result<()> {
        let counts = &*self.counters.0;
        // What waits to be freed makes room before a commit is rejected.
        let unfreed = counts.unfreed.load(Ordering::Relaxed);
        let held = counts.bytes.load(Ordering::Relaxed).saturating_sub(unfreed);
        if held.saturating_add(bytes) <= self.limit_bytes {
            return Ok(());
        }
        Err(Error::Capacity(format!(
            "the memory engine holds {held} bytes, the transaction would write {bytes} more, and the limit is {}: \
             raise memory_limit_bytes, delete rows, or move a table to disk",
            self.limit_bytes
        )))
    }

    fn open_keyspace(&self, keyspace: KeyspaceId) -> Result<()> {
        self.keyspaces.open(keyspace, || Tree::new(Arc::clone(&self.counters)))
    }

    fn drop_keyspace(&self, keyspace: KeyspaceId) -> Result<()> {
        self.drop_records(keyspace)
    }

    fn get(
        &self,
        keyspace: KeyspaceId,
        key: &Key,
        at: Timestamp,
        handle: Option<&mut Handle>,
        found: &mut Found<'_>,
    ) -> Result<bool> {
        let mut read = |record: &RecordRef| {
            let pin = Pin::new();
            let Some(seen) = record.versions.at(at, &pin) else { return false };
            let Some(value) = seen.value else { return false };
            found(value, seen.timestamp);
            true
        };
        if let Some(Handle::Memory(record)) = &handle {
            // Every commit up to `at` was installed when the record was found. So the record has what the snapshot
            // needs: if it died before, the index had its successor, and if it has died since, the watermark was at or
            // above its deletion, and the snapshot is at or above the watermark.
            return Ok(read(record));
        }
        let found = self.keyspaces.get(keyspace)?.get(key, |record| {
            if let Some(handle) = handle {
                *handle = Handle::Memory(record.clone());
            }
            read(record)
        });
        Ok(found.unwrap_or(false))
    }

    fn prefetch(&self, keyspace: KeyspaceId, keys: &[Key]) {
        let Ok(tree) = self.keyspaces.get(keyspace) else { return };
        let pin = Pin::new();
        tree.get_each(keys, |records| prefetch_records(records.iter().map(|(_, record)| *record), &pin));
    }

    fn get_each(
        &self,
        keyspace: KeyspaceId,
        keys: &[Key],
        at: Timestamp,
        found: &mut FoundEach<'_>,
    ) -> Result<()> {
        let tree = self.keyspaces.get(keyspace)?;
        tree.get_each(keys, |records| {
            let pin = Pin::new();
            prefetch_records(records.iter().map(|(_, record)| *record), &pin);
            for (number, record) in records {
                if let Some(Seen { timestamp, value: Some(value) }) = record.versions.at(at, &pin) {
                    found(*number, value, timestamp);
                }
            }
        });
        Ok(())
    }

    fn find(&self, keyspace: KeyspaceId, keys: &[Key], handles: &mut [Handle]) {
        let Ok(tree) = self.keyspaces.get(keyspace) else { return };
        let pin = Pin::new();
        tree.get_each(keys, |records| {
            prefetch_records(records.iter().map(|(_, record)| *record), &pin);
            for (number, record) in records {
                if let Some(handle) = handles.get_mut(*number) {
                    *handle = Handle::Memory((*record).clone());
                }
            }
        });
    }

    fn scan(
        &self,
        keyspace: KeyspaceId,
        range: &KeyRange,
        direction: Direction,
        at: Timestamp,
        each: &mut Each<'_>,
    ) -> Result<()> {
        let (mut entries, mut bytes) = (0, 0);
        let _ = scan_records(self.keyspaces.get(keyspace)?, range, direction, |key, record, pin| {
            if let Some((value, timestamp)) =
                record.versions.at(at, pin).and_then(|seen| Some((seen.value?, seen.timestamp)))
            {
                bytes += value.len();
                key.with(|bytes| each(bytes, value, timestamp))?;
            }
            entries += 1;
            if entries < ENTRIES_PER_PIN && bytes < BYTES_PER_PIN {
                return ControlFlow::Continue(Held::Kept);
            }
            (entries, bytes) = (0, 0);
            ControlFlow::Continue(Held::Renewed)
        });
        Ok(())
    }

    fn draw(
        &self,
        keyspace: KeyspaceId,
        draws: u64,
        at: Timestamp,
        random: &mut Random,
        each: &mut EachDrawn<'_>,
    ) -> Result<()> {
        let index = self.keyspaces.get(keyspace)?;
        for _ in 0..draws {
            index.draw(random, |key, record, weight| {
                let pin = Pin::new();
                if let Some(value) = record.versions.at(at, &pin).and_then(|seen| seen.value) {
                    key.with(|key| each(key, value, weight));
                }
            });
        }
        Ok(())
    }

    /// Locks the writes, each of a different key. Writes beyond the memory limit are rejected here. The others count as
    /// held from here on.
    fn lock(&self, owner: Owner, writes: &mut [Write]) -> Result<(), Refusal> {
        if let Err(refusal) = self.lock_within_limit(owner, writes) {
            // After a refusal nothing is locked, so helping holds up nobody.
            let full = matches!(refusal, Refusal::Error(Error::Capacity(_)));
            if !(full && self.help_to_free(bytes_of_versions(writes))) {
                return Err(refusal);
            }
            self.lock_within_limit(owner, writes)?;
        }
        // This fence pairs with those of validation. If two transactions each lock and then validate a key that the
        // other one locks, at least one sees the other's lock, even if they draw no timestamp in common.
        fence(Ordering::SeqCst);
        Ok(())
    }

    fn lock_again(&self, owner: Owner, writes: &mut [Write]) -> Result<(), Refusal> {
        let (bytes, made) = self.lock_records(owner, writes)?;
        self.counters.add(bytes);
        self.counters.0.records.fetch_add(made.records, Ordering::Relaxed);
        Ok(())
    }

    fn find_conflict(
        &self,
        owner: Owner,
        keyspace: KeyspaceId,
        key: &Key,
        since: Timestamp,
    ) -> Result<Option<Conflict>> {
        fence(Ordering::SeqCst);
        let index = self.keyspaces.get(keyspace)?;
        Ok(index.get(key, |record| record.conflict(owner.place, since, &Pin::new())).flatten())
    }

    fn validate_range(
        &self,
        owner: Owner,
        keyspace: KeyspaceId,
        range: &KeyRange,
        since: Timestamp,
    ) -> Result<bool> {
        fence(Ordering::SeqCst);
        let index = self.keyspaces.get(keyspace)?;
        let mut entries = 0_usize;
        let flow = scan_records(index, range, Direction::Forward, |_, record, pin| {
            if !record.is_unchanged(owner.place, since, pin) {
                return ControlFlow::Break(());
            }
            entries += 1;
            let is_last = entries.is_multiple_of(VALIDATED_PER_PIN);
            ControlFlow::Continue(if is_last { Held::Renewed } else { Held::Kept })
        });
        Ok(flow.is_continue())
    }

    fn install(&self, writes: &mut [Write], at: Timestamp) {
        let mut batch = Batch::new(at);
        let count = writes.len();
        for write in writes {
            let Handle::Memory(record) = mem::take(&mut write.handle) else { continue };
            let value = write.value.take();
            let deletes = value.is_none();
            let first = index::install(&record, at, value);
            if deletes {
                batch.deleted.push(Deleted { keyspace: write.keyspace, key: write.key.clone(), record });
            } else if !first {
                if batch.updated.is_empty() {
                    batch.updated.reserve_exact(count);
                }
                batch.updated.push(record);
            }
        }
        if batch.len() > 0 {
            self.garbage.push(batch);
        }
    }

    fn install_hidden(&self, writes: &mut [Write]) -> Option<Hidden> {
        let mut hidden = Hidden::new();
        for write in writes {
            let Handle::Memory(record) = &write.handle else { continue };
            let value = write.value.take();
            if value.is_none() {
                let (keyspace, key, record) = (write.keyspace, write.key.clone(), record.clone());
                hidden.garbage.deleted.push(Deleted { keyspace, key, record });
            } else if !record.versions.is_empty() {
                hidden.garbage.updated.push(record.clone());
            }
            record.versions.push_hidden(hidden.mark, value);
        }
        Some(hidden)
    }

    fn settle(&self, writes: &mut [Write], hidden: Hidden, at: Timestamp) {
        for write in writes {
            let Handle::Memory(record) = mem::take(&mut write.handle) else { continue };
            index::settle(&record, at);
        }
        // SAFETY: each version has its timestamp now.
        let mut garbage = unsafe { hidden.free() };
        garbage.timestamp = at;
        for piece in garbage.pieces(RECORDS_PER_COLLECTION) {
            self.garbage.push(piece);
        }
    }

    fn take_back(&self, writes: &mut [Write], hidden: Hidden) {
        let (pin, mut retired) = (Pin::new(), self.retired());
        for write in writes.iter_mut() {
            if let Handle::Memory(record) = &write.handle {
                write.value = record.versions.take_back(&pin, &mut retired);
            }
        }
        // The versions stay in memory for a while beside the copies of their values.
        self.counters.add(bytes_of_versions(writes));
        // SAFETY: no version is left.
        drop(unsafe { hidden.free() });
    }

    fn give_up(&self, writes: &mut [Write]) {
        let bytes = bytes_to_install(writes);
        let removed = self.unlock(writes);
        self.counters.subtract(bytes);
        if removed.records > 0 {
            self.retired().add_bytes(removed.bytes);
            self.counters.0.records.fetch_sub(removed.records, Ordering::Relaxed);
        }
    }

    fn collect(&self, watermark: Timestamp) {
        let (mut again, mut retired) = (Vec::new(), self.retired());
        self.garbage.pop(watermark, RECORDS_PER_COLLECTION, |batch| {
            self.collect_batch(batch, watermark, &mut again, &mut retired);
        });
        for batch in again {
            self.garbage.push(batch);
        }
        drop(retired);
        // The epoch moves only while somebody pins it. Without commits and readers, nobody else frees the rest.
        if self.counters.0.unfreed.load(Ordering::Relaxed) > 0 {
            Pin::new().flush();
        }
    }
}
