//! Verdicts of a run: checks, requirements, inputs and rules of the standard.

use serde::{Deserialize, Serialize};

/// Time of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckedWhen {
    /// Before the run.
    Before,
    /// After the run.
    After,
    /// On its own, without a run.
    #[default]
    Check,
}

/// The [`CheckResult::id`] of the check that compares W_YTD with the dUpdateBalances of a run.
pub const BALANCES_CHECK: &str = "balances";

/// The [`CheckResult::id`] of the check that compares counts of the database with what it acknowledged.
pub const LEDGER_CHECK: &str = "ledger";

/// The [`CheckResult::id`] of the check that holds the answers against themselves.
pub const ANSWERS_CHECK: &str = "answers";

/// The [`CheckResult::id`] of the check that reads the rows of sampled answers again, column by column.
pub const SAMPLE_CHECK: &str = "sample";

/// The [`CheckResult::id`] of the check that fails if transactions found another number of rows than there must be.
pub const ROWS_CHECK: &str = "rows";

/// The [`CheckResult::id`] of the check that compares the database with the success log, transaction by transaction.
pub const SUCCESS_LOG_CHECK: &str = "success-log";

/// The checks of a run that are no conditions over the database, with the words for one that holds and one that fails.
pub(crate) const CHECKS_OF_RUNS: [(&str, [&str; 2]); 6] = [
    (BALANCES_CHECK, ["balances hold", "balances FAIL"]),
    (LEDGER_CHECK, ["ledger holds", "ledger FAILS"]),
    (SUCCESS_LOG_CHECK, ["success log holds", "success log FAILS"]),
    (ANSWERS_CHECK, ["answers agree", "answers CONTRADICT"]),
    (SAMPLE_CHECK, ["sampled rows agree", "sampled rows DIFFER"]),
    (ROWS_CHECK, ["rows found", "rows WRONG"]),
];

/// The success log of a run, compared with the database.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SuccessLogResult {
    /// New-Orders and Payments that the database acknowledged, in the whole run.
    pub committed: u64,
    /// Those that are not in the database.
    pub lost: u64,
    /// Orders and payments of the run that are in the database, but were rolled back or never acknowledged.
    pub resurrected: u64,
    /// New-Orders and Payments of unknown outcome, which may be in the database or not.
    pub unknown: u64,
    /// Path of the log.
    pub path: String,
    /// First of the lost and of the resurrected ones; empty if there are none.
    pub examples: String,
}

/// Result of a check, such as a consistency condition of TPC-C 3.3.2.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CheckResult {
    /// Name of the check.
    pub id: String,
    /// True if it holds.
    pub ok: bool,
    /// Observation; for a failure, its place.
    #[serde(default)]
    pub detail: String,
    /// Time of the check.
    #[serde(default)]
    pub when: CheckedWhen,
    /// Duration of the check, in seconds.
    #[serde(default)]
    pub seconds: f64,
}

/// A requirement of the plan, with its verdict.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RequirementResult {
    /// The requirement as it was written.
    pub text: String,
    /// Name of its metric (see [`crate::metric`]).
    #[serde(default)]
    pub metric: String,
    /// Measured value in `unit`; `None` (null) without a value that can be judged.
    #[serde(default)]
    pub value: Option<f64>,
    /// Unit of `value`; empty if it has none.
    #[serde(default)]
    pub unit: String,
    /// True if the run met it.
    pub met: bool,
    /// Reason for a missing value.
    #[serde(default)]
    pub note: String,
    /// The share that decides a verdict on a percentile of latency, with its sampling error; `None` for other metrics, and in a run too short to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<OverLimit>,
}

/// The share of transactions that took longer than the limit of a requirement, with its sampling error: the requirement
/// `new_order.p99 < 50ms` allows one New-Order in a hundred to take longer than 50 ms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OverLimit {
    /// Share that the requirement allows, as 0.01.
    pub allowed: f64,
    /// Measured share.
    pub share: f64,
    /// Lower end of its 95 % interval by batch means, which knows that neighbouring seconds depend on each other.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl OverLimit {
    /// True if a longer run would probably say the same: the whole interval is on the side of the verdict. The percentile
    /// is told to within 0.1 % and the share to within 1 % of the limit, so they can differ for latencies right at it.
    #[must_use]
    pub fn is_certain(&self, met: bool) -> bool {
        if met { self.high < self.allowed } else { self.low > self.allowed }
    }
}

/// Comparison of a measured input with the standard's window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowVerdict {
    /// Inside the window.
    Inside,
    /// Outside the window.
    Outside,
    /// Too few samples to tell chance from a fault.
    TooFewSamples,
}

/// A measured property of the inputs beside the window that the standard gives it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InputFinding {
    /// Measured quantity, in words.
    pub quantity: String,
    /// Clause of TPC-C.
    #[serde(default)]
    pub clause: String,
    /// Least value allowed, in `unit`.
    pub low: f64,
    /// Greatest value allowed, in `unit`.
    pub high: f64,
    /// Measured value, in `unit`.
    pub actual: f64,
    /// Number of samples behind `actual`.
    #[serde(default)]
    pub samples: u64,
    /// Unit of the three values, such as `%`.
    #[serde(default)]
    pub unit: String,
    /// Comparison of the value with the window.
    pub verdict: WindowVerdict,
    /// Remark; may be empty.
    #[serde(default)]
    pub note: String,
}

/// A rule of the standard, with its verdict.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ComplianceLine {
    /// The rule in words.
    pub rule: String,
    /// Clause of TPC-C.
    #[serde(default)]
    pub clause: String,
    /// True if the run met it; `None` (null) if the run cannot tell.
    pub met: Option<bool>,
    /// Reason, or distance from the limit.
    #[serde(default)]
    pub note: String,
}
