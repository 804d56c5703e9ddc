//! Statistics of a table from a sample of its rows.

use super::Database;
use crate::draw::Random;
use crate::error::{Error, Result};
use crate::ids::Direction;
use crate::row::{Sample, Sampling, Table, TableStatistics, try_scan};
use crate::transaction::Transaction;
use std::ops::{Bound, ControlFlow};

impl Database {
    /// Returns statistics of a table for a planner: rows, and of each column the nulls, the width, the different values,
    /// the most common ones and a histogram; and of the primary key and each index the different values of its first
    /// columns.
    ///
    /// They come from a random sample at one snapshot, however large the table is: at most twice [`Sampling::rows`] rows
    /// are read. It takes some 0.1 s in memory, and on disk as long as the reads of so many blocks. A smaller table is
    /// read as a whole, and nothing is estimated. Nothing is kept: call it when the table has changed a lot.
    ///
    /// ```
    /// # fn main() -> gemel::Result<()> {
    /// # use gemel::row::{ColumnType, Sampling, Schema, Value};
    /// # use gemel::{Database, Engine, Isolation, Options};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let db = Database::open(directory.path().join("db"), Options::default())?;
    /// let schema = Schema::new().column("number", ColumnType::I64).nullable("state", ColumnType::Text);
    /// let schema = schema.primary_key(["number"]).index("by_state", ["state", "number"]);
    /// let jobs = db.create_table("jobs", Engine::Disk, schema)?;
    /// let mut transaction = db.begin(Isolation::Snapshot)?;
    /// for number in 0..100 {
    ///     let state = if number < 90 { "done".into() } else { Value::Null };
    ///     jobs.insert(&mut transaction, &[Value::Int(number), state])?;
    /// }
    /// transaction.commit()?.wait()?;
    /// let statistics = db.statistics("jobs", &Sampling::default())?;
    /// assert_eq!(statistics.rows, 100);
    /// assert_eq!(statistics.columns[1].null_fraction, 0.1);
    /// assert_eq!(statistics.columns[1].most_common[0].value.to_string(), "'done'");
    /// assert_eq!(statistics.keys[1].distinct, [2, 100]); // Null counts as a value of a key.
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no such table, or [`Sampling::rows`] is 0; those of reading a table, as
    /// [`Error::Corruption`]; [`Error::TooOld`] if that takes longer than
    /// [`Options::max_snapshot_age`](crate::Options::max_snapshot_age). [`Error::Outdated`] or [`Error::Moved`] if the
    /// table is dropped, changed or moved meanwhile: then the call can be repeated.
    pub fn statistics(&self, table: &str, sampling: &Sampling) -> Result<TableStatistics> {
        if sampling.rows == 0 {
            return Err(Error::Usage(
                "a sample of 0 rows says nothing: use 1 or more, or the default".into(),
            ));
        }
        let table = self.table(table)?;
        let mut transaction = self.begin_read_only()?;
        match read_all(&table, &mut transaction, sampling)? {
            Some(sample) => Ok(sample.of_all(sampling.values)),
            None => {
                let sample = draw(&table, &mut transaction, sampling)?;
                Ok(sample.of_drawn(sampling.rows, sampling.values))
            }
        }
    }
}

/// Returns all rows of a table, or none if there are more than a sample may have.
fn read_all<'t>(
    table: &'t Table,
    transaction: &mut Transaction,
    sampling: &Sampling,
) -> Result<Option<Sample<'t>>> {
    let (mut sample, mut is_larger) = (Sample::new(table, sampling.seed), false);
    let all = (Bound::Unbounded, Bound::Unbounded);
    try_scan(transaction, table.rows(), all, Direction::Forward, |key, row| {
        is_larger = sample.len() == sampling.rows;
        if is_larger {
            return Ok(ControlFlow::Break(()));
        }
        sample.add(key, row)?;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((!is_larger).then_some(sample))
}

/// Returns rows of a table that are drawn at random.
fn draw<'t>(table: &'t Table, transaction: &mut Transaction, sampling: &Sampling) -> Result<Sample<'t>> {
    let (mut sample, mut failure) = (Sample::new(table, sampling.seed), Ok(()));
    let mut random = Random::new(sampling.seed);
    transaction.draw(table.rows(), sampling.rows, &mut random, &mut |key, row, weight| {
        if failure.is_ok() {
            failure = sample.add_drawn(key, row, weight);
        }
    })?;
    failure.map(|()| sample)
}
