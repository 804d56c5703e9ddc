//! `lydite find`: the highest level that holds objectives, with objectives whose answer the plan itself sets.

use crate::program::{Program, json, lydite, scratch, text};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// A scratch directory in which searches go to `find`.
struct Bench(lydite_testkit::Directory);

impl Bench {
    fn new() -> Self {
        Self(scratch())
    }

    fn find(&self, arguments: &[&str]) -> Program {
        let window = ["--duration", "400ms", "--warmup", "0s"];
        Program::new(&[&["find"], arguments, &window].concat()).within(self.0.path())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn document(&self) -> Value {
        json(&self.path("find/find.json"))
    }
}

/// Requests come evenly, so the throughput is the rate, whatever the machine: the highest rate is known.
const BELOW_300: [&str; 8] =
    ["null:", "--slo", "tps < 300", "--arrival", "constant", "--resolution", "10%", "--quiet"];

#[test]
fn the_highest_rate_is_found_between_two_neighbours_and_shown() {
    let bench = Bench::new();
    let ended = bench.find(&[&BELOW_300[..], &["--label", "Three hundred"]].concat()).run().code(0);
    let document = bench.document();
    let find = &document["find"];
    let number = |key: &str| find[key].as_f64().unwrap_or_else(|| panic!("{key}: {find}"));
    assert_eq!((&find["objective"], &find["end"]), (&"tps < 300".into(), &"found".into()), "{find}");
    assert_eq!((&find["level"], &find["unit"]), (&"rate".into(), &"transactions/s".into()));
    let (highest, above) = (number("highest"), number("next_above"));
    assert!((250.0..=305.0).contains(&highest) && (295.0..=345.0).contains(&above), "{find}");
    assert!(above <= highest * 1.1 && number("next_below") < highest, "{find}");
    assert!((0.0..=1.0).contains(&number("confidence")), "{find}");
    let curve = find["curve"].as_array().unwrap();
    let levels: Vec<f64> = curve.iter().map(|rung| rung["level"].as_f64().unwrap()).collect();
    assert!(levels.is_sorted() && levels.contains(&100.0) && levels.contains(&400.0), "{levels:?}");
    for rung in curve {
        let level = rung["level"].as_f64().unwrap();
        assert_eq!(rung["holds"], Value::Bool(level <= highest), "{rung}");
        assert_eq!(rung["why"].as_str().unwrap().is_empty(), level <= highest, "{rung}");
        assert!(rung["p99_ms"].as_f64().is_some_and(|ms| ms > 0.0), "{rung}");
    }
    // Both neighbours were probed more than once.
    for (level, held) in [(highest, true), (above, false)] {
        let rung = curve.iter().find(|rung| rung["level"] == level).unwrap();
        let (probes, holding) = (rung["probes"].as_i64().unwrap(), rung["held"].as_i64().unwrap());
        assert!(if held { 2 * holding - probes >= 2 } else { probes - 2 * holding >= 2 }, "{rung}");
    }
    assert_eq!((&document["status"], &document["format"]), (&"complete".into(), &1.into()));
    for words in ["hold tps < 300; ", "The limit is between the two"] {
        assert!(ended.stdout.contains(words), "no {words:?} in {}", ended.stdout);
    }
    let fails = |line: &str| line.starts_with("400 ") && line.contains("fails");
    assert!(ended.stdout.lines().any(fails), "{}", ended.stdout);
    let page = fs::read_to_string(bench.path("find/report.html")).unwrap();
    for words in ["Three hundred", "tps &lt; 300", "<svg", "Next above", "results/1.json"] {
        assert!(page.contains(words), "no {words}");
    }
    assert!(!page.contains("http://") && !page.contains("https://"), "the page loads nothing");
    let runs = fs::read_dir(bench.path("find/results")).unwrap().count();
    let again = bench.find(&[&BELOW_300[..], &["--json", "-"]].concat()).run().code(0);
    let shown: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(&shown["find"], find, "a search that has ended is only shown");
    assert_eq!(fs::read_dir(bench.path("find/results")).unwrap().count(), runs);
}

#[test]
fn a_level_that_fails_at_once_and_one_that_never_fails_are_told_apart() {
    let bench = Bench::new();
    let refused = bench
        .find(&["null:", "--slo", "tps < 5", "--lowest", "20", "--start", "20", "--quiet"])
        .run()
        .code(4);
    let error = refused.only_error();
    assert!(error.contains("20 transactions/s, the lowest, already fail tps < 5"), "{error}");
    let find = &bench.document()["find"];
    assert_eq!((&find["end"], &find["highest"]), (&"fails_at_lowest".into(), &Value::Null), "{find}");
    assert_eq!(find["next_above"], 20.0);
    for (name, mode, level, highest) in [
        ("open", &["--highest", "40", "--start", "20"][..], "rate", 40.0),
        ("direct", &["--mode", "direct", "--highest", "3"], "sessions", 3.0),
        ("rte", &["--mode", "rte", "-w", "3", "--set", "rte.wait_factor=0"], "warehouses", 3.0),
    ] {
        let flags = [&["null:", "--slo", "failed == 0", "--out", name], mode].concat();
        let ended = bench.find(&flags).run().code(0);
        assert!(
            ended.stdout.contains("the highest, still hold failed == 0: the limit is higher"),
            "{ended:?}"
        );
        let find = json(&bench.path(&format!("{name}/find.json")))["find"].clone();
        assert_eq!((&find["end"], &find["mode"]), (&"holds_at_highest".into(), &name.into()), "{find}");
        assert_eq!((&find["level"], &find["highest"]), (&level.into(), &highest.into()), "{find}");
        assert_eq!(find["next_above"], Value::Null);
    }
}

#[test]
fn a_rate_that_the_database_can_not_keep_up_with_fails_whatever_the_objective_allows() {
    let bench = Bench::new();
    // One request in 50 ms is answered, and 200 arrive in each second.
    let slow = "null:?service=50ms&service_times=constant";
    let flags = [
        "--slo",
        "latency.p50 < 100s",
        "--lowest",
        "200",
        "--start",
        "200",
        "--duration",
        "1500ms",
        "--warmup",
        "0s",
        "-q",
    ];
    let ended = Program::new(&[&["find", slow], &flags[..]].concat()).within(bench.0.path()).run().code(4);
    assert!(ended.only_error().contains("had no session at the end"), "{ended:?}");
}

#[test]
fn a_level_with_too_few_transactions_is_not_judged_and_ends_the_search() {
    let bench = Bench::new();
    // The first rate has enough, and fails; half of it has too few.
    let flags = ["null:", "--slo", "latency.p99 < 100s", "--slo", "tps < 250", "--arrival", "constant"];
    let refused = bench.find(&[&flags[..], &["--start", "400", "--quiet"]].concat()).run().code(2);
    let error = refused.only_error();
    assert!(error.contains("rate 200 can't be judged") && error.contains("make runs longer"), "{error}");
    let document = bench.document();
    let find = &document["find"];
    assert_eq!((&find["end"], &document["status"]), (&"not_judged".into(), &"complete".into()), "{find}");
    assert_eq!((&find["highest"], &find["next_above"]), (&Value::Null, &400.0_f64.into()), "{find}");
    assert_eq!((&find["curve"][0]["holds"], &find["curve"][0]["certain"]), (&Value::Null, &false.into()));
    let runs = document["runs"].as_array().unwrap();
    assert_eq!((&runs[0]["verdict"], &runs[0]["met"]), (&"fails".into(), &false.into()), "{document}");
    // Runs of a busy machine are repeated, so the second level may have any number.
    let last = runs.last().unwrap();
    assert_eq!((&last["verdict"], &last["met"]), (&"not_judged".into(), &Value::Null), "{document}");
    assert!(find["curve"][0]["why"].as_str().unwrap().contains("needs at least 100"), "{find}");
}

#[test]
fn a_killed_search_goes_on_where_it_was_and_another_one_is_refused() {
    let bench = Bench::new();
    let results = || {
        let entries = fs::read_dir(bench.path("find/results")).map(|all| all.flatten().count());
        entries.unwrap_or_default()
    };
    let mut running = bench.find(&BELOW_300).start();
    running.wait_until("three results", || results() >= 3);
    running.signal(libc::SIGKILL);
    running.wait();
    let first = fs::read(bench.path("find/results/1.json")).unwrap();
    for (changed, words) in [
        (&["null:", "--slo", "tps < 400"][..], "slo is tps < 300, now tps < 400"),
        (&["null:", "--slo", "tps < 300", "--seed", "2"], "seed is unset, now 2"),
    ] {
        let flags = [changed, &["--arrival", "constant", "--resolution", "10%"]].concat();
        let refused = bench.find(&flags).run().code(2);
        let error = refused.only_error();
        assert!(error.contains("find: holds another search") && error.contains(words), "{error}");
    }
    // A default that is said is the same search.
    bench
        .find(&[&BELOW_300[..], &["--seed", "1", "--mode", "open", "--sessions", "8"]].concat())
        .run()
        .code(0);
    assert_eq!(bench.document()["find"]["end"], "found");
    assert_eq!(fs::read(bench.path("find/results/1.json")).unwrap(), first, "a run that ended is kept");
    let refused =
        lydite(&["compare", text(&bench.path("find/find.json")), text(&bench.path("find/find.json"))]);
    assert!(refused.code(2).stderr.contains("searches the highest level"), "a search is no result");
}

#[test]
fn the_database_has_again_what_it_held_before_the_search() {
    let bench = Bench::new();
    let file = bench.path("bank.sqlite");
    let target = format!("sqlite:{}", file.display());
    lydite(&["load", &target, "--warehouses", "1", "--size", "tiny"]).code(0);
    let orders = || {
        let of = rusqlite::Connection::open(&file).unwrap();
        of.query_row("SELECT count(*) FROM orders", [], |row| row.get::<_, i64>(0)).unwrap()
    };
    let before = orders();
    let flags = ["--slo", "tps < 40", "--start", "20", "--highest", "20", "--arrival", "constant"];
    let ended = bench.find(&[&[target.as_str()], &flags[..]].concat()).run().code(0);
    assert!(ended.stdout.contains("the highest, still hold"), "{ended:?}");
    assert_eq!(orders(), before, "the orders of the runs are gone");
    assert_eq!(bench.document()["reload"], "restored from a template for each run");
}

#[test]
fn a_search_whose_first_run_was_broken_off_while_it_loaded_begins_again() {
    let bench = Bench::new();
    let file = bench.path("bank.sqlite");
    let target = format!("sqlite:{}", file.display());
    // Loading takes far longer than this test.
    let flags = [target.as_str(), "-w", "200", "--slo", "tps < 40", "--quiet"];
    let files = || {
        let all = fs::read_dir(bench.0.path()).unwrap().flatten();
        all.filter(|entry| entry.file_name().to_string_lossy().starts_with("bank.sqlite")).collect::<Vec<_>>()
    };
    let is_loading = || {
        let sizes = files().into_iter().filter_map(|entry| entry.metadata().ok());
        sizes.map(|metadata| metadata.len()).sum::<u64>() > 1_000_000
    };
    let mut running = bench.find(&flags).start();
    running.wait_until("a load", is_loading);
    running.signal(libc::SIGINT);
    running.wait().code(130);
    let tables = rusqlite::Connection::open(&file).unwrap().query_row(
        "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'",
        [],
        |row| row.get::<_, i64>(0),
    );
    assert_eq!(tables.unwrap(), 0, "the database is empty, as it was");

    files().into_iter().for_each(|entry| fs::remove_file(entry.path()).unwrap());
    let mut running = bench.find(&flags).start();
    running.wait_until("another load", is_loading);
    running.signal(libc::SIGKILL);
    running.wait();
    let template = || json(&bench.path("find/search.json"))["templates"][0]["name"].clone();
    let killed = template();
    let mut running = bench.find(&flags).start();
    running.wait_until("the first run again", || template() != killed);
    running.signal(libc::SIGINT);
    running.wait().code(130);
}

#[test]
fn a_directory_whose_only_run_was_broken_off_is_free_for_another_search() {
    let bench = Bench::new();
    let search = |arguments: &[&str]| {
        let all =
            [&["find", "null:", "--arrival", "constant", "--warmup", "0s", "--quiet"], arguments].concat();
        Program::new(&all).within(bench.0.path())
    };
    let mut running = search(&["--slo", "tps < 5", "--duration", "1h"]).start();
    running.wait_until("the manifest", || bench.path("find/search.json").exists());
    running.signal(libc::SIGINT);
    running.wait().code(130);
    let highest = ["--start", "20", "--highest", "20"];
    search(&[&["--slo", "tps < 40", "--duration", "400ms"], &highest[..]].concat()).run().code(0);
    assert_eq!(bench.document()["find"]["end"], "holds_at_highest");
    assert_eq!(bench.document()["find"]["objective"], "tps < 40");
}

#[test]
fn every_error_of_a_search_is_told_before_anything_is_touched() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("kept/results")).unwrap();
    fs::write(bench.path("plan.toml"), "require = \"tps > 1\"\njson = \"x.json\"\n").unwrap();
    for (flags, words) in [
        (&["null:"][..], &["--slo: is missing"][..]),
        (&["null:", "--slo", "new_ordr.p99 < 5ms"], &["--slo", "did you mean new_order.p99?"]),
        (
            &["null:", "--slo", "new_order.p99 > 50ms", "--slo", "tps > 9", "--slo", "payment.p99 < 0ms"],
            &[
                "\"new_order.p99 > 50ms\" holds only where it is bad",
                "\"tps > 9\" fails at low",
                "never holds",
            ],
        ),
        (
            &["null:", "--slo", "failed == 0", "--out", "kept", "--json", "kept/find.json"],
            &["--json: kept/find.json is among the files of the experiment"],
        ),
        (
            &["null:", "--slo", "failed == 0", "--out", "kept", "--report", "kept/results/1.json"],
            &["--report: kept/results/1.json is among the files of the experiment"],
        ),
        (
            &["null:", "--slo", "r_e > 0.9", "--slo", "availability.0.t_e > 0.5"],
            &[
                "--slo: \"r_e > 0.9\" can't be judged: the plan has no fault: add --fault",
                "--slo: \"availability.0.t_e > 0.5\" can't be judged: the plan has no fault",
            ],
        ),
        (
            &["null:", "--slo", "latency.p999 < 50ms", "--start", "200"],
            &[
                "it needs about 1,000 requests, and a run at the first rate, 200 (--start), has 80: make runs longer \
               (--duration 5s), or name a higher --start",
            ],
        ),
        (
            &["null:", "--slo", "tsp < 1"],
            &["--slo: \"tsp < 1\" has a metric \"tsp\" that is not known: did you mean"],
        ),
        (&["null:", "--slo", "tps < 1", "--rate", "5"], &["--rate: is what this command searches"]),
        (
            &["null:", "--slo", "tps < 1", "--mode", "direct", "-t", "5"],
            &["--terminals: is what this command"],
        ),
        (&["null:", "--slo", "tps < 1", "--mode", "fast"], &["--mode: \"fast\" is not known"]),
        (
            &["null:", "--slo", "tps < 1", "--lowest", "50", "--highest", "20", "--resolution", "0"],
            &["--lowest: 50 is above --highest 20", "--resolution: \"0\" must be from 0.1% to 100%"],
        ),
        (
            &["null:", "--slo", "tps < 1", "--start", "-3", "--time", "0s", "--reload", "maybe"],
            &[
                "--start: \"-3\" must be a number",
                "--time: \"0s\" must be more",
                "--reload: \"maybe\" is not known",
            ],
        ),
        (&["null:", "--slo", "tps < 1", "--mode", "rte"], &["--warehouses: mode rte needs the number"]),
        (&["null:", "--slo", "tps < 1", "--mode", "direct", "--start", "1.5"], &["must be a whole number"]),
        (
            &["null:", "--slo", "tps < 1", "--mix", "45,43,4,4,4;50,40,6,2,2"],
            &["phases: a search needs the same load"],
        ),
        (
            &["null:", "--slo", "tps < 1", "--json", "x", "--report", "x"],
            &["--report: is the place of --json"],
        ),
        (
            &["--config", "plan.toml", "--slo", "tps < 1"],
            &[
                "plan.toml, line 1, require: is for single runs",
                "plan.toml, line 2, json: each run would write",
            ],
        ),
    ] {
        let refused = bench.find(flags).run().code(2);
        for words in words {
            assert!(refused.stderr.contains(words), "{flags:?}: no {words:?} in {}", refused.stderr);
        }
        assert!(!bench.path("find").exists(), "{flags:?}");
    }
}
