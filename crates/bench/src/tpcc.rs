//! TPC-C's own counts: inputs, deliveries, and the waiting times of emulated users.

use crate::histogram::{histogram, merge};
use crate::logged::Logged;
use crate::sample::Samples;
use crate::workload::{Facts, Runnable};
use hdrhistogram::Histogram;
use lydite_database::Tpcc;
use lydite_tpcc::answer::Contradiction;
use lydite_tpcc::input::TERMINALS_PER_WAREHOUSE;
use lydite_tpcc::limits::DEFERRED_DELIVERY_S;
use lydite_tpcc::transactions::UpdateStock;
use lydite_tpcc::{
    CoAccess, Dike, InputPlan, InputStatistics, NodesTouched, Outcome, Standard, StandardKind,
    StandardOutcome, Terminal, Transaction, TransactionKind, WarehouseId,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Counts of TPC-C.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TpccFacts {
    /// Inputs of the transactions that were committed or rolled back.
    pub inputs: InputStatistics,
    /// Counts of each phase that the run reached.
    pub phases: Vec<PhaseFacts>,
    /// Facts about deliveries, in addition to their counts and times.
    pub delivery: DeliveryFacts,
    /// Answers to committed transactions that contradict themselves or their inputs.
    pub contradictions: Contradictions,
    /// Answers whose rows are read again after the run. Those of a fleet's agents stay with them.
    #[serde(skip)]
    pub samples: Samples,
    /// Measured waiting times of each type, in the order of [`StandardKind::ALL`]; `None` unless terminals wait.
    pub waits: Option<[KindWaits; StandardKind::COUNT]>,
    /// Think times after New-Orders, in nanoseconds (clause 5.6.3); `None` unless terminals wait.
    #[serde(with = "crate::histogram::wire::option")]
    pub think: Option<Histogram<u64>>,
    /// Times from the choice of a transaction until its input screen, in nanoseconds; `None` unless terminals have
    /// lines.
    #[serde(with = "crate::histogram::wire::option")]
    pub menu: Option<Histogram<u64>>,
}

/// Answers that contradict themselves or their inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contradictions {
    /// Answers that were examined.
    pub examined: u64,
    /// Those with a contradiction.
    pub found: u64,
    /// The first contradiction of a session, and the type of its transaction.
    pub example: Option<(TransactionKind, Contradiction)>,
}

impl Contradictions {
    fn examine(&mut self, transaction: &Transaction, outcome: &Outcome) {
        self.examined += 1;
        if let Some(contradiction) = transaction.contradiction(outcome) {
            self.found += 1;
            self.example.get_or_insert((transaction.kind(), contradiction));
        }
    }

    fn merge(&mut self, other: &Self) {
        self.examined += other.examined;
        self.found += other.found;
        self.example = self.example.or(other.example);
    }
}

/// Counts of one phase. A transaction belongs to the phase in which it was due.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseFacts {
    /// Transactions that were committed or rolled back, in the order of [`TransactionKind::ALL`].
    pub completed: [u64; TransactionKind::COUNT],
    /// Number of nodes that they touched; empty if the placement is unknown.
    pub touched: NodesTouched,
    /// Transactions of each active warehouse, if homes are controlled.
    pub homes: Vec<u64>,
    /// Transactions by the index of the [`Homes`](lydite_tpcc::home::Homes) that their home was drawn from.
    pub homes_drawn: Vec<u64>,
    /// Counts of dUpdateStocks if there are groups of warehouses.
    pub coaccess: CoAccessFacts,
}

/// Counts of dUpdateStocks while groups of warehouses are controlled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoAccessFacts {
    /// Number of dUpdateStocks.
    pub updates: u64,
    /// Number of dUpdateStocks on one whole group.
    pub of_a_group: u64,
    /// Sum of the configured percentages of all of them, in thousandths.
    pub asked: u64,
}

impl CoAccessFacts {
    fn record(&mut self, of: &CoAccess, update: &UpdateStock) {
        self.updates += 1;
        self.of_a_group += u64::from(update.is_of_a_group(of));
        self.asked += (1e3 * of.percent()).round() as u64;
    }

    fn merge(&mut self, other: &Self) {
        self.updates += other.updates;
        self.of_a_group += other.of_a_group;
        self.asked += other.asked;
    }

    /// Returns the measured share on a whole group, in percent; `None` if there were no dUpdateStocks.
    #[must_use]
    pub fn percent(&self) -> Option<f64> {
        (self.updates > 0).then(|| 100.0 * self.of_a_group as f64 / self.updates as f64)
    }

    /// Returns the configured share in percent, as a mean if it changed; `None` if there were no dUpdateStocks.
    #[must_use]
    pub fn asked_percent(&self) -> Option<f64> {
        (self.updates > 0).then(|| self.asked as f64 / self.updates as f64 / 1e3)
    }
}

impl PhaseFacts {
    /// Adds other counts.
    pub fn merge(&mut self, other: &Self) {
        for (into, from) in self.completed.iter_mut().zip(other.completed) {
            *into += from;
        }
        self.touched.merge(&other.touched);
        self.coaccess.merge(&other.coaccess);
        add(&mut self.homes, &other.homes);
        add(&mut self.homes_drawn, &other.homes_drawn);
    }
}

/// Adds counts index by index.
fn add(into: &mut Vec<u64>, from: &[u64]) {
    into.resize(into.len().max(from.len()), 0);
    for (into, from) in into.iter_mut().zip(from) {
        *into += from;
    }
}

impl TpccFacts {
    /// Returns the sum of all phases.
    #[must_use]
    pub fn all_phases(&self) -> PhaseFacts {
        let mut all = PhaseFacts::default();
        self.phases.iter().for_each(|phase| all.merge(phase));
        all
    }
}

/// Facts about Delivery (clauses 2.7.2 and 5.5.1.6).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeliveryFacts {
    /// Requests queued in the window and answered at once to the terminal; zero unless terminals are emulated.
    pub queued: u64,
    /// Completed deliveries.
    pub completed: u64,
    /// Deliveries completed within 80 s from their due time.
    pub within_80_s: u64,
    /// Deliveries with at least one district without an undelivered order.
    pub with_skips: u64,
    /// Districts without an undelivered order.
    pub skipped_districts: u64,
    /// Times from due until the terminal was told that the request was queued, in nanoseconds. Empty unless terminals
    /// are emulated.
    #[serde(with = "crate::histogram::wire")]
    pub interactive: Histogram<u64>,
}

/// Measured keying and think times of one transaction type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindWaits {
    /// Times from the choice of the type until its request was handed over.
    pub keying: WaitStatistics,
    /// Times from the answer to a transaction of this type until the next type was chosen.
    pub think: WaitStatistics,
}

/// Statistics of waiting times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitStatistics {
    /// Number of waits.
    pub count: u64,
    /// Sum of the waits.
    pub sum: Duration,
    /// Least wait; zero if there were none.
    pub min: Duration,
    /// Greatest wait; zero if there were none.
    pub max: Duration,
}

impl WaitStatistics {
    /// Adds a wait.
    pub(crate) fn record(&mut self, wait: Duration) {
        self.min = if self.count == 0 { wait } else { self.min.min(wait) };
        self.max = self.max.max(wait);
        self.count += 1;
        self.sum += wait;
    }

    fn merge(&mut self, other: &Self) {
        if other.count > 0 {
            self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
            self.max = self.max.max(other.max);
            self.count += other.count;
            self.sum += other.sum;
        }
    }

    /// Returns the mean in seconds; `None` if there were no waits.
    #[must_use]
    pub fn mean_s(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum.as_secs_f64() / self.count as f64)
    }
}

impl DeliveryFacts {
    pub(crate) fn new() -> Self {
        Self {
            queued: 0,
            completed: 0,
            within_80_s: 0,
            with_skips: 0,
            skipped_districts: 0,
            interactive: histogram(),
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.queued += other.queued;
        self.completed += other.completed;
        self.within_80_s += other.within_80_s;
        self.with_skips += other.with_skips;
        self.skipped_districts += other.skipped_districts;
        merge(&mut self.interactive, &other.interactive);
    }
}

impl Default for DeliveryFacts {
    fn default() -> Self {
        Self::new()
    }
}

impl Facts<Tpcc> for TpccFacts {
    fn completed(
        &mut self,
        inputs: &InputPlan,
        phase: usize,
        transaction: &Transaction,
        touched: &mut NodesTouched,
    ) {
        self.inputs.record(transaction);
        if self.phases.len() <= phase {
            self.phases.resize(phase + 1, PhaseFacts::default());
        }
        let phase = &mut self.phases[phase];
        phase.completed[transaction.kind().index()] += 1;
        if let Some(homes) = &inputs.homes {
            phase.homes.resize(homes.shares().len(), 0);
            phase.homes[homes.place(transaction.home())] += 1;
            let number = homes.number() as usize;
            phase.homes_drawn.resize(phase.homes_drawn.len().max(number + 1), 0);
            phase.homes_drawn[number] += 1;
        }
        if let (Some(coaccess), Transaction::Dike(Dike::UpdateStock(update))) =
            (&inputs.coaccess, transaction)
        {
            phase.coaccess.record(coaccess, update);
        }
        if let Some(placement) = &inputs.placement {
            let nodes = placement.touched(transaction);
            touched.record(transaction.kind(), &nodes);
            phase.touched.record(transaction.kind(), &nodes);
        }
    }

    fn answered(&mut self, transaction: &Transaction, outcome: &Outcome, took: Duration) {
        self.contradictions.examine(transaction, outcome);
        self.samples.offer(transaction, outcome);
        if let (
            Transaction::Standard(Standard::Delivery(input)),
            Outcome::Standard(StandardOutcome::Delivery(outcome)),
        ) = (transaction, outcome)
        {
            let skipped = usize::from(input.districts).saturating_sub(outcome.delivered.len()) as u64;
            self.delivery.completed += 1;
            self.delivery.skipped_districts += skipped;
            self.delivery.with_skips += u64::from(skipped > 0);
            self.delivery.within_80_s += u64::from(took.as_secs_f64() <= DEFERRED_DELIVERY_S);
        }
    }

    fn count(&self, kind: usize) -> u64 {
        self.inputs.transactions[kind]
    }

    fn merge(&mut self, other: &Self) {
        self.inputs.merge(&other.inputs);
        self.delivery.merge(&other.delivery);
        self.contradictions.merge(&other.contradictions);
        self.samples.merge(&other.samples);
        self.phases.resize(self.phases.len().max(other.phases.len()), PhaseFacts::default());
        for (into, from) in self.phases.iter_mut().zip(&other.phases) {
            into.merge(from);
        }
        if let Some(others) = &other.waits {
            for (into, from) in self.waits.get_or_insert_default().iter_mut().zip(others) {
                into.keying.merge(&from.keying);
                into.think.merge(&from.think);
            }
        }
        if let Some(others) = &other.think {
            merge(self.think.get_or_insert_with(histogram), others);
        }
        if let Some(others) = &other.menu {
            merge(self.menu.get_or_insert_with(histogram), others);
        }
    }
}

impl Runnable for Tpcc {
    type Inputs = InputPlan;
    type Terminal = Terminal;
    type Facts = TpccFacts;

    fn warehouse(terminal: &Terminal) -> Option<WarehouseId> {
        Some(terminal.warehouse())
    }

    /// Returns the terminals in groups, if possible the ten of a warehouse, without a terminal whose district is a hot
    /// row. If there are more sessions than terminals, further terminals of warehouses with ten already form groups of
    /// one.
    fn groups(inputs: &InputPlan, sessions: u32) -> Vec<Vec<Terminal>> {
        let parts = sessions.div_ceil(inputs.warehouses).clamp(1, TERMINALS_PER_WAREHOUSE);
        let terminals_of = |warehouse: u32, part: u32| {
            let first = warehouse * TERMINALS_PER_WAREHOUSE;
            (0..TERMINALS_PER_WAREHOUSE)
                .filter(|district| district % parts == part)
                .map(|district| inputs.terminal(first + district))
                .filter(|terminal| !inputs.is_hot(terminal.warehouse(), terminal.district()))
                .collect()
        };
        // Every warehouse has a group before any has a second one, so the first sessions begin on different warehouses.
        let mut groups: Vec<Vec<Terminal>> = (0..parts)
            .flat_map(|part| (0..inputs.warehouses).map(move |warehouse| (warehouse, part)))
            .map(|(warehouse, part)| terminals_of(warehouse, part))
            .collect();
        groups.extend(
            (inputs.terminals()..sessions).map(|session| vec![inputs.terminal(extra(inputs, session))]),
        );
        groups
    }

    /// Returns one terminal of each warehouse in turn, then the next terminal of each, without a terminal whose district
    /// is a hot row.
    fn in_turn(inputs: &InputPlan) -> Vec<Terminal> {
        (0..TERMINALS_PER_WAREHOUSE)
            .flat_map(|place| (0..inputs.warehouses).map(move |w| w * TERMINALS_PER_WAREHOUSE + place))
            .map(|index| inputs.terminal(index))
            .filter(|terminal| !inputs.is_hot(terminal.warehouse(), terminal.district()))
            .collect()
    }

    fn next(inputs: &InputPlan, terminal: &mut Terminal) -> Transaction {
        terminal.next(inputs)
    }

    fn contending(inputs: &InputPlan, terminal: &mut Terminal, row: usize) -> Transaction {
        terminal.contending(inputs, row)
    }

    fn logged(transaction: &Transaction, outcome: Option<&Outcome>) -> Option<Logged> {
        Logged::of(transaction, outcome)
    }

    fn delivered(outcome: &Outcome) -> u64 {
        match outcome {
            Outcome::Standard(StandardOutcome::Delivery(outcome)) => outcome.delivered.len() as u64,
            _ => 0,
        }
    }
}

/// Returns the number of the terminal for a session beyond the terminals. The warehouses take turns, so their numbers
/// of groups differ by at most one.
fn extra(inputs: &InputPlan, session: u32) -> u32 {
    let (round, place) = (session / inputs.terminals(), session % inputs.terminals());
    let (part, warehouse) = (place / inputs.warehouses, place % inputs.warehouses);
    round * inputs.terminals() + warehouse * TERMINALS_PER_WAREHOUSE + part
}
