//! The highest rate, number of warehouses or number of sessions at which a database holds objectives, by a search over
//! runs. The directory holds a result for each run, a document and a page. After the search was killed, the same
//! command goes on.

mod asked;
mod course;
mod document;
mod experiment;
mod judge;
mod levels;
mod played;
mod probes;
#[cfg(test)]
mod simulated;
mod store;

use course::Course;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_console::target::announce;
use lydite_report::find::{End, render_find_text, sentence};
use lydite_report::live::Style;
use lydite_report::model::Status;
use lydite_report::render_find;
use lydite_sweep::Notes;
use store::{FILES, Store};

pub use asked::Asked;
pub use experiment::Experiment;

/// Makes the runs of a search that are missing, and prints the answer.
///
/// # Errors
/// The directory can't be used, a run failed, no level holds the objectives, or the user interrupted.
pub fn run(experiment: &Experiment, style: Style, interrupt: &Interrupt) -> Outcome {
    if style != Style::Quiet {
        announce(&experiment.subject.plan.target);
    }
    let mut store = Store::open(experiment, interrupt)?;
    if experiment.fresh {
        // What the database held comes first: the results that are deleted say nothing of it.
        experiment.kept(interrupt).give_back(&mut store.records)?;
        store.records.clear()?;
    }
    let mut course = Course::read(experiment, store, style, interrupt)?;
    let made = course.go();
    let labs = course.end_labs();
    let find = course.write()?;
    let data = if find.status == Status::Partial && !find.runs.is_empty() {
        experiment.kept(interrupt).complain_of(course.store().records.templates());
        Ok(())
    } else {
        experiment.kept(interrupt).give_back(&mut course.store_mut().records)
    };
    let without = match (find.find.end, find.find.highest) {
        (End::FailsAtLowest, _) => {
            Some(Failure::Threshold(vec![format!("{}: lower --lowest", sentence(&find.find))]))
        }
        (End::Time, None) => Some(Failure::Undecided(vec![sentence(&find.find)])),
        _ => None,
    };
    let mut failures: Vec<Failure> = [made, labs, data].into_iter().filter_map(Result::err).collect();
    failures.extend(without);
    let files = (experiment.out.as_path(), FILES.documents);
    let documents = (&find, render_find(&find));
    failures.extend(experiment.copies.end(&render_find_text(&find), files, documents, interrupt).err());
    Failure::all(failures)
}
