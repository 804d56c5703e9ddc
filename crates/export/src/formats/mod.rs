//! The formats: a file and a row for each.

mod csv;
mod influx;
mod openmetrics;

use crate::error::ExportError;
use crate::table::{Row, Table};
use std::fmt;
use std::io::Write;

/// Writes a table.
type WriteTable = fn(&Table<'_>, &mut dyn Write) -> Result<(), ExportError>;
/// Writes several tables.
type WriteTables = fn(&[Table<'_>], &mut dyn Write) -> Result<(), ExportError>;

/// A format.
pub struct Format {
    /// Name, which is also the end of the names of its files.
    pub name: &'static str,
    /// Way to write it.
    pub layout: Layout,
}

/// Files of a format.
#[derive(Clone, Copy)]
pub enum Layout {
    /// A file for each table.
    FilePerTable(WriteTable),
    /// One document for all tables.
    OneDocument(WriteTables),
}

/// All formats.
pub static FORMATS: [Format; 4] = [
    Format { name: "csv", layout: Layout::FilePerTable(csv::write) },
    Format { name: "parquet", layout: Layout::FilePerTable(no_parquet) },
    Format { name: "openmetrics", layout: Layout::OneDocument(openmetrics::write) },
    Format { name: "influx", layout: Layout::OneDocument(influx::write) },
];

impl Format {
    /// Returns the format with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// Rejects a format that this program can't write.
    ///
    /// # Errors
    /// [`ExportError::NoParquet`].
    pub fn require(&self) -> Result<(), ExportError> {
        if self.name == "parquet" { Err(ExportError::NoParquet) } else { Ok(()) }
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

fn no_parquet(_: &Table<'_>, _: &mut dyn Write) -> Result<(), ExportError> {
    Err(ExportError::NoParquet)
}

/// Returns the failure of a row without a time.
fn no_time(row: &Row<'_, '_>, format: &'static str) -> ExportError {
    ExportError::NoTime {
        run: row.cells.first().map(|run| run.text().into_owned()).unwrap_or_default(),
        format,
    }
}
