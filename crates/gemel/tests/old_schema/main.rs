//! Snapshots keep their schema: what transactions from before a change of the catalog read and write.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod columns;
#[path = "../copy/mod.rs"]
mod copy;
#[path = "../outcome/mod.rs"]
mod outcome;
mod people;
mod races;
mod tables;
#[path = "../wait/mod.rs"]
mod wait;
