//! Thresholds: `--require` of runs, `--fail-if` of comparisons, and the summaries and labels that show them.

use crate::program::{Ended, Program, json, lydite, scratch, text, windows_from};
use lydite_report::RunResult;
use lydite_report::model::{CheckResult, CheckedWhen, Latency, Status, TransactionResult};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const RUN: [&str; 5] = ["run", "null:", "--warmup", "0", "--quiet"];

/// Runs, unless it is refused, until there are New-Orders and more than ten transactions in a second.
fn run(more: &[&str]) -> Ended {
    let directory = scratch();
    let own = directory.path().join("own.json");
    let asked = more.iter().position(|argument| *argument == "--json").map(|at| Path::new(more[at + 1]));
    let own_argument = if asked.is_some() { vec![] } else { vec!["--json", text(&own)] };
    windows_from("500ms", |window| {
        let ended = lydite(&[RUN.as_slice(), &["-d", window], &own_argument, more].concat());
        let enough = |found: Value| found["tps"].as_f64() > Some(10.0) && found["nopm"].as_f64() > Some(0.0);
        (ended.code == Some(2) || enough(json(asked.unwrap_or(&own)))).then_some(ended)
    })
}

/// Writes a result with this throughput and this 99th percentile of its New-Orders.
fn write(path: &Path, tps: f64, p99: f64, label: Option<&str>) {
    let new_order = TransactionResult {
        committed: 5_000,
        latency_ms: Latency { p99: Some(p99), ..Latency::default() },
        ..TransactionResult::default()
    };
    let mut result =
        RunResult { tps, nopm: 27.0 * tps, label: label.map(str::to_owned), ..RunResult::default() };
    result.target.kind = "postgres".into();
    result.transactions.insert("new_order".into(), new_order);
    result.save(path).expect("a result");
}

/// Two results: throughput falls by 10 %, and the 99th percentile rises by 50 %.
fn two(directory: &Path) -> [PathBuf; 2] {
    let [a, b] = ["a.json", "b.json"].map(|name| directory.join(name));
    write(&a, 1_000.0, 20.0, Some("main"));
    write(&b, 900.0, 30.0, None);
    [a, b]
}

#[test]
fn a_requirement_decides_the_exit_code_and_is_in_the_result() {
    let directory = scratch();
    let result = directory.path().join("result.json");
    let met = run(&["--require", "tps > 10", "--require", "new_order.p99 < 1s"]).code(0);
    assert!(met.stdout.contains("✓ tps > 10: ") && met.errors().is_empty(), "{met:?}");

    let requires = ["--require", "tps < 10", "--require", "tps > 10", "--json", text(&result)];
    let unmet = run(&requires).code(4);
    assert!(unmet.stdout.contains("✗ not met: tps < 10: "), "{}", unmet.stdout);
    assert!(unmet.only_error().starts_with("not met: tps < 10: "), "{unmet:?}");
    let found = json(&result);
    assert_eq!(found["status"], "complete");
    let requirements = found["requirements"].as_array().expect("requirements");
    let verdicts: Vec<_> = requirements.iter().map(|of| (of["text"].as_str(), of["met"].as_bool())).collect();
    assert_eq!(verdicts, [(Some("tps < 10"), Some(false)), (Some("tps > 10"), Some(true))]);
    assert_eq!((&requirements[0]["metric"], &requirements[0]["value"]), (&"tps".into(), &found["tps"]));

    // The stored result shows them.
    let page = directory.path().join("page.html");
    lydite(&["report", text(&result), "-o", text(&page)]).code(0);
    let page = fs::read_to_string(&page).expect("a page");
    assert!(page.contains("Requirements of the plan") && page.contains("tps &lt; 10"));
}

#[test]
fn a_verdict_on_a_percentile_says_how_sure_it_is() {
    let directory = scratch();
    let result = directory.path().join("result.json");
    let requires =
        ["--require", "new_order.p99 < 100s", "--require", "latency.p90 < 1us", "--require", "tps > 1"];
    // Little work, so that others can do theirs meanwhile.
    let open = ["-d", "25s", "--mode", "open", "--rate", "60", "--no-check", "--json", text(&result)];
    let ended = lydite(&[RUN.as_slice(), &open, &requires].concat()).code(4);
    let found = json(&result);
    let over = |place: usize| &found["requirements"][place]["over"];
    assert_eq!((over(0)["allowed"].as_f64(), over(0)["share"].as_f64()), (Some(0.01), Some(0.0)));
    assert!(over(0)["high"].as_f64().is_some_and(|high| (0.0..0.01).contains(&high)), "{}", over(0));
    assert_eq!((over(1)["allowed"].as_f64(), over(1)["share"].as_f64()), (Some(0.1), Some(1.0)));
    assert!(over(2).is_null(), "only percentiles of latency have it");
    assert!(ended.stdout.contains("; 0 % took longer, 1.00 % may (95 % interval 0 to "), "{}", ended.stdout);
    // Below 24 seconds nothing is told.
    let short = run(&["--json", text(&result), "--require", "new_order.p99 < 100s"]).code(0);
    assert!(json(&result)["requirements"][0].get("over").is_none() && !short.stdout.contains("took longer"));
}

#[test]
fn a_metric_without_samples_is_not_met_and_says_why() {
    // One transaction each two seconds on average is no 99th percentile.
    let run = |more: &[&str]| lydite(&[RUN.as_slice(), &["-d", "500ms"], more].concat());
    let slow =
        ["--mode", "open", "--rate", "0.5", "--arrival", "constant", "--require", "new_order.p99 < 1h"];
    assert!(run(&slow).code(2).only_error().contains("must be a time with its unit: ms, s or us"));
    let slow = [&slow[..7], &["new_order.p99 < 1000s"]].concat();
    let unmet = run(&slow).code(4);
    assert!(unmet.only_error().contains("new_order.p99 < 1000s: "), "{unmet:?}");
    assert!(unmet.only_error().contains("of type New-Order"), "{unmet:?}");
}

#[test]
fn wrong_requirements_are_told_all_at_once_and_nothing_is_touched() {
    let directory = scratch();
    let url = format!("sqlite:{}", text(&directory.path().join("tpcc.sqlite")));
    let mut arguments = vec!["run", url.as_str(), "--mix", "new_order=100", "--label", "a\nb"];
    for requirement in [
        "new_ordr.p99 < 50ms",
        "tps >",
        "payment.p99 < 50ms",
        "micro.p99 < 50ms",
        "efficiency > 95%",
        "abort_rate.bad_luck < 1%",
        "tps > 5, tsp > 5",
    ] {
        arguments.extend(["--require", requirement]);
    }
    lydite(&arguments).code(2).told(&[
        &["--require: \"new_ordr.p99 < 50ms\"", "is not known: did you mean new_order.p99?"],
        &["--require: \"tps >\" has a value \"\" that must be"],
        &["--require: \"payment.p99 < 50ms\" can't be met: the mix has no payment"],
        &["--require: \"micro.p99 < 50ms\" can't be met", "--workload micro only"],
        &["--require: \"efficiency > 95%\" can't be met", "--mode rte only"],
        &["--require: \"abort_rate.bad_luck < 1%\"", "with an unknown abort reason: use serialization"],
        &["--require: \"tsp > 5\"", "did you mean tps?"],
        &["--label: ", "must be one line of 1 to 100 characters"],
    ]);
    assert_eq!(fs::read_dir(directory.path()).expect("a directory").count(), 0, "nothing is touched");
    let micro =
        ["run", "null:", "--workload", "micro", "--require", "nopm > 5", "--require", "payment.p99 < 1s"];
    lydite(&micro)
        .code(2)
        .told(&[&["nopm is for --workload tpcc only"], &["payment are for --workload tpcc only"]]);
}

#[test]
fn a_plan_file_lists_requirements_and_flags_win_over_it() {
    let directory = scratch();
    let plan = directory.path().join("plan.toml");
    let write = |require: &str| {
        fs::write(&plan, format!("label = \"nightly\"\nrequire = {require}\n")).expect("a plan")
    };
    write("[\"tps > 1\", \"nopm < 1\"]");
    let summary = ["--config", text(&plan), "--summary", "-"];
    let ended = run(&summary).code(4);
    assert!(ended.stdout.starts_with("### Lydite: nightly\n"), "{}", ended.stdout);
    assert!(ended.stdout.contains("| ✓ | <code>tps &gt; 1</code> |"), "{}", ended.stdout);
    assert!(ended.stdout.contains("| ✗ | <code>nopm &lt; 1</code> |"), "{}", ended.stdout);
    let flagged = run(&[&summary[..], &["--require", "tps > 2"]].concat()).code(0);
    assert!(
        flagged.stdout.contains("tps &gt; 2") && !flagged.stdout.contains("nopm &lt;"),
        "{}",
        flagged.stdout
    );
    write("[\"tps > 1\", \"tsp > 1\"]");
    let refused = run(&["--config", text(&plan)]).code(2);
    assert!(refused.only_error().contains("line 2, require: \"tsp > 1\""), "{refused:?}");
    write("\"tps > 1\"");
    run(&["--config", text(&plan)]).code(0);
}

#[test]
fn an_interrupted_run_ends_with_its_own_exit_code() {
    let directory = scratch();
    let result = directory.path().join("result.json");
    let arguments = [
        "run",
        "null:",
        "-d",
        "1h",
        "--warmup",
        "0",
        "--require",
        "tps > 1000000000",
        "--json",
        text(&result),
    ];
    let mut running = Program::new(&arguments).start();
    let said = running.said();
    running.wait_until("it measures", || said.has("measuring"));
    running.signal(libc::SIGINT);
    let ended = running.wait().code(130);
    assert!(ended.errors().iter().any(|error| error.starts_with("interrupted")), "{ended:?}");
    assert_eq!(json(&result)["requirements"][0]["met"], false);
}

#[test]
fn a_database_that_is_wrong_weighs_more_than_a_threshold() {
    let directory = scratch();
    let path = directory.path().join("tpcc.sqlite");
    let url = format!("sqlite:{}", text(&path));
    let load = [
        "load",
        &url,
        "--workload",
        "micro",
        "--set",
        "micro.records=50",
        "--set",
        "micro.tables=1",
        "--quiet",
    ];
    lydite(&load).code(0);
    let run = ["run", &url, "--workload", "micro", "--warmup", "0", "--quiet", "--require", "tps < 0.001"];
    // Nothing is too much where a machine under load makes no transaction.
    let run = || {
        windows_from("300ms", |window| {
            let ended = lydite(&[&run[..], &["-d", window]].concat());
            (ended.code != Some(0)).then_some(ended)
        })
    };
    run().code(4);
    // Each update counts twice.
    let trigger = "CREATE TRIGGER wrong AFTER UPDATE ON lydite_micro_1 BEGIN \
                   UPDATE lydite_micro_1 SET counter = counter + 1 WHERE id = NEW.id; END";
    let database = rusqlite::Connection::open(&path).expect("the database");
    database.execute_batch(trigger).expect("a trigger");
    drop(database);
    let ended = run().code(1);
    assert!(ended.errors().iter().any(|error| error.starts_with("not met: tps < 0.001")), "{ended:?}");
}

#[test]
fn a_comparison_fails_by_what_changed_too_much() {
    let directory = scratch();
    let [a, b] = two(directory.path());
    let compare = |more: &[&str]| lydite(&[&["compare", text(&a), text(&b)], more].concat());
    let fine = compare(&["--fail-if", "nopm < -15%", "--fail-if", "new_order.p99 > +15ms"]).code(0);
    assert!(
        fine.stdout.contains("✓ nopm < -15%: 27,000 in A\u{a0}main, 24,300 in B\u{a0}b.json (-10.00 %)"),
        "{fine:?}"
    );
    let failed =
        compare(&["--fail-if", "nopm < -5%", "--fail-if", "tps < -15%", "--fail-if", "new_order.p99 > +10%"]);
    let unsure = "--fail-if judged B\u{a0}b.json by one run each: how much runs of one configuration differ is unknown";
    failed.code(4).told(&[
        &[unsure],
        &["failed by nopm < -5%: 27,000 in A\u{a0}main, 24,300 in B\u{a0}b.json (-10.00 %)"],
        &["failed by new_order.p99 > +10%: 20.0 ms in A\u{a0}main, 30.0 ms in B\u{a0}b.json (+50.00 %)"],
    ]);
    compare(&["--fail-if", "payment.p99 > +10%"])
        .code(4)
        .told(&[&[unsure], &["no transaction of type Payment was completed"]]);
    let refused =
        compare(&["--fail-if", "nopm < 5%", "--fail-if", "nopn < -5%", "--summary", text(&a)]).code(2);
    refused.told(&[
        &["--fail-if: \"nopm < 5%\" has a change \"5%\" that has no sign"],
        &["--fail-if: \"nopn < -5%\"", "did you mean nopm?"],
        &["--summary: ", "a.json is one of the results"],
    ]);
    assert_eq!(json(&a)["label"], "main", "it is as it was");
}

#[test]
fn each_of_several_results_is_judged_against_the_first() {
    let directory = scratch();
    let [a, b] = two(directory.path());
    let c = directory.path().join("c.json");
    write(&c, 2_000.0, 20.0, Some("other"));
    let summary = directory.path().join("summary.md");
    let gate = ["--fail-if", "tps < -5%", "--summary", text(&summary)];
    let ended = lydite(&[&["compare", text(&a), text(&b), text(&c)], &gate[..]].concat()).code(4);
    ended.told(&[
        &["--fail-if judged B\u{a0}b.json by one run each"],
        &["--fail-if judged C\u{a0}other by one run each"],
        &["failed by", "in B\u{a0}b.json"],
    ]);
    assert!(
        ended.stdout.contains("✓ tps < -5%: 1,000 in A\u{a0}main, 2,000 in C\u{a0}other (+100.00 %)"),
        "{ended:?}"
    );
    assert!(ended.stdout.contains("C/A"), "{ended:?}");
    let summary = fs::read_to_string(&summary).expect("a summary");
    assert!(summary.contains("|  | A main | B b.json | C other |"), "{summary}");
    assert!(summary.contains("| **tps** | 1,000 | 900 (-10.00 %) | 2,000 (+100.00 %) |"), "{summary}");
    assert!(summary.contains("| ✗ | <code>tps &lt; -5%</code> |"), "{summary}");
    let piped = lydite(&["compare", text(&a), text(&c), "--summary", "-"]).code(0);
    assert!(piped.stdout.starts_with("### Lydite: comparison\n"), "{piped:?}");
    assert!(piped.stderr.contains("C/A") || piped.stderr.contains("B/A"), "{piped:?}");
    lydite(&["compare", text(&a)]).code(2);
}

#[test]
fn a_summary_shares_the_rules_of_other_documents() {
    let directory = scratch();
    let both = directory.path().join("both");
    let twice = lydite(&["run", "null:", "--report", text(&both), "--summary", text(&both)]).code(2);
    assert!(twice.only_error().contains("is where report goes"), "{twice:?}");
    let database = directory.path().join("shop.sqlite");
    fs::write(&database, "").expect("a file");
    let url = format!("sqlite:{}", text(&database));
    let lost = lydite(&["run", &url, "--summary", text(&database)]).code(2);
    assert!(lost.only_error().contains("belongs to the database"), "{lost:?}");
    let summary = directory.path().join("summary.md");
    run(&["--label", "pr 7", "--summary", text(&summary)]).code(0);
    let summary = fs::read_to_string(&summary).expect("a summary");
    assert!(summary.starts_with("### Lydite: pr 7\n") && summary.contains("| New-Order |"), "{summary}");
}

#[test]
fn the_runs_of_a_sweep_have_the_labels_of_their_points() {
    let directory = scratch();
    let file = directory.path().join("grid.toml");
    let experiment = |plan: &str| {
        let text = format!(
            "[plan]\ntarget = \"null:\"\nduration = \"200ms\"\nwarmup = \"0s\"\n{plan}\n[axes]\nseed = [1, 2]\n"
        );
        fs::write(&file, text).expect("an experiment");
    };
    experiment("");
    Program::new(&["sweep", "grid.toml", "--quiet"]).within(directory.path()).run().code(0);
    let mut labels: Vec<String> = fs::read_dir(directory.path().join("grid/results"))
        .expect("results")
        .map(|entry| json(&entry.expect("an entry").path())["label"].as_str().expect("a label").to_owned())
        .collect();
    labels.sort();
    assert_eq!(labels, ["seed=1", "seed=2"]);
    experiment("label = \"x\"\nrequire = \"tps > 5\"\nsummary = \"x.md\"\n");
    lydite(&["sweep", text(&file), "--dry-run"]).code(2).told(&[
        &["line 5, label: each run has the label of its point"],
        &["line 6, require: is for single runs"],
        &["line 7, summary: each run would write the same file"],
    ]);
}

#[test]
fn a_broken_database_or_a_partial_run_passes_no_gate() {
    let directory = scratch();
    let [a, b] = two(directory.path());
    let compare = |more: &[&str]| lydite(&[&["compare", text(&a), text(&b)], more].concat());
    let gate = ["--fail-if", "tps < -50%"];
    compare(&gate).code(0);

    let change = |path: &Path, change: &dyn Fn(&mut RunResult)| {
        let mut result = RunResult::load(path).expect("a result");
        change(&mut result);
        result.save(path).expect("a result");
    };
    change(&b, &|result| result.status = Status::Partial);
    let ended = compare(&gate).code(4);
    assert!(ended.stdout.contains("✓ tps < -50%"), "{ended:?}");
    let words = "B\u{a0}b.json can't pass --fail-if: it is partial: its run ended early or failed, or its";
    assert!(ended.stderr.contains(words), "{ended:?}");
    // Nothing was asked.
    compare(&[]).code(0);

    // The first result, too.
    change(&a, &|result| {
        for (id, when) in [("3.3.2.1", CheckedWhen::After), ("rows", CheckedWhen::After)] {
            let detail = "broken".into();
            result.checks.push(CheckResult { id: id.into(), ok: false, detail, when, seconds: 0.0 });
        }
    });
    let ended = compare(&gate).code(1);
    let words = "A\u{a0}main can't pass --fail-if: its database failed the checks 3.3.2.1, rows";
    assert!(ended.stderr.contains(words), "{ended:?}");
    compare(&[]).code(0);
}
