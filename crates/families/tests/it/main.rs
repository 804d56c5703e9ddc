//! All integration tests of this crate in one program: they run in parallel and share servers and loaded databases.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

mod connection_secrets;
mod connection_strings;
mod distribution;
mod extra;
mod growth;
mod malformed;
mod mysql_target;
mod nodes;
mod oceanbase;
mod own;
mod playing;
mod postgres_family;
mod recorded;
mod replay;
mod replicas;
mod shapes;
mod sharded;
mod skewed;
mod spider;
mod sql_targets;
mod statement_note;
mod stock_level;
mod tidb;
mod tls;
mod wrong_rows;
