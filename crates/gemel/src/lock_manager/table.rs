//! The table of locks: who holds each, who waits for it, and who of those must go on without it.
//!
//! A transaction waits for one key at a time, and a lock has one holder. So each transaction waits for at most one other,
//! the holder, and the wait-for graph needs no edges of its own. A wait that begins can close one cycle at most, and it is
//! found by following the holders. Granting a lock closes none: its new holder waits for nobody.

use crate::ids::KeyspaceId;
use crate::key::Key;
use foldhash::fast::RandomState;
use indexmap::{Equivalent, IndexMap};
use std::collections::{HashMap, VecDeque};
use std::hash::{Hash, Hasher};

/// A key of a keyspace.
type Place = (KeyspaceId, Key);

/// A key of a keyspace, to look for.
pub(crate) struct PlaceRef<'k>(pub(crate) KeyspaceId, pub(crate) &'k Key);

impl Hash for PlaceRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.0, self.1).hash(state);
    }
}

impl Equivalent<Place> for PlaceRef<'_> {
    fn equivalent(&self, place: &Place) -> bool {
        self.0 == place.0 && *self.1 == place.1
    }
}

/// The end of a wait, or its interruption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The transaction holds the lock.
    Granted,
    /// The transaction is the victim of a deadlock. The numbers of the transactions that wait for each other begin with
    /// its own; each one waits for the next.
    Deadlock(Vec<u64>),
    /// The transaction goes on waiting, but should look if the key can still be read: the catalog has changed.
    Look,
    /// The transaction was ended by somebody else: its snapshot has expired.
    Ended,
    /// The database was closed.
    Closed,
}

impl Answer {
    /// Puts the answer in its place.
    pub(super) fn put(self, place: &mut Option<Self>) {
        // Answers are delivered without a lock of the table: this one may come after a final one.
        if self != Self::Look || place.is_none() {
            *place = Some(self);
        }
    }
}

/// The result of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request {
    Granted,
    /// Another transaction, with this number, holds the lock, and the request may not wait.
    Busy(u64),
    /// The request is in the queue.
    Waits,
    /// See [`Answer::Deadlock`].
    Deadlock(Vec<u64>),
    Closed,
}

struct Lock {
    /// Number of the transaction.
    holder: u64,
    engine: usize,
    /// Numbers of those that wait, in the order in which they get the lock.
    queue: VecDeque<u64>,
}

/// Bytes of a lock without the heap memory of its key. The table may be half empty.
pub(crate) const LOCK_BYTES: u64 = 2 * (size_of::<(usize, Place, Lock)>() + 9) as u64;
/// Number of locks for which an empty table keeps memory.
const KEPT: usize = 1024;

struct Waiter<S> {
    place: Place,
    signal: S,
}

/// The locks of a database. `S` is a signal to a waiting thread.
pub(super) struct Table<S> {
    locks: IndexMap<Place, Lock, RandomState>,
    /// Those without a final answer, by their numbers.
    waiting: HashMap<u64, Waiter<S>, RandomState>,
    /// Answers that the caller delivers, without a lock of the table.
    answers: Vec<(S, Answer)>,
    is_closed: bool,
}

impl<S> Default for Table<S> {
    fn default() -> Self {
        Self {
            locks: IndexMap::default(),
            waiting: HashMap::default(),
            answers: Vec::new(),
            is_closed: false,
        }
    }
}

impl<S: Clone> Table<S> {
    /// Returns the number of locks.
    pub(super) fn len(&self) -> usize {
        self.locks.len()
    }

    /// Returns the number of transactions that wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Returns the answers that are to be delivered.
    pub(super) fn take_answers(&mut self) -> Vec<(S, Answer)> {
        std::mem::take(&mut self.answers)
    }

    /// Asks for a lock. A request with a `signal` may wait, and the answer to it goes there.
    ///
    /// If the wait would close a cycle, its youngest transaction is the victim. It has the highest number. So the oldest
    /// of all transactions is never a victim, and the work that is lost is likely to be small. The victim waits no more
    /// when this returns, so no second one is taken from the same cycle.
    pub(super) fn request(
        &mut self,
        number: u64,
        engine: usize,
        place: &Place,
        signal: Option<S>,
    ) -> Request {
        if self.is_closed {
            return Request::Closed;
        }
        let Some(lock) = self.locks.get(place) else {
            self.locks.insert(place.clone(), Lock { holder: number, engine, queue: VecDeque::new() });
            return Request::Granted;
        };
        if lock.holder == number {
            return Request::Granted;
        }
        let Some(signal) = signal else { return Request::Busy(lock.holder) };
        if let Some(mut cycle) = self.cycle(number, place) {
            let victim = cycle.iter().copied().max().unwrap_or(number);
            let position = cycle.iter().position(|member| *member == victim).unwrap_or_default();
            cycle.rotate_left(position);
            if victim == number {
                return Request::Deadlock(cycle);
            }
            if let Some(signal) = self.stop_waiting(victim) {
                self.answers.push((signal, Answer::Deadlock(cycle)));
            }
        }
        if let Some(lock) = self.locks.get_mut(place) {
            lock.queue.push_back(number);
        }
        self.waiting.insert(number, Waiter { place: place.clone(), signal });
        Request::Waits
    }

    /// Returns the transactions that would wait for each other if `number` waited for `place`. Each one waits for the
    /// next, the last one for the first.
    fn cycle(&self, number: u64, place: &Place) -> Option<Vec<u64>> {
        let (mut cycle, mut at) = (vec![number], place);
        loop {
            let holder = self.locks.get(at)?.holder;
            if holder == number {
                return Some(cycle);
            }
            cycle.push(holder);
            at = &self.waiting.get(&holder)?.place;
        }
    }

    /// Takes a transaction out of the queue in which it waits. Returns its signal, or none if it has an answer already.
    pub(super) fn stop_waiting(&mut self, number: u64) -> Option<S> {
        let Waiter { place, signal } = self.waiting.remove(&number)?;
        if let Some(lock) = self.locks.get_mut(&place) {
            lock.queue.retain(|waiter| *waiter != number);
        }
        Some(signal)
    }

    /// Releases a lock, if the transaction holds it. The first one in the queue gets it.
    pub(super) fn release(&mut self, number: u64, place: &Place) {
        let Some(lock) = self.locks.get_mut(place).filter(|lock| lock.holder == number) else { return };
        match lock.queue.pop_front() {
            Some(next) => {
                lock.holder = next;
                let waiter = self.waiting.remove(&next);
                self.answers.extend(waiter.map(|waiter| (waiter.signal, Answer::Granted)));
            }
            None => {
                self.locks.swap_remove(place);
                if self.locks.capacity() > KEPT && self.locks.len() < self.locks.capacity() / 4 {
                    self.locks.shrink_to((2 * self.locks.len()).max(KEPT));
                }
            }
        }
    }

    /// Ends a transaction from outside: it waits no more, and holds nothing.
    pub(super) fn end(&mut self, number: u64) {
        if let Some(signal) = self.stop_waiting(number) {
            self.answers.push((signal, Answer::Ended));
        }
        let held = self.locks.iter().filter(|(_, lock)| lock.holder == number);
        let held: Vec<Place> = held.map(|(place, _)| place.clone()).collect();
        held.iter().for_each(|place| self.release(number, place));
    }

    /// Lets all that wait look at the catalog again.
    pub(super) fn look_again(&mut self) {
        let all = self.waiting.values().map(|waiter| (waiter.signal.clone(), Answer::Look));
        self.answers.extend(all);
    }

    /// Ends all waits, and rejects later requests.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
        self.locks.values_mut().for_each(|lock| lock.queue.clear());
        let all = self.waiting.drain().map(|(_, waiter)| (waiter.signal, Answer::Closed));
        self.answers.extend(all);
    }

    /// Returns the number of the transaction that holds a lock.
    pub(super) fn holder(&self, place: &PlaceRef<'_>) -> Option<u64> {
        self.locks.get(place).map(|lock| lock.holder)
    }

    /// Returns all locks: holder, engine, keyspace and key.
    pub(super) fn all(&self) -> impl Iterator<Item = (u64, usize, KeyspaceId, &Key)> {
        self.locks.iter().map(|((keyspace, key), lock)| (lock.holder, lock.engine, *keyspace, key))
    }
}
