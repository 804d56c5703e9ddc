//! A validated experiment: two variants, when to look at their runs, and the origin of each run's database.

use crate::variant::Variant;
use lydite_decide::{Looks, Side};
use lydite_plan::Problem;
use lydite_plan::destination::Destination;
use lydite_report::metric::Metric;
use lydite_sweep::Begin;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// A validated experiment.
pub struct Experiment {
    /// The variants A and B.
    pub(crate) sides: [Variant; 2],
    /// The origin of the databases of their runs.
    pub(crate) reload: [Reload; 2],
    /// The metric, and the plan of the end.
    pub(crate) looking: Looking,
    /// Longest time of a command before a run.
    pub(crate) before_timeout: Duration,
    /// The user's name for it.
    pub(crate) label: Option<String>,
    /// Directory of results, document and page.
    pub(crate) out: PathBuf,
    /// Further places of the document and of the page.
    pub(crate) json: Option<Destination>,
    pub(crate) report: Option<Destination>,
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

    /// Returns the origin of a side's databases.
    pub(crate) fn reload_of(&self, side: Side) -> Reload {
        match side {
            Side::A => self.reload[0],
            Side::B => self.reload[1],
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
        [&self.json, &self.report].into_iter().flatten().any(Destination::is_stdout)
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

/// The origin of the database of each run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Reload {
    /// The target stores nothing, or makes a database for each run.
    New,
    /// Each run begins with a copy of the same database.
    Restore,
    /// Each run drops the tables and loads them again.
    EachRun,
    /// Each run uses what the run before left.
    Once,
}

impl Reload {
    /// Reads the value of `--reload`.
    ///
    /// # Errors
    /// It is none.
    pub(crate) fn read(text: &str) -> Result<Self, Problem> {
        match text {
            "restore" => Ok(Self::Restore),
            "each-run" => Ok(Self::EachRun),
            "once" => Ok(Self::Once),
            _ => Err("is not known: use restore, each-run or once".into()),
        }
    }

    /// Returns the policy in words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::New => "made anew for each run",
            Self::Restore => "restored from a template for each run",
            Self::EachRun => "loaded anew for each run",
            Self::Once => "used by all runs, which find what those before them left",
        }
    }

    /// Returns the policy for a variant: what the user says, else templates, if the target has some.
    pub(crate) fn of(variant: &Variant, given: Option<Self>) -> Self {
        let target = &variant.plan.target;
        if !target.stores() || target.is_temporary() { Self::New } else { given.unwrap_or(Self::Restore) }
    }

    /// Returns the reason why a variant can't have the policy; `None` if it can.
    pub(crate) fn problem(variant: &Variant, given: Option<Self>) -> Option<String> {
        if Self::of(variant, given) != Self::Restore {
            return None;
        }
        let url = variant.url_without_options();
        let why = if variant.lab.is_some() {
            format!("{url} is a lab that this command starts and ends")
        } else if variant.plan.micro.is_some() {
            "templates are for workload tpcc only".to_owned()
        } else if variant.plan.controls.replicas.is_asked() {
            "a replica would have the database of the run before for a while".to_owned()
        } else if variant.plan.target.templates().is_none() {
            format!("{url} has no templates, which PostgreSQL on one server, Gemel and SQLite have")
        } else {
            return None;
        };
        Some(format!(
            "--reload: the database can't be restored between runs: {why}: say --reload each-run (before each run its tables \
             are dropped, whoever made them, and loaded again), or --reload once (all runs use what those before them left)"
        ))
    }

    /// Returns what a run begins with. `template` is the one of its side.
    pub(crate) fn begin(self, template: Option<String>) -> Begin {
        match (self, template) {
            (Self::EachRun, _) => Begin::Fresh,
            (Self::Restore, Some(template)) => Begin::Template(template),
            (Self::New | Self::Once | Self::Restore, _) => Begin::AsItIs,
        }
    }
}
