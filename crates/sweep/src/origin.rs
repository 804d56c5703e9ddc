//! The origin of the database that each run of an experiment begins with.

use crate::child::Begin;
use crate::subject::Subject;
use lydite_plan::Problem;
use serde::{Deserialize, Serialize};

/// The origin of the database of each run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The target stores nothing, or makes a database for each run.
    New,
    /// Each run begins with a copy of the same database.
    Restore,
    /// Each run drops the tables and loads them again.
    EachRun,
    /// Each run uses what the run before left.
    Once,
}

impl Origin {
    /// Reads the value of `--reload`.
    ///
    /// # Errors
    /// It is none.
    pub fn read(text: &str) -> Result<Self, Problem> {
        match text {
            "restore" => Ok(Self::Restore),
            "each-run" => Ok(Self::EachRun),
            "once" => Ok(Self::Once),
            _ => Err("is not known: use restore, each-run or once".into()),
        }
    }

    /// Returns the policy in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::New => "made anew for each run",
            Self::Restore => "restored from a template for each run",
            Self::EachRun => "loaded anew for each run",
            Self::Once => "used by all runs, which find what those before them left",
        }
    }

    /// Returns the policy for a subject: what the user says, else templates, if the target has some.
    #[must_use]
    pub fn of(subject: &Subject, given: Option<Self>) -> Self {
        let target = &subject.plan.target;
        if !target.stores() || target.is_temporary() { Self::New } else { given.unwrap_or(Self::Restore) }
    }

    /// Returns the reason why a subject can't have the policy; `None` if it can.
    #[must_use]
    pub fn problem(subject: &Subject, given: Option<Self>) -> Option<String> {
        if Self::of(subject, given) != Self::Restore {
            return None;
        }
        let url = subject.url_without_options();
        let why = if subject.lab.is_some() {
            format!("{url} is a lab that this command starts and ends")
        } else if subject.plan.micro.is_some() {
            "templates are for workload tpcc only".to_owned()
        } else if subject.plan.controls.replicas.is_asked() {
            "a replica would have the database of the run before for a while".to_owned()
        } else if subject.plan.target.templates().is_none() {
            format!("{url} has no templates, which PostgreSQL on one server, Gemel and SQLite have")
        } else {
            return None;
        };
        Some(format!(
            "--reload: the database can't be restored between runs: {why}: say --reload each-run (before each run its tables \
             are dropped, whoever made them, and loaded again), or --reload once (all runs use what those before them left)"
        ))
    }

    /// Returns what a run begins with. `template` is the one of its database, if it has one.
    #[must_use]
    pub fn begin(self, template: Option<String>) -> Begin {
        match (self, template) {
            (Self::EachRun, _) => Begin::Fresh,
            (Self::Restore, Some(template)) => Begin::Template(template),
            (Self::New | Self::Once | Self::Restore, _) => Begin::AsItIs,
        }
    }
}
