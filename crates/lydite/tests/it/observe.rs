//! Observation: statistics of servers, of this machine and of exporters beside the transactions of a run.

use crate::loaded;
use crate::program::{json, lydite, scratch, text, windows_from};
use lydite_testkit::{free_port, postgres};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

/// Runs on a target without checks and gives its result.
fn result_of(url: &str, duration: &str, more: &[&str]) -> Value {
    let directory = scratch();
    let path = directory.path().join("result.json");
    let run = [
        "run",
        url,
        "--duration",
        duration,
        "--warmup",
        "0s",
        "--no-check",
        "--quiet",
        "--json",
        text(&path),
    ];
    lydite(&[&run[..], more].concat()).code(0);
    json(&path)
}

/// The observed entries of a result. Fails unless each has a value or null for each second.
#[track_caller]
fn observed(result: &Value) -> Vec<Value> {
    let seconds = result["series"]["second"].as_array().expect("seconds").len();
    let entries = result["observed"].as_array().cloned().unwrap_or_default();
    for entry in &entries {
        let values = entry["values"].as_array().expect("values");
        assert_eq!(values.len(), seconds, "{entry}");
        assert!(values.iter().all(|value| value.is_f64() || value.is_null()), "{entry}");
    }
    entries
}

/// The entry of a value; none if it was not observed.
fn entry<'a>(entries: &'a [Value], source: &str, name: &str) -> Option<&'a Value> {
    entries.iter().find(|entry| entry["source"] == source && entry["name"] == name)
}

/// The sum of a value over all seconds.
fn sum(entries: &[Value], source: &str, name: &str) -> f64 {
    let values =
        entry(entries, source, name).map_or(&[][..], |entry| entry["values"].as_array().expect("values"));
    values.iter().filter_map(Value::as_f64).sum()
}

#[test]
fn postgresql_is_observed_unless_the_plan_says_otherwise() {
    let url = loaded::on_postgres("observed", 1);
    // Sessions report their transactions once a second; a machine under load may need a longer window.
    let result = windows_from("3s", |duration| {
        let result = result_of(&url, duration, &["--observe", "db,host"]);
        let entries = observed(&result);
        let seen = |name| sum(&entries, "db", name) > 0.0;
        let all = ["pg_stat_database.xact_commit", "pg_stat_wal.wal_bytes", "pg_stat_activity.active"];
        let both = all.into_iter().all(seen) && sum(&entries, "host", "cpu.user") > 0.0;
        both.then_some(result)
    });
    let entries = observed(&result);
    let unit = |source, name| entry(&entries, source, name).expect("observed")["unit"].clone();
    assert_eq!(unit("db", "pg_stat_database.xact_commit"), "/s");
    assert_eq!(unit("db", "pg_stat_wal.wal_bytes"), "bytes/s");
    assert_eq!(unit("db", "pg_stat_activity.wait.Lock"), "");
    assert_eq!(unit("host", "cpu.steal"), "cores");
    assert_eq!(result["plan"]["observe"], serde_json::json!(["db", "host"]));
    assert_eq!(result["target"]["encrypted"], false);
    let changed = result["target"]["changed_settings"].as_object().expect("changed settings");
    assert_eq!(changed["max_connections"], "200", "{changed:?}");
    assert!(
        !changed.contains_key("data_directory") && !changed.contains_key("application_name"),
        "{changed:?}"
    );

    let usual = windows_from("2s", |duration| {
        let entries = observed(&result_of(&url, duration, &[]));
        entry(&entries, "db", "pg_stat_activity.active").is_some().then_some(entries)
    });
    assert!(usual.iter().all(|entry| entry["source"] == "db"), "{usual:?}");
    let off = result_of(&url, "1s", &["--observe", "off"]);
    assert!(off["observed"].is_null() && !off["warnings"].to_string().contains("observe"), "{off}");
}

#[test]
fn all_servers_are_observed_with_their_processes_and_statements() {
    let start = |more: &[&'static str]| postgres::Server::start(&[&["fsync=off"], more].concat());
    let coordinator = start(&["shared_preload_libraries=pg_stat_statements"]);
    coordinator.psql("postgres", "CREATE EXTENSION pg_stat_statements");
    let shard = start(&[]);
    let place = format!("127.0.0.1:{}", shard.port());
    let url = format!("{}?shards={place}", coordinator.url("postgres"));
    let other = format!("db:{place}");
    let more = ["--observe", "db,host", "--warehouses", "1", "--size", "small"];
    let result = windows_from("3s", |duration| {
        let result = result_of(&url, duration, &more);
        let entries = observed(&result);
        let committed = |source: &str| sum(&entries, source, "pg_stat_database.xact_commit") > 0.0;
        let worked = |source: &str| sum(&entries, "host", &format!("{source}.cpu")) > 0.0;
        let all = ["db", &other].into_iter().all(|source| committed(source) && worked(source));
        (all && result["statements"].is_array()).then_some(result)
    });
    let entries = observed(&result);
    for name in ["memory", "disk.written_bytes"] {
        assert!(entry(&entries, "host", &format!("{other}.{name}")).is_some(), "{name}: {entries:?}");
    }
    let statements = result["statements"].as_array().expect("statements");
    assert!((1..=10).contains(&statements.len()), "{statements:?}");
    // The shard does not count its statements.
    assert!(statements.iter().all(|statement| statement["source"] == "db"), "{statements:?}");
    let total = |statement: &Value| {
        statement["mean_ms"].as_f64().unwrap() * statement["calls"].as_u64().unwrap() as f64
    };
    assert!(statements.is_sorted_by(|a, b| total(a) >= total(b)), "{statements:?}");
    // Texts have placeholders instead of values.
    let changed = |of: &Value| of["rows"].as_u64() > Some(0) && of["blocks_hit"].is_u64();
    let shown = |of: &Value| of["text"].as_str().expect("a text").contains("$1");
    assert!(statements.iter().any(|of| changed(of) && shown(of)), "{statements:?}");
}

#[test]
fn a_server_that_the_url_does_not_name_is_observed_by_its_port() {
    let port = format!("host/port:{}", postgres::shared().port());
    let entries = windows_from("2s", |duration| {
        let entries = observed(&result_of("null:", duration, &["--observe", &port]));
        entry(&entries, "host", "db.cpu").is_some().then_some(entries)
    });
    assert!(sum(&entries, "host", "db.memory") > 0.0, "{entries:?}");
}

#[test]
fn mariadb_is_observed_with_its_changed_settings() {
    let server = loaded::mariadb(1, &["innodb-lock-wait-timeout=7", "performance-schema=ON"]);
    let result = windows_from("2s", |duration| {
        let result = result_of(&server.url("tpcc"), duration, &[]);
        let entries = observed(&result);
        let seen = |name| sum(&entries, "db", name) > 0.0;
        ["Questions", "Com_commit", "Innodb_os_log_written", "Threads_running"]
            .into_iter()
            .all(|name| seen(name) && result["statements"].is_array())
            .then_some(result)
    });
    let entries = observed(&result);
    assert_eq!(entry(&entries, "db", "Innodb_os_log_written").expect("observed")["unit"], "bytes/s");
    let changed = result["target"]["changed_settings"].as_object().expect("changed settings");
    assert_eq!(changed["innodb_lock_wait_timeout"], "7", "{changed:?}");
    assert!(!changed.contains_key("datadir") && !changed.contains_key("autocommit"), "{changed:?}");
    let statements = result["statements"].as_array().expect("statements");
    let commits = statements.iter().find(|of| of["text"] == "COMMIT").expect("commits");
    assert!(commits["calls"].as_u64().unwrap() > 0 && commits["blocks_read"].is_null(), "{commits}");
}

#[test]
fn gemel_is_observed_by_its_metrics() {
    let observed = windows_from("2s", |duration| {
        let url = ["--warehouses", "1", "--size", "small"];
        let entries = observed(&result_of("gemel:", duration, &url));
        let committed = r#"gemel_transactions_committed_total{engines="memory"}"#;
        (sum(&entries, "db", committed) > 0.0).then_some(entries)
    });
    assert!(entry(&observed, "db", "gemel_log_bytes").is_some(), "{observed:?}");
    assert!(sum(&observed, "db", "gemel_log_syncs_total") > 0.0, "{observed:?}");
    assert!(entry(&observed, "db", "gemel_recovery_seconds").is_none(), "{observed:?}");
}

#[test]
fn sqlite_is_observed_in_lydites_own_process() {
    let all = ["--observe", "db,host", "--warehouses", "1", "--size", "small"];
    let entries = windows_from("2s", |duration| {
        let entries = observed(&result_of("sqlite:", duration, &all));
        let seen = |source: &str, name: &str| sum(&entries, source, name) > 0.0;
        let counts = ["commits", "rollbacks", "cache_hits", "pages_written", "wal_bytes"];
        let counted = counts.into_iter().all(|name| seen("db", &format!("sqlite.{name}")));
        (counted && seen("host", "lydite.cpu")).then_some(entries)
    });
    assert!(sum(&entries, "host", "lydite.memory") > 0.0, "{entries:?}");
    assert!(entry(&entries, "host", "db.cpu").is_none(), "{entries:?}");
}

/// An exporter whose counter rises by ten with each answer, until it is dropped.
struct Exporter {
    port: u16,
    answers: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Exporter {
    fn start(series: usize) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("its number").port();
        let (answers, over) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
        let (count, end) = (Arc::clone(&answers), Arc::clone(&over));
        let serve = move || {
            for stream in listener.incoming() {
                if end.load(Ordering::SeqCst) {
                    return;
                }
                let number = count.fetch_add(1, Ordering::SeqCst) * 10;
                let more: String =
                    (0..series).map(|other| format!("other{{number=\"{other}\"}} 1\n")).collect();
                let text = format!(
                    "# TYPE jobs_bytes_total counter\njobs_bytes_total{{queue=\"a b\"}} {number}\n\
                     # TYPE temperature gauge\ntemperature 36.6\n{more}"
                );
                // The client may have gone away.
                let _answered = answer(&mut stream.expect("a connection"), &text);
            }
        };
        Self { port, answers, over, thread: Some(thread::spawn(serve)) }
    }

    fn source(&self, names: &str) -> String {
        format!("prometheus=http://127.0.0.1:{}/metrics{names}", self.port)
    }
}

/// Reads the head of a request and answers it.
fn answer(stream: &mut TcpStream, text: &str) -> std::io::Result<()> {
    let mut head = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    while head.read_line(&mut line)? > 2 {
        line.clear();
    }
    let length = text.len();
    write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{text}")
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // Wakes the thread.
        let _connected = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

#[test]
fn an_exporter_of_prometheus_is_observed() {
    let exporter = Exporter::start(3);
    let source = format!("127.0.0.1:{}", exporter.port);
    let sources = exporter.source(",jobs,temp");
    let entries = windows_from("3s", |duration| {
        let entries = observed(&result_of("null:", duration, &["--observe", &sources]));
        let seen = |name| sum(&entries, &source, name) > 0.0;
        (seen(r#"jobs_bytes_total{queue="a b"}"#) && seen("temperature")).then_some(entries)
    });
    // The check before the run, and a sample of each end of a second.
    assert!(exporter.answers.load(Ordering::SeqCst) > 2);
    assert_eq!(entries.len(), 2, "only what was named: {entries:?}");
    let jobs = entry(&entries, &source, r#"jobs_bytes_total{queue="a b"}"#).expect("observed");
    assert_eq!(jobs["unit"], "bytes/s");
    let temperatures =
        entry(&entries, &source, "temperature").expect("observed")["values"].as_array().expect("values");
    assert!(temperatures.iter().all(|value| value.is_null() || *value == 36.6), "{temperatures:?}");
}

#[test]
fn sources_that_can_not_be_observed_are_rejected_together_before_the_run() {
    let (exporter, other) = (Exporter::start(300), Exporter::start(0));
    let away = format!("prometheus=http://127.0.0.1:{}/metrics", free_port());
    let ended = lydite(&[
        "run",
        "null:",
        "--observe",
        "dbx",
        "--observe",
        &away,
        "--observe",
        &exporter.source(""),
        "--observe",
        &other.source(",jobs,humidity"),
    ])
    .code(2);
    ended.told(&[
        &["--observe", "\"dbx\"", "use db, host, host/port:N, host=ssh://HOST, prometheus=URL or off"],
        &["--observe", "is the exporter running?"],
        &["--observe", "302 series, and at most 200 are observed: name some"],
        &["--observe", "no metric begins with humidity"],
    ]);
    let ended = lydite(&["run", "null:", "--observe", &format!("host/port:{}", free_port())]).code(2);
    assert!(ended.only_error().contains("no process listens on port"), "{ended:?}");
    let ended = lydite(&["run", "null:", "--observe", "db"]).code(2);
    assert!(ended.only_error().contains("leave db out"), "{ended:?}");
}
