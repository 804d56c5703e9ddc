//! Influx's line protocol: a point for each row, at the begin of the time that it covers, in nanoseconds.
//!
//! The measurement is `lydite_TABLE`; the keys of the table are tags, all other columns fields. Null is left out.

use crate::cell::Cell;
use crate::column::{Column, Role};
use crate::error::ExportError;
use crate::table::{Row, Table};
use std::borrow::Cow;
use std::io::Write;

pub(super) fn write(tables: &[Table<'_>], to: &mut dyn Write) -> Result<(), ExportError> {
    for table in tables {
        for row in table.rows() {
            let fields = fields(table, &row);
            // A point needs a field.
            if fields.is_empty() {
                continue;
            }
            let span = row.span.ok_or_else(|| super::no_time(&row, "influx"))?;
            writeln!(
                to,
                "lydite_{}{} {} {}",
                table.kind.name,
                tags(table, &row)?,
                fields.join(","),
                i128::from(span.from_us) * 1000
            )?;
        }
    }
    Ok(())
}

/// Returns the tags, each with the comma before it.
fn tags(table: &Table<'_>, row: &Row<'_, '_>) -> Result<String, ExportError> {
    let mut tags = String::new();
    for (column, cell) in table.columns().iter().zip(row.cells).filter(|(column, _)| column.role == Role::Key)
    {
        let text = cell.text();
        // An empty tag is none.
        if text.is_empty() {
            continue;
        }
        if text.ends_with('\\') {
            return Err(ExportError::Tag { column: column.name, text: text.into_owned() });
        }
        tags.push_str(&format!(",{}={}", column.name, tag(&text)));
    }
    Ok(tags)
}

/// Escapes a value of a tag.
fn tag(text: &str) -> String {
    let mut escaped = String::new();
    for letter in in_one_line(text).chars() {
        if matches!(letter, ',' | '=' | ' ') {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

fn fields(table: &Table<'_>, row: &Row<'_, '_>) -> Vec<String> {
    let is_field = |column: &Column| !matches!(column.role, Role::Key | Role::Time);
    let columns = table.columns().iter().zip(row.cells).filter(|(column, _)| is_field(column));
    columns.filter_map(|(column, cell)| Some(format!("{}={}", column.name, field(cell)?))).collect()
}

/// Returns a value as a field; none for null.
fn field(cell: &Cell<'_>) -> Option<String> {
    Some(match cell {
        Cell::Null => return None,
        Cell::Text(text) => {
            format!("\"{}\"", in_one_line(text).replace('\\', "\\\\").replace('"', "\\\""))
        }
        Cell::Whole(number) => format!("{number}i"),
        Cell::Real(_) | Cell::Truth(_) | Cell::Time(_) | Cell::TooLarge(_) => cell.text().into_owned(),
    })
}

/// Returns text with `\n` and `\r` for ends of lines, which the protocol can't write.
fn in_one_line(text: &str) -> Cow<'_, str> {
    if text.contains(['\n', '\r']) {
        Cow::Owned(text.replace('\n', "\\n").replace('\r', "\\r"))
    } else {
        Cow::Borrowed(text)
    }
}
