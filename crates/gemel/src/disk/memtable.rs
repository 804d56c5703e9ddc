//! Memtables: the newest writes of a keyspace on disk, which are in no file yet.

use crate::draw::Random;
use crate::ids::Direction;
use crate::key::{Key, KeyRange};
use crate::mvcc::prefetch::prefetch_value;
use crate::mvcc::{Draft, History, Tree};
use crate::order::clock::Timestamp;
use crossbeam_utils::CachePadded;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::vec;

/// Number of keys that a cursor takes from the index first. Many scans need only a few.
const FIRST_KEYS: usize = 8;
/// Maximum number of keys that a cursor takes at once.
const MOST_KEYS: usize = 64;
/// Maximum number of keys that a cursor passes at once, with those that are too new for it. The index frees no replaced
/// node meanwhile.
const MOST_PASSED: usize = if cfg!(test) { 8 } else { 1024 };

/// Number of draws that estimate the number of keys in a memtable.
const DRAWS: u64 = 64;

/// Writes in memory: an index of keys with their versions.
#[derive(Default)]
pub(super) struct Memtable {
    rows: Tree<Arc<History>>,
    /// Padded, because each insert changes it, and each read begins with the line before.
    bytes: CachePadded<AtomicU64>,
}

impl Memtable {
    /// Adds a version of `key`; none deletes it. Returns the bytes of memory that it takes. `at` must be newer than all
    /// versions of the key, and nobody else may add one meanwhile.
    pub(super) fn insert(&self, key: &Key, value: Option<Draft>, at: Timestamp) -> u64 {
        let (history, new) = self.rows.get_or_insert(key, Arc::default);
        debug_assert!(!has(&history, at));
        self.push(&history, new.then_some(key), value, at)
    }

    /// Adds a version that the log has, unless the memtable has it already.
    pub(super) fn restore(&self, key: &Key, value: Option<Draft>, at: Timestamp) -> u64 {
        let (history, new) = self.rows.get_or_insert(key, Arc::default);
        if has(&history, at) { 0 } else { self.push(&history, new.then_some(key), value, at) }
    }

    /// Adds a version to a history, which is that of `new` if it was made for it.
    fn push(&self, history: &History, new: Option<&Key>, value: Option<Draft>, at: Timestamp) -> u64 {
        let made = new.map_or(0, |key| History::BYTES + Tree::<Arc<History>>::entry_bytes(key));
        let bytes = history.push(at, value) + made;
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        bytes
    }

    /// Passes the newest version of `key` at or before `at` to `found`, if there is one: its value, none if it deletes.
    pub(super) fn get<R>(
        &self,
        key: &Key,
        at: Timestamp,
        found: impl FnOnce(Option<&[u8]>, Timestamp) -> R,
    ) -> Option<R> {
        let seen = |history: &Arc<History>| history.at(at).map(|seen| found(seen.value, seen.timestamp));
        self.rows.get(key, seen).flatten()
    }

    /// Draws a key at random. Returns it with the timestamp of its newest version at or before `at`, unless that deletes
    /// it, and with its weight: see [`EachDrawn`](crate::draw::EachDrawn).
    pub(super) fn draw(&self, at: Timestamp, random: &mut Random) -> Option<(Key, Timestamp, f64)> {
        let mut drawn = None;
        self.rows.draw(random, |key, history, weight| {
            let seen = history.at(at).filter(|seen| seen.value.is_some());
            drawn = seen.map(|seen| (key.clone(), seen.timestamp, weight));
        });
        drawn
    }

    /// Returns an estimate of the number of keys, at least 1.
    pub(super) fn estimated_keys(&self, random: &mut Random) -> u64 {
        let mut sum = 0.0;
        for _ in 0..DRAWS {
            self.rows.draw(random, |_, _, weight| sum += weight);
        }
        ((sum / DRAWS as f64) as u64).max(1)
    }

    /// Returns the bytes of memory that the versions take, as [`Memtable::insert`] counted them.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns the keys of a range that have a version at or before `at`, with all versions, in order.
    pub(super) fn range(&self, range: &KeyRange, direction: Direction, at: Timestamp) -> Cursor<'_> {
        Cursor {
            rows: &self.rows,
            rest: Some(range.clone()),
            direction,
            at,
            most: FIRST_KEYS,
            taken: Vec::new().into_iter(),
        }
    }
}

/// Returns true if a history has a version at `at` or later.
fn has(history: &History, at: Timestamp) -> bool {
    history.at(Timestamp::MAX).is_some_and(|newest| newest.timestamp >= at)
}

/// An iterator over keys of a memtable, each with its versions. It takes several keys from the index at a time.
pub(super) struct Cursor<'m> {
    rows: &'m Tree<Arc<History>>,
    /// The keys that are not taken yet.
    rest: Option<KeyRange>,
    direction: Direction,
    at: Timestamp,
    /// Number of keys to take next.
    most: usize,
    taken: vec::IntoIter<(Key, Arc<History>)>,
}

impl Cursor<'_> {
    /// Takes keys, unless there are no more. Takes none if it finds only keys that are too new.
    fn take_more(&mut self) {
        let Some(mut rest) = self.rest.take() else { return };
        let mut taken = Vec::with_capacity(self.most);
        let (mut passed, mut last) = (0, None);
        let flow = self.rows.scan(
            &rest,
            self.direction,
            |histories| {
                histories.iter().for_each(|history| prefetch_value(&***history));
                histories.iter().for_each(|history| history.prefetch());
            },
            |key, history| {
                if history.at(self.at).is_some() {
                    taken.push((key.clone(), Arc::clone(history)));
                }
                passed += 1;
                if taken.len() < self.most && passed < MOST_PASSED {
                    return ControlFlow::Continue(());
                }
                last = Some(key.clone());
                ControlFlow::Break(())
            },
        );
        if let (ControlFlow::Break(()), Some(last)) = (flow, last) {
            self.direction.go_on(&mut rest, last);
            self.rest = Some(rest);
        }
        self.most = (2 * self.most).min(MOST_KEYS);
        self.taken = taken.into_iter();
    }
}

impl Iterator for Cursor<'_> {
    type Item = (Key, Arc<History>);

    fn next(&mut self) -> Option<Self::Item> {
        while self.taken.len() == 0 && self.rest.is_some() {
            self.take_more();
        }
        self.taken.next()
    }
}
