//! Tables: rows by primary key, and their secondary indexes (`index.rs`).
//!
//! Every operation reads and checks everything that it needs before it writes. So a rejected operation has changed
//! nothing.

use super::index::{Entry, Index};
use super::keys::KeyLayout;
use super::layout::Layout;
use super::schema::{IndexDef, Schema};
use super::value::Value;
use super::view::{ColumnSet, RowBuf, RowView};
use super::{Bytes, corrupt};
use crate::error::{Error, Result};
use crate::key::{MAX_KEY_BYTES, MAX_VALUE_BYTES};
use crate::keyspace::Keyspace;
use crate::lock_manager::Wait;
use crate::transaction::Transaction;
use std::fmt::Write as _;
use std::sync::Arc;

/// A table of a database. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Table {
    parts: Arc<Parts>,
}

/// The parts of a table, which all clones of a handle share. One pointer: threads that open cursors over one table clone
/// it at the same time.
#[derive(Debug)]
struct Parts {
    schema: Schema,
    layout: Layout,
    key: KeyLayout,
    key_columns: ColumnSet,
    rows: Keyspace,
    /// The indexes of the schema, and behind them the one that is being added.
    indexes: Box<[Index]>,
}

impl Table {
    /// Makes the handle of a table from the catalog, with the keyspace of its rows and those of its indexes in the
    /// order of the schema. An index that is being added is only written.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the schema is invalid, or the number of keyspaces differs from that of the indexes.
    pub(crate) fn new(
        name: &str,
        schema: Schema,
        rows: Keyspace,
        indexes: Vec<Keyspace>,
        building: Option<(&IndexDef, Keyspace)>,
    ) -> Result<Self> {
        let layout = Layout::new(name, &schema)?;
        let key = KeyLayout::primary(name, &schema)?;
        if indexes.len() != schema.indexes.len() {
            let (given, needed) = (indexes.len(), schema.indexes.len());
            return Err(Error::Usage(format!("table {name}: {given} keyspaces for {needed} indexes")));
        }
        let of_schema = schema.indexes.iter().zip(indexes).map(|(index, keyspace)| (index, keyspace, false));
        let building = building.map(|(index, keyspace)| (index, keyspace, true));
        let indexes = of_schema
            .chain(building)
            .map(|(index, keyspace, is_building)| {
                let mut index = Index::new(name, &schema, &key, index, keyspace)?;
                index.is_building = is_building;
                Ok(index)
            })
            .collect::<Result<_>>()?;
        let parts = Parts { layout, key_columns: key.positions().collect(), key, rows, indexes, schema };
        Ok(Self { parts: Arc::new(parts) })
    }

    /// Returns the table's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.parts.layout.table()
    }

    /// Returns the table's schema.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.parts.schema
    }

    /// Returns the codec of the table's rows.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.parts.layout
    }

    /// Returns the codec of the table's primary key.
    #[must_use]
    pub fn primary_key(&self) -> &KeyLayout {
        &self.parts.key
    }

    /// Returns the position of a column in the table's rows. Call it once, not for each row.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the column does not exist.
    pub fn column(&self, name: &str) -> Result<usize> {
        self.parts.layout.column(name)
    }

    /// Returns the positions of the columns in whose order an index has the rows: its own columns, and then those of the
    /// primary key that it lacks. Bounds of ranges and seeks have values of these columns.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the index does not exist.
    pub fn index_columns(&self, index: &str) -> Result<Vec<usize>> {
        Ok(self.index(index)?.positions())
    }

    /// Returns true if an index has the values of a column: it is one of its own, of the primary key, or of those that
    /// it includes ([`IndexDef::include`](super::IndexDef::include)). Then [`Table::scan_index_only`] reads it.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the index does not exist.
    pub fn index_covers(&self, index: &str, column: usize) -> Result<bool> {
        Ok(column < self.parts.layout.columns() && self.index(index)?.covers(column))
    }

    /// Returns the keyspace of the table's rows.
    pub(crate) fn rows(&self) -> &Keyspace {
        &self.parts.rows
    }

    /// Passes the row with a primary key to `found`. Returns none if the row does not exist.
    ///
    /// # Errors
    ///
    /// [`Error::Constraint`] if the key's values do not fit, the errors of `found`, and those of the transaction.
    pub fn read<B: Bytes + ?Sized, R>(
        &self,
        bytes: &mut B,
        key: &[Value<'_>],
        found: impl FnOnce(RowView<'_>) -> Result<R>,
    ) -> Result<Option<R>> {
        let key = self.parts.key.encode(key)?;
        self.read_encoded(bytes, &key, found)
    }

    pub(super) fn read_encoded<B: Bytes + ?Sized, R>(
        &self,
        bytes: &mut B,
        key: &[u8],
        found: impl FnOnce(RowView<'_>) -> Result<R>,
    ) -> Result<Option<R>> {
        let (mut found, mut result) = (Some(found), None);
        bytes.read(&self.parts.rows, key, &mut |row| {
            if let Some(found) = found.take() {
                result = Some(RowView::new(&self.parts.layout, row).and_then(found));
            }
        })?;
        result.transpose()
    }

    /// Returns a copy of the row with a primary key, or none if the row does not exist.
    ///
    /// # Errors
    ///
    /// Same as [`Table::read`].
    pub fn get<B: Bytes + ?Sized>(&self, bytes: &mut B, key: &[Value<'_>]) -> Result<Option<RowBuf<'_>>> {
        let key = self.parts.key.encode(key)?;
        self.get_encoded(bytes, &key)
    }

    fn get_encoded<B: Bytes + ?Sized>(&self, bytes: &mut B, key: &[u8]) -> Result<Option<RowBuf<'_>>> {
        bytes.get(&self.parts.rows, key)?.map(|row| RowBuf::from_bytes(&self.parts.layout, row)).transpose()
    }

    /// Same as [`Table::get`], and the commit fails with a retryable error if another transaction commits a change of
    /// the row after this read. See [`Transaction::get_for_update`].
    ///
    /// # Errors
    ///
    /// Same as [`Table::read`].
    pub fn get_for_update(
        &self,
        transaction: &mut Transaction,
        key: &[Value<'_>],
    ) -> Result<Option<RowBuf<'_>>> {
        let row = transaction.get_for_update(&self.parts.rows, &self.parts.key.encode(key)?)?;
        row.map(|row| RowBuf::from_bytes(&self.parts.layout, row)).transpose()
    }

    /// Locks a row until the transaction ends, and returns a copy of its newest committed version. The row need not
    /// exist. Waits while another transaction holds the lock. See [`Transaction::get_locked`].
    ///
    /// # Errors
    ///
    /// [`Error::Constraint`] if the key's values do not fit, and those of [`Transaction::get_locked`].
    pub fn get_locked(
        &self,
        transaction: &mut Transaction,
        key: &[Value<'_>],
        wait: Wait,
    ) -> Result<Option<RowBuf<'_>>> {
        let row = transaction.get_locked(&self.parts.rows, &self.parts.key.encode(key)?, wait)?;
        row.map(|row| RowBuf::from_bytes(&self.parts.layout, row)).transpose()
    }

    /// Locks a row until the transaction ends, if no other transaction has it. Returns false otherwise, at once. See
    /// [`Transaction::try_lock`].
    ///
    /// # Errors
    ///
    /// [`Error::Constraint`] if the key's values do not fit, and those of [`Transaction::try_lock`].
    pub fn try_lock(&self, transaction: &mut Transaction, key: &[Value<'_>]) -> Result<bool> {
        transaction.try_lock(&self.parts.rows, &self.parts.key.encode(key)?)
    }

    /// Inserts a row.
    ///
    /// # Errors
    ///
    /// [`Error::Constraint`] if the values do not fit, or a row with the same primary key or the same values in a
    /// unique index exists; [`Error::Capacity`] if a key or the row is too long; and the errors of the transaction.
    pub fn insert<B: Bytes + ?Sized>(&self, bytes: &mut B, values: &[Value<'_>]) -> Result<()> {
        let row = RowBuf::new(&self.parts.layout, values)?;
        let key = self.row_key(&row.view())?;
        if bytes.read(&self.parts.rows, &key, &mut |_| ())? {
            return Err(Error::Constraint(format!(
                "table {}: a row with primary key ({}) already exists: use another key, or upsert",
                self.name(),
                self.parts.key.describe(&key),
            )));
        }
        self.put_over(bytes, &key, None, &row, |_| true)
    }

    /// Inserts a row, or replaces the row with the same primary key. Returns true if there was one.
    ///
    /// # Errors
    ///
    /// Same as [`Table::insert`], except that the primary key may exist.
    pub fn upsert<B: Bytes + ?Sized>(&self, bytes: &mut B, values: &[Value<'_>]) -> Result<bool> {
        let row = RowBuf::new(&self.parts.layout, values)?;
        let key = self.row_key(&row.view())?;
        let old = self.get_encoded(bytes, &key)?;
        self.put_over(bytes, &key, old.as_ref().map(RowBuf::view), &row, |_| true)?;
        Ok(old.is_some())
    }

    /// Passes the row with a primary key to `change`, which may set columns, and stores the row. Returns none if the
    /// row does not exist. Writes nothing if `change` sets nothing or fails.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if a column of the primary key is changed; [`Error::Constraint`] if another row has the same
    /// values in a unique index; [`Error::Capacity`] if a key or the row becomes too long; the errors of `change`, and
    /// those of the transaction.
    pub fn update<B: Bytes + ?Sized, R>(
        &self,
        bytes: &mut B,
        key: &[Value<'_>],
        change: impl FnOnce(&mut RowBuf<'_>) -> Result<R>,
    ) -> Result<Option<R>> {
        let key = self.parts.key.encode(key)?;
        let Some(mut row) = self.get_encoded(bytes, &key)? else { return Ok(None) };
        // Only a table with indexes needs the old row.
        let old = if self.parts.indexes.is_empty() { None } else { Some(row.clone()) };
        let result = change(&mut row)?;
        let changed = row.changed();
        if changed.is_empty() {
            return Ok(Some(result));
        }
        if changed.meets(&self.parts.key_columns) {
            let mut new = Vec::with_capacity(key.len());
            self.parts.key.encode_row(&row.view(), &mut new)?;
            if new != key {
                return Err(self.key_changed(&key, &new));
            }
        }
        self.put_over(bytes, &key, old.as_ref().map(RowBuf::view), &row, |index| {
            index.columns.meets(&changed)
        })?;
        Ok(Some(result))
    }

    /// Sets columns, by position, of the row with a primary key. Returns false if the row does not exist.
    ///
    /// # Errors
    ///
    /// Same as [`Table::update`], and [`Error::Constraint`] if a value does not fit its column.
    pub fn set<B: Bytes + ?Sized>(
        &self,
        bytes: &mut B,
        key: &[Value<'_>],
        columns: &[(usize, Value<'_>)],
    ) -> Result<bool> {
        let set =
            |row: &mut RowBuf<'_>| columns.iter().try_for_each(|(column, value)| row.set(*column, *value));
        Ok(self.update(bytes, key, set)?.is_some())
    }

    /// Deletes the row with a primary key. Returns false if the row does not exist.
    ///
    /// # Errors
    ///
    /// [`Error::Constraint`] if the key's values do not fit, and the errors of the transaction.
    pub fn delete<B: Bytes + ?Sized>(&self, bytes: &mut B, key: &[Value<'_>]) -> Result<bool> {
        let key = self.parts.key.encode(key)?;
        let entries = if self.parts.indexes.is_empty() {
            if !bytes.read(&self.parts.rows, &key, &mut |_| ())? {
                return Ok(false);
            }
            Vec::new()
        } else {
            let entries = |row: RowView<'_>| {
                self.parts.indexes.iter().map(|index| index.entry_key(&row, &key)).collect()
            };
            let Some(entries) = self.read_encoded::<_, Vec<Vec<u8>>>(bytes, &key, entries)? else {
                return Ok(false);
            };
            let mut own = Vec::with_capacity(entries.len());
            for (index, entry) in self.parts.indexes.iter().zip(entries) {
                if !self.is_of_another(bytes, index, &entry, &key)? {
                    own.push((&index.keyspace, entry));
                }
            }
            own
        };
        self.make_room(bytes, entries.iter().map(|(_, entry)| (entry.len(), 0)), &key, 0)?;
        for (keyspace, entry) in &entries {
            bytes.delete(keyspace, entry)?;
        }
        bytes.delete(&self.parts.rows, &key)?;
        Ok(true)
    }

    /// Stores a row. Without `old` it is new and gets all its entries. With `old`, the row of the same key before, it gets
    /// those of the indexes that `concerns` names.
    fn put_over<B: Bytes + ?Sized>(
        &self,
        bytes: &mut B,
        key: &[u8],
        old: Option<RowView<'_>>,
        row: &RowBuf<'_>,
        concerns: impl Fn(&Index) -> bool,
    ) -> Result<()> {
        let (mut gone, mut entries) = (Vec::new(), Vec::new());
        for index in self.parts.indexes.iter().filter(|index| old.is_none() || concerns(index)) {
            let before = old.as_ref().map(|old| index.entry(old, key)).transpose()?;
            let entry = index.entry(&row.view(), key)?;
            self.check_entry(index, &entry, key)?;
            match before {
                Some(before) if before.key == entry.key => {
                    if before.included == entry.included
                        || self.is_of_another(bytes, index, &before.key, key)?
                    {
                        continue;
                    }
                }
                before => {
                    self.check_free(bytes, index, &entry)?;
                    if let Some(before) = before
                        && !self.is_of_another(bytes, index, &before.key, key)?
                    {
                        gone.push((&index.keyspace, before.key));
                    }
                }
            }
            entries.push((index, entry));
        }
        let lengths = entries.iter().map(|(_, entry)| entry.lengths());
        let lengths = gone.iter().map(|(_, key)| (key.len(), 0)).chain(lengths);
        self.make_room(bytes, lengths, key, row.as_bytes().len())?;
        for (keyspace, entry) in gone {
            bytes.delete(keyspace, &entry)?;
        }
        for (index, entry) in &entries {
            index.put(bytes, entry, key)?;
        }
        bytes.put(&self.parts.rows, key, row.as_bytes())
    }

    /// Checks that no other row has the key of a new entry in a unique index.
    fn check_free<B: Bytes + ?Sized>(&self, bytes: &mut B, index: &Index, entry: &Entry) -> Result<()> {
        let Some(other) = index.holder(bytes, entry)? else { return Ok(()) };
        Err(Error::Constraint(format!(
            "table {}, unique index {}: ({}) already belongs to the row with primary key ({}): \
             use other values",
            self.name(),
            index.name,
            index.key.describe(&entry.key),
            self.parts.key.describe(&other),
        )))
    }

    /// Returns true if the entry of the row with the primary key `key` belongs to another row, so it must stay. That may be
    /// so in a unique index that is being added. The row was there before and has no entry yet, and another row has got
    /// its values meanwhile. Either one of them changes before the first one gets its entry, or the index is rejected.
    pub(super) fn is_of_another<B: Bytes + ?Sized>(
        &self,
        bytes: &mut B,
        index: &Index,
        entry: &[u8],
        key: &[u8],
    ) -> Result<bool> {
        let may_be = index.is_building && index.unique;
        Ok(may_be && index.holder_of(bytes, entry)?.is_some_and(|holder| holder != key))
    }

    /// Makes room for the writes of index entries, with keys and included columns of these lengths, and of the row with
    /// the primary key `key`. So none is rejected after another one was made.
    fn make_room<B: Bytes + ?Sized>(
        &self,
        bytes: &mut B,
        entries: impl Iterator<Item = (usize, usize)>,
        key: &[u8],
        row: usize,
    ) -> Result<()> {
        let (mut count, mut keys, mut included) = (0, 0, 0);
        for (key, value) in entries {
            count += 1;
            keys += key;
            included += value;
        }
        if count == 0 {
            return Ok(());
        }
        // The value of an entry is the primary key, or nothing, and the included columns.
        let values = if row == 0 { 0 } else { row + count * key.len() + included };
        bytes.make_room(&self.parts.rows, count + 1, keys + key.len(), values)
    }

    /// Returns the encoded primary key of a row.
    fn row_key(&self, row: &RowView<'_>) -> Result<Vec<u8>> {
        let mut key = Vec::with_capacity(32);
        self.parts.key.encode_row(row, &mut key)?;
        self.check_length("primary key", &key)?;
        Ok(key)
    }

    /// Checks the lengths of an entry's key and value.
    pub(super) fn check_entry(&self, index: &Index, entry: &Entry, key: &[u8]) -> Result<()> {
        self.check_length(&index.name, &entry.key)?;
        let value = entry.included.len() + if index.unique { key.len() } else { 0 };
        if value <= MAX_VALUE_BYTES {
            return Ok(());
        }
        Err(Error::Capacity(format!(
            "table {}, {}: the included columns and the primary key have {value} bytes: \
             shorten them until they have at most {MAX_VALUE_BYTES}",
            self.name(),
            index.name
        )))
    }

    /// Checks a key's length. The transaction checks it too, but then something else may have been written already.
    pub(super) fn check_length(&self, name: &str, key: &[u8]) -> Result<()> {
        if key.len() <= MAX_KEY_BYTES {
            return Ok(());
        }
        let (table, bytes) = (self.name(), key.len());
        Err(Error::Capacity(format!(
            "table {table}, {name}: a key of {bytes} bytes is too long: \
             shorten its texts until it has at most {MAX_KEY_BYTES}"
        )))
    }

    #[cold]
    fn key_changed(&self, old: &[u8], new: &[u8]) -> Error {
        Error::Usage(format!(
            "table {}: an update can't change the primary key, from ({}) to ({}): delete the row and insert another",
            self.name(),
            self.parts.key.describe(old),
            self.parts.key.describe(new),
        ))
    }

    /// Returns the index of a name.
    pub(super) fn index(&self, name: &str) -> Result<&Index> {
        Ok(&self.parts.indexes[self.index_number(name)?])
    }

    /// Returns the number of the index of a name, in the order of [`Table::indexes`].
    pub(super) fn index_number(&self, name: &str) -> Result<usize> {
        self.indexes().iter().position(|index| index.name == name).ok_or_else(|| {
            let mut message = format!("table {}: there is no index {name}", self.name());
            for (at, index) in self.indexes().iter().enumerate() {
                // Writing to a string does not fail.
                let _ = write!(message, "{} {}", if at == 0 { ", only" } else { "," }, index.name);
            }
            Error::Usage(message)
        })
    }

    /// Returns the indexes of the schema, which can be read.
    pub(super) fn indexes(&self) -> &[Index] {
        &self.parts.indexes[..self.parts.schema.indexes.len()]
    }

    /// Returns the indexes that are written with a row: those of the schema, and the one that is being added.
    pub(super) fn written(&self) -> &[Index] {
        &self.parts.indexes
    }

    /// Returns the index that is being added, which is the last one that is written.
    pub(super) fn building(&self) -> Option<&Index> {
        self.written().get(self.indexes().len())
    }

    #[cold]
    pub(super) fn corrupt(&self, what: impl std::fmt::Display) -> Error {
        corrupt(self.name(), what)
    }
}
