//! Results of a sweep: runs over a grid or a list of points, each several times.
//!
//! [`Sweep`] is the document (`summary.json`). It has the settings of the sweep, each run with its state and its
//! numbers, the spread of each point's numbers over its repetitions, and the figures with their data. The table, the
//! CSV file and the page are functions of it alone.

pub mod claim;
mod comparison;
mod draw;
pub mod figure;
mod points;
mod summary;

use serde::{Deserialize, Serialize};

use crate::model::RunResult;
use figure::Figure;

pub use points::{Axis, Point, Run, Spread, State};
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
