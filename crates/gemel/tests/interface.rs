//! A program's start, its own errors, its handles and its ranges, through the public interface.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use gemel::row::{ColumnChange, ColumnType, IndexDef, Schema, Table, Value};
use gemel::{Database, Engine, Error, Isolation, Keyspace, Options};
use std::path::Path;

fn open(path: &Path) -> Database {
    Database::open(path, Options::default()).unwrap()
}

fn schema() -> Schema {
    let schema = Schema::new().column("id", ColumnType::I64).column("place", ColumnType::I64);
    schema.primary_key(["id"]).index("by_place", ["place"])
}

/// The start of a program, which does the same each time.
fn start(db: &Database) -> gemel::Result<(Table, Keyspace)> {
    Ok((
        db.open_or_create_table("t", schema(), Engine::Memory)?,
        db.open_or_create_keyspace("k", Engine::Memory)?,
    ))
}

fn row(id: i64, place: i64) -> [Value<'static>; 2] {
    [Value::Int(id), Value::Int(place)]
}

#[test]
fn a_program_starts_again_after_its_tables_have_moved() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let db = open(&path);
    let (table, keyspace) = start(&db).unwrap();
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    table.insert(&mut transaction, &row(1, 10)).unwrap();
    transaction.put(&keyspace, b"key", b"value").unwrap();
    transaction.commit().unwrap().wait().unwrap();
    for engine in [Engine::Disk, Engine::Memory, Engine::Disk] {
        db.move_table("t", engine).unwrap();
        db.move_keyspace("k", engine).unwrap();
        let (table, keyspace) = start(&db).unwrap();
        let mut reader = db.begin(Isolation::Snapshot).unwrap();
        assert!(table.get(&mut reader, &[Value::Int(1)]).unwrap().is_some());
        assert_eq!(reader.get(&keyspace, b"key").unwrap().unwrap(), b"value");
        assert_eq!(db.tables(), [("t".to_owned(), engine)]);
    }
    db.close().unwrap();
    let db = open(&path);
    let (table, _) = start(&db).unwrap();
    assert!(table.get(&mut db.begin(Isolation::Snapshot).unwrap(), &[Value::Int(1)]).unwrap().is_some());
    // It keeps its place, which a program may still insist on.
    assert_eq!(db.tables(), [("t".to_owned(), Engine::Disk)]);
    assert!(matches!(db.create_table("t", Engine::Memory, schema()), Err(Error::Usage(_))));
    assert!(matches!(db.keyspace("k", Engine::Memory), Err(Error::Usage(_))));
    assert!(matches!(db.open_or_create_keyspace("t", Engine::Memory), Err(Error::Usage(_))));
}

#[test]
fn a_start_with_another_schema_is_told_each_difference() {
    let directory = tempfile::tempdir().unwrap();
    let db = open(&directory.path().join("db"));
    start(&db).unwrap();
    let changes = [ColumnChange::rename("place", "seat"), ColumnChange::add("note", ColumnType::Text)];
    db.alter_table("t", &changes).unwrap();
    let index = IndexDef { name: "by_note".into(), columns: vec!["note".into()], unique: false };
    db.add_index("t", index.clone()).unwrap();
    let error = start(&db).unwrap_err();
    assert!(matches!(error, Error::Usage(_)), "{error:?}");
    for words in [
        "column 2 is named seat, not place",
        "there is a further column note (a text, nullable)",
        "index by_place is on seat, not on place",
        "there is a further index by_note (on note)",
        "alter_table",
    ] {
        assert!(error.to_string().contains(words), "{words:?} is not in {error}");
    }
    // The order in which indexes were added does not matter.
    let mut now = db.table("t").unwrap().schema().clone();
    now.indexes.reverse();
    assert_eq!(now.indexes[0], index);
    db.open_or_create_table("t", now.clone(), Engine::Disk).unwrap();
    db.create_table("t", Engine::Memory, now).unwrap();
}
