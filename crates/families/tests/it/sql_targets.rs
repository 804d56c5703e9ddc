//! The SQL targets on real databases: loading, the three modes of sending transactions, conditions and checksums.

use crate::playing::{
    Answers, assert_conditions, copy_on_postgres, fight, inputs, load, mariadb_for_each_mode, meta,
    on_mariadb, on_postgres, open, play,
};
use lydite_database::{Committed, DatabaseState, TableChecksum, Target, TxError, TxMode};
use lydite_testkit::{mariadb, postgres};
use lydite_tpcc::consistency::CONDITIONS;
use lydite_tpcc::transactions::{StockLevel, StockLevelOutcome};
use lydite_tpcc::{DistrictId, Outcome, Standard, StandardOutcome, Transaction, WarehouseId};

/// Function that runs SQL in a database by the server's own client.
type Run<'a> = &'a dyn Fn(&str) -> String;

#[test]
fn the_same_inputs_leave_the_same_database_in_every_mode_and_in_every_sql_database() {
    let warehouses = 2;
    let inputs = inputs(warehouses, 600);
    let mut runs: Vec<(String, Vec<TableChecksum>, Answers)> = Vec::new();

    let untouched = on_postgres("modes_untouched", warehouses, "");
    let loaded = open(&untouched, TxMode::Statements).checksums().expect("checksums");
    for mode in TxMode::ALL {
        let target = open(&on_postgres(&format!("modes_{mode}"), warehouses, ""), mode);
        let outcomes = play(&*target, &inputs);
        assert_conditions(&*target);
        runs.push((mode.to_string(), target.checksums().expect("checksums"), outcomes));
    }
    for (mode, server) in mariadb_for_each_mode(warehouses) {
        let target = open(&server.url("tpcc"), mode);
        if mode == TxMode::Statements {
            assert_eq!(target.checksums().expect("checksums"), loaded, "the loaded rows");
        }
        let outcomes = play(&*target, &inputs);
        assert_conditions(&*target);
        runs.push((format!("mariadb {mode}"), target.checksums().expect("checksums"), outcomes));
    }
    let target = open("sqlite:", TxMode::Statements);
    load(&*target, warehouses);
    assert_eq!(target.checksums().expect("checksums"), loaded, "the loaded rows");
    let outcomes = play(&*target, &inputs);
    assert_conditions(&*target);
    runs.push(("sqlite".into(), target.checksums().expect("checksums"), outcomes));

    let (_, first_sums, first_outcomes) = &runs[0];
    assert_ne!(first_sums, &loaded, "the transactions changed something");
    let rolled_back =
        first_outcomes.iter().filter(|outcome| matches!(outcome, Err(TxError::RolledBack(_)))).count();
    assert!(rolled_back > 0, "600 transactions hold a rollback");
    assert!(first_outcomes.iter().all(|outcome| matches!(outcome, Ok(_) | Err(TxError::RolledBack(_)))));
    for (name, sums, outcomes) in &runs[1..] {
        for (number, (a, b)) in first_outcomes.iter().zip(outcomes).enumerate() {
            assert_eq!(a, b, "statements and {name} answer input {number} differently: {:?}", inputs[number]);
        }
        assert_eq!(first_sums, sums, "statements and {name} leave different databases");
    }
}

#[test]
fn an_order_with_the_same_stock_in_several_lines_is_booked_line_by_line() {
    // Every other line has the same stock row, so some lines replenish it and some do not (clause 2.4.2.2).
    let mut inputs = inputs(1, 40);
    for input in &mut inputs {
        if let Transaction::Standard(Standard::NewOrder(order)) = input {
            let first = order.lines[0];
            for line in order.lines.iter_mut().step_by(2) {
                (line.i_id, line.supply_w_id) = (first.i_id, first.supply_w_id);
            }
        }
    }
    let mut runs = Vec::new();
    for mode in TxMode::ALL {
        let target = open(&on_postgres(&format!("repeat_{mode}"), 1, ""), mode);
        let outcomes = play(&*target, &inputs);
        runs.push((outcomes, target.checksums().expect("checksums")));
    }
    for (mode, server) in mariadb_for_each_mode(1) {
        let target = open(&server.url("tpcc"), mode);
        let outcomes = play(&*target, &inputs);
        runs.push((outcomes, target.checksums().expect("checksums")));
    }
    assert!(
        runs[0].0.iter().all(|outcome| matches!(outcome, Ok(_) | Err(TxError::RolledBack(_)))),
        "{:?}",
        runs[0].0
    );
    for (number, run) in runs.iter().enumerate() {
        assert_eq!(&runs[0], run, "run {number}: postgres, then mariadb, each in the three modes");
    }
}

#[test]
fn the_state_of_a_database_is_told_from_its_tables() {
    let (postgres, mariadb) = (postgres::shared(), mariadb::shared());
    let on_postgres = |sql: &str| postgres.psql("states", sql);
    let on_mariadb = |sql: &str| mariadb.sql("states", sql);
    let both: [(String, Run<'_>); 2] = [
        (postgres.create_database("states"), &on_postgres),
        (mariadb.create_database("states"), &on_mariadb),
    ];
    for (url, run) in both {
        let target = open(&url, TxMode::Statements);
        assert_eq!(target.state(), Ok(DatabaseState::Empty));
        run("CREATE TABLE stock (mine int)");
        assert_eq!(target.state(), Ok(DatabaseState::Foreign { tables: vec!["stock".into()] }));
        run("DROP TABLE stock");
        target.create_schema(&meta(2)).expect("create_schema");
        let empty = DatabaseState::Loading { meta: meta(2), items: false, warehouses: vec![] };
        assert_eq!(target.state(), Ok(empty));
        target.reset().expect("reset");
        assert_eq!(target.state(), Ok(DatabaseState::Empty));
    }
}

#[test]
fn sessions_that_fight_for_one_warehouse_keep_the_conditions_at_every_isolation_level() {
    // Clause 3.4: New-Order, Payment and Delivery of one warehouse conflict on its rows all the time.
    for isolation in ["read-committed", "repeatable-read", "serializable"] {
        for mode in TxMode::ALL {
            let name = format!("fight_{mode}_{}", isolation.replace('-', "_"));
            let target = open(&format!("{}?isolation={isolation}", on_postgres(&name, 1, "")), mode);
            assert!(six_fight(&*target) > 0, "{name}");
            assert_conditions(&*target);
        }
    }
    // The levels follow one another on the same rows: the conditions hold before each one.
    let server = on_mariadb(&mariadb::FAST, 1, "");
    let url = server.url("tpcc");
    for isolation in ["read-committed", "repeatable-read", "serializable"] {
        for mode in TxMode::ALL {
            let target = open(&format!("{url}?isolation={isolation}"), mode);
            assert!(six_fight(&*target) > 0, "{isolation} {mode}");
            assert_conditions(&*target);
        }
    }
}

/// Runs six terminals at once. Returns the number of commits.
fn six_fight(target: &dyn Target) -> usize {
    std::thread::scope(|scope| {
        let fighters: Vec<_> =
            (0..6).map(|fighter| scope.spawn(move || fight(target, &meta(1), fighter, 60).len())).collect();
        fighters.into_iter().map(|fighter| fighter.join().expect("no panic")).sum()
    })
}

#[test]
fn an_item_that_is_missing_from_the_database_is_an_error_and_no_wanted_rollback() {
    // Clause 2.4.1.4: only an item that the terminal entered wrongly rolls an order back.
    let server = postgres::shared();
    on_postgres("no_items_template", 1, "?foreign_keys=off");
    server.psql("no_items_template", "DELETE FROM item");
    let mariadb = on_mariadb(&mariadb::FAST, 1, "?foreign_keys=off");
    let on_mariadb = mariadb.url("tpcc");
    mariadb.sql("tpcc", "DELETE FROM item");
    for mode in TxMode::ALL {
        let name = format!("no_items_{mode}");
        for url in [&copy_on_postgres("no_items_template", &name), &on_mariadb] {
            for (input, outcome) in inputs(1, 40).iter().zip(play(&*open(url, mode), &inputs(1, 40))) {
                if let Transaction::Standard(Standard::NewOrder(order)) = input {
                    let wanted = order.lines.iter().any(|line| line.i_id.0 > 100_000);
                    let rolled_back = matches!(outcome, Err(TxError::RolledBack(_)));
                    assert_eq!(rolled_back, wanted, "{url} {mode}: {outcome:?}");
                    assert_eq!(
                        matches!(outcome, Err(TxError::WrongRows { committed: Committed::No, .. })),
                        !wanted,
                        "{url} {mode}: {outcome:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_missing_row_is_never_committed_over() {
    // Clause 2.3.6: a missing row must be detected, and the transaction rolled back.
    let server = postgres::shared();
    on_postgres("no_rows_template", 1, "?foreign_keys=off");
    let holes = "DELETE FROM stock WHERE s_i_id % 2 = 0; DELETE FROM customer WHERE c_id % 2 = 0";
    let counts = "SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM new_order), \
                  (SELECT count(*) FROM order_line), (SELECT count(*) FROM history)";
    server.psql("no_rows_template", holes);
    let mariadb = on_mariadb(&mariadb::FAST, 1, "?foreign_keys=off");
    mariadb.sql("tpcc", holes);
    for mode in TxMode::ALL {
        let name = format!("no_rows_{mode}");
        let on_postgres = copy_on_postgres("no_rows_template", &name);
        let in_postgres = || server.psql(&name, counts);
        let in_mariadb = || mariadb.sql("tpcc", counts);
        let both: [(String, &dyn Fn() -> String); 2] =
            [(on_postgres, &in_postgres), (mariadb.url("tpcc"), &in_mariadb)];
        for (url, count) in both {
            let target = open(&url, mode);
            let (mut before, mut failed) = (count(), 0);
            for input in inputs(1, 60) {
                let outcome = play(&*target, std::slice::from_ref(&input)).remove(0);
                let after = count();
                if let Err(error) = &outcome {
                    let wrong = matches!(error, TxError::WrongRows { committed: Committed::No, .. });
                    assert!(wrong || matches!(error, TxError::RolledBack(_)), "{url} {mode}: {error:?}");
                    failed += 1;
                    assert_eq!(after, before, "{url} {mode}: {input:?}: {outcome:?}");
                }
                before = after;
            }
            assert!(failed > 20, "{url} {mode}: {failed} of 60 inputs need a row that is missing");
        }
    }
}

#[test]
fn a_broken_condition_is_told_in_the_same_words_by_every_database() {
    // Amounts are decimals in PostgreSQL and whole cents in SQLite, but messages show them alike.
    let server = postgres::shared();
    let on_server = open(&on_postgres("words", 1, ""), TxMode::Statements);
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("tpcc.sqlite");
    let in_file = open(&format!("sqlite:{}", path.display()), TxMode::Statements);
    load(&*in_file, 1);
    let changes = |cent: &str| {
        format!(
            "UPDATE warehouse SET w_ytd = w_ytd + 1234 * {cent}; \
             UPDATE district SET d_ytd = 7 * {cent} WHERE d_id = 2; \
             UPDATE customer SET c_balance = -5 * {cent} WHERE c_d_id = 3 AND c_id = 1; \
             DELETE FROM history WHERE h_d_id = 4"
        )
    };
    let mariadb = on_mariadb(&mariadb::FAST, 1, "");
    let on_mariadb = open(&mariadb.url("tpcc"), TxMode::Statements);
    server.psql("words", &changes("0.01"));
    mariadb.sql("tpcc", &changes("0.01"));
    rusqlite::Connection::open(&path).expect("the file").execute_batch(&changes("1")).expect("a change");
    let examples = |target: &dyn Target| -> Vec<Vec<String>> {
        let findings = target.check(&CONDITIONS, &|_| ()).expect("check");
        findings.into_iter().map(|finding| finding.examples).collect()
    };
    let told = examples(&*on_server);
    assert_eq!(told[0], ["w_id=1: w_ytd 3012.34, sum of d_ytd 2700.07"]);
    assert_eq!(told[8][1], "w_id=1 d_id=4: d_ytd 300.00, sum of h_amount 0.00");
    assert_eq!(told[9][0], "w_id=1 d_id=3 c_id=1: c_balance -0.05, delivered 0.00, paid 10.00");
    assert_eq!(examples(&*in_file), told);
    assert_eq!(examples(&*on_mariadb), told);
}

#[test]
fn a_reset_drops_whatever_has_the_name_of_a_table_of_ours() {
    let server = postgres::shared();
    let url = server.create_database("views");
    server.psql(
        "views",
        "CREATE TABLE item (mine int); CREATE VIEW stock AS SELECT * FROM item; \
         CREATE MATERIALIZED VIEW orders AS SELECT * FROM item; CREATE VIEW untouched AS SELECT 1",
    );
    let on_mariadb = mariadb::shared().create_database("views");
    mariadb::shared().sql(
        "views",
        "CREATE TABLE item (mine int); CREATE VIEW stock AS SELECT * FROM item; \
         CREATE VIEW untouched AS SELECT 1; \
         CREATE TABLE warehouse (w_id int PRIMARY KEY); \
         CREATE TABLE district (w_id int, FOREIGN KEY (w_id) REFERENCES warehouse (w_id))",
    );
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("views.sqlite");
    let database = rusqlite::Connection::open(&path).expect("a file");
    database
        .execute_batch("CREATE TABLE item (mine int); CREATE VIEW stock AS SELECT * FROM item")
        .expect("tables");
    drop(database);
    for url in [url, on_mariadb, format!("sqlite:{}", path.display())] {
        let target = open(&url, TxMode::Statements);
        assert!(matches!(target.state(), Ok(DatabaseState::Foreign { .. })), "{url}");
        target.reset().expect("reset");
        assert_eq!(target.state(), Ok(DatabaseState::Empty), "{url}");
        target.reset().expect("a reset of nothing");
    }
    assert_eq!(
        server.psql("views", "SELECT count(*) FROM pg_views WHERE viewname = 'untouched'").trim(),
        "1"
    );
    assert_eq!(mariadb::shared().sql("views", "SHOW TABLES"), "untouched");
}

#[test]
fn a_district_without_order_lines_has_no_low_stock() {
    let district = "INSERT INTO district VALUES (1, 1, '', '', '', '', '', '', 0, 0, 1)";
    let urls =
        [postgres::shared().create_database("no_lines"), mariadb::shared().create_database("no_lines")];
    for url in &urls {
        open(url, TxMode::Statements).create_schema(&meta(1)).expect("create_schema");
    }
    postgres::shared().psql("no_lines", district);
    mariadb::shared().sql("no_lines", district);
    let input = StockLevel {
        w_id: WarehouseId(1),
        d_id: DistrictId(1),
        threshold: 20,
        others: std::iter::empty().collect(),
    };
    for url in &urls {
        for mode in TxMode::ALL {
            let answers =
                play(&*open(url, mode), &[Transaction::Standard(Standard::StockLevel(input.clone()))]);
            assert_eq!(
                answers,
                [Ok(Outcome::Standard(StandardOutcome::StockLevel(StockLevelOutcome { low_stock: 0 })))],
                "{url} {mode}"
            );
        }
    }
}
