//! Counts and times of each type of transaction over the window.

use super::times;
use crate::cell::Cell;
use crate::column::Column;
use crate::error::ExportError;
use crate::run::Run;
use crate::table::Rows;
use lydite_report::model::TransactionResult;

pub(super) const COLUMNS: [Column; 37] = [
    Column::key("transaction", "type: `new_order`, … or `micro`"),
    Column::count("committed", "committed transactions"),
    Column::count("rolled_back", "transactions that rolled back as the standard wants"),
    Column::count("completed", "both"),
    Column::count("retries", "attempts after the first"),
    Column::count("failed", "transactions that ended with an error or an abort"),
    Column::count("unknown", "transactions of unknown outcome"),
    Column::real("share_percent", "share of all completed transactions"),
    Column::real("completed_per_s", "completed transactions per second of the window"),
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
    Column::real("service_mean_ms", "mean of the time from then until answered"),
    Column::real("service_p50_ms", "median of the time from then until answered"),
    Column::real("service_p90_ms", "90th percentile of the time from then until answered"),
    Column::real("service_p95_ms", "95th percentile of the time from then until answered"),
    Column::real("service_p99_ms", "99th percentile of the time from then until answered"),
    Column::real("service_p999_ms", "99.9th percentile of the time from then until answered"),
    Column::real("service_max_ms", "greatest of the time from then until answered"),
    Column::real("interactive_mean_ms", "mean of the time until the user of a Delivery had an answer (rte)"),
    Column::real("interactive_p50_ms", "median of the time until the user of a Delivery had an answer (rte)"),
    Column::real(
        "interactive_p90_ms",
        "90th percentile of the time until the user of a Delivery had an answer (rte)",
    ),
    Column::real(
        "interactive_p95_ms",
        "95th percentile of the time until the user of a Delivery had an answer (rte)",
    ),
    Column::real(
        "interactive_p99_ms",
        "99th percentile of the time until the user of a Delivery had an answer (rte)",
    ),
    Column::real(
        "interactive_p999_ms",
        "99.9th percentile of the time until the user of a Delivery had an answer (rte)",
    ),
    Column::real(
        "interactive_max_ms",
        "greatest of the time until the user of a Delivery had an answer (rte)",
    ),
];

pub(super) fn fill<'a>(run: &'a Run<'a>, rows: &mut Rows<'_, 'a>) -> Result<(), ExportError> {
    for (name, of) in run.result.types_in_order() {
        rows.push(run.window(), row(name, of, run.result.window.measured_s))?;
    }
    Ok(())
}

fn row<'a>(name: &'a str, of: &TransactionResult, measured_s: f64) -> [Cell<'a>; COLUMNS.len()] {
    let completed = of.completed();
    let per_s = (measured_s > 0.0).then(|| completed as f64 / measured_s);
    let [l0, l1, l2, l3, l4, l5, l6] = times(Some(&of.latency_ms));
    let [q0, q1, q2, q3, q4, q5, q6] = times(Some(&of.queue_ms));
    let [s0, s1, s2, s3, s4, s5, s6] = times(Some(&of.service_ms));
    let [i0, i1, i2, i3, i4, i5, i6] = times(of.interactive_ms.as_ref());
    [
        name.into(),
        of.committed.into(),
        of.rolled_back.into(),
        completed.into(),
        of.retries.into(),
        of.failed.into(),
        of.unknown.into(),
        of.share_percent.into(),
        per_s.into(),
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
        s0,
        s1,
        s2,
        s3,
        s4,
        s5,
        s6,
        i0,
        i1,
        i2,
        i3,
        i4,
        i5,
        i6,
    ]
}
