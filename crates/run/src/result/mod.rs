//! The result document of a measurement.

mod common;
pub(crate) mod micro;
pub(crate) mod tpcc;
