//! Loaded databases on servers that tests share.

pub(crate) use lydite_database::playing::{
    Answers, SEED, assert_conditions, fight, inputs_on, load_as, play, population_of,
};
use lydite_database::{Target, TxMode};
use lydite_families::TargetSpec;
use lydite_testkit::{mariadb, postgres};
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::population::Population;
use lydite_tpcc::{Size, Transaction};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

/// Describes a database with this number of tiny warehouses: what these tests look for is found in few rows, too.
pub(crate) fn meta(warehouses: u32) -> DatabaseMeta {
    DatabaseMeta { size: Size::Tiny, ..DatabaseMeta::uniform(warehouses, SEED, "test") }
}

/// Returns the rows of a database with this number of warehouses.
pub(crate) fn population(warehouses: u32) -> Population {
    population_of(&meta(warehouses))
}

/// Loads an empty database.
pub(crate) fn load(target: &dyn Target, warehouses: u32) {
    load_as(target, &meta(warehouses));
}

/// Returns the first `count` inputs of all terminals in turn.
pub(crate) fn inputs(warehouses: u32, count: usize) -> Vec<Transaction> {
    inputs_on(&meta(warehouses), count)
}

pub(crate) fn open(url: &str, mode: TxMode) -> Arc<dyn Target> {
    TargetSpec::parse(url, mode).expect("a good URL").open().expect("a target")
}

/// Names of loaded databases, by warehouses and options of the URL.
type Templates = BTreeMap<(u32, String), Arc<OnceLock<String>>>;

/// Makes a loaded database on the shared PostgreSQL server and returns its URL. The database for these options of the
/// URL (`?foreign_keys=off`, or none) is loaded once and copied.
pub(crate) fn on_postgres(name: &str, warehouses: u32, options: &str) -> String {
    static TEMPLATES: Mutex<Templates> = Mutex::new(BTreeMap::new());
    let server = postgres::shared();
    let mut templates = TEMPLATES.lock().unwrap();
    let number = templates.len();
    let template = Arc::clone(templates.entry((warehouses, options.into())).or_default());
    drop(templates);
    let template = template.get_or_init(|| {
        let template = format!("loaded_{warehouses}_{number}");
        let url = server.create_database(&template) + options;
        load(&*open(&url, TxMode::Statements), warehouses);
        template
    });
    copy_on_postgres(template, name)
}

/// Copies a database on the shared PostgreSQL server and returns the copy's URL.
pub(crate) fn copy_on_postgres(template: &str, name: &str) -> String {
    let server = postgres::shared();
    server.psql("postgres", &format!("CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy"));
    server.url(name)
}

/// Starts a MariaDB server with additional settings and a loaded database `tpcc`. The database for these options of the
/// URL is loaded once and copied.
pub(crate) fn on_mariadb(settings: &[&str], warehouses: u32, options: &str) -> mariadb::Server {
    mariadb::Server::start_filled(&format!("{warehouses} {options}"), settings, |server| {
        load(&*open(&(server.create_database("tpcc") + options), TxMode::Statements), warehouses);
    })
}

/// Starts a MariaDB server for each mode, all with the same loaded database `tpcc`.
pub(crate) fn mariadb_for_each_mode(warehouses: u32) -> impl Iterator<Item = (TxMode, mariadb::Server)> {
    TxMode::ALL.into_iter().map(move |mode| (mode, on_mariadb(&mariadb::FAST, warehouses, "")))
}
