//! Second by second: throughput by type, latency, aborts, errors, sessions.

use super::at;
use crate::cell::Cell;
use crate::column::{Column, Kind};
use crate::error::ExportError;
use crate::run::{Run, Span};
use crate::table::Rows;
use lydite_report::RunResult;
use lydite_report::figures::nine_decimals;
use lydite_report::model::{PhaseResult, Series};
use lydite_tpcc::{DikeKind, StandardKind};

pub(super) const COLUMNS: [Column; 24] = [
    Column::key("window", "`warmup` or `measured`"),
    Column::place("second", Kind::Whole, "seconds from the start of the window; negative in the warm-up"),
    Column::place(
        "length_s",
        Kind::Real,
        "length of the second: 1, or less for the last one, and for the first of a warm-up",
    ),
    Column::place(
        "phase",
        Kind::Whole,
        "number of the phase, from 1; null without phases and in the warm-up",
    ),
    Column::document("phase_name", "name of the phase in the plan; null without one"),
    Column::count("completed", "completed transactions of all types"),
    Column::count("new_order", "completed New-Orders"),
    Column::count("payment", "completed Payments"),
    Column::count("order_status", "completed Order-Statuses"),
    Column::count("delivery", "completed Deliveries"),
    Column::count("stock_level", "completed Stock-Levels"),
    Column::count("update_stock", "completed dUpdateStocks"),
    Column::count("update_item", "completed dUpdateItems"),
    Column::count("update_balance", "completed dUpdateBalances"),
    Column::count("select_balance", "completed dSelectBalances"),
    Column::count("micro", "completed transactions of the microbenchmark"),
    Column::count("aborts", "attempts that the database aborted"),
    Column::count("errors", "failed transactions"),
    Column::count("unknown", "transactions of unknown outcome"),
    Column::real("new_order_p50_ms", "median latency of the second's New-Orders"),
    Column::real("new_order_p99_ms", "99th percentile of their latency"),
    Column::real("micro_p50_ms", "median latency of the second's transactions of the microbenchmark"),
    Column::real("micro_p99_ms", "99th percentile of their latency"),
    Column::whole("sessions_connected", "least number of connected sessions in the second"),
];

pub(super) fn fill<'a>(run: &'a Run<'a>, rows: &mut Rows<'_, 'a>) -> Result<(), ExportError> {
    let result = run.result;
    for (window, series) in [("warmup", &result.warmup_series), ("measured", &result.series)] {
        let is_warmup = window == "warmup";
        let totals = totals(series);
        for (index, second) in series.second.iter().enumerate() {
            let (from_s, to_s) = bounds(result, is_warmup, *second);
            let phase = if is_warmup { None } else { phase_of(result, from_s, to_s) };
            rows.push(
                run.span(from_s, to_s),
                row(window, series, index, (from_s, to_s), phase, totals.get(index)),
            )?;
        }
    }
    Ok(())
}

/// Returns the time of each second of the window.
pub(super) fn spans(run: &Run<'_>) -> Vec<(i64, Option<Span>)> {
    let of = |second: &i64| {
        let (from_s, to_s) = bounds(run.result, false, *second);
        (*second, run.span(from_s, to_s))
    };
    run.result.series.second.iter().map(of).collect()
}

/// Returns begin and end of a second: the first of a warm-up begins, and the last of a window ends within a second.
fn bounds(result: &RunResult, is_warmup: bool, second: i64) -> (f64, f64) {
    let (from, to) = (second as f64, second as f64 + 1.0);
    let window = &result.window;
    let series = if is_warmup { &result.warmup_series } else { &result.series };
    let is_short = |length_s| series.short_second_s(length_s).is_some();
    if is_warmup && series.second.first() == Some(&second) && is_short(window.warmup_s) {
        (-window.warmup_s, to)
    } else if !is_warmup && series.second.last() == Some(&second) && is_short(window.measured_s) {
        (from, window.measured_s)
    } else {
        (from, to)
    }
}

/// Returns the completed transactions of all types by second; empty if the result has them of none.
fn totals(series: &Series) -> Vec<u64> {
    if series.types().iter().all(|(_, of)| of.is_empty()) { Vec::new() } else { series.total() }
}

/// Returns the phase that holds the middle of a second, with its number.
fn phase_of(result: &RunResult, from_s: f64, to_s: f64) -> Option<(usize, &PhaseResult)> {
    let middle = f64::midpoint(from_s, to_s);
    let mut phases = (1..).zip(&result.phases);
    phases.find(|(_, phase)| (phase.from_s..phase.to_s).contains(&middle))
}

fn row<'a>(
    window: &'static str,
    series: &'a Series,
    index: usize,
    (from_s, to_s): (f64, f64),
    phase: Option<(usize, &'a PhaseResult)>,
    completed: Option<&u64>,
) -> [Cell<'a>; COLUMNS.len()] {
    let standard = |kind: StandardKind| at(series.of(kind), index);
    let dike = |kind: DikeKind| at(series.of(kind), index);
    [
        window.into(),
        at(&series.second, index),
        nine_decimals(to_s - from_s).into(),
        phase.map(|(number, _)| number).into(),
        phase.and_then(|(_, phase)| phase.name.as_deref()).into(),
        completed.copied().into(),
        standard(StandardKind::NewOrder),
        standard(StandardKind::Payment),
        standard(StandardKind::OrderStatus),
        standard(StandardKind::Delivery),
        standard(StandardKind::StockLevel),
        dike(DikeKind::UpdateStock),
        dike(DikeKind::UpdateItem),
        dike(DikeKind::UpdateBalance),
        dike(DikeKind::SelectBalance),
        at(&series.micro, index),
        at(&series.aborts, index),
        at(&series.errors, index),
        at(&series.unknown, index),
        at(&series.new_order_p50_ms, index),
        at(&series.new_order_p99_ms, index),
        at(&series.micro_p50_ms, index),
        at(&series.micro_p99_ms, index),
        at(&series.sessions_connected, index),
    ]
}
