//! A validated experiment: two variants, when to look at their runs, and the origin of each run's database.

use crate::variant::Variant;
use lydite_console::interrupt::Interrupt;
use lydite_decide::{Looks, Side};
use lydite_report::metric::Metric;
use lydite_sweep::{Copies, Kept, Origin};
use std::path::PathBuf;
use std::time::Duration;

/// A validated experiment.
pub struct Experiment {
    /// The variants A and B.
    pub(crate) sides: [Variant; 2],
    /// The origin of the databases of their runs.
    pub(crate) reload: [Origin; 2],
    /// The metric, and the plan of the end.
    pub(crate) looking: Looking,
    /// Longest time of a command before a run.
    pub(crate) before_timeout: Duration,
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
    /// Returns the variant of a side.
    pub(crate) fn side(&self, side: Side) -> &Variant {
        match side {
            Side::A => &self.sides[0],
            Side::B => &self.sides[1],
        }
    }

    /// Returns true if no key, setting or command distinguishes the sides.
    pub(crate) fn sides_are_equal(&self) -> bool {
        self.sides[0].known == self.sides[1].known
    }

    /// Returns the origin of a side's databases.
    pub(crate) fn reload_of(&self, side: Side) -> Origin {
        match side {
            Side::A => self.reload[0],
            Side::B => self.reload[1],
        }
    }

    /// Returns the databases of the sides, to keep and to give back.
    pub(crate) fn kept<'a>(&'a self, interrupt: &'a Interrupt) -> Kept<'a> {
        let subjects = self.sides.iter().zip(self.reload);
        Kept {
            subjects: subjects.map(|(variant, origin)| (&variant.subject, origin)).collect(),
            out: &self.out,
            runs: "pairs",
            interrupt,
        }
    }

    /// Returns the origin of all databases in words.
    pub(crate) fn reload_words(&self) -> String {
        let [a, b] = self.reload;
        if a == b { a.words().to_owned() } else { format!("A: {}; B: {}", a.words(), b.words()) }
    }

    /// Returns true if the document or the page goes to the standard output.
    #[must_use]
    pub fn writes_stdout(&self) -> bool {
        self.copies.use_stdout()
    }
}

/// The metric, and when the experiment ends.
#[derive(Debug)]
pub(crate) struct Looking {
    /// Plan of the looks.
    pub(crate) looks: Looks,
    /// Most time of all runs.
    pub(crate) most_time: Option<Duration>,
    /// The metric that decides.
    pub(crate) metric: Metric,
    /// Seed of the order of the runs.
    pub(crate) order_seed: u64,
}

impl Looking {
    /// Returns the number of pairs that are repeated at most because the machine was busy. If it always is, repeating does
    /// not help.
    pub(crate) fn most_repeats(&self) -> usize {
        self.looks.most().div_ceil(2)
    }
}
