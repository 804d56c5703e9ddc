//! What a database holds already decides what happens: nothing is dropped that the user did not ask to drop.

use crate::loaded;
use crate::program::{Program, assert_consistent, checksums, json, lydite, scratch, text};
use lydite_testkit::{mariadb, postgres};
use rusqlite::Connection;
use std::panic::{self, AssertUnwindSafe};
use std::thread;
use std::time::Duration;

#[test]
fn a_run_on_a_database_with_other_warehouses_is_refused_with_advice() {
    let directory = scratch();
    let url = loaded::in_sqlite(&directory.path().join("tpcc.sqlite"), 1);
    let ended = lydite(&["run", &url, "--warehouses", "2", "--quiet"]).code(2);
    let error = ended.only_error();
    assert!(error.contains(&format!("{url} holds 1 tiny warehouse, but the plan wants 2")), "{error}");
    assert!(error.contains("leave --warehouses out, or load again with --fresh"), "{error}");
    let ended = lydite(&["run", &url, "--mode", "rte", "--terminals", "11", "--quiet"]).code(2);
    let error = ended.only_error();
    assert!(error.contains("ten for each of 1 warehouse (clause 4.2.1)"), "{error}");
    assert_consistent(&url);
}

#[test]
fn a_database_keeps_its_size_and_a_result_from_tiny_warehouses_says_so() {
    let directory = scratch();
    let url = loaded::in_sqlite(&directory.path().join("tpcc.sqlite"), 1);
    assert!(lydite(&["check", &url]).code(0).stdout.contains(": 1 tiny warehouse, loaded by Lydite"));
    let refused = lydite(&["run", &url, "--size", "standard", "--quiet"]).code(2);
    let said = "holds warehouses of size tiny, but the plan wants size standard: leave it out, or load again";
    assert!(refused.only_error().contains(said), "{refused:?}");
    for arguments in [["load", &url, "--size", "large"], ["run", &url, "--set", "size=large"]] {
        let refused = lydite(&[arguments.as_slice(), &["--warehouses", "1"]].concat()).code(2);
        assert!(refused.stderr.contains("must be one of standard, small, tiny"), "{refused:?}");
    }
    let refused = lydite(&["run", "null:", "--workload", "micro", "--set", "size=small"]).code(2);
    assert!(refused.stderr.contains("is for --workload tpcc only"), "{refused:?}");

    let result = directory.path().join("result.json");
    let run = ["run", &url, "--duration", "1s", "--warmup", "0", "--json", text(&result)];
    let shown = lydite(&[&run[..], &["--verbose"]].concat()).code(0).stdout;
    assert!(shown.contains("1 tiny warehouse,") && shown.contains("! The warehouses are tiny"), "{shown}");
    assert!(shown.contains("not met: rows of the tables (4.3.3.1): size tiny: 1000 items"), "{shown}");
    assert_eq!(json(&result)["plan"]["size"], "tiny");
    lydite(&[&run[..], &["--fresh"]].concat()).code(0);
    assert_eq!(json(&result)["plan"]["size"], "tiny", "the same again");
    let refused = lydite(&["run", &url, "--resume"]).code(2);
    assert!(refused.only_error().contains("--resume: is for `lydite load`"), "{refused:?}");
    assert_consistent(&url);
}

#[test]
fn a_load_on_a_loaded_database_is_refused_and_replaces_it_only_when_told_fresh() {
    let directory = scratch();
    let path = directory.path().join("tpcc.sqlite");
    let url = loaded::in_sqlite(&path, 1);
    let mark = Connection::open(&path).expect("the file");
    mark.execute("UPDATE item SET i_data = 'mine' WHERE i_id = 1", []).expect("a mark");
    let marked = || -> bool {
        mark.query_row("SELECT i_data = 'mine' FROM item WHERE i_id = 1", [], |row| row.get(0))
            .expect("item 1")
    };
    for more in [vec![], vec!["--resume"]] {
        let ended =
            lydite(&[["load", &url, "--warehouses", "1", "--quiet"].as_slice(), &more].concat()).code(2);
        let error = ended.only_error();
        assert!(error.contains("loaded already, with 1 tiny warehouse from seed 1"), "{error}");
        assert!(error.contains("--fresh"), "{error}");
    }
    assert!(marked(), "the refused loads touched nothing");
    lydite(&["load", &url, "--warehouses", "1", "--size", "small", "--fresh", "--quiet"]).code(0);
    assert!(!marked(), "--fresh loads anew");
    assert_consistent(&url);
    let ended = lydite(&["load", &url, "--warehouses", "1", "--fresh", "--resume"]).code(2);
    assert!(ended.stderr.contains("cannot be used with"), "{ended:?}");
}

#[test]
fn a_foreign_table_of_the_same_name_is_left_alone_unless_told_fresh() {
    let server = postgres::shared();
    let url = server.create_database("foreign_tables");
    server.psql(
        "foreign_tables",
        "CREATE TABLE stock (mine text); INSERT INTO stock VALUES ('shares'); \
         CREATE TABLE diary (mine text); INSERT INTO diary VALUES ('Dear diary')",
    );
    for arguments in [
        vec!["run", &url, "--quiet"],
        vec!["load", &url, "--warehouses", "1", "--quiet"],
        vec!["load", &url, "--warehouses", "1", "--resume", "--quiet"],
        vec!["check", &url],
    ] {
        let ended = lydite(&arguments).code(2);
        let error = ended.only_error();
        assert!(error.contains("did not make (stock)"), "{error}");
        assert!(error.contains("name another database or schema; "), "{error}");
        assert!(error.contains("; if nobody needs these tables, "), "{error}");
        assert!(error.contains("--fresh") && error.contains(" drops them with all their rows"), "{error}");
    }
    let micro = [["run", &url, "--workload", "micro"], ["load", &url, "--workload", "micro"]];
    for arguments in [micro[0].as_slice(), &micro[1], &["driver", "test", &url]] {
        let ended = lydite(arguments).code(2);
        let error = ended.only_error();
        assert!(error.contains("did not make (stock)"), "{error}");
        assert!(
            error.contains("if nobody needs these tables, --fresh drops them with all their rows"),
            "{error}"
        );
    }
    assert_eq!(server.psql("foreign_tables", "SELECT mine FROM stock"), "shares");
    assert_eq!(
        server.psql("foreign_tables", "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"),
        "2",
        "nothing was made"
    );
    lydite(&["load", &url, "--warehouses", "1", "--size", "small", "--fresh", "--quiet"]).code(0);
    assert_consistent(&url);
    assert_eq!(server.psql("foreign_tables", "SELECT mine FROM diary"), "Dear diary");
}

#[test]
fn foreign_views_that_are_in_the_way_are_told_and_dropped_only_when_told_fresh() {
    let server = postgres::shared();
    let url = server.create_database("foreign_view");
    // Views of views, of both kinds, in an order that neither names nor kinds tell.
    server.psql(
        "foreign_view",
        "CREATE TABLE diary (mine text); CREATE VIEW item AS SELECT * FROM diary; \
         CREATE MATERIALIZED VIEW stock AS SELECT * FROM item; CREATE VIEW customer AS SELECT * FROM stock; \
         CREATE VIEW district AS SELECT * FROM customer; CREATE TABLE orders (mine text); \
         CREATE MATERIALIZED VIEW history AS SELECT mine FROM orders",
    );
    let ended = lydite(&["run", &url, "--quiet"]).code(2);
    assert!(ended.only_error().contains("did not make ("), "{ended:?}");
    assert!(ended.only_error().contains("item"), "{ended:?}");
    lydite(&["load", &url, "--warehouses", "1", "--size", "small", "--fresh", "--quiet"]).code(0);
    assert_consistent(&url);
    assert_eq!(server.psql("foreign_view", "SELECT count(*) FROM diary"), "0", "it stays");
}

#[test]
fn what_depends_on_the_tables_is_not_dropped_and_told_with_advice() {
    let server = postgres::shared();
    let url = server.create_database("dependent_view");
    server.psql(
        "dependent_view",
        "CREATE TABLE item (mine text); INSERT INTO item VALUES ('a'); CREATE VIEW mine AS SELECT * FROM item",
    );
    let ended = lydite(&["load", &url, "--warehouses", "1", "--size", "small", "--fresh", "--quiet"]).code(3);
    let error = ended.only_error();
    assert!(error.contains("view mine depends on table item"), "{error}");
    assert!(error.contains("drop what depends on it first (DROP VIEW"), "{error}");
    assert_eq!(server.psql("dependent_view", "SELECT mine FROM mine"), "a");
}

#[test]
fn a_missing_table_is_answered_with_the_whole_command_of_the_load() {
    let directory = scratch();
    let path = directory.path().join("tpcc.sqlite");
    let url = format!("sqlite:{}", text(&path));
    lydite(&["load", &url, "-w", "3", "--size", "tiny", "--seed", "7", "--quiet"]).code(0);
    let before = checksums(&url);
    Connection::open(&path).unwrap().execute("DROP TABLE history", []).unwrap();
    let said = format!("start over with `lydite load {url} --warehouses 3 --size tiny --seed 7 --fresh`");
    for command in [
        &["check", &url][..],
        &["run", &url, "-d", "1s"],
        &["verify", &url],
        &["audit", &url, "--only", "data"],
        &["plan", "--nopm", "1000", "--target", &url],
    ] {
        let ended = lydite(command).code(2);
        assert!(ended.only_error().contains(&said), "{ended:?}");
    }
    // A run keeps what the notes say, too.
    lydite(&["run", &url, "--fresh", "-d", "100ms", "--warmup", "0", "--seed", "7", "--quiet"]).code(0);
    let found = lydite(&["check", &url]).code(0).stdout;
    assert!(found.contains(": 3 tiny warehouses"), "{found}");
    lydite(&["load", &url, "--warehouses", "3", "--size", "tiny", "--seed", "7", "--fresh", "--quiet"])
        .code(0);
    assert_eq!(checksums(&url), before);
}

#[test]
fn a_command_without_the_password_of_its_target_says_once_how_to_give_it() {
    let server = postgres::shared();
    let url = server.create_database("hinted");
    let with_password = url.replacen('@', ":S3cr3tM@", 1);
    let hint = "; set LYDITE_PASSWORD to the password before";
    let ended = lydite(&["check", &with_password]).code(2);
    let error = ended.only_error();
    assert!(error.ends_with(&format!("`lydite load {url} --warehouses 2`{hint}")), "{error}");
    assert!(!error.contains("S3cr3tM"), "{error}");
    // Nobody needs it who has it in the environment, or whose URL is whole.
    let given = Program::new(&["check", &with_password]).env("LYDITE_PASSWORD", "S3cr3tM").run().code(2);
    assert!(given.only_error().ends_with("--warehouses 2`"), "{given:?}");
    let whole = lydite(&["check", &url]).code(2);
    assert!(whole.only_error().ends_with("--warehouses 2`"), "{whole:?}");
}

/// Ends a load with `--fresh` while it waits for the lock of a table that a session holds. `sql` asks the server, `hold` is
/// the session, and these queries name it, end it, and count the waiting statements.
fn end_a_fresh_load_that_waits(
    url: &str,
    sql: &(dyn Fn(&str) -> String + Sync),
    [hold, holder, end, drops]: [&str; 4],
) {
    lydite(&["load", url, "-w", "1", "--size", "tiny", "--quiet"]).code(0);
    let look = || thread::sleep(Duration::from_millis(20));
    for signal in [libc::SIGINT, libc::SIGKILL] {
        thread::scope(|scope| {
            let held = scope
                .spawn(|| panic::catch_unwind(AssertUnwindSafe(|| sql(hold))).expect_err("it is killed"));
            let id = loop {
                match sql(holder) {
                    id if id.is_empty() => look(),
                    id => break id,
                }
            };
            let fresh = ["load", url, "-w", "1", "--size", "tiny", "--fresh", "--quiet"];
            let mut fresh = Program::new(&fresh).start();
            fresh.wait_until("its wait", || sql(drops) == "1");
            fresh.signal(signal);
            assert_eq!(fresh.wait().code, (signal == libc::SIGINT).then_some(130));
            // The server's wait has an end of its own.
            while sql(drops) != "0" {
                look();
            }
            sql(&end.replace('#', &id));
            held.join().expect("the holder");
        });
        assert_consistent(url);
    }
}

// The last of the tables by name: those before it could be dropped.

#[test]
fn a_fresh_load_that_ends_while_it_waits_for_a_lock_in_mariadb_leaves_the_database_as_it_was() {
    let server = mariadb::shared();
    let url = server.create_database("waits_fresh");
    let of_database = "FROM information_schema.processlist WHERE db = 'waits_fresh' AND";
    let texts = [
        "BEGIN; SELECT count(*) FROM warehouse; SELECT sleep(3600)",
        &format!("SELECT id {of_database} state = 'User sleep'"),
        "KILL #",
        &format!("SELECT count(*) {of_database} info LIKE 'DROP TABLE%'"),
    ];
    end_a_fresh_load_that_waits(&url, &|sql| server.sql("waits_fresh", sql), texts);
}

#[test]
fn a_fresh_load_that_ends_while_it_waits_for_a_lock_in_postgresql_leaves_the_database_as_it_was() {
    let server = postgres::shared();
    let url = server.create_database("waits_fresh");
    let of_database = "FROM pg_stat_activity WHERE datname = 'waits_fresh' AND";
    let texts = [
        "BEGIN; SELECT count(*) FROM warehouse; SELECT pg_sleep(3600)",
        &format!("SELECT pid {of_database} wait_event = 'PgSleep'"),
        "SELECT pg_terminate_backend(#)",
        &format!("SELECT count(*) {of_database} wait_event_type = 'Lock' AND query LIKE '%DROP TABLE%'"),
    ];
    end_a_fresh_load_that_waits(&url, &|sql| server.psql("waits_fresh", sql), texts);
}

#[test]
fn databases_in_two_schemas_do_not_see_each_other() {
    let server = postgres::shared();
    let url = loaded::on_postgres("two_schemas", 1);
    server.psql("two_schemas", "CREATE SCHEMA \"Other One\"");
    let other = format!("{url}?schema=Other%20One");
    let ended = lydite(&["check", &other]).code(2);
    assert!(ended.only_error().contains("is empty"), "{ended:?}");
    lydite(&["load", &other, "--warehouses", "1", "--size", "small", "--seed", "2", "--quiet"]).code(0);
    assert_consistent(&other);
    lydite(&["load", &other, "--warehouses", "1", "--size", "small", "--fresh", "--quiet"]).code(0);
    assert_consistent(&url);
}

#[test]
fn check_on_an_empty_database_says_how_to_load_it() {
    let server = postgres::shared();
    let url = server.create_database("empty");
    let ended = lydite(&["check", &url]).code(2);
    let error = ended.only_error();
    assert!(
        error.contains("is empty") && error.contains(&format!("lydite load {url} --warehouses 2")),
        "{error}"
    );
    assert_eq!(server.psql("empty", "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "0");
}
