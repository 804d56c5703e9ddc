//! The directory of an experiment: what it is, and the runs of both sides.

use crate::experiment::Experiment;
use crate::variant::{Known, letter};
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use lydite_decide::Side;
use lydite_report::{ResultError, RunResult};
use lydite_sweep::directory::Kind;
use lydite_sweep::{self as sweep, Ending, Files, Origin, Records};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The files of this command.
pub(crate) static FILES: Files = Files {
    kind: Kind { noun: "comparison of lydite ab", manifest: "experiment.json" },
    word: "experiment",
    documents: ["ab.json", "report.html"],
    is_run: |name| number_of(name).is_some(),
};

/// Two calls are the same experiment if they agree in all of these.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Identity {
    a: Known,
    b: Known,
    metric: String,
    most_pairs: usize,
    most_time_s: Option<f64>,
    order_seed: u64,
    reload: [Origin; 2],
}

impl Identity {
    fn of(experiment: &Experiment) -> Self {
        let looking = &experiment.looking;
        Self {
            a: experiment.side(Side::A).known.clone(),
            b: experiment.side(Side::B).known.clone(),
            metric: looking.metric.name().to_owned(),
            most_pairs: looking.looks.most(),
            most_time_s: looking.most_time.map(|time| time.as_secs_f64()),
            order_seed: looking.order_seed,
            reload: experiment.reload,
        }
    }
}

impl sweep::Identity for Identity {
    fn differences(&self, now: &Self) -> Vec<String> {
        let mut all = Vec::new();
        for (side, known, now) in [("A", &self.a, &now.a), ("B", &self.b, &now.b)] {
            let keys: BTreeSet<&String> = known.plan.keys().chain(now.plan.keys()).collect();
            for key in keys {
                let [before, now] = [known, now].map(|of| of.plan.get(key).map_or("unset", String::as_str));
                if before != now {
                    all.push(format!("{key} of {side} is {before}, now {now}"));
                }
            }
            if known.server != now.server {
                all.push(format!("the server's settings of {side} are other ones"));
            }
            if (&known.before, &known.digest) != (&now.before, &now.digest) {
                all.push(format!(
                    "the command before runs of {side}, or a table of its plan, is another one"
                ));
            }
        }
        let mut changed = |what: &str, before: String, now: String| {
            if before != now {
                all.push(format!("its {what} is {before}, now {now}"));
            }
        };
        let time = |of: &Self| of.most_time_s.map_or_else(|| "none".to_owned(), |time| format!("{time} s"));
        changed("metric", self.metric.clone(), now.metric.clone());
        changed("most pairs", self.most_pairs.to_string(), now.most_pairs.to_string());
        changed("most time", time(self), time(now));
        changed("seed of the order", self.order_seed.to_string(), now.order_seed.to_string());
        let reload = |of: &Self| of.reload.map(Origin::words).join(" and ");
        changed("database", reload(self), reload(now));
        all
    }
}

/// The directory, locked for this process while the value lives.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) records: Records<Identity, Ending>,
}

impl Store {
    /// Creates the directory, or opens it if it holds results of this experiment.
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

    /// Returns the name of the template of a side, if it has one.
    pub(crate) fn template(&self, side: Side) -> Option<String> {
        self.records.template(side as usize)
    }

    /// Returns the path of a run's result, relative to the directory.
    pub(crate) fn file(side: Side, number: u32) -> String {
        Records::<Identity, Ending>::file(&name(side, number))
    }

    /// Returns the path of a run's result.
    pub(crate) fn result(&self, side: Side, number: u32) -> PathBuf {
        self.records.result(&name(side, number))
    }

    /// Returns the numbers of the pairs with a result or an ending, in their order.
    ///
    /// # Errors
    /// The directory can't be read.
    pub(crate) fn numbers(&self) -> Result<BTreeSet<u32>, Failure> {
        let results = self.records.results()?;
        Ok(results.iter().chain(self.records.runs().keys()).filter_map(|name| number_of(name)).collect())
    }

    /// Reads a run's result; `None` if it has none.
    ///
    /// # Errors
    /// The file is there and is no result.
    pub(crate) fn read(&self, side: Side, number: u32) -> Result<Option<RunResult>, ResultError> {
        self.records.read(&name(side, number))
    }

    /// Returns the stored ending of a run.
    pub(crate) fn ending(&self, side: Side, number: u32) -> Option<&Ending> {
        self.records.runs().get(&name(side, number))
    }

    /// Stores the ending of a run.
    pub(crate) fn remember(&mut self, side: Side, number: u32, ending: Ending) -> Outcome {
        self.records.remember(name(side, number), ending)
    }

    /// Deletes the results and endings of a pair that is made again.
    pub(crate) fn forget(&mut self, number: u32) -> Outcome {
        [Side::A, Side::B].into_iter().try_for_each(|side| self.records.forget(&name(side, number)))
    }
}

/// Returns the name of a run: `a.3`.
fn name(side: Side, number: u32) -> String {
    format!("{}.{number}", letter(side).to_ascii_lowercase())
}

/// Returns the number in the name of a run; `None` if it is no such name.
fn number_of(name: &str) -> Option<u32> {
    let (side, number) = name.split_once('.')?;
    ["a", "b"].contains(&side).then(|| number.parse().ok())?
}
