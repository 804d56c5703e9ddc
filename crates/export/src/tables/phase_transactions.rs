//! Counts and times of each type of transaction in each phase of the plan.

use super::times;
use crate::cell::Cell;
use crate::column::{Column, Kind};
use crate::error::ExportError;
use crate::run::Run;
use crate::table::Rows;
use lydite_report::RunResult;
use lydite_report::model::PhaseResult;

pub(super) const COLUMNS: [Column; 23] = [
    Column::number("phase", "number of the phase, from 1"),
    Column::key("transaction", "type: `new_order`, … or `micro`"),
    Column::document("phase_name", "name of the phase in the plan; null without one"),
    Column::place("from_s", Kind::Real, "begin, in seconds from the start of the window"),
    Column::place("to_s", Kind::Real, "end, likewise"),
    Column::count("completed", "completed transactions that were due in the phase"),
    Column::count("retries", "attempts after the first"),
    Column::count("failed", "transactions that ended with an error or an abort"),
    Column::count("unknown", "transactions of unknown outcome"),
    Column::real("latency_mean_ms", "mean of the time from due to answered"),
    Column::real("latency_p50_ms", "median of the time from due to answered"),
    Column::real("latency_p90_ms", "90th percentile of the time from due to answered"),
    Column::real("latency_p95_ms", "95th percentile of the time from due to answered"),
    Column::real("latency_p99_ms", "99th percentile of the time from due to answered"),
    Column::real("latency_p999_ms", "99.9th percentile of the time from due to answered"),
    Column::real("latency_max_ms", "greatest of the time from due to answered"),
    Column::real("queue_mean_ms", "mean of the time from due until a session took it"),
    Column::real("queue_p50_ms", "median of the time from due until a session took it"),
    Column::real("queue_p90_ms", "90th percentile of the time from due until a session took it"),
    Column::real("queue_p95_ms", "95th percentile of the time from due until a session took it"),
    Column::real("queue_p99_ms", "99th percentile of the time from due until a session took it"),
    Column::real("queue_p999_ms", "99.9th percentile of the time from due until a session took it"),
    Column::real("queue_max_ms", "greatest of the time from due until a session took it"),
];

pub(super) fn fill<'a>(run: &'a Run<'a>, rows: &mut Rows<'_, 'a>) -> Result<(), ExportError> {
    for (number, phase) in (1..).zip(&run.result.phases) {
        for name in types(run.result, phase) {
            rows.push(run.span(phase.from_s, phase.to_s), row(number, name, phase))?;
        }
    }
    Ok(())
}

/// Returns the types that a phase has, in the order of the result.
fn types<'a>(result: &'a RunResult, phase: &'a PhaseResult) -> Vec<&'a str> {
    let mut types: Vec<&str> = result.types_in_order().into_iter().map(|(name, _)| name).collect();
    types.retain(|name| phase.transactions.contains_key(*name));
    // Those that the whole run does not name.
    let others =
        phase.transactions.keys().map(String::as_str).filter(|name| !result.transactions.contains_key(*name));
    types.extend(others);
    types
}

fn row<'a>(number: u32, name: &'a str, phase: &'a PhaseResult) -> [Cell<'a>; COLUMNS.len()] {
    let [l0, l1, l2, l3, l4, l5, l6] = times(phase.latency_ms.get(name));
    let [q0, q1, q2, q3, q4, q5, q6] = times(phase.queue_ms.get(name));
    [
        number.into(),
        name.into(),
        phase.name.as_deref().into(),
        phase.from_s.into(),
        phase.to_s.into(),
        phase.transactions.get(name).copied().into(),
        phase.retries.get(name).copied().into(),
        phase.failed.get(name).copied().into(),
        phase.unknown.get(name).copied().into(),
        l0,
        l1,
        l2,
        l3,
        l4,
        l5,
        l6,
        q0,
        q1,
        q2,
        q3,
        q4,
        q5,
        q6,
    ]
}
