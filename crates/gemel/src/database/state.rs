//! The state of a database: its counters, sizes and running transactions.

use crate::disk::DiskState;
use crate::keyspace::Engine;
use crate::limit::BackgroundState;
use crate::lock_manager::LockState;
use crate::log::LogCounts;
use crate::memory::MemoryState;
#[cfg(doc)]
use crate::options::Options;
use crate::order::active::RunningTransaction;
use crate::order::csr::CsrState;
use crate::prepared::PreparedState;
use crate::recovery::Recovered;
use std::time::Duration;

/// The activity of a database, as [`Database::state`](crate::Database::state) reports it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct State {
    /// Committed transactions, by the engines that they wrote.
    pub committed: Committed,
    /// Transactions that their owner rolled back.
    pub rolled_back: u64,
    /// Aborted transactions, by reason.
    pub aborted: Aborted,
    /// Running transactions, oldest first. The oldest ones keep old versions from garbage collection.
    pub running: Vec<RunningTransaction>,
    /// Bytes of [`Options::pending_limit_bytes`] that running transactions have taken.
    pub pending_bytes: u64,
    /// Transactions that exceeded [`Options::max_snapshot_age`].
    pub expired: u64,
    /// Prepared transactions. Those that were decided since the database was opened count as committed or rolled back.
    pub prepared: PreparedState,
    /// Locks of keys, and waits for them.
    pub locks: LockState,
    /// The registry of the disk engine.
    pub csr: CsrState,
    /// The memory engine.
    pub memory: MemoryState,
    /// The disk engine.
    pub disk: DiskState,
    /// Bytes of log, from the beginning of the oldest file to the end.
    pub log_bytes: u64,
    /// Bytes of older log files, which are kept to be overwritten. Each file counts as full. See
    /// [`Options::checkpoint_log_bytes`].
    pub log_spare_bytes: u64,
    /// The work of writing the log since the database was opened.
    pub log: LogCounts,
    /// Bytes of the log that are appended but not durable yet.
    pub durable_lag_bytes: u64,
    /// The reason why the log, or a flush or compaction of tables on disk, waits for space on the disk. None if none
    /// does.
    pub disk_full: Option<String>,
    /// Checkpoints of the memory engine.
    pub checkpoints: CheckpointState,
    /// Background writing, if it has a limit.
    pub background: BackgroundState,
    /// Moves of tables and keyspaces between the engines.
    pub moves: MoveState,
    /// Findings of the recovery when the database was opened.
    pub recovered: Recovered,
}

/// Committed transactions, by the engines that they wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Committed {
    /// Transactions that wrote nothing.
    pub read_only: u64,
    /// Transactions that wrote only tables in memory.
    pub memory: u64,
    /// Transactions that wrote only tables on disk.
    pub disk: u64,
    /// Transactions that wrote tables of both engines.
    pub cross: u64,
}

/// Aborted transactions, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Aborted {
    /// Another transaction had committed a write of the same key since the snapshot.
    pub write_conflict: u64,
    /// Another transaction was committing a write of the same key at that moment, or held its lock, or was prepared and
    /// protected it.
    pub locked: u64,
    /// Something that the transaction had read was changed by another one (serializable, or a read for an update).
    pub read_conflict: u64,
    /// The transaction was the victim of a deadlock.
    pub deadlock: u64,
    /// The registry of snapshots (CSR) could not order the transaction over the engines.
    pub csr: u64,
    /// The transaction exceeded [`Options::max_snapshot_age`], or writes were forgotten that it may have conflicted with.
    pub too_old: u64,
    /// A table that the transaction wrote was being moved to the other engine.
    pub moved: u64,
    /// Other errors: the memory limit, or I/O.
    pub failed: u64,
}

/// Checkpoints of the memory engine.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CheckpointState {
    /// Checkpoints since the database was opened.
    pub done: u64,
    /// Bytes of the last checkpoint.
    pub bytes: u64,
    /// Duration of the last checkpoint.
    pub took: Duration,
    /// Error of the attempts since the last successful checkpoint, if any failed. The log grows until one succeeds.
    pub failure: Option<String>,
}

/// Moves of tables and keyspaces between the engines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MoveState {
    /// Tables and keyspaces moved since the database was opened.
    pub done: u64,
    /// The move in progress.
    pub running: Option<RunningMove>,
}

/// A move in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunningMove {
    /// Name of the table or keyspace.
    pub name: String,
    /// The engine to which it moves.
    pub to: Engine,
    /// Rows and index entries copied so far.
    pub copied: u64,
}
