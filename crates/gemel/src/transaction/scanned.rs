//! The snapshots of ranges that a transaction at read committed has scanned.

use crate::ids::{Direction, KeyspaceId};
use crate::key::{Key, KeyRange};
use crate::order::clock::Timestamp;
use crate::pending::{key_bytes, map_entry_bytes};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound;

/// The snapshot of the newest scan over each key. An entry holds from its place up to the next entry's.
///
/// A scan adds at most two entries, however many rows it returned. Keys that a scan found missing count as read.
#[derive(Debug, Default)]
pub(super) struct ScannedViews {
    ends: BTreeMap<ScanEnd, Option<Timestamp>>,
    bytes: u64,
}

const ENTRY_BYTES: u64 = map_entry_bytes(size_of::<(ScanEnd, Option<Timestamp>)>());

/// Returns the most bytes that a scan adds, if its keys take at most `key` bytes on the heap.
pub(super) const fn most_bytes(key: u64) -> u64 {
    2 * (ENTRY_BYTES + key)
}

/// A place between two keys: before the key, or after it if the last field is true.
type ScanEnd = (KeyspaceId, Key, bool);

impl ScannedViews {
    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the bytes of memory that the entries take.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the snapshot of the newest scan over a key.
    pub(super) fn view(&self, (keyspace, key): &(KeyspaceId, Key)) -> Option<Timestamp> {
        if self.ends.is_empty() { None } else { self.at(&(*keyspace, key.clone(), false)) }
    }

    /// Returns the oldest snapshot of a part of a keyspace that was scanned.
    pub(super) fn oldest(&self, keyspace: KeyspaceId) -> Option<Timestamp> {
        let ends = self.ends.range((keyspace, Key::new(&[]), false)..);
        ends.take_while(|((of, ..), _)| *of == keyspace).filter_map(|(_, view)| *view).min()
    }

    fn at(&self, end: &ScanEnd) -> Option<Timestamp> {
        self.ends.range(..=end).next_back().and_then(|(_, view)| *view)
    }

    /// Adds a scan, whose snapshot must not be older than those of earlier scans.
    pub(super) fn note(&mut self, keyspace: KeyspaceId, range: &KeyRange, at: Timestamp) {
        let from = match &range.lower {
            Bound::Included(key) => (keyspace, key.clone(), false),
            Bound::Excluded(key) => (keyspace, key.clone(), true),
            Bound::Unbounded => (keyspace, Key::new(&[]), false),
        };
        let until = match &range.upper {
            Bound::Included(key) => (keyspace, key.clone(), true),
            Bound::Excluded(key) => (keyspace, key.clone(), false),
            Bound::Unbounded => (KeyspaceId(keyspace.0 + 1), Key::new(&[]), false),
        };
        let behind = self.at(&until);
        let covered: Vec<_> = self.ends.range(&from..&until).map(|(end, _)| end.clone()).collect();
        for end in &covered {
            self.ends.remove(end);
            self.bytes -= ENTRY_BYTES + key_bytes(&end.1);
        }
        self.bytes += ENTRY_BYTES + key_bytes(&from.1);
        self.ends.insert(from, Some(at));
        let of_until = key_bytes(&until.1);
        if let Entry::Vacant(place) = self.ends.entry(until) {
            self.bytes += ENTRY_BYTES + of_until;
            place.insert(behind);
        }
    }
}

/// The part of a range that a cursor has read at one snapshot. It becomes a scan once the transaction writes or scans: a
/// scan noted at each step would cost more than the step.
#[derive(Debug)]
pub(super) struct Walk {
    number: u64,
    keyspace: KeyspaceId,
    /// The range from the place where the cursor began.
    range: KeyRange,
    direction: Direction,
    at: Timestamp,
    /// The last key that was read; none if the range was read to its end.
    to: Option<Vec<u8>>,
}

impl Walk {
    pub(super) fn new(
        number: u64,
        keyspace: KeyspaceId,
        range: KeyRange,
        direction: Direction,
        at: Timestamp,
        to: Option<&[u8]>,
    ) -> Self {
        Self { number, keyspace, range, direction, at, to: to.map(<[u8]>::to_vec) }
    }

    /// Notes that the cursor has read on, up to a key or to the end. Returns false if this is not its walk.
    pub(super) fn go_on(
        &mut self,
        number: u64,
        direction: Direction,
        at: Timestamp,
        to: Option<&[u8]>,
    ) -> bool {
        if (self.number, self.direction, self.at) != (number, direction, at) {
            return false;
        }
        match (&mut self.to, to) {
            (Some(key), Some(to)) => {
                key.clear();
                key.extend_from_slice(to);
            }
            // The end stays the end: what the cursor returns afterwards was written by the transaction itself.
            (end, None) => *end = None,
            (None, Some(_)) => {}
        }
        true
    }
}

impl ScannedViews {
    /// Adds a walk that has ended.
    pub(super) fn note_walk(&mut self, walk: Walk) {
        let range = part_read(walk.range, walk.to.map(|key| Key::new(&key)), walk.direction);
        self.note(walk.keyspace, &range, walk.at);
    }
}

/// Returns the part of a range that a scan has read: up to the key at which it stopped, or all of it without one.
pub(super) fn part_read(range: KeyRange, last: Option<Key>, direction: Direction) -> KeyRange {
    match (last, direction) {
        (None, _) => range,
        (Some(last), Direction::Forward) => KeyRange { upper: Bound::Included(last), ..range },
        (Some(last), Direction::Backward) => KeyRange { lower: Bound::Included(last), ..range },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_the_view_of_the_newest_scan_over_it() {
        let key = |number: u8| Key::new(&[number]);
        let bound = |kind: u8, number: u8| match kind {
            0 => Bound::Unbounded,
            1 => Bound::Included(key(number)),
            _ => Bound::Excluded(key(number)),
        };
        let mut state = 1_u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % below) as u8
        };
        for _ in 0..500 {
            let (mut views, mut scans) = (ScannedViews::default(), Vec::new());
            for at in 0..u64::from(next(12)) {
                let keyspace = KeyspaceId(u32::from(next(3)));
                let (one, other) = (next(8), next(8));
                let range =
                    KeyRange { lower: bound(next(3), one.min(other)), upper: bound(next(3), one.max(other)) };
                if range.is_empty() {
                    continue;
                }
                views.note(keyspace, &range, Timestamp(at));
                scans.push((keyspace, range, Timestamp(at)));
            }
            for place in
                (0..4).flat_map(|keyspace| (0..8).map(move |number| (KeyspaceId(keyspace), key(number))))
            {
                let newest = scans.iter().rev().find(|scan| scan.0 == place.0 && scan.1.contains(&place.1));
                assert_eq!(views.view(&place), newest.map(|scan| scan.2), "{place:?}: {scans:?}");
            }
        }
    }
}
