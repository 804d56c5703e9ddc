//! OpenMetrics text, with a timestamp at each sample: for `promtool tsdb create-blocks-from openmetrics`.
//!
//! A column is the metric family `lydite_TABLE_COLUMN`, in the base units of Prometheus: seconds, bytes, ratios. Counts
//! are counters that begin with 0 at the begin of the first row, facts are labels of `lydite_TABLE_info`. A sample stands
//! at the end of the time that its row covers, since a scrape at that time would have seen it.

use crate::cell::Cell;
use crate::column::{Column, Role};
use crate::error::ExportError;
use crate::run::Span;
use crate::table::{Row, Table};
use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::Write;

/// Endings of columns, with those of metrics, the divisor of the values, and the unit.
const UNITS: [(&str, &str, f64, Option<&str>); 5] = [
    ("_per_s", "_per_second", 1.0, None),
    ("_ms", "_seconds", 1000.0, Some("seconds")),
    ("_s", "_seconds", 1.0, Some("seconds")),
    ("_percent", "_ratio", 100.0, Some("ratio")),
    ("_bytes", "_bytes", 1.0, Some("bytes")),
];

/// A row with the time that it covers.
type Timed<'t, 'a> = (Row<'t, 'a>, Span);

/// Rows with the same key, one after the other.
struct Series<'t> {
    /// Labels without braces.
    labels: String,
    rows: &'t [Timed<'t, 't>],
}

pub(super) fn write(tables: &[Table<'_>], to: &mut dyn Write) -> Result<(), ExportError> {
    for table in tables {
        let rows: Vec<Timed<'_, '_>> = table
            .rows()
            .map(|row| row.span.map(|span| (row, span)).ok_or_else(|| super::no_time(&row, "openmetrics")))
            .collect::<Result<_, _>>()?;
        let all = all_series(table, &rows)?;
        write_facts(table, &rows, to)?;
        for (place, column) in table.columns().iter().enumerate() {
            if matches!(column.role, Role::Count | Role::Level) {
                write_family(table, (place, column), &rows, &all, to)?;
            }
        }
    }
    to.write_all(b"# EOF\n")?;
    Ok(())
}

/// Returns the series of a table. The format wants the samples of each together, in the order of their times.
fn all_series<'t>(table: &Table<'_>, rows: &'t [Timed<'t, 't>]) -> Result<Vec<Series<'t>>, ExportError> {
    let is_key: Vec<usize> =
        (0..).zip(table.columns()).filter(|(_, column)| column.role == Role::Key).map(|(at, _)| at).collect();
    let same = |one: &Row<'_, '_>, other: &Row<'_, '_>| {
        is_key.iter().all(|at| one.cells.get(*at) == other.cells.get(*at))
    };
    let mut seen = HashSet::new();
    let mut all = Vec::new();
    for rows in rows.chunk_by(|(one, _), (other, _)| same(one, other)) {
        let Some((first, _)) = rows.first() else { continue };
        let labels = labels(table, first, |role| role == Role::Key);
        let is_ordered = rows.is_sorted_by(|(_, one), (_, other)| one.to_us < other.to_us);
        if !is_ordered || !seen.insert(labels.clone()) {
            return Err(ExportError::Twice { table: table.kind.name, key: labels });
        }
        all.push(Series { labels, rows });
    }
    Ok(all)
}

/// Returns the labels of a row; those without a value are left out, as an empty label is none.
fn labels(table: &Table<'_>, row: &Row<'_, '_>, wanted: impl Fn(Role) -> bool) -> String {
    let mut text = String::new();
    for (column, cell) in table.columns().iter().zip(row.cells).filter(|(column, _)| wanted(column.role)) {
        let value = cell.text();
        if !value.is_empty() {
            let comma = if text.is_empty() { "" } else { "," };
            let _ = write!(text, "{comma}{}=\"{}\"", column.name, escaped(&value));
        }
    }
    text
}

/// Escapes a value of a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Writes the facts of a table, as labels of a sample whose value is 1.
fn write_facts(table: &Table<'_>, rows: &[Timed<'_, '_>], to: &mut dyn Write) -> Result<(), ExportError> {
    if rows.is_empty() || !table.columns().iter().any(|column| column.role == Role::Fact) {
        return Ok(());
    }
    let name = format!("lydite_{}", table.kind.name);
    writeln!(to, "# TYPE {name} info\n# HELP {name} {}", table.kind.about)?;
    for (row, span) in rows {
        let labels = labels(table, row, |role| matches!(role, Role::Key | Role::Fact));
        writeln!(to, "{name}_info{{{labels}}} 1 {}", seconds(span.to_us))?;
    }
    Ok(())
}

/// Writes the samples of a column; nothing if all are null.
fn write_family(
    table: &Table<'_>,
    (place, column): (usize, &Column),
    rows: &[Timed<'_, '_>],
    all: &[Series<'_>],
    to: &mut dyn Write,
) -> Result<(), ExportError> {
    let value = |row: &Row<'_, '_>| row.cells.get(place).and_then(Cell::number);
    if !rows.iter().any(|(row, _)| value(row).is_some()) {
        return Ok(());
    }
    let (name, divisor, unit) = metric(table.kind.name, column.name);
    let is_counter = column.role == Role::Count;
    writeln!(to, "# TYPE {name} {}", if is_counter { "counter" } else { "gauge" })?;
    if let Some(unit) = unit {
        writeln!(to, "# UNIT {name} {unit}")?;
    }
    writeln!(to, "# HELP {name} {}", escaped(column.about))?;
    let total = if is_counter { "_total" } else { "" };
    for series in all {
        let labels = &series.labels;
        let mut sum: Option<f64> = None;
        for (row, span) in series.rows {
            let Some(value) = value(row).map(|value| value / divisor) else { continue };
            if is_counter && sum.is_none() && span.from_us < span.to_us {
                writeln!(to, "{name}{total}{{{labels}}} 0 {}", seconds(span.from_us))?;
            }
            let shown = if is_counter { sum.unwrap_or(0.0) + value } else { value };
            sum = Some(shown);
            writeln!(to, "{name}{total}{{{labels}}} {} {}", number(shown), seconds(span.to_us))?;
        }
    }
    Ok(())
}

/// Returns the name of a column's metric, the divisor of its values, and its unit.
fn metric(table: &str, column: &str) -> (String, f64, Option<&'static str>) {
    let known = UNITS.iter().find_map(|(end, of_metric, divisor, unit)| {
        column.strip_suffix(end).map(|rest| (format!("lydite_{table}_{rest}{of_metric}"), *divisor, *unit))
    });
    known.unwrap_or_else(|| (format!("lydite_{table}_{column}"), 1.0, None))
}

/// Returns a number with all its digits, and with an exponent if it would be long.
fn number(value: f64) -> String {
    if value == 0.0 || (1e-5..1e16).contains(&value.abs()) { value.to_string() } else { format!("{value:?}") }
}

/// Returns a time in seconds since 1970.
fn seconds(us: i64) -> String {
    let (sign, us) = (if us < 0 { "-" } else { "" }, us.unsigned_abs());
    format!("{sign}{}.{:06}", us / 1_000_000, us % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_have_the_base_units_of_prometheus() {
        for (column, name, divisor, unit) in [
            ("latency_p99_ms", "lydite_t_latency_p99_seconds", 1000.0, Some("seconds")),
            ("time_s", "lydite_t_time_seconds", 1.0, Some("seconds")),
            ("completed_per_s", "lydite_t_completed_per_second", 1.0, None),
            ("share_percent", "lydite_t_share_ratio", 100.0, Some("ratio")),
            ("memory_bytes", "lydite_t_memory_bytes", 1.0, Some("bytes")),
            ("aborts", "lydite_t_aborts", 1.0, None),
        ] {
            assert_eq!(metric("t", column), (name.to_owned(), divisor, unit));
        }
    }

    #[test]
    fn times_have_their_microseconds_on_both_sides_of_1970() {
        assert_eq!(
            [1_500_000, 1_000_001, 0, -1_500_000].map(seconds),
            ["1.500000", "1.000001", "0.000000", "-1.500000"]
        );
    }
}
