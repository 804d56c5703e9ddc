//! The size of a configuration that could report a throughput: warehouses, terminals, processes, sessions, storage and
//! price. Pure arithmetic; each constant has its clause, or says that it is an assumption.

mod bytes;
mod judge;
mod price;
mod storage;

pub use bytes::{Bytes, BytesError};
pub use judge::{Facts, Verdict, judge};
pub use price::{Part, PricedPart, Prices, YEARS, price};
pub use storage::{
    FILL_PERCENT, KINDS, ROWS, Rows, Space, SpacePlan, bytes_per_warehouse_of, dynamic_bytes, row_bytes,
};

use crate::kind::StandardKind;
use crate::limits::{MAX_NOPM_PER_WAREHOUSE, MAX_WAREHOUSES, MIN_NOPM_PER_WAREHOUSE};
use serde::Serialize;
use std::fmt;

/// Most warehouses of a plan: published runs have more than one machine can play.
const MOST_WAREHOUSES: f64 = MAX_WAREHOUSES as f64 * 1_000.0;

/// Terminals of each warehouse (clause 4.2.1).
pub const TERMINALS_PER_WAREHOUSE: u64 = 10;

/// New orders per minute that a plan expects of a warehouse. An assumption: 3 % below the bound of clause 4.1.3, which
/// only a system that answers in no time reaches. Published results lie between 12.6 and 12.7.
pub const NOPM_PER_WAREHOUSE: f64 = 12.5;

/// Mean response time, in seconds. An assumption.
pub const RESPONSE_S: f64 = 0.03;

/// Terminals of a process. An assumption: a process that connects to one address has fewer than 64 512 ports.
pub const TERMINALS_PER_PROCESS: u64 = 50_000;

/// Processes of a host. An assumption: OceanBase's run of 2019 had 15 on hosts with 64 processors.
pub const PROCESSES_PER_HOST: u64 = 15;

/// Shares of the five types in the mix with the least shares of clause 5.2.3.
const SHARES: [(StandardKind, f64); StandardKind::COUNT] = [
    (StandardKind::NewOrder, 0.45),
    (StandardKind::Payment, 0.43),
    (StandardKind::OrderStatus, 0.04),
    (StandardKind::Delivery, 0.04),
    (StandardKind::StockLevel, 0.04),
];

/// The wanted throughput and the properties of the system.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizingPlan {
    /// Wanted new orders per minute.
    pub nopm: f64,
    /// Warehouses, if they are given; else the plan computes them.
    pub warehouses: Option<u32>,
    /// New orders per minute that each warehouse is expected to give.
    pub nopm_per_warehouse: f64,
    /// Mean response time of the database, in seconds.
    pub response_s: f64,
    /// Most terminals of a process, of the RTE and of the web application server.
    pub terminals_per_process: u64,
    /// Most processes of a host.
    pub processes_per_host: u64,
    /// The storage.
    pub space: SpacePlan,
}

impl SizingPlan {
    /// Returns a plan for this throughput on a database that takes `bytes_per_warehouse` after loading.
    #[must_use]
    pub fn new(nopm: f64, bytes_per_warehouse: Bytes) -> Self {
        Self {
            nopm,
            warehouses: None,
            nopm_per_warehouse: NOPM_PER_WAREHOUSE,
            response_s: RESPONSE_S,
            terminals_per_process: TERMINALS_PER_PROCESS,
            processes_per_host: PROCESSES_PER_HOST,
            space: SpacePlan::new(bytes_per_warehouse),
        }
    }
}

/// Processes, the same number on each host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Processes {
    /// Hosts.
    pub hosts: u64,
    /// Processes on all hosts.
    pub processes: u64,
    /// Terminals of a process, at most.
    pub terminals_each: u64,
}

impl Processes {
    /// Spreads terminals over the least number of hosts.
    fn of(terminals: u64, each: u64, per_host: u64) -> Self {
        let least = terminals.div_ceil(each);
        let hosts = least.div_ceil(per_host);
        let processes = hosts * least.div_ceil(hosts);
        Self { hosts, processes, terminals_each: terminals.div_ceil(processes) }
    }
}

/// The size of a configuration. JSON has the same names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sizing {
    /// Wanted new orders per minute.
    pub nopm: f64,
    /// Warehouses (clause 4.1.3).
    pub warehouses: u32,
    /// New orders per minute for each warehouse.
    pub nopm_per_warehouse: f64,
    /// Terminals, each a user with a context of its own (clauses 4.2.1, 6.6.2).
    pub terminals: u64,
    /// Hosts and processes that emulate the terminals (clause 6.4).
    pub rte: Processes,
    /// Hosts and processes that hold the terminals' connections (clause 2.3.5).
    pub was: Processes,
    /// Transactions of all types per second.
    pub transactions_per_s: f64,
    /// Sessions at the database: transactions that are in flight on average.
    pub sessions: u64,
    /// Greatest mean response time, menu included, at which the terminals reach this throughput, in seconds.
    pub slowest_response_s: f64,
    /// Bytes of a warehouse after loading.
    pub bytes_per_warehouse: Bytes,
    /// Bytes of one copy of the loaded database.
    pub bytes: Bytes,
    /// Space for growth, copies and the log.
    #[serde(flatten)]
    pub space: Space,
}

/// Returns the mean time that a terminal keys and thinks for a transaction, in seconds (clause 5.2.5.7).
#[must_use]
pub fn wait_s() -> f64 {
    let wait = |kind: StandardKind| {
        let limits = kind.limits();
        limits.keying_s + limits.mean_think_s
    };
    SHARES.iter().map(|(kind, share)| share * wait(*kind)).sum()
}

/// Returns the share of New-Orders in the mix.
fn new_order_share() -> f64 {
    SHARES[0].1
}

/// Returns the new orders per minute of a warehouse whose terminals wait as clause 5.2.5.7 demands and get each answer,
/// that of the menu included, after `response_s` seconds.
#[must_use]
pub fn nopm_per_warehouse_at(response_s: f64) -> f64 {
    TERMINALS_PER_WAREHOUSE as f64 * 60.0 * new_order_share() / (wait_s() + response_s)
}

/// A value of a [`SizingPlan`] that can't be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SizingError {
    /// The throughput is less than one new order per minute, or no number.
    Throughput,
    /// The expected throughput of a warehouse is beyond the bounds of clause 4.1.3.
    WarehouseThroughput(f64),
    /// The given warehouses share the throughput beyond the bounds of clause 4.1.3.
    Warehouses {
        /// Given number of warehouses.
        warehouses: u32,
        /// Wanted new orders per minute.
        nopm: f64,
    },
    /// The plan needs more warehouses than Lydite plans.
    TooManyWarehouses(f64),
    /// The response time is not above zero, or infinite.
    ResponseTime,
}

impl fmt::Display for SizingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Throughput => f.write_str("the throughput must be at least 1 new order per minute"),
            Self::WarehouseThroughput(nopm) => write!(
                f,
                "the throughput of a warehouse must be from {MIN_NOPM_PER_WAREHOUSE} to {MAX_NOPM_PER_WAREHOUSE} \
                 (clause 4.1.3), not {nopm}"
            ),
            Self::Warehouses { warehouses, nopm } => write!(
                f,
                "{warehouses} warehouses give {:.2} each, but clause 4.1.3 wants {MIN_NOPM_PER_WAREHOUSE} to \
                 {MAX_NOPM_PER_WAREHOUSE}: use {} to {} warehouses",
                nopm / f64::from(warehouses.max(1)),
                (nopm / MAX_NOPM_PER_WAREHOUSE).ceil(),
                (nopm / MIN_NOPM_PER_WAREHOUSE).floor()
            ),
            Self::TooManyWarehouses(warehouses) => write!(
                f,
                "{warehouses:.0} warehouses are more than {MOST_WAREHOUSES:.0}, the most that Lydite plans"
            ),
            Self::ResponseTime => f.write_str("the response time must be above zero"),
        }
    }
}

impl std::error::Error for SizingError {}

/// Computes the size of a configuration.
///
/// # Errors
/// All values of the plan that can't be.
pub fn size(plan: &SizingPlan) -> Result<Sizing, Vec<SizingError>> {
    let mut errors = Vec::new();
    if !(plan.nopm.is_finite() && plan.nopm >= 1.0) {
        errors.push(SizingError::Throughput);
    }
    let warehouses = match plan.warehouses {
        Some(given) => f64::from(given),
        None => (plan.nopm / plan.nopm_per_warehouse).ceil(),
    };
    let within = MIN_NOPM_PER_WAREHOUSE..=MAX_NOPM_PER_WAREHOUSE;
    if !within.contains(&plan.nopm_per_warehouse) {
        errors.push(SizingError::WarehouseThroughput(plan.nopm_per_warehouse));
    } else if let Some(given) = plan.warehouses
        && !within.contains(&(plan.nopm / warehouses.max(1.0)))
    {
        errors.push(SizingError::Warehouses { warehouses: given, nopm: plan.nopm });
    }
    if warehouses > MOST_WAREHOUSES {
        errors.push(SizingError::TooManyWarehouses(warehouses));
    }
    if !(plan.response_s > 0.0 && plan.response_s.is_finite()) {
        errors.push(SizingError::ResponseTime);
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let warehouses = warehouses as u32;
    let terminals = u64::from(warehouses) * TERMINALS_PER_WAREHOUSE;
    let processes = Processes::of(terminals, plan.terminals_per_process, plan.processes_per_host);
    let transactions_per_s = plan.nopm / 60.0 / new_order_share();
    Ok(Sizing {
        nopm: plan.nopm,
        warehouses,
        nopm_per_warehouse: plan.nopm / f64::from(warehouses),
        terminals,
        rte: processes,
        was: processes,
        transactions_per_s,
        sessions: (transactions_per_s * plan.response_s).ceil() as u64,
        slowest_response_s: terminals as f64 * 60.0 * new_order_share() / plan.nopm - wait_s(),
        bytes_per_warehouse: plan.space.bytes_per_warehouse,
        bytes: plan.space.bytes_per_warehouse.times(u64::from(warehouses)),
        space: plan.space.space(warehouses, plan.nopm),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1_000_000;

    #[test]
    fn a_million_and_a_half_need_120_000_warehouses_and_8_4_tb() {
        // OceanBase's article of 2019.
        let sizing = size(&SizingPlan::new(1_500_000.0, Bytes(70 * MB))).unwrap();
        assert_eq!((sizing.warehouses, sizing.terminals), (120_000, 1_200_000));
        assert_eq!(sizing.bytes, Bytes(8_400_000 * MB));
    }

    #[test]
    fn the_run_of_oceanbase_in_2019_has_its_terminals_processes_and_hosts() {
        let plan =
            SizingPlan { warehouses: Some(4_794_240), ..SizingPlan::new(60_880_800.0, Bytes(50 * MB)) };
        let sizing = size(&plan).unwrap();
        assert_eq!(sizing.terminals, 47_942_400);
        assert_eq!(sizing.rte, Processes { hosts: 64, processes: 960, terminals_each: 49_940 });
        assert!((sizing.nopm_per_warehouse - 12.699).abs() < 0.001);
        // About 2 350 transactions per second and process.
        assert!((sizing.transactions_per_s / 960.0 - 2_349.0).abs() < 1.0);
        // The mean of response and menu that its throughput implies.
        assert!((sizing.slowest_response_s - 0.27).abs() < 0.01);
    }

    #[test]
    fn a_million_keeps_1_112_sessions_at_work_at_30_ms() {
        let sizing = size(&SizingPlan::new(1_000_000.0, Bytes(70 * MB))).unwrap();
        assert!((sizing.transactions_per_s - 37_037.04).abs() < 0.01);
        assert_eq!(sizing.sessions, 1_112);
    }

    #[test]
    fn a_warehouse_gives_what_the_standard_prints_and_9_at_nine_seconds() {
        assert!((wait_s() - 20.99).abs() < 1e-9);
        assert!((nopm_per_warehouse_at(0.0) - 12.863).abs() < 0.001);
        assert!((nopm_per_warehouse_at(0.2) - 12.74).abs() < 0.005);
        assert!((nopm_per_warehouse_at(9.01) - 9.0).abs() < 0.001);
    }

    #[test]
    fn all_errors_of_a_plan_are_named_at_once() {
        let plan =
            SizingPlan { nopm_per_warehouse: 13.0, response_s: 0.0, ..SizingPlan::new(0.0, Bytes(70 * MB)) };
        assert_eq!(size(&plan).unwrap_err().len(), 3);
        let plan = SizingPlan { warehouses: Some(10), ..SizingPlan::new(1_500.0, Bytes(MB)) };
        let errors = size(&plan).unwrap_err();
        assert!(errors[0].to_string().ends_with("use 117 to 166 warehouses"), "{errors:?}");
    }
}
