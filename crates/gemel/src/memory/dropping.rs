//! Dropping a keyspace.

use super::record::RecordRef;
use super::{ENTRIES_PER_PIN, MemoryEngine, index, record_bytes};
use crate::error::Result;
use crate::ids::{Direction, KeyspaceId};
use crate::key::{Key, KeyRange};
use crossbeam_utils::Backoff;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

impl MemoryEngine {
    /// See [`crate::engine::Engine::drop_keyspace`]. Garbage of the keyspace's records stays queued until the watermark
    /// passes it, as always.
    pub(super) fn drop_records(&self, keyspace: KeyspaceId) -> Result<()> {
        let tree = self.keyspaces.get(keyspace)?;
        let backoff = Backoff::new();
        loop {
            let mut rest = KeyRange::ALL;
            let mut was_empty = true;
            loop {
                let mut some: Vec<(Key, RecordRef)> = Vec::with_capacity(ENTRIES_PER_PIN);
                let _ = tree.scan(
                    &rest,
                    Direction::Forward,
                    |_| (),
                    |key, record| {
                        some.push((key.clone(), record.clone()));
                        if some.len() < ENTRIES_PER_PIN {
                            ControlFlow::Continue(())
                        } else {
                            ControlFlow::Break(())
                        }
                    },
                );
                let Some((last, _)) = some.last() else { break };
                Direction::Forward.go_on(&mut rest, last.clone());
                was_empty = false;
                let mut retired = self.retired();
                for (key, record) in &some {
                    // A locked record is being committed or given up, and a dead one is being removed: the next pass
                    // looks again.
                    if let Ok(Some(_)) = index::remove(tree, key, record, || true, &mut retired) {
                        retired.add_bytes(record_bytes(key));
                        self.counters.0.records.fetch_sub(1, Ordering::Relaxed);
                    }
                }
            }
            if was_empty {
                return Ok(());
            }
            // A commit that panicked never unlocks its records.
            self.clock.check()?;
            backoff.snooze();
        }
    }
}
