//! What a check found: counts, a few examples of each kind, and the verdict.

use super::level::{AnomalyKind, Level, Order};
use super::model::TxId;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// One occurrence of an anomaly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Example {
    /// Who took part; of a cycle, in its order.
    pub transactions: Vec<TxId>,
    /// The process of each of them.
    pub processes: Vec<u32>,
    /// The keys that show it, with their engines.
    pub keys: Vec<String>,
    /// The engines that these keys live on.
    pub engines: Vec<String>,
    /// One sentence per edge of a cycle; of other anomalies one sentence.
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

/// All that was found of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Anomaly {
    /// What it is.
    pub kind: AnomalyKind,
    /// What its cycles need besides the data.
    pub order: Order,
    /// Whether the level that was asked for forbids it.
    pub forbidden: bool,
    /// How many: reads of which one thing is wrong, or cycles, as many as it takes to have every dependency
    /// that can only lie on such a cycle in one of them.
    pub count: u64,
    /// False if the search was cut short: there are at least as many.
    pub count_is_exact: bool,
    /// The first few.
    pub examples: Vec<Example>,
}

/// How many transactions of each outcome the history has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Known to be committed.
    pub committed: u64,
    /// Known to be aborted.
    pub aborted: u64,
    /// Without an answer.
    pub unknown: u64,
    /// Of those without an answer, the ones whose effect was seen; they count as committed.
    pub unknown_seen: u64,
    /// Dependencies that were inferred; a history with next to none proves next to nothing.
    pub dependencies: u64,
}

/// The answer to whether a history keeps a level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The level that was asked for.
    pub level: Level,
    /// Whether nothing was found that this level, with the orders asked for, forbids.
    pub holds: bool,
    /// What the history consists of.
    pub transactions: Tally,
    /// What was found, forbidden or not, the worst first.
    pub anomalies: Vec<Anomaly>,
}

impl Report {
    /// What was found of a kind, over all orders.
    #[must_use]
    pub fn count(&self, kind: AnomalyKind) -> u64 {
        self.anomalies.iter().filter(|anomaly| anomaly.kind == kind).map(|anomaly| anomaly.count).sum()
    }

    /// The strongest level that nothing found contradicts; none if not even read committed holds. Strict
    /// serializability is only ever named if real time was looked at, that is if it was asked for.
    #[must_use]
    pub fn strongest(&self) -> Option<Level> {
        let holds = |level: &Level| {
            (*level < Level::StrictSerializable || self.level == Level::StrictSerializable)
                && !self.anomalies.iter().any(|found| level.forbids(found.kind, found.order))
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

/// Gathers what is found.
pub(super) struct Collector {
    examples: usize,
    found: BTreeMap<(Order, AnomalyKind), (u64, bool, Vec<Example>)>,
}

impl Collector {
    /// One that keeps so many examples of each kind.
    pub(super) fn new(examples: usize) -> Self {
        Self { examples, found: BTreeMap::new() }
    }

    /// Counts an anomaly that shows in the data; it is put into words only if it is kept.
    pub(super) fn add(&mut self, kind: AnomalyKind, example: impl FnOnce() -> Example) {
        self.add_ordered(kind, Order::Data, example);
    }

    /// Counts an anomaly that needs some order.
    pub(super) fn add_ordered(&mut self, kind: AnomalyKind, order: Order, example: impl FnOnce() -> Example) {
        let (count, _, examples) = self.found.entry((order, kind)).or_insert((0, true, Vec::new()));
        *count += 1;
        if examples.len() < self.examples {
            examples.push(example());
        }
    }

    /// Notes that there may be more of a kind than were counted.
    pub(super) fn cut_short(&mut self, order: Order, kinds: &[AnomalyKind]) {
        for kind in kinds {
            if let Some((_, exact, _)) = self.found.get_mut(&(order, *kind)) {
                *exact = false;
            }
        }
    }

    /// All that was found.
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
