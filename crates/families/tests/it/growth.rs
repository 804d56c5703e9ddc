//! Columns that only grow, where a year at a million transactions a minute brings them, and the narrower columns of
//! databases that older versions loaded.

use crate::playing::{Answers, inputs, load, meta, on_postgres, open, play, population};
use lydite_database::{LoadProgress, LoadUnit, TableChecksum, Target, TxError, TxMode};
use lydite_testkit::{mariadb, postgres};
use lydite_tpcc::consistency::CONDITIONS;
use lydite_tpcc::{Standard, Transaction};
use std::sync::Arc;

/// Conditions that compare sums with rows of HISTORY and ORDER, which would need the rows of that year.
const OF_ROWS: [u8; 4] = [8, 9, 10, 11];

/// Returns the changes that a year brings, in amounts of so many units each. Orders keep their places in the sequence.
fn year(units: i64) -> String {
    let (ytd, paid) = (130_000_000_000_000 * units, 1_300_000_000_000_000 * units);
    format!(
        "UPDATE warehouse SET w_ytd = w_ytd + 10 * {ytd}; \
         UPDATE district SET d_ytd = d_ytd + {ytd}, d_next_o_id = d_next_o_id + 500000000000; \
         UPDATE customer SET c_balance = c_balance - {paid}, c_ytd_payment = c_ytd_payment + {paid}, \
         c_payment_cnt = c_payment_cnt + 500000000000, c_delivery_cnt = c_delivery_cnt + 500000000000; \
         UPDATE orders SET o_id = o_id + 500000000000; UPDATE new_order SET no_o_id = no_o_id + 500000000000; \
         UPDATE order_line SET ol_o_id = ol_o_id + 500000000000; \
         UPDATE stock SET s_ytd = s_ytd + 51000000000, s_order_cnt = s_order_cnt + 11000000000, \
         s_remote_cnt = s_remote_cnt + 11000000000"
    )
}

/// Columns that only grow with the types of older versions: amounts, then numbers.
const NARROW: [(&str, &[&str], &[&str]); 6] = [
    ("warehouse", &["w_ytd"], &[]),
    ("district", &["d_ytd"], &["d_next_o_id"]),
    ("customer", &["c_balance", "c_ytd_payment"], &["c_payment_cnt", "c_delivery_cnt"]),
    ("orders", &[], &["o_id"]),
    ("new_order", &[], &["no_o_id"]),
    ("order_line", &[], &["ol_o_id"]),
];

/// Returns the statements that give these columns and those of STOCK their old types. `change` begins a change.
fn narrow(change: &str, of: &str, null: &str) -> String {
    let stock: (&str, &[&str], &[&str]) = ("stock", &[], &["s_ytd", "s_order_cnt", "s_remote_cnt"]);
    let mut sql = String::new();
    for (table, amounts, numbers) in NARROW.iter().chain([&stock]) {
        let amounts = amounts.iter().map(|name| format!("{change} {name} {of} decimal(12, 2){null}"));
        let numbers = numbers.iter().map(|name| format!("{change} {name} {of} int{null}"));
        let changes: Vec<String> = amounts.chain(numbers).collect();
        sql += &format!("ALTER TABLE {table} {}; ", changes.join(", "));
    }
    sql
}

/// Asserts that all conditions hold but those about the rows of that year.
fn assert_others_hold(target: &dyn Target, name: &str) {
    let findings = target.check(&CONDITIONS, &|_| ()).expect("conditions");
    for finding in findings.iter().filter(|finding| !OF_ROWS.contains(&finding.condition.number)) {
        assert!(finding.holds(), "{name}: {finding:?}");
    }
}

/// Plays inputs on databases that must answer alike and be left alike.
fn assert_alike(
    databases: Vec<(String, Arc<dyn Target>)>,
    inputs: &[Transaction],
    check: impl Fn(&dyn Target, &str),
) {
    let mut first: Option<(Answers, Vec<TableChecksum>)> = None;
    for (name, target) in databases {
        check(&*target, &name);
        let answers = play(&*target, inputs);
        let good = |answer: &Result<_, TxError>| matches!(answer, Ok(_) | Err(TxError::RolledBack(_)));
        assert!(answers.iter().all(good), "{name}: {:?}", answers.iter().find(|answer| !good(answer)));
        check(&*target, &name);
        let sums = target.checksums().expect("checksums");
        let (known, known_sums) = first.get_or_insert_with(|| (answers.clone(), sums.clone()));
        assert_eq!(*known, answers, "{name}");
        assert_eq!(*known_sums, sums, "{name}");
    }
}

/// Returns databases in all modes, changed by SQL after the load: PostgreSQL's, then MariaDB's.
fn databases(name: &str, on_postgres_sql: &str, on_mariadb_sql: &str) -> Vec<(String, Arc<dyn Target>)> {
    let mut databases = Vec::new();
    for mode in TxMode::ALL {
        let database = format!("{name}_{mode}");
        let url = on_postgres(&database, 1, "");
        // Rows refer to rows that change with them.
        postgres::shared()
            .psql(&database, &format!("SET session_replication_role = replica; {on_postgres_sql}"));
        databases.push((format!("postgres {mode}"), open(&url, mode)));
        // A column that others refer to could not change.
        let url = mariadb::shared().create_database(&database) + "?foreign_keys=off";
        load(&*open(&url, mode), 1);
        mariadb::shared().sql(&database, &format!("SET foreign_key_checks = 0; {on_mariadb_sql}"));
        databases.push((format!("mariadb {mode}"), open(&url, mode)));
    }
    databases
}

#[test]
fn after_a_year_at_a_million_a_minute_all_transactions_go_on_in_every_mode() {
    let sql = year(1);
    let mut all = databases("year", &sql, &sql);
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("tpcc");
    let url = format!("sqlite:{}", path.display());
    load(&*open(&url, TxMode::Statements), 1);
    let file = rusqlite::Connection::open(&path).expect("the file");
    file.execute_batch(&format!("PRAGMA foreign_keys = off; {}", year(100))).expect("a year");
    drop(file);
    all.push(("sqlite".into(), open(&url, TxMode::Statements)));
    assert_alike(all, &inputs(1, 200), assert_others_hold);
}

#[test]
fn a_database_with_the_columns_of_an_older_version_is_used_as_before() {
    let (on_postgres, on_mariadb) = (narrow("ALTER", "TYPE", ""), narrow("MODIFY", "", " NOT NULL"));
    let mut all = databases("older", &on_postgres, &on_mariadb);
    let url = crate::playing::on_postgres("older_not", 1, "");
    all.push(("postgres as it is".into(), open(&url, TxMode::Statements)));
    let holds = |target: &dyn Target, name: &str| {
        let findings = target.check(&CONDITIONS, &|_| ()).expect("conditions");
        assert!(findings.iter().all(|finding| finding.holds()), "{name}: {findings:?}");
    };
    assert_alike(all, &inputs(1, 200), holds);
}

#[test]
fn a_load_that_an_older_version_began_is_finished() {
    let url = postgres::shared().create_database("older_load");
    let target = open(&url, TxMode::Statements);
    target.create_schema(&meta(1)).expect("create_schema");
    postgres::shared().psql("older_load", &narrow("ALTER", "TYPE", ""));
    let mut loader = target.loader().expect("a loader");
    for unit in [LoadUnit::Items, LoadUnit::Warehouse(lydite_tpcc::WarehouseId(1))] {
        loader.load(unit, &(&population(1)).into(), &LoadProgress::default()).expect("load");
    }
    drop(loader);
    target.finish_load(1, &|_| ()).expect("finish_load");
    let new = open(&on_postgres("older_load_not", 1, ""), TxMode::Statements);
    assert_eq!(target.checksums(), new.checksums());
}

#[test]
fn a_column_that_is_full_is_told_with_what_to_do() {
    let full = "UPDATE warehouse SET w_ytd = 9999999999.99; ";
    let on_postgres = narrow("ALTER", "TYPE", "") + full;
    let on_mariadb = narrow("MODIFY", "", " NOT NULL") + full;
    for (name, target) in databases("full", &on_postgres, &on_mariadb) {
        let payment = inputs(1, 50)
            .into_iter()
            .find(|input| matches!(input, Transaction::Standard(Standard::Payment(_))));
        let answer = target.connect().expect("a session").execute(&payment.expect("a Payment"));
        let Err(TxError::Fatal(message)) = answer else { panic!("{name}: {answer:?}") };
        assert!(message.contains("a column is full") && message.contains("--fresh"), "{name}: {message}");
        // MariaDB names the column, and PostgreSQL its digits.
        let told = ["'w_ytd'", "a field with precision 12, scale 2"]
            .map(|words| message.to_lowercase().contains(words));
        assert!(told.contains(&true) || name.contains("sqlite"), "{name}: {message}");
    }
}
