//! Tests of plans without a program and without a database.
#![allow(clippy::expect_used, reason = "a test may panic")]

mod asked;
mod controls;
mod documents;
mod files;
mod modes;
mod schedule;
