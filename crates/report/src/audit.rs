//! The findings of an audit as its page shows them.

pub use crate::html::render_audit;

/// The contents of the page.
#[derive(Debug)]
pub struct AuditPage<'a> {
    /// Line about the database and the conditions of the audit.
    pub about: &'a str,
    /// `complete`, or `partial` if tests are missing.
    pub status: &'a str,
    /// Tests in their order.
    pub tests: Vec<AuditTest<'a>>,
}

/// A test on the page.
#[derive(Debug)]
pub struct AuditTest<'a> {
    /// Identifier.
    pub id: &'a str,
    /// Clause of the standard.
    pub clause: &'a str,
    /// Title of one line.
    pub title: &'a str,
    /// Rows of the test: `local` or `nodes`.
    pub scope: &'a str,
    /// Verdict in words.
    pub verdict: String,
    /// True if the database passed.
    pub good: bool,
    /// True if it failed.
    pub bad: bool,
    /// Case of the clause.
    pub case: Option<char>,
    /// Observation that decided the verdict.
    pub seen: &'a str,
    /// Steps in their order.
    pub steps: &'a [String],
    /// Duration, in seconds.
    pub seconds: f64,
}
