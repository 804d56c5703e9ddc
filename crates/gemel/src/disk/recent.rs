//! The keys that are being committed or were committed since the watermark, for first-committer-wins without a look at
//! the tree.
//!
//! A key that is not here was last committed at or before the watermark, hence before every snapshot in use. If one old
//! snapshot holds back the watermark, the number of commits here is limited nevertheless: the oldest ones are forgotten.
//! Then nobody knows if a key that is not here was committed after a snapshot that is older than the forgotten commits.

use crate::error::Conflict;
use crate::key::{Key, KeyRange};
use crate::order::clock::{Broken, Timestamp};
use crossbeam_utils::Backoff;
use parking_lot::Mutex;
use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, VecDeque};

/// Number of keys forgotten under one lock, so nobody waits long for it.
const STEP: usize = 256;
/// Number of these steps in one collection.
const STEPS: usize = 8;

/// The recent keys of one keyspace.
#[derive(Debug, Default)]
pub(crate) struct Recent(Mutex<Keys>);

#[derive(Debug, Default)]
struct Keys {
    keys: BTreeMap<Key, Entry>,
    /// Committed keys, nearly in order of their timestamps.
    committed: VecDeque<(Timestamp, Key)>,
    /// The newest commit that was forgotten. If it is above the watermark, running transactions may be too old for an
    /// exact check. Snapshots below the watermark are those of transactions that have expired.
    forgotten: Timestamp,
}

/// The reason why a key can't be locked, or why a read of it is not known to be current.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// A conflict with another transaction.
    Conflict(Conflict),
    /// Commits of the key since the snapshot may have been forgotten.
    Forgotten,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The transaction that is committing the key now.
    owner: Option<u64>,
    /// Timestamp of the last commit of the key; zero if it is not known.
    committed: Timestamp,
}

impl Entry {
    /// Entry for a key that is not in the table.
    const MISSING: Self = Self { owner: None, committed: Timestamp::ZERO };

    fn free_for(self, owner: u64, since: Timestamp, forgotten: Timestamp) -> Result<(), Obstacle> {
        if self.owner.is_some_and(|other| other != owner) {
            Err(Obstacle::Conflict(Conflict::Locked))
        } else if self.committed > since {
            Err(Obstacle::Conflict(Conflict::Write))
        } else if self.committed == Timestamp::ZERO && since < forgotten {
            Err(Obstacle::Forgotten)
        } else {
            Ok(())
        }
    }
}

impl Recent {
    /// Locks a key, unless it is locked or may have been committed after `since`.
    pub(crate) fn lock(&self, owner: u64, key: &Key, since: Timestamp) -> Result<(), Obstacle> {
        let Keys { keys, forgotten, .. } = &mut *self.0.lock();
        match keys.entry(key.clone()) {
            Slot::Vacant(slot) => {
                Entry::MISSING.free_for(owner, since, *forgotten)?;
                slot.insert(Entry { owner: Some(owner), ..Entry::MISSING });
            }
            Slot::Occupied(mut slot) => {
                slot.get().free_for(owner, since, *forgotten)?;
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

    /// Checks that no other owner is committing the key, and that nobody has committed it after `since`.
    pub(crate) fn validate_key(&self, owner: u64, key: &Key, since: Timestamp) -> Result<(), Obstacle> {
        let keys = self.0.lock();
        let entry = keys.keys.get(key).copied().unwrap_or(Entry::MISSING);
        entry.free_for(owner, since, keys.forgotten)
    }

    /// Same as [`Recent::validate_key`], for all keys of a range.
    pub(crate) fn validate_range(
        &self,
        owner: u64,
        range: &KeyRange,
        since: Timestamp,
    ) -> Result<(), Obstacle> {
        if range.is_empty() {
            return Ok(());
        }
        let keys = self.0.lock();
        let bounds = (range.lower.as_ref(), range.upper.as_ref());
        // Known conflicts go first: they say more than that something was forgotten.
        for (_, entry) in keys.keys.range::<Key, _>(bounds) {
            entry.free_for(owner, since, Timestamp::ZERO)?;
        }
        // Keys of the range that are not in the table may have been committed, too.
        Entry::MISSING.free_for(owner, since, keys.forgotten)
    }

    /// Forgets the commits at or before the watermark. If more than `limit` are left, forgets the oldest ones too, but
    /// none above the horizon: so transactions that begin later are never too old. Forgets only some at a time, because
    /// the thread that happens to collect after a large commit should not do all of it.
    pub(crate) fn collect(&self, watermark: Timestamp, horizon: Timestamp, limit: usize) {
        for _ in 0..STEPS {
            if self.collect_some(watermark, horizon, limit) {
                break;
            }
        }
    }

    /// Forgets up to [`STEP`] commits. Returns true if none is left to forget.
    fn collect_some(&self, watermark: Timestamp, horizon: Timestamp, limit: usize) -> bool {
        let Keys { keys, committed, forgotten } = &mut *self.0.lock();
        for _ in 0..STEP {
            let newest = if committed.len() > limit { horizon.max(watermark) } else { watermark };
            // A commit that is queued behind a newer one waits for that one.
            let Some((at, key)) = committed.pop_front_if(|(at, _)| *at <= newest) else { return true };
            let Some(entry) = keys.get_mut(&key) else { continue };
            // A newer commit of the key is in the queue too.
            if entry.committed > at.max(watermark) {
                continue;
            }
            *forgotten = entry.committed.max(*forgotten);
            // If the key is locked, the owner removes it when it gives up.
            entry.committed = Timestamp::ZERO;
            if entry.owner.is_none() {
                keys.remove(&key);
            }
        }
        false
    }

    /// Waits until each key that is locked now has been unlocked once, or `check` fails.
    pub(crate) fn drain(&self, check: impl Fn() -> Result<(), Broken>) -> Result<(), Broken> {
        let owner = |keys: &Keys, key: &Key| keys.keys.get(key).and_then(|entry| entry.owner);
        let locked: Vec<_> = {
            let keys = self.0.lock();
            keys.keys.iter().filter_map(|(key, entry)| Some((key.clone(), entry.owner?))).collect()
        };
        for (key, holder) in locked {
            let backoff = Backoff::new();
            while owner(&self.0.lock(), &key) == Some(holder) {
                check()?;
                backoff.snooze();
            }
        }
        Ok(())
    }

    /// Forgets all commits. Keys that are locked stay until they are unlocked.
    pub(crate) fn clear(&self) {
        let mut keys = self.0.lock();
        keys.committed = VecDeque::new();
        keys.keys.retain(|_, entry| {
            entry.committed = Timestamp::ZERO;
            entry.owner.is_some()
        });
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

    const LOCKED: Result<(), Obstacle> = Err(Obstacle::Conflict(Conflict::Locked));
    const WRITTEN: Result<(), Obstacle> = Err(Obstacle::Conflict(Conflict::Write));

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
        assert_eq!(recent.lock(2, &key("k"), Timestamp(5)), LOCKED);
        recent.commit(&key("k"), Timestamp(6));
        assert_eq!(recent.lock(2, &key("k"), Timestamp(5)), WRITTEN);
        recent.lock(2, &key("k"), Timestamp(6)).unwrap();
        recent.unlock(&key("k"));
        assert_eq!(recent.len(), 1, "its commit still matters");
    }

    #[test]
    fn validating_a_range_finds_keys_that_are_being_inserted() {
        let recent = Recent::default();
        let check =
            |owner, (lower, upper), at| recent.validate_range(owner, &range(lower, upper), Timestamp(at));
        assert_eq!(check(1, ("a", "z"), 5), Ok(()));
        recent.lock(2, &key("m"), Timestamp(5)).unwrap();
        assert_eq!(check(1, ("a", "z"), 5), LOCKED);
        assert_eq!(check(2, ("a", "z"), 5), Ok(()), "one's own lock is no conflict");
        assert_eq!(check(1, ("n", "z"), 5), Ok(()));
        assert_eq!(check(1, ("z", "a"), 5), Ok(()), "crossed bounds hold nothing");
        recent.commit(&key("m"), Timestamp(6));
        assert_eq!(check(1, ("a", "z"), 5), WRITTEN);
        assert_eq!(check(1, ("a", "z"), 6), Ok(()));
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
        recent.collect(Timestamp(400), Timestamp(1000), 1000);
        assert_eq!(recent.len(), 601);
        recent.collect(Timestamp(1000), Timestamp(1000), 1000);
        assert_eq!(recent.len(), 1);
        recent.lock(2, &key("other"), Timestamp(1000)).unwrap();
        // The snapshot of a transaction that has expired.
        assert_eq!(recent.validate_key(3, &key("third"), Timestamp(999)), Err(Obstacle::Forgotten));
    }

    #[test]
    fn the_oldest_commits_beyond_the_limit_are_forgotten_and_older_snapshots_are_told_so() {
        let recent = Recent::default();
        let commit = |name: &str, at: u64| {
            recent.lock(1, &key(name), Timestamp(at - 1)).unwrap();
            recent.commit(&key(name), Timestamp(at));
        };
        for (name, at) in [("a", 11), ("b", 12), ("c", 13), ("d", 14), ("e", 15)] {
            commit(name, at);
        }
        recent.lock(7, &key("b"), Timestamp(12)).unwrap();
        // The old snapshot is at 10. The last commit is not published yet.
        recent.collect(Timestamp(10), Timestamp(14), 3);
        assert_eq!(recent.len(), 4, "b is locked; c, d and e are remembered");
        let lock = |name: &str, since| {
            let outcome = recent.lock(2, &key(name), Timestamp(since));
            if outcome.is_ok() {
                recent.unlock(&key(name));
            }
            outcome
        };
        for name in ["a", "never"] {
            assert_eq!(lock(name, 11), Err(Obstacle::Forgotten));
            assert_eq!(lock(name, 12), Ok(()), "everything since then is remembered");
        }
        assert_eq!(lock("b", 11), LOCKED);
        recent.unlock(&key("b"));
        assert_eq!(lock("b", 11), Err(Obstacle::Forgotten));
        assert_eq!(lock("c", 11), WRITTEN);
        assert_eq!(lock("c", 13), Ok(()));
        let check = |lower, upper, since| recent.validate_range(2, &range(lower, upper), Timestamp(since));
        assert_eq!(check("a", "c", 11), Err(Obstacle::Forgotten));
        assert_eq!(check("a", "d", 11), WRITTEN);
        assert_eq!(check("z", "a", 11), Ok(()));
        assert_eq!(check("a", "c", 12), Ok(()));
        assert_eq!(recent.validate_key(2, &key("a"), Timestamp(11)), Err(Obstacle::Forgotten));
        assert_eq!(recent.validate_key(2, &key("a"), Timestamp(12)), Ok(()));
        recent.collect(Timestamp(10), Timestamp(14), 0);
        assert_eq!(recent.len(), 1, "the unpublished commit is never forgotten");
        assert_eq!(lock("a", 14), Ok(()));
    }

    #[test]
    fn commits_of_a_hot_key_are_limited_and_forget_nothing() {
        let recent = Recent::default();
        for at in 1..=1000 {
            recent.lock(at, &key("hot"), Timestamp(at - 1)).unwrap();
            recent.commit(&key("hot"), Timestamp(at));
        }
        recent.collect(Timestamp(0), Timestamp(1000), 10);
        assert_eq!(recent.0.lock().committed.len(), 10);
        assert_eq!(recent.lock(1, &key("hot"), Timestamp(999)), WRITTEN);
        recent.lock(1, &key("cold"), Timestamp(0)).unwrap();
    }

    #[test]
    fn a_key_forgotten_while_locked_is_removed_when_it_is_unlocked() {
        let recent = Recent::default();
        recent.lock(1, &key("k"), Timestamp(0)).unwrap();
        recent.commit(&key("k"), Timestamp(1));
        recent.lock(2, &key("k"), Timestamp(1)).unwrap();
        recent.collect(Timestamp(1), Timestamp(1), 10);
        assert_eq!(recent.lock(3, &key("k"), Timestamp(1)), LOCKED);
        recent.unlock(&key("k"));
        assert_eq!(recent.len(), 0);
    }
}
