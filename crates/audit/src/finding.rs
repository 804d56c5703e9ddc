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
        /// The test could not be made; the reason is in what was seen.
        NotRun = "not_run",
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
    /// The verdict.
    pub verdict: Verdict,
    /// Duration, in seconds.
    pub seconds: f64,
}

impl Finding {
    /// Returns the finding of a test that has not been made.
    pub(crate) fn not_made() -> Self {
        Self {
            id: "",
            clause: "",
            title: "",
            scope: Scope::Local,
            steps: Vec::new(),
            seen: String::new(),
            case: None,
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
    /// The test could not be made.
    NotRun(String),
    /// The database is away; no later test can be made.
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
