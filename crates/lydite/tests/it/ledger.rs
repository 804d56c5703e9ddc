//! The ledger of a run: what a database acknowledged and then lost, or did twice, is found, although all conditions
//! hold.

use crate::kit::python_with_libraries;
use crate::loaded;
use crate::program::{
    Program, assert_checks_hold, check_after, has_each, json, longer_windows, lydite, scratch, text, total,
    windows_from,
};
use lydite_testkit::postgres;
use serde_json::Value;

const SDK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sdk/python");
const BROKEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/drivers/broken.py");

/// The ledger of a result, which must have one.
#[track_caller]
fn ledger(result: &Value) -> (bool, &str) {
    check_after(result, "ledger")
}

/// The number before some words.
#[track_caller]
fn number_before(detail: &str, words: &str) -> i64 {
    let (before, _) = detail.split_once(words).expect(words);
    before.rsplit(' ').next().and_then(|number| number.parse().ok()).expect(detail)
}

/// The number after some words.
#[track_caller]
fn number_after(detail: &str, words: &str) -> i64 {
    let (_, after) = detail.split_once(words).expect(words);
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect(detail)
}

/// Runs a driver that is broken in this way until its transactions of this type can be judged. All conditions must hold,
/// and the ledger must not: returns its detail, the committed transactions of the window, and the success log of the
/// result, which must not hold either if `of` is logged.
fn found_in(kind: &str, of: &str) -> (String, i64, Value) {
    let python = python_with_libraries();
    windows_from("3s", |window| {
        let place = scratch();
        let (store, path) = (place.path().join("store.sqlite"), place.path().join("result.json"));
        let log = place.path().join("success.log");
        let url =
            format!("driver:env PYTHONPATH={SDK} STORE_FILE={} {python} {BROKEN} {kind}", store.display());
        let run = ["run", &url, "--warehouses", "1", "--terminals", "2", "--warmup", "0", "--quiet"];
        let mix = ["--mix", "40,40,0,20,0", "--set", "size=tiny", "--duration", window];
        let files = ["--json", text(&path), "--success-log", text(&log)];
        let ended = lydite(&[&run[..], &mix, &files].concat());
        let result = json(&path);
        let committed = result["transactions"][of]["committed"].as_i64().expect("a count");
        let (ok, detail) = ledger(&result);
        // Perhaps none of so few is a wrong one; and a machine under load may leave some without an answer.
        if ok && committed < 50 || total(&result, "unknown") > 0 {
            return None;
        }
        assert!(!ok, "{kind}: {detail}");
        let ended = ended.code(1);
        let broken = result["checks"].as_array().expect("checks").iter().filter(|check| check["ok"] == false);
        let logs = usize::from(of != "delivery");
        // What is there twice is there. A sampled row that is missing is missed.
        let sample = usize::from(kind != "pays_twice");
        if sample > 0 && check_after(&result, "sample").0 {
            // The sample of so few may have none of the missing rows.
            return None;
        }
        assert_eq!(broken.count(), 1 + logs + sample, "the conditions see nothing: {}", result["checks"]);
        assert!(ended.stdout.contains("12/12 after the run, ledger FAILS"), "{}", ended.stdout);
        assert_eq!(result["status"], "complete");
        Some((detail.to_owned(), committed, result["success_log"].clone()))
    })
}

#[test]
fn a_driver_that_acknowledges_without_a_commit_is_found_by_the_ledger_alone() {
    for (kind, of, [name, names], evidence) in [
        ("forgets_orders", "new_order", ["New-Order", "New-Orders"], "Σ D_NEXT_O_ID grew by "),
        ("forgets_payments", "payment", ["Payment", "Payments"], "HISTORY grew by "),
    ] {
        let (detail, committed, log) = found_in(kind, of);
        let names = if detail.contains(names) { names } else { name };
        let acknowledged = number_before(&detail, &format!(" acknowledged {names} "));
        let missing = number_before(&detail, &format!(" of {acknowledged} acknowledged"));
        assert_eq!(acknowledged - missing, number_after(&detail, evidence), "{detail}");
        assert!(acknowledged >= committed && missing > 0, "{committed}: {detail}");
        assert_eq!((log["lost"].as_i64(), log["resurrected"].as_i64()), (Some(missing), Some(0)), "{log}");
    }
    let (detail, _, log) = found_in("forgets_deliveries", "delivery");
    assert_eq!(
        (&log["lost"], &log["resurrected"]),
        (&0.into(), &0.into()),
        "deliveries are not logged: {log}"
    );
    let acknowledged = number_before(&detail, " acknowledged deliver");
    assert!(number_before(&detail, &format!(" of {acknowledged} acknowledged")) > 0, "{detail}");
    assert!(detail.contains("missing: NEW-ORDER "), "{detail}");
}

#[test]
fn a_driver_that_does_twice_what_it_acknowledges_is_found_by_the_ledger_alone() {
    let (detail, committed, log) = found_in("pays_twice", "payment");
    let acknowledged = number_before(&detail, " acknowledged: HISTORY");
    let more = number_before(&detail, " Payment");
    assert!(acknowledged == more && acknowledged >= committed, "{committed}: {detail}");
    assert_eq!((log["lost"].as_i64(), log["resurrected"].as_i64()), (Some(0), Some(more)), "{log}");
    assert_eq!(number_after(&detail, "HISTORY grew by "), acknowledged + more, "{detail}");
    assert!(
        detail.ends_with("somebody else writes to this database, or a commit was applied twice"),
        "{detail}"
    );
}

/// It loses the last second or less of what it acknowledged, perhaps nothing: the verdict must fit what is there.
#[test]
fn what_a_mariadb_without_durable_commits_loses_when_it_is_killed_is_counted() {
    let server = loaded::mariadb(1, &["innodb-flush-log-at-trx-commit=0"]);
    let url = server.url("tpcc");
    let directory = scratch();
    let path = directory.path().join("result.json");
    let orders =
        || server.sql("tpcc", "SELECT sum(d_next_o_id) FROM district").parse::<i64>().expect("a sum");
    windows_from("6s", |window| {
        let before = orders();
        let plan = ["run", &url, "--duration", window, "--warmup", "0", "--terminals", "3", "--quiet"];
        let mut running = Program::new(&[&plan[..], &["--json", text(&path)]].concat()).start();
        if !running.reaches("orders", || orders() > before + 20) {
            return None;
        }
        server.kill();
        server.restart();
        let ended = running.wait();
        // On a machine under load the server may come back after the end of the run.
        if !matches!(ended.code, Some(0 | 1)) {
            return None;
        }
        let result = json(&path);
        let grown = orders() - before;
        let (ok, detail) = ledger(&result);
        println!("{grown} orders: {detail}");
        let checks = result["checks"].as_array().expect("checks");
        let conditions = checks.iter().filter(|check| check["id"] != "ledger" && check["id"] != "sample");
        assert!(conditions.clone().all(|check| check["ok"] == true), "{checks:?}");
        let ended = ended.code(i32::from(!ok));
        assert_eq!(ended.stdout.contains("ledger FAILS"), !ok, "{}", ended.stdout);
        if ok {
            let acknowledged = number_before(detail, " New-Orders");
            let more =
                if detail.contains("New-Orders and ") { number_after(detail, "New-Orders and ") } else { 0 };
            assert_eq!(acknowledged + more, grown, "{detail}");
        } else if detail.contains("New-Orders are missing") {
            let acknowledged = number_before(detail, " acknowledged New-Orders");
            let missing = number_before(detail, &format!(" of {acknowledged} acknowledged"));
            assert_eq!(
                (number_after(detail, "D_NEXT_O_ID grew by "), acknowledged - missing),
                (grown, grown)
            );
        }
        Some(())
    });
}

#[test]
fn clients_with_warehouses_of_their_own_each_keep_a_ledger() {
    let url = loaded::on_postgres("ledgers", 2);
    let directory = scratch();
    let path = directory.path().join("result.json");
    let usual = ["run", &url, "--warmup", "0", "--terminals", "2", "--quiet"];
    let (in_first, in_second) = (["--set", "active_warehouses=1"], ["--set", "active_warehouses=2-2"]);
    let orders = |warehouse: u32| {
        let sum = format!("SELECT sum(d_next_o_id) FROM district WHERE d_w_id = {warehouse}");
        postgres::shared().psql("ledgers", &sum).parse::<u64>().expect("a sum")
    };
    let before = orders(2);
    // It goes on beside the others, and leaves them the processors.
    let goes_on = ["--duration", "1h", "--mode", "open", "--rate", "50"];
    let mut other = Program::new(&[&usual[..], &goes_on, &in_second].concat()).start();
    other.wait_until("orders of the other client", || orders(2) > before);
    longer_windows(|window| {
        let then = orders(2);
        let more = ["--duration", window, "--json", text(&path)];
        lydite(&[&usual[..], &more, &in_first].concat()).code(0);
        let result = json(&path);
        assert_checks_hold(&result, &["before", "after"]);
        (has_each(&result, &["new_order"]) && orders(2) > then).then_some(())
    });
    // In one warehouse the ledger of each client would find the rows of the other.
    let refused = lydite(&[&usual[..], &["--duration", "1s"], &in_second].concat()).code(2);
    let error = refused.only_error();
    assert!(error.contains("another run changes these warehouses (backend PID "), "{error}");
    assert!(
        error.contains(", warehouses 2 to 2): wait for its end, or choose others with --set "),
        "{error}"
    );
    // A run that would drop the tables needs all warehouses.
    let refused = lydite(&[&usual[..], &["--duration", "1s", "--fresh"], &in_first].concat()).code(2);
    assert!(refused.only_error().contains("another run changes these warehouses"), "{refused:?}");
    let load = ["load", &url, "--warehouses", "2", "--size", "tiny", "--fresh", "--quiet"];
    let refused = lydite(&load).code(2);
    assert!(refused.only_error().contains("another run changes these warehouses"), "{refused:?}");
    assert_tests_are_refused(&url);
    assert!(other.is_running());
    // A run that was killed leaves nothing behind.
    other.signal(9);
    let _killed = other.wait();
    lydite(&[&usual[..], &["--duration", "1s"], &in_second].concat()).code(0);
}

#[test]
fn a_second_run_on_the_same_warehouses_of_a_mariadb_is_refused() {
    let server = loaded::mariadb(2, &[]);
    let url = server.url("tpcc");
    let usual = ["run", &url, "--warmup", "0", "--terminals", "2", "--quiet"];
    let orders =
        || server.sql("tpcc", "SELECT sum(d_next_o_id) FROM district").parse::<u64>().expect("a sum");
    let before = orders();
    let in_second = ["--set", "active_warehouses=2-2"];
    // It goes on beside the others, and leaves them the processors.
    let goes_on = ["--duration", "1h", "--mode", "open", "--rate", "50"];
    let mut other = Program::new(&[&usual[..], &goes_on, &in_second].concat()).start();
    other.wait_until("orders of the other client", || orders() > before);
    let refused = lydite(&[&usual[..], &["--duration", "1s"]].concat()).code(2);
    let error = refused.only_error();
    assert!(error.contains("another run changes these warehouses (connection "), "{error}");
    assert_tests_are_refused(&url);
    lydite(&[&usual[..], &["--duration", "1s", "--set", "active_warehouses=1"]].concat()).code(0);
    other.signal(9);
    let _killed = other.wait();
    lydite(&[&usual[..], &["--duration", "1s"]].concat()).code(0);
    // A test refuses a run as well.
    let before = orders();
    let mix = ["verify", &url, "--isolation", "--workload", "tpcc", "--duration", "1h", "--quiet"];
    let mut other = Program::new(&mix).start();
    other.wait_until("orders of the test", || orders() > before);
    let refused = lydite(&[&usual[..], &["--duration", "1s"]].concat()).code(2);
    assert!(refused.only_error().contains("another run changes these warehouses"), "{refused:?}");
    assert_tests_are_refused(&url);
    other.signal(9);
    let _killed = other.wait();
}

/// Checks that no test which changes the tables of TPC-C begins beside a run.
fn assert_tests_are_refused(url: &str) {
    let tests: [&[&str]; 3] = [
        &["verify", url, "--duration", "1s", "--quiet"],
        &["verify", url, "--isolation", "--workload", "tpcc", "--duration", "1s", "--quiet"],
        &["audit", url, "--quick", "--only", "isolation", "--quiet"],
    ];
    for test in tests {
        let refused = lydite(test).code(2);
        assert!(refused.only_error().contains("another run changes these warehouses"), "{refused:?}");
    }
}

/// A Payment of warehouse 1 by a customer of another server, of which the home's half alone is committed.
const HOME_OF_A_PAYMENT: &str = "BEGIN; \
    UPDATE district SET d_ytd = d_ytd + 77.77 WHERE d_w_id = 1 AND d_id = 1; \
    UPDATE warehouse SET w_ytd = w_ytd + 77.77 WHERE w_id = 1; \
    INSERT INTO history SELECT 1, 1, 2, 1, 1, now(), 77.77, 'half' FROM warehouse WHERE w_id = 1; COMMIT";

#[test]
fn a_commit_of_which_one_shard_has_its_half_is_named() {
    let servers: Vec<postgres::Server> =
        (0..3).map(|_| postgres::Server::start(&["fsync=off", "shared_buffers=64MB"])).collect();
    let shards: Vec<String> =
        servers[1..].iter().map(|shard| format!("127.0.0.1:{}", shard.port())).collect();
    let url = format!("{}?shards={}", servers[0].url("postgres"), shards.join(","));
    lydite(&["load", &url, "--warehouses", "2", "--size", "tiny", "--quiet"]).code(0);
    let directory = scratch();
    let (path, log) = (directory.path().join("result.json"), directory.path().join("success.log"));
    let orders = || {
        let sum = "SELECT sum(d_next_o_id) FROM district";
        servers[1].psql("postgres", sum).parse::<u64>().expect("a sum")
    };
    let result = windows_from("3s", |window| {
        lydite(&["load", &url, "--warehouses", "2", "--size", "tiny", "--quiet", "--fresh"]).code(0);
        let before = orders();
        let plan = ["run", &url, "--duration", window, "--warmup", "0", "--terminals", "2", "--quiet"];
        let files = ["--json", text(&path), "--success-log", text(&log)];
        let mut running = Program::new(&[&plan[..], &files].concat()).start();
        if !running.reaches("orders", || orders() > before) {
            return None;
        }
        servers[1].psql("postgres", HOME_OF_A_PAYMENT);
        let ended = running.wait();
        let result = json(&path);
        // On a machine under load the half may come after the end.
        if ledger(&result).0 {
            return None;
        }
        ended.code(1);
        Some(result)
    });
    for check in ["ledger", "success-log"] {
        let (ok, detail) = check_after(&result, check);
        assert!(!ok && detail.contains("half a commit of a Payment: HISTORY has "), "{check}: {detail}");
        assert!(!detail.contains("somebody else writes"), "{check}: {detail}");
    }
}
