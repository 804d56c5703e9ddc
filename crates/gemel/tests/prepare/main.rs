//! Prepared transactions, through the public interface: they survive every end of the process, nobody sees them or gets
//! in their way, and each is decided once.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod backups;
mod conflicts;
#[path = "../copy/mod.rs"]
mod copy;
mod ends;
mod limits;
#[path = "../outcome/mod.rs"]
mod outcome;
#[path = "../scratch/mod.rs"]
mod scratch;
mod shop;
mod tables;
