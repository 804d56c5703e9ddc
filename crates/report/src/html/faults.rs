//! The faults of a run on its page.

use super::markup::{Column, Markup, figures, table, words};
use crate::fault_words;
use crate::figures::{count, number};
use crate::model::{Around, RunResult};
use std::collections::BTreeMap;

/// Returns the content of the section; empty without faults.
pub(super) fn content(r: &RunResult) -> Markup {
    if r.faults.is_empty() {
        return Markup::default();
    }
    let rows = r.faults.iter().map(|fault| {
        let proof = format!("{}{}", if fault.ok { "" } else { "failed: " }, fault.detail);
        let (begin, end) = (precise(Some(fault.begin_s)), precise(fault.end_s));
        let cells = [fault.name(), begin, precise(fault.begun_s), end, precise(fault.undone_s), proof];
        cells.iter().map(|cell| Markup::text(cell)).collect()
    });
    let columns = [
        words("Fault"),
        figures("begin planned, s"),
        figures("measured"),
        figures("end planned, s"),
        figures("measured"),
        words("Proof"),
    ];
    let mut all = table("Faults that the run injected", &columns, rows.collect());
    all.push(periodic(r));
    all.push(throughput(r));
    all.push(around(r));
    all
}

/// Returns a table; empty without rows.
fn table_unless_empty(caption: &str, columns: &[Column], rows: Vec<Vec<Markup>>) -> Markup {
    if rows.is_empty() { Markup::default() } else { table(caption, columns, rows) }
}

/// Returns the faults that repeat, each over its occurrences; empty without any.
fn periodic(r: &RunResult) -> Markup {
    let cells = |of| fault_words::cells(of).iter().map(|cell| Markup::text(cell)).collect();
    let rows: Vec<Vec<Markup>> = r.periodic_faults.iter().map(cells).collect();
    let columns = [
        words("Fault"),
        words("began"),
        figures("ok"),
        figures("R_e"),
        figures("T_e"),
        figures("s to stable"),
        figures("tx/s during"),
    ];
    table_unless_empty(
        "Faults that repeat: medians over their occurrences (least to greatest)",
        &columns,
        rows,
    )
}

/// Returns the throughput before, during and after each fault that began, and the way back; empty without any.
fn throughput(r: &RunResult) -> Markup {
    let judged = r.availability.iter().filter_map(|of| Some((r.faults.get(of.fault)?, of)));
    // A fault alone is compared with all seconds before it.
    let several = r.availability.len() > 1;
    let rows: Vec<Vec<Markup>> = judged
        .map(|(fault, of)| {
            let mut cells = vec![fault.name()];
            if several {
                cells.extend([number(of.tps_normal), precise(of.steady_after_s)]);
            }
            cells.extend([
                number(of.tps_before),
                number(of.tps_during),
                number(of.tps_after),
                of.seconds_without_commit.to_string(),
                precise(of.first_commit_s),
                precise(of.recovery_s),
                precise(of.r_e),
                precise(of.r_e_during),
                precise(of.t_e),
                of.note.clone(),
            ]);
            cells.iter().map(|cell| Markup::text(cell)).collect()
        })
        .collect();
    let mut columns = vec![words("Fault")];
    if several {
        columns.extend([figures("steady tx/s before it"), figures("s to steady after the fault before")]);
    }
    columns.extend([
        figures("tx/s before"),
        figures("during"),
        figures("after"),
        figures("s without a commit"),
        figures("s to first commit"),
        figures("s to stable"),
        figures("R_e"),
        figures("R_e during"),
        figures("T_e"),
        words("Reason of a dash"),
    ]);
    table_unless_empty("Throughput before, during and after each fault", &columns, rows)
}

/// Returns a number with three decimals, or a dash.
fn precise(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.3}"))
}

/// Returns the latencies and aborts before, during and after each fault; empty if the run has none.
fn around(r: &RunResult) -> Markup {
    let judged = r.availability.iter().filter_map(|of| Some((r.faults.get(of.fault)?, of)));
    let rows: Vec<Vec<Markup>> = judged
        .filter(|(_, of)| of.p99_ms != Around::default() || of.aborts != Around::default())
        .map(|(fault, of)| {
            let (p99, aborts) = (&of.p99_ms, &of.aborts);
            let cells = [
                fault.name(),
                number(p99.before),
                number(p99.during),
                number(p99.after),
                reasons(&aborts.before),
                reasons(&aborts.during),
                reasons(&aborts.after),
            ];
            cells.iter().map(|cell| Markup::text(cell)).collect()
        })
        .collect();
    let columns = [
        words("Fault"),
        figures("p99 before, ms"),
        figures("during"),
        figures("after"),
        words("Aborts before"),
        words("Aborts during"),
        words("Aborts after"),
    ];
    table_unless_empty(
        "99th percentile of New-Order, and aborted attempts, around each fault",
        &columns,
        rows,
    )
}

/// Returns the counts of aborts by reason, in words.
fn reasons(aborts: &BTreeMap<String, u64>) -> String {
    let counted = aborts.iter().filter(|(_, count)| **count > 0);
    let all: Vec<String> = counted.map(|(reason, times)| format!("{} {reason}", count(*times))).collect();
    if all.is_empty() { "–".to_owned() } else { all.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{FaultAvailability, FaultResult};

    #[test]
    fn latencies_and_aborts_around_a_fault_have_a_table_of_their_own() {
        let note = "throughput did not become stable again";
        let mut of = FaultAvailability { note: note.into(), ..FaultAvailability::default() };
        let mut run = RunResult {
            faults: vec![FaultResult { kind: "stop".into(), place: "lab:pg".into(), ..Default::default() }],
            availability: vec![of.clone()],
            ..RunResult::default()
        };
        assert!(!content(&run).into_html().contains("around each fault"));
        (of.p99_ms.before, of.p99_ms.after) = (Some(58.2), Some(108.0));
        of.aborts.during = [("deadlock".to_owned(), 2), ("serialization".to_owned(), 1_383)].into();
        run.availability = vec![of];
        let page = content(&run).into_html();
        assert!(
            page.contains("around each fault") && page.contains("58.2") && page.contains("108"),
            "{page}"
        );
        assert!(page.contains("2 deadlock, 1,383 serialization"), "{page}");
        assert!(
            page.contains("Throughput before, during and after each fault") && page.contains(note),
            "{page}"
        );
    }
}
