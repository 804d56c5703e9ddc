//! The plan of a run. Its values are used as they are: the maker of a plan has validated it.

use crate::clock::{Counting, Nanos, nanos};
use crate::contention::ContentionMethod;
use crate::share::Share;
use crate::stages::Stage;
use crate::workload::Runnable;
use lydite_database::Tpcc;
use lydite_micro::{Inputs, Meta};
use lydite_tpcc::home::Homes;
use lydite_tpcc::input::{BalancePlan, Contended, HotRow};
use lydite_tpcc::nurand::RunConstants;
use lydite_tpcc::{
    CoAccess, Distribution, Districts, InputPlan, Mix, Placement, Size, Terminal, WarehouseId,
};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// All settings of a run, apart from the database.
#[derive(Clone, Debug, PartialEq)]
pub struct RunPlan {
    /// First active warehouse, from 1.
    pub first_warehouse: u32,
    /// Number of active warehouses, at least 1.
    pub warehouses: u32,
    /// Districts of each warehouse of the database.
    pub districts: Districts,
    /// Rows of ITEM and of each district.
    pub size: Size,
    /// Mode of sending transactions.
    pub mode: Mode,
    /// Warm-up before the measured window, not counted. May be zero.
    pub warmup: Duration,
    /// Longest warm-up, if it ends once the throughput is steady, see [`crate::STEADY_SECONDS`]; `None` ends it after
    /// [`RunPlan::warmup`], which is its least length otherwise. Only with a single step.
    pub steady: Option<Duration>,
    /// Length of the measured window; more than zero.
    pub duration: Duration,
    /// Seed of all inputs, waiting times and arrivals.
    pub seed: u64,
    /// Constants of NURand (clause 2.1.6).
    pub constants: RunConstants,
    /// Controlled settings, by time: at least one step, the first from 0, at rising times.
    pub steps: Vec<Step>,
    /// Table that holds the hot rows, if contention is controlled: see [`HotRow::nth`]. For districts, at most one per
    /// warehouse, and at most nine sessions for each warehouse.
    pub contended: Contended,
    /// Control of contention. Only a closed loop may park sessions.
    pub contention_method: ContentionMethod,
    /// Placement of the warehouses, if it is known. With it the run counts the nodes that each transaction touches.
    pub placement: Option<Arc<Placement>>,
    /// Time between two queries of the placement; `None` never queries it again.
    pub refresh: Option<Duration>,
    /// True if sessions of a closed loop prefer the warehouses that their endpoint leads.
    pub affinity: bool,
    /// See [`InputPlan::update_item_rounds`].
    pub update_item_rounds: u32,
    /// See [`InputPlan::update_stock_rounds`].
    pub update_stock_rounds: u32,
    /// See [`InputPlan::balances`].
    pub balances: BalancePlan,
    /// Retries of aborted transactions.
    pub retry: RetryPolicy,
    /// Longest wait after the end for transactions in flight; see [`RunPlan::DRAIN`].
    pub drain: Duration,
    /// Seconds of the window at which a new [`crate::Piece`] of the measurement begins, rising; empty for no pieces.
    pub cuts: Vec<u64>,
    /// Limits of latency whose transactions are counted second by second: see [`crate::Second::over`].
    pub limits: Vec<LatencyLimit>,
    /// File for the New-Orders and Payments that the database acknowledges, which [`crate::Logged`] reads. An existing
    /// file is replaced. A share writes no file: its lines go with its reports.
    pub success_log: Option<PathBuf>,
    /// Share of this process in the run. The numbers of the mode and the steps are those of the whole run.
    pub share: Share,
}

/// A latency, of one type of transactions or of all, that only a share of them may exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatencyLimit {
    /// Place of the type in the workload's table; `None` for all types.
    pub kind: Option<usize>,
    /// The latency. Transactions are told from it to within one percent.
    pub latency: Duration,
}

/// Controlled settings from a moment of the window until the next step. The first step also applies to the warm-up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// Time since the start of the window. The first step has zero, and times rise.
    pub from: Duration,
    /// Phase in which its transactions count: 0 for the first step, then the same or the next.
    pub phase: usize,
    /// Mix of the transaction types (clause 5.2.4).
    pub mix: Mix,
    /// Distribution of supplying warehouses, if it is controlled.
    pub distribution: Option<Arc<Distribution>>,
    /// Homes of transactions; `None` if each terminal has its own. Not with emulated users.
    pub homes: Option<Arc<Homes>>,
    /// Requests per second of an open loop, from 0; `None` for the mode's rate.
    pub rate: Option<f64>,
    /// Sessions that play while the others rest; `None` for all of the mode's sessions. Not with emulated users.
    pub sessions: Option<u32>,
    /// Share of dUpdateStocks on one whole group of warehouses, if it is controlled. All steps have the same groups.
    pub coaccess: Option<CoAccess>,
    /// Number of transactions that compete for each hot row. There are districts for all sessions (with skewed data:
    /// warehouses). All steps have the same number of rows.
    pub contention: Vec<u32>,
}

/// All settings of a run of the microbenchmark, apart from the database.
#[derive(Clone, Debug, PartialEq)]
pub struct MicroPlan {
    /// Source of the inputs, including their seed, which is also that of the arrivals.
    pub inputs: Inputs,
    /// Description of the loaded database.
    pub meta: Meta,
    /// Mode of sending transactions.
    pub mode: MicroMode,
    /// See [`RunPlan::warmup`].
    pub warmup: Duration,
    /// See [`RunPlan::steady`].
    pub steady: Option<Duration>,
    /// See [`RunPlan::duration`].
    pub duration: Duration,
    /// See [`RunPlan::retry`].
    pub retry: RetryPolicy,
    /// See [`RunPlan::drain`].
    pub drain: Duration,
    /// See [`RunPlan::limits`].
    pub limits: Vec<LatencyLimit>,
}

/// Mode of the microbenchmark. It has no emulated users, whose waiting times are TPC-C's.
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
        /// Arrival process of the requests.
        arrival: Arrival,
        /// Sessions, at least 1.
        sessions: u32,
    },
}

/// Settings that a run of any workload takes from its plan.
#[derive(Clone, Debug)]
pub(crate) struct RunSettings {
    pub(crate) sessions: u32,
    pub(crate) counting: Counting,
    pub(crate) warmup: Duration,
    /// See [`RunPlan::steady`].
    pub(crate) steady: Option<Duration>,
    pub(crate) duration: Duration,
    pub(crate) retry: RetryPolicy,
    pub(crate) drain: Duration,
    pub(crate) seed: u64,
    /// Number of transactions that compete for each hot row, from each time on; empty if it is not controlled.
    pub(crate) contention: Vec<(Nanos, Vec<u32>)>,
    /// Table that holds the hot rows.
    pub(crate) contended: Contended,
    /// See [`RunPlan::contention_method`].
    pub(crate) contention_method: ContentionMethod,
    /// Start of each phase.
    pub(crate) phases: Vec<Nanos>,
    /// See [`RunPlan::cuts`].
    pub(crate) cuts: Vec<u64>,
    /// See [`RunPlan::limits`].
    pub(crate) limits: Vec<LatencyLimit>,
    /// File for acknowledged transactions.
    pub(crate) success_log: Option<PathBuf>,
    pub(crate) share: Share,
}

/// Mode of sending transactions.
#[derive(Clone, Debug, PartialEq)]
pub enum Mode {
    /// A closed loop without waiting times: the next transaction is due as soon as the last one is answered.
    Direct {
        /// Sessions, at least 1. They take turns at the ten terminals of every warehouse.
        terminals: u32,
    },
    /// Emulated users with keying and think times (clause 5.2), and a pool of sessions behind a queue.
    Rte {
        /// Users, at least 1. The standard has ten for each warehouse (clause 4.2.1).
        terminals: u32,
        /// Sessions of the pool, at least 1.
        sessions: u32,
        /// Factor on the standard's keying and mean think times: 1 for the standard's, 0 for none.
        wait_factor: f64,
        /// Time that a real terminal would take to display an answer (clause 6.6.3.7). Think times begin after it.
        display_delay: Duration,
        /// True if the sessions go over lines of terminals: choosing from the menu takes a round trip then.
        lines: bool,
        /// File of results of deferred deliveries (clause 2.7.2.3), in JSON lines. An existing file is overwritten.
        delivery_log: Option<PathBuf>,
    },
    /// Requests at a given rate, whether or not the database keeps up.
    Open {
        /// Requests per second, more than zero.
        rate: f64,
        /// Arrival process of the requests.
        arrival: Arrival,
        /// Sessions, at least 1.
        sessions: u32,
    },
}

/// Arrival process of an open loop's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// At equal distances.
    Constant,
    /// Independently of each other: a Poisson process.
    Poisson,
}

/// Retries of an aborted transaction, with the same input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Most attempts at a transaction, including the first; at least 1.
    pub attempts: u32,
    /// Bound of the back-off before the first retry. Each back-off is drawn uniformly between zero and its bound.
    pub backoff_min: Duration,
    /// Largest bound of a back-off. The bound doubles from retry to retry up to this.
    pub backoff_max: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { attempts: 20, backoff_min: Duration::from_micros(500), backoff_max: Duration::from_millis(50) }
    }
}

impl RetryPolicy {
    /// Returns the bound of the back-off before retry number `retries`, counted from 1.
    pub(crate) fn backoff_bound(&self, retries: u32) -> Duration {
        let doublings = retries.saturating_sub(1).min(31);
        self.backoff_min.saturating_mul(1 << doublings).min(self.backoff_max)
    }
}

impl RunPlan {
    /// Default of [`RunPlan::drain`].
    pub const DRAIN: Duration = Duration::from_secs(5);

    /// Returns the number of connections that the whole run opens.
    #[must_use]
    pub fn sessions(&self) -> u32 {
        match self.mode {
            Mode::Direct { terminals } => terminals,
            Mode::Rte { sessions, .. } | Mode::Open { sessions, .. } => sessions,
        }
    }

    /// Returns the number of home warehouses of the transactions in each of `shares` equal [shares](Share) of the run.
    /// A warehouse can be home in several.
    #[must_use]
    pub fn warehouses_by_share(&self, shares: u32) -> Vec<u32> {
        if self.steps.iter().any(|step| step.homes.is_some()) {
            return vec![self.warehouses; shares as usize];
        }
        let mut homes_of = vec![HashSet::new(); shares as usize];
        let Some(first) = self.steps.first() else { return vec![0; homes_of.len()] };
        let inputs = self.inputs(first);
        let homes: Vec<Option<WarehouseId>> = match self.mode {
            Mode::Direct { terminals } => {
                let groups = Tpcc::groups(&inputs, terminals);
                groups.iter().map(|group| group.first().map(Terminal::warehouse)).collect()
            }
            Mode::Rte { terminals, .. } => {
                (0..terminals).map(|number| Some(inputs.terminal_of(number, terminals).warehouse())).collect()
            }
            Mode::Open { .. } => {
                Tpcc::in_turn(&inputs).iter().map(|terminal| Some(terminal.warehouse())).collect()
            }
        };
        for (number, home) in (0..).zip(homes) {
            homes_of[Share::owner(number, shares) as usize].extend(home);
        }
        homes_of.iter().map(|homes| homes.len() as u32).collect()
    }

    /// Returns the rule for the transactions that count.
    pub(crate) fn counting(&self) -> Counting {
        match self.mode {
            Mode::Direct { .. } | Mode::Rte { .. } => Counting::DueAndAnswered,
            Mode::Open { .. } => Counting::Answered,
        }
    }

    pub(crate) fn settings(&self) -> RunSettings {
        RunSettings {
            sessions: self.share.count(self.sessions()),
            counting: self.counting(),
            warmup: self.warmup,
            steady: self.steady,
            duration: self.duration,
            retry: self.retry,
            drain: self.drain,
            seed: self.seed,
            contended: self.contended,
            contention_method: self.contention_method,
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
            cuts: self.cuts.clone(),
            limits: self.limits.clone(),
            success_log: self.success_log.clone(),
            share: self.share,
        }
    }

    /// Makes the standard's plan: all warehouses, one step, no controls, no placement.
    #[must_use]
    pub fn new(mode: Mode, warehouses: u32, seed: u64, constants: RunConstants) -> Self {
        Self {
            first_warehouse: 1,
            warehouses,
            districts: Districts::uniform(),
            size: Size::Standard,
            mode,
            warmup: Duration::from_secs(5),
            steady: None,
            duration: Duration::from_secs(30),
            seed,
            constants,
            steps: vec![Step::default()],
            contended: Contended::default(),
            contention_method: ContentionMethod::default(),
            placement: None,
            refresh: None,
            affinity: false,
            update_item_rounds: 1,
            update_stock_rounds: 1,
            balances: BalancePlan::default(),
            retry: RetryPolicy::default(),
            drain: Self::DRAIN,
            cuts: Vec::new(),
            limits: Vec::new(),
            success_log: None,
            share: Share::WHOLE,
        }
    }

    /// Returns the source of a step's inputs. It is the same for the same seed, warehouses, constants and controls, in
    /// every mode and with any number of sessions.
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
            update_item_rounds: self.update_item_rounds,
            update_stock_rounds: self.update_stock_rounds,
            coaccess: step.coaccess.clone(),
            balances: self.balances,
        }
    }

    /// Returns the number of hot rows.
    fn hot_rows(&self) -> u32 {
        self.steps.iter().map(|step| step.contention.len() as u32).max().unwrap_or_default()
    }

    /// Returns the time in the run at which a step begins. The first step begins with the run.
    fn begins(&self, step: &Step) -> Nanos {
        if step.from.is_zero() { 0 } else { nanos(self.warmup.saturating_add(step.from)) }
    }

    pub(crate) fn stages(&self) -> Vec<Stage<InputPlan>> {
        let stage = |step: &Step| Stage {
            from: self.begins(step),
            phase: step.phase,
            sessions: step.sessions.map_or(u32::MAX, |sessions| self.share.count(sessions)),
            inputs: self.inputs(step),
        };
        self.steps.iter().map(stage).collect()
    }

    /// Returns the requests per second of an open loop, from each time on. `usual` is the rate of the mode.
    pub(crate) fn rates(&self, usual: f64) -> Vec<(Nanos, f64)> {
        self.steps.iter().map(|step| (self.begins(step), step.rate.unwrap_or(usual))).collect()
    }
}

impl MicroPlan {
    /// Returns the number of connections that the run opens.
    #[must_use]
    pub fn sessions(&self) -> u32 {
        match self.mode {
            MicroMode::Direct { terminals } => terminals,
            MicroMode::Open { sessions, .. } => sessions,
        }
    }

    pub(crate) fn settings(&self) -> RunSettings {
        RunSettings {
            sessions: self.sessions(),
            counting: match self.mode {
                MicroMode::Direct { .. } => Counting::DueAndAnswered,
                MicroMode::Open { .. } => Counting::Answered,
            },
            warmup: self.warmup,
            steady: self.steady,
            duration: self.duration,
            retry: self.retry,
            drain: self.drain,
            seed: self.inputs.seed,
            contention: Vec::new(),
            contended: Contended::default(),
            contention_method: ContentionMethod::default(),
            phases: vec![nanos(self.warmup)],
            cuts: Vec::new(),
            limits: self.limits.clone(),
            success_log: None,
            share: Share::WHOLE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lydite_tpcc::nurand::CLoad;

    #[test]
    fn shares_have_the_warehouses_of_their_terminals() {
        let rte = |terminals| Mode::Rte {
            terminals,
            sessions: 1,
            wait_factor: 1.0,
            display_delay: Duration::ZERO,
            lines: false,
            delivery_log: None,
        };
        let direct = |terminals| Mode::Direct { terminals };
        let open = || Mode::Open { rate: 1.0, arrival: Arrival::Constant, sessions: 2 };
        let by_share = |mode, warehouses, shares| {
            RunPlan::new(mode, warehouses, 1, RunConstants::new(1, CLoad(0))).warehouses_by_share(shares)
        };
        // Whole warehouses in turn.
        assert_eq!(by_share(direct(3), 5, 3), [2, 2, 1]);
        // The two halves of the terminals of one warehouse.
        assert_eq!(by_share(direct(2), 1, 2), [1, 1]);
        assert_eq!(by_share(rte(20), 2, 2), [2, 2]);
        assert_eq!(by_share(rte(3), 3, 2), [2, 1]);
        // One terminal of each warehouse in turn.
        assert_eq!(by_share(open(), 4, 2), [2, 2]);
        assert_eq!(by_share(open(), 3, 2), [3, 3]);
    }

    #[test]
    fn the_longest_back_off_doubles_from_half_a_millisecond_to_fifty() {
        let retry = RetryPolicy::default();
        let bounds: Vec<u128> = (1..=9).map(|retries| retry.backoff_bound(retries).as_micros()).collect();
        assert_eq!(bounds, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 50_000, 50_000]);
        assert_eq!(retry.backoff_bound(u32::MAX), retry.backoff_max);
    }
}
