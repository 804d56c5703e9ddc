//! Slots of running transactions, and the watermark: the oldest snapshot that may still be read.

use super::clock::{Clock, Timestamp};
use super::sync::{AtomicU64, AtomicUsize, CHUNK, CHUNKS, thread_local};
use crate::engine::MAX_ENGINES;
use crate::error::{Error, Result};
use crate::options::Isolation;
use crossbeam_utils::CachePadded;
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The slots of running transactions. Each slot has counters of its own, so counting needs no shared write.
#[derive(Debug)]
pub(crate) struct Active {
    chunks: Box<[OnceLock<Chunk>]>,
    /// Number of chunks in use.
    used: AtomicUsize,
    numbers: AtomicU64,
    opened: Instant,
}

type Chunk = Box<[CachePadded<Slot>; CHUNK]>;

#[derive(Debug, Default)]
struct Slot {
    /// Number of the transaction; zero if the slot is free.
    owner: AtomicU64,
    /// For each engine, a timestamp at or below every snapshot of the transaction.
    oldest: [AtomicU64; MAX_ENGINES],
    /// Begin of the transaction, in ms after the database was opened.
    began_ms: AtomicU64,
    isolation: AtomicU64,
    counters: [AtomicU64; COUNTERS],
}

/// The outcome of a transaction, for the counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    ReadOnly,
    MemoryOnly,
    DiskOnly,
    Cross,
    RolledBack,
    ConflictWrite,
    ConflictLocked,
    ConflictRead,
    Csr,
    Failed,
}
const COUNTERS: usize = Count::Failed as usize + 1;

/// A running transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunningTransaction {
    /// Number of the transaction.
    pub number: u64,
    /// Time since the transaction began.
    pub age: Duration,
    /// Isolation level of the transaction.
    pub isolation: Isolation,
}

/// A transaction's slot. [`Active::end`] gives it back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat {
    index: usize,
    pub(crate) number: u64,
}

impl Active {
    pub(crate) fn new() -> Self {
        Self {
            chunks: (0..CHUNKS).map(|_| OnceLock::new()).collect(),
            used: AtomicUsize::new(0),
            numbers: AtomicU64::new(0),
            opened: Instant::now(),
        }
    }

    fn slot(&self, index: usize) -> &Slot {
        let chunk = self.chunks[index / CHUNK]
            .get_or_init(|| Box::new(std::array::from_fn(|_| CachePadded::default())));
        &chunk[index % CHUNK]
    }

    /// Takes a slot. Until [`Active::refresh`], the slot keeps the oldest snapshots of its last transaction, which are
    /// older and so safe.
    ///
    /// # Errors
    /// 65 536 transactions are running already.
    pub(crate) fn begin(&self, isolation: Isolation) -> Result<Seat> {
        thread_local! {
            /// The slot that this thread used last: threads that start there seldom meet.
            static LAST: Cell<usize> = const { Cell::new(usize::MAX) };
        }
        let number = self.numbers.fetch_add(1, Ordering::Relaxed) + 1;
        let take = |index: usize| {
            let slot = self.slot(index);
            slot.owner.load(Ordering::Relaxed) == 0
                && slot.owner.compare_exchange(0, number, Ordering::SeqCst, Ordering::Relaxed).is_ok()
        };
        let last = LAST.with(Cell::get);
        let found = if last / CHUNK < self.used.load(Ordering::Acquire) && take(last) {
            last
        } else {
            let mut index = 0;
            loop {
                if index == CHUNK * CHUNKS {
                    return Err(Error::Capacity(format!(
                        "{} transactions are running, the maximum: end some before beginning more",
                        CHUNK * CHUNKS
                    )));
                }
                // Published before the slot is taken, so a thread that looks for the oldest snapshot does not miss the
                // slot.
                self.used.fetch_max(index / CHUNK + 1, Ordering::SeqCst);
                if take(index) {
                    break index;
                }
                index += 1;
            }
        };
        LAST.with(|last| last.set(found));
        let slot = self.slot(found);
        slot.began_ms.store(self.opened.elapsed().as_millis() as u64, Ordering::Relaxed);
        slot.isolation.store(isolation as u64, Ordering::Relaxed);
        Ok(Seat { index: found, number })
    }

    /// Takes fresh snapshots. First it writes every engine's horizon into the slot: nothing older will be read. Then it
    /// returns the anchor's horizon. A snapshot that the registry selects later for another engine is not older than
    /// that engine's horizon in the slot (`DESIGN.md`, "Who is running, and garbage").
    pub(crate) fn refresh<'a>(&self, seat: Seat, clocks: impl Iterator<Item = &'a Clock>) -> Timestamp {
        let slot = self.slot(seat.index);
        let mut anchor = None;
        for (engine, clock) in clocks.enumerate() {
            slot.oldest[engine].store(clock.horizon().0, Ordering::SeqCst);
            anchor.get_or_insert(clock);
        }
        anchor.map_or(Timestamp::ZERO, Clock::horizon)
    }

    /// Gives the slot back.
    pub(crate) fn end(&self, seat: Seat, count: Count) {
        let slot = self.slot(seat.index);
        let counter = &slot.counters[count as usize];
        // Only the slot's owner writes its counters.
        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        slot.owner.store(0, Ordering::SeqCst);
    }

    fn slots(&self) -> impl Iterator<Item = &Slot> {
        (0..self.used.load(Ordering::SeqCst) * CHUNK).map(|index| self.slot(index))
    }

    /// Returns the watermark of engine number `engine`: no older snapshot is or will be read.
    pub(crate) fn watermark(&self, engine: usize, clock: &Clock) -> Timestamp {
        // The horizon is read before the slots: a transaction that is missed below took its snapshot after this.
        let horizon = clock.horizon();
        self.slots()
            .filter(|slot| slot.owner.load(Ordering::SeqCst) != 0)
            .map(|slot| Timestamp(slot.oldest[engine].load(Ordering::SeqCst)))
            .fold(horizon, Timestamp::min)
    }

    /// Returns the sum of a counter over all slots.
    pub(crate) fn count(&self, count: Count) -> u64 {
        self.slots().map(|slot| slot.counters[count as usize].load(Ordering::Relaxed)).sum()
    }

    /// Returns the running transactions, oldest first.
    pub(crate) fn running(&self) -> Vec<RunningTransaction> {
        let now = self.opened.elapsed();
        let mut running: Vec<_> = self
            .slots()
            .filter_map(|slot| {
                let number = slot.owner.load(Ordering::SeqCst);
                (number != 0).then(|| RunningTransaction {
                    number,
                    age: now.saturating_sub(Duration::from_millis(slot.began_ms.load(Ordering::Relaxed))),
                    isolation: Isolation::from_index(slot.isolation.load(Ordering::Relaxed)),
                })
            })
            .collect();
        running.sort_by_key(|transaction| transaction.number);
        running
    }
}
