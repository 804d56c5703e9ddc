//! Runs that go well, in all modes: what the result says, and that the same plan does the same.

use crate::loaded;
use crate::program::{
    self, TYPES, assert_checks_hold, checksums, has_each, json, longer_windows, lydite, scratch, text, total,
    windows_from,
};
use lydite_report::{RunResult, hdr};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Fails unless the object has these names, whatever else it has.
#[track_caller]
fn assert_names(object: &Value, names: &[&str]) {
    let found = object.as_object().unwrap_or_else(|| panic!("no object with {names:?}: {object}"));
    for name in names {
        assert!(found.contains_key(*name), "no {name} in {:?}", found.keys());
    }
}

/// The contract: every name that scripts may rely on. And what must be true of every complete run.
#[track_caller]
fn assert_complete(result: &Value) {
    assert_eq!((&result["status"], &result["format"]), (&"complete".into(), &1.into()));
    assert_eq!(result["lydite"], env!("CARGO_PKG_VERSION"));
    assert_names(
        result,
        &[
            "plan",
            "target",
            "host",
            "window",
            "nopm",
            "tps",
            "efficiency_percent",
            "transactions",
            "aborts",
            "series",
            "client",
            "checks",
            "controls",
            "compliance",
        ],
    );
    assert_names(&result["target"], &["kind", "version", "url", "settings"]);
    assert_names(&result["window"], &["start", "warmup_s", "measured_s"]);
    assert_names(&result["aborts"], &["serialization", "deadlock", "lock_timeout", "other"]);
    assert_names(&result["client"], &["cpu_s", "peak_rss_bytes", "cpu_us_per_transaction"]);
    for name in ["cpu_s", "peak_rss_bytes", "cpu_us_per_transaction"] {
        assert!(result["client"][name].as_f64().expect("a number") > 0.0, "{name}: {}", result["client"]);
    }
    for line in result["compliance"].as_array().expect("rules") {
        assert_names(line, &["rule", "met", "note"]);
    }
    let measured_s = result["window"]["measured_s"].as_f64().expect("a length");
    let seconds: Vec<i64> = serde_json::from_value(result["series"]["second"].clone()).expect("seconds");
    assert_eq!(seconds, (0..measured_s.ceil() as i64).collect::<Vec<_>>());
    let number = |value: &Value| value.as_f64().expect("a number");
    for kind in TYPES {
        let of = &result["transactions"][kind];
        assert_names(of, &["committed", "rolled_back", "retries", "failed", "unknown", "hdr"]);
        let completed =
            of["committed"].as_u64().expect("a count") + of["rolled_back"].as_u64().expect("a count");
        assert!(completed > 0, "{kind}: {of}");
        assert_eq!((&of["failed"], &of["unknown"]), (&0.into(), &0.into()), "{kind}");
        let series: Vec<u64> = serde_json::from_value(result["series"][kind].clone()).expect("a series");
        assert_eq!((series.len(), series.iter().sum()), (seconds.len(), completed), "{kind}");
        let (latency, queue, service) = (&of["latency_ms"], &of["queue_ms"], &of["service_ms"]);
        for distribution in [latency, queue, service] {
            let values = ["p50", "p90", "p95", "p99", "p999", "max"].map(|name| number(&distribution[name]));
            assert!(values.is_sorted() && values[0] >= 0.0, "{kind}: {distribution}");
            assert!(number(&distribution["mean"]) <= values[5], "{kind}: {distribution}");
        }
        // What the user feels is the wait for a session and the database's share; three digits are kept of each.
        for name in ["mean", "p50", "p99", "max"] {
            let (whole, part) = (number(&latency[name]), number(&service[name]));
            assert!(whole >= part * 0.998, "{kind} {name}: latency {whole}, service {part}");
            assert!(part > 0.0, "{kind} {name}: service {part}");
        }
        let (whole, parts) = (number(&latency["mean"]), number(&queue["mean"]) + number(&service["mean"]));
        assert!((whole - parts).abs() <= 0.005 * whole + 0.001, "{kind}: {whole} is not {parts}");
        let histogram = hdr::decode(of["hdr"].as_str().expect("a histogram")).expect("a histogram");
        assert_eq!(histogram.len(), completed, "{kind}: the whole histogram is in the result");
    }
    // Clause 2.4.1.4 rolls back one New-Order in a hundred; nothing else is rolled back.
    for kind in &TYPES[1..] {
        assert_eq!(result["transactions"][kind]["rolled_back"], 0, "{kind}");
    }
    let orders = &result["transactions"]["new_order"];
    let orders = number(&orders["committed"]) + number(&orders["rolled_back"]);
    assert!((number(&result["nopm"]) - orders * 60.0 / measured_s).abs() < 0.5, "{}", result["nopm"]);
    let completed = (total(result, "committed") + total(result, "rolled_back")) as f64;
    assert!((number(&result["tps"]) - completed / measured_s).abs() < 0.5, "{}", result["tps"]);
}

fn assert_self_contained(path: &Path) {
    let page = fs::read_to_string(path).expect("a page");
    assert!(page.starts_with("<!doctype html>") || page.starts_with("<!DOCTYPE html>"), "a page");
    for outside in ["<link", "src=\"", "@import", "url(http", "href=\"http"] {
        assert!(!page.contains(outside), "{outside} reaches out of the page");
    }
    assert!(page.contains("NOPM"), "the number");
}

#[test]
fn each_way_of_sending_runs_on_postgres_with_all_conditions_before_and_after() {
    for tx in ["statements", "batched", "procedures"] {
        let url = loaded::on_postgres(&format!("tx_{tx}"), 1);
        let directory = scratch();
        let (result, page) = (directory.path().join("result.json"), directory.path().join("page.html"));
        let files = ["--json", text(&result), "--report", text(&page)];
        let ended = windows_from("3s", |window| {
            let plan = ["--terminals", "2", "--duration", window, "--warmup", "500ms", "--tx", tx];
            let run = [["run", url.as_str(), "--quiet"].as_slice(), &plan, &files].concat();
            let ended = lydite(&run).code(0);
            has_each(&json(&result), &TYPES).then_some(ended)
        });
        for words in ["NOPM", "New-Order", text(&result), text(&page)] {
            assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
        }
        assert_eq!(ended.stderr, "", "nothing to complain of");
        let result = json(&result);
        assert_complete(&result);
        assert_checks_hold(&result, &["before", "after"]);
        assert_eq!((&result["plan"]["mode"], &result["plan"]["tx"]), (&"direct".into(), &tx.into()));
        assert_eq!(result["plan"]["terminals"], 2);
        assert_eq!(result["target"]["kind"], "postgres");
        assert_eq!(result["target"]["url"], url.as_str());
        assert!(result["target"]["settings"]["shared_buffers"].is_string(), "{}", result["target"]);
        assert_eq!(result["window"]["warmup_s"], 0.5);
        assert!(result["load"].is_null(), "this run loaded nothing");
        assert_self_contained(&page);
    }
}

#[test]
fn a_run_on_an_empty_database_loads_it_first_and_tells_what_that_took() {
    let directory = scratch();
    let result = directory.path().join("result.json");
    let (url, found) = windows_from("3s", |window| {
        let database = directory.path().join(format!("tpcc_{window}.sqlite"));
        let url = format!("sqlite:{}", text(&database));
        let plan = ["--warehouses", "1", "--terminals", "2", "--duration", window, "--warmup", "0"];
        let run = [["run", url.as_str(), "--json", text(&result)].as_slice(), &plan].concat();
        let ended = lydite(&run).code(0);
        assert!(ended.stderr.contains("Loading 1 warehouse"), "progress: {}", ended.stderr);
        let found = json(&result);
        has_each(&found, &TYPES).then_some((url, found))
    });
    assert_complete(&found);
    assert_checks_hold(&found, &["before", "after"]);
    assert_names(&found["load"], &["seconds", "rows", "bytes", "warehouses"]);
    assert_eq!(found["load"]["warehouses"], 1);
    assert!(found["load"]["rows"].as_u64().expect("a count") > 590_000, "{}", found["load"]);
    assert_eq!((&found["target"]["kind"], &found["target"]["url"]), (&"sqlite".into(), &url.into()));

    // Results are read again, shown side by side and compared.
    let page = directory.path().join("both.html");
    let ended = lydite(&["report", text(&result), text(&result), "-o", text(&page)]).code(0);
    assert!(ended.stdout.contains(text(&page)), "{ended:?}");
    assert_self_contained(&page);
    let ended = lydite(&["compare", text(&result), text(&result)]).code(0);
    assert!(ended.stdout.contains("NOPM") || ended.stdout.contains("nopm"), "{ended:?}");
    let read = RunResult::load(&result).expect("a result");
    assert_eq!(read.warehouses(), Some(1));
}

#[test]
fn without_a_target_the_built_in_gemel_is_measured_in_a_temporary_directory_that_is_gone_afterwards() {
    let (directory, temporary) = (scratch(), scratch());
    let result = directory.path().join("result.json");
    let found = windows_from("2s", |window| {
        let plan = ["run", "-w", "1", "-d", window, "--warmup", "0", "--quiet", "--json", text(&result)];
        program::Program::new(&plan).env("TMPDIR", temporary.path()).run().code(0);
        let found = json(&result);
        has_each(&found, &TYPES).then_some(found)
    });
    assert_complete(&found);
    assert_checks_hold(&found, &["before", "after"]);
    let target = &found["target"];
    assert_eq!((&target["kind"], &target["url"]), (&"gemel".into(), &"gemel: (temporary)".into()));
    assert_eq!(target["embedded"], true);
    assert_eq!(fs::read_dir(temporary.path()).expect("a directory").count(), 0);
}

#[test]
fn emulated_users_wait_and_their_deliveries_are_deferred() {
    let url = loaded::on_postgres("emulated", 1);
    let directory = scratch();
    let (plan, result, log) =
        ["plan.toml", "result.json", "deliveries.jsonl"].map(|name| directory.path().join(name)).into();
    let result = windows_from("4s", |window| {
        let written = format!(
            "target = \"{url}\"\nmode = \"rte\"\nsessions = 2\nduration = \"{window}\"\nwarmup = \"1s\"\n\
             json = \"{}\"\n[rte]\nwait_factor = 0.002\ndelivery_log = \"{}\"\n",
            text(&result),
            text(&log)
        );
        fs::write(&plan, written).expect("a plan");
        lydite(&["run", "--config", text(&plan), "--quiet"]).code(0);
        let result = json(&result);
        has_each(&result, &TYPES).then_some(result)
    });
    assert_complete(&result);
    assert_checks_hold(&result, &["before", "after"]);
    assert_eq!(result["plan"]["mode"], "rte");
    // Clause 4.2.1: ten for each warehouse unless told otherwise.
    assert_eq!((&result["plan"]["terminals"], &result["plan"]["sessions"]), (&10.into(), &2.into()));
    let delivery = &result["delivery"];
    assert!(delivery["queued"].as_u64() > Some(0) && delivery["completed"].as_u64() > Some(0), "{delivery}");
    assert_eq!(delivery["within_80s_percent"], 100.0, "{delivery}");
    let lines = fs::read_to_string(&log).expect("the delivery log");
    assert!(lines.lines().count() as u64 >= delivery["completed"].as_u64().expect("a count"), "{delivery}");
    for line in lines.lines() {
        assert!(serde_json::from_str::<Value>(line).is_ok_and(|line| line.is_object()), "{line}");
    }
    for kind in TYPES {
        // Clause 5.2.5.7: keying times are constants, think times have a mean; here 0.002 of both.
        let keying =
            0.002 * [18.0, 3.0, 2.0, 2.0, 2.0][TYPES.iter().position(|name| *name == kind).expect("a type")];
        let found = result["pacing"][kind]["keying_min_s"].as_f64().expect("a time");
        assert!(found >= keying, "{kind}: {found} s, not {keying} s");
    }
    assert!(result["transactions"]["delivery"]["interactive_ms"].is_object(), "the answer at the terminal");
}

#[test]
fn an_open_loop_sends_at_its_rate_and_shows_it() {
    let url = loaded::on_postgres("open_loop", 1);
    let directory = scratch();
    let result = directory.path().join("result.json");
    // A machine under load keeps a lower rate only.
    let mut rates = [60.0, 40.0, 20.0, 10.0].into_iter();
    longer_windows(|window| {
        let rate = rates.next().unwrap_or(5.0);
        let per_s = rate.to_string();
        let plan = ["--mode", "open", "--rate", &per_s, "--arrival", "constant", "--terminals", "4"];
        let times = ["--duration", window, "--warmup", "0", "--no-check", "--quiet", "--json", text(&result)];
        lydite(&[["run", url.as_str()].as_slice(), &plan, &times].concat()).code(0);
        let result = json(&result);
        if !has_each(&result, &TYPES) {
            return None;
        }
        assert_complete(&result);
        let told = &result["controls"]["rate"];
        assert_eq!(told["asked"]["per_s"], rate, "what was asked is measured back");
        let seconds = result["plan"]["duration_s"].as_f64().expect("a number");
        assert_eq!(told["actual"]["due"].as_f64(), Some(rate * seconds), "{told}");
        // How late the client was itself, which shows only while a session is free.
        result["client"]["lateness_ms"].is_object().then_some(())
    });
}

#[test]
fn the_null_target_measures_ourselves() {
    let directory = scratch();
    let result = directory.path().join("result.json");
    let result = longer_windows(|window| {
        let plan = ["--warehouses", "3", "--terminals", "2", "--duration", window, "--warmup", "0"];
        lydite(&[["run", "null:", "--quiet", "--json", text(&result)].as_slice(), &plan].concat()).code(0);
        let result = json(&result);
        has_each(&result, &TYPES).then_some(result)
    });
    assert_complete(&result);
    assert_checks_hold(&result, &[]);
    assert_eq!((&result["target"]["kind"], &result["plan"]["warehouses"]), (&"null".into(), &3.into()));
}

/// Sends forty transactions on one session, and gives the checksums of what they leave.
fn forty(name: &str, more: &[&str]) -> Vec<String> {
    let directory = scratch();
    let result = directory.path().join("result.json");
    windows_from("2s", |window| {
        let url = loaded::on_postgres(&format!("{name}_{window}"), 1);
        let rate = (40.0 / window.trim_end_matches('s').parse::<f64>().expect("seconds")).to_string();
        let plan = ["--mode", "open", "--rate", &rate, "--arrival", "constant", "--terminals", "1"];
        let times = ["--duration", window, "--warmup", "0", "--no-check", "--quiet", "--json", text(&result)];
        lydite(&[["run", url.as_str()].as_slice(), &plan, &times, more].concat()).code(0);
        let result = json(&result);
        assert_eq!(result["controls"]["rate"]["actual"]["due"], 40);
        // A machine under load leaves the last ones undone.
        (result["controls"]["queue"]["actual"]["backlog"] == 0).then(|| checksums(&url))
    })
}

#[test]
fn the_same_seed_sends_the_same_transactions_and_leaves_the_same_database() {
    let first = forty("seed_1", &[]);
    assert_ne!(first, loaded::sums(1), "the transactions changed something");
    assert_eq!(first, forty("seed_1_procedures", &["--tx", "procedures", "--seed", "1"]));
    assert_ne!(first, forty("seed_2", &["--seed", "2"]), "another seed sends others");
}

#[test]
fn a_run_without_a_database_tells_of_none() {
    // Nothing is told of processor time per transaction where there was none.
    windows_from("200ms", |window| {
        let ended = lydite(&["run", "null:", "--duration", window, "--warmup", "0", "--quiet"]).code(0);
        let words = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!words.contains("embedded"), "{ended:?}");
        words.contains("of processor per transaction").then_some(())
    });
}

#[test]
fn a_client_of_eight_sessions_reports_its_own_memory_and_an_optimised_one_takes_at_most_forty_megabytes() {
    // Its parent has more.
    let parents = std::hint::black_box(vec![1_u8; 64 << 20]);
    let directory = scratch();
    let result = directory.path().join("result.json");
    let plan =
        ["--terminals", "8", "--duration", "500ms", "--warmup", "0", "--quiet", "--json", text(&result)];
    lydite(&[["run", "null:"].as_slice(), &plan].concat()).code(0);
    let peak = json(&result)["client"]["peak_rss_bytes"].as_u64().expect("a number of bytes");
    // Pages of the program's code count too, and an optimised build has half as many: its limit is 40 MB.
    let most = if cfg!(debug_assertions) { 48_000_000 } else { 40_000_000 };
    assert!((1_000_000..=most).contains(&peak), "{peak} bytes, and {} of the parent", parents.len());
}

#[test]
fn a_warm_up_until_the_throughput_is_steady_has_thirty_seconds_and_a_limit() {
    let directory = scratch();
    let result = directory.path().join("result.json");
    let run =
        ["run", "null:", "--quiet", "--mode", "open", "--rate", "20", "--arrival", "constant", "-d", "1s"];
    lydite(&[&run[..], &["--warmup", "0", "--steady", "--json", text(&result)]].concat()).code(0);
    let found = json(&result);
    let warmup_s = found["window"]["warmup_s"].as_f64().expect("a length");
    assert!((32.0..600.0).contains(&warmup_s), "{warmup_s}");
    assert_eq!(found["plan"]["steady_s"], 600.0);
    assert_eq!(found["series"]["second"].as_array().map(Vec::len), Some(1));
    assert_eq!(found["warmup_series"]["second"][0], -warmup_s);
    let steady = |line: &&Value| line["rule"] == "steady state";
    let rule = found["compliance"].as_array().expect("rules").iter().find(steady).expect("the rule");
    assert_eq!((&rule["met"], &rule["note"]), (&Value::Null, &"fewer than 10 s with New-Orders".into()));

    let refused = lydite(&[&run[..], &["--steady=20s", "--ci", "10,20"]].concat()).code(2);
    assert!(refused.stderr.contains("--steady: must be at least 35 s"), "{}", refused.stderr);
    assert!(refused.stderr.contains("--steady: needs a run without phases and curves"), "{}", refused.stderr);
}
