//! The phases of a plan: what each asked for, its totals, its rate and its queue.

use crate::cell::Cell;
use crate::column::{Column, Kind};
use crate::error::ExportError;
use crate::run::Run;
use crate::table::Rows;
use lydite_report::model::PhaseResult;

pub(super) const COLUMNS: [Column; 15] = [
    Column::number("phase", "number of the phase, from 1"),
    Column::document("phase_name", "name of the phase in the plan; null without one"),
    Column::place("from_s", Kind::Real, "begin, in seconds from the start of the window"),
    Column::place("to_s", Kind::Real, "end, likewise"),
    Column::document("asked", "the keys of the plan that it sets, as a JSON object"),
    Column::count("completed", "completed transactions of all types that were due in the phase"),
    Column::count("retries", "attempts after the first"),
    Column::count("failed", "transactions that ended with an error or an abort"),
    Column::count("unknown", "transactions of unknown outcome"),
    Column::count("aborts", "attempts that the database aborted"),
    Column::real("completed_per_s", "completed transactions per second"),
    Column::real("rate_asked_per_s", "requests per second that the plan wants (open)"),
    Column::real("rate_due_per_s", "requests per second that were due (open)"),
    Column::whole("queue_backlog", "requests that waited for a session at the end (open)"),
    Column::whole("queue_grew_by", "difference to their number at the begin (open)"),
];

pub(super) fn fill<'a>(run: &'a Run<'a>, rows: &mut Rows<'_, 'a>) -> Result<(), ExportError> {
    for (number, phase) in (1..).zip(&run.result.phases) {
        let asked = serde_json::to_string(&phase.asked).map_err(|error| rows.unwritten("a phase", error))?;
        rows.push(run.span(phase.from_s, phase.to_s), row(number, phase, asked))?;
    }
    Ok(())
}

fn row(number: u32, phase: &PhaseResult, asked: String) -> [Cell<'_>; COLUMNS.len()] {
    let rate = phase.controls.rate.as_ref();
    let queue = phase.controls.queue.as_ref();
    [
        number.into(),
        phase.name.as_deref().into(),
        phase.from_s.into(),
        phase.to_s.into(),
        asked.into(),
        PhaseResult::sum(&phase.transactions).into(),
        PhaseResult::sum(&phase.retries).into(),
        PhaseResult::sum(&phase.failed).into(),
        PhaseResult::sum(&phase.unknown).into(),
        PhaseResult::sum(&phase.aborts).into(),
        phase.tps.into(),
        rate.map(|rate| rate.asked_per_s).into(),
        rate.and_then(|rate| rate.actual.as_ref()).map(|actual| actual.due_per_s).into(),
        queue.map(|queue| queue.backlog).into(),
        queue.map(|queue| queue.grew_by).into(),
    ]
}
