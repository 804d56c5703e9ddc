//! Versions of rows in memory, and their index. The memory engine keeps all its rows so, and the disk engine those that are
//! in no file yet.
//!
//! - `tree`: the index, an ordered map whose readers take no locks;
//! - `version`: the versions of a key in a chain, newest first, and the values that will become versions;
//! - `stamp`: the timestamp of a version, which a large commit gives to all its versions at once;
//! - `record`: a key with its versions and its lock; `hidden`: versions of a commit that no snapshot contains yet;
//! - `garbage`: what commits leave behind;
//! - `history`: a chain that only grows;
//! - `counters`: bytes in use, and bytes that wait to be freed;
//! - `prefetch`: hints to the processor about memory that will be read soon;
//! - `sync`: locks, atomics and reclamation, so a model checker's can replace them.

pub(crate) mod counters;
pub(crate) mod garbage;
pub(crate) mod hidden;
mod history;
pub(crate) mod prefetch;
pub(crate) mod record;
pub(crate) mod stamp;
pub(crate) mod sync;
pub(crate) mod tree;
pub(crate) mod version;

pub(crate) use counters::Counters;
pub(crate) use history::History;
pub(crate) use tree::Tree;
pub(crate) use version::{Draft, Retired, Seen, version_bytes};
