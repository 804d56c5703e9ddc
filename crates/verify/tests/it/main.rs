//! All tests of this crate from outside, in one program: they overlap, and share servers and loaded databases.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

mod history_anomalies;
mod history_gemel;
mod history_lost;
mod history_stores;
