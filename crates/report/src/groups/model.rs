//! Groups of runs side by side, as data and as the JSON document of `lydite compare`: its names are a contract.

use serde::{Serialize, Serializer};

use crate::model::RunResult;
use crate::numbers::Better;
use crate::verdict::Verdict;

/// A run of a group.
#[derive(Debug, Clone)]
pub struct Run {
    /// Name of its file, for messages.
    pub file: String,
    /// The result of the run.
    pub result: RunResult,
}

/// Runs of one configuration.
#[derive(Debug, Clone)]
pub struct Group {
    /// Letter: `A` for the group that the others are compared with.
    pub letter: String,
    /// Name: the label that all of its runs have, else what its files were found by.
    pub title: String,
    /// Runs, at least one, in the order in which they were named.
    pub runs: Vec<Run>,
}

impl Group {
    /// Returns the letter and the name.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}\u{a0}{}", self.letter, self.title).trim().to_owned()
    }

    /// Returns the results of its runs.
    pub fn results(&self) -> impl Iterator<Item = &RunResult> {
        self.runs.iter().map(|run| &run.result)
    }

    /// Returns true if a transaction of its runs waits for a plan: terminals that wait, or a given rate.
    pub(crate) fn is_paced(&self) -> bool {
        self.results().any(RunResult::is_paced)
    }
}

/// Way in which two groups were compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The runs were taken in turns: Student's interval of the differences within pairs.
    Paired,
    /// They were not: Welch's interval of the two means.
    Welch,
    /// One group alone, with a limit of the value itself: Student's interval of its mean.
    Student,
    /// A group has a single run, so there is no interval over runs.
    Single,
}

/// The quantity that an interval is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// B / A.
    Ratio,
    /// B - A.
    Difference,
    /// The mean of B.
    Mean,
}

/// An interval over runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Probability that it misses the true value.
    pub error: f64,
    /// The quantity that it is of.
    pub interval_of: Quantity,
}

/// Writes an interval among the other fields; all of its fields are null without one.
fn flat<S: Serializer>(interval: &Option<Interval>, to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Flat {
        low: Option<f64>,
        high: Option<f64>,
        error: Option<f64>,
        interval_of: Option<Quantity>,
    }
    let of = |part: fn(&Interval) -> f64| interval.as_ref().map(part);
    let interval_of = interval.as_ref().map(|interval| interval.interval_of);
    Flat { low: of(|i| i.low), high: of(|i| i.high), error: of(|i| i.error), interval_of }.serialize(to)
}

/// A number of a group and of A.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupMetric {
    /// Name, as in gates: `nopm`, `new_order.p99`.
    pub name: String,
    /// Name with its unit, for people.
    pub title: String,
    /// Letter of the group that is compared with A.
    pub other: String,
    /// Mean of A's runs: the geometric one if there is a ratio.
    pub a: Option<f64>,
    /// Mean of the other group's runs, likewise.
    pub b: Option<f64>,
    /// Values of A's runs, in the order of its files.
    pub a_runs: Vec<Option<f64>>,
    /// Values of the other group's runs.
    pub b_runs: Vec<Option<f64>>,
    /// `b / a`; absent if a value is 0.
    pub ratio: Option<f64>,
    /// `b - a`.
    pub difference: Option<f64>,
    /// The interval over runs.
    #[serde(flatten, serialize_with = "flat")]
    pub interval: Option<Interval>,
    /// Way in which it was compared.
    pub method: Method,
    /// The better direction.
    pub better: Better,
    /// Verdict.
    pub verdict: Verdict,
    /// True for a percentile of too few transactions in a run: of A, of the other group.
    pub few_samples: [bool; 2],
    /// Reason why there is no interval; absent if there is one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// The answer about a group and A, by their throughput; by a latency if plans set the pace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// Letter of the group that is compared with A.
    pub other: String,
    /// Name of the number that decides.
    pub metric: String,
    /// Verdict.
    pub verdict: Verdict,
    /// `b / a`; absent if a value is 0.
    pub ratio: Option<f64>,
    /// The interval over runs.
    #[serde(flatten, serialize_with = "flat")]
    pub interval: Option<Interval>,
    /// Way in which the groups were compared.
    pub method: Method,
    /// Reason for the method.
    pub why: String,
    /// Runs of A and of the other group.
    pub runs: [usize; 2],
    /// Pairs of further runs that would about decide it; absent if it is decided, or if even a thousand would not.
    pub more_pairs: Option<usize>,
    /// The answer as a sentence.
    pub sentence: String,
}

/// End of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The interval excludes what the condition says; of single runs, their numbers do.
    Passed,
    /// The interval contains the threshold, or there is none.
    Undecided,
    /// The whole interval is what the condition says; of single runs, their numbers are.
    Failed,
}

/// A condition judged on a group and A.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupGate {
    /// The condition as it was written.
    pub text: String,
    /// Name of its number.
    pub metric: String,
    /// Letter of the group that is compared with A.
    pub other: String,
    /// Mean of A's runs; absent if it was not needed.
    pub a: Option<f64>,
    /// Mean of the other group's runs.
    pub b: Option<f64>,
    /// The interval over runs of what the condition is about.
    #[serde(flatten, serialize_with = "flat")]
    pub interval: Option<Interval>,
    /// Way in which it was judged.
    pub method: Method,
    /// Outcome.
    pub outcome: Outcome,
    /// Pairs of further runs that would about decide it; absent if it is decided, or if even a thousand would not.
    pub more_pairs: Option<usize>,
    /// Values, interval and reason in words.
    pub words: String,
}

/// A group in the document.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupInfo {
    /// Letter.
    pub letter: String,
    /// Name.
    pub name: String,
    /// The label that all runs have.
    pub label: Option<String>,
    /// Number of runs.
    pub runs: usize,
    /// Files of the runs.
    pub files: Vec<String>,
    /// Start of each measured window, RFC 3339.
    pub started: Vec<String>,
    /// Kind and version of the database.
    pub target: String,
}

/// Groups of runs compared with the first of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupsComparison {
    /// Version of Lydite.
    pub lydite: &'static str,
    /// Version of this document.
    pub format: u32,
    /// The groups, A first.
    pub groups: Vec<GroupInfo>,
    /// Warnings about the runs and differences between the groups, each with what it is about.
    pub warnings: Vec<String>,
    /// The answer about each group after A.
    pub verdicts: Vec<Answer>,
    /// Every number of each group after A.
    pub metrics: Vec<GroupMetric>,
    /// The conditions, for each group after A.
    pub gates: Vec<GroupGate>,
}

/// Version of the document of a comparison.
pub(super) const COMPARISON_FORMAT: u32 = 1;

/// Something that makes groups incomparable: one line that names the file and says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct GroupProblem(pub(crate) String);
