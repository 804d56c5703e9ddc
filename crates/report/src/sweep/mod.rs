//! Results of a sweep: runs over a grid or a list of points, each several times.
//!
//! [`Sweep`] is the document (`summary.json`). It has the settings of the sweep, each run with its state and its
//! numbers, the spread of each point's numbers over its repetitions, and the figures with their data. The table, the
//! CSV file and the page are functions of it alone.

pub mod claim;
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

/// Metrics that every summary has for each point, besides those of its figures.
pub const USUAL_METRICS: [&str; 3] = ["tps", "latency.p95", "abort_rate"];

/// All results of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// Version of the program that wrote the document.
    pub lydite: String,
    /// Version of the document, [`SWEEP_FORMAT`].
    pub format: u32,
    /// Title of the experiment.
    pub title: String,
    /// Description of the experiment.
    #[serde(default)]
    pub description: String,
    /// Name of the experiment file.
    pub experiment: String,
    /// Digest of all points and of the settings of their runs.
    pub digest: String,
    /// Planned runs of each point.
    pub repetitions: u32,
    /// Source of each run's database, in words.
    pub reload: String,
    /// Pause between two runs in seconds.
    pub pause_s: f64,
    /// Axes: the keys that vary.
    pub axes: Vec<Axis>,
    /// Names of the metrics of points and runs, in order.
    pub metrics: Vec<String>,
    /// The points, in the order of their runs.
    pub points: Vec<Point>,
    /// The figures with their data.
    pub figures: Vec<Figure>,
    /// The client machines and databases of the runs, each once.
    #[serde(default)]
    pub environment: Environment,
}

/// A key that varies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// A plan key, or a name from the experiment.
    pub name: String,
    /// Values in order, as figures show them.
    pub values: Vec<String>,
}

/// One plan of the sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Values that distinguish it from the other points.
    pub label: String,
    /// Value on each axis, in the order of the axes.
    pub at: Vec<String>,
    /// The keys of its plan, without passwords.
    pub plan: BTreeMap<String, String>,
    /// Runs, by repetition.
    pub runs: Vec<Run>,
    /// Metrics over the complete runs.
    pub metrics: BTreeMap<String, Spread>,
}

/// One run of a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Number of the repetition, from 1.
    pub repetition: u32,
    /// Path of the result file, relative to the summary.
    pub file: String,
    /// State.
    pub state: State,
    /// Reason why it is not complete; empty if it is.
    #[serde(default)]
    pub note: String,
    /// Checks made.
    #[serde(default)]
    pub checks: u32,
    /// Checks that do not hold.
    #[serde(default)]
    pub checks_failed: u32,
    /// Metrics.
    #[serde(default)]
    pub values: BTreeMap<String, f64>,
    /// Metrics that figures draw over lists, by second of the window or by place.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub seconds: BTreeMap<String, Vec<Option<f64>>>,
}

/// State of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The result is complete and counts.
    Complete,
    /// The result is partial and is in no figure.
    Partial,
    /// It left no result.
    Failed,
    /// It was not made yet.
    Missing,
}

impl State {
    /// Returns its name in the document.
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

/// Spread of a metric over repetitions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Median; the mean of the two middle values if their number is even.
    pub median: f64,
    /// Least.
    pub min: f64,
    /// Greatest.
    pub max: f64,
    /// Number of runs in it.
    pub runs: u32,
}

impl Spread {
    /// Returns the spread of these values; none without values.
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

/// Client machines, databases and versions of the runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Environment {
    /// Machines of the client.
    pub hosts: Vec<String>,
    /// Databases with their versions.
    pub targets: Vec<String>,
    /// Versions of Lydite.
    pub lydite: Vec<String>,
    /// Warnings of the results, each with its number of runs.
    pub warnings: Vec<(String, u32)>,
}

impl Environment {
    /// Returns the database of a result as [`Environment::targets`] has it.
    #[must_use]
    pub fn target(result: &RunResult) -> String {
        format!("{} {}", result.target.kind, result.target.version)
    }

    /// Adds the environment of a result.
    pub fn note(&mut self, result: &RunResult) {
        fn add_once(all: &mut Vec<String>, text: String) {
            if !text.trim().is_empty() && !all.contains(&text) {
                all.push(text);
            }
        }
        let host = &result.host;
        add_once(
            &mut self.hosts,
            format!(
                "{}: {}, {} processors, {}, kernel {}",
                host.hostname, host.cpu, host.cores, host.os, host.kernel
            ),
        );
        add_once(&mut self.targets, Self::target(result));
        add_once(&mut self.lydite, result.lydite.clone());
        for warning in &result.warnings {
            match self.warnings.iter_mut().find(|(text, _)| text == warning) {
                Some((_, times)) => *times += 1,
                None => self.warnings.push((warning.clone(), 1)),
            }
        }
    }
}

impl Run {
    /// Returns a run with a result.
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

    /// Returns the run with these metrics second by second.
    #[must_use]
    pub fn with_seconds(mut self, result: &RunResult, metrics: &[Metric]) -> Self {
        let list = |metric: &Metric| Some((metric.name().to_owned(), metric.list_of(result)?));
        self.seconds = metrics.iter().filter_map(list).collect();
        self
    }

    /// Returns a run without a result.
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

    /// Returns a metric second by second, if the run is complete.
    #[must_use]
    pub fn counted_seconds(&self, metric: &str) -> Option<&[Option<f64>]> {
        if self.state == State::Complete { self.seconds.get(metric).map(Vec::as_slice) } else { None }
    }

    /// Returns a metric, if the run is complete.
    #[must_use]
    pub fn counted(&self, metric: &str) -> Option<f64> {
        if self.state == State::Complete { self.values.get(metric).copied() } else { None }
    }
}

impl Point {
    /// Returns the spread of each metric over the complete runs.
    #[must_use]
    pub fn spreads(runs: &[Run], metrics: &[String]) -> BTreeMap<String, Spread> {
        let spread = |metric: &String| {
            let values: Vec<f64> = runs.iter().filter_map(|run| run.counted(metric)).collect();
            Some((metric.clone(), Spread::of(&values)?))
        };
        metrics.iter().filter_map(spread).collect()
    }

    /// Returns the number of its runs in this state.
    #[must_use]
    pub fn runs_in(&self, state: State) -> usize {
        self.runs.iter().filter(|run| run.state == state).count()
    }
}

impl Sweep {
    /// Reads the document of a sweep from its text.
    ///
    /// # Errors
    /// The text is no such document, or one of another format.
    pub fn from_json(text: &str, path: &std::path::Path) -> Result<Self, String> {
        let place = path.display();
        let sweep: Self =
            serde_json::from_str(text).map_err(|error| format!("{place} is not a sweep: {error}"))?;
        if sweep.format != SWEEP_FORMAT {
            let found = sweep.format;
            return Err(format!(
                "{place} has sweep format {found}, this program reads format {SWEEP_FORMAT}"
            ));
        }
        Ok(sweep)
    }

    /// Returns the number of runs in this state.
    #[must_use]
    pub fn runs_in(&self, state: State) -> usize {
        self.points.iter().map(|point| point.runs_in(state)).sum()
    }

    /// Returns the number of planned runs.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.points.iter().map(|point| point.runs.len()).sum()
    }

    /// Returns the number of runs with checks that do not hold.
    #[must_use]
    pub fn runs_with_failed_checks(&self) -> usize {
        self.points.iter().flat_map(|point| &point.runs).filter(|run| run.checks_failed > 0).count()
    }

    /// Returns remarks on the reliability of the figures, one line each.
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
