//! Slots of running transactions, and the watermark: the oldest snapshot that may still be read.

use super::clock::{Clock, Timestamp};
use super::sync::{AtomicU64, AtomicUsize, CHUNK, CHUNKS, IDLE, Mutex, thread_local};
use crate::error::{Error, Result};
use crate::ids::{MAX_ENGINES, Owner};
use crate::options::Isolation;
use crossbeam_utils::CachePadded;
use std::cell::Cell;
use std::iter::successors;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The slots of running transactions. Each slot has counters of its own, so counting needs no shared write.
///
/// Slots are in chunks. A chunk is open or closed, and only open chunks are searched. All slots of a closed chunk are
/// closed too, so no transaction can take one (`DESIGN.md`, "Who is running, and garbage").
#[derive(Debug)]
pub(crate) struct Active {
    chunks: Box<[OnceLock<Box<Chunk>>]>,
    /// A bit for each chunk: set if the chunk is open.
    open: [AtomicU64; CHUNKS.div_ceil(WORD)],
    /// Held while a chunk is opened or closed.
    changing: Mutex<()>,
    /// Number of the chunk where the last search for a free slot ended. The next search begins there.
    hint: AtomicUsize,
    numbers: AtomicU64,
    /// Number of snapshots that have expired.
    expired: AtomicU64,
    opened: Instant,
}

/// Maximum number of transactions that run at once.
pub(crate) const SEATS: usize = CHUNK * CHUNKS;
/// Bits in a word of [`Active::open`].
const WORD: usize = u64::BITS as usize;
/// Number of open chunks that are searched for a free slot before another chunk is opened.
const NEAR: usize = 4;
/// Owner of a free slot.
const FREE: u64 = 0;
/// Owner of a closed slot. It is not the number of any transaction.
const CLOSED: u64 = u64::MAX;
/// Set in the owner of a slot whose snapshot has expired. No number of a transaction is that large.
const EXPIRED: u64 = 1 << 63;
/// Time at which the snapshot of an unlimited transaction expires.
const NEVER: u64 = u64::MAX;

#[derive(Debug)]
struct Chunk {
    slots: [CachePadded<Slot>; CHUNK],
    /// Times in a row that the chunk was found without a transaction.
    idle: AtomicU64,
}

#[derive(Debug)]
struct Slot {
    /// Number of the transaction, perhaps with [`EXPIRED`]; [`FREE`], or [`CLOSED`].
    owner: AtomicU64,
    /// For each engine, a timestamp at or below every snapshot of the transaction.
    oldest: [AtomicU64; MAX_ENGINES],
    /// Begin of the transaction, in ms after the database was opened.
    began_ms: AtomicU64,
    /// Time from which on the snapshot may expire, in ms after the database was opened. [`NEVER`] in a free slot, so
    /// nobody takes the time of an earlier transaction for that of a new one.
    expires_ms: AtomicU64,
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
    Prepared,
    ConflictWrite,
    ConflictLocked,
    ConflictRead,
    Deadlock,
    Csr,
    TooOld,
    Moved,
    Failed,
}
pub(crate) const COUNTERS: usize = Count::Failed as usize + 1;

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
    /// True if the transaction exceeded [`Options::max_snapshot_age`](crate::Options::max_snapshot_age). It no longer
    /// holds back garbage collection, and its next access fails.
    pub expired: bool,
}

/// A transaction's slot. [`Active::end`] gives it back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat {
    index: usize,
    pub(crate) number: u64,
}

impl Seat {
    /// Returns the transaction as the owner of locks in engines, until it ends.
    pub(crate) fn owner(self) -> Owner {
        Owner { number: self.number, place: self.index as u32 + 1 }
    }
}

impl Chunk {
    /// Makes a closed chunk.
    fn new() -> Box<Self> {
        let zero = || AtomicU64::new(0);
        Box::new(Self {
            slots: std::array::from_fn(|_| {
                CachePadded::new(Slot {
                    owner: AtomicU64::new(CLOSED),
                    oldest: std::array::from_fn(|_| zero()),
                    began_ms: zero(),
                    expires_ms: AtomicU64::new(NEVER),
                    isolation: zero(),
                    counters: std::array::from_fn(|_| zero()),
                })
            }),
            idle: zero(),
        })
    }
}

impl Slot {
    /// Takes the slot if it is free.
    fn take(&self, number: u64) -> bool {
        self.owner.load(Ordering::Relaxed) == FREE
            && self.owner.compare_exchange(FREE, number, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    /// Returns the number of the transaction that has the slot, and true if its snapshot has expired.
    fn running(&self) -> Option<(u64, bool)> {
        let owner = self.owner.load(Ordering::SeqCst);
        (![FREE, CLOSED].contains(&owner)).then_some((owner & !EXPIRED, owner & EXPIRED != 0))
    }
}

impl Active {
    pub(crate) fn new() -> Self {
        Self {
            chunks: (0..CHUNKS).map(|_| OnceLock::new()).collect(),
            open: std::array::from_fn(|_| AtomicU64::new(0)),
            changing: Mutex::new(()),
            hint: AtomicUsize::new(0),
            numbers: AtomicU64::new(0),
            expired: AtomicU64::new(0),
            opened: Instant::now(),
        }
    }

    fn chunk(&self, chunk: usize) -> &Chunk {
        self.chunks[chunk].get_or_init(Chunk::new)
    }

    fn slot(&self, index: usize) -> &Slot {
        &self.chunk(index / CHUNK).slots[index % CHUNK]
    }

    /// Returns a number that no other transaction has.
    pub(crate) fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed) + 1
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
        let number = self.next_number();
        let last = LAST.with(Cell::get);
        let known = self.chunks.get(last / CHUNK).and_then(OnceLock::get);
        let found = if known.is_some_and(|chunk| chunk.slots[last % CHUNK].take(number)) {
            last
        } else {
            self.find(number)?
        };
        LAST.with(|last| last.set(found));
        let slot = self.slot(found);
        slot.began_ms.store(self.opened.elapsed().as_millis() as u64, Ordering::Relaxed);
        slot.isolation.store(isolation as u64, Ordering::Relaxed);
        Ok(Seat { index: found, number })
    }

    /// Finds a free slot and takes it. Opens another chunk if the nearest ones are full: to search all would cost more.
    fn find(&self, number: u64) -> Result<usize> {
        loop {
            let hint = self.hint.load(Ordering::Relaxed);
            let (near, far) = (self.open().filter(|at| *at >= hint), self.open().filter(|at| *at < hint));
            for chunk in near.chain(far).take(NEAR) {
                if let Some(index) = self.take_in(chunk, number) {
                    return Ok(index);
                }
            }
            let _changing = self.changing.lock();
            if self.hint.load(Ordering::Relaxed) != hint {
                // Another thread has found or made space meanwhile.
                continue;
            }
            if let Some(chunk) = (0..CHUNKS).find(|chunk| !self.is_open(*chunk)) {
                return Ok(self.open_chunk(chunk, number));
            }
            // No chunk is closed now, so the search below misses no slot that stays free.
            return (0..CHUNKS).find_map(|chunk| self.take_in(chunk, number)).ok_or_else(|| {
                Error::Capacity(format!(
                    "{} transactions are running, the maximum: end some before beginning more",
                    SEATS
                ))
            });
        }
    }

    /// Takes a free slot of a chunk, if there is one.
    fn take_in(&self, chunk: usize, number: u64) -> Option<usize> {
        let slot = self.chunk(chunk).slots.iter().position(|slot| slot.take(number))?;
        self.hint.store(chunk, Ordering::Relaxed);
        Some(chunk * CHUNK + slot)
    }

    /// Opens a chunk, and takes its first slot. The caller holds `changing`.
    fn open_chunk(&self, chunk: usize, number: u64) -> usize {
        let slots = &self.chunk(chunk).slots;
        // The chunk is open before a transaction can have a slot in it. So a search for the oldest snapshot that
        // misses the chunk was before the transaction began.
        self.open[chunk / WORD].fetch_or(1 << (chunk % WORD), Ordering::SeqCst);
        slots[0].owner.store(number, Ordering::SeqCst);
        slots[1..].iter().for_each(|slot| slot.owner.store(FREE, Ordering::SeqCst));
        self.hint.store(chunk, Ordering::Relaxed);
        chunk * CHUNK
    }

    /// Closes the chunks that were without a transaction in [`IDLE`] calls. The first chunk stays open.
    pub(crate) fn close_idle(&self) {
        for index in self.open().filter(|chunk| *chunk != 0) {
            let chunk = self.chunk(index);
            if chunk.slots.iter().any(|slot| slot.running().is_some()) {
                chunk.idle.store(0, Ordering::Relaxed);
            } else if chunk.idle.fetch_add(1, Ordering::Relaxed) + 1 >= IDLE {
                self.close(index);
            }
        }
    }

    fn close(&self, index: usize) {
        let _changing = self.changing.lock();
        if !self.is_open(index) {
            return;
        }
        let chunk = self.chunk(index);
        chunk.idle.store(0, Ordering::Relaxed);
        let closed = chunk.slots.iter().take_while(|slot| slot.take(CLOSED)).count();
        if closed == CHUNK {
            self.open[index / WORD].fetch_and(!(1 << (index % WORD)), Ordering::SeqCst);
        } else {
            // A transaction has a slot, so the chunk stays open.
            chunk.slots[..closed].iter().for_each(|slot| slot.owner.store(FREE, Ordering::SeqCst));
        }
    }

    fn is_open(&self, chunk: usize) -> bool {
        self.open[chunk / WORD].load(Ordering::SeqCst) & (1 << (chunk % WORD)) != 0
    }

    /// Returns the open chunks by number.
    fn open(&self) -> impl Iterator<Item = usize> {
        self.open.iter().enumerate().flat_map(|(word, bits)| {
            let some = |bits: u64| Some(bits).filter(|bits| *bits != 0);
            let left = successors(some(bits.load(Ordering::SeqCst)), move |bits| some(bits & (bits - 1)));
            left.map(move |bits| word * WORD + bits.trailing_zeros() as usize)
        })
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

    /// Limits the age of a transaction that has just begun: [`Active::expire`] may let its snapshot expire then.
    pub(crate) fn limit(&self, seat: Seat, age: Duration) {
        let slot = self.slot(seat.index);
        let age = u64::try_from(age.as_millis()).unwrap_or(NEVER);
        slot.expires_ms.store(slot.began_ms.load(Ordering::Relaxed).saturating_add(age), Ordering::Relaxed);
    }

    /// Lets the snapshots of transactions expire that have reached their limit. From then on they don't count in
    /// [`Active::watermark`]. Returns their numbers.
    pub(crate) fn expire(&self) -> Vec<u64> {
        let now = self.opened.elapsed().as_millis() as u64;
        let mut expired = Vec::new();
        for slot in self.slots() {
            // A slot that another transaction takes meanwhile has another number.
            if let Some((number, false)) = slot.running()
                && slot.expires_ms.load(Ordering::Relaxed) <= now
                && slot
                    .owner
                    .compare_exchange(number, number | EXPIRED, Ordering::SeqCst, Ordering::Relaxed)
                    .is_ok()
            {
                self.expired.fetch_add(1, Ordering::Relaxed);
                expired.push(number);
            }
        }
        expired
    }

    /// Returns the age of a transaction if its snapshot has expired. What the transaction read before the call is right
    /// if this returns none.
    ///
    /// A version goes only after its collector has found the slot expired. So a reader that misses the version has seen
    /// a step that comes after the mark, and finds the mark: each of these steps acquires what the one before released.
    #[inline]
    pub(crate) fn expired_at(&self, seat: Seat) -> Option<Duration> {
        let slot = self.slot(seat.index);
        (slot.owner.load(Ordering::Acquire) & EXPIRED != 0).then(|| self.age(slot))
    }

    /// Returns the number of snapshots that have expired.
    pub(crate) fn expired(&self) -> u64 {
        self.expired.load(Ordering::Relaxed)
    }

    fn age(&self, slot: &Slot) -> Duration {
        let began = Duration::from_millis(slot.began_ms.load(Ordering::Relaxed));
        self.opened.elapsed().saturating_sub(began)
    }

    /// Gives the slot back.
    pub(crate) fn end(&self, seat: Seat, count: Count) {
        let slot = self.slot(seat.index);
        let counter = &slot.counters[count as usize];
        // Only the slot's owner writes its counters.
        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        slot.expires_ms.store(NEVER, Ordering::Relaxed);
        slot.owner.store(FREE, Ordering::SeqCst);
    }

    /// Returns the slots of the open chunks. Nobody runs in the others.
    fn slots(&self) -> impl Iterator<Item = &CachePadded<Slot>> {
        self.open().flat_map(|chunk| &self.chunk(chunk).slots)
    }

    /// Returns the number of slots that a search for the oldest snapshot visits.
    #[cfg(test)]
    pub(crate) fn scanned(&self) -> usize {
        self.slots().count()
    }

    /// Returns the watermark of engine number `engine`: no older snapshot is or will be read, except by transactions
    /// whose snapshots have expired. These check that before they use what they read.
    pub(crate) fn watermark(&self, engine: usize, clock: &Clock) -> Timestamp {
        // The horizon is read before the slots: a transaction that is missed below took its snapshot after this.
        let horizon = clock.horizon();
        self.slots()
            .filter(|slot| matches!(slot.running(), Some((_, false))))
            .map(|slot| Timestamp(slot.oldest[engine].load(Ordering::SeqCst)))
            .fold(horizon, Timestamp::min)
    }

    /// Returns the sum of a counter over all slots, open or closed.
    pub(crate) fn count(&self, count: Count) -> u64 {
        let slots = self.chunks.iter().filter_map(OnceLock::get).flat_map(|chunk| &chunk.slots);
        slots.map(|slot| slot.counters[count as usize].load(Ordering::Relaxed)).sum()
    }

    /// Returns the lowest and the highest number of the running transactions, also of those whose snapshots have
    /// expired. Returns none if no transaction is running.
    pub(crate) fn numbers_running(&self) -> Option<(u64, u64)> {
        let numbers = self.slots().filter_map(|slot| slot.running()).map(|(number, _)| number);
        numbers.fold(None, |found, number| {
            let (oldest, newest) = found.unwrap_or((number, number));
            Some((number.min(oldest), number.max(newest)))
        })
    }

    /// Returns the running transactions, oldest first.
    pub(crate) fn running(&self) -> Vec<RunningTransaction> {
        let mut running: Vec<_> = self
            .slots()
            .filter_map(|slot| {
                slot.running().map(|(number, expired)| RunningTransaction {
                    number,
                    age: self.age(slot),
                    isolation: Isolation::from_index(slot.isolation.load(Ordering::Relaxed)),
                    expired,
                })
            })
            .collect();
        running.sort_by_key(|transaction| transaction.number);
        running
    }
}
