//! Garbage that commits leave behind: versions and tombstones that are collected once no snapshot sees them.

use super::record::RecordRef;
use super::sync::{AtomicU64, Mutex};
use crate::ids::KeyspaceId;
use crate::key::Key;
use crate::order::clock::Timestamp;
use crossbeam_utils::CachePadded;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

/// Number of queues. With several, commits rarely meet in one.
const QUEUES: u64 = 8;

/// A record whose newest version was a tombstone.
#[derive(Debug)]
pub(crate) struct Deleted {
    pub(crate) keyspace: KeyspaceId,
    pub(crate) key: Key,
    pub(crate) record: RecordRef,
}

/// The records in which one commit left garbage.
#[derive(Debug)]
pub(crate) struct Batch {
    /// Timestamp of the commit. The batch is collected when no snapshot is older.
    pub(crate) timestamp: Timestamp,
    /// Records whose earlier version was replaced.
    pub(crate) updated: Vec<RecordRef>,
    pub(crate) deleted: Vec<Deleted>,
}

impl Batch {
    /// Makes an empty batch for a commit.
    pub(crate) fn new(timestamp: Timestamp) -> Self {
        Self { timestamp, updated: Vec::new(), deleted: Vec::new() }
    }

    /// Returns batches of at most so many records, so that nobody has to collect all at once.
    pub(crate) fn pieces(mut self, most: usize) -> Vec<Self> {
        let mut pieces = Vec::new();
        while self.len() > 0 {
            let rest = self.updated.len().saturating_sub(most);
            let updated = self.updated.split_off(rest);
            let rest = self.deleted.len().saturating_sub(most - updated.len());
            let deleted = self.deleted.split_off(rest);
            pieces.push(Self { timestamp: self.timestamp, updated, deleted });
        }
        pieces
    }

    /// Returns the number of records.
    pub(crate) fn len(&self) -> usize {
        self.updated.len() + self.deleted.len()
    }

    /// Returns the bytes that the entries take.
    pub(crate) fn bytes(&self) -> u64 {
        let deleted: u64 = self.deleted.iter().map(|deleted| deleted_bytes(&deleted.key)).sum();
        self.updated.len() as u64 * UPDATED_BYTES + deleted
    }
}

/// Bytes of an entry for a replaced version: its handle and a share of the batch.
const UPDATED_BYTES: u64 = (size_of::<RecordRef>() + size_of::<Batch>() / 4) as u64;

/// Returns the bytes of an entry for a tombstone.
fn deleted_bytes(key: &Key) -> u64 {
    (size_of::<Deleted>() + size_of::<Batch>() / 4 + key.heap_bytes()) as u64
}

/// Returns the bytes of the entry that a write of `key` leaves. The first write of a key leaves none unless it is a
/// delete.
pub(crate) fn entry_bytes(key: &Key, deletes: bool, first: bool) -> u64 {
    match (deletes, first) {
        (true, _) => deleted_bytes(key),
        (false, true) => 0,
        (false, false) => UPDATED_BYTES,
    }
}

/// The batches that wait for the watermark.
#[derive(Debug, Default)]
pub(crate) struct Garbage {
    queues: [CachePadded<Queue>; QUEUES as usize],
}

/// Batches in approximate order of their timestamps. Concurrent commits may arrive in any order, which only delays the
/// older one.
#[derive(Debug)]
struct Queue {
    /// Timestamp of the first batch, `u64::MAX` if there is none. It lets a collector skip the queue without the lock.
    oldest: AtomicU64,
    batches: Mutex<VecDeque<Batch>>,
}

impl Default for Queue {
    fn default() -> Self {
        Self { oldest: AtomicU64::new(u64::MAX), batches: Mutex::default() }
    }
}

impl Queue {
    fn note_oldest(&self, batches: &VecDeque<Batch>) {
        self.oldest.store(batches.front().map_or(u64::MAX, |batch| batch.timestamp.0), Ordering::Release);
    }

    /// Removes the first batch, if it is at or before the watermark and nobody else uses this queue.
    fn pop(&self, watermark: Timestamp) -> Option<Batch> {
        if self.oldest.load(Ordering::Acquire) > watermark.0 {
            return None;
        }
        let mut batches = self.batches.try_lock()?;
        let batch = batches.pop_front_if(|batch| batch.timestamp <= watermark)?;
        self.note_oldest(&batches);
        Some(batch)
    }
}

impl Garbage {
    /// Adds the garbage of a commit.
    pub(crate) fn push(&self, batch: Batch) {
        let queue = &self.queues[(batch.timestamp.0 % QUEUES) as usize];
        let mut batches = queue.batches.lock();
        batches.push_back(batch);
        queue.note_oldest(&batches);
    }

    /// Passes batches at or before `watermark` to `collect`, until it has passed about `most` records.
    pub(crate) fn pop(&self, watermark: Timestamp, most: usize, mut collect: impl FnMut(Batch)) {
        let mut handed = 0;
        // The first queue changes with the watermark, so no queue is always the last.
        for queue in 0..QUEUES {
            let queue = &self.queues[(watermark.0.wrapping_add(queue) % QUEUES) as usize];
            while handed < most
                && let Some(batch) = queue.pop(watermark)
            {
                handed += batch.len();
                collect(batch);
            }
        }
    }

    /// Returns true if there is no garbage.
    pub(crate) fn is_empty(&self) -> bool {
        self.queues.iter().all(|queue| queue.batches.lock().is_empty())
    }
}
