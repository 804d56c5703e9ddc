//! What a figure can show of a result: short names, and paths into the document.

use hdrhistogram::Histogram;

use crate::document::Document;
use crate::figures::type_name;
use crate::hdr;
use crate::metrics::{FiveNumbers, OfNodes};
use crate::model::{Latency, RunResult, TRANSACTION_TYPES, TransactionResult};

/// Types of transactions of workloads other than TPC-C's.
const OTHER_TYPES: [&str; 1] = ["micro"];

/// The percentiles that a latency is told in, beside `mean` and `max`, and their names in words.
const SHARES: [(&str, &str); 7] = [
    ("mean", "Mean"),
    ("p50", "Median"),
    ("p90", "90th percentile"),
    ("p95", "95th percentile"),
    ("p99", "99th percentile"),
    ("p999", "99.9th percentile"),
    ("max", "Greatest"),
];

/// The short names, for messages.
pub const SHORT_NAMES: &str = "tps, tps.TYPE, nopm, latency.p95, latency.TYPE.p95 (or mean, p50, p90, p99, p999, max), \
     abort_rate, abort_rate.REASON, rollback_rate, cpu_per_transaction, driver_cpu_per_transaction, tps_per_node, \
     nodes.ops.median, nodes.bytes.median (or nodes.warehouses, nodes.districts; or min, q1, q3, max)";

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
            What::Latency { of, share } => {
                let words = SHARES.iter().find(|(name, _)| name == share).map_or("", |(_, words)| words);
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
            What::Latency { .. } => "ms",
            What::AbortRate(_) => "% of attempts",
            What::RollbackRate => "% of transactions",
            What::CpuPerTransaction | What::DriverCpuPerTransaction => "µs/transaction",
            What::TpsPerNode => "transactions/s and node",
            What::Nodes { of, .. } => of.unit(),
            What::Path(parts) => {
                // The unit is the last part of a name; of a latency's percentile, of the name before.
                let named = |part: &String| {
                    [("_ms", "ms"), ("_us", "µs"), ("_s", "s"), ("_bytes", "bytes"), ("_percent", "%")]
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
        .map(|(known, _)| *known)
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
        return Err(format!(
            "is not known: use {SHORT_NAMES}, or a path into the result as client.peak_rss_bytes"
        ));
    }
    // What an empty result holds as an object of fixed names can be checked further.
    if matches!(first, "window" | "client" | "host")
        && let Some(second) = parts.get(1)
        && !has(&[first, *second])
        && *second != "lateness_ms"
    {
        return Err(format!("is not known: a result has no {first}.{second}"));
    }
    Ok(parts.iter().map(|part| (*part).to_owned()).collect())
}
