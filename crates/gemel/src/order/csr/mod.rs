//! The cross-engine snapshot registry (CSR), which relates snapshots of another engine to those of the anchor.
//!
//! See `DESIGN.md`, "The registry". It keeps two invariants. For snapshots (a, d) and (a', d') with a < a', d ≤ d'. For
//! a commit at (c_a, c_d) and a snapshot (a, d), a ≥ c_a if and only if d ≥ c_d.

mod partition;

use super::clock::{Broken, Timestamp};
use super::sync::{Mutex, MutexGuard};
use partition::Partition;
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

/// The reason why the registry rejects a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The transaction would have to enter a pair into a closed partition.
    Closed,
    /// The transaction's commit timestamps cross those of another commit or snapshot.
    Crossing,
    /// The engine's clock is broken, so no snapshot of it can be taken any more.
    Broken,
}

impl From<Broken> for Refused {
    fn from(_: Broken) -> Self {
        Self::Broken
    }
}

impl Refused {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Closed => "its snapshot is so old that its part of the registry is closed",
            Self::Crossing => "its commit timestamps cross those of another transaction",
            Self::Broken => "a thread panicked while it committed",
        }
    }
}

/// State and counters of the registry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CsrState {
    /// Number of partitions, including the open one.
    pub partitions: usize,
    /// Entries in all partitions.
    pub entries: usize,
    /// Snapshots selected since the database was opened. Those that repeat the last one of their thread are
    /// counted with the thread's next other one.
    pub selections: u64,
    /// Commits over both engines that were entered, and changes of the catalog.
    pub commits: u64,
    /// Transactions aborted because their partition was closed.
    pub refused_closed: u64,
    /// Transactions aborted because their commit timestamps crossed others.
    pub refused_crossing: u64,
    /// Partitions dropped because no running transaction could need them.
    pub recycled: u64,
}

/// The registry of one engine beside the anchor.
///
/// One mutex guards all of it. Nearly every access is to the open partition, which the thesis guards with a mutex too.
/// With one mutex for all partitions, a bound in a neighbouring partition is read in the same critical section.
#[derive(Debug)]
pub(crate) struct Registry {
    /// No other registry of this process has this number.
    number: u64,
    capacity: usize,
    recycle: u64,
    inner: Mutex<Inner>,
}

/// A snapshot that a registry has selected.
#[derive(Clone, Copy)]
struct Selected {
    /// Number of the registry.
    registry: u64,
    anchor: Timestamp,
    /// The engine's horizon that the selection was called with.
    horizon: Timestamp,
    choice: Timestamp,
    /// Number of further selections of it, which the registry has not counted yet.
    again: u64,
}

thread_local! {
    /// The last selection of this thread.
    static LAST: Cell<Option<Selected>> = const { Cell::new(None) };
}

#[derive(Debug)]
struct Inner {
    /// Partitions by anchor timestamp; never empty. Only the last takes new entries.
    partitions: VecDeque<Partition>,
    accesses: u64,
    /// True if a partition was opened since the last search for partitions to drop.
    opened: bool,
    /// The newest horizon of the other engine that a selection has brought.
    horizon: Timestamp,
    state: CsrState,
}

impl Registry {
    /// Makes an empty registry. Its partitions hold `capacity` entries. It searches for partitions to drop every
    /// `recycle` accesses, and after it opened a partition. Both are at least one.
    pub(crate) fn new(capacity: usize, recycle: u64) -> Self {
        let inner = Inner {
            partitions: [Partition::new(Timestamp::ZERO)].into(),
            accesses: 0,
            opened: false,
            horizon: Timestamp::ZERO,
            state: CsrState::default(),
        };
        static LAST_NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = LAST_NUMBER.fetch_add(1, Ordering::Relaxed) + 1;
        Self { number, capacity: capacity.max(1), recycle: recycle.max(1), inner: Mutex::new(inner) }
    }

    /// Selects the snapshot of the engine that belongs with `anchor`: the newest that keeps the invariants. `horizon`
    /// is the engine's horizon, read before this call. The result may be above it: then a commit over both engines is
    /// being published, and the caller waits for the engine to reach it. `oldest` returns the oldest anchor snapshot of
    /// a running transaction.
    pub(crate) fn select(
        &self,
        anchor: Timestamp,
        horizon: Timestamp,
        oldest: impl FnOnce() -> Timestamp,
    ) -> Result<Timestamp, Refused> {
        // As long as nobody commits, a thread's transactions ask for the same pair again. It can be given without the
        // latch: the registry has it already (`DESIGN.md`, "The registry").
        let is_same = |last: &Selected| {
            last.registry == self.number && last.anchor == anchor && last.horizon == horizon
        };
        let last = LAST.get();
        // Now and then the registry must be asked, so it drops partitions.
        if let Some(last) = last.filter(is_same)
            && last.again + 1 < self.recycle
        {
            LAST.set(Some(Selected { again: last.again + 1, ..last }));
            return Ok(last.choice);
        }
        let uncounted = last.filter(|last| last.registry == self.number).map_or(0, |last| last.again);
        let choice = self.select_anew(anchor, horizon, uncounted, oldest)?;
        LAST.set(Some(Selected { registry: self.number, anchor, horizon, choice, again: 0 }));
        Ok(choice)
    }

    fn select_anew(
        &self,
        anchor: Timestamp,
        horizon: Timestamp,
        uncounted: u64,
        oldest: impl FnOnce() -> Timestamp,
    ) -> Result<Timestamp, Refused> {
        let mut inner = self.inner.lock();
        inner.state.selections += uncounted + 1;
        inner.recycle(self.recycle, uncounted + 1, oldest);
        // The caller may have read its horizon long before others that were here first.
        inner.horizon = inner.horizon.max(horizon);
        let horizon = inner.horizon;
        let (low, high) = inner.bounds(anchor);
        debug_assert!(high.is_none_or(|high| low <= high), "snapshots are monotone");
        let choice = high.map_or(horizon, |high| high.min(horizon)).max(low);
        // At the upper bound no entry is needed: every other snapshot between this one and the entry that bounds it
        // gets the same result, because `inner.horizon` only grows.
        if high != Some(choice) {
            inner.enter(self.capacity, anchor, choice, choice)?;
        }
        Ok(choice)
    }

    /// Returns the smallest timestamp of the engine that a reader must see after it has read the anchor at `anchor`.
    /// Used at read committed, where snapshots need not agree, but must not go back behind a commit that the reader has
    /// seen in one engine.
    pub(crate) fn least(&self, anchor: Timestamp) -> Timestamp {
        self.inner.lock().bounds(anchor).0
    }

    /// Takes the latch under which commits over both engines are entered.
    pub(crate) fn latch(&self) -> Latch<'_> {
        Latch { capacity: self.capacity, recycle: self.recycle, inner: self.inner.lock() }
    }

    /// Returns the counters and current sizes.
    pub(crate) fn state(&self) -> CsrState {
        let inner = self.inner.lock();
        CsrState {
            partitions: inner.partitions.len(),
            entries: inner.partitions.iter().map(Partition::len).sum(),
            ..inner.state
        }
    }
}

/// Holds the registry's latch while a commit is entered.
pub(crate) struct Latch<'a> {
    capacity: usize,
    recycle: u64,
    inner: MutexGuard<'a, Inner>,
}

impl Latch<'_> {
    /// Checks the commit at (`anchor`, `other`) against all entries, and enters it.
    pub(crate) fn admit(&mut self, anchor: Timestamp, other: Timestamp) -> Result<(), Refused> {
        let before = Timestamp(anchor.0 - 1);
        let (low, high) = self.inner.bounds(before);
        if low >= other || high.is_some_and(|high| high < other) {
            self.inner.state.refused_crossing += 1;
            return Err(Refused::Crossing);
        }
        self.inner.enter(self.capacity, anchor, Timestamp(other.0 - 1), other)?;
        self.inner.state.commits += 1;
        Ok(())
    }

    /// Drops partitions that nobody needs, if it is time to search for some. `oldest` returns the oldest anchor
    /// snapshot of a running transaction. The caller's commit must not be published in the anchor yet.
    pub(crate) fn recycle(mut self, oldest: impl FnOnce() -> Timestamp) {
        self.inner.recycle(self.recycle, 1, oldest);
    }
}

impl Inner {
    /// Returns the index of the partition for `anchor`: the last one that begins at or below it, otherwise the first.
    fn partition_of(&self, anchor: Timestamp) -> usize {
        self.partitions
            .partition_point(|partition| partition.first().is_some_and(|first| first <= anchor))
            .saturating_sub(1)
    }

    /// Returns the smallest and, if it is bounded, the largest timestamp that a snapshot at `anchor` may have in the
    /// other engine.
    fn bounds(&self, anchor: Timestamp) -> (Timestamp, Option<Timestamp>) {
        let index = self.partition_of(anchor);
        let partition = &self.partitions[index];
        let high = partition
            .below_after(anchor)
            .or_else(|| self.partitions.range(index + 1..).find_map(|next| next.below_after(anchor)));
        (partition.max_up_to(anchor), high)
    }

    fn enter(
        &mut self,
        capacity: usize,
        anchor: Timestamp,
        below: Timestamp,
        max: Timestamp,
    ) -> Result<(), Refused> {
        let index = self.partition_of(anchor);
        if self.partitions[index].tighten(anchor, below, max) {
            return Ok(());
        }
        if index + 1 < self.partitions.len() {
            self.state.refused_closed += 1;
            return Err(Refused::Closed);
        }
        if self.partitions[index].len() >= capacity {
            if self.partitions[index].last().is_some_and(|last| anchor < last) {
                self.state.refused_closed += 1;
                return Err(Refused::Closed);
            }
            let carried = self.partitions[index].max_up_to(Timestamp::MAX);
            self.partitions.push_back(Partition::new(carried));
            self.opened = true;
        }
        let open = self.partitions.len() - 1;
        self.partitions[open].insert(anchor, below, max);
        Ok(())
    }

    fn recycle(&mut self, every: u64, accesses: u64, oldest: impl FnOnce() -> Timestamp) {
        let before = self.accesses / every;
        self.accesses += accesses;
        let due = std::mem::take(&mut self.opened) || self.accesses / every > before;
        if !due || self.partitions.len() < 2 {
            return;
        }
        let oldest = oldest();
        while self.partitions.len() > 1 && self.partitions[1].first().is_some_and(|first| first <= oldest) {
            self.partitions.pop_front();
            self.state.recycled += 1;
        }
    }
}
