//! `lydite compare` over groups of runs: intervals over runs, gates that are judged by them, refusals, and documents for
//! machines.

use crate::program::{Ended, Program, json, scratch};
use lydite_report::RunResult;
use lydite_report::model::{CheckResult, CheckedWhen, Latency, Outage, Status, TransactionResult};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A run that began in this minute, with this throughput.
struct Made {
    name: String,
    minute: u32,
    tps: f64,
}

fn made(name: &str, minute: u32, tps: f64) -> Made {
    Made { name: name.to_owned(), minute, tps }
}

/// Writes results into a directory, changed by `change`.
fn write(directory: &Path, all: &[Made], change: &dyn Fn(&str, &mut RunResult)) {
    for Made { name, minute, tps } in all {
        let new_order = TransactionResult {
            committed: 5_000,
            latency_ms: Latency { p50: Some(2.0), p99: Some(20_000.0 / tps), ..Latency::default() },
            ..TransactionResult::default()
        };
        let mut result = RunResult { tps: *tps, nopm: 27.0 * tps, ..RunResult::default() };
        result.target.kind = "postgres".into();
        result.window.start = format!("2026-11-20T10:{minute:02}:00Z");
        result.window.measured_s = 30.0;
        result.transactions.insert("new_order".into(), new_order);
        change(name, &mut result);
        result.save(directory.join(format!("{name}.json"))).expect("a result");
    }
}

/// Three runs of each, in turns, while the machine gets slower: B always has 5 % less.
fn in_turns(directory: &Path) {
    let all = [
        made("a1", 1, 1_000.0),
        made("b1", 2, 951.0),
        made("b2", 3, 854.0),
        made("a2", 4, 900.0),
        made("a3", 5, 800.0),
        made("b3", 6, 761.0),
    ];
    write(directory, &all, &|_, _| {});
}

fn compare(directory: &Path, more: &[&str]) -> Ended {
    let sides = ["compare", "--a", "a*.json", "--b", "b*.json"];
    Program::new(&[&sides[..], more].concat()).within(directory).run()
}

#[test]
fn runs_in_turns_are_compared_in_pairs_and_others_without() {
    let directory = scratch();
    in_turns(directory.path());
    let ended = compare(directory.path(), &["--json", "c.json"]).code(0);
    let words = "B is worse: B has 0.950x the NOPM of A (95 % interval over runs 0.947 to 0.954, 3 pairs).";
    assert!(ended.stdout.contains(words), "{ended:?}");
    assert!(
        ended.stdout.contains("because the runs were taken in turns: A B B A A B by their starts"),
        "{ended:?}"
    );
    assert!(ended.stdout.contains("A\u{a0}a*.json (3 runs): a1.json, a2.json, a3.json"), "{ended:?}");
    let found = json(&directory.path().join("c.json"));
    assert_eq!((&found["format"], &found["groups"][1]["files"][2]), (&1.into(), &"b3.json".into()));
    let verdict = &found["verdicts"][0];
    assert_eq!((&verdict["method"], &verdict["verdict"]), (&"paired".into(), &"worse".into()));
    let nopm = &found["metrics"][0];
    assert_eq!(
        (&nopm["name"], &nopm["other"], &nopm["better"]),
        (&"nopm".into(), &"B".into(), &"higher".into())
    );
    let number = |name: &str| nopm[name].as_f64().unwrap_or_else(|| panic!("{name}: {nopm}"));
    assert!(number("low") < number("ratio") && number("ratio") < number("high"), "{nopm}");
    assert!((number("b") / number("a") - number("ratio")).abs() < 1e-9, "{nopm}");
    assert_eq!((number("error"), &nopm["interval_of"]), (0.05, &"ratio".into()));
    assert_eq!(nopm["a_runs"][1], 24_300.0);

    // Without pairs the machine's drift is noise.
    let ended = compare(directory.path(), &["--paired", "off"]).code(0);
    assert!(ended.stdout.contains("Cannot tell: B has 0.950x the NOPM of A"), "{ended:?}");
    assert!(ended.stdout.contains("more runs of each would show a difference of this size"), "{ended:?}");
    assert!(ended.stdout.contains("because --paired is off"), "{ended:?}");

    let apart = scratch();
    let all: Vec<Made> = (1..=3)
        .flat_map(|n| {
            let (a, b) = (format!("a{n}"), format!("b{n}"));
            [made(&a, n, 1_000.0 + f64::from(n)), made(&b, n + 10, 1_100.0 + f64::from(n))]
        })
        .collect();
    write(apart.path(), &all, &|_, _| {});
    let ended = compare(apart.path(), &[]).code(0);
    assert!(ended.stdout.contains("B is better: B has 1.100x the NOPM of A"), "{ended:?}");
    assert!(
        ended.stdout.contains("because the runs were not taken in turns: A A A B B B by their"),
        "{ended:?}"
    );
    assert!(compare(apart.path(), &["--paired", "on"]).code(0).stdout.contains("--paired is on"));
}

#[test]
fn a_gate_is_judged_by_the_interval_over_runs_and_may_stay_undecided() {
    let directory = scratch();
    in_turns(directory.path());
    let gate = |text: &str, more: &[&str]| compare(directory.path(), &[&["--fail-if", text], more].concat());
    let failed = gate("nopm < -4%", &[]).code(4);
    assert!(failed.only_error().contains("failed by nopm < -4%: "), "{failed:?}");
    assert!(failed.stdout.contains("(-4.96 %, 95 % interval over runs -5.28 % to -4.64 %)"), "{failed:?}");
    gate("nopm < -6%", &[]).code(0);
    gate("new_order.p99 > +4%", &[]).code(4);
    gate("tps < -30", &[]).code(4);
    gate("tps < -80", &[]).code(0);
    let open = gate("nopm < -5%", &[]).code(5);
    assert!(open.only_error().contains("not decided by nopm < -5%: "), "{open:?}");
    assert!(open.stdout.contains("? nopm < -5%: ") && open.stdout.contains(": undecided, "), "{open:?}");
    gate("nopm < -5%", &["--undecided", "pass"]).code(0);
    gate("nopm < -5%", &["--undecided", "fail"]).code(4);
    // A limit of the value itself is about B alone.
    gate("tps < 100", &[]).code(0);
    let open = gate("tps < 900", &[]).code(5);
    assert!(open.stdout.contains("(mean 855, 95 % interval over runs "), "{open:?}");
    assert!(open.stdout.contains("more runs of the group would decide"), "{open:?}");
    // What fails weighs more than what is open.
    gate("nopm < -5%", &["--fail-if", "nopm < -4%"]).code(4);

    gate("nopm == +5%", &[]).code(2).told(&[&["can't be judged by an interval over runs: use < or >"]]);
    let missing = gate("payment.p99 > +5%", &[]).code(2);
    assert_eq!(missing.errors().len(), 6, "each file that lacks it: {missing:?}");
    let words = "--fail-if: \"payment.p99 > +5%\" can't be judged: in a2.json no transaction of type Payment";
    assert!(missing.stderr.contains(words) && missing.stdout.is_empty(), "{missing:?}");
    gate("failed > +5%", &[]).code(2).told(&[&["a1.json has 0 of it", "write a difference, such as +5"]]);
    gate("failed > +5", &[]).code(0);
}

#[test]
fn files_that_share_label_and_plan_are_one_column() {
    let directory = scratch();
    let all: Vec<Made> = ["base", "old", "new"]
        .iter()
        .zip(0..)
        .flat_map(|(label, at)| {
            (1..=3).map(move |n| made(&format!("{label}{n}"), at + 3 * n, 1_000.0 + f64::from(10 * at + n)))
        })
        .collect();
    write(directory.path(), &all, &|name, result| result.label = Some(name[..name.len() - 1].to_owned()));
    let files = ["base1", "base2", "base3", "old1", "old2", "old3", "new1", "new2", "new3"];
    let files: Vec<String> = files.iter().map(|name| format!("{name}.json")).collect();
    let arguments: Vec<&str> = std::iter::once("compare").chain(files.iter().map(String::as_str)).collect();
    let summary = ["--summary", "s.md", "--fail-if", "nopm < -5%"];
    let ended = Program::new(&[&arguments[..], &summary].concat()).within(directory.path()).run().code(0);
    for words in ["A\u{a0}base (3 runs): base1.json", "B\u{a0}old (3 runs)", "C\u{a0}new (3 runs)", "C/A"] {
        assert!(ended.stdout.contains(words), "{words}: {ended:?}");
    }
    assert!(!ended.stdout.contains("D\u{a0}"), "{ended:?}");
    let summary = fs::read_to_string(directory.path().join("s.md")).expect("a summary");
    assert!(summary.contains("| C new | postgres | 3 runs | new1.json, new2.json, new3.json |"), "{summary}");
    assert!(summary.contains("|  | A | B | B/A | 95 % over runs | verdict | C |"), "{summary}");
    assert_eq!(summary.matches("| ✓ | <code>nopm &lt; -5%</code> |").count(), 2, "{summary}");

    let page = directory.path().join("p.html");
    let report: Vec<&str> =
        ["report", "-o", "p.html"].into_iter().chain(files.iter().map(String::as_str)).collect();
    Program::new(&report).within(directory.path()).run().code(0);
    let page = fs::read_to_string(&page).expect("a page");
    assert!(page.contains("Groups of runs") && page.contains("B has 1.010x the NOPM of A"), "the page");

    // All of one label: each is one.
    let ended = Program::new(&["compare", "base*.json"]).within(directory.path()).run().code(0);
    assert!(ended.stdout.contains("C\u{a0}base (base3.json)"), "{ended:?}");
    assert!(ended.stdout.contains("One run each: B has 1.00x the NOPM of A (+0.1 %)."), "{ended:?}");
}

#[test]
fn one_run_of_each_is_no_verdict_and_its_gate_says_so() {
    let directory = scratch();
    write(directory.path(), &[made("a1", 1, 1_000.0), made("b1", 2, 600.0)], &|_, _| {});
    let ended = compare(directory.path(), &["--fail-if", "nopm < -10%", "--json", "-"]).code(4);
    ended.told(&[
        &["--fail-if judged B\u{a0}b1.json by one run each: how much runs of one configuration differ is unknown"],
        &["failed by nopm < -10%: 27,000 in A\u{a0}a1.json, 16,200 in B\u{a0}b1.json (-40.00 %)"],
    ]);
    let found: Value = serde_json::from_str(&ended.stdout).expect("a document");
    assert_eq!(
        (&found["verdicts"][0]["method"], &found["verdicts"][0]["verdict"]),
        (&"single".into(), &"not_judged".into())
    );
    assert_eq!(
        (&found["gates"][0]["outcome"], &found["metrics"][0]["low"]),
        (&"failed".into(), &Value::Null)
    );
    assert!(ended.stderr.contains("this is no verdict"), "{ended:?}");

    // One against several decides nothing.
    write(directory.path(), &[made("b2", 3, 610.0)], &|_, _| {});
    let ended = compare(directory.path(), &["--fail-if", "nopm < -10%"]).code(5);
    assert!(
        ended.only_error().contains("A has a single run: an interval over runs needs at least 2"),
        "{ended:?}"
    );
    compare(directory.path(), &["--fail-if", "nopm < 20000"]).code(4);
}

#[test]
fn what_does_not_belong_together_is_named_before_anything_is_written() {
    let refused = |change: &dyn Fn(&str, &mut RunResult), words: &[&str]| {
        let directory = scratch();
        in_turns(directory.path());
        for name in ["a2", "b3"] {
            let path = directory.path().join(format!("{name}.json"));
            let mut result = RunResult::load(&path).expect("a result");
            change(name, &mut result);
            result.save(&path).expect("a result");
        }
        let ended = compare(directory.path(), &["--json", "c.json", "--junit", "c.xml"]).code(2);
        ended.told(&[words]);
        assert!(!directory.path().join("c.json").exists() && ended.stdout.is_empty(), "{ended:?}");
    };
    let b3 = |change: fn(&mut RunResult)| {
        move |name: &str, result: &mut RunResult| {
            if name == "b3" {
                change(result);
            }
        }
    };
    refused(
        &b3(|result| result.plan.workload = Some("micro".into())),
        &["b3.json is a run of the workload micro, and a1.json one of tpcc"],
    );
    refused(
        &b3(|result| result.plan.size = Some("small".into())),
        &["b3.json does not belong to B with b1.json: size (unset / small)"],
    );
    refused(
        &b3(|result| result.target.version = "16.1".into()),
        &["b3.json does not belong to B with b1.json: target (postgres / postgres 16.1)"],
    );
    refused(
        &b3(|result| result.lydite = "0.0.1".into()),
        &["b3.json does not belong to B", "version of lydite"],
    );
    refused(&b3(|result| result.status = Status::Partial), &["b3.json is partial", "leave it out"]);
    refused(
        &|_, result| {
            result.window.start = "2026-11-20T10:59:00Z".into();
            result.tps = 5.0;
        },
        &["b3.json of B is the same run as a2.json of A"],
    );

    let directory = scratch();
    in_turns(directory.path());
    let run = |arguments: &[&str]| {
        Program::new(&[&["compare"], arguments].concat()).within(directory.path()).run().code(2)
    };
    run(&["--a", "a*.json", "--b", "c*.json"]).told(&[&["--b: c*.json matches no file"]]);
    run(&["--a", "a*.json", "--b", "b1.json", "a2.json"]).told(&[&["a2.json is in both groups"]]);
    run(&["--a", "[", "--b", "b1.json"]).told(&[&["--a: [ is no pattern"]]);
    run(&["--a", "a*.json", "--b", "b1.json", "--paired", "on"])
        .told(&[&["--paired on: A has 3 runs and B has 1 run: leave the runs without a partner out"]]);
    run(&["--a", "a*.json", "--b", "b*.json", "--json", "x", "--junit", "x"])
        .told(&[&["--junit: x is where --json goes"]]);
    run(&["a1.json"]).told(&[&["name at least two results"]]);
    fs::write(directory.path().join("b9.json"), "{}").expect("a file");
    run(&["--a", "a*.json", "--b", "b*.json"]).told(&[&["b9.json is not a Lydite result"]]);
}

#[test]
fn warnings_of_the_runs_stand_at_the_top_with_their_files() {
    let directory = scratch();
    in_turns(directory.path());
    for name in ["a2", "a3", "b3"] {
        let path = directory.path().join(format!("{name}.json"));
        let mut result = RunResult::load(&path).expect("a result");
        result
            .warnings
            .push("The host of this virtual machine took 1.0 of its 2 processors away (steal)".into());
        if name == "b3" {
            result.outages.push(Outage { from_s: 3.0, to_s: 5.0, ..Outage::default() });
            result.aborts.insert("deadlock".into(), 9_000);
            result.target.settings.insert("fsync".into(), "off".into());
        }
        result.save(&path).expect("a result");
    }
    let ended = compare(directory.path(), &["--summary", "s.md", "--json", "c.json"]).code(0);
    let words = [
        "a2.json, a3.json, b3.json: The host of this virtual machine took 1.0",
        "b3.json: The database answered nothing for 2 s",
        "b3.json: The database aborted 64.3 % of all attempts",
        "b3.json: It is no run like b1.json of its group: fsync (unset / off)",
    ];
    let summary = fs::read_to_string(directory.path().join("s.md")).expect("a summary");
    let document = json(&directory.path().join("c.json"));
    let warnings = document["warnings"].as_array().expect("warnings");
    for words in words {
        let answer = ended.stdout.find("B is worse").expect("an answer");
        let line = ended.stdout.find(&format!("! {words}")).unwrap_or_else(|| panic!("{words}: {ended:?}"));
        assert!(line < answer, "{ended:?}");
        assert!(warnings.iter().any(|warning| warning.as_str().is_some_and(|text| text.starts_with(words))));
        let place = summary.find(words).unwrap_or_else(|| panic!("{words}: {summary}"));
        assert!(place < summary.find("B is worse").expect("an answer"), "{summary}");
    }
    // A count that is 0 in some runs has no ratio, so it gets a difference.
    let row = ended.stdout.lines().find(|line| line.starts_with("aborts per 1,000")).expect("a row");
    assert!(row.contains("Δ +600") && row.ends_with("cannot tell"), "{row}");

    // Two single runs, too.
    let single = Program::new(&["compare", "a1.json", "b3.json"]).within(directory.path()).run().code(0);
    let at = |words: &str| single.stdout.find(words).unwrap_or_else(|| panic!("{words}: {single:?}"));
    assert!(
        at("! b3.json: The host of this virtual machine") < at("One run each: B has 0.76x"),
        "{single:?}"
    );
}

#[test]
fn percentiles_of_few_transactions_are_marked_everywhere_and_zero_has_no_change_in_percent() {
    let directory = scratch();
    let few = |_: &str, result: &mut RunResult| {
        result.transactions.get_mut("new_order").expect("New-Orders").committed = 500;
    };
    write(directory.path(), &[made("a1", 1, 1_000.0), made("b1", 2, 800.0), made("b2", 4, 801.0)], &few);
    write(directory.path(), &[made("a2", 3, 1_001.0)], &few);
    let ended =
        compare(directory.path(), &["--summary", "s.md", "--fail-if", "new_order.p99 > +50%"]).code(0);
    let row = ended.stdout.lines().find(|line| line.starts_with("New-Order p99 ms")).expect("a row");
    assert!(row.contains("~20.0") && row.contains("~25.0"), "{row}");
    assert!(ended.stdout.contains("✓ new_order.p99 > +50%: ~20.0 ms in A"), "{ended:?}");
    assert!(ended.stdout.contains("~: fewer than 10 transactions lie above"), "{ended:?}");
    let summary = || fs::read_to_string(directory.path().join("s.md")).expect("a summary");
    assert!(summary().contains("\\~25.0"), "{}", summary());
    let single = ["compare", "a1.json", "b1.json", "--summary", "s.md", "--fail-if", "failed > +0"];
    let ended = Program::new(&single).within(directory.path()).run().code(0);
    let row = ended.stdout.lines().find(|line| line.starts_with("New-Order p99 ms")).expect("a row");
    assert!(row.contains("~20.0") && row.contains("~25.0"), "{row}");
    assert!(summary().contains("| New-Order p99 ms | \\~20.0 | \\~25.0 (+25.00 %) |"), "{}", summary());
    assert!(summary().contains("| failed | 0 | 0 |"), "{}", summary());
    assert!(ended.stdout.contains("✓ failed > +0: 0 in A\u{a0}a1.json, 0 in B\u{a0}b1.json\n"), "{ended:?}");
}

#[test]
fn machines_get_junit_annotations_a_step_summary_and_a_badge() {
    let directory = scratch();
    in_turns(directory.path());
    let step = directory.path().join("step.md");
    fs::write(&step, "before\n").expect("a summary");
    let gates = ["--fail-if", "nopm < -4%", "--fail-if", "nopm < -5%", "--fail-if", "nopm < -9%"];
    let documents = ["--junit", "j.xml", "--badge", "b.svg", "--github"];
    let arguments = [&["compare", "--a", "a*.json", "--b", "b*.json"], &gates[..], &documents].concat();
    let run = |more: &[&str]| {
        let program = Program::new(&[&arguments, more].concat()).within(directory.path());
        program.env("GITHUB_STEP_SUMMARY", &step).run().code(4)
    };
    let ended = run(&[]);
    let read = |name: &str| fs::read_to_string(directory.path().join(name)).expect("a document");
    let junit = read("j.xml");
    for words in [
        "<testsuites name=\"lydite\" tests=\"4\" failures=\"1\" errors=\"1\">",
        "name=\"nopm &lt; -4% in B b*.json\"",
        "<failure message=\"nopm &lt; -4%: 24,199 in A\u{a0}a*.json, 22,998 in B\u{a0}b*.json (-4.96 %, ",
        "<error message=\"nopm &lt; -5%: ",
        "<system-out>B is worse: ",
    ] {
        assert!(junit.contains(words), "{words}: {junit}");
    }
    for words in [
        "::error title=nopm < -4%25 in B b*.json::nopm < -4%25: 24,199 in A",
        "::error title=Undecided%3A nopm < -5%25 in B b*.json::",
        "::notice title=nopm < -9%25 in B b*.json::",
    ] {
        assert!(ended.stdout.lines().any(|line| line.starts_with(words)), "{words}: {ended:?}");
    }
    let summary = read("step.md");
    assert!(
        summary.starts_with("before\n### Lydite: comparison\n") && summary.contains("| ? | <code>"),
        "{summary}"
    );
    let badge = read("b.svg");
    assert!(badge.starts_with("<svg ") && badge.contains(">-5.0 %, 1 failed</text>"), "{badge}");

    run(&["--undecided", "pass"]);
    assert!(read("j.xml").contains("failures=\"1\" errors=\"0\""), "{}", read("j.xml"));
    run(&["--undecided", "fail"]);
    assert!(read("j.xml").contains("failures=\"2\" errors=\"0\""), "{}", read("j.xml"));

    // A broken database passes no gate.
    let path = directory.path().join("b2.json");
    let mut result = RunResult::load(&path).expect("a result");
    let check = |id: &str| CheckResult {
        id: id.into(),
        ok: false,
        detail: "broken".into(),
        when: CheckedWhen::After,
        seconds: 0.0,
    };
    result.checks.push(check("rows"));
    result.save(&path).expect("a result");
    let ended = compare(directory.path(), &["--fail-if", "nopm < -50%", "--junit", "j.xml"]).code(1);
    assert!(
        ended
            .only_error()
            .contains("B\u{a0}b2.json can't pass --fail-if: its database failed the checks rows")
    );
    assert!(read("j.xml").contains("name=\"checks of the database\""), "{}", read("j.xml"));
}
