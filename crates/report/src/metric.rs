//! The numbers of a result that can be named: by a short name, or by a path into the document. Figures of sweeps,
//! requirements of runs and gates of comparisons use the same names.

use hdrhistogram::Histogram;

use crate::document::Document;
use crate::figures::{number, type_name};
use crate::hdr;
use crate::metrics::{FiveNumbers, OfNodes};
use crate::model::{
    ClientCost, DeliveryReport, HostInfo, Latency, LoadInfo, RunResult, TRANSACTION_TYPES, TransactionResult,
    Window,
};
use crate::suggest::nearest;

/// Types of transactions of workloads other than TPC-C's.
const OTHER_TYPES: [&str; 1] = ["micro"];

/// The numbers that a latency is told in: the name, the name in words, and the fewest transactions that such a number
/// can be taken from. With fewer, a percentile is nothing but the greatest value.
const SHARES: [(&str, &str, u64); 7] = [
    ("mean", "Mean", 1),
    ("p50", "Median", 2),
    ("p90", "90th percentile", 10),
    ("p95", "95th percentile", 20),
    ("p99", "99th percentile", 100),
    ("p999", "99.9th percentile", 1000),
    ("max", "Greatest", 1),
];

/// The short names that stand alone.
const ALONE: [&str; 11] = [
    "nopm",
    "tps",
    "efficiency",
    "failed",
    "unknown",
    "failed_rate",
    "abort_rate",
    "rollback_rate",
    "cpu_per_transaction",
    "driver_cpu_per_transaction",
    "tps_per_node",
];

/// The short names, for messages.
pub const SHORT_NAMES: &str = "nopm, tps, tps.TYPE, TYPE.p95 or latency.TYPE.p95, latency.p95 (or mean, p50, p90, p99, \
     p999, max), efficiency, failed, unknown, failed_rate, abort_rate, abort_rate.REASON, rollback_rate, \
     cpu_per_transaction, driver_cpu_per_transaction, tps_per_node, nodes.ops.median, nodes.bytes.median (or \
     nodes.warehouses, nodes.districts; or min, q1, q3, max)";

/// The units of times, and how many seconds each is.
const TIMES: [(&str, f64); 5] = [("ms", 1e-3), ("us", 1e-6), ("µs", 1e-6), ("μs", 1e-6), ("s", 1.0)];

/// The metrics that a box plot shows: over the nodes of a run.
pub const BOXED: [&str; 4] = ["nodes.ops", "nodes.bytes", "nodes.warehouses", "nodes.districts"];

/// What is known of each node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OfNode {
    /// Operations per second.
    Ops,
    /// Bytes when it was last asked.
    Bytes,
    /// Warehouses that it has, or leads.
    Warehouses,
    /// Their districts, where these are spread unevenly.
    Districts,
}

impl OfNode {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "ops" => Self::Ops,
            "bytes" => Self::Bytes,
            "warehouses" => Self::Warehouses,
            "districts" => Self::Districts,
            _ => return None,
        })
    }

    fn title(self) -> &'static str {
        match self {
            Self::Ops => "Operations of a node",
            Self::Bytes => "Data of a node",
            Self::Warehouses => "Warehouses of a node",
            Self::Districts => "Districts of a node",
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Self::Ops => "per second",
            Self::Bytes => "bytes",
            Self::Warehouses => "warehouses",
            Self::Districts => "districts",
        }
    }

    fn spread(self, result: &RunResult) -> Option<FiveNumbers> {
        let controls = &result.controls;
        let spread = |counts: Vec<f64>| FiveNumbers::of(&counts);
        match self {
            Self::Ops => OfNodes::told_by(result)?.ops_spread(),
            Self::Bytes => Some(OfNodes::told_by(result)?.bytes_spread()?.1),
            Self::Warehouses => {
                let nodes = &controls.distribution.as_ref()?.nodes;
                spread(nodes.iter().map(|node| node.warehouses as f64).collect())
            }
            Self::Districts => {
                let nodes = &controls.imbalance.as_ref()?.data.as_ref()?.nodes;
                spread(nodes.iter().map(|node| node.districts as f64).collect())
            }
        }
    }
}

/// A number that every result has, or should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    name: String,
    what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    Tps(Option<String>),
    Nopm,
    Efficiency,
    Failed,
    Unknown,
    FailedRate,
    Latency {
        of: Option<String>,
        share: &'static str,
    },
    AbortRate(Option<String>),
    RollbackRate,
    CpuPerTransaction,
    DriverCpuPerTransaction,
    TpsPerNode,
    /// One of the five numbers over the nodes; without it all of them, which are a box.
    Nodes {
        of: OfNode,
        number: Option<usize>,
    },
    Path(Vec<String>),
}

impl Metric {
    /// Reads a short name (see [`SHORT_NAMES`]) or a path into the result, its names divided by dots.
    ///
    /// # Errors
    /// If it is neither; what is wrong, in words that follow the name.
    pub fn parse(name: &str) -> Result<Self, String> {
        let parts: Vec<&str> = name.split('.').collect();
        let what = match parts.as_slice() {
            ["tps"] => What::Tps(None),
            ["tps", of] => What::Tps(Some(type_of(of)?)),
            ["nopm"] => What::Nopm,
            ["efficiency"] => What::Efficiency,
            ["failed"] => What::Failed,
            ["unknown"] => What::Unknown,
            ["failed_rate"] => What::FailedRate,
            ["latency", share] => What::Latency { of: None, share: share_of(share)? },
            ["latency", of, share] => What::Latency { of: Some(type_of(of)?), share: share_of(share)? },
            ["abort_rate"] => What::AbortRate(None),
            ["abort_rate", reason] => What::AbortRate(Some((*reason).to_owned())),
            ["rollback_rate"] => What::RollbackRate,
            ["cpu_per_transaction"] => What::CpuPerTransaction,
            ["driver_cpu_per_transaction"] => What::DriverCpuPerTransaction,
            ["tps_per_node"] => What::TpsPerNode,
            ["nodes", of, number @ ..] if number.len() <= 1 => match OfNode::named(of) {
                Some(of) => What::Nodes { of, number: number.first().map(|name| place(name)).transpose()? },
                None => What::Path(path(&parts)?),
            },
            // The deferred part of Delivery has the name of its type, and other fields.
            [of, share] if type_of(of).is_ok() && share_of(share).is_ok() => {
                What::Latency { of: Some(type_of(of)?), share: share_of(share)? }
            }
            _ => What::Path(path(&parts)?),
        };
        Ok(Self { name: name.to_owned(), what })
    }

    /// The name as it was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The reason of the aborts that it counts, if it counts those of one reason.
    #[must_use]
    pub fn abort_reason(&self) -> Option<&str> {
        match &self.what {
            What::AbortRate(reason) => reason.as_deref(),
            _ => None,
        }
    }

    /// Whether it is all five numbers over the nodes, which a box plot shows.
    #[must_use]
    pub fn is_boxed(&self) -> bool {
        matches!(self.what, What::Nodes { number: None, .. })
    }

    /// The metrics that each run must be asked for to know this one: itself, or the five numbers of a box.
    #[must_use]
    pub fn parts(&self) -> Vec<Self> {
        let What::Nodes { of, number: None } = self.what else { return vec![self.clone()] };
        let part = |(number, name): (usize, &str)| Self {
            name: format!("{}.{name}", self.name),
            what: What::Nodes { of, number: Some(number) },
        };
        FiveNumbers::NAMES.into_iter().enumerate().map(part).collect()
    }

    /// What it is, in words.
    #[must_use]
    pub fn title(&self) -> String {
        let of_type =
            |of: &Option<String>| of.as_deref().map_or(String::new(), |of| format!(", {}", type_name(of)));
        match &self.what {
            What::Tps(of) => format!("Throughput{}", of_type(of)),
            What::Nopm => "New orders".to_owned(),
            What::Efficiency => "Efficiency".to_owned(),
            What::Failed => "Failed transactions".to_owned(),
            What::Unknown => "Transactions without a known outcome".to_owned(),
            What::FailedRate => "Failed transactions, share".to_owned(),
            What::Latency { of, share } => {
                let words = SHARES.iter().find(|(name, ..)| name == share).map_or("", |(_, words, _)| words);
                format!("{words} latency{}", of_type(of))
            }
            What::AbortRate(None) => "Aborted attempts".to_owned(),
            What::AbortRate(Some(reason)) => format!("Aborts by reason: {reason}"),
            What::RollbackRate => "Rolled back as entered".to_owned(),
            What::CpuPerTransaction => "Processor time".to_owned(),
            What::DriverCpuPerTransaction => "Processor time of the driver".to_owned(),
            What::TpsPerNode => "Throughput of each node".to_owned(),
            What::Nodes { of, number } => {
                let of = of.title();
                let names = [", least", ", first quartile", ", median", ", third quartile", ", greatest"];
                format!("{of}{}", number.and_then(|number| names.get(number).copied()).unwrap_or_default())
            }
            What::Path(_) => self.name.clone(),
        }
    }

    /// Its unit; empty if it has none or it is not known.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        match &self.what {
            What::Tps(_) => "transactions/s",
            What::Nopm => "per minute",
            What::Efficiency => "%",
            What::Failed | What::Unknown => "transactions",
            What::Latency { .. } => "ms",
            What::AbortRate(_) => "% of attempts",
            What::RollbackRate | What::FailedRate => "% of transactions",
            What::CpuPerTransaction | What::DriverCpuPerTransaction => "µs/transaction",
            What::TpsPerNode => "transactions/s and node",
            What::Nodes { of, .. } => of.unit(),
            What::Path(parts) => {
                // The unit is the last part of a name; of a latency's percentile, of the name before.
                let named = |part: &String| {
                    [
                        ("_ms", "ms"),
                        ("_us", "µs"),
                        ("_per_s", "per second"),
                        ("_s", "s"),
                        ("seconds", "s"),
                        ("_bytes", "bytes"),
                        ("_percent", "%"),
                    ]
                    .into_iter()
                    .find(|(end, _)| part.ends_with(end))
                    .map(|(_, unit)| unit)
                };
                parts.iter().rev().take(2).find_map(named).unwrap_or("")
            }
        }
    }

    /// Whether a result may have it second by second: throughput, and what is named by a path.
    #[must_use]
    pub fn has_seconds(&self) -> bool {
        matches!(self.what, What::Tps(_) | What::Path(_))
    }

    /// Its values in the seconds of a result's window, from the first; none if the result has no such list.
    #[must_use]
    pub fn seconds_of(&self, result: &RunResult) -> Option<Vec<Option<f64>>> {
        let document = match &self.what {
            What::Tps(_) => Document::of(&result.series)?,
            What::Path(_) => Document::of(result)?,
            _ => return None,
        };
        match &self.what {
            What::Tps(Some(of)) => document.numbers(&[of]),
            What::Tps(None) => {
                let types = TRANSACTION_TYPES.iter().chain(&OTHER_TYPES);
                let lists: Vec<Vec<Option<f64>>> =
                    types.filter_map(|of| document.numbers(&[of])).filter(|list| !list.is_empty()).collect();
                let seconds = lists.iter().map(Vec::len).max()?;
                let sum = |second: usize| lists.iter().filter_map(|list| *list.get(second)?).sum();
                Some((0..seconds).map(|second| Some(sum(second))).collect())
            }
            What::Path(parts) => document.numbers(parts),
            _ => None,
        }
    }

    /// Its value in a result; none if the result does not have it.
    #[must_use]
    pub fn of(&self, result: &RunResult) -> Option<f64> {
        let value = match &self.what {
            What::Tps(None) => Some(result.tps),
            What::Tps(Some(of)) => {
                let seconds = result.window.measured_s;
                let done = result.transactions.get(of)?.completed() as f64;
                (seconds > 0.0).then(|| done / seconds)
            }
            What::Nopm => Some(result.nopm),
            What::Efficiency => Some(result.efficiency_percent),
            What::Failed => Some(failed(result) as f64),
            What::Unknown => Some(unknown(result) as f64),
            What::FailedRate => {
                share_percent(failed(result), completed(result) + failed(result) + unknown(result))
            }
            What::Latency { of: Some(of), share } => at(&result.transactions.get(of)?.latency_ms, share),
            What::Latency { of: None, share } => at(&latency_of_all(result)?, share),
            What::AbortRate(reason) => {
                let aborted: u64 = result.aborts.values().sum();
                let counted = match reason {
                    Some(reason) => *result.aborts.get(reason)?,
                    None => aborted,
                };
                share_percent(counted, completed(result) + aborted)
            }
            What::RollbackRate => {
                share_percent(result.transactions.values().map(|t| t.rolled_back).sum(), completed(result))
            }
            What::CpuPerTransaction => {
                (completed(result) > 0).then_some(result.client.cpu_us_per_transaction)
            }
            // A target without a driver spends nothing in one.
            What::DriverCpuPerTransaction => (completed(result) > 0)
                .then(|| result.client.driver_cpu_us_per_transaction.unwrap_or_default()),
            What::TpsPerNode => result.node_count().map(|nodes| result.tps / f64::from(nodes)),
            // All five are no number; the median stands for them.
            What::Nodes { of, number } => of.spread(result)?.numbers().get(number.unwrap_or(2)).copied(),
            What::Path(parts) => Document::of(result)?.number(parts),
        };
        value.filter(|value| value.is_finite())
    }
}

/// Uses as a gate: values that can be judged, values as the user writes and reads them.
impl Metric {
    /// The type of transactions that it is about, if it is about one.
    #[must_use]
    pub fn transaction_type(&self) -> Option<&str> {
        match &self.what {
            What::Tps(of) | What::Latency { of, .. } => of.as_deref(),
            What::Path(parts) if parts.first().is_some_and(|first| first == "transactions") => {
                parts.get(1).map(String::as_str)
            }
            _ => None,
        }
    }

    /// True if only results of TPC-C have it.
    #[must_use]
    pub fn is_of_tpcc(&self) -> bool {
        matches!(self.what, What::Nopm | What::Efficiency)
    }

    /// True if it means something only where users wait as the standard wants.
    #[must_use]
    pub fn is_of_emulated_users(&self) -> bool {
        self.what == What::Efficiency
    }

    /// True if it is a share in percent.
    #[must_use]
    pub fn is_percent(&self) -> bool {
        self.unit().starts_with('%')
    }

    /// Its value in a result, if there is one that can be judged.
    ///
    /// # Errors
    /// Why there is none, as a sentence without its full stop.
    pub fn judged(&self, result: &RunResult) -> Result<f64, String> {
        if self.is_of_tpcc() && !result.is_tpcc() {
            return Err(format!("a result of the workload {} has none", result.workload()));
        }
        let share = match &self.what {
            What::Latency { share, .. } => Some(*share),
            What::Path(parts) if self.transaction_type().is_some() => {
                parts.last().and_then(|last| share_of(last).ok())
            }
            _ => None,
        };
        let of = match &self.what {
            What::Nopm => Some("new_order"),
            _ => self.transaction_type(),
        };
        let count = of.map_or_else(
            || completed(result),
            |of| result.transactions.get(of).map_or(0, TransactionResult::completed),
        );
        let of_type = of.map_or_else(String::new, |of| format!(" of type {}", type_name(of)));
        let failures = matches!(self.what, What::Failed | What::Unknown | What::FailedRate);
        let counted = if failures { count + failed(result) + unknown(result) } else { count };
        if counted == 0 && (share.is_some() || !matches!(self.what, What::Path(_) | What::AbortRate(_))) {
            return Err(format!("no transaction{of_type} was completed in the window"));
        }
        if let Some((_, words, least)) = SHARES.iter().find(|(name, ..)| Some(*name) == share)
            && count < *least
        {
            let words = words.to_lowercase();
            return Err(format!(
                "the {words} needs {least} transactions{of_type} at least, and {} completed",
                if count == 1 { "1 was".to_owned() } else { format!("{count} were") }
            ));
        }
        self.of(result).ok_or_else(|| "the result has no such number".to_owned())
    }

    /// Reads a value in its unit: a number, with a unit of time if it is a time.
    ///
    /// # Errors
    /// What is wrong with it, in words that follow the text.
    pub fn read(&self, text: &str) -> Result<f64, String> {
        let text = text.trim();
        let unit_at = text.rfind(|c: char| c.is_ascii_digit() || c == '.').map_or(0, |last| last + 1);
        let (digits, unit) = text.split_at(unit_at);
        let unit = unit.trim();
        // What counts in seconds or parts of them, by itself or for each transaction.
        let own = self.unit().split('/').next().unwrap_or_default();
        let own_time = TIMES.iter().find(|(name, _)| *name == own).map(|(_, seconds)| seconds);
        let given_time = TIMES.iter().find(|(name, _)| *name == unit).map(|(_, seconds)| seconds);
        let wrong_unit = |wanted: &str| Err(format!("must be {wanted}"));
        let factor = match (own_time, given_time) {
            (Some(own), Some(given)) => given / own,
            (Some(_), None) => return wrong_unit("a time with its unit: ms, s or us, as 50ms"),
            (None, _) if unit.is_empty() => 1.0,
            (None, _) if unit == "%" && self.is_percent() => 1.0,
            (None, _) if self.is_percent() => return wrong_unit("a share in percent, as 95%"),
            (None, _) => return wrong_unit("a plain number, without a unit"),
        };
        // Text such as "inf" has no digits.
        let number = digits.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        number.map(|number| number * factor).ok_or_else(|| "must be a number".to_owned())
    }

    /// Returns a value with its unit, as people read it; with all digits if fewer would make it look equal to `beside`.
    #[must_use]
    pub fn shown(&self, value: f64, beside: Option<f64>) -> String {
        let mut text = number(value);
        if beside.is_some_and(|beside| beside != value && number(beside) == text) {
            text = value.to_string();
        }
        match self.unit().split('/').next().unwrap_or_default() {
            unit if TIMES.iter().any(|(name, _)| *name == unit) => format!("{text} {unit}"),
            unit if unit.starts_with('%') => format!("{text} %"),
            "bytes" => format!("{text} bytes"),
            _ => text,
        }
    }
}

/// Every short name but those with a reason of aborts, and the latencies of `latency.TYPE`.
fn short_names() -> Vec<String> {
    let mut all: Vec<String> = ALONE.iter().map(|name| (*name).to_owned()).collect();
    for (share, ..) in SHARES {
        all.push(format!("latency.{share}"));
    }
    for of in TRANSACTION_TYPES.iter().chain(&OTHER_TYPES) {
        all.push(format!("tps.{of}"));
        all.extend(SHARES.iter().map(|(share, ..)| format!("{of}.{share}")));
    }
    for boxed in BOXED {
        all.extend(FiveNumbers::NAMES.iter().map(|number| format!("{boxed}.{number}")));
    }
    all
}

/// The place of one of the five numbers.
fn place(name: &str) -> Result<usize, String> {
    FiveNumbers::NAMES.iter().position(|known| *known == name).ok_or_else(|| {
        format!("is none of the five numbers over the nodes: use {}", FiveNumbers::NAMES.join(", "))
    })
}

/// Completed transactions of all types.
fn completed(result: &RunResult) -> u64 {
    result.transactions.values().map(TransactionResult::completed).sum()
}

/// Transactions of all types that were given up.
fn failed(result: &RunResult) -> u64 {
    result.transactions.values().map(|t| t.failed).sum()
}

/// Transactions of all types of which the database did not say whether they committed.
fn unknown(result: &RunResult) -> u64 {
    result.transactions.values().map(|t| t.unknown).sum()
}

fn share_percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}

fn at(latency: &Latency, share: &str) -> Option<f64> {
    match share {
        "mean" => latency.mean,
        "p50" => latency.p50,
        "p90" => latency.p90,
        "p95" => latency.p95,
        "p99" => latency.p99,
        "p999" => latency.p999,
        _ => latency.max,
    }
}

/// The latency of all types together, from their histograms: percentiles cannot be put together from percentiles.
fn latency_of_all(result: &RunResult) -> Option<Latency> {
    let mut all: Option<Histogram<u64>> = None;
    for done in result.transactions.values().filter(|t| t.completed() > 0) {
        let mut histogram = hdr::decode(&done.hdr).ok()?;
        match &mut all {
            None => {
                // Another type may have been slower than this one ever was.
                histogram.auto(true);
                all = Some(histogram);
            }
            Some(all) => all.add(&histogram).ok()?,
        }
    }
    all.map(|all| Latency::from_histogram(&all))
}

fn type_of(name: &str) -> Result<String, String> {
    if TRANSACTION_TYPES.iter().chain(&OTHER_TYPES).any(|known| *known == name) {
        return Ok(name.to_owned());
    }
    Err(format!(
        "names no type of transactions: use {} or {}",
        TRANSACTION_TYPES.join(", "),
        OTHER_TYPES.join(", ")
    ))
}

fn share_of(name: &str) -> Result<&'static str, String> {
    SHARES
        .iter()
        .map(|(known, ..)| *known)
        .find(|known| *known == name)
        .ok_or_else(|| "names no percentile: use mean, p50, p90, p95, p99, p999 or max".to_owned())
}

/// A path, if a result has anything by its first name.
fn path(parts: &[&str]) -> Result<Vec<String>, String> {
    let empty = Document::of(&RunResult::default());
    let has = |path: &[&str]| empty.as_ref().is_some_and(|empty| empty.has(path));
    let optional = ["load", "delivery", "pacing", "nodes"];
    let first = parts.first().copied().unwrap_or_default();
    let known = has(&[first]) || optional.contains(&first);
    if !known || parts.iter().any(|part| part.is_empty()) {
        let names = short_names();
        let meant =
            nearest(&parts.join("."), &names).map_or(String::new(), |name| format!("did you mean {name}? "));
        return Err(format!(
            "is not known: {meant}use {SHORT_NAMES}, or a path into the result as client.peak_rss_bytes"
        ));
    }
    // What has fixed names can be checked further.
    let (inner, begun) = match parts {
        ["window", inner @ ..] => (fixed(&Window::default(), &[]), inner),
        ["client", inner @ ..] => (fixed(&client(), &["lateness_ms"]), inner),
        ["host", inner @ ..] => (fixed(&HostInfo::default(), &[]), inner),
        ["load", inner @ ..] => (fixed(&LoadInfo { tables: Some(0), ..LoadInfo::default() }, &[]), inner),
        ["delivery", inner @ ..] => (fixed(&DeliveryReport::default(), &[]), inner),
        ["transactions", of, inner @ ..] => {
            type_of(of)?;
            (fixed(&TransactionResult::default(), &["interactive_ms"]), inner)
        }
        _ => return Ok(parts.iter().map(|part| (*part).to_owned()).collect()),
    };
    let mut at = &inner;
    for (depth, name) in begun.iter().enumerate() {
        match at.get(*name) {
            Some(next) => at = next,
            None => {
                let before = parts[..parts.len() - begun.len() + depth].join(".");
                let names: Vec<String> =
                    at.as_object().into_iter().flat_map(|of| of.keys().cloned()).collect();
                let meant =
                    nearest(name, &names).map_or(String::new(), |name| format!(": did you mean {name}?"));
                return Err(format!("is not known: a result has no {before}.{name}{meant}"));
            }
        }
    }
    Ok(parts.iter().map(|part| (*part).to_owned()).collect())
}

/// A part of a result with all its names; `latencies` are those that may be absent.
fn fixed(part: &impl serde::Serialize, latencies: &[&str]) -> serde_json::Value {
    let mut names = serde_json::to_value(part).unwrap_or_default();
    let latency = serde_json::to_value(Latency::default()).unwrap_or_default();
    for name in latencies {
        names[*name] = latency.clone();
    }
    names
}

/// What the client cost, with the fields that not every result has.
fn client() -> ClientCost {
    ClientCost { driver_cpu_s: Some(0.0), driver_cpu_us_per_transaction: Some(0.0), ..ClientCost::default() }
}
