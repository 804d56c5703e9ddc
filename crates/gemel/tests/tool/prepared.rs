//! Prepared transactions: listed and decided.

use super::{bad, good, open, rows, shop};
use gemel::Isolation;
use gemel::row::{OwnedValue, Value};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Prepares a transaction that adds an order, on disk, and a row of stock, in memory.
fn prepare(path: &Path, name: &str, number: i64) {
    let db = open(path);
    let mut transaction = db.begin(Isolation::Serializable).unwrap();
    let row = [Value::Int(number), "new".into(), Value::Null, Value::Decimal(1)];
    db.table("orders").unwrap().insert(&mut transaction, &row).unwrap();
    let article = format!("article {number}");
    db.table("stock").unwrap().insert(&mut transaction, &[article.as_str().into(), Value::Int(1)]).unwrap();
    transaction.prepare(name).unwrap().wait().unwrap();
    db.close().unwrap();
}

#[test]
fn prepared_transactions_are_listed_with_their_times_and_sizes_oldest_first() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    shop(&path);
    assert_eq!(good("prepared", &path, &[]), "name  prepared_at  rows  bytes\n");
    assert_eq!(good("prepared", &path, &["--format", "json"]), "");
    assert!(!good("stat", &path, &[]).contains("prepared"));
    prepare(&path, "order 17", 100);
    assert!(
        good("stat", &path, &[])
            .contains("\nprepared    1 transaction is undecided: gemel prepared PATH lists it\n")
    );
    prepare(&path, "a\n\"second\"", 101);
    let stat = good("stat", &path, &[]);
    assert!(
        stat.contains("\nprepared    2 transactions are undecided: gemel prepared PATH lists them\n"),
        "{stat}"
    );
    let stat: serde_json::Value = serde_json::from_str(&good("stat", &path, &["--format", "json"])).unwrap();
    assert_eq!(stat["prepared_undecided"], 2);

    let expected = open(&path).prepared();
    let json = good("prepared", &path, &["--format", "json"]);
    let lines: Vec<serde_json::Value> =
        json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (line, expected) in lines.iter().zip(&expected) {
        assert_eq!((&line["name"], &line["rows"]), (&expected.name.as_str().into(), &3.into()), "{json}");
        assert!(expected.bytes > 50 && line["bytes"] == expected.bytes, "{json}");
        assert!(line["prepared_at"].as_str().unwrap().starts_with("20"), "{json}");
        let age = SystemTime::now().duration_since(expected.prepared_at).unwrap();
        assert!(age < Duration::from_secs(3600), "{age:?}");
    }
    assert_eq!((lines.len(), &*expected[0].name), (2, "order 17"));
    let text = good("prepared", &path, &[]);
    assert!(text.lines().nth(1).unwrap().starts_with("order 17     20"), "{text}");
    assert!(text.lines().nth(2).unwrap().starts_with("a\\n\"second\"  20"), "{text}");
    assert!(
        good("prepared", &path, &["--format", "csv"]).starts_with("name,prepared_at,rows,bytes\norder 17,20")
    );
}

#[test]
fn a_prepared_transaction_is_committed_or_rolled_back_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    shop(&path);
    for (name, number) in [("commit", 100), ("-b", 101), ("stays", 102)] {
        prepare(&path, name, number);
    }
    bad("drop", &path, &["orders"], 2, &["no command"]);
    bad("move", &path, &["orders", "memory"], 3, &["the prepared transaction", "is undecided"]);
    // The first argument is the name, whatever it is.
    let said = good("decide", &path, &["commit", "commit"]);
    assert_eq!(said, "the prepared transaction 'commit' is committed\n");
    let said = good("decide", &path, &["--", "-b", "roll-back"]);
    assert_eq!(said, "the prepared transaction '-b' is rolled back\n");
    for name in ["commit", "-b"] {
        for decision in ["commit", "roll-back"] {
            bad(
                "decide",
                &path,
                &["--", name, decision],
                3,
                &["no prepared transaction", name, "gemel prepared PATH"],
            );
        }
    }
    let listed = good("prepared", &path, &["--format", "csv"]);
    assert!(listed.lines().count() == 2 && listed.contains("\nstays,"), "{listed}");
    let db = open(&path);
    let has = |table: &str, key: OwnedValue| rows(&db, table).iter().any(|row| row[0] == key);
    for (number, is_there) in [(100, true), (101, false), (102, false)] {
        assert_eq!(has("orders", OwnedValue::Int(number)), is_there);
        assert_eq!(has("stock", OwnedValue::Text(format!("article {number}"))), is_there);
    }
    db.close().unwrap();
    assert!(gemel::check(&path).unwrap().is_good());
}
