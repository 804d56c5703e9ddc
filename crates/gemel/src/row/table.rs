//! Tables: rows by primary key, and the secondary indexes that follow them.
//!
//! An entry of an index has the index columns and behind them the primary key as its key, and no value. An entry of a
//! unique index has the index columns alone as its key, and the primary key as its value; where an index column is
//! null, which exempts the row, the primary key stands in both.
//!
//! Every operation reads and checks all that it needs before it writes; one that is refused has changed nothing.

use super::keys::KeyLayout;
use super::layout::Layout;
use super::schema::Schema;
use super::value::Value;
use super::view::{ColumnSet, RowBuf, RowView};
use super::{Bytes, corrupt};
use crate::error::{Error, Result};
use crate::key::MAX_KEY_BYTES;
use crate::keyspace::Keyspace;
use std::fmt::Write as _;

/// A table of a database.
#[derive(Clone, Debug)]
pub struct Table {
    schema: Schema,
    layout: Layout,
    key: KeyLayout,
    key_columns: ColumnSet,
    rows: Keyspace,
    indexes: Box<[Index]>,
}

/// A secondary index.
#[derive(Clone, Debug)]
pub(super) struct Index {
    pub(super) name: String,
    pub(super) unique: bool,
    pub(super) key: KeyLayout,
    pub(super) keyspace: Keyspace,
    columns: ColumnSet,
}

/// The key of an index entry, and whether another row may not have the same.
pub(super) struct Entry {
    pub(super) key: Vec<u8>,
    constrained: bool,
}

impl Table {
    /// A table of the catalog, with the keyspace of its rows and those of its indexes in the order of the schema.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the schema can't be used, or the number of keyspaces is not that of the indexes.
    pub(crate) fn new(name: &str, schema: Schema, rows: Keyspace, indexes: Vec<Keyspace>) -> Result<Self> {
        let layout = Layout::new(name, &schema)?;
        let key = KeyLayout::primary(name, &schema)?;
        if indexes.len() != schema.indexes.len() {
            let (given, needed) = (indexes.len(), schema.indexes.len());
            return Err(Error::Usage(format!("table {name}: {given} keyspaces for {needed} indexes")));
        }
        let indexes = schema
            .indexes
            .iter()
            .zip(indexes)
            .map(|(index, keyspace)| {
                let key = KeyLayout::new(name, &schema, &index.columns)?;
                let columns = set_of(&key);
                Ok(Index { name: index.name.clone(), unique: index.unique, key, keyspace, columns })
            })
            .collect::<Result<_>>()?;
        Ok(Self { layout, key_columns: set_of(&key), key, rows, indexes, schema })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.layout.table()
    }

    /// Its shape.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The codec of its rows.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The codec of its primary key.
    #[must_use]
    pub fn primary_key(&self) -> &KeyLayout {
        &self.key
    }

    /// Position of a column in its rows. Look it up once, not for each row.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if there is no such column.
    pub fn column(&self, name: &str) -> Result<usize> {
        self.layout.column(name)
    }

    /// The keyspace of its rows.
    pub(crate) fn rows(&self) -> &Keyspace {
        &self.rows
    }

    /// Hands the row with a primary key to `found`; None if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Constraint`] if the key's values do not fit, whatever `found` returns, and those of the layers below.
    pub fn read<B: Bytes + ?Sized, R>(
        &self,
        bytes: &mut B,
        key: &[Value<'_>],
        found: impl FnOnce(RowView<'_>) -> Result<R>,
    ) -> Result<Option<R>> {
        let key = self.key.encode(key)?;
        self.read_encoded(bytes, &key, found)
    }

    pub(super) fn read_encoded<B: Bytes + ?Sized, R>(
        &self,
        bytes: &mut B,
        key: &[u8],
        found: impl FnOnce(RowView<'_>) -> Result<R>,
    ) -> Result<Option<R>> {
        let (mut found, mut result) = (Some(found), None);
        bytes.read(&self.rows, key, &mut |row| {
            if let Some(found) = found.take() {
                result = Some(RowView::new(&self.layout, row).and_then(found));
            }
        })?;
        result.transpose()
    }

    /// A copy of the row with a primary key; None if there is none.
    ///
    /// # Errors
    ///
    /// As [`Table::read`].
    pub fn get<B: Bytes + ?Sized>(&self, bytes: &mut B, key: &[Value<'_>]) -> Result<Option<RowBuf<'_>>> {
        let key = self.key.encode(key)?;
        self.get_encoded(bytes, &key)
    }

    fn get_encoded<B: Bytes + ?Sized>(&self, bytes: &mut B, key: &[u8]) -> Result<Option<RowBuf<'_>>> {
        bytes.get(&self.rows, key)?.map(|row| RowBuf::from_bytes(&self.layout, row)).transpose()
    }

    /// Adds a row.
    ///
    /// # Errors
    ///
    /// [`Error::Constraint`] if the values do not fit, or there is a row with the same primary key or the same values in a unique
    /// index; [`Error::Capacity`] if a key or the row is too long; and those of the layers below.
    pub fn insert<B: Bytes + ?Sized>(&self, bytes: &mut B, values: &[Value<'_>]) -> Result<()> {
        let row = RowBuf::new(&self.layout, values)?;
        let key = self.row_key(&row.view())?;
        if bytes.read(&self.rows, &key, &mut |_| ())? {
            return Err(Error::Constraint(format!(
                "table {}: there is a row already with primary key ({}); use another key, or upsert",
                self.name(),
                self.key.describe(&key),
            )));
        }
        let entries = self.free_entries(bytes, &row.view(), &key, |_| true)?;
        self.write_entries(bytes, &key, &entries)?;
        bytes.put(&self.rows, &key, row.as_bytes())
    }

    /// Adds a row, or puts it in the place of the one with the same primary key; true if there was one.
    ///
    /// # Errors
    ///
    /// As [`Table::insert`], but for the primary key.
    pub fn upsert<B: Bytes + ?Sized>(&self, bytes: &mut B, values: &[Value<'_>]) -> Result<bool> {
        let row = RowBuf::new(&self.layout, values)?;
        let key = self.row_key(&row.view())?;
        let old = self.get_encoded(bytes, &key)?;
        self.put_over(bytes, &key, old.as_ref().map(RowBuf::view), &row, |_| true)?;
        Ok(old.is_some())
    }

    /// Hands the row with a primary key to `change`, which may set columns of it, and stores it; None if there is no such row.
    /// Nothing is written if `change` sets nothing, or fails.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if a column of the primary key is changed; [`Error::Constraint`] if there is another row with the same
    /// values in a unique index; [`Error::Capacity`] if a key or the row gets too long; whatever `change` returns; and those of the layers below.
    pub fn update<B: Bytes + ?Sized, R>(
        &self,
        bytes: &mut B,
        key: &[Value<'_>],
        change: impl FnOnce(&mut RowBuf<'_>) -> Result<R>,
    ) -> Result<Option<R>> {
        let key = self.key.encode(key)?;
        let Some(mut row) = self.get_encoded(bytes, &key)? else { return Ok(None) };
        // Only a table with indexes needs to know what the row was.
        let old = if self.indexes.is_empty() { None } else { Some(row.clone()) };
        let result = change(&mut row)?;
        let changed = row.changed();
        if changed.is_empty() {
            return Ok(Some(result));
        }
        if changed.meets(&self.key_columns) {
            let mut new = Vec::with_capacity(key.len());
            self.key.encode_row(&row.view(), &mut new)?;
            if new != key {
                return Err(self.key_changed(&key, &new));
            }
        }
        self.put_over(bytes, &key, old.as_ref().map(RowBuf::view), &row, |index| {
            index.columns.meets(&changed)
        })?;
        Ok(Some(result))
    }

    /// Sets columns, by their positions, of the row with a primary key; false if there is none.
    ///
    /// # Errors
    ///
    /// As [`Table::update`], and [`Error::Constraint`] if a value does not fit its column.
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

    /// Removes the row with a primary key; false if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Constraint`] if the key's values do not fit, and those of the layers below.
    pub fn delete<B: Bytes + ?Sized>(&self, bytes: &mut B, key: &[Value<'_>]) -> Result<bool> {
        let key = self.key.encode(key)?;
        let entries = if self.indexes.is_empty() {
            if !bytes.read(&self.rows, &key, &mut |_| ())? {
                return Ok(false);
            }
            Vec::new()
        } else {
            let entries =
                |row: RowView<'_>| self.indexes.iter().map(|index| index.entry(&row, &key)).collect();
            match self.read_encoded::<_, Vec<Entry>>(bytes, &key, entries)? {
                Some(entries) => entries,
                None => return Ok(false),
            }
        };
        for (index, entry) in self.indexes.iter().zip(&entries) {
            bytes.delete(&index.keyspace, &entry.key)?;
        }
        bytes.delete(&self.rows, &key)?;
        Ok(true)
    }

    /// Stores `row`, with its entries in those indexes that `concerns` picks, in place of the row that was there.
    fn put_over<B: Bytes + ?Sized>(
        &self,
        bytes: &mut B,
        key: &[u8],
        old: Option<RowView<'_>>,
        row: &RowBuf<'_>,
        concerns: impl Fn(&Index) -> bool,
    ) -> Result<()> {
        let mut gone = Vec::new();
        let mut same = vec![false; self.indexes.len()];
        if let Some(old) = old {
            for (index, same) in self.indexes.iter().zip(&mut same) {
                *same = !concerns(index);
                if !*same {
                    let (before, after) = (index.entry(&old, key)?, index.entry(&row.view(), key)?);
                    *same = before.key == after.key;
                    if !*same {
                        gone.push((&index.keyspace, before.key));
                    }
                }
            }
        }
        let entries = self.free_entries(bytes, &row.view(), key, |at| !same[at])?;
        for (keyspace, entry) in gone {
            bytes.delete(keyspace, &entry)?;
        }
        self.write_entries(bytes, key, &entries)?;
        bytes.put(&self.rows, key, row.as_bytes())
    }

    /// The entries of a row in the indexes that `wanted` picks by position, once no other row stands in their way.
    fn free_entries<B: Bytes + ?Sized>(
        &self,
        bytes: &mut B,
        row: &RowView<'_>,
        key: &[u8],
        wanted: impl Fn(usize) -> bool,
    ) -> Result<Vec<(&Index, Entry)>> {
        let mut entries = Vec::new();
        for (at, index) in self.indexes.iter().enumerate() {
            if !wanted(at) {
                continue;
            }
            let entry = index.entry(row, key)?;
            self.check_length(&index.name, &entry.key)?;
            if entry.constrained
                && let Some(other) = bytes.get(&index.keyspace, &entry.key)?
            {
                return Err(Error::Constraint(format!(
                    "table {}, unique index {}: ({}) belongs already to the row with primary key ({})",
                    self.name(),
                    index.name,
                    index.key.describe(&entry.key),
                    self.key.describe(&other),
                )));
            }
            entries.push((index, entry));
        }
        Ok(entries)
    }

    fn write_entries<B: Bytes + ?Sized>(
        &self,
        bytes: &mut B,
        key: &[u8],
        entries: &[(&Index, Entry)],
    ) -> Result<()> {
        entries.iter().try_for_each(|(index, entry)| {
            bytes.put(&index.keyspace, &entry.key, if index.unique { key } else { &[] })
        })
    }

    /// The encoded primary key of a row.
    fn row_key(&self, row: &RowView<'_>) -> Result<Vec<u8>> {
        let mut key = Vec::with_capacity(32);
        self.key.encode_row(row, &mut key)?;
        self.check_length("primary key", &key)?;
        Ok(key)
    }

    /// The layer below checks this too, but only when something else may have been written already.
    fn check_length(&self, name: &str, key: &[u8]) -> Result<()> {
        if key.len() <= MAX_KEY_BYTES {
            return Ok(());
        }
        let (table, bytes) = (self.name(), key.len());
        Err(Error::Capacity(format!(
            "table {table}, {name}: a key of {bytes} bytes, at most {MAX_KEY_BYTES} are possible; shorten its texts"
        )))
    }

    #[cold]
    fn key_changed(&self, old: &[u8], new: &[u8]) -> Error {
        Error::Usage(format!(
            "table {}: an update can't change the primary key, from ({}) to ({}); delete the row and insert another",
            self.name(),
            self.key.describe(old),
            self.key.describe(new),
        ))
    }

    /// The index of a name.
    pub(super) fn index(&self, name: &str) -> Result<&Index> {
        self.indexes.iter().find(|index| index.name == name).ok_or_else(|| {
            let mut message = format!("table {}: there is no index {name}", self.name());
            for (at, index) in self.indexes.iter().enumerate() {
                // Writing to a string does not fail.
                let _ = write!(message, "{} {}", if at == 0 { ", only" } else { "," }, index.name);
            }
            Error::Usage(message)
        })
    }

    pub(super) fn indexes(&self) -> &[Index] {
        &self.indexes
    }

    #[cold]
    pub(super) fn corrupt(&self, what: impl std::fmt::Display) -> Error {
        corrupt(self.name(), what)
    }
}

impl Index {
    /// The entry of a row with the primary key `key`.
    pub(super) fn entry(&self, row: &RowView<'_>, key: &[u8]) -> Result<Entry> {
        let constrained = self.unique && !self.key.has_null(row)?;
        let mut entry = Vec::with_capacity(32 + key.len());
        self.key.encode_row(row, &mut entry)?;
        if !constrained {
            entry.extend_from_slice(key);
        }
        Ok(Entry { key: entry, constrained })
    }

    /// The primary key to which an entry leads.
    pub(super) fn primary_key<'a>(&self, entry: &'a [u8], value: &'a [u8]) -> Result<&'a [u8]> {
        if self.unique { Ok(value) } else { Ok(&entry[self.key.extent(entry)?..]) }
    }
}

fn set_of(key: &KeyLayout) -> ColumnSet {
    let mut set = ColumnSet::default();
    key.positions().for_each(|column| set.add(column));
    set
}
