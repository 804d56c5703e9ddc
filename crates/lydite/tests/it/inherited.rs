//! Sessions that inherit hostile settings from the server, the database, the role or `init_connect`; levels of isolation
//! that a proxy lowers; and loads that store nothing.

use crate::program::{assert_checks_hold, json, lydite, scratch, text, total};
use lydite_testkit::{mariadb, postgres};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;

/// Loads, checks and runs a database in each way of sending.
#[track_caller]
fn assert_all_good(url: &str) {
    lydite(&["load", url, "--warehouses", "1", "--size", "tiny", "--quiet"]).code(0);
    lydite(&["check", url, "--quiet"]).code(0);
    let directory = scratch();
    for tx in ["statements", "procedures"] {
        let path = directory.path().join(tx);
        run(url, tx, &path).code(0);
        let result = json(&path);
        assert_checks_hold(&result, &["before", "after"]);
        assert_eq!((total(&result, "unknown"), total(&result, "failed")), (0, 0), "{tx}: {result}");
        let settings = &result["target"]["settings"];
        assert_eq!(settings["isolation_effective"], "repeatable read");
        // A limit of the time of statements is no session's; one of waits for locks is.
        if let Some(limit) = settings["statement_timeout"].as_str() {
            assert_eq!((limit, &settings["lock_timeout"]), ("0", &"300ms".into()));
        }
    }
}

fn run(url: &str, tx: &str, path: &Path) -> crate::program::Ended {
    let plan = ["run", url, "--tx", tx, "--terminals", "2", "--warmup", "0", "--duration", "1s", "--quiet"];
    lydite(&[&plan[..], &["--json", text(path)]].concat())
}

/// What makes loads and transactions of MySQL's family fail, hang or lie if a session keeps it.
const OF_MARIADB: [&str; 20] = [
    "autocommit = 0",
    "completion_type = 2",
    "sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH,EMPTY_STRING_IS_NULL,NO_ZERO_DATE'",
    "tx_read_only = 1",
    "tx_isolation = 'READ-UNCOMMITTED'",
    "sql_select_limit = 1",
    "max_join_size = 1",
    "sql_safe_updates = 1",
    "sql_auto_is_null = 1",
    "max_statement_time = 0.3",
    "idle_transaction_timeout = 1",
    "wait_timeout = 1",
    "net_read_timeout = 1",
    "lock_wait_timeout = 1",
    "innodb_lock_wait_timeout = 1",
    "div_precision_increment = 0",
    "max_sort_length = 64",
    "group_concat_max_len = 4",
    "time_zone = '+09:00'",
    "collation_connection = 'latin1_swedish_ci'",
];

#[test]
fn a_server_of_mysql_with_hostile_settings_is_loaded_checked_and_run() {
    let server = mariadb::Server::start(&mariadb::FAST);
    let url = server.create_database("of_server");
    let first = server.create_database("of_init_connect");
    server
        .sql("mysql", "CREATE USER plain@'%' IDENTIFIED BY 'x'; GRANT ALL ON of_init_connect.* TO plain@'%'");
    server.sql("mysql", &OF_MARIADB.map(|set| format!("SET GLOBAL {set}")).join("; "));
    assert_all_good(&url);

    let defaults = OF_MARIADB.map(|set| {
        let (name, _) = set.split_once(" = ").expect("a value");
        format!("SET GLOBAL {name} = DEFAULT")
    });
    server.sql("mysql", &(String::from("SET SESSION completion_type = 0; ") + &defaults.join("; ")));
    let of_session = OF_MARIADB.join(", ").replace('\'', "''");
    server.sql("mysql", &format!("SET GLOBAL init_connect = 'SET {of_session}'"));
    assert_all_good(&first.replace("root@", "plain:x@"));
}

#[test]
fn an_engine_without_transactions_is_named_before_anything_is_dropped_or_made() {
    let server = mariadb::Server::start(&mariadb::FAST);
    let url = server.create_database("tpcc");
    let load = ["load", &url, "--warehouses", "1", "--size", "tiny", "--quiet"];
    lydite(&load).code(0);
    server.sql("mysql", "SET GLOBAL default_storage_engine = MyISAM");
    for refused in
        [lydite(&[&load[..], &["--fresh"]].concat()), lydite(&["verify", &url, "--isolation", "--quiet"])]
    {
        let refused = refused.code(2);
        let error = refused.only_error();
        assert!(error.contains("default engine MyISAM has no transactions: use ?engine=InnoDB"), "{error}");
    }
    lydite(&["check", &url, "--quiet"]).code(0);
    let innodb = format!("{url}?engine=InnoDB");
    lydite(&["load", &innodb, "--warehouses", "1", "--size", "tiny", "--fresh", "--quiet"]).code(0);
}

/// The same for PostgreSQL, of a database or of a role.
const OF_POSTGRES: [&str; 19] = [
    "statement_timeout = '300ms'",
    "lock_timeout = '300ms'",
    "idle_in_transaction_session_timeout = '1s'",
    "idle_session_timeout = '1s'",
    "default_transaction_isolation = 'serializable'",
    "default_transaction_read_only = on",
    "default_transaction_deferrable = on",
    "\"DateStyle\" = 'German, DMY'",
    "\"TimeZone\" = 'Asia/Tokyo'",
    "\"IntervalStyle\" = 'sql_standard'",
    "client_encoding = 'latin1'",
    "extra_float_digits = -15",
    "standard_conforming_strings = off",
    "quote_all_identifiers = on",
    "transform_null_equals = on",
    "array_nulls = off",
    "exit_on_error = on",
    "session_replication_role = replica",
    "plpgsql.extra_errors = 'all'",
];

#[test]
fn a_database_and_a_role_of_postgresql_with_hostile_settings_are_loaded_checked_and_run() {
    let server = postgres::shared();
    let url = server.create_database("inherits");
    server.psql("postgres", &OF_POSTGRES.map(|set| format!("ALTER DATABASE inherits SET {set}")).join("; "));
    assert_all_good(&url);

    let _url = server.create_database("inherits_by_role");
    server
        .psql("postgres", "CREATE ROLE inheritor LOGIN; ALTER DATABASE inherits_by_role OWNER TO inheritor");
    // Only a superuser may set one of them.
    let of_role = OF_POSTGRES.iter().filter(|set| !set.contains("replication"));
    let sets: Vec<String> = of_role.map(|set| format!("ALTER ROLE inheritor SET {set}")).collect();
    server.psql("postgres", &sets.join("; "));
    assert_all_good(&server.url("inherits_by_role").replace("postgres@", "inheritor@"));

    server.psql("postgres", "ALTER ROLE inheritor SET session_replication_role = replica");
    let refused =
        lydite(&["check", &server.url("inherits_by_role").replace("postgres@", "inheritor@")]).code(3);
    let error = refused.only_error();
    assert!(error.contains("session_replication_role") && error.contains("ALTER ROLE … RESET"), "{error}");
}

/// Settings that the user writes into the URL hold for the measured sessions, and not for loads.
#[test]
fn a_statement_timeout_of_the_url_is_the_sessions_own_and_no_loads() {
    // The first statement of a connection, which lifts the limits, is still under them.
    let short = postgres::shared().create_database("short_timeout");
    let short = format!("{short}?options=-c%20statement_timeout=200%20--idle-session-timeout=2000");
    lydite(&["load", &short, "--warehouses", "1", "--size", "tiny", "--quiet"]).code(0);
    lydite(&["check", &short, "--quiet"]).code(0);
    let url = postgres::shared().create_database("asked_timeout");
    let url = format!("{url}?options=-c%20statement_timeout=300ms");
    lydite(&["load", &url, "--warehouses", "1", "--size", "small", "--quiet"]).code(0);
    let directory = scratch();
    let path = directory.path().join("result");
    run(&url, "statements", &path);
    assert_eq!(json(&path)["target"]["settings"]["statement_timeout"], "300ms");
}

/// Starts a proxy that replaces a text that clients send. Both texts have the same length.
fn proxy(port: u16, from: &'static str, to: &'static str) -> u16 {
    assert_eq!(from.len(), to.len());
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let own = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else { continue };
            let (back, front) =
                (server.try_clone().expect("a socket"), client.try_clone().expect("a socket"));
            thread::spawn(move || {
                pass(client, server, &|bytes| replace(bytes, from.as_bytes(), to.as_bytes()))
            });
            thread::spawn(move || pass(back, front, &|_| ()));
        }
    });
    own
}

/// Passes bytes on. A message is written at once, so that it comes in one piece.
fn pass(mut from: TcpStream, mut to: TcpStream, change: &dyn Fn(&mut [u8])) {
    let mut buffer = vec![0; 1 << 20];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        change(&mut buffer[..count]);
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _closed = to.shutdown(std::net::Shutdown::Both);
}

fn replace(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    for at in 0..bytes.len().saturating_sub(from.len() - 1) {
        if bytes[at..].starts_with(from) {
            bytes[at..at + to.len()].copy_from_slice(to);
        }
    }
}

#[test]
fn a_level_that_a_proxy_lowers_is_read_back_and_rejected_before_anything_is_loaded() {
    let postgres = postgres::shared();
    let mariadb = mariadb::shared();
    let lowered = |url: String, port: u16, from, to| {
        url.replace(&format!(":{port}/"), &format!(":{}/", proxy(port, from, to)))
    };
    let level = "REPEATABLE READ";
    for url in [
        lowered(postgres.create_database("lowered"), postgres.port(), level, "READ COMMITTED "),
        lowered(
            postgres.create_database("unlevelled") + "?isolation=serializable",
            postgres.port(),
            "ISOLATION LEVEL SERIALIZABLE",
            "                            ",
        ),
        lowered(mariadb.create_database("lowered"), mariadb.port(), level, "READ COMMITTED "),
    ] {
        let refused =
            lydite(&["run", &url, "--warehouses", "1", "--size", "tiny", "--duration", "1s", "--quiet"])
                .code(2);
        let error = refused.only_error();
        assert!(
            error.contains(
                "get read committed: a proxy or the server lowers the level: connect to the server itself"
            ),
            "{error}"
        );
    }
    assert_eq!(postgres.psql("lowered", "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "0");
    assert_eq!(mariadb.sql("lowered", "SHOW TABLES"), "");
}

/// The example driver over SQLite that loses the note of the end of a load.
#[test]
fn a_load_that_was_not_stored_is_no_success() {
    let place = scratch();
    let url = format!(
        "driver:env PYTHONPATH={0}/../../sdk/python STORE_FILE={1} python3 {0}/tests/drivers/broken.py forgets_end",
        env!("CARGO_MANIFEST_DIR"),
        place.path().join("store.sqlite").display()
    );
    let ended = lydite(&["load", &url, "--warehouses", "1", "--size", "tiny", "--quiet"]).code(3);
    let error = ended.only_error();
    assert!(error.contains("acknowledged the whole load, but"), "{error}");
    assert!(error.contains("a new connection finds") && error.contains("--resume"), "{error}");
}
