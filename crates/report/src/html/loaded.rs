//! The phases, tables and batches of a load, on its own page and on that of a run.

use super::markup::{Markup, figures, table, words};
use crate::figures::{P50, P90, P95, P99, P999, bytes, count, number};
use crate::model::LoadInfo;

pub(super) fn phases(load: &LoadInfo) -> Markup {
    if load.phases.is_empty() {
        return Markup::default();
    }
    let rows = load.phases.iter().map(|phase| {
        let length = phase.to_s - phase.from_s;
        let share = if load.seconds > 0.0 { 100.0 * length / load.seconds } else { 0.0 };
        let numbers = [phase.from_s, phase.to_s, length, share].map(|value| Markup::text(&number(value)));
        std::iter::once(Markup::text(&phase.name)).chain(numbers).collect()
    });
    let columns =
        [words("Phase"), figures("from s"), figures("to s"), figures("seconds"), figures("% of the load")];
    table("Phases of the load", &columns, rows.collect())
}

pub(super) fn tables(load: &LoadInfo) -> Markup {
    if load.by_table.is_empty() {
        return Markup::default();
    }
    let rows = load.by_table.iter().map(|of| {
        let each = if of.rows > 0 { of.bytes as f64 / of.rows as f64 } else { 0.0 };
        let share = if load.bytes > 0 { 100.0 * of.bytes as f64 / load.bytes as f64 } else { 0.0 };
        [of.table.clone(), count(of.rows), bytes(of.bytes), number(each), number(share)]
            .map(|cell| Markup::text(&cell))
            .to_vec()
    });
    let columns = [
        words("Table"),
        figures("rows"),
        figures("data sent"),
        figures("bytes a row"),
        figures("% of the data"),
    ];
    table("Rows of each table", &columns, rows.collect())
}

pub(super) fn batches(load: &LoadInfo) -> Markup {
    let of = &load.batches;
    if of.count == 0 {
        return Markup::default();
    }
    let l = of.latency_ms;
    let shares = [(P50, l.p50), (P90, l.p90), (P95, l.p95), (P99, l.p99), (P999, l.p999)];
    let mut cells = vec![count(of.count), number(l.mean)];
    cells.extend(shares.map(|(share, value)| share.text(of.count, value)));
    cells.push(number(l.max));
    let columns = ["batches", "mean", "p50", "p90", "p95", "p99", "p99.9", "greatest"].map(figures);
    let row = cells.iter().map(|cell| Markup::text(cell)).collect();
    let mut all = table("Latency of batches in ms", &columns, vec![row]);
    all.push(Markup::with_text(
        "p",
        &[("class", "note")],
        "A batch is what a loader sends before it waits for the database. Its latency is the time from its first row to \
         the database's answer.",
    ));
    all
}
