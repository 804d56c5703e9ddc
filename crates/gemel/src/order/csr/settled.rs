//! The snapshot that transactions share while nothing commits.

use super::super::sync::AtomicU64;
use super::Timestamp;
use std::sync::atomic::Ordering::SeqCst;

/// A snapshot that was selected more than once. Whoever has the same anchor snapshot and reads the same horizon of the
/// other engine gets it without the registry's latch (`DESIGN.md`, "The registry").
#[derive(Debug)]
pub(crate) struct Settled {
    anchor: AtomicU64,
    /// The other engine's part. [`ABSENT`] while the pair changes. It never falls otherwise, so a reader that finds the
    /// same value before and after it reads `anchor` has read a pair that was published: this value may have had
    /// several anchors, all of them right.
    other: AtomicU64,
}

/// No pair. A snapshot before every commit has this number too, and is always looked up.
const ABSENT: u64 = 0;

impl Settled {
    pub(crate) fn new() -> Self {
        Self { anchor: AtomicU64::new(ABSENT), other: AtomicU64::new(ABSENT) }
    }

    /// Returns true if (`anchor`, `other`) is the published snapshot.
    pub(crate) fn is(&self, anchor: Timestamp, other: Timestamp) -> bool {
        other.0 != ABSENT
            && self.other.load(SeqCst) == other.0
            && self.anchor.load(SeqCst) == anchor.0
            && self.other.load(SeqCst) == other.0
    }

    /// Publishes a snapshot, unless it is older than the published one. The caller holds the registry's latch.
    pub(crate) fn publish(&self, anchor: Timestamp, other: Timestamp) {
        if other.0 < self.other.load(SeqCst) {
            return;
        }
        self.other.store(ABSENT, SeqCst);
        self.anchor.store(anchor.0, SeqCst);
        self.other.store(other.0, SeqCst);
    }
}
