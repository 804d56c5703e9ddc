//! Talking to SQL databases: one text of the five transactions, parameterised by a [`dialect`].
//!
//! [`statement`] holds the text of every step; [`session`] plays the steps one by one (`statements`),
//! `batched` binds all lines of an order at once and pipelines, [`procedures`] calls one stored function per
//! transaction. All three stand on the small [`connection::Connection`] that a family implements.

pub mod balances;
pub mod batch;
mod batched;
pub mod checksum;
pub mod conditions;
pub mod connection;
pub mod ddl;
pub mod dialect;
pub mod isolation;
pub mod meta;
pub mod micro;
mod multi_row;
pub mod prepared;
pub mod procedures;
pub mod session;
pub mod shards;
pub mod statement;
mod stop;
pub mod tally;
pub mod value;
