//! A keyspace of the disk engine: its files, its newest writes, and what conflict checks need.

use super::gaps::Gaps;
use super::recent::Recent;
use super::store::Store;
use crate::engine::Each;
use crate::error::Result;
use crate::ids::Direction;
use crate::key::{Key, KeyRange};
use crate::order::clock::Timestamp;
use std::ops::Bound;
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
        Self {
            found: store.persisted(),
            store,
            recent: Recent::default(),
            gaps: Gaps::default(),
            is_gone: AtomicBool::new(false),
        }
    }

    /// Scans forward from `lower`, and skips the gap around it if there is one.
    pub(super) fn scan_over_gaps(
        &self,
        lower: &Key,
        upper: &Bound<Key>,
        at: Timestamp,
        each: &mut Each<'_>,
    ) -> Result<()> {
        let skipped = self.gaps.end_of(lower, at);
        let range = KeyRange {
            lower: Bound::Included(skipped.as_ref().unwrap_or(lower).clone()),
            upper: upper.clone(),
        };
        if range.is_empty() {
            return Ok(());
        }
        let mut first = None;
        self.store.scan(&range, Direction::Forward, at, &mut |key, value, written| {
            if first.is_none() {
                first = Some(Key::new(key));
            }
            each(key, value, written)
        })?;
        let end = match (&first, upper) {
            (Some(first), _) => first,
            (None, Bound::Excluded(upper)) => upper,
            (None, _) => return Ok(()),
        };
        self.gaps.learn(&self.recent, lower, skipped.as_ref(), end, at);
        Ok(())
    }
}
