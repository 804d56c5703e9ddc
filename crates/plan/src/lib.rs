//! The plan of a run, from what the user wrote to what is measured.
//!
//! [`entries`] collects values from the plan file and from flags, each with its place. [`Plan::read`] reads all parts of a plan
//! from them and finds all errors at once. Each of the [`controls`] is a module that reads its keys, checks the database,
//! shapes the run, and writes its part of the result.

pub mod controls;
mod curve;
pub mod data;
pub mod destination;
pub mod entries;
mod error;
pub mod micro;
mod mode;
mod phase_key;
mod phases;
mod plan;
pub mod requirements;
pub mod values;
mod workload;

pub use error::PlanError;
pub use phases::Span;
pub use plan::{MAX_LABEL, Plan, keys};
pub use workload::WorkloadName;
