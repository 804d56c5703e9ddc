//! Cursors over a table, by its primary key or by a secondary index.

use super::RowRange;
use super::keys::KeyLayout;
use super::table::{Index, Table};
use super::value::Value;
use super::view::RowView;
use crate::error::Result;
use crate::keyspace::Keyspace;
use crate::transaction::{Cursor, Transaction};
use std::ops::Bound;

/// A place between two rows of a table, in the order of its primary key or of an index. See [`Cursor`] for its moves,
/// for own writes in between, and for the isolation levels.
///
/// A row whose key changes may be returned again: updating an index column while a cursor walks that index moves the
/// row in front of the cursor or behind it.
#[derive(Debug)]
pub struct RowCursor<'a> {
    table: &'a Table,
    /// The index in whose order it goes; none for the primary key.
    index: Option<&'a Index>,
    cursor: Cursor,
    /// The row that an entry of the index led to.
    row: Vec<u8>,
}

impl Table {
    /// Returns a cursor over the rows whose primary key is in `range`. It begins before the first row.
    ///
    /// ```
    /// # fn main() -> gemel::Result<()> {
    /// # use gemel::row::{ColumnType, RowRange, Schema, Value};
    /// # use gemel::{Database, Engine, Isolation, Options};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let db = Database::open(directory.path().join("db"), Options::default())?;
    /// # let schema = Schema::new().column("id", ColumnType::I32).column("state", ColumnType::Text);
    /// let jobs = db.create_table("jobs", Engine::Disk, schema.primary_key(["id"]))?;
    /// let mut transaction = db.begin(Isolation::Snapshot)?;
    /// for id in 1..=3 {
    ///     jobs.insert(&mut transaction, &[Value::Int(id), "open".into()])?;
    /// }
    /// let mut cursor = jobs.cursor(&transaction, &RowRange::all())?;
    /// while let Some(row) = cursor.next(&mut transaction)? {
    ///     let id = row.int(0)?;
    ///     jobs.set(&mut transaction, &[Value::Int(id)], &[(1, "done".into())])?;
    /// }
    /// assert_eq!(cursor.prev(&mut transaction)?.map(|row| row.int(0)).transpose()?, Some(3));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Constraint`](crate::Error::Constraint) if the values of the bounds do not fit the key, and the errors
    /// of [`Transaction::cursor`].
    pub fn cursor(&self, transaction: &Transaction, range: &RowRange<'_>) -> Result<RowCursor<'_>> {
        let cursor = over(transaction, self.rows(), self.primary_key(), range)?;
        Ok(RowCursor { table: self, index: None, cursor, row: Vec::new() })
    }

    /// Returns a cursor over the rows whose index columns are in `range`, in the order of the index.
    ///
    /// # Errors
    ///
    /// Same as [`Table::cursor`], and [`Error::Usage`](crate::Error::Usage) if the index does not exist.
    pub fn cursor_index(
        &self,
        transaction: &Transaction,
        index: &str,
        range: &RowRange<'_>,
    ) -> Result<RowCursor<'_>> {
        let index = self.index(index)?;
        let cursor = over(transaction, &index.keyspace, &index.key, range)?;
        Ok(RowCursor { table: self, index: Some(index), cursor, row: Vec::new() })
    }
}

fn over(
    transaction: &Transaction,
    keyspace: &Keyspace,
    key: &KeyLayout,
    range: &RowRange<'_>,
) -> Result<Cursor> {
    match key.span(range)? {
        Some(span) => transaction.cursor(keyspace, span.lower(), span.upper()),
        // No key is in the range.
        None => transaction.cursor(keyspace, Bound::Included(&[]), Bound::Excluded(&[])),
    }
}

impl RowCursor<'_> {
    /// Moves past the next row of the range, and returns it. Returns none, and does not move, if no row is left.
    ///
    /// # Errors
    ///
    /// [`Error::Corruption`](crate::Error::Corruption) if the row is malformed, and the errors of [`Cursor::next`].
    pub fn next(&mut self, transaction: &mut Transaction) -> Result<Option<RowView<'_>>> {
        self.step(transaction, |cursor, transaction| cursor.next(transaction))
    }

    /// Moves back past the previous row of the range, and returns it. Returns none, and does not move, if no row is
    /// left.
    ///
    /// # Errors
    ///
    /// Same as [`RowCursor::next`].
    pub fn prev(&mut self, transaction: &mut Transaction) -> Result<Option<RowView<'_>>> {
        self.step(transaction, |cursor, transaction| cursor.prev(transaction))
    }

    /// Moves to the place before the first row whose key begins with `values`, whether there is such a row or not. The
    /// values are those of the first columns of the cursor's key, the most significant first.
    ///
    /// # Errors
    ///
    /// [`Error::Constraint`](crate::Error::Constraint) if there are too many values or one does not fit its column, and
    /// the errors of [`Cursor::seek`].
    pub fn seek(&mut self, values: &[Value<'_>]) -> Result<()> {
        let key = self.index.map_or(self.table.primary_key(), |index| &index.key);
        self.cursor.seek(&key.encode_prefix(values)?)
    }

    /// Moves to the place before the first row.
    pub fn seek_to_start(&mut self) {
        self.cursor.seek_to_start();
    }

    /// Moves to the place after the last row, so [`RowCursor::prev`] returns the last row.
    pub fn seek_to_end(&mut self) {
        self.cursor.seek_to_end();
    }

    fn step(
        &mut self,
        transaction: &mut Transaction,
        step: impl for<'c> Fn(&'c mut Cursor, &mut Transaction) -> Result<Option<(&'c [u8], &'c [u8])>>,
    ) -> Result<Option<RowView<'_>>> {
        let layout = self.table.layout();
        let Some(index) = self.index else {
            return step(&mut self.cursor, transaction)?
                .map(|(_, row)| RowView::new(layout, row))
                .transpose();
        };
        while let Some((entry, value)) = step(&mut self.cursor, transaction)? {
            let key = index.primary_key(entry, value)?;
            let row = &mut self.row;
            let copy = |bytes: &[u8]| {
                row.clear();
                row.extend_from_slice(bytes);
            };
            if transaction.read(self.table.rows(), key, copy)?.is_none() {
                continue;
            }
            // At read committed, the row may have changed since its entry was read.
            if index.entry(&RowView::new(layout, &self.row)?, key)?.key == entry {
                return RowView::new(layout, &self.row).map(Some);
            }
        }
        Ok(None)
    }
}
