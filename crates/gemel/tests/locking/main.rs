//! Locking reads, through the public interface: who gets a lock and when, who must go on without it, and what commits
//! beside them. No test depends on the machine's speed: each one looks at the state to see that somebody waits.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod deadlocks;
mod ends;
#[path = "../outcome/mod.rs"]
mod outcome;
mod prepared;
mod queues;
mod reads;
mod rows;
#[path = "../scratch/mod.rs"]
mod scratch;
mod shop;
#[path = "../wait/mod.rs"]
mod wait;
