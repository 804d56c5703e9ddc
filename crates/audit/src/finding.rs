//! Findings: what a test did, what it saw, and the verdict.

use lydite_tpcc::named_enum;
use serde::Serialize;
use std::time::Instant;

named_enum! {
    /// A property of clause 3.1, or the data. The names are those of `--only`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Property {
        /// Clause 9.2.2: stored rows and inputs are as the standard says.
        Data = "data",
        /// Clause 3.2: all or nothing.
        Atomicity = "atomicity",
        /// Clause 3.3: the consistency conditions.
        Consistency = "consistency",
        /// Clause 3.4: no transaction is disturbed by another one.
        Isolation = "isolation",
        /// Clause 3.5: what is committed survives failures.
        Durability = "durability",
    }
}

named_enum! {
    /// The rows of a test.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Scope {
        /// All rows are on one node.
        Local = "local",
        /// Transactions span two nodes (clause 3.1.3).
        Nodes = "nodes",
        /// Transactions span two engines.
        Engines = "engines",
    }
}

named_enum! {
    /// Verdict on a test.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Verdict {
        /// The database behaves as the clause requires.
        Passed = "passed",
        /// It does not.
        Failed = "failed",
        /// The test was broken off by the user.
        Skipped = "skipped",
        /// The test could not be run; the reason is in what was seen.
        NotRun = "not_run",
    }
}

/// The load of a test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LoadFacts {
    /// Duration, in seconds.
    pub seconds: f64,
    /// New-Orders that were committed or rolled back.
    pub new_orders: u64,
    /// The same for each minute.
    pub nopm: f64,
    /// True if a checkpoint was seen meanwhile; `None` if the database reports none, or was not asked.
    pub checkpoint: Option<bool>,
}

impl LoadFacts {
    pub(crate) fn new(seconds: f64, new_orders: u64, checkpoint: Option<bool>) -> Self {
        Self { seconds, new_orders, nopm: new_orders as f64 * 60.0 / seconds, checkpoint }
    }
}

/// Finding of one test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Identifier, as `isolation-7`.
    pub id: &'static str,
    /// Clause of the standard.
    pub clause: &'static str,
    /// Title of one line.
    pub title: &'static str,
    /// Rows of the test.
    pub scope: Scope,
    /// Steps that were done, in order, each with its answer.
    pub steps: Vec<String>,
    /// Observation that decided the verdict, in one line.
    pub seen: String,
    /// Case of the clause, A to D, where it names cases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case: Option<char>,
    /// Load of the test, if it had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadFacts>,
    /// The verdict.
    pub verdict: Verdict,
    /// Duration, in seconds.
    pub seconds: f64,
}

impl Finding {
    /// Returns the finding of a test that has not begun.
    pub(crate) fn of(id: &'static str, clause: &'static str, title: &'static str, scope: Scope) -> Self {
        Self {
            id,
            clause,
            title,
            scope,
            steps: Vec::new(),
            seen: String::new(),
            case: None,
            load: None,
            verdict: Verdict::NotRun,
            seconds: 0.0,
        }
    }

    /// Returns the finding with the end of its test.
    pub(crate) fn ended(self, ended: Result<Seen, Trouble>, steps: Vec<String>, begun: Instant) -> Self {
        let (verdict, Seen { words, case }) = match ended {
            Ok(seen) => (Verdict::Passed, seen),
            Err(Trouble::Failed(words)) => (Verdict::Failed, Seen::plain(words)),
            Err(Trouble::NotRun(words) | Trouble::Lost(words)) => (Verdict::NotRun, Seen::plain(words)),
            Err(Trouble::Stopped) => (Verdict::Skipped, Seen::plain("interrupted")),
        };
        Self { steps, seen: words, case, verdict, seconds: begun.elapsed().as_secs_f64(), ..self }
    }
}

/// Good end of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Observation in one line.
    pub(crate) words: String,
    /// Case of the clause.
    pub(crate) case: Option<char>,
}

impl Seen {
    /// Makes an observation without a case.
    pub(crate) fn plain(words: impl Into<String>) -> Self {
        Self { words: words.into(), case: None }
    }

    /// Makes the observation of a case.
    pub(crate) fn case(case: char, words: impl Into<String>) -> Self {
        Self { words: words.into(), case: Some(case) }
    }
}

/// Any other end of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The database does not behave as the clause requires.
    Failed(String),
    /// The test could not be run.
    NotRun(String),
    /// The database is away; no later test can be run.
    Lost(String),
    /// The user stopped the test.
    Stopped,
}

impl Trouble {
    /// Returns it in words.
    pub(crate) fn words(&self) -> &str {
        match self {
            Self::Failed(words) | Self::NotRun(words) | Self::Lost(words) => words,
            Self::Stopped => "the user stopped the test",
        }
    }
}
