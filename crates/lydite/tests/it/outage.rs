//! What a run makes of a server that is killed, that freezes, and of a user who wants it to end. The database's
//! failure is a result; an unknown commit is counted as neither.

mod late;

use crate::loaded;
use crate::program;
use crate::program::{
    Program, Running, assert_checks_hold, assert_consistent, assert_no_panic, json, scratch, text, total,
    windows_from,
};
use lydite_testkit::Directory;
use lydite_testkit::postgres::Server;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

/// A server for one test at a time: each of them kills or freezes it.
pub(crate) struct Victim {
    server: MutexGuard<'static, Option<Server>>,
    pub(crate) url: String,
    pub(crate) database: String,
    directory: Directory,
    begun: Instant,
}

/// Waits for one of two servers and gives it a fresh database of one warehouse with this name.
pub(crate) fn victim(database: &str) -> Victim {
    static SERVERS: [Mutex<Option<Server>>; 2] = [Mutex::new(None), Mutex::new(None)];
    let mut server = loop {
        let free = SERVERS.iter().find_map(|server| match server.try_lock() {
            Ok(server) => Some(server),
            Err(TryLockError::Poisoned(server)) => Some(server.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        });
        match free {
            Some(server) => break server,
            None => thread::sleep(Duration::from_millis(50)),
        }
    };
    // One that a failed test left behind dead or frozen is replaced.
    let reuse = server.take().filter(|server| server.is_running());
    let fresh = reuse.unwrap_or_else(|| {
        let settings =
            ["fsync=off", "max_wal_size=4GB", "checkpoint_timeout=1h", "max_prepared_transactions=4"];
        let fresh = loaded::postgres(1, &settings);
        // What the template took must not have to be recovered after each kill.
        fresh.psql("postgres", "CHECKPOINT");
        fresh
    });
    let url = loaded::copy_on(&fresh, "tpcc", database);
    *server = Some(fresh);
    Victim { server, url, database: database.into(), directory: scratch(), begun: Instant::now() }
}

impl Victim {
    pub(crate) fn server(&self) -> &Server {
        self.server.as_ref().expect("a server")
    }

    pub(crate) fn result(&self) -> PathBuf {
        self.directory.path().join("result.json")
    }

    /// Another database of the same server.
    fn beside(&self, database: &str) -> Beside {
        Beside { url: loaded::copy_on(self.server(), "tpcc", database), directory: scratch() }
    }

    /// Starts a run and waits until it has been at work for a second. None if it ended before that.
    fn run(&mut self, arguments: &[&str]) -> Option<Running> {
        let (server, database) = (self.server(), &self.database);
        let before = work(server, database);
        let mut running = start(&self.url, &self.result(), arguments);
        let begun = running.reaches("the first order or payment", || work(server, database) > before);
        self.begun = Instant::now();
        thread::sleep(Duration::from_secs(1));
        (begun && running.is_running()).then_some(running)
    }
}

/// A further database of the victim.
struct Beside {
    url: String,
    directory: Directory,
}

impl Beside {
    pub(crate) fn result(&self) -> PathBuf {
        self.directory.path().join("result.json")
    }

    fn start(&self, arguments: &[&str]) -> Running {
        start(&self.url, &self.result(), arguments)
    }
}

pub(crate) fn start(url: &str, result: &Path, arguments: &[&str]) -> Running {
    let usual = ["run", url, "--warmup", "0", "--quiet", "--json", text(result)];
    Program::new(&[&usual, arguments].concat()).start()
}

/// Orders in a database beyond those that were loaded.
pub(crate) fn orders(server: &Server, database: &str) -> u64 {
    server.psql(database, "SELECT sum(d_next_o_id - 31) FROM district").parse().expect("a count")
}

/// Orders and payments in a database.
fn work(server: &Server, database: &str) -> u64 {
    let sum = "SELECT (SELECT sum(d_next_o_id) FROM district) + (SELECT count(*) FROM history)";
    server.psql(database, sum).parse().expect("a count")
}

/// The completed transactions of each second.
fn series(result: &Value) -> Vec<u64> {
    let series = &result["series"];
    let of = |kind: &str| {
        series[kind].as_array().expect("a series").iter().map(|count| count.as_u64().expect("a count"))
    };
    let mut sum = vec![0; series["second"].as_array().expect("seconds").len()];
    for kind in program::TYPES {
        for (sum, count) in sum.iter_mut().zip(of(kind)) {
            *sum += count;
        }
    }
    sum
}

/// What is committed, failed and unknown are different transactions, counted alike in totals and series.
fn assert_counts_agree(result: &Value) {
    let sum = |name: &str| -> u64 {
        let counts = result["series"][name].as_array().expect("a series");
        counts.iter().map(|count| count.as_u64().expect("a count")).sum()
    };
    assert_eq!(series(result).iter().sum::<u64>(), total(result, "committed") + total(result, "rolled_back"));
    assert_eq!(sum("unknown"), total(result, "unknown"));
    assert_eq!(sum("errors"), total(result, "failed"));
}

/// The only outage: from, to, in seconds of the window.
fn only_outage(result: &Value) -> (f64, f64) {
    let outages = result["outages"].as_array().expect("outages");
    assert_eq!(outages.len(), 1, "{outages:?}");
    (outages[0]["from_s"].as_f64().expect("its begin"), outages[0]["to_s"].as_f64().expect("its end"))
}

fn assert_partial(path: &Path) -> Value {
    let result = json(path);
    assert_eq!(result["status"], "partial");
    assert!(total(&result, "committed") > 0, "{}", result["transactions"]);
    result
}

/// What the result says of the consistency conditions as a rule of the standard.
fn conditions_rule(result: &Value) -> &Value {
    let rules = result["compliance"].as_array().expect("rules");
    let of_conditions =
        |line: &&Value| line["clause"].as_str().is_some_and(|clause| clause.starts_with("3.3"));
    rules.iter().find(of_conditions).expect("the conditions")
}

#[test]
fn a_run_goes_on_when_the_server_is_killed_and_comes_back_and_the_gap_shows() {
    // Two runs at the same time: a lost connection means something else where a transaction is one call.
    let mut victim = victim("killed_statements");
    let other = victim.beside("killed_procedures");
    windows_from("8s", |window| {
        let databases = ["killed_statements", "killed_procedures"];
        let before = databases.map(|database| orders(victim.server(), database));
        let arguments = ["--terminals", "3", "--duration", window];
        let second = other.start(&[&arguments[..], &["--tx", "procedures"]].concat());
        let first = victim.run(&arguments)?;
        victim.server().kill();
        thread::sleep(Duration::from_millis(2_200));
        victim.server().restart();
        let ended = [first.wait(), second.wait()];
        let results = [victim.result(), other.result()];
        for place in 0..2 {
            let (ended, result) = (&ended[place], json(&results[place]));
            assert_no_panic(ended);
            assert_counts_agree(&result);
            // Every order that was committed for certain is there, each once; beyond these only those can be that
            // nobody knows of, and those that were answered after the end: one for each session.
            let count = |name: &str| result["transactions"]["new_order"][name].as_u64().expect("a count");
            let (least, there) = (count("committed"), orders(victim.server(), databases[place]));
            assert!(
                (least..=least + count("unknown") + 3).contains(&(there - before[place])),
                "{}: {there}",
                result["transactions"]
            );
            // On a machine under load the outage may not be over before the end, or there is no work on both sides of it.
            let series = series(&result);
            if ended.code != Some(0) || series[0] == 0 || series[series.len() - 1] == 0 {
                return None;
            }
            assert_eq!(result["status"], "complete");
            assert_checks_hold(&result, &["before", "after"]);
            let (from, to) = only_outage(&result);
            assert!(0.0 < from && from + 2.2 <= to && to < series.len() as f64, "{from} to {to}");
            assert_eq!(series[from.ceil() as usize], 0, "a second within {from} to {to} s: {series:?}");
            let errors = result["errors"].as_array().expect("errors");
            assert!(!errors.is_empty(), "what the server and the system said is kept");
        }
        Some(())
    });
}

#[test]
fn a_crash_of_the_server_that_it_mends_itself_loses_no_order_and_makes_none_twice() {
    let mut victim = victim("crashed");
    windows_from("4s", |window| {
        let before = orders(victim.server(), "crashed");
        let running = victim.run(&["--terminals", "3", "--duration", window])?;
        // When one process of the server dies the others are ended, whatever they are doing, and it starts again.
        let sql = "SELECT pid FROM pg_stat_activity WHERE application_name = 'lydite' LIMIT 1";
        // None if the run has just ended.
        let process: i32 = victim.server().psql("postgres", sql).parse().ok()?;
        // SAFETY: kill has no memory preconditions; the process is one of the server's, which is ours.
        unsafe { libc::kill(process, libc::SIGKILL) };
        let ended = running.wait();
        assert_no_panic(&ended);
        if ended.code != Some(0) {
            // On a machine under load the server may not be back before the end of the run, nor now.
            victim.server().kill();
            victim.server().restart();
            return None;
        }
        let result = json(&victim.result());
        assert_eq!(result["status"], "complete");
        assert_checks_hold(&result, &["before", "after"]);
        assert_counts_agree(&result);
        let count = |name: &str| result["transactions"]["new_order"][name].as_u64().expect("a count");
        let (least, there) = (count("committed"), orders(victim.server(), "crashed") - before);
        assert!(
            (least..=least + count("unknown") + 3).contains(&there),
            "{}: {there}",
            result["transactions"]
        );
        Some(())
    });
}

#[test]
fn a_server_that_never_comes_back_ends_the_run_at_its_planned_end_with_a_partial_result() {
    let mut victim = victim("gone");
    windows_from("4s", |window| {
        let running = victim.run(&["--terminals", "4", "--duration", window])?;
        victim.server().kill();
        let ended = running.wait();
        victim.server().restart();
        assert_consistent(&victim.url);
        let result = json(&victim.result());
        if result["outages"].as_array().is_none_or(Vec::is_empty) {
            // The window was over when the server was killed.
            return None;
        }
        let ended = ended.code(3);
        let error = ended.only_error();
        assert!(
            error.contains(&format!("127.0.0.1:{}", victim.server().port())) && error.contains("lost"),
            "{error}"
        );
        assert_partial(&victim.result());
        assert_checks_hold(&result, &["before"]);
        assert_counts_agree(&result);
        let (from, to) = only_outage(&result);
        let planned = result["plan"]["duration_s"].as_f64().expect("a length");
        assert!(0.0 < from && from < to && to <= planned + 0.1, "{from} to {to}");
        Some(())
    });
}

#[test]
fn ctrl_c_ends_a_run_with_130_and_the_result_so_far() {
    let mut victim = victim("interrupted");
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let running =
            victim.run(&["--terminals", "2", "--duration", "1h", "--no-check"]).expect("a long run");
        running.signal(signal);
        let ended = running.wait().code(130);
        assert!(ended.stdout.contains("NOPM"), "the table: {ended:?}");
        let result = assert_partial(&victim.result());
        assert_counts_agree(&result);
        let measured = result["window"]["measured_s"].as_f64().expect("a length");
        assert!((1.0..ended.took.as_secs_f64()).contains(&measured), "{measured}");
        std::fs::remove_file(victim.result()).expect("the result");
    }
    assert_consistent(&victim.url);
}

#[test]
fn a_second_ctrl_c_ends_a_run_at_once() {
    let mut victim = victim("impatient");
    let mut running =
        victim.run(&["--terminals", "2", "--duration", "1h", "--no-check"]).expect("a long run");
    victim.server().signal(libc::SIGSTOP);
    running.signal(libc::SIGINT);
    thread::sleep(Duration::from_millis(700));
    assert!(running.is_running(), "the first waits for transactions in flight");
    // Two that come before the program looks are one to it, so there may have to be more.
    while running.is_running() {
        running.signal(libc::SIGINT);
        thread::sleep(Duration::from_millis(100));
    }
    running.wait().code(130);
    assert!(!victim.result().exists(), "the second waits for nothing, not even for the result");
    victim.server().signal(libc::SIGCONT);
}

#[test]
fn a_server_that_freezes_does_not_keep_a_run_from_ending_with_a_result() {
    // Two runs at the same time. The closed loop hangs with all its sessions and counts the server as lost; the
    // pool hangs with those that were needed, and finds out when it wants to check.
    let mut victim = victim("frozen_direct");
    let other = victim.beside("frozen_open");
    windows_from("3s", |window| {
        let pool = ["--mode", "open", "--rate", "20", "--sessions", "90", "--duration", window];
        let second = other.start(&pool);
        let first = victim.run(&["--terminals", "3", "--duration", window])?;
        victim.server().signal(libc::SIGSTOP);
        let ended = [(first.wait(), victim.result()), (second.wait(), other.result())];
        victim.server().signal(libc::SIGCONT);
        let planned = json(&victim.result())["plan"]["duration_s"].as_f64().expect("a length");
        // The server never answers, so that they end at all is what is shown; each waited for it once, and not session by
        // session.
        assert!(victim.begun.elapsed().as_secs_f64() < 57.0 + planned, "{ended:?}");
        for (ended, path) in ended {
            assert_eq!(ended.code, Some(3), "{ended:?}");
            assert_no_panic(&ended);
            // It may have been frozen before it measured: there is no result then.
            if !path.exists() {
                return None;
            }
            let result = json(&path);
            assert_counts_agree(&result);
            // It may have been frozen before one of them had any answer, or after its window.
            if total(&result, "committed") == 0 || total(&result, "unknown") == 0 {
                return None;
            }
            assert_eq!(result["status"], "partial");
        }
        Some(())
    });
    assert_consistent(&victim.url);
    assert_consistent(&other.url);
}

#[test]
fn the_availability_of_a_server_that_freezes_is_computed_from_its_result() {
    let mut victim = victim("availability");
    // A machine under load stalls for other reasons, too, and its seconds differ more from each other.
    let judged = ["40", "70", "90"].into_iter().any(|percent| availability_is_reported(&mut victim, percent));
    assert!(judged, "a freeze and steady seconds on either side of it");
    assert_consistent(&victim.url);
}

/// Freezes the server and reads the reported availability. Throughput counts as stable while it varies by at most this
/// percentage. Returns false if more than the freeze made the run stall, or if the client stood still itself.
fn availability_is_reported(victim: &mut Victim, percent: &str) -> bool {
    // A rate that the server can keep: but for the freeze throughput is steady.
    let plan = ["--mode", "open", "--rate", "100", "--arrival", "constant", "--sessions", "8"];
    let Some(running) = victim.run(&[&plan[..], &["--duration", "24s", "--no-check"]].concat()) else {
        return false;
    };
    thread::sleep(Duration::from_secs(9));
    victim.server().signal(libc::SIGSTOP);
    thread::sleep(Duration::from_secs(4));
    victim.server().signal(libc::SIGCONT);
    running.wait().code(0);
    let result = json(&victim.result());
    let silent = |outage: &Value| {
        let (from, to) =
            (outage["from_s"].as_f64().expect("a time"), outage["to_s"].as_f64().expect("a time"));
        // It was frozen for 4 s. No connection was lost.
        outage["cause"] == "silent" && to - from > 3.5
    };
    let completed = series(&result);
    // A client that stood still for a second proves no silence before that.
    if !result["outages"].as_array().expect("outages").iter().any(silent) {
        eprintln!("no silence of 3.5 s in {}: {completed:?}", result["outages"]);
        return false;
    }
    let frozen: Vec<usize> = (0..completed.len()).filter(|&second| completed[second] == 0).collect();
    let (Some(first), Some(last)) = (frozen.first(), frozen.last()) else { panic!("{completed:?}") };
    if last - first >= frozen.len() || *first < 7 || last + 7 > completed.len() {
        return false;
    }
    let page = victim.directory.path().join("page.html");
    let event = format!("freeze={first}s..{}s", last + 1);
    let (result, stable) = (victim.result(), format!("2s,{percent},4s"));
    let report = ["report", text(&result), "--event", &event, "--stable", &stable, "-o", text(&page)];
    let told = Program::new(&report).run().code(0).stdout;
    let row = |name: &str| -> Vec<f64> {
        let line = told.lines().find(|line| line.contains(name)).expect("a row");
        line.split_whitespace().rev().take(6).filter_map(|word| word.parse().ok()).collect()
    };
    // From the right: T_e, R_e, t, the lowest second, TPS_e, TPS_n. Not all of them exist where nothing is steady.
    let [t_e, r_e, t, lowest, tps_e, tps_n] = row("freeze  ")[..] else { return false };
    assert_eq!(lowest, 0.0, "{told}");
    // Means of steady seconds on either side, whatever the machine made of the rate; the table rounds them.
    let among = |mean: f64, seconds: &[u64]| {
        let (least, most) = (seconds.iter().min().expect("seconds"), seconds.iter().max().expect("seconds"));
        (*least as f64 - 0.5..=*most as f64 + 0.5).contains(&mean)
    };
    assert!(
        among(tps_n, &completed[..*first]) && among(tps_e, &completed[last + 1..]),
        "{told}: {completed:?}"
    );
    assert!(t >= frozen.len() as f64 && (t_e - 1.0 / (t + 1.0)).abs() < 0.001, "{told}");
    // Both throughputs are rounded to whole transactions.
    assert!((r_e - (1.0 - (tps_e - tps_n).abs() / tps_n)).abs() < 0.01 + 2.0 / tps_n, "{told}");
    row("freeze, its end").len() == 6
}

#[test]
fn a_server_lost_between_the_run_and_its_last_check_does_not_lose_the_result() {
    let mut victim = victim("lost_late");
    // Payments do not touch ORDER-LINE, which the check reads. The ledger does not read it.
    let (running, database) = windows_from("6s", |window| {
        let mut running = victim.run(&["--terminals", "2", "--duration", window, "--mix", "0,100,0,0,0"])?;
        let (server, database) = (victim.server(), victim.database.clone());
        hold(server, &database, "order_line");
        if running.reaches("the last check", || check_waits(server, &database)) {
            return Some((running, database));
        }
        drop(Held { server, database: &database });
        None
    });
    let server = victim.server();
    let held = Held { server, database: &database };
    server.kill();
    let ended = running.wait().code(3);
    assert!(ended.errors().last().is_some_and(|error| error.contains("check")), "{ended:?}");
    let result = assert_partial(&victim.result());
    let after: Vec<&Value> = result["checks"]
        .as_array()
        .expect("checks")
        .iter()
        .filter(|check| check["when"] == "after")
        .collect();
    let [ledger, _answers, _sample, failed] = after[..] else {
        panic!("the check that could not be made: {after:?}")
    };
    assert_eq!((&ledger["id"], &ledger["ok"]), (&"ledger".into(), &true.into()));
    assert_eq!(failed["ok"], false);
    assert!(
        failed["detail"].as_str().is_some_and(|words| words.contains("could not be checked")),
        "{failed}"
    );
    assert!(conditions_rule(&result)["met"].is_null(), "nobody knows");
    server.restart();
    drop(held);
    assert_consistent(&victim.url);
}

/// Holds a table so that nobody can read it, until it is dropped.
pub(crate) struct Held<'a> {
    server: &'a Server,
    database: &'a str,
}

impl<'a> Held<'a> {
    pub(crate) fn new(server: &'a Server, database: &'a str, table: &str) -> Self {
        hold(server, database, table);
        Self { server, database }
    }
}

/// Holds a table. A prepared transaction keeps its locks without a connection.
fn hold(server: &Server, database: &str, table: &str) {
    let hold =
        format!("BEGIN; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE; PREPARE TRANSACTION '{database}'");
    server.psql(database, &hold);
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.server.psql(self.database, &format!("ROLLBACK PREPARED '{}'", self.database));
    }
}

/// A check of this database waits for a lock.
pub(crate) fn check_waits(server: &Server, database: &str) -> bool {
    let waiting = format!(
        "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = '{database}' AND wait_event_type = 'Lock' \
         AND query LIKE 'SELECT %order_line%'"
    );
    server.psql("postgres", &waiting) == "t"
}
