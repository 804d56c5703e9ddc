//! The work of an agent, as its coordinator sends it.

use lydite_bench::Missing;
use lydite_plan::Document;
use lydite_tpcc::Timestamp;
use serde::{Deserialize, Serialize};

/// The work of an agent.
#[derive(Deserialize, Serialize)]
pub(crate) enum Work {
    Run(RunWork),
    Load(LoadWork),
}

/// The work of an agent in a run.
#[derive(Deserialize, Serialize)]
pub(crate) struct RunWork {
    pub(crate) document: Document,
    /// Description of the loaded database, which the agent must find too.
    pub(crate) database: String,
    /// See [`lydite_bench::RunPlan::cuts`]. They come from faults, which agents do not know.
    pub(crate) cuts: Vec<u64>,
    /// True if the lines of the success log go with the reports.
    pub(crate) logs: bool,
}

/// The work of an agent in a load.
#[derive(Deserialize, Serialize)]
pub(crate) struct LoadWork {
    /// URL of the database.
    pub(crate) url: String,
    pub(crate) warehouses: u32,
    pub(crate) data_skew: Option<String>,
    pub(crate) size: String,
    pub(crate) seed: u64,
    /// Time of the load, the same in the rows of all agents.
    pub(crate) time: Timestamp,
    pub(crate) missing: Missing,
    /// Connections of each agent.
    pub(crate) jobs: u32,
}
