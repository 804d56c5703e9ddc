//! `lydite verify --isolation` on a PostgreSQL server that is killed under load. Without synchronous commits it loses
//! acknowledged appends, which refutes its level; with them it loses none. The test counts the loss itself.

use crate::program::{Ended, Program, assert_no_panic, json, lydite, scratch, text, windows_from};
use lydite_testkit::postgres::Server;
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// The acknowledged appends and rows that the last read of their key lacks, counted from the file alone.
fn lost(history: &Path) -> u64 {
    let lines = fs::read_to_string(history).expect("the history");
    let transactions: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("a line")).collect();
    let ops = |transaction: &Value| transaction["ops"].as_array().expect("ops").clone();
    let committed = || transactions.iter().filter(|transaction| transaction["outcome"] == "committed");
    let mut at_end: HashMap<String, (u64, Vec<Value>)> = HashMap::new();
    for transaction in committed().filter(|transaction| transaction["final"] == true) {
        let begun = transaction["invoked"].as_u64().expect("a position");
        for op in ops(transaction) {
            let read = (begun, op[2].as_array().expect("values").clone());
            let last = at_end.entry(op[1].to_string()).or_insert_with(|| read.clone());
            if last.0 < begun {
                *last = read;
            }
        }
    }
    let written = committed().flat_map(ops).filter(|op| op[0] == "append" || op[0] == "insert");
    written.filter(|op| !at_end[&op[1].to_string()].1.contains(&op[2])).count() as u64
}

/// Kills the server under a check, once transactions have been acknowledged that only its memory holds if it commits
/// asynchronously. None if the check ended before.
fn killed(server: &Server, window: &str, history: &Path) -> Option<(Ended, Value)> {
    let document = history.with_extension("found.json");
    let check = ["verify", &server.url("postgres"), "--isolation", "--duration", window, "--fresh"];
    let files = ["--history", text(history), "--json", text(&document)];
    let mut running = Program::new(&[&check[..], &files].concat()).start();
    let number = |sql: &str| -> u64 { server.psql("postgres", sql).parse().expect("a number") };
    let exists = || number("SELECT count(*) FROM pg_tables WHERE tablename = 'lydite_isolation_1'") == 1;
    if !running.reaches("its table exists", exists) {
        return None;
    }
    // The table survives in any case.
    server.psql("postgres", "CHECKPOINT");
    // Bytes of the log that are written, in memory at least.
    let log = || number("SELECT trunc(pg_current_wal_insert_lsn() - '0/0')");
    let before = log();
    if !running.reaches("transactions commit", || log() > before + 200_000) {
        return None;
    }
    server.kill();
    server.restart();
    let ended = running.wait();
    assert_no_panic(&ended);
    Some((ended, json(&document)))
}

/// The number of lost appends in a document.
fn found(document: &Value) -> u64 {
    let anomalies = document["isolation"]["anomalies"].as_array().expect("anomalies").iter();
    let lost = anomalies.filter(|anomaly| anomaly["kind"] == "lost-append");
    lost.map(|anomaly| anomaly["count"].as_u64().expect("a count")).sum()
}

#[test]
fn a_killed_server_that_commits_asynchronously_is_refuted_by_the_appends_that_it_lost() {
    // Nothing but a checkpoint brings commits to the disk.
    let server = Server::start(&[
        "synchronous_commit=off",
        "wal_writer_delay=10s",
        "wal_writer_flush_after=1GB",
        "wal_buffers=64MB",
        "bgwriter_lru_maxpages=0",
        "shared_buffers=64MB",
    ]);
    let directory = scratch();
    let history = directory.path().join("history.jsonl");
    windows_from("3s", |window| {
        let (ended, document) = killed(&server, window, &history)?;
        let lost = lost(&history);
        assert_eq!(found(&document), lost, "{ended:?}");
        if lost == 0 {
            return None;
        }
        let ended = ended.code(1);
        let isolation = &document["isolation"];
        assert_eq!(isolation["refuted"], true);
        assert_eq!(isolation["reads_at_end"], true);
        assert_eq!(isolation["strongest_not_refuted"], Value::Null);
        let anomaly = "lost append (acknowledged, gone at the end): ";
        assert!(ended.stdout.contains(&format!("{anomaly}{lost}, against read committed")), "{ended:?}");
        assert!(ended.stdout.contains(" and was acknowledged at "), "{ended:?}");
        // Whoever judges the file finds the same, at the weakest level too.
        let judged = ["verify", "--check-history", text(&history), "--level", "read-committed"];
        let judged = lydite(&judged).code(1);
        assert!(judged.stdout.contains(&format!("{anomaly}{lost}")), "{judged:?}");
        Some(())
    });
}

#[test]
fn a_killed_server_that_commits_synchronously_has_lost_nothing() {
    let server = Server::start(&["synchronous_commit=on", "shared_buffers=64MB"]);
    let directory = scratch();
    let history = directory.path().join("history.jsonl");
    windows_from("3s", |window| {
        let (ended, document) = killed(&server, window, &history)?;
        assert_eq!((found(&document), lost(&history)), (0, 0), "{ended:?}");
        assert_eq!(document["isolation"]["refuted"], false, "{ended:?}");
        ended.code(0);
        Some(())
    });
}

#[test]
fn a_history_without_reads_at_the_end_says_that_lost_appends_were_not_looked_for() {
    let directory = scratch();
    let history = directory.path().join("history.jsonl");
    let write = |at_end: &str| {
        let lines = format!(
            "{{\"process\":0,\"invoked\":1,\"completed\":2,\"outcome\":\"committed\",\"ops\":[[\"append\",\"x\",1]]}}\n\
             {{\"process\":1,\"invoked\":3,\"completed\":4,\"outcome\":\"committed\",\"ops\":[[\"r\",\"x\",[]]]{at_end}}}\n"
        );
        fs::write(&history, lines).expect("a history");
    };
    let judge = || lydite(&["verify", "--check-history", text(&history), "--level", "read-committed"]);
    write("");
    let stale = judge().code(0);
    assert!(stale.stdout.contains("lost appends: not looked for"), "{stale:?}");
    write(",\"final\":true");
    let lost = judge().code(1);
    assert!(lost.stdout.contains("at the end T1 read x = [], which lacks 1"), "{lost:?}");
    assert!(!lost.stdout.contains("not looked for"), "{lost:?}");
}
