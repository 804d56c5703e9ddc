//! The examples of the README and of the manual page, run, and the forms of values that they and the help name.

use super::{bad, gemel, good, open, shop};
use gemel::row::{ColumnType, OwnedValue, Schema};
use gemel::{Engine, Isolation};
use std::fs;
use std::path::Path;
use std::process::Command;

const README: &str = include_str!("../../README.md");
/// Heading of the README's part with examples.
const PART: &str = "## Values and dumps in a shell\n";

/// Returns the manual page as a reader sees it, apart from its layout.
fn manual() -> String {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/gemel.1")).unwrap();
    page.replace("\\-", "-").replace("\\e", "\\")
}

fn help() -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_gemel")).arg("help").output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the text between lines that begin and end a block.
fn blocks(text: &str, begin: &str, end: &str) -> String {
    let (mut inside, mut found) = (false, String::new());
    for line in text.lines() {
        match inside {
            false if line == begin => inside = true,
            true if line == end => inside = false,
            true => found += &format!("{line}\n"),
            false => {}
        }
    }
    found
}

/// Runs the commands behind `$`, one after the other, and compares their output. `cat FILE` of a file that does not
/// exist makes the file. Returns the number of commands.
fn run(session: &str) -> usize {
    let directory = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_gemel")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let commands: Vec<&str> = session.split("$ ").skip(1).collect();
    for command in &commands {
        let (command, expected) = command.split_once('\n').unwrap();
        if let Some(file) = command.strip_prefix("cat ").map(|file| directory.path().join(file))
            && !file.exists()
        {
            fs::write(file, expected).unwrap();
        }
        let mut shell = Command::new("sh");
        let output = shell.args(["-c", command]).env("PATH", &path).current_dir(&directory).output().unwrap();
        let found = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert_eq!(found, expected, "$ {command}");
    }
    commands.len()
}

#[test]
fn the_examples_of_the_readme_work() {
    let (_, part) = README.split_once(PART).unwrap();
    let (part, _) = part.split_once("\n## ").unwrap();
    assert!(run(&blocks(part, "```text", "```")) >= 9);
}

#[test]
fn the_examples_of_the_manual_page_work() {
    let page = manual();
    let (_, examples) = page.split_once(".SH EXAMPLES\n").unwrap();
    assert!(run(&blocks(examples, ".nf", ".fi")) >= 10);
}

/// A value of a type; its form in arguments, text and CSV; its form in JSON.
fn forms() -> Vec<(ColumnType, OwnedValue, &'static str, &'static str)> {
    let float = OwnedValue::Float;
    vec![
        (ColumnType::I64, OwnedValue::Int(9_007_199_254_740_993), "9007199254740993", "9007199254740993"),
        (ColumnType::Decimal { scale: 2 }, OwnedValue::Decimal(1250), "12.50", "\"12.50\""),
        (ColumnType::Bool, OwnedValue::Bool(true), "true", "true"),
        (ColumnType::Text, OwnedValue::Text("a\tb".into()), "a\\tb", "\"a\\tb\""),
        (ColumnType::Bytes, OwnedValue::Bytes(vec![0, 255]), "00ff", "\"00ff\""),
        (
            ColumnType::Timestamp,
            OwnedValue::Timestamp(1_714_566_600_000_000),
            "2024-05-01T12:30:00Z",
            "\"2024-05-01T12:30:00Z\"",
        ),
        (ColumnType::F64, float(0.5), "0.5", "0.5"),
        (ColumnType::F64, float(1e300), "1e300", "1e300"),
        (ColumnType::F64, float(f64::INFINITY), "inf", "\"inf\""),
        (ColumnType::F64, float(f64::NEG_INFINITY), "-inf", "\"-inf\""),
        (ColumnType::F64, float(f64::NAN), "NaN", "\"NaN\""),
    ]
}

#[test]
fn values_have_the_forms_that_the_readme_the_manual_page_and_the_help_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let (manual, help) = (manual(), help());
    let (_, part) = README.split_once(PART).unwrap();
    let db = open(&path);
    for (number, (kind, value, ..)) in forms().into_iter().enumerate() {
        let schema = Schema::new().column("key", kind).nullable("value", kind).primary_key(["key"]);
        let table = db.create_table(&format!("t{number}"), Engine::Memory, schema).unwrap();
        super::insert(&db, &table, &[vec![value.clone(), OwnedValue::Null]]);
        assert!(!matches!(value, OwnedValue::Null));
    }
    let keyspace = db.keyspace("k", Engine::Disk).unwrap();
    db.run(Isolation::Snapshot, |transaction| transaction.put(&keyspace, b"a\xff", b"a\xff")).unwrap();
    db.close().unwrap();
    for (number, (kind, _, text, json)) in forms().into_iter().enumerate() {
        for page in [part, &manual] {
            assert!(page.contains(text) && page.contains(json), "{kind}: {text}, {json}");
        }
        assert!(help.contains(text) || ["a\\tb", "1e300", "inf"].contains(&text), "{text}");
        let (table, csv) = (format!("t{number}"), if kind == ColumnType::Text { "a\tb" } else { text });
        let get = |format: &str| good("get", &path, &["--format", format, &table, "--", text]);
        assert_eq!(get("text"), format!("key    {text}\nvalue  \\N\n"));
        assert_eq!(get("json"), format!("{{\"key\":{json},\"value\":null}}\n"));
        assert_eq!(get("csv"), format!("key,value\n{csv},\n"));
        assert!(good("dump", &path, &[&table]).contains(&format!("\n[{json},null]\n")), "{kind}");
    }
    assert_eq!(
        good("get", &path, &["k", "a\\xff", "--format", "json"]),
        "{\"key\":\"a\\\\xff\",\"value\":\"a\\\\xff\"}\n"
    );
    assert_eq!(good("get", &path, &["k", "a\\xff", "--format", "csv"]), "key,value\na\\xff,a\\xff\n");
    for page in [part, &manual] {
        assert!(page.contains("a\\xff") && page.contains("\"a\\\\xff\""));
    }
    // A time in microseconds, and one outside of the years 0 to 9999.
    let time = forms().iter().position(|(kind, ..)| *kind == ColumnType::Timestamp).unwrap();
    good("get", &path, &[&format!("t{time}"), "1714566600000000"]);
    good("scan", &path, &[&format!("t{time}"), "--from", "2024-05-01"]);
    bad(
        "get",
        &path,
        &[&format!("t{time}"), "noon"],
        2,
        &["2024-05-01T12:30:00Z, or microseconds since 1970"],
    );
}

#[test]
fn a_wrong_escape_is_shown_as_it_was_typed_with_its_place() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    shop(&path);
    let long = format!("{}\\q{}", "ä".repeat(100), "b".repeat(100));
    for (command, arguments, words) in [
        (
            "get",
            &["notes", "a\\\\b\\qc"][..],
            "unknown escape \\q at character 5 of 'a\\\\b\\qc': write \\\\ for",
        ),
        ("get", &["notes", "a\\"], "unknown escape \\ at character 2 of 'a\\':"),
        ("get", &["notes", "\\xf"], "unknown escape \\xf at character 1 of '\\xf':"),
        ("get", &["notes", "a\n\\x0ä!"], "unknown escape \\x0ä at character 3 of 'a\u{fffd}\\x0ä!':"),
        ("get", &["notes", &long], "unknown escape \\q at character 101 of '…ääää"),
        ("scan", &["notes", "--prefix", "\\z"], "--prefix: unknown escape \\z at character 1 of '\\z':"),
        (
            "scan",
            &["orders", "--index", "by_article", "--from", "a\\,b\\y,1"],
            "--from: column article: unknown escape \\y at character 5 of 'a\\,b\\y':",
        ),
        ("get", &["orders", "a\\b"], "column number: 'a\\b' is not a 32-bit integer"),
    ] {
        bad(command, &path, arguments, 2, &[words]);
        let (_, _, err) = gemel(command, &path, arguments);
        assert!(err.chars().count() < 250 && !err.contains("PATH"), "{err}");
    }
}

/// Each line of the help fits a terminal that is not narrow.
#[test]
fn the_help_is_shown_by_each_of_its_names_and_has_no_wide_lines() {
    let help = help();
    for arguments in [&["--help"][..], &["-h"], &["help", "scan"], &["scan", "--help"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_gemel")).args(arguments).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), help, "{arguments:?}");
    }
    let wide: Vec<&str> = help.lines().filter(|line| line.chars().count() > 120).collect();
    assert!(wide.is_empty(), "{wide:?}");
}
