//! The program on a real MariaDB: loads and runs that are broken off, and what it says of them.

use crate::loaded;
use crate::program::{
    Program, assert_checks_hold, assert_consistent, assert_no_panic, checksums, json, lydite, scratch, text,
    windows_from,
};
use lydite_testkit::mariadb::{self, FAST, Server};
use std::time::Duration;

/// How many units a database has: ITEM and warehouses.
fn units_of(server: &Server, database: &str) -> u32 {
    let tables = format!(
        "SELECT count(*) FROM tables WHERE table_schema = '{database}' AND table_name = 'lydite_load'"
    );
    if server.sql("information_schema", &tables) == "0" {
        return 0;
    }
    server.sql(database, "SELECT count(*) FROM lydite_load").parse().expect("a count")
}

#[test]
fn a_load_whose_server_or_whose_program_is_killed_is_resumed_to_the_same_rows() {
    let server = Server::start(&FAST[1..]);
    for killed in ["server", "program"] {
        let url = server.create_database(killed);
        let load = [&["load", &url], &loaded::SLOWLY[..]].concat();
        let mut running = Program::new(&load).start();
        running.wait_until("the first warehouse is loaded", || units_of(&server, killed) >= 2);
        if killed == "server" {
            server.kill();
            let ended = running.wait().code(3);
            let error = ended.only_error();
            assert!(
                error.contains(&format!("127.0.0.1:{}", server.port())) && error.contains("--resume"),
                "{error}"
            );
            server.restart();
        } else {
            running.signal(libc::SIGKILL);
            assert_eq!(running.wait().code, None);
        }
        let sessions = format!("SELECT count(*) FROM processlist WHERE db = '{killed}'");
        loaded::wait_until_alone(|| server.sql("information_schema", &sessions));
        let ended = lydite(&["run", &url, "--quiet"]).code(2);
        loaded::assert_broken_off(ended.only_error(), units_of(&server, killed));
        lydite(&[load.as_slice(), &["--resume"]].concat()).code(0);
        assert_eq!(checksums(&url), loaded::sums_of_slowly(), "{killed}");
        assert_consistent(&url);
    }
}

#[test]
fn a_server_killed_during_a_run_costs_no_acknowledged_transaction_and_the_run_goes_on() {
    let server = loaded::mariadb(1, &[]);
    let url = server.url("tpcc");
    let directory = scratch();
    for tx in ["statements", "batched", "procedures"] {
        let path = directory.path().join(format!("{tx}.json"));
        let orders =
            || server.sql("tpcc", "SELECT sum(d_next_o_id) FROM district").parse::<u64>().expect("a sum");
        let before = windows_from("8s", |window| {
            let before = orders();
            let plan = ["run", &url, "--tx", tx, "--duration", window, "--warmup", "0", "--terminals", "3"];
            let more = ["--quiet", "--json", text(&path)];
            let mut running = Program::new(&[plan.as_slice(), &more].concat()).start();
            if !running.reaches("orders", || orders() > before + 20) {
                return None;
            }
            server.kill();
            std::thread::sleep(Duration::from_millis(300));
            server.restart();
            let ended = running.wait();
            assert_no_panic(&ended);
            // On a machine under load the server may come back after the end of the run.
            (ended.code == Some(0)).then_some(before)
        });
        assert_checks_hold(&json(&path), &["before", "after"]);
        // A New-Order that was acknowledged is there; one of unknown outcome may be.
        let new_orders = &json(&path)["transactions"]["new_order"];
        let count = |name: &str| new_orders[name].as_u64().unwrap_or_else(|| panic!("{name}: {new_orders}"));
        let (made, acknowledged) = (orders() - before, count("committed"));
        let most = acknowledged + count("unknown");
        // What is answered after the end of the run is not in its counts: at most one of each session.
        assert!((acknowledged..=most + 3).contains(&made), "{tx}: {made} orders, {new_orders}");
    }
}

#[test]
fn the_microbenchmark_keeps_every_update_through_conflicts_and_lost_connections() {
    let server = mariadb::shared();
    // Loaded in batches, the last of which is not full.
    let url = format!("{}?batch=300", server.create_database("micro"));
    let directory = scratch();
    let path = directory.path().join("result.json");
    let small = ["--set", "micro.tables=2", "--set", "micro.records=1000", "--set", "micro.updates=10"];
    let plan = ["run", &url, "--workload", "micro", "--warmup", "0", "--terminals", "4", "--quiet"];
    let sum = || {
        let there =
            "SELECT count(*) FROM tables WHERE table_schema = 'micro' AND table_name = 'lydite_micro_1'";
        if server.sql("information_schema", there) == "0" {
            return 0;
        }
        server
            .sql("micro", "SELECT coalesce(sum(counter), 0) FROM lydite_micro_1")
            .parse::<u64>()
            .expect("a sum")
    };
    let found = windows_from("3s", |window| {
        let before = sum();
        let more = ["--duration", window, "--json", text(&path)];
        let mut running = Program::new(&[&plan[..], &small, &more].concat()).start();
        if !running.reaches("updates", || sum() > before + 100) {
            return None;
        }
        let sessions = "SELECT id FROM processlist WHERE db = 'micro'";
        for id in server.sql("information_schema", sessions).split_whitespace() {
            server.sql("mysql", &format!("KILL {id}"));
        }
        // A check whose connection was killed ends the run otherwise.
        (running.wait().code == Some(0)).then(|| json(&path))
    });
    let counters = found["checks"].as_array().expect("checks").last().expect("a check").clone();
    assert_eq!((&counters["id"], &counters["ok"]), (&"counters".into(), &true.into()), "{counters}");
    assert_eq!(found["target"]["kind"], "mariadb");
    lydite(&["check", &url]).code(0);
}

#[test]
fn a_mode_or_server_that_does_not_fit_is_refused_before_the_run() {
    let port = mariadb::shared().port();
    let _url = mariadb::shared().create_database("unfit");
    let ended = lydite(&["run", "tidb://root@127.0.0.1/tpcc", "--tx", "procedures", "--quiet"]).code(2);
    assert!(ended.only_error().contains("TiDB has no stored procedures"), "{ended:?}");
    let ended = lydite(&["run", &format!("oceanbase://root@127.0.0.1:{port}/unfit"), "--quiet"]).code(2);
    assert!(ended.only_error().contains("the server is MariaDB: write mariadb://"), "{ended:?}");
    let ended = lydite(&["run", &format!("mysql://root:s3cret@127.0.0.1:{port}/unfit"), "--quiet"]).code(3);
    assert!(!ended.only_error().contains("s3cret"), "{ended:?}");
}
