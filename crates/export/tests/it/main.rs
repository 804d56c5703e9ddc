//! All tests of this crate from outside.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

mod csv;
mod influx;
mod openmetrics;
#[cfg(feature = "parquet")]
mod parquet;
mod sample;
mod tables;
