//! A database that fits a plan, for each workload.

pub(crate) mod micro;
pub(crate) mod tpcc;
