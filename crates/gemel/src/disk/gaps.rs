//! Gaps: ranges of keys that are known to be empty, so scans can skip rows that were deleted there.
//!
//! A queue (TPC-C's new orders, for example) is scanned from its beginning, where everything has been deleted but not
//! yet merged away. A scan notes that it found nothing between its bound and its first row, and the next scan begins at
//! the end of that gap. A gap is valid for snapshots that are not older than the one that found it. It ends where a key
//! is written again.

use super::recent::Recent;
use crate::key::{Key, KeyRange};
use crate::order::clock::Timestamp;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};

/// Maximum number of gaps in a keyspace, of some 100 bytes each. Beyond that a new gap replaces another one.
const MANY: usize = 1 << 16;
/// An owner that is not the number of any transaction.
const NOBODY: u64 = 0;

/// The gaps of one keyspace, which do not overlap.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    /// True if a key was ever deleted. Until then there are no gaps.
    deleted: AtomicBool,
    /// Gaps by their first key.
    gaps: Mutex<BTreeMap<Key, Gap>>,
}

#[derive(Debug)]
struct Gap {
    /// The first key after the gap.
    end: Key,
    /// No snapshot at or after this sees a key in the gap.
    since: Timestamp,
}

/// Returns the gap that contains `key`.
fn around<'a>(gaps: &'a mut BTreeMap<Key, Gap>, key: &Key) -> Option<(&'a Key, &'a mut Gap)> {
    gaps.range_mut(..=key).next_back().filter(|(_, gap)| *key < gap.end)
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
        let mut gaps = self.gaps.lock();
        if let Some((_, gap)) = around(&mut gaps, key) {
            gap.end = key.clone();
        }
    }

    /// Returns the key at which a scan at `at` may begin instead of `lower`.
    pub(super) fn end_of(&self, lower: &Key, at: Timestamp) -> Option<Key> {
        let mut gaps = self.gaps.lock();
        around(&mut gaps, lower).filter(|(_, gap)| gap.since <= at).map(|(_, gap)| gap.end.clone())
    }

    /// Notes that a scan at `at` from `lower` found nothing before `end`. `skipped` is where it began, if a gap led
    /// there.
    pub(super) fn learn(
        &self,
        recent: &Recent,
        lower: &Key,
        skipped: Option<&Key>,
        end: &Key,
        at: Timestamp,
    ) {
        let from = skipped.unwrap_or(lower);
        if end <= from {
            return;
        }
        // The lock is held until the gap is noted: a commit that locks a key after the validation below shortens the
        // gap in `note_put`.
        let mut gaps = self.gaps.lock();
        let first = match (around(&mut gaps, lower), skipped) {
            (Some((first, gap)), Some(skipped)) if gap.end == *skipped && gap.since <= at => first.clone(),
            (None, None) => lower.clone(),
            // Another scan has learnt more, or its gap is too new to be used here.
            _ => return,
        };
        let stretch = KeyRange { lower: Bound::Included(from.clone()), upper: Bound::Excluded(end.clone()) };
        // There must be no commit after the snapshot, and none in progress. If commits after the snapshot were
        // forgotten, nobody knows.
        if recent.validate_range(NOBODY, &stretch, at).is_err() {
            return;
        }
        let within = (Bound::Excluded(&first), Bound::Excluded(end));
        let merged: Vec<Key> = gaps.range::<Key, _>(within).map(|(key, _)| key.clone()).collect();
        for key in &merged {
            gaps.remove(key);
        }
        gaps.insert(first, Gap { end: end.clone(), since: at });
        if gaps.len() > MANY {
            gaps.pop_first();
        }
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

    #[test]
    fn a_gap_grows_with_deletions_and_is_not_used_by_older_snapshots() {
        let (gaps, recent) = gaps();
        gaps.learn(&recent, &key("a"), None, &key("f"), Timestamp(5));
        assert_eq!(gaps.end_of(&key("a"), Timestamp(4)), None);
        assert_eq!(gaps.end_of(&key("c"), Timestamp(5)), Some(key("f")));
        assert_eq!(gaps.end_of(&key("f"), Timestamp(5)), None);
        gaps.learn(&recent, &key("c"), Some(&key("f")), &key("k"), Timestamp(7));
        assert_eq!(gaps.end_of(&key("a"), Timestamp(6)), None);
        assert_eq!(gaps.end_of(&key("a"), Timestamp(7)), Some(key("k")));
        gaps.learn(&recent, &key("0"), None, &key("z"), Timestamp(9));
        assert_eq!(gaps.gaps.lock().len(), 1, "the larger one replaces the smaller");
    }

    #[test]
    fn a_gap_ends_where_a_key_is_written() {
        let (gaps, recent) = gaps();
        gaps.learn(&recent, &key("a"), None, &key("f"), Timestamp(5));
        gaps.note_put(&key("f"));
        assert_eq!(gaps.end_of(&key("a"), Timestamp(5)), Some(key("f")));
        gaps.note_put(&key("c"));
        assert_eq!(gaps.end_of(&key("a"), Timestamp(5)), Some(key("c")));
        assert_eq!(gaps.end_of(&key("c"), Timestamp(5)), None);
        // A scan that skipped to the old end must not take the keys after the new end for empty.
        gaps.learn(&recent, &key("a"), Some(&key("f")), &key("k"), Timestamp(6));
        assert_eq!(gaps.end_of(&key("a"), Timestamp(6)), Some(key("c")));
        gaps.note_put(&key("a"));
        assert_eq!(gaps.end_of(&key("a"), Timestamp(6)), None);
    }

    #[test]
    fn a_range_with_a_commit_in_progress_or_since_the_snapshot_becomes_no_gap() {
        let (gaps, recent) = gaps();
        recent.lock(1, &key("c"), Timestamp(5)).unwrap();
        gaps.learn(&recent, &key("a"), None, &key("f"), Timestamp(5));
        assert_eq!(gaps.end_of(&key("a"), Timestamp(9)), None);
        recent.commit(&key("c"), Timestamp(6));
        gaps.learn(&recent, &key("a"), None, &key("f"), Timestamp(5));
        assert_eq!(gaps.end_of(&key("a"), Timestamp(9)), None);
        gaps.learn(&recent, &key("a"), None, &key("f"), Timestamp(6));
        assert_eq!(gaps.end_of(&key("a"), Timestamp(9)), Some(key("f")));
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
        gaps.learn(&recent, &key("a"), None, &key("c7"), Timestamp(5));
        assert_eq!(gaps.end_of(&key("a"), Timestamp(9)), None);
        gaps.learn(&recent, &key("a"), None, &key("c7"), Timestamp(6));
        assert_eq!(gaps.end_of(&key("a"), Timestamp(9)), Some(key("c7")));
    }

    #[test]
    fn the_number_of_gaps_is_limited() {
        let (gaps, recent) = gaps();
        for number in 0..MANY as u64 + 10 {
            let [first, end] = [2 * number, 2 * number + 1].map(|number| Key::new(&number.to_be_bytes()));
            gaps.learn(&recent, &first, None, &end, Timestamp(1));
        }
        assert_eq!(gaps.gaps.lock().len(), MANY);
    }
}
