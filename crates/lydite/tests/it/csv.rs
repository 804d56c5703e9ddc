//! Rows as CSV files: written, checked, and loaded into databases that equal directly loaded ones.

use crate::program::{Program, checksums, json, lydite, scratch, text};
use lydite_testkit::{mariadb, postgres};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub(crate) const TABLES: [&str; 9] =
    ["item", "warehouse", "district", "customer", "history", "orders", "new_order", "order_line", "stock"];

/// Writes the files of two tiny warehouses from seed 5.
pub(crate) fn written(directory: &Path) -> PathBuf {
    let files = directory.join("files");
    let ended =
        lydite(&["load", "--csv", text(&files), "-w", "2", "--size", "tiny", "--seed", "5", "--quiet"])
            .code(0);
    assert!(ended.stdout.contains(&format!("files: {}", text(&files))), "{ended:?}");
    files
}

pub(crate) fn sqlite(directory: &Path, name: &str) -> (PathBuf, String) {
    let path = directory.join(name);
    let url = format!("sqlite:{}", text(&path));
    (path, url)
}

/// Loads the same rows directly and returns their checksums.
fn direct(directory: &Path) -> Vec<String> {
    let (_, url) = sqlite(directory, "direct.sqlite");
    lydite(&["load", &url, "-w", "2", "--size", "tiny", "--seed", "5", "--quiet"]).code(0);
    checksums(&url)
}

#[test]
fn a_database_from_files_equals_one_that_was_loaded_directly_in_every_family() {
    let directory = scratch();
    let files = written(directory.path());
    let manifest = json(&files.join("manifest.json"));
    assert_eq!(manifest["files"].as_array().expect("files").len(), 17);
    assert_eq!(manifest["files"][0]["rows"], 1_000, "ITEM");
    let wanted = direct(directory.path());
    let gemel = format!("gemel:{}", text(&directory.path().join("gemel")));
    let urls = [
        sqlite(directory.path(), "read.sqlite").1,
        gemel,
        postgres::shared().create_database("from_files"),
        mariadb::shared().create_database("from_files"),
    ];
    for url in urls {
        let document = directory.path().join("l.json");
        let load = ["load", &url, "--from", text(&files), "-w", "2", "--quiet", "--json", text(&document)];
        lydite(&load).code(0);
        assert_eq!(checksums(&url), wanted, "{url}");
        let result = json(&document);
        assert_eq!(result["plan"]["from"], text(&files));
        assert!(result["plan"]["check_s"].as_f64().expect("a time") > 0.0);
    }
}

#[test]
fn files_are_written_and_loaded_by_one_command() {
    let directory = scratch();
    let (_, url) = sqlite(directory.path(), "both.sqlite");
    let files = directory.path().join("files");
    let load = ["load", &url, "--csv", text(&files), "-w", "2", "--size", "tiny", "--seed", "5", "--quiet"];
    lydite(&load).code(0);
    assert_eq!(checksums(&url), direct(directory.path()));
}

#[test]
fn a_killed_writer_is_continued_and_leaves_whole_files_as_they_are() {
    let directory = scratch();
    let files = directory.path().join("files");
    let write = ["load", "--csv", text(&files), "-w", "6", "--size", "small", "--jobs", "1", "--quiet"];
    let mut running = Program::new(&write).start();
    running.wait_until("the first warehouse is written", || files.join("stock.1.csv").exists());
    running.signal(libc::SIGKILL);
    assert_eq!(running.wait().code, None);
    let whole = |files: &Path| -> BTreeMap<String, u64> {
        let all = fs::read_dir(files).expect("a directory").map(|entry| entry.expect("an entry"));
        let named = all.filter_map(|entry| {
            Some((entry.file_name().into_string().ok()?, entry.metadata().expect("a file").ino()))
        });
        named.filter(|(name, _)| name.ends_with(".csv")).collect()
    };
    let before = whole(&files);
    assert!(before.len() > 8 && before.len() < 49, "{before:?}");
    let (_, url) = sqlite(directory.path(), "tpcc.sqlite");
    let refused = lydite(&["load", &url, "--from", text(&files)]).code(2);
    assert!(refused.only_error().contains("an interrupted `lydite load --csv`: finish them"), "{refused:?}");
    for (flag, value, what) in
        [("-w", "7", "6 small warehouses"), ("--seed", "2", "seed 1"), ("--size", "tiny", "small")]
    {
        let usual = [("-w", "6"), ("--seed", "1"), ("--size", "small")];
        let plan = usual.map(|(of, usual)| [of, if of == flag { value } else { usual }]).concat();
        let refused = lydite(&[&["load", "--quiet", "--csv", text(&files)], &plan[..]].concat()).code(2);
        assert!(
            refused.only_error().contains("holds CSV files of") && refused.only_error().contains(what),
            "{refused:?}"
        );
    }
    lydite(&write).code(0);
    let after = whole(&files);
    assert_eq!(after.len(), 49);
    assert!(before.iter().all(|(name, inode)| after[name] == *inode), "{before:?} {after:?}");
    lydite(&["load", &url, "--from", text(&files), "--quiet"]).code(0);
    assert_eq!(checksums(&url), crate::loaded::sums_of_slowly());
    // A second call finds all files.
    lydite(&write).code(0);
    assert_eq!(whole(&files), after);
}

/// Changes a line of a file, counted from 1.
pub(crate) fn change(path: &Path, line: usize, with: impl FnOnce(&str) -> String) {
    let text = fs::read_to_string(path).expect("a file");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines[line - 1] = with(&lines[line - 1]);
    fs::write(path, lines.join("\n") + "\n").expect("a file");
}

/// A damage of the files, the flags of the load, and the words of the only error.
type Damage<'a> = (&'a dyn Fn(&Path), &'a [&'a str], &'a [&'a str]);

#[test]
fn bad_files_are_named_with_their_lines_before_the_first_row_is_sent() {
    let directory = scratch();
    let good = written(directory.path());
    let (path, url) = sqlite(directory.path(), "never.sqlite");
    let manifest = |files: &Path, from: &str, to: &str| {
        let text = fs::read_to_string(files.join("manifest.json")).expect("a manifest");
        assert!(text.contains(from), "{text}");
        fs::write(files.join("manifest.json"), text.replacen(from, to, 1)).expect("a manifest");
    };
    let stock = |files: &Path, with: &dyn Fn(&str) -> String| change(&files.join("stock.2.csv"), 700, with);
    let cases: [Damage<'_>; 14] = [
        (
            &|files| stock(files, &|line| line.replacen(",2,", ",2,1", 1)),
            &[],
            &["stock.2.csv line 700: was changed", "checksum"],
        ),
        (
            &|files| stock(files, &|line| line.to_owned() + ",1"),
            &[],
            &["stock.2.csv line 700: has 18 columns, and stock has 17"],
        ),
        (
            &|files| stock(files, &|line| line.replacen(",2,", ",two,", 1)),
            &[],
            &["stock.2.csv line 700: s_w_id: \"two\" is no whole number"],
        ),
        (
            &|files| stock(files, &|line| line.replacen(",2,", ",1,", 1)),
            &[],
            &["stock.2.csv line 700: is of warehouse 1"],
        ),
        (
            &|files| change(&files.join("orders.1.csv"), 3, |line| line.replacen("-", "soon", 1)),
            &[],
            &["orders.1.csv line 3: o_entry_d: ", "is no time"],
        ),
        (
            &|files| change(&files.join("district.1.csv"), 10, |line| format!("{line}\n{line}")),
            &[],
            &["district.1.csv line 11: was changed", "has 11 rows"],
        ),
        (
            &|files| {
                let path = files.join("customer.1.csv");
                let bytes = fs::read(&path).expect("a file");
                fs::write(&path, &bytes[..bytes.len() / 2]).expect("a file");
            },
            &[],
            &["customer.1.csv: is cut", "the manifest says"],
        ),
        (
            &|files| fs::remove_file(files.join("history.2.csv")).expect("a file"),
            &[],
            &["history.2.csv: is missing"],
        ),
        (
            &|files| manifest(files, "\"population\": 1", "\"population\": 9"),
            &[],
            &["manifest.json: has rows of version 9"],
        ),
        (&|files| manifest(files, "\"csv\": 1", "\"csv\": 9"), &[], &["manifest.json: has version 9"]),
        (
            &|files| manifest(files, "\"seed\": 5", "\"seed\": 6"),
            &[],
            &["item.csv line 1: is not the row that seed 6 of the manifest makes"],
        ),
        (&|_| (), &["-w", "3"], &["has 2 warehouses, and 3 are wanted"]),
        (&|_| (), &["--seed", "9"], &["has rows from seed 5, and seed 9 is wanted"]),
        (&|_| (), &["--size", "small"], &["has warehouses of size tiny, and small is wanted"]),
    ];
    for (damage, flags, words) in cases {
        let files = directory.path().join("bad");
        fs::create_dir(&files).expect("a directory");
        for entry in fs::read_dir(&good).expect("a directory") {
            let from = entry.expect("an entry").path();
            fs::copy(&from, files.join(from.file_name().expect("a name"))).expect("a copy");
        }
        damage(&files);
        let ended = lydite(&[&["load", &url, "--from", text(&files)], flags].concat());
        let ended = ended.code(2);
        // Of another seed the numbers of order lines differ too.
        let told = |line: &&str| words.iter().all(|word| line.contains(word));
        assert!(ended.errors().iter().any(told), "{words:?}: {ended:?}");
        assert!(!path.exists(), "{words:?}");
        fs::remove_dir_all(&files).expect("a directory");
    }
    // All problems are told at once.
    fs::remove_file(good.join("stock.1.csv")).expect("a file");
    change(&good.join("item.csv"), 5, |line| line.replacen("5,", "6,", 1));
    let ended = lydite(&["load", &url, "--from", text(&good)]).code(2);
    ended.told(&[&["item.csv line 5: was changed"], &["stock.1.csv: is missing"]]);
}

#[test]
fn bad_uses_of_files_are_rejected() {
    let directory = scratch();
    let dir = text(directory.path());
    let (_, url) = sqlite(directory.path(), "never.sqlite");
    fs::write(directory.path().join("notes.txt"), "mine").expect("a file");
    for (arguments, words) in [
        (&["load", "--csv", dir, "-w", "1"][..], "holds other files: name an empty or a new directory"),
        (&["load", &url, "--from", dir], "has neither a manifest.json nor files *.csv"),
        (&["load", &url, "--from", "/nowhere"], "/nowhere is no directory"),
        (&["load", "--csv", dir, "-w", "1", "--fresh"], "--fresh: is for the load of a database"),
        (&["load", &url, "--from", dir, "--workload", "micro"], "--from: is for --workload tpcc only"),
        (&["load", &url, "--from", dir, "--agents", "2", "--join", "nats://h:4222"], "leave --agents out"),
    ] {
        let ended = lydite(arguments).code(2);
        assert!(ended.errors().iter().any(|line| line.contains(words)), "{words}: {ended:?}");
    }
}

/// The fields of all rows of a table, warehouse by warehouse.
fn rows(files: &Path, table: &str) -> Vec<Vec<Vec<String>>> {
    let names = if table == "item" {
        vec!["item.csv".to_owned()]
    } else {
        (1..=2).map(|w| format!("{table}.{w}.csv")).collect()
    };
    let fields = |line: &str| line.split(',').map(str::to_owned).collect();
    names
        .iter()
        .map(|name| fs::read_to_string(files.join(name)).expect("a file").lines().map(fields).collect())
        .collect()
}

/// Loads files of another program, and fails unless the database has the same rows.
fn assert_loads_the_same(directory: &Path, files: &Path, name: &str) {
    let (_, url) = sqlite(directory, name);
    let ended = lydite(&["load", &url, "--from", text(files), "--jobs", "2"]).code(0);
    assert!(ended.stderr.contains("another program made these rows"), "{ended:?}");
    let checked = lydite(&["check", "--checksums", &url]).code(0);
    assert!(checked.stdout.contains("12 of 12 consistency conditions hold"), "{checked:?}");
    for line in direct(directory) {
        let found = checked.stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        assert!(found.into_iter().any(|found| found == line), "{line}: {checked:?}");
    }
    lydite(&["run", &url, "--warmup", "0s", "--duration", "1s", "--quiet"]).code(0);
}

#[test]
fn files_of_go_tpc_are_loaded() {
    let directory = scratch();
    let own = written(directory.path());
    let files = directory.path().join("go-tpc");
    fs::create_dir(&files).expect("a directory");
    for table in TABLES {
        for (thread, of) in rows(&own, table).into_iter().enumerate() {
            let row = |fields: Vec<String>| {
                let field = |field: String| match field.as_str() {
                    "" => "NULL".to_owned(),
                    // Amounts and rates have six decimals, times none.
                    number if number.contains('.') && !number.contains(':') => {
                        let width = number.find('.').expect("a point") + 7;
                        format!("{number:0<width$}")
                    }
                    time if time.contains(':') => time[..19].to_owned(),
                    _ => field,
                };
                fields.into_iter().map(field).collect::<Vec<_>>().join(",") + "\n"
            };
            fs::write(
                files.join(format!("test.{table}.{thread}.csv")),
                of.into_iter().map(row).collect::<String>(),
            )
            .expect("a file");
        }
    }
    assert_loads_the_same(directory.path(), &files, "go.sqlite");
    // A line less is a row less.
    let path = files.join("test.stock.1.csv");
    let all = fs::read_to_string(&path).expect("a file");
    fs::write(&path, all.lines().skip(1).map(|line| line.to_owned() + "\n").collect::<String>())
        .expect("a file");
    let (never, url) = sqlite(directory.path(), "never.sqlite");
    let refused = lydite(&["load", &url, "--from", text(&files)]).code(2);
    assert!(
        refused.only_error().contains("stock: has 999 rows of warehouse 2, and must have 1000"),
        "{refused:?}"
    );
    assert!(!never.exists());
}

#[test]
fn exports_of_benchbase_are_loaded_with_and_without_names_of_columns() {
    let directory = scratch();
    let own = written(directory.path());
    let files = directory.path().join("benchbase");
    fs::create_dir(&files).expect("a directory");
    // The places of the standard's columns in BenchBase's DDL.
    let orders: [(&str, &[usize]); 9] = [
        ("item", &[0, 2, 3, 4, 1]),
        ("warehouse", &[0, 8, 7, 1, 2, 3, 4, 5, 6]),
        ("district", &[1, 0, 9, 8, 10, 2, 3, 4, 5, 6, 7]),
        ("customer", &[2, 1, 0, 15, 13, 5, 3, 14, 16, 17, 18, 19, 6, 7, 8, 9, 10, 11, 12, 4, 20]),
        ("history", &[0, 1, 2, 3, 4, 5, 6, 7]),
        ("orders", &[2, 1, 0, 3, 5, 6, 7, 4]),
        ("new_order", &[2, 1, 0]),
        ("order_line", &[2, 1, 0, 3, 4, 6, 8, 5, 7, 9]),
        ("stock", &[1, 0, 2, 13, 14, 15, 16, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
    ];
    for (table, order) in orders {
        let line =
            |row: &Vec<String>| order.iter().map(|of| row[*of].clone()).collect::<Vec<_>>().join(",") + "\n";
        // The loaders of BenchBase work side by side, so that rows of warehouses lie between each other.
        let mut all: Vec<Vec<String>> = rows(&own, table).concat();
        let places = 37 % all.len();
        all.rotate_left(places);
        let name = if table == "orders" { "oorder" } else { table };
        let head = if table == "new_order" { "no_w_id,no_d_id,no_o_id\n" } else { "" };
        fs::write(
            files.join(format!("{name}.csv")),
            head.to_owned() + &all.iter().map(line).collect::<String>(),
        )
        .expect("a file");
    }
    assert_loads_the_same(directory.path(), &files, "benchbase.sqlite");
    fs::remove_file(files.join("history.csv")).expect("a file");
    fs::write(files.join("extra.csv"), "1,2\n").expect("a file");
    let (_, url) = sqlite(directory.path(), "never.sqlite");
    let refused = lydite(&["load", &url, "--from", text(&files)]).code(2);
    assert!(refused.only_error().contains("extra.csv: is of no table that Lydite knows"), "{refused:?}");
    fs::remove_file(files.join("extra.csv")).expect("a file");
    let refused = lydite(&["load", &url, "--from", text(&files)]).code(2);
    assert!(refused.only_error().contains("history.csv: is missing"), "{refused:?}");
}
