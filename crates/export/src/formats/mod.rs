//! The formats: a file and a row for each.

mod csv;
mod influx;
mod openmetrics;
#[cfg(feature = "parquet")]
mod parquet;

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
    /// True if people can read it: it may go to a terminal.
    pub is_text: bool,
}

/// Files of a format.
#[derive(Clone, Copy)]
pub enum Layout {
    /// A file for each table.
    FilePerTable(WriteTable),
    /// One document for all tables.
    OneDocument(WriteTables),
}

/// Name of the format that only a build with its feature can write.
const PARQUET: &str = "parquet";
#[cfg(feature = "parquet")]
const WRITE_PARQUET: WriteTable = parquet::write;
#[cfg(not(feature = "parquet"))]
const WRITE_PARQUET: WriteTable = no_parquet;

/// All formats.
pub static FORMATS: [Format; 4] = [
    Format { name: "csv", layout: Layout::FilePerTable(csv::write), is_text: true },
    Format { name: PARQUET, layout: Layout::FilePerTable(WRITE_PARQUET), is_text: false },
    Format { name: "openmetrics", layout: Layout::OneDocument(openmetrics::write), is_text: true },
    Format { name: "influx", layout: Layout::OneDocument(influx::write), is_text: true },
];

impl Format {
    /// Returns the format with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// Rejects a format that this program was built without.
    ///
    /// # Errors
    /// [`ExportError::NoParquet`].
    pub fn require(&self) -> Result<(), ExportError> {
        if self.name == PARQUET && !cfg!(feature = "parquet") { Err(ExportError::NoParquet) } else { Ok(()) }
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(not(feature = "parquet"))]
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
