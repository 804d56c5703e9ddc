//! The tables: a file and a row for each.

mod observed;
mod phase_transactions;
mod phases;
mod runs;
mod series;
mod statements;
mod transactions;

use crate::cell::Cell;
use crate::table::TableKind;
use lydite_report::model::Latency;

/// All tables, in the order of an export.
pub static TABLES: [TableKind; 7] = [
    TableKind {
        name: "runs",
        about: "a row for each result: its plan, its target and its totals",
        own: &runs::COLUMNS,
        fill: runs::fill,
    },
    TableKind {
        name: "series",
        about: "a row for each second, warm-up included",
        own: &series::COLUMNS,
        fill: series::fill,
    },
    TableKind {
        name: "transactions",
        about: "a row for each type of transaction: counts and percentiles of the window",
        own: &transactions::COLUMNS,
        fill: transactions::fill,
    },
    TableKind {
        name: "phases",
        about: "a row for each phase of the plan: what it asked for, its totals and its queue",
        own: &phases::COLUMNS,
        fill: phases::fill,
    },
    TableKind {
        name: "phase_transactions",
        about: "a row for each type of transaction in each phase",
        own: &phase_transactions::COLUMNS,
        fill: phase_transactions::fill,
    },
    TableKind {
        name: "statements",
        about: "a row for each statement on which a server spent the most time",
        own: &statements::COLUMNS,
        fill: statements::fill,
    },
    TableKind {
        name: "observed",
        about: "a row for each second of each value that was observed at the server or the machine",
        own: &observed::COLUMNS,
        fill: observed::fill,
    },
];

impl TableKind {
    /// Returns the table with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        TABLES.iter().find(|table| table.name == name)
    }
}

/// Returns the value of a second; null if the result has no such list.
fn at<'a, T: Copy + Into<Cell<'a>>>(list: &[T], index: usize) -> Cell<'a> {
    list.get(index).copied().into()
}

/// Returns a summary of times, in the order of its columns: mean, median, percentiles, greatest.
fn times<'a>(of: Option<&Latency>) -> [Cell<'a>; 7] {
    let of = of.copied().unwrap_or_default();
    [of.mean, of.p50, of.p90, of.p95, of.p99, of.p999, of.max].map(Cell::from)
}
