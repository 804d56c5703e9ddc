//! Secondary indexes: the bytes of their entries, and the entries in a range of rows.
//!
//! The key of an entry is the index columns followed by the primary key, and its value is empty. The key of a unique
//! index's entry is the index columns alone, and its value is the primary key. If an index column is null, the row is
//! exempt from uniqueness, and the primary key is in both key and value.
//!
//! Bounds may have columns of the primary key behind those of the index. A column that is in both is given once, since
//! its second place in an entry's key has the same value. In a unique index, such a bound divides the rows with its index
//! columns, of which there is at most one, by bytes that are not in the entry's key. So the keys that are scanned begin
//! or end with that entry, and each entry is compared together with the primary key in its value: one entry more is read
//! at each such bound, and the answers are those of an index that is not unique.

use super::keys::{KeyLayout, RowRange, Span, successor};
use super::schema::{IndexDef, Schema};
use super::value::Value;
use super::view::{ColumnSet, RowView};
use crate::error::{Error, Result};
use crate::keyspace::Keyspace;
use std::cmp::Ordering;

/// A secondary index.
#[derive(Clone, Debug)]
pub(super) struct Index {
    pub(super) name: String,
    pub(super) unique: bool,
    pub(super) key: KeyLayout,
    pub(super) keyspace: Keyspace,
    pub(super) columns: ColumnSet,
    /// For each column of the primary key, its place among the columns of the index, if it is one of them.
    shared: Box<[Option<usize>]>,
}

/// The key of an index entry. `constrained` is true if no other row may have the same key.
pub(super) struct Entry {
    pub(super) key: Vec<u8>,
    pub(super) constrained: bool,
}

/// The entries of an index in a range of rows.
#[derive(Debug)]
pub(super) struct EntrySpan {
    /// The keys of these entries, and perhaps of an entry at either end that does not belong to the range.
    pub(super) keys: Span,
    /// The range of entry keys followed by primary keys, if `keys` has more entries than the range.
    exact: Option<Span>,
}

/// The place that a cursor seeks in an index.
pub(super) enum Target {
    /// Before the first entry whose key is not below this one.
    Key(Vec<u8>),
    /// Before or after the entry with the first key: after it if its primary key is below the second one.
    Within(Vec<u8>, Vec<u8>),
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
        Ok(Self {
            name: index.name.clone(),
            unique: index.unique,
            columns: key.positions().collect(),
            shared: shared.collect(),
            key,
            keyspace,
        })
    }

    /// Returns the entry of a row with the primary key `key`.
    pub(super) fn entry(&self, row: &RowView<'_>, key: &[u8]) -> Result<Entry> {
        let constrained = self.unique && !self.key.has_null(row)?;
        let mut entry = Vec::with_capacity(32 + key.len());
        self.key.encode_row(row, &mut entry)?;
        if !constrained {
            entry.extend_from_slice(key);
        }
        Ok(Entry { key: entry, constrained })
    }

    /// Returns the primary key to which an entry leads.
    pub(super) fn primary_key<'a>(&self, entry: &'a [u8], value: &'a [u8]) -> Result<&'a [u8]> {
        if self.unique { Ok(value) } else { Ok(&entry[self.key.extent(entry)?..]) }
    }

    /// Returns the positions of the columns of the index, and then of those of the primary key that it lacks.
    pub(super) fn positions(&self, primary: &KeyLayout) -> Vec<usize> {
        let further = primary.positions().zip(&self.shared).filter(|(_, shared)| shared.is_none());
        self.key.positions().chain(further.map(|(column, _)| column)).collect()
    }

    /// Returns the entries in a range of rows, or none if it is empty.
    pub(super) fn span(&self, primary: &KeyLayout, range: &RowRange<'_>) -> Result<Option<EntrySpan>> {
        let Some(exact) = Span::of(range, |values| self.encode_prefix(primary, values))? else {
            return Ok(None);
        };
        // The keys that begin with these have nothing behind the index columns.
        let [lower, upper] = range.bounds().map(|values| self.divided(values));
        let lower = lower?.filter(|entry| exact.lower.starts_with(entry));
        let upper = upper?.filter(|entry| exact.upper.as_ref().is_some_and(|upper| upper.starts_with(entry)));
        if lower.is_none() && upper.is_none() {
            return Ok(Some(EntrySpan { keys: exact, exact: None }));
        }
        let keys = Span {
            lower: lower.unwrap_or_else(|| exact.lower.clone()),
            upper: upper.map_or_else(|| exact.upper.clone(), successor),
        };
        Ok(Some(EntrySpan { keys, exact: Some(exact) }))
    }

    /// Returns the place before the first row whose columns begin with `values`.
    pub(super) fn target(&self, primary: &KeyLayout, values: &[Value<'_>]) -> Result<Target> {
        let mut key = self.encode_prefix(primary, values)?;
        Ok(match self.divided(values)? {
            None => Target::Key(key),
            Some(entry) => Target::Within(entry.clone(), key.split_off(entry.len())),
        })
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
    fn encode_prefix(&self, primary: &KeyLayout, values: &[Value<'_>]) -> Result<Vec<u8>> {
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
                primary.push_nth(nth, *value, &mut key)?;
            }
        }
        if further.len() > 0 { Err(self.miscounted(primary, values.len())) } else { Ok(key) }
    }

    #[cold]
    fn miscounted(&self, primary: &KeyLayout, given: usize) -> Error {
        let further = primary.names().zip(&self.shared).filter(|(_, shared)| shared.is_none());
        let names: Vec<&str> = self.key.names().chain(further.map(|(name, _)| name)).collect();
        Error::Constraint(format!(
            "table {}, index {}: {given} values given for the columns ({}): give at most {}",
            primary.table(),
            self.name,
            names.join(", "),
            names.len()
        ))
    }
}

impl EntrySpan {
    /// Returns all entries of an index.
    pub(super) fn all() -> Self {
        Self { keys: Span { lower: Vec::new(), upper: None }, exact: None }
    }

    /// Returns true if an entry whose key is within the keys of the span belongs to the range.
    pub(super) fn has(&self, entry: &[u8], key: &[u8]) -> bool {
        let Some(exact) = &self.exact else { return true };
        let is_below = |bound: &[u8]| compare(entry, key, bound).is_lt();
        !is_below(&exact.lower) && exact.upper.as_deref().is_none_or(is_below)
    }
}

/// Compares an entry's key followed by a primary key with a bound.
fn compare(entry: &[u8], key: &[u8], bound: &[u8]) -> Ordering {
    match bound.split_at_checked(entry.len()) {
        Some((begin, rest)) => entry.cmp(begin).then_with(|| key.cmp(rest)),
        None => entry.cmp(bound),
    }
}
