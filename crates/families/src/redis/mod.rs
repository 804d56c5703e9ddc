//! Redis, as a key-value store with optimistic transactions: what is read is watched, what is written waits for EXEC.
//!
//! An entry is a string under `PREFIX:TABLE:KEY`. Redis has no order over its keys, so each table has a sorted set
//! `PREFIX:TABLE#` of the keys that it has, all with the score 0, which makes their order that of their bytes.
//!
//! What a transaction read is watched, ranges are not: a key that comes into a range after it was scanned is not noticed. None of
//! the five transactions can tell: whoever takes the oldest entry of NEW_ORDER watches that entry.

mod config;
mod family;
mod load_lock;
mod store;
#[cfg(test)]
mod tests;

pub(crate) use family::FAMILY;
