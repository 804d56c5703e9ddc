//! The directory of a search: what it is, and the runs with their levels.

use crate::experiment::Experiment;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_report::{ResultError, RunResult};
use lydite_sweep::directory::Kind;
use lydite_sweep::{self as sweep, Ending, Files, Origin, Records};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use xxhash_rust::xxh3::xxh3_64;

/// The files of this command.
pub(crate) static FILES: Files = Files {
    kind: Kind { noun: "search of lydite find", manifest: "search.json" },
    word: "search",
    documents: ["find.json", "report.html"],
    is_run: |name| name.parse::<u32>().is_ok(),
};

/// A run with its level.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) level: f64,
    pub(crate) ending: Ending,
}

impl AsRef<Ending> for Run {
    fn as_ref(&self) -> &Ending {
        &self.ending
    }
}

/// Two calls are the same search if they agree in all of these. The range is not among them: a level holds or fails in any
/// range.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// The keys that change the plan: a default may be said or not.
    plan: BTreeMap<String, String>,
    tables: String,
    reload: Origin,
}

impl Identity {
    fn of(experiment: &Experiment) -> Self {
        Self {
            plan: without_level(experiment, experiment.subject.effective()),
            tables: format!("{:016x}", xxh3_64(experiment.subject.tables.as_bytes())),
            reload: experiment.origin,
        }
    }
}

impl sweep::Identity for Identity {
    fn differences(&self, now: &Self) -> Vec<String> {
        let mut all = Vec::new();
        let keys: BTreeSet<&String> = self.plan.keys().chain(now.plan.keys()).collect();
        for key in keys {
            let [before, now] = [self, now].map(|of| of.plan.get(key).map_or("unset", String::as_str));
            if before != now {
                let key = if key == "require" { "slo" } else { key };
                all.push(format!("{key} is {before}, now {now}"));
            }
        }
        if self.tables != now.tables {
            all.push("a table of its plan is another one".to_owned());
        }
        if self.reload != now.reload {
            all.push(format!("its database is {}, now {}", self.reload.words(), now.reload.words()));
        }
        all
    }
}

/// Returns the keys of the plan without passwords and without the level.
pub(crate) fn shown(experiment: &Experiment) -> BTreeMap<String, String> {
    without_level(experiment, experiment.subject.shown.clone())
}

fn without_level(experiment: &Experiment, mut plan: BTreeMap<String, String>) -> BTreeMap<String, String> {
    plan.remove(experiment.quantity.key);
    plan
}

/// The directory, locked for this process while the value lives.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) records: Records<Identity, Run>,
}

impl Store {
    /// Creates the directory, or opens it if it holds results of this search.
    ///
    /// # Errors
    /// It holds something else, another process works there, or it can't be written.
    pub(crate) fn open(experiment: &Experiment, interrupt: &Interrupt) -> Result<Self, Failure> {
        let kept = experiment.kept(interrupt);
        let identity = Identity::of(experiment);
        let records =
            Records::open(&experiment.out, &FILES, identity, experiment.fresh, |noted| kept.check(noted))?;
        Ok(Self { records })
    }

    /// Returns the path of a run's result, relative to the directory.
    pub(crate) fn file(number: u32) -> String {
        Records::<Identity, Run>::file(&number.to_string())
    }

    /// Returns the path of a run's result.
    pub(crate) fn result(&self, number: u32) -> PathBuf {
        self.records.result(&number.to_string())
    }

    /// Returns the runs by their numbers.
    pub(crate) fn runs(&self) -> BTreeMap<u32, Run> {
        let runs = self.records.runs().iter();
        runs.filter_map(|(name, run)| Some((name.parse().ok()?, run.clone()))).collect()
    }

    /// Reads a run's result; `None` if it has none.
    ///
    /// # Errors
    /// The file is there and is no result.
    pub(crate) fn read(&self, number: u32) -> Result<Option<RunResult>, ResultError> {
        self.records.read(&number.to_string())
    }

    /// Stores a run that has ended.
    pub(crate) fn remember(&mut self, number: u32, run: Run) -> Outcome {
        self.records.remember(number.to_string(), run)
    }

    /// Deletes a run that does not count, with its result.
    pub(crate) fn forget(&mut self, number: u32) -> Outcome {
        self.records.forget(&number.to_string())
    }
}
