//! Gaps: ranges of keys that are known to be empty, so scans can skip rows that were deleted there.
//!
//! A queue (TPC-C's new orders, for example) is scanned from its beginning, where everything has been deleted but not
//! yet merged away. A scan notes that it found nothing between its bound and its first row, and the next scan begins at
//! the end of that gap. A gap is valid for snapshots that are not older than the one that found it. A key that is
//! written into a gap ends it there.
//!
//! Scans in the two directions have gaps of their own. A written key leaves the part of a gap between the scan's bound
//! and the key: the lower part for forward scans, the upper part for backward scans.

use super::recent::Recent;
use crate::ids::Direction;
use crate::key::{Key, KeyRange};
use crate::order::clock::Timestamp;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};

/// Maximum number of gaps in a keyspace for each direction, of some 150 bytes each. Beyond that a new gap replaces one
/// that no scan has used for long.
const MANY: usize = 1 << 16;
/// Maximum number of gaps in use that the search for one to forget passes. Commits wait for the search.
const PASSED: usize = 64;
/// An owner that is not the number of any transaction.
const NOBODY: u64 = 0;

/// A place between two keys.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Edge {
    /// Right before the key; right after it if the flag is set.
    At(Key, bool),
    /// After all keys.
    Top,
}

impl Edge {
    /// Returns the place where a range begins.
    pub(super) fn of_lower(bound: &Bound<Key>) -> Self {
        match bound {
            Bound::Included(key) => Self::At(key.clone(), false),
            Bound::Excluded(key) => Self::At(key.clone(), true),
            Bound::Unbounded => Self::At(Key::new(&[]), false),
        }
    }

    /// Returns the place where a range ends.
    pub(super) fn of_upper(bound: &Bound<Key>) -> Self {
        match bound {
            Bound::Included(key) => Self::At(key.clone(), true),
            Bound::Excluded(key) => Self::At(key.clone(), false),
            Bound::Unbounded => Self::Top,
        }
    }

    /// Returns the place right before `key`, for a scan in this direction.
    pub(super) fn before(key: Key, direction: Direction) -> Self {
        Self::At(key, direction == Direction::Backward)
    }

    /// Returns the range of a scan in this direction between two places, or none if they leave no room for a key.
    pub(super) fn range(begin: &Self, end: &Self, direction: Direction) -> Option<KeyRange> {
        let (lower, upper) = match direction {
            Direction::Forward => (begin, end),
            Direction::Backward => (end, begin),
        };
        if lower >= upper {
            return None;
        }
        let lower = match lower.clone() {
            Self::At(key, false) => Bound::Included(key),
            Self::At(key, true) => Bound::Excluded(key),
            Self::Top => return None,
        };
        let upper = match upper.clone() {
            Self::At(key, false) => Bound::Excluded(key),
            Self::At(key, true) => Bound::Included(key),
            Self::Top => Bound::Unbounded,
        };
        Some(KeyRange { lower, upper })
    }
}

/// The gaps of one keyspace.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    /// True if a key was ever deleted. Until then there are no gaps.
    deleted: AtomicBool,
    sides: Mutex<Sides>,
}

#[derive(Debug, Default)]
struct Sides {
    forward: Side,
    backward: Side,
}

/// The gaps that scans in one direction have found.
#[derive(Debug, Default)]
struct Side {
    /// Gaps by the end at which a scan enters them: the lower one for forward scans, the upper one for backward scans.
    /// No two of them overlap.
    gaps: BTreeMap<Edge, Gap>,
    /// Place at which the last search for a gap to forget has ended.
    hand: Option<Edge>,
}

#[derive(Debug)]
struct Gap {
    /// The other end, where a scan leaves the gap.
    end: Edge,
    /// Timestamp of the scan that found the gap. No snapshot at or after it sees a key in the gap.
    since: Timestamp,
    /// True if a scan has skipped it since the last search passed by.
    is_used: bool,
}

impl Side {
    /// Returns the gap in which a scan at `place` is.
    fn around(&mut self, place: &Edge, direction: Direction) -> Option<(&Edge, &mut Gap)> {
        match direction {
            Direction::Forward => {
                self.gaps.range_mut(..=place).next_back().filter(|(_, gap)| *place < gap.end)
            }
            Direction::Backward => self.gaps.range_mut(place..).next().filter(|(_, gap)| gap.end < *place),
        }
    }

    /// Forgets a gap that was not used since the last search passed by. Every continued scan notes a gap, also where
    /// nothing was deleted. Such a gap must not replace the one at the head of a queue.
    fn forget_one(&mut self) {
        let mut passed = 0;
        while !self.gaps.is_empty() {
            let rest = self.hand.take().map_or(Bound::Unbounded, Bound::Excluded);
            // After the last gap the search goes on at the first one.
            let Some((place, gap)) = self.gaps.range_mut((rest, Bound::Unbounded)).next() else { continue };
            let place = place.clone();
            if !std::mem::take(&mut gap.is_used) || passed == PASSED {
                self.gaps.remove(&place);
                self.hand = Some(place);
                return;
            }
            self.hand = Some(place);
            passed += 1;
        }
    }
}

impl Sides {
    fn of(&mut self, direction: Direction) -> &mut Side {
        match direction {
            Direction::Forward => &mut self.forward,
            Direction::Backward => &mut self.backward,
        }
    }
}

impl Gaps {
    /// Returns true if there can be gaps.
    pub(super) fn are_likely(&self) -> bool {
        self.deleted.load(Ordering::SeqCst)
    }

    /// Notes that a commit has deleted a key. Must be called before the commit is published.
    pub(super) fn note_delete(&self) {
        // The load avoids a write to a shared cache line.
        if !self.are_likely() {
            self.deleted.store(true, Ordering::SeqCst);
        }
    }

    /// Notes that a commit has written a key, which it has locked. Must be called before the commit is published.
    pub(super) fn note_put(&self, key: &Key) {
        // If another commit sets the flag later and a scan then learns a gap around the key, the scan sees that the key
        // is locked or was written.
        if !self.are_likely() {
            return;
        }
        let mut sides = self.sides.lock();
        for direction in [Direction::Forward, Direction::Backward] {
            let place = Edge::before(key.clone(), direction);
            if let Some((_, gap)) = sides.of(direction).around(&place, direction) {
                gap.end = place;
            }
        }
    }

    /// Returns the place at which a scan at `at` may begin instead of `place`.
    pub(super) fn end_of(&self, place: &Edge, direction: Direction, at: Timestamp) -> Option<Edge> {
        let mut sides = self.sides.lock();
        let (_, gap) = sides.of(direction).around(place, direction).filter(|(_, gap)| gap.since <= at)?;
        gap.is_used = true;
        Some(gap.end.clone())
    }

    /// Notes that a scan at `at` from `place` found nothing before `end`. `skipped` is where it began, if a gap led
    /// there.
    pub(super) fn learn(
        &self,
        recent: &Recent,
        direction: Direction,
        place: &Edge,
        skipped: Option<&Edge>,
        end: &Edge,
        at: Timestamp,
    ) {
        let Some(stretch) = Edge::range(skipped.unwrap_or(place), end, direction) else { return };
        // The lock is held until the gap is noted: a commit that locks a key after the validation below shortens the
        // gap in `note_put`.
        let mut sides = self.sides.lock();
        let side = sides.of(direction);
        let first = match (side.around(place, direction), skipped) {
            (Some((first, gap)), Some(skipped)) if gap.end == *skipped && gap.since <= at => first.clone(),
            (None, None) => place.clone(),
            // Another scan has learnt more, or its gap is too new to be used here.
            _ => return,
        };
        // There must be no commit after the snapshot, and none in progress. If commits after the snapshot were
        // forgotten, nobody knows.
        if recent.validate_range(NOBODY, &stretch, at).is_err() {
            return;
        }
        let within = match direction {
            Direction::Forward => (Bound::Excluded(&first), Bound::Excluded(end)),
            Direction::Backward => (Bound::Excluded(end), Bound::Excluded(&first)),
        };
        let merged: Vec<Edge> = side.gaps.range::<Edge, _>(within).map(|(place, _)| place.clone()).collect();
        for place in &merged {
            side.gaps.remove(place);
        }
        if side.gaps.len() >= MANY && !side.gaps.contains_key(&first) {
            side.forget_one();
        }
        side.gaps.insert(first, Gap { end: end.clone(), since: at, is_used: skipped.is_some() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key::new(name.as_bytes())
    }

    fn gaps() -> (Gaps, Recent) {
        let gaps = Gaps::default();
        gaps.note_delete();
        (gaps, Recent::default())
    }

    /// Returns the place before a key.
    fn at(name: &str) -> Edge {
        Edge::At(key(name), false)
    }

    /// Notes that a forward scan found nothing between two places.
    fn learn(gaps: &Gaps, recent: &Recent, place: &str, skipped: Option<&str>, end: &str, time: u64) {
        let skipped = skipped.map(at);
        gaps.learn(recent, Direction::Forward, &at(place), skipped.as_ref(), &at(end), Timestamp(time));
    }

    fn end_of(gaps: &Gaps, place: &str, time: u64) -> Option<Edge> {
        gaps.end_of(&at(place), Direction::Forward, Timestamp(time))
    }

    #[test]
    fn a_gap_grows_with_deletions_and_is_not_used_by_older_snapshots() {
        let (gaps, recent) = gaps();
        learn(&gaps, &recent, "a", None, "f", 5);
        assert_eq!(end_of(&gaps, "a", 4), None);
        assert_eq!(end_of(&gaps, "c", 5), Some(at("f")));
        assert_eq!(end_of(&gaps, "f", 5), None);
        learn(&gaps, &recent, "c", Some("f"), "k", 7);
        assert_eq!(end_of(&gaps, "a", 6), None);
        assert_eq!(end_of(&gaps, "a", 7), Some(at("k")));
        learn(&gaps, &recent, "0", None, "z", 9);
        assert_eq!(gaps.sides.lock().forward.gaps.len(), 1, "the larger one replaces the smaller");
    }

    #[test]
    fn a_gap_ends_where_a_key_is_written() {
        let (gaps, recent) = gaps();
        learn(&gaps, &recent, "a", None, "f", 5);
        gaps.note_put(&key("f"));
        assert_eq!(end_of(&gaps, "a", 5), Some(at("f")));
        gaps.note_put(&key("c"));
        assert_eq!(end_of(&gaps, "a", 5), Some(at("c")));
        assert_eq!(end_of(&gaps, "c", 5), None);
        // A scan that skipped to the old end must not take the keys after the new end for empty.
        learn(&gaps, &recent, "a", Some("f"), "k", 6);
        assert_eq!(end_of(&gaps, "a", 6), Some(at("c")));
        gaps.note_put(&key("a"));
        assert_eq!(end_of(&gaps, "a", 6), None);
    }

    #[test]
    fn a_gap_of_backward_scans_keeps_its_upper_part_when_a_key_is_written() {
        let (gaps, recent) = gaps();
        let end_of = |place: &Edge| gaps.end_of(place, Direction::Backward, Timestamp(9));
        let after = |name| Edge::At(key(name), true);
        gaps.learn(&recent, Direction::Backward, &Edge::Top, None, &after("f"), Timestamp(5));
        assert_eq!((end_of(&Edge::Top), end_of(&at("k"))), (Some(after("f")), Some(after("f"))));
        assert_eq!((end_of(&after("f")), end_of(&at("f"))), (None, None));
        assert_eq!(gaps.end_of(&Edge::Top, Direction::Backward, Timestamp(4)), None);
        assert_eq!(gaps.end_of(&at("k"), Direction::Forward, Timestamp(9)), None);
        gaps.note_put(&key("f"));
        assert_eq!(end_of(&Edge::Top), Some(after("f")));
        gaps.note_put(&key("k"));
        assert_eq!((end_of(&Edge::Top), end_of(&at("x"))), (Some(after("k")), Some(after("k"))));
        assert_eq!((end_of(&after("k")), end_of(&at("k"))), (None, None));
        gaps.learn(&recent, Direction::Backward, &Edge::Top, Some(&after("f")), &after("b"), Timestamp(6));
        assert_eq!(end_of(&Edge::Top), Some(after("k")), "the scan skipped too far");
        gaps.learn(&recent, Direction::Backward, &Edge::Top, Some(&after("k")), &after("b"), Timestamp(7));
        assert_eq!((end_of(&Edge::Top), end_of(&at("d"))), (Some(after("b")), Some(after("b"))));
        assert_eq!(gaps.sides.lock().backward.gaps.len(), 1);
    }

    #[test]
    fn a_range_with_a_commit_in_progress_or_since_the_snapshot_becomes_no_gap() {
        let (gaps, recent) = gaps();
        recent.lock(1, &key("c"), Timestamp(5)).unwrap();
        learn(&gaps, &recent, "a", None, "f", 5);
        assert_eq!(end_of(&gaps, "a", 9), None);
        recent.commit(&key("c"), Timestamp(6));
        learn(&gaps, &recent, "a", None, "f", 5);
        assert_eq!(end_of(&gaps, "a", 9), None);
        learn(&gaps, &recent, "a", None, "f", 6);
        assert_eq!(end_of(&gaps, "a", 9), Some(at("f")));
    }

    #[test]
    fn a_range_in_which_commits_were_forgotten_becomes_no_gap() {
        let (gaps, recent) = gaps();
        for at in [6, 7] {
            let key = key(&format!("c{at}"));
            recent.lock(1, &key, Timestamp(5)).unwrap();
            recent.commit(&key, Timestamp(at));
        }
        recent.collect(Timestamp(5), Timestamp(7), 1);
        learn(&gaps, &recent, "a", None, "c7", 5);
        assert_eq!(end_of(&gaps, "a", 9), None);
        learn(&gaps, &recent, "a", None, "c7", 6);
        assert_eq!(end_of(&gaps, "a", 9), Some(at("c7")));
    }

    #[test]
    fn the_number_of_gaps_is_limited_and_those_in_use_stay() {
        let (gaps, recent) = gaps();
        let place = |number: u64| Edge::At(Key::new(&number.to_be_bytes()), false);
        let is_known = |number| gaps.end_of(&place(2 * number), Direction::Forward, Timestamp(1)).is_some();
        for number in 0..3 * MANY as u64 {
            let (first, end) = (place(2 * number), place(2 * number + 1));
            gaps.learn(&recent, Direction::Forward, &first, None, &end, Timestamp(1));
            if number % 1000 == 0 {
                assert!(is_known(0) && is_known(7000.min(number)), "after {number}");
            }
        }
        assert_eq!(gaps.sides.lock().forward.gaps.len(), MANY);
    }
}
