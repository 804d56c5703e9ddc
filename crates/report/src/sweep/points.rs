//! Points of a sweep, their runs, and the spread of numbers over repetitions.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::figures::number;
use crate::metric::Metric;
use crate::model::{RunResult, Status};

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

    /// Returns the median, and the least and greatest values if they differ.
    pub(super) fn shown(&self) -> String {
        if self.min < self.max {
            format!("{} ({} to {})", number(self.median), number(self.min), number(self.max))
        } else {
            number(self.median)
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
