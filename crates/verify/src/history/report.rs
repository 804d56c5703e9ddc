//! Result of a check: counts, some examples of each kind, and the verdict.

use super::level::{AnomalyKind, Level, Order};
use super::model::TxId;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// One occurrence of an anomaly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Example {
    /// Transactions that took part; of a cycle, in its order.
    pub transactions: Vec<TxId>,
    /// Process of each of these transactions.
    pub processes: Vec<u32>,
    /// Keys that show the anomaly, with their engines.
    pub keys: Vec<String>,
    /// Engines of these keys.
    pub engines: Vec<String>,
    /// Explanation: one sentence for each edge of a cycle, one sentence for other anomalies.
    pub explanation: Vec<String>,
}

impl fmt::Display for Example {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (id, process)) in self.transactions.iter().zip(&self.processes).enumerate() {
            write!(f, "{}{id} (process {process})", if at == 0 { "" } else { ", " })?;
        }
        if self.engines.len() > 1 {
            write!(f, " across {}", self.engines.join(" and "))?;
        }
        write!(f, ": {}", self.explanation.join("; "))
    }
}

/// All occurrences of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Anomaly {
    /// Kind of the anomaly.
    pub kind: AnomalyKind,
    /// Order that its cycles need besides the data.
    pub order: Order,
    /// True if the checked level forbids it.
    pub forbidden: bool,
    /// Number of wrong reads, or of cycles. The cycles are as many as it takes to have each dependency that lies only
    /// on such cycles in one of them.
    pub count: u64,
    /// False if the search was cut short; then the count is a lower bound.
    pub count_is_exact: bool,
    /// First examples.
    pub examples: Vec<Example>,
}

/// Number of transactions by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Transactions known to be committed.
    pub committed: u64,
    /// Transactions known to be aborted.
    pub aborted: u64,
    /// Transactions without an answer.
    pub unknown: u64,
    /// Transactions without an answer whose effect was seen. They count as committed.
    pub unknown_seen: u64,
    /// Inferred dependencies. A history with very few of them proves very little.
    pub dependencies: u64,
}

/// Verdict on a history and a level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Checked level.
    pub level: Level,
    /// True if no anomaly was found that this level, with the configured orders, forbids.
    pub holds: bool,
    /// Transactions of the history.
    pub transactions: Tally,
    /// Anomalies, forbidden or not, the worst first.
    pub anomalies: Vec<Anomaly>,
    /// Orders, of session and real time, in which a transaction missed something earlier.
    pub missed: Vec<Order>,
}

impl Report {
    /// Returns the number of anomalies of a kind, over all orders.
    #[must_use]
    pub fn count(&self, kind: AnomalyKind) -> u64 {
        self.anomalies.iter().filter(|anomaly| anomaly.kind == kind).map(|anomaly| anomaly.count).sum()
    }

    /// Returns the anomalies that contradict a level.
    pub fn against(&self, level: Level) -> impl Iterator<Item = &Anomaly> {
        self.anomalies.iter().filter(move |found| level.forbids(found.kind, found.order))
    }

    /// Returns false if a transaction missed something earlier. [`Order::Session`]: something that its own session had
    /// written or read. [`Order::Realtime`]: also something that was acknowledged before it began.
    #[must_use]
    pub fn keeps(&self, order: Order) -> bool {
        !self.missed.iter().any(|missed| *missed <= order)
    }

    /// Returns the strongest level that no anomaly contradicts; none if not even read committed holds. Strict
    /// serializability is returned only if real time was checked.
    #[must_use]
    pub fn strongest(&self) -> Option<Level> {
        let holds = |level: &Level| {
            (*level < Level::StrictSerializable || self.level == Level::StrictSerializable)
                && self.against(*level).next().is_none()
        };
        Level::ALL.into_iter().rev().find(holds)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { committed, aborted, unknown, unknown_seen, dependencies } = self.transactions;
        let verdict = if self.holds { "holds" } else { "does NOT hold" };
        writeln!(f, "{} {verdict}", self.level)?;
        writeln!(
            f,
            "{committed} transactions committed, {aborted} aborted, {unknown} unknown ({unknown_seen} of them seen); \
             {dependencies} dependencies"
        )?;
        for anomaly in &self.anomalies {
            let least = if anomaly.count_is_exact { "" } else { "at least " };
            let order = match anomaly.order {
                Order::Data => "",
                Order::Session => ", by the order of a process",
                Order::Realtime => ", by real time",
            };
            let allowed = if anomaly.forbidden { "" } else { " (allowed)" };
            writeln!(f, "{}{order}: {least}{}{allowed}", anomaly.kind, anomaly.count)?;
            for example in &anomaly.examples {
                writeln!(f, "  {example}")?;
            }
        }
        Ok(())
    }
}

/// Collector of the anomalies of a check.
pub(super) struct Collector {
    examples: usize,
    missed: BTreeSet<Order>,
    found: BTreeMap<(Order, AnomalyKind), (u64, bool, Vec<Example>)>,
}

impl Collector {
    /// Returns a collector that keeps `examples` of each kind.
    pub(super) fn new(examples: usize) -> Self {
        Self { examples, missed: BTreeSet::new(), found: BTreeMap::new() }
    }

    /// Counts an anomaly that shows in the data. It is put into words only if it is kept.
    pub(super) fn add(&mut self, kind: AnomalyKind, example: impl FnOnce() -> Example) {
        self.add_ordered(kind, Order::Data, example);
    }

    /// Counts an anomaly that needs an order.
    pub(super) fn add_ordered(&mut self, kind: AnomalyKind, order: Order, example: impl FnOnce() -> Example) {
        let (count, _, examples) = self.found.entry((order, kind)).or_insert((0, true, Vec::new()));
        *count += 1;
        if examples.len() < self.examples {
            examples.push(example());
        }
    }

    /// Notes that the count of a kind is a lower bound.
    pub(super) fn cut_short(&mut self, order: Order, kinds: &[AnomalyKind]) {
        for kind in kinds {
            if let Some((_, exact, _)) = self.found.get_mut(&(order, *kind)) {
                *exact = false;
            }
        }
    }

    /// Notes that a transaction missed what an order puts before it.
    pub(super) fn miss(&mut self, order: Order) {
        self.missed.insert(order);
    }

    /// Returns the orders in which a transaction missed something earlier.
    pub(super) fn missed(&self) -> Vec<Order> {
        self.missed.iter().copied().collect()
    }

    /// Returns all anomalies.
    pub(super) fn into_anomalies(self, forbidden: impl Fn(AnomalyKind, Order) -> bool) -> Vec<Anomaly> {
        self.found
            .into_iter()
            .map(|((order, kind), (count, count_is_exact, examples))| Anomaly {
                kind,
                order,
                forbidden: forbidden(kind, order),
                count,
                count_is_exact,
                examples,
            })
            .collect()
    }
}
