//! Who is running, and so how old a snapshot may still be read.

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

/// Slots of running transactions, and each slot's own counters, which cost no shared write.
#[derive(Debug)]
pub(crate) struct Active {
    chunks: Box<[OnceLock<Chunk>]>,
    /// Chunks in use.
    used: AtomicUsize,
    numbers: AtomicU64,
    opened: Instant,
}

type Chunk = Box<[CachePadded<Slot>; CHUNK]>;

#[derive(Debug, Default)]
struct Slot {
    /// Number of the transaction; zero when free.
    owner: AtomicU64,
    /// For each engine a timestamp that no snapshot of the transaction is older than.
    oldest: [AtomicU64; MAX_ENGINES],
    /// When it began, in ms after the database was opened.
    began_ms: AtomicU64,
    isolation: AtomicU64,
    counters: [AtomicU64; COUNTERS],
}

/// What is counted of transactions.
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

/// A transaction that is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunningTransaction {
    /// Its number.
    pub number: u64,
    /// How long it has been running.
    pub age: Duration,
    /// Its isolation level.
    pub isolation: Isolation,
}

/// A transaction's slot. Given back with [`Active::end`].
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

    /// Takes a slot. What it says of the oldest snapshots is at first that of the transaction before, which is older.
    ///
    /// # Errors
    /// 65 536 transactions are running already.
    pub(crate) fn begin(&self, isolation: Isolation) -> Result<Seat> {
        thread_local! {
            /// Where this thread found a slot the last time: threads seldom meet.
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
                        "{} transactions are running: end some before beginning more",
                        CHUNK * CHUNKS
                    )));
                }
                // Said before the slot is taken, so that nobody who looks for old snapshots misses it.
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

    /// Takes fresh snapshots: says of every engine's horizon that nothing older will be read, then returns the
    /// anchor's. A snapshot of another engine that the registry selects for it later is not older than what was
    /// said here (`DESIGN.md`, "Who is running").
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
        // Only the slot's owner writes it.
        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        slot.owner.store(0, Ordering::SeqCst);
    }

    fn slots(&self) -> impl Iterator<Item = &Slot> {
        (0..self.used.load(Ordering::SeqCst) * CHUNK).map(|index| self.slot(index))
    }

    /// No snapshot of engine number `engine` that is older than this is or will be read.
    pub(crate) fn watermark(&self, engine: usize, clock: &Clock) -> Timestamp {
        // Before the slots: who is missed below took its snapshot after this.
        let horizon = clock.horizon();
        self.slots()
            .filter(|slot| slot.owner.load(Ordering::SeqCst) != 0)
            .map(|slot| Timestamp(slot.oldest[engine].load(Ordering::SeqCst)))
            .fold(horizon, Timestamp::min)
    }

    /// A counter over all slots.
    pub(crate) fn count(&self, count: Count) -> u64 {
        self.slots().map(|slot| slot.counters[count as usize].load(Ordering::Relaxed)).sum()
    }

    /// Who is running, oldest first.
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
