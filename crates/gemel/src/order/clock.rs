//! The clock of an engine, which orders its commits.

use super::sync::{AtomicU64, Backoff};
use crossbeam_utils::CachePadded;
use std::fmt;
use std::sync::atomic::Ordering;

/// A point in one engine's order of commits. Zero is before the first commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// A timestamp before every commit.
    pub const ZERO: Self = Self(0);
    /// A timestamp after every commit.
    pub const MAX: Self = Self(u64::MAX);
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Draws commit timestamps, and knows the horizon: the timestamp up to which all commits are done.
///
/// A snapshot is the horizon, never the last timestamp drawn. Every commit at or below the horizon is installed or was
/// abandoned, so a snapshot never changes under its reader.
#[derive(Debug)]
pub(crate) struct Clock {
    drawn: CachePadded<AtomicU64>,
    horizon: CachePadded<AtomicU64>,
    /// Not zero once a timestamp was drawn that nobody will publish.
    broken: AtomicU64,
}

/// The horizon will not move any more: a thread panicked between drawing a timestamp and publishing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken;

impl Clock {
    /// Makes a clock whose next timestamp follows `last`.
    pub(crate) fn new(last: Timestamp) -> Self {
        Self {
            drawn: CachePadded::new(AtomicU64::new(last.0)),
            horizon: CachePadded::new(AtomicU64::new(last.0)),
            broken: AtomicU64::new(0),
        }
    }

    /// Moves the clock to `last` unless it is there already: recovery finds earlier commits. Nobody may draw meanwhile.
    pub(crate) fn recover(&self, last: Timestamp) {
        self.drawn.fetch_max(last.0, Ordering::SeqCst);
        self.horizon.fetch_max(last.0, Ordering::SeqCst);
    }

    /// Draws the next commit timestamp. The caller must [`Clock::publish`] it, even if the commit is abandoned.
    pub(crate) fn draw(&self) -> Timestamp {
        Timestamp(self.drawn.fetch_add(1, Ordering::SeqCst) + 1)
    }

    /// Returns the last timestamp drawn.
    pub(crate) fn drawn(&self) -> Timestamp {
        Timestamp(self.drawn.load(Ordering::SeqCst))
    }

    /// Returns the horizon, which is the newest snapshot: every commit at or below it is installed or was abandoned.
    pub(crate) fn horizon(&self) -> Timestamp {
        Timestamp(self.horizon.load(Ordering::SeqCst))
    }

    /// Waits until all commits at or below `at` are published. The wait is short: such commits are between drawing
    /// their timestamp and publishing it (`DESIGN.md`, "The parts", lists what they may wait for meanwhile).
    pub(crate) fn wait_for(&self, at: Timestamp) -> Result<(), Broken> {
        let backoff = Backoff::new();
        while self.horizon.load(Ordering::SeqCst) < at.0 {
            self.check()?;
            // Spins at first, then yields to the operating system.
            backoff.snooze();
        }
        Ok(())
    }

    /// Ends all waits for timestamps above the horizon, now and later.
    pub(crate) fn set_broken(&self) {
        self.broken.store(1, Ordering::SeqCst);
    }

    /// Returns an error if the clock is broken.
    pub(crate) fn check(&self) -> Result<(), Broken> {
        if self.broken.load(Ordering::SeqCst) == 0 { Ok(()) } else { Err(Broken) }
    }

    /// Publishes that the commit at `at` is installed or abandoned. Timestamps are published in order, so this waits
    /// for those drawn before. Once the clock is broken, nothing is published any more.
    pub(crate) fn publish(&self, at: Timestamp) {
        if self.wait_for(Timestamp(at.0 - 1)).is_ok() {
            self.horizon.store(at.0, Ordering::SeqCst);
        }
    }
}
