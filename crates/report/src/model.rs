//! The result document: everything that came out of one run.
//!
//! The JSON names are a contract (format [`FORMAT`]); they are the names of the fields here. The unit of a
//! number is the last part of its name: `_ms` milliseconds, `_s` seconds, `_us` microseconds, `_percent` 0 to
//! 100, `_bytes` bytes. Numbers are finite. Fields that an older document lacks load as their default.

use std::collections::BTreeMap;

use lydite_tpcc::TransactionKind;
use lydite_tpcc::consistency::{CONDITION_COUNT, EXTRA_CONDITIONS};
use serde::{Deserialize, Serialize};

use crate::controls::{Controls, PhaseControls, sorted};
use crate::plan::PlanInfo;

/// The version of the document that this crate writes, and the only one that it reads.
pub const FORMAT: u32 = 1;

/// The keys of [`RunResult::transactions`] in the order in which people expect them (TPC-C 2.4 to 2.8, then those of the
/// Dike paper, which a result has only if its mix has).
pub const TRANSACTION_TYPES: [&str; TransactionKind::COUNT] = {
    let mut names = [""; TransactionKind::COUNT];
    let mut index = 0;
    while index < names.len() {
        names[index] = TransactionKind::ALL[index].name();
        index += 1;
    }
    names
};

/// Everything that came out of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// Version of the program that wrote the document.
    pub lydite: String,
    /// Version of the document, [`FORMAT`].
    pub format: u32,
    /// The user's name for the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Whether the run reached its planned end as a result that counts.
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
    /// When it was measured.
    #[serde(default)]
    pub window: Window,
    /// New orders per minute (TPC-C; 0 for other workloads): the completed New-Orders of the window, those that TPC-C 2.4.1.4 rolls back
    /// included (5.4.2), by its length.
    #[serde(default)]
    pub nopm: f64,
    /// Completed transactions of all types per second.
    #[serde(default)]
    pub tps: f64,
    /// `nopm` in percent of [`MAX_NOPM_PER_WAREHOUSE`](lydite_tpcc::limits::MAX_NOPM_PER_WAREHOUSE) times the warehouses. Above 100 whenever the terminals
    /// do not wait as TPC-C demands.
    #[serde(default)]
    pub efficiency_percent: f64,
    /// Results by transaction type; the keys are [`TRANSACTION_TYPES`], or other names for other workloads.
    #[serde(default)]
    pub transactions: BTreeMap<String, TransactionResult>,
    /// Attempts that the database aborted, by reason; each was retried or counted as failed.
    #[serde(default)]
    pub aborts: BTreeMap<String, u64>,
    /// Errors that are no aborts, by their text, the most frequent first.
    #[serde(default)]
    pub errors: Vec<ErrorCount>,
    /// Second by second through the window.
    #[serde(default)]
    pub series: Series,
    /// Second by second before the window (negative offsets).
    #[serde(default)]
    pub warmup_series: Series,
    /// What the client itself cost.
    #[serde(default)]
    pub client: ClientCost,
    /// Consistency conditions (TPC-C 3.3.2) and whatever else was checked.
    #[serde(default)]
    pub checks: Vec<CheckResult>,
    /// The requirements of the plan, and whether the run met them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<RequirementResult>,
    /// Whether the inputs were as random as TPC-C 5.5.1.5 wants them.
    #[serde(default)]
    pub inputs: Vec<InputFinding>,
    /// What the controls were asked and what they did.
    #[serde(default, serialize_with = "sorted")]
    pub controls: Controls,
    /// The phases of the plan that were reached, if there is more than one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PhaseResult>,
    /// The rules of the standard, one by one.
    #[serde(default)]
    pub compliance: Vec<ComplianceLine>,
    /// Stretches in which the database answered nothing.
    #[serde(default)]
    pub outages: Vec<Outage>,
    /// What else one should know of the run, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The deferred part of Delivery (TPC-C 2.7.2), in the modes that defer it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<DeliveryReport>,
    /// Measured keying and think times by transaction type (TPC-C 5.2.5), in the modes that wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pacing: Option<BTreeMap<String, Pacing>>,
    /// What each node of the database did and held, where that is known.
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
            requirements: Vec::new(),
            inputs: Vec::new(),
            controls: Controls::default(),
            phases: Vec::new(),
            compliance: Vec::new(),
            outages: Vec::new(),
            warnings: Vec::new(),
            delivery: None,
            pacing: None,
            nodes: None,
        }
    }
}

impl RunResult {
    /// The transaction types that the result holds: first those of TPC-C in its order, then any others by name.
    #[must_use]
    pub fn types_in_order(&self) -> Vec<(&str, &TransactionResult)> {
        let known = TRANSACTION_TYPES.iter().filter_map(|k| self.transactions.get_key_value(*k));
        let others = self.transactions.iter().filter(|(k, _)| !TRANSACTION_TYPES.contains(&k.as_str()));
        known.chain(others).map(|(k, v)| (k.as_str(), v)).collect()
    }

    /// The number of warehouses of the plan, or of the load if the plan does not say; none where the workload has none.
    #[must_use]
    pub fn warehouses(&self) -> Option<u64> {
        self.plan.warehouses.or_else(|| self.load.as_ref().map(|l| l.warehouses)).filter(|_| self.is_tpcc())
    }

    /// True if the database was loaded with fewer rows than the standard has.
    #[must_use]
    pub fn has_small_warehouses(&self) -> bool {
        self.plan.size.as_ref().is_some_and(|size| size != "standard")
    }

    /// The workload: `tpcc`, also where the plan does not say, or `micro`.
    #[must_use]
    pub fn workload(&self) -> &str {
        self.plan.workload.as_deref().unwrap_or("tpcc")
    }

    /// Whether the workload is TPC-C's, to which NOPM, the mix and the rules of the standard belong.
    #[must_use]
    pub fn is_tpcc(&self) -> bool {
        self.workload() == "tpcc"
    }

    /// The type whose latencies the series has second by second: its name for people.
    #[must_use]
    pub(crate) fn first_type(&self) -> &'static str {
        if self.is_tpcc() { TransactionKind::NewOrder.title() } else { crate::figures::MICRO_TITLE }
    }

    /// The plan's keys with their values as text; `a.b` is key b of table a.
    #[must_use]
    pub(crate) fn plan_flat(&self) -> BTreeMap<String, String> {
        self.plan.texts()
    }

    /// How many nodes the database had, where the run knew on which of them each warehouse was.
    #[must_use]
    pub fn node_count(&self) -> Option<u32> {
        let nodes = self.controls.distribution.as_ref()?.nodes.len();
        u32::try_from(nodes).ok().filter(|nodes| *nodes > 0)
    }

    /// How many seconds of the window's series are whole: all but a short last one, unless it is the only one.
    #[must_use]
    pub fn whole_seconds(&self) -> usize {
        let seconds = self.series.second.len();
        let short = seconds > 1 && self.series.short_second_s(self.window.measured_s).is_some();
        seconds - usize::from(short)
    }

    /// Whether requests come at a pace of the plan's and not of the database's: terminals that wait, or a given rate.
    #[must_use]
    pub fn is_paced(&self) -> bool {
        self.plan.is_paced()
    }

    /// The client's processor time in percent of one processor.
    #[must_use]
    pub fn client_percent_of_core(&self) -> f64 {
        let measured_s = self.window.measured_s;
        if measured_s > 0.0 { 100.0 * self.client.cpu_s / measured_s } else { 0.0 }
    }

    /// How many consistency conditions (TPC-C 3.3.2) were evaluated at a time when not all of them were, since the run
    /// or the check ended before; `None` if all were, or none was meant to be, or the check failed (which is a check that
    /// does not hold).
    #[must_use]
    pub fn conditions_cut_short(&self, when: CheckedWhen) -> Option<usize> {
        let made = self.checks.iter().filter(|check| check.when == when);
        let conditions = made.clone().filter(|check| check.id.starts_with("3.3.2.")).count();
        let ours = |check: &CheckResult| {
            check.id == BALANCES_CHECK || EXTRA_CONDITIONS.iter().any(|extra| extra.clause == check.id)
        };
        let others = made.clone().count() - made.filter(|check| ours(check)).count() - conditions;
        // Who checks before a run means to check after it.
        let meant = conditions > 0
            || when == CheckedWhen::After && self.conditions_cut_short(CheckedWhen::Before).is_none() && {
                self.checks
                    .iter()
                    .any(|check| check.when == CheckedWhen::Before && check.id.starts_with("3.3.2."))
            };
        let interrupted = self.status == Status::Partial;
        (interrupted && meant && others == 0 && conditions < CONDITION_COUNT).then_some(conditions)
    }

    /// Whether the conditions of any time are cut short, see [`RunResult::conditions_cut_short`].
    #[must_use]
    pub fn any_conditions_cut_short(&self) -> bool {
        [CheckedWhen::Before, CheckedWhen::After]
            .into_iter()
            .any(|when| self.conditions_cut_short(when).is_some())
    }
}

/// Whether a run reached its planned end as a result that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It did.
    #[default]
    Complete,
    /// It was interrupted or lost its target, transactions of a type failed more often than not, or the last check
    /// was not made; what was measured is valid.
    Partial,
}

/// The database under test.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TargetInfo {
    /// Family: `gemel`, `postgres`, …
    pub kind: String,
    /// Version as the database states it.
    #[serde(default)]
    pub version: String,
    /// URL without password.
    #[serde(default)]
    pub url: String,
    /// Settings that matter to the result, as the database states them.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// Whether it works inside the client's process, so that its cost is part of the client's.
    #[serde(default)]
    pub embedded: bool,
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
    /// Logical processors that the client may use.
    pub cores: u32,
    /// Main memory in bytes.
    pub memory_bytes: u64,
}

/// What loading took.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadInfo {
    /// Wall time in seconds.
    pub seconds: f64,
    /// Rows of all tables.
    pub rows: u64,
    /// Bytes of row data that were sent.
    pub bytes: u64,
    /// Warehouses loaded; 0 for workloads without.
    pub warehouses: u64,
    /// Tables loaded, where the plan says how many there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tables: Option<u64>,
    /// Loaders that worked at the same time.
    pub jobs: u32,
    /// `rows` by `seconds`.
    pub rows_per_s: f64,
}

/// When it was measured.
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

/// What came out for one transaction type.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TransactionResult {
    /// Transactions that committed.
    pub committed: u64,
    /// Transactions rolled back because their input asked for it (TPC-C 2.4.1.4). They count as completed.
    pub rolled_back: u64,
    /// Attempts after the first, over all transactions.
    pub retries: u64,
    /// Transactions given up.
    pub failed: u64,
    /// Transactions of which the database did not say whether they committed; in no other count.
    pub unknown: u64,
    /// Share of the completed transactions of all types, in percent.
    pub share_percent: f64,
    /// From when the transaction was due until it was answered, retries included: what the user feels.
    pub latency_ms: Latency,
    /// From when it was due until a session took it: the client's share.
    pub queue_ms: Latency,
    /// From when a session took it until it was answered, retries included: the database's share.
    pub service_ms: Latency,
    /// Until the terminal was told that the Delivery is queued (TPC-C 2.7.2.3), in the modes that defer it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interactive_ms: Option<Latency>,
    /// The histogram behind `latency_ms`, whose values are **nanoseconds**: HdrHistogram V2 with deflate, in
    /// base64 (see [`crate::hdr`]). Empty if there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hdr: String,
}

impl TransactionResult {
    /// Transactions that count: committed, or rolled back as their input asked.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.committed + self.rolled_back
    }
}

/// A distribution of times in a few numbers, all in milliseconds; `None` (null) if nothing was measured.
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

/// How often an error occurred.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ErrorCount {
    /// Its text, as the database said it.
    pub message: String,
    /// How often.
    pub count: u64,
}

/// What became of one phase of the plan. A transaction belongs to the phase in which it was due.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseResult {
    /// Its name in the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Seconds of the window at which it began and ended.
    pub from_s: f64,
    /// See `from_s`.
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
    /// What the controls were asked and what they did in it, as those of the whole run.
    #[serde(default, serialize_with = "sorted")]
    pub controls: PhaseControls,
}

/// Second by second: parallel arrays, each as long as `second` or empty. Those of TPC-C's types are empty for other
/// workloads, and `micro` with its times is there for the microbenchmark only.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Series {
    /// Offset of the second's beginning from the window's start; negative before it.
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
    /// Transactions of which the database did not say whether they committed.
    pub unknown: Vec<u64>,
    /// Median latency of the New-Orders of that second, in milliseconds; `None` without any.
    pub new_order_p50_ms: Vec<Option<f64>>,
    /// 99th percentile of the same.
    pub new_order_p99_ms: Vec<Option<f64>>,
    /// Transactions of the microbenchmark completed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub micro: Vec<u64>,
    /// Median latency of those of that second, in milliseconds; `None` without any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub micro_p50_ms: Vec<Option<f64>>,
    /// 99th percentile of the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub micro_p99_ms: Vec<Option<f64>>,
    /// Sessions that were connected.
    pub sessions_connected: Vec<u32>,
}

impl Series {
    /// The completed transactions of one type.
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

    /// The completed transactions of each type that the series has, with the type's name for people.
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

    /// Median and 99th percentile of the latency of the workload's first type: New-Order, or the only one.
    #[must_use]
    pub fn first_type_ms(&self) -> [&[Option<f64>]; 2] {
        if self.micro.is_empty() {
            [&self.new_order_p50_ms, &self.new_order_p99_ms]
        } else {
            [&self.micro_p50_ms, &self.micro_p99_ms]
        }
    }

    /// How long the second at the edge (the first of a warm-up, the last of a window) really was, if the series covers
    /// `length_s` seconds and these are not whole.
    #[must_use]
    pub fn short_second_s(&self, length_s: f64) -> Option<f64> {
        let left = length_s - (self.second.len() as f64 - 1.0);
        // Less than a thousandth is a matter of the clock.
        (!self.second.is_empty() && left > 0.0 && left < 0.999).then_some(left)
    }

    /// The completed transactions of all types, second by second.
    #[must_use]
    pub fn total(&self) -> Vec<u64> {
        let types = self.types();
        let at = |i: usize| {
            types.iter().map(|(_, of)| of.get(i).copied().unwrap_or(0)).fold(0, u64::saturating_add)
        };
        (0..self.second.len()).map(at).collect()
    }
}

/// What the client itself cost over the measured window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientCost {
    /// Processor time in seconds. With an embedded target the database's share is in it.
    pub cpu_s: f64,
    /// Greatest resident memory in bytes.
    pub peak_rss_bytes: u64,
    /// `cpu_s` by completed transaction, in microseconds.
    pub cpu_us_per_transaction: f64,
    /// Processor time in seconds of the processes of a driver, which is not in `cpu_s`; none without a driver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver_cpu_s: Option<f64>,
    /// `driver_cpu_s` by completed transaction, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver_cpu_us_per_transaction: Option<f64>,
    /// A sentence that warns when the client, not the database, was the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bottleneck: Option<String>,
    /// How late the client noticed that a transaction was due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lateness_ms: Option<Latency>,
}

/// When a check was made.
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

/// The [`CheckResult::id`] of what holds W_YTD against the dUpdateBalances of a run.
pub const BALANCES_CHECK: &str = "balances";

/// One thing that was checked, such as a consistency condition of TPC-C 3.3.2.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CheckResult {
    /// Name of the check.
    pub id: String,
    /// Whether it holds.
    pub ok: bool,
    /// What was found; for a failure, where.
    #[serde(default)]
    pub detail: String,
    /// When it was checked.
    #[serde(default)]
    pub when: CheckedWhen,
    /// How long it took, in seconds.
    #[serde(default)]
    pub seconds: f64,
}

/// A requirement of the plan, and whether the run met it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RequirementResult {
    /// The requirement as it was written.
    pub text: String,
    /// Name of its metric (see [`crate::metric`]).
    #[serde(default)]
    pub metric: String,
    /// Measured value in `unit`; `None` (null) if there was none to judge.
    #[serde(default)]
    pub value: Option<f64>,
    /// Unit of `value`; empty if it has none.
    #[serde(default)]
    pub unit: String,
    /// Whether it was met.
    pub met: bool,
    /// Reason why there is no value.
    #[serde(default)]
    pub note: String,
}

/// How a measured input compares with the standard's window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowVerdict {
    /// Inside the window.
    Inside,
    /// Outside.
    Outside,
    /// Too few samples to tell chance from a fault.
    TooFewSamples,
}

/// A measured property of the inputs beside the window that the standard gives it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InputFinding {
    /// What was measured, in words.
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
    /// How they compare.
    pub verdict: WindowVerdict,
    /// Anything worth adding.
    #[serde(default)]
    pub note: String,
}

/// A rule of the standard and whether the run met it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ComplianceLine {
    /// The rule in words.
    pub rule: String,
    /// Clause of TPC-C.
    #[serde(default)]
    pub clause: String,
    /// Whether it was met; `None` (null) if the run cannot tell.
    pub met: Option<bool>,
    /// Why, or by how much.
    #[serde(default)]
    pub note: String,
}

/// The reason why the database answered nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutageCause {
    /// Every connection was lost.
    #[default]
    Lost,
    /// Connections stayed, and nothing came over them: the server was frozen, or the network cut.
    Silent,
}

/// A stretch in which the database answered nothing, in seconds from the window's start.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Outage {
    /// Why.
    #[serde(default)]
    pub cause: OutageCause,
    /// Its beginning.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
}

/// The deferred part of Delivery (TPC-C 2.7.2).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DeliveryReport {
    /// Deliveries queued in the window.
    pub queued: u64,
    /// Of these, completed.
    pub completed: u64,
    /// Districts skipped because they had no undelivered order.
    pub skipped_districts: u64,
    /// Share completed within 80 s of being queued, in percent (at least 90 wanted, 2.7.2.2).
    pub within_80s_percent: f64,
    /// Where the result file is (2.7.2.2), if one was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
}

/// Measured keying and think times of one transaction type, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
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
}

/// What each node of the database did and held: lists by node, in the order of `names`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeFigures {
    /// The nodes, by the names that the database gives them.
    pub names: Vec<String>,
    /// Offset of each second's beginning from the window's start.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub second: Vec<i64>,
    /// By node, operations in each of these seconds: a transaction counts once for each node that it touches. Empty if
    /// that is not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ops: Vec<Vec<u64>>,
    /// How much data each node held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<NodeBytes>,
}

/// How much data each node held, by moment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeBytes {
    /// When it was asked, in seconds from the start of the window; negative before it.
    pub second: Vec<f64>,
    /// By node, bytes at each of these moments.
    pub of: Vec<Vec<u64>>,
}
