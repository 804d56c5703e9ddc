//! Gemel, an embedded database with two engines: tables in memory, tables on disk, and transactions over both.
//!
//! A table names its home engine when it is made; nothing else in an application changes. The two engines stand
//! on their own (each has its versions, its clock and its order of commits); what makes a transaction over both
//! see one state and commit as one is Skeena: a registry of snapshots that belong together and a commit
//! that is published at once and acknowledged when every log that it depends on is durable. `DESIGN.md` says how and why.
//!
//! See [`Database`] for how to begin.

mod active;
mod checkpoint;
mod clock;
mod coordinator;
mod csr;
mod database;
mod disk;
mod engine;
mod error;
mod files;
mod key;
mod keyspace;
mod log;
mod logs;
mod manifest;
#[cfg(test)]
mod map_engine;
mod memory;
mod options;
#[doc(hidden)]
pub mod oracle;
mod record;
mod recovery;
pub mod row;
mod ticket;
mod transaction;

pub use active::RunningTransaction;
pub use clock::Timestamp;
pub use csr::CsrState;
pub use database::{Aborted, CheckpointState, Committed, Database, State};
pub use disk::DiskState;
pub use engine::Direction;
pub use error::{Conflict, Error, Result};
pub use key::{MAX_KEY_BYTES, MAX_VALUE_BYTES};
pub use keyspace::{Engine, Keyspace};
pub use memory::MemoryState;
pub use options::{CommitStamps, Durability, Isolation, LogMode, Options};
pub use recovery::Recovered;
pub use ticket::Ticket;
pub use transaction::Transaction;
