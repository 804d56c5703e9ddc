//! The faults of a run, and the availability of the database in each of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A fault that the run injected. Times are seconds from the window's start.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FaultResult {
    /// Name of its kind, with its arguments.
    pub kind: String,
    /// Places, as the plan names them.
    #[serde(rename = "where")]
    pub place: String,
    /// Configured begin.
    pub begin_s: f64,
    /// Configured end; null if the plan sets none.
    pub end_s: Option<f64>,
    /// Time from the begin of an occurrence to that of the next one, for a fault that repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every_s: Option<f64>,
    /// Number of the occurrence, from 1, for a fault that repeats. Each occurrence is a fault of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occurrence: Option<u64>,
    /// Measured begin of the fault; null if it did not begin.
    pub begun_s: Option<f64>,
    /// Measured end: the fault was undone then; null if it was not.
    pub undone_s: Option<f64>,
    /// Means of its injection.
    pub how: String,
    /// True if it began, and was undone unless it stays.
    pub ok: bool,
    /// Proof that it bit, or the problem.
    pub detail: String,
}

impl FaultResult {
    /// Returns the name of the fault: its kind and its place.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} on {}", self.kind, self.place)
    }
}

/// Availability of the database in a fault. Rates are completed transactions per second.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FaultAvailability {
    /// Index of the fault among the faults of the result.
    pub fault: usize,
    /// The Dike paper's R_e: the stable level after the begin, compared with `tps_normal`; null if throughput never becomes
    /// stable, or was not steady before the fault, or if the run is too short to tell.
    pub r_e: Option<f64>,
    /// R_e with the mean while the fault lasted in place of the stable level; null if the run is too short to tell.
    pub r_e_during: Option<f64>,
    /// The Dike paper's T_e = 1 / (`recovery_s` + 1); null as `r_e`.
    pub t_e: Option<f64>,
    /// The Dike paper's t: time in seconds from the begin until throughput is stable again; null as `r_e`.
    pub recovery_s: Option<f64>,
    /// The Dike paper's TPS_n: the mean rate before the first fault; for a later fault that of the nearest steady seconds
    /// before it, after the fault before was over. Null if throughput was not steady there, or if the run is too short to
    /// tell.
    pub tps_normal: Option<f64>,
    /// Time from the end of the fault before, or from its begin if it has no end, until throughput was steady; null for
    /// the first fault, and if throughput was not steady before this fault.
    pub steady_after_s: Option<f64>,
    /// Mean rate of the whole seconds before the first fault; null if there are none.
    pub tps_before: Option<f64>,
    /// Mean rate of the whole seconds in the fault; of those that it touches if there are none.
    pub tps_during: Option<f64>,
    /// Mean rate of the whole seconds from its end until the next fault or the end of the window; null without an end,
    /// or without such seconds.
    pub tps_after: Option<f64>,
    /// Rate of the worst second of those of `tps_during`.
    pub lowest_tps: Option<f64>,
    /// Seconds without a completed transaction, from the begin until the next fault or the end of the window.
    pub seconds_without_commit: u64,
    /// Time from the begin to the first second after it with a completed transaction, or to the end of the outage
    /// within that second; null if there is none.
    pub first_commit_s: Option<f64>,
    /// Transactions with an unknown outcome in the same time as `seconds_without_commit`.
    pub unknown: u64,
    /// 99th percentile of the New-Orders' latencies in ms, to within one percent; null of fewer than 100.
    pub p99_ms: Around<Option<f64>>,
    /// Attempts that the database aborted, by reason.
    pub aborts: Around<BTreeMap<String, u64>>,
    /// Definition of stable throughput; null if the run is too short to tell.
    pub stable: Option<Settling>,
    /// Reason why `r_e` and `t_e` are missing; empty if they are not.
    pub note: String,
}

/// A fault that repeats, over its occurrences.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PeriodicFault {
    /// Name of its kind, with its arguments.
    pub kind: String,
    /// Places, as the plan names them.
    #[serde(rename = "where")]
    pub place: String,
    /// Time from the begin of an occurrence to that of the next one.
    pub every_s: f64,
    /// Indexes of its occurrences among the faults of the result.
    pub faults: Vec<usize>,
    /// Number of occurrences that began.
    pub occurred: u64,
    /// Number of occurrences that began, and were undone as planned.
    pub ok: u64,
    /// R_e over the occurrences that have one; null if none has.
    pub r_e: Option<Spread>,
    /// T_e likewise.
    pub t_e: Option<Spread>,
    /// Time until throughput was stable again, in seconds, likewise.
    pub recovery_s: Option<Spread>,
    /// Mean rate during the occurrences that began.
    pub tps_during: Option<Spread>,
}

impl PeriodicFault {
    /// Returns the name of the fault: its kind, its place and its period.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} on {} every {} s", self.kind, self.place, self.every_s)
    }
}

/// Least, median and greatest of some numbers.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Spread {
    /// Number of the numbers.
    pub of: u64,
    /// Least.
    pub min: f64,
    /// Median.
    pub median: f64,
    /// Greatest.
    pub max: f64,
}

/// A quantity before the first fault, during a fault, and after it up to the next fault or the end of the window. The
/// times are the configured ones: a second that the fault touches is during it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Around<T> {
    /// Before the first fault.
    pub before: T,
    /// During the fault.
    pub during: T,
    /// After the fault.
    pub after: T,
}

/// Definition of stable throughput: each mean of `window_s` seconds within `hold_s` seconds is within `within_percent`
/// of the mean of these `hold_s` seconds, which is above 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Settling {
    /// Length of the moving mean in seconds; at least 1.
    pub window_s: usize,
    /// Greatest distance of the moving mean from the level, in percent of the level.
    pub within_percent: f64,
    /// Time that it must stay there, in seconds; at least `window_s`.
    pub hold_s: usize,
}

impl Default for Settling {
    fn default() -> Self {
        Self { window_s: 5, within_percent: 10.0, hold_s: 10 }
    }
}
