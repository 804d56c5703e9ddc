//! An engine's order of commits.

use super::sync::{AtomicU64, Backoff};
use crossbeam_utils::CachePadded;
use std::fmt;
use std::sync::atomic::Ordering;

/// A point in one engine's order of commits. Zero is before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Before every commit.
    pub const ZERO: Self = Self(0);
    /// After every commit.
    pub const MAX: Self = Self(u64::MAX);
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Hands out commit timestamps and tells up to where every one of them is done.
///
/// A snapshot is taken at the horizon, never at the last timestamp drawn: whatever is at or below the horizon is
/// installed (or was given up), so a snapshot never changes under its reader.
#[derive(Debug)]
pub(crate) struct Clock {
    drawn: CachePadded<AtomicU64>,
    horizon: CachePadded<AtomicU64>,
}

impl Clock {
    /// A clock that goes on after `last`.
    pub(crate) fn new(last: Timestamp) -> Self {
        Self {
            drawn: CachePadded::new(AtomicU64::new(last.0)),
            horizon: CachePadded::new(AtomicU64::new(last.0)),
        }
    }

    /// Goes on after `last` if it has not come that far: recovery finds commits that were made before. Nobody may
    /// draw meanwhile.
    pub(crate) fn recover(&self, last: Timestamp) {
        self.drawn.fetch_max(last.0, Ordering::SeqCst);
        self.horizon.fetch_max(last.0, Ordering::SeqCst);
    }

    /// The next commit timestamp. Whoever draws one must [`Clock::publish`] it, also when the commit is given up.
    pub(crate) fn draw(&self) -> Timestamp {
        Timestamp(self.drawn.fetch_add(1, Ordering::SeqCst) + 1)
    }

    /// The last timestamp drawn.
    pub(crate) fn drawn(&self) -> Timestamp {
        Timestamp(self.drawn.load(Ordering::SeqCst))
    }

    /// The newest snapshot: every commit at or below it is installed.
    pub(crate) fn horizon(&self) -> Timestamp {
        Timestamp(self.horizon.load(Ordering::SeqCst))
    }

    /// Waits until all commits at or below `at` are installed. Short: such commits are between drawing their
    /// timestamp and publishing it (`DESIGN.md`, "Clocks and snapshots", says what these may wait for).
    pub(crate) fn wait_for(&self, at: Timestamp) {
        let backoff = Backoff::new();
        while self.horizon.load(Ordering::SeqCst) < at.0 {
            // Yields to the operating system once spinning has gone on for a while.
            backoff.snooze();
        }
    }

    /// Says that the commit at `at` is installed or given up. Timestamps are published in their order, so this
    /// waits for those drawn before.
    pub(crate) fn publish(&self, at: Timestamp) {
        self.wait_for(Timestamp(at.0 - 1));
        self.horizon.store(at.0, Ordering::SeqCst);
    }
}
