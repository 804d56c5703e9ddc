//! Keys made of column values. The order of their bytes is the order of the values.
//!
//! The columns follow each other. No encoded value is a prefix of another one of the same column. So the bytes of the
//! first columns are a prefix of exactly those keys that begin with the same values:
//!
//! - a nullable column: 0 if null, otherwise 1 and the value;
//! - an integer, decimal or timestamp: big-endian with its sign bit flipped;
//! - a float: its bits big-endian, the sign bit flipped if positive, all bits flipped if negative;
//! - a boolean: 0 or 1;
//! - a text or bytes: each byte 0 as 0 255, and 0 0 after the last byte.
//!
//! A column in descending order has all bits of these bytes flipped. Since no value is a prefix of another one, that is
//! exactly the reverse order, and no flipped value is a prefix of another one.

use super::column_type::ColumnType;
use super::key_column::KeyColumn;
use super::schema::{Column, Schema};
use super::value::{OwnedValue, Value};
use super::view::RowView;
use super::{corrupt, misfit, unusable};
use crate::error::{Error, Result};
use std::ops::Bound;

/// The bytes after the last byte of a text.
const TERMINATOR: [u8; 2] = [0, 0];
/// The byte after a byte 0 inside a text.
const ESCAPED: u8 = 0xFF;
const SIGN: u64 = 1 << 63;

/// The codec of the keys of a table or of an index.
///
/// ```
/// use gemel::row::{ColumnType, KeyLayout, Schema, Value};
///
/// # fn main() -> gemel::Result<()> {
/// let schema = Schema::new()
///     .column("last", ColumnType::Text)
///     .column("id", ColumnType::I32)
///     .primary_key(["last", "id"]);
/// let key = KeyLayout::primary("customer", &schema)?;
/// let ann = key.encode(&[Value::Text("ANN"), Value::Int(3)])?;
/// let anna = key.encode(&[Value::Text("ANNA"), Value::Int(-3)])?;
/// assert!(ann < anna);
/// assert!(ann.starts_with(&key.encode_prefix(&[Value::Text("ANN")])?));
/// assert!(!anna.starts_with(&key.encode_prefix(&[Value::Text("ANN")])?));
/// assert_eq!(key.decode(&anna)?[1].as_value(), Value::Int(-3));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct KeyLayout {
    table: Box<str>,
    columns: Box<[Part]>,
}

/// A column of a key.
#[derive(Clone, Debug)]
struct Part {
    /// Position in the row.
    position: usize,
    column: Column,
    /// The bits of each byte that are flipped: all in descending order, otherwise none.
    flip: u8,
}

impl KeyLayout {
    /// Makes the codec of the primary key of `schema`. Messages call the table `table`.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] with all faults of the schema.
    pub fn primary(table: &str, schema: &Schema) -> Result<Self> {
        schema.check().map_err(|faults| unusable(table, &faults))?;
        Self::new(table, schema, &schema.primary_key)
    }

    /// Makes the codec of a key of some columns of `schema`, the most significant first.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if a column does not exist.
    pub fn new(
        table: &str,
        schema: &Schema,
        columns: impl IntoIterator<Item = impl Into<KeyColumn>>,
    ) -> Result<Self> {
        let part = |KeyColumn { name, descending }| match schema.position(&name) {
            Some(position) => Ok(Part {
                position,
                column: schema.columns[position].clone(),
                flip: if descending { u8::MAX } else { 0 },
            }),
            None => Err(Error::Usage(format!("table {table}: there is no column {name}"))),
        };
        let columns = columns.into_iter().map(|column| part(column.into())).collect::<Result<_>>()?;
        Ok(Self { table: table.into(), columns })
    }

    /// Returns the positions in the row of the key's columns, the most significant first.
    pub fn positions(&self) -> impl ExactSizeIterator<Item = usize> {
        self.columns.iter().map(|part| part.position)
    }

    /// Encodes the key of `values`, one for each of the key's columns.
    ///
    /// # Errors
    ///
    /// [`Error::Constraint`] if the number of values is wrong or one does not fit its column.
    pub fn encode(&self, values: &[Value<'_>]) -> Result<Vec<u8>> {
        if values.len() != self.columns.len() {
            return Err(self.miscounted(values.len()));
        }
        self.encode_prefix(values)
    }

    /// Encodes the common prefix of all keys whose first columns are `values`.
    ///
    /// # Errors
    ///
    /// [`Error::Constraint`] if there are more values than the key has columns, or one does not fit its column.
    pub fn encode_prefix(&self, values: &[Value<'_>]) -> Result<Vec<u8>> {
        if values.len() > self.columns.len() {
            return Err(self.miscounted(values.len()));
        }
        let mut key = Vec::with_capacity(32);
        for (part, value) in self.columns.iter().zip(values) {
            self.push(part, *value, &mut key)?;
        }
        Ok(key)
    }

    /// Appends the encoded key of a row to `key`.
    ///
    /// # Errors
    ///
    /// [`Error::Corruption`] if the row is malformed, [`Error::Usage`] if it belongs to another table.
    pub fn encode_row(&self, row: &RowView<'_>, key: &mut Vec<u8>) -> Result<()> {
        self.columns.iter().try_for_each(|part| self.push(part, row.get(part.position)?, key))
    }

    /// Decodes the values of a key.
    ///
    /// # Errors
    ///
    /// [`Error::Corruption`] if the key is malformed.
    pub fn decode(&self, key: &[u8]) -> Result<Vec<OwnedValue>> {
        let (values, rest) = self.decode_first(key)?;
        if rest.is_empty() { Ok(values) } else { Err(self.corrupt("it goes on behind its last column")) }
    }

    /// Decodes the values of a key. Returns them, and the bytes behind it.
    pub(super) fn decode_first<'a>(&self, key: &'a [u8]) -> Result<(Vec<OwnedValue>, &'a [u8])> {
        let mut rest = key;
        let values = self.columns.iter().map(|part| self.pop(part, &mut rest)).collect::<Result<_>>()?;
        Ok((values, rest))
    }

    /// Returns the number of bytes at the beginning of `key` that these columns take; more bytes may follow.
    pub(super) fn extent(&self, key: &[u8]) -> Result<usize> {
        let mut rest = key;
        for part in &self.columns {
            self.skip(part, &mut rest)?;
        }
        Ok(key.len() - rest.len())
    }

    /// Returns true if the row is null in one of the key's columns.
    pub(super) fn has_null(&self, row: &RowView<'_>) -> Result<bool> {
        for part in &self.columns {
            if part.column.nullable && row.is_null(part.position)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns a key in the form of a message: `a = 1, b = 'x'`.
    pub(super) fn describe(&self, key: &[u8]) -> String {
        let Ok(values) = self.decode(key) else { return key.escape_ascii().to_string() };
        let parts: Vec<_> = self
            .columns
            .iter()
            .zip(values)
            .map(|(part, value)| format!("{} = {value}", part.column.name))
            .collect();
        parts.join(", ")
    }

    /// Returns the byte range of the keys in a range of rows, or none if it is empty.
    pub(super) fn span(&self, range: &RowRange<'_>) -> Result<Option<Span>> {
        Span::of(range, |values| self.encode_prefix(values))
    }

    /// Returns the name of the table.
    pub(super) fn table(&self) -> &str {
        &self.table
    }

    /// Returns the names of the key's columns.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|part| part.column.name.as_str())
    }

    /// Appends the value of one of the key's columns to an encoded key.
    pub(super) fn push_nth(&self, nth: usize, value: Value<'_>, key: &mut Vec<u8>) -> Result<()> {
        self.push(&self.columns[nth], value, key)
    }

    #[inline]
    fn push(&self, part: &Part, value: Value<'_>, key: &mut Vec<u8>) -> Result<()> {
        let begin = key.len();
        self.push_ascending(&part.column, value, key)?;
        if part.flip != 0 {
            key[begin..].iter_mut().for_each(|byte| *byte ^= part.flip);
        }
        Ok(())
    }

    #[inline]
    fn push_ascending(&self, column: &Column, value: Value<'_>, key: &mut Vec<u8>) -> Result<()> {
        if column.nullable {
            let null = matches!(value, Value::Null);
            key.push(u8::from(!null));
            if null {
                return Ok(());
            }
        }
        if let Some(bits) = value.to_bits(column.kind) {
            match column.kind {
                ColumnType::Bool => key.push(bits as u8),
                ColumnType::I16 => key.extend_from_slice(&(bits as u16 ^ 1 << 15).to_be_bytes()),
                ColumnType::I32 => key.extend_from_slice(&(bits as u32 ^ 1 << 31).to_be_bytes()),
                ColumnType::F64 if bits < 0 => key.extend_from_slice(&(!bits).to_be_bytes()),
                _ => key.extend_from_slice(&(bits.cast_unsigned() ^ SIGN).to_be_bytes()),
            }
            return Ok(());
        }
        let Some(bytes) = value.tail_bytes(column.kind) else {
            return Err(misfit(&self.table, column, value));
        };
        key.reserve(bytes.len() + TERMINATOR.len());
        for piece in bytes.split_inclusive(|byte| *byte == 0) {
            key.extend_from_slice(piece);
            if piece.ends_with(&[0]) {
                key.push(ESCAPED);
            }
        }
        key.extend_from_slice(&TERMINATOR);
        Ok(())
    }

    fn pop(&self, part: &Part, rest: &mut &[u8]) -> Result<OwnedValue> {
        let (all, column) = (*rest, &part.column);
        self.skip(part, rest)?;
        let mut bytes = &all[..all.len() - rest.len()];
        let flipped: Vec<u8>;
        if part.flip != 0 {
            flipped = bytes.iter().map(|byte| byte ^ part.flip).collect();
            bytes = &flipped;
        }
        if column.nullable {
            if bytes[0] == 0 {
                return Ok(OwnedValue::Null);
            }
            bytes = &bytes[1..];
        }
        let bits = |bits| Value::from_bits(column.kind, bits).map(Value::into_owned);
        let value = match (column.kind, bytes) {
            (ColumnType::Bool, &[byte]) => bits(i64::from(byte)),
            (ColumnType::I16, &[a, b]) => {
                bits(i64::from((u16::from_be_bytes([a, b]) ^ 1 << 15).cast_signed()))
            }
            (ColumnType::I32, bytes) => bytes
                .first_chunk()
                .and_then(|b| bits(i64::from((u32::from_be_bytes(*b) ^ 1 << 31).cast_signed()))),
            (ColumnType::Text, bytes) => String::from_utf8(unescape(bytes)).ok().map(OwnedValue::Text),
            (ColumnType::Bytes, bytes) => Some(OwnedValue::Bytes(unescape(bytes))),
            (kind, bytes) => bytes.first_chunk().and_then(|b| {
                let raw = u64::from_be_bytes(*b);
                let flipped = if kind == ColumnType::F64 && raw & SIGN == 0 { !raw } else { raw ^ SIGN };
                bits(flipped.cast_signed())
            }),
        };
        value.ok_or_else(|| self.corrupt(&format!("column {} is not {}", column.name, column.kind)))
    }

    /// Moves `rest` past the column that it begins with.
    fn skip(&self, Part { column, flip, .. }: &Part, rest: &mut &[u8]) -> Result<()> {
        let short = || self.corrupt(&format!("it ends within column {}", column.name));
        let all = *rest;
        let mut at = 0;
        if column.nullable {
            match all.first().map(|byte| byte ^ flip) {
                None => return Err(short()),
                Some(0) => {
                    *rest = &all[1..];
                    return Ok(());
                }
                Some(1) => at = 1,
                Some(_) => {
                    return Err(self.corrupt(&format!("column {} is neither null nor a value", column.name)));
                }
            }
        }
        if let Some(width) = column.kind.width() {
            at += width;
        } else {
            loop {
                match *all.get(at..).ok_or_else(short)? {
                    [first, ..] if first != *flip => at += 1,
                    [_, second, ..] if second == *flip => break,
                    [_, second, ..] if second ^ flip == ESCAPED => at += 2,
                    [_, ..] => {
                        return Err(self.corrupt(&format!("column {} is badly escaped", column.name)));
                    }
                    [] => return Err(short()),
                }
            }
            at += TERMINATOR.len();
        }
        *rest = all.get(at..).ok_or_else(short)?;
        Ok(())
    }

    #[cold]
    fn corrupt(&self, what: &str) -> Error {
        corrupt(&self.table, format_args!("a malformed key: {what}"))
    }

    #[cold]
    fn miscounted(&self, given: usize) -> Error {
        let names: Vec<_> = self.names().collect();
        Error::Constraint(format!(
            "table {}: {given} values given for the key ({})",
            self.table,
            names.join(", ")
        ))
    }
}

/// Removes the escapes and the terminator of a text that [`KeyLayout::skip`] has checked.
fn unescape(bytes: &[u8]) -> Vec<u8> {
    let bytes = &bytes[..bytes.len() - TERMINATOR.len()];
    let mut out = Vec::with_capacity(bytes.len());
    let mut escape = false;
    for byte in bytes {
        if escape {
            escape = false;
        } else {
            out.push(*byte);
            escape = *byte == 0;
        }
    }
    out
}

/// Returns the first key after all keys that begin with `prefix`, or none if there is no such key.
pub(super) fn successor(mut prefix: Vec<u8>) -> Option<Vec<u8>> {
    while let Some(last) = prefix.pop() {
        if last < u8::MAX {
            prefix.push(last + 1);
            return Some(prefix);
        }
    }
    None
}

/// A non-empty range of keys, as bytes.
#[derive(Debug)]
pub(super) struct Span {
    /// Inclusive lower bound.
    pub(super) lower: Vec<u8>,
    /// Exclusive upper bound; none if the range is unbounded.
    pub(super) upper: Option<Vec<u8>>,
}

impl Span {
    /// Returns the byte range of a range of rows, or none if it is empty. `encode` returns the common prefix of all
    /// keys that begin with some values.
    pub(super) fn of(
        range: &RowRange<'_>,
        encode: impl Fn(&[Value<'_>]) -> Result<Vec<u8>>,
    ) -> Result<Option<Self>> {
        let lower = match range.lower {
            Bound::Unbounded => Some(Vec::new()),
            Bound::Included(values) => Some(encode(values)?),
            Bound::Excluded(values) => successor(encode(values)?),
        };
        let upper = match range.upper {
            Bound::Unbounded => None,
            Bound::Included(values) => successor(encode(values)?),
            Bound::Excluded(values) => Some(encode(values)?),
        };
        // No key comes after those that begin with 255, 255, …
        let Some(lower) = lower else { return Ok(None) };
        let is_empty = upper.as_ref().is_some_and(|upper| lower >= *upper);
        Ok((!is_empty).then_some(Self { lower, upper }))
    }

    /// Returns the lower and the upper bound.
    pub(super) fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        let lower = if self.lower.is_empty() { Bound::Unbounded } else { Bound::Included(&*self.lower) };
        (lower, self.upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded))
    }
}

/// A range of rows for a scan: those whose key is between two bounds. A bound has values for the key's first columns,
/// or for all of them.
///
/// A bound with fewer columns stands for all keys that begin with its values: an included bound includes them all, an
/// excluded bound excludes them all.
///
/// In a range of an index, the key is the columns of the index, and then those of the primary key that the index lacks
/// ([`Table::index_columns`](super::Table::index_columns)). With the primary key `(country, id)`, a bound of an index
/// on `(town, country)` has up to three values: town, country and id. That holds for unique indexes as well.
///
/// The lower bound is the one that comes first in the order of the key. For a column in descending order
/// ([`desc`](super::desc)), that is the greater value.
///
/// ```
/// use gemel::row::{RowRange, Value};
/// use std::ops::Bound;
///
/// // The order lines of the last twenty orders before 3021 of district 4 in warehouse 1.
/// let (oldest, next) = ([1, 4, 3001].map(Value::Int), [1, 4, 3021].map(Value::Int));
/// let range = RowRange::new(Bound::Included(&oldest), Bound::Excluded(&next));
/// // All that belongs to the district.
/// let district = [1, 4].map(Value::Int);
/// let range = RowRange::prefix(&district);
/// // The orders 3001 to 3020 of the district, by an index on the district, and then on the order, descending.
/// let (newest, oldest) = ([1, 4, 3020].map(Value::Int), [1, 4, 3001].map(Value::Int));
/// let range = RowRange::new(Bound::Included(&newest), Bound::Included(&oldest));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowRange<'a> {
    lower: Bound<&'a [Value<'a>]>,
    upper: Bound<&'a [Value<'a>]>,
}

impl<'a> RowRange<'a> {
    /// Returns the range of all rows.
    #[must_use]
    pub fn all() -> Self {
        Self { lower: Bound::Unbounded, upper: Bound::Unbounded }
    }

    /// Returns the range of rows whose key begins with these values.
    #[must_use]
    pub fn prefix(values: &'a [Value<'a>]) -> Self {
        Self { lower: Bound::Included(values), upper: Bound::Included(values) }
    }

    /// Returns the range of rows between two bounds. It is empty if the lower bound is above the upper one.
    #[must_use]
    pub fn new(lower: Bound<&'a [Value<'a>]>, upper: Bound<&'a [Value<'a>]>) -> Self {
        Self { lower, upper }
    }

    /// Returns the values of the two bounds; none for a bound that is open.
    pub(super) fn bounds(&self) -> [&'a [Value<'a>]; 2] {
        [self.lower, self.upper].map(|bound| match bound {
            Bound::Included(values) | Bound::Excluded(values) => values,
            Bound::Unbounded => &[],
        })
    }
}
