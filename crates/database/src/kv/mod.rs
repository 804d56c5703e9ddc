//! The code that key-value stores share: one text of the transactions, of loading, checking and checksums over the
//! traits [`Store`] and [`StoreTx`]. The measured transactions are compiled separately for each store: only the rows of a
//! scan go through a pointer to a function. All else runs on [`AnyTx`].
//!
//! A new store implements the two traits, and [`Pending`] if a commit returns before it is durable. [`KvTarget`] makes
//! it a target like any other:
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
//! `benches/peers` does so for databases that are no part of Lydite. The tests that every store must pass are in
//! `lydite-families`, behind the feature `conformance`.

mod any;
mod balances;
pub mod buffer;
pub mod check;
pub mod checksum;
pub mod codec;
pub mod columns;
pub mod counts;
mod held;
pub mod layout;
pub mod leaving;
pub mod lists;
mod load_lock;
mod loader;
pub mod meta;
pub mod reread;
pub mod scan;
pub mod session;
mod store;
mod store_error;
pub mod store_test;
mod target;
pub(crate) mod transactions;
pub mod written;

#[cfg(any(test, feature = "conformance"))]
#[allow(clippy::expect_used, reason = "only tests use it")]
pub mod memory;
#[cfg(test)]
mod tests;

pub use any::{AnyPending, AnyStore, AnyTx};
pub use load_lock::LoadLock;
pub use store::clear_in_batches;
pub use store::{Access, Direction, Each, KeyRange, KvTable, Pending, Store, StoreTx};
pub use store_error::StoreError;
pub use target::KvTarget;
