//! All tests of this crate from outside, in one program: they overlap, and share servers and loaded databases.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

mod ab;
mod claims;
mod document;
mod find;
mod fixtures;
mod groups;
mod metrics;
mod page;
mod phases;
mod sample;
mod summary;
mod sweep;
mod terminal;
