//! A validated search: the plan, the quantity and its range, the objectives, and the origin of each run's database.

use crate::levels::Quantity;
use lydite_console::interrupt::Interrupt;
use lydite_decide::Range;
use lydite_report::Requirement;
use lydite_sweep::{Copies, Kept, Origin, Subject};
use std::path::PathBuf;
use std::time::Duration;

/// A validated search.
pub struct Experiment {
    /// The plan. Its level is the first one of the search.
    pub(crate) subject: Subject,
    /// The quantity that is searched.
    pub(crate) quantity: &'static Quantity,
    /// The range of the levels.
    pub(crate) range: Range,
    /// The objectives.
    pub(crate) objectives: Vec<Requirement>,
    /// Most time of all runs.
    pub(crate) most_time: Option<Duration>,
    /// The origin of the database of each run.
    pub(crate) origin: Origin,
    /// The user's name for it.
    pub(crate) label: Option<String>,
    /// Directory of results, document and page.
    pub(crate) out: PathBuf,
    /// Further places of the document and of the page.
    pub(crate) copies: Copies,
    /// True to delete the results that the directory holds first.
    pub(crate) fresh: bool,
}

impl Experiment {
    /// Returns the database, to keep and to give back.
    pub(crate) fn kept<'a>(&'a self, interrupt: &'a Interrupt) -> Kept<'a> {
        Kept { subjects: vec![(&self.subject, self.origin)], out: &self.out, runs: "runs", interrupt }
    }

    /// Returns the least time that a run takes: warm-up and window.
    pub(crate) fn planned(&self) -> Duration {
        self.subject.plan.warmup + self.subject.plan.duration
    }

    /// Returns what is searched.
    pub(crate) fn asked(&self) -> Searched<'_> {
        Searched { objectives: &self.objectives, quantity: self.quantity, range: &self.range }
    }

    /// Returns true if the document or the page goes to the standard output.
    #[must_use]
    pub fn writes_stdout(&self) -> bool {
        self.copies.use_stdout()
    }
}

/// The quantity, its range and the objectives, without the plan and the places of documents.
pub(crate) struct Searched<'a> {
    pub(crate) objectives: &'a [Requirement],
    pub(crate) quantity: &'static Quantity,
    pub(crate) range: &'a Range,
}
