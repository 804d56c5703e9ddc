//! The highest level (a rate, a number of warehouses or of sessions) at which a database holds its objectives.
//!
//! [`Find`] is the document (`find.json`): the level with its neighbours, the curve over all levels, and each run. The text
//! in the terminal and the page are functions of it alone.

mod text;

use serde::Serialize;
use std::collections::BTreeMap;

use crate::model::Status;
use crate::sweep::Environment;

pub(crate) use text::{bare_level, doubts, is_in_doubt, joined, level_in_words, verdict};
pub use text::{render_find_text, sentence};

/// The version of the document that this crate writes.
pub const FIND_FORMAT: u32 = 1;

/// A search for the highest level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Find {
    /// Version of the program that wrote the document.
    pub lydite: String,
    /// Version of the document, [`FIND_FORMAT`].
    pub format: u32,
    /// Complete once the search has ended.
    pub status: Status,
    /// Name of the search, if the user gave one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The answer.
    pub find: Found,
    /// Keys of the plan, without passwords and without that of the level.
    pub plan: BTreeMap<String, String>,
    /// Source of each run's database, in words.
    pub reload: String,
    /// Time of all runs so far in seconds.
    pub took_s: f64,
    /// Runs, in their order.
    pub runs: Vec<RunOfFind>,
    /// The client machines and databases of the runs, each once.
    pub environment: Environment,
    /// Everything that a reader must know beside the numbers, one sentence each.
    pub warnings: Vec<String>,
}

/// The reason why the search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The limit is known: one level holds, one fails, and it is between them.
    Found,
    /// The lowest level fails.
    FailsAtLowest,
    /// The highest level holds.
    HoldsAtHighest,
    /// It took the most time.
    Time,
    /// A run of a level has too few transactions to judge an objective.
    NotJudged,
    /// It has not ended: runs are missing.
    Open,
}

/// The answer with the curve that it rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Found {
    /// All objectives as they were written, joined by ` and `.
    pub objective: String,
    /// All objectives.
    pub objectives: Vec<String>,
    /// Latencies that objectives limit, in ms.
    pub limits_ms: Vec<f64>,
    /// Mode of the runs: `open`, `rte` or `direct`.
    pub mode: &'static str,
    /// The quantity that is searched: `rate`, `warehouses` or `sessions`.
    pub level: &'static str,
    /// Name of the quantity in a sentence, as `number of sessions`.
    pub title: &'static str,
    /// Unit; may be empty.
    pub unit: &'static str,
    /// Highest level that holds all objectives; null if none does.
    pub highest: Option<f64>,
    /// Lowest level above it that fails; null if none does.
    pub next_above: Option<f64>,
    /// Highest tried level below it; null without one.
    pub next_below: Option<f64>,
    /// Probability that the true limit is between `highest` and `next_above`, by all runs near them. Null until both are found.
    pub confidence: Option<f64>,
    /// The limit by all runs near it; null as long as their shares over a limit do not tell.
    pub limit: Option<Estimate>,
    /// Reason why the search ended.
    pub end: End,
    /// Lowest and highest level of interest.
    pub range: [f64; 2],
    /// Precision that was asked for: 0.02 wants the limit known to 2 % on both sides.
    pub resolution: f64,
    /// The tried levels in ascending order.
    pub curve: Vec<Rung>,
}

impl Found {
    /// Returns a tried level with its runs.
    pub(crate) fn rung(&self, level: f64) -> Option<&Rung> {
        self.curve.iter().find(|rung| rung.level == level)
    }
}

/// The level at which the share over a limit crosses the allowed one, with an interval of 90 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The level.
    pub at: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Runs near it that are left out, because far more of their requests took too long than of the others'.
    pub stalled: usize,
}

/// A level with all its runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rung {
    /// The level.
    pub level: f64,
    /// True if all objectives hold, by the majority of the probes; null if chance may have decided, or if it can't be
    /// judged. The two levels of the answer always have it, so see `certain`.
    pub holds: Option<bool>,
    /// True if all runs of the level together say the same as `holds`, and leave no doubt about it.
    pub certain: bool,
    /// Reason of the doubt; empty if it is certain, or if it can't be judged.
    pub doubt: String,
    /// Probes: one to three runs each.
    pub probes: usize,
    /// Probes that held.
    pub held: usize,
    /// Median over the runs of the completed transactions per second.
    pub tps: Option<f64>,
    /// Median over the runs of the median latency of the objectives' type, in ms.
    pub p50_ms: Option<f64>,
    /// Median over the runs of its 99th percentile.
    pub p99_ms: Option<f64>,
    /// True if a percentile rests on a handful of samples.
    pub is_thin: bool,
    /// Shares over the limits of latency, pooled over the runs.
    pub over: Vec<Over>,
    /// Reason why it fails or can't be judged; empty if it holds.
    pub why: String,
}

/// The share of transactions over the limit of an objective.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Over {
    /// The objective.
    pub objective: String,
    /// Latency that it limits, in ms.
    pub limit_ms: f64,
    /// Share that it allows, as 0.01.
    pub allowed: f64,
    /// Measured share.
    pub share: f64,
    /// Lower end of its interval: 95 % by each run, and at least two standard errors between the runs.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The verdict on a run alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunVerdict {
    /// All objectives hold, and the level can last.
    Holds,
    /// An objective does not hold, or the level can't last.
    Fails,
    /// Another run of the level may say the opposite.
    InDoubt,
    /// An objective can't be judged.
    NotJudged,
}

impl RunVerdict {
    /// Returns the verdict in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::InDoubt => "in doubt",
            Self::NotJudged => "not judged",
        }
    }
}

/// A run of the search.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunOfFind {
    /// Number, from 1.
    pub number: u32,
    /// Level of the run.
    pub level: f64,
    /// Number of its probe, from 1; null if it does not count because the machine was busy.
    pub probe: Option<usize>,
    /// Path of its result, relative to the document.
    pub file: String,
    /// True if the machine was busy.
    pub busy: bool,
    /// Completed transactions per second.
    pub tps: f64,
    /// Values of the objectives with their units, in the order of the objectives.
    pub values: Vec<String>,
    /// True if the measured values of this run meet all objectives, as its result has them; null if one has no value.
    /// It knows no sampling error, and nothing of a queue that grows or of transactions that were lost: `verdict` does.
    pub met: Option<bool>,
    /// Verdict on this run alone, by all that fails a level.
    pub verdict: RunVerdict,
    /// Reason why it fails, is in doubt or can't be judged; empty if it holds.
    pub why: String,
    /// Growth of the latency over the run, in seconds per second; null if it can't be told.
    pub growth: Option<f64>,
}
