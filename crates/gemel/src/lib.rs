//! Gemel, an embedded database with two engines: tables in memory, tables on disk, and transactions over both.
//!
//! A table names its home engine when it is made; nothing else in an application changes. The two engines stand
//! on their own (each has its versions, its clock and its order of commits); what makes a transaction over both
//! see one state and commit as one is Skeena: a registry of snapshots that belong together  and a
//! commit that is published at once and acknowledged when every log that it depends on is durable.
//!
//! The way of a transaction: the transaction buffers its writes and reads at its snapshots; the coordinator locks,
//! draws the timestamps, validates, logs, installs and publishes; the log makes durable and releases the ticket.

mod clock;
#[cfg_attr(not(test), allow(dead_code, reason = "used by the coordinator"))]
mod disk;
mod engine;
mod error;
mod key;
mod memory;
mod options;

pub use clock::Timestamp;
pub use engine::Direction;
pub use error::{Conflict, Error, Result};
pub use key::{MAX_KEY_BYTES, MAX_VALUE_BYTES};
pub use options::{CommitStamps, Durability, LogMode, Options};
