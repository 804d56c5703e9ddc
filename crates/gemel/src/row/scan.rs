//! Scans of a table, by its primary key or by a secondary index, and the deletion of a range.

use super::index::{EntrySpan, Index};
use super::keys::RowRange;
use super::table::Table;
use super::view::{RowBuf, RowView};
use super::{Bytes, Deletions, try_scan};
use crate::error::Result;
use crate::ids::Direction;
use std::ops::{Bound, ControlFlow};

/// Maximum number of index entries that are read ahead of their rows. The first read is of one entry, because many
/// scans want one row, and the commit of a serializable transaction validates everything that it read.
const READ_AHEAD: usize = 256;
const READ_AHEAD_GROWTH: usize = 4;

/// The key of an index entry, and its value.
type Found = (Vec<u8>, Vec<u8>);

impl Table {
    /// Passes the rows whose primary key is in `range` to `each`, in key order, until it breaks.
    ///
    /// # Errors
    ///
    /// [`Error::Constraint`](crate::Error::Constraint) if the values of the bounds do not fit the key, the errors of
    /// `each`, and those of the transaction.
    pub fn scan<B: Bytes + ?Sized>(
        &self,
        bytes: &mut B,
        range: &RowRange<'_>,
        direction: Direction,
        mut each: impl FnMut(RowView<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let Some(span) = self.primary_key().span(range)? else { return Ok(()) };
        try_scan(bytes, self.rows(), span.bounds(), direction, |_, row| {
            each(RowView::new(self.layout(), row)?)
        })
    }

    /// Passes the rows that an index has in `range` to `each`, in the order of the index, until it breaks. Rows with
    /// equal index columns come in the order of the primary key.
    ///
    /// The bounds may have values of the primary key's columns behind those of the index: see [`RowRange`]. So a scan
    /// goes on after the last row of an earlier one, also among rows with equal index columns:
    ///
    /// ```
    /// # fn main() -> gemel::Result<()> {
    /// # use gemel::row::{ColumnType, RowRange, Schema, Value};
    /// # use gemel::{Database, Direction, Engine, Isolation, Options};
    /// # use std::ops::{Bound, ControlFlow};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let db = Database::open(directory.path().join("db"), Options::default())?;
    /// let schema = Schema::new().column("id", ColumnType::I64).column("last", ColumnType::Text);
    /// let schema = schema.primary_key(["id"]).index("by_last", ["last"]);
    /// let people = db.create_table("people", Engine::Memory, schema)?;
    /// let mut transaction = db.begin(Isolation::Snapshot)?;
    /// for (id, last) in [(1, "Hill"), (2, "Hall"), (3, "Hill"), (4, "Hill"), (5, "Hull")] {
    ///     people.insert(&mut transaction, &[Value::Int(id), last.into()])?;
    /// }
    ///
    /// // The index columns, and then the primary key, of the last row seen.
    /// let mut seen: Option<(String, i64)> = None;
    /// let mut pages = Vec::new();
    /// loop {
    ///     let before = seen.take();
    ///     let values = before.as_ref().map(|(last, id)| [last.as_str().into(), Value::Int(*id)]);
    ///     let after = values.as_ref().map_or(Bound::Unbounded, |values| Bound::Excluded(&values[..]));
    ///     let (range, mut page) = (RowRange::new(after, Bound::Unbounded), Vec::new());
    ///     people.scan_index(&mut transaction, "by_last", &range, Direction::Forward, |row| {
    ///         page.push(row.int(0)?);
    ///         seen = Some((row.text(1)?.to_owned(), row.int(0)?));
    ///         Ok(if page.len() < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    ///     })?;
    ///     if page.is_empty() {
    ///         break;
    ///     }
    ///     pages.push(page);
    /// }
    /// assert_eq!(pages, [vec![2, 1], vec![3, 4], vec![5]]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// At read committed, a row may change between the reads of its index entry and of itself. The scan skips a row to
    /// which the entry does not lead any more.
    ///
    /// # Errors
    ///
    /// Same as [`Table::scan`], and [`Error::Usage`](crate::Error::Usage) if the index does not exist.
    pub fn scan_index<B: Bytes + ?Sized>(
        &self,
        bytes: &mut B,
        index: &str,
        range: &RowRange<'_>,
        direction: Direction,
        mut each: impl FnMut(RowView<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let index = self.index(index)?;
        let Some(span) = index.span(range)? else { return Ok(()) };
        self.walk(bytes, index, &span, direction, &mut |bytes, (entry, value)| {
            let key = index.primary_key(&entry, &value)?;
            let row = self.read_encoded(bytes, key, |row| {
                if index.entry_key(&row, key)? == entry { each(row) } else { Ok(ControlFlow::Continue(())) }
            })?;
            Ok(row.unwrap_or(ControlFlow::Continue(())))
        })
    }

    /// Does the same as [`Table::scan_index`], and reads the index only, not the rows. So `each` gets views that have
    /// only the columns of the index, of the primary key, and those that the index includes. Reading another column is
    /// an error; [`Table::index_covers`] tells which ones can be read.
    ///
    /// ```
    /// # fn main() -> gemel::Result<()> {
    /// # use gemel::row::{ColumnType, IndexDef, RowRange, Schema, Value, asc, desc};
    /// # use gemel::{Database, Direction, Engine, Isolation, Options};
    /// # use std::ops::ControlFlow;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let db = Database::open(directory.path().join("db"), Options::default())?;
    /// let schema = Schema::new()
    ///     .column("id", ColumnType::I64)
    ///     .column("customer", ColumnType::I32)
    ///     .column("total", ColumnType::I64)
    ///     .column("note", ColumnType::Text)
    ///     .primary_key(["id"])
    ///     .with_index(IndexDef::new("by_customer", [asc("customer"), desc("id")]).include(["total"]));
    /// let orders = db.create_table("orders", Engine::Disk, schema)?;
    /// let mut transaction = db.begin(Isolation::Snapshot)?;
    /// for (id, customer, total) in [(1, 7, 30), (2, 8, 10), (3, 7, 20)] {
    ///     let row = [Value::Int(id), Value::Int(customer), Value::Int(total), "gift".into()];
    ///     orders.insert(&mut transaction, &row)?;
    /// }
    /// let (customer, mut totals) = ([Value::Int(7)], Vec::new());
    /// let range = RowRange::prefix(&customer);
    /// orders.scan_index_only(&mut transaction, "by_customer", &range, Direction::Forward, |row| {
    ///     totals.push((row.int(0)?, row.int(2)?));
    ///     assert!(row.text(3).is_err());
    ///     Ok(ControlFlow::Continue(()))
    /// })?;
    /// assert_eq!(totals, [(3, 20), (1, 30)]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`Table::scan_index`].
    pub fn scan_index_only<B: Bytes + ?Sized>(
        &self,
        bytes: &mut B,
        index: &str,
        range: &RowRange<'_>,
        direction: Direction,
        mut each: impl FnMut(RowView<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let index = self.index(index)?;
        let Some(span) = index.span(range)? else { return Ok(()) };
        let mut row = Vec::new();
        try_scan(bytes, &index.keyspace, span.keys.bounds(), direction, |entry, value| {
            if span.has(index, entry, value)? {
                each(index.covered(entry, value, &mut row)?)
            } else {
                Ok(ControlFlow::Continue(()))
            }
        })
    }

    /// Returns a copy of the first row whose primary key is in `range`, or none if there is no such row.
    ///
    /// ```
    /// # fn main() -> gemel::Result<()> {
    /// # use gemel::row::{ColumnType, RowRange, Schema, Value};
    /// # use gemel::{Database, Engine, Isolation, Options};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let db = Database::open(directory.path().join("db"), Options::default())?;
    /// # let schema = Schema::new().column("number", ColumnType::I64).column("total", ColumnType::I64);
    /// let orders = db.create_table("orders", Engine::Disk, schema.primary_key(["number"]).index("by_total", ["total"]))?;
    /// let mut transaction = db.begin(Isolation::Serializable)?;
    /// for (number, total) in [(1, 30), (2, 10), (3, 20)] {
    ///     orders.insert(&mut transaction, &[Value::Int(number), Value::Int(total)])?;
    /// }
    /// let newest = orders.last(&mut transaction, &RowRange::all())?.unwrap();
    /// let cheapest = orders.first_index(&mut transaction, "by_total", &RowRange::all())?.unwrap();
    /// assert_eq!((newest.view().int(0)?, cheapest.view().int(0)?), (3, 2));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`Table::scan`].
    pub fn first<B: Bytes + ?Sized>(
        &self,
        bytes: &mut B,
        range: &RowRange<'_>,
    ) -> Result<Option<RowBuf<'_>>> {
        self.end_of(bytes, None, range, Direction::Forward)
    }

    /// Returns a copy of the last row whose primary key is in `range`, or none if there is no such row.
    ///
    /// # Errors
    ///
    /// Same as [`Table::scan`].
    pub fn last<B: Bytes + ?Sized>(&self, bytes: &mut B, range: &RowRange<'_>) -> Result<Option<RowBuf<'_>>> {
        self.end_of(bytes, None, range, Direction::Backward)
    }

    /// Returns a copy of the first row, in the order of an index, whose index columns are in `range`. Returns none if
    /// there is no such row.
    ///
    /// # Errors
    ///
    /// Same as [`Table::scan_index`].
    pub fn first_index<B: Bytes + ?Sized>(
        &self,
        bytes: &mut B,
        index: &str,
        range: &RowRange<'_>,
    ) -> Result<Option<RowBuf<'_>>> {
        self.end_of(bytes, Some(index), range, Direction::Forward)
    }

    /// Returns a copy of the last row, in the order of an index, whose index columns are in `range`. Returns none if
    /// there is no such row.
    ///
    /// # Errors
    ///
    /// Same as [`Table::scan_index`].
    pub fn last_index<B: Bytes + ?Sized>(
        &self,
        bytes: &mut B,
        index: &str,
        range: &RowRange<'_>,
    ) -> Result<Option<RowBuf<'_>>> {
        self.end_of(bytes, Some(index), range, Direction::Backward)
    }

    /// Deletes the rows whose primary key is in `range`, with their index entries. Returns their number. See
    /// [`Transaction::delete_range`](crate::Transaction::delete_range) for conflicts and memory.
    ///
    /// ```
    /// # fn main() -> gemel::Result<()> {
    /// # use gemel::row::{ColumnType, RowRange, Schema, Value};
    /// # use gemel::{Database, Engine, Isolation, Options};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let db = Database::open(directory.path().join("db"), Options::default())?;
    /// # let schema = Schema::new().column("district", ColumnType::I32).column("number", ColumnType::I64);
    /// let orders = db.create_table("orders", Engine::Memory, schema.primary_key(["district", "number"]))?;
    /// let mut transaction = db.begin(Isolation::Snapshot)?;
    /// for (district, number) in [(1, 1), (1, 2), (2, 1)] {
    ///     orders.insert(&mut transaction, &[Value::Int(district), Value::Int(number)])?;
    /// }
    /// assert_eq!(orders.delete_range(&mut transaction, &RowRange::prefix(&[Value::Int(1)]))?, 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Constraint`](crate::Error::Constraint) if the values of the bounds do not fit the key,
    /// [`Error::Corruption`](crate::Error::Corruption) if a row is malformed, and the errors of the transaction.
    pub fn delete_range<B: Bytes + ?Sized>(&self, bytes: &mut B, range: &RowRange<'_>) -> Result<usize> {
        let Some(span) = self.primary_key().span(range)? else { return Ok(0) };
        // All is read before anything is written: a commit after a rejected call must find each row with its index
        // entries. The entries of a row come before its key.
        let (mut keys, (lower, upper)) = (Vec::<Vec<u8>>::new(), span.bounds());
        bytes.scan_to_delete(self.rows(), lower, upper, &mut |key, row| {
            let from = keys.len();
            self.push_keys(key, row, &mut keys)?;
            let mut deletions = Deletions::default();
            keys[from..].iter().for_each(|key| deletions.add_key(key.len()));
            Ok(deletions)
        })?;
        let of_row = self.written().len() + 1;
        // Its entry comes before the row's key.
        if let Some(index) = self.building() {
            for row in keys.chunks_exact_mut(of_row) {
                if self.is_of_another(bytes, index, &row[of_row - 2], &row[of_row - 1])? {
                    row[of_row - 2].clear();
                }
            }
        }
        for row in keys.chunks_exact(of_row) {
            for (index, entry) in self.written().iter().zip(row).filter(|(_, entry)| !entry.is_empty()) {
                bytes.delete(&index.keyspace, entry)?;
            }
            bytes.delete(self.rows(), &row[of_row - 1])?;
        }
        Ok(keys.len() / of_row)
    }

    /// Appends the keys of a row's index entries, and its own key, to `keys`.
    fn push_keys(&self, key: &[u8], row: &[u8], keys: &mut Vec<Vec<u8>>) -> Result<()> {
        if !self.written().is_empty() {
            let row = RowView::new(self.layout(), row)?;
            for index in self.written() {
                keys.push(index.entry_key(&row, key)?);
            }
        }
        keys.push(key.to_vec());
        Ok(())
    }

    /// Returns a copy of the first row of a range in this direction, by the primary key or an index.
    fn end_of<B: Bytes + ?Sized>(
        &self,
        bytes: &mut B,
        index: Option<&str>,
        range: &RowRange<'_>,
        direction: Direction,
    ) -> Result<Option<RowBuf<'_>>> {
        let mut found = None;
        let keep = |row: RowView<'_>| {
            found = Some(RowBuf::from_bytes(self.layout(), row.as_bytes().to_vec())?);
            Ok(ControlFlow::Break(()))
        };
        match index {
            None => self.scan(bytes, range, direction, keep)?,
            Some(index) => self.scan_index(bytes, index, range, direction, keep)?,
        }
        Ok(found)
    }

    /// Verifies that each row has its entries in all indexes, and each entry has its row.
    ///
    /// # Errors
    ///
    /// [`Error::Corruption`](crate::Error::Corruption) that names the first fault, and the errors of the transaction.
    pub fn verify<B: Bytes + ?Sized>(&self, bytes: &mut B) -> Result<()> {
        let mut rows = 0_u64;
        self.scan(bytes, &RowRange::all(), Direction::Forward, |row| {
            rows += 1;
            row.values().map(|_| ControlFlow::Continue(()))
        })?;
        // There are as many entries as rows, and each entry leads to a row that it belongs to. So no row lacks an
        // entry.
        for index in self.indexes() {
            let mut entries = 0_u64;
            self.walk(bytes, index, &EntrySpan::all(), Direction::Forward, &mut |bytes, (entry, value)| {
                entries += 1;
                let key = index.primary_key(&entry, &value)?;
                let right = self.read_encoded(bytes, key, |row| {
                    let of_row = index.entry(&row, key)?;
                    Ok(of_row.key == entry && index.value(&of_row, key) == value)
                })?;
                if right == Some(true) {
                    return Ok(ControlFlow::Continue(()));
                }
                let key = self.primary_key().describe(key);
                Err(self
                    .corrupt(format_args!("index {} has a wrong entry for primary key ({key})", index.name)))
            })?;
            if entries != rows {
                return Err(
                    self.corrupt(format_args!("index {} has {entries} entries for {rows} rows", index.name))
                );
            }
        }
        Ok(())
    }

    /// Passes the entries of an index to `each`, which may read rows.
    fn walk<B: Bytes + ?Sized>(
        &self,
        bytes: &mut B,
        index: &Index,
        span: &EntrySpan,
        direction: Direction,
        each: &mut dyn FnMut(&mut B, Found) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let (mut done, mut ahead) = (None::<Vec<u8>>, 1);
        loop {
            let (mut lower, mut upper) = span.keys.bounds();
            if let Some(done) = &done {
                match direction {
                    Direction::Forward => lower = Bound::Excluded(done),
                    Direction::Backward => upper = Bound::Excluded(done),
                }
            }
            let found = read_ahead(bytes, index, span, (lower, upper), direction, ahead)?;
            let full = found.len() == ahead;
            done = found.last().map(|(entry, _)| entry.clone());
            for found in found {
                if each(bytes, found)?.is_break() {
                    return Ok(());
                }
            }
            if !full {
                return Ok(());
            }
            ahead = (ahead * READ_AHEAD_GROWTH).min(READ_AHEAD);
        }
    }
}

/// Returns the first entries of a span between two of its keys, at most `limit`.
fn read_ahead<B: Bytes + ?Sized>(
    bytes: &mut B,
    index: &Index,
    span: &EntrySpan,
    bounds: (Bound<&[u8]>, Bound<&[u8]>),
    direction: Direction,
    limit: usize,
) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    try_scan(bytes, &index.keyspace, bounds, direction, |entry, value| {
        if span.has(index, entry, value)? {
            found.push((entry.to_vec(), value.to_vec()));
        }
        Ok(if found.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    Ok(found)
}
