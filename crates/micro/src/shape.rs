//! Shape of a transaction: accesses, updates among them, and the share that goes to disk.

use std::fmt;

/// The shape of all transactions of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Records that a transaction accesses; 1 to [`Shape::MAX_ACCESSES`].
    pub accesses: u32,
    /// Updates, which are the last accesses; 0 (read-only) to all (write-only).
    pub updates: u32,
    /// Share of the accesses that goes to tables on disk, 0 to 100 percent. Of ten accesses 30 % are exactly three. If
    /// the share is no whole number of accesses, some transactions have one more, so that the mean is right.
    pub disk_percent: u32,
}

impl Shape {
    /// Most accesses of a transaction. A transaction is a value without memory of its own, so its size is bounded.
    pub const MAX_ACCESSES: u32 = 64;
}

impl Default for Shape {
    /// Returns ten accesses with two updates, the thesis's mix. Half of the accesses are on disk, so nearly every
    /// transaction uses both engines.
    fn default() -> Self {
        Self { accesses: 10, updates: 2, disk_percent: 50 }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} accesses, {} of them updates", self.accesses, self.updates)
    }
}
