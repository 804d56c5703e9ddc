//! The transactions as SQL, in one text for all databases. A [`dialect`] has the differences between databases.
//!
//! `transactions` has a file for each transaction, with its statements as data, and a function for each way of sending
//! them: one by one, batched over arrays, batched over several rows, as a call of a stored procedure. The functions use
//! [`session`], and below it the small trait [`connection::Connection`], which a family implements.

pub mod balances;
pub mod batch;
pub mod checksum;
pub mod conditions;
pub mod connection;
pub mod counts;
pub mod ddl;
pub mod dialect;
mod findings;
pub mod foreign;
pub mod held;
pub mod isolation;
pub mod leaving;
pub mod lists;
pub mod meta;
pub mod micro;
mod own_conditions;
pub mod prepared;
pub mod reread;
pub mod session;
pub mod shards;
pub mod sql_error;
pub mod statement;
pub mod stored;
pub mod tally;
mod transactions;
mod tx_error;
pub mod value;
pub mod written;

pub use transactions::UNUSED_ITEM;
