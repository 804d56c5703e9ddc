//! Runs of plans: the database is brought into the state that the plan wants, measured, checked, and the result concluded.
//!
//! `workload/` has the course of a run of each workload, `ready/` what is known before it, `beside/` what is done beside
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
mod limits;
mod load_document;
mod load_watch;
pub mod loading;
mod measuring;
pub mod observed;
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
mod shapes;
mod sources;
pub mod spread;
mod workload;

pub use beside::faults::{Faults, warn_of_untold};
pub use beside::function_tests::line as function_test_line;
pub use conclusion::Concluded;
pub use load_document::LoadFacts;
pub use request::Request;
pub use sources::Sought;

use lydite_console::exit::Failure;

/// Runs a plan. It writes into the database, into the logs that the plan names, and, while checks are made, what was
/// measured into the file of the result. Warnings go to the standard error.
///
/// # Errors
/// The failure of a run that measured nothing.
pub fn run(request: &Request) -> Result<Concluded, Failure> {
    if request.plan.controls.faults.specs().count() != request.faults.len() {
        return Err(Failure::usage(
            "the plan has faults, and the request has not their places: only the program lydite can inject them",
        ));
    }
    match &request.plan.micro {
        Some(asked) => workload::micro::run(request, asked),
        None => workload::tpcc::run(request),
    }
}

#[cfg(test)]
mod tests {
    use super::{Request, run};
    use lydite_console::interrupt::Interrupt;
    use lydite_plan::entries::Entries;
    use lydite_plan::{Plan, keys};
    use lydite_report::live::Style;

    fn request(settings: &[&str]) -> Request {
        let mut entries = Entries::default();
        settings.iter().for_each(|setting| entries.set(setting, keys().plan));
        Request::new(Plan::read(entries).expect("a plan"), Style::Quiet, Interrupt::default())
    }

    #[test]
    fn a_program_that_embeds_runs_gets_a_result_and_the_checks_of_its_database() {
        let request = request(&["target=gemel:", "warehouses=1", "size=tiny", "warmup=0s", "duration=1s"]);
        let concluded = run(&request).expect("a run");
        assert!(concluded.failures.is_empty() && concluded.late.is_empty(), "{:?}", concluded.failures);
        let result = concluded.result.expect("a result");
        assert!(result.nopm > 0.0 && !result.checks.is_empty());
        assert!(result.checks.iter().all(|check| check.ok), "{:?}", result.checks);
    }

    #[test]
    fn a_plan_with_faults_is_rejected_before_anything_is_done_if_the_request_has_no_places() {
        let mut with_faults = request(&["target=null:", "duration=20s", "fault=stop@8s..11s/pid:1"]);
        with_faults.faults.clear();
        let failure = run(&with_faults).expect_err("nobody can inject them");
        assert!(failure.line().contains("only the program lydite can inject them"), "{failure}");
    }
}
