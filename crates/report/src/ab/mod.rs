//! Two variants compared by runs in turns.
//!
//! [`Ab`] is the document (`ab.json`). It has the verdict, the settings of both sides, each pair with its runs, the course of
//! the interval, and the numbers that changed most. The text in the terminal and the page are functions of it alone.

mod text;

use serde::Serialize;
use std::collections::BTreeMap;

use crate::model::Status;
use crate::numbers::Better;
use crate::sweep::Environment;
use crate::verdict::Verdict;

pub(crate) use text::{GROUPS, ratio_of, times, verdict_on_b};
pub use text::{render_ab_text, sentence};

/// The version of the document that this crate writes.
pub const AB_FORMAT: u32 = 1;

/// A comparison of two variants by runs in turns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ab {
    /// Version of the program that wrote the document.
    pub lydite: String,
    /// Version of the document, [`AB_FORMAT`].
    pub format: u32,
    /// Complete once the experiment has ended: it is decided, or has all pairs or the time that it may take.
    pub status: Status,
    /// Name of the experiment, if the user gave one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The verdict on B.
    pub ab: Judgement,
    /// The metric that decides.
    pub metric: Judged,
    /// Seed of the order of the runs.
    pub order_seed: u64,
    /// Most pairs that count.
    pub most_pairs: usize,
    /// Most time in seconds, if there is a limit.
    pub most_time_s: Option<f64>,
    /// Time of all runs so far in seconds, with what was done before each.
    pub took_s: f64,
    /// Source of each run's database, in words.
    pub reload: String,
    /// The two sides.
    pub sides: Sides,
    /// Settings in which the sides differ.
    pub differences: Vec<Difference>,
    /// All pairs, in the order of their runs.
    pub pairs: Vec<Pair>,
    /// The ratio after each pair that counts, from the second.
    pub course: Vec<Look>,
    /// Numbers that changed, those that changed most first within each group.
    pub changes: Vec<Change>,
    /// The client machines and databases of the runs, each once.
    pub environment: Environment,
    /// Everything that a reader must know beside the numbers, one sentence each.
    pub warnings: Vec<String>,
}

/// The reason why the experiment ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The interval excludes 1.
    Decided,
    /// It has the most pairs.
    Pairs,
    /// It took the most time.
    Time,
    /// It has not ended: pairs are missing.
    Open,
}

/// The verdict with its numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judgement {
    /// Verdict.
    pub verdict: Verdict,
    /// Geometric mean of `B / A`; null with fewer than two pairs.
    pub ratio: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// Probability that this interval misses the true ratio, by itself.
    pub error: f64,
    /// Probability that any interval of the whole experiment misses it.
    pub error_of_all: f64,
    /// Pairs that count.
    pub pairs: usize,
    /// Further pairs that would decide, if the ratio and its noise stay as they are; null if it is decided, or if even
    /// very many would not.
    pub more_pairs: Option<usize>,
    /// Reason why it ended.
    pub end: End,
}

/// The metric that decides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    /// Name.
    pub name: String,
    /// Title.
    pub title: String,
    /// Unit; may be empty.
    pub unit: String,
    /// The better direction.
    pub better: Better,
}

/// Both of something.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sides {
    /// The first side: what is compared with.
    pub a: Variant,
    /// The second side.
    pub b: Variant,
}

/// A side of the experiment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Variant {
    /// Keys of its plan, without passwords.
    pub plan: BTreeMap<String, String>,
    /// Settings of the lab's servers, each as `NAME=VALUE`.
    pub server: Vec<String>,
    /// Command before each run.
    pub before: Option<String>,
    /// Median of the metric over the runs of pairs that count.
    pub median: Option<f64>,
}

/// A setting in which the sides differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Name: a key of the plan, `server NAME`, `before`, or `setting NAME` for a setting that the database reported.
    pub name: String,
    /// Value of A; empty if unset.
    pub a: String,
    /// Value of B; empty if unset.
    pub b: String,
}

/// The use of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The first pair, which warms up the machine and does not count.
    WarmUp,
    /// It counts.
    Counted,
    /// The machine was busy, so the pair was repeated and does not count.
    Busy,
    /// A run of it is missing.
    Incomplete,
}

impl Role {
    /// Returns its words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::WarmUp => "warm-up",
            Self::Counted => "counts",
            Self::Busy => "busy machine, repeated",
            Self::Incomplete => "incomplete",
        }
    }
}

/// Two runs one after the other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    /// Number, from 1.
    pub number: u32,
    /// The use that was made of it.
    pub role: Role,
    /// True if the machine was busy.
    pub busy: bool,
    /// The side whose run came first: `a` or `b`.
    pub first: &'static str,
    /// The run of A.
    pub a: RunOfPair,
    /// The run of B.
    pub b: RunOfPair,
    /// `B / A` of the metric.
    pub ratio: Option<f64>,
}

/// A run of a pair.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RunOfPair {
    /// Path of its result, relative to the document.
    pub file: String,
    /// Value of the metric.
    pub value: Option<f64>,
    /// Checks that do not hold.
    pub checks_failed: u32,
    /// Reason why it does not count; empty if it does.
    pub note: String,
}

/// The ratio after some pairs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Look {
    /// Pairs that count.
    pub pairs: usize,
    /// Geometric mean of `B / A`.
    pub ratio: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Probability that this interval misses the true ratio.
    pub error: f64,
    /// True if the plan looks here; an interval between two looks decides nothing.
    pub decides: bool,
}

/// A number of both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Group: `latency`, `observed` or `statement`.
    pub group: &'static str,
    /// Name.
    pub name: String,
    /// Unit; may be empty.
    pub unit: String,
    /// Mean over the runs of A.
    pub a: f64,
    /// Mean over the runs of B.
    pub b: f64,
    /// Geometric mean of `B / A`; null if one side has none of it.
    pub ratio: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
}
