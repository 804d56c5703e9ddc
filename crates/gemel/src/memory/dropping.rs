//! Dropping a keyspace, and waiting for the commits in one.

use super::record::{Attempt, RecordRef};
use super::{ENTRIES_PER_PIN, MemoryEngine, record_bytes};
use crate::engine::{Direction, KeyspaceId};
use crate::error::Result;
use crate::key::{Key, KeyRange};
use crossbeam_utils::Backoff;
use std::ops::{Bound, ControlFlow};
use std::sync::atomic::Ordering;

/// An owner that no record has: transactions have numbers above zero.
const NOBODY: u64 = 0;

impl MemoryEngine {
    /// See [`crate::engine::Engine::drain`].
    pub(super) fn wait_for_commits(&self, keyspace: KeyspaceId) -> Result<()> {
        let tree = self.keyspaces.get(keyspace)?;
        let backoff = Backoff::new();
        let mut lower = Bound::Unbounded;
        loop {
            let (mut entries, mut is_locked, mut next) = (0, false, None);
            let range = KeyRange { lower: lower.clone(), upper: Bound::Unbounded };
            let _ = tree.scan(&range, Direction::Forward, |key, record| {
                if record.is_locked_by_another(NOBODY) {
                    is_locked = true;
                    next = Some(Bound::Included(key.clone()));
                    return ControlFlow::Break(());
                }
                entries += 1;
                if entries < ENTRIES_PER_PIN {
                    return ControlFlow::Continue(());
                }
                next = Some(Bound::Excluded(key.clone()));
                ControlFlow::Break(())
            });
            // The wait is outside of the scan, which may hold a part of the index.
            if is_locked {
                backoff.snooze();
            }
            match next {
                Some(next) => lower = next,
                None => return Ok(()),
            }
        }
    }

    /// See [`crate::engine::Engine::drop_keyspace`]. Garbage of the keyspace's records stays queued until the watermark
    /// passes it, as always.
    pub(super) fn drop_records(&self, keyspace: KeyspaceId) -> Result<()> {
        let tree = self.keyspaces.get(keyspace)?;
        let backoff = Backoff::new();
        loop {
            let mut lower = Bound::Unbounded;
            let mut was_empty = true;
            loop {
                let mut some: Vec<(Key, RecordRef)> = Vec::with_capacity(ENTRIES_PER_PIN);
                let range = KeyRange { lower, upper: Bound::Unbounded };
                let _ = tree.scan(&range, Direction::Forward, |key, record| {
                    some.push((key.clone(), record.clone()));
                    if some.len() < ENTRIES_PER_PIN {
                        ControlFlow::Continue(())
                    } else {
                        ControlFlow::Break(())
                    }
                });
                let Some((last, _)) = some.last() else { break };
                lower = Bound::Excluded(last.clone());
                was_empty = false;
                let mut retired = self.retired();
                for (key, record) in &some {
                    // A locked record is being committed or given up, and a dead one is being removed: the next pass
                    // looks again.
                    if record.try_kill() == Attempt::Locked {
                        tree.remove(key, |found| found.is(record));
                        record.versions.clear(&mut retired);
                        retired.add_bytes(record_bytes(key));
                        self.counters.0.records.fetch_sub(1, Ordering::Relaxed);
                    }
                }
            }
            if was_empty {
                return Ok(());
            }
            backoff.snooze();
        }
    }
}
