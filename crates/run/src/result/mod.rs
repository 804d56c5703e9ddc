//! The result document of a measurement.

mod common;
pub(crate) mod load;
pub(crate) mod micro;
pub(crate) mod tpcc;
