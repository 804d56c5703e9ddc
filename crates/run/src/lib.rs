//! Runs of plans: the database is brought into the state that the plan wants, measured, checked, and the result concluded.
//!
//! `workload/` has the course of a run of each workload, `ready.rs` what is known before it, `beside/` what is done beside
//! its window, `result/` its document. [`run`] measures, [`Concluded::publish`] writes the files and prints the table; a
//! program that embeds this crate needs the former alone.

pub mod agent;
pub mod alone;
mod beside;
pub mod checks;
mod companion;
mod conclusion;
mod fault_pieces;
pub mod fleet;
mod halves;
pub mod host;
pub mod loading;
mod measuring;
mod observed;
pub mod proven;
mod publishing;
pub mod readiness;
mod reading;
mod ready;
pub mod records;
pub mod replicas;
mod request;
mod result;
mod settling;
pub mod spread;
mod workload;

pub use beside::faults::{Faults, warn_of_untold};
pub use beside::function_tests::line as function_test_line;
pub use conclusion::Concluded;
pub use request::Request;

use lydite_console::exit::Failure;

/// Runs a plan. Nothing but the database and the result's file while the checks are made is written.
///
/// # Errors
/// The failure of a run that measured nothing.
pub fn run(request: &Request) -> Result<Concluded, Failure> {
    if request.plan.controls.faults.specs().count() != request.faults.len() {
        return Err(Failure::usage(
            "the plan has other faults than the request: find the places of its faults",
        ));
    }
    match &request.plan.micro {
        Some(asked) => workload::micro::run(request, asked),
        None => workload::tpcc::run(request),
    }
}
