//! The table of the live view: a row per transaction type, as many columns as fit.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Stylize;
use ratatui::text::{Line, Span};

use super::human;
use super::snapshot::TypeRow;
use crate::figures::number_within;

/// Blank columns before each numeric column.
const GAP: usize = 2;
/// Greatest width of a type's name; the rest is cut off, so that the numbers have room.
const NAME_WIDTH_MAX: usize = 16;

/// One numeric column.
struct Column {
    header: &'static str,
    /// Least width, so that the table keeps its shape as numbers grow.
    width_min: usize,
    /// Order of removal if there is too little room: the highest number goes first.
    expendable: u8,
    value: fn(&TypeRow<'_>) -> String,
}

const COLUMNS: [Column; 4] = [
    Column { header: "tx/s now", width_min: 8, expendable: 0, value: |row| number_within(row.per_s, 11) },
    Column { header: "p50 ms", width_min: 6, expendable: 2, value: |row| latency(row.p50_ms) },
    Column { header: "p95 ms", width_min: 6, expendable: 3, value: |row| latency(row.p95_ms) },
    Column { header: "p99 ms", width_min: 6, expendable: 1, value: |row| latency(row.p99_ms) },
];

fn latency(ms: Option<f64>) -> String {
    ms.map_or_else(|| human::UNKNOWN.to_owned(), |ms| number_within(ms, 9))
}

/// Draws a header and as many rows as fit.
pub(super) fn render(rows: &[TypeRow<'_>], area: Rect, buf: &mut Buffer) {
    let names: Vec<String> = rows.iter().map(|row| shortened(row.name)).collect();
    let name_width = names.iter().map(|n| Span::raw(n).width()).max().unwrap_or(0).max(12);
    let mut columns: Vec<(&Column, Vec<String>, usize)> = COLUMNS
        .iter()
        .map(|column| {
            let values: Vec<_> = rows.iter().map(|row| (column.value)(row)).collect();
            let longest = values.iter().map(|v| v.chars().count()).max().unwrap_or(0);
            (column, values, longest.max(column.header.len()).max(column.width_min))
        })
        .collect();
    while name_width + columns.iter().map(|c| GAP + c.2).sum::<usize>() > usize::from(area.width) {
        let Some(least) = (0..columns.len()).max_by_key(|&i| columns[i].0.expendable) else { break };
        columns.remove(least);
    }

    // Rates cover the last second, latencies the whole window.
    let mut header = format!("{:name_width$}", "ms: so far");
    for (column, _, width) in &columns {
        header.push_str(&format!("{:>1$}", column.header, GAP + width));
    }
    buf.set_line(area.x, area.y, &Line::from(header.dim()), area.width);

    for (i, name) in names.iter().enumerate().take(usize::from(area.height).saturating_sub(1)) {
        let padding = " ".repeat(name_width - Span::raw(name).width());
        let mut line = Line::from(vec![Span::raw(name), Span::raw(padding)]);
        for (_, values, width) in &columns {
            line.push_span(Span::raw(format!("{:>1$}", values[i], GAP + width)));
        }
        buf.set_line(area.x, area.y + 1 + i as u16, &line, area.width);
    }
}

fn shortened(name: &str) -> String {
    let name = human::printable(name);
    if name.chars().count() <= NAME_WIDTH_MAX {
        return name;
    }
    name.chars().take(NAME_WIDTH_MAX - 1).chain(['…']).collect()
}
