//! The layout of a row's bytes, and encoding.
//!
//! A row has these parts, in this order:
//!
//! | part | bytes |
//! |---|---|
//! | form: twice the number of the columns' changes (`alter.rs`), and 1 more if wide | 1 |
//! | null bitmap, one bit for each nullable column | (nullable columns + 7) / 8 |
//! | columns of fixed width, little-endian; zeros where null | their widths |
//! | ends of the other columns, counted from where their bytes begin | 2 each, 4 if wide |
//! | bytes of the other columns; none where null | |
//!
//! A row is wide if and only if its last part is longer than 65,535 bytes. So equal rows have equal bytes, if they were
//! written with the same columns.

use super::column_type::ColumnType;
use super::schema::{Column, OldColumn, Schema};
use super::value::{OwnedValue, Value};
use super::view::RowView;
use super::{corrupt, misfit, unusable};
use crate::error::{Error, Result};
use crate::key::MAX_VALUE_BYTES;
use std::sync::Arc;

/// Maximum bytes of the variable columns in a narrow row.
const NARROW_BYTES: usize = u16::MAX as usize;
/// Bit of the form of a wide row.
const WIDE: u8 = 1;

/// The codec of a table's rows. It computes the place of each column once from the schema.
///
/// ```
/// use gemel::row::{ColumnType, Layout, RowView, Schema, Value};
///
/// # fn main() -> gemel::Result<()> {
/// let schema = Schema::new()
///     .column("id", ColumnType::I32)
///     .column("quantity", ColumnType::I16)
///     .column("data", ColumnType::Text)
///     .primary_key(["id"]);
/// let layout = Layout::new("stock", &schema)?;
/// let quantity = layout.column("quantity")?;
///
/// let mut row = layout.encode(&[Value::Int(1), Value::Int(90), Value::Text("original")])?;
/// layout.replace(&mut row, quantity, Value::Int(80))?;
/// assert_eq!(RowView::new(&layout, &row)?.int(quantity)?, 80);
///
/// let refused = layout.replace(&mut row, quantity, Value::Int(1 << 20));
/// assert_eq!(
///     refused.unwrap_err().to_string(),
///     "table stock, column quantity: 1048576 does not fit a 16-bit integer",
/// );
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Layout {
    table: Box<str>,
    columns: Box<[Column]>,
    slots: Box<[Slot]>,
    /// Offset of the ends of the variable columns.
    pub(super) ends: usize,
    /// Number of variable columns.
    pub(super) variable: usize,
    /// Number of times that columns had been changed before rows of this layout were written.
    changes: u8,
    /// Layouts of the rows that were written before. Each has the columns of today, some of them missing.
    older: Box<[Layout]>,
    /// The values of [`Place::Default`].
    pub(super) defaults: Arc<[OwnedValue]>,
    /// Name of the index, in the layout of some columns that an index has.
    index: Option<Box<str>>,
}

/// The place of a column. It is small, and separate from the column's name, which only messages need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) kind: ColumnType,
    pub(super) place: Place,
    /// Offset of the byte with the column's null bit.
    null_byte: u16,
    /// The null bit, set if the column is null; zero if the column is not nullable.
    null_bit: u8,
}

/// The place of a column's value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// A fixed column: its offset from the row's beginning, and its width.
    Fixed { offset: u16, width: u8 },
    /// A fixed column of an integer type that is a decimal now: its bits get a number of zeros behind their digits.
    Shifted { offset: u16, width: u8, zeros: u8 },
    /// A variable column: its number among the variable columns.
    Variable(u16),
    /// A column that was added after the row was written. It is null.
    Missing,
    /// The same with a value: its number among the defaults.
    Default(u16),
    /// A column that the index does not have from whose entry the row was made.
    Uncovered,
}

impl Slot {
    /// Returns the place of a column that was added later.
    fn missing(kind: ColumnType) -> Self {
        Self { kind, place: Place::Missing, null_byte: 0, null_bit: 0 }
    }

    pub(super) fn nullable(&self) -> bool {
        self.null_bit != 0
    }

    /// Returns true if the column is null in `row`, which must be long enough.
    #[inline]
    pub(super) fn is_null(&self, row: &[u8]) -> bool {
        row[usize::from(self.null_byte)] & self.null_bit != 0
    }

    /// Sets or clears the column's null bit, if it has one.
    #[inline]
    fn set_null(&self, row: &mut [u8], null: bool) {
        let byte = &mut row[usize::from(self.null_byte)];
        *byte = if null { *byte | self.null_bit } else { *byte & !self.null_bit };
    }
}

impl Layout {
    /// Makes the layout of rows of `schema`. Messages call the table `table`.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] with all faults of the schema.
    pub fn new(table: &str, schema: &Schema) -> Result<Self> {
        schema.check().map_err(|faults| unusable(table, &faults))?;
        let (numbers, defaults) = Self::defaults_of(schema);
        let older_layout = |(changes, stored): (usize, &Vec<OldColumn>)| {
            let mut layout = Self::of_rows(table, schema, stored, changes, Box::default());
            for (slot, number) in layout.slots.iter_mut().zip(&numbers) {
                if let (Place::Missing, Some(number)) = (slot.place, number) {
                    slot.place = Place::Default(*number);
                }
            }
            layout.defaults = Arc::clone(&defaults);
            layout
        };
        let older: Box<[Self]> = schema.older.iter().enumerate().map(older_layout).collect();
        Ok(Self::of_rows(table, schema, &schema.stored(), older.len(), older))
    }

    /// Returns the values of columns in rows from before these columns were added, and for each column its number among
    /// them.
    fn defaults_of(schema: &Schema) -> (Vec<Option<u16>>, Arc<[OwnedValue]>) {
        let (mut numbers, mut values) = (vec![None; schema.columns.len()], Vec::new());
        for default in &schema.defaults {
            let column = schema.columns.get(default.now);
            if let Some(value) = column.and_then(|column| default.value.value(column.kind)) {
                numbers[default.now] = Some(values.len() as u16);
                values.push(value.into_owned());
            }
        }
        (numbers, values.into())
    }

    /// Makes the layout of some columns of `schema` that an index has. All others can be neither read nor written.
    pub(super) fn of_index(table: &str, schema: &Schema, index: &str, columns: &[usize]) -> Self {
        let stored: Vec<_> = columns.iter().map(|at| schema.columns[*at].stored(*at)).collect();
        let mut layout = Self::of_rows(table, schema, &stored, 0, Box::default());
        for slot in layout.slots.iter_mut().filter(|slot| matches!(slot.place, Place::Missing)) {
            slot.place = Place::Uncovered;
        }
        layout.index = Some(index.into());
        layout
    }

    /// Makes the layout of rows with the columns `stored`, which were written after a number of changes.
    fn of_rows(
        table: &str,
        schema: &Schema,
        stored: &[OldColumn],
        changes: usize,
        older: Box<[Self]>,
    ) -> Self {
        let nullable = stored.iter().filter(|column| column.nullable).count();
        // The limit on columns keeps all of these numbers small.
        let (mut offset, mut variable, mut nulls) = (1 + nullable.div_ceil(8), 0, 0);
        let mut slots: Box<[Slot]> = schema.columns.iter().map(|column| Slot::missing(column.kind)).collect();
        for column in stored {
            let kind = column.now.and_then(|now| schema.columns.get(now)).map_or(column.kind, |now| now.kind);
            let place = if let Some(width) = column.kind.width() {
                let (at, width) = (offset as u16, width as u8);
                offset += usize::from(width);
                match column.kind.zeros_in(kind) {
                    Some(zeros @ 1..) => Place::Shifted { offset: at, width, zeros },
                    _ => Place::Fixed { offset: at, width },
                }
            } else {
                variable += 1;
                Place::Variable(variable - 1)
            };
            let (null_byte, null_bit) =
                if column.nullable { (1 + nulls / 8, 1 << (nulls % 8)) } else { (0, 0) };
            nulls += u16::from(column.nullable);
            if let Some(slot) = column.now.and_then(|now| slots.get_mut(now)) {
                *slot = Slot { kind, place, null_byte, null_bit };
            }
        }
        Self {
            table: table.into(),
            columns: schema.columns.clone().into(),
            slots,
            ends: offset,
            variable: variable.into(),
            changes: changes as u8,
            older,
            defaults: Arc::default(),
            index: None,
        }
    }

    /// Returns the layout of a row whose first byte is `form`, and true if the row is wide. Returns none if no row of
    /// the table has this form.
    #[inline]
    pub(super) fn of_form(&self, form: u8) -> Option<(&Self, bool)> {
        let changes = form >> 1;
        let layout = if changes == self.changes { Some(self) } else { self.older.get(usize::from(changes)) };
        layout.map(|layout| (layout, form & WIDE != 0))
    }

    /// Returns the name of the table.
    #[must_use]
    pub fn table(&self) -> &str {
        &self.table
    }

    /// Returns the number of columns.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.slots.len()
    }

    /// Returns the position of a column, for [`RowView`], [`RowBuf`](super::RowBuf) and [`Layout::replace`]. Call it
    /// once, not for each row.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the column does not exist.
    pub fn column(&self, name: &str) -> Result<usize> {
        self.columns
            .iter()
            .position(|column| column.name == name)
            .ok_or_else(|| Error::Usage(format!("table {}: there is no column {name}", self.table)))
    }

    /// Encodes a row of `values`, one for each column in the order of the schema.
    ///
    /// # Errors
    ///
    /// [`Error::Constraint`] if the number of values is wrong or one does not fit its column, [`Error::Capacity`] if
    /// the row is longer than [`MAX_VALUE_BYTES`].
    pub fn encode(&self, values: &[Value<'_>]) -> Result<Vec<u8>> {
        let mut row = Vec::new();
        self.encode_into(values, &mut row)?;
        Ok(row)
    }

    /// Encodes a row into `row` and replaces its content, so one buffer serves many rows.
    ///
    /// # Errors
    ///
    /// Same as [`Layout::encode`]. After an error the content of `row` is undefined.
    pub fn encode_into(&self, values: &[Value<'_>], row: &mut Vec<u8>) -> Result<()> {
        row.clear();
        if values.len() != self.slots.len() {
            return Err(self.miscounted(values.len()));
        }
        // A text for a column of another kind is counted as well, and rejected below.
        let tail: usize = values
            .iter()
            .map(|value| match value {
                Value::Text(text) => text.len(),
                Value::Bytes(bytes) => bytes.len(),
                _ => 0,
            })
            .sum();
        let wide = tail > NARROW_BYTES;
        let begin = self.begin(wide);
        if begin + tail > MAX_VALUE_BYTES {
            return Err(self.too_long(begin + tail));
        }
        row.reserve_exact(begin + tail);
        row.resize(begin, 0);
        row[0] = self.changes << 1 | if wide { WIDE } else { 0 };
        let mut end = self.ends;
        for (column, (slot, value)) in self.slots.iter().zip(values).enumerate() {
            match (slot.place, value) {
                (_, Value::Null) if slot.nullable() => slot.set_null(row, true),
                (Place::Fixed { offset, width }, _) => {
                    let Some(bits) = value.to_bits(slot.kind) else {
                        return Err(self.misfit(column, *value));
                    };
                    write_bits(row, offset, width, bits);
                }
                (Place::Variable(_), _) => {
                    let Some(bytes) = value.tail_bytes(slot.kind) else {
                        return Err(self.misfit(column, *value));
                    };
                    row.extend_from_slice(bytes);
                }
                // The layout of new rows has all columns, as they are now.
                (Place::Missing | Place::Default(_) | Place::Shifted { .. }, _) => {
                    return Err(self.misfit(column, *value));
                }
                (Place::Uncovered, Value::Null) => {}
                (Place::Uncovered, _) => return Err(self.uncovered(column)),
            }
            if let Place::Variable(_) = slot.place {
                let written = row.len() - begin;
                write_end(row, end, wide, written);
                end += end_width(wide);
            }
        }
        Ok(())
    }

    /// Sets one column of an encoded row: in place if its width is fixed, otherwise by moving the bytes after it.
    ///
    /// # Errors
    ///
    /// [`Error::Constraint`] if the value does not fit the column, [`Error::Usage`] if the column does not exist,
    /// [`Error::Corruption`] if `row` is not a row of this layout, [`Error::Capacity`] if it would be too long. After
    /// an error the row is unchanged.
    pub fn replace(&self, row: &mut Vec<u8>, column: usize, value: Value<'_>) -> Result<()> {
        let view = RowView::new(self, row)?;
        let slot = self.slot(column)?;
        if !view.is_of_today() {
            return self.rebuild(row, column, value);
        }
        let null = matches!(value, Value::Null) && slot.nullable();
        match slot.place {
            Place::Fixed { offset, width } => {
                let bits = if null { Some(0) } else { value.to_bits(slot.kind) };
                let Some(bits) = bits else { return Err(self.misfit(column, value)) };
                write_bits(row, offset, width, bits);
            }
            Place::Variable(ordinal) => {
                let ordinal = usize::from(ordinal);
                let bytes = if null { Some(&[][..]) } else { value.tail_bytes(slot.kind) };
                let Some(bytes) = bytes else { return Err(self.misfit(column, value)) };
                let (wide, begin) = (view.wide, self.begin(view.wide));
                let old = view.span(ordinal)?;
                let tail = row.len() - begin - old.len() + bytes.len();
                if (tail > NARROW_BYTES) != wide {
                    return self.rebuild(row, column, value);
                }
                if begin + tail > MAX_VALUE_BYTES {
                    return Err(self.too_long(begin + tail));
                }
                let ends = |n| self.ends + n * end_width(wide);
                // All later ends are checked before the first is moved, so a malformed row stays unchanged.
                let mut last = old.end;
                for later in ordinal + 1..self.variable {
                    let end = read_end(row, ends(later), wide);
                    if end < last {
                        return Err(self.corrupt("the ends of its columns are not in order"));
                    }
                    last = end;
                }
                for moved in ordinal..self.variable {
                    let end = read_end(row, ends(moved), wide) - old.len() + bytes.len();
                    write_end(row, ends(moved), wide, end);
                }
                row.splice(begin + old.start..begin + old.end, bytes.iter().copied());
            }
            Place::Missing | Place::Default(_) | Place::Shifted { .. } => {
                return Err(self.misfit(column, value));
            }
            Place::Uncovered => return Err(self.uncovered(column)),
        }
        slot.set_null(row, null);
        Ok(())
    }

    /// Does the work of [`Layout::replace`] if the row changes between narrow and wide, or was written with other
    /// columns.
    #[cold]
    fn rebuild(&self, row: &mut Vec<u8>, column: usize, value: Value<'_>) -> Result<()> {
        let view = RowView::new(self, row)?;
        let mut values = view.values()?;
        values[column] = value;
        *row = self.encode(&values)?;
        Ok(())
    }

    /// Returns the columns, for messages.
    pub(super) fn described(&self) -> &[Column] {
        &self.columns
    }

    #[inline]
    pub(super) fn slot(&self, column: usize) -> Result<&Slot> {
        self.slots.get(column).ok_or_else(|| self.unknown(column))
    }

    /// Returns the offset of the bytes of the variable columns.
    pub(super) fn begin(&self, wide: bool) -> usize {
        self.ends + self.variable * end_width(wide)
    }

    #[cold]
    fn unknown(&self, column: usize) -> Error {
        Error::Usage(format!(
            "table {}: there is no column {column}, only 0 to {}",
            self.table,
            self.slots.len() - 1
        ))
    }

    /// Returns the error for a column that the index does not have from whose entry a row was made.
    #[cold]
    pub(super) fn uncovered(&self, column: usize) -> Error {
        Error::Usage(format!(
            "table {}: index {} does not have column {}: scan the index with its rows, or include the column in it",
            self.table,
            self.index.as_deref().unwrap_or_default(),
            self.columns[column].name
        ))
    }

    #[cold]
    fn miscounted(&self, given: usize) -> Error {
        Error::Constraint(format!(
            "table {}: {given} values given for {} columns",
            self.table,
            self.slots.len()
        ))
    }

    #[cold]
    fn too_long(&self, bytes: usize) -> Error {
        Error::Capacity(format!(
            "table {}: a row of {bytes} bytes, at most {MAX_VALUE_BYTES} are possible",
            self.table
        ))
    }

    #[cold]
    fn misfit(&self, column: usize, value: Value<'_>) -> Error {
        misfit(&self.table, &self.columns[column], value)
    }

    #[cold]
    pub(super) fn corrupt(&self, what: &str) -> Error {
        corrupt(&self.table, format_args!("a malformed row: {what}"))
    }
}

pub(super) fn end_width(wide: bool) -> usize {
    if wide { 4 } else { 2 }
}

/// Reads the end at `offset`, which must be within the row.
#[inline]
pub(super) fn read_end(row: &[u8], offset: usize, wide: bool) -> usize {
    if wide {
        row[offset..].first_chunk().map_or(0, |end| u32::from_le_bytes(*end) as usize)
    } else {
        row[offset..].first_chunk().map_or(0, |end| usize::from(u16::from_le_bytes(*end)))
    }
}

/// Writes an end. It fits, because it is at most [`NARROW_BYTES`], or [`MAX_VALUE_BYTES`] if wide.
#[inline]
fn write_end(row: &mut [u8], offset: usize, wide: bool, end: usize) {
    if wide {
        row[offset..offset + 4].copy_from_slice(&(end as u32).to_le_bytes());
    } else {
        row[offset..offset + 2].copy_from_slice(&(end as u16).to_le_bytes());
    }
}

/// Writes the bits of a column of fixed width.
#[inline]
fn write_bits(row: &mut [u8], offset: u16, width: u8, bits: i64) {
    let to = &mut row[usize::from(offset)..][..usize::from(width)];
    match width {
        1 => to.copy_from_slice(&(bits as u8).to_le_bytes()),
        2 => to.copy_from_slice(&(bits as u16).to_le_bytes()),
        4 => to.copy_from_slice(&(bits as u32).to_le_bytes()),
        _ => to.copy_from_slice(&bits.to_le_bytes()),
    }
}

/// Reads the bits of a column of fixed width, sign-extended.
#[inline]
pub(super) fn read_bits(row: &[u8], offset: u16, width: u8) -> Option<i64> {
    let from = row.get(usize::from(offset)..)?;
    Some(match width {
        1 => i64::from(*from.first()?),
        2 => i64::from(i16::from_le_bytes(*from.first_chunk()?)),
        4 => i64::from(i32::from_le_bytes(*from.first_chunk()?)),
        _ => i64::from_le_bytes(*from.first_chunk()?),
    })
}
