//! Encoded rows: reading single columns, and changing them in place.

use super::column_type::{ColumnType, shifted};
use super::layout::{Layout, Place, end_width, read_bits, read_end};
use super::schema::{Column, MAX_COLUMNS};
use super::value::{OwnedValue, Value};
use crate::error::{Error, Result};
use std::fmt;
use std::ops::Range;

/// An encoded row, from which single columns are read without decoding the others.
#[derive(Clone, Copy)]
pub struct RowView<'a> {
    layout: &'a Layout,
    /// The layout that the row was written with.
    stored: &'a Layout,
    bytes: &'a [u8],
    /// Offset of the bytes of the variable columns.
    begin: usize,
    pub(super) wide: bool,
}

impl<'a> RowView<'a> {
    /// Makes a view of an encoded row.
    ///
    /// # Errors
    ///
    /// [`Error::Corruption`] if its length is impossible for a row of this layout. Other damage is found when the
    /// damaged columns are read.
    #[inline]
    pub fn new(layout: &'a Layout, bytes: &'a [u8]) -> Result<Self> {
        let Some(form) = bytes.first() else { return Err(layout.corrupt("it is empty")) };
        let Some((stored, wide)) = layout.of_form(*form) else {
            return Err(layout.corrupt("its first byte is none that rows have"));
        };
        let begin = stored.begin(wide);
        if bytes.len() < begin {
            return Err(layout.corrupt("it ends before its columns"));
        }
        let tail = if stored.variable == 0 { 0 } else { read_end(bytes, begin - end_width(wide), wide) };
        if bytes.len() - begin != tail {
            return Err(layout.corrupt("its length is not what it says itself"));
        }
        Ok(Self { layout, stored, bytes, begin, wide })
    }

    /// Returns the row's layout.
    #[must_use]
    pub fn layout(&self) -> &'a Layout {
        self.layout
    }

    /// Returns true if the row was written with the columns of today.
    pub(super) fn is_of_today(&self) -> bool {
        std::ptr::eq(self.layout, self.stored)
    }

    /// Returns the encoded row.
    #[must_use]
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the value of a column, by position.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the column does not exist, or is none of the index that is scanned without its rows;
    /// [`Error::Corruption`] if its bytes are malformed.
    #[inline]
    pub fn get(&self, column: usize) -> Result<Value<'a>> {
        let slot = self.stored.slot(column)?;
        if slot.is_null(self.bytes) {
            return Ok(Value::Null);
        }
        let value = match slot.place {
            Place::Fixed { offset, width } => {
                read_bits(self.bytes, offset, width).and_then(|bits| Value::from_bits(slot.kind, bits))
            }
            Place::Variable(ordinal) => {
                let bytes = &self.bytes[self.begin..][self.span(ordinal.into())?];
                match slot.kind {
                    ColumnType::Text => std::str::from_utf8(bytes).ok().map(Value::Text),
                    _ => Some(Value::Bytes(bytes)),
                }
            }
            Place::Shifted { offset, width, zeros } => read_bits(self.bytes, offset, width)
                .and_then(|bits| shifted(bits, zeros))
                .and_then(|bits| Value::from_bits(slot.kind, bits)),
            Place::Missing => Some(Value::Null),
            Place::Default(number) => self.stored.defaults.get(usize::from(number)).map(OwnedValue::as_value),
            Place::Uncovered => return Err(self.layout.uncovered(column)),
        };
        value.ok_or_else(|| self.malformed(column))
    }

    /// Returns all values, in the order of the schema.
    ///
    /// # Errors
    ///
    /// [`Error::Corruption`] if a column is malformed.
    pub fn values(&self) -> Result<Vec<Value<'a>>> {
        (0..self.layout.columns()).map(|column| self.get(column)).collect()
    }

    /// Returns true if a column is null.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the column does not exist.
    pub fn is_null(&self, column: usize) -> Result<bool> {
        let slot = self.stored.slot(column)?;
        match slot.place {
            Place::Missing => Ok(true),
            Place::Default(_) => Ok(false),
            Place::Uncovered => Err(self.layout.uncovered(column)),
            Place::Fixed { .. } | Place::Shifted { .. } | Place::Variable(_) => Ok(slot.is_null(self.bytes)),
        }
    }

    /// Returns the value of an integer column.
    ///
    /// # Errors
    ///
    /// Same as [`RowView::get`], and [`Error::Usage`] if the value is null or of another kind.
    #[inline]
    pub fn int(&self, column: usize) -> Result<i64> {
        match self.get(column)? {
            Value::Int(n) => Ok(n),
            other => Err(self.other(column, "an integer", other)),
        }
    }

    /// Returns the value of a decimal column, in units of its last digit.
    ///
    /// # Errors
    ///
    /// Same as [`RowView::int`].
    #[inline]
    pub fn decimal(&self, column: usize) -> Result<i64> {
        match self.get(column)? {
            Value::Decimal(n) => Ok(n),
            other => Err(self.other(column, "a decimal", other)),
        }
    }

    /// Returns the value of a boolean column.
    ///
    /// # Errors
    ///
    /// Same as [`RowView::int`].
    pub fn bool(&self, column: usize) -> Result<bool> {
        match self.get(column)? {
            Value::Bool(b) => Ok(b),
            other => Err(self.other(column, "a boolean", other)),
        }
    }

    /// Returns the value of a text column.
    ///
    /// # Errors
    ///
    /// Same as [`RowView::int`].
    #[inline]
    pub fn text(&self, column: usize) -> Result<&'a str> {
        match self.get(column)? {
            Value::Text(text) => Ok(text),
            other => Err(self.other(column, "a text", other)),
        }
    }

    /// Returns the value of a bytes column.
    ///
    /// # Errors
    ///
    /// Same as [`RowView::int`].
    pub fn bytes(&self, column: usize) -> Result<&'a [u8]> {
        match self.get(column)? {
            Value::Bytes(bytes) => Ok(bytes),
            other => Err(self.other(column, "bytes", other)),
        }
    }

    /// Returns the value of a timestamp column, in microseconds since 1970-01-01 00:00 UTC.
    ///
    /// # Errors
    ///
    /// Same as [`RowView::int`].
    pub fn timestamp(&self, column: usize) -> Result<i64> {
        match self.get(column)? {
            Value::Timestamp(us) => Ok(us),
            other => Err(self.other(column, "a timestamp", other)),
        }
    }

    /// Returns the value of a float column.
    ///
    /// # Errors
    ///
    /// Same as [`RowView::int`].
    pub fn float(&self, column: usize) -> Result<f64> {
        match self.get(column)? {
            Value::Float(x) => Ok(x),
            other => Err(self.other(column, "a float", other)),
        }
    }

    /// Returns the range of a variable column, counted from the first variable column.
    #[inline]
    pub(super) fn span(&self, ordinal: usize) -> Result<Range<usize>> {
        let at = self.stored.ends + ordinal * end_width(self.wide);
        let start = if ordinal == 0 { 0 } else { read_end(self.bytes, at - end_width(self.wide), self.wide) };
        let end = read_end(self.bytes, at, self.wide);
        if start <= end && end <= self.bytes.len() - self.begin {
            Ok(start..end)
        } else {
            Err(self.layout.corrupt("the ends of its columns are not in order"))
        }
    }

    #[cold]
    fn malformed(&self, column: usize) -> Error {
        let Column { name, kind, .. } = &self.layout.described()[column];
        self.layout.corrupt(&format!("column {name} is not {kind}"))
    }

    #[cold]
    fn other(&self, column: usize, asked: &str, value: Value<'_>) -> Error {
        let (table, name) = (self.layout.table(), &self.layout.described()[column].name);
        let held = match value {
            Value::Null => "is null".to_owned(),
            value => format!("holds {} {value}", value.kind()),
        };
        Error::Usage(format!("table {table}, column {name}: read as {asked}, but it {held}"))
    }
}

impl fmt::Debug for RowView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for (position, column) in self.layout.described().iter().enumerate() {
            match self.get(position) {
                Ok(value) => map.entry(&column.name, &format_args!("{value}")),
                Err(Error::Usage(_)) => continue,
                Err(_) => map.entry(&column.name, &format_args!("malformed")),
            };
        }
        map.finish()
    }
}

/// An owned encoded row, whose columns can be changed.
///
/// ```
/// use gemel::row::{ColumnType, Layout, RowBuf, Schema, Value};
///
/// # fn main() -> gemel::Result<()> {
/// let schema = Schema::new().column("id", ColumnType::I32).column("name", ColumnType::Text).primary_key(["id"]);
/// let layout = Layout::new("person", &schema)?;
/// let mut row = RowBuf::new(&layout, &[Value::Int(1), Value::Text("Ann")])?;
/// row.set(1, Value::Text("Anna"))?;
/// assert_eq!(row.view().text(1)?, "Anna");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RowBuf<'l> {
    layout: &'l Layout,
    bytes: Vec<u8>,
    changed: ColumnSet,
}

impl<'l> RowBuf<'l> {
    /// Encodes a row of `values`, one for each column in the order of the schema.
    ///
    /// # Errors
    ///
    /// Same as [`Layout::encode`].
    pub fn new(layout: &'l Layout, values: &[Value<'_>]) -> Result<Self> {
        Ok(Self { layout, bytes: layout.encode(values)?, changed: ColumnSet::default() })
    }

    /// Takes an encoded row.
    ///
    /// # Errors
    ///
    /// Same as [`RowView::new`].
    pub fn from_bytes(layout: &'l Layout, bytes: Vec<u8>) -> Result<Self> {
        RowView::new(layout, &bytes)?;
        Ok(Self { layout, bytes, changed: ColumnSet::default() })
    }

    /// Returns a view for reading.
    #[must_use]
    #[inline]
    pub fn view(&self) -> RowView<'_> {
        // The bytes were checked when the row was made or changed.
        let layout = self.layout;
        let (stored, wide) = layout.of_form(self.bytes[0]).unwrap_or((layout, false));
        RowView { layout, stored, bytes: &self.bytes, begin: stored.begin(wide), wide }
    }

    /// Sets a column, by position.
    ///
    /// # Errors
    ///
    /// Same as [`Layout::replace`].
    pub fn set(&mut self, column: usize, value: Value<'_>) -> Result<()> {
        self.layout.replace(&mut self.bytes, column, value)?;
        self.changed.add(column);
        Ok(())
    }

    /// Returns the encoded row.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the encoded row, without a copy.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Returns the set of columns that were set.
    pub(super) fn changed(&self) -> ColumnSet {
        self.changed
    }
}

impl fmt::Debug for RowBuf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view().fmt(f)
    }
}

/// A set of columns of a table.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ColumnSet([u64; MAX_COLUMNS / 64]);

impl ColumnSet {
    /// Adds a column, which must exist in the table.
    pub(super) fn add(&mut self, column: usize) {
        self.0[column / 64] |= 1 << (column % 64);
    }

    pub(super) fn has(&self, column: usize) -> bool {
        self.0[column / 64] & 1 << (column % 64) != 0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Returns true if the two sets have a column in common.
    pub(super) fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }
}

impl FromIterator<usize> for ColumnSet {
    fn from_iter<I: IntoIterator<Item = usize>>(columns: I) -> Self {
        let mut set = Self::default();
        columns.into_iter().for_each(|column| set.add(column));
        set
    }
}
