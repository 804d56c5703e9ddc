//! TiDB's features within MySQL's family, against a server of a few lines that reports to be TiDB and records what it
//! receives. Syntax that only the real product knows is not tested here.

use crate::playing::open;
use crate::replay::{self, Mysql};
// Small, not tiny: a warehouse must have more rows than one batch.
use lydite_database::playing::population;
use lydite_database::{LoadProgress, LoadUnit, TargetErrorKind, TxMode};
use lydite_testkit::mariadb;
use std::sync::{Arc, Mutex};

/// Most rows in a transaction.
const LIMIT: usize = 4_000;

/// Received statements, and the rows of each transaction that the server accepted and rejected.
#[derive(Default)]
struct Heard {
    statements: Vec<String>,
    taken: Vec<usize>,
    refused: Vec<usize>,
}

fn serve(mut connection: Mysql, heard: &Mutex<Heard>) -> Option<()> {
    connection.greet("8.0.11-TiDB-v8.5.0")?;
    let mut mode = "pessimistic".to_string();
    loop {
        let sql = connection.statement()?;
        heard.lock().expect("a lock").statements.push(sql.clone());
        if let Some((_, set)) = sql.split_once("tidb_txn_mode = ") {
            mode = set.trim_matches('\'').to_string();
        }
        if sql.starts_with("SELECT version()") {
            connection.rows(2, &[&["8.0.11-TiDB-v8.5.0", "TiDB Server"]]);
        } else if sql.starts_with("SELECT @@GLOBAL.local_infile") {
            connection.rows(1, &[&["ON"]]);
        } else if sql.starts_with("SHOW VARIABLES") {
            connection.rows(2, &[&["tidb_txn_mode", &mode]]);
        } else if sql.starts_with("SELECT") {
            connection.rows(1, &[]);
        } else if sql.contains("LOAD DATA") {
            connection.send(b"\xfbrows");
            let mut rows = 0;
            loop {
                let part = connection.packet()?;
                if part.is_empty() {
                    break;
                }
                rows += part.iter().filter(|byte| **byte == b'\n').count();
            }
            let mut heard = heard.lock().expect("a lock");
            if rows > LIMIT {
                heard.refused.push(rows);
                connection.send(b"\xff\x44\x1f#HY000Transaction is too large, size: 104857601");
            } else {
                heard.taken.push(rows);
                connection.ok(rows);
            }
        } else {
            connection.ok(0);
        }
    }
}

/// Starts the server. Returns its URL and its record.
fn pretender() -> (String, Arc<Mutex<Heard>>) {
    let heard = Arc::new(Mutex::new(Heard::default()));
    let shared = Arc::clone(&heard);
    let port = replay::listen(move |stream| {
        // A client that has ended needs no answer.
        let _gone = serve(Mysql::new(stream), &shared);
    });
    (format!("tidb://root@127.0.0.1:{port}/tpcc"), heard)
}

#[test]
fn the_mode_of_transactions_is_set_on_every_connection_and_told_as_the_server_has_it() {
    let (url, heard) = pretender();
    for (option, mode) in [("", "pessimistic"), ("?transactions=optimistic", "optimistic")] {
        let told = open(&format!("{url}{option}"), TxMode::Statements).describe().expect("a description");
        assert_eq!(told.settings["tidb_txn_mode"], mode);
        assert!(told.durable, "{told:?}");
    }
    let set = heard
        .lock()
        .expect("a lock")
        .statements
        .iter()
        .filter(|sql| sql.contains("SET SESSION tidb"))
        .count();
    assert_eq!(set, 1, "left to the server where the URL says nothing");
}

#[test]
fn modes_are_refused_by_a_server_that_has_none() {
    let url = mariadb::shared().create_database("no_modes").replace("mariadb:", "mysql:");
    let target = open(&format!("{url}?transactions=optimistic"), TxMode::Statements);
    let refused = target.state().expect_err("MariaDB has no such modes");
    assert_eq!(refused.kind, TargetErrorKind::Usage);
    assert!(refused.message.contains("MariaDB does not have these modes of TiDB"), "{refused}");
}

#[test]
fn rows_go_in_transactions_of_ten_thousand_and_in_halves_when_these_are_too_large() {
    let (url, heard) = pretender();
    let progress = LoadProgress::default();
    let mut loader = open(&url, TxMode::Statements).loader().expect("a loader");
    loader.load(LoadUnit::Items, &(&population(1)).into(), &progress).expect("ITEM");
    assert_eq!(progress.rows(), 10_000);
    let heard = heard.lock().expect("a lock");
    assert_eq!(heard.refused, [10_000, 5_000], "halved, and no larger one afterwards");
    assert_eq!(heard.taken, vec![2_500; 4]);
    let count = |sql: &str| heard.statements.iter().filter(|statement| *statement == sql).count();
    assert_eq!((count("START TRANSACTION"), count("COMMIT"), count("ROLLBACK")), (6, 4, 2));
    let note = heard.statements.iter().position(|sql| sql == "INSERT INTO lydite_load VALUES (-1)");
    assert!(
        note < heard.statements.iter().position(|sql| sql.contains("LOAD DATA")),
        "noted as begun before"
    );
}
