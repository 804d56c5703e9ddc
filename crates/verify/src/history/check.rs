//! Check of a history against a level: the function that joins all steps.

use super::cycles;
use super::explain::Explain;
use super::graph::{Edge, Graph, Kind, counted_ids, realtime_edges, session_edges};
use super::level::{AnomalyKind, Level, Order, RegisterOrder};
use super::lost::lost;
use super::model::{History, HistoryError, Outcome};
use super::report::{Collector, Report, Tally};
use super::versions::infer;

/// Options of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Level that the database promised.
    pub level: Level,
    /// True to check the order of each process's transactions too (strict serializability always does).
    pub session: bool,
    /// True to check real time too (strict serializability always does).
    pub realtime: bool,
    /// Source of the order of registers' values.
    pub register_order: RegisterOrder,
    /// Number of examples to keep of each kind.
    pub examples: usize,
    /// Number of edges that the searches for cycles may follow before counting stops. The verdict does not depend on
    /// it.
    pub search_edges: u64,
}

impl Options {
    /// Returns the options for a level and nothing more.
    #[must_use]
    pub fn new(level: Level) -> Self {
        let register_order = RegisterOrder::Reads;
        Self { level, session: false, realtime: false, register_order, examples: 3, search_edges: 50_000_000 }
    }
}

/// Checks a history.
///
/// # Errors
/// Fails if the history is malformed: a value is written twice, a key is not listed, or transactions of one process
/// overlap. Anomalies are no errors.
pub fn check(history: &History, options: &Options) -> Result<Report, HistoryError> {
    let kinds = history.validate()?;
    let strict = options.level == Level::StrictSerializable;
    let realtime = options.realtime || strict;
    // Real time implies the order of sessions, but its cycles explain the anomaly less plainly.
    let session = options.session || strict;
    let mut found = Collector::new(options.examples);
    let inferred = infer(history, &kinds, options.register_order, &mut found);
    let counted = inferred.counted;
    for lost in history.final_from.map_or_else(Vec::new, |from| lost(&history.transactions, from)) {
        found.add(AnomalyKind::LostAppend, || Explain::new(history).lost(&lost));
    }
    let mut edges = inferred.edges;
    let dependencies = edges.len() as u64;
    let mut orders = vec![Order::Data];
    if session {
        session_edges(history, &counted, &mut edges);
        orders.push(Order::Session);
    }
    if realtime {
        let all = counted_ids(&counted);
        realtime_edges(history, all, |from, to| edges.push(Edge::order(from, to, Kind::Realtime)));
        orders.push(Order::Realtime);
    }
    let graph = Graph::new(history.transactions.len(), edges);
    cycles::find(history, &graph, &orders, options.search_edges, &mut found);

    let forbids = |kind: AnomalyKind, order: Order| {
        let asked = match order {
            Order::Data => true,
            Order::Session => session,
            Order::Realtime => realtime,
        };
        asked && options.level.forbids(kind, Order::Data)
    };
    let missed = found.missed();
    let anomalies = found.into_anomalies(forbids);
    let holds = !anomalies.iter().any(|anomaly| anomaly.forbidden);
    let transactions = tally(history, &counted, dependencies);
    Ok(Report { level: options.level, holds, transactions, anomalies, missed })
}

/// Counts the transactions by outcome.
fn tally(history: &History, counted: &[bool], dependencies: u64) -> Tally {
    let mut tally = Tally { dependencies, ..Tally::default() };
    for (tx, counts) in history.transactions.iter().zip(counted) {
        match tx.outcome {
            Outcome::Committed => tally.committed += 1,
            Outcome::Aborted => tally.aborted += 1,
            Outcome::Unknown => {
                tally.unknown += 1;
                tally.unknown_seen += u64::from(*counts);
            }
        }
    }
    tally
}
