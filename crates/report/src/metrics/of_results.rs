//! Metrics of results, from their documents and from the user's flags.

use std::collections::{BTreeMap, BTreeSet};

use super::faults::Judged;
use super::{Availability, Event, FiveNumbers, Size, availability, scalability};
use crate::model::{NodeBytes, NodeFigures, RunResult, Settling};

/// Keys of a plan that change with the size of a cluster, or only change random inputs.
const SCALED: [&str; 11] = [
    "active_warehouses",
    "c_load",
    "jobs",
    "load_seed",
    "nodes",
    "rate",
    "seed",
    "sessions",
    "target",
    "terminals",
    "warehouses",
];

/// The user's flags about results.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Asked {
    /// Events of each run; the faults in its result if there are none.
    pub events: Vec<Event>,
    /// Number of nodes of each run, in their order; the numbers in the results if none.
    pub nodes: Option<Vec<u32>>,
    /// Definition of stable throughput; the usual one if none, for faults with a time to hold that fits the run.
    pub settling: Option<Settling>,
}

/// The metrics of some results; runs are given by their index.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metrics {
    /// Availability of each run in the user's events, else in the faults that it injected.
    pub events: Vec<OfEvents>,
    /// Scalability of each database with runs of several numbers of nodes.
    pub by_nodes: Vec<ByNodes>,
    /// Schedulability of each run whose result has several nodes.
    pub nodes: Vec<OfNodes>,
    /// Runs without scalability because their number of nodes is unknown; empty if no run has scalability.
    pub of_unknown_size: Vec<usize>,
}

/// Availability of a run's database.
#[derive(Debug, Clone, PartialEq)]
pub struct OfEvents {
    /// The run.
    pub run: usize,
    /// Definition of stable throughput in this run.
    pub settling: Settling,
    /// Availability in each event, in the order of the events.
    pub events: Vec<Availability>,
}

/// Scalability of a database.
#[derive(Debug, Clone, PartialEq)]
pub struct ByNodes {
    /// The kind of database.
    pub kind: String,
    /// Runs by number of nodes.
    pub sizes: Vec<Size>,
    /// Keys of the plan in which its runs differ, other than those that change with the size.
    pub differing: Vec<String>,
}

/// Operations and data of the nodes of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct OfNodes {
    /// The run.
    pub run: usize,
    /// Names of the nodes.
    pub names: Vec<String>,
    /// By node, mean operations per second of the window; empty if unknown.
    pub ops: Vec<f64>,
    /// By node, bytes at the first and at the last query; empty if unknown.
    pub bytes: Vec<(u64, u64)>,
}

impl OfNodes {
    /// Returns the nodes of a result; none if it does not have them.
    pub(crate) fn of(result: &RunResult) -> Option<Self> {
        of_nodes(0, result)
    }

    /// Returns the spread of operations per second over the nodes.
    #[must_use]
    pub fn ops_spread(&self) -> Option<FiveNumbers> {
        FiveNumbers::of(&self.ops)
    }

    /// Returns the spread of bytes over the nodes, at the first and at the last query.
    #[must_use]
    pub fn bytes_spread(&self) -> Option<(FiveNumbers, FiveNumbers)> {
        let of = |which: fn(&(u64, u64)) -> u64| {
            FiveNumbers::of(&self.bytes.iter().map(|of| which(of) as f64).collect::<Vec<_>>())
        };
        Some((of(|of| of.0)?, of(|of| of.1)?))
    }
}

/// Errors of metrics.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MetricsError {
    /// An event of a run can't be judged.
    #[error("the event {event}: {problem}")]
    Event {
        /// The run.
        run: usize,
        /// The event's name.
        event: String,
        /// The reason, and what to do.
        problem: String,
    },
    /// The numbers of nodes do not fit these results.
    #[error("{0}")]
    Nodes(String),
}

impl Metrics {
    /// Returns the metrics of these results.
    ///
    /// # Errors
    /// An event can't be judged, or the numbers of nodes do not fit the results.
    pub fn of(results: &[RunResult], asked: &Asked) -> Result<Self, MetricsError> {
        let sizes = sizes(results, asked)?;
        let by_nodes = scalabilities(results, &sizes);
        if asked.nodes.is_some() && by_nodes.is_empty() {
            let words = "scalability needs results of one database with at least two numbers of nodes";
            return Err(MetricsError::Nodes(words.to_owned()));
        }
        let unknown = |run: &usize| sizes.get(*run).copied().flatten().is_none();
        let of_unknown_size =
            if by_nodes.is_empty() { Vec::new() } else { (0..results.len()).filter(unknown).collect() };
        let events = if asked.events.is_empty() {
            results.iter().enumerate().filter_map(|(run, result)| of_faults(run, result, asked)).collect()
        } else {
            results
                .iter()
                .enumerate()
                .map(|(run, result)| of_events(run, result, asked))
                .collect::<Result<_, _>>()?
        };
        let nodes = results.iter().enumerate().filter_map(|(run, result)| of_nodes(run, result));
        // One node has nothing to balance.
        let nodes = nodes.filter(|of| of.names.len() > 1).collect();
        Ok(Self { events, by_nodes, nodes, of_unknown_size })
    }

    /// Returns the metrics that results have without any flags.
    #[must_use]
    pub fn without_flags(results: &[RunResult]) -> Self {
        // Only flags can be wrong.
        Self::of(results, &Asked::default()).unwrap_or_default()
    }

    /// Returns true if there are no metrics.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.by_nodes.is_empty() && self.nodes.is_empty()
    }
}

/// Returns the number of nodes of each run.
fn sizes(results: &[RunResult], asked: &Asked) -> Result<Vec<Option<u32>>, MetricsError> {
    let Some(nodes) = &asked.nodes else { return Ok(results.iter().map(RunResult::node_count).collect()) };
    if nodes.len() != results.len() {
        return Err(MetricsError::Nodes(format!(
            "there are {} numbers of nodes for {} results: give one for each, in their order",
            nodes.len(),
            results.len()
        )));
    }
    Ok(nodes.iter().copied().map(Some).collect())
}

fn scalabilities(results: &[RunResult], sizes: &[Option<u32>]) -> Vec<ByNodes> {
    let mut kinds: BTreeMap<String, Vec<(u32, &RunResult)>> = BTreeMap::new();
    for (result, nodes) in results.iter().zip(sizes) {
        let Some(nodes) = nodes else { continue };
        let kind = match result.workload() {
            "tpcc" => result.target.kind.clone(),
            workload => format!("{} ({workload})", result.target.kind),
        };
        kinds.entry(kind).or_default().push((*nodes, result));
    }
    let of_kind = |(kind, runs): (String, Vec<(u32, &RunResult)>)| {
        let sizes = scalability(&runs.iter().map(|(nodes, result)| (*nodes, result.tps)).collect::<Vec<_>>());
        let plans: Vec<_> = runs.iter().map(|(_, result)| result.plan_flat()).collect();
        let keys: BTreeSet<&String> = plans.iter().flat_map(BTreeMap::keys).collect();
        let differs = |key: &&String| plans.windows(2).any(|pair| pair[0].get(*key) != pair[1].get(*key));
        let differing = keys.into_iter().filter(|key| !SCALED.contains(&key.as_str())).filter(differs);
        let differing = differing.cloned().collect();
        (sizes.len() > 1).then_some(ByNodes { kind, sizes, differing })
    };
    kinds.into_iter().filter_map(of_kind).collect()
}

fn of_events(run: usize, result: &RunResult, asked: &Asked) -> Result<OfEvents, MetricsError> {
    let mut seconds: Vec<f64> = result.series.total().into_iter().map(|done| done as f64).collect();
    seconds.truncate(result.whole_seconds());
    let settling = asked.settling.unwrap_or_default();
    let events = availability(&seconds, &asked.events, &settling).map_err(|rejected| {
        let event = asked.events.get(rejected.event).map(|event| event.name.clone()).unwrap_or_default();
        MetricsError::Event { run, event, problem: rejected.problem }
    })?;
    Ok(OfEvents { run, settling, events })
}

/// Returns the availability in the faults of a result that can be judged; none without such faults.
fn of_faults(run: usize, result: &RunResult, asked: &Asked) -> Option<OfEvents> {
    let judged = Judged::of(result, asked.settling);
    let events: Vec<Availability> = judged.verdicts.into_iter().flatten().collect();
    (!events.is_empty()).then_some(OfEvents { run, settling: judged.settling, events })
}

fn of_nodes(run: usize, result: &RunResult) -> Option<OfNodes> {
    let NodeFigures { names, ops, bytes, .. } = result.nodes.as_ref()?;
    let seconds = result.whole_seconds();
    let rate = |of: &Vec<u64>| {
        let whole = of.get(..seconds.min(of.len())).unwrap_or_default();
        let sum: u64 = whole.iter().fold(0, |sum, each| sum.saturating_add(*each));
        (!whole.is_empty()).then(|| sum as f64 / whole.len() as f64)
    };
    // Unknown unless all nodes are known: a summary of some would look more balanced than the database is.
    let ops: Option<Vec<f64>> = ops.iter().map(rate).collect();
    let ends = |NodeBytes { of, .. }: &NodeBytes| -> Option<Vec<(u64, u64)>> {
        of.iter().map(|each| Some((*each.first()?, *each.last()?))).collect()
    };
    let bytes = bytes.as_ref().and_then(ends).filter(|bytes| bytes.len() == names.len());
    let of = OfNodes {
        run,
        names: names.clone(),
        ops: ops.filter(|ops| ops.len() == names.len()).unwrap_or_default(),
        bytes: bytes.unwrap_or_default(),
    };
    (!(of.ops.is_empty() && of.bytes.is_empty())).then_some(of)
}
