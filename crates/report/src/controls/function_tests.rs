//! Function tests before a run.

use serde::{Deserialize, Serialize};

/// A function test that was made before the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FunctionTest {
    /// Its name.
    pub test: String,
    /// Its verdict.
    pub verdict: TestVerdict,
    /// Observations, or the reason why it failed: one line.
    #[serde(default)]
    pub detail: String,
    /// Its length.
    #[serde(default)]
    pub seconds: f64,
}

/// Verdict of a function test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TestVerdict {
    /// The database does what it must.
    Passed,
    /// The database does not, or nothing could be proved.
    Failed,
    /// Deadlocks end because somebody has waited long enough, and not because they are found.
    Timeout,
    /// The test was not made, or broken off.
    Skipped,
}
