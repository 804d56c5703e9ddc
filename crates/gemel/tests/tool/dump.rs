//! Dumps that are loaded: nothing is lost.

use super::{good, insert, open, rows};
use gemel::row::{ColumnType, IndexDef, OwnedValue, Schema, asc, desc};
use gemel::{Engine, Isolation};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::fs;

/// All types of columns.
const KINDS: [ColumnType; 9] = [
    ColumnType::I16,
    ColumnType::I32,
    ColumnType::I64,
    ColumnType::Decimal { scale: 3 },
    ColumnType::Bool,
    ColumnType::Text,
    ColumnType::Bytes,
    ColumnType::Timestamp,
    ColumnType::F64,
];

fn value_of(kind: ColumnType) -> BoxedStrategy<OwnedValue> {
    match kind {
        ColumnType::I16 => any::<i16>().prop_map(|n| OwnedValue::Int(n.into())).boxed(),
        ColumnType::I32 => any::<i32>().prop_map(|n| OwnedValue::Int(n.into())).boxed(),
        ColumnType::I64 => any::<i64>().prop_map(OwnedValue::Int).boxed(),
        ColumnType::Decimal { .. } => {
            prop_oneof![-2000..2000_i64, any::<i64>()].prop_map(OwnedValue::Decimal).boxed()
        }
        ColumnType::Bool => any::<bool>().prop_map(OwnedValue::Bool).boxed(),
        ColumnType::Text => any::<String>().prop_map(OwnedValue::Text).boxed(),
        ColumnType::Bytes => {
            proptest::collection::vec(any::<u8>(), 0..20).prop_map(OwnedValue::Bytes).boxed()
        }
        ColumnType::Timestamp => {
            prop_oneof![-99_999_999_999_999_999..299_999_999_999_999_999_i64, any::<i64>()]
                .prop_map(OwnedValue::Timestamp)
                .boxed()
        }
        ColumnType::F64 => {
            let special = proptest::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0]);
            prop_oneof![any::<u64>().prop_map(f64::from_bits), special].prop_map(OwnedValue::Float).boxed()
        }
    }
}

/// A row of each type twice, the second of which may be null, behind a number.
fn row() -> impl Strategy<Value = Vec<OwnedValue>> {
    let mut columns = Vec::new();
    for kind in KINDS {
        columns.push(value_of(kind));
        columns.push(prop_oneof![1 => Just(OwnedValue::Null), 3 => value_of(kind)].boxed());
    }
    columns
}

fn all_kinds() -> Schema {
    let mut schema = Schema::new();
    for (number, kind) in KINDS.into_iter().enumerate() {
        schema = schema.column(&format!("c{number}"), kind).nullable(&format!("null \"{number}\""), kind);
    }
    let schema = schema.column("id", ColumnType::I32).primary_key([asc("c5"), desc("id")]);
    let by = IndexDef::new("by", [desc("c8"), asc("null \"6\"")]).include(["c6", "null \"5\""]);
    schema.with_index(by)
}

#[test]
fn a_dump_that_is_loaded_gives_the_same_rows_and_the_same_dump() {
    let bytes = || proptest::collection::vec(any::<u8>(), 1..30);
    let cases = (
        proptest::collection::vec(row(), 0..12),
        proptest::collection::btree_map(bytes(), bytes(), 0..8),
        proptest::sample::select(vec![Engine::Memory, Engine::Disk]),
    );
    let mut runner = TestRunner::new(Config { cases: 12, ..Config::default() });
    let outcome = runner.run(&cases, |(mut rows_of_table, entries, engine)| {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let db = open(&path("one"));
        let table = db.create_table("a \"table\"", engine, all_kinds()).unwrap();
        for (id, row) in rows_of_table.iter_mut().enumerate() {
            row.push(OwnedValue::Int(id as i64));
        }
        insert(&db, &table, &rows_of_table);
        let keyspace = db.keyspace("entries", engine).unwrap();
        db.run(Isolation::Snapshot, |transaction| {
            entries.iter().try_for_each(|(key, value)| transaction.put(&keyspace, key, value))
        })
        .unwrap();
        let expected = rows(&db, "a \"table\"");
        drop((db, table));

        let dump = good("dump", &path("one"), &[]);
        fs::write(path("dump"), &dump).unwrap();
        good("load", &path("two"), &[path("dump").to_str().unwrap()]);
        prop_assert_eq!(&good("dump", &path("two"), &[]), &dump);
        let db = open(&path("two"));
        prop_assert_eq!(rows(&db, "a \"table\""), expected);
        let table = db.table("a \"table\"").unwrap();
        prop_assert_eq!(table.schema(), &all_kinds());
        prop_assert_eq!(db.tables()[0].1, engine);
        Ok(())
    });
    outcome.unwrap();
}
