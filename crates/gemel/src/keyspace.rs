//! Handles of keyspaces.

use crate::error::{Error, Result};
use crate::ids::KeyspaceId;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

/// The engine of a table or keyspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// Memory engine: all rows are in RAM.
    Memory,
    /// Disk engine: rows are on disk, with a block cache.
    Disk,
}

impl Engine {
    /// Returns the engine's name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Disk => "disk",
        }
    }

    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

/// The kind of a part of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// A keyspace that belongs to no table.
    Keyspace,
    /// The rows of a table.
    Table,
    /// A secondary index of a table.
    Index,
}

impl PartKind {
    /// Returns the kind's name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Keyspace => "keyspace",
            Self::Table => "table",
            Self::Index => "index",
        }
    }
}

/// An ordered map from byte keys to byte values, in one engine. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Keyspace {
    /// The copy of a database that the handle is of.
    pub(crate) owner: u64,
    pub(crate) id: KeyspaceId,
    pub(crate) engine: u8,
    pub(crate) name: Arc<str>,
    pub(crate) gate: Arc<Gate>,
}

/// The accesses that a keyspace's handles allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Standing {
    /// All.
    Open,
    /// Reads, for now: an index is being added to the table.
    Indexing,
    /// Reads, while the successor allows them: the table has an index now that the handle does not know.
    Outdated,
    /// None: the rows are gone.
    Dropped,
    /// None: the table has other keyspaces now.
    Truncated,
    /// None: the table has other columns now.
    Altered,
    /// None: the rows are in the successor, in another engine. Transactions that begin later use it instead.
    Moved,
}

/// The [`Standing`] of a keyspace. All handles that were given out between two changes of the table share one.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    standing: AtomicU8,
    /// Number of the catalog change that made these handles. A transaction that began before it can't use them: its
    /// snapshot may lack entries that the change wrote, or should have rows that the change deleted.
    pub(crate) born: u64,
    /// True if that change was a move.
    by_move: bool,
    /// The newer handle, which knows of later changes. Set before this handle is outdated or moved.
    successor: OnceLock<Keyspace>,
}

impl Gate {
    pub(crate) fn born_at(born: u64) -> Self {
        Self::new(born, false)
    }

    pub(crate) fn moved_at(born: u64) -> Self {
        Self::new(born, true)
    }

    fn new(born: u64, by_move: bool) -> Self {
        Self { standing: AtomicU8::new(Standing::Open as u8), born, by_move, successor: OnceLock::new() }
    }

    pub(crate) fn set(&self, standing: Standing) {
        self.standing.store(standing as u8, Ordering::SeqCst);
    }

    /// Closes the gate for writes in favour of a handle of the same keyspace.
    pub(crate) fn set_outdated(&self, successor: Keyspace) {
        // A gate gets one successor: it leaves the list of open keyspaces with it.
        let _ = self.successor.set(successor);
        self.set(Standing::Outdated);
    }

    /// Closes the gate in favour of a keyspace in another engine.
    pub(crate) fn set_moved(&self, successor: Keyspace) {
        let _ = self.successor.set(successor);
        self.set(Standing::Moved);
    }

    /// Returns true if the handles can be read through without a look at their successors.
    #[inline]
    fn allows_reads(&self) -> bool {
        self.standing.load(Ordering::Acquire) <= Standing::Indexing as u8
    }

    pub(crate) fn standing(&self) -> Standing {
        match self.standing.load(Ordering::Acquire) {
            0 => Standing::Open,
            1 => Standing::Indexing,
            2 => Standing::Outdated,
            3 => Standing::Dropped,
            4 => Standing::Truncated,
            5 => Standing::Altered,
            _ => Standing::Moved,
        }
    }
}

impl Drop for Gate {
    /// Frees a long chain of successors one by one: the default would call itself for each.
    fn drop(&mut self) {
        let mut next = self.successor.take();
        while let Some(keyspace) = next {
            next = Arc::into_inner(keyspace.gate).and_then(|mut gate| gate.successor.take());
        }
    }
}

impl Keyspace {
    /// Returns the keyspace's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the handle to read through instead of this one, which is this one unless its keyspace was moved.
    #[inline]
    pub(crate) fn for_reads(&self) -> Result<&Self> {
        if self.gate.allows_reads() { Ok(self) } else { self.follow() }
    }

    #[cold]
    fn follow(&self) -> Result<&Self> {
        // Of the newest keyspace the oldest handle, because newer ones need a newer transaction. The newest handle has
        // the standing.
        let (mut found, mut newest) = (self, self);
        loop {
            match (newest.gate.standing(), newest.gate.successor.get()) {
                (Standing::Open | Standing::Indexing, _) => return Ok(found),
                (Standing::Outdated | Standing::Moved, Some(next)) => {
                    if next.id != newest.id {
                        found = next;
                    }
                    newest = next;
                }
                _ => return Err(newest.refused()),
            }
        }
    }

    /// Returns the handle to write through instead of this one, which is this one unless its keyspace was moved.
    #[inline]
    pub(crate) fn for_writes(&self) -> Result<&Self> {
        let mut newest = self;
        loop {
            match newest.gate.standing() {
                Standing::Open => return Ok(newest),
                Standing::Moved => match newest.gate.successor.get() {
                    Some(next) => newest = next,
                    None => return Err(newest.refused()),
                },
                _ => return Err(newest.refused()),
            }
        }
    }

    /// Returns an error if the keyspace can't be read any more.
    #[inline]
    pub(crate) fn check_read(&self) -> Result<()> {
        if self.gate.allows_reads() { Ok(()) } else { self.check_followed() }
    }

    #[cold]
    fn check_followed(&self) -> Result<()> {
        if self.follow()?.id == self.id { Ok(()) } else { Err(Error::Moved(self.name().into())) }
    }

    /// Returns an error if the keyspace can't be written any more.
    #[inline]
    pub(crate) fn check_write(&self) -> Result<()> {
        if self.gate.standing() == Standing::Open { Ok(()) } else { Err(self.refused()) }
    }

    /// Returns an error for a transaction that began before the change that made the handle.
    #[inline]
    pub(crate) fn check_age(&self, changes: u64) -> Result<()> {
        if self.gate.born <= changes { Ok(()) } else { Err(self.too_new()) }
    }

    #[cold]
    fn too_new(&self) -> Error {
        if self.gate.by_move {
            return Error::Moved(self.name().into());
        }
        Error::TooOld(format!("{:?} was changed after the transaction began", self.name()))
    }

    #[cold]
    fn refused(&self) -> Error {
        let name = self.name();
        Error::Outdated(match self.gate.standing() {
            Standing::Open | Standing::Indexing => format!(
                "an index is being added to the table of {name:?}: \
                 write to it when that is done, in a new transaction, through a new handle of the table"
            ),
            Standing::Outdated => format!(
                "the table of {name:?} has a new index that this handle does not know: get the table again"
            ),
            Standing::Dropped => {
                format!("{name:?} was dropped: make it again, or get the new one of this name")
            }
            Standing::Truncated => format!("{name:?} was truncated: get the table again"),
            Standing::Altered => {
                format!(
                    "columns of {name:?} were added or dropped: get the table again, for a new transaction"
                )
            }
            Standing::Moved => return Error::Moved(name.into()),
        })
    }

    pub(crate) fn engine_index(&self) -> usize {
        usize::from(self.engine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyspace(id: u32) -> Keyspace {
        Keyspace { owner: 1, id: KeyspaceId(id), engine: 0, name: "k".into(), gate: Arc::default() }
    }

    #[test]
    fn a_handle_leads_over_many_moves_to_the_newest_and_is_freed() {
        let oldest = keyspace(0);
        let mut newest = oldest.clone();
        for id in 1..=200_000 {
            let next = keyspace(id);
            newest.gate.set_moved(next.clone());
            newest = next;
        }
        assert_eq!(oldest.for_reads().unwrap().id, newest.id);
        assert_eq!(oldest.for_writes().unwrap().id, newest.id);
        newest.gate.set(Standing::Dropped);
        assert!(oldest.for_reads().is_err() && oldest.for_writes().is_err());
        drop(newest);
        // The stack of a test's thread is too short for a call for each.
        drop(oldest);
    }

    #[test]
    fn an_outdated_handle_reads_its_own_keyspace_until_that_moves() {
        let (old, new, moved) = (keyspace(1), keyspace(1), keyspace(2));
        old.gate.set_outdated(new.clone());
        assert!(std::ptr::eq(old.for_reads().unwrap(), &old));
        assert!(old.for_writes().is_err() && old.check_read().is_ok());
        new.gate.set_moved(moved);
        assert_eq!(
            (old.for_reads().unwrap().id, new.for_writes().unwrap().id),
            (KeyspaceId(2), KeyspaceId(2))
        );
        assert!(matches!(old.check_read(), Err(Error::Moved(_))));
        assert!(matches!(old.for_writes(), Err(Error::Outdated(_))));
    }
}
