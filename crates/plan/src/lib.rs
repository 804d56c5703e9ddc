//! The plan of a run: reads the settings of the user, checks them, and writes them into the result.
//!
//! [`entries`] collects values from the plan file and from flags, each with its place. [`Plan::read`] reads all parts
//! of a plan from them and reports all errors at once. Each of the [`controls`] is a module that reads its keys, checks
//! the database, shapes the run, and writes its part of the result.

pub mod controls;
mod curve;
pub mod data;
pub mod destination;
mod document;
pub mod entries;
mod error;
pub mod key;
pub mod load;
pub mod micro;
mod mode;
pub mod observe;
mod other_file;
pub mod own_schema;
mod phase_key;
mod phases;
mod plan;
mod problem;
pub mod requirements;
pub mod source;
pub mod values;
mod workload;

pub use document::Document;
pub use error::PlanError;
pub use other_file::other_file;
pub use phases::Span;
pub use plan::{MAX_LABEL, Plan, keys, table};
pub use problem::Problem;
pub use workload::WorkloadName;
