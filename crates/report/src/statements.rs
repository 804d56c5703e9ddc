//! Statements on which the servers spent the most time.

use crate::figures::nine_decimals;
use serde::{Deserialize, Serialize};

/// A statement, with the work for it in the window, by the server's own counts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StatementResult {
    /// Source, as in [`Observed`](crate::observed::Observed): `db`, or `db:HOST:PORT` for further servers.
    pub source: String,
    /// Text, with placeholders for values.
    pub text: String,
    /// Number of times that it ran.
    pub calls: u64,
    /// Mean time on the server, in milliseconds.
    pub mean_ms: f64,
    /// Rows that it returned or changed.
    pub rows: u64,
    /// Blocks that were read from outside of the server's cache; none if the server does not count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks_read: Option<u64>,
    /// Blocks that were found in the cache, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks_hit: Option<u64>,
}

impl StatementResult {
    /// Returns the total time on the server, in seconds.
    #[must_use]
    pub fn total_s(&self) -> f64 {
        nine_decimals(self.mean_ms * self.calls as f64 / 1e3)
    }
}
