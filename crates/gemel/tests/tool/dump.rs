//! Dumps and loads: nothing is lost, and what is cut or damaged is found.

use super::{bad, good, insert, open, rows, shop};
use gemel::row::{ColumnType, OwnedValue, Schema, Value};
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
    schema.column("id", ColumnType::I32).primary_key(["c5", "id"]).index("by", ["c8", "null \"6\""])
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

#[test]
fn a_load_replaces_rows_only_if_told_to_and_goes_on_after_an_interruption() {
    let directory = tempfile::tempdir().unwrap();
    let (one, two, dump) =
        (directory.path().join("one"), directory.path().join("two"), directory.path().join("dump"));
    shop(&one);
    let text = good("dump", &one, &[]);
    fs::write(&dump, &text).unwrap();
    let file = dump.to_str().unwrap();
    let said = good("load", &two, &[file]);
    assert!(
        said.contains("orders: 33 rows\n") && said.ends_with("3 tables and keyspaces loaded\n"),
        "{said}"
    );
    bad("load", &two, &[file], 3, &["line 3", "already exists", "--replace"]);
    // A table that has moved since, and rows that have changed or are missing.
    good("move", &two, &["orders", "memory"]);
    {
        let db = open(&two);
        let orders = db.table("orders").unwrap();
        db.run(Isolation::Snapshot, |transaction| {
            orders.set(transaction, &[Value::Int(5)], &[(1, "other".into())])?;
            orders.delete(transaction, &[Value::Int(6)])
        })
        .unwrap();
    }
    good("load", &two, &[file, "--replace"]);
    assert_eq!(good("dump", &two, &[]), text.replacen("\"disk\"", "\"memory\"", 1));
    assert!(gemel::check(&two).unwrap().is_good());
    // A part alone, and what is there with another schema.
    let part = good("dump", &one, &["stock"]);
    assert_eq!(part.lines().count(), 5, "{part}");
    fs::write(&dump, part.replace("\"i64\"", "\"i32\"")).unwrap();
    bad("load", &two, &[file], 3, &["stock", "another schema", "column left", "new database"]);
    bad("dump", &one, &["stock", "none"], 3, &["none", "gemel stat"]);
    bad("dump", &one, &["stock", "stock"], 2, &["twice"]);
}

#[test]
fn a_dump_that_is_cut_or_damaged_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("one");
    shop(&path);
    let dump = good("dump", &path, &["stock", "notes"]);
    let (file, mut tried) = (directory.path().join("dump"), 0);
    let mut load = |text: &[u8], words: &str| {
        fs::write(&file, text).unwrap();
        tried += 1;
        let to = directory.path().join(tried.to_string());
        bad("load", &to, &[file.to_str().unwrap()], 1, &[words, "line"]);
        to
    };
    // After each line, and within each line.
    let ends: Vec<usize> = dump.match_indices('\n').map(|(at, _)| at).collect();
    for end in &ends[..ends.len() - 1] {
        load(&dump.as_bytes()[..=*end], "the dump ends before it");
        load(&dump.as_bytes()[..=*end + 5], "the file ends within it");
    }
    load(format!("{dump}{{}}\n").as_bytes(), "goes on behind its end");
    load(dump.replace("{\"rows\":1}", "{\"rows\":2}").as_bytes(), "number of rows of stock");
    load(dump.replace("{\"parts\":2}", "{\"parts\":3}").as_bytes(), "3 parts");
    load(dump.replace("[\"ring\",9]", "[\"ring\"]").as_bytes(), "1 values for 2 columns");
    load(dump.replace("[\"ring\",9]", "[\"ring\",\"nine\"]").as_bytes(), "column left");
    load(dump.replace("\"ring\"", "7").as_bytes(), "column article");
    load(dump.replace("\\\\xff", "\\\\xfg").as_bytes(), "escape");
    load(&[dump.as_bytes(), &[0xff, b'\n']].concat(), "not UTF-8");
    for strange in [&b""[..], b"{}\n", b"a text\n"] {
        let to = load(strange, "a file that gemel dump has written");
        assert!(!to.exists());
    }
    let to = directory.path().join("to");
    fs::write(&file, "{\"gemel_dump\":2}\n").unwrap();
    bad("load", &to, &[file.to_str().unwrap()], 3, &["format 2"]);
    bad("load", &to, &["/no/such/file"], 3, &["can't open /no/such/file"]);
    assert!(!to.exists());
}
