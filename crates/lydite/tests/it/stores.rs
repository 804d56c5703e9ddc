//! The engines and clusters of MariaDB: the kit that proves a target on each of them, and runs.

use crate::program::{
    Program, assert_checks_hold, assert_consistent, json, longer_windows, lydite, scratch, text, total,
    windows_from,
};
use lydite_testkit::galera;
use lydite_testkit::mariadb::{self, FAST, Server};
use lydite_testkit::spider;
use serde_json::Value;

/// Runs the kit and wants every step to be passed.
fn assert_proved(url: &str, warehouses: &str) {
    let ended = Program::new(&["driver", "test", url, "--warehouses", warehouses]).run();
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains(" 0 not supported, 0 failed, 0 skipped"), "{}", ended.stdout);
}

/// Runs with several terminals until transactions were committed; all conditions must hold afterwards.
fn run(url: &str, warehouses: &str) -> Value {
    run_until(url, warehouses, |result| total(result, "committed") > 0)
}

/// Runs for a second, and longer as long as a result does not have `enough`; all conditions must hold each time.
fn run_until(url: &str, warehouses: &str, enough: impl Fn(&Value) -> bool) -> Value {
    let directory = scratch();
    let path = directory.path().join("result.json");
    longer_windows(|window| {
        let run = ["run", url, "--warehouses", warehouses, "--duration", window, "--warmup", "0"];
        let more = ["--set", "size=tiny", "--quiet", "--terminals", "6", "--json", text(&path)];
        Program::new(&[&run[..], &more].concat()).run().code(0);
        let result = json(&path);
        assert_checks_hold(&result, &["before", "after"]);
        enough(&result).then_some(result)
    })
}

#[test]
fn mariadb_with_innodb_passes_the_kit_in_every_mode() {
    assert_proved(&mariadb::shared().create_database("kit"), "1");
}

#[test]
fn mariadb_with_myrocks_passes_the_kit_and_runs_at_the_two_levels_that_it_has() {
    let server = Server::with_rocksdb(&FAST);
    let url = format!("{}?engine=rocksdb", server.create_database("kit"));
    assert_proved(&url, "1");
    for isolation in ["repeatable-read", "read-committed"] {
        let result = run(&format!("{url}&isolation={isolation}"), "1");
        assert_eq!(result["target"]["settings"]["engine"], "ROCKSDB");
        assert_eq!(result["target"]["settings"]["foreign keys"], "0");
    }
    // Told by the URL, and by the server when it is asked what its tables hold.
    let refused = lydite(&["run", &format!("{url}&isolation=serializable"), "--quiet"]).code(2);
    assert!(refused.only_error().contains("MyRocks has no level serializable"), "{refused:?}");
    let by_server = server.url("kit") + "?isolation=serializable";
    let refused = lydite(&["run", &by_server, "--quiet"]).code(3);
    assert!(refused.only_error().contains("use ?isolation=repeatable-read or read-committed"), "{refused:?}");
}

/// One sequence, since three nodes take a while to start.
#[test]
fn a_galera_cluster_passes_the_kit_and_keeps_the_conditions_through_conflicts_and_a_lost_node() {
    let cluster = galera::Cluster::start(&FAST);
    let all_nodes = cluster.create_database("tpcc");
    let [first, second, third] = cluster.nodes() else { panic!("three nodes") };
    assert_proved(&first.url("tpcc"), "1");

    // By one node, looked at through another.
    run(&first.url("tpcc"), "1");
    assert_consistent(&second.url("tpcc"));

    // By all nodes: what two of them changed at the same time is refused at the commit of one, and sent again.
    third.sql("tpcc", "SET GLOBAL innodb_flush_log_at_trx_commit = 1");
    let result = run_until(&all_nodes, "1", |result| result["aborts"]["serialization"].as_u64() > Some(0));
    let settings = &result["target"]["settings"];
    assert_eq!(settings["nodes"], "3");
    assert_eq!(settings["innodb_flush_log_at_trx_commit of node 3"], "1");
    assert_eq!(settings["innodb_flush_log_at_trx_commit of node 2"], Value::Null, "as the first one's");
    let endpoints = result["endpoints"].as_array().expect("endpoints");
    let sessions: Vec<&Value> = endpoints.iter().map(|endpoint| &endpoint["sessions"]).collect();
    assert_eq!(sessions, [2, 2, 2], "six sessions over three nodes");
    // On a busy machine one may lose so often that it is given up; nothing else may go wrong.
    let given_up: u64 = result["errors"]
        .as_array()
        .expect("errors")
        .iter()
        .filter(|error| error["message"].as_str().is_some_and(|words| words.starts_with("given up after")))
        .map(|error| error["count"].as_u64().expect("a count"))
        .sum();
    assert_eq!(total(&result, "failed"), given_up, "{result}");
    for node in cluster.nodes() {
        assert_consistent(&node.url("tpcc"));
    }

    // A node that is lost: its sessions go to the others, which stall until they know that it is gone.
    let directory = scratch();
    let path = directory.path().join("result.json");
    let orders = || first.sql("tpcc", "SELECT sum(d_next_o_id) FROM district").parse::<u64>().expect("a sum");
    windows_from("25s", |window| {
        let before = orders();
        let plan = ["run", &all_nodes, "--duration", window, "--warmup", "0", "--terminals", "6", "--quiet"];
        // A rate that leaves the processors to others while the nodes wait.
        let more = ["--mode", "open", "--rate", "60", "--json", text(&path)];
        let mut running = Program::new(&[&plan[..], &more].concat()).start();
        if !running.reaches("orders", || orders() > before + 20) {
            return None;
        }
        third.kill();
        let when_killed = orders();
        let goes_on = running.reaches("orders without the third node", || orders() > when_killed + 20);
        let ended = running.wait();
        cluster.restart(2);
        if !goes_on {
            return None;
        }
        ended.code(0);
        let result = json(&path);
        assert_checks_hold(&result, &["before", "after"]);
        assert!(result["endpoints"][2]["lost"].as_u64() > Some(0), "{}", result["endpoints"]);
        Some(())
    });
    assert_consistent(&third.url("tpcc"));

    // Servers that hold something else are no nodes of it.
    let stranger = mariadb::shared().create_database("tpcc");
    let address = format!("127.0.0.1:{}", mariadb::shared().port());
    let refused = lydite(&["run", &format!("{}?nodes={address}", first.url("tpcc")), "--quiet"]).code(2);
    assert!(refused.only_error().contains("does not hold the database of"), "{refused:?} {stranger}");
}

#[test]
fn mariadb_over_shards_by_spider_passes_the_kit_and_keeps_the_conditions() {
    let cluster = spider::Cluster::start(2, &FAST);
    let url = cluster.create_database("tpcc");
    assert_proved(&url, "2");
    let result = run(&url, "2");
    assert_eq!(result["target"]["settings"]["shards"], "2");
    let rules = result["compliance"].as_array().expect("rules");
    let isolation = rules.iter().find(|rule| rule["rule"] == "isolation").expect("the rule of isolation");
    assert_eq!(isolation["met"], false, "shards take their snapshots one by one: {isolation}");
    // It is found out that the tables are in parts, and where, whatever the URL says.
    run(&cluster.coordinator.url("tpcc"), "2");
}

#[test]
fn a_load_over_shards_that_can_not_be_begun_leaves_nothing_on_them() {
    let cluster = spider::Cluster::start(2, &FAST);
    let url = cluster.create_database("tpcc");
    for shard in &cluster.shards {
        shard.sql("tpcc", "CREATE USER loader@127.0.0.1; GRANT ALL ON *.* TO loader@127.0.0.1");
    }
    // It may make tables, and no servers.
    let rights = "CREATE USER loader@127.0.0.1; GRANT ALL ON tpcc.* TO loader@127.0.0.1; GRANT SELECT ON mysql.* TO \
                  loader@127.0.0.1";
    cluster.coordinator.sql("tpcc", rights);
    let (_, place) = url.split_once("127.0.0.1").expect("a host");
    let refused =
        lydite(&["load", &format!("mariadb://loader@127.0.0.1{place}"), "-w", "2", "--quiet"]).code(3);
    assert!(refused.only_error().contains("make a server of each shard"), "{refused:?}");
    for shard in &cluster.shards {
        assert_eq!(shard.sql("tpcc", "SHOW TABLES"), "");
    }
}
