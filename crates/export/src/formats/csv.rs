//! CSV by RFC 4180: a line with the names, lines end with CR LF, null is an empty field.

use crate::cell::Cell;
use crate::error::ExportError;
use crate::table::Table;
use std::borrow::Cow;
use std::io::Write;

pub(super) fn write(table: &Table<'_>, to: &mut dyn Write) -> Result<(), ExportError> {
    line(table.columns().iter().map(|column| Cow::Borrowed(column.name)), to)?;
    for row in table.rows() {
        line(row.cells.iter().map(field), to)?;
    }
    Ok(())
}

fn line<'a>(fields: impl Iterator<Item = Cow<'a, str>>, to: &mut dyn Write) -> Result<(), ExportError> {
    let mut before: &[u8] = b"";
    for field in fields {
        to.write_all(before)?;
        to.write_all(field.as_bytes())?;
        before = b",";
    }
    to.write_all(b"\r\n")?;
    Ok(())
}

/// Returns a value as a field. An empty text is quoted, which tells it from null.
fn field<'c>(cell: &'c Cell<'_>) -> Cow<'c, str> {
    let text = cell.text();
    let is_plain = |text: &str| !text.contains(['"', ',', '\r', '\n']) && text.trim() == text;
    match cell {
        Cell::Text(of) if of.is_empty() || !is_plain(of) => {
            Cow::Owned(format!("\"{}\"", of.replace('"', "\"\"")))
        }
        _ => text,
    }
}
