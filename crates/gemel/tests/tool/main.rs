//! `gemel get`, `scan`, `dump`, `load`, `stat`, `compact`, `prepared` and `decide`, run on databases that the library made.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod dump;
mod load;
mod prepared;
mod texts;

use gemel::row::{ColumnType, OwnedValue, RowRange, Schema, Table, Value};
use gemel::{Database, Direction, Engine, Isolation, Options, Transaction};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::ops::{Bound, ControlFlow};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn open(path: &Path) -> Database {
    Database::open(path, Options::default()).unwrap()
}

/// Runs `gemel` with a command for a database. Returns its exit code and its output.
fn gemel(command: &str, path: &Path, arguments: &[&str]) -> (i32, String, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_gemel"));
    let output = program.arg(command).arg(path).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Runs a command that must succeed. Returns its output.
#[track_caller]
fn good(command: &str, path: &Path, arguments: &[&str]) -> String {
    let (code, out, err) = gemel(command, path, arguments);
    assert_eq!((code, &*err), (0, ""), "{command} {arguments:?}: {out}");
    out
}

/// Runs a command that must fail with one line that has some words.
#[track_caller]
fn bad(command: &str, path: &Path, arguments: &[&str], expected: i32, words: &[&str]) {
    let (code, _, err) = gemel(command, path, arguments);
    assert_eq!((code, err.lines().count()), (expected, 1), "{command} {arguments:?}: {err}");
    for word in words {
        assert!(err.contains(word), "{command} {arguments:?}: {word:?} is not in {err:?}");
    }
}

fn insert(db: &Database, table: &Table, rows: &[Vec<OwnedValue>]) {
    let work = |transaction: &mut Transaction| {
        rows.iter().try_for_each(|row| {
            let row: Vec<Value<'_>> = row.iter().map(Value::from).collect();
            table.insert(transaction, &row)
        })
    };
    db.run(Isolation::Snapshot, work).unwrap();
}

fn rows(db: &Database, name: &str) -> Vec<Vec<OwnedValue>> {
    let (table, mut rows) = (db.table(name).unwrap(), Vec::new());
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    table
        .scan(&mut transaction, &RowRange::all(), Direction::Forward, |row| {
            rows.push(row.values()?.into_iter().map(Value::into_owned).collect());
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    rows
}

/// Makes a shop: orders on disk, with a null and an empty note; stock in memory; and a keyspace.
fn shop(path: &Path) {
    let db = open(path);
    let orders = Schema::new()
        .column("number", ColumnType::I32)
        .column("article", ColumnType::Text)
        .nullable("note", ColumnType::Text)
        .column("price", ColumnType::Decimal { scale: 2 })
        .primary_key(["number"])
        .index("by_article", ["article", "number"]);
    let orders = db.create_table("orders", Engine::Disk, orders).unwrap();
    let stock = Schema::new().column("article", ColumnType::Text).column("left", ColumnType::I64);
    let stock = db.create_table("stock", Engine::Memory, stock.primary_key(["article"])).unwrap();
    let order = |number: i64| {
        let article = ["pin", "ring", "a,b"][number.rem_euclid(3) as usize];
        let note = if number % 2 == 0 { OwnedValue::Null } else { OwnedValue::Text(String::new()) };
        vec![OwnedValue::Int(number), OwnedValue::Text(article.into()), note, OwnedValue::Decimal(-number)]
    };
    insert(&db, &orders, &(-3..30).map(order).collect::<Vec<_>>());
    insert(&db, &stock, &[vec![OwnedValue::Text("ring".into()), OwnedValue::Int(9)]]);
    let notes = db.keyspace("notes", Engine::Disk).unwrap();
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    for key in [&b"a"[..], b"b\xff", b"b\xff\xff", b"b\xff\n", b"c"] {
        transaction.put(&notes, key, &[key, b"\\ \x00"].concat()).unwrap();
    }
    transaction.commit().unwrap().wait().unwrap();
    db.checkpoint().unwrap();
    db.close().unwrap();
}

fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            let content = fs::read(&path).unwrap();
            found.insert(path, content);
        }
    }
    found
}

#[test]
fn get_shows_one_row_or_value() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    shop(&path);
    let row = "number   -2\narticle  ring\nnote     \\N\nprice    0.02\n";
    assert_eq!(good("get", &path, &["orders", "-2"]), row);
    let json = "{\"number\":7,\"article\":\"ring\",\"note\":\"\",\"price\":\"-0.07\"}\n";
    assert_eq!(good("get", &path, &["orders", "7", "--format", "json"]), json);
    let csv = "number,article,note,price\n8,\"a,b\",,-0.08\n";
    assert_eq!(good("get", &path, &["--format=csv", "orders", "8"]), csv);
    assert_eq!(good("get", &path, &["notes", "b\\xff\\n"]), "b\\xff\\n\\\\ \\x00\n");
    bad("get", &path, &["orders", "99"], 3, &["orders", "99"]);
    bad("get", &path, &["stock", "--", "-ring"], 3, &["stock", "-ring"]);
    bad("get", &path, &["notes", "b"], 3, &["notes"]);
    bad("get", &path, &["orders", "1", "2"], 2, &["primary key", "(number)"]);
    bad("get", &path, &["orders", "x"], 2, &["column number", "32-bit integer"]);
    bad("get", &path, &["orders", "\\N"], 2, &["not nullable"]);
    bad("get", &path, &["notes", "\\q"], 2, &["escape"]);
}

/// Bounds as options, and the same for the library.
type Case<'a> = (&'a [&'a str], Option<&'a str>, Bound<Vec<Value<'a>>>, Bound<Vec<Value<'a>>>);

#[test]
fn scans_have_the_rows_of_the_library_in_its_order() {
    use Bound::{Excluded, Included, Unbounded};
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    shop(&path);
    let (int, index) = (Value::Int, Some("by_article"));
    let cases: &[Case<'_>] = &[
        (&[], None, Unbounded, Unbounded),
        (&["--from", "-2"], None, Included(vec![int(-2)]), Unbounded),
        (&["--after=-2", "--to", "9"], None, Excluded(vec![int(-2)]), Included(vec![int(9)])),
        (&["--before", "9"], None, Unbounded, Excluded(vec![int(9)])),
        (&["--prefix", "9"], None, Included(vec![int(9)]), Included(vec![int(9)])),
        (&["--index", "by_article"], index, Unbounded, Unbounded),
        (
            &["--index", "by_article", "--prefix", "ring"],
            index,
            Included(vec!["ring".into()]),
            Included(vec!["ring".into()]),
        ),
        (
            &["--index", "by_article", "--prefix", "a\\,b"],
            index,
            Included(vec!["a,b".into()]),
            Included(vec!["a,b".into()]),
        ),
        (
            &["--index", "by_article", "--after", "pin,12", "--before", "ring,10"],
            index,
            Excluded(vec!["pin".into(), int(12)]),
            Excluded(vec!["ring".into(), int(10)]),
        ),
        (&["--index", "by_article", "--after", "pin"], index, Excluded(vec!["pin".into()]), Unbounded),
    ];
    for (options, index, lower, upper) in cases {
        for (direction, limit) in
            [(Direction::Forward, None), (Direction::Backward, Some(4)), (Direction::Forward, Some(0))]
        {
            let mut arguments = vec!["orders", "--format", "json"];
            arguments.extend_from_slice(options);
            if direction == Direction::Backward {
                arguments.push("--reverse");
            }
            let limit_text = limit.unwrap_or(0_usize).to_string();
            if limit.is_some() {
                arguments.extend(["--limit", &limit_text]);
            }
            let printed = good("scan", &path, &arguments);
            let number = |line: &str| {
                serde_json::from_str::<serde_json::Value>(line).unwrap()["number"].as_i64().unwrap()
            };
            let found: Vec<i64> = printed.lines().map(number).collect();

            let db = open(&path);
            let table = db.table("orders").unwrap();
            let range = RowRange::new(lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice));
            let (mut transaction, mut expected) = (db.begin(Isolation::Snapshot).unwrap(), Vec::new());
            let each = |row: gemel::row::RowView<'_>| {
                expected.push(row.int(0)?);
                Ok(ControlFlow::Continue(()))
            };
            match index {
                None => table.scan(&mut transaction, &range, direction, each).unwrap(),
                Some(index) => {
                    table.scan_index(&mut transaction, index, &range, direction, each).unwrap();
                }
            }
            assert!(!expected.is_empty(), "{options:?}");
            expected.truncate(limit.unwrap_or(usize::MAX));
            assert_eq!(found, expected, "{arguments:?}");
        }
    }
}

#[test]
fn scans_of_a_keyspace_have_bounds_of_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    shop(&path);
    for (options, expected) in [
        (&[][..], "a b\\xff b\\xff\\n b\\xff\\xff c"),
        (&["--prefix", "b\\xff"], "b\\xff b\\xff\\n b\\xff\\xff"),
        (&["--prefix", ""], "a b\\xff b\\xff\\n b\\xff\\xff c"),
        (&["--prefix", "\\xff"], ""),
        (&["--after", "b\\xff", "--to", "c"], "b\\xff\\n b\\xff\\xff c"),
        (&["--from", "b\\xff", "--before", "c", "--reverse", "--limit", "2"], "b\\xff\\xff b\\xff\\n"),
    ] {
        let arguments = [&["notes", "--format", "csv"], options].concat();
        let out = good("scan", &path, &arguments);
        let keys: Vec<&str> = out.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
        assert_eq!(keys.join(" "), expected, "{options:?}");
    }
}

#[test]
fn a_scan_is_a_table_for_people_or_csv() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    shop(&path);
    let table = "number  article  note  price\n-3      pin            0.03\n-2      ring     \\N    0.02\n";
    assert_eq!(good("scan", &path, &["orders", "--limit", "2"]), table);
    assert_eq!(good("scan", &path, &["orders", "--from", "99"]), "number  article  note  price\n");
    let csv = good("scan", &path, &["orders", "--prefix", "7", "--format", "csv"]);
    assert_eq!(csv, "number,article,note,price\n7,ring,\"\",-0.07\n");
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_command_quietly() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    {
        let db = open(&path);
        let schema = Schema::new().column("id", ColumnType::I32).column("name", ColumnType::Text);
        let table = db.create_table("t", Engine::Memory, schema.primary_key(["id"])).unwrap();
        let row = |id| vec![OwnedValue::Int(id), OwnedValue::Text("a name".repeat(20))];
        insert(&db, &table, &(0..20_000).map(row).collect::<Vec<_>>());
    }
    for arguments in [&["scan", "t"][..], &["dump"]] {
        let mut program = Command::new(env!("CARGO_BIN_EXE_gemel"));
        program.arg(arguments[0]).arg(&path).args(&arguments[1..]);
        let mut child = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(!line.is_empty());
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!((child.wait().unwrap().code(), &*err), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn a_full_output_is_an_error() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    shop(&path);
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_gemel"));
    let output = program.arg("dump").arg(&path).stdout(full).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(3) && err.contains("can't write the output"), "{err}");
}

#[test]
fn stat_shows_parts_and_schemas() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    shop(&path);
    let out = good("stat", &path, &[]);
    let line = |begin: &str| {
        let line = out.lines().find(|line| line.starts_with(begin)).unwrap();
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(line("orders ")[..4], ["orders", "table", "disk", "~33"]);
    assert_eq!(line("orders.by_article")[..4], ["orders.by_article", "index", "disk", "~33"]);
    assert_eq!(line("stock ")[..], ["stock", "table", "memory", "1", "21", "0", "0"]);
    assert_eq!(line("notes ")[..4], ["notes", "keyspace", "disk", "~5"]);
    for shown in [
        "table orders (disk)",
        "  note     text, nullable",
        "  price    decimal(2)",
        "  primary key (number)",
        "  index by_article (article, number)",
        "~ is an estimate",
    ] {
        assert!(out.contains(shown), "{shown:?} is not in {out}");
    }
    let exact = good("stat", &path, &["--exact"]);
    assert!(!exact.contains('~') && exact.contains("33"), "{exact}");

    let json: serde_json::Value = serde_json::from_str(&good("stat", &path, &["--format", "json"])).unwrap();
    assert_eq!(json["parts"][0]["rows"], 33);
    assert_eq!(json["parts"][0]["is_exact"], false);
    assert_eq!(json["tables"][0]["columns"][3]["type"], "decimal(2)");
    assert_eq!(json["tables"][0]["indexes"][0]["columns"][1], "number");
    assert!(json["file_bytes"].as_u64().unwrap() > 0 && json["log_bytes"].as_u64().unwrap() > 0, "{json}");
}

#[test]
fn stat_of_a_table_shows_what_its_columns_and_keys_have() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    shop(&path);
    let out = good("stat", &path, &["orders"]);
    for shown in [
        "table orders: 33 rows, all of them read",
        "33 different, 0.0 % null, 4.0 bytes",
        "  primary key (number): 33 different",
        "  index by_article (article, number): ",
    ] {
        assert!(out.contains(shown), "{shown:?} is not in {out}");
    }
    let json = good("stat", &path, &["orders", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(json["rows"] == 33 && json["is_exact"] == true, "{json}");
    let columns = json["columns"].as_array().unwrap();
    let number = columns.iter().find(|column| column["name"] == "number").unwrap();
    assert_eq!((number["distinct"].as_u64(), number["null_fraction"].as_f64()), (Some(33), Some(0.0)));
    assert_eq!(number["most_common"].as_array().unwrap().len(), 33);
    assert_eq!(json["keys"][1]["distinct"].as_array().unwrap()[1], 33);
    bad("stat", &path, &["notes"], 3, &["is a keyspace"]);
    bad("stat", &path, &["none"], 3, &["there is no table"]);
}

#[test]
fn commands_that_read_change_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    shop(&path);
    // Otherwise the first command that takes long enough merges files in the background.
    good("compact", &path, &[]);
    let before = files(&path);
    for (command, arguments) in [
        ("check", &[][..]),
        ("stat", &["--exact"]),
        ("get", &["orders", "1"]),
        ("scan", &["orders", "--index", "by_article"]),
        ("dump", &[]),
        ("prepared", &[]),
    ] {
        good(command, &path, arguments);
        let after = files(&path);
        assert!(before.keys().eq(after.keys()), "{command}: {:?}", after.keys());
        for (file, content) in &before {
            assert!(*content == after[file], "{command}: {}", file.display());
        }
    }
}

/// Columns are padded to the widest value of the first rows, and a value may have millions of characters.
#[test]
fn a_value_of_any_length_is_listed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let db = open(&path);
    let schema = Schema::new().column("id", ColumnType::I32).column("text", ColumnType::Text);
    let schema = schema.column("end", ColumnType::I32).primary_key(["id"]);
    let table = db.create_table("notes", Engine::Memory, schema).unwrap();
    let long = "x".repeat(70_000);
    let row = |id: i64, text: &str| {
        vec![Value::Int(id).into_owned(), Value::Text(text).into_owned(), Value::Int(7).into_owned()]
    };
    insert(&db, &table, &[row(1, "short"), row(2, &long), row(3, "short")]);
    db.close().unwrap();
    let out = good("scan", &path, &["notes"]);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!((lines.len(), lines[2].len()), (4, 70_000 + "2   ".len() + "  7".len()), "{}", lines[1]);
    assert!(lines[1].len() < 300 && lines[1].ends_with("7"), "{}", lines[1]);
}

#[test]
fn compact_frees_deleted_rows_and_says_how_much() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    shop(&path);
    {
        let db = open(&path);
        let orders = db.table("orders").unwrap();
        let work = |transaction: &mut Transaction| {
            (0..30).try_for_each(|number| orders.delete(transaction, &[Value::Int(number)]).map(drop))
        };
        db.run(Isolation::Snapshot, work).unwrap();
        db.close().unwrap();
    }
    let json: serde_json::Value =
        serde_json::from_str(&good("compact", &path, &["orders", "--format", "json"])).unwrap();
    let bytes = |name: &str| json[name].as_u64().unwrap();
    assert!(json["name"] == "orders" && bytes("bytes_after") < bytes("bytes_before"), "{json}");
    let out = good("compact", &path, &[]);
    assert!(out.contains("notes: ") && out.contains("2 tables and keyspaces on disk"), "{out}");
    assert!(good("stat", &path, &[]).contains("~3 "), "the estimate is exact after a merge");
    bad("compact", &path, &["stock"], 3, &["memory engine", "no files"]);
    assert!(gemel::check(&path).unwrap().is_good());
    assert_eq!(rows(&open(&path), "orders").len(), 3);
}

#[test]
fn wrong_use_is_one_line_and_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    shop(&path);
    for (command, arguments, words) in [
        ("stat", &["orders", "more"][..], "stat takes PATH, and maybe one TABLE"),
        ("stat", &["orders", "--exact"], "have no --exact"),
        ("stat", &["--format", "csv"], "stat has no format csv"),
        ("get", &["orders"], "get takes PATH, TABLE and KEY"),
        ("get", &["orders", "1", "--limit", "5"], "get has no option --limit"),
        ("get", &["stock", "-ring"], "has no option -ring, and a value goes behind --"),
        ("scan", &[], "scan takes PATH and TABLE"),
        ("scan", &["orders", "stock"], "scan takes PATH and TABLE"),
        ("scan", &["orders", "--limit"], "--limit needs a value"),
        ("scan", &["orders", "--limit", "-1"], "--limit '-1' is not a number"),
        ("scan", &["orders", "--reverse=yes"], "--reverse takes no value"),
        ("scan", &["orders", "--reverse", "--reverse"], "--reverse is given twice"),
        ("scan", &["orders", "--from", "1", "--after", "2"], "--from and --after"),
        ("scan", &["orders", "--prefix", "1", "--to", "2"], "--prefix"),
        ("scan", &["orders", "--from", "1,2"], "2 values for the columns number"),
        ("scan", &["orders", "--to", "1.5"], "column number"),
        ("scan", &["orders", "--format", "xml"], "scan has no format xml"),
        ("load", &[], "load takes PATH and FILE"),
        ("compact", &["--format", "csv"], "compact has no format csv"),
        ("prepared", &["orders"], "prepared takes one PATH"),
        ("prepared", &["--format", "xml"], "prepared has no format xml"),
        ("decide", &["order 17"], "decide takes PATH, NAME, and commit or roll-back"),
        ("decide", &["order 17", "rollback"], "'rollback' is no decision: use commit or roll-back"),
        ("read", &[], "read is no command: use check, stat, get"),
    ] {
        bad(command, &path, arguments, 2, &[words]);
    }
    for (command, arguments, words) in [
        ("scan", &["none"][..], "there is no table or keyspace 'none'"),
        ("get", &["orders.by_article", "x"], "scan PATH orders --index by_article"),
        ("scan", &["orders", "--index", "none"], "it has by_article"),
        ("scan", &["stock", "--index", "none"], "it has none"),
        ("scan", &["notes", "--index", "none"], "no indexes"),
        ("compact", &["none"], "there is no table or keyspace 'none'"),
        ("decide", &["none", "commit"], "no prepared transaction 'none' is undecided: gemel prepared PATH"),
    ] {
        bad(command, &path, arguments, 3, &[words]);
    }
    let nothing = directory.path().join("nothing");
    for (command, arguments) in [
        ("stat", &[][..]),
        ("get", &["t", "1"]),
        ("scan", &["t"]),
        ("dump", &[]),
        ("compact", &[]),
        ("prepared", &[]),
        ("decide", &["p", "commit"]),
    ] {
        bad(command, &nothing, arguments, 3, &["no Gemel database"]);
    }
    assert!(!nothing.exists());
    let db = open(&path);
    bad("load", &path, &["/dev/null"], 1, &["empty"]);
    assert_eq!(rows(&db, "orders").len(), 33);
}

#[test]
fn a_database_that_is_open_elsewhere_is_read_from_a_backup_and_the_message_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let (path, copy) = (directory.path().join("db"), directory.path().join("copy"));
    shop(&path);
    let dump = directory.path().join("dump");
    fs::write(&dump, good("dump", &path, &["stock"])).unwrap();
    let db = open(&path);
    let to_read = format!("gemel backup {} COPY", path.display());
    for (command, arguments) in [
        ("stat", &[][..]),
        ("get", &["orders", "1"]),
        ("scan", &["orders"]),
        ("dump", &[]),
        ("check", &[]),
        ("prepared", &[]),
    ] {
        bad(command, &path, arguments, 3, &["is open in another process", &to_read]);
    }
    for (command, arguments) in [
        ("load", &[dump.to_str().unwrap(), "--replace"][..]),
        ("compact", &[]),
        ("move", &["stock", "disk"]),
        ("decide", &["p", "commit"]),
    ] {
        bad(command, &path, arguments, 3, &["is open in another process", "only gemel backup works"]);
    }
    // It says that it waits for the other process.
    assert_eq!(gemel("backup", &path, &[copy.to_str().unwrap()]).0, 0);
    assert_eq!(good("scan", &copy, &["orders"]).lines().count(), 34);
    drop(db);
}

#[test]
fn damage_ends_a_command_with_its_own_exit_code() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    shop(&path);
    let tables = files(&path.join("disk/ks-1/tables"));
    let (file, mut content) = tables.into_iter().next().unwrap();
    content[100] ^= 1;
    fs::write(file, content).unwrap();
    for (command, arguments) in [("scan", &["orders"][..]), ("dump", &[]), ("stat", &["--exact"])] {
        bad(command, &path, arguments, 1, &["ks-1", "a block has a wrong checksum", "backup"]);
    }
    good("scan", &path, &["stock"]);
}
