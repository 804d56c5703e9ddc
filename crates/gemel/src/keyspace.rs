//! Handles of keyspaces.

use crate::error::{Conflict, Error, Result};
use crate::ids::KeyspaceId;
use crate::order::clock::Timestamp;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
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
    /// The opening of a database that the handle is of.
    pub(crate) owner: u64,
    pub(crate) id: KeyspaceId,
    pub(crate) engine: u8,
    pub(crate) name: Arc<str>,
    pub(crate) gate: Arc<Gate>,
}

/// The accesses that a keyspace's handles allow. `closed` is the stamp of the change that closed them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Standing {
    /// All.
    Open,
    /// Reads, for now: the rows of the table are being checked.
    Held,
    /// Reads, for now: a transaction that drops the keyspace is committing.
    Leaving,
    /// Reads, while the successor allows them: the table has other indexes now than the handle knows.
    Outdated,
    /// Reads, to transactions from before `closed`: the rows are gone.
    Dropped,
    /// Reads, to transactions from before `closed`: the table has other keyspaces now.
    Truncated,
    /// All that the successor allows, to transactions from before `closed`: the table has other columns now.
    Altered,
    /// Reads, to transactions from before `closed`: a column that the handle takes for nullable is not any more, or the
    /// table has other columns and other indexes now.
    Tightened,
    /// All that the successor allows: the keyspace of an index, whose entries are all there now. Who writes through the
    /// handle need not know that.
    Filled,
    /// None: the rows are in the successor, in another engine. Transactions that begin later use it instead.
    Moved,
    /// All, to the transaction that makes the keyspace and has not committed yet.
    New,
}

/// The changes of the catalog that a transaction knows of (`DESIGN.md`, "Catalog").
#[derive(Clone, Copy, Debug)]
pub(crate) struct CatalogView {
    /// The transaction's first snapshot in the anchor engine.
    pub(crate) began: Timestamp,
    /// True if the transaction's later snapshots have later changes too: it reads at read committed.
    pub(crate) moves_on: bool,
    /// Number of the transaction.
    pub(crate) number: u64,
}

impl CatalogView {
    /// The view of somebody who knows all changes.
    pub(crate) const NEWEST: Self = Self { began: Timestamp::MAX, moves_on: true, number: 0 };

    /// Returns true if the transaction's snapshots may have what comes after a change.
    fn has(self, change: Timestamp) -> bool {
        self.moves_on || change <= self.began
    }
}

/// The [`Standing`] of a keyspace. All handles that were given out between two changes of the table share one.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    standing: AtomicU8,
    /// Stamp of the change that made these handles. A transaction with an older snapshot can't use them: the snapshot
    /// may lack entries that the change wrote, or should have rows that the change deleted. Set before the gate of a new
    /// keyspace is opened.
    born: AtomicU64,
    /// Number of the transaction that makes the keyspace. Zero if no transaction has made it.
    maker: u64,
    /// Stamp of the last change that rejects the writes of earlier transactions: any but one of columns only.
    pub(crate) writes_from: Timestamp,
    /// True if `writes_from` is that of a move.
    by_move: bool,
    /// Stamp of the change that closed the gate. Set before the standing is.
    closed: AtomicU64,
    /// The newer handle, which knows of later changes. Set before this handle is outdated, altered or moved.
    successor: OnceLock<Keyspace>,
}

impl Gate {
    /// Makes the gate of handles that a change makes.
    pub(crate) fn born_at(born: Timestamp) -> Self {
        Self::new(born, born, false)
    }

    pub(crate) fn moved_at(born: Timestamp) -> Self {
        Self::new(born, born, true)
    }

    /// Makes the gate of handles that a change of columns makes. What was written through the handles before is right.
    pub(crate) fn altered_at(&self, born: Timestamp) -> Self {
        Self::new(born, self.writes_from, self.by_move)
    }

    fn new(born: Timestamp, writes_from: Timestamp, by_move: bool) -> Self {
        let mut gate = Self::default();
        gate.born = AtomicU64::new(born.0);
        (gate.writes_from, gate.by_move) = (writes_from, by_move);
        gate
    }

    /// Makes the gate of a keyspace that a transaction makes: nobody else can use it until [`Gate::open_at`].
    pub(crate) fn made_by(maker: u64) -> Self {
        let mut gate = Self::default();
        gate.maker = maker;
        gate.set(Standing::New);
        gate
    }

    /// Lets transactions whose snapshots have the maker's commit use the keyspace.
    pub(crate) fn open_at(&self, born: Timestamp) {
        self.born.store(born.0, Ordering::Release);
        self.set(Standing::Open);
    }

    pub(crate) fn set(&self, standing: Standing) {
        self.standing.store(standing as u8, Ordering::SeqCst);
    }

    /// Closes the gate, for transactions that have the change `at`.
    pub(crate) fn close(&self, standing: Standing, at: Timestamp) {
        self.closed.store(at.0, Ordering::Release);
        self.set(standing);
    }

    /// Closes the gate in favour of a newer handle, of the same keyspace or of one in another engine.
    pub(crate) fn close_for(&self, standing: Standing, at: Timestamp, successor: Keyspace) {
        // A gate gets one successor: it leaves the list of open keyspaces with it.
        let _ = self.successor.set(successor);
        self.close(standing, at);
    }

    /// Returns true if a transaction has the change that closed the gate.
    fn is_closed_for(&self, view: CatalogView) -> bool {
        view.has(Timestamp(self.closed.load(Ordering::Acquire)))
    }

    /// Returns true if the handles can be read through without a look at their successors.
    #[inline]
    fn allows_reads(&self) -> bool {
        self.standing.load(Ordering::Acquire) <= Standing::Leaving as u8
    }

    pub(crate) fn standing(&self) -> Standing {
        match self.standing.load(Ordering::Acquire) {
            0 => Standing::Open,
            1 => Standing::Held,
            2 => Standing::Leaving,
            3 => Standing::Outdated,
            4 => Standing::Dropped,
            5 => Standing::Truncated,
            6 => Standing::Altered,
            7 => Standing::Tightened,
            8 => Standing::Filled,
            9 => Standing::Moved,
            _ => Standing::New,
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
    pub(crate) fn for_reads(&self, view: CatalogView) -> Result<&Self> {
        if self.gate.allows_reads() { Ok(self) } else { self.follow(view) }
    }

    #[cold]
    fn follow(&self, view: CatalogView) -> Result<&Self> {
        // Of the newest keyspace the oldest handle, because newer ones need a newer transaction. The newest handle has
        // the standing.
        let (mut found, mut newest) = (self, self);
        loop {
            match (newest.gate.standing(), newest.gate.successor.get()) {
                (Standing::Open | Standing::Held | Standing::Leaving, _) => return Ok(found),
                (Standing::New, _) if newest.gate.maker == view.number => return Ok(found),
                (Standing::Altered | Standing::Tightened | Standing::Dropped | Standing::Truncated, _)
                    if newest.gate.is_closed_for(view) =>
                {
                    return Err(newest.refused());
                }
                // The rows stay until the last of these transactions ends.
                (Standing::Dropped | Standing::Truncated, _) => return Ok(found),
                (
                    Standing::Outdated
                    | Standing::Altered
                    | Standing::Tightened
                    | Standing::Filled
                    | Standing::Moved,
                    Some(next),
                ) => {
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
    pub(crate) fn for_writes(&self, view: CatalogView) -> Result<&Self> {
        let (mut found, mut newest) = (self, self);
        loop {
            match (newest.gate.standing(), newest.gate.successor.get()) {
                (Standing::Open, _) => return Ok(found),
                (Standing::New, _) if newest.gate.maker == view.number => return Ok(found),
                (Standing::Moved, Some(next)) => (found, newest) = (next, next),
                (Standing::Altered, Some(next)) if !newest.gate.is_closed_for(view) => newest = next,
                (Standing::Filled, Some(next)) => newest = next,
                _ => return Err(newest.refused()),
            }
        }
    }

    /// Returns an error if the keyspace can't be read any more.
    #[inline]
    pub(crate) fn check_read(&self, view: CatalogView) -> Result<()> {
        if self.gate.allows_reads() { Ok(()) } else { self.is_still_here(self.follow(view)?) }
    }

    /// Returns an error if the keyspace can't be written any more.
    #[inline]
    pub(crate) fn check_write(&self, view: CatalogView) -> Result<()> {
        if self.gate.standing() == Standing::Open {
            return Ok(());
        }
        self.is_still_here(self.for_writes(view)?)
    }

    #[cold]
    fn is_still_here(&self, found: &Self) -> Result<()> {
        if found.id == self.id { Ok(()) } else { Err(Error::Moved(self.name().into())) }
    }

    /// Returns an error for a transaction that does not have the change that made the handle. One that moves on has it,
    /// but what it did before may be of no use.
    #[inline]
    pub(crate) fn check_age(&self, view: CatalogView) -> Result<()> {
        let needed = if view.moves_on {
            self.gate.writes_from
        } else {
            Timestamp(self.gate.born.load(Ordering::Acquire))
        };
        if needed <= view.began { Ok(()) } else { Err(self.too_new(view)) }
    }

    #[cold]
    fn too_new(&self, view: CatalogView) -> Error {
        if self.gate.by_move && self.gate.writes_from > view.began {
            return Error::Moved(self.name().into());
        }
        Error::TooOld(format!("{:?} was changed after the transaction began", self.name()))
    }

    #[cold]
    fn refused(&self) -> Error {
        let name = self.name();
        Error::Outdated(match self.gate.standing() {
            Standing::Open | Standing::Held | Standing::Filled => format!(
                "the table of {name:?} is being changed: \
                 write to it when that is done, in a new transaction, through a new handle of the table"
            ),
            Standing::Outdated => {
                format!("the table of {name:?} has other indexes than this handle knows: get the table again")
            }
            Standing::Dropped => {
                format!("{name:?} was dropped: make it again, or get the new one of this name")
            }
            Standing::Truncated => format!("{name:?} was truncated: get the table again"),
            Standing::Altered => {
                format!(
                    "columns of {name:?} were added, dropped or changed: \
                     get the table again, for a new transaction"
                )
            }
            Standing::Tightened => format!(
                "columns of {name:?} are not nullable any more, or its columns and indexes were changed at once: \
                 get the table again, for a new transaction"
            ),
            Standing::Leaving => return self.leaving(),
            Standing::Moved => return Error::Moved(name.into()),
            Standing::New => {
                return Error::Usage(format!(
                    "{name:?} is being made by another transaction: use it when that one has committed"
                ));
            }
        })
    }

    /// Returns the error for a keyspace that a commit may drop.
    #[cold]
    pub(crate) fn leaving(&self) -> Error {
        let engine =
            if self.engine_index() == Engine::Memory.index() { Engine::Memory } else { Engine::Disk };
        Error::Conflict { kind: Conflict::Locked, engine: engine.name(), keyspace: self.name().to_owned() }
    }

    pub(crate) fn engine_index(&self) -> usize {
        usize::from(self.engine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: CatalogView = CatalogView::NEWEST;

    fn keyspace(id: u32) -> Keyspace {
        Keyspace { owner: 1, id: KeyspaceId(id), engine: 0, name: "k".into(), gate: Arc::default() }
    }

    #[test]
    fn a_handle_leads_over_many_moves_to_the_newest_and_is_freed() {
        let oldest = keyspace(0);
        let mut newest = oldest.clone();
        for id in 1..=200_000 {
            let next = keyspace(id);
            newest.gate.close_for(Standing::Moved, Timestamp::ZERO, next.clone());
            newest = next;
        }
        assert_eq!(oldest.for_reads(NOW).unwrap().id, newest.id);
        assert_eq!(oldest.for_writes(NOW).unwrap().id, newest.id);
        newest.gate.close(Standing::Dropped, Timestamp::ZERO);
        assert!(oldest.for_reads(NOW).is_err() && oldest.for_writes(NOW).is_err());
        drop(newest);
        // The stack of a test's thread is too short for a call for each.
        drop(oldest);
    }

    #[test]
    fn an_outdated_handle_reads_its_own_keyspace_until_that_moves() {
        let (old, new, moved) = (keyspace(1), keyspace(1), keyspace(2));
        old.gate.close_for(Standing::Outdated, Timestamp(1), new.clone());
        assert!(std::ptr::eq(old.for_reads(NOW).unwrap(), &old));
        assert!(old.for_writes(NOW).is_err() && old.check_read(NOW).is_ok());
        new.gate.close_for(Standing::Moved, Timestamp(2), moved);
        assert_eq!(
            (old.for_reads(NOW).unwrap().id, new.for_writes(NOW).unwrap().id),
            (KeyspaceId(2), KeyspaceId(2))
        );
        assert!(matches!(old.check_read(NOW), Err(Error::Moved(_))));
        assert!(matches!(old.for_writes(NOW), Err(Error::Outdated(_))));
    }

    /// The columns of a keyspace change, then it gets an index, then it moves. Views from before and after see that.
    #[test]
    fn an_altered_handle_is_for_those_from_before_while_its_keyspace_is_there() {
        let view = |began| CatalogView { began: Timestamp(began), moves_on: false, number: 1 };
        let (old, new) = (keyspace(1), keyspace(1));
        old.gate.close_for(Standing::Altered, Timestamp(5), new.clone());
        assert!(std::ptr::eq(old.for_reads(view(4)).unwrap(), &old));
        assert!(std::ptr::eq(old.for_writes(view(4)).unwrap(), &old));
        for late in [view(5), NOW, CatalogView { moves_on: true, ..view(4) }] {
            assert!(matches!(old.for_reads(late), Err(Error::Outdated(_))));
            assert!(matches!(old.for_writes(late), Err(Error::Outdated(_))));
        }
        let indexed = keyspace(1);
        new.gate.close_for(Standing::Outdated, Timestamp(7), indexed.clone());
        assert!(std::ptr::eq(old.for_reads(view(4)).unwrap(), &old));
        assert!(matches!(old.check_write(view(4)), Err(Error::Outdated(_))));
        let gate = Arc::new(Gate::moved_at(Timestamp(9)));
        indexed.gate.close_for(Standing::Moved, Timestamp(9), Keyspace { gate, ..keyspace(2) });
        assert!(matches!(old.check_read(view(4)), Err(Error::Moved(_))));
        let found = old.for_reads(view(4)).unwrap();
        assert!(matches!(found.check_age(view(4)), Err(Error::Moved(_))));
        assert!(new.for_reads(view(9)).unwrap().check_age(view(9)).is_ok());
    }
}
