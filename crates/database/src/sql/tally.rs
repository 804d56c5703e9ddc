//! The progress of a loader, and its check for a stop.

use crate::load::LoadProgress;
use crate::sql::sql_error::SqlError;
use lydite_tpcc::schema::Table;

/// Rows between two reports of progress.
const NOTE_ROWS: u64 = 1_000;

/// Counts of rows and bytes that are not yet reported.
pub struct Tally<'a> {
    progress: &'a LoadProgress,
    /// Table of TPC-C that the rows belong to.
    table: Option<Table>,
    rows: u64,
    bytes: u64,
}

impl<'a> Tally<'a> {
    /// Makes a tally that reports rows of a table to `progress`.
    pub fn new(progress: &'a LoadProgress, table: &str) -> Self {
        Self { progress, table: Table::from_name(table), rows: 0, bytes: 0 }
    }

    /// Counts bytes, in the form in which they are sent to the database.
    pub fn bytes(&mut self, count: usize) {
        self.bytes += count as u64;
    }

    /// Counts a row, and reports the counts from time to time.
    ///
    /// # Errors
    /// The load must stop.
    pub fn row(&mut self) -> Result<(), SqlError> {
        self.rows += 1;
        if self.rows >= NOTE_ROWS {
            self.note();
            if self.progress.stopped() {
                return Err(SqlError::Decode("the load was interrupted".into()));
            }
        }
        Ok(())
    }

    /// Reports the counts.
    pub fn note(&mut self) {
        let (rows, bytes) = (std::mem::take(&mut self.rows), std::mem::take(&mut self.bytes));
        match self.table {
            Some(table) => self.progress.add_to(table, rows, bytes),
            None => self.progress.add(rows, bytes),
        }
    }
}
