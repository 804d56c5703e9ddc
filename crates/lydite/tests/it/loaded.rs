//! Databases as `lydite load` leaves them, of tiny warehouses if no size is named: loaded once, and copied for each test.

use crate::program::{Program, checksums, scratch, text};
use lydite_testkit::{mariadb, postgres};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// Size of the warehouses of tests that need no more rows.
const USUAL: &str = "tiny";

/// Options of a load that goes on for a while after its first warehouse, so that a test can break it off.
pub(crate) const SLOWLY: [&str; 7] = ["--warehouses", "6", "--size", "small", "--jobs", "1", "--quiet"];

/// Asserts that an error is about an unfinished load with the options [`SLOWLY`]. `units` counts ITEM and the loaded
/// warehouses.
#[track_caller]
pub(crate) fn assert_broken_off(error: &str, units: u32) {
    let said = format!("a load that is running or was interrupted ({} of 6 warehouses)", units - 1);
    assert!(error.contains(&said), "{said}: {error}");
}

/// Waits until a database has no sessions: a server may commit a warehouse after the death of the client that loaded it.
pub(crate) fn wait_until_alone(sessions: impl Fn() -> String) {
    let begun = Instant::now();
    while sessions() != "0" {
        assert!(begun.elapsed() < Duration::from_secs(300), "the sessions of a dead client have not ended");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Loads a database. Others may be loaded and measured beside it.
fn load(url: &str, warehouses: u32) {
    load_of_size(USUAL, url, warehouses);
}

fn load_of_size(size: &str, url: &str, warehouses: u32) {
    let warehouses = warehouses.to_string();
    Program::new(&["load", url, "--warehouses", &warehouses, "--size", size, "--quiet"]).run().code(0);
}

/// Values by what was loaded. The first caller for a key makes its value.
struct Once<K, T>(Mutex<BTreeMap<K, Arc<OnceLock<T>>>>);

impl<K: Ord, T: Clone> Once<K, T> {
    const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    fn get(&self, key: K, make: impl FnOnce() -> T) -> T {
        let entry = Arc::clone(self.0.lock().unwrap().entry(key).or_default());
        entry.get_or_init(make).clone()
    }
}

/// Makes a database on the shared PostgreSQL server and gives its URL.
pub(crate) fn on_postgres(name: &str, warehouses: u32) -> String {
    on_postgres_of_size(USUAL, name, warehouses)
}

/// The same of another size.
pub(crate) fn on_postgres_of_size(size: &'static str, name: &str, warehouses: u32) -> String {
    static TEMPLATES: Once<(&str, u32), String> = Once::new();
    let server = postgres::shared();
    let template = TEMPLATES.get((size, warehouses), || {
        let template = format!("loaded_{size}_{warehouses}");
        load_of_size(size, &server.create_database(&template), warehouses);
        template
    });
    copy_on(server, &template, name)
}

/// Makes a copy of a database, to which nobody is connected, and gives its URL.
pub(crate) fn copy_on(server: &postgres::Server, template: &str, name: &str) -> String {
    server.psql("postgres", &format!("CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy"));
    server.url(name)
}

/// Starts a PostgreSQL server with a database `tpcc`, and with these settings beside the usual ones.
pub(crate) fn postgres(warehouses: u32, settings: &[&str]) -> postgres::Server {
    postgres::Server::start_filled(&format!("tpcc {warehouses}"), settings, |server| {
        load(&server.create_database("tpcc"), warehouses);
    })
}

/// Starts a MariaDB server with a database `tpcc`, and with these settings beside the usual ones.
pub(crate) fn mariadb(warehouses: u32, settings: &[&str]) -> mariadb::Server {
    mariadb::Server::start_filled(&format!("tpcc {warehouses}"), settings, |server| {
        load(&server.create_database("tpcc"), warehouses);
    })
}

/// Makes an SQLite file and gives its URL.
pub(crate) fn in_sqlite(path: &Path, warehouses: u32) -> String {
    in_sqlite_of_size(USUAL, path, warehouses)
}

/// The same of another size.
pub(crate) fn in_sqlite_of_size(size: &'static str, path: &Path, warehouses: u32) -> String {
    static FILES: Once<(&str, u32), Arc<Vec<u8>>> = Once::new();
    let bytes = FILES.get((size, warehouses), || {
        let directory = scratch();
        let path = directory.path().join("loaded");
        load_of_size(size, &format!("sqlite:{}", text(&path)), warehouses);
        Arc::new(std::fs::read(&path).expect("the file"))
    });
    std::fs::write(path, &*bytes).expect("a copy");
    format!("sqlite:{}", text(path))
}

/// Makes a database of Gemel, whose load takes less time than a copy, and gives its URL.
pub(crate) fn in_gemel(path: &Path, warehouses: u32) -> String {
    let url = format!("gemel:{}", text(path));
    load(&url, warehouses);
    url
}

/// The checksums of all tables as loaded from the usual seed: the same in every database.
pub(crate) fn sums(warehouses: u32) -> Vec<String> {
    sums_of_size(USUAL, warehouses)
}

/// The checksums that a load with the options [`SLOWLY`] leaves.
pub(crate) fn sums_of_slowly() -> Vec<String> {
    sums_of_size("small", 6)
}

/// The same of another size.
pub(crate) fn sums_of_size(size: &'static str, warehouses: u32) -> Vec<String> {
    static SUMS: Once<(&str, u32), Vec<String>> = Once::new();
    SUMS.get((size, warehouses), || {
        let directory = scratch();
        let url = format!("gemel:{}", text(&directory.path().join("loaded")));
        load_of_size(size, &url, warehouses);
        checksums(&url)
    })
}
