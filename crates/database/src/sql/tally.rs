//! What a loader notes of its progress, and where it hears that it should stop.

use crate::load::LoadProgress;
use crate::sql::connection::SqlError;

/// Rows between two notes of progress.
const NOTE_ROWS: u64 = 1_000;

/// Rows and bytes that are not noted yet.
pub struct Tally<'a> {
    progress: &'a LoadProgress,
    rows: u64,
    bytes: u64,
}

impl<'a> Tally<'a> {
    /// Counts into `progress`.
    pub fn new(progress: &'a LoadProgress) -> Self {
        Self { progress, rows: 0, bytes: 0 }
    }

    /// Counts bytes, in the form in which they are sent.
    pub fn bytes(&mut self, count: usize) {
        self.bytes += count as u64;
    }

    /// Counts a row; notes from time to time what was counted. An error when the load is to stop.
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

    /// Notes what was counted.
    pub fn note(&mut self) {
        self.progress.add(std::mem::take(&mut self.rows), std::mem::take(&mut self.bytes));
    }
}
