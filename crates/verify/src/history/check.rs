//! A history against a level: the one call that puts the steps together.

use super::cycles;
use super::graph::{Edge, Graph, Kind, counted_ids, realtime_edges, session_edges};
use super::level::{AnomalyKind, Level, Order};
use super::model::{History, HistoryError, Outcome};
use super::report::{Collector, Report, Tally};
use super::versions::infer;

/// From what, besides reads, the order of a register's values may be taken. Lists need none of this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RegisterOrder {
    /// Reads alone: what a transaction writes follows what it read. Sound for every database.
    #[default]
    Reads,
    /// Also: a process's later write follows its earlier one.
    Session,
    /// Also: a write follows every write whose transaction had ended before its own began. Sound where
    /// versions are ordered by commit.
    Realtime,
}

/// What to check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The level that the database promised.
    pub level: Level,
    /// Hold it against the order of each process's transactions as well (strict serializability does).
    pub session: bool,
    /// Hold it against real time as well (strict serializability does).
    pub realtime: bool,
    /// What to take the order of registers' values from.
    pub register_order: RegisterOrder,
    /// How many examples of each kind to keep.
    pub examples: usize,
    /// How many edges the searches for cycles may follow before counting is cut short; the verdict does not
    /// depend on it.
    pub search_edges: u64,
}

impl Options {
    /// The level with nothing added.
    #[must_use]
    pub fn new(level: Level) -> Self {
        let register_order = RegisterOrder::Reads;
        Self { level, session: false, realtime: false, register_order, examples: 3, search_edges: 50_000_000 }
    }
}

/// Checks a history.
///
/// # Errors
/// The history is not one: values written twice, keys not listed, transactions of one process that overlap.
/// Anomalies are no errors.
pub fn check(history: &History, options: &Options) -> Result<Report, HistoryError> {
    let kinds = history.validate()?;
    let strict = options.level == Level::StrictSerializable;
    let realtime = options.realtime || strict;
    // Real time holds the order of sessions too, but says less plainly what is wrong.
    let session = options.session || strict;
    let mut found = Collector::new(options.examples);
    let inferred = infer(history, &kinds, options.register_order, &mut found);
    let counted = inferred.counted;
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
    let anomalies = found.into_anomalies(forbids);
    let holds = !anomalies.iter().any(|anomaly| anomaly.forbidden);
    let transactions = tally(history, &counted, dependencies);
    Ok(Report { level: options.level, holds, transactions, anomalies })
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
