//! The lock manager: waits of threads for the locks of the table, and the look of other commits at it.

use super::sync::{AtomicUsize, Mutex, Signal, fence};
use super::table::{Answer, PlaceRef, Request, Table};
use crate::ids::KeyspaceId;
use crate::key::Key;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Keys that a commit looks for under one lock of the table. Others wait for it meanwhile.
const AT_ONCE: usize = 256;

/// The time that a locking read waits while another transaction holds the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Not at all: the call fails at once (`NOWAIT`).
    No,
    /// At most for this time: then the call fails.
    For(Duration),
    /// Until the lock is free. A deadlock still ends the wait, as does closing the database.
    Forever,
}

impl Wait {
    /// Returns the moment at which a wait ends that begins now; none if it has no end.
    pub(crate) fn deadline(self) -> Option<Instant> {
        match self {
            Self::No => Some(Instant::now()),
            // A time beyond the clock's range has no end.
            Self::For(time) => Instant::now().checked_add(time),
            Self::Forever => None,
        }
    }
}

/// The holder of a lock that another transaction can't get.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LockHolder {
    /// The running transaction with this number ([`Transaction::number`](crate::Transaction::number)).
    Transaction(u64),
    /// The prepared transaction of this name, which is undecided.
    Prepared(String),
    /// A transaction that is committing a write of the key.
    Committing,
}

impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transaction(number) => write!(f, "transaction {number}"),
            Self::Prepared(name) => write!(f, "the prepared transaction {name:?}"),
            Self::Committing => f.write_str("a transaction that is committing"),
        }
    }
}

/// Locks of keys, as [`Database::state`](crate::Database::state) reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockState {
    /// Locks that running transactions hold.
    pub held: usize,
    /// Transactions that wait for a lock now.
    pub waiting: usize,
    /// Waits since the database was opened, those included that go on.
    pub waits: u64,
    /// Time that transactions have waited, added up.
    pub waited: Duration,
    /// Waits that ended because their time was over.
    pub timeouts: u64,
    /// Deadlocks. Each one ended one transaction, its victim.
    pub deadlocks: u64,
}

/// The result of a request for a lock.
pub(crate) enum Requested {
    /// The transaction holds the lock.
    Granted,
    /// The transaction with this number holds it, and the request may not wait.
    Busy(u64),
    /// The transaction waits: pass this to [`LockManager::wait`].
    Waits(Arc<Signal>),
    /// See [`Answer::Deadlock`].
    Deadlock(Vec<u64>),
    /// The database is closed.
    Closed,
}

/// The end of a step of a wait.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    Answer(Answer),
    /// The time is over, and the transaction does not wait any more. The number is that of the lock's holder.
    TimedOut(u64),
}

/// The locks of keys of a database.
#[derive(Default)]
pub(crate) struct LockManager {
    /// Number of locks, so a commit looks at nothing else while there are none.
    held: AtomicUsize,
    table: Mutex<Table<Arc<Signal>>>,
    /// Transactions that hold a lock and wait for a commit or a prepared transaction that had the key before.
    settling: AtomicU64,
    waits: AtomicU64,
    waited_ns: AtomicU64,
    timeouts: AtomicU64,
    deadlocks: AtomicU64,
}

impl LockManager {
    /// Changes the table, and delivers the answers that follow from that.
    fn change<T>(&self, change: impl FnOnce(&mut Table<Arc<Signal>>) -> T) -> T {
        let (changed, answers) = {
            let mut table = self.table.lock();
            let changed = change(&mut table);
            self.held.store(table.len(), Ordering::SeqCst);
            (changed, table.take_answers())
        };
        for (signal, answer) in answers {
            if matches!(answer, Answer::Deadlock(_)) {
                self.deadlocks.fetch_add(1, Ordering::Relaxed);
            }
            signal.deliver(answer);
        }
        changed
    }

    /// Returns true if there are locks. A commit asks this after it has locked its keys in the engines, with a fence in
    /// between, and before it draws a timestamp.
    #[inline]
    pub(crate) fn are_held(&self) -> bool {
        self.held.load(Ordering::Relaxed) > 0
    }

    /// Asks for a lock. If it is granted, the caller must then look if a commit has the key locked in its engine: such a
    /// commit may not have seen this lock.
    pub(crate) fn request(
        &self,
        number: u64,
        engine: usize,
        place: &(KeyspaceId, Key),
        may_wait: bool,
    ) -> Requested {
        let mut requested = self.change(|table| table.request(number, engine, place, None));
        let signal = Arc::<Signal>::default;
        let signal = (may_wait && matches!(requested, Request::Busy(_))).then(signal);
        if signal.is_some() {
            requested = self.change(|table| table.request(number, engine, place, signal.clone()));
        }
        match (requested, signal) {
            (Request::Granted, _) => {
                // Pairs with the fence of a commit between its locks and `are_held`: either the commit finds this lock,
                // or this transaction finds the commit's locks in the engine.
                fence(Ordering::SeqCst);
                Requested::Granted
            }
            (Request::Waits, Some(signal)) => {
                self.waits.fetch_add(1, Ordering::Relaxed);
                Requested::Waits(signal)
            }
            (Request::Deadlock(cycle), _) => {
                self.waits.fetch_add(1, Ordering::Relaxed);
                self.deadlocks.fetch_add(1, Ordering::Relaxed);
                Requested::Deadlock(cycle)
            }
            (Request::Busy(holder), _) => Requested::Busy(holder),
            (Request::Waits | Request::Closed, _) => Requested::Closed,
        }
    }

    /// Goes on with a wait, until there is an answer or the time is over. After [`Answer::Look`] the transaction is in
    /// its place of the queue as before.
    pub(crate) fn wait(
        &self,
        number: u64,
        place: &(KeyspaceId, Key),
        signal: &Signal,
        deadline: Option<Instant>,
    ) -> Waited {
        if let Some(answer) = signal.wait(deadline) {
            return Waited::Answer(answer);
        }
        let holder = self.change(|table| {
            table.stop_waiting(number).and_then(|_| table.holder(&PlaceRef(place.0, &place.1)))
        });
        match holder {
            Some(holder) => {
                self.count_timeout();
                Waited::TimedOut(holder)
            }
            // The answer came at the last moment.
            None => Waited::Answer(signal.wait(None).unwrap_or(Answer::Ended)),
        }
    }

    /// Ends a wait early, and releases the lock if it was granted meanwhile.
    pub(crate) fn cancel(&self, number: u64, place: &(KeyspaceId, Key)) {
        self.change(|table| {
            drop(table.stop_waiting(number));
            table.release(number, place);
        });
    }

    /// Releases locks of a transaction. Those that it does not hold any more stay as they are.
    pub(crate) fn release<'p>(&self, number: u64, places: impl IntoIterator<Item = &'p (KeyspaceId, Key)>) {
        self.change(|table| places.into_iter().for_each(|place| table.release(number, place)));
    }

    /// Ends a transaction whose snapshot has expired: it can do nothing with its locks.
    pub(crate) fn end(&self, number: u64) {
        self.change(|table| table.end(number));
    }

    /// Lets all transactions that wait look if their keys can still be read.
    pub(crate) fn look_again(&self) {
        self.change(Table::look_again);
    }

    /// Ends all waits, and rejects later requests: the database is closed.
    pub(crate) fn close(&self) {
        self.change(Table::close);
    }

    /// Returns the first of the keys that another transaction has locked.
    pub(crate) fn first_held<'k>(
        &self,
        owner: u64,
        mut keys: impl Iterator<Item = (usize, KeyspaceId, &'k Key)>,
    ) -> Option<(usize, KeyspaceId)> {
        while self.are_held() {
            let mut some = keys.by_ref().take(AT_ONCE).peekable();
            some.peek()?;
            let table = self.table.lock();
            let is_held = |(_, keyspace, key): &(usize, KeyspaceId, &Key)| {
                table.holder(&PlaceRef(*keyspace, key)).is_some_and(|holder| holder != owner)
            };
            if let Some((engine, keyspace, _)) = some.find(is_held) {
                return Some((engine, keyspace));
            }
        }
        None
    }

    /// Returns the first lock of another transaction whose key fulfils a condition.
    pub(crate) fn first_held_that(
        &self,
        owner: u64,
        fulfils: impl Fn(usize, KeyspaceId, &Key) -> bool,
    ) -> Option<(usize, KeyspaceId)> {
        if !self.are_held() {
            return None;
        }
        let table = self.table.lock();
        let mut others = table.all().filter(|(holder, ..)| *holder != owner);
        let found = others.find(|(_, engine, keyspace, key)| fulfils(*engine, *keyspace, key));
        found.map(|(_, engine, keyspace, _)| (engine, keyspace))
    }

    /// Counts a transaction that begins to wait for a commit or a prepared transaction, until this is dropped.
    pub(crate) fn settling(&self) -> Settling<'_> {
        self.waits.fetch_add(1, Ordering::Relaxed);
        self.settling.fetch_add(1, Ordering::Relaxed);
        Settling(self)
    }

    /// Counts a wait that ended because its time was over.
    pub(crate) fn count_timeout(&self) {
        self.timeouts.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts the time of a wait.
    pub(crate) fn count_waited(&self, time: Duration) {
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.waited_ns.fetch_add(time, Ordering::Relaxed);
    }

    /// Returns the state.
    pub(crate) fn state(&self) -> LockState {
        let (held, waiting) = {
            let table = self.table.lock();
            (table.len(), table.waiting())
        };
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        LockState {
            held,
            waiting: waiting + load(&self.settling) as usize,
            waits: load(&self.waits),
            waited: Duration::from_nanos(load(&self.waited_ns)),
            timeouts: load(&self.timeouts),
            deadlocks: load(&self.deadlocks),
        }
    }
}

/// A transaction that waits for a commit or a prepared transaction.
pub(crate) struct Settling<'a>(&'a LockManager);

impl Drop for Settling<'_> {
    fn drop(&mut self) {
        self.0.settling.fetch_sub(1, Ordering::Relaxed);
    }
}
