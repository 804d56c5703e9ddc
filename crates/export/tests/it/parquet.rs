//! Parquet, read back by the library's reader.

use crate::sample::sample;
use lydite_export::{Cell, Format, Layout, Run, TABLES, Table, TableKind};
use lydite_report::RunResult;
use lydite_report::model::Series;
use parquet::basic::Compression;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use std::fs::File;

/// Writes a table to a file, and opens that.
fn written(table: &Table<'_>) -> SerializedFileReader<File> {
    let Layout::FilePerTable(write) = Format::named("parquet").unwrap().layout else { panic!() };
    let mut file = tempfile::tempfile().unwrap();
    write(table, &mut file).unwrap();
    SerializedFileReader::new(file).unwrap()
}

/// Returns the names and values of a row that was read.
fn fields(row: &Row) -> Vec<(String, Field)> {
    row.get_column_iter().map(|(name, field)| (name.clone(), field.clone())).collect()
}

/// Returns a cell as the reader has it.
fn field(cell: &Cell<'_>) -> Field {
    match cell {
        Cell::Null => Field::Null,
        Cell::Text(text) => Field::Str(text.to_string()),
        Cell::Time(at) => Field::TimestampMicros(*at),
        Cell::Whole(number) => Field::Long(*number),
        Cell::Real(number) => Field::Double(*number),
        Cell::Truth(truth) => Field::Bool(*truth),
        Cell::TooLarge(number) => panic!("{number} is in a table"),
    }
}

#[test]
fn each_table_comes_back_with_its_types_values_and_nulls() {
    let (mut full, mut plain) = (sample(), RunResult::default());
    full.target.encrypted = Some(true);
    plain.label = Some(String::new());
    let runs = [Run::new("a.json".to_owned(), &full), Run::new("b.json".to_owned(), &plain)];
    for kind in &TABLES {
        let table = Table::of(kind, &runs).unwrap();
        let reader = written(&table);
        let rows = reader.get_row_iter(None).unwrap();
        let read: Vec<Vec<(String, Field)>> = rows.map(|row| fields(&row.unwrap())).collect();
        let names = || table.columns().iter().map(|column| column.name.to_owned());
        let wanted: Vec<Vec<(String, Field)>> =
            table.rows().map(|row| names().zip(row.cells.iter().map(field)).collect()).collect();
        assert_eq!(read, wanted, "{kind:?}");
        let mut chunks = reader.metadata().row_groups().iter().flat_map(|group| group.columns());
        assert!(chunks.all(|chunk| chunk.compression() == Compression::SNAPPY), "{kind:?}");
    }
}

#[test]
fn a_table_without_rows_has_its_columns() {
    let table = Table::of(TableKind::named("phases").unwrap(), &[]).unwrap();
    let reader = written(&table);
    let about = reader.metadata().file_metadata();
    assert_eq!(about.num_rows(), 0);
    let columns = about.schema_descr().columns().iter().map(|column| column.name().to_owned());
    let names: Vec<&str> = table.columns().iter().map(|column| column.name).collect();
    assert_eq!(columns.collect::<Vec<_>>(), names);
}

#[test]
fn a_long_table_has_several_row_groups_and_loses_no_row() {
    let rows = (1_u32 << 17) + 3;
    let mut result = sample();
    result.series = Series { second: (0..rows).map(i64::from).collect(), ..Series::default() };
    result.observed[0].values = (0..rows).map(|number| Some(f64::from(number))).collect();
    let runs = [Run::new("a.json".to_owned(), &result)];
    let reader = written(&Table::of(TableKind::named("observed").unwrap(), &runs).unwrap());
    let groups: Vec<i64> = reader.metadata().row_groups().iter().map(|group| group.num_rows()).collect();
    assert_eq!(groups, [1 << 17, 3]);
    let last = reader.get_row_group(1).unwrap();
    let values = last.get_row_iter(None).unwrap().map(|row| fields(&row.unwrap()).pop().unwrap());
    let wanted = [131_072.0, 131_073.0, 131_074.0].map(|value| ("value".to_owned(), Field::Double(value)));
    assert_eq!(values.collect::<Vec<_>>(), wanted);
}
