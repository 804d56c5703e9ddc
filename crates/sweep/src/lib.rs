//! Sweeps: a grid or a list of plans, each run several times, into one directory. The directory holds a result for each
//! run, a summary, and a page with figures. After a sweep was killed, the same command makes the missing runs.
//!
//! Other experiments read a [`Subject`], make its runs with [`play`], keep them in an
//! [`OutDirectory`](directory::OutDirectory) and their databases in templates ([`Kept`]), and show them with a [`View`].

mod around;
mod beside;
mod child;
mod command;
mod common;
mod copies;
pub mod directory;
mod dry_run;
mod experiment;
mod figures;
mod grid;
mod kept;
mod origin;
mod point;
mod records;
mod runner;
mod servers;
mod setting;
mod store;
mod subject;
mod templates;
mod view;

use experiment::Reload;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_console::output::{complain, print};
use lydite_console::target::announce;
use lydite_report::figures::plural;
use lydite_report::live::Style;
use lydite_report::sweep::{State, Sweep, USUAL_METRICS, render_summary};
use runner::Runner;
use store::Directory;

pub use child::{Begin, Ending, Play, run as play};
pub use command::{COMMAND_LIMIT, ShellCommand};
pub use common::Common;
pub use copies::Copies;
pub use dry_run::show;
pub use experiment::{Experiment, Options};
pub use kept::{Kept, Noted, Notes};
pub use origin::Origin;
pub use records::{Files, Identity, Records};
pub use subject::{DEFAULT_TARGET, Subject, is_for_single_runs, reject_keys_of_single_runs};
pub use view::{Current, View};

/// Makes the missing runs of a sweep, and prints the summary of all.
///
/// # Errors
/// The directory can't be used, runs failed, or the user interrupted.
pub fn run(experiment: &Experiment, options: &Options, style: Style, interrupt: &Interrupt) -> Outcome {
    if style != Style::Quiet {
        let mut said = Vec::new();
        for target in experiment.points.iter().map(|point| &point.plan.target) {
            let words = (target.understood(), target.notes());
            if !said.contains(&words) {
                said.push(words);
                announce(target);
            }
        }
    }
    let out = options.out();
    // Another build of the program may have made the templates of a sweep that starts over.
    let before = if options.fresh { store::read_manifest(&out)? } else { None };
    let directory = Directory::open(&out, experiment, options.fresh)?;
    let program = directory.manifest.program.clone();
    for program in before.iter().map(|known| &known.program).chain(options.fresh.then_some(&program)) {
        templates::delete(experiment, program, true, interrupt);
    }
    let mut runner = Runner::new(experiment, directory, &out);
    let made = runner.make_runs(style, interrupt);
    let servers_ended = runner.end_servers();
    let interrupted = match made {
        Ok(interrupted) => interrupted,
        Err(failure) => {
            return Failure::all([Some(failure), servers_ended.err()].into_iter().flatten().collect());
        }
    };
    let sweep = runner.write()?;
    if sweep.runs_in(State::Complete) == sweep.runs() {
        // A killed sweep may have left its templates. Errors are printed only after runs of this process: a sweep that
        // is only drawn again needs no server.
        templates::delete(experiment, &program, runner.made, interrupt);
    } else if experiment.reload == Reload::Restore {
        let names = templates::names(experiment, &program);
        complain(&format!("templates kept for the remaining runs: {}", names.join(", ")));
    }
    for metric in unknown_metrics(&sweep) {
        complain(&format!(
            "no result has a number for the metric {metric}: check its path, or the notes of the results (jq .availability)"
        ));
    }
    let page = out.join("report.html");
    let printed = print(&format!(
        "{}\nresults: {} in {}\nsummary: {}, {}\nreport: {}\n",
        render_summary(&sweep),
        plural(sweep.runs_in(State::Complete) as u64, "complete run"),
        out.join("results").display(),
        out.join("summary.csv").display(),
        out.join("summary.json").display(),
        page.display()
    ));
    let mut failures = runner.failures(&sweep, interrupted, &out);
    failures.extend(printed.err());
    failures.extend(servers_ended.err());
    Failure::all(failures)
}

/// Returns the metrics of figures that no complete run has. Metrics of each node are left out, because not every target
/// reports them. The list is empty if no run is complete.
fn unknown_metrics(sweep: &Sweep) -> Vec<&str> {
    if sweep.runs_in(State::Complete) == 0 {
        return Vec::new();
    }
    let known = |metric: &str| sweep.points.iter().any(|point| point.metrics.contains_key(metric));
    let metrics = sweep.metrics.iter().map(String::as_str);
    let usual = |metric: &str| USUAL_METRICS.contains(&metric) || metric.starts_with("nodes.");
    metrics.filter(|metric| !usual(metric) && !known(metric)).collect()
}
