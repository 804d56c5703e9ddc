//! Metrics: numbers of a result, named by a short name or by a path into the document. Figures of sweeps, requirements
//! of runs and gates of comparisons use the same names.

mod gates;
mod names;

pub use names::{BOXED, SHORT_NAMES};

use hdrhistogram::Histogram;
use names::{OTHER_TYPES, SHARES, path, place, share_of, type_of};

use crate::document::Document;
use crate::figures::type_name;
use crate::hdr;
use crate::metrics::{FiveNumbers, OfNodes};
use crate::model::{FaultAvailability, Latency, Observed, RunResult, TRANSACTION_TYPES, TransactionResult};

/// A quantity that each node has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NodeQuantity {
    /// Operations per second.
    Ops,
    /// Bytes at the last query.
    Bytes,
    /// Warehouses that it has, or leads.
    Warehouses,
    /// Their districts, where data is skewed.
    Districts,
}

impl NodeQuantity {
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

    /// Returns its value on each node; none if the result does not have it.
    fn of_each(self, result: &RunResult) -> Option<Vec<f64>> {
        let controls = &result.controls;
        let all: Vec<f64> = match self {
            Self::Ops => OfNodes::of(result)?.ops,
            Self::Bytes => OfNodes::of(result)?.bytes.iter().map(|(_, last)| *last as f64).collect(),
            Self::Warehouses => {
                let nodes = &controls.distribution.as_ref()?.nodes;
                nodes.iter().map(|node| node.warehouses as f64).collect()
            }
            Self::Districts => {
                let nodes = &controls.imbalance.as_ref()?.data.as_ref()?.nodes;
                nodes.iter().map(|node| node.districts as f64).collect()
            }
        };
        (!all.is_empty()).then_some(all)
    }

    fn spread(self, result: &RunResult) -> Option<FiveNumbers> {
        FiveNumbers::of(&self.of_each(result)?)
    }
}

/// A quantity of the faults of a run. Of several faults the worst one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AvailabilityQuantity {
    /// The Dike paper's T_e.
    Te,
    /// The Dike paper's R_e.
    Re,
    /// R_e with the mean while the fault lasted.
    ReDuring,
    /// Seconds without a completed transaction.
    SecondsWithoutCommit,
}

impl AvailabilityQuantity {
    pub(crate) const ALL: [Self; 4] = [Self::Te, Self::Re, Self::ReDuring, Self::SecondsWithoutCommit];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Te => "T_e: how fast it recovers",
            Self::Re => "R_e: how much it keeps",
            Self::ReDuring => "R_e while the fault lasts",
            Self::SecondsWithoutCommit => "Seconds without a commit",
        }
    }

    /// Returns the value of the worst fault; none if the value of any fault is unknown.
    pub(crate) fn of(self, result: &RunResult) -> Option<f64> {
        let number = |fault: &FaultAvailability| match self {
            Self::Te => fault.t_e,
            Self::Re => fault.r_e,
            Self::ReDuring => fault.r_e_during,
            Self::SecondsWithoutCommit => Some(fault.seconds_without_commit as f64),
        };
        let all: Vec<f64> = result.availability.iter().map(number).collect::<Option<_>>()?;
        let worst = if self == Self::SecondsWithoutCommit { f64::max } else { f64::min };
        all.into_iter().reduce(worst)
    }
}

/// A named number of results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    name: String,
    quantity: Quantity,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Quantity {
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
    /// A number of the faults that the run injected.
    Availability(AvailabilityQuantity),
    /// One of the five numbers over the nodes; a box of all five if `number` is none.
    Nodes {
        of: NodeQuantity,
        number: Option<usize>,
    },
    /// Mean over the window of an observed value: its source, a dot, and its name.
    Observed(String),
    Path(Vec<String>),
}

impl Metric {
    /// Reads a short name (see [`SHORT_NAMES`]) or a path into the result, its names separated by dots.
    ///
    /// # Errors
    /// The name is neither. The text continues a sentence that begins with the name.
    pub fn parse(name: &str) -> Result<Self, String> {
        let parts: Vec<&str> = name.split('.').collect();
        let quantity = match parts.as_slice() {
            ["tps"] => Quantity::Tps(None),
            ["tps", of] => Quantity::Tps(Some(type_of(of)?)),
            ["nopm"] => Quantity::Nopm,
            ["efficiency"] => Quantity::Efficiency,
            ["failed"] => Quantity::Failed,
            ["unknown"] => Quantity::Unknown,
            ["failed_rate"] => Quantity::FailedRate,
            ["latency", share] => Quantity::Latency { of: None, share: share_of(share)? },
            ["latency", of, share] => Quantity::Latency { of: Some(type_of(of)?), share: share_of(share)? },
            ["abort_rate"] => Quantity::AbortRate(None),
            ["abort_rate", reason] => Quantity::AbortRate(Some((*reason).to_owned())),
            ["rollback_rate"] => Quantity::RollbackRate,
            ["cpu_per_transaction"] => Quantity::CpuPerTransaction,
            ["driver_cpu_per_transaction"] => Quantity::DriverCpuPerTransaction,
            ["tps_per_node"] => Quantity::TpsPerNode,
            ["t_e"] => Quantity::Availability(AvailabilityQuantity::Te),
            ["r_e"] => Quantity::Availability(AvailabilityQuantity::Re),
            ["r_e_during"] => Quantity::Availability(AvailabilityQuantity::ReDuring),
            ["seconds_without_commit"] => Quantity::Availability(AvailabilityQuantity::SecondsWithoutCommit),
            ["nodes", of, number @ ..] if number.len() <= 1 => match NodeQuantity::named(of) {
                Some(of) => {
                    Quantity::Nodes { of, number: number.first().map(|name| place(name)).transpose()? }
                }
                None => Quantity::Path(path(&parts)?),
            },
            // `observed.0.values` is a path.
            ["observed", source, .., _]
                if source.parse::<usize>().is_err() && parts.iter().all(|part| !part.is_empty()) =>
            {
                Quantity::Observed(parts[1..].join("."))
            }
            // `delivery.p99` is a latency, but `delivery.queued` is a path into the report of deferred Deliveries.
            [of, share] if type_of(of).is_ok() && share_of(share).is_ok() => {
                Quantity::Latency { of: Some(type_of(of)?), share: share_of(share)? }
            }
            _ => Quantity::Path(path(&parts)?),
        };
        Ok(Self { name: name.to_owned(), quantity })
    }

    /// Returns the source of an observed value, a dot, and its name; `None` for other metrics.
    #[must_use]
    pub fn observed(&self) -> Option<&str> {
        match &self.quantity {
            Quantity::Observed(of) => Some(of),
            _ => None,
        }
    }

    /// Returns the name as it was written.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the abort reason, if it counts aborts of one reason only.
    #[must_use]
    pub fn abort_reason(&self) -> Option<&str> {
        match &self.quantity {
            Quantity::AbortRate(reason) => reason.as_deref(),
            _ => None,
        }
    }

    /// Returns true if it is all five numbers over the nodes, which a box plot shows.
    #[must_use]
    pub fn is_boxed(&self) -> bool {
        matches!(self.quantity, Quantity::Nodes { number: None, .. })
    }

    /// Returns the metrics to read from each run: this one, or the five numbers of a box.
    #[must_use]
    pub fn parts(&self) -> Vec<Self> {
        let Quantity::Nodes { of, number: None } = self.quantity else { return vec![self.clone()] };
        let part = |(number, name): (usize, &str)| Self {
            name: format!("{}.{name}", self.name),
            quantity: Quantity::Nodes { of, number: Some(number) },
        };
        FiveNumbers::NAMES.into_iter().enumerate().map(part).collect()
    }

    /// Returns its title.
    #[must_use]
    pub fn title(&self) -> String {
        let of_type =
            |of: &Option<String>| of.as_deref().map_or(String::new(), |of| format!(", {}", type_name(of)));
        match &self.quantity {
            Quantity::Tps(of) => format!("Throughput{}", of_type(of)),
            Quantity::Nopm => "New orders".to_owned(),
            Quantity::Efficiency => "Efficiency".to_owned(),
            Quantity::Failed => "Failed transactions".to_owned(),
            Quantity::Unknown => "Transactions without a known outcome".to_owned(),
            Quantity::FailedRate => "Failed transactions, share".to_owned(),
            Quantity::Latency { of, share } => {
                let words = SHARES.iter().find(|(name, ..)| name == share).map_or("", |(_, words, _)| words);
                format!("{words} latency{}", of_type(of))
            }
            Quantity::AbortRate(None) => "Aborted attempts".to_owned(),
            Quantity::AbortRate(Some(reason)) => format!("Aborts by reason: {reason}"),
            Quantity::RollbackRate => "Rolled back as entered".to_owned(),
            Quantity::CpuPerTransaction => "Processor time".to_owned(),
            Quantity::DriverCpuPerTransaction => "Processor time of the driver".to_owned(),
            Quantity::TpsPerNode => "Throughput of each node".to_owned(),
            Quantity::Availability(of) => of.title().to_owned(),
            Quantity::Nodes { of, number } => {
                let of = of.title();
                let names = [", least", ", first quartile", ", median", ", third quartile", ", greatest"];
                format!("{of}{}", number.and_then(|number| names.get(number).copied()).unwrap_or_default())
            }
            Quantity::Observed(of) => format!("Mean of {of}"),
            Quantity::Path(_) => self.name.clone(),
        }
    }

    /// Returns its unit; empty if it has none or the unit is unknown.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        match &self.quantity {
            Quantity::Tps(_) => "transactions/s",
            Quantity::Nopm => "per minute",
            Quantity::Efficiency => "%",
            Quantity::Failed | Quantity::Unknown => "transactions",
            Quantity::Latency { .. } => "ms",
            Quantity::AbortRate(_) => "% of attempts",
            Quantity::RollbackRate | Quantity::FailedRate => "% of transactions",
            Quantity::CpuPerTransaction | Quantity::DriverCpuPerTransaction => "µs/transaction",
            Quantity::TpsPerNode => "transactions/s and node",
            Quantity::Availability(AvailabilityQuantity::SecondsWithoutCommit) => "s",
            Quantity::Availability(_) | Quantity::Observed(_) => "",
            Quantity::Nodes { of, .. } => of.unit(),
            Quantity::Path(parts) => {
                // A name ends with its unit; a percentile's unit is in the name before it.
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

    /// Returns true if a result may have it second by second: throughput, and paths.
    #[must_use]
    pub fn has_seconds(&self) -> bool {
        matches!(self.quantity, Quantity::Tps(_) | Quantity::Path(_))
    }

    /// Returns true if a result may have it as a list by place: numbers of all nodes, and paths.
    #[must_use]
    pub fn has_places(&self) -> bool {
        self.is_boxed() || matches!(self.quantity, Quantity::Path(_))
    }

    /// Returns its values in the seconds of a result's window, or by place; none if the result has no such list.
    #[must_use]
    pub fn list_of(&self, result: &RunResult) -> Option<Vec<Option<f64>>> {
        if let Quantity::Nodes { of, number: None } = self.quantity {
            return Some(of.of_each(result)?.into_iter().map(Some).collect());
        }
        let document = match &self.quantity {
            Quantity::Tps(_) => Document::of(&result.series)?,
            Quantity::Path(_) => Document::of(result)?,
            _ => return None,
        };
        match &self.quantity {
            Quantity::Tps(Some(of)) => document.numbers(&[of]),
            Quantity::Tps(None) => {
                let types = TRANSACTION_TYPES.iter().chain(&OTHER_TYPES);
                let lists: Vec<Vec<Option<f64>>> =
                    types.filter_map(|of| document.numbers(&[of])).filter(|list| !list.is_empty()).collect();
                let seconds = lists.iter().map(Vec::len).max()?;
                let sum = |second: usize| lists.iter().filter_map(|list| *list.get(second)?).sum();
                Some((0..seconds).map(|second| Some(sum(second))).collect())
            }
            Quantity::Path(parts) => document.numbers(parts),
            _ => None,
        }
    }

    /// Returns its value in a result; none if the result does not have it.
    #[must_use]
    pub fn of(&self, result: &RunResult) -> Option<f64> {
        let value = match &self.quantity {
            Quantity::Tps(None) => Some(result.tps),
            Quantity::Tps(Some(of)) => {
                let seconds = result.window.measured_s;
                let done = result.transactions.get(of)?.completed() as f64;
                (seconds > 0.0).then(|| done / seconds)
            }
            Quantity::Nopm => Some(result.nopm),
            Quantity::Efficiency => Some(result.efficiency_percent),
            Quantity::Failed => Some(failed(result) as f64),
            Quantity::Unknown => Some(unknown(result) as f64),
            Quantity::FailedRate => {
                share_percent(failed(result), completed(result) + failed(result) + unknown(result))
            }
            Quantity::Latency { of: Some(of), share } => at(&result.transactions.get(of)?.latency_ms, share),
            Quantity::Latency { of: None, share } => at(&latency_of_all(result)?, share),
            Quantity::AbortRate(reason) => {
                let aborted: u64 = result.aborts.values().sum();
                let counted = match reason {
                    Some(reason) => *result.aborts.get(reason)?,
                    None => aborted,
                };
                share_percent(counted, completed(result) + aborted)
            }
            Quantity::RollbackRate => {
                share_percent(result.transactions.values().map(|t| t.rolled_back).sum(), completed(result))
            }
            Quantity::CpuPerTransaction => {
                (completed(result) > 0).then_some(result.client.cpu_us_per_transaction)
            }
            // A target without a driver spends nothing in one.
            Quantity::DriverCpuPerTransaction => (completed(result) > 0)
                .then(|| result.client.driver_cpu_us_per_transaction.unwrap_or_default()),
            Quantity::TpsPerNode => result.node_count().map(|nodes| result.tps / f64::from(nodes)),
            Quantity::Availability(of) => of.of(result),
            // A box is not one number; the median stands for it.
            Quantity::Nodes { of, number } => of.spread(result)?.numbers().get(number.unwrap_or(2)).copied(),
            Quantity::Observed(of) => {
                let named = |it: &&Observed| {
                    of.strip_prefix(&it.source).and_then(|rest| rest.strip_prefix('.')) == Some(&it.name)
                };
                result.observed.iter().find(named)?.extent().map(|extent| extent.mean)
            }
            Quantity::Path(parts) => Document::of(result)?.number(parts),
        };
        value.filter(|value| value.is_finite())
    }
}

/// Returns the completed transactions of all types.
fn completed(result: &RunResult) -> u64 {
    result.transactions.values().map(TransactionResult::completed).sum()
}

/// Returns the failed transactions of all types.
fn failed(result: &RunResult) -> u64 {
    result.transactions.values().map(|t| t.failed).sum()
}

/// Returns the transactions of all types with an unknown outcome.
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

/// Returns the latency of all types together, from their histograms: percentiles can't be combined.
fn latency_of_all(result: &RunResult) -> Option<Latency> {
    let mut all: Option<Histogram<u64>> = None;
    for done in result.transactions.values().filter(|t| t.completed() > 0) {
        let mut histogram = hdr::decode(&done.hdr).ok()?;
        match &mut all {
            None => {
                // Another type may have greater values.
                histogram.auto(true);
                all = Some(histogram);
            }
            Some(all) => all.add(&histogram).ok()?,
        }
    }
    all.map(|all| Latency::from_histogram(&all))
}
