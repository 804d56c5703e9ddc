//! The document of `lydite audit`, read back.

use crate::audit::{AuditPage, AuditTest};
use serde::Deserialize;
use std::path::Path;

/// The version of the document that this program reads.
const FORMAT: u64 = 1;

/// The document of an audit.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct AuditDocument {
    /// `complete`, or `partial` if tests are missing.
    pub status: String,
    /// Conditions of the audit.
    pub audit: Conditions,
    /// Findings of the tests.
    pub tests: Vec<Tested>,
}

/// The conditions of an audit.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Conditions {
    /// The database under test.
    pub target: Tried,
    /// Warehouses.
    pub warehouses: u64,
    /// Size of the warehouses.
    pub size: String,
    /// Nodes; `None` if they are not known.
    pub nodes: Option<u64>,
    /// True if loads and waits were short.
    pub quick: bool,
    /// Length of the load of the consistency test, in seconds.
    pub duration_s: f64,
    /// Terminals of that load.
    pub terminals: u64,
}

/// The database of an audit.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Tried {
    /// Family.
    pub kind: String,
    /// Version.
    pub version: String,
    /// URL without password.
    pub url: String,
    /// Isolation level.
    pub isolation: String,
}

/// The finding of a test.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Tested {
    /// Identifier, as `isolation-7`.
    pub id: String,
    /// Clause of the standard.
    pub clause: String,
    /// Title of one line.
    pub title: String,
    /// Rows of the test: `local` or `nodes`.
    pub scope: String,
    /// Steps in their order.
    pub steps: Vec<String>,
    /// Observation that decided the verdict.
    pub seen: String,
    /// Case of the clause.
    #[serde(default)]
    pub case: Option<char>,
    /// Verdict: `passed`, `failed`, `skipped` or `not_run`.
    pub verdict: String,
    /// Duration, in seconds.
    pub seconds: f64,
}

impl Tested {
    /// Returns true if the database passed.
    pub(crate) fn passed(&self) -> bool {
        self.verdict == "passed"
    }

    /// Returns true if the database failed.
    pub(crate) fn failed(&self) -> bool {
        self.verdict == "failed"
    }
}

impl AuditDocument {
    /// Reads a document from its text.
    ///
    /// # Errors
    /// The text is no document of an audit, or one of another format.
    pub fn from_json(text: &str, path: &Path) -> Result<Self, String> {
        let place = path.display();
        let json: serde_json::Value =
            serde_json::from_str(text).map_err(|error| format!("{place} is not an audit: {error}"))?;
        let advice = "name the file of `lydite audit URL --json FILE`";
        if json.get("audit").is_none() || json.get("tests").is_none() {
            return Err(format!("{place} is not an audit: {advice}"));
        }
        match json.get("format").and_then(serde_json::Value::as_u64) {
            Some(FORMAT) => {}
            found => {
                let found = found.map_or_else(|| "none".to_owned(), |format| format.to_string());
                return Err(format!("{place} has audit format {found}, this program reads format {FORMAT}"));
            }
        }
        serde_json::from_str(text).map_err(|error| format!("{place} is not an audit: {error}: {advice}"))
    }

    /// Returns the findings as the page of an audit shows them.
    pub(crate) fn page(&self) -> AuditPage<'_> {
        let tests = self.tests.iter().map(|test| AuditTest {
            id: &test.id,
            clause: &test.clause,
            title: &test.title,
            scope: &test.scope,
            verdict: test.verdict.replace('_', " "),
            good: test.passed(),
            bad: test.failed(),
            case: test.case,
            seen: &test.seen,
            steps: &test.steps,
            seconds: test.seconds,
        });
        AuditPage { about: &self.audit.target.url, status: &self.status, tests: tests.collect() }
    }
}
