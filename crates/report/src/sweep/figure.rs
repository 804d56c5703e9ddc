//! Figures of a sweep: their specification, their data, and what they leave out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::points::{Axis, Spread};
use crate::figures::plural;
use crate::metric::Metric;

/// The `x` of a figure over time: the seconds of a run's window, unless an axis has this name.
pub const SECOND: &str = "second";
/// The `x` of a figure over the places of a list in the result, as the nodes of a run, unless an axis has this name.
pub const POSITION: &str = "position";
/// Most places that a gap lists; more are only counted.
const NAMES_LISTED: usize = 8;

/// Kind of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A line for each series.
    Line,
    /// A bar for each point, those of a series side by side.
    Bar,
    /// A box for each point: least, quartiles and greatest over the nodes.
    Boxplot,
    /// A mark for each point: the first metric along the bottom, the second one along the side.
    Scatter,
    /// The numbers alone.
    Table,
}

/// Scale of numeric values on the horizontal axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// By their size.
    Linear,
    /// By their logarithm.
    Log,
    /// At equal distances.
    Even,
}

/// Specification of a figure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FigureSpec {
    /// Title.
    pub title: String,
    /// A remark below the title; may be empty.
    #[serde(default)]
    pub note: String,
    /// Kind.
    pub kind: Kind,
    /// The horizontal axis, [`SECOND`] or [`POSITION`].
    pub x: String,
    /// The axis whose values are lines or colours.
    #[serde(default)]
    pub series: Option<String>,
    /// The axis that has a panel for each value.
    #[serde(default)]
    pub panel: Option<String>,
    /// The metrics; several are drawn side by side.
    pub y: Vec<String>,
    /// Title of the horizontal axis.
    pub x_title: String,
    /// Titles of the vertical axes, one for each metric.
    pub y_titles: Vec<String>,
    /// Scale of the horizontal axis.
    pub x_scale: Scale,
    /// Axis and value of the base: numbers become ratios to the point with this value and equal values on other axes.
    #[serde(default)]
    pub relative_to: Option<(String, String)>,
    /// By axis, the values to show; other axes are shown whole.
    #[serde(default, rename = "where")]
    pub only: BTreeMap<String, Vec<String>>,
    /// A claim that the figure supports or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
}

/// A figure with its data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Specification.
    #[serde(flatten)]
    pub spec: FigureSpec,
    /// A panel for each metric and each value of the panels' axis.
    pub panels: Vec<Panel>,
    /// Verdict on the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

/// One pair of axes of a figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Panel {
    /// Value on the panels' axis; empty without such an axis.
    pub title: String,
    /// Metric.
    pub metric: String,
    /// Title of the vertical axis.
    pub y_title: String,
    /// Values of the horizontal axis.
    pub x: Vec<String>,
    /// The series; a single one without a name if they have no axis.
    pub series: Vec<Series>,
}

/// The numbers of a line or of the bars of one colour.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Value on the series' axis.
    pub name: String,
    /// Mark for each value of the horizontal axis.
    pub cells: Vec<Cell>,
}

/// One mark of a figure.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The number; none if no complete run has it. For a box, its least, median and greatest.
    pub value: Option<Spread>,
    /// First and third quartile of a box.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quartiles: Option<[f64; 2]>,
    /// Planned runs; 0 if there is no such point.
    pub wanted: u32,
    /// Runs that left a partial result.
    pub partial: u32,
    /// Complete runs with checks that do not hold.
    pub unchecked: u32,
    /// Numbers of the runs, each after its repetition; empty in figures over lists and for boxes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<(u32, f64)>,
}

/// Claim of a figure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The claim as one sentence.
    pub text: String,
    /// Conditions that support it if all hold.
    pub supports: Vec<String>,
}

/// Verdict of a sweep on a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Outcome over all conditions.
    pub outcome: Outcome,
    /// A sentence for each condition and line of the figure.
    pub reasons: Vec<String>,
}

/// Outcome of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The condition holds.
    Supported,
    /// The runs differ too much, or numbers are missing.
    Undecided,
    /// The condition does not hold.
    NotSupported,
}

impl Outcome {
    /// Returns the outcome as words about the claim.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Supported => "supported",
            Self::Undecided => "undecided",
            Self::NotSupported => "not supported",
        }
    }
}

impl FigureSpec {
    /// Returns true if the horizontal axis has the seconds of the runs, or the places of another list.
    #[must_use]
    pub fn is_over_list(&self, axes: &[Axis]) -> bool {
        self.is_over_time(axes) || self.x == POSITION && axes.iter().all(|axis| axis.name != POSITION)
    }

    /// Returns true if the horizontal axis has the seconds of the runs.
    #[must_use]
    pub fn is_over_time(&self, axes: &[Axis]) -> bool {
        self.x == SECOND && axes.iter().all(|axis| axis.name != SECOND)
    }

    /// Returns the meaning of the numbers, for the text under the title.
    #[must_use]
    pub fn method(&self, repetitions: u32) -> String {
        let runs = if repetitions == 1 {
            "One run of each point: there is no spread to show".to_owned()
        } else {
            let shown = match self.kind {
                Kind::Boxplot => "each of the five numbers is its median over the runs",
                Kind::Table => "medians, and from the least to the greatest",
                Kind::Scatter => "a mark is at the medians, whiskers go from the least to the greatest",
                Kind::Line | Kind::Bar => {
                    "marks and their numbers are medians, whiskers go from the least to the greatest"
                }
            };
            format!("{repetitions} runs of each point: {shown}")
        };
        if self.kind == Kind::Boxplot {
            return format!(
                "A box is the middle half of the nodes, whiskers go to the least and the greatest. {runs}."
            );
        }
        match &self.relative_to {
            None => format!("{runs}."),
            Some((axis, value)) => {
                format!("Ratio to {} = {value}, repetition by repetition. {runs}.", axis_title(axis))
            }
        }
    }
}

impl Figure {
    /// Returns remarks on missing numbers and runs, one line each.
    #[must_use]
    pub fn gaps(&self) -> Vec<String> {
        let mut all = Vec::new();
        let first = self.panels.iter().filter(|panel| Some(&panel.metric) == self.spec.y.first());
        let (mut none, mut fewer, mut partial, mut unchecked) = (Vec::new(), Vec::new(), 0, 0);
        for panel in first {
            if panel.x.is_empty() {
                none.push(if panel.title.is_empty() { "all of it".to_owned() } else { panel.title.clone() });
            }
            for series in &panel.series {
                for (x, cell) in panel.x.iter().zip(&series.cells) {
                    let names = [panel.title.as_str(), &series.name, x];
                    let name =
                        names.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(", ");
                    match cell.value {
                        None => none.push(name),
                        Some(value) if value.runs < cell.wanted => {
                            fewer.push(format!("{name} ({} of {})", value.runs, cell.wanted));
                        }
                        Some(_) => {}
                    }
                    partial += cell.partial;
                    unchecked += cell.unchecked;
                }
            }
        }
        // The first metric lists its missing runs; another metric is listed only if it has no number at all.
        for metric in self.spec.y.iter().skip(1) {
            let mut cells = self
                .panels
                .iter()
                .filter(|panel| panel.metric == *metric)
                .flat_map(|panel| &panel.series)
                .flat_map(|series| &series.cells);
            if cells.all(|cell| cell.value.is_none()) {
                none.push(format!("all of {metric}"));
            }
        }
        if !none.is_empty() {
            all.push(format!("No run has a number for: {}.", some(&none)));
        }
        if !fewer.is_empty() {
            all.push(format!("Of fewer runs: {}.", some(&fewer)));
        }
        if partial > 0 {
            all.push(format!("Not shown: {}.", plural(u64::from(partial), "partial result")));
        }
        if unchecked > 0 {
            let runs = plural(u64::from(unchecked), "run");
            all.push(format!("Shown all the same: {runs} whose checks do not hold."));
        }
        all
    }
}

/// Returns the first of these names and the number of the others.
fn some(names: &[String]) -> String {
    let listed = names.get(..NAMES_LISTED).unwrap_or(names).join("; ");
    match names.len().saturating_sub(NAMES_LISTED) {
        0 => listed,
        more => format!("{listed}; and {more} more"),
    }
}

/// Returns the display name of an axis: `csr capacity` for `target.csr_capacity`.
#[must_use]
pub fn axis_title(name: &str) -> String {
    name.rsplit('.').next().unwrap_or(name).replace('_', " ")
}

/// Returns the title of a metric's axis: the metric's title, with its unit, or `ratio` if it is relative.
#[must_use]
pub fn metric_title(metric: &Metric, relative: bool) -> String {
    match (relative, metric.unit()) {
        (true, _) => format!("{}, ratio", metric.title()),
        (false, "") => metric.title(),
        (false, unit) => format!("{}, {unit}", metric.title()),
    }
}
