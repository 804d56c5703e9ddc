//! A file of a table's rows.

use crate::cells::Order;
use crate::error::Unfit;
use crate::lines::LineReader;
use crate::manifest::FileEntry;
use lydite_tpcc::schema::Table;
use std::path::{Path, PathBuf};

/// A file of a table's rows.
#[derive(Clone, Debug)]
pub(crate) struct RowsFile {
    /// Name, for messages.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) table: Table,
    pub(crate) order: Order,
    /// True if the first line has the names of the columns.
    pub(crate) header: bool,
    /// Entry of the manifest; `None` for a file of another program.
    pub(crate) entry: Option<FileEntry>,
}

/// Returns the fields of the first line of a file, in lower case; empty if the file is.
pub(crate) fn first_line(path: &Path) -> Result<Vec<String>, Unfit> {
    let read = || -> std::io::Result<String> {
        let mut lines = LineReader::open(path, 0, u64::MAX)?;
        let line = lines.next_line()?.unwrap_or_default();
        Ok(String::from_utf8_lossy(line).to_lowercase())
    };
    let line = read().map_err(|error| Unfit(format!("can't be read: {error}")))?;
    Ok(line.split(',').map(|field| field.trim_matches('"').to_owned()).collect())
}
