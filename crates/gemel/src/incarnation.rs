//! Incarnations: which copy of a database wrote something (`DESIGN.md`, "Incarnations").
//!
//! A backup has the number of its database, and so has every copy that is restored from it. Each such copy goes its own
//! way, at positions of the log and under names of files that the others use too. So a copy gets a number of its own when
//! it is opened, its *incarnation*. The log up to that moment is inherited.

use crate::ids;
use serde::{Deserialize, Serialize};

/// The incarnation of a database that was not restored from a backup.
pub(crate) const FIRST: u64 = 0;

/// Returns the number of a new incarnation.
pub(crate) fn new() -> u64 {
    ids::random().max(FIRST + 1)
}

/// The part of the logs that an earlier incarnation wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Inherited {
    pub(crate) incarnation: u64,
    /// The end of the part in each log. It begins where the part before it ends.
    pub(crate) until: Vec<u64>,
}

/// The owner of a log's segments.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Owner {
    /// Number of the database.
    pub(crate) database: u64,
    pub(crate) incarnation: u64,
    /// The end of each inherited part of this log, in order, and the incarnation that wrote it.
    pub(crate) inherited: Vec<(u64, u64)>,
}

impl Owner {
    /// Returns the incarnation that must have written the segment that begins at `first`, and the position at which it
    /// must end, unless it is this one.
    pub(crate) fn of_segment(&self, first: u64) -> (u64, Option<u64>) {
        let inherited = self.inherited.iter().find(|(until, _)| first < *until);
        inherited.map_or((self.incarnation, None), |(until, incarnation)| (*incarnation, Some(*until)))
    }
}

impl From<u64> for Owner {
    /// Returns the owner in a database that was not restored from a backup.
    fn from(database: u64) -> Self {
        Self { database, incarnation: FIRST, inherited: Vec::new() }
    }
}
