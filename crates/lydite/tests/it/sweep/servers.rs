//! Settings of a lab's servers as axes of a sweep: on a real server, which has its usual settings afterwards.

use super::Bench;
use crate::ab::Lab;
use crate::program::{Program, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// Four points of short runs.
const SETTINGS: &str = r#"
title = "Settings"
reload = "once"
server = { work_mem = ["1MB", "2MB"], random_page_cost = 2 }

[plan]
target = "lab:pg"
warehouses = 1
size = "tiny"
duration = "1s"
warmup = "0s"
check = false
verify = "off"

[axes]
server.synchronous_commit = ["on", "off"]

[[figure]]
title = "Throughput by settings"
claim = "Commits that do not wait are faster."
supports = "off > on"
x = "server.work_mem"
series = "server.synchronous_commit"
y = "tps"
"#;

#[test]
fn settings_of_servers_that_no_lab_has_are_refused_with_their_lines() {
    let bench = Bench::new(
        r#"server = { work_mem = ["1MB", "2MB"], port = 5 }
before = "if then"
command_timeout = "0s"
[plan]
target = "null:"
server.fsync = ["on"]
[axes]
server.work_mem = ["1MB"]
after = ["true", ""]
"#,
    );
    bench.sweep(&["--dry-run"]).run().code(2).told(&[
        &["line 1, server.port", "the lab sets port itself"],
        &["line 2, before", "the shell can't read it"],
        &["line 3, command_timeout", "must be more than zero"],
        &["line 6, server.fsync", "a list belongs into [axes]"],
        &["line 8, server.work_mem", "is the name of the axis in line 1, too"],
        &["line 8, server.work_mem", "sets server.work_mem, and so does server.work_mem"],
        &["line 9, after", "is empty: leave it out"],
    ]);
    for (target, words) in [
        (
            "null:",
            "line 1, server.work_mem: is for servers of labs, and the target is none: use target = \"lab:pg\"",
        ),
        ("lab:gemel", "the lab gemel can't have other settings for a while: use one of pg"),
        (
            "postgres://u@127.0.0.1:1/x",
            "server.work_mem=1MB: the target is no lab that was started without --dir",
        ),
    ] {
        let file = format!(
            "server.work_mem = \"1MB\"\nreload = \"each-run\"\n[plan]\ntarget = \"{target}\"\n[axes]\nterminals = [1, 2]\n"
        );
        bench.change(&file);
        for arguments in [&["--dry-run"][..], &[]] {
            let refused = bench.sweep(arguments).run().code(2);
            assert!(refused.only_error().contains(words), "{refused:?}");
        }
        assert!(bench.results().is_empty());
    }
    bench.change("server = 5\n[plan]\ntarget = \"null:\"\n");
    assert!(bench.sweep(&[]).run().code(2).only_error().contains("server = { NAME = VALUE"));
}

#[test]
fn servers_have_the_settings_of_each_point_and_at_the_end_the_usual_ones() {
    let bench = Bench::new(SETTINGS);
    let root = bench.directory.path();
    fs::set_permissions(root, fs::Permissions::from_mode(0o755)).unwrap();
    let lab = Lab { root };
    lab.command(&["up", "pg", "--set", "fsync=off"]).run().code(0);
    let usual = lab.state();
    let sweep = |arguments: &[&str]| -> Program { bench.sweep(arguments).env("TMPDIR", root) };
    let assert_back = || {
        let (note, options) = lab.state();
        assert_eq!(note, usual.0);
        assert!(options.contains("fsync=off") && !options.contains("work_mem"), "{options}");
    };
    let dry = sweep(&["--dry-run"]).run().code(0);
    assert!(dry.stdout.contains("4 points") && dry.stdout.contains("server.random_page_cost = 2"), "{dry:?}");
    assert!(dry.stdout.contains("server.synchronous_commit = off  server.work_mem = 2MB"), "{dry:?}");
    assert_back();

    // Each wrong value is named, and nothing was measured.
    bench.change(
        &SETTINGS
            .replace("\"2MB\"", "\"2 bananas\"")
            .replace("\"off\"]", "\"odd\"]")
            .replace("off >", "odd >"),
    );
    let refused = sweep(&[]).run().code(2);
    let errors = refused.errors().join("\n");
    assert!(errors.contains("the lab has its usual settings again"), "{errors}");
    for words in ["invalid value for parameter", "server.work_mem=2 bananas", "the lab does not start: "] {
        assert!(errors.contains(words), "{words}: {errors}");
    }
    assert!(bench.results().is_empty());
    assert_back();

    bench.change(SETTINGS);
    let mut running = sweep(&[]).start();
    running.wait_until("a result", || !bench.results().is_empty());
    running.signal(libc::SIGKILL);
    running.wait();
    let manifest = json(&bench.out().join("manifest.json"));
    assert_eq!(manifest["changed_labs"][0], "pg", "{manifest}");
    let mut running = sweep(&[]).start();
    running.wait_until("two results", || bench.results().len() >= 2);
    running.signal(libc::SIGINT);
    running.wait().code(130);
    assert_back();
    let ended = sweep(&[]).run().code(0);
    assert!(
        ended.stdout.contains("Throughput by settings: undecided: Commits that do not wait"),
        "{ended:?}"
    );
    assert_back();
    assert!(json(&bench.out().join("manifest.json"))["changed_labs"].is_null());

    let summary = bench.summary();
    assert_eq!(summary["axes"][0]["name"], "server.work_mem");
    for point in summary["points"].as_array().unwrap() {
        let result = json(&bench.out().join(point["runs"][0]["file"].as_str().unwrap()));
        let changed = &result["target"]["changed_settings"];
        for (name, value) in [("work_mem", &point["at"][0]), ("random_page_cost", &"2".into())] {
            let (has, value) = (changed[name].as_str().unwrap_or_default(), value.as_str().unwrap());
            assert!(has.starts_with(value), "{name} is {has}, not {value}: {point}");
        }
        assert_eq!(point["plan"]["server.work_mem"], point["at"][0]);
    }
    let csv = fs::read_to_string(bench.out().join("summary.csv")).unwrap();
    assert!(csv.starts_with("point,server.work_mem,server.synchronous_commit,"), "{csv}");
    let page = fs::read_to_string(bench.out().join("report.html")).unwrap();
    assert!(
        page.contains("1 repetition can&#39;t say how far runs differ")
            || page.contains("1 repetition can't say")
    );
    // A value more is a point more; another fixed one is another sweep.
    bench.change(&SETTINGS.replace("random_page_cost = 2", "random_page_cost = 3"));
    let changed = sweep(&[]).run().code(2);
    assert!(changed.only_error().contains("whose plan the experiment does not have"), "{changed:?}");
}
