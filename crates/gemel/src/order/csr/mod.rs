//! The cross-engine snapshot registry (CSR): which snapshots of another engine belong with those of the anchor.
//!
//! See `DESIGN.md`, "The registry". The invariant: for snapshots (a, d) and (a', d') with a < a', d ≤ d'; and for a commit
//! at (c_a, c_d) and a snapshot (a, d), a ≥ c_a if and only if d ≥ c_d.

mod partition;

use super::clock::Timestamp;
use super::sync::{Mutex, MutexGuard};
use partition::Partition;
use std::collections::VecDeque;

/// Why the registry refuses a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It would have to enter a pair into a partition that is closed.
    Closed,
    /// Its commit timestamps cross those of another commit or snapshot.
    Crossing,
}

impl Refused {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Closed => "its snapshot is so old that its part of the registry is closed",
            Self::Crossing => "its commit timestamps cross those of another transaction",
        }
    }
}

/// What the registry holds and did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CsrState {
    /// Partitions, the open one included.
    pub partitions: usize,
    /// Entries in all partitions.
    pub entries: usize,
    /// Snapshots selected.
    pub selections: u64,
    /// Commits over both engines that were entered.
    pub commits: u64,
    /// Transactions refused because their partition was closed.
    pub refused_closed: u64,
    /// Transactions refused because their commit timestamps crossed others.
    pub refused_crossing: u64,
    /// Partitions dropped since no running transaction could need them.
    pub recycled: u64,
}

/// The registry of one engine beside the anchor.
///
/// One mutex guards all of it. Nearly every access is to the open partition, which the thesis guards with a
/// mutex too; and with one for all, a bound that lies in a neighbouring partition is read in the same critical section.
#[derive(Debug)]
pub(crate) struct Registry {
    capacity: usize,
    recycle: u64,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// By anchor timestamp; never empty; only the last takes entries.
    partitions: VecDeque<Partition>,
    accesses: u64,
    state: CsrState,
}

impl Registry {
    /// An empty registry whose partitions hold `capacity` entries and which looks for droppable ones every
    /// `recycle` accesses; both are at least one.
    pub(crate) fn new(capacity: usize, recycle: u64) -> Self {
        let inner = Inner {
            partitions: [Partition::new(Timestamp::ZERO)].into(),
            accesses: 0,
            state: CsrState::default(),
        };
        Self { capacity: capacity.max(1), recycle: recycle.max(1), inner: Mutex::new(inner) }
    }

    /// The snapshot of the engine that belongs with `anchor`, the freshest that keeps the invariant. `horizon` is
    /// the engine's, read before this call. The result may lie above it: then a commit over both engines is being
    /// published, and the caller waits for the engine to reach it. `oldest` tells the oldest running anchor snapshot.
    pub(crate) fn select(
        &self,
        anchor: Timestamp,
        horizon: Timestamp,
        oldest: impl FnOnce() -> Timestamp,
    ) -> Result<Timestamp, Refused> {
        let mut inner = self.inner.lock();
        inner.state.selections += 1;
        inner.recycle(self.recycle, oldest);
        let (low, high) = inner.bounds(anchor);
        debug_assert!(high.is_none_or(|high| low <= high), "snapshots are monotone");
        let choice = high.map_or(horizon, |high| high.min(horizon)).max(low);
        // At the upper bound nothing need be entered: every other snapshot between this one and the entry that
        // bounds it gets the same, for the horizon only grows.
        if high == Some(choice) {
            return Ok(choice);
        }
        inner.enter(self.capacity, anchor, choice, choice)?;
        Ok(choice)
    }

    /// The least timestamp of the engine that a reader who has seen the anchor at `anchor` must see: for read
    /// committed, whose views need not agree but must not go back behind a commit that was seen in part.
    pub(crate) fn least(&self, anchor: Timestamp) -> Timestamp {
        self.inner.lock().bounds(anchor).0
    }

    /// The latch under which commits over both engines are entered.
    pub(crate) fn latch(&self) -> Latch<'_> {
        Latch { capacity: self.capacity, inner: self.inner.lock() }
    }

    /// Counts, and what is held now.
    pub(crate) fn state(&self) -> CsrState {
        let inner = self.inner.lock();
        CsrState {
            partitions: inner.partitions.len(),
            entries: inner.partitions.iter().map(Partition::len).sum(),
            ..inner.state
        }
    }
}

/// Holds the registry while a commit is entered.
pub(crate) struct Latch<'a> {
    capacity: usize,
    inner: MutexGuard<'a, Inner>,
}

impl Latch<'_> {
    /// Checks the commit at (`anchor`, `other`) against all that is there and enters it.
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
}

impl Inner {
    /// Index of the partition in which `anchor` lies: the last that begins at or below it, else the first.
    fn partition_of(&self, anchor: Timestamp) -> usize {
        self.partitions
            .partition_point(|partition| partition.first().is_some_and(|first| first <= anchor))
            .saturating_sub(1)
    }

    /// What a snapshot at `anchor` must at least see, and may at most see.
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
        }
        let open = self.partitions.len() - 1;
        self.partitions[open].insert(anchor, below, max);
        Ok(())
    }

    fn recycle(&mut self, every: u64, oldest: impl FnOnce() -> Timestamp) {
        self.accesses += 1;
        if !self.accesses.is_multiple_of(every) || self.partitions.len() < 2 {
            return;
        }
        let oldest = oldest();
        while self.partitions.len() > 1 && self.partitions[1].first().is_some_and(|first| first <= oldest) {
            self.partitions.pop_front();
            self.state.recycled += 1;
        }
    }
}
