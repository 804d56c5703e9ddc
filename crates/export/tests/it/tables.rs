//! The tables: their columns are the same for every result, and null is never 0.

use crate::sample::sample;
use lydite_architecture::kept;
use lydite_export::{Cell, ExportError, Format, Kind, Layout, Role, Run, TABLES, Table, TableKind};
use lydite_report::RunResult;
use lydite_report::model::TRANSACTION_TYPES;
use std::collections::BTreeSet;

/// The values of a column.
fn column<'a>(table: &'a Table<'_>, name: &str) -> Vec<&'a Cell<'a>> {
    let place = table.columns().iter().position(|column| column.name == name).expect(name);
    table.rows().map(|row| &row.cells[place]).collect()
}

#[test]
fn each_cell_has_the_type_of_its_column_and_empty_results_have_the_same_columns() {
    let (full, empty) = (sample(), RunResult::default());
    let runs = [Run::new("a.json".to_owned(), &full), Run::new("b.json".to_owned(), &empty)];
    for kind in &TABLES {
        let table = Table::of(kind, &runs).unwrap();
        assert!(!table.is_empty(), "{kind:?}");
        assert_eq!(table.rows().count(), table.len());
        for row in table.rows() {
            assert_eq!(row.cells.len(), table.columns().len(), "{kind:?}");
            for (column, cell) in table.columns().iter().zip(row.cells) {
                let fits = match cell {
                    Cell::Null => column.name != "run",
                    Cell::Text(_) => column.kind == Kind::Text,
                    Cell::Time(_) => column.kind == Kind::Time,
                    Cell::Whole(_) => column.kind == Kind::Whole,
                    Cell::Real(_) => column.kind == Kind::Real,
                    Cell::Truth(_) => column.kind == Kind::Truth,
                    Cell::TooLarge(_) => false,
                };
                assert!(fits, "{kind:?}.{}: {cell:?}", column.name);
            }
        }
        let names: BTreeSet<&str> = table.columns().iter().map(|column| column.name).collect();
        assert_eq!(names.len(), table.columns().len(), "{kind:?}");
    }
    let runs = [Run::new("b.json".to_owned(), &empty)];
    for kind in TABLES.iter().filter(|kind| kind.name != "runs") {
        let table = Table::of(kind, &runs).unwrap();
        assert!(table.is_empty() && table.columns() == kind.columns(), "{kind:?}");
    }
}

#[test]
fn seconds_have_their_real_times_and_missing_values_are_null() {
    let result = sample();
    let runs = [Run::new("a.json".to_owned(), &result)];
    let series = Table::of(TableKind::named("series").unwrap(), &runs).unwrap();
    let texts = |name| column(&series, name).iter().map(|cell| cell.text().into_owned()).collect::<Vec<_>>();
    assert_eq!(texts("second"), ["-2", "-1", "0", "1", "2"]);
    assert_eq!(texts("window"), ["warmup", "warmup", "measured", "measured", "measured"]);
    assert_eq!(texts("length_s"), ["0.5", "1.0", "1.0", "1.0", "0.25"]);
    assert_eq!(
        texts("time"),
        [
            "2026-01-02T03:04:03.623456Z",
            "2026-01-02T03:04:04.123456Z",
            "2026-01-02T03:04:05.123456Z",
            "2026-01-02T03:04:06.123456Z",
            "2026-01-02T03:04:07.123456Z"
        ]
    );
    assert_eq!(texts("completed"), ["1", "3", "4", "0", "5"]);
    assert_eq!(texts("new_order_p50_ms"), ["", "", "1.5", "", "0.25"]);
    assert_eq!(texts("aborts"), ["", "", "0", "2", "0"], "the warm-up of this result counts none");
    assert_eq!(texts("micro"), [""; 5]);
    assert_eq!(texts("phase"), ["", "", "1", "2", "2"]);
    assert_eq!(texts("phase_name"), ["", "", "low, \"calm\"", "", ""]);
    let transactions = Table::of(TableKind::named("transactions").unwrap(), &runs).unwrap();
    assert_eq!(column(&transactions, "completed"), [&Cell::Whole(7), &Cell::Whole(2)]);
    assert_eq!(column(&transactions, "latency_p99_ms"), [&Cell::Real(7.0), &Cell::Null]);
    let runs = Table::of(TableKind::named("runs").unwrap(), &runs).unwrap();
    assert_eq!(column(&runs, "aborts_deadlock"), [&Cell::Whole(2)]);
    assert_eq!(column(&runs, "aborts_other"), [&Cell::Null]);
    assert_eq!(column(&runs, "efficiency_percent"), [&Cell::Null], "for emulated users alone");
}

#[test]
fn products_and_differences_have_no_binary_noise() {
    let mut result = sample();
    result.window.measured_s = 2.3;
    result.statements[0].mean_ms = 0.181;
    result.statements[0].calls = 3;
    let runs = [Run::new("a.json".to_owned(), &result)];
    let last = |table, name| {
        let table = Table::of(TableKind::named(table).unwrap(), &runs).unwrap();
        column(&table, name).iter().map(|cell| cell.text().into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(last("series", "length_s"), ["0.5", "1.0", "1.0", "1.0", "0.3"]);
    assert_eq!(last("statements", "time_s")[0], "0.000543");
}

#[test]
fn the_series_has_a_column_for_each_type_of_transaction() {
    let columns = TableKind::named("series").unwrap().columns();
    for name in TRANSACTION_TYPES.iter().chain(&["micro"]) {
        assert!(columns.iter().any(|column| column.name == *name), "{name}");
    }
}

#[test]
fn a_result_without_a_start_has_tables_and_no_samples() {
    let mut result = sample();
    result.window.start = String::new();
    let runs = [Run::new("a.json".to_owned(), &result)];
    let tables: Vec<Table<'_>> = TABLES.iter().map(|kind| Table::of(kind, &runs).unwrap()).collect();
    assert!(column(&tables[1], "time").iter().all(|cell| **cell == Cell::Null));
    for name in ["openmetrics", "influx"] {
        let Layout::OneDocument(write) = Format::named(name).unwrap().layout else { panic!("{name}") };
        let error = write(&tables, &mut Vec::new()).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("a.json has no window.start, and {name} needs a time: use --to csv")
        );
    }
}

#[test]
fn a_count_that_no_table_can_hold_is_an_error_with_its_place() {
    let mut result = sample();
    result.statements[0].calls = u64::MAX;
    let runs = [Run::new("a.json".to_owned(), &result)];
    let error = Table::of(TableKind::named("statements").unwrap(), &runs).unwrap_err();
    assert!(matches!(error, ExportError::TooLarge { column: "calls", value: u64::MAX, .. }), "{error}");
}

#[test]
fn the_book_has_each_column_of_each_table() {
    let mut page = String::from(
        "# Columns of exports\n\nThe tables of [`lydite export`](export.md) with their columns. A test makes this page from \
         the\nprogram. The unit of a number is the last part of its name.\n",
    );
    let columns = TABLES[0].columns();
    let first: Vec<String> =
        columns[..3].iter().map(|column| format!("`{}`: {}", column.name, column.about)).collect();
    page += &format!("\nAll tables begin with these columns:\n\n- {}.\n", first.join(";\n- "));
    for table in &TABLES {
        page += &format!(
            "\n## {}\n\n{}.\n\n| column | type | meaning |\n|---|---|---|\n",
            table.name,
            capital(table.about)
        );
        for column in table.columns().iter().skip(3) {
            let kind = match (column.kind, column.role) {
                (_, Role::Count) if column.kind == Kind::Whole => "count",
                (Kind::Text, Role::Key) => "text, key",
                (Kind::Whole, Role::Key) => "whole number, key",
                (Kind::Text, _) => "text",
                (Kind::Time, _) => "time",
                (Kind::Whole, _) => "whole number",
                (Kind::Real, _) => "number",
                (Kind::Truth, _) => "true or false",
            };
            page += &format!("| `{}` | {kind} | {} |\n", column.name, column.about);
        }
    }
    if let Err(error) = kept::compare("docs/src/export-columns.md", &page) {
        panic!("{error}");
    }
}

/// Returns a text with a capital at its begin.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().collect::<String>() + letters.as_str())
}
