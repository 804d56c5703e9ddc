//! Cursors over a table, by its primary key or by a secondary index.

use super::RowRange;
use super::index::{EntrySpan, Index};
use super::keys::successor;
use super::table::Table;
use super::value::Value;
use super::view::RowView;
use crate::error::Result;
use crate::transaction::{Cursor, Transaction};
use std::ops::Bound;

/// A place between two rows of a table, in the order of its primary key or of an index. See [`Cursor`] for its moves,
/// for own writes in between, and for the isolation levels.
///
/// A row whose key changes may be returned again: updating an index column while a cursor walks that index moves the
/// row in front of the cursor or behind it.
///
/// A cursor borrows nothing, so it can be kept beside its transaction: in a struct, in a map by name, and on another
/// thread, if the transaction goes there too. It may outlive the handle that made it.
///
/// ```
/// use gemel::row::{ColumnType, RowCursor, RowRange, Schema, Table, Value};
/// use gemel::{Database, Engine, Isolation, Options, Transaction};
/// use std::collections::HashMap;
/// use std::ops::Bound;
///
/// /// A session of a server: a transaction and its open portals, by name.
/// struct Session {
///     transaction: Transaction,
///     portals: HashMap<String, RowCursor>,
/// }
///
/// impl Session {
///     fn open(&mut self, portal: &str, table: &Table, range: &RowRange<'_>) -> gemel::Result<()> {
///         self.portals.insert(portal.to_owned(), table.cursor(&self.transaction, range)?);
///         Ok(())
///     }
///
///     /// Returns the numbers of at most `most` more rows of a portal.
///     fn fetch(&mut self, portal: &str, most: usize) -> gemel::Result<Vec<i64>> {
///         let Some(cursor) = self.portals.get_mut(portal) else { return Ok(Vec::new()) };
///         let mut numbers = Vec::new();
///         while numbers.len() < most {
///             let Some(row) = cursor.next(&mut self.transaction)? else { break };
///             numbers.push(row.int(0)?);
///         }
///         Ok(numbers)
///     }
/// }
///
/// # fn main() -> gemel::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// # let db = Database::open(directory.path().join("db"), Options::default())?;
/// let schema = Schema::new().column("number", ColumnType::I64).primary_key(["number"]);
/// let orders = db.create_table("orders", Engine::Memory, schema)?;
/// let mut session = Session { transaction: db.begin(Isolation::Snapshot)?, portals: HashMap::new() };
/// for number in 1..=5 {
///     orders.insert(&mut session.transaction, &[Value::Int(number)])?;
/// }
/// session.open("all", &orders, &RowRange::all())?;
/// session.open("late", &orders, &RowRange::new(Bound::Included(&[Value::Int(4)]), Bound::Unbounded))?;
/// drop(orders);
/// assert_eq!(session.fetch("all", 2)?, [1, 2]);
/// assert_eq!(session.fetch("late", 1)?, [4]);
/// assert_eq!(session.fetch("all", 2)?, [3, 4]);
/// assert_eq!(session.fetch("late", 9)?, [5]);
/// session.portals.remove("late");
/// session.transaction.commit()?.wait()?;
/// # Ok(())
/// # }
/// ```
///
/// [`Transaction::rollback_to`] closes no cursor, not even one that was made after the savepoint. A cursor is a place: it
/// stays where it is, and its next step sees the rows as they are now. A cursor whose transaction has ended can't be
/// used any more: with another transaction each step is an error, in all databases. After the table was truncated,
/// dropped or moved, or columns were changed, a step does what every read of the transaction through the same
/// handle does: it returns the rows of the transaction's snapshot, or the error that says what has become of the table.
#[derive(Debug)]
pub struct RowCursor {
    table: Table,
    /// Number of the index in whose order it goes; none for the primary key.
    index: Option<usize>,
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
    pub fn cursor(&self, transaction: &Transaction, range: &RowRange<'_>) -> Result<RowCursor> {
        let span = self.primary_key().span(range)?.map(EntrySpan::from);
        self.cursor_over(transaction, None, span)
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
    ) -> Result<RowCursor> {
        let number = self.index_number(index)?;
        let span = self.indexes()[number].span(range)?;
        self.cursor_over(transaction, Some(number), span)
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
    ) -> Result<RowCursor> {
        Ok(RowCursor { is_index_only: true, ..self.cursor_index(transaction, index, range)? })
    }

    /// Returns a cursor over the keys of a span, or over none.
    fn cursor_over(
        &self,
        transaction: &Transaction,
        index: Option<usize>,
        span: Option<EntrySpan>,
    ) -> Result<RowCursor> {
        let keyspace = ordered_by(self, index).map_or(self.rows(), |index| &index.keyspace);
        let none = (Bound::Included(&[][..]), Bound::Excluded(&[][..]));
        let (lower, upper) = span.as_ref().map_or(none, |span| span.keys.bounds());
        Ok(RowCursor {
            table: self.clone(),
            index,
            cursor: transaction.cursor(keyspace, lower, upper)?,
            is_index_only: false,
            span: span.unwrap_or_else(EntrySpan::all),
            sought: None,
            row: Vec::new(),
        })
    }
}

/// Returns the index of a number.
fn ordered_by(table: &Table, index: Option<usize>) -> Option<&Index> {
    index.map(|number| &table.indexes()[number])
}

impl RowCursor {
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
        let (place, within) = match ordered_by(&self.table, self.index) {
            None => (self.table.primary_key().encode_prefix(values)?, None),
            Some(index) => index.target(values)?,
        };
        self.cursor.seek(&place)?;
        self.sought = within.map(|within| (place, within));
        Ok(())
    }

    /// Moves to the place that was sought, before or after the entry on which it depends.
    fn find(&mut self, transaction: &mut Transaction) -> Result<()> {
        let (Some(index), Some((entry, sought))) = (ordered_by(&self.table, self.index), &self.sought) else {
            return Ok(());
        };
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
        self.find(transaction)?;
        let layout = self.table.layout();
        let Some(index) = ordered_by(&self.table, self.index) else {
            return step(&mut self.cursor, transaction)?
                .map(|(_, row)| RowView::new(layout, row))
                .transpose();
        };
        while let Some((entry, value)) = step(&mut self.cursor, transaction)? {
            if !self.span.has(index, entry, value)? {
                continue;
            }
            if self.is_index_only {
                self.sought = None;
                return index.covered(entry, value, &mut self.row).map(Some);
            }
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
            if index.entry_key(&RowView::new(layout, &self.row)?, key)? == entry {
                self.sought = None;
                return RowView::new(layout, &self.row).map(Some);
            }
        }
        Ok(None)
    }
}
