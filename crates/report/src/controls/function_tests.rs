//! Function tests before a run.

use serde::{Deserialize, Serialize};

/// A function test before the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FunctionTest {
    /// Name.
    pub test: String,
    /// Verdict.
    pub verdict: TestVerdict,
    /// Observations, or the reason why it failed: one line.
    #[serde(default)]
    pub detail: String,
    /// Duration.
    #[serde(default)]
    pub seconds: f64,
}

/// Verdict of a function test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TestVerdict {
    /// The database passes.
    Passed,
    /// The database fails, or the test proved nothing.
    Failed,
    /// Deadlocks end by a timeout; the database does not detect them.
    Timeout,
    /// The test was not made, or was interrupted.
    Skipped,
}
