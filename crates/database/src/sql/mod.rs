//! Talking to SQL databases: one text of the five transactions, parameterised by a [`dialect`].
//!
//! [`statement`] holds the text of every step; [`session`] plays the steps one by one (`statements`),
//! [`batched`] binds all lines of an order at once and pipelines, [`procedures`] calls one stored function per
//! transaction. All three stand on the small [`connection::Connection`] that a family implements.

pub(crate) mod balances;
pub(crate) mod batch;
pub(crate) mod batched;
pub(crate) mod checksum;
pub(crate) mod conditions;
pub(crate) mod connection;
pub(crate) mod ddl;
pub(crate) mod dialect;
pub(crate) mod isolation;
pub(crate) mod meta;
pub(crate) mod micro;
pub(crate) mod multi_row;
pub(crate) mod prepared;
pub(crate) mod procedures;
pub(crate) mod session;
pub(crate) mod shards;
pub(crate) mod statement;
pub(crate) mod stop;
pub(crate) mod tally;
pub(crate) mod value;
