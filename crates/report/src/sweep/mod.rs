//! What came out of a sweep: many runs over a grid or a list of points, each several times.
//!
//! [`Sweep`] is the document (`summary.json`): what was asked, each run with its state and its numbers, the spread of
//! each point's numbers over its repetitions, and the figures with their data. The table, the CSV file and the page are
//! functions of it alone, as those of a run are of its result.

pub mod figure;
mod summary;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::metric::Metric;
use crate::model::{RunResult, Status};
use figure::Figure;

pub use summary::{render_csv, render_summary};

/// The version of the document that this crate writes.
pub const SWEEP_FORMAT: u32 = 1;

/// What every summary tells of each point, whatever its figures show.
pub const USUAL_METRICS: [&str; 3] = ["tps", "latency.p95", "abort_rate"];

/// Everything that came out of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// Version of the program that wrote the document.
    pub lydite: String,
    /// Version of the document, [`SWEEP_FORMAT`].
    pub format: u32,
    /// Title of the experiment.
    pub title: String,
    /// What it is about.
    #[serde(default)]
    pub description: String,
    /// Name of the experiment file.
    pub experiment: String,
    /// Digest of all points and of how they are run.
    pub digest: String,
    /// Runs wanted of each point.
    pub repetitions: u32,
    /// Where each run gets its database from, in words.
    pub reload: String,
    /// Pause between two runs in seconds.
    pub pause_s: f64,
    /// What is varied.
    pub axes: Vec<Axis>,
    /// The metrics of points and runs, in their order.
    pub metrics: Vec<String>,
    /// The points, in the order in which they are run.
    pub points: Vec<Point>,
    /// The figures with their data.
    pub figures: Vec<Figure>,
    /// The machines that the runs were made on, and the databases, each as often as it differs.
    #[serde(default)]
    pub environment: Environment,
}

/// Something that is varied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// A plan key, or a name of the experiment's own.
    pub name: String,
    /// Its values in order, as figures show them.
    pub values: Vec<String>,
}

/// One plan of the sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// What distinguishes it from the others.
    pub label: String,
    /// Its value of each axis, in the order of the axes.
    pub at: Vec<String>,
    /// The keys of its plan, without passwords.
    pub plan: BTreeMap<String, String>,
    /// Its runs, by repetition.
    pub runs: Vec<Run>,
    /// Its metrics over the complete runs.
    pub metrics: BTreeMap<String, Spread>,
}

/// One run of a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Which repetition, from 1.
    pub repetition: u32,
    /// The result, relative to the summary.
    pub file: String,
    /// What became of it.
    pub state: State,
    /// What is to be said of it: why it is not complete.
    #[serde(default)]
    pub note: String,
    /// Checks made.
    #[serde(default)]
    pub checks: u32,
    /// Checks that do not hold.
    #[serde(default)]
    pub checks_failed: u32,
    /// Its metrics.
    #[serde(default)]
    pub values: BTreeMap<String, f64>,
    /// By second of the window, the metrics that figures draw over time.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub seconds: BTreeMap<String, Vec<Option<f64>>>,
}

/// What became of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Its result is complete, and counts.
    Complete,
    /// Its result is partial, and is in no figure.
    Partial,
    /// It left no result.
    Failed,
    /// It was not made yet.
    Missing,
}

impl State {
    /// As it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::Missing => "missing",
        }
    }
}

/// A metric over repetitions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Median; of an even number the mean of the two in the middle.
    pub median: f64,
    /// Least.
    pub min: f64,
    /// Greatest.
    pub max: f64,
    /// How many runs it is made of.
    pub runs: u32,
}

impl Spread {
    /// Of these values; none if there are none.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let upper = *sorted.get(sorted.len() / 2)?;
        let lower = *sorted.get((sorted.len() - 1) / 2)?;
        Some(Self { median: f64::midpoint(lower, upper), min, max, runs: sorted.len() as u32 })
    }
}

/// What the runs were made on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Environment {
    /// Machines of the client.
    pub hosts: Vec<String>,
    /// Databases with their versions.
    pub targets: Vec<String>,
    /// Versions of Lydite.
    pub lydite: Vec<String>,
    /// Warnings of the results, and of how many runs.
    pub warnings: Vec<(String, u32)>,
}

impl Environment {
    /// Notes what a result was made on.
    pub fn note(&mut self, result: &RunResult) {
        fn once(all: &mut Vec<String>, text: String) {
            if !text.trim().is_empty() && !all.contains(&text) {
                all.push(text);
            }
        }
        let host = &result.host;
        once(
            &mut self.hosts,
            format!(
                "{}: {}, {} processors, {}, kernel {}",
                host.hostname, host.cpu, host.cores, host.os, host.kernel
            ),
        );
        once(&mut self.targets, format!("{} {}", result.target.kind, result.target.version));
        once(&mut self.lydite, result.lydite.clone());
        for warning in &result.warnings {
            match self.warnings.iter_mut().find(|(text, _)| text == warning) {
                Some((_, times)) => *times += 1,
                None => self.warnings.push((warning.clone(), 1)),
            }
        }
    }
}

impl Run {
    /// A run with a result.
    #[must_use]
    pub fn of(repetition: u32, file: &str, result: &RunResult, metrics: &[Metric]) -> Self {
        let partial = result.status == Status::Partial;
        Self {
            repetition,
            file: file.to_owned(),
            state: if partial { State::Partial } else { State::Complete },
            note: String::new(),
            checks: result.checks.len() as u32,
            checks_failed: result.checks.iter().filter(|check| !check.ok).count() as u32,
            values: metrics
                .iter()
                .filter_map(|metric| Some((metric.name().to_owned(), metric.of(result)?)))
                .collect(),
            seconds: BTreeMap::new(),
        }
    }

    /// The same with these metrics second by second.
    #[must_use]
    pub fn with_seconds(mut self, result: &RunResult, metrics: &[Metric]) -> Self {
        let list = |metric: &Metric| Some((metric.name().to_owned(), metric.seconds_of(result)?));
        self.seconds = metrics.iter().filter_map(list).collect();
        self
    }

    /// A run without one.
    #[must_use]
    pub fn without_result(repetition: u32, file: &str, state: State, note: &str) -> Self {
        Self {
            repetition,
            file: file.to_owned(),
            state,
            note: note.to_owned(),
            checks: 0,
            checks_failed: 0,
            values: BTreeMap::new(),
            seconds: BTreeMap::new(),
        }
    }

    /// A metric second by second, if the run counts.
    #[must_use]
    pub fn counted_seconds(&self, metric: &str) -> Option<&[Option<f64>]> {
        if self.state == State::Complete { self.seconds.get(metric).map(Vec::as_slice) } else { None }
    }

    /// A metric, if the run counts.
    #[must_use]
    pub fn counted(&self, metric: &str) -> Option<f64> {
        if self.state == State::Complete { self.values.get(metric).copied() } else { None }
    }
}

impl Point {
    /// The spread of each metric over the complete runs.
    #[must_use]
    pub fn spreads(runs: &[Run], metrics: &[String]) -> BTreeMap<String, Spread> {
        let spread = |metric: &String| {
            let values: Vec<f64> = runs.iter().filter_map(|run| run.counted(metric)).collect();
            Some((metric.clone(), Spread::of(&values)?))
        };
        metrics.iter().filter_map(spread).collect()
    }

    /// How many of its runs are in this state.
    #[must_use]
    pub fn runs_in(&self, state: State) -> usize {
        self.runs.iter().filter(|run| run.state == state).count()
    }
}

impl Sweep {
    /// How many runs are in this state.
    #[must_use]
    pub fn runs_in(&self, state: State) -> usize {
        self.points.iter().map(|point| point.runs_in(state)).sum()
    }

    /// How many runs there are to be.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.points.iter().map(|point| point.runs.len()).sum()
    }

    /// How many runs have checks that do not hold.
    #[must_use]
    pub fn runs_with_failed_checks(&self) -> usize {
        self.points.iter().flat_map(|point| &point.runs).filter(|run| run.checks_failed > 0).count()
    }

    /// What a reader must know before believing the figures, one line each.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let mut all = Vec::new();
        let each = self.points.iter().flat_map(|point| point.runs.iter().map(move |run| (point, run)));
        for (point, run) in each.clone().filter(|(_, run)| run.checks_failed > 0) {
            all.push(format!(
                "{}, run {}: {} of {} checks do not hold: its speed is worth nothing.",
                point.label, run.repetition, run.checks_failed, run.checks
            ));
        }
        for (point, run) in each.filter(|(_, run)| matches!(run.state, State::Failed | State::Partial)) {
            let why = if run.note.is_empty() { String::new() } else { format!(": {}", run.note) };
            all.push(format!("{}, run {}: {}{why}", point.label, run.repetition, run.state.name()));
        }
        let missing = self.runs_in(State::Missing);
        if missing > 0 {
            all.push(format!("{missing} of {} runs are not made yet.", self.runs()));
        }
        all
    }
}
