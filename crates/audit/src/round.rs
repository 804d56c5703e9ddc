//! Subject of an audit, and a run of a part of its tests.

use crate::act::Crew;
use crate::finding::Property;
use crate::pairs::Engines;
use lydite_database::{Placement, Replicas, Target};
use lydite_tpcc::meta::DatabaseMeta;
use std::sync::Arc;
use std::time::Duration;

/// The ACID tests of a database, ready to run.
pub struct Audit<'a> {
    /// Description of the database.
    pub meta: &'a DatabaseMeta,
    /// Nodes of its warehouses; `None` on one node, or if they are not known.
    pub placement: Option<&'a Placement>,
    /// Engines of its tables.
    pub engines: &'a Engines,
    /// The database's replicas, if the user named any.
    pub replicas: Option<&'a Replicas>,
    /// Receives a text about a long wait.
    pub say: &'a dyn Fn(&str),
    /// Properties to test.
    pub only: &'a [Property],
    /// Time after which a transaction without an answer counts as one that waits.
    pub wait: Duration,
    /// Length of the load before the conditions are checked again.
    pub duration: Duration,
    /// Terminals of that load.
    pub terminals: u32,
    /// True for a database within this process.
    pub embedded: bool,
    /// True for the names of counters that grow with each checkpoint.
    pub is_checkpoint: fn(&str) -> bool,
    /// Seed of the choice of rows, and of the load.
    pub seed: u64,
}

/// A run of a part of the tests.
pub(crate) struct Round<'a> {
    pub(crate) target: &'a Arc<dyn Target>,
    pub(crate) stop: &'a dyn Fn() -> bool,
    pub(crate) crew: &'a Crew,
}
