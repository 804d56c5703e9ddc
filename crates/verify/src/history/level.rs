//! The isolation levels, the anomalies by name, and which level forbids which.

use serde::{Deserialize, Serialize};
use std::fmt;

/// An isolation level that a history can be held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// PL-2: nothing aborted or intermediate is read, and information does not flow in circles.
    ReadCommitted,
    /// Every transaction reads one snapshot; of two that overlap and write the same, one fails.
    SnapshotIsolation,
    /// PL-3 on items: as if the transactions had run one after the other.
    Serializable,
    /// Serializable, in an order that no client's clock contradicts.
    StrictSerializable,
}

impl Level {
    /// All levels, the weakest first.
    pub const ALL: [Self; 4] =
        [Self::ReadCommitted, Self::SnapshotIsolation, Self::Serializable, Self::StrictSerializable];

    /// Whether an anomaly contradicts this level. One that needs the order of a session or of real time
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

/// What a cycle needs besides what the data show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Nothing.
    Data,
    /// That a process's transactions come one after the other.
    Session,
    /// That a transaction which ended before another began comes before it.
    Realtime,
}

/// What can go wrong, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnomalyKind {
    /// A read returned a value that nobody wrote.
    GarbageRead,
    /// A list holds a value twice that was appended once.
    DuplicateAppend,
    /// Two reads of a list of which neither begins with the other: an append was lost or moved.
    IncompatibleOrder,
    /// A transaction does not see what it wrote before, or sees what it writes only later.
    OwnWrites,
    /// G0, dirty write: two transactions' writes interleave.
    DirtyWrite,
    /// G1a, aborted read: somebody saw a write of an aborted transaction.
    AbortedRead,
    /// G1b, intermediate read: somebody saw a write that its transaction overwrote.
    IntermediateRead,
    /// G1c, circular information flow: each saw, or overwrote, the other's writes.
    CircularInformation,
    /// A transaction reads a key twice, and something different the second time.
    UnrepeatableRead,
    /// P4: a transaction overwrote what another wrote after it had read.
    LostUpdate,
    /// G-single over keys of different engines: a transaction sees another's effect in one engine and not in
    /// the other (Skeena, Fig. 2.1).
    SkewedSnapshots,
    /// G-single: a transaction sees another's effect on one key and not on another.
    ReadSkew,
    /// Two readers see two writes in opposite orders.
    LongFork,
    /// G-nonadjacent: two or more reads of old versions, never two of them next to each other.
    NonAdjacent,
    /// G2-item: write skew, and every longer cycle with two reads of old versions next to each other.
    WriteSkew,
}

impl AnomalyKind {
    /// The weakest level that forbids it.
    #[must_use]
    pub fn weakest_without(self) -> Level {
        match self {
            Self::GarbageRead
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
            Self::WriteSkew => Level::Serializable,
        }
    }
}

impl fmt::Display for AnomalyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::GarbageRead => "garbage read",
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
        })
    }
}
