//! What must hold after a run: every acknowledged update is there once, and nothing else changed.

use crate::data::{Data, Engines};

/// What the tables come to, all on one snapshot where the database can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Records.
    pub records: u64,
    /// Sum of their counters.
    pub counters: i128,
    /// Records whose text is not as long as it was loaded.
    pub bad_texts: u64,
}

impl Totals {
    /// Adds those of other tables.
    pub fn add(&mut self, other: Self) {
        self.records += other.records;
        self.counters += other.counters;
        self.bad_texts += other.bad_texts;
    }
}

/// What a run may have added to the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Updates that were acknowledged.
    pub acknowledged: u64,
    /// Updates of which nobody knows whether they were committed.
    pub unknown: u64,
}

impl Bounds {
    /// Whether counters that came to `before` may come to `after` now.
    #[must_use]
    pub fn allow(&self, before: i128, after: i128) -> bool {
        let least = before + i128::from(self.acknowledged);
        (least..=least + i128::from(self.unknown)).contains(&after)
    }
}

/// Whether all records are there with texts of the right length, in words if not.
///
/// # Errors
/// What is wrong.
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
