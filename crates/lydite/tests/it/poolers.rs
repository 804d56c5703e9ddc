//! What answers but can't be a target: poolers that share connections, and standbys. Each is recognised before anything is
//! loaded, with the way out.

use crate::program::{lydite, scratch, text};
use lydite_testkit::pgbouncer::PgBouncer;
use lydite_testkit::{mariadb, postgres};

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
            &[&format!("a pooler in {mode} mode"), "connect to the server itself, or set pool_mode=session"],
        );
    }
    assert_eq!(server.psql("pooled", "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "0");

    let pooler = PgBouncer::before(server, "session");
    server.psql("pooled", "CREATE SCHEMA own");
    let url = pooler.url("pooled") + "?schema=own";
    lydite(&["load", &url, "--warehouses", "1", "--size", "tiny", "--quiet"]).code(0);
    lydite(&["check", &url, "--quiet"]).code(0);
    let directory = scratch();
    let path = directory.path().join("result");
    let plan = ["run", &url, "--terminals", "2", "--warmup", "0", "--duration", "1s", "--quiet"];
    lydite(&[&plan[..], &["--json", text(&path)]].concat()).code(0);
    assert_eq!(server.psql("pooled", "SELECT count(*) FROM own.lydite_meta WHERE value = 'ready'"), "1");
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
