//! A run of each workload.

pub(crate) mod micro;
pub(crate) mod tpcc;
