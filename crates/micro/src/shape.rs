//! What a transaction is: how many accesses, how many of them updates, and which share goes to disk.

use std::fmt;

/// The shape of all transactions of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Records that a transaction accesses; 1 to [`Shape::MAX_ACCESSES`].
    pub accesses: u32,
    /// How many of these are updates, the last ones; 0 (read-only) to all (write-only).
    pub updates: u32,
    /// Share of the accesses that goes to tables on disk, 0 to 100. Of ten accesses 30 % are exactly three; where the share
    /// is no whole number of accesses, a transaction has one more as often as makes the mean right.
    pub disk_percent: u32,
}

impl Shape {
    /// A transaction is a value without memory of its own, so its size is bounded.
    pub const MAX_ACCESSES: u32 = 64;
}

impl Default for Shape {
    /// Ten accesses with two updates, the thesis's mix of reads and updates, half of them on disk: nearly every
    /// transaction is then over both engines.
    fn default() -> Self {
        Self { accesses: 10, updates: 2, disk_percent: 50 }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} accesses, {} of them updates", self.accesses, self.updates)
    }
}
