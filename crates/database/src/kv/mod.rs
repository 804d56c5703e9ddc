//! What key-value stores share: one text of the transactions, of loading, checking and checksums over the traits
//! [`Store`] and [`StoreTx`]. It is compiled for each store anew, so no row goes through a pointer to a function.
//!
//! Who brings a store implements the two traits, and [`Pending`] if its commits become durable later than they return;
//! [`KvTarget`] makes it a target like any other:
//!
//! ```
//! use lydite_database::Target;
//! use lydite_database::kv::{KvTarget, Store};
//! use std::sync::Arc;
//!
//! fn target<S: Store>(config: S::Config) -> Arc<dyn Target> {
//!     Arc::new(KvTarget::<S>::new(config))
//! }
//! ```
//!
//! `benches/peers` does so for databases that Lydite does not contain. With the feature `conformance` the tests that
//! every store must pass can be called from the store's own.

mod balances;
pub(crate) mod buffer;
pub(crate) mod check;
pub(crate) mod checksum;
pub(crate) mod codec;
pub(crate) mod columns;
pub(crate) mod keeper;
mod layout;
mod loader;
pub(crate) mod meta;
pub(crate) mod prove;
mod right;
pub(crate) mod scan;
pub(crate) mod session;
mod store;
mod target;
mod transactions;

#[cfg(any(test, feature = "conformance"))]
#[allow(clippy::expect_used, reason = "these are tests, wherever they are called from")]
pub mod conformance;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod tests;

pub use right::LoadRight;
pub(crate) use store::clear_in_batches;
pub use store::{Access, Direction, KeyRange, KvTable, Pending, Store, StoreError, StoreTx};
pub use target::KvTarget;
