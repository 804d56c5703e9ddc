//! Two variants compared by runs in turns, until they are decided: which is better, by how much, and where the difference
//! is. The directory holds a result for each run, a document and a page. After the experiment was killed, the same command
//! goes on.

mod asked;
mod changes;
mod course;
mod document;
mod experiment;
mod judge;
mod played;
mod progress;
mod servers;
mod store;
mod variant;

use course::Course;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_console::target::announce;
use lydite_report::ab::{End, render_ab_text};
use lydite_report::live::Style;
use lydite_report::model::Status;
use lydite_report::render_ab;
use lydite_sweep::Notes;
use store::{FILES, Store};

pub use asked::Asked;
pub use experiment::Experiment;
pub use variant::SideAsked;

/// Makes the pairs of an experiment that are missing, and prints the verdict.
///
/// # Errors
/// The directory can't be used, a run or a command failed, or the user interrupted.
pub fn run(experiment: &Experiment, style: Style, interrupt: &Interrupt) -> Outcome {
    if style != Style::Quiet {
        experiment.sides.iter().for_each(|side| announce(&side.subject.plan.target));
    }
    let mut store = Store::open(experiment, interrupt)?;
    if experiment.fresh {
        // What the databases held comes first: the results that are deleted say nothing of it.
        experiment.kept(interrupt).give_back(&mut store.records)?;
        store.records.clear()?;
    }
    let mut course = Course::read(experiment, store, style, interrupt)?;
    let made = course.go();
    let servers = course.end_servers();
    let ab = course.write()?;
    let has_runs = ab.pairs.iter().any(|pair| pair.a.value.or(pair.b.value).is_some());
    let data = if ab.status == Status::Partial && has_runs {
        experiment.kept(interrupt).complain_of(course.store().records.templates());
        Ok(())
    } else {
        experiment.kept(interrupt).give_back(&mut course.store_mut().records)
    };
    let mut failures: Vec<Failure> = [made, servers, data].into_iter().filter_map(Result::err).collect();
    let files = (experiment.out.as_path(), FILES.documents);
    let documents = (&ab, render_ab(&ab));
    if ab.ab.end == End::Time && ab.ab.ratio.is_none() {
        let least = "a ratio takes two pairs besides the first, which warms up";
        failures.push(Failure::Undecided(vec![format!("the time is over: {least}: give it more --time")]));
    }
    failures.extend(experiment.copies.end(&render_ab_text(&ab), files, documents, interrupt).err());
    Failure::all(failures)
}
