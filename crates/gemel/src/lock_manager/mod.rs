//! Locks of keys that transactions hold until they end (`DESIGN.md`, "Locking reads").

mod manager;
#[cfg(test)]
mod model;
mod state;
mod sync;
mod table;

pub use manager::{LockHolder, LockState, Wait};
pub(crate) use manager::{LockManager, Requested, Settling, Waited};
pub(crate) use state::{LOCKED, Locks, Settled};
pub(crate) use table::{Answer, LOCK_BYTES, PlaceRef};
