//! Reads that lock a key until the transaction's end.

use super::given::checked_key;
use super::{Seen, Transaction};
use crate::error::{Conflict, Error, Result};
use crate::ids::KeyspaceId;
use crate::key::Key;
use crate::keyspace::Keyspace;
use crate::lock_manager::{
    Answer, LOCK_BYTES, LockHolder, LockManager, PlaceRef, Requested, Settled, Settling, Wait, Waited,
};
use crate::log::may_wait;
use crate::options::Isolation;
use crate::order::active::Count;
use crate::order::clock::Timestamp;
use crate::pending::key_bytes;
use crossbeam_utils::Backoff;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Pauses between two looks at a key that a commit or a prepared transaction has, after a short busy wait.
const FIRST_PAUSE: Duration = Duration::from_micros(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(2);

/// The reason why a lock was not granted in time.
struct Refused {
    holder: LockHolder,
    waited: Duration,
}

/// A wait for a commit or a prepared transaction: busy at first, then with pauses.
struct Patience<'c> {
    locks: &'c LockManager,
    begun: Instant,
    deadline: Option<Instant>,
    backoff: Backoff,
    pause: Duration,
    /// Set from the first pause on.
    settling: Option<Settling<'c>>,
}

impl<'c> Patience<'c> {
    fn new(locks: &'c LockManager, deadline: Option<Instant>) -> Self {
        let (begun, backoff) = (Instant::now(), Backoff::new());
        Self { locks, begun, deadline, backoff, pause: FIRST_PAUSE, settling: None }
    }

    /// Returns true if the busy wait was in vain.
    fn pauses(&self) -> bool {
        self.settling.is_some()
    }

    /// Waits a moment. Returns false if the time is over.
    fn wait(&mut self) -> bool {
        if !self.backoff.is_completed() {
            self.backoff.snooze();
            return true;
        }
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            if self.pauses() {
                self.locks.count_timeout();
            }
            return false;
        }
        self.settling.get_or_insert_with(|| self.locks.settling());
        std::thread::sleep(left.unwrap_or(self.pause).min(self.pause));
        self.pause = (2 * self.pause).min(LONGEST_PAUSE);
        true
    }
}

impl Drop for Patience<'_> {
    fn drop(&mut self) {
        if self.pauses() {
            self.locks.count_waited(self.begun.elapsed());
        }
    }
}

/// Returns the bytes that a lock takes, in the transaction and in the lock manager.
fn lock_bytes(key: &Key) -> u64 {
    const PLACE: u64 = 2 * (size_of::<(usize, (KeyspaceId, Key), Timestamp)>() + 9) as u64;
    PLACE + LOCK_BYTES + 2 * key_bytes(key)
}

impl Transaction {
    /// Locks a key until the transaction ends, and returns a copy of its newest committed value. While another
    /// transaction holds the lock, the call waits, in the order of the calls. The key need not exist.
    ///
    /// While the lock is held, no other transaction commits a write of the key. One that tries without the lock gets a
    /// retryable [`Error::Conflict`]; so writers of a hot row should all lock it. Readers that do not lock never wait.
    /// The transaction reads and writes the key as always; none of that can conflict any more.
    ///
    /// At [`Isolation::ReadCommitted`] the value is the newest one. At the other levels it is that of the snapshot, and
    /// if the key was committed since, the call fails at once with [`Conflict::Write`]: begin again. But a transaction
    /// whose reads and writes have all been of keys that it had locked takes a new snapshot with each lock. So begin
    /// with the locks: then transactions queue for a hot row, and none of them aborts.
    ///
    /// Locks are released by the end of the transaction, and by [`Transaction::rollback_to`] if they were taken after
    /// the savepoint. A prepared transaction keeps them until it is decided.
    ///
    /// The call blocks the thread. A deadlock with other transactions is found at once. One thread that waits in one
    /// transaction for a lock of another one of its own is none: use [`Wait::For`].
    ///
    /// ```
    /// # fn main() -> gemel::Result<()> {
    /// # use gemel::{Database, Engine, Isolation, Options, Wait};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let db = Database::open(directory.path().join("db"), Options::default())?;
    /// let counters = db.keyspace("counters", Engine::Memory)?;
    /// std::thread::scope(|scope| {
    ///     for _ in 0..4 {
    ///         scope.spawn(|| {
    ///             let mut transaction = db.begin(Isolation::Snapshot)?;
    ///             let visits = transaction.get_locked(&counters, b"visits", Wait::Forever)?.map_or(0, |value| value[0]);
    ///             transaction.put(&counters, b"visits", &[visits + 1])?;
    ///             transaction.commit()?.wait() // Never a conflict.
    ///         });
    ///     }
    /// });
    /// let mut reader = db.begin_read_only()?;
    /// assert_eq!(reader.get(&counters, b"visits")?, Some(vec![4]));
    /// # assert_eq!((db.state().committed.memory, db.state().rolled_back), (4, 0));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Retryable: [`Error::Locked`] if the lock is not free in time, which leaves the transaction as it was;
    /// [`Error::Deadlock`]; [`Error::Conflict`]; [`Error::TooOld`] and [`Error::Moved`]. After the last four the
    /// transaction can't go on. [`Error::Outdated`] if the table is dropped or changed meanwhile. [`Error::Usage`] if the
    /// transaction is read-only, if the database is closed meanwhile, or in the callback of a ticket, unless it is with
    /// [`Wait::No`]. Otherwise the same as [`Transaction::get_for_update`].
    pub fn get_locked(&mut self, keyspace: &Keyspace, key: &[u8], wait: Wait) -> Result<Option<Vec<u8>>> {
        if let Some(Refused { holder, waited }) = self.lock(keyspace, key, wait)? {
            let keyspace = keyspace.name().to_owned();
            return self.noted(Err(Error::Locked { keyspace, holder, waited }));
        }
        self.get(keyspace, key)
    }

    /// Locks a key as [`Transaction::get_locked`] does, if no other transaction has it. Returns false otherwise, at once;
    /// the transaction is then as it was. After true, all reads of the key return the newest committed value.
    ///
    /// This is for a queue of work: each worker skips the rows that others have locked (`SKIP LOCKED`).
    ///
    /// # Errors
    /// Same as [`Transaction::get_locked`], but for [`Error::Locked`] and [`Error::Deadlock`].
    pub fn try_lock(&mut self, keyspace: &Keyspace, key: &[u8]) -> Result<bool> {
        Ok(self.lock(keyspace, key, Wait::No)?.is_none())
    }

    /// Locks a key, unless it is locked by this transaction already.
    fn lock(&mut self, handle: &Keyspace, key: &[u8], wait: Wait) -> Result<Option<Refused>> {
        if wait != Wait::No {
            may_wait()?;
        }
        if self.read_only {
            return Err(Error::Usage(format!(
                "the transaction is read-only and can't lock a key of {:?}: begin one with Database::begin",
                handle.name()
            )));
        }
        // A snapshot may read on in a table that was dropped since, but no transaction can commit what it decides by a row
        // there. So a lock needs a table that can be written.
        let keyspace = self.writable(handle)?;
        let place = (keyspace.id, checked_key(key)?);
        if self.locks.contains_key(&place) {
            return Ok(None);
        }
        self.make_room_for_lock(&place.1, lock_bytes(&place.1))?;
        let deadline = wait.deadline();
        if let Some(refused) = self.wait_for_lock(keyspace, &place, wait, deadline)? {
            return Ok(Some(refused));
        }
        // The lock manager has the lock. Whatever fails from here on releases it.
        let settled = self.settle(keyspace, &place, deadline);
        if !matches!(settled, Ok(Ok(_))) {
            self.core.locks.release(self.seat.number, [&place]);
        }
        match self.noted(settled)? {
            Ok(at) => {
                let engine = keyspace.engine_index();
                self.see(Seen::Key { engine, keyspace: place.0, key: place.1.clone(), since: at });
                self.locks_bytes += lock_bytes(&place.1);
                self.locks.insert(place, at);
                Ok(None)
            }
            Err(refused) => Ok(Some(refused)),
        }
    }

    /// Waits until the lock manager grants a lock.
    fn wait_for_lock(
        &mut self,
        keyspace: &Keyspace,
        place: &(KeyspaceId, Key),
        wait: Wait,
        deadline: Option<Instant>,
    ) -> Result<Option<Refused>> {
        let number = self.seat.number;
        let engine = keyspace.engine_index();
        let signal = match self.core.locks.request(number, engine, place, wait != Wait::No) {
            Requested::Granted => return Ok(None),
            Requested::Busy(holder) => {
                let (holder, waited) = (LockHolder::Transaction(holder), Duration::ZERO);
                return Ok(Some(Refused { holder, waited }));
            }
            Requested::Deadlock(cycle) => return Err(self.lose_deadlock(keyspace, cycle)),
            Requested::Closed => return Err(closed()),
            Requested::Waits(signal) => signal,
        };
        let begun = Instant::now();
        let outcome = loop {
            // First of all: the catalog may have changed before the request, and then nobody gives a signal.
            if let Err(error) = self.still_writable(keyspace) {
                self.core.locks.cancel(number, place);
                break Err(error);
            }
            match self.core.locks.wait(number, place, &signal, deadline) {
                Waited::Answer(Answer::Granted) => break Ok(None),
                Waited::Answer(Answer::Look) => {}
                Waited::Answer(Answer::Deadlock(cycle)) => break Err(self.lose_deadlock(keyspace, cycle)),
                Waited::Answer(Answer::Ended) => {
                    let expired = self.alive().err();
                    break Err(expired.unwrap_or_else(closed));
                }
                Waited::Answer(Answer::Closed) => break Err(closed()),
                Waited::TimedOut(holder) => {
                    let (holder, waited) = (LockHolder::Transaction(holder), begun.elapsed());
                    break Ok(Some(Refused { holder, waited }));
                }
            }
        };
        self.core.locks.count_waited(begun.elapsed());
        outcome
    }

    /// Waits until no commit and no prepared transaction has a key whose lock the transaction has got. Returns the
    /// snapshot at which the key is current from here on.
    fn settle(
        &mut self,
        keyspace: &Keyspace,
        place: &(KeyspaceId, Key),
        deadline: Option<Instant>,
    ) -> Result<Result<Timestamp, Refused>> {
        let (core, owner, engine) = (Arc::clone(&self.core), self.seat.owner(), keyspace.engine_index());
        let settled = |at| core.settled(owner, engine, (place.0, &place.1), at);
        // A write from before the lock rests on its own snapshot.
        let own = self.writes.get(place).map(|pending| pending.since);
        let mut patience = Patience::new(&core.locks, deadline);
        loop {
            // After a wait the table may be another one.
            self.still_writable(keyspace)?;
            let (at, state) = match own {
                Some(since) => (since, settled(since)?),
                // A long wait takes no snapshots.
                None if patience.pauses() && settled(Timestamp::MAX)? == Settled::No => {
                    (Timestamp::MAX, Settled::No)
                }
                None => {
                    let at = self.newest_snapshot(engine)?;
                    (at, settled(at)?)
                }
            };
            match state {
                Settled::Current => return Ok(Ok(at)),
                Settled::Newer if own.is_some() || self.has_fixed_snapshot() => {
                    let (count, error) = core.conflict(Conflict::Write, engine, place.0);
                    return Err(self.lose(count, error));
                }
                // The commit has unlocked the key, and is about to publish its timestamp.
                Settled::Newer => patience.backoff.snooze(),
                Settled::No => {
                    if !patience.wait() {
                        let holder = core.unsettled_by(engine, place.0, &place.1);
                        return Ok(Err(Refused { holder, waited: patience.begun.elapsed() }));
                    }
                }
            }
            core.check_clocks()?;
        }
    }

    fn lose_deadlock(&mut self, keyspace: &Keyspace, transactions: Vec<u64>) -> Error {
        let keyspace = keyspace.name().to_owned();
        self.lose(Count::Deadlock, Error::Deadlock { keyspace, transactions })
    }

    /// Fails the transaction, so others need not wait until it is dropped. Returns the error, which is noted.
    fn lose(&mut self, count: Count, error: Error) -> Error {
        self.failed = Some(count);
        self.drop_locks();
        self.note(&error);
        error
    }

    /// Releases all locks but the first `kept`. What was read under them must still be current at the commit.
    pub(super) fn release_locks(&mut self, kept: usize) {
        if self.locks.len() <= kept {
            return;
        }
        let released = self.locks.split_off(kept);
        self.core.locks.release(self.seat.number, released.keys());
        self.locks_bytes = self.locks.keys().map(|(_, key)| lock_bytes(key)).sum();
        // The snapshot may have moved on since a key was locked. The key did not change until now.
        let snapshots = self.snapshots();
        if self.isolation != Isolation::ReadCommitted {
            for seen in &mut self.seen {
                if let Seen::Key { engine, keyspace, key, since } = seen
                    && let Some(at) = snapshots[*engine]
                    && released.contains_key(&PlaceRef(*keyspace, key))
                {
                    *since = (*since).max(at);
                }
            }
        }
        self.fixed = true;
    }

    /// Releases all locks at the transaction's end.
    #[inline]
    pub(super) fn drop_locks(&mut self) {
        if !self.locks.is_empty() {
            self.core.locks.release(self.seat.number, self.locks.keys());
            self.locks.clear();
        }
    }

    /// Returns true if the transaction holds a lock.
    pub(crate) fn has_locks(&self) -> bool {
        !self.locks.is_empty()
    }

    /// Returns true if the transaction holds the lock of a key.
    #[inline]
    pub(crate) fn has_locked(&self, keyspace: KeyspaceId, key: &Key) -> bool {
        !self.locks.is_empty() && self.locks.contains_key(&PlaceRef(keyspace, key))
    }

    /// Returns true if a key has not changed since a snapshot and can't change, because the transaction holds its lock.
    #[inline]
    pub(crate) fn keeps(&self, keyspace: KeyspaceId, key: &Key, since: Timestamp) -> bool {
        let granted = |at: &Timestamp| *at <= since;
        !self.locks.is_empty() && self.locks.get(&PlaceRef(keyspace, key)).is_some_and(granted)
    }
}

#[cold]
fn closed() -> Error {
    Error::Usage("the database is closed: open it again".into())
}
