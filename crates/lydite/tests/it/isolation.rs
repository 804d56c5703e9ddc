//! `lydite verify --isolation` on real databases: what they do not keep is found and explained, what they keep is not
//! accused, and nothing of it stays behind.

use crate::faults::Lab;
use crate::loaded;
use crate::program::{
    Ended, Program, assert_no_panic, json, longer_windows, lydite, scratch, text, windows_from,
};
use lydite_testkit::mariadb::{self, FAST};
use lydite_testkit::postgres::{self, Server};
use lydite_testkit::{etcd, redis};
use serde_json::Value;
use std::time::{Duration, Instant};

/// Checks a database. The document, too.
fn check(url: &str, duration: &str, more: &[&str]) -> (Ended, Value) {
    let directory = scratch();
    let file = directory.path().join("found.json");
    let arguments = ["verify", url, "--isolation", "--duration", duration, "--json", text(&file)];
    let ended = Program::new(&[&arguments[..], more].concat()).run();
    assert_no_panic(&ended);
    (ended, json(&file))
}

/// Checks a database for longer and longer, until an anomaly of this kind is found.
pub(crate) fn found(url: &str, kind: &str, more: &[&str]) -> (Ended, Value) {
    longer_windows(|duration| {
        let (ended, document) = check(url, duration, more);
        anomaly(&document, kind).is_some().then_some((ended, document))
    })
}

/// Returns an anomaly that the data show without the order of sessions or real time.
fn anomaly<'a>(document: &'a Value, kind: &str) -> Option<&'a Value> {
    let anomalies = document["isolation"]["anomalies"].as_array().expect("anomalies");
    anomalies.iter().find(|anomaly| anomaly["kind"] == kind && anomaly["order"] == "data")
}

/// Checks a database until its transactions have met often enough, which must not refute its level. Then checks it for as
/// many seconds as `LYDITE_TEST_ISOLATION` says, with a new seed for each check.
#[track_caller]
pub(crate) fn assert_not_refuted(url: &str, more: &[&str]) -> Value {
    let document = checked_until_proof(url, more);
    let seconds =
        std::env::var("LYDITE_TEST_ISOLATION").ok().map_or(0, |text| text.parse().expect("seconds"));
    let (begun, mut transactions) = (Instant::now(), 0);
    for seed in (2..).take_while(|_| begun.elapsed() < Duration::from_secs(seconds)) {
        let (ended, document) = check(url, "20s", &[more, &["--seed", &format!("{seed}")]].concat());
        assert!(document["isolation"]["refuted"] == false, "{url}, seed {seed}: {ended:?}");
        ended.code(0);
        transactions += document["isolation"]["transactions"]["committed"].as_u64().expect("a number");
    }
    if seconds > 0 {
        println!("{url} {more:?}: {transactions} committed transactions in {seconds} s refute nothing");
    }
    document
}

/// Checks a database for longer and longer, until its transactions have met often enough.
#[track_caller]
fn checked_until_proof(url: &str, more: &[&str]) -> Value {
    longer_windows(|duration| {
        let (ended, document) = check(url, duration, more);
        let isolation = &document["isolation"];
        let proof = isolation["transactions"]["dependencies"].as_u64() > Some(50);
        assert!(isolation["refuted"] == false, "{ended:?}");
        if !proof {
            return None;
        }
        ended.code(0);
        Some(document)
    })
}

#[test]
fn repeatable_read_of_postgresql_shows_write_skew_with_its_transactions_and_serializable_shows_nothing() {
    let server = postgres::shared();
    let url = server.create_database("isolated");
    let (ended, document) = found(&format!("{url}?isolation=repeatable-read"), "write-skew", &[]);
    let ended = ended.code(0);
    assert_eq!(document["isolation"]["asked"], "snapshot-isolation");
    assert_eq!(document["isolation"]["strongest_not_refuted"], "snapshot-isolation", "{}", ended.stdout);
    let skew = anomaly(&document, "write-skew").expect("a write skew");
    for transaction in skew["transactions"].as_array().expect("transactions") {
        let (id, ops) =
            (transaction["id"].as_str().expect("an id"), transaction["ops"].as_str().expect("ops"));
        assert!(ops.contains("append ") || ops.contains("r "), "{ops}");
        assert!(ended.stdout.contains(&format!("{id} comes before ")), "{}", ended.stdout);
    }
    // A row that was missed in a range is a phantom; a change that was missed in a row is a write skew.
    let (_, document) = found(&format!("{url}?isolation=repeatable-read"), "phantom", &[]);
    let phantom = anomaly(&document, "phantom").expect("a phantom");
    assert_eq!(phantom["against"], "serializable");
    assert!(phantom["explanation"].to_string().contains(" inserted"), "{phantom}");
    // The same history is refuted at the level above, and by those who judge the file.
    let directory = scratch();
    let history = directory.path().join("history.jsonl");
    let refuted = longer_windows(|duration| {
        let more = ["--level", "serializable", "--history", text(&history)];
        let (ended, document) = check(&format!("{url}?isolation=repeatable-read"), duration, &more);
        anomaly(&document, "write-skew").is_some().then_some(ended)
    });
    refuted.code(1);
    let judged = lydite(&["verify", "--check-history", text(&history)]).code(1);
    assert!(judged.stdout.contains("write skew (G2-item)"), "{judged:?}");
    lydite(&["verify", "--check-history", text(&history), "--level", "snapshot-isolation"]).code(0);

    assert_not_refuted(&format!("{url}?isolation=serializable"), &[]);
    assert_eq!(server.psql("isolated", "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "0");
}

#[test]
fn gemel_keeps_each_of_its_levels_over_both_engines() {
    for isolation in ["read-committed", "snapshot", "serializable"] {
        for workload in ["list-append", "register"] {
            let url = format!("gemel:?isolation={isolation}&durability=none");
            let document = assert_not_refuted(&url, &["--transactions", "5000", "--workload", workload]);
            assert_eq!(document["isolation"]["places"], serde_json::json!(["memory", "disk"]));
        }
    }
}

/// Without its registry of snapshots, Gemel is the known-bad database that needs no server.
#[test]
fn gemel_without_its_registry_is_found_to_skew_its_snapshots() {
    let (ended, document) = found("gemel:?csr=off&durability=none", "skewed-snapshots", &[]);
    ended.code(1);
    assert_eq!(document["isolation"]["strongest_not_refuted"], "read-committed");
}

#[test]
fn postgresql_over_shards_has_no_snapshot_over_them_and_leaves_no_table() {
    let servers: Vec<Server> = (0..3).map(|_| Server::start(&["fsync=off", "shared_buffers=64MB"])).collect();
    let shards: Vec<String> =
        servers[1..].iter().map(|shard| format!("127.0.0.1:{}", shard.port())).collect();
    let url = format!("{}?shards={}", servers[0].url("postgres"), shards.join(","));
    let (ended, document) = longer_windows(|duration| {
        let (ended, document) = check(&url, duration, &[]);
        (document["isolation"]["refuted"] == true).then_some((ended, document))
    });
    ended.code(1);
    assert_eq!(document["isolation"]["places"], serde_json::json!(["shard 1", "shard 2"]));
    for server in &servers {
        let tables = "SELECT count(*) FROM pg_class WHERE relname LIKE 'lydite%'";
        assert_eq!(server.psql("postgres", tables), "0");
    }
    assert_eq!(servers[0].psql("postgres", "SELECT count(*) FROM pg_foreign_server"), "0");
}

#[test]
fn repeatable_read_of_innodb_loses_updates_and_its_serializable_does_not() {
    let server = mariadb::shared();
    let url = server.create_database("isolated");
    let (ended, document) = found(&url, "lost-update", &[]);
    ended.code(1);
    assert_eq!(document["isolation"]["strongest_not_refuted"], "read-committed");
    assert_not_refuted(&format!("{url}?isolation=serializable"), &[]);
    assert_not_refuted(&format!("{url}?isolation=read-committed"), &[]);
    assert_eq!(server.sql("isolated", "SHOW TABLES"), "");
}

#[test]
fn two_engines_of_mariadb_have_skewed_snapshots() {
    let server = mariadb::Server::with_rocksdb(&FAST);
    let url = format!("{}?district=rocksdb", server.create_database("mixed"));
    let (ended, document) = found(&url, "skewed-snapshots", &[]);
    ended.code(1);
    assert_eq!(document["isolation"]["places"], serde_json::json!(["innodb", "rocksdb"]));
}

#[test]
fn optimistic_stores_and_sqlite_keep_what_they_promise_and_their_data() {
    let (etcd, redis) = (etcd::Server::start(&[]), redis::Server::start(&[]));
    let document = assert_not_refuted(&redis.url(0), &[]);
    assert_eq!(document["isolation"]["asked"], "serializable");
    assert_eq!(document["isolation"]["ranges"], false, "Redis does not watch ranges");
    let document = assert_not_refuted(&etcd.url(), &[]);
    assert_eq!(document["isolation"]["ranges"], true);
    assert_eq!(document["isolation"]["asked"], "snapshot-isolation");
    let directory = scratch();
    let url = loaded::in_sqlite(&directory.path().join("tpcc.sqlite"), 2);
    assert_not_refuted(&url, &["--transactions", "2000"]);
    let sums = crate::program::checksums(&url);
    assert_eq!(sums, loaded::sums(2), "the check touches its own table only");
}

#[test]
fn a_table_of_that_name_is_not_touched_unless_it_may_be_dropped() {
    let server = postgres::shared();
    let url = server.create_database("occupied");
    server.psql(
        "occupied",
        "CREATE TABLE lydite_isolation_1 (mine int); INSERT INTO lydite_isolation_1 VALUES (7)",
    );
    let rejected = lydite(&["verify", &url, "--isolation", "--duration", "1s"]).code(2);
    assert!(rejected.only_error().contains("there is lydite_isolation_1 already"), "{rejected:?}");
    assert_eq!(server.psql("occupied", "SELECT mine FROM lydite_isolation_1"), "7");
    let (ended, _) = check(&url, "1s", &["--fresh", "--transactions", "200"]);
    assert!(ended.code != Some(2), "{ended:?}");
    assert_eq!(server.psql("occupied", "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "0");
}

/// Bytes of the lists of a check on a server of PostgreSQL; 0 before it has begun.
fn appended(server: &Server, database: &str) -> u64 {
    let there = "SELECT count(*) FROM pg_tables WHERE tablename = 'lydite_isolation_1'";
    if server.psql(database, there) != "1" {
        return 0;
    }
    let bytes = server.psql(database, "SELECT coalesce(sum(length(elements)), 0) FROM lydite_isolation_1");
    bytes.parse().expect("a sum")
}

#[test]
fn ctrl_c_ends_a_check_and_drops_its_tables() {
    let server = postgres::shared();
    let url = server.create_database("interrupted_check");
    let directory = scratch();
    let file = directory.path().join("history.edn");
    let arguments = ["verify", &url, "--isolation", "--duration", "1h", "--history", text(&file)];
    let mut running = Program::new(&arguments).start();
    running.wait_until("transactions append", || appended(server, "interrupted_check") > 0);
    running.signal(libc::SIGINT);
    let ended = running.wait().code(130);
    assert!(ended.stderr.contains("the tables are being dropped"), "{ended:?}");
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(server.psql("interrupted_check", tables), "0");
    let written = std::fs::read_to_string(&file).expect("the history");
    assert!(written.starts_with("{:type :invoke, :f :txn, :value [["), "{}", &written[..100]);
}

/// Commits without an answer are unknown: what a killed server did with them accuses nobody.
#[test]
fn a_server_that_is_killed_and_comes_back_is_not_accused() {
    let server = Server::start(&["shared_buffers=64MB"]);
    let url = format!("{}?isolation=serializable", server.url("postgres"));
    let mut running = Program::new(&["verify", &url, "--isolation", "--duration", "1h"]).start();
    running.wait_until("transactions append", || appended(&server, "postgres") > 0);
    server.kill();
    server.restart();
    let before = appended(&server, "postgres");
    running.wait_until("they append again", || appended(&server, "postgres") > before);
    running.signal(libc::SIGINT);
    let ended = running.wait().code(130);
    assert!(ended.stdout.contains("serializable: not refuted"), "{ended:?}");
}

#[test]
fn a_fault_during_a_check_is_reported_and_accuses_nobody() {
    let lab = Lab::new();
    let url = format!("{}?isolation=serializable", lab.url);
    let directory = scratch();
    let file = directory.path().join("found.json");
    // The server must be back before the recording ends.
    let found = windows_from("5s", |window| {
        let check = ["verify", &url, "--isolation", "--duration", window, "--fresh"];
        let fault = ["--fault", "kill@0.1s..0.4s/lab:pg", "--json", text(&file)];
        let ended = lab.place.lydite(&[&check[..], &fault].concat());
        assert_no_panic(&ended);
        let found = json(&file);
        assert_eq!(found["isolation"]["refuted"], false, "{ended:?}");
        let whole = ended.code == Some(0) && found["faults"][0]["ok"] == true;
        whole.then(|| {
            assert!(ended.stdout.contains("fault kill on lab:pg: begun at "), "{ended:?}");
            found
        })
    });
    assert_eq!(found["faults"][0]["kind"], "kill");
}

#[test]
fn wrong_arguments_are_rejected_together() {
    let arguments = [
        "verify",
        "gemel:",
        "--isolation",
        "--level",
        "perfect",
        "--workload",
        "queue",
        "--sessions",
        "1",
        "--updates",
        "3",
        "--fault",
        "stpo@1s/local",
    ];
    let errors = lydite(&arguments).code(2);
    for part in [
        "--level: \"perfect\"",
        "--workload: \"queue\"",
        "--sessions",
        "--updates belongs",
        "--fault: \"stpo@1s/local\"",
    ] {
        assert!(errors.stderr.contains(part), "{part}: {errors:?}");
    }
    let errors = lydite(&["verify", "gemel:x", "--history", "h", "--level", "serializable"]).code(2);
    assert!(errors.stderr.contains("--history belongs to --isolation"), "{errors:?}");
    assert!(errors.stderr.contains("--level belongs to --isolation"), "{errors:?}");
    let errors = lydite(&["verify", "null:", "--isolation"]).code(2);
    assert!(errors.only_error().contains("stores nothing"), "{errors:?}");
}

/// Histories of the terminals themselves.
#[test]
fn the_mix_of_tpcc_refutes_no_level_that_a_database_keeps() {
    let directory = scratch();
    let gemel = loaded::in_gemel(&directory.path().join("gemel"), 1);
    let postgres = loaded::on_postgres("isolated_mix", 1);
    for url in [
        gemel,
        format!("{postgres}?isolation=repeatable-read"),
        format!("{postgres}?isolation=read-committed"),
    ] {
        let document = assert_not_refuted(&url, &["--workload", "tpcc"]);
        assert!(document["isolation"]["transactions"]["committed"].as_u64() > Some(50), "{document}");
        lydite(&["check", &url]).code(0);
    }
    let empty = postgres::shared().create_database("isolated_mix_empty");
    let refused = lydite(&["verify", &empty, "--isolation", "--workload", "tpcc"]).code(2);
    assert!(refused.only_error().contains("needs a database that `lydite load"), "{refused:?}");
    let refused = lydite(&["verify", &postgres, "--isolation", "--workload", "tpcc", "--fresh"]).code(2);
    assert!(refused.only_error().contains("--fresh: drops the check's own tables"), "{refused:?}");
}
