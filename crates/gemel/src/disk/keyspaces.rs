//! The open keyspaces by number. A look-up takes no lock, because every read and write starts with one.

use super::gaps::Gaps;
use super::recent::Recent;
use super::store::Store;
use crate::clock::Timestamp;
use crate::engine::{Direction, Each, KeyspaceId};
use crate::error::{Error, Result};
use crate::key::{Key, KeyRange};
use std::ops::Bound;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Many, because numbers of dropped keyspaces are never used again.
const CHUNKS: usize = 4096;
const CHUNK: usize = 256;

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

type Chunk = Box<[OnceLock<Keyspace>]>;

/// The table of open keyspaces. It only grows: a keyspace stays until the engine is closed, even if it is dropped.
pub(crate) struct Keyspaces {
    chunks: Box<[OnceLock<Chunk>]>,
}

impl Default for Keyspaces {
    fn default() -> Self {
        Self { chunks: empty(CHUNKS) }
    }
}

impl Keyspaces {
    /// Returns the keyspace of a number, if it is open.
    pub(crate) fn get(&self, id: KeyspaceId) -> Option<&Keyspace> {
        let id = id.0 as usize;
        self.chunks.get(id / CHUNK)?.get()?[id % CHUNK].get()
    }

    /// Adds a keyspace, unless its number exists already.
    ///
    /// # Errors
    /// The number is too large.
    pub(crate) fn add(&self, id: KeyspaceId, keyspace: Keyspace) -> Result<()> {
        let id = id.0 as usize;
        let chunk = self.chunks.get(id / CHUNK).ok_or_else(|| {
            Error::Capacity(format!(
                "keyspace {id} exceeds the limit of {} keyspaces in a database: copy the rows into a new database",
                CHUNKS * CHUNK
            ))
        })?;
        let _ = chunk.get_or_init(|| empty(CHUNK))[id % CHUNK].set(keyspace);
        Ok(())
    }

    /// Returns all open keyspaces, without the dropped ones.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Keyspace> {
        let chunks = self.chunks.iter().filter_map(OnceLock::get);
        chunks
            .flat_map(|chunk| chunk.iter().filter_map(OnceLock::get))
            .filter(|keyspace| !keyspace.is_gone.load(Ordering::SeqCst))
    }
}

fn empty<T>(len: usize) -> Box<[OnceLock<T>]> {
    (0..len).map(|_| OnceLock::new()).collect()
}
