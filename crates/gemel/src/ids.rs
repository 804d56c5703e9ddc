//! Numbers of keyspaces and engines, random numbers, and the direction of scans.

use crate::key::{Key, KeyRange};
use std::hash::{BuildHasher, RandomState};
use std::ops::Bound;

/// Maximum number of engines in one database: the anchor and three more.
pub(crate) const MAX_ENGINES: usize = 4;

/// Number of a keyspace, an ordered map from byte keys to byte values in one engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub(crate) struct KeyspaceId(pub(crate) u32);

/// A transaction as the owner of locks in engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// Number of the transaction. No other one ever has it.
    pub(crate) number: u64,
    /// Place among the transactions that are running or prepared, from 1 on. Another one may get it later. It takes less
    /// memory than the number.
    pub(crate) place: u32,
}

#[cfg(test)]
impl From<u32> for Owner {
    fn from(number: u32) -> Self {
        Self { number: number.into(), place: number }
    }
}

/// Returns a random number, to distinguish what is made at another time or place.
pub(crate) fn random() -> u64 {
    RandomState::new().hash_one((std::process::id(), std::time::SystemTime::now()))
}

/// The direction of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Direction {
    /// From the smallest key to the largest.
    #[default]
    Forward,
    /// From the largest key to the smallest.
    Backward,
}

impl Direction {
    /// Leaves out the keys of a range up to `last`, so that a scan in this direction goes on after it.
    pub(crate) fn go_on(self, range: &mut KeyRange, last: Key) {
        match self {
            Self::Forward => range.lower = Bound::Excluded(last),
            Self::Backward => range.upper = Bound::Excluded(last),
        }
    }
}
