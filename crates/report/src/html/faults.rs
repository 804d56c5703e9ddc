//! The faults of a run on its page.

use super::markup::{Markup, figures, table, words};
use crate::figures::number;
use crate::model::RunResult;

/// Returns the content of the section; empty without faults.
pub(super) fn content(r: &RunResult) -> Markup {
    if r.faults.is_empty() {
        return Markup::default();
    }
    let seconds = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.3}"));
    let rows = r.faults.iter().enumerate().map(|(index, fault)| {
        let judged = r.availability.iter().find(|of| of.fault == index);
        let cells = [
            fault.name(),
            seconds(fault.begun_s),
            seconds(fault.undone_s),
            number(judged.and_then(|of| of.tps_before)),
            number(judged.and_then(|of| of.tps_during)),
            number(judged.and_then(|of| of.tps_after)),
            judged.map_or("–".to_owned(), |of| of.seconds_without_commit.to_string()),
            seconds(judged.and_then(|of| of.first_commit_s)),
            seconds(judged.and_then(|of| of.recovery_s)),
            seconds(judged.and_then(|of| of.r_e)),
            seconds(judged.and_then(|of| of.r_e_during)),
            seconds(judged.and_then(|of| of.t_e)),
            format!("{}{}", if fault.ok { "" } else { "failed: " }, fault.detail),
        ];
        cells.iter().map(|cell| Markup::text(cell)).collect()
    });
    let columns = [
        words("Fault"),
        figures("begun at s"),
        figures("undone at s"),
        figures("tx/s before"),
        figures("tx/s during"),
        figures("tx/s after"),
        figures("seconds without a commit"),
        figures("first commit after s"),
        figures("stable after s"),
        figures("R_e"),
        figures("R_e during"),
        figures("T_e"),
        words("Proof"),
    ];
    table("Faults that the run injected", &columns, rows.collect())
}
