//! Means of the values that both of two results observed. Lydite knows no better direction of these, so it gives no
//! verdict.

use std::fmt::Write as _;

use serde::Serialize;

use super::Comparison;
use crate::figures::{aligned, clean};
use crate::model::RunResult;
use crate::names::letter;
use crate::observed::with_unit;

/// Most values that the terminal shows; the page shows all.
const SHOWN: usize = 20;

/// Means of a value that both results observed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ObservedMeans {
    /// Source and name.
    pub name: String,
    /// Unit.
    pub unit: String,
    /// Mean of the first result.
    pub a: f64,
    /// Mean of the second result.
    pub b: f64,
}

impl ObservedMeans {
    /// Returns `b / a`; `None` if `a` is zero.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        let ratio = self.b / self.a;
        ratio.is_finite().then_some(ratio)
    }

    /// Returns the size of the change in hundredths, the same for a rise and the fall that undoes it. Finer differences
    /// would only mix up the order of the values.
    fn change(&self) -> f64 {
        if self.a == self.b { 0.0 } else { ((self.b / self.a).abs().ln().abs() * 100.0).round() }
    }
}

/// Returns the means of the values that both results observed, without those that were 0 in both.
pub(super) fn means(a: &RunResult, b: &RunResult) -> Vec<ObservedMeans> {
    let both = a.observed.iter().filter_map(|of_a| {
        let key = (&of_a.source, &of_a.name, &of_a.unit);
        let of_b = b.observed.iter().find(|of_b| (&of_b.source, &of_b.name, &of_b.unit) == key)?;
        let (mean_a, mean_b) = (of_a.extent()?.mean, of_b.extent()?.mean);
        (mean_a != 0.0 || mean_b != 0.0).then(|| ObservedMeans {
            name: format!("{} {}", of_a.source, of_a.name),
            unit: of_a.unit.clone(),
            a: mean_a,
            b: mean_b,
        })
    });
    both.collect()
}

/// A row for each value of comparisons with the same first result, with the size of its greatest change: its name, A's
/// mean, and for each other result the mean and the ratio.
fn rows(comparisons: &[Comparison]) -> Vec<(f64, Vec<String>)> {
    let mut values: Vec<&ObservedMeans> = Vec::new();
    for of in comparisons.iter().flat_map(|comparison| &comparison.observed) {
        if !values.iter().any(|known| (&known.name, &known.unit) == (&of.name, &of.unit)) {
            values.push(of);
        }
    }
    let row = |of: &ObservedMeans| {
        let mut cells = vec![of.name.clone(), with_unit(Some(of.a), &of.unit)];
        let mut change: f64 = 0.0;
        for comparison in comparisons {
            let same = |other: &&ObservedMeans| (&other.name, &other.unit) == (&of.name, &of.unit);
            let found = comparison.observed.iter().find(same);
            change = change.max(found.map_or(0.0, ObservedMeans::change));
            cells.push(with_unit(found.map(|found| found.b), &of.unit));
            let ratio = found.and_then(ObservedMeans::ratio);
            cells.push(ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.2}")));
        }
        (change, cells)
    };
    values.into_iter().map(row).collect()
}

/// Returns a row for each value in the order of the results: its name, A's mean, and for each other result the mean and
/// the ratio.
pub(crate) fn observed_rows(comparisons: &[Comparison]) -> Vec<Vec<String>> {
    rows(comparisons).into_iter().map(|(_, cells)| cells).collect()
}

/// Returns the columns of these rows after the name.
pub(crate) fn observed_columns(comparisons: &[Comparison]) -> Vec<String> {
    let others = (1..=comparisons.len()).flat_map(|place| [letter(place), format!("{}/A", letter(place))]);
    std::iter::once("A".to_owned()).chain(others).collect()
}

/// Appends the values that changed most; nothing without values.
pub(super) fn render(out: &mut String, comparisons: &[Comparison]) {
    let mut rows = rows(comparisons);
    if rows.is_empty() {
        return;
    }
    rows.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let all = rows.len();
    rows.truncate(SHOWN);
    let words = match all - rows.len() {
        0 => String::new(),
        more => format!("; 'lydite report' shows {more} more"),
    };
    let _ =
        writeln!(out, "\nObserved means over the seconds with a sample, the greatest change first{words}");
    let head = std::iter::once(String::new()).chain(observed_columns(comparisons)).collect();
    // Names come from a database or an exporter: no control characters reach the terminal.
    let cells = |cells: Vec<String>| cells.iter().map(|cell| clean(cell)).collect();
    let table: Vec<Vec<String>> =
        std::iter::once(head).chain(rows.into_iter().map(|(_, row)| cells(row))).collect();
    out.push_str(&aligned(&table, 1));
}
