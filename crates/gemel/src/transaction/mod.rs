//! A transaction over keyspaces of any engine: its begin, reads and writes of single keys, and its end.

#[cfg(test)]
mod age_tests;
mod cursor;
mod ddl;
mod draw;
mod each;
mod given;
#[cfg(test)]
mod large_tests;
mod locking;
#[cfg(test)]
mod locking_tests;
mod own;
mod prepare;
mod range;
mod room;
mod savepoint;
mod scan;
mod scanned;
mod view;
mod writes;

use crate::coordinator::{Coordinator, Failure, MANY_ROWS, Outcome};
use crate::engine::Handle;
use crate::error::{Error, Result};
use crate::ids::{KeyspaceId, MAX_ENGINES};
use crate::key::{Key, KeyRange, MAX_VALUE_BYTES};
use crate::keyspace::{Engine, Keyspace};
use crate::lock_manager::Locks;
use crate::mvcc::Draft;
use crate::options::Isolation;
use crate::oracle::{Access, Trace};
use crate::order::active::{Count, Seat};
use crate::order::clock::Timestamp;
use crate::pending::{Room, key_bytes, view_bytes};
use crate::ticket::Ticket;
use ddl::Ddl;
pub(crate) use ddl::{Changed, Fate, Withdraw};
use given::{checked_key, checked_keys};
use savepoint::Savepoints;
use scanned::{ScannedViews, Walk};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use writes::{Pending, Place, Value, Writes};

pub use cursor::Cursor;
pub use savepoint::Savepoint;

/// A read that must still be current at the commit: any read of a serializable transaction, or one for an update.
#[derive(Debug)]
pub(crate) enum Seen {
    Key { engine: usize, keyspace: KeyspaceId, key: Key, since: Timestamp },
    Range { engine: usize, keyspace: KeyspaceId, range: KeyRange, since: Timestamp },
}

impl Seen {
    pub(crate) fn engine(&self) -> usize {
        match self {
            Self::Key { engine, .. } | Self::Range { engine, .. } => *engine,
        }
    }

    pub(crate) fn keyspace(&self) -> KeyspaceId {
        match self {
            Self::Key { keyspace, .. } | Self::Range { keyspace, .. } => *keyspace,
        }
    }

    /// Returns the bytes that the keys take on the heap.
    fn key_bytes(&self) -> u64 {
        let of_bound = |bound: &Bound<Key>| match bound {
            Bound::Included(key) | Bound::Excluded(key) => key_bytes(key),
            Bound::Unbounded => 0,
        };
        match self {
            Self::Key { key, .. } => key_bytes(key),
            Self::Range { range, .. } => of_bound(&range.lower) + of_bound(&range.upper),
        }
    }
}

/// The catalog, for transactions that change it.
pub(crate) trait Maker: Withdraw {
    /// Commits a transaction. Its changes appear with its rows.
    fn commit(&self, transaction: &mut Transaction) -> Result<Outcome, Failure>;

    /// Frees what the transaction has dropped, after its end.
    fn clean_up(&self);
}

/// A running transaction. Dropping it rolls it back. It may move between threads.
///
/// A transaction collects its writes until [`Transaction::commit`]; only its own reads and scans see them before that.
/// [`Transaction::rollback_to`] undoes a part of them. [`Database::run`](crate::Database::run) retries a transaction.
/// After a retryable error ([`Error::is_retryable`]) a transaction can't go on: drop it and begin a new one.
pub struct Transaction {
    pub(crate) core: Arc<Coordinator>,
    pub(crate) seat: Seat,
    pub(crate) isolation: Isolation,
    /// True if calls that write are rejected.
    pub(crate) read_only: bool,
    /// Count of the catalog changes that the transaction's snapshots have for sure.
    pub(crate) changes: u64,
    /// Snapshot in the anchor engine; at read committed, the first one.
    pub(crate) anchor: Timestamp,
    /// Snapshots in the other engines, once selected.
    pub(crate) others: [Option<Timestamp>; MAX_ENGINES],
    pub(crate) writes: Writes,
    pub(crate) seen: Vec<Seen>,
    locks: Locks,
    /// Bytes of memory that the locks take.
    locks_bytes: u64,
    /// True once something rests on the snapshot that is not locked, so it must stay. Not used at read committed.
    fixed: bool,
    /// Number of rows in the ranges of `seen`.
    seen_rows: usize,
    /// Bytes of memory for the keys of `seen`, and for their validation.
    seen_bytes: u64,
    /// Read committed only: the snapshot of the last read of each key. A later write of the key rests on that snapshot.
    views: BTreeMap<Place, Timestamp>,
    /// Bytes of memory that `views` takes.
    views_bytes: u64,
    /// Read committed only: the snapshots of the scanned ranges.
    scanned: ScannedViews,
    /// Read committed only: the part of a range that a cursor has read and that is not in `scanned` yet.
    walk: Option<Walk>,
    /// Number of walks.
    walks: u64,
    savepoints: Savepoints,
    /// The changes of the catalog that the transaction has made.
    pub(crate) ddl: Ddl<dyn Maker>,
    /// Bytes that the transaction may hold.
    room: Room,
    pub(crate) trace: Option<Box<Trace>>,
    failed: Option<Count>,
    /// The first retryable error that a call has returned.
    lost: OnceLock<Error>,
    ended: bool,
}

/// Maximum capacity that a thread's buffer keeps after an update, in bytes.
const KEPT_BYTES: usize = 1 << 16;

thread_local! {
    /// A buffer for the value that an update changes. While it is in use, another update on the thread gets a new one.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transaction")
            .field("number", &self.seat.number)
            .field("isolation", &self.isolation)
            .field("anchor", &self.anchor)
            .field("writes", &self.writes.len())
            .finish_non_exhaustive()
    }
}

/// Returns the error for the end of a transaction that failed earlier. `what` is what can't be done with it.
fn already_failed(what: &str) -> Error {
    Error::Usage(format!("the transaction failed earlier and can't be {what}: begin a new one"))
}

/// Makes a value of a key that may be new.
fn draft(keyspace: &Keyspace, value: &[u8]) -> Draft {
    // A memtable makes versions while later commits wait, and knows only then if the key is new.
    if keyspace.engine_index() == Engine::Memory.index() { Draft::first(value) } else { value.into() }
}

impl Transaction {
    /// Begins a transaction. `max_age` limits the age of its snapshot.
    pub(crate) fn begin(
        core: Arc<Coordinator>,
        isolation: Isolation,
        max_age: Option<Duration>,
    ) -> Result<Self> {
        let seat = core.active.begin(isolation)?;
        if let Some(age) = max_age {
            core.active.limit(seat, age);
        }
        // Read before the snapshot is taken: the snapshot has all these changes.
        let changes = core.changes_published();
        let anchor = core.refresh(seat);
        let trace = core.recorder().map(|_| Box::new(Trace::new(seat.number, isolation, anchor)));
        Ok(Self {
            core,
            seat,
            isolation,
            read_only: false,
            changes,
            anchor,
            others: [None; MAX_ENGINES],
            writes: Writes::default(),
            seen: Vec::new(),
            locks: Locks::default(),
            locks_bytes: 0,
            fixed: false,
            seen_rows: 0,
            seen_bytes: 0,
            views: BTreeMap::new(),
            views_bytes: 0,
            scanned: ScannedViews::default(),
            walk: None,
            walks: 0,
            savepoints: Savepoints::default(),
            ddl: Ddl::default(),
            room: Room::new(),
            trace,
            failed: None,
            lost: OnceLock::new(),
            ended: false,
        })
    }

    /// Returns the transaction's number, as [`Database::state`](crate::Database::state) lists it.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.seat.number
    }

    pub(crate) fn alive(&self) -> Result<()> {
        if self.failed.is_some() {
            return Err(Error::Usage(
                "the transaction failed earlier and can't go on: drop it and begin a new one".into(),
            ));
        }
        self.noted(self.core.check_age(self.seat))
    }

    /// Notes the error of an outcome, if it is retryable. The closure of
    /// [`Database::try_run`](crate::Database::try_run) may wrap it in an error of its own.
    #[inline]
    pub(crate) fn noted<T>(&self, outcome: Result<T>) -> Result<T> {
        outcome.inspect_err(|error| self.note(error))
    }

    #[cold]
    fn note(&self, error: &Error) {
        if let Some(error) = error.copy_if_retryable() {
            // The first one is the cause.
            let _ = self.lost.set(error);
        }
    }

    /// Returns the first retryable error that a call has returned, if there is one: only a new transaction can succeed.
    pub(crate) fn take_loss(&mut self) -> Option<Error> {
        self.lost.take()
    }

    /// Returns the number of keys and rows that the commit must validate.
    pub(crate) fn rows_to_validate(&self) -> usize {
        self.seen.len() + self.seen_rows
    }

    /// Passes the value of a key to `f`, without a copy. Returns none if the key does not exist.
    ///
    /// # Errors
    /// The key is empty or too long, no snapshot can be selected (retryable), or a file can't be read.
    /// [`Error::Capacity`] if the transaction must remember the read and
    /// [`Options::pending_limit_bytes`](crate::Options::pending_limit_bytes) leaves no room; the transaction can go on.
    pub fn read<R>(
        &mut self,
        keyspace: &Keyspace,
        key: &[u8],
        f: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>> {
        let keyspace = self.readable(keyspace)?;
        let key = checked_key(key)?;
        self.read_key(keyspace, key, None, false, f)
    }

    fn read_key<R>(
        &mut self,
        keyspace: &Keyspace,
        key: Key,
        handle: Option<&mut Handle>,
        for_update: bool,
        f: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>> {
        let place = (keyspace.id, key);
        if let Some(pending) = self.writes.get(&place) {
            if !for_update {
                return Ok(pending.value.as_deref().map(f));
            }
            // The commit checks the key for the write's sake, unless a rollback to a savepoint undoes the write.
            let (engine, since) = (pending.engine, pending.since);
            self.make_room_for_read(&place.1, true, false)?;
            self.see(Seen::Key { engine, keyspace: keyspace.id, key: place.1.clone(), since });
            return Ok(self.writes.get(&place).and_then(|pending| pending.value.as_deref()).map(f));
        }
        // What is read under a lock is current at the commit.
        let locked = self.has_locked(keyspace.id, &place.1);
        let key = place.1;
        let validated = !locked && (for_update || self.isolation == Isolation::Serializable);
        let viewed = self.isolation == Isolation::ReadCommitted;
        if validated || viewed {
            self.make_room_for_read(&key, validated, viewed)?;
        }
        let engine = keyspace.engine_index();
        let at = if locked { self.view(engine)? } else { self.snapshot(engine)? };
        let (mut f, mut result, mut version) = (Some(f), None, None);
        let read = self.core.engines[engine].get(keyspace.id, &key, at, handle, &mut |value, written| {
            version = Some(written);
            result = f.take().map(|f| f(value));
        });
        self.confirmed(keyspace, read)?;
        if let Some(trace) = &mut self.trace {
            let (keyspace, key) = (keyspace.id.0, key.to_vec());
            let validated = validated || locked;
            trace.accesses.push(Access { engine, keyspace, key, at, version, validated });
        }
        let seen = |key| Seen::Key { engine, keyspace: keyspace.id, key, since: at };
        match self.isolation {
            Isolation::ReadCommitted => {
                if validated {
                    self.see(seen(key.clone()));
                }
                let bytes = view_bytes(&key);
                if self.views.insert((keyspace.id, key), at).is_none() {
                    self.views_bytes += bytes;
                }
            }
            _ if validated => self.see(seen(key)),
            _ => {}
        }
        Ok(result)
    }

    /// Returns a copy of the value of a key.
    ///
    /// # Errors
    /// Same as [`Transaction::read`].
    pub fn get(&mut self, keyspace: &Keyspace, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.read(keyspace, key, <[u8]>::to_vec)
    }

    /// Returns a copy of the value of a key that the transaction decides on. If another transaction commits a write of
    /// the key after this read, the commit fails with a retryable error, as if this transaction had written the key. The
    /// key need not exist.
    ///
    /// This prevents write skew at [`Isolation::Snapshot`], and at [`Isolation::ReadCommitted`] a decision on a value
    /// that has changed; there the moment of this read counts, of each read if there are several. At
    /// [`Isolation::Serializable`] every read is validated, so this is the same as [`Transaction::get`]. Nobody waits: a
    /// concurrent transaction can still write the key, and the first to commit wins.
    ///
    /// A transaction that writes nothing changes nothing, so its commit validates nothing: at `Snapshot` and
    /// `Serializable`, all that it read was current at one moment, the snapshot.
    ///
    /// ```
    /// # fn main() -> gemel::Result<()> {
    /// # use gemel::{Database, Engine, Isolation, Options};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let db = Database::open(directory.path().join("db"), Options::default())?;
    /// let on_call = db.keyspace("on call", Engine::Memory)?;
    /// let leave = |doctor: &[u8], other: &[u8]| {
    ///     let mut transaction = db.begin(Isolation::Snapshot)?;
    ///     if transaction.get_for_update(&on_call, other)?.is_none_or(|state| state != b"off") {
    ///         transaction.put(&on_call, doctor, b"off")?;
    ///     }
    ///     Ok::<_, gemel::Error>(transaction)
    /// };
    /// let (ann, bob) = (leave(b"ann", b"bob")?, leave(b"bob", b"ann")?);
    /// ann.commit()?.wait()?;
    /// assert!(bob.commit().is_err_and(|error| error.is_retryable())); // One of them stays.
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Same as [`Transaction::read`].
    pub fn get_for_update(&mut self, keyspace: &Keyspace, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let keyspace = self.readable(keyspace)?;
        let key = checked_key(key)?;
        // A read-only transaction decides on nothing that it writes.
        let for_update = !self.read_only;
        self.read_key(keyspace, key, None, for_update, <[u8]>::to_vec)
    }

    /// Prepares the engine for reads and writes of these keys, which come soon. The results are the same without it.
    ///
    /// The memory engine looks for all keys at once, so it waits for the machine's memory a few times for all of them
    /// instead of a few times for each. That pays for about five keys or more. The disk engine ignores the call.
    ///
    /// # Errors
    /// A key is empty or too long, or the keyspace can't be read.
    pub fn prefetch<K: AsRef<[u8]>>(
        &self,
        keyspace: &Keyspace,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<()> {
        let keyspace = self.readable(keyspace)?;
        let keys = checked_keys(keys)?;
        self.core.engines[keyspace.engine_index()].prefetch(keyspace.id, &keys);
        Ok(())
    }

    /// Writes a value, whether the key exists or not.
    ///
    /// # Errors
    /// The key is empty or too long, the value is too long, or no snapshot can be selected (retryable).
    /// [`Error::Capacity`] also if [`Options::pending_limit_bytes`](crate::Options::pending_limit_bytes) or
    /// [`Options::memory_limit_bytes`](crate::Options::memory_limit_bytes) leaves no room for the write: the transaction
    /// is as before, and can go on. Conflicts are reported by the commit.
    pub fn put(&mut self, keyspace: &Keyspace, key: &[u8], value: &[u8]) -> Result<()> {
        let keyspace = self.writable(keyspace)?;
        self.write(keyspace, checked_key(key)?, Some(draft(keyspace, value)), Handle::None)
    }

    /// Deletes a key, whether it exists or not.
    ///
    /// # Errors
    /// Same as [`Transaction::put`].
    pub fn delete(&mut self, keyspace: &Keyspace, key: &[u8]) -> Result<()> {
        let keyspace = self.writable(keyspace)?;
        self.write(keyspace, checked_key(key)?, None, Handle::None)
    }

    /// Writes a value under a key that must not exist.
    ///
    /// # Errors
    /// [`Error::Constraint`] if the key exists; otherwise the same as [`Transaction::put`].
    pub fn insert(&mut self, keyspace: &Keyspace, key: &[u8], value: &[u8]) -> Result<()> {
        let keyspace = self.writable(keyspace)?;
        let key = checked_key(key)?;
        let mut handle = Handle::None;
        if self.read_key(keyspace, key.clone(), Some(&mut handle), false, |_| ())?.is_some() {
            return Err(Error::Constraint(format!(
                "key {key:?} already exists in keyspace {}",
                keyspace.name()
            )));
        }
        self.write(keyspace, key, Some(draft(keyspace, value)), handle)
    }

    /// Reads a value, lets `f` change it, and writes it back. Returns false if the key does not exist.
    ///
    /// # Errors
    /// Same as [`Transaction::read`] and [`Transaction::put`].
    pub fn update(&mut self, keyspace: &Keyspace, key: &[u8], f: impl FnOnce(&mut Vec<u8>)) -> Result<bool> {
        let keyspace = self.writable(keyspace)?;
        let key = checked_key(key)?;
        let mut handle = Handle::None;
        // A thread that ends has no buffer any more.
        let mut value = BUFFER.try_with(Cell::take).unwrap_or_default();
        value.clear();
        let read = |stored: &[u8]| value.extend_from_slice(stored);
        let found = self.read_key(keyspace, key.clone(), Some(&mut handle), false, read)?.is_some();
        if found {
            f(&mut value);
            self.write(keyspace, key, Some(Draft::from(&value)), handle)?;
        }
        value.shrink_to(KEPT_BYTES);
        let _ = BUFFER.try_with(|kept| kept.set(value));
        Ok(found)
    }

    fn write(&mut self, keyspace: &Keyspace, key: Key, value: Value, handle: Handle) -> Result<()> {
        let length = value.as_ref().map_or(0, |value| value.len());
        if length > MAX_VALUE_BYTES {
            return Err(Error::Capacity(format!(
                "a value of {length} bytes is too long: use at most {MAX_VALUE_BYTES}"
            )));
        }
        self.noted(keyspace.check_write(self.catalog()))?;
        self.make_room_for_writes(keyspace, 1, key.len(), length)?;
        self.end_walk();
        let engine = keyspace.engine_index();
        let place = (keyspace.id, key);
        // The snapshot of the newest read of the key, by key or by a scan, or of its lock.
        let locked = if self.locks.is_empty() { None } else { self.locks.get(&place).copied() };
        let since = match self.views.get(&place).copied().max(self.scanned.view(&place)).max(locked) {
            Some(view) => view,
            None => self.snapshot(engine)?,
        };
        let noted = (!self.savepoints.is_empty()).then(|| place.clone());
        let before = self.writes.write(place, Pending { engine, value, since, handle });
        if let Some(place) = noted {
            self.savepoints.note(place, before);
        }
        Ok(())
    }

    /// Writes to the mark of the transaction's changes of the catalog, so its record in the log says that they are
    /// made. The write deletes a key that is not there.
    pub(crate) fn mark(&mut self, mark: &Keyspace) -> Result<()> {
        self.write(mark, Key::new(&[0]), None, Handle::None)
    }

    /// Makes the commit fail if another transaction commits a write of a table since this one has read it, or since now
    /// if it has not. `rows` is the keyspace of its rows.
    pub(crate) fn take_table(&mut self, rows: &Keyspace) -> Result<()> {
        self.make_room_for_read(&Key::new(&[]), true, false)?;
        self.end_walk();
        let (engine, keyspace) = (rows.engine_index(), rows.id);
        let read = self.views.range((keyspace, Key::new(&[]))..).take_while(|(place, _)| place.0 == keyspace);
        let read = read.map(|(_, at)| *at).chain(self.scanned.oldest(keyspace)).min();
        let since = match read {
            Some(at) => at,
            None => self.snapshot(engine)?,
        };
        self.see(Seen::Range { engine, keyspace, range: KeyRange::ALL, since });
        // The range may be large, so it is validated before the commit draws its timestamps.
        self.seen_rows += MANY_ROWS;
        Ok(())
    }

    /// Commits the transaction. Others see its writes at once; the ticket resolves when they are durable. The ticket of
    /// a transaction that wrote nothing resolves when everything that it may have read is durable.
    ///
    /// # Errors
    /// A retryable error ([`Error::is_retryable`]): a conflict with another transaction, [`Error::TooOld`], or
    /// [`Error::Moved`]. [`Error::Capacity`] if the memory engine is full or the writes exceed 1 GiB;
    /// [`Error::DiskFull`]; [`Error::Poisoned`]; [`Error::Outdated`] if a table that it wrote was dropped or changed;
    /// [`Error::Usage`] if the transaction failed earlier, or the database is closed; [`Error::Io`] if it changes the
    /// catalog and the manifest can't be written. After an error the transaction has changed nothing.
    pub fn commit(mut self) -> Result<Ticket> {
        if self.failed.is_some() {
            return Err(already_failed("committed"));
        }
        let core = Arc::clone(&self.core);
        let rows = self.writes.len();
        let maker = self.ddl.maker();
        let outcome = match &maker {
            Some(maker) => maker.commit(&mut self),
            None => core.commit(&mut self, None),
        };
        // The next holder of a lock sees this commit.
        self.drop_locks();
        self.ended = true;
        match outcome {
            Ok(Outcome { count, ticket }) => {
                core.active.end(self.seat, count);
                core.collect(rows);
                if let Some(maker) = maker {
                    maker.clean_up();
                }
                Ok(ticket)
            }
            Err((count, error)) => Err(self.end_failed(count, error)),
        }
    }

    /// Gives the seat back after an error of the commit. Returns the error for the caller.
    fn end_failed(&self, count: Count, error: Error) -> Error {
        // What was forgotten for a snapshot that has expired is no matter of another option.
        let error = match error {
            Error::TooOld(_) => self.core.check_age(self.seat).err().unwrap_or(error),
            _ => error,
        };
        self.core.active.end(self.seat, count);
        error
    }

    /// Rolls the transaction back, like dropping it.
    pub fn rollback(self) {}
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.drop_locks();
        self.leave_room();
        if !self.ended {
            self.core.active.end(self.seat, self.failed.unwrap_or(Count::RolledBack));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Database, Direction, Engine, Options};
    use std::ops::ControlFlow;

    #[test]
    fn an_update_within_an_update_of_another_transaction_changes_its_own_value() {
        let directory = tempfile::tempdir().unwrap();
        let db = Database::open(directory.path(), Options::default()).unwrap();
        let hot = db.keyspace("hot", Engine::Memory).unwrap();
        let (mut outer, mut inner) =
            (db.begin(Isolation::Snapshot).unwrap(), db.begin(Isolation::Snapshot).unwrap());
        outer.put(&hot, b"a", b"outer").unwrap();
        inner.put(&hot, b"b", b"inner").unwrap();
        let updated = outer.update(&hot, b"a", |value| {
            assert!(inner.update(&hot, b"b", |value| value.push(b'2')).unwrap());
            value.push(b'1');
        });
        assert!(updated.unwrap() && !outer.update(&hot, b"c", |value| value.clear()).unwrap());
        assert_eq!(outer.get(&hot, b"a").unwrap().unwrap(), b"outer1");
        outer.commit().unwrap().wait().unwrap();
        inner.commit().unwrap().wait().unwrap();
        assert_eq!(db.begin(Isolation::Snapshot).unwrap().get(&hot, b"b").unwrap().unwrap(), b"inner2");
    }

    #[test]
    fn a_failed_transaction_rejects_every_call_and_is_counted_once() {
        let directory = tempfile::tempdir().unwrap();
        let db = Database::open(directory.path(), Options::default()).unwrap();
        let hot = db.keyspace("hot", Engine::Memory).unwrap();
        let failed = || {
            let mut transaction = db.begin(Isolation::Snapshot).unwrap();
            transaction.put(&hot, b"k", b"v").unwrap();
            // Sets the failure directly: to make the registry abort it takes a race.
            transaction.failed = Some(Count::Csr);
            transaction
        };
        let mut transaction = failed();
        let (all, forward) = (Bound::Unbounded, Direction::Forward);
        let errors = [
            transaction.get(&hot, b"k").unwrap_err(),
            transaction.put(&hot, b"k", b"w").unwrap_err(),
            transaction.delete(&hot, b"k").unwrap_err(),
            transaction.insert(&hot, b"l", b"w").unwrap_err(),
            transaction.update(&hot, b"k", |_| ()).unwrap_err(),
            transaction.scan(&hot, all, all, forward, |_, _| ControlFlow::Continue(())).unwrap_err(),
            transaction.get_for_update(&hot, b"k").unwrap_err(),
            transaction.cursor(&hot, all, all).unwrap_err(),
            transaction.savepoint().unwrap_err(),
            transaction.commit().unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(&error, Error::Usage(text) if text.contains("failed earlier")), "{error:?}");
        }
        failed().rollback();
        let state = db.state();
        assert_eq!((state.aborted.csr, state.rolled_back, state.running.len()), (2, 0, 0));
        assert_eq!(db.begin(Isolation::Snapshot).unwrap().get(&hot, b"k").unwrap(), None);
    }
}
