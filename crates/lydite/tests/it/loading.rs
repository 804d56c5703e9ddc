//! Loading: the same seed gives the same rows, however many connections load and whatever breaks in the midst.

use crate::loaded;
use crate::program::{Ended, Program, Running, assert_consistent, checksums, lydite, scratch, text};
use lydite_testkit::Directory;
use lydite_testkit::postgres::{self, Server};
use rusqlite::Connection;
use std::path::{Path, PathBuf};

fn load(url: &str, more: &[&str]) -> Program {
    Program::new(&[&["load", url], &loaded::SLOWLY[..], more].concat())
}

/// Starts a load and waits until ITEM and the first warehouse are in and others are on their way.
fn half_way(program: Program, mut units: impl FnMut() -> u32) -> Running {
    let mut running = program.start();
    running.wait_until("the first warehouse is loaded", || units() >= 2);
    running
}

/// How many units a PostgreSQL database has: ITEM and warehouses.
fn units_of(server: &Server, database: &str) -> u32 {
    let tables = server.psql(database, "SELECT count(*) FROM pg_tables WHERE tablename = 'lydite_load'");
    if tables == "0" {
        return 0;
    }
    server.psql(database, "SELECT count(*) FROM lydite_load").parse().expect("a count")
}

/// The same, once nobody loads any more.
fn units_left(server: &Server, database: &str) -> u32 {
    let sessions = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = '{database}' AND backend_type = 'client backend'"
    );
    loaded::wait_until_alone(|| server.psql("postgres", &sessions));
    units_of(server, database)
}

/// How many units an SQLite file has.
fn units_in(path: &Path) -> u32 {
    if !path.exists() {
        return 0;
    }
    let database = Connection::open(path).expect("the file");
    // The tables are not there yet, or are being made.
    database.query_row("SELECT count(*) FROM lydite_load", [], |row| row.get(0)).unwrap_or(0)
}

/// A scratch directory, the path of a file in it that is not there yet, and the URL of an SQLite database in that file.
fn sqlite_file() -> (Directory, PathBuf, String) {
    let directory = scratch();
    let path = directory.path().join("tpcc.sqlite");
    let url = format!("sqlite:{}", text(&path));
    (directory, path, url)
}

/// Interrupts a load half-way: it says how to go on, and can be.
fn assert_interrupted_and_resumed(running: Running, url: &str, units: impl FnOnce() -> u32) {
    running.signal(libc::SIGINT);
    assert_says_how_to_go_on(&running.wait().code(130));
    assert_resumable(url, units());
}

/// A load that did not end is refused by all commands with advice, and only the same load resumes it; then it is
/// as if nothing had happened. `units` are those that were loaded.
fn assert_resumable(url: &str, units: u32) {
    for arguments in [vec!["check", url], vec!["run", url, "--quiet"]] {
        let ended = lydite(&arguments).code(2);
        let error = ended.only_error();
        loaded::assert_broken_off(error, units);
        let advice = format!("lydite load {url} --warehouses 6 --size small --seed 1 --resume");
        assert!(error.contains(&advice), "{error}");
        assert!(error.contains("or start again with --fresh instead of --resume"), "{error}");
    }
    let ended = load(url, &[]).run().code(2);
    let error = ended.only_error();
    assert!(error.contains("an unfinished load of 6 small warehouses from seed 1"), "{error}");
    assert!(error.contains("--resume") && error.contains("--fresh"), "{error}");
    let ended = load(url, &["--resume", "--seed", "2"]).run().code(2);
    let error = ended.only_error();
    assert!(error.contains("from seed 1, not of 6 small warehouses from seed 2"), "{error}");
    load(url, &["--resume"]).run().code(0);
    assert_eq!(checksums(url), loaded::sums_of_slowly());
}

fn assert_says_how_to_go_on(ended: &Ended) {
    assert!(ended.only_error().contains("--resume"), "{ended:?}");
}

#[test]
fn the_same_seed_gives_the_same_rows_with_one_job_and_with_two_in_sqlite_and_in_postgres() {
    let (directory, server) = (scratch(), postgres::shared());
    for (size, warehouses, jobs) in [("standard", 1, "1"), ("small", 3, "1"), ("small", 3, "2")] {
        let sqlite = directory.path().join(format!("{size}_{jobs}.sqlite"));
        let postgres = server.create_database(&format!("jobs_{size}_{jobs}"));
        for url in [format!("sqlite:{}", text(&sqlite)), postgres] {
            let count = warehouses.to_string();
            lydite(&["load", &url, "--warehouses", &count, "--size", size, "--jobs", jobs, "--quiet"])
                .code(0);
            assert_eq!(checksums(&url), loaded::sums_of_size(size, warehouses), "{url} with {jobs} jobs");
        }
    }
}

#[test]
fn a_server_killed_during_a_load_is_told_and_the_load_is_resumed_after_its_restart() {
    let server = Server::start(&["fsync=off", "max_wal_size=4GB"]);
    let url = server.create_database("tpcc");
    let running = half_way(load(&url, &[]), || units_of(&server, "tpcc"));
    server.kill();
    let ended = running.wait().code(3);
    assert!(ended.only_error().contains(&format!("127.0.0.1:{}", server.port())), "{ended:?}");
    assert_says_how_to_go_on(&ended);
    server.restart();
    assert_resumable(&url, units_left(&server, "tpcc"));
}

#[test]
fn a_load_into_postgres_that_is_killed_is_resumed() {
    let server = postgres::shared();
    let url = server.create_database("killed_load");
    let running = half_way(load(&url, &[]), || units_of(server, "killed_load"));
    running.signal(libc::SIGKILL);
    assert_eq!(running.wait().code, None);
    assert_resumable(&url, units_left(server, "killed_load"));
}

#[test]
fn a_load_does_not_begin_while_the_server_works_on_for_one_that_was_killed() {
    // A key is built to its end though nobody waits for it; the next loader would build it once more.
    let server = Server::start(&["fsync=off", "max_wal_size=4GB", "max_prepared_transactions=2"]);
    let url = server.create_database("tpcc");
    let mut running = load(&url, &[]).start();
    running.wait_until("the tables", || units_of(&server, "tpcc") > 0);
    // Keeps nobody from loading rows, but keys from being added; held without a connection.
    let hold = "BEGIN; LOCK TABLE order_line IN ACCESS SHARE MODE; PREPARE TRANSACTION 'hold'";
    server.psql("tpcc", hold);
    let waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'ALTER TABLE order_line%'";
    let mut process = String::new();
    running.wait_until("the key", || {
        process = server.psql("tpcc", waiting);
        !process.is_empty()
    });
    running.signal(libc::SIGKILL);
    assert_eq!(running.wait().code, None);
    let ended = load(&url, &["--resume"]).run().code(2);
    let error = ended.only_error();
    assert!(error.contains("another load is running on this database (backend PID"), "{error}");
    assert!(error.contains(&process) && error.contains("wait for it, or end it"), "{error}");
    server.psql("tpcc", "ROLLBACK PREPARED 'hold'");
    load(&url, &["--resume"]).run().code(0);
    assert_consistent(&url);
}

#[test]
fn of_two_loads_of_one_database_one_is_rejected() {
    let server = postgres::shared();
    let url = server.create_database("two_loads");
    let both = [load(&url, &[]).start(), load(&url, &[]).start()];
    let mut ended = both.map(Running::wait);
    ended.sort_by_key(|ended| ended.code);
    assert_eq!(ended.each_ref().map(|ended| ended.code), [Some(0), Some(2)], "{ended:?}");
    let error = ended[1].only_error();
    // Nobody knows how much later the second one begins.
    let running = error.contains("another load is running on this database (backend PID");
    assert!(running || error.contains("the database is loaded already"), "{error}");
    assert_consistent(&url);
}

#[test]
fn a_load_into_sqlite_that_is_killed_is_resumed() {
    let (_directory, path, url) = sqlite_file();
    let running = half_way(load(&url, &[]), || units_in(&path));
    running.signal(libc::SIGKILL);
    assert_eq!(running.wait().code, None);
    assert_resumable(&url, units_in(&path));
}

#[test]
fn ctrl_c_ends_a_load_with_130_and_it_is_resumed() {
    let server = postgres::shared();
    let url = server.create_database("interrupted_load");
    let running = half_way(load(&url, &[]), || units_of(server, "interrupted_load"));
    assert_interrupted_and_resumed(running, &url, || units_left(server, "interrupted_load"));
}

#[test]
fn ctrl_c_ends_the_load_of_a_run_with_130_and_it_is_resumed() {
    let (_directory, path, url) = sqlite_file();
    let run = Program::new(&[&["run", &url], &loaded::SLOWLY[..]].concat());
    let running = half_way(run, || units_in(&path));
    assert_interrupted_and_resumed(running, &url, || units_in(&path));
}

#[test]
fn an_unfinished_load_is_replaced_when_told_fresh_but_not_while_it_is_running() {
    let (_directory, path, url) = sqlite_file();
    let running = half_way(load(&url, &[]), || units_in(&path));
    running.signal(libc::SIGSTOP);
    let units = units_in(&path);
    for more in ["--fresh", "--resume"] {
        let refused = load(&url, &[more]).run().code(2);
        assert!(refused.only_error().contains("another load is running"), "{refused:?}");
    }
    assert_eq!(units_in(&path), units, "it is left alone");
    running.signal(libc::SIGKILL);
    assert_eq!(running.wait().code, None);
    load(&url, &["--fresh"]).run().code(0);
    assert_consistent(&url);
}
