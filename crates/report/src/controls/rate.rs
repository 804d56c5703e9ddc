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
    /// Requests that were due before the end and that no session had taken.
    pub backlog: u64,
}

/// Requests of an open loop.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Rate {
    /// Configured rate.
    pub asked: Asked,
    /// Measured rate.
    pub actual: Actual,
}

/// Configured rate.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Asked {
    /// Mean number of requests per second.
    pub per_s: f64,
}

/// Measured rate.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Actual {
    /// Requests due per second.
    pub due_per_s: f64,
    /// Transactions completed per second.
    pub completed_per_s: f64,
    /// Requests that were due, taken by a session or not.
    pub due: u64,
}

/// Requests of an open loop in a phase.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PhaseRate {
    /// Configured mean number of requests per second.
    pub asked_per_s: f64,
    /// Measured rate; `completed_per_s` is of the transactions that were due in the phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<Actual>,
}

/// Requests of an open loop that wait for a session at the end of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PhaseQueue {
    /// Requests that were due before the end of the phase and that no session had taken by then.
    pub backlog: u64,
    /// Difference to their number at the start of the phase; negative if they became fewer.
    pub grew_by: i64,
}
