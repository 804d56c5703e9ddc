//! Isolation levels, the anomalies by name, and the levels that forbid them.

use serde::{Deserialize, Serialize};
use std::fmt;

/// An isolation level of the checker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Read committed, PL-2: no read of aborted or intermediate writes, no circular flow of information, and every
    /// acknowledged write stays.
    ReadCommitted,
    /// Snapshot isolation: every transaction reads one snapshot. Of two that overlap and write the same key, one fails.
    SnapshotIsolation,
    /// Serializable, PL-3 on items: equivalent to running the transactions one after the other.
    Serializable,
    /// Strict serializable: serializable in an order that no client's clock contradicts.
    StrictSerializable,
}

impl Level {
    /// All levels, the weakest first.
    pub const ALL: [Self; 4] =
        [Self::ReadCommitted, Self::SnapshotIsolation, Self::Serializable, Self::StrictSerializable];

    /// Returns the name on a command line and in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadCommitted => "read-committed",
            Self::SnapshotIsolation => "snapshot-isolation",
            Self::Serializable => "serializable",
            Self::StrictSerializable => "strict-serializable",
        }
    }

    /// Returns the level of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// True if an anomaly contradicts this level. An anomaly that needs the order of a session or of real time
    /// contradicts strict serializability only.
    #[must_use]
    pub fn forbids(self, kind: AnomalyKind, order: Order) -> bool {
        self >= kind.weakest_without() && (order == Order::Data || self == Self::StrictSerializable)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReadCommitted => "read committed",
            Self::SnapshotIsolation => "snapshot isolation",
            Self::Serializable => "serializable",
            Self::StrictSerializable => "strict serializable",
        })
    }
}

/// Order that a cycle needs besides the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// No further order: the data suffice.
    Data,
    /// Order of the transactions of a process.
    Session,
    /// Order of real time: a transaction that ended before another one began comes before it.
    Realtime,
}

/// Kind of an anomaly, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnomalyKind {
    /// A read returned a value that was never written.
    GarbageRead,
    /// An acknowledged append, write or insert is not there at the end. [`super::History::final_from`] says which reads
    /// are at the end.
    LostAppend,
    /// A list or range holds a value twice that was written once.
    DuplicateAppend,
    /// Two reads of a list contradict each other: neither is a beginning of the other. An append was lost or moved.
    IncompatibleOrder,
    /// A transaction misses its own earlier write, or sees its own later write.
    OwnWrites,
    /// G0, dirty write: two transactions' writes interleave.
    DirtyWrite,
    /// G1a, aborted read: a transaction saw a write of an aborted transaction.
    AbortedRead,
    /// G1b, intermediate read: a transaction saw a write that its writer overwrote.
    IntermediateRead,
    /// G1c, circular information flow: transactions saw or overwrote each other's writes in a circle.
    CircularInformation,
    /// A transaction reads a key twice with different results.
    UnrepeatableRead,
    /// P4, lost update: a transaction overwrote a write that came after its own read.
    LostUpdate,
    /// G-single over keys of different engines: a transaction sees another one's effect in one engine but not in the
    /// other (Skeena, Fig. 2.1).
    SkewedSnapshots,
    /// G-single: a transaction sees another one's effect on one key but not on another.
    ReadSkew,
    /// Two readers see two writes in opposite orders.
    LongFork,
    /// G-nonadjacent: a cycle with two or more reads of old versions, no two of them adjacent.
    NonAdjacent,
    /// G2-item: write skew, and every longer cycle with two adjacent reads of old versions.
    WriteSkew,
    /// G2: the same with a read of a range that missed an inserted row.
    Phantom,
}

impl AnomalyKind {
    /// Returns the weakest level that forbids the anomaly.
    #[must_use]
    pub fn weakest_without(self) -> Level {
        match self {
            Self::GarbageRead
            | Self::LostAppend
            | Self::DuplicateAppend
            | Self::IncompatibleOrder
            | Self::OwnWrites
            | Self::DirtyWrite
            | Self::AbortedRead
            | Self::IntermediateRead
            | Self::CircularInformation => Level::ReadCommitted,
            Self::UnrepeatableRead
            | Self::LostUpdate
            | Self::SkewedSnapshots
            | Self::ReadSkew
            | Self::LongFork
            | Self::NonAdjacent => Level::SnapshotIsolation,
            Self::WriteSkew | Self::Phantom => Level::Serializable,
        }
    }
}

impl fmt::Display for AnomalyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::GarbageRead => "garbage read",
            Self::LostAppend => "lost append (acknowledged, gone at the end)",
            Self::DuplicateAppend => "duplicate append",
            Self::IncompatibleOrder => "incompatible order",
            Self::OwnWrites => "own writes not as written",
            Self::DirtyWrite => "dirty write (G0)",
            Self::AbortedRead => "aborted read (G1a)",
            Self::IntermediateRead => "intermediate read (G1b)",
            Self::CircularInformation => "circular information flow (G1c)",
            Self::UnrepeatableRead => "unrepeatable read",
            Self::LostUpdate => "lost update",
            Self::SkewedSnapshots => "skewed snapshots (G-single across engines)",
            Self::ReadSkew => "read skew (G-single)",
            Self::LongFork => "long fork (G-nonadjacent)",
            Self::NonAdjacent => "G-nonadjacent",
            Self::WriteSkew => "write skew (G2-item)",
            Self::Phantom => "phantom (G2)",
        })
    }
}

/// Source of the order of a register's values, besides reads. Lists need none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RegisterOrder {
    /// Reads alone: the write of a transaction follows what it read. Sound for every database.
    #[default]
    Reads,
    /// Session order too: a later write of a process follows its earlier one.
    Session,
    /// Real time too: a write follows every write whose transaction had ended before its own began. Sound if versions
    /// are ordered by commit.
    Realtime,
}
