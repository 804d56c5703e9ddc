//! The table of the tests, and its rows.

use super::wait::wait_until;
use gemel::row::{ColumnChange, ColumnType, RowRange, Schema, Table, Value};
use gemel::{Database, Direction, Engine, Isolation, Options, Transaction};
use std::ops::ControlFlow;
use std::path::Path;

pub(crate) const ENGINES: [Engine; 2] = [Engine::Memory, Engine::Disk];
pub(crate) const SNAPSHOTS: [Isolation; 2] = [Isolation::Snapshot, Isolation::Serializable];

pub(crate) fn open(path: &Path) -> Database {
    Database::open(path, Options::default()).unwrap()
}

/// The columns of the tests: `id`, `name` and `town`, with an index of the towns.
pub(crate) fn schema() -> Schema {
    let schema = Schema::new().column("id", ColumnType::I64).column("name", ColumnType::Text);
    schema.nullable("town", ColumnType::Text).primary_key(["id"]).index("by_town", ["town"])
}

pub(crate) fn commit(db: &Database, work: impl FnOnce(&mut Transaction) -> gemel::Result<()>) {
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    work(&mut transaction).unwrap();
    transaction.commit().unwrap().wait().unwrap();
}

fn text(values: &[Value<'_>]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Returns each row as one text, read in four ways that must agree.
pub(crate) fn rows(transaction: &mut Transaction, table: &Table) -> gemel::Result<Vec<String>> {
    let (mut rows, mut ids) = (Vec::new(), Vec::new());
    table.scan(transaction, &RowRange::all(), Direction::Forward, |row| {
        rows.push(text(&row.values()?));
        ids.push(row.int(0)?);
        Ok(ControlFlow::Continue(()))
    })?;
    for (id, row) in ids.iter().zip(&rows) {
        assert_eq!(text(&table.get(transaction, &[Value::Int(*id)])?.unwrap().view().values()?), *row);
    }
    let mut cursor = table.cursor(transaction, &RowRange::all())?;
    let mut next = 0;
    while let Some(row) = cursor.next(transaction)? {
        assert_eq!(text(&row.values()?), rows[next]);
        next += 1;
    }
    assert_eq!(next, rows.len());
    if table.schema().indexes.iter().any(|index| index.name == "by_town") {
        let mut by_town = Vec::new();
        table.scan_index(transaction, "by_town", &RowRange::all(), Direction::Forward, |row| {
            by_town.push(text(&row.values()?));
            Ok(ControlFlow::Continue(()))
        })?;
        by_town.sort();
        let mut sorted = rows.clone();
        sorted.sort();
        assert_eq!(by_town, sorted);
    }
    Ok(rows)
}

pub(crate) fn rows_now(db: &Database, table: &Table) -> Vec<String> {
    rows(&mut db.begin(Isolation::Snapshot).unwrap(), table).unwrap()
}

/// The rows 1 to 3, as texts.
pub(crate) const BEFORE: [&str; 3] = ["1 'Ann' 'Rome'", "2 'Bob' 'Bern'", "3 'Cid' null"];

/// Inserts the rows 1 to 3.
pub(crate) fn fill(db: &Database, table: &Table) {
    commit(db, |transaction| {
        table.insert(transaction, &[Value::Int(1), "Ann".into(), "Rome".into()])?;
        table.insert(transaction, &[Value::Int(2), "Bob".into(), "Bern".into()])?;
        table.insert(transaction, &[Value::Int(3), "Cid".into(), Value::Null])
    });
}

/// Makes the table with the rows 1 to 3.
pub(crate) fn people(db: &Database, engine: Engine) -> Table {
    let table = db.create_table("people", engine, schema()).unwrap();
    fill(db, &table);
    table
}

/// Drops `name` and adds `age`.
pub(crate) fn alter(db: &Database) -> Table {
    let changes = [ColumnChange::drop("name"), ColumnChange::add("age", ColumnType::I16)];
    db.alter_table("people", &changes).unwrap()
}

/// Returns the names of the tables in a transaction's snapshot, sorted.
pub(crate) fn names(db: &Database, transaction: &Transaction) -> Vec<String> {
    let mut names: Vec<_> = db.tables_in(transaction).unwrap().into_iter().map(|(name, _)| name).collect();
    names.sort();
    names
}

/// Returns the records in memory and the trees on disk.
pub(crate) fn held(db: &Database) -> (u64, usize) {
    (db.state().memory.records, std::fs::read_dir(db.path().join("disk")).unwrap().count())
}

/// Waits until so many records are left in memory, and trees on disk.
#[track_caller]
pub(crate) fn wait_for(db: &Database, left: (u64, usize)) {
    wait_until(|| held(db), |held| *held == left, |held| format!("{held:?} instead of {left:?}"));
}
