//! Tests of imports.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

mod defaults;
mod files;
mod jdbc;
mod leaks;
mod page;
mod sources;
