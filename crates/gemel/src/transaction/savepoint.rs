//! Savepoints: the writes that a rollback to an earlier point of the transaction undoes.

use super::Transaction;
use super::writes::{Place, Value};
use crate::error::{Error, Result};
use crate::log::may_wait;
use crate::mvcc::version_bytes;
use crate::pending::{LONG_KEY_BYTES, key_bytes, map_bytes};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// A point of a transaction to which [`Transaction::rollback_to`] returns.
#[derive(Debug)]
#[must_use = "a savepoint only serves to roll back to it"]
pub struct Savepoint {
    owner: u64,
    transaction: u64,
    number: u64,
}

/// The savepoints of a transaction that can still be rolled back to, oldest first.
#[derive(Debug, Default)]
pub(super) struct Savepoints {
    open: Vec<Open>,
    /// Number of the newest savepoint ever made.
    last: u64,
    /// Bytes of memory that the savepoints take.
    bytes: u64,
}

#[derive(Debug)]
struct Open {
    number: u64,
    /// Number of locks that the transaction held at the savepoint.
    locks: usize,
    /// Number of changes of the catalog that the transaction had made at the savepoint.
    changes: usize,
    /// Keys written between this savepoint and the next one, and the transaction's own write of each before; none if
    /// there was no such write.
    before: BTreeMap<Place, Option<Value>>,
}

/// Bytes of a savepoint without a note. Their list may be half empty.
pub(super) const OPEN_BYTES: u64 = 2 * size_of::<Open>() as u64;

/// Returns the bytes of a savepoint's notes, without what they have on the heap.
pub(super) const fn notes_bytes(notes: usize) -> u64 {
    map_bytes(notes, size_of::<(Place, Option<Value>)>())
}

/// Returns the bytes that a note has on the heap: those of its key and of its value.
fn heap_bytes(place: &Place, before: &Option<Value>) -> u64 {
    let value = before.as_ref().and_then(Option::as_ref);
    key_bytes(&place.1) + value.map_or(0, |value| version_bytes(value.len()))
}

/// The rate at which the notes of further writes take memory.
#[derive(Clone, Copy)]
pub(super) struct NoteRate {
    /// Number of the newest savepoint's notes; none without a savepoint.
    notes: Option<usize>,
}

impl NoteRate {
    /// Returns the most bytes that the notes of a number of writes add, with so many bytes of keys in total.
    pub(super) fn most_bytes(self, writes: usize, keys: usize) -> u64 {
        let Some(notes) = self.notes else { return 0 };
        // A value that a write replaces is counted among the writes already.
        notes_bytes(notes + writes) - notes_bytes(notes) + writes as u64 * LONG_KEY_BYTES + keys as u64
    }
}

impl Open {
    /// Returns the bytes of the savepoint, without what its notes have on the heap.
    fn bytes(&self) -> u64 {
        OPEN_BYTES + notes_bytes(self.before.len())
    }
}

impl Savepoints {
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Returns the bytes of memory that the savepoints take.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the rate at which the notes of further writes take memory.
    pub(super) fn rate(&self) -> NoteRate {
        NoteRate { notes: self.open.last().map(|open| open.before.len()) }
    }

    /// Adds a savepoint without a note.
    fn begin(&mut self, number: u64, locks: usize, changes: usize) {
        self.bytes += OPEN_BYTES;
        self.open.push(Open { number, locks, changes, before: BTreeMap::new() });
    }

    /// Notes that a key is being written. Must be called after each write while there is a savepoint.
    pub(super) fn note(&mut self, place: Place, before: Option<Value>) {
        if let Some(open) = self.open.last_mut() {
            // A later write of the same key has nothing to add: the rollback returns to the state before the first.
            let notes = open.before.len();
            let bytes = heap_bytes(&place, &before) + notes_bytes(notes + 1) - notes_bytes(notes);
            if let Entry::Vacant(entry) = open.before.entry(place) {
                self.bytes += bytes;
                entry.insert(before);
            }
        }
    }
}

impl Transaction {
    /// Makes a savepoint. [`Transaction::rollback_to`] undoes the writes that come after it. Savepoints nest.
    ///
    /// While there is a savepoint, the first write of each key after it also keeps the value that it replaces.
    /// [`Transaction::release`] ends that.
    ///
    /// ```
    /// # fn main() -> gemel::Result<()> {
    /// # use gemel::{Database, Engine, Isolation, Options};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let db = Database::open(directory.path().join("db"), Options::default())?;
    /// # let orders = db.keyspace("orders", Engine::Disk)?;
    /// # let stock = db.keyspace("stock", Engine::Memory)?;
    /// let mut transaction = db.begin(Isolation::Snapshot)?;
    /// transaction.put(&orders, b"order 1", b"three rings")?;
    /// let savepoint = transaction.savepoint()?;
    /// transaction.put(&stock, b"ring", b"-1")?;
    /// transaction.rollback_to(&savepoint)?; // There are not enough rings: only the order is kept.
    /// assert_eq!(transaction.get(&stock, b"ring")?, None);
    /// transaction.commit()?.wait()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] if the transaction failed earlier; [`Error::Capacity`] at
    /// [`Options::pending_limit_bytes`](crate::Options::pending_limit_bytes).
    pub fn savepoint(&mut self) -> Result<Savepoint> {
        self.alive()?;
        self.make_room_for_savepoint()?;
        self.savepoints.last += 1;
        let number = self.savepoints.last;
        self.savepoints.begin(number, self.locks.len(), self.ddl.len());
        Ok(Savepoint { owner: self.core.owner, transaction: self.seat.number, number })
    }

    /// Undoes all writes since the savepoint, in all keyspaces, and frees their memory. The savepoint stays; those made
    /// after it are gone. So are the changes of tables that the transaction has made since then
    /// ([`Database::create_table_in`](crate::Database::create_table_in) and its like).
    ///
    /// Reads are not undone: the transaction's later steps may follow from them. So the commit of a serializable
    /// transaction still fails if something that was read has changed, and so does that of a transaction that called
    /// [`Transaction::get_for_update`] or [`Transaction::get_locked`]. The locks taken since the savepoint are released.
    ///
    /// # Errors
    /// [`Error::Usage`] if the savepoint belongs to another transaction, or is gone, or the transaction failed earlier, or
    /// if a ticket's callback would undo a change of tables. Then nothing is undone.
    pub fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<()> {
        let position = self.position(savepoint)?;
        let open = self.savepoints.open.get(position);
        let (locks, changes) = open.map_or((0, 0), |open| (open.locks, open.changes));
        if changes < self.ddl.len() {
            may_wait()?;
        }
        let mut undone = self.savepoints.open.split_off(position);
        self.savepoints.bytes -= undone.iter().map(Open::bytes).sum::<u64>();
        // The newest first, so the oldest state of a key counts.
        undone.reverse();
        for (place, before) in undone.into_iter().flat_map(|open| open.before) {
            self.savepoints.bytes -= heap_bytes(&place, &before);
            match before {
                None => self.writes.remove(&place),
                Some(value) => self.writes.replace(&place, value),
            }
        }
        self.savepoints.begin(savepoint.number, locks, changes);
        self.release_locks(locks);
        self.ddl.keep(changes);
        self.writes.shrink();
        self.give_room_back();
        Ok(())
    }

    /// Forgets a savepoint, and those made after it. The writes stay. A transaction that makes many savepoints, such as
    /// one for each row of an import, should release each when it is not needed any more.
    ///
    /// # Errors
    /// Same as [`Transaction::rollback_to`].
    pub fn release(&mut self, savepoint: Savepoint) -> Result<()> {
        let position = self.position(&savepoint)?;
        for released in self.savepoints.open.split_off(position) {
            // An older savepoint must still undo the writes. It keeps its own state of a key, which is older.
            self.savepoints.bytes -= released.bytes();
            for (place, before) in released.before {
                self.savepoints.bytes -= heap_bytes(&place, &before);
                self.savepoints.note(place, before);
            }
        }
        self.give_room_back();
        Ok(())
    }

    fn position(&self, savepoint: &Savepoint) -> Result<usize> {
        self.alive()?;
        if (savepoint.owner, savepoint.transaction) != (self.core.owner, self.seat.number) {
            return Err(Error::Usage(
                "the savepoint belongs to another transaction: use one that this transaction made".into(),
            ));
        }
        self.savepoints.open.iter().position(|open| open.number == savepoint.number).ok_or_else(|| {
            Error::Usage(
                "the savepoint is gone: the transaction released it or was rolled back to an earlier one; make another"
                    .into(),
            )
        })
    }
}
