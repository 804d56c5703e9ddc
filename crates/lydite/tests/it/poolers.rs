//! Poolers that share connections, and standbys. Each is recognised before anything is loaded, with the way out; unprepared
//! statements work behind poolers in transaction mode.

use crate::audit::{audit, with_verdict};
use crate::loaded;
use crate::program::{Program, assert_checks_hold, assert_consistent, json, lydite, scratch, text, total};
use lydite_testkit::pgbouncer::PgBouncer;
use lydite_testkit::{mariadb, postgres};
use serde_json::Value;

/// Asserts that commands that write are refused, with these words.
#[track_caller]
fn assert_refused(url: &str, words: &[&str]) {
    for command in [
        vec!["load", url, "--warehouses", "1", "--size", "tiny", "--quiet"],
        vec!["load", url, "--warehouses", "1", "--size", "tiny", "--quiet", "--fresh"],
        vec!["run", url, "--warehouses", "1", "--size", "tiny", "--duration", "1s", "--quiet"],
        vec!["verify", url, "--isolation", "--quiet"],
    ] {
        let refused = lydite(&command).code(2);
        let error = refused.only_error();
        assert!(words.iter().all(|word| error.contains(word)), "{command:?}: {error}");
    }
}

#[test]
fn a_pooler_that_shares_connections_is_rejected_and_one_that_keeps_them_is_a_target() {
    let server = postgres::shared();
    let _url = server.create_database("pooled");
    for mode in ["transaction", "statement"] {
        let pooler = PgBouncer::before(server, mode);
        assert_refused(
            &pooler.url("pooled"),
            &[
                &format!("a pooler in {mode} mode"),
                "connect to the server itself, or set pool_mode=session",
                "?statements=unprepared",
            ],
        );
        if mode == "statement" {
            let url = pooler.url("pooled") + "?statements=unprepared";
            assert_refused(&url, &["a pooler in statement mode is between, which has no transactions"]);
        }
    }
    assert_eq!(server.psql("pooled", "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "0");

    let pooler = PgBouncer::before(server, "session");
    server.psql("pooled", "CREATE SCHEMA own");
    let url = pooler.url("pooled") + "?schema=own";
    lydite(&["load", &url, "--warehouses", "1", "--size", "tiny", "--quiet"]).code(0);
    lydite(&["check", &url, "--quiet"]).code(0);
    run(&url, &[]);
    assert_eq!(server.psql("pooled", "SELECT count(*) FROM own.lydite_meta WHERE value = 'ready'"), "1");
}

/// Runs for a moment on a database, and returns the result.
fn run(url: &str, more: &[&str]) -> Value {
    let directory = scratch();
    let path = directory.path().join("result");
    let plan = ["run", url, "--terminals", "2", "--warmup", "0", "--duration", "1s", "--quiet"];
    lydite(&[&plan[..], &["--json", text(&path)], more].concat()).code(0);
    let result = json(&path);
    assert_checks_hold(&result, &["before", "after"]);
    assert_eq!((total(&result, "failed"), total(&result, "unknown")), (0, 0), "{result}");
    result
}

#[test]
fn unprepared_statements_work_behind_a_pooler_in_transaction_mode_and_leave_nothing_on_its_connections() {
    let server = postgres::shared();
    let direct = server.create_database("unprepared");
    // No transaction would write that does not set this by itself.
    server.psql(
        "unprepared",
        "CREATE SCHEMA own; ALTER DATABASE unprepared SET default_transaction_read_only = on",
    );
    let pooler = PgBouncer::with_settings(server, "transaction", &["default_pool_size = 12"]);
    let url = pooler.url("unprepared") + "?schema=own&statements=unprepared";
    lydite(&["load", &url, "--warehouses", "1", "--size", "tiny", "--jobs", "2", "--quiet"]).code(0);
    for tx in ["statements", "batched", "procedures"] {
        let result = run(&url, &["--tx", tx]);
        let settings = &result["target"]["settings"];
        assert_eq!(
            (&settings["statements"], &settings["pooler"]),
            (&"unprepared".into(), &"transaction mode".into())
        );
    }
    run(&format!("{url}&connection=per-transaction&statement_timeout=1m"), &[]);
    let checked = lydite(&["check", &url]).code(0);
    assert!(checked.stderr.contains("a pooler in transaction mode is between"), "{checked:?}");
    // The same tables without the pooler.
    run(&format!("{direct}?schema=own&statements=unprepared"), &[]);
    assert_consistent(&format!("{direct}?schema=own"));

    // Two runs exclude each other, with and without the pooler.
    let mut running = Program::new(&["run", &url, "--terminals", "1", "--duration", "1h", "--quiet"]).start();
    let locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND database = \
                 (SELECT oid FROM pg_database WHERE datname = current_database())";
    running.wait_until("the mark", || server.psql("unprepared", locks) != "0");
    let other = lydite(&["run", &format!("{direct}?schema=own"), "--duration", "1s", "--quiet"]).code(2);
    assert!(other.only_error().contains("another run changes these warehouses"), "{other:?}");
    running.signal(libc::SIGINT);
    running.wait();
    lydite(&["load", &url, "--fresh", "--warehouses", "1", "--size", "tiny", "--quiet"]).code(0);

    assert_eq!(server.psql("unprepared", locks), "0");
    for setting in ["default_transaction_read_only", "search_path", "lock_timeout", "maintenance_work_mem"] {
        let shown = format!("SELECT setting = reset_val FROM pg_settings WHERE name = '{setting}'");
        for _ in 0..3 {
            assert_eq!(postgres::query(&pooler.url("unprepared"), &shown), "t", "{setting}");
        }
    }
}

#[test]
fn an_audit_passes_behind_a_pooler_in_transaction_mode() {
    let url = loaded::on_postgres("audited_pooled", 2);
    let name = url.rsplit('/').next().expect("a database");
    let pooler = PgBouncer::before(postgres::shared(), "transaction");
    let url = pooler.url(name) + "?statements=unprepared";
    let (ended, found) = audit(&url, &["--only", "atomicity,consistency,isolation"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(with_verdict(&found, "passed").len() > 10, "{found}");
    lydite(&["verify", &url, "--isolation", "--duration", "1s", "--quiet"]).code(0);
}

#[test]
fn too_few_connections_of_a_pooler_are_reported_before_anything_is_loaded() {
    let server = postgres::shared();
    let _url = server.create_database("pooled_few");
    let options = "?statements=unprepared";
    let load = |pooler: &PgBouncer| {
        let url = pooler.url("pooled_few") + options;
        lydite(&[
            "run",
            &url,
            "--warehouses",
            "1",
            "--size",
            "tiny",
            "--terminals",
            "16",
            "--duration",
            "1s",
            "--quiet",
        ])
    };
    let two = PgBouncer::with_settings(server, "transaction", &["default_pool_size = 2"]);
    let refused = load(&two).code(3);
    assert!(refused.only_error().contains("gives 2 connections of the server at once"), "{refused:?}");
    let clients = PgBouncer::with_settings(server, "transaction", &["max_client_conn = 10"]);
    let refused = load(&clients).code(3);
    assert!(refused.only_error().contains("raise the pooler's max_client_conn"), "{refused:?}");
    assert_eq!(server.psql("pooled_few", "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "0");

    let few = PgBouncer::with_settings(server, "transaction", &["default_pool_size = 6"]);
    let run = load(&few).code(0);
    assert!(run.stderr.contains("some of the 16 sessions wait for one"), "{run:?}");
}

#[test]
fn a_run_goes_on_after_its_pooler_was_restarted() {
    let url = loaded::on_postgres("pooled_restart", 1);
    let name = url.rsplit('/').next().expect("a database");
    let pooler = PgBouncer::before(postgres::shared(), "transaction");
    let directory = scratch();
    let path = directory.path().join("result");
    let url = pooler.url(name) + "?statements=unprepared";
    let plan = ["run", &url, "--terminals", "2", "--warmup", "0", "--duration", "6s", "--json", text(&path)];
    let payments = || postgres::shared().psql(name, "SELECT count(*) FROM history");
    let loaded = payments();
    let mut running = Program::new(&plan).start();
    running.wait_until("a payment", || payments() != loaded);
    pooler.restart();
    running.wait().code(0);
    let result = json(&path);
    assert_checks_hold(&result, &["before", "after"]);
}

#[test]
fn a_lone_standby_is_rejected_with_the_address_of_its_primary() {
    let primary = postgres::Server::start(&["fsync=off"]);
    let _url = primary.create_database("tpcc");
    let replica = primary.replica(&["fsync=off"]);
    assert_refused(
        &replica.url("tpcc"),
        &[&format!(
            "is a standby and takes no writes: connect to the primary at 127.0.0.1:{}",
            primary.port()
        )],
    );
    let (primary, replica) = mariadb::Server::with_replica(&mariadb::FAST);
    let _url = primary.create_database("tpcc");
    let position = primary.sql("mysql", "SELECT @@gtid_binlog_pos");
    assert_eq!(replica.sql("mysql", &format!("SELECT MASTER_GTID_WAIT('{position}', 30)")), "0");
    assert_refused(
        &replica.url("tpcc"),
        &[&format!(
            "is a replica and takes no writes (read_only): connect to the primary at 127.0.0.1:{}",
            primary.port()
        )],
    );
}
