//! Rows on the standard output: as a table for people, as CSV, or as a JSON object in each line.

use crate::arguments::Format;
use crate::failure::Outcome;
use crate::values::{self, quote};
use gemel::row::{Column, ColumnType, Value};
use std::io::{BufWriter, Stdout, Write};

/// Rows whose cells decide how wide the columns of a table are. Later cells may be wider.
const MEASURED_ROWS: usize = 200;
/// Bytes of rows after which they are measured, though they are fewer.
const MEASURED_BYTES: usize = 1 << 20;
/// Maximum width of a column, in characters. Longer values stand out of it.
const WIDEST: usize = 200;

/// The standard output, with a buffer.
pub(crate) type Out = BufWriter<Stdout>;

/// Returns the standard output.
pub(crate) fn out() -> Out {
    BufWriter::with_capacity(1 << 16, std::io::stdout())
}

/// A cell of a row.
pub(crate) enum Cell<'a> {
    /// A value of a column.
    Value(Value<'a>, ColumnType),
    /// Bytes of a keyspace.
    Bytes(&'a [u8]),
}

impl Cell<'_> {
    fn text(&self) -> String {
        match self {
            Self::Value(value, kind) => values::text(*value, *kind),
            Self::Bytes(bytes) => values::escape(bytes),
        }
    }

    fn json(&self) -> String {
        match self {
            Self::Value(value, kind) => values::json(*value, *kind),
            Self::Bytes(bytes) => values::json_bytes(bytes),
        }
    }

    /// Returns a field of CSV. Null is empty, and an empty text has quotes.
    fn csv(&self) -> String {
        match self {
            Self::Value(Value::Null, _) => String::new(),
            Self::Value(value, kind) => field(&values::plain(*value, *kind)),
            Self::Bytes(bytes) => field(&values::escape(bytes)),
        }
    }
}

fn field(text: &str) -> String {
    if text.is_empty() || text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// Returns the cells of a row.
pub(crate) fn cells<'a>(columns: &[Column], values: &[Value<'a>]) -> Vec<Cell<'a>> {
    columns.iter().zip(values).map(|(column, value)| Cell::Value(*value, column.kind)).collect()
}

/// A list of rows that is being written.
pub(crate) struct Listing {
    format: Format,
    names: Vec<String>,
    out: Out,
    /// Rows of a table until the widths are known.
    first: Vec<Vec<String>>,
    /// Bytes of these rows.
    first_bytes: usize,
    widths: Option<Vec<usize>>,
}

impl Listing {
    /// Begins a list with these columns.
    pub(crate) fn begin(format: Format, names: Vec<String>) -> Outcome<Self> {
        let mut listing = Self { format, names, out: out(), first: Vec::new(), first_bytes: 0, widths: None };
        if format == Format::Csv {
            let names: Vec<String> = listing.names.iter().map(|name| field(name)).collect();
            writeln!(listing.out, "{}", names.join(","))?;
        }
        Ok(listing)
    }

    /// Writes a row.
    pub(crate) fn row(&mut self, cells: &[Cell<'_>]) -> Outcome {
        match self.format {
            Format::Json => {
                let pairs = self.names.iter().zip(cells);
                let pairs: Vec<String> =
                    pairs.map(|(name, cell)| format!("{}:{}", quote(name), cell.json())).collect();
                writeln!(self.out, "{{{}}}", pairs.join(","))?;
            }
            Format::Csv => {
                let fields: Vec<String> = cells.iter().map(Cell::csv).collect();
                writeln!(self.out, "{}", fields.join(","))?;
            }
            Format::Text => {
                let texts: Vec<String> = cells.iter().map(Cell::text).collect();
                match &self.widths {
                    Some(widths) => write_line(&mut self.out, &texts, widths)?,
                    None => {
                        self.first_bytes += texts.iter().map(String::len).sum::<usize>();
                        self.first.push(texts);
                        if self.first.len() == MEASURED_ROWS || self.first_bytes >= MEASURED_BYTES {
                            self.measure()?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes what is left.
    pub(crate) fn end(mut self) -> Outcome {
        if self.format == Format::Text && self.widths.is_none() {
            self.measure()?;
        }
        Ok(self.out.flush()?)
    }

    fn measure(&mut self) -> Outcome {
        let names: Vec<String> = self.names.iter().map(|name| values::escape(name.as_bytes())).collect();
        let mut lines = vec![names];
        lines.append(&mut self.first);
        let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
        let widths: Vec<usize> =
            (0..self.names.len()).map(|column| width(column).unwrap_or(0).min(WIDEST)).collect();
        for line in &lines {
            write_line(&mut self.out, line, &widths)?;
        }
        self.widths = Some(widths);
        Ok(())
    }
}

fn write_line(out: &mut Out, cells: &[String], widths: &[usize]) -> Outcome {
    for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
        // Nothing is trimmed or added behind the last cell: blanks there belong to it.
        if column + 1 < cells.len() { write!(out, "{cell:width$}  ")? } else { writeln!(out, "{cell}")? }
    }
    Ok(())
}

/// Prints text. Ignores errors, such as a pipe whose reader has gone: the exit code has the result.
pub(crate) fn say(text: &str) {
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

/// Prints a line to the error output, like [`say`].
pub(crate) fn tell(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
