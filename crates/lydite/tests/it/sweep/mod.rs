//! `lydite sweep`: grids, repetitions, going on after whatever ended the one before, and figures whose numbers are those
//! of the results.

mod commands;
mod figures;
mod labs;
mod reload;
mod servers;

use crate::program::{Program, Running, TYPES, has_each, json, lydite, scratch, text, windows_from};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Four points of a run that takes no time to speak of.
const GRID: &str = r#"
title = "Pretended"
repetitions = 2

[plan]
target = "null:"
duration = "300ms"
warmup = "0s"

[axes]
terminals = [1, 2]
mix = ["deck", "0,100,0,0,0"]

[[figure]]
title = "Throughput"
x = "terminals"
series = "mix"
y = ["tps", "latency.p95"]

[[figure]]
title = "Payment alone against all"
x = "terminals"
where = { mix = "0,100,0,0,0" }
relative_to = { mix = "deck" }
"#;

/// An experiment's file in a scratch directory, and where its results go.
struct Bench {
    directory: lydite_testkit::Directory,
}

impl Bench {
    fn new(experiment: &str) -> Self {
        let bench = Self { directory: scratch() };
        bench.change(experiment);
        bench
    }

    fn change(&self, experiment: &str) {
        fs::write(self.directory.path().join("grid.toml"), experiment).expect("an experiment");
    }

    fn sweep(&self, arguments: &[&str]) -> Program {
        let file = "grid.toml";
        Program::new(&[&["sweep", file], arguments].concat()).within(self.directory.path())
    }

    fn out(&self) -> PathBuf {
        self.directory.path().join("grid")
    }

    /// The results by the names of their files.
    fn results(&self) -> BTreeMap<String, String> {
        let Ok(entries) = fs::read_dir(self.out().join("results")) else { return BTreeMap::new() };
        entries
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.extension().is_some_and(|end| end == "json"))
            .filter_map(|path| {
                Some((path.file_name()?.to_str()?.to_owned(), fs::read_to_string(&path).ok()?))
            })
            .filter(|(name, _)| !name.starts_with('.'))
            .collect()
    }

    fn summary(&self) -> Value {
        json(&self.out().join("summary.json"))
    }
}

/// Starts a sweep and waits until it has made so many results.
fn start_until(bench: &Bench, arguments: &[&str], results: usize) -> Running {
    let mut running = bench.sweep(arguments).start();
    running.wait_until("enough results", || bench.results().len() >= results);
    running
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    if values.len() % 2 == 1 { values[half] } else { f64::midpoint(values[half - 1], values[half]) }
}

#[track_caller]
fn assert_near(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * b.abs().max(1.0), "{a} is not {b}");
}

#[test]
fn everything_wrong_with_an_experiment_is_told_at_once_with_its_line() {
    let bench = Bench::new(
        r#"title = "Wrong"
repetitions = 0
reload = "sometimes"
pause = "soon"
colour = "red"

[plan]
target = "null:"
warehuoses = 2
json = "result.json"
terminals = 1

[axes]
terminals = [1, 2]
storage = ["memory", "disk"]
empty = []
warmup = ["0s", "0s"]

[[point]]
duration = "1s"

[[figure]]
kind = "pie"
x = "threads"
y = ["tsp", "latency.p42", "abort_rate.tiredness", "client.cost"]

[[phase]]
lasts = "1s"
"#,
    );
    let ended = bench.sweep(&["--set", "duration", "--set", "terminals=3"]).run().code(2);
    ended.told(&[
        &["grid.toml, line 27, phase", "write lists or curves in [plan]"],
        &["grid.toml, line 2, repetitions", "from 1 to 1000"],
        &["grid.toml, line 3, reload", "each-run, restore or once"],
        &["grid.toml, line 4, pause", "must be a time"],
        &["grid.toml, line 5, colour", "is not known", "[plan]"],
        &["grid.toml, line 9, warehuoses", "is not known: did you mean warehouses?"],
        &["grid.toml, line 10, json", "leave it out"],
        &["grid.toml, line 14, terminals", "fixed in line 11"],
        &["grid.toml, line 15, storage", "is no key of a plan", "label"],
        &["grid.toml, line 16, empty", "has no values"],
        &["grid.toml, line 17, warmup", "\"0s\" twice"],
        &["grid.toml, line 19, point", "needs a label"],
        &["--set duration", "KEY=VALUE"],
        &["--set terminals", "axis terminals"],
        &["grid.toml, line 22, figure", "needs a title"],
        &["grid.toml, line 24, x", "\"threads\" is no axis", "terminals, storage, empty, warmup"],
        &["grid.toml, line 25, y", "\"tsp\" is not known", "tps"],
        &["grid.toml, line 25, y", "\"latency.p42\" names no percentile"],
        &["grid.toml, line 25, y", "\"abort_rate.tiredness\"", "serialization", "csr"],
        &["grid.toml, line 25, y", "no client.cost"],
    ]);
    assert!(!bench.out().exists(), "nothing is touched");
}

#[test]
fn every_plan_is_validated_as_a_run_would_with_the_line_of_the_value() {
    let bench = Bench::new(
        r#"[plan]
target = "gemel:?durability=relaxed"
duration = "0s"

[axes]
target.placement = [
  "all-memory",
  "all-over",
]
mode = ["direct", "open"]
target.colour = ["red"]
terminals = [1, 0]
target.durability = ["full"]
"#,
    );
    let ended = bench.sweep(&["--dry-run"]).run().code(2);
    ended.told(&[
        &["grid.toml, line 3, duration", "more than zero"],
        &["grid.toml, line 8, target.placement", "\"all-over\" is not known"],
        &["grid.toml, line 10, mode", "needs --rate"],
        &["grid.toml, line 11, target.colour", "\"colour\" is not known"],
        &["grid.toml, line 12, terminals", "\"0\" must be a whole number"],
        &["grid.toml, line 13, target.durability", "in the URL of the target already"],
    ]);
    bench.change(
        "[plan]\ntarget = \"null:\"\nwarehouses = 6\nmix = \"update_balance=100\"\n[axes]\nbalance_warehouses = [2, 8]\n",
    );
    let ended = bench.sweep(&["--dry-run"]).run().code(2);
    ended.told(&[&[
        "grid.toml, line 6, balance_warehouses",
        "each transaction needs 8 warehouses, and 6 are active",
    ]]);
    bench.change("[plan]\ntarget = \"null:\"\n[axes]\n");
    bench.sweep(&["--dry-run"]).run().code(0);
    bench.change("title = \"x\"\n[plan\n");
    let ended = bench.sweep(&[]).run().code(2);
    assert!(ended.only_error().starts_with("grid.toml, line 2: "), "{ended:?}");
}

#[test]
fn points_and_axes_of_tables_are_combined_and_set_several_keys() {
    let bench = Bench::new(
        r#"[plan]
target = "gemel:"
"target.cache" = "64MB"
terminals = 1

[[axes.storage]]
label = "small"
target.cache = "2MB"
[[axes.storage]]
label = "as planned"

[[point]]
label = "closed"
[[point]]
label = "open"
mode = "open"
rate = 100
"#,
    );
    let ended = bench.sweep(&["--dry-run"]).run().code(0);
    for words in [
        "4 points, 1 run of each",
        "small, open",
        "mode = open  rate = 100  target = gemel:?cache=2MB",
        "as planned, closed",
        "target = gemel:?cache=64MB",
    ] {
        assert!(ended.stdout.contains(words), "{words}: {ended:?}");
    }
    bench.change(
        "[[point]]\nlabel = \"a\"\nterminals = 1\n[axes]\nterminals = [1, 2]\npoint = [{ label = \"b\" }]\n",
    );
    bench.sweep(&["--dry-run"]).run().code(2).told(&[
        &["line 6, point", "name of the axis in line 1"],
        &["line 5, terminals", "sets terminals, and so does point"],
    ]);
}

#[test]
fn the_experiments_and_the_example_of_the_book_are_valid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // A file may need a workload that this program does not have.
    let micro = lydite(&["run", "--help"]).stdout.contains("--workload");
    for (folder, least) in [("", 1), ("skeena", 6), ("dike", 15)] {
        let mut tried = 0;
        for entry in fs::read_dir(root.join("experiments").join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let experiment = path.extension().is_some_and(|end| end == "toml");
            if experiment && (micro || !fs::read_to_string(&path).unwrap().contains("workload = \"micro\"")) {
                lydite(&["sweep", text(&path), "--dry-run", "--out", "/nonexistent/out"]).code(0);
                tried += 1;
            }
        }
        assert!(tried >= least, "{tried} files in {folder:?}");
    }
    let availability = root.join("experiments/dike/fig22.toml");
    let dry = ["sweep", text(&availability), "--dry-run", "--out", "/nonexistent/out"];
    let ended = lydite(&[&dry[..], &["--set", "target=null:"]].concat()).code(2);
    assert_eq!(ended.errors().len(), 9, "no point fits this target: {ended:?}");
    for error in ended.errors() {
        assert!(error.contains("can't be the database: the target's URL names no server"), "{error}");
    }
    let distribution = root.join("experiments/dike/fig17a.toml");
    let ended = lydite(&["sweep", text(&distribution), "--dry-run", "--out", "/nonexistent/out"]).code(0);
    assert!(ended.stdout.contains("36 points"), "{ended:?}");
    let data = root.join("experiments/dike/fig17c.toml");
    let ended = lydite(&["sweep", text(&data), "--dry-run", "--out", "/nonexistent/out"]).code(0);
    assert!(ended.stdout.contains("3 points"), "{ended:?}");
    let adapters = root.join("experiments/adapters.toml");
    let ended = lydite(&["sweep", text(&adapters), "--dry-run", "--out", "/nonexistent/out"]).code(0);
    assert!(ended.stdout.contains("21 points, 3 runs of each"), "{ended:?}");
    let book = fs::read_to_string(root.join("docs/src/sweeps.md")).unwrap();
    let example = book.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let ended = Bench::new(example).sweep(&["--dry-run"]).run().code(0);
    assert!(
        ended.stdout.contains("6 points, 3 runs of each") && ended.stdout.contains("at least 4 min 30 s"),
        "{ended:?}"
    );
}

#[test]
fn a_figure_of_an_observed_value_needs_a_run_that_observes_its_source() {
    let mean =
        "[[figure]]\ntitle = \"u\"\nkind = \"bar\"\nx = \"terminals\"\ny = \"observed.host.cpu.user\"\n";
    let axes = "[axes]\nterminals = [1, 2]\n";
    for (observe, code) in [("", 2), ("observe = \"host\"\n", 0)] {
        let bench = Bench::new(&format!("[plan]\ntarget = \"null:\"\n{observe}{axes}{mean}"));
        let ended = bench.sweep(&["--dry-run"]).run().code(code);
        assert_eq!(
            ended
                .stderr
                .contains("observed.host.cpu.user needs a source that no run observes: add it to observe"),
            code == 2,
            "{ended:?}"
        );
    }
}

#[test]
fn a_key_without_a_value_is_taken_out_of_the_plan() {
    let bench = Bench::new("[plan]\ntarget = \"null:\"\nnodes = 3\nduration = \"300ms\"\nwarmup = \"0s\"\n");
    let with = bench.sweep(&["--dry-run"]).run().code(0);
    assert!(with.stdout.contains("nodes = 3"), "{with:?}");
    let without =
        bench.sweep(&["--dry-run", "--set", "nodes=", "--set", "target=null:?nodes=2"]).run().code(0);
    assert!(!without.stdout.contains("nodes = 3"), "{without:?}");
    let ended = bench.sweep(&["--dry-run", "--set", "rate="]).run().code(2);
    assert!(
        ended.only_error().contains("--set rate=: takes a key out of [plan], which has no rate"),
        "{ended:?}"
    );
}

#[test]
fn a_dry_run_lists_the_points_and_the_time_and_touches_nothing() {
    let bench = Bench::new(GRID);
    let ended = bench.sweep(&["--dry-run", "--set", "duration=30s"]).run().code(0);
    for words in [
        "4 points, 2 runs of each",
        "terminals=1, mix=deck",
        "mix = 0,100,0,0,0",
        "duration = 30s",
        "8 runs to make, at least 4 min",
    ] {
        assert!(ended.stdout.contains(words), "{words}: {ended:?}");
    }
    assert!(!bench.out().exists());
}

#[test]
fn the_numbers_of_the_summary_are_those_of_the_results() {
    let bench = windows_from("300ms", |window| {
        let bench = Bench::new(&GRID.replace("300ms", window));
        let ended = bench.sweep(&[]).run().code(0);
        assert!(ended.stdout.contains("8 complete runs"), "{ended:?}");
        let told = ended.stderr.lines().filter(|line| line.contains("transactions/s (")).count();
        assert_eq!(told, 8, "{ended:?}");
        let results = bench.results();
        assert_eq!(results.len(), 8);
        let mut results = results.values().map(|text| serde_json::from_str::<Value>(text).expect("JSON"));
        let enough = |result: Value| {
            let all = result["plan"]["mix"] == "deck";
            has_each(&result, if all { &TYPES } else { &["payment"] })
        };
        results.all(enough).then_some(bench)
    });

    let summary = bench.summary();
    let points = summary["points"].as_array().unwrap();
    assert_eq!(points.len(), 4);
    let mut starts = Vec::new();
    let mut medians = BTreeMap::new();
    for point in points {
        let mut of = Vec::new();
        for run in point["runs"].as_array().unwrap() {
            assert_eq!(run["state"], "complete");
            let result = json(&bench.out().join(run["file"].as_str().unwrap()));
            assert_eq!(run["values"]["tps"], result["tps"]);
            assert_eq!(result["plan"]["terminals"].to_string(), point["plan"]["terminals"].as_str().unwrap());
            starts.push((run["repetition"].as_u64().unwrap(), result["window"]["start"].to_string()));
            of.push(result["tps"].as_f64().unwrap());
        }
        let spread = &point["metrics"]["tps"];
        assert_near(spread["median"].as_f64().unwrap(), median(of.clone()));
        assert_near(spread["min"].as_f64().unwrap(), of[0].min(of[1]));
        assert_near(spread["max"].as_f64().unwrap(), of[0].max(of[1]));
        medians.insert(
            (point["at"][0].as_str().unwrap().to_owned(), point["at"][1].as_str().unwrap().to_owned()),
            of,
        );
    }
    // All points once, then again.
    starts.sort_by(|a, b| a.1.cmp(&b.1));
    assert_eq!(
        starts.iter().map(|(repetition, _)| *repetition).collect::<Vec<_>>(),
        [1, 1, 1, 1, 2, 2, 2, 2]
    );

    let figures = summary["figures"].as_array().unwrap();
    let panels = figures[0]["panels"].as_array().unwrap();
    assert_eq!(panels.len(), 2, "one for each metric");
    for (s, mix) in ["deck", "0,100,0,0,0"].iter().enumerate() {
        for (x, terminals) in ["1", "2"].iter().enumerate() {
            let key = ((*terminals).to_owned(), (*mix).to_owned());
            let drawn = &panels[0]["series"][s]["cells"][x]["value"];
            assert_near(drawn["median"].as_f64().unwrap(), median(medians[&key].clone()));
            assert!(panels[1]["series"][s]["cells"][x]["value"]["median"].as_f64().unwrap() > 0.0);
        }
    }
    // A ratio is that of the same repetition.
    let drawn = &figures[1]["panels"][0]["series"][0]["cells"][0]["value"];
    let (payment, deck) =
        (&medians[&("1".into(), "0,100,0,0,0".into())], &medians[&("1".into(), "deck".into())]);
    assert_near(
        drawn["median"].as_f64().unwrap(),
        median(payment.iter().zip(deck).map(|(a, b)| a / b).collect()),
    );

    let csv = fs::read_to_string(bench.out().join("summary.csv")).unwrap();
    assert!(
        csv.starts_with("point,terminals,mix,complete,partial,failed,missing,checks_failed,tps.median,"),
        "{csv}"
    );
    assert_eq!(csv.lines().count(), 5);
    assert!(csv.contains("\"terminals=1, mix=0,100,0,0,0\",1,\"0,100,0,0,0\",2,0,0,0,0,"), "{csv}");
    let page = fs::read_to_string(bench.out().join("report.html")).unwrap();
    for words in ["<svg class=\"plot", "Payment alone against all", "Ratio to mix = deck", "8/8"] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("<script"), "the page of a sweep needs none");
}

#[test]
fn a_killed_sweep_goes_on_where_it_was() {
    let complete = |text: &str| text.contains("\"status\":\"complete\"");
    let (bench, kept) = windows_from("300ms", |window| {
        let bench = Bench::new(&GRID.replace("300ms", window));
        let running = start_until(&bench, &[], 3);
        running.signal(libc::SIGKILL);
        let _killed = running.wait();
        let before = bench.results();
        // The run that was cut off left a partial result or none.
        let kept: BTreeMap<_, _> = before.into_iter().filter(|(_, result)| complete(result)).collect();
        assert!(kept.len() >= 2, "{}", kept.len());
        // This process may have stood still until the sweep was over.
        (kept.len() < 8).then_some((bench, kept))
    });

    let ended = bench.sweep(&[]).run().code(0);
    assert!(ended.stderr.contains(" there already"), "{ended:?}");
    let after = bench.results();
    assert_eq!(after.len(), 8);
    assert!(after.values().all(|result| complete(result)));
    for (name, result) in &kept {
        assert_eq!(after.get(name), Some(result), "{name} was made once");
    }
    let again = bench.sweep(&[]).run().code(0);
    assert!(again.stderr.contains("8 there already, 0 to make"), "{again:?}");
    assert_eq!(bench.results(), after);
}

#[test]
fn ctrl_c_ends_the_run_keeps_what_there_is_and_exits_with_130() {
    let bench = Bench::new(&GRID.replace("300ms", "4s"));
    let mut running = bench.sweep(&[]).start();
    let manifest = bench.out().join("manifest.json");
    running.wait_until("the first result", || !bench.results().is_empty());
    running.signal(libc::SIGINT);
    let ended = running.wait().code(130);
    assert!(
        ended.errors().iter().any(|error| error.contains("the same command makes the rest")),
        "{ended:?}"
    );
    assert!(manifest.exists() && bench.out().join("report.html").exists());
    let summary = bench.summary();
    let runs = |state: &str| {
        let points = summary["points"].as_array().unwrap().iter();
        points.flat_map(|point| point["runs"].as_array().unwrap()).filter(|run| run["state"] == state).count()
    };
    assert!(runs("complete") >= 1 && runs("missing") >= 5, "{summary}");
    let page = fs::read_to_string(bench.out().join("report.html")).unwrap();
    assert!(page.contains("are not made yet"), "the page says what is missing");
}

#[test]
fn a_second_sweep_on_the_same_directory_is_refused() {
    let bench = Bench::new(&GRID.replace("300ms", "5s"));
    let mut running = bench.sweep(&[]).start();
    let lock = bench.out().join("lock");
    running.wait_until("the lock", || fs::read_to_string(&lock).is_ok_and(|text| text.ends_with('\n')));
    let ended = bench.sweep(&[]).run().code(2);
    assert!(ended.only_error().contains("another sweep"), "{ended:?}");
    running.signal(libc::SIGINT);
    running.wait().code(130);
}

#[test]
fn a_changed_experiment_is_refused_unless_it_only_adds() {
    let bench = Bench::new(GRID);
    bench.sweep(&["--repetitions", "1"]).run().code(0);
    let made = bench.results();
    assert_eq!(made.len(), 4);
    // Titles, figures, more points, more repetitions.
    let more = GRID
        .replace("\"Pretended\"", "\"Named otherwise\"")
        .replace("title = \"Throughput\"", "title = \"Speed\"")
        .replace("terminals = [1, 2]", "terminals = [2, 4, 1]");
    bench.change(&more);
    bench.sweep(&[]).run().code(0);
    let grown = bench.results();
    assert_eq!(grown.len(), 12);
    assert!(made.iter().all(|(name, result)| grown.get(name) == Some(result)));
    // Another plan, fewer points, another protocol.
    for (from, to, words) in [
        ("300ms", "200ms", "whose plan the experiment does not have"),
        ("[2, 4, 1]", "[2, 4]", " and 1 more, whose plan"),
        ("repetitions = 2", "repetitions = 1", "it has 2 repetitions, now 1"),
        ("repetitions = 2", "repetitions = 2\npause = \"1s\"", "its pause is 0 s, now 1 s"),
    ] {
        bench.change(&more.replace(from, to));
        for arguments in [&[][..], &["--dry-run"]] {
            let ended = bench.sweep(arguments).run().code(2);
            let error = ended.only_error();
            assert!(
                error.contains(words) && error.contains("--fresh") && error.contains("--out"),
                "{ended:?}"
            );
        }
        assert_eq!(bench.results(), grown, "nothing is touched");
    }
    bench.change(&GRID.replace("terminals = [1, 2]", "terminals = [3]"));
    let others = ["notes.json", "thesis.1.json"].map(|name| bench.out().join("results").join(name));
    others.iter().for_each(|path| fs::write(path, "years of work").unwrap());
    let picture = |number: u32| bench.out().join(format!("figure-{number}.svg"));
    assert!(picture(1).exists(), "the first figure is a file too");
    fs::write(picture(7), "<svg/>").unwrap();
    bench.sweep(&["--fresh"]).run().code(0);
    assert!(picture(1).exists() && !picture(7).exists(), "pictures of the other sweep are gone");
    assert_eq!(bench.results().len(), 4 + others.len(), "what the sweep made is gone, and nothing else");
    assert!(others.iter().all(|path| fs::read_to_string(path).unwrap() == "years of work"));
}

#[test]
fn a_directory_with_something_else_in_it_is_left_alone() {
    let bench = Bench::new(GRID);
    fs::create_dir(bench.out()).unwrap();
    fs::write(bench.out().join("thesis.tex"), "years of work").unwrap();
    for arguments in [&[][..], &["--fresh"]] {
        let ended = bench.sweep(arguments).run().code(2);
        assert!(ended.only_error().contains("holds no sweep"), "{ended:?}");
    }
    assert_eq!(fs::read_dir(bench.out()).unwrap().count(), 1);
    // Also if it has the name of something that a sweep makes.
    fs::remove_file(bench.out().join("thesis.tex")).unwrap();
    fs::create_dir(bench.out().join("results")).unwrap();
    for (path, text) in [("results/mine.json", "{}"), ("lock", "of my door")] {
        let path = bench.out().join(path);
        fs::write(&path, text).unwrap();
        let ended = bench.sweep(&["--fresh"]).run().code(2);
        assert!(ended.only_error().contains("holds no sweep"), "{ended:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_run_that_fails_is_told_and_the_others_are_made() {
    let bench = Bench::new(
        r#"
reload = "each-run"
[plan]
duration = "200ms"
warmup = "0s"
[[point]]
label = "nowhere"
target = "postgres://tester:geheim123@127.0.0.1:1/tpcc"
[[point]]
label = "here"
target = "null:"
[[figure]]
title = "Throughput"
x = "point"
"#,
    );
    let ended = bench.sweep(&[]).run().code(3);
    assert!(ended.stderr.contains("nowhere, run 1: failed"), "{ended:?}");
    assert!(ended.errors().iter().any(|error| error.contains("1 run did not end well")), "{ended:?}");
    assert!(
        ended.stdout.contains("here") && ended.stdout.contains("! nowhere, run 1: failed: "),
        "{ended:?}"
    );
    let summary = bench.summary();
    assert_eq!(summary["points"][0]["runs"][0]["state"], "failed");
    assert_eq!(summary["points"][1]["runs"][0]["state"], "complete");
    let page = fs::read_to_string(bench.out().join("report.html")).unwrap();
    assert!(page.contains("No run has a number for: nowhere."));
    assert!(!ended.stderr.contains("geheim") && !ended.stdout.contains("geheim"));
    assert_no_file_has("geheim", &bench.out());
    // It is tried again, the other is not.
    let ended = bench.sweep(&[]).run().code(3);
    assert!(ended.stderr.contains("1 there already, 1 to make"), "{ended:?}");
}

#[track_caller]
fn assert_no_file_has(words: &str, directory: &Path) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_no_file_has(words, &path);
        } else {
            assert!(!fs::read_to_string(&path).unwrap().contains(words), "{}", path.display());
        }
    }
}

#[test]
fn sweeps_of_the_microbenchmark_make_all_their_runs() {
    let bench = Bench::new(
        "[plan]\nworkload = \"micro\"\nduration = \"200ms\"\nwarmup = \"0s\"\nmicro.records = 500\n\
         [axes]\nterminals = [1, 2]\n",
    );
    bench.sweep(&["--repetitions", "2"]).run().code(0);
    assert_eq!(bench.results().len(), 4);
}
