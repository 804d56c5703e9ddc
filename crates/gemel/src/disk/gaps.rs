//! Stretches of keys that are known to hold nothing, so that scans need not walk over what was deleted there.
//!
//! A queue (TPC-C's new orders, say) is scanned from its beginning, where everything has been deleted but not yet merged away.
//! Whoever scans from a key on and finds the first row far behind it leaves a note, a gap, and the next one begins
//! at its end. A gap is good for snapshots that are not older than the one that found it, and ends where a key is written
//! again.

use super::recent::Recent;
use crate::clock::Timestamp;
use crate::key::{Key, KeyRange};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};

/// Gaps of a keyspace, of some 100 bytes each. Beyond that a new one takes the place of another.
const MANY: usize = 1 << 16;
/// Not the number of any transaction.
const NOBODY: u64 = 0;

/// The gaps of one keyspace, which do not overlap.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    /// Whether anything was ever deleted; until then there are no gaps.
    deleted: AtomicBool,
    /// By their first key.
    gaps: Mutex<BTreeMap<Key, Gap>>,
}

#[derive(Debug)]
struct Gap {
    /// The first key behind it.
    end: Key,
    /// No snapshot at or after this sees anything in it.
    since: Timestamp,
}

/// The gap that lies around `key`.
fn around<'a>(gaps: &'a mut BTreeMap<Key, Gap>, key: &Key) -> Option<(&'a Key, &'a mut Gap)> {
    gaps.range_mut(..=key).next_back().filter(|(_, gap)| *key < gap.end)
}

impl Gaps {
    /// Whether there can be any.
    pub(super) fn are_likely(&self) -> bool {
        self.deleted.load(Ordering::SeqCst)
    }

    /// Says that a commit has deleted a key. Before it is published.
    pub(super) fn note_delete(&self) {
        // The load spares the cache line.
        if !self.are_likely() {
            self.deleted.store(true, Ordering::SeqCst);
        }
    }

    /// Says that a commit has written a key, which it has locked. Before it is published.
    pub(super) fn note_put(&self, key: &Key) {
        // Whoever sets this later and then learns of a gap around the key sees that it is locked, or was written.
        if !self.are_likely() {
            return;
        }
        let mut gaps = self.gaps.lock();
        if let Some((_, gap)) = around(&mut gaps, key) {
            gap.end = key.clone();
        }
    }

    /// Where a scan at `at` that would begin at `lower` may begin.
    pub(super) fn end_of(&self, lower: &Key, at: Timestamp) -> Option<Key> {
        let mut gaps = self.gaps.lock();
        around(&mut gaps, lower).filter(|(_, gap)| gap.since <= at).map(|(_, gap)| gap.end.clone())
    }

    /// Says that a scan at `at` from `lower` on, begun at `skipped` if a gap led there, found nothing before `end`.
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
        // Held until the gap is there: who locks a key later than we look for locks shortens it in `note_put`.
        let mut gaps = self.gaps.lock();
        let first = match (around(&mut gaps, lower), skipped) {
            (Some((first, gap)), Some(skipped)) if gap.end == *skipped && gap.since <= at => first.clone(),
            (None, None) => lower.clone(),
            // Another scan has learnt more, or knows a newer one that is of no use here.
            _ => return,
        };
        let stretch = KeyRange { lower: Bound::Included(from.clone()), upper: Bound::Excluded(end.clone()) };
        // What was committed after the snapshot, or is about to be.
        if !recent.validate_range(NOBODY, &stretch, at) {
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
    fn a_gap_grows_with_what_is_deleted_and_is_not_for_older_snapshots() {
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
        // One who had skipped to the old end must not take it for empty up to what he found.
        gaps.learn(&recent, &key("a"), Some(&key("f")), &key("k"), Timestamp(6));
        assert_eq!(gaps.end_of(&key("a"), Timestamp(6)), Some(key("c")));
        gaps.note_put(&key("a"));
        assert_eq!(gaps.end_of(&key("a"), Timestamp(6)), None);
    }

    #[test]
    fn nothing_is_learnt_of_a_stretch_where_somebody_is_committing_or_has_since() {
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
    fn there_are_never_very_many() {
        let (gaps, recent) = gaps();
        for number in 0..MANY as u64 + 10 {
            let [first, end] = [2 * number, 2 * number + 1].map(|number| Key::new(&number.to_be_bytes()));
            gaps.learn(&recent, &first, None, &end, Timestamp(1));
        }
        assert_eq!(gaps.gaps.lock().len(), MANY);
    }
}
