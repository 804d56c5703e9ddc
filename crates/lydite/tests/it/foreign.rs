//! Databases of other programs (`check --foreign`): their tables and columns are found by name, the conditions are
//! judged, and nothing is written.

use crate::loaded;
use crate::program::{Program, lydite, scratch, text};
use lydite_testkit::{mariadb, postgres};
use rusqlite::Connection;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Makes a loaded PostgreSQL database look as BenchBase and another program would leave it.
const BENCHBASE: &str = "DROP TABLE lydite_meta, lydite_load; ALTER TABLE orders RENAME TO oorder; \
                         ALTER TABLE customer ALTER c_ytd_payment TYPE float; \
                         CREATE TABLE w2 AS SELECT w_id, w_ytd, w_tax, w_name, w_street_1, w_street_2, w_city, w_state, \
                         w_zip FROM warehouse; DROP TABLE warehouse CASCADE; ALTER TABLE w2 RENAME TO warehouse";

/// Names of the nine tables with those of another program.
type Renames = [(&'static str, &'static str); 9];

/// py-tpcc's names, in upper case.
const PY_TPCC: Renames = [
    ("item", "ITEM"),
    ("warehouse", "WAREHOUSE"),
    ("district", "DISTRICT"),
    ("customer", "CUSTOMER"),
    ("history", "HISTORY"),
    ("orders", "ORDERS"),
    ("new_order", "NEW_ORDER"),
    ("order_line", "ORDER_LINE"),
    ("stock", "STOCK"),
];

/// BenchmarkSQL's names.
const BENCHMARKSQL: Renames = [
    ("item", "bmsql_item"),
    ("warehouse", "bmsql_warehouse"),
    ("district", "bmsql_district"),
    ("customer", "bmsql_customer"),
    ("history", "bmsql_history"),
    ("orders", "bmsql_oorder"),
    ("new_order", "bmsql_new_order"),
    ("order_line", "bmsql_order_line"),
    ("stock", "bmsql_stock"),
];

/// Amounts, in the order of their tables.
const MONEY: [(&str, &[&str]); 6] = [
    ("item", &["i_price"]),
    ("warehouse", &["w_ytd"]),
    ("district", &["d_ytd"]),
    ("customer", &["c_credit_lim", "c_balance", "c_ytd_payment"]),
    ("history", &["h_amount"]),
    ("order_line", &["ol_amount"]),
];

/// Makes an SQLite file with the rows of a loaded one under other names, with amounts in floats of the currency's unit or
/// whole cents, rates in floats, and the carrier 0 for none. py-tpcc stores floats and zeros.
fn foreign_sqlite(path: &Path, renames: &Renames, cents: bool) -> String {
    let own = path.with_extension("own");
    loaded::in_sqlite(&own, 1);
    let database = Connection::open(path).unwrap();
    database.execute("ATTACH ?1 AS own", [text(&own)]).unwrap();
    for (ours, theirs) in renames {
        let columns: Vec<String> = database
            .prepare(&format!("SELECT name FROM pragma_table_info('{ours}', 'own')"))
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        let money: &[&str] =
            MONEY.iter().find(|(table, _)| table == ours).map_or(&[], |(_, columns)| columns);
        let (mut types, mut values) = (Vec::new(), Vec::new());
        for column in &columns {
            let upper = column.to_uppercase();
            if money.contains(&column.as_str()) && cents {
                types.push(format!("{upper} BIGINT"));
                values.push(column.clone());
            } else if money.contains(&column.as_str()) {
                types.push(format!("{upper} FLOAT"));
                values.push(format!("{column} / 100.0"));
            } else if column.ends_with("_tax") || column == "c_discount" {
                types.push(format!("{upper} FLOAT"));
                values.push(format!("{column} / 10000.0"));
            } else {
                types.push(format!("{upper} {}", if column == "o_id" { "INTEGER" } else { "" }));
                let value = if column == "o_carrier_id" { "coalesce(o_carrier_id, 0)" } else { column };
                values.push(value.to_string());
            }
        }
        let sql = format!(
            "CREATE TABLE \"{theirs}\" ({}); INSERT INTO \"{theirs}\" SELECT {} FROM own.{ours}",
            types.join(", "),
            values.join(", ")
        );
        database.execute_batch(&sql).unwrap();
    }
    database.execute_batch("DETACH own").unwrap();
    fs::remove_file(own).unwrap();
    format!("sqlite:{}", text(path))
}

fn checked(url: &str, more: &[&str]) -> Value {
    let ended = lydite(&[&["check", url, "--foreign", "--json", "-"], more].concat());
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

/// Returns the failed checks of the only database in a document.
fn failed(document: &Value) -> Vec<&str> {
    let checks = document["databases"][0]["checks"].as_array().unwrap();
    checks.iter().filter(|check| check["ok"] == false).map(|check| check["id"].as_str().unwrap()).collect()
}

/// A program that renames its tables keeps the names of their indexes.
#[test]
fn a_load_beside_tables_that_own_its_index_names_is_rejected() {
    let directory = scratch();
    let path = directory.path().join("sqlite.db");
    let sqlite = loaded::in_sqlite(&path, 1);
    let database = Connection::open(&path).unwrap();
    let renames: String = BENCHMARKSQL
        .iter()
        .map(|(ours, theirs)| format!("ALTER TABLE {ours} RENAME TO {theirs}; "))
        .collect();
    database.execute_batch(&format!("{renames} DROP TABLE lydite_meta; DROP TABLE lydite_load")).unwrap();
    drop(database);
    let postgres = loaded::on_postgres("index_names", 1);
    postgres::shared().psql("index_names", &format!("{renames} DROP TABLE lydite_meta, lydite_load"));
    for (url, key) in [(sqlite, ""), (postgres, "customer_pkey, ")] {
        let ended = lydite(&["load", &url, "--warehouses", "1", "--size", "small"]).code(2);
        let words = format!("have indexes with names of Lydite's (customer_by_name, {key}");
        assert!(ended.stderr.contains(&words), "{}", ended.stderr);
        assert!(lydite(&["check", &url, "--foreign"]).code(0).stdout.contains("12 of 12"));
    }
}

/// A renamed table keeps its indexes, so the load after a drop would fail and leave nothing.
#[test]
fn fresh_drops_nothing_if_a_table_that_stays_has_the_names_of_the_new_indexes() {
    let directory = scratch();
    let path = directory.path().join("sqlite.db");
    let sqlite = loaded::in_sqlite(&path, 1);
    let rename = "ALTER TABLE customer RENAME TO customer_backup";
    Connection::open(&path).unwrap().execute_batch(rename).unwrap();
    let postgres = loaded::on_postgres("fresh_backup", 1);
    postgres::shared().psql("fresh_backup", rename);
    for url in [sqlite, postgres] {
        let ended = lydite(&["load", &url, "--warehouses", "1", "--size", "small", "--fresh"]).code(2);
        assert!(ended.stderr.contains("have indexes with names of Lydite's (customer_by_name"), "{ended:?}");
    }
    let database = Connection::open(&path).unwrap();
    let stock: u32 = database.query_row("SELECT count(*) FROM stock", [], |row| row.get(0)).unwrap();
    assert_eq!(stock, 1_000, "it is still there");
    assert_eq!(postgres::shared().psql("fresh_backup", "SELECT count(*) FROM stock"), "1000");
}

#[test]
fn a_database_of_floats_and_zero_carriers_passes_and_a_wrong_sum_in_it_fails() {
    let directory = scratch();
    let path = directory.path().join("py-tpcc.db");
    let url = foreign_sqlite(&path, &PY_TPCC, false);
    let before = fs::read(&path).unwrap();
    let document = checked(&url, &["--population"]);
    assert_eq!(failed(&document), Vec::<&str>::new(), "{document:#}");
    let database = &document["databases"][0];
    assert_eq!(database["kit"], "py-tpcc");
    assert_eq!(database["warehouses"], 1);
    assert_eq!(database["checks"].as_array().unwrap().len(), 21);
    assert!(database["notes"][0].as_str().unwrap().contains("binary floats hold money"), "{database:#}");
    assert_eq!(fs::read(&path).unwrap(), before, "the check changed the file");

    Connection::open(&path)
        .unwrap()
        .execute_batch(
            "UPDATE WAREHOUSE SET W_YTD = W_YTD + 0.01; UPDATE STOCK SET S_DATA = 'short' WHERE S_I_ID = 7",
        )
        .unwrap();
    let ended = lydite(&["check", &url, "--foreign", "--population"]).code(1);
    assert!(ended.stdout.contains("w_id=1: w_ytd 3000.01, sum of d_ytd 3000.00"), "{ended:?}");
    assert!(ended.stdout.contains("10 of 12 consistency conditions hold"), "{ended:?}");
    assert!(ended.stdout.contains("stock: s_w_id=1 s_i_id=7"), "{ended:?}");
    for title in ["WAREHOUSE has W_YTD 3 000.00", "STOCK has 1 000 rows", "HISTORY has 30 rows per district"]
    {
        assert!(ended.stdout.contains(title), "the sizes are those of tiny warehouses: {ended:?}");
    }
    let document = checked(&url, &["-w", "2"]);
    assert_eq!(failed(&document), ["3.3.2.1", "3.3.2.8"]);
    let detail = document["databases"][0]["checks"][0]["detail"].as_str().unwrap();
    assert!(detail.contains("all: 1 warehouses, 2 were loaded"), "{detail}");
}

#[test]
fn missing_tables_and_columns_are_all_named_before_anything_is_checked() {
    let directory = scratch();
    let path = directory.path().join("partial.db");
    let url = foreign_sqlite(&path, &BENCHMARKSQL, true);
    let change = |sql: &str| Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    let document = checked(&url, &["--population"]);
    assert_eq!(failed(&document), Vec::<&str>::new(), "{document:#}");
    assert_eq!(document["databases"][0]["kit"], Value::Null, "BenchmarkSQL orders the columns otherwise");
    assert_eq!(document["databases"][0]["notes"][0], "whole numbers hold money in cents");
    change("DROP TABLE bmsql_stock; ALTER TABLE bmsql_customer RENAME COLUMN C_BALANCE TO balanced");
    let ended = lydite(&["check", &url, "--foreign"]).code(2);
    assert!(ended.stderr.contains("lacks column bmsql_customer.c_balance, table bmsql_stock"), "{ended:?}");
    let own = directory.path().join("own.db");
    let ended = lydite(&["check", &loaded::in_sqlite(&own, 1), "--foreign"]).code(2);
    assert!(ended.stderr.contains("Lydite loaded this database: leave out --foreign"), "{ended:?}");
    let ended = lydite(&["check", "gemel:x", "--foreign", "-w", "many", "--json", "/nowhere/x"]).code(2);
    assert!(ended.stderr.contains("--warehouses: ") && ended.stderr.contains("--json: "), "{ended:?}");
}

#[test]
fn a_renamed_postgres_database_is_checked_in_a_session_that_can_only_read() {
    let server = postgres::shared();
    let url = loaded::on_postgres("foreign_benchbase", 2);
    server.psql("foreign_benchbase", BENCHBASE);
    let document = checked(&url, &["--population"]);
    assert_eq!(failed(&document), Vec::<&str>::new(), "{document:#}");
    assert_eq!(document["databases"][0]["kit"], "BenchBase");
    assert_eq!(document["databases"][0]["warehouses"], 2);
    // A volatile function in a view that the check reads is where a write would happen.
    server.psql(
        "foreign_benchbase",
        "CREATE TABLE seen (n int); CREATE FUNCTION see() RETURNS int LANGUAGE plpgsql AS \
         'BEGIN INSERT INTO seen VALUES (1); RETURN 0; END'; ALTER TABLE district RENAME TO d; \
         CREATE VIEW district AS SELECT d.*, see() AS write FROM d OFFSET 0",
    );
    let ended = lydite(&["check", &url, "--foreign"]).code(3);
    assert!(ended.stderr.contains("read-only transaction"), "{ended:?}");
    server.psql("postgres", "DROP DATABASE foreign_benchbase");
}

#[test]
fn numbered_tables_in_mariadb_are_databases_of_their_own() {
    let server = mariadb::shared();
    let url = server.create_database("foreign_sysbench");
    Program::new(&["load", &url, "--warehouses", "1", "--size", "small", "--quiet"]).run().code(0);
    let renames: Vec<String> = PY_TPCC
        .iter()
        .map(|(ours, _)| {
            let theirs = if *ours == "new_order" { "new_orders" } else { ours };
            format!("{ours} TO {theirs}1")
        })
        .collect();
    server.sql(
        "foreign_sysbench",
        &format!(
            "DROP TABLE lydite_meta, lydite_load; RENAME TABLE {}; \
             UPDATE history1 SET h_amount = h_amount + 1 WHERE h_c_d_id = 3 AND h_c_id = 1",
            renames.join(", ")
        ),
    );
    let document = checked(&url, &[]);
    assert_eq!(document["databases"][0]["kit"], "sysbench-tpcc", "{document:#}");
    assert_eq!(failed(&document), ["3.3.2.8", "3.3.2.9", "3.3.2.10"], "{document:#}");
}
