//! A change of the catalog that is getting its place in the order of each engine (`DESIGN.md`, "Catalog").

use crate::engine::{Engine, Write};
use crate::files::fail_point;
use crate::lock_manager::LockManager;
use crate::order::clock::Timestamp;
use crate::order::protocol::{self, Part};
use parking_lot::MutexGuard;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// A change that is being stamped. Dropping it publishes it in all engines: transactions that begin afterwards have it.
pub(crate) struct Stamping<'a> {
    pub(super) engines: &'a [Arc<dyn Engine>],
    /// The count of the coordinator. It is odd while a change is counted and not published.
    pub(super) changes: &'a AtomicU64,
    pub(super) locks: &'a LockManager,
    /// The change's stamp in the anchor.
    pub(crate) at: Timestamp,
    /// The stamp from which on earlier handles are closed.
    pub(crate) closes_at: Timestamp,
    /// The stamps that are not published yet, in the order of the engines.
    pub(super) parts: Vec<Part<Vec<Write>>>,
    /// True once the change is counted, and until it is published in the anchor.
    pub(super) is_counted: bool,
    pub(super) _one: MutexGuard<'a, ()>,
}

/// Adds to the count of changes. The gates of the change are closed already: who waits for a key that is gone gives up.
pub(super) fn count(changes: &AtomicU64, locks: &LockManager, steps: u64) {
    changes.fetch_add(steps, Ordering::SeqCst);
    // Pairs with the fence in `check_changes`.
    fence(Ordering::SeqCst);
    locks.look_again();
}

impl Stamping<'_> {
    /// Counts the change, whose gates are closed.
    pub(super) fn count(&mut self) {
        count(self.changes, self.locks, 1);
        self.is_counted = true;
    }

    /// Publishes the change in the anchor. Waits for the commits that have drawn there before. They wait for no disk, but
    /// some for the list of keyspaces.
    pub(super) fn publish(&mut self) {
        fail_point("catalog.publishing");
        self.publish_some(1);
        self.end_count();
    }

    fn end_count(&mut self) {
        if std::mem::take(&mut self.is_counted) {
            self.changes.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn publish_some(&mut self, parts: usize) {
        let some = self.parts.drain(..parts.min(self.parts.len())).collect::<Vec<_>>();
        protocol::publish(&some, |engine| self.engines[engine].clock());
    }
}

impl Drop for Stamping<'_> {
    fn drop(&mut self) {
        // After a panic the anchor is missing too. It is the first one left.
        self.publish_some(self.engines.len());
        self.end_count();
    }
}
