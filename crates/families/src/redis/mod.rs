//! Redis as a key-value store with optimistic transactions: reads are watched, writes wait for EXEC.
//!
//! An entry is a string under `PREFIX:TABLE:KEY`. Redis has no order over its keys, so each table has a sorted set
//! `PREFIX:TABLE#` of its keys. All keys have the score 0, so the set is in byte order.
//!
//! A transaction watches the entries that it read, not the ranges: it does not notice a key that comes into a range
//! after the scan. This can't harm the five transactions: one that takes the oldest entry of NEW_ORDER watches that
//! entry.

mod config;
mod connections;
mod family;
mod load_lock;
mod store;
#[cfg(test)]
mod tests;

pub(crate) use family::FAMILY;
