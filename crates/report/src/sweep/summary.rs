//! The summary of a sweep as a table for the terminal and as CSV.

use std::fmt::Write as _;

use super::figure::Figure;
use super::{Spread, State, Sweep};
use crate::figures::{aligned, clean, number};
use crate::metric::Metric;

/// Returns the median, the least and greatest values if they differ, and the number of runs if complete runs lack it.
fn cell(spread: Option<&Spread>, complete: usize) -> String {
    let Some(spread) = spread else { return "–".to_owned() };
    let mut text = number(spread.median);
    if spread.min < spread.max {
        let _ = write!(text, " ({}–{})", number(spread.min), number(spread.max));
    }
    if (spread.runs as usize) < complete {
        let _ = write!(text, " of {}", spread.runs);
    }
    text
}

/// Renders the points with their medians, and the least and greatest values if there are several runs.
#[must_use]
pub fn render_summary(sweep: &Sweep) -> String {
    let heading = |name: &String| {
        Metric::parse(name).map_or_else(
            |_| name.clone(),
            |metric| match metric.unit() {
                "" => name.clone(),
                unit => format!("{name}, {unit}"),
            },
        )
    };
    let mut rows: Vec<Vec<String>> = vec![
        ["point".to_owned(), "runs".to_owned()]
            .into_iter()
            .chain(sweep.metrics.iter().map(heading))
            .collect(),
    ];
    for point in &sweep.points {
        let complete = point.runs_in(State::Complete);
        let done = format!("{complete}/{}", point.runs.len());
        let cells = sweep.metrics.iter().map(|name| cell(point.metrics.get(name), complete));
        rows.push([clean(&point.label), done].into_iter().chain(cells).collect());
    }
    let mut out = format!("{}\n\n{}", clean(&sweep.title), aligned(&rows, 1));
    let judged: Vec<String> = sweep.figures.iter().filter_map(judged).collect();
    if !judged.is_empty() {
        let _ = write!(out, "\n{}", judged.concat());
    }
    let remarks = sweep.remarks();
    if !remarks.is_empty() {
        out.push('\n');
    }
    for remark in remarks {
        let _ = writeln!(out, "! {}", clean(&remark));
    }
    out
}

/// Returns the verdict on the claim of a figure as a line; none without a claim.
fn judged(figure: &Figure) -> Option<String> {
    let (claim, verdict) = (figure.spec.claim.as_ref()?, figure.verdict.as_ref()?);
    let (title, text) = (clean(&figure.spec.title), clean(&claim.text));
    Some(format!("{title}: {}: {text}\n", verdict.outcome.words()))
}

/// Renders the points as CSV (RFC 4180): the label, the axes, the number of runs in each state, and for each metric the
/// median, the least, the greatest and the number of runs.
#[must_use]
pub fn render_csv(sweep: &Sweep) -> String {
    let mut header = vec!["point".to_owned()];
    header.extend(sweep.axes.iter().map(|axis| axis.name.clone()));
    header.extend(["complete", "partial", "failed", "missing", "checks_failed"].map(str::to_owned));
    for metric in &sweep.metrics {
        header.extend(["median", "min", "max", "runs"].map(|what| format!("{metric}.{what}")));
    }
    let mut out = record(&header);
    for point in &sweep.points {
        let mut row = vec![point.label.clone()];
        row.extend(point.at.iter().cloned());
        row.extend(
            [State::Complete, State::Partial, State::Failed, State::Missing]
                .map(|state| point.runs_in(state).to_string()),
        );
        row.push(point.runs.iter().map(|run| run.checks_failed).sum::<u32>().to_string());
        for metric in &sweep.metrics {
            match point.metrics.get(metric) {
                Some(spread) => {
                    row.extend([spread.median, spread.min, spread.max].map(|value| value.to_string()));
                    row.push(spread.runs.to_string());
                }
                None => row.extend([const { String::new() }; 3].into_iter().chain(["0".to_owned()])),
            }
        }
        out.push_str(&record(&row));
    }
    out
}

fn record(fields: &[String]) -> String {
    let quoted = fields.iter().map(|field| {
        if field.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            field.clone()
        }
    });
    format!("{}\r\n", quoted.collect::<Vec<_>>().join(","))
}
