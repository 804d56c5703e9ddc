//! The result document: all results of one run.
//!
//! The JSON names are a contract (format [`FORMAT`]); they are the names of the fields here. The unit of a
//! number is the last part of its name: `_ms` milliseconds, `_s` seconds, `_us` microseconds, `_percent` 0 to
//! 100, `_bytes` bytes. Numbers are finite. Fields that an older document lacks load as their default.

mod agents;
mod checks;
mod endpoints;
mod environment;
mod faults;
mod load;
mod nodes;
mod observed;
mod phase;
mod series;
mod terminals;

use std::collections::BTreeMap;

use lydite_tpcc::consistency::{CONDITION_COUNT, OWN_CONDITIONS};
use lydite_tpcc::{Size, StandardKind, TransactionKind};
use serde::{Deserialize, Serialize};

use crate::controls::{Controls, sorted};
use crate::plan::PlanInfo;
use crate::statements::StatementResult;

pub use agents::{AgentResult, AgentStatus};
pub(crate) use agents::{agents_in_words, lost_agents};
pub(crate) use checks::CHECKS_OF_RUNS;
pub use checks::{
    ANSWERS_CHECK, BALANCES_CHECK, CheckResult, CheckedWhen, ComplianceLine, InputFinding, LEDGER_CHECK,
    OverLimit, ROWS_CHECK, RequirementResult, SAMPLE_CHECK, SUCCESS_LOG_CHECK, SuccessLogResult,
    WindowVerdict,
};
pub use endpoints::EndpointResult;
pub use environment::{ClientCost, HostInfo, TableInfo, TargetInfo};
pub use faults::{Around, FaultAvailability, FaultResult, PeriodicFault, Settling, Spread};
pub use load::{LoadBatches, LoadClient, LoadInfo, LoadPhase, LoadPlan, LoadResult, LoadSeries, TableLoad};
pub use nodes::{NodeBytes, NodeFigures};
pub use observed::{Extent, Observed};
pub use phase::PhaseResult;
pub use series::{DikeSeries, Series};
pub use terminals::{TerminalsReport, WasReport};

/// The version of the document that this crate writes, and the only one that it reads.
pub const FORMAT: u32 = 1;

/// Keys of [`RunResult::transactions`] in the usual order: TPC-C 2.4 to 2.8, then those of the Dike paper, which a
/// result has only if its mix has them.
pub const TRANSACTION_TYPES: [&str; TransactionKind::COUNT] = {
    let mut names = [""; TransactionKind::COUNT];
    let mut index = 0;
    while index < names.len() {
        names[index] = TransactionKind::ALL[index].name();
        index += 1;
    }
    names
};

/// All results of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// Version of the program that wrote the document.
    pub lydite: String,
    /// Version of the document, [`FORMAT`].
    pub format: u32,
    /// The user's name for the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Status of the run: complete or partial.
    #[serde(default)]
    pub status: Status,
    /// The plan of the run.
    #[serde(default, serialize_with = "sorted")]
    pub plan: PlanInfo,
    /// The database under test.
    #[serde(default)]
    pub target: TargetInfo,
    /// The machine that ran the client.
    #[serde(default)]
    pub host: HostInfo,
    /// The agents, if a fleet played the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentResult>,
    /// The load, if this run loaded the database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadInfo>,
    /// Times of the warm-up and the window.
    #[serde(default)]
    pub window: Window,
    /// New orders per minute: the completed New-Orders of the window, divided by its minutes. Those that TPC-C 2.4.1.4
    /// rolls back are included (5.4.2). 0 for workloads other than TPC-C.
    #[serde(default)]
    pub nopm: f64,
    /// Completed transactions of all types per second.
    #[serde(default)]
    pub tps: f64,
    /// `nopm` in percent of [`MAX_NOPM_PER_WAREHOUSE`](lydite_tpcc::limits::MAX_NOPM_PER_WAREHOUSE) times the
    /// warehouses. It exceeds 100 if the terminals do not wait as TPC-C demands.
    #[serde(default)]
    pub efficiency_percent: f64,
    /// Results by transaction type; the keys are [`TRANSACTION_TYPES`], or other names for other workloads.
    #[serde(default)]
    pub transactions: BTreeMap<String, TransactionResult>,
    /// Attempts that the database aborted, by reason; each was retried or counted as failed.
    #[serde(default)]
    pub aborts: BTreeMap<String, u64>,
    /// Errors other than aborts, by their text, the most frequent first.
    #[serde(default)]
    pub errors: Vec<ErrorCount>,
    /// Second by second through the window.
    #[serde(default)]
    pub series: Series,
    /// Second by second before the window (negative offsets).
    #[serde(default)]
    pub warmup_series: Series,
    /// Cost of the client itself.
    #[serde(default)]
    pub client: ClientCost,
    /// Consistency conditions (TPC-C 3.3.2) and other checks.
    #[serde(default)]
    pub checks: Vec<CheckResult>,
    /// The success log, if the run kept one and compared it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success_log: Option<SuccessLogResult>,
    /// The requirements of the plan, with their verdicts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<RequirementResult>,
    /// Randomness of the inputs, beside the windows of TPC-C 5.5.1.5.
    #[serde(default)]
    pub inputs: Vec<InputFinding>,
    /// The controls: configured and measured values.
    #[serde(default, serialize_with = "sorted")]
    pub controls: Controls,
    /// The phases of the plan that the run reached, if there is more than one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseResult>,
    /// The rules of the standard, with their verdicts.
    #[serde(default)]
    pub compliance: Vec<ComplianceLine>,
    /// Outages: times in which no session got an answer.
    #[serde(default)]
    pub outages: Vec<Outage>,
    /// Faults that the run injected, in the order of the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultResult>,
    /// Availability of the database in each of these faults that began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub availability: Vec<FaultAvailability>,
    /// The faults that repeat, each over its occurrences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub periodic_faults: Vec<PeriodicFault>,
    /// Values that the run observed second by second, beside its transactions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observed: Vec<Observed>,
    /// Statements on which the servers spent the most time in the window, by server, the most first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<StatementResult>,
    /// Other warnings about the run, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The deferred part of Delivery (TPC-C 2.7.2), in the modes that defer it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<DeliveryReport>,
    /// Measured keying and think times by transaction type (TPC-C 5.2.5), in the modes that wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pacing: Option<BTreeMap<String, Pacing>>,
    /// The terminals' side, if they have lines of their own or a display delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminals: Option<TerminalsReport>,
    /// Operations and data of each node of the database, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<NodeFigures>,
    /// Sessions and transactions of each endpoint, if the database has several or if connections have a life time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<EndpointResult>,
}

impl Default for RunResult {
    fn default() -> Self {
        Self {
            lydite: env!("CARGO_PKG_VERSION").to_owned(),
            format: FORMAT,
            label: None,
            status: Status::default(),
            plan: PlanInfo::default(),
            target: TargetInfo::default(),
            host: HostInfo::default(),
            agents: Vec::new(),
            load: None,
            window: Window::default(),
            nopm: 0.0,
            tps: 0.0,
            efficiency_percent: 0.0,
            transactions: BTreeMap::new(),
            aborts: BTreeMap::new(),
            errors: Vec::new(),
            series: Series::default(),
            warmup_series: Series::default(),
            client: ClientCost::default(),
            checks: Vec::new(),
            success_log: None,
            requirements: Vec::new(),
            inputs: Vec::new(),
            controls: Controls::default(),
            phases: Vec::new(),
            compliance: Vec::new(),
            outages: Vec::new(),
            faults: Vec::new(),
            availability: Vec::new(),
            periodic_faults: Vec::new(),
            observed: Vec::new(),
            statements: Vec::new(),
            endpoints: Vec::new(),
            warnings: Vec::new(),
            delivery: None,
            pacing: None,
            terminals: None,
            nodes: None,
        }
    }
}

impl RunResult {
    /// Returns the sum of a count over all types of transactions.
    #[must_use]
    pub fn total(&self, of: fn(&TransactionResult) -> u64) -> u64 {
        self.transactions.values().map(of).fold(0, u64::saturating_add)
    }

    /// Returns the completed transactions of all types.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.total(TransactionResult::completed)
    }

    /// Returns the attempts that the database aborted.
    pub(crate) fn aborted(&self) -> u64 {
        self.aborts.values().sum()
    }

    /// True if each transaction had a connection of its own.
    #[must_use]
    pub fn connects_per_transaction(&self) -> bool {
        self.target.settings.get("connection").is_some_and(|life| life == "per-transaction")
    }

    /// Returns the transaction types of the result: first those of TPC-C in its order, then any others by name.
    #[must_use]
    pub fn types_in_order(&self) -> Vec<(&str, &TransactionResult)> {
        let known = TRANSACTION_TYPES.iter().filter_map(|k| self.transactions.get_key_value(*k));
        let others = self.transactions.iter().filter(|(k, _)| !TRANSACTION_TYPES.contains(&k.as_str()));
        known.chain(others).map(|(k, v)| (k.as_str(), v)).collect()
    }

    /// Returns the number of warehouses of the plan, else of the load; none for workloads without warehouses.
    #[must_use]
    pub fn warehouses(&self) -> Option<u64> {
        self.plan.warehouses.or_else(|| self.load.as_ref().map(|l| l.warehouses)).filter(|_| self.is_tpcc())
    }

    /// Returns the size of the warehouses: `standard`, `small` or `tiny`.
    #[must_use]
    pub fn warehouse_size(&self) -> &str {
        self.plan.size.as_deref().unwrap_or(Size::Standard.name())
    }

    /// Returns true if the database was loaded with fewer rows than the standard has.
    #[must_use]
    pub fn has_small_warehouses(&self) -> bool {
        self.warehouse_size() != Size::Standard.name()
    }

    /// Returns the workload: `tpcc` or `micro`; `tpcc` if the plan has none.
    #[must_use]
    pub fn workload(&self) -> &str {
        self.plan.workload.as_deref().unwrap_or("tpcc")
    }

    /// Returns true if the workload is TPC-C, to which NOPM, the mix and the rules of the standard belong.
    #[must_use]
    pub fn is_tpcc(&self) -> bool {
        self.workload() == "tpcc"
    }

    /// Returns the display name of the type whose latencies the series holds second by second.
    #[must_use]
    pub(crate) fn first_type(&self) -> &'static str {
        if self.is_tpcc() { StandardKind::NewOrder.title() } else { crate::figures::MICRO_TITLE }
    }

    /// Returns the plan's keys with their values as text; `a.b` is key b of table a.
    #[must_use]
    pub(crate) fn plan_flat(&self) -> BTreeMap<String, String> {
        self.plan.texts()
    }

    /// Returns the number of nodes of the database, where the run knew the placement.
    #[must_use]
    pub fn node_count(&self) -> Option<u32> {
        let nodes = self.controls.distribution.as_ref()?.nodes.len();
        u32::try_from(nodes).ok().filter(|nodes| *nodes > 0)
    }

    /// Returns the number of whole seconds of the window's series: all but a short last one, unless it is the only one.
    #[must_use]
    pub fn whole_seconds(&self) -> usize {
        let seconds = self.series.second.len();
        let short = seconds > 1 && self.series.short_second_s(self.window.measured_s).is_some();
        seconds - usize::from(short)
    }

    /// Returns true if the plan sets the pace of requests, not the database: terminals that wait, or a given rate.
    #[must_use]
    pub fn is_paced(&self) -> bool {
        self.plan.is_paced()
    }

    /// Returns the client's processor time in percent of one processor.
    #[must_use]
    pub fn client_percent_of_core(&self) -> f64 {
        let measured_s = self.window.measured_s;
        if measured_s > 0.0 { 100.0 * self.client.cpu_s / measured_s } else { 0.0 }
    }

    /// Returns how many consistency conditions (TPC-C 3.3.2) an interrupted check evaluated; `None` if it evaluated all
    /// of them, if no check was planned at that time, or if the check failed (which is a check that does not hold).
    #[must_use]
    pub fn conditions_cut_short(&self, when: CheckedWhen) -> Option<usize> {
        let made = self.checks.iter().filter(|check| check.when == when);
        let conditions = made.clone().filter(|check| check.id.starts_with("3.3.2.")).count();
        let ours = |check: &CheckResult| {
            CHECKS_OF_RUNS.iter().any(|(id, _)| *id == check.id) || is_own_condition(check)
        };
        let others = made.clone().count() - made.filter(|check| ours(check)).count() - conditions;
        // A run that checks before also plans a check after.
        let meant = conditions > 0
            || when == CheckedWhen::After && self.conditions_cut_short(CheckedWhen::Before).is_none() && {
                self.checks
                    .iter()
                    .any(|check| check.when == CheckedWhen::Before && check.id.starts_with("3.3.2."))
            };
        let interrupted = self.status == Status::Partial;
        // A check after a run evaluates the same conditions as the one before it.
        let own = |when| self.own_conditions(when).count();
        let is_short = conditions < CONDITION_COUNT
            || when == CheckedWhen::After && own(CheckedWhen::After) < own(CheckedWhen::Before);
        (interrupted && meant && others == 0 && is_short).then_some(conditions)
    }

    /// Returns the results of Lydite's own conditions at that time.
    pub fn own_conditions(&self, when: CheckedWhen) -> impl Iterator<Item = &CheckResult> {
        self.checks.iter().filter(move |check| check.when == when && is_own_condition(check))
    }

    /// Returns true if all consistency conditions (TPC-C 3.3.2) were evaluated at that time.
    #[must_use]
    pub fn evaluated_conditions(&self, when: CheckedWhen) -> bool {
        self.checks.iter().any(|check| check.when == when && check.id.starts_with("3.3.2."))
            && self.conditions_cut_short(when).is_none()
    }

    /// Returns true if any check was interrupted, see [`RunResult::conditions_cut_short`].
    #[must_use]
    pub fn any_conditions_cut_short(&self) -> bool {
        [CheckedWhen::Before, CheckedWhen::After]
            .into_iter()
            .any(|when| self.conditions_cut_short(when).is_some())
    }
}

/// Status of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The run reached its planned end, and its result counts.
    #[default]
    Complete,
    /// The run was interrupted or lost its target, more than half of the transactions of a type failed, or the last
    /// check was not made. The numbers measured so far are valid.
    Partial,
}

/// Times of the warm-up and the measured window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Window {
    /// Start of the measured window, RFC 3339.
    pub start: String,
    /// Length of the warm-up before it, in seconds.
    pub warmup_s: f64,
    /// Length of the measured window in seconds.
    pub measured_s: f64,
}

/// Results of one transaction type.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TransactionResult {
    /// Transactions that committed.
    pub committed: u64,
    /// Transactions rolled back because their input names an unused item (TPC-C 2.4.1.4). They count as completed.
    pub rolled_back: u64,
    /// Attempts after the first, over all transactions.
    pub retries: u64,
    /// Failed transactions: ended by an error, or by an abort of their last attempt.
    pub failed: u64,
    /// Transactions with an unknown outcome: the commit was sent and no answer came. They are in no other count.
    pub unknown: u64,
    /// Share of the completed transactions of all types, in percent.
    pub share_percent: f64,
    /// Time from when a transaction was due until its answer, retries included: what the user feels.
    pub latency_ms: Latency,
    /// Time from when it was due until a session took it: the client's share.
    pub queue_ms: Latency,
    /// Time from when a session took it until its answer, retries included: the database's share.
    pub service_ms: Latency,
    /// Time until the terminal learned that the Delivery is queued (TPC-C 2.7.2.3), in the modes that defer it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interactive_ms: Option<Latency>,
    /// The histogram behind `latency_ms`, whose values are **nanoseconds**: HdrHistogram V2 with deflate, in
    /// base64 (see [`crate::hdr`]). Empty if there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hdr: String,
}

impl TransactionResult {
    /// Returns the completed transactions: committed, or rolled back as the input wants.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.committed.saturating_add(self.rolled_back)
    }
}

/// Summary of a distribution of times, in milliseconds; `None` (null) without samples.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Latency {
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 90th percentile, the one that TPC-C 5.2.5.3 limits.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p999: Option<f64>,
    /// Greatest value.
    pub max: Option<f64>,
}

/// Count of an error.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ErrorCount {
    /// Text, from the database.
    pub message: String,
    /// Number of times that it occurred.
    pub count: u64,
}

/// Cause of an outage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutageCause {
    /// Every connection was lost.
    #[default]
    Lost,
    /// Connections stayed, and nothing came over them: the server was frozen, or the network cut.
    Silent,
}

/// A time in which no session got an answer, in seconds from the window's start.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Outage {
    /// Cause.
    #[serde(default)]
    pub cause: OutageCause,
    /// Beginning.
    pub from_s: f64,
    /// End.
    pub to_s: f64,
}

/// The deferred part of Delivery (TPC-C 2.7.2).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DeliveryReport {
    /// Deliveries queued in the window.
    pub queued: u64,
    /// Queued Deliveries that were completed.
    pub completed: u64,
    /// Districts skipped because they had no undelivered order.
    pub skipped_districts: u64,
    /// Share completed within 80 s of being queued, in percent (2.7.2.2 demands 90).
    pub within_80s_percent: f64,
    /// Path of the result file (2.7.2.2), if one was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
}

/// Measured keying and think times of one transaction type, in seconds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Pacing {
    /// Mean keying time.
    pub keying_mean_s: f64,
    /// Mean think time.
    pub think_mean_s: f64,
    /// Least keying time.
    pub keying_min_s: f64,
    /// Greatest think time.
    pub think_max_s: f64,
    /// The histogram of the think times, for New-Order alone (clause 5.6.3): as [`TransactionResult::hdr`].
    #[serde(skip_serializing_if = "String::is_empty")]
    pub think_hdr: String,
}

/// True for the result of one of Lydite's own conditions.
pub(crate) fn is_own_condition(check: &CheckResult) -> bool {
    OWN_CONDITIONS.iter().any(|own| own.clause == check.id)
}
