//! What a run depends on. The values are taken as given: whoever makes a plan has validated it.

use crate::clock::{Counting, Nanos, nanos};
use crate::course::Stage;
use lydite_micro::{Inputs, Meta};
use lydite_tpcc::home::Homes;
use lydite_tpcc::input::{BalancePlan, Contended, HotRow};
use lydite_tpcc::nurand::RunConstants;
use lydite_tpcc::{CoAccess, Distribution, Districts, InputPlan, Mix, Placement, Size, WarehouseId};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Everything that a run depends on, apart from the database.
#[derive(Clone, Debug, PartialEq)]
pub struct RunPlan {
    /// The first of the active warehouses, from 1.
    pub first_warehouse: u32,
    /// How many warehouses are active, at least 1.
    pub warehouses: u32,
    /// Districts of each warehouse of the database.
    pub districts: Districts,
    /// Rows of ITEM and of each district.
    pub size: Size,
    /// Who sends transactions, and when.
    pub mode: Mode,
    /// Runs before the measured window and is not counted. May be zero.
    pub warmup: Duration,
    /// Length of the measured window; more than zero.
    pub duration: Duration,
    /// Seed of all inputs, waiting times and arrivals.
    pub seed: u64,
    /// The constants of NURand (clause 2.1.6).
    pub constants: RunConstants,
    /// What is controlled, and when it changes: at least one, the first from 0 on, at rising times.
    pub steps: Vec<Step>,
    /// Of which table the rows are that transactions contend for, where that is controlled: see [`HotRow::nth`]. If districts,
    /// at most one of a warehouse, and at most nine sessions for each warehouse.
    pub contended: Contended,
    /// Where the warehouses are, if that is known: then it is counted how many nodes each transaction touches.
    pub placement: Option<Arc<Placement>>,
    /// How often the database is asked again where the warehouses are; never if there is none.
    pub refresh: Option<Duration>,
    /// See [`InputPlan::update_stock_rounds`].
    pub update_stock_rounds: u32,
    /// See [`InputPlan::balances`].
    pub balances: BalancePlan,
    /// What happens to transactions that the database gives up.
    pub retry: RetryPolicy,
    /// How long, after the end, transactions in flight are waited for; see [`RunPlan::DRAIN`].
    pub drain: Duration,
}

/// What is controlled from a moment of the window on until the next step. The first step is that of the warm-up, too.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// Since the window began; the first step's is zero, and they rise.
    pub from: Duration,
    /// The phase that its transactions are counted in: 0 for the first step, then the same or the next.
    pub phase: usize,
    /// How types of transactions are chosen (clause 5.2.4).
    pub mix: Mix,
    /// Which warehouses supply the orders, if that is controlled.
    pub distribution: Option<Arc<Distribution>>,
    /// The homes of transactions; each terminal has its own if there is none. Not where users are emulated.
    pub homes: Option<Arc<Homes>>,
    /// Requests per second of an open loop, from 0; those of its mode if there are none.
    pub rate: Option<f64>,
    /// Sessions that play while the others rest; all of the mode's if there are none. Not where users are emulated.
    pub sessions: Option<u32>,
    /// How often dUpdateStocks are of one whole group of warehouses, if that is controlled. The groups are the same in all steps.
    pub coaccess: Option<CoAccess>,
    /// How many transactions compete for each hot row. In direct mode only, with a terminal for each session, so that each has
    /// a district of its own (where data is skewed: with a warehouse for each session), and with as many rows in each step.
    pub contention: Vec<u32>,
}

/// Everything that a run of the microbenchmark depends on, apart from the database.
#[derive(Clone, Debug, PartialEq)]
pub struct MicroPlan {
    /// Where the inputs come from, their seed included: that of arrivals too.
    pub inputs: Inputs,
    /// What the database was loaded with.
    pub meta: Meta,
    /// Who sends transactions, and when.
    pub mode: MicroMode,
    /// See [`RunPlan::warmup`].
    pub warmup: Duration,
    /// See [`RunPlan::duration`].
    pub duration: Duration,
    /// See [`RunPlan::retry`].
    pub retry: RetryPolicy,
    /// See [`RunPlan::drain`].
    pub drain: Duration,
}

/// Who sends the transactions of the microbenchmark. There are no emulated users: their waits are those of TPC-C.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MicroMode {
    /// See [`Mode::Direct`].
    Direct {
        /// Sessions, at least 1.
        terminals: u32,
    },
    /// See [`Mode::Open`].
    Open {
        /// Requests per second, more than zero.
        rate: f64,
        /// How requests are spread over time.
        arrival: Arrival,
        /// Sessions, at least 1.
        sessions: u32,
    },
}

/// What a run of any workload needs of its plan.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) sessions: u32,
    pub(crate) counting: Counting,
    pub(crate) warmup: Duration,
    pub(crate) duration: Duration,
    pub(crate) retry: RetryPolicy,
    pub(crate) drain: Duration,
    pub(crate) seed: u64,
    /// From when on how many transactions compete for each hot row; nothing if that is not controlled.
    pub(crate) contention: Vec<(Nanos, Vec<u32>)>,
    /// Of which table these rows are.
    pub(crate) contended: Contended,
    /// When each phase begins.
    pub(crate) phases: Vec<Nanos>,
}

/// Who sends transactions, and when.
#[derive(Clone, Debug, PartialEq)]
pub enum Mode {
    /// A closed loop without waiting: as soon as one transaction is answered the next is due.
    Direct {
        /// Sessions, at least 1; they take turns at the ten terminals of every warehouse.
        terminals: u32,
    },
    /// Emulated users that wait keying and think times (clause 5.2), with a pool of sessions behind a queue.
    Rte {
        /// Users, at least 1; ten for each warehouse is what the standard wants (clause 4.2.1).
        terminals: u32,
        /// Sessions of the pool, at least 1.
        sessions: u32,
        /// Factor on the standard's keying and mean think times: 1 is the standard's, 0 is no waiting.
        wait_factor: f64,
        /// The result file of deferred deliveries (clause 2.7.2.3), JSON lines; written over if it exists.
        delivery_log: Option<PathBuf>,
    },
    /// Requests at a given rate, whether or not the database keeps up.
    Open {
        /// Requests per second, more than zero.
        rate: f64,
        /// How requests are spread over time.
        arrival: Arrival,
        /// Sessions, at least 1.
        sessions: u32,
    },
}

/// How requests of an open loop are spread over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// At equal distances.
    Constant,
    /// Independently of each other: a Poisson process.
    Poisson,
}

/// What happens to a transaction that the database gives up: it is sent again with the same input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How often a transaction is sent at most, the first time included; at least 1.
    pub attempts: u32,
    /// The longest wait before the second attempt. Each wait is drawn uniformly between zero and its longest.
    pub backoff_min: Duration,
    /// The longest wait doubles with each attempt up to this.
    pub backoff_max: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { attempts: 20, backoff_min: Duration::from_micros(500), backoff_max: Duration::from_millis(50) }
    }
}

impl RetryPolicy {
    /// The longest wait before attempt `retries + 1`, counted from 1.
    pub(crate) fn ceiling(&self, retries: u32) -> Duration {
        let doublings = retries.saturating_sub(1).min(31);
        self.backoff_min.saturating_mul(1 << doublings).min(self.backoff_max)
    }
}

impl RunPlan {
    /// The usual value of [`RunPlan::drain`].
    pub const DRAIN: Duration = Duration::from_secs(5);

    /// Connections that the run will open.
    #[must_use]
    pub fn sessions(&self) -> u32 {
        match self.mode {
            Mode::Direct { terminals } => terminals,
            Mode::Rte { sessions, .. } | Mode::Open { sessions, .. } => sessions,
        }
    }

    pub(crate) fn frame(&self) -> Frame {
        Frame {
            sessions: self.sessions(),
            counting: match self.mode {
                Mode::Direct { .. } | Mode::Rte { .. } => Counting::DueAndAnswered,
                Mode::Open { .. } => Counting::Answered,
            },
            warmup: self.warmup,
            duration: self.duration,
            retry: self.retry,
            drain: self.drain,
            seed: self.seed,
            contended: self.contended,
            contention: if self.hot_rows() == 0 {
                Vec::new()
            } else {
                self.steps.iter().map(|step| (self.begins(step), step.contention.clone())).collect()
            },
            phases: self
                .steps
                .chunk_by(|one, next| one.phase == next.phase)
                .filter_map(|phase| phase.first())
                .map(|first| nanos(self.warmup.saturating_add(first.from)))
                .collect(),
        }
    }

    /// As the standard has it: all of the warehouses, one step, no control, no placement.
    #[must_use]
    pub fn new(mode: Mode, warehouses: u32, seed: u64, constants: RunConstants) -> Self {
        Self {
            first_warehouse: 1,
            warehouses,
            districts: Districts::uniform(),
            size: Size::Standard,
            mode,
            warmup: Duration::from_secs(5),
            duration: Duration::from_secs(30),
            seed,
            constants,
            steps: vec![Step::default()],
            contended: Contended::default(),
            placement: None,
            refresh: None,
            update_stock_rounds: 1,
            balances: BalancePlan::default(),
            retry: RetryPolicy::default(),
            drain: Self::DRAIN,
        }
    }

    /// Where the inputs of a step come from: the same for the same seed, warehouses, constants and controls, in whatever
    /// mode and with however many sessions.
    #[must_use]
    pub fn inputs(&self, step: &Step) -> InputPlan {
        let first_warehouse = WarehouseId(self.first_warehouse);
        let hot = |row: u32| HotRow::nth(self.contended, row, first_warehouse, self.warehouses);
        InputPlan {
            seed: self.seed,
            first_warehouse,
            warehouses: self.warehouses,
            districts: self.districts.clone(),
            size: self.size,
            constants: self.constants,
            mix: step.mix,
            distribution: step.distribution.clone(),
            homes: step.homes.clone(),
            hot: (0..self.hot_rows()).map(hot).collect(),
            placement: self.placement.clone(),
            update_stock_rounds: self.update_stock_rounds,
            coaccess: step.coaccess.clone(),
            balances: self.balances,
        }
    }

    /// Rows that transactions compete for.
    fn hot_rows(&self) -> u32 {
        self.steps.iter().map(|step| step.contention.len() as u32).max().unwrap_or_default()
    }

    /// When a step begins in the run: the first with it.
    fn begins(&self, step: &Step) -> Nanos {
        if step.from.is_zero() { 0 } else { nanos(self.warmup.saturating_add(step.from)) }
    }

    pub(crate) fn stages(&self) -> Vec<Stage<InputPlan>> {
        let stage = |step: &Step| Stage {
            from: self.begins(step),
            phase: step.phase,
            sessions: step.sessions.unwrap_or(u32::MAX),
            inputs: self.inputs(step),
        };
        self.steps.iter().map(stage).collect()
    }

    /// From when on an open loop has how many requests per second, of which `usual` are its mode's.
    pub(crate) fn rates(&self, usual: f64) -> Vec<(Nanos, f64)> {
        self.steps.iter().map(|step| (self.begins(step), step.rate.unwrap_or(usual))).collect()
    }
}

impl MicroPlan {
    /// Connections that the run will open.
    #[must_use]
    pub fn sessions(&self) -> u32 {
        match self.mode {
            MicroMode::Direct { terminals } => terminals,
            MicroMode::Open { sessions, .. } => sessions,
        }
    }

    pub(crate) fn frame(&self) -> Frame {
        Frame {
            sessions: self.sessions(),
            counting: match self.mode {
                MicroMode::Direct { .. } => Counting::DueAndAnswered,
                MicroMode::Open { .. } => Counting::Answered,
            },
            warmup: self.warmup,
            duration: self.duration,
            retry: self.retry,
            drain: self.drain,
            seed: self.inputs.seed,
            contention: Vec::new(),
            contended: Contended::default(),
            phases: vec![nanos(self.warmup)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_back_off_doubles_from_half_a_millisecond_to_fifty() {
        let retry = RetryPolicy::default();
        let ceilings: Vec<u128> = (1..=9).map(|retries| retry.ceiling(retries).as_micros()).collect();
        assert_eq!(ceilings, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 50_000, 50_000]);
        assert_eq!(retry.ceiling(u32::MAX), retry.backoff_max);
    }
}
