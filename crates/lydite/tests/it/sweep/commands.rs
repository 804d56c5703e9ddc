//! Commands before and after the runs of a sweep.

use super::Bench;
use crate::program::text;
use std::fs;
use std::path::PathBuf;

/// Two points, each run twice, with commands that note what they know.
const COMMANDS: &str = r#"
title = "Commands"
repetitions = 2
before = 'echo "b $LYDITE_POINT|$LYDITE_REPETITION|$LYDITE_POINT_TERMINALS|$LYDITE_POINT_KIND|$LYDITE_TARGET" >> said; echo words'
after = 'test -s "$LYDITE_RESULT" && echo "a $LYDITE_POINT" >> said'

[plan]
target = "null:?nodes=2"
duration = "200ms"
warmup = "0s"

[axes]
kind = [{ label = "few", terminals = 1 }, { label = "many", terminals = 3 }]
"#;

fn said(bench: &Bench) -> String {
    fs::read_to_string(path(bench, "said")).unwrap_or_default()
}

fn path(bench: &Bench, name: &str) -> PathBuf {
    bench.directory.path().join(name)
}

#[test]
fn commands_around_each_run_know_its_point() {
    let bench = Bench::new(COMMANDS);
    let dry = bench.sweep(&["--dry-run"]).run().code(0);
    assert!(dry.stdout.contains("  before = echo") || dry.stdout.contains("  before = "), "{dry:?}");
    let ended = bench.sweep(&[]).run().code(0);
    assert!(ended.stderr.contains("before: words"), "{ended:?}");
    let run = |label: &str, repetition: u32, terminals: u32| {
        format!("b {label}|{repetition}|{terminals}|{label}|null:?nodes=2\na {label}\n")
    };
    let all = [run("few", 1, 1), run("many", 1, 3), run("few", 2, 1), run("many", 2, 3)].concat();
    assert_eq!(said(&bench), all);
    // Runs that are there need no command, and another command is another sweep.
    bench.sweep(&[]).run().code(0);
    assert_eq!(said(&bench), all);
    bench.change(&COMMANDS.replace("echo words", "echo other"));
    let changed = bench.sweep(&[]).run().code(2);
    assert!(changed.only_error().contains("whose plan the experiment does not have"), "{changed:?}");
}

#[test]
fn commands_are_axes_without_their_secrets() {
    let bench = Bench::new(
        r#"
[plan]
target = "null:"
duration = "200ms"
warmup = "0s"
[axes]
before = ["echo plain", "echo password=geheim1", "PGPASSWORD=geheim2 true"]
"#,
    );
    bench.sweep(&[]).run().code(0);
    let labels = bench.summary()["axes"][0]["values"].clone();
    assert_eq!(labels[0], "echo plain");
    for entry in ["summary.json", "summary.csv", "report.html", "manifest.json"] {
        assert!(
            !fs::read_to_string(bench.out().join(entry)).unwrap().contains("geheim"),
            "{entry}: {labels}"
        );
    }
}

#[test]
fn commands_that_fail_end_the_sweep_and_the_results_before_are_kept() {
    // The second point's command fails, once.
    let failing = COMMANDS
        .replace("echo words", "test $LYDITE_POINT_TERMINALS = 1 || { echo it broke; test -e mended; }");
    let bench = Bench::new(&failing.replace("test -s \"$LYDITE_RESULT\" && ", ""));
    let failed = bench.sweep(&[]).run().code(2);
    let error = failed.errors().concat();
    for words in [
        "many, run 1: before: failed: exit status: 1: it broke (its output is ",
        "the results before are kept",
    ] {
        assert!(error.contains(words), "{error}");
    }
    assert_eq!(bench.results().len(), 1);
    assert!(said(&bench).ends_with("a many\n"), "the command after it puts away what the first one made");
    assert_eq!(bench.summary()["points"][1]["runs"][0]["state"], "missing");
    fs::write(path(&bench, "mended"), "").unwrap();
    bench.sweep(&[]).run().code(0);
    assert_eq!(bench.results().len(), 4);

    // One after a run that failed runs too.
    let broken = COMMANDS
        .replace("null:?nodes=2", "postgres://u@127.0.0.1:1/x")
        .replace("title", "reload = \"once\"\ntitle");
    let bench = Bench::new(
        &broken.replace("test -s \"$LYDITE_RESULT\" && ", "").replace(">> said'", ">> said; exit 3'"),
    );
    let failed = bench.sweep(&[]).run().code(2);
    assert!(failed.errors().concat().contains("few, run 1: after: failed: exit status: 3"), "{failed:?}");
    assert!(said(&bench).ends_with("a few\n"));
    assert_eq!(bench.summary()["points"][0]["runs"][0]["state"], "failed");
}

#[test]
fn commands_that_hang_are_ended_and_ctrl_c_still_puts_away() {
    let hanging =
        COMMANDS.replace("echo words", "sleep 600").replace("title", "command_timeout = \"300ms\"\ntitle");
    let bench = Bench::new(&hanging.replace("test -s \"$LYDITE_RESULT\" && ", ""));
    let hung = bench.sweep(&[]).run().code(2);
    let error = hung.errors().concat();
    assert!(error.contains("before: was ended after 0.3 s: give it more with command_timeout"), "{error}");

    bench.change(&bench_file(&bench).replace("command_timeout = \"300ms\"\n", ""));
    let mut running = bench.sweep(&["--out", text(&path(&bench, "cut"))]).start();
    running.wait_until("the command", || said(&bench).matches("b few").count() == 2);
    running.signal(libc::SIGINT);
    let cut = running.wait().code(130);
    assert!(cut.errors().concat().contains("the same command makes the rest"), "{cut:?}");
    assert!(said(&bench).ends_with("a few\n"), "{}", said(&bench));
}

fn bench_file(bench: &Bench) -> String {
    fs::read_to_string(path(bench, "grid.toml")).unwrap()
}
