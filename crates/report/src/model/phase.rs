//! The phases of a plan in a result.

use super::Latency;
use crate::controls::{PhaseControls, sorted};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Results of one phase of the plan. A transaction belongs to the phase in which it was due.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseResult {
    /// Name in the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Start of the phase, in seconds from the window's start.
    pub from_s: f64,
    /// End of the phase, likewise.
    pub to_s: f64,
    /// The keys of the plan that it sets, as they were written.
    #[serde(default)]
    pub asked: BTreeMap<String, String>,
    /// Completed transactions by type.
    #[serde(default)]
    pub transactions: BTreeMap<String, u64>,
    /// Completed transactions of all types per second.
    #[serde(default)]
    pub tps: f64,
    /// Time from when a transaction was due until its answer, by type, as for the whole run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub latency_ms: BTreeMap<String, Latency>,
    /// Time from when it was due until a session took it, by type.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queue_ms: BTreeMap<String, Latency>,
    /// Attempts after the first, by type.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub retries: BTreeMap<String, u64>,
    /// Failed transactions by type.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<String, u64>,
    /// Transactions with an unknown outcome by type.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unknown: BTreeMap<String, u64>,
    /// Attempts that the database aborted, by reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub aborts: BTreeMap<String, u64>,
    /// Configured and measured values of the controls, as for the whole run.
    #[serde(default, serialize_with = "sorted")]
    pub controls: PhaseControls,
}

impl PhaseResult {
    /// Returns the completed transactions of a type.
    #[must_use]
    pub fn completed(&self, of: &str) -> u64 {
        self.transactions.get(of).copied().unwrap_or_default()
    }

    /// Returns the sum of a count over its names; none if the result has no such count, as one of an earlier version.
    #[must_use]
    pub fn sum(counts: &BTreeMap<String, u64>) -> Option<u64> {
        (!counts.is_empty()).then(|| counts.values().copied().fold(0, u64::saturating_add))
    }
}
