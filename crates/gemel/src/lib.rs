#![doc = include_str!("../README.md")]

mod agree;
mod backup;
mod check;
mod checkpoint;
mod coordinator;
#[cfg(test)]
#[path = "../tests/copy/mod.rs"]
mod copy;
mod database;
mod directory;
mod disk;
mod draw;
mod engine;
mod error;
#[cfg(test)]
mod fault_tests;
mod files;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod ids;
mod incarnation;
mod key;
mod keyspace;
mod keyspaces;
mod limit;
mod lock;
mod lock_manager;
mod log;
mod logs;
mod mailbox;
mod manifest;
#[cfg(test)]
mod map_engine;
mod memory;
mod metrics;
#[cfg(test)]
mod model_checker;
mod mvcc;
mod options;
#[doc(hidden)]
pub mod oracle;
mod order;
mod pending;
mod prepared;
#[cfg(test)]
mod property_tests;
mod record;
mod recovery;
mod restore;
pub mod row;
mod run;
#[cfg(test)]
#[path = "../tests/scratch/mod.rs"]
mod scratch;
mod sequence;
mod ticket;
mod transaction;
#[cfg(test)]
#[path = "../tests/wait/mod.rs"]
mod wait;
mod watch;

pub use backup::{BackupProgress, BackupReport, backup};
pub use check::{CheckReport, CheckedPart, check};
pub use database::{
    Aborted, CheckpointState, Committed, Compacted, Database, MoveState, PartSize, RunningMove, State,
};
pub use disk::DiskState;
pub use error::{Conflict, Error, Result};
pub use ids::Direction;
pub use key::{MAX_KEY_BYTES, MAX_NAME_BYTES, MAX_VALUE_BYTES};
pub use keyspace::{Engine, Keyspace, PartKind};
pub use limit::BackgroundState;
pub use lock_manager::{LockHolder, LockState, Wait};
pub use log::LogCounts;
pub use memory::MemoryState;
pub use metrics::{Metric, MetricKind};
pub use options::{CommitStamps, Compression, Durability, FullDisk, Isolation, LogMode, Options};
pub use order::active::RunningTransaction;
pub use order::clock::Timestamp;
pub use order::csr::CsrState;
pub use prepared::{PreparedState, PreparedTransaction};
pub use recovery::Recovered;
pub use run::RUN_ATTEMPTS;
pub use sequence::Sequence;
pub use ticket::Ticket;
pub use transaction::{Cursor, Savepoint, Transaction};

/// The program in the book's recipe compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/src/cookbook/embed-gemel.md")]
struct Recipe;
