//! The keys that are being committed or were committed since the watermark, for first-committer-wins without a look at
//! the tree.
//!
//! A key that is not here was last committed at or before the watermark, hence before every snapshot in use.

use crate::clock::Timestamp;
use crate::error::Conflict;
use crate::key::{Key, KeyRange};
use parking_lot::Mutex;
use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, VecDeque};

/// Number of keys forgotten under one lock, so nobody waits long for it.
const STEP: usize = 256;

/// The recent keys of one keyspace.
#[derive(Debug, Default)]
pub(crate) struct Recent(Mutex<Keys>);

#[derive(Debug, Default)]
struct Keys {
    keys: BTreeMap<Key, Entry>,
    /// Committed keys, nearly in order of their timestamps.
    committed: VecDeque<(Timestamp, Key)>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The transaction that is committing the key now.
    owner: Option<u64>,
    /// Timestamp of the last commit of the key; zero if it does not matter any more.
    committed: Timestamp,
}

impl Entry {
    fn free_for(self, owner: u64, since: Timestamp) -> Result<(), Conflict> {
        if self.owner.is_some_and(|other| other != owner) {
            Err(Conflict::Locked)
        } else if self.committed > since {
            Err(Conflict::Write)
        } else {
            Ok(())
        }
    }
}

impl Recent {
    /// Locks a key, unless it is locked or was committed after `since`.
    pub(crate) fn lock(&self, owner: u64, key: &Key, since: Timestamp) -> Result<(), Conflict> {
        let mut keys = self.0.lock();
        match keys.keys.entry(key.clone()) {
            Slot::Vacant(slot) => {
                slot.insert(Entry { owner: Some(owner), committed: Timestamp::ZERO });
            }
            Slot::Occupied(mut slot) => {
                slot.get().free_for(owner, since)?;
                slot.get_mut().owner = Some(owner);
            }
        }
        Ok(())
    }

    /// Unlocks a key that was not committed.
    pub(crate) fn unlock(&self, key: &Key) {
        let mut keys = self.0.lock();
        if let Some(entry) = keys.keys.get_mut(key) {
            entry.owner = None;
            if entry.committed == Timestamp::ZERO {
                keys.keys.remove(key);
            }
        }
    }

    /// Unlocks a key that was committed at `at`.
    pub(crate) fn commit(&self, key: &Key, at: Timestamp) {
        let mut keys = self.0.lock();
        if let Some(entry) = keys.keys.get_mut(key) {
            *entry = Entry { owner: None, committed: at };
            keys.committed.push_back((at, key.clone()));
        }
    }

    /// Returns true if no other owner is committing the key, and nobody has committed it after `since`.
    pub(crate) fn validate_key(&self, owner: u64, key: &Key, since: Timestamp) -> bool {
        self.0.lock().keys.get(key).is_none_or(|entry| entry.free_for(owner, since).is_ok())
    }

    /// Same as [`Recent::validate_key`], for all keys of a range.
    pub(crate) fn validate_range(&self, owner: u64, range: &KeyRange, since: Timestamp) -> bool {
        let bounds = (range.lower.as_ref(), range.upper.as_ref());
        range.is_empty()
            || self
                .0
                .lock()
                .keys
                .range::<Key, _>(bounds)
                .all(|(_, entry)| entry.free_for(owner, since).is_ok())
    }

    /// Forgets the commits at or before the watermark.
    pub(crate) fn collect(&self, watermark: Timestamp) {
        while !self.collect_some(watermark) {}
    }

    /// Forgets up to [`STEP`] commits. Returns true if none is left.
    fn collect_some(&self, watermark: Timestamp) -> bool {
        let mut keys = self.0.lock();
        for _ in 0..STEP {
            // A commit that is queued behind a newer one waits for that one.
            if keys.committed.front().is_none_or(|(at, _)| *at > watermark) {
                return true;
            }
            let Some((_, key)) = keys.committed.pop_front() else { return true };
            let Some(entry) = keys.keys.get_mut(&key) else { continue };
            if entry.committed > watermark {
                continue;
            }
            // If the key is locked, the owner removes it when it gives up.
            entry.committed = Timestamp::ZERO;
            if entry.owner.is_none() {
                keys.keys.remove(&key);
            }
        }
        false
    }

    /// Returns the number of keys being committed or committed since the watermark.
    pub(crate) fn len(&self) -> usize {
        self.0.lock().keys.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::Bound;

    fn key(name: &str) -> Key {
        Key::new(name.as_bytes())
    }

    fn range(lower: &str, upper: &str) -> KeyRange {
        KeyRange { lower: Bound::Included(key(lower)), upper: Bound::Excluded(key(upper)) }
    }

    #[test]
    fn a_key_has_one_owner_and_conflicts_with_writes_on_older_snapshots() {
        let recent = Recent::default();
        recent.lock(1, &key("k"), Timestamp(5)).unwrap();
        assert_eq!(recent.lock(2, &key("k"), Timestamp(5)), Err(Conflict::Locked));
        recent.commit(&key("k"), Timestamp(6));
        assert_eq!(recent.lock(2, &key("k"), Timestamp(5)), Err(Conflict::Write));
        recent.lock(2, &key("k"), Timestamp(6)).unwrap();
        recent.unlock(&key("k"));
        assert_eq!(recent.len(), 1, "its commit still matters");
    }

    #[test]
    fn validating_a_range_finds_keys_that_are_being_inserted() {
        let recent = Recent::default();
        assert!(recent.validate_range(1, &range("a", "z"), Timestamp(5)));
        recent.lock(2, &key("m"), Timestamp(5)).unwrap();
        assert!(!recent.validate_range(1, &range("a", "z"), Timestamp(5)));
        assert!(recent.validate_range(2, &range("a", "z"), Timestamp(5)), "one's own lock is no conflict");
        assert!(recent.validate_range(1, &range("n", "z"), Timestamp(5)));
        assert!(recent.validate_range(1, &range("z", "a"), Timestamp(5)), "crossed bounds hold nothing");
        recent.commit(&key("m"), Timestamp(6));
        assert!(!recent.validate_range(1, &range("a", "z"), Timestamp(5)));
        assert!(recent.validate_range(1, &range("a", "z"), Timestamp(6)));
    }

    #[test]
    fn only_commits_up_to_the_watermark_are_forgotten() {
        let recent = Recent::default();
        for at in 1..=1000 {
            let key = Key::new(&[at as u8, (at >> 8) as u8]);
            recent.lock(at, &key, Timestamp(at - 1)).unwrap();
            recent.commit(&key, Timestamp(at));
        }
        recent.lock(1, &key("held"), Timestamp(0)).unwrap();
        recent.collect(Timestamp(400));
        assert_eq!(recent.len(), 601);
        recent.collect(Timestamp(1000));
        assert_eq!(recent.len(), 1);
    }

    #[test]
    fn a_key_forgotten_while_locked_is_removed_when_it_is_unlocked() {
        let recent = Recent::default();
        recent.lock(1, &key("k"), Timestamp(0)).unwrap();
        recent.commit(&key("k"), Timestamp(1));
        recent.lock(2, &key("k"), Timestamp(1)).unwrap();
        recent.collect(Timestamp(1));
        assert_eq!(recent.lock(3, &key("k"), Timestamp(1)), Err(Conflict::Locked));
        recent.unlock(&key("k"));
        assert_eq!(recent.len(), 0);
    }
}
