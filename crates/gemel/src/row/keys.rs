//! Keys made of column values: their bytes are in the order of the values.
//!
//! The columns stand one behind the other, each in a form of which none begins another, so that the bytes of the first
//! columns are a prefix of exactly the keys that begin with their values:
//!
//! - a nullable column: 0 if null, else 1 and the value;
//! - an integer, decimal or time: big-endian with its sign bit flipped;
//! - a float: its bits big-endian, the sign bit flipped if positive, all of them if negative;
//! - a boolean: 0 or 1;
//! - a text or bytes: each byte 0 as 0 255, and 0 0 behind the last.

use super::schema::{Column, ColumnType, Schema};
use super::value::{OwnedValue, Value};
use super::view::RowView;
use super::{corrupt, misfit, unusable};
use crate::error::{Error, Result};
use std::ops::Bound;

/// What stands behind the last byte of a text.
const TERMINATOR: [u8; 2] = [0, 0];
/// What stands behind a byte 0 of a text.
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
    /// Each column with its position in the row.
    columns: Box<[(usize, Column)]>,
}

impl KeyLayout {
    /// The keys of rows of `schema`; `table` names them in messages.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] with all that is wrong in the schema.
    pub fn primary(table: &str, schema: &Schema) -> Result<Self> {
        schema.check().map_err(|faults| unusable(table, &faults))?;
        Self::new(table, schema, &schema.primary_key)
    }

    /// Keys of some columns of `schema`, the most significant first.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if there is no such column.
    pub fn new(table: &str, schema: &Schema, columns: &[impl AsRef<str>]) -> Result<Self> {
        let columns = columns
            .iter()
            .map(|name| match schema.position(name.as_ref()) {
                Some(position) => Ok((position, schema.columns[position].clone())),
                None => Err(Error::Usage(format!("table {table}: there is no column {}", name.as_ref()))),
            })
            .collect::<Result<_>>()?;
        Ok(Self { table: table.into(), columns })
    }

    /// Positions in the row of the key's columns, the most significant first.
    pub fn positions(&self) -> impl ExactSizeIterator<Item = usize> {
        self.columns.iter().map(|(position, _)| *position)
    }

    /// The key of `values`, one for each of the key's columns.
    ///
    /// # Errors
    ///
    /// [`Error::Constraint`] if their number is wrong or one does not fit its column.
    pub fn encode(&self, values: &[Value<'_>]) -> Result<Vec<u8>> {
        if values.len() != self.columns.len() {
            return Err(self.miscounted(values.len()));
        }
        self.encode_prefix(values)
    }

    /// What all keys begin with whose first columns are `values`.
    ///
    /// # Errors
    ///
    /// [`Error::Constraint`] if there are more of them than the key has columns, or one does not fit its column.
    pub fn encode_prefix(&self, values: &[Value<'_>]) -> Result<Vec<u8>> {
        if values.len() > self.columns.len() {
            return Err(self.miscounted(values.len()));
        }
        let mut key = Vec::with_capacity(32);
        for ((_, column), value) in self.columns.iter().zip(values) {
            self.push(column, *value, &mut key)?;
        }
        Ok(key)
    }

    /// Appends the key of a row to `key`.
    ///
    /// # Errors
    ///
    /// [`Error::Corruption`] if the row is malformed, [`Error::Usage`] if it is of another table.
    pub fn encode_row(&self, row: &RowView<'_>, key: &mut Vec<u8>) -> Result<()> {
        self.columns.iter().try_for_each(|(position, column)| self.push(column, row.get(*position)?, key))
    }

    /// The values of a key.
    ///
    /// # Errors
    ///
    /// [`Error::Corruption`] if it is malformed.
    pub fn decode(&self, key: &[u8]) -> Result<Vec<OwnedValue>> {
        let mut rest = key;
        let values =
            self.columns.iter().map(|(_, column)| self.pop(column, &mut rest)).collect::<Result<_>>()?;
        if rest.is_empty() { Ok(values) } else { Err(self.corrupt("it goes on behind its last column")) }
    }

    /// How many of the first bytes of `key` these columns take; more may follow.
    pub(super) fn extent(&self, key: &[u8]) -> Result<usize> {
        let mut rest = key;
        for (_, column) in &self.columns {
            self.skip(column, &mut rest)?;
        }
        Ok(key.len() - rest.len())
    }

    /// Whether a row is null in one of the key's columns.
    pub(super) fn has_null(&self, row: &RowView<'_>) -> Result<bool> {
        for (position, column) in &self.columns {
            if column.nullable && row.is_null(*position)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A key for a message: `a = 1, b = 'x'`.
    pub(super) fn describe(&self, key: &[u8]) -> String {
        let Ok(values) = self.decode(key) else { return key.escape_ascii().to_string() };
        let parts: Vec<_> = self
            .columns
            .iter()
            .zip(values)
            .map(|((_, column), value)| format!("{} = {value}", column.name))
            .collect();
        parts.join(", ")
    }

    /// The bytes between which the keys of a range lie, or None if none can.
    pub(super) fn span(&self, range: &RowRange<'_>) -> Result<Option<Span>> {
        let lower = match range.lower {
            Bound::Unbounded => Some(Vec::new()),
            Bound::Included(values) => Some(self.encode_prefix(values)?),
            Bound::Excluded(values) => successor(self.encode_prefix(values)?),
        };
        let upper = match range.upper {
            Bound::Unbounded => None,
            Bound::Included(values) => successor(self.encode_prefix(values)?),
            Bound::Excluded(values) => Some(self.encode_prefix(values)?),
        };
        // No key comes behind all that begin with 255, 255, …
        let Some(lower) = lower else {
            return if upper.is_some() { Err(self.crossed(range)) } else { Ok(None) };
        };
        if let Some(upper) = &upper {
            if lower > *upper {
                return Err(self.crossed(range));
            }
            if lower == *upper {
                return Ok(None);
            }
        }
        Ok(Some(Span { lower, upper }))
    }

    #[inline]
    fn push(&self, column: &Column, value: Value<'_>, key: &mut Vec<u8>) -> Result<()> {
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

    fn pop(&self, column: &Column, rest: &mut &[u8]) -> Result<OwnedValue> {
        let all = *rest;
        self.skip(column, rest)?;
        let mut bytes = &all[..all.len() - rest.len()];
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

    /// Moves `rest` behind the column with which it begins.
    fn skip(&self, column: &Column, rest: &mut &[u8]) -> Result<()> {
        let short = || self.corrupt(&format!("it ends within column {}", column.name));
        let all = *rest;
        let mut at = 0;
        if column.nullable {
            match all.first() {
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
                match all.get(at..).ok_or_else(short)? {
                    [0, 0, ..] => break,
                    [0, ESCAPED, ..] => at += 2,
                    [0, ..] => return Err(self.corrupt(&format!("column {} is badly escaped", column.name))),
                    [_, ..] => at += 1,
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
        let names: Vec<_> = self.columns.iter().map(|(_, column)| column.name.as_str()).collect();
        Error::Constraint(format!(
            "table {}: {given} values given for the key ({})",
            self.table,
            names.join(", ")
        ))
    }

    #[cold]
    fn crossed(&self, range: &RowRange<'_>) -> Error {
        let shown = |bound: Bound<&[Value<'_>]>| match bound {
            Bound::Unbounded => "the end".to_owned(),
            Bound::Included(values) => list(values),
            Bound::Excluded(values) => format!("{} (excluded)", list(values)),
        };
        let (lower, upper) = (shown(range.lower), shown(range.upper));
        Error::Usage(format!(
            "table {}: a scan from {lower} to {upper} has crossed bounds; give the lower one first, and the direction apart",
            self.table
        ))
    }
}

fn list(values: &[Value<'_>]) -> String {
    let values: Vec<_> = values.iter().map(ToString::to_string).collect();
    format!("({})", values.join(", "))
}

/// A text without its escapes and terminator, once [`KeyLayout::skip`] has checked them.
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

/// The first key behind all that begin with `prefix`.
fn successor(mut prefix: Vec<u8>) -> Option<Vec<u8>> {
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
    /// Included.
    pub(super) lower: Vec<u8>,
    /// Excluded; none if there is no bound.
    pub(super) upper: Option<Vec<u8>>,
}

/// Which rows to scan: those whose key lies between two bounds, each of which gives the key's first columns, or all of them.
///
/// A bound of fewer columns stands for all keys that begin with them: included, they are in; excluded, they are out.
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
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowRange<'a> {
    lower: Bound<&'a [Value<'a>]>,
    upper: Bound<&'a [Value<'a>]>,
}

impl<'a> RowRange<'a> {
    /// All rows.
    #[must_use]
    pub fn all() -> Self {
        Self { lower: Bound::Unbounded, upper: Bound::Unbounded }
    }

    /// The rows whose key begins with these values.
    #[must_use]
    pub fn prefix(values: &'a [Value<'a>]) -> Self {
        Self { lower: Bound::Included(values), upper: Bound::Included(values) }
    }

    /// The rows between two bounds. A scan refuses them if they are crossed.
    #[must_use]
    pub fn new(lower: Bound<&'a [Value<'a>]>, upper: Bound<&'a [Value<'a>]>) -> Self {
        Self { lower, upper }
    }
}
