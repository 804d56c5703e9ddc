//! All tests of this crate from outside, in one program: they overlap, and share servers and loaded databases.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

mod balances;
mod chi_squared;
mod compliance;
mod consistency;
mod distribution;
mod home;
mod input;
mod population;
mod scale;
mod update_stock;
