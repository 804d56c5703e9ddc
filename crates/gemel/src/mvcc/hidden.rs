//! Versions that are in their chains before their commit draws a timestamp.
//!
//! Commits are published in the order of their timestamps, so whatever a commit does between drawing and publishing, it
//! delays all later commits. A commit of many rows would install them in this time. Instead:
//!
//! 1. It installs its versions before it draws, with a [`Mark`] that they share in the place of a timestamp. No snapshot
//!    contains a mark that is not set, so readers pass over the versions.
//! 2. It draws its timestamp, sets the mark, and publishes. From then on readers see all its versions at once.
//! 3. It writes the timestamp into the versions, unlocks the records, and frees the mark once no reader can have it.
//!
//! The records are locked all the time, so nobody else changes the newest version meanwhile.

use super::garbage::Batch;
use super::stamp::Mark;
use crate::order::clock::Timestamp;

/// The versions of a commit that are installed and that no snapshot contains. The engine that made this must get it back:
/// a mark that versions have must not be freed, so dropping this frees nothing.
pub(crate) struct Hidden {
    pub(crate) mark: Mark,
    /// What the commit will leave to the collector. It has no timestamp yet.
    pub(crate) garbage: Batch,
}

impl Hidden {
    pub(crate) fn new() -> Self {
        Self { mark: Mark::new(), garbage: Batch::new(Timestamp::ZERO) }
    }

    /// Gives all versions their timestamp, at once. Call it before the timestamp is published.
    pub(crate) fn reveal(&self, at: Timestamp) {
        self.mark.set(at);
    }

    /// Frees the mark once nobody can have found it.
    ///
    /// # Safety
    /// No version that can be found has the mark.
    pub(crate) unsafe fn free(self) -> Batch {
        // SAFETY: the caller guarantees it, and only versions have copies of the mark.
        unsafe { self.mark.free() };
        self.garbage
    }
}
