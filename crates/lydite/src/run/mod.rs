//! A run, from a plan to a result: readiness of the database, checks, measuring, and the conclusion.

pub(crate) mod balances;
pub(crate) mod checks;
mod conclusion;
mod fault_pieces;
pub(crate) mod faults;
pub(crate) mod fleet;
pub(crate) mod fleet_load;
pub(crate) mod function_tests;
mod halves;
pub(crate) mod idle;
mod ledger;
pub(crate) mod loading;
mod measuring;
pub(crate) mod micro;
mod node_sizes;
pub(crate) mod observing;
pub(crate) mod readiness;
mod reading;
mod result;
mod sample;
mod success_log;
pub(crate) mod tpcc;

use lydite_console::interrupt::Interrupt;
use lydite_faults::Fault;
use lydite_plan::Plan;
use lydite_report::live::Style;

/// The settings of a run.
pub(crate) struct Request {
    pub(crate) plan: Plan,
    /// The faults of the plan, with their places on this machine.
    pub(crate) faults: Vec<Fault>,
    /// True to load the database anew.
    pub(crate) fresh: bool,
    /// Name of the template to restore before the run.
    pub(crate) template: Option<String>,
    /// True to list every rule of the standard at the end.
    pub(crate) verbose: bool,
    pub(crate) style: Style,
    pub(crate) interrupt: Interrupt,
    /// The fleet that plays the run; `None` for this process.
    pub(crate) fleet: Option<fleet::Asked>,
}
