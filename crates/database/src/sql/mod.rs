//! The transactions as SQL, in one text for all databases. A [`dialect`] has the differences between databases.
//!
//! The module of a transaction ([`new_order`], `payment` …) has its statements as data, and a function for each way of
//! sending them: one by one, batched over arrays, batched over several rows, as a call of a stored procedure.
//! [`statement`] is the table of all statements, [`session`] gives each transaction to its module. They use the small
//! trait [`connection::Connection`] that a family implements.

pub mod balances;
pub mod batch;
pub mod checksum;
pub mod conditions;
pub mod connection;
pub mod counts;
pub mod ddl;
mod delivery;
pub mod dialect;
pub mod foreign;
pub mod held;
pub mod isolation;
pub mod lists;
pub mod meta;
pub mod micro;
pub mod new_order;
mod order_status;
mod own_conditions;
mod payment;
pub mod prepared;
pub mod reread;
mod select_balance;
pub mod session;
pub mod shards;
pub mod sql_error;
pub mod statement;
mod stock_level;
pub mod stored;
pub mod tally;
mod tx_error;
mod update_balance;
mod update_item;
mod update_stock;
pub mod value;
pub mod written;
