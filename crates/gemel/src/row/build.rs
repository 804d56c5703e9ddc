//! Writing the entries of the rows that were there before a new index.

use super::index::Entry;
use super::table::Table;
use super::view::RowView;
use super::{Bytes, try_scan};
use crate::error::{Error, Result};
use crate::ids::Direction;
use std::ops::{Bound, ControlFlow};

impl Table {
    /// Writes the entries that some rows lack in the index that is being added: the first `most` rows behind the primary
    /// key `after`. Returns the last row's primary key, or none if there is no row.
    ///
    /// # Errors
    /// [`Error::Constraint`] if the index is unique and has another row's entry of the same key; [`Error::Capacity`] if
    /// an entry is too long; and the errors of the transaction.
    pub(crate) fn index_rows<B: Bytes + ?Sized>(
        &self,
        bytes: &mut B,
        after: Option<&[u8]>,
        most: usize,
    ) -> Result<Option<Vec<u8>>> {
        let Some(index) = self.building() else { return Ok(None) };
        let lower = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut found = Vec::<(Vec<u8>, Entry)>::new();
        try_scan(bytes, self.rows(), (lower, Bound::Unbounded), Direction::Forward, |key, row| {
            let entry = index.entry(&RowView::new(self.layout(), row)?, key)?;
            found.push((key.to_vec(), entry));
            Ok(if found.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        for (key, entry) in &found {
            self.check_entry(index, entry, key)?;
            match index.holder_of(bytes, &entry.key)? {
                None => index.put(bytes, entry, key)?,
                // Who wrote the row since the index began has written its entry.
                Some(holder) if holder == *key => {}
                Some(other) => {
                    return Err(Error::Constraint(format!(
                        "table {}, unique index {}: ({}) belongs to the rows with primary keys ({}) and ({}): \
                         change one of them, or add an index that is not unique",
                        self.name(),
                        index.name,
                        index.key.describe(&entry.key),
                        self.primary_key().describe(&other),
                        self.primary_key().describe(key),
                    )));
                }
            }
        }
        Ok(found.pop().map(|(key, _)| key))
    }
}
