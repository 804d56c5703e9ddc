//! All integration tests of this crate in one program: they run in parallel and share servers and loaded databases.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

mod counting;
mod load;
mod modes;
mod phases;
mod retries;
mod scripted;
