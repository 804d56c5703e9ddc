//! Check after a run: every acknowledged update is there once, and nothing else changed.

use crate::data::{Data, Engines};

/// Totals over the tables, on one snapshot if the database can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Number of records.
    pub records: u64,
    /// Sum of the records' counters.
    pub counters: i128,
    /// Number of records whose text does not have the loaded length.
    pub bad_texts: u64,
}

impl Totals {
    /// Adds the totals of other tables.
    pub fn add(&mut self, other: Self) {
        self.records += other.records;
        self.counters += other.counters;
        self.bad_texts += other.bad_texts;
    }
}

/// Bounds of the updates that a run added to the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Acknowledged updates.
    pub acknowledged: u64,
    /// Updates of unknown outcome.
    pub unknown: u64,
}

impl Bounds {
    /// True if counters with the sum `before` may have the sum `after` now.
    #[must_use]
    pub fn allow(&self, before: i128, after: i128) -> bool {
        let least = before + i128::from(self.acknowledged);
        (least..=least + i128::from(self.unknown)).contains(&after)
    }
}

/// Checks that all records are there, with texts of the right length.
///
/// # Errors
/// Fails with a sentence about the first fault.
pub fn whole(totals: &Totals, data: &Data, engines: Engines) -> Result<(), String> {
    let wanted = data.all_records(engines);
    if totals.records != wanted {
        return Err(format!("{} records instead of {wanted}", totals.records));
    }
    if totals.bad_texts > 0 {
        return Err(format!(
            "the texts of {} records are not {} characters long",
            totals.bad_texts,
            data.text_bytes()
        ));
    }
    Ok(())
}
