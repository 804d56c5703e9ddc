//! Groups of runs for a terminal, and the rows that all renderings share.

use std::fmt::Write as _;

use super::model::{GroupGate, GroupMetric, GroupsComparison, Interval, Outcome, Quantity};
use crate::figures::{THIN_NOTE, aligned, clean, number, plural};
use crate::numbers::Number;
use crate::verdict::Verdict;

/// Explains the cells of a number whose ratio does not exist.
pub(super) const DIFFERENCE_NOTE: &str =
    "Δ: a run has 0 of it, so this is the difference, with the interval of the difference";

/// Explains the intervals of the table.
pub(super) const INTERVALS_NOTE: &str = "Each interval misses its true value with 5 %, so of 20 numbers about one differs \
                                         by chance: decide beforehand which ones count.";

/// Renders groups for a terminal: their files, the warnings, the answers, the numbers, the method, the gates.
#[must_use]
pub fn render_groups(found: &GroupsComparison) -> String {
    let mut out = String::new();
    for group in &found.groups {
        let runs = plural(group.runs as u64, "run");
        let line = format!("{}\u{a0}{} ({runs}): {}", group.letter, group.name, group.files.join(", "));
        let _ = writeln!(out, "{}", clean(&line));
    }
    out.push('\n');
    for warning in &found.warnings {
        // Settings and versions come from a database: no control characters reach the terminal.
        let _ = writeln!(out, "! {}", clean(warning));
    }
    out.push_str(if found.warnings.is_empty() { "" } else { "\n" });
    for answer in &found.verdicts {
        let _ = writeln!(out, "{}", clean(&answer.sentence));
        let _ = writeln!(out, "{}: {}.", answer.other, clean(&answer.why));
    }
    out.push('\n');
    let mut head = vec![String::new()];
    head.extend(group_columns(found));
    out.push_str(&aligned(&std::iter::once(head).chain(group_rows(found)).collect::<Vec<_>>(), 1));
    for note in notes(found) {
        let _ = writeln!(out, "{note}");
    }
    if !found.gates.is_empty() {
        out.push('\n');
    }
    for gate in &found.gates {
        let _ = writeln!(out, "{} {}", mark(gate.outcome), gate_line(gate));
    }
    out
}

/// Returns a gate in one line: the condition, then what was found.
#[must_use]
pub fn gate_line(gate: &GroupGate) -> String {
    format!("{}: {}", gate.text, gate.words)
}

/// Returns the mark of an outcome.
pub(super) fn mark(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "✓",
        Outcome::Failed => "✗",
        Outcome::Undecided => "?",
    }
}

/// Returns the notes below the numbers.
pub(crate) fn notes(found: &GroupsComparison) -> Vec<String> {
    let few = found.metrics.iter().any(|metric| metric.few_samples.contains(&true));
    let of_differences = found.metrics.iter().any(is_difference);
    let with_intervals = found.metrics.iter().any(|metric| metric.interval.is_some());
    let missing = found.metrics.iter().filter(|metric| metric.note.starts_with("missing"));
    let missing = missing.map(|metric| format!("{} is {}", metric.title, metric.note));
    let fixed = [(few, THIN_NOTE), (of_differences, DIFFERENCE_NOTE), (with_intervals, INTERVALS_NOTE)];
    missing.chain(fixed.into_iter().filter(|(is, _)| *is).map(|(_, note)| note.to_owned())).collect()
}

/// Returns the heads of the columns after the name.
pub(crate) fn group_columns(found: &GroupsComparison) -> Vec<String> {
    let mut groups = found.groups.iter().map(|group| group.letter.clone());
    let first = groups.next().unwrap_or_default();
    let others = groups.flat_map(|other| {
        let ratio = format!("{other}/{first}");
        [other, ratio, "95 % over runs".to_owned(), "verdict".to_owned()]
    });
    std::iter::once(first.clone()).chain(others.collect::<Vec<_>>()).collect()
}

/// Returns a row for each number: its name, A's mean, and for each other group the mean, the ratio, the interval and the
/// verdict.
pub(crate) fn group_rows(found: &GroupsComparison) -> Vec<Vec<String>> {
    let mut titles: Vec<&str> = Vec::new();
    for metric in &found.metrics {
        if !titles.contains(&&*metric.title) {
            titles.push(&metric.title);
        }
    }
    titles.into_iter().map(|title| row(title, found)).collect()
}

fn row(title: &str, found: &GroupsComparison) -> Vec<String> {
    let text = Number::compared_as(title).map_or(number as fn(Option<f64>) -> String, |number| number.text);
    let value = |of: Option<f64>, few: bool| {
        let mark = if few && of.is_some() { "~" } else { "" };
        format!("{mark}{}", text(of))
    };
    let of = |other: &str| found.metrics.iter().find(|metric| metric.title == title && metric.other == other);
    let others = || found.groups.iter().skip(1);
    // A's mean depends on its runs alone, but for the kind of mean where another group has a 0.
    let first = others().find_map(|group| of(&group.letter));
    let mut cells = vec![title.to_owned()];
    cells.push(first.map_or_else(|| "–".to_owned(), |metric| value(metric.a, metric.few_samples[0])));
    for group in others() {
        match of(&group.letter) {
            Some(metric) => {
                cells.push(value(metric.b, metric.few_samples[1]));
                cells.extend(ratio_cells(metric));
            }
            None => cells.extend(std::iter::repeat_n("–".to_owned(), 4)),
        }
    }
    cells
}

/// Returns the ratio, its interval and the verdict of a number; the difference where there is no ratio.
fn ratio_cells(metric: &GroupMetric) -> [String; 3] {
    let sign = |value: f64| match value {
        v if v < 0.0 => "-",
        v if v > 0.0 => "+",
        _ => "",
    };
    let signed = |value: f64| format!("{}{}", sign(value), number(value.abs()));
    let verdict = match metric.verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Undecided => "cannot tell",
        Verdict::NotJudged => "",
    };
    let ratio = match (metric.ratio, metric.difference) {
        (Some(ratio), _) => format!("{ratio:.3}"),
        (None, Some(difference)) if is_difference(metric) => format!("Δ {}", signed(difference)),
        _ => "–".to_owned(),
    };
    let interval = match metric.interval {
        None => String::new(),
        Some(Interval { low, high, interval_of: Quantity::Ratio, .. }) => format!("{low:.3} to {high:.3}"),
        Some(Interval { low, high, .. }) => format!("{} to {}", signed(low), signed(high)),
    };
    [ratio, interval, verdict.to_owned()]
}

fn is_difference(metric: &GroupMetric) -> bool {
    metric.interval.is_some_and(|interval| interval.interval_of == Quantity::Difference)
}
