//! Secondary indexes: the bytes of their entries, and the entries in a range of rows.
//!
//! The key of an entry is the index columns followed by the primary key, and its value is empty. The key of a unique
//! index's entry is the index columns alone, and its value is the primary key. If an index column is null, the row is
//! exempt from uniqueness, and the primary key is in both key and value.
//!
//! The values of included columns follow in the entry's value, in the form of a row that has only these columns.
//!
//! Bounds may have columns of the primary key behind those of the index. A column that is in both is given once, since
//! its second place in an entry's key has the same value. In a unique index, at most one row has the bound's index
//! columns, and the key of its entry does not have the bytes that decide. So the keys that are scanned begin or end with
//! that entry, and each entry is compared together with the primary key in its value. One entry more is read at each
//! such bound, and the answers are those of an index that is not unique.

use super::Bytes;
use super::keys::{KeyLayout, RowRange, Span, successor};
use super::layout::Layout;
use super::schema::{IndexDef, Schema};
use super::value::Value;
use super::view::{ColumnSet, RowView};
use crate::error::{Error, Result};
use crate::keyspace::Keyspace;
use std::borrow::Cow;
use std::cmp::Ordering;

/// A secondary index.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) name: String,
    pub(super) unique: bool,
    pub(super) key: KeyLayout,
    pub(super) keyspace: Keyspace,
    /// True if rows from before may lack their entries: the index is only written.
    pub(super) is_building: bool,
    /// The columns on which the entries depend, apart from the primary key: those of the index, and the included ones.
    pub(super) columns: ColumnSet,
    /// The primary key of the table.
    primary: KeyLayout,
    /// For each column of the primary key, its place among the columns of the index, if it is one of them.
    shared: Box<[Option<usize>]>,
    /// Positions of the included columns.
    included: Box<[usize]>,
    /// Layout of the included columns in the value of an entry.
    stored: Layout,
    /// The columns whose values the index has: its own, those of the primary key, and the included ones.
    covered: ColumnSet,
    /// Layout of a row that has all of these columns.
    row: Layout,
}

/// The entry of a row in an index.
pub(super) struct Entry {
    pub(super) key: Vec<u8>,
    /// The included columns; empty if the index includes none.
    pub(super) included: Vec<u8>,
    /// True if no other row may have the same key.
    pub(super) constrained: bool,
}

impl Entry {
    /// Returns the lengths of the key and of the included columns.
    pub(super) fn lengths(&self) -> (usize, usize) {
        (self.key.len(), self.included.len())
    }
}

/// The entries of an index in a range of rows.
#[derive(Debug)]
pub(super) struct EntrySpan {
    /// The keys of these entries, and perhaps of an entry at either end that does not belong to the range.
    pub(super) keys: Span,
    /// The range of entry keys followed by primary keys, if `keys` has more entries than the range.
    exact: Option<Span>,
}

impl Index {
    /// Makes the index of a table from its definition. `primary` is the table's primary key.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if a column does not exist.
    pub(super) fn new(
        table: &str,
        schema: &Schema,
        primary: &KeyLayout,
        index: &IndexDef,
        keyspace: Keyspace,
    ) -> Result<Self> {
        let key = KeyLayout::new(table, schema, &index.columns)?;
        let shared = primary.positions().map(|column| key.positions().position(|own| own == column));
        let included = KeyLayout::new(table, schema, &index.include)?;
        let columns = || key.positions().chain(included.positions());
        let covered: ColumnSet = columns().chain(primary.positions()).collect();
        let positions: Vec<usize> = (0..schema.columns.len()).filter(|column| covered.has(*column)).collect();
        let columns = columns().collect();
        let included: Box<[usize]> = included.positions().collect();
        Ok(Self {
            name: index.name.clone(),
            unique: index.unique,
            columns,
            primary: primary.clone(),
            shared: shared.collect(),
            stored: Layout::of_index(table, schema, &index.name, &included),
            included,
            covered,
            row: Layout::of_index(table, schema, &index.name, &positions),
            key,
            keyspace,
            is_building: false,
        })
    }

    /// Returns the entry of a row with the primary key `key`.
    pub(super) fn entry(&self, row: &RowView<'_>, key: &[u8]) -> Result<Entry> {
        let (entry, constrained) = self.encode(row, key)?;
        let mut included = Vec::new();
        if !self.included.is_empty() {
            let mut values = vec![Value::Null; row.layout().columns()];
            for column in &self.included {
                values[*column] = row.get(*column)?;
            }
            self.stored.encode_into(&values, &mut included)?;
        }
        Ok(Entry { key: entry, included, constrained })
    }

    /// Returns the key of the entry of a row with the primary key `key`.
    pub(super) fn entry_key(&self, row: &RowView<'_>, key: &[u8]) -> Result<Vec<u8>> {
        Ok(self.encode(row, key)?.0)
    }

    /// Returns the key of an entry, and true if no other row may have the same key.
    fn encode(&self, row: &RowView<'_>, key: &[u8]) -> Result<(Vec<u8>, bool)> {
        let constrained = self.unique && !self.key.has_null(row)?;
        let mut entry = Vec::with_capacity(32 + key.len());
        self.key.encode_row(row, &mut entry)?;
        if !constrained {
            entry.extend_from_slice(key);
        }
        Ok((entry, constrained))
    }

    /// Returns the primary key of the row that has the key of a new entry, if no other row may have it.
    pub(super) fn holder<B: Bytes + ?Sized>(&self, bytes: &mut B, entry: &Entry) -> Result<Option<Vec<u8>>> {
        if entry.constrained { self.holder_of(bytes, &entry.key) } else { Ok(None) }
    }

    /// Returns the primary key to which the entry with a key leads, if there is one.
    pub(super) fn holder_of<B: Bytes + ?Sized>(
        &self,
        bytes: &mut B,
        entry: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        let value = bytes.get(&self.keyspace, entry)?;
        value.map(|value| Ok(self.primary_key(entry, &value)?.to_vec())).transpose()
    }

    /// Returns the value of the entry of a row with the primary key `key`.
    pub(super) fn value<'a>(&self, entry: &'a Entry, key: &'a [u8]) -> Cow<'a, [u8]> {
        match (self.unique, entry.included.is_empty()) {
            (true, true) => Cow::Borrowed(key),
            (true, false) => Cow::Owned([key, &entry.included].concat()),
            (false, _) => Cow::Borrowed(&entry.included),
        }
    }

    /// Writes the entry of a row with the primary key `key`.
    pub(super) fn put<B: Bytes + ?Sized>(&self, bytes: &mut B, entry: &Entry, key: &[u8]) -> Result<()> {
        bytes.put(&self.keyspace, &entry.key, &self.value(entry, key))
    }

    /// Returns the primary key to which an entry leads.
    pub(super) fn primary_key<'a>(&self, entry: &'a [u8], value: &'a [u8]) -> Result<&'a [u8]> {
        Ok(self.parts(entry, value)?.1)
    }

    /// Returns the parts of an entry: the index columns, the primary key to which it leads, and the included columns.
    fn parts<'a>(&self, entry: &'a [u8], value: &'a [u8]) -> Result<(&'a [u8], &'a [u8], &'a [u8])> {
        let own = |entry: &'a [u8]| Ok::<_, Error>(entry.split_at(self.key.extent(entry)?));
        if !self.unique {
            let (own, key) = own(entry)?;
            return Ok((own, key, value));
        }
        if self.included.is_empty() {
            return Ok((entry, value, &[]));
        }
        let (key, included) = value.split_at(self.primary.extent(value)?);
        Ok((entry, key, included))
    }

    /// Returns true if the index has the values of a column.
    pub(super) fn covers(&self, column: usize) -> bool {
        self.covered.has(column)
    }

    /// Returns the columns that the index has of a row, from its entry. `row` is memory for it.
    pub(super) fn covered<'a>(
        &'a self,
        entry: &[u8],
        value: &[u8],
        row: &'a mut Vec<u8>,
    ) -> Result<RowView<'a>> {
        let (own, key, included) = self.parts(entry, value)?;
        let (own, _) = self.key.decode_first(own)?;
        let primary = self.primary.decode(key)?;
        let mut values = vec![Value::Null; self.row.columns()];
        let of_keys = self.primary.positions().zip(&primary).chain(self.key.positions().zip(&own));
        of_keys.for_each(|(column, value)| values[column] = value.as_value());
        if !self.included.is_empty() {
            let included = RowView::new(&self.stored, included)?;
            for column in &self.included {
                values[*column] = included.get(*column)?;
            }
        }
        self.row.encode_into(&values, row)?;
        RowView::new(&self.row, row)
    }

    /// Returns the positions of the columns of the index, and then of those of the primary key that it lacks.
    pub(super) fn positions(&self) -> Vec<usize> {
        let further = self.primary.positions().zip(&self.shared).filter(|(_, shared)| shared.is_none());
        self.key.positions().chain(further.map(|(column, _)| column)).collect()
    }

    /// Returns the entries in a range of rows, or none if it is empty.
    pub(super) fn span(&self, range: &RowRange<'_>) -> Result<Option<EntrySpan>> {
        let Some(exact) = Span::of(range, |values| self.encode_prefix(values))? else {
            return Ok(None);
        };
        // The keys that begin with these have nothing behind the index columns.
        let [lower, upper] = range.bounds().map(|values| self.divided(values));
        let lower = lower?.filter(|entry| exact.lower.starts_with(entry));
        let upper = upper?.filter(|entry| exact.upper.as_ref().is_some_and(|upper| upper.starts_with(entry)));
        if lower.is_none() && upper.is_none() {
            return Ok(Some(exact.into()));
        }
        let keys = Span {
            lower: lower.unwrap_or_else(|| exact.lower.clone()),
            upper: upper.map_or_else(|| exact.upper.clone(), successor),
        };
        Ok(Some(EntrySpan { keys, exact: Some(exact) }))
    }

    /// Returns the place before the first row whose columns begin with `values`, as the key of an entry. With a primary
    /// key beside it, the place is before or after this entry: after it if the entry leads to a lower primary key.
    pub(super) fn target(&self, values: &[Value<'_>]) -> Result<(Vec<u8>, Option<Vec<u8>>)> {
        let mut key = self.encode_prefix(values)?;
        let within = self.divided(values)?.map(|entry| key.split_off(entry.len()));
        Ok((key, within))
    }

    /// Returns the key of the entry whose row a bound with these values includes or not, depending on its primary key.
    /// Returns none if the bytes of the entries' keys decide that.
    fn divided(&self, values: &[Value<'_>]) -> Result<Option<Vec<u8>>> {
        let Some((own, [_, ..])) = values.split_at_checked(self.key.positions().len()) else {
            return Ok(None);
        };
        if !self.unique || own.iter().any(|value| matches!(value, Value::Null)) {
            return Ok(None);
        }
        self.key.encode_prefix(own).map(Some)
    }

    /// Encodes the common prefix of the keys of all entries whose rows have `values` in the columns of the index, and
    /// then in those of the primary key that it lacks. For a unique index, the prefix of entry keys followed by primary
    /// keys.
    fn encode_prefix(&self, values: &[Value<'_>]) -> Result<Vec<u8>> {
        let Some((own, further)) = values.split_at_checked(self.key.positions().len()) else {
            return self.key.encode_prefix(values);
        };
        let mut key = self.key.encode_prefix(own)?;
        let mut further = further.iter();
        if further.len() > 0 {
            for (nth, shared) in self.shared.iter().enumerate() {
                let value = match shared {
                    Some(at) => own.get(*at),
                    None => further.next(),
                };
                let Some(value) = value else { break };
                self.primary.push_nth(nth, *value, &mut key)?;
            }
        }
        if further.len() > 0 { Err(self.miscounted(values.len())) } else { Ok(key) }
    }

    #[cold]
    fn miscounted(&self, given: usize) -> Error {
        let further = self.primary.names().zip(&self.shared).filter(|(_, shared)| shared.is_none());
        let names: Vec<&str> = self.key.names().chain(further.map(|(name, _)| name)).collect();
        Error::Constraint(format!(
            "table {}, index {}: {given} values given for the columns ({}): give at most {}",
            self.primary.table(),
            self.name,
            names.join(", "),
            names.len()
        ))
    }
}

/// All entries whose keys are in the span.
impl From<Span> for EntrySpan {
    fn from(keys: Span) -> Self {
        Self { keys, exact: None }
    }
}

impl EntrySpan {
    /// Returns all entries of an index.
    pub(super) fn all() -> Self {
        Span { lower: Vec::new(), upper: None }.into()
    }

    /// Returns true if an entry whose key is within the keys of the span belongs to the range.
    pub(super) fn has(&self, index: &Index, entry: &[u8], value: &[u8]) -> Result<bool> {
        let Some(exact) = &self.exact else { return Ok(true) };
        let key = index.primary_key(entry, value)?;
        let is_below = |bound: &[u8]| compare(entry, key, bound).is_lt();
        Ok(!is_below(&exact.lower) && exact.upper.as_deref().is_none_or(is_below))
    }
}

/// Compares an entry's key followed by a primary key with a bound.
fn compare(entry: &[u8], key: &[u8], bound: &[u8]) -> Ordering {
    match bound.split_at_checked(entry.len()) {
        Some((begin, rest)) => entry.cmp(begin).then_with(|| key.cmp(rest)),
        None => entry.cmp(bound),
    }
}
