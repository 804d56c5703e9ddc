//! The result document: all results of one run.
//!
//! The JSON names are a contract (format [`FORMAT`]); they are the names of the fields here. The unit of a
//! number is the last part of its name: `_ms` milliseconds, `_s` seconds, `_us` microseconds, `_percent` 0 to
//! 100, `_bytes` bytes. Numbers are finite. Fields that an older document lacks load as their default.

use std::collections::BTreeMap;

use lydite_tpcc::TransactionKind;
use lydite_tpcc::consistency::{CONDITION_COUNT, EXTRA_CONDITIONS};
use serde::{Deserialize, Serialize};

use crate::controls::{Controls, PhaseControls, sorted};
use crate::faults::{FaultAvailability, FaultResult};
use crate::observed::Observed;
use crate::plan::PlanInfo;

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
    /// Values that the run observed second by second, beside its transactions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observed: Vec<Observed>,
    /// Other warnings about the run, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The deferred part of Delivery (TPC-C 2.7.2), in the modes that defer it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<DeliveryReport>,
    /// Measured keying and think times by transaction type (TPC-C 5.2.5), in the modes that wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pacing: Option<BTreeMap<String, Pacing>>,
    /// Operations and data of each node of the database, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<NodeFigures>,
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
            observed: Vec::new(),
            warnings: Vec::new(),
            delivery: None,
            pacing: None,
            nodes: None,
        }
    }
}

impl RunResult {
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

    /// Returns true if the database was loaded with fewer rows than the standard has.
    #[must_use]
    pub fn has_small_warehouses(&self) -> bool {
        self.plan.size.as_ref().is_some_and(|size| size != "standard")
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
        if self.is_tpcc() { TransactionKind::NewOrder.title() } else { crate::figures::MICRO_TITLE }
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
            CHECKS_OF_RUNS.iter().any(|(id, _)| *id == check.id)
                || EXTRA_CONDITIONS.iter().any(|extra| extra.clause == check.id)
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
        (interrupted && meant && others == 0 && conditions < CONDITION_COUNT).then_some(conditions)
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

/// The database under test.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TargetInfo {
    /// Family: `gemel`, `postgres`, …
    pub kind: String,
    /// Version that the database states.
    #[serde(default)]
    pub version: String,
    /// URL without password.
    #[serde(default)]
    pub url: String,
    /// Settings that matter to the result, from the database itself.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// Settings of the server that differ from its defaults, without secrets and paths.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub changed_settings: BTreeMap<String, String>,
    /// True if connections were encrypted; `None` (null) if there were none, or if this is not known.
    #[serde(default)]
    pub encrypted: Option<bool>,
    /// True if it runs inside the client's process, so that its cost is part of the client's.
    #[serde(default)]
    pub embedded: bool,
}

impl TargetInfo {
    /// Returns the encryption of the connections in words; none if unknown.
    #[must_use]
    pub fn encryption(&self) -> Option<&'static str> {
        self.encrypted.map(|encrypted| if encrypted { "encrypted" } else { "not encrypted" })
    }
}

/// The machine that ran the client.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HostInfo {
    /// Host name.
    pub hostname: String,
    /// Operating system.
    pub os: String,
    /// Kernel release.
    pub kernel: String,
    /// Processor model.
    pub cpu: String,
    /// Logical processors available to the client.
    pub cores: u32,
    /// Main memory in bytes.
    pub memory_bytes: u64,
}

/// The load of the database.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadInfo {
    /// Wall time in seconds.
    pub seconds: f64,
    /// Rows of all tables.
    pub rows: u64,
    /// Bytes of row data sent.
    pub bytes: u64,
    /// Warehouses loaded; 0 for workloads without warehouses.
    pub warehouses: u64,
    /// Tables loaded, where the plan sets their number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tables: Option<u64>,
    /// Loaders that worked at the same time.
    pub jobs: u32,
    /// `rows` divided by `seconds`.
    pub rows_per_s: f64,
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
        self.committed + self.rolled_back
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
    /// Configured and measured values of the controls, as for the whole run.
    #[serde(default, serialize_with = "sorted")]
    pub controls: PhaseControls,
}

/// Values second by second, in parallel arrays, each as long as `second` or empty. Those of TPC-C's types are empty for
/// other workloads; `micro` and its latencies exist for the microbenchmark only.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Series {
    /// Start of each second, in seconds from the window's start; negative before it.
    pub second: Vec<i64>,
    /// New-Orders completed, rolled-back ones included.
    pub new_order: Vec<u64>,
    /// Payments completed.
    pub payment: Vec<u64>,
    /// Order-Statuses completed.
    pub order_status: Vec<u64>,
    /// Deliveries completed.
    pub delivery: Vec<u64>,
    /// Stock-Levels completed.
    pub stock_level: Vec<u64>,
    /// dUpdateStocks completed; empty unless the mix has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub update_stock: Vec<u64>,
    /// dUpdateItems completed; empty unless the mix has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub update_item: Vec<u64>,
    /// dUpdateBalances completed; empty unless the mix has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub update_balance: Vec<u64>,
    /// dSelectBalances completed; empty unless the mix has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub select_balance: Vec<u64>,
    /// Attempts that the database aborted.
    pub aborts: Vec<u64>,
    /// Transactions that ended in an error.
    pub errors: Vec<u64>,
    /// Transactions with an unknown outcome.
    pub unknown: Vec<u64>,
    /// Median latency of the second's New-Orders, in milliseconds; `None` without any.
    pub new_order_p50_ms: Vec<Option<f64>>,
    /// 99th percentile of these latencies.
    pub new_order_p99_ms: Vec<Option<f64>>,
    /// Transactions of the microbenchmark completed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub micro: Vec<u64>,
    /// Median latency of the second's transactions, in milliseconds; `None` without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub micro_p50_ms: Vec<Option<f64>>,
    /// 99th percentile of these latencies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub micro_p99_ms: Vec<Option<f64>>,
    /// Sessions that were connected.
    pub sessions_connected: Vec<u32>,
}

impl Series {
    /// Returns the completed transactions of one type.
    #[must_use]
    pub fn of(&self, kind: TransactionKind) -> &[u64] {
        match kind {
            TransactionKind::NewOrder => &self.new_order,
            TransactionKind::Payment => &self.payment,
            TransactionKind::OrderStatus => &self.order_status,
            TransactionKind::Delivery => &self.delivery,
            TransactionKind::StockLevel => &self.stock_level,
            TransactionKind::UpdateStock => &self.update_stock,
            TransactionKind::UpdateItem => &self.update_item,
            TransactionKind::UpdateBalance => &self.update_balance,
            TransactionKind::SelectBalance => &self.select_balance,
        }
    }

    /// Returns the completed transactions of each type of the series, with the type's display name.
    #[must_use]
    pub fn types(&self) -> Vec<(&'static str, &[u64])> {
        if self.micro.is_empty() {
            let there = |kind: &TransactionKind| kind.is_standard() || !self.of(*kind).is_empty();
            let kinds = TransactionKind::ALL.into_iter().filter(there);
            kinds.map(|kind| (kind.title(), self.of(kind))).collect()
        } else {
            vec![(crate::figures::MICRO_TITLE, &self.micro)]
        }
    }

    /// Returns the median and 99th percentile of the latency of the workload's first type: New-Order, or the only one.
    #[must_use]
    pub fn first_type_ms(&self) -> [&[Option<f64>]; 2] {
        if self.micro.is_empty() {
            [&self.new_order_p50_ms, &self.new_order_p99_ms]
        } else {
            [&self.micro_p50_ms, &self.micro_p99_ms]
        }
    }

    /// Returns the real length of the short second at the edge (the first of a warm-up, the last of a window) of a
    /// series that covers `length_s` seconds; none if all seconds are whole.
    #[must_use]
    pub fn short_second_s(&self, length_s: f64) -> Option<f64> {
        let left = length_s - (self.second.len() as f64 - 1.0);
        // Differences below a thousandth come from the clock.
        (!self.second.is_empty() && left > 0.0 && left < 0.999).then_some(left)
    }

    /// Returns the completed transactions of all types, second by second.
    #[must_use]
    pub fn total(&self) -> Vec<u64> {
        let types = self.types();
        let at = |i: usize| {
            types.iter().map(|(_, of)| of.get(i).copied().unwrap_or(0)).fold(0, u64::saturating_add)
        };
        (0..self.second.len()).map(at).collect()
    }
}

/// Cost of the client itself over the measured window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientCost {
    /// Processor time in seconds. With an embedded target it includes the database's.
    pub cpu_s: f64,
    /// Greatest resident memory in bytes.
    pub peak_rss_bytes: u64,
    /// `cpu_s` per completed transaction, in microseconds.
    pub cpu_us_per_transaction: f64,
    /// Processor time of a driver's processes in seconds, not included in `cpu_s`; none without a driver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver_cpu_s: Option<f64>,
    /// `driver_cpu_s` per completed transaction, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver_cpu_us_per_transaction: Option<f64>,
    /// Warning that the client, not the database, was the limit: a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bottleneck: Option<String>,
    /// Delay with which the client noticed that a transaction was due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lateness_ms: Option<Latency>,
}

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

/// The [`CheckResult::id`] of the check that compares the database with the success log, transaction by transaction.
pub const SUCCESS_LOG_CHECK: &str = "success-log";

/// The checks of a run that are no conditions over the database, with the words for one that holds and one that fails.
pub(crate) const CHECKS_OF_RUNS: [(&str, [&str; 2]); 4] = [
    (BALANCES_CHECK, ["balances hold", "balances FAIL"]),
    (LEDGER_CHECK, ["ledger holds", "ledger FAILS"]),
    (SUCCESS_LOG_CHECK, ["success log holds", "success log FAILS"]),
    (ANSWERS_CHECK, ["answers agree", "answers CONTRADICT"]),
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

/// Operations and data of each node of the database: lists by node, in the order of `names`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeFigures {
    /// Names of the nodes, from the database.
    pub names: Vec<String>,
    /// Start of each second, in seconds from the window's start.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub second: Vec<i64>,
    /// By node, operations in each of these seconds: a transaction counts once for each node that it touches. Empty if
    /// unknown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ops: Vec<Vec<u64>>,
    /// Data of each node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<NodeBytes>,
}

/// Data of each node over time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeBytes {
    /// Times of the queries for it, in seconds from the window's start; negative before it.
    pub second: Vec<f64>,
    /// By node, bytes at each of these times.
    pub of: Vec<Vec<u64>>,
}
