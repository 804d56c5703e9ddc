//! Cursors over a table, by its primary key or by a secondary index.

use super::RowRange;
use super::index::{EntrySpan, Index, Target};
use super::keys::{Span, successor};
use super::table::Table;
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
    /// True if it reads the index only, not the rows.
    is_index_only: bool,
    /// The entries of the index in the cursor's range.
    span: EntrySpan,
    /// The place of the last seek, if it depends on the primary key of an entry that was not looked up yet.
    sought: Option<(Vec<u8>, Vec<u8>)>,
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
        let span = self.primary_key().span(range)?;
        let cursor = over(transaction, self.rows(), span.as_ref())?;
        Ok(RowCursor {
            table: self,
            index: None,
            cursor,
            is_index_only: false,
            span: EntrySpan::all(),
            sought: None,
            row: Vec::new(),
        })
    }

    /// Returns a cursor over the rows that an index has in `range`, in the order of the index.
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
        let span = index.span(self.primary_key(), range)?;
        let cursor = over(transaction, &index.keyspace, span.as_ref().map(|span| &span.keys))?;
        let span = span.unwrap_or_else(EntrySpan::all);
        Ok(RowCursor {
            table: self,
            index: Some(index),
            cursor,
            is_index_only: false,
            span,
            sought: None,
            row: Vec::new(),
        })
    }

    /// Does the same as [`Table::cursor_index`], and reads the index only, as [`Table::scan_index_only`] does.
    ///
    /// # Errors
    ///
    /// Same as [`Table::cursor_index`].
    pub fn cursor_index_only(
        &self,
        transaction: &Transaction,
        index: &str,
        range: &RowRange<'_>,
    ) -> Result<RowCursor<'_>> {
        Ok(RowCursor { is_index_only: true, ..self.cursor_index(transaction, index, range)? })
    }
}

fn over(transaction: &Transaction, keyspace: &Keyspace, span: Option<&Span>) -> Result<Cursor> {
    match span {
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
    /// values are those of the first columns of the cursor's key, the most significant first. The key of an index has
    /// the columns of the primary key behind its own, as for a [`RowRange`].
    ///
    /// # Errors
    ///
    /// [`Error::Constraint`](crate::Error::Constraint) if there are too many values or one does not fit its column, and
    /// the errors of [`Cursor::seek`].
    pub fn seek(&mut self, values: &[Value<'_>]) -> Result<()> {
        let primary = self.table.primary_key();
        let target = match self.index {
            None => Target::Key(primary.encode_prefix(values)?),
            Some(index) => index.target(primary, values)?,
        };
        self.sought = None;
        match target {
            Target::Key(key) => self.cursor.seek(&key),
            Target::Within(entry, key) => {
                self.cursor.seek(&entry)?;
                self.sought = Some((entry, key));
                Ok(())
            }
        }
    }

    /// Moves to the place that was sought, before or after the entry on which it depends.
    fn find(&mut self, transaction: &mut Transaction) -> Result<()> {
        let (Some(index), Some((entry, sought))) = (self.index, &self.sought) else { return Ok(()) };
        let mut is_before = Ok(false);
        transaction.read(&index.keyspace, entry, |value| {
            is_before = index.primary_key(entry, value).map(|key| key < &**sought);
        })?;
        match is_before? {
            false => self.cursor.seek(entry),
            true => match successor(entry.clone()) {
                Some(after) => self.cursor.seek(&after),
                None => {
                    self.cursor.seek_to_end();
                    Ok(())
                }
            },
        }
    }

    /// Moves to the place before the first row.
    pub fn seek_to_start(&mut self) {
        self.sought = None;
        self.cursor.seek_to_start();
    }

    /// Moves to the place after the last row, so [`RowCursor::prev`] returns the last row.
    pub fn seek_to_end(&mut self) {
        self.sought = None;
        self.cursor.seek_to_end();
    }

    fn step(
        &mut self,
        transaction: &mut Transaction,
        step: impl for<'c> Fn(&'c mut Cursor, &mut Transaction) -> Result<Option<(&'c [u8], &'c [u8])>>,
    ) -> Result<Option<RowView<'_>>> {
        let table = self.table;
        let layout = table.layout();
        let Some(index) = self.index else {
            return step(&mut self.cursor, transaction)?
                .map(|(_, row)| RowView::new(layout, row))
                .transpose();
        };
        self.find(transaction)?;
        while let Some((entry, value)) = step(&mut self.cursor, transaction)? {
            let key = index.primary_key(entry, value)?;
            if !self.span.has(entry, key) {
                continue;
            }
            if self.is_index_only {
                self.sought = None;
                return index.covered(entry, value, &mut self.row).map(Some);
            }
            let row = &mut self.row;
            let copy = |bytes: &[u8]| {
                row.clear();
                row.extend_from_slice(bytes);
            };
            if transaction.read(table.rows(), key, copy)?.is_none() {
                continue;
            }
            // At read committed, the row may have changed since its entry was read.
            if index.entry_key(&RowView::new(layout, &self.row)?, key)?.0 == entry {
                self.sought = None;
                return RowView::new(layout, &self.row).map(Some);
            }
        }
        Ok(None)
    }
}
