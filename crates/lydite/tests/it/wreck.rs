//! What a stopped load or drop leaves: every command says in one line what is there, and the way out that it prints
//! works when pasted.

use crate::loaded;
use crate::program::{Ended, Program, assert_consistent, assert_no_panic, lydite, scratch, text};
use lydite_testkit::mariadb::{self, FAST};
use lydite_testkit::postgres;
use rusqlite::Connection;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The load of these tests.
const TINY: [&str; 5] = ["--warehouses", "1", "--size", "tiny", "--quiet"];

/// The way to a server on this machine, which is cut for good before a certain message of a client.
struct Cable {
    port: u16,
    /// Messages so far, over all connections.
    sent: Arc<AtomicUsize>,
}

impl Cable {
    fn new(server: u16, cut_before: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its number").port();
        let sent = Arc::<AtomicUsize>::default();
        let count = Arc::clone(&sent);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if count.load(Ordering::SeqCst) >= cut_before {
                    continue;
                }
                let server = TcpStream::connect(("127.0.0.1", server)).expect("the server");
                let back = (server.try_clone().expect("a stream"), client.try_clone().expect("a stream"));
                thread::spawn(move || pass(back.0, back.1, || true));
                let count = Arc::clone(&count);
                thread::spawn(move || {
                    pass(client, server, || count.fetch_add(1, Ordering::SeqCst) < cut_before);
                });
            }
        });
        Self { port, sent }
    }

    /// The URL of a server's database, over this way.
    fn url(&self, url: &str, server: u16) -> String {
        url.replace(&format!(":{server}/"), &format!(":{}/", self.port))
    }
}

/// Passes on what comes while it may, then cuts both sides.
fn pass(mut from: TcpStream, mut to: TcpStream, may: impl Fn() -> bool) {
    let mut part = vec![0; 1 << 20];
    while let Ok(length @ 1..) = from.read(&mut part) {
        if !may() || to.write_all(&part[..length]).is_err() {
            break;
        }
    }
    let _cut = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

/// The messages before which a load over a cable is cut: some of so many, or all by `LYDITE_TEST_WRECKS=all`.
fn cuts(count: usize, some: &[usize]) -> Vec<usize> {
    match std::env::var("LYDITE_TEST_WRECKS").as_deref() {
        Ok("all") => (1..=count).collect(),
        _ => some.iter().copied().filter(|cut| *cut <= count).chain([count * 3 / 4]).collect(),
    }
}

/// The command between backquotes that an error tells last, with its arguments.
#[track_caller]
fn told(error: &str) -> Vec<String> {
    let command = error.split('`').skip(1).step_by(2).find(|command| command.starts_with("lydite load "));
    let command = command.unwrap_or_else(|| panic!("no command: {error}"));
    command.split(' ').skip(1).map(|word| word.trim_matches('\'').to_string()).collect()
}

/// Asserts that the database can be used, or that the way out that `check` prints leads there.
#[track_caller]
fn assert_way_out(url: &str, cut: usize) {
    let checked = lydite(&["check", url, "--quiet"]);
    assert_no_panic(&checked);
    if checked.code == Some(0) {
        return;
    }
    let checked = checked.code(2);
    let error = checked.only_error();
    let mut way = told(error);
    if !way.iter().any(|word| word == "--resume") {
        // As it was, but not as long.
        // The notes of a database that was being created may not know its size yet.
        if !way.iter().any(|word| word == "--size") {
            way.extend(["--size", "tiny"].map(String::from));
        }
    }
    if cut.is_multiple_of(2) {
        let run =
            ["run", url, "--fresh", "--size", "tiny", "--warmup", "0", "--duration", "200ms", "--quiet"];
        lydite(&run).code(0);
    } else {
        Program::new(&way).run().code(0);
    }
    assert_consistent(url);
}

/// Loads anew over a cable that is cut, at several places.
fn cut_and_repair((url, port): (&str, u16), some: &[usize]) {
    let load = |url: &str| lydite(&[&["load", url, "--fresh", "--jobs", "1"], &TINY[..]].concat());
    load(url).code(0);
    let whole = Cable::new(port, usize::MAX);
    load(&whole.url(url, port)).code(0);
    let count = whole.sent.load(Ordering::SeqCst);
    for cut in cuts(count, some) {
        let cable = Cable::new(port, cut);
        let ended = load(&cable.url(url, port));
        assert_no_panic(&ended);
        assert!(ended.code == Some(0) || ended.errors().len() == 1, "cut before {cut} of {count}: {ended:?}");
        eprintln!("cut before {cut} of {count}: {:?}", ended.errors());
        assert_way_out(url, cut);
    }
}

#[test]
fn a_load_into_mariadb_that_is_cut_anywhere_leaves_nothing_that_has_no_way_out() {
    let server = mariadb::shared();
    let url = server.create_database("cut");
    // Among the drops, the creations, the rows, and the keys.
    cut_and_repair((&url, server.port()), &[22, 35, 48, 61, 74, 87]);
}

#[test]
fn a_load_into_postgres_that_is_cut_anywhere_leaves_nothing_that_has_no_way_out() {
    let server = postgres::shared();
    let url = server.create_database("cut");
    cut_and_repair((&url, server.port()), &[12, 25]);
}

/// States that no load ends in, by the SQL that leads there from an empty database, or from a loaded one, with what is
/// said about them.
const FROM_EMPTY: [(&str, &str); 5] = [
    ("CREATE TABLE lydite_meta (name varchar(32) PRIMARY KEY, value varchar(200) NOT NULL)", "no warehouses"),
    ("CREATE TABLE lydite_load (unit int PRIMARY KEY)", "lydite_meta is missing"),
    ("CREATE TABLE lydite_meta (mine int)", "other columns"),
    (
        "CREATE TABLE lydite_meta (name varchar(32) PRIMARY KEY, value varchar(200) NOT NULL); \
         INSERT INTO lydite_meta VALUES ('state', 'ready'), ('warehouses', 'many')",
        "no warehouses or a bad one",
    ),
    ("CREATE TABLE stock (mine int)", "did not make (stock)"),
];
const FROM_LOADED: [(&str, &str); 5] = [
    ("DROP TABLE new_order", "new_order is missing"),
    ("DELETE FROM lydite_meta WHERE name = 'state'", "no state"),
    ("UPDATE lydite_meta SET value = 'dropping' WHERE name = 'state'", "a drop was stopped"),
    (
        "UPDATE lydite_meta SET value = 'loading' WHERE name = 'state'; DROP TABLE lydite_load",
        "lydite_load is missing",
    ),
    ("DELETE FROM lydite_meta", "no warehouses"),
];

/// Asserts that all commands say what is there, and that `run --fresh` makes a good database of it.
#[track_caller]
fn assert_told_and_cleared(url: &str, said: &str, commands: &[&[&str]]) {
    for command in commands {
        let arguments = [&command[..1], &[url], &command[1..]].concat();
        let refused = lydite(&arguments).code(2);
        let error = refused.only_error();
        assert!(error.contains(said) && error.contains("--fresh"), "{arguments:?}: {error}");
    }
    let run = ["run", url, "--fresh", "--size", "tiny", "--warmup", "0", "--duration", "200ms", "--quiet"];
    lydite(&run).code(0);
    assert_consistent(url);
}

#[test]
fn every_state_that_is_no_database_is_told_by_all_commands_and_cleared_by_fresh() {
    let directory = scratch();
    let all: [&[&str]; 8] = [
        &["check"],
        &["run", "--quiet"],
        &["load", "--warehouses", "1", "--quiet"],
        &["load", "--warehouses", "1", "--resume", "--quiet"],
        &["verify", "--quiet"],
        &["audit", "--quiet"],
        &["run", "--workload", "micro", "--quiet"],
        &["load", "--workload", "micro", "--quiet"],
    ];
    for (number, (sql, said)) in FROM_EMPTY.iter().chain(&FROM_LOADED).enumerate() {
        let path = directory.path().join(number.to_string());
        let url = format!("sqlite:{}", text(&path));
        if number >= FROM_EMPTY.len() {
            lydite(&[&["load", &url], &TINY[..]].concat()).code(0);
        }
        let file = Connection::open(&path).expect("the file");
        file.execute_batch(sql).expect("the state");
        drop(file);
        assert_told_and_cleared(&url, said, &all);
    }
    let server = mariadb::shared();
    let url = server.create_database("states");
    for (number, (sql, said)) in FROM_EMPTY.iter().chain(&FROM_LOADED).enumerate() {
        if number < FROM_EMPTY.len() {
            let _empty = (server.sql("mysql", "DROP DATABASE states"), server.create_database("states"));
        }
        // In a database that the states before have left loaded.
        server.sql("states", &format!("SET foreign_key_checks = 0; {sql}"));
        assert_told_and_cleared(&url, said, &all[..1]);
    }
    let server = postgres::shared();
    let url = server.create_database("no_database");
    for (number, (sql, said)) in FROM_EMPTY.iter().chain(&FROM_LOADED).enumerate() {
        if number < FROM_EMPTY.len() {
            server.psql("no_database", "DROP SCHEMA public CASCADE");
            server.psql("no_database", "CREATE SCHEMA public");
        }
        server.psql("no_database", sql);
        assert_told_and_cleared(&url, said, &all[..1]);
    }
}

#[test]
fn tables_of_the_microbenchmark_that_are_gone_are_told_and_cleared() {
    let directory = scratch();
    let path = directory.path().join("micro");
    let url = format!("sqlite:{}", text(&path));
    let micro = ["--workload", "micro", "--set", "micro.tables=2", "--set", "micro.records=10", "--quiet"];
    lydite(&[&["load", &url], &micro[..]].concat()).code(0);
    let file = Connection::open(&path).expect("the file");
    let name: String = file
        .query_row(
            "SELECT name FROM sqlite_master WHERE name LIKE 'lydite_micro%' AND type = 'table'",
            [],
            |row| row.get(0),
        )
        .expect("a table of the microbenchmark");
    file.execute_batch(&format!("DROP TABLE {name}")).expect("a drop");
    drop(file);
    let checked = lydite(&["check", &url]).code(2);
    assert!(checked.only_error().contains(&format!("{name} is missing")), "{checked:?}");
    let run = [&["run", &url, "--fresh", "--warmup", "0", "--duration", "200ms"], &micro[..]].concat();
    lydite(&run).code(0);
}

/// Loads a database of MariaDB as a user who may not create STOCK, nor maybe drop tables.
fn without_stock(server: &mariadb::Server, name: &str, may: &str) -> (String, Ended) {
    let url = server.create_database(name);
    let tables =
        "item warehouse district customer history orders new_order order_line lydite_meta lydite_load";
    let mut sql = format!("CREATE USER {name}@'127.0.0.1' IDENTIFIED BY ''; ");
    for table in tables.split(' ') {
        sql +=
            &format!("GRANT SELECT, INSERT, UPDATE, CREATE{may} ON {name}.{table} TO {name}@'127.0.0.1'; ");
    }
    server.sql("mysql", &sql);
    let limited = url.replace("root@", &format!("{name}@"));
    let ended = lydite(&[&["load", &limited], &TINY[..]].concat());
    assert!(!matches!(ended.code, Some(0)), "{ended:?}");
    (url, ended)
}

#[test]
fn a_load_that_can_not_create_a_table_takes_back_what_it_made_or_says_that_it_is_there() {
    let server = mariadb::Server::start(&FAST);
    let (_, ended) = without_stock(&server, "may_drop", ", DROP");
    assert!(ended.only_error().contains("create the tables"), "{ended:?}");
    assert_eq!(server.sql("may_drop", "SHOW TABLES"), "");
    let (url, ended) = without_stock(&server, "may_not", "");
    assert!(ended.only_error().contains("are still there: start over with --fresh"), "{ended:?}");
    let checked = lydite(&["check", &url]).code(2);
    assert!(checked.only_error().contains("stopped while it created the tables"), "{checked:?}");
    assert_way_out(&url, 1);
    // A drop that is refused as a whole changes nothing.
    server.sql("mysql", "GRANT SELECT, UPDATE ON may_not.* TO may_not@'127.0.0.1'");
    let limited = url.replace("root@", "may_not@");
    let refused = lydite(&[&["load", &limited, "--fresh"], &TINY[..]].concat());
    assert!(refused.only_error().contains("drop the tables"), "{refused:?}");
    assert_consistent(&url);
}

#[test]
fn what_has_the_name_of_a_table_but_is_none_is_told_and_left_alone() {
    let server = postgres::shared();
    for (name, object) in [("a_sequence", "SEQUENCE stock"), ("a_type", "TYPE stock AS ENUM ('mine')")] {
        let url = server.create_database(name);
        server.psql(name, &format!("CREATE {object}"));
        let refused = lydite(&[&["load", &url], &TINY[..]].concat()).code(2);
        let error = refused.only_error();
        assert!(error.contains("names of Lydite's tables already (stock): rename them"), "{error}");
        assert_eq!(server.psql(name, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "0");
    }
}

#[test]
fn what_a_killed_isolation_check_leaves_is_told_and_dropped_whatever_its_url_was() {
    let server = mariadb::shared();
    let url = server.create_database("killed_check");
    // As a check of two engines leaves them.
    for place in 1..=2 {
        server.sql("killed_check", &format!("CREATE TABLE lydite_isolation_{place} (id int)"));
    }
    let verify = ["verify", &url, "--isolation", "--duration", "1s", "--quiet"];
    let refused = lydite(&verify).code(2);
    assert!(
        refused.only_error().contains("there is lydite_isolation_1, lydite_isolation_2 already"),
        "{refused:?}"
    );
    let checked = lydite(&[&verify[..], &["--fresh"]].concat());
    assert!(!checked.stderr.contains("already"), "{checked:?}");
    assert_eq!(server.sql("killed_check", "SHOW TABLES"), "");
}

#[test]
fn a_server_that_demands_primary_keys_gets_one_on_history_and_the_same_rows() {
    let server = mariadb::Server::start(&[&FAST[..], &["innodb-force-primary-key=ON"]].concat());
    let url = server.create_database("tpcc");
    for (options, key) in [("", "h_id"), ("?partitions=2", "h_id,h_w_id")] {
        let url = format!("{url}{options}");
        let load = ["load", &url, "--warehouses", "1", "--size", "tiny", "--fresh", "--quiet"];
        lydite(&load).code(0);
        assert_eq!(crate::program::checksums(&url), loaded::sums(1), "{options}");
        let columns = "SELECT group_concat(column_name ORDER BY seq_in_index) FROM information_schema.statistics \
                       WHERE table_schema = 'tpcc' AND table_name = 'history' AND index_name = 'PRIMARY'";
        assert_eq!(server.sql("tpcc", columns), key);
        for tx in ["statements", "batched", "procedures"] {
            let run = ["run", &url, "--tx", tx, "--warmup", "0", "--duration", "300ms", "--quiet"];
            lydite(&run).code(0);
        }
        assert_consistent(&url);
    }
    let refused = lydite(&[&["load", &format!("{url}?history_key=off"), "--fresh"], &TINY[..]].concat());
    assert!(refused.code != Some(0) && refused.only_error().contains("create the tables"), "{refused:?}");
    assert_eq!(server.sql("tpcc", "SHOW TABLES"), "");
}

#[test]
fn history_has_a_key_where_the_url_wants_one_and_the_rows_are_the_same() {
    let (postgres, mariadb) = (postgres::shared(), mariadb::shared());
    for url in [postgres.create_database("history_key"), mariadb.create_database("history_key")] {
        let url = format!("{url}?history_key=on");
        lydite(&["load", &url, "--warehouses", "1", "--size", "tiny", "--quiet"]).code(0);
        assert_eq!(crate::program::checksums(&url), loaded::sums(1));
        let directory = scratch();
        let result = directory.path().join("result.json");
        let run = ["run", &url, "--warmup", "0", "--duration", "300ms", "--quiet", "--json", text(&result)];
        lydite(&run).code(0);
        let settings = &crate::program::json(&result)["target"]["settings"];
        assert_eq!(settings["history_key"], "on", "{settings}");
        assert_consistent(&url);
    }
    let keys = "SELECT count(*) = count(DISTINCT h_id) FROM history";
    assert_eq!(postgres.psql("history_key", keys), "t");
    assert_eq!(mariadb.sql("history_key", keys), "1");
}
