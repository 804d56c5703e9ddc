//! `lydite export`: files that other programs read, refusals that say what to do, and no file that is replaced.

use crate::kit::python_with_libraries;
use crate::program::{Ended, Program, json, lydite, scratch, text};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

/// A label with all that a format escapes, but for an end of a line, which no run has in its label.
const LABEL: &str = "a, \"b\" = c\\d ü 漢";

/// Reads files of all formats with the libraries of Python: `csv`, and the parser of Prometheus' client library.
const READ: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/read_exports.py");

/// Makes a result in a directory.
fn result(directory: &Path, name: &str, more: &[&str]) {
    let run = [
        "run", "null:", "--mode", "open", "--rate", "200", "-d", "1200ms", "--warmup", "1s", "-q", "--json",
        name,
    ];
    Program::new(&[&run, more].concat()).within(directory).run().code(0);
}

fn export(directory: &Path, arguments: &[&str]) -> Ended {
    Program::new(&[&["export"], arguments].concat()).within(directory).run()
}

#[test]
fn other_programs_read_the_tables_and_find_the_numbers_of_the_results() {
    let directory = scratch();
    let place = directory.path();
    result(place, "a.json", &["--label", LABEL, "--observe", "host", "--rate", "200,400"]);
    result(place, "b, c.json", &[]);
    let both = ["a.json", "b, c.json"];
    let made = export(place, &[&both[..], &["--to", "csv", "-o", "tables"]].concat()).code(0);
    assert_eq!(made.stdout.lines().count(), 7, "{made:?}");
    assert!(made.stdout.contains("export: tables/series.csv, "), "{made:?}");
    export(place, &[&both[..], &["--to", "openmetrics", "-o", "all.om"]].concat()).code(0);
    export(place, &[&both[..], &["--to", "influx", "-o", "all.lp"]].concat()).code(0);
    let read = Command::new(python_with_libraries())
        .arg(READ)
        .args(both)
        .current_dir(place)
        .output()
        .expect("Python");
    assert!(
        read.status.success(),
        "{}{}",
        String::from_utf8_lossy(&read.stdout),
        String::from_utf8_lossy(&read.stderr)
    );

    // One table needs no directory.
    let one = export(place, &["a.json", "--to", "csv", "--what", "series"]).code(0);
    assert!(one.stdout.starts_with("run,label,time,window,second,") && one.stderr.is_empty(), "{one:?}");
    let some = export(place, &["a.json", "--to", "influx", "--what", "runs,phases"]).code(0);
    assert_eq!(some.stdout.lines().count(), 3, "{some:?}");
    assert!(some.stdout.starts_with("lydite_runs,run=a.json,label="), "{some:?}");
}

#[test]
fn an_export_replaces_no_file_and_leaves_none_behind() {
    let directory = scratch();
    let place = directory.path();
    result(place, "a.json", &[]);
    fs::create_dir(place.join("tables")).unwrap();
    fs::write(place.join("tables/series.csv"), "mine").unwrap();
    fs::write(place.join("mine"), "mine").unwrap();
    let tables = export(place, &["a.json", "--to", "csv", "-o", "tables"]).code(2);
    assert!(
        tables.only_error().contains("tables/series.csv exists, and an export replaces no file"),
        "{tables:?}"
    );
    for to in ["csv", "influx", "openmetrics"] {
        let one = export(place, &["a.json", "--to", to, "--what", "series", "-o", "mine"]).code(2);
        assert!(one.only_error().contains("mine exists"), "{one:?}");
    }
    let own = export(place, &["a.json", "--to", "influx", "-o", "a.json"]).code(2);
    assert!(own.only_error().contains("a.json exists"), "{own:?}");
    assert_eq!(fs::read_to_string(place.join("mine")).unwrap(), "mine");
    assert_eq!(fs::read_dir(place.join("tables")).unwrap().count(), 1);

    // A document that ends halfway is worse than none.
    let bad = json(&place.join("a.json")).to_string().replace("\"label\":", "\"_\":");
    fs::write(place.join("bad.json"), bad.replacen('{', "{\"label\":\"C:\\\\\",", 1)).unwrap();
    let half = export(place, &["bad.json", "--to", "influx", "-o", "half"]).code(2);
    assert!(half.only_error().contains("ends with a backslash"), "{half:?}");
    assert!(!place.join("half").exists());
    let full = Program::new(&["export", "a.json", "--to", "csv", "-o", "new/"])
        .within(place)
        .file_size_at_most(100)
        .run();
    assert!(full.only_error().contains("cannot write new/"), "{full:?}");
    assert_eq!(fs::read_dir(place.join("new")).unwrap().count(), 0, "the files of a failed export are gone");
}

#[test]
fn what_has_no_tables_is_refused_with_what_to_do() {
    let directory = scratch();
    let place = directory.path();
    result(place, "a.json", &[]);
    fs::create_dir_all(place.join("empty/results")).unwrap();
    fs::create_dir_all(place.join("other")).unwrap();
    for (name, document) in [
        ("audit.json", "{\"audit\":{},\"tests\":[]}"),
        ("sweep/summary.json", "{\"points\":[],\"figures\":[]}"),
        ("ab.json", "{\"ab\":{},\"sides\":{}}"),
        ("find.json", "{\"find\":{},\"runs\":[]}"),
        ("load.json", "{\"load\":{},\"plan\":{}}"),
        ("several/a.json", "{}"),
        ("nothing", " \n"),
        ("plan.toml", "target = \"null:\"\n"),
        ("page.html", "<!DOCTYPE html><html></html>"),
        ("cut.json", "{\"lydite\":\"1\",\"format\":1,\"tra"),
        ("package.json", "{\"name\":\"x\",\"version\":\"1.0.0\"}"),
        ("list.json", "[1, 2]"),
        ("plans.json", "{\"lydite\":\"1\",\"plans\":[]}"),
        ("sizes.json", "{\"lydite\":\"1\",\"warehouses\":8,\"slowest_response_s\":2}"),
        ("dropped.json", "{\"lydite\":\"1\",\"format\":1,\"ours\":[],\"stays\":[]}"),
        ("hammer.tcl", "dbset db pg\nvuset vu 4\n"),
    ] {
        fs::create_dir_all(place.join(name).parent().unwrap()).unwrap();
        fs::write(place.join(name), document).unwrap();
    }
    fs::write(place.join("binary"), b"\x7fELF\xff\xfe").unwrap();
    for (names, words) in [
        (&["audit.json"][..], "it is an audit"),
        (&["sweep/summary.json"], "is the document of a sweep: name its directory, sweep, whose runs"),
        (&["ab.json"], "is the document of `lydite ab`: name its directory, ., whose runs"),
        (&["find.json"], "is the document of `lydite find`: name its directory"),
        (&["load.json"], "it has measures of `lydite load`"),
        (&["empty"], "empty/results holds no result"),
        (
            &["other"],
            "other is a directory without results/: name results, which `lydite run URL --json FILE` writes, or",
        ),
        (&["several"], "which `lydite run URL --json FILE` writes, as several/*.json, or a directory of"),
        (
            &["nothing"],
            "nothing is not a Lydite result: it is empty; a result is JSON that begins with {\"lydite\":…, as",
        ),
        (&["binary"], "it is not text; a result is JSON that begins"),
        (&["plan.toml"], "it is not JSON; a result is JSON that begins"),
        (&["page.html"], "it is XML or HTML; a result is JSON that begins"),
        (&["cut.json"], "its JSON is broken: EOF while parsing"),
        (
            &["package.json"],
            "it is JSON of another program, without a number \"format\"; a result is JSON that begins",
        ),
        (&["list.json"], "it is JSON of another program"),
        (&["plans.json"], "it has plans of `lydite import --json`"),
        (&["sizes.json"], "it has sizes of `lydite plan --json`"),
        (&["dropped.json"], "it has the list of `lydite drop --json`"),
        (&["hammer.tcl"], "it is a configuration of HammerDB, which `lydite import` makes a plan of"),
        (&["missing.json"], "cannot read missing.json"),
        (&["a.json", "./a.json"], "a.json and ./a.json are the same file"),
    ] {
        let refused = export(place, &[names, &["--to", "influx"]].concat()).code(2);
        assert!(refused.only_error().contains(words), "{words}: {refused:?}");
        assert_eq!(refused.stdout, "");
    }
    let all = export(place, &["audit.json", "other", "--to", "influx"]).code(2);
    all.told(&[&["audit.json"], &["other is a directory"]]);

    let odd = OsStr::from_bytes(b"odd\xff.json");
    fs::copy(place.join("a.json"), place.join(odd)).unwrap();
    let words = ["export", "--to", "influx"].map(OsStr::new);
    let refused = Program::new(&[&words[..], &[odd]].concat()).within(place).run().code(2);
    assert!(
        refused.only_error().contains("its name is not UTF-8, and tables have it as a text"),
        "{refused:?}"
    );

    for (arguments, words) in [
        (
            &["--to", "csv"][..],
            "writes a file for each table: name a directory with -o, or one table with --what",
        ),
        (&["--to", "csv", "-o", "-"], "standard output takes one table"),
        (&["--to", "csv", "-o", "a.json"], "a.json is a file: name a directory, or one table with --what"),
        (&["--to", "influx", "-o", "other"], "other is a directory, and --to influx writes one file"),
        (&["--to", "xml"], "--to"),
        (&["--to", "csv", "--what", "serie"], "--what"),
    ] {
        let refused = export(place, &[&["a.json"], arguments].concat()).code(2);
        assert!(refused.only_error().contains(words), "{words}: {refused:?}");
    }
}

#[test]
fn parquet_is_a_file_for_each_table_or_refused_with_how_to_build_it() {
    let directory = scratch();
    let place = directory.path();
    result(place, "a.json", &[]);
    let made = export(place, &["a.json", "--to", "parquet", "-o", "p"]);
    if cfg!(feature = "parquet") {
        assert_eq!(made.code(0).stdout.lines().count(), 7);
        let series = fs::read(place.join("p/series.parquet")).unwrap();
        assert!(series.starts_with(b"PAR1") && series.ends_with(b"PAR1"));
    } else {
        let refused = made.code(2);
        for words in ["can't write Parquet: use --to csv", "--features parquet"] {
            assert!(refused.only_error().contains(words), "{words}: {refused:?}");
        }
        assert!(!place.join("p").exists());
    }
}

#[test]
fn the_runs_of_an_experiment_are_exported_by_its_directory() {
    let directory = scratch();
    let place = directory.path();
    let experiment = "title = \"t\"\n[plan]\ntarget = \"null:\"\nmode = \"open\"\nduration = \"400ms\"\nwarmup = \"0s\"\n\
                      [axes]\nrate = [100, 200]\n";
    fs::write(place.join("e.toml"), experiment).unwrap();
    Program::new(&["sweep", "e.toml", "--out", "out", "-q"]).within(place).run().code(0);
    let runs = export(place, &["out", "--to", "csv", "--what", "runs"]).code(0);
    let names: Vec<&str> = runs.stdout.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    assert_eq!(names.len(), 2, "{runs:?}");
    assert!(
        names.iter().all(|name| name.starts_with("out/results/") || name.starts_with("\"out/results/")),
        "{names:?}"
    );
    assert!(runs.stdout.contains(",100.0,") && runs.stdout.contains(",200.0,"), "{runs:?}");
    let one = lydite(&["export", text(&place.join("out")), "--to", "openmetrics", "--what", "runs"]).code(0);
    assert!(one.stdout.ends_with("# EOF\n"), "{one:?}");
}
