//! A partition of the registry: entries over consecutive anchor timestamps.

use super::super::clock::Timestamp;

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Anchor timestamp.
    at: Timestamp,
    /// The largest timestamp of the other engine for snapshots older than `at`.
    below: Timestamp,
    /// The smallest timestamp of the other engine for snapshots at `at` or later.
    max: Timestamp,
}

/// Entries by ascending anchor timestamp. They arrive nearly in that order, so a vector suffices.
#[derive(Debug)]
pub(super) struct Partition {
    /// `max` of the last entry before this partition.
    carried: Timestamp,
    entries: Vec<Entry>,
}

impl Partition {
    pub(super) fn new(carried: Timestamp) -> Self {
        Self { carried, entries: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn first(&self) -> Option<Timestamp> {
        self.entries.first().map(|entry| entry.at)
    }

    pub(super) fn last(&self) -> Option<Timestamp> {
        self.entries.last().map(|entry| entry.at)
    }

    /// Returns the index of the first entry above `anchor`.
    fn after(&self, anchor: Timestamp) -> usize {
        self.entries.partition_point(|entry| entry.at <= anchor)
    }

    /// Returns the largest `max` at or below `anchor`. Entries are monotone, so it is that of the last such entry.
    pub(super) fn max_up_to(&self, anchor: Timestamp) -> Timestamp {
        match self.after(anchor) {
            0 => self.carried,
            index => self.entries[index - 1].max,
        }
    }

    /// Returns the smallest `below` above `anchor`, which is that of the first such entry.
    pub(super) fn below_after(&self, anchor: Timestamp) -> Option<Timestamp> {
        self.entries.get(self.after(anchor)).map(|entry| entry.below)
    }

    /// Merges into the entry at `anchor`. Returns false if there is none.
    pub(super) fn tighten(&mut self, anchor: Timestamp, below: Timestamp, max: Timestamp) -> bool {
        let index = self.after(anchor);
        let Some(entry) = index.checked_sub(1).and_then(|index| self.entries.get_mut(index)) else {
            return false;
        };
        if entry.at != anchor {
            return false;
        }
        entry.below = entry.below.min(below);
        entry.max = entry.max.max(max);
        true
    }

    /// Inserts an entry at `anchor`. There must be none.
    pub(super) fn insert(&mut self, anchor: Timestamp, below: Timestamp, max: Timestamp) {
        let index = self.after(anchor);
        self.entries.insert(index, Entry { at: anchor, below, max });
    }
}
