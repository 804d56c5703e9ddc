//! The recipes of the book's cookbook: the blocks of a page that are marked `run` are run, in one shell, with the short
//! times and small databases that a comment of the page names. So each command is one that works where it stands.

use crate::kit::SDK;
use crate::program::{Program, json, longer_windows, scratch, text};
use crate::server::with_certificates;
use lydite_testkit::pgbouncer::PgBouncer;
use lydite_testkit::{Directory, postgres};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const COOKBOOK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/cookbook");

/// Reads a page, and returns its commands and what replaces parts of them.
fn recipe(page: &str) -> (String, Vec<(String, String)>) {
    let (mut commands, mut replaced, mut runs) = (String::new(), Vec::new(), false);
    for line in page.lines() {
        if line.starts_with("```") {
            runs = line == "```sh,run";
        } else if runs {
            commands.extend([line, "\n"]);
        } else if let Some(pairs) = line.strip_prefix("<!-- in the test: ") {
            let pairs = pairs.strip_suffix(" -->").expect("the end of the comment").split("; ");
            let pair = |pair: &str| {
                pair.split_once(" => ").map(|(long, short)| (long.to_string(), short.to_string()))
            };
            replaced.extend(pairs.map(|words| pair(words).expect("an arrow")));
        }
    }
    (commands, replaced)
}

/// Runs the recipe of a page below `cookbook` in a directory of its own, with these variables. Returns the directory. A busy
/// machine may complete nothing in the short time of a comparison, which then can't compare: the next try takes longer.
fn cook(page: &str, variables: &[(&str, &str)]) -> Directory {
    longer_windows(|window| cook_within(page, variables, window))
}

/// Does the same, with this time in place of a second. Returns none if nothing was completed in it.
fn cook_within(page: &str, variables: &[(&str, &str)], window: &str) -> Option<Directory> {
    let book = Path::new(COOKBOOK);
    let written = fs::read_to_string(book.join(page)).expect("the page");
    let (mut commands, replaced) = recipe(&written);
    assert!(commands.contains("lydite "), "{page} runs nothing");
    for (long, short) in replaced {
        assert!(commands.contains(&long), "{page}: no command has {long:?}");
        commands = commands.replace(&long, &short);
    }
    commands = commands.replace("-d 1s", &format!("-d {window}"));
    let kitchen = scratch();
    let at = kitchen.path();
    std::os::unix::fs::symlink(book.join("../../../experiments"), at.join("experiments")).expect("a link");
    let program = PathBuf::from(env!("CARGO_BIN_EXE_lydite"));
    let path = format!(
        "{}:{}",
        program.parent().expect("a directory").display(),
        std::env::var("PATH").expect("a path")
    );
    let mut shell = Program::of("bash", &["-euo", "pipefail", "-c", &commands]).within(at);
    // Labs of its own, which end with it.
    shell = shell.env("PATH", path).env("TMPDIR", at);
    for (name, value) in variables {
        shell = shell.env(name, value);
    }
    let ended = shell.run();
    if ended.code != Some(0) {
        for kind in ["pg", "pg-replicas"] {
            let mut down = Command::new(&program);
            let _ended = down.args(["lab", "down", kind]).env("TMPDIR", at).output();
        }
        // What a busy machine does to a run of a second, or to a server that recovers.
        let is_busy = |words| ended.stderr.contains(words) || ended.stdout.contains(words);
        let busy = [
            "is 0, which has no ratio",
            "had no answer 5 s after the end",
            "the database system is starting up",
        ];
        assert!(busy.into_iter().any(is_busy), "{page}: {ended:?}");
        // The next try loads its databases again.
        for (_, url) in variables.iter().filter(|(_, value)| value.starts_with("postgres://")) {
            let _dropped = Command::new(&program).args(["drop", url, "--yes"]).output();
        }
        return None;
    }
    Some(kitchen)
}

/// Asserts that a recipe left these files.
fn leaves(kitchen: &Directory, files: &[&str]) {
    for file in files {
        assert!(kitchen.path().join(file).exists(), "{file} is missing");
    }
}

#[test]
fn recipe_tune_postgresql() {
    leaves(&cook("tune-postgresql.md", &[]), &["buffers/ab.json", "buffers/report.html"]);
}

#[test]
fn recipe_gate() {
    leaves(&cook("gate.md", &[]), &["base1.json", "base3.json", "pr3.json"]);
}

#[test]
fn recipe_highest_rate() {
    leaves(&cook("highest-rate.md", &[]), &["limit/find.json", "limit/report.html"]);
}

#[test]
fn recipe_cloud() {
    let (server, directory) = with_certificates();
    let url = server.create_database("cloud");
    let authority = directory.path().join("ca.pem");
    let url = format!("{url}?sslmode=verify-full&sslrootcert={}", text(&authority));
    leaves(&cook("cloud.md", &[("URL", &url)]), &["cloud.json", "cloud.html"]);
}

#[test]
fn recipe_pooler() {
    let server = postgres::shared();
    let direct = server.create_database("cookbook_pooler");
    let pooler = PgBouncer::before(server, "transaction");
    let url = pooler.url("cookbook_pooler");
    let kitchen = cook("pooler.md", &[("POOLER", &url), ("DIRECT", &direct)]);
    leaves(&kitchen, &["pooled.html"]);
    let settings = |file: &str| json(&kitchen.path().join(file))["target"]["settings"].clone();
    for file in ["pooled.json", "through1.json", "through2.json"] {
        assert_eq!(settings(file)["pooler"], "transaction mode", "{file}");
    }
    for file in ["direct1.json", "direct2.json"] {
        let settings = settings(file);
        assert_eq!(settings["statements"], "unprepared", "{file}");
        assert!(settings["pooler"].is_null(), "{file}: {settings}");
    }
}

#[test]
fn recipe_two_databases() {
    leaves(&cook("two-databases.md", &[]), &["two/ab.json", "two/report.html"]);
}

#[test]
fn recipe_failover() {
    leaves(&cook("failover.md", &[]), &["commits.log", "kill.html"]);
}

#[test]
fn recipe_figure() {
    leaves(&cook("figure.md", &[]), &["fig17a/report.html", "fig17a/summary.csv"]);
}

#[test]
fn recipe_results() {
    let kitchen = cook("results.md", &[("PYTHONPATH", SDK), ("PYTHONDONTWRITEBYTECODE", "1")]);
    leaves(&kitchen, &["tables/runs.csv", "tables/series.csv"]);
    for file in ["tables/transactions.csv", "runs.om"] {
        let exported = fs::read_to_string(kitchen.path().join(file)).expect("an export");
        for run in ["memory.json", "disk.json"] {
            assert!(exported.contains(run), "{file} lacks {run}");
        }
    }
}

#[test]
fn every_recipe_with_commands_to_run_has_a_test() {
    let tests = include_str!("book.rs");
    for entry in fs::read_dir(COOKBOOK).expect("the cookbook") {
        let path = entry.expect("an entry").path();
        let page = fs::read_to_string(&path).expect("a page");
        let name = path.file_name().expect("a name").to_string_lossy();
        assert_eq!(page.contains("```sh,run"), tests.contains(&format!("cook(\"{name}\"")), "{name}");
        assert!(
            !page.contains("<!-- in the test: ") || page.contains("```sh,run"),
            "{name} replaces nothing"
        );
    }
}
