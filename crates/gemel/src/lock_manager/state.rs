//! The locks that a transaction holds, and the state of a key that it is locking (`DESIGN.md`, "Locking reads").

use crate::ids::KeyspaceId;
use crate::key::Key;
use crate::order::clock::Timestamp;
use foldhash::fast::RandomState;
use indexmap::IndexMap;

/// The locks of a transaction, oldest first, and the snapshot at which each key was current when its lock was granted.
pub(crate) type Locks = IndexMap<(KeyspaceId, Key), Timestamp, RandomState>;

/// The snapshot of a write whose key the transaction has locked. No other commit of the key is newer, and the engine need
/// not remember the commits since the lock.
pub(crate) const LOCKED: Timestamp = Timestamp(Timestamp::MAX.0 - 1);

/// The state of a key for a transaction that holds its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// The key was not committed after the snapshot, and will not be.
    Current,
    /// The key was committed after the snapshot. No more commits will come.
    Newer,
    /// A commit is under way, or a prepared transaction is undecided.
    No,
}
