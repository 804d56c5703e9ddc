//! `lydite verify` on real databases: those that have a snapshot over all warehouses and find deadlocks pass, those that do
//! not are found out, and all are left as they were.

use crate::program::{
    Ended, Program, assert_no_panic, checksums, json, longer_windows, lydite, scratch, text,
};
use crate::{isolation, kit, loaded};
use lydite_testkit::mariadb::{self, FAST};
use lydite_testkit::postgres::{self, Server};
use lydite_testkit::{etcd, galera, redis, seekdb, spider};
use lydite_tpcc::Size;
use serde_json::Value;

const TESTS: [&str; 4] = ["global snapshot", "deadlock of two", "deadlock of three", "random order"];

fn load(url: &str, warehouses: &str) {
    let load = ["load", url, "--warehouses", warehouses, "--size", "tiny", "--quiet"];
    // Some of these databases share two processors with other tests.
    Program::new(&load).run().code(0);
}

/// Runs all tests on a loaded database; they must leave it as it was. The result as JSON, too.
fn verify(url: &str, more: &[&str]) -> (Ended, Value) {
    let all = tests(url, more);
    assert_as_loaded(url, &all.0);
    all
}

/// Runs all tests on a loaded database. The result as JSON, too.
fn tests(url: &str, more: &[&str]) -> (Ended, Value) {
    let directory = scratch();
    let file = directory.path().join("found.json");
    let arguments = [&["verify", url, "all", "--duration", "2s", "--json", text(&file)], more].concat();
    let ended = Program::new(&arguments).run();
    println!("{}{}", ended.stdout, ended.stderr);
    assert_no_panic(&ended);
    let found = json(&file);
    assert_eq!(found["status"], "complete", "{found}");
    assert_eq!(found["tests"].as_array().expect("tests").len(), TESTS.len(), "{found}");
    (ended, found)
}

/// What became of a test, in the table and in the document alike, and what the table says of it.
#[track_caller]
fn of<'a>((ended, found): &'a (Ended, Value), test: &str) -> (&'a str, &'a str) {
    let line = ended.stdout.lines().find(|line| line.get(9..).is_some_and(|rest| rest.starts_with(test)));
    let line = line.unwrap_or_else(|| panic!("no {test}: {ended:?}"));
    let verdict = line.split(' ').next().unwrap_or_default();
    let entry = found["tests"].as_array().expect("tests").iter().find(|entry| entry["test"] == test);
    let entry = entry.unwrap_or_else(|| panic!("no {test}: {found}"));
    assert_eq!(entry["verdict"], verdict.to_lowercase(), "{line}");
    let detail = line.split_once(" s  ").map_or("", |(_, detail)| detail);
    assert_eq!(entry["detail"], detail, "{line}");
    (verdict, detail)
}

/// All rows are those that were loaded.
#[track_caller]
fn assert_as_loaded(url: &str, ended: &Ended) {
    let sums = checksums(url);
    let rows = |table: &str| -> u32 {
        let of = sums.iter().find_map(|line| line.strip_prefix(table)?.split(' ').next()?.parse().ok());
        of.unwrap_or_else(|| panic!("{table}: {sums:?}"))
    };
    let size = Size::ALL.into_iter().find(|size| size.items() == rows("item ")).expect("a size");
    let loaded = loaded::sums_of_size(size.name(), rows("warehouse "));
    assert_eq!(sums, loaded, "not every row is as it was: {ended:?}");
}

#[track_caller]
fn seen<'a>((_, found): &'a (Ended, Value), test: &str) -> &'a Value {
    let tests = found["tests"].as_array().expect("tests");
    &tests.iter().find(|entry| entry["test"] == test).expect("a test")["seen"]
}

/// All tests passed, and something was seen in each.
#[track_caller]
fn assert_passed(all: &(Ended, Value)) {
    assert_eq!(all.0.code, Some(0), "{:?}", all.0);
    for test in TESTS {
        assert_eq!(of(all, test).0, "passed", "{:?}", all.0);
        assert!(seen(all, test)["committed"].as_u64() > Some(0), "{test}: {}", all.1);
    }
    assert!(seen(all, "global snapshot")["states"].as_u64() > Some(1), "{}", all.1);
}

/// One read had two values, and the table names them.
#[track_caller]
fn assert_unequal(all: &(Ended, Value)) {
    let (verdict, detail) = of(all, "global snapshot");
    assert_eq!(verdict, "FAILED", "{detail}");
    let unequal = &seen(all, "global snapshot")["unequal"];
    let [a, b] = [0, 1].map(|side| {
        let of = unequal["of"][side].as_str().expect("a balance").to_string();
        let value = unequal["values"][side].as_str().expect("a value").to_string();
        let told = format!("{value} in {of}");
        assert!(detail.contains(&told), "{told}: {detail}");
        (of, value)
    });
    assert!(a.0 != b.0 && a.1 != b.1, "{unequal}");
}

#[test]
fn a_single_postgresql_server_has_one_snapshot_and_finds_every_deadlock() {
    let all = verify(&loaded::on_postgres("verified", 3), &[]);
    assert_passed(&all);
    for test in ["deadlock of two", "deadlock of three"] {
        assert_eq!(seen(&all, test)["cycles"], 3, "{}", all.1);
        assert!(seen(&all, test)["aborts"]["deadlock"].as_u64() >= Some(3), "{}", all.1);
    }
}

#[test]
fn read_committed_is_no_snapshot_even_on_a_single_server() {
    let url = loaded::on_postgres("committed", 2) + "?isolation=read-committed";
    let all = verify(&url, &[]);
    assert_eq!(all.0.code, Some(1));
    assert_unequal(&all);
    let (verdict, detail) = of(&all, "deadlock of three");
    assert_eq!((verdict, detail), ("skipped", "needs 3 warehouses, and the tests use 2"));
}

/// A database over so many servers of PostgreSQL behind one more, with a warehouse on each. They end with the servers.
fn over_shards(count: u32) -> (Vec<Server>, String) {
    let servers: Vec<Server> =
        (0..=count).map(|_| Server::start(&["fsync=off", "shared_buffers=64MB"])).collect();
    let shards: Vec<String> =
        servers[1..].iter().map(|shard| format!("127.0.0.1:{}", shard.port())).collect();
    let url = format!("{}?shards={}", servers[0].url("postgres"), shards.join(","));
    load(&url, &count.to_string());
    (servers, url)
}

#[test]
fn postgresql_over_five_shards_is_found_out_as_over_three() {
    let (_servers, url) = over_shards(5);
    let all = verify(&url, &[]);
    assert_eq!(all.0.code, Some(1));
    assert_eq!((&all.1["nodes"], &all.1["group"]), (&5.into(), &serde_json::json!([1, 2, 3, 4, 5])));
    assert_unequal(&all);
    assert_eq!(of(&all, "deadlock of three").0, "TIMEOUT");
}

#[test]
fn postgresql_over_shards_has_no_common_snapshot_and_finds_no_deadlock_over_two_of_them() {
    let (_servers, url) = over_shards(3);
    let all = verify(&url, &[]);
    assert_eq!(all.0.code, Some(1));
    assert_eq!(all.1["nodes"], 3, "{}", all.1);
    assert_unequal(&all);
    for test in ["deadlock of two", "deadlock of three"] {
        let (verdict, detail) = of(&all, test);
        assert_eq!(verdict, "TIMEOUT", "{detail}");
        assert!(
            detail.starts_with("timeout instead of detection: the ring over warehouse 1, warehouse 2"),
            "{detail}"
        );
    }
    // Sessions that wait for longer than they are waited for commit after the tests, and are waited for all the same.
    verify(&url, &["--global-deadlock", "--limit", "2s"]);
    a_run_over_several_nodes_begins_with_the_function_tests(&url);
}

/// And tells first of all what failed; unless it is told not to, or to refuse such a database.
fn a_run_over_several_nodes_begins_with_the_function_tests(url: &str) {
    let directory = scratch();
    let result = directory.path().join("r.json");
    let run = |window: &str, more: &[&str]| {
        let run =
            ["run", url, "--dis-ratio", "50", "--duration", window, "--warmup", "0", "--json", text(&result)];
        Program::new(&[&run[..], more].concat()).run()
    };
    let refused = run("1s", &["--set", "verify=strict"]).code(2);
    assert!(refused.stderr.contains("The function test global snapshot failed"), "{refused:?}");
    assert!(!result.exists(), "nothing was measured");
    longer_windows(|window| {
        let told = run(window, &[]).code(0);
        assert!(told.stdout.contains("The function test global snapshot failed"), "{told:?}");
        let found = json(&result);
        assert!(
            found["warnings"][0].as_str().is_some_and(|first| first.contains("global snapshot")),
            "{found}"
        );
        assert_eq!(found["controls"]["functions"][0]["verdict"], "failed");
        let nodes = &found["nodes"];
        let ops = nodes["ops"].as_array().expect("a list for each node");
        assert_eq!(ops.len(), 3, "{nodes}");
        assert_eq!(nodes["bytes"]["of"].as_array().map(Vec::len), Some(3), "{nodes}");
        let busy = |node: &Value| {
            let seconds = node.as_array().expect("seconds");
            seconds.iter().any(|second| second.as_u64() > Some(0))
        };
        ops.iter().all(busy).then_some(())
    });
    run("1s", &["--set", "verify=off"]).code(0);
    assert_eq!(json(&result)["controls"]["functions"], Value::Null);
}

#[test]
fn mariadb_with_innodb_has_one_snapshot_and_finds_every_deadlock() {
    let server = loaded::mariadb(3, &FAST);
    assert_passed(&verify(&server.url("tpcc"), &[]));
}

#[test]
fn myrocks_has_one_snapshot_and_lets_deadlocks_last_until_a_timeout_unless_it_is_told_to_find_them() {
    let server = mariadb::Server::with_rocksdb(&FAST);
    let url = format!("{}?engine=rocksdb", server.create_database("rocks"));
    load(&url, "3");
    let all = verify(&url, &[]);
    assert_eq!(all.0.code, Some(1));
    assert_eq!(of(&all, "global snapshot").0, "passed");
    assert_eq!(of(&all, "deadlock of two").0, "TIMEOUT");
    // A machine under load may let a session wait for longer than the second that is the default.
    server.sql("rocks", "SET GLOBAL rocksdb_deadlock_detect = 1, GLOBAL rocksdb_lock_wait_timeout = 60");
    assert_passed(&verify(&url, &[]));
}

#[test]
fn tables_in_two_engines_of_mariadb_have_one_snapshot_only_if_it_is_taken_at_the_begin() {
    let server = mariadb::Server::with_rocksdb(&[&FAST[..], &["log-bin=bin"]].concat());
    let url = format!("{}?district=rocksdb", server.create_database("mixed"));
    load(&url, "3");
    let all = verify(&url, &[]);
    assert_eq!(all.0.code, Some(1));
    assert!(all.0.stdout.contains("WAREHOUSE in InnoDB, DISTRICT in ROCKSDB"), "{}", all.0.stdout);
    assert_eq!(all.1["engines"], serde_json::json!(["InnoDB", "ROCKSDB"]));
    assert_unequal(&all);
    for test in ["deadlock of two", "deadlock of three"] {
        let (verdict, detail) = of(&all, test);
        assert_eq!(verdict, "TIMEOUT", "{detail}");
    }
    let at_begin = verify(&format!("{url}&snapshot=begin"), &[]);
    assert_eq!(of(&at_begin, "global snapshot").0, "passed");
    assert_eq!(of(&at_begin, "deadlock of two").0, "TIMEOUT");
    lydite(&["check", &url]).code(0);
}

#[test]
fn a_galera_cluster_has_one_snapshot_and_gives_up_conflicts_between_its_nodes() {
    let cluster = galera::Cluster::start(&FAST);
    let url = cluster.create_database("verified");
    load(&url, "3");
    assert_passed(&verify(&url, &[]));
}

#[test]
fn shards_of_spider_have_no_common_snapshot_and_find_no_deadlock_over_two_of_them() {
    let cluster = spider::Cluster::start(2, &FAST);
    let url = cluster.create_database("verified");
    load(&url, "3");
    let all = verify(&url, &[]);
    assert_eq!(all.0.code, Some(1));
    assert_unequal(&all);
    let (verdict, detail) = of(&all, "deadlock of two");
    assert_eq!(verdict, "TIMEOUT", "{detail}");
}

#[test]
fn the_kernel_of_oceanbase_has_one_snapshot_and_lets_deadlocks_last_until_a_timeout() {
    let Some(server) = seekdb::Server::start() else { return };
    let url = server.create_database("verified");
    load(&url, "3");
    let all = verify(&url, &["--limit", "4s"]);
    assert_eq!(all.0.code, Some(1));
    assert_eq!(of(&all, "global snapshot").0, "passed");
    for test in ["deadlock of two", "deadlock of three"] {
        let (verdict, detail) = of(&all, test);
        assert_eq!(verdict, "TIMEOUT", "{detail}");
        assert!(detail.starts_with("timeout instead of detection"), "{detail}");
    }
    let url = server.create_database("isolated");
    isolation::assert_not_refuted(&format!("{url}&isolation=repeatable-read"), &[]);
    let (ended, document) = isolation::found(&format!("{url}&isolation=serializable"), "write-skew", &[]);
    ended.code(1);
    assert_eq!(document["isolation"]["strongest_not_refuted"], "snapshot-isolation");
}

#[test]
fn gemel_has_one_snapshot_and_no_deadlocks_at_both_levels() {
    let directory = scratch();
    let path = loaded::in_gemel(&directory.path().join("gemel"), 3);
    for isolation in ["snapshot", "serializable"] {
        assert_passed(&verify(&format!("{path}?isolation={isolation}"), &[]));
    }
}

/// Skeena's registry of snapshots is what makes it so: without it the two engines' snapshots are skewed.
#[test]
fn tables_in_both_engines_of_gemel_have_one_snapshot_through_the_registry_alone() {
    let directory = scratch();
    let url = format!("gemel:{}?warehouse=memory&district=disk", text(&directory.path().join("gemel")));
    load(&url, "3");
    for isolation in ["snapshot", "serializable"] {
        let all = verify(&format!("{url}&isolation={isolation}"), &[]);
        assert!(all.0.stdout.contains("WAREHOUSE in memory, DISTRICT in disk"), "{}", all.0.stdout);
        assert_passed(&all);
    }
    let without = verify(&format!("{url}&csr=off"), &[]);
    assert_eq!(without.0.code, Some(1));
    assert_unequal(&without);
}

#[test]
fn sqlite_has_one_snapshot_and_lets_no_ring_close() {
    let directory = scratch();
    let url = loaded::in_sqlite(&directory.path().join("tpcc.sqlite"), 3);
    let all = verify(&url, &[]);
    assert_passed(&all);
    assert_eq!(seen(&all, "deadlock of two")["cycles"], 0);
    assert!(of(&all, "deadlock of two").1.starts_with("no ring closed"), "{}", all.0.stdout);
}

#[test]
fn optimistic_stores_that_give_up_all_but_one_at_the_commit_pass() {
    let (etcd, redis) = (etcd::Server::start(&[]), redis::Server::start(&[]));
    for url in [etcd.url(), redis.url(0)] {
        load(&url, "2");
        // Not all rows, which etcd takes long to read: the tests themselves look at W_YTD.
        let all = tests(&url, &[]);
        assert_eq!(all.0.code, Some(0), "{url}");
        for test in ["global snapshot", "deadlock of two", "random order"] {
            assert_eq!(of(&all, test).0, "passed", "{url}");
        }
        assert_eq!(of(&all, "deadlock of three").0, "skipped", "{url}");
    }
}

#[test]
fn a_test_that_is_named_is_made_alone() {
    let directory = scratch();
    let url = loaded::in_gemel(&directory.path().join("gemel"), 2);
    let ended = lydite(&["verify", &url, "--global-snapshot", "--duration", "500ms", "--json", "-"]).code(0);
    assert!(ended.stderr.contains("1 passed, 0 failed, 0 by timeout, 0 skipped"), "{}", ended.stderr);
    let found: Value = serde_json::from_str(&ended.stdout).expect("nothing but the document");
    assert_eq!(found["status"], "complete", "{found}");
    let ended = lydite(&["verify", &url, "--global-deadlock", "--duration", "500ms", "--quiet"]).code(0);
    assert!(!ended.stdout.contains("passed") && ended.stdout.contains("needs 3 warehouses"), "{ended:?}");
}

#[test]
fn ctrl_c_ends_the_tests_and_w_ytd_is_what_it_was() {
    let url = loaded::on_postgres("interrupted", 2);
    let directory = scratch();
    let file = directory.path().join("found.json");
    let arguments = ["verify", &url, "--duration", "1h", "--json", text(&file)];
    let mut running = Program::new(&arguments).start();
    let changed = || {
        let other = "SELECT count(*) FROM warehouse WHERE w_ytd > 300100";
        postgres::shared().psql("interrupted", other) == "2"
    };
    running.wait_until("the writers are at work", changed);
    running.signal(libc::SIGINT);
    let ended = running.wait().code(130);
    assert!(ended.stderr.contains("the balances are being restored"), "{ended:?}");
    assert_as_loaded(&url, &ended);
    assert_eq!(json(&file)["status"], "partial");
}

#[test]
fn a_server_that_goes_away_is_told_with_what_it_leaves_behind() {
    let server = loaded::postgres(2, &["fsync=off"]);
    let url = server.url("tpcc");
    let mut running = Program::new(&["verify", &url, "--duration", "1h"]).start();
    let changed = || server.psql("tpcc", "SELECT count(*) FROM warehouse WHERE w_ytd > 300100") == "2";
    running.wait_until("the writers are at work", changed);
    server.kill();
    let ended = running.wait().code(3);
    assert!(
        ended.errors().iter().any(|line| {
            line.contains("condition 3.3.2.1 will not hold")
                && line.contains(&format!("lydite load {url} --warehouses 2 --size tiny --seed 1 --fresh"))
        }),
        "{ended:?}"
    );
    assert!(ended.stdout.contains("skipped  global snapshot"), "{ended:?}");
}

#[test]
fn a_lock_that_somebody_else_keeps_is_told_and_nothing_hangs() {
    let url = loaded::on_postgres("locked", 2);
    let server = postgres::shared();
    std::thread::scope(|scope| {
        // Ended from here, with an error.
        let keeper = scope.spawn(|| {
            let keep = "BEGIN; UPDATE warehouse SET w_ytd = w_ytd WHERE w_id = 1; SELECT pg_sleep(300)";
            let kept = std::panic::catch_unwind(|| server.psql("locked", keep));
            assert!(kept.is_err(), "it kept the lock until it was ended");
        });
        let keeps = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%sleep(300)' \
                     AND wait_event = 'PgSleep' AND datname = current_database()";
        while server.psql("locked", keeps) != "1" {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        let ended = lydite(&["verify", &url, "--limit", "2s", "--duration", "1s"]);
        server.psql(
            "locked",
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep' \
             AND datname = current_database()",
        );
        keeper.join().expect("the keeper of the lock");
        let ended = ended.code(1);
        assert!(ended.stdout.contains("does another client work on the database?"), "{ended:?}");
        assert!(ended.stdout.contains("0 passed, 1 failed, 0 by timeout, 3 skipped"), "{ended:?}");
        assert_as_loaded(&url, &ended);
    });
}

#[test]
fn a_limit_that_ends_before_the_database_looks_for_deadlocks_is_refused() {
    let url = loaded::on_postgres("patient", 2);
    postgres::shared().psql("patient", "ALTER DATABASE patient SET deadlock_timeout = '4s'");
    let refused = lydite(&["verify", &url, "--limit", "3s"]).code(2);
    let error = refused.only_error();
    assert!(error.contains("deadlock_timeout") && error.contains("after 4 s"), "{error}");
}

#[test]
fn what_can_not_be_tested_is_refused_with_what_to_type() {
    let directory = scratch();
    let path = |name: &str| format!("sqlite:{}", text(&directory.path().join(name)));
    let (empty, one) = (path("empty.sqlite"), path("one.sqlite"));
    loaded::in_sqlite(&directory.path().join("one.sqlite"), 1);
    let refused = lydite(&["verify", &empty]).code(2);
    let words = format!("lydite load {empty} --warehouses 2");
    assert!(refused.only_error().contains(&words), "{refused:?}");
    let refused = lydite(&["verify", &one]).code(2);
    let words = format!("lydite load {one} --warehouses 2 --size tiny --seed 1 --fresh");
    assert!(refused.only_error().contains(&words), "{refused:?}");
    for url in ["null:", "sqlite:", "gemel:"] {
        lydite(&["verify", url]).code(2).only_error();
    }
    let refused =
        lydite(&["verify", &format!("postgres://me@127.0.0.1:{}/tpcc", lydite_testkit::free_port())]);
    assert!(refused.code(3).only_error().contains("connection refused"));

    // All that is wrong is told at once.
    let wrong = [
        ["--duration", "0"],
        ["--sessions", "0"],
        ["--updates", "1"],
        ["--limit", "1500ms"],
        ["--seed", "-1"],
        ["--tx", "batched"],
    ];
    let arguments: Vec<&str> = ["verify", "sqlite::memory:"].into_iter().chain(wrong.concat()).collect();
    let refused = lydite(&arguments).code(2);
    refused.told(&[
        &["--duration", "longer than 0"],
        &["--sessions", "from 1"],
        &["--updates", "from 2"],
        &["--limit", "whole seconds"],
        &["--seed", "whole number"],
        &["--tx batched", "statements only"],
        &["sqlite::memory:"],
    ]);

    let two = path("two.sqlite");
    loaded::in_sqlite(&directory.path().join("two.sqlite"), 2);
    let refused = lydite(&["verify", &two, "--updates", "3"]).code(2);
    assert!(refused.only_error().contains("use 2 warehouses"), "{refused:?}");
    let nowhere = directory.path().join("nowhere/found.json");
    let refused = lydite(&["verify", &two, "--json", text(&nowhere)]).code(2);
    assert!(refused.only_error().contains("--json"), "{refused:?}");
    assert_as_loaded(&two, &refused);
}

#[test]
fn a_driver_of_the_five_transactions_is_refused_and_a_key_value_driver_is_tested() {
    let place = kit::directory();
    let driver = kit::scaffold(&place, "five", &["--lang", "python"]);
    load(&driver, "2");
    let refused = lydite(&["verify", &driver]).code(2);
    assert!(refused.only_error().contains("a key-value driver has them"), "{refused:?}");
    let driver = kit::scaffold(&place, "store", &["--lang", "python", "--kv"]);
    load(&driver, "2");
    let ended = lydite(&["verify", &driver, "--duration", "2s"]).code(0);
    assert!(ended.stdout.contains("3 passed, 0 failed, 0 by timeout, 1 skipped"), "{ended:?}");
}
