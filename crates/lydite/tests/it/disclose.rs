//! `lydite disclose`: the two documents, everything that is missing, and the inputs that it rejects.

use crate::program::{Ended, Program, assert_no_panic, lydite, scratch, text};
use serde_json::{Value, json as value};
use std::fs;
use std::path::{Path, PathBuf};

const URL: &str = "postgres://me@127.0.0.1:1/shop";

fn save(path: &Path, document: &Value) -> String {
    fs::write(path, document.to_string()).unwrap();
    text(path).to_owned()
}

/// The result of a run of two hours that keeps all rules but those that none can keep.
fn result() -> Value {
    let of = value!({ "committed": 1000, "share_percent": 20.0, "latency_ms": { "mean": 3.0, "p90": 5.0, "max": 9.0 } });
    let checks = |when: &str| -> Vec<Value> {
        (1..=12)
            .map(|n| value!({ "id": format!("3.3.2.{n}"), "ok": true, "detail": "", "when": when, "seconds": 0.1 }))
            .collect()
    };
    let checks = [checks("before"), checks("after")].concat();
    value!({
        "lydite": "0.1.0", "format": 1, "status": "complete", "nopm": 125.0, "tps": 4.6,
        "plan": { "warehouses": 10, "mode": "rte", "terminals": 100, "tx": "statements", "isolation": "repeatable read" },
        "target": {
            "kind": "postgres", "version": "PostgreSQL 15.18", "url": URL,
            "changed_settings": { "max_wal_size": "2GB", "work_mem": "64MB <b>" }
        },
        "host": { "hostname": "driver", "os": "Linux", "kernel": "6", "cpu": "fast", "cores": 2, "memory_bytes": 1024 },
        "window": { "start": "2026-01-01T00:00:00Z", "warmup_s": 2.0, "measured_s": 4.0 },
        "transactions": { "new_order": of, "payment": of, "order_status": of, "delivery": of, "stock_level": of },
        "warmup_series": { "second": [-2, -1], "new_order": [1, 2] },
        "series": { "second": [0, 1, 2, 3], "new_order": [2, 2, 3, 1] },
        "checks": checks,
        "compliance": [
            { "rule": "measurement interval", "clause": "5.5.2.1", "met": true, "note": "120 min" },
            { "rule": "audit", "clause": "9.1.1", "met": false, "note": "no auditor" }
        ],
        "observed": [{
            "source": "db", "name": "pg_stat_bgwriter.checkpoints_req", "unit": "/s", "values": [0.0, 1.0, 0.0, 0.0]
        }]
    })
}

/// The same plan again, on another day.
fn again() -> Value {
    with(&result(), "window/start", value!("2026-01-02T00:00:00Z"))
}

/// The document of an audit that passed.
fn audit() -> Value {
    let tests = ["atomicity-1", "consistency-1", "isolation-7", "durability-1"].map(|id| {
        value!({
            "id": id, "clause": "3.2", "title": "a test", "scope": "local", "steps": ["T1 reads"], "seen": "as it must",
            "case": if id == "isolation-7" { value!("D") } else { Value::Null }, "verdict": "passed", "seconds": 0.1
        })
    });
    value!({
        "lydite": "0.1.0", "format": 1, "status": "complete", "tests": tests,
        "audit": {
            "target": { "kind": "postgres", "version": "PostgreSQL 15.18", "url": URL, "isolation": "repeatable read" },
            "warehouses": 10, "size": "standard", "nodes": null, "only": [], "quick": false, "duration_s": 300.0,
            "wait_s": 2.0, "terminals": 8, "seed": 1
        }
    })
}

/// A copy of an audit with a test of the data, and one that did not run.
fn with_data_test(audit: &Value) -> Value {
    let mut audit = audit.clone();
    let mut add = |id: &str, verdict: &str| {
        let test = with(&audit["tests"][0], "id", value!(id));
        audit["tests"].as_array_mut().expect("tests").push(with(&test, "verdict", value!(verdict)));
    };
    add("data-3", "passed");
    add("isolation-8", "not_run");
    audit
}

/// A copy of a document with one value changed; the path is as in `plan/mode`.
fn with(document: &Value, path: &str, new: Value) -> Value {
    let mut document = document.clone();
    let (parent, key) = path.rsplit_once('/').unwrap_or(("", path));
    let parent = if parent.is_empty() { String::new() } else { format!("/{parent}") };
    let place = document.pointer_mut(&parent).expect("a place");
    match key.parse::<usize>() {
        Ok(index) if place.is_array() => place[index] = new,
        _ => place[key] = new,
    }
    document
}

/// A directory with saved inputs, and the command on them.
struct Case {
    directory: lydite_testkit::Directory,
    result: Value,
    again: Option<Value>,
    audit: Option<Value>,
    prices: Option<&'static str>,
}

impl Case {
    /// With everything that can be given.
    fn whole() -> Self {
        Self {
            directory: scratch(),
            result: result(),
            again: Some(again()),
            audit: Some(audit()),
            prices: Some("currency = 'USD'\n[[part]]\npart = 'server'\nprice = 25000\nmaintenance = 100\n"),
        }
    }

    fn output(&self) -> PathBuf {
        self.directory.path().join("out")
    }

    fn run(&self, more: &[&str]) -> Ended {
        let place = |name: &str| self.directory.path().join(name);
        let mut arguments = vec!["disclose".to_owned(), save(&place("one.json"), &self.result)];
        arguments.extend(self.again.as_ref().map(|again| save(&place("two.json"), again)));
        for (flag, name, document) in [("--audit", "audit.json", &self.audit)] {
            if let Some(document) = document {
                arguments.extend([flag.to_owned(), save(&place(name), document)]);
            }
        }
        if let Some(prices) = self.prices {
            fs::write(place("prices.toml"), prices).unwrap();
            arguments.extend(["--prices".to_owned(), text(&place("prices.toml")).to_owned()]);
        }
        arguments.extend(["-o".to_owned(), text(&self.output()).to_owned()]);
        arguments.extend(more.iter().map(|&argument| argument.to_owned()));
        let ended = lydite(&arguments);
        assert_no_panic(&ended);
        ended
    }

    /// Runs it without PDF, and returns what is missing: clauses and words with their supply.
    fn missing(&self) -> Vec<String> {
        let more = ["--no-pdf", "--json", "-", "--bytes-per-warehouse", "100MB", "--disk", "1TB"];
        let ended = self.run(&more).code(0);
        let document: Value = serde_json::from_str(&ended.stdout).expect("JSON alone");
        assert_eq!(document["files"].as_array().unwrap().len(), 2, "{document}");
        let gaps = document["missing"].as_array().unwrap().iter();
        gaps.map(|gap| {
            let part = |name: &str| gap[name].as_str().unwrap().to_owned();
            assert!(!part("supply").is_empty() && !part("clause").is_empty(), "{gap}");
            format!("{} | {}", part("missing"), part("supply"))
        })
        .collect()
    }
}

/// Each thing that is taken away is missing, with the command that supplies it, and nothing else is.
#[test]
fn everything_that_is_missing_is_listed_with_the_command_that_supplies_it() {
    let usual = Case::whole().missing();
    assert!(usual.iter().any(|gap| gap.starts_with("statement of the sponsor")), "{usual:#?}");
    for never in ["audit:", "price", "second run", "conditions", "space"] {
        let found = usual.iter().find(|gap| gap.contains(never) && !gap.starts_with("audit: no auditor"));
        assert_eq!(found, None, "{usual:#?}");
    }
    let of = |case: Case| {
        let all = case.missing();
        all.into_iter().filter(|gap| !usual.contains(gap)).collect::<Vec<_>>()
    };
    let plain = result();
    let audited = audit();
    let power = |verdict: &str| {
        let test = with(&audited["tests"][3], "id", value!("durability-4"));
        with(&test, "verdict", value!(verdict))
    };
    for (loss, test) in [
        ("durability after the loss of a disk: ", with(&audited["tests"][3], "id", value!("durability-2"))),
        ("durability after the loss of power: ", power("passed")),
    ] {
        assert!(usual.iter().any(|gap| gap.starts_with(loss)), "{usual:#?}");
        let mut tests = audited["tests"].as_array().expect("tests").clone();
        tests.push(test);
        let tested = Case { audit: Some(with(&audited, "tests", value!(tests))), ..Case::whole() }.missing();
        assert!(tested.len() + 1 == usual.len() && !tested.iter().any(|gap| gap.starts_with(loss)));
    }
    // Where it can't be shown, it is missing as ever, once.
    let mut tests = audited["tests"].as_array().expect("tests").clone();
    tests.push(power("not_run"));
    let untested = Case { audit: Some(with(&audited, "tests", value!(tests))), ..Case::whole() }.missing();
    assert_eq!(untested, usual);
    let one = "postgres://one/shop";
    for (case, wanted) in [
        (Case { audit: None, ..Case::whole() }, vec!["there is no audit | lydite audit postgres://"]),
        (
            Case { audit: Some(with(&audited, "audit/quick", value!(true))), ..Case::whole() },
            vec!["it was quick | lydite audit"],
        ),
        (
            Case { audit: Some(with(&audited, "audit/duration_s", value!(10.0))), ..Case::whole() },
            vec!["loads of 5 min in the audit: they had 10.0 s | lydite audit"],
        ),
        (
            Case {
                audit: Some(with(&audited, "tests/1/load", value!({ "nopm": 100.0, "checkpoint": false }))),
                ..Case::whole()
            },
            vec![
                "90 % of the reported throughput in consistency-1: its load had 100 of 125 NOPM | lydite audit \
                 postgres://me@127.0.0.1:1/shop --terminals N",
                "a checkpoint in the load of consistency-1 | lydite audit",
            ],
        ),
        (
            Case {
                audit: Some(with(&audited, "tests/1/load", value!({ "nopm": 113.0, "checkpoint": null }))),
                ..Case::whole()
            },
            vec![],
        ),
        (
            Case {
                audit: Some(with(&with_data_test(&audited), "tests/4/verdict", value!("failed"))),
                ..Case::whole()
            },
            vec![
                "data and inputs of the standard: the database fails data-3 | load it again",
                "tests that did not run: isolation-8 | lydite audit",
            ],
        ),
        (
            Case {
                result: with(
                    &plain,
                    "controls",
                    value!({ "replicas": { "urls": [one, "postgres://two/shop"] } }),
                ),
                audit: Some(with(&audited, "audit/replicas", value!([one]))),
                ..Case::whole()
            },
            vec![
                "replicas that the run read and the audit did not: postgres://two/shop | lydite audit \
                 postgres://me@127.0.0.1:1/shop --replicas postgres://one/shop,postgres://two/shop --json audit.json",
            ],
        ),
        (
            Case { audit: Some(with(&audited, "status", value!("partial"))), ..Case::whole() },
            vec!["it was broken off | lydite audit"],
        ),
        (
            Case { audit: Some(with(&audited, "tests/3/verdict", value!("not_run"))), ..Case::whole() },
            vec!["tests of durability: as it must | lydite audit"],
        ),
        (
            Case { audit: Some(with(&audited, "tests/2/verdict", value!("failed"))), ..Case::whole() },
            vec!["the database fails isolation-7 | mend it"],
        ),
        (
            Case { audit: Some(with(&audited, "audit/warehouses", value!(2))), ..Case::whole() },
            vec!["it had 2 warehouses of size standard, the run 10 | lydite audit"],
        ),
        (
            Case {
                prices: Some(
                    "currency = 'USD'\n[[part]]\npart = 'server'\nprice = 9\nmaintenance = 1\nyears = 1\n",
                ),
                ..Case::whole()
            },
            vec!["3 years of maintenance: a part has 1 | years = 3 in the price sheet"],
        ),
        (Case { prices: None, ..Case::whole() }, vec!["the price of the configuration | lydite disclose"]),
        (Case { again: None, ..Case::whole() }, vec!["a second run of the same plan"]),
        (
            Case { again: Some(with(&again(), "nopm", value!(120.0))), ..Case::whole() },
            vec!["a run differs by -4.00 %, 2 % are allowed"],
        ),
        (
            Case { result: with(&plain, "checks", value!([])), ..Case::whole() },
            vec!["the consistency conditions before the run and after the run"],
        ),
        (
            Case { result: with(&plain, "checks/3/ok", value!(false)), ..Case::whole() },
            vec!["a check of the run fails: 3.3.2.4"],
        ),
        (
            Case { result: with(&plain, "host/cpu", value!("")), ..Case::whole() },
            vec!["facts about the machine of the driver | lydite run"],
        ),
        (
            Case { result: with(&plain, "observed", value!([])), ..Case::whole() },
            vec![
                "the database reports none | lydite run postgres://me@127.0.0.1:1/shop --mode rte --observe db",
            ],
        ),
        (
            Case { result: with(&plain, "compliance/0/met", value!(false)), ..Case::whole() },
            vec![
                "measurement interval: 120 min | lydite run postgres://me@127.0.0.1:1/shop --mode rte --duration 2h",
            ],
        ),
        (
            Case { result: with(&plain, "compliance", value!([])), ..Case::whole() },
            vec!["the result judges none"],
        ),
    ] {
        let found = of(case);
        assert_eq!(found.len(), wanted.len(), "{wanted:?}: {found:#?}");
        for (found, wanted) in found.iter().zip(&wanted) {
            assert!(found.contains(wanted), "{wanted}: {found}");
        }
    }
}

#[test]
fn both_documents_have_their_chapters_and_never_name_the_unit_of_audited_results() {
    let case = Case::whole();
    let ended = case.run(&["--no-pdf"]).code(0);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert!(lines[0].ends_with("things missing, listed first"), "{ended:?}");
    let read = |name: &str| fs::read_to_string(case.output().join(name)).unwrap();
    let (summary, report) = (read("executive-summary.html"), read("full-disclosure.html"));
    for page in [&summary, &report] {
        let lower = page.to_lowercase();
        assert!(!lower.contains("tpmc") && !lower.contains("<script"), "no audited unit, no script");
        assert!(lower.contains("not an audited tpc result"));
        let missing = page.find("Still missing").expect("what is missing");
        let next = page.find("Response times at the terminal").expect("numbers");
        assert!(missing < next, "what is missing comes first");
    }
    // 25 000 and three years of maintenance, by 125 new orders per minute.
    assert!(summary.contains("USD 202.40") && summary.contains("25,300"), "{summary}");
    for part in [
        "0  General items",
        "1  Logical database design",
        "2  Transaction and terminal profiles",
        "3  Transaction and system properties (ACID)",
        "4  Scaling and database population",
        "5  Performance metrics and response times",
        "6  System under test, driver and communication",
        "7  Pricing",
        "8  Availability",
        "9  Audit",
        "isolation-7 (local): case D",
        "CREATE TABLE warehouse (w_id int4 NOT NULL",
        "INSERT INTO orders",
        "work_mem",
        "64MB &lt;b&gt;",
        "mark-line second",
        "T1 reads",
    ] {
        assert!(report.contains(part), "{part}");
    }
    let labelled = Case { result: with(&result(), "label", value!("my TPMC")), ..Case::whole() };
    let ended = labelled.run(&["--no-pdf"]).code(2);
    assert!(ended.stderr.contains("write NOPM instead") && !labelled.output().exists(), "{ended:?}");
}

/// Tests of the data and tests that did not run are no passed tests of clause 3.
#[test]
fn tests_are_counted_by_their_verdicts_and_those_of_the_data_apart() {
    let case = Case { audit: Some(with_data_test(&audit())), ..Case::whole() };
    case.run(&["--no-pdf"]).code(0);
    let read = |name: &str| fs::read_to_string(case.output().join(name)).unwrap();
    let (summary, report) = (read("executive-summary.html"), read("full-disclosure.html"));
    let counts = "4 passed, 0 failed, 1 not run";
    assert!(summary.contains(counts) && report.contains(&format!("clause 3: {counts}")), "{report}");
    let chapter = |id: &str| {
        let from = report.find(&format!("id=\"{id}\"")).expect("a chapter");
        let end = report[from..].find("</section>").expect("its end");
        &report[from..from + end]
    };
    assert!(chapter("acid").contains("isolation-8") && !chapter("acid").contains("data-3"), "{report}");
    assert!(chapter("scaling").contains("data-3"), "{report}");
    let skewed =
        Case { result: with(&result(), "plan/data_skew", value!("zipf:1")), again: None, ..Case::whole() };
    skewed.run(&["--no-pdf"]).code(0);
    let report = fs::read_to_string(skewed.output().join("full-disclosure.html")).unwrap();
    assert!(
        report.contains("The districts are skewed") && !report.contains("rows of a warehouse"),
        "{report}"
    );
}

#[test]
fn everything_wrong_is_named_at_once_and_nothing_is_written() {
    let other = with(&result(), "target/url", value!("postgres://me@elsewhere/shop"));
    let case = Case {
        again: Some(other.clone()),
        audit: Some(with(&audit(), "audit/target/isolation", value!("serializable"))),
        prices: Some("price = 1"),
        ..Case::whole()
    };
    fs::create_dir(case.output()).unwrap();
    fs::write(case.output().join("mine"), "mine").unwrap();
    let place = |name: &str, document: &Value| save(&case.directory.path().join(name), document);
    let partial = place("partial.json", &with(&result(), "status", value!("partial")));
    let plan = place("plan.json", &with(&result(), "plan/terminals", value!(50)));
    let settings = place("settings.json", &with(&again(), "target/changed_settings/work_mem", value!("1MB")));
    let copy = place("copy.json", &result());
    let wrong = place("audit0.json", &audit());
    let nothing = place("nothing.json", &value!({ "format": 1, "lydite": "0" }));
    let page = case.directory.path().join("page.html");
    fs::write(&page, "<html></html>").unwrap();
    let page = text(&page).to_owned();
    let absent = text(&case.directory.path().join("absent.json")).to_owned();
    let sweep = place(
        "summary.json",
        &value!({
            "lydite": "0.1.0", "format": 1, "title": "t", "experiment": "e", "digest": "d", "repetitions": 1,
            "reload": "r", "pause_s": 0.0, "axes": [], "metrics": [], "points": [], "figures": [],
            "environment": { "targets": ["mysql 8"] }
        }),
    );
    let more = [
        &partial, &plan, &settings, &copy, &wrong, &nothing, &page, &absent, &sweep, "--disk", "much",
        "--copies", "0",
    ];
    let ended = case.run(&more.map(|argument| -> &str { argument })).code(2);
    for words in [
        "two.json is of another database",
        "isolation serializable",
        "--prices:",
        "--output:",
        "is not empty: name a new directory",
        "partial.json is the partial result",
        "plan.json has another plan",
        "settings.json is of a database with other settings than",
        "(work_mem (64MB <b> / 1MB))",
        "copy.json are the same run, which began at 2026-01-01T00:00:00Z",
        "audit0.json is an audit: name it with --audit",
        "nothing.json is not a Lydite result: it has no transactions",
        "page.html is not a Lydite result: it is XML or HTML; a result is JSON that begins with",
        "cannot read ",
        "absent.json",
        "summary.json is of another database (mysql 8) than",
        "--disk:",
        "--copies:",
    ] {
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
    let left: Vec<_> = fs::read_dir(case.output()).unwrap().collect();
    assert_eq!(left.len(), 1, "only the user's own file");
}

/// A real run, and a user without a browser, who gets the pages and one line of advice.
#[test]
fn a_run_of_gemel_is_disclosed_without_a_browser() {
    let directory = scratch();
    let place = |name: &str| directory.path().join(name);
    let url = format!("gemel:{}", place("database").display());
    let run = ["run", &url, "-w", "1", "--size", "small", "-d", "1s", "--warmup", "0s", "--quiet"];
    lydite(&[&run[..], &["--json", text(&place("r.json"))]].concat()).code(0);
    let (result, output) = (place("r.json"), place("out"));
    let arguments = ["disclose", text(&result), "-o", text(&output)];
    let ended = Program::new(&arguments).env("PATH", directory.path()).run().code(0);
    assert_no_panic(&ended);
    assert!(ended.stderr.contains("no PDF: no Chromium is on the PATH"), "{ended:?}");
    let mut files: Vec<String> = fs::read_dir(place("out"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort_unstable();
    assert_eq!(files, ["executive-summary.html", "full-disclosure.html"]);
    let report = fs::read_to_string(place("out").join("full-disclosure.html")).unwrap();
    for part in
        ["there is no audit", "size small", "New-Order response times", "Transactions over a key-value store"]
    {
        assert!(report.contains(part), "{part}");
    }
    assert!(!report.to_lowercase().contains("tpmc"));
}
