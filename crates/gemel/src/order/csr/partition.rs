//! A run of registry entries over consecutive anchor timestamps.

use super::Timestamp;

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Anchor timestamp.
    at: Timestamp,
    /// The most that a snapshot older than `at` may see of the other engine.
    below: Timestamp,
    /// The least that a snapshot at `at` or newer must see of it.
    max: Timestamp,
}

/// Entries by ascending anchor timestamp. They arrive nearly in that order, so a vector does.
#[derive(Debug)]
pub(super) struct Partition {
    /// `max` of whatever came before this partition.
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

    /// Index of the first entry above `anchor`.
    fn after(&self, anchor: Timestamp) -> usize {
        self.entries.partition_point(|entry| entry.at <= anchor)
    }

    /// The largest `max` at or below `anchor`. Entries are monotone, so it is that of the last one.
    pub(super) fn max_up_to(&self, anchor: Timestamp) -> Timestamp {
        match self.after(anchor) {
            0 => self.carried,
            index => self.entries[index - 1].max,
        }
    }

    /// The smallest `below` above `anchor`: that of the first such entry.
    pub(super) fn below_after(&self, anchor: Timestamp) -> Option<Timestamp> {
        self.entries.get(self.after(anchor)).map(|entry| entry.below)
    }

    /// Adds to the entry at `anchor`; false when there is none.
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

    /// A new entry at `anchor`, where there is none.
    pub(super) fn insert(&mut self, anchor: Timestamp, below: Timestamp, max: Timestamp) {
        let index = self.after(anchor);
        self.entries.insert(index, Entry { at: anchor, below, max });
    }
}
