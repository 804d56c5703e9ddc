//! What key-value stores share: one text of the transactions, of loading, checking and checksums over the traits
//! [`store::Store`] and [`store::StoreTx`]. It is compiled for each store anew, so no row goes through a pointer to a
//! function.
//!
//! A family brings a type that implements the two traits; [`target::KvTarget`] makes it a target.

mod check;
mod checksum;
mod codec;
mod layout;
mod loader;
mod meta;
mod scan;
pub(crate) mod session;
pub(crate) mod store;
pub(crate) mod target;
mod transactions;

#[cfg(test)]
pub(crate) mod conformance;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod tests;
