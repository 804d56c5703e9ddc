//! Comparisons of single runs as text, and the rows that all their renderings share.

use std::fmt::Write as _;

use super::{Comparison, Metric};
use crate::figures::{THIN_NOTE, aligned, clean, number};
use crate::names::letter;
use crate::numbers::Number;

/// Renders a comparison for a terminal: the warnings, the sentence, the metrics, the method.
#[must_use]
pub fn render_comparison(comparison: &Comparison) -> String {
    render_comparisons(std::slice::from_ref(comparison))
}

/// Renders comparisons with the same first result, see [`compare_all`](super::compare_all): the warnings, the sentences,
/// a table with columns for each of the others, the method.
#[must_use]
pub fn render_comparisons(comparisons: &[Comparison]) -> String {
    let mut out = String::new();
    let warnings = all_warnings(comparisons);
    for warning in &warnings {
        // Settings and versions come from a database: no control characters reach the terminal.
        let _ = writeln!(out, "! {}", clean(warning));
    }
    out.push_str(if warnings.is_empty() { "" } else { "\n" });
    for comparison in comparisons {
        let _ = writeln!(out, "{}", comparison.sentence);
    }
    out.push('\n');
    let names = metric_names(comparisons);
    if !names.is_empty() {
        let mut head = vec![String::new(), "A".to_owned()];
        for place in 1..=comparisons.len() {
            head.extend([letter(place), format!("{}/A", letter(place)), "within runs".to_owned()]);
        }
        let rows = names.iter().map(|name| row(name, comparisons));
        out.push_str(&aligned(&std::iter::once(head).chain(rows).collect::<Vec<_>>(), 1));
    }
    if has_few(comparisons) {
        let _ = writeln!(out, "{THIN_NOTE}");
    }
    super::observed::render(&mut out, comparisons);
    out.push_str(if names.is_empty() { "" } else { "\n" });
    for note in comparisons.iter().flat_map(|comparison| &comparison.notes) {
        let _ = writeln!(out, "{note}");
    }
    let _ = writeln!(out, "{}", method_of_all(comparisons));
    out
}

/// Returns true if a percentile has too few transactions.
pub(crate) fn has_few(comparisons: &[Comparison]) -> bool {
    comparisons.iter().flat_map(|comparison| &comparison.metrics).any(|metric| metric.few.contains(&true))
}

/// Returns the metrics of comparisons with the same first result, each once.
pub(crate) fn metric_names(comparisons: &[Comparison]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (place, metric) in comparisons.iter().flat_map(|comparison| comparison.metrics.iter().enumerate()) {
        if !names.contains(&metric.name) {
            // A metric that other comparisons lack keeps the place that it has in its own.
            names.insert(place.min(names.len()), metric.name.clone());
        }
    }
    names
}

/// Returns the cells of a metric in comparisons with the same first result: its name, A's value, and for each other
/// result the value, the ratio and the interval within the runs.
pub(crate) fn row(name: &str, comparisons: &[Comparison]) -> Vec<String> {
    let of = |comparison: &Comparison| comparison.metrics.iter().find(|metric| metric.name == name).cloned();
    let text = Number::compared_as(name).map_or(number as fn(Option<f64>) -> String, |number| number.text);
    let value = |metric: Option<&Metric>, place: usize| {
        let mark = if metric.is_some_and(|metric| metric.few[place]) { "~" } else { "" };
        format!("{mark}{}", text(metric.map(|metric| [metric.a, metric.b][place])))
    };
    let first = comparisons.iter().find_map(of);
    let mut cells = vec![name.to_owned(), value(first.as_ref(), 0)];
    for metric in comparisons.iter().map(of) {
        let ratio = metric.as_ref().and_then(|metric| metric.ratio);
        let interval = metric.as_ref().and_then(|metric| metric.interval);
        cells.push(value(metric.as_ref(), 1));
        cells.push(ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.2}")));
        let none =
            if metric.as_ref().is_some_and(|metric| metric.no_interval.is_some()) { "none" } else { "" };
        cells.push(interval.map_or(none.to_owned(), |(low, high)| format!("{low:.2} to {high:.2}")));
    }
    cells
}

/// Returns the warnings of comparisons with the same first result, each once with the names of its files, then the
/// differences, with the letter of the other result if there are several.
pub(crate) fn all_warnings(comparisons: &[Comparison]) -> Vec<String> {
    let warnings = comparisons.iter().flat_map(|comparison| &comparison.warnings).cloned();
    let mut all: Vec<String> = super::warnings::merged(warnings).iter().map(ToString::to_string).collect();
    for (comparison, place) in comparisons.iter().zip(1..) {
        let other = if comparisons.len() > 1 { format!("A and {}: ", letter(place)) } else { String::new() };
        all.extend(comparison.differences.iter().map(|difference| format!("{other}{difference}")));
    }
    all
}

/// Returns the method of the intervals of comparisons with the same first result.
pub(crate) fn method_of_all(comparisons: &[Comparison]) -> String {
    let compared = comparisons.iter().zip(1..).filter(|(comparison, _)| !comparison.metrics.is_empty());
    let others: Vec<_> = compared.map(|(comparison, place)| (letter(place), comparison.seconds.1)).collect();
    match (comparisons, others.is_empty()) {
        ([], _) => String::new(),
        ([first, ..], true) => first.method.clone(),
        ([first, ..], false) => super::method(first.seconds.0, &others),
    }
}
