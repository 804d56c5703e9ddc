//! Requests of an open loop, and those that wait for a session.

use serde::{Deserialize, Serialize};

/// Requests that wait for a session, in the modes that have a queue.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Queue {
    /// The queue at the end of the run.
    pub actual: Backlog,
}

/// The queue at the end of the run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Backlog {
    /// Requests that were due before the end and that no session had begun.
    pub backlog: u64,
}

/// Requests of an open loop.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Rate {
    /// Rate that the plan asks for.
    pub asked: Asked,
    /// Rate that was kept.
    pub actual: Actual,
}

/// Rate that a plan asks for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Asked {
    /// Mean number of requests per second.
    pub per_s: f64,
}

/// Rate that was kept.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Actual {
    /// Requests that were due per second.
    pub due_per_s: f64,
    /// Transactions that were completed per second.
    pub completed_per_s: f64,
    /// Requests that were due, begun or not.
    pub due: u64,
}

/// Requests of an open loop in a phase.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PhaseRate {
    /// Mean number of requests per second that the plan asks for.
    pub asked_per_s: f64,
}
