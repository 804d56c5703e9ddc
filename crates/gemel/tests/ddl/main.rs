//! Changes of the catalog within a transaction, together with rows: all of it, or nothing.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod base;
mod changes;
#[path = "../copy/mod.rs"]
mod copy;
mod deaths;
mod new_tables;
mod others;
#[path = "../outcome/mod.rs"]
mod outcome;
#[path = "../scratch/mod.rs"]
mod scratch;
