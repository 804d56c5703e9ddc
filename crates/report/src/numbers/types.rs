//! The counts of a transaction type, as columns of the tables by type.

use crate::figures::{count, number, percent};
use crate::model::{RunResult, TransactionResult};

/// A count of a transaction type.
pub(crate) struct OfType {
    /// Head of its column.
    pub(crate) head: &'static str,
    /// Returns the value as text.
    pub(crate) text: fn(&RunResult, &TransactionResult) -> String,
    /// True if it stands before the latencies.
    pub(crate) leads: bool,
    /// True if the page shows it; the terminal's table shows all.
    pub(crate) on_page: bool,
    /// True if summaries in Markdown show it.
    pub(crate) in_summary: bool,
}

/// The counts, in the order of all views.
pub(crate) static OF_TYPE: [OfType; 7] = [
    OfType { head: "count", text: |_, t| count(t.completed()), leads: true, on_page: true, in_summary: true },
    OfType {
        head: "share %",
        text: |_, t| percent(t.share_percent),
        leads: true,
        on_page: false,
        in_summary: false,
    },
    OfType { head: "per min", text: per_minute, leads: true, on_page: true, in_summary: false },
    OfType { head: "retries", text: |_, t| count(t.retries), leads: false, on_page: true, in_summary: false },
    OfType {
        head: "rolled back",
        text: |_, t| count(t.rolled_back),
        leads: false,
        on_page: true,
        in_summary: false,
    },
    OfType { head: "failed", text: |_, t| count(t.failed), leads: false, on_page: true, in_summary: true },
    OfType { head: "unknown", text: |_, t| count(t.unknown), leads: false, on_page: true, in_summary: true },
];

fn per_minute(result: &RunResult, of: &TransactionResult) -> String {
    let minutes = result.window.measured_s / 60.0;
    if minutes > 0.0 { number(of.completed() as f64 / minutes) } else { "–".to_owned() }
}
