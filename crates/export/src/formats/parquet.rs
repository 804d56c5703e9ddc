//! Parquet, compressed with Snappy. All columns may be null; times are microseconds in UTC.

use crate::cell::Cell;
use crate::column::{Column, Kind};
use crate::error::ExportError;
use crate::table::{Row, Table};
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use std::io::Write;
use std::sync::Arc;

/// Rows of a row group. Readers skip whole groups, and hold one in memory.
const GROUP: usize = 1 << 17;

/// The program, in the form of the specification: readers take it apart, and ignore statistics if they can't.
const CREATED_BY: &str = concat!("lydite version ", env!("CARGO_PKG_VERSION"));

pub(super) fn write(table: &Table<'_>, to: &mut dyn Write) -> Result<(), ExportError> {
    to.write_all(&file(table)?)?;
    Ok(())
}

/// Returns the bytes of the file. They are not written as they come: the library asks for a writer that is `Send`.
fn file(table: &Table<'_>) -> Result<Vec<u8>, ParquetError> {
    let fields = table.columns().iter().map(field).collect::<Result<Vec<_>, _>>()?;
    let schema = Type::group_type_builder("schema").with_fields(fields).build()?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(CREATED_BY.to_owned())
        .build();
    let mut writer = SerializedFileWriter::new(Vec::<u8>::new(), Arc::new(schema), Arc::new(properties))?;
    let rows: Vec<Row<'_, '_>> = table.rows().collect();
    for rows in rows.chunks(GROUP) {
        let mut group = writer.next_row_group()?;
        for (place, column) in table.columns().iter().enumerate() {
            let Some(mut to) = group.next_column()? else { break };
            let cells: Vec<&Cell<'_>> = rows.iter().filter_map(|row| row.cells.get(place)).collect();
            write_column(&mut to, column.kind, &cells)?;
            to.close()?;
        }
        group.close()?;
    }
    writer.into_inner()
}

/// Returns the type of a column.
fn field(column: &Column) -> Result<Arc<Type>, ParquetError> {
    let (physical, logical) = match column.kind {
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Time => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS))),
        Kind::Whole => (Physical::INT64, None),
        Kind::Real => (Physical::DOUBLE, None),
        Kind::Truth => (Physical::BOOLEAN, None),
    };
    let field = Type::primitive_type_builder(column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()?;
    Ok(Arc::new(field))
}

/// Writes the cells of a column in a row group.
fn write_column(
    to: &mut SerializedColumnWriter<'_>,
    kind: Kind,
    cells: &[&Cell<'_>],
) -> Result<(), ParquetError> {
    match kind {
        Kind::Text => write_values::<ByteArrayType>(to, cells, |cell| match cell {
            Cell::Text(text) => Some(ByteArray::from(text.as_bytes())),
            _ => None,
        }),
        Kind::Time => write_values::<Int64Type>(to, cells, |cell| match cell {
            Cell::Time(at) => Some(*at),
            _ => None,
        }),
        Kind::Whole => write_values::<Int64Type>(to, cells, |cell| match cell {
            Cell::Whole(number) => Some(*number),
            _ => None,
        }),
        Kind::Real => write_values::<DoubleType>(to, cells, |cell| match cell {
            Cell::Real(number) => Some(*number),
            _ => None,
        }),
        Kind::Truth => write_values::<BoolType>(to, cells, |cell| match cell {
            Cell::Truth(truth) => Some(*truth),
            _ => None,
        }),
    }
}

/// Writes the values that are there, and for each cell a level: 1 for a value, 0 for null.
///
/// # Errors
/// A cell is neither null nor of the column's type, or the library fails.
fn write_values<T: DataType>(
    to: &mut SerializedColumnWriter<'_>,
    cells: &[&Cell<'_>],
    value: impl Fn(&Cell<'_>) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let mut values: Vec<T::T> = Vec::new();
    let mut levels: Vec<i16> = Vec::with_capacity(cells.len());
    for cell in cells {
        let value = value(cell);
        if value.is_none() && **cell != Cell::Null {
            return Err(ParquetError::General(format!("{cell:?} is not of its column's type")));
        }
        levels.push(i16::from(value.is_some()));
        values.extend(value);
    }
    to.typed::<T>().write_batch(&values, Some(&levels), None)?;
    Ok(())
}
