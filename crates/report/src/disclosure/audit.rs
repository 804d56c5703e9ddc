//! The document of `lydite audit`, read back.

use crate::audit::{AuditPage, AuditTest};
use crate::compare::differing;
use crate::document_kind::DocumentKind;
use crate::model::RunResult;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// The version of the document that this program reads.
const FORMAT: u64 = 1;

/// The four properties of clause 3, as the identifiers of their tests begin.
pub(crate) const PROPERTIES: [&str; 4] = ["atomicity", "consistency", "isolation", "durability"];

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
    /// Begin of the tests, RFC 3339; empty if it is not known.
    #[serde(default)]
    pub start: String,
    /// The database under test.
    pub target: Tried,
    /// Warehouses.
    pub warehouses: u64,
    /// Size of the warehouses.
    pub size: String,
    /// URLs of the replicas that it tested, without passwords.
    #[serde(default)]
    pub replicas: Vec<String>,
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
    /// Settings that matter for speed and durability.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
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
    /// Load of the test, if it had one.
    #[serde(default)]
    pub load: Option<TestLoad>,
    /// Verdict: `passed`, `failed`, `skipped` or `not_run`.
    pub verdict: String,
    /// Duration, in seconds.
    pub seconds: f64,
}

/// The load of a test.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct TestLoad {
    /// New-Orders per minute.
    pub nopm: f64,
    /// True if a checkpoint was seen meanwhile; `None` if that is not known.
    pub checkpoint: Option<bool>,
}

impl Tested {
    /// Returns true if the test is one of clause 3, not of the data and the inputs.
    pub(crate) fn is_acid(&self) -> bool {
        PROPERTIES.iter().any(|property| self.id.starts_with(property))
    }

    /// Returns true if the database passed.
    pub(crate) fn passed(&self) -> bool {
        self.verdict == "passed"
    }

    /// Returns true if the test has a verdict on the database.
    pub(crate) fn ran(&self) -> bool {
        self.passed() || self.failed()
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
        if DocumentKind::of(&json) != Some(DocumentKind::Audit) {
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

    /// Returns the counts of the tests of clause 3 by verdict, in words.
    pub(crate) fn acid_counts(&self) -> String {
        let count = |chosen: fn(&Tested) -> bool| {
            self.tests.iter().filter(|test| test.is_acid() && chosen(test)).count()
        };
        let (all, passed, failed) = (count(|_| true), count(Tested::passed), count(Tested::failed));
        format!("{passed} passed, {failed} failed, {} not run", all - passed - failed)
    }

    /// Returns the server settings that a result has with other values, each with both.
    #[must_use]
    pub fn differing_settings(&self, result: &RunResult) -> Vec<String> {
        // The audit plays statements, whatever the run plays.
        let known = |key: &str| key != "tx" && result.target.settings.contains_key(key);
        let ours = self.audit.target.settings.iter().filter(|(key, _)| known(key));
        let ours: BTreeMap<String, String> = ours.map(|(key, value)| (key.clone(), value.clone())).collect();
        let theirs = result.target.settings.iter().filter(|(key, _)| ours.contains_key(*key));
        let theirs = theirs.map(|(key, value)| (key.clone(), value.clone())).collect();
        differing(&ours, &theirs).into_iter().map(|(_, text)| text).collect()
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
