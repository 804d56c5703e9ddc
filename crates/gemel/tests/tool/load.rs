//! Loads: a damaged dump changes nothing, and a part that can't be stored leaves nothing.

use super::{bad, gemel, good, insert, open, rows, shop};
use gemel::row::{ColumnType, OwnedValue, Schema, Value};
use gemel::{Engine, Isolation};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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

/// A directory with the dump of a shop, which tests damage.
struct Damaged {
    directory: tempfile::TempDir,
    dump: String,
}

impl Damaged {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        shop(&directory.path().join("shop"));
        let dump = good("dump", &directory.path().join("shop"), &["stock", "notes"]);
        // A database that has a part of the dump, which a load with --replace would change.
        let db = open(&directory.path().join("old"));
        let stock = Schema::new().column("article", ColumnType::Text).column("left", ColumnType::I64);
        let stock = db.create_table("stock", Engine::Disk, stock.primary_key(["article"])).unwrap();
        insert(&db, &stock, &[vec![OwnedValue::Text("ring".into()), OwnedValue::Int(7)]]);
        db.close().unwrap();
        Self { directory, dump }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Loads a text, which must fail, into a new database and into an old one. Neither is changed.
    #[track_caller]
    fn is_found(&self, text: &[u8], line: usize, words: &str) {
        let (file, old, new) = (self.path("dump"), self.path("old"), self.path("new"));
        fs::write(&file, text).unwrap();
        let file = file.to_str().unwrap();
        let before = good("dump", &old, &[]);
        let line = format!("dump, line {line}: ");
        for (path, arguments) in [(&new, &[file][..]), (&old, &[file, "--replace"])] {
            bad("load", path, arguments, 1, &[&line, words, "; nothing is loaded"]);
        }
        assert!(!new.exists());
        assert_eq!(good("dump", &old, &[]), before);
    }

    /// Replaces a text in the dump, which must be in the line of this number.
    #[track_caller]
    fn replaced(&self, line: usize, from: &str, to: &str, words: &str) {
        let lines: Vec<&str> = self.dump.lines().collect();
        assert!(lines[line - 1].contains(from), "{}", lines[line - 1]);
        let text = lines.iter().enumerate().map(|(at, text)| match at + 1 == line {
            true => text.replace(from, to) + "\n",
            false => format!("{text}\n"),
        });
        self.is_found(text.collect::<String>().as_bytes(), line, words);
    }
}

#[test]
fn a_dump_that_is_cut_is_found_and_changes_nothing() {
    let damaged = Damaged::new();
    let dump = damaged.dump.as_bytes();
    let ends: Vec<usize> = damaged.dump.match_indices('\n').map(|(at, _)| at).collect();
    for (line, end) in ends[..ends.len() - 1].iter().enumerate() {
        damaged.is_found(&dump[..=*end], line + 2, "the dump ends before it");
        damaged.is_found(&dump[..=*end + 5], line + 2, "the file ends within it");
    }
    damaged.is_found(&dump[..dump.len() - 1], ends.len(), "the file ends within it");
    damaged.is_found(&[dump, b"{}\n"].concat(), ends.len() + 1, "goes on behind its end");
    damaged.is_found(&[dump, dump].concat(), ends.len() + 1, "goes on behind its end");
}

#[test]
fn each_damage_of_a_dump_names_its_line_and_changes_nothing() {
    let damaged = Damaged::new();
    // 1: the format; 2: stock; 3: its row; 4: its end; 5: notes; 6 to 10: its entries; 11: its end; 12: the end.
    assert_eq!(damaged.dump.lines().count(), 12, "{}", damaged.dump);
    for (line, from, to, words) in [
        (2, "\"table\"", "\"tabel\"", "expected a table, a keyspace or the number of parts"),
        (2, "\"table\"", "\"name\":1,\"table\"", "the key 'name' is unknown"),
        (2, "\"stock\"", "7", "the name of the table is not a string"),
        (2, "\"stock\"", "\"\"", "'' is no name"),
        (2, "\"memory\"", "\"cloud\"", "the engine of stock: memory or disk"),
        (2, "\"i64\"", "\"i63\"", "unknown variant `i63`"),
        (2, "\"primary_key\":[\"article\"]", "\"primary_key\":[\"articel\"]", "names column articel"),
        (2, "\"columns\"", "\"colums\"", "missing field `columns`"),
        (2, "\"nullable\":false", "\"nullable\":true", "column article of the primary key is nullable"),
        (3, "9]", "9", "it is not JSON, at byte"),
        (3, "9]", "09]", "it is not JSON, at byte"),
        (3, "\"ring\"", "\"ri\\qng\"", "it is not JSON, at byte 6: invalid escape"),
        (
            3,
            "ring",
            "\\ud83dring",
            "column article: \\ud83d is one half of a character: write the other half",
        ),
        (6, "\"a\"", "\"\\udc00\"", "the key: \\udc00 is one half of a character"),
        (3, ",9", "", "1 values for 2 columns"),
        (3, ",9", ",9,9", "3 values for 2 columns"),
        (3, "9", "\"nine\"", "column left: 'nine' is not a 64-bit integer"),
        (3, "9", "9223372036854775808", "column left"),
        (3, "9", "null", "column left: it is null, and the column is not nullable"),
        (3, "\"ring\"", "7", "column article: '7' is not a JSON string"),
        (3, "[", "ring: [", "expected a row or the number of rows, not 'ring: ["),
        (3, "[\"ring\",9]", "", "expected a row or the number of rows, not ''"),
        (3, "[\"ring\",9]", "{\"table\":\"t\"}", "expected a row of stock, or the number of rows of stock"),
        (4, "1", "2", "the dump says stock has 2 rows, and 1 were read"),
        (4, "1}", "1,\"parts\":1}", "the key 'parts' is unknown"),
        (5, "{", "[1]\n{", "expected a table, a keyspace or the number of parts, not '[1]'"),
        (5, "\"notes\"", "\"stock\"", "the dump has 'stock' twice"),
        (6, "\"a\"", "\"\"", "the key is empty"),
        (6, "\"a\"", "\"a\",\"a\"", "3 strings for a key and its value"),
        (7, "\\\\xff", "\\\\xfg", "the key: unknown escape \\xfg at character 2 of 'b\\xfg'"),
        (12, "2", "3", "the dump says it has 3 parts, and 2 were read"),
    ] {
        damaged.replaced(line, from, to, words);
    }
    let long = format!("[\"{}\",9]", "x".repeat(2049));
    damaged.replaced(
        6,
        "\"a\"",
        &format!("\"{}\"", "x".repeat(2049)),
        "the key has 2049 bytes, and 2048 are allowed",
    );
    damaged.replaced(3, "[\"ring\",9]", &format!("{{{long}"), "it is not JSON");
    let lines: Vec<&[u8]> = damaged.dump.as_bytes().split_inclusive(|byte| *byte == b'\n').collect();
    damaged.is_found(&[lines[..2].concat(), b"[\"\xff\",9]\n".to_vec()].concat(), 3, "it is not UTF-8");
    let name = "name a file that gemel dump has written";
    for strange in [&b""[..], b"{}\n", b"a text\n", b"\x7fELF\x02\x01\n\x00", b"\x1f\x8b\x08\xff", b"\xff\n"]
    {
        damaged.is_found(strange, 1, name);
    }
}

#[test]
fn a_dump_that_this_version_can_not_read_is_not_called_damaged() {
    let directory = tempfile::tempdir().unwrap();
    let (to, file) = (directory.path().join("to"), directory.path().join("dump"));
    fs::write(&file, "{\"gemel_dump\":4}\n{\"anything\":[]}\n").unwrap();
    bad(
        "load",
        &to,
        &[file.to_str().unwrap()],
        3,
        &["dump, line 1: the dump has format 4", "formats 1 to 3"],
    );
    bad("load", &to, &["/no/such/file"], 3, &["can't open /no/such/file"]);
    bad("load", &to, &[directory.path().to_str().unwrap()], 3, &["can't read"]);
    assert!(!to.exists());
}

/// More rows than a transaction has.
const MANY: i64 = 12_000;

/// Returns a dump of `first`, which can be loaded, and of `second`, whose rows are those of `rows`, in a table with a
/// unique index.
fn two_parts(rows: impl Iterator<Item = (i64, i64)>) -> String {
    let schema = "\"engine\":\"disk\",\"schema\":{\"columns\":[{\"name\":\"id\",\"kind\":\"i64\",\"nullable\":false},\
                  {\"name\":\"n\",\"kind\":\"i64\",\"nullable\":false}],\"primary_key\":[\"id\"],\
                  \"indexes\":[{\"name\":\"by_n\",\"columns\":[\"n\"],\"unique\":true}]}}\n";
    let first = format!("{{\"table\":\"first\",{schema}[1,1]\n{{\"rows\":1}}\n");
    let (mut dump, mut count) = (format!("{{\"gemel_dump\":3}}\n{first}{{\"table\":\"second\",{schema}"), 0);
    for (id, n) in rows {
        count += 1;
        writeln!(dump, "[{id},{n}]").unwrap();
    }
    dump + &format!("{{\"rows\":{count}}}\n{{\"parts\":2}}\n")
}

/// Makes a database with some rows of `second`.
fn made(path: &Path, of_second: &[(i64, i64)]) {
    let db = open(path);
    let schema = Schema::new().column("id", ColumnType::I64).column("n", ColumnType::I64);
    let schema = schema.primary_key(["id"]).unique_index("by_n", ["n"]);
    let table = db.create_table("second", Engine::Memory, schema).unwrap();
    let row = |(id, n): &(i64, i64)| vec![OwnedValue::Int(*id), OwnedValue::Int(*n)];
    insert(&db, &table, &of_second.iter().map(row).collect::<Vec<_>>());
    db.close().unwrap();
}

/// A dump that contradicts itself, a row that is there, and a value that another row has, each behind rows that are
/// committed already.
#[test]
fn a_part_that_can_not_be_stored_leaves_nothing_of_itself() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let file = path("dump");
    let of = |name: &str, dump: String, arguments: &[&str], code: i32, words: &[&str]| {
        fs::write(&file, dump).unwrap();
        let arguments = [&[file.to_str().unwrap()], arguments].concat();
        bad("load", &path(name), &arguments, code, words);
        assert!(gemel::check(path(name)).unwrap().is_good(), "{name}");
    };
    let plain = |id| (id, id);
    let unique = || two_parts((0..MANY).map(plain).chain([(-1, 7)]));
    let line = format!("dump, line {}: ", MANY + 6);
    let nothing = "; nothing of second is loaded; loaded before it: first";

    // In a new table, also with --replace.
    for (name, arguments) in [("new 1", &[][..]), ("new 2", &["--replace"])] {
        of(name, unique(), arguments, 1, &[&line, "already belongs", nothing]);
        assert_eq!(open(&path(name)).tables(), [("first".to_owned(), Engine::Disk)]);
    }
    // In a table that exists: the dump contradicts itself.
    let old = [(-5, -5)];
    made(&path("old 1"), &old);
    of("old 1", unique(), &[], 1, &[&line, "already belongs", nothing]);
    // It contradicts the database.
    let hint = "with --replace, gemel load replaces such rows";
    made(&path("old 2"), &old);
    of("old 2", two_parts((0..MANY).map(plain).chain([(-5, -6)])), &[], 3, &[&line, hint, nothing]);
    made(&path("old 3"), &old);
    of("old 3", two_parts((0..MANY).map(plain).chain([(-6, -5)])), &[], 3, &[&line, "belongs", nothing]);
    for name in ["old 1", "old 2", "old 3"] {
        let db = open(&path(name));
        assert_eq!(rows(&db, "second").len(), 1, "{name}");
        assert_eq!(db.tables()[0], ("second".to_owned(), Engine::Memory));
    }
    // Rows that replaced others stay, and the message says how many.
    made(&path("old 4"), &[(3, 4 * MANY), (-5, -5)]);
    let dump = two_parts((0..MANY).map(plain).chain([(-6, -5)]));
    let stay = "the first 10000 rows of second stay (rows were replaced): repeat the load with --replace";
    of("old 4", dump, &["--replace"], 3, &[&line, "belongs", stay, "loaded before it: first"]);
    assert_eq!(rows(&open(&path("old 4")), "second").len(), 10_001);
}

/// With --replace, one of the two rows would be lost.
#[test]
fn a_key_that_comes_twice_is_found_in_any_order_and_changes_nothing() {
    let damaged = Damaged::new();
    let twice = "a line before has a row with the same key";
    // The rows of `second` begin in line 6.
    for (rows, line) in [
        (&[(1, 1), (1, 2)][..], Some(7)),
        (&[(-1, 1), (2, 2), (3, 3), (3, 4)], Some(9)),
        (&[(2, 2), (1, 1), (1, 3)], Some(8)),
        (&[(2, 2), (1, 1), (3, 3), (2, 4)], Some(9)),
        (&[(1, 1), (3, 3), (2, 2), (3, 4)], Some(9)),
        (&[(3, 3), (-1, 1), (2, 2)], None),
    ] {
        let dump = two_parts(rows.iter().copied());
        if let Some(line) = line {
            damaged.is_found(dump.as_bytes(), line, twice);
            continue;
        }
        let (file, path) = (damaged.path("dump"), damaged.path("ordered"));
        fs::write(&file, dump).unwrap();
        for arguments in [&[][..], &["--replace"]] {
            good("load", &path, &[&[file.to_str().unwrap()], arguments].concat());
        }
        assert_eq!(super::rows(&open(&path), "second").len(), rows.len());
    }
    let text = damaged.dump.replacen("[\"ring\",9]\n", "[\"ring\",9]\n[\"ring\",8]\n", 1);
    damaged.is_found(text.as_bytes(), 4, twice);
    // The keys of a keyspace, where one is the beginning of another.
    damaged.is_found(damaged.dump.replace("[\"b\\\\xff\",", "[\"a\",").as_bytes(), 7, twice);
    damaged.is_found(damaged.dump.replace("[\"c\",", "[\"a\",").as_bytes(), 10, twice);
}

#[test]
fn entries_of_a_keyspace_are_removed_again_too() {
    let directory = tempfile::tempdir().unwrap();
    let (path, file) = (directory.path().join("db"), directory.path().join("dump"));
    let mut dump = "{\"gemel_dump\":1}\n{\"keyspace\":\"k\",\"engine\":\"disk\"}\n".to_owned();
    for key in 0..MANY {
        writeln!(dump, "[\"{key:06}\",\"v\"]").unwrap();
    }
    dump += "[\"old\",\"v\"]\n";
    write!(dump, "{{\"rows\":{}}}\n{{\"parts\":1}}\n", MANY + 1).unwrap();
    fs::write(&file, dump).unwrap();
    {
        let db = open(&path);
        let keyspace = db.keyspace("k", Engine::Memory).unwrap();
        db.run(Isolation::Snapshot, |transaction| transaction.put(&keyspace, b"old", b"value")).unwrap();
        db.close().unwrap();
    }
    let file = file.to_str().unwrap();
    let words = [&*format!("dump, line {}: ", MANY + 3), "with --replace", "; nothing of k is loaded"];
    bad("load", &path, &[file], 3, &words);
    assert_eq!(good("scan", &path, &["k"]), "key  value\nold  value\n");
    good("load", &path, &[file, "--replace"]);
    assert_eq!(good("scan", &path, &["k"]).lines().count() as i64, MANY + 2);
}

/// A pipe can be read only once, and a load reads twice.
#[test]
fn a_dump_is_read_from_a_pipe() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    shop(&path("shop"));
    fs::create_dir(path("temporary")).unwrap();
    let dump = good("dump", &path("shop"), &[]);
    for (name, file) in [("one", "-"), ("two", "/dev/stdin")] {
        let load = |dump: &str| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_gemel"));
            command.arg("load").arg(path(name)).arg(file).env("TMPDIR", path("temporary"));
            let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = piped.spawn().unwrap();
            child.stdin.take().unwrap().write_all(dump.as_bytes()).unwrap();
            let output = child.wait_with_output().unwrap();
            (output.status.code(), String::from_utf8(output.stderr).unwrap())
        };
        let (code, err) = load(&dump.replace("[\"ring\",9]", "[\"ring\"]"));
        assert!(code == Some(1) && err.contains("1 values for 2 columns; nothing is loaded"), "{err}");
        assert!(!path(name).exists());
        assert_eq!(load(&dump), (Some(0), String::new()));
        assert_eq!(good("dump", &path(name), &[]), dump);
    }
    assert_eq!(fs::read_dir(path("temporary")).unwrap().count(), 0);
    let mut command = Command::new(env!("CARGO_BIN_EXE_gemel"));
    command.arg("load").arg(path("three")).arg("-").env("TMPDIR", path("none")).stdin(Stdio::null());
    let output = command.output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(3) && err.contains("TMPDIR"), "{err}");
}

/// A load that is killed may leave a part with some rows. The next one with --replace completes it.
#[test]
fn a_load_that_is_killed_is_completed_by_the_next_one() {
    let directory = tempfile::tempdir().unwrap();
    let (path, file) = (directory.path().join("db"), directory.path().join("dump"));
    let dump = two_parts((0..5 * MANY).map(|id| (id, id)));
    fs::write(&file, &dump).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_gemel"));
    command.arg("load").arg(&path).arg(&file).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The first table is stored, and the second one has begun or is about to.
    let mut line = [0; 8];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(gemel::check(&path).unwrap().is_good());
    let (code, _, err) = gemel("load", &path, &[file.to_str().unwrap(), "--replace"]);
    assert_eq!((code, &*err), (0, ""));
    assert_eq!(good("dump", &path, &[]), dump);
}
