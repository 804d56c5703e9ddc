//! Sessions that open a connection for each transaction.

use crate::loaded;
use crate::program::{assert_checks_hold, json, lydite, scratch, text, total};
use lydite_testkit::{mariadb, postgres};
use serde_json::Value;

/// Ways of sending transactions.
const MODES: &[&str] = &["statements", "batched", "procedures"];

/// Runs for a moment in each of these modes, and returns the results.
fn in_each(modes: &[&str], url: &str) -> Vec<Value> {
    let directory = scratch();
    let run = |tx: &&str| {
        let path = directory.path().join(tx);
        let plan = ["run", url, "--tx", tx, "--terminals", "2", "--warmup", "0", "--duration", "1s"];
        let shown = lydite(&[&plan[..], &["--json", text(&path)]].concat()).code(0).stdout;
        let result = json(&path);
        assert_checks_hold(&result, &["before", "after"]);
        assert_eq!((total(&result, "failed"), total(&result, "unknown")), (0, 0), "{tx}: {result}");
        let per_transaction = result["target"]["settings"]["connection"] == "per-transaction";
        assert_eq!(shown.contains("connections per second"), per_transaction, "{tx}: {shown}");
        result
    };
    modes.iter().map(run).collect()
}

/// Asserts that each attempt at a transaction opened a connection, and that the time of it is known.
#[track_caller]
fn assert_connects(result: &Value) {
    let [endpoint] = &result["endpoints"].as_array().expect("endpoints")[..] else { panic!("{result}") };
    let count = |name: &str| endpoint[name].as_u64().expect(name);
    // Each session opened one more before its first transaction.
    assert!(count("transactions") > 0 && count("opened") >= count("transactions"), "{endpoint}");
    assert!(endpoint["connecting_s"].as_f64().is_some_and(|seconds| seconds > 0.0), "{endpoint}");
    assert_eq!(result["target"]["settings"]["connection"], "per-transaction");
}

#[test]
fn each_transaction_of_postgresql_opens_a_connection_in_every_mode() {
    let url = loaded::on_postgres("per_transaction", 1);
    in_each(MODES, &format!("{url}?connection=per-transaction")).iter().for_each(assert_connects);
    let limits = "options=-c%20statement_timeout=1min&statement_timeout=1m";
    let limited = in_each(&MODES[..1], &format!("{url}?connection=per-transaction&{limits}"));
    limited.iter().for_each(assert_connects);
    let kept = in_each(&MODES[1..2], &format!("{url}?connection=kept"));
    assert!(kept.iter().all(|result| result["endpoints"].is_null()), "{kept:?}");
    let left = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = '{}'",
        url.rsplit('/').next().expect("a database")
    );
    loaded::wait_until_alone(|| postgres::shared().psql("postgres", &left));
}

#[test]
fn each_transaction_of_mariadb_opens_a_connection_in_every_mode() {
    let server = loaded::mariadb(1, &mariadb::FAST);
    let url = server.url("tpcc");
    in_each(MODES, &format!("{url}?connection=per-transaction")).iter().for_each(assert_connects);
}

#[test]
fn a_connection_for_each_transaction_has_no_life_time_no_affinity_and_no_position() {
    let url = "postgres://h,i/d?connection=per-transaction";
    for (arguments, words) in [
        (vec![format!("{url}&connection_lifetime=1m")], "leave one of the two out"),
        (vec![url.to_owned(), "--affinity".to_owned()], "a session has no endpoint of its own"),
        (
            [
                "postgres://h/d?connection=per-transaction",
                "--replicas",
                "postgres://r/d",
                "--staleness",
                "session",
            ]
            .map(str::to_owned)
            .to_vec(),
            "the position of a commit ends",
        ),
    ] {
        let all: Vec<&str> =
            ["run"].into_iter().chain(arguments.iter().map(String::as_str)).chain(["--quiet"]).collect();
        let refused = lydite(&all).code(2);
        assert!(refused.stderr.contains(words), "{all:?}: {}", refused.stderr);
    }
}
