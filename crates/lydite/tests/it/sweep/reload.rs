//! Where the runs of a sweep get their databases from.

use super::Bench;
use crate::loaded;
use crate::program::{lydite, scratch, text};
use lydite_testkit::postgres;
use serde_json::Value;
use std::fs;
use std::path::Path;

#[test]
fn a_database_that_keeps_its_data_is_not_dropped_unless_the_experiment_says_so() {
    let directory = scratch();
    let url = format!("sqlite:{}", text(&directory.path().join("tpcc.sqlite")));
    let plan = format!("[plan]\ntarget = \"{url}\"\nduration = \"300ms\"\n[axes]\nwarehouses = [1, 2]\n");
    let bench = Bench::new(&plan);
    let ended = bench.sweep(&[]).run().code(2);
    assert!(ended.only_error().contains("keeps its data: say reload = \"each-run\""), "{ended:?}");
    let ended = bench.sweep(&["--reload", "once"]).run().code(2);
    assert!(ended.only_error().contains("--reload: \"once\" needs one number of warehouses"), "{ended:?}");
    bench.change(&format!("reload = \"each-run\"\n{plan}"));
    let ended = bench.sweep(&["--reload", "sometimes"]).run().code(2);
    assert!(ended.only_error().contains("--reload: \"sometimes\" is not known"), "{ended:?}");
    bench.change(&format!("reload = \"once\"\n{plan}"));
    let shown = bench.sweep(&["--reload", "each-run", "--dry-run"]).run().code(0);
    assert!(shown.stdout.contains("loaded anew for each run"), "{shown:?}");
    let ended = bench.sweep(&[]).run().code(2);
    assert!(
        ended
            .only_error()
            .contains("needs one number of warehouses, one data_skew and one size for each database"),
        "{ended:?}"
    );
    bench.change("reload = \"once\"\n[plan]\ntarget = \"gemel:\"\n");
    let ended = bench.sweep(&[]).run().code(2);
    assert!(ended.only_error().contains("gone after each run"), "{ended:?}");
}

#[test]
fn a_database_that_is_wrong_is_shown_and_exits_with_1() {
    let directory = scratch();
    let path = directory.path().join("tpcc.sqlite");
    let url = loaded::in_sqlite(&path, 1);
    let database = rusqlite::Connection::open(&path).unwrap();
    database.execute("UPDATE warehouse SET w_ytd = w_ytd + 1", []).unwrap();
    drop(database);
    let bench = Bench::new(&format!(
        "reload = \"once\"\n[plan]\ntarget = \"{url}\"\nduration = \"500ms\"\nwarmup = \"0s\"\n[axes]\nseed = [1, 2]\n"
    ));
    let ended = bench.sweep(&[]).run().code(1);
    assert!(ended.stderr.contains("does not hold before the run"), "{ended:?}");
}

/// An experiment of two points, each twice, on a database that is restored before each run.
fn restored(url: &str) -> Bench {
    Bench::new(&format!(
        "reload = \"restore\"\nrepetitions = 2\n[plan]\ntarget = \"{url}\"\nwarehouses = 1\nsize = \"tiny\"\nduration = \"500ms\"\n\
         warmup = \"0s\"\n[axes]\nterminals = [1, 2]\n"
    ))
}

/// Makes the sweep: one of its runs has loaded. Returns the New-Orders of the run that was made last.
fn sweep_of(bench: &Bench) -> u64 {
    bench.sweep(&[]).run().code(0);
    let results: Vec<Value> =
        bench.results().values().map(|text| serde_json::from_str(text).expect("JSON")).collect();
    assert_eq!(results.len(), 4);
    let start = |result: &Value| result["window"]["start"].as_str().expect("a time").to_owned();
    let last = results.iter().max_by_key(|result| start(result)).expect("a result");
    last["transactions"]["new_order"]["committed"].as_u64().expect("a number")
}

/// The orders that were entered since the database was loaded are those of one run.
fn assert_of_one_run(orders: i64, of_last: u64) {
    // A session each may have ended one more after the window.
    let entered = (orders - 300) as u64;
    assert!(
        (of_last..=of_last + 2).contains(&entered),
        "{entered} orders entered, {of_last} of the last run"
    );
}

/// Makes the sweep until there are so many results, looks, and kills it.
fn kill_after(bench: &Bench, results: usize, look: impl FnOnce()) {
    let running = super::start_until(bench, &[], results);
    look();
    running.signal(libc::SIGKILL);
    running.wait();
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory");
    entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name")).collect()
}

#[test]
fn each_run_begins_with_what_the_first_one_loaded_if_the_database_is_restored() {
    let directory = scratch();
    let path = directory.path().join("tpcc.sqlite");
    let of_last = sweep_of(&restored(&format!("sqlite:{}", text(&path))));
    let database = rusqlite::Connection::open(&path).unwrap();
    let orders: i64 = database.query_row("SELECT count(*) FROM orders", [], |row| row.get(0)).unwrap();
    assert_of_one_run(orders, of_last);
    drop(database);
    assert_eq!(names(directory.path()), ["tpcc.sqlite"], "the template is gone with the sweep");

    let server = postgres::shared();
    let of_last = sweep_of(&restored(&server.create_database("restored")));
    let orders = server.psql("restored", "SELECT count(*) FROM orders").parse().expect("a number");
    assert_of_one_run(orders, of_last);
    let there = "SELECT count(*) FROM pg_database WHERE datname LIKE 'restored%'";
    assert_eq!(server.psql("restored", there), "1", "the template is gone with the sweep");

    let directory = scratch();
    let url = format!("gemel:{}", text(&directory.path().join("gemel")));
    sweep_of(&restored(&url));
    lydite(&["check", &url]).code(0);
    assert_eq!(names(directory.path()), ["gemel"]);
}

#[test]
fn a_killed_sweep_goes_on_with_the_template_that_is_there() {
    let directory = scratch();
    let path = directory.path().join("tpcc.sqlite");
    let bench = restored(&format!("sqlite:{}", text(&path)));
    kill_after(&bench, 1, || ());
    let template = names(directory.path()).into_iter().find(|name| name.contains("template"));
    let template = directory.path().join(template.expect("a template"));
    let made = fs::metadata(&template).unwrap().modified().unwrap();
    kill_after(&bench, 3, || {
        assert_eq!(fs::metadata(&template).unwrap().modified().unwrap(), made, "nothing is loaded twice");
    });
    let of_last = sweep_of(&bench);
    let database = rusqlite::Connection::open(&path).unwrap();
    let orders: i64 = database.query_row("SELECT count(*) FROM orders", [], |row| row.get(0)).unwrap();
    assert_of_one_run(orders, of_last);
    drop(database);
    // As if it had been killed before it deleted the template: drawing the figures again does.
    fs::write(&template, "").unwrap();
    let drawn = bench.sweep(&[]).run().code(0);
    assert!(!drawn.stderr.contains("kept for the remaining runs"), "{drawn:?}");
    assert_eq!(names(directory.path()), ["tpcc.sqlite"]);
}

#[test]
fn a_database_with_tables_of_others_is_not_replaced() {
    let server = postgres::shared();
    let url = server.create_database("shared_with_others");
    server.psql("shared_with_others", "CREATE TABLE payroll (id int); INSERT INTO payroll VALUES (1)");
    let bench = restored(&url);
    let ended = bench.sweep(&[]).run().code(2);
    assert!(ended.stderr.contains("holds \"payroll\", which Lydite did not make"), "{ended:?}");
    assert_eq!(server.psql("shared_with_others", "SELECT count(*) FROM payroll"), "1");

    // Tables of the same names, but somebody else's: without notes, or in another schema.
    let url = server.create_database("a_shop");
    server.psql(
        "a_shop",
        "CREATE TABLE customer (id int); CREATE TABLE orders (id int); INSERT INTO orders VALUES (7)",
    );
    let ended = restored(&url).sweep(&[]).run().code(2);
    assert!(ended.stderr.contains("tables that Lydite did not make (customer, orders)"), "{ended:?}");
    assert_eq!(server.psql("a_shop", "SELECT id FROM orders"), "7");
    let url = server.create_database("two_schemas_of_others");
    server.psql("two_schemas_of_others", "CREATE SCHEMA shop; CREATE TABLE shop.orders (id int)");
    let ended = restored(&url).sweep(&[]).run().code(2);
    assert!(ended.stderr.contains("holds \"shop.orders\""), "{ended:?}");
    assert_eq!(server.psql("two_schemas_of_others", "SELECT count(*) FROM shop.orders"), "0");

    let directory = scratch();
    let path = directory.path().join("own.sqlite");
    let database = rusqlite::Connection::open(&path).unwrap();
    database.execute("CREATE TABLE payroll (id int)", []).unwrap();
    let ended = restored(&format!("sqlite:{}", text(&path))).sweep(&[]).run().code(2);
    assert!(ended.stderr.contains("holds \"payroll\""), "{ended:?}");
    assert_eq!(names(directory.path()), ["own.sqlite"]);

    // Files in Gemel's directory would go with it.
    let path = directory.path().join("gemel");
    let url = loaded::in_gemel(&path, 1);
    fs::write(path.join("thesis.tex"), "all of it").unwrap();
    let ended = restored(&url).sweep(&[]).run().code(2);
    assert!(ended.stderr.contains("holds \"thesis.tex\", which Lydite did not make"), "{ended:?}");
    assert_eq!(fs::read_to_string(path.join("thesis.tex")).unwrap(), "all of it");
}

/// What a killed program left beside a file that is gone belongs to that file.
#[test]
fn a_file_is_not_restored_beside_the_log_of_another() {
    let directory = scratch();
    let path = directory.path().join("tpcc.sqlite");
    let bench = restored(&format!("sqlite:{}", text(&path)));
    kill_after(&bench, 1, || ());
    let log = directory.path().join("tpcc.sqlite-wal");
    fs::remove_file(&path).unwrap();
    fs::write(&log, "frames of the file that is gone").unwrap();
    sweep_of(&bench);
    assert_eq!(names(directory.path()), ["tpcc.sqlite"]);
}

/// A reader may have committed rows beside the file, which a copy of the file alone would lack; and it would lose its own.
#[test]
fn a_file_that_somebody_else_has_open_is_neither_copied_nor_replaced() {
    let directory = scratch();
    let path = directory.path().join("tpcc.sqlite");
    let url = loaded::in_sqlite(&path, 1);
    let browser = rusqlite::Connection::open(&path).unwrap();
    let count = |table: &str| -> i64 {
        browser.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    };
    assert_eq!(count("warehouse"), 1);
    let ended = restored(&url).sweep(&[]).run().code(2);
    assert!(ended.stderr.contains("another program has the database open"), "{ended:?}");
    assert_eq!(count("district"), 10);
}

#[test]
fn a_template_is_beside_a_database_however_its_path_is_written() {
    let directory = scratch();
    std::os::unix::fs::symlink(directory.path(), directory.path().join("link")).unwrap();
    let url = format!("gemel:{}/link/gemel/", text(directory.path()));
    sweep_of(&restored(&url));
    let mut there = names(directory.path());
    there.sort();
    assert_eq!(there, ["gemel", "link"]);
}

#[test]
fn what_has_no_templates_is_refused_before_the_first_run() {
    for (plan, said) in [
        ("target = \"mariadb://h/d\"", "templates, which are offered for PostgreSQL on one server"),
        (
            "target = \"postgres://h/d?shards=a:1,b:2\"",
            "templates, which are offered for PostgreSQL on one server",
        ),
        ("target = \"gemel:\"", "\"restore\" needs a database that stays"),
        ("target = \"sqlite:x\"\nworkload = \"micro\"", "is for workload tpcc only"),
        ("target = \"postgres://h/d\"\nreplicas = \"postgres://r/d\"", "and replicas can't go together"),
    ] {
        let bench = Bench::new(&format!("reload = \"restore\"\n[plan]\n{plan}\n[axes]\nseed = [1, 2]\n"));
        let refused = bench.sweep(&["--dry-run"]).run().code(2);
        assert!(refused.stderr.contains(said), "{plan}: {refused:?}");
    }
}
