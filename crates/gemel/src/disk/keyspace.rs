//! A keyspace of the disk engine: its files, its newest writes, and what conflict checks need.

use super::gaps::{Edge, Gaps};
use super::recent::Recent;
use super::store::Store;
use crate::engine::Each;
use crate::error::Result;
use crate::ids::Direction;
use crate::key::{Key, KeyRange};
use crate::order::clock::Timestamp;
use std::sync::atomic::AtomicBool;

/// An open keyspace.
pub(crate) struct Keyspace {
    pub(crate) store: Box<dyn Store>,
    pub(crate) recent: Recent,
    pub(super) gaps: Gaps,
    /// The newest commit in the keyspace's files when it was opened.
    pub(crate) found: Timestamp,
    /// True once the keyspace is dropped and empty.
    pub(super) is_gone: AtomicBool,
}

impl Keyspace {
    /// Makes a keyspace over a store that was just opened.
    pub(crate) fn new(store: Box<dyn Store>) -> Self {
        let gaps = Gaps::default();
        if store.has_deletions() {
            gaps.note_delete();
        }
        Self {
            found: store.persisted(),
            store,
            recent: Recent::default(),
            gaps,
            is_gone: AtomicBool::new(false),
        }
    }

    /// Scans a range that is not empty, and skips the gap at its beginning if there is one.
    pub(super) fn scan_over_gaps(
        &self,
        range: &KeyRange,
        direction: Direction,
        at: Timestamp,
        each: &mut Each<'_>,
    ) -> Result<()> {
        let (lower, upper) = (Edge::of_lower(&range.lower), Edge::of_upper(&range.upper));
        let (begin, mut end) = match direction {
            Direction::Forward => (lower, upper),
            Direction::Backward => (upper, lower),
        };
        let skipped = self.gaps.end_of(&begin, direction, at);
        let from = skipped.as_ref().unwrap_or(&begin);
        let Some(rest) = Edge::range(from, &end, direction) else { return Ok(()) };
        let mut first = None;
        self.store.scan(&rest, direction, at, &mut |key, value, written| {
            if first.is_none() {
                first = Some(Key::new(key));
            }
            each(key, value, written)
        })?;
        if let Some(first) = first {
            end = Edge::before(first, direction);
        }
        self.gaps.learn(&self.recent, direction, &begin, skipped.as_ref(), &end, at);
        Ok(())
    }
}
