//! Runs whose statements have a limit of time (`statement_timeout`): locks held by others, commits that wait, and servers
//! that freeze.

use crate::loaded;
use crate::program::{Program, assert_checks_hold, json, lydite, scratch, text, total, windows_from};
use lydite_testkit::{mariadb, postgres};
use std::thread;
use std::time::{Duration, Instant};

/// The limit of the runs.
const LIMIT: &str = "statement_timeout=200ms";
/// Length of each stall in seconds, so long that Lydite gives sessions up: it does so 500 ms after the limit.
const STALL_S: &str = "1.2";

/// Sum that grows with the work of a run.
const WORK: &str = "SELECT sum(d_next_o_id) FROM district";

/// A server, and ways to keep its statements from ending.
struct Stalls<'a> {
    /// Runs SQL on the database of the run.
    sql: &'a dyn Fn(&str) -> String,
    /// SQL function that sleeps for a number of seconds.
    sleep: &'a str,
    /// Lets no commit end.
    commits: &'a dyn Fn(),
    /// Sends a signal to all processes.
    signal: &'a dyn Fn(i32),
}

fn wait() {
    thread::sleep(Duration::from_millis(1200));
}

/// Runs through all stalls in these modes. Returns the number of transactions of unknown outcome in each.
fn unknown_in_each(modes: [&str; 2], url: &str, stalls: &Stalls<'_>) -> Vec<u64> {
    let directory = scratch();
    let work = || (stalls.sql)(WORK);
    let lock = format!(
        "BEGIN; UPDATE warehouse SET w_tax = w_tax WHERE w_id = 1; SELECT {}({STALL_S}); ROLLBACK",
        stalls.sleep
    );
    let run = |tx: &str, window: &str| {
        let path = directory.path().join(tx);
        let plan =
            ["run", url, "--tx", tx, "--terminals", "4", "--warmup", "0", "--duration", window, "--quiet"];
        let before = work();
        let mut running = Program::new(&[&plan[..], &["--json", text(&path)]].concat()).start();
        let begins = running.reaches("the first orders", || work() != before);
        (stalls.sql)(&lock);
        (stalls.commits)();
        let frozen = Instant::now();
        (stalls.signal)(libc::SIGSTOP);
        wait();
        (stalls.signal)(libc::SIGCONT);
        let (frozen, thawed) = (frozen.elapsed(), work());
        let ended = running.wait();
        if !begins || work() == thawed {
            // The machine was so busy that the run ended in the stalls or before.
            return None;
        }
        let ended = ended.code(0);
        let result = json(&path);
        // Bounds of time would depend on the machine.
        eprintln!("{tx}: frozen for {frozen:.1?}; outages {}; {}", result["outages"], ended.stderr);
        assert_checks_hold(&result, &["before", "after"]);
        assert_eq!(result["status"], "complete", "{result}");
        // A transaction that has lost its connection when the run ends gets no further attempt. A busy machine may stand
        // still just then.
        let failed = result["series"]["errors"].as_array().expect("errors of each second");
        let mut failed: Vec<u64> = failed.iter().map(|second| second.as_u64().expect("a count")).collect();
        let at_the_end = failed.pop().expect("the last second");
        assert!(failed.iter().all(|&failed| failed == 0), "{result}");
        assert_eq!(format!("{}s", failed.len() + 1), window, "{result}");
        assert!(at_the_end <= 4, "each terminal has one at most: {result}");
        assert_eq!(total(&result, "failed"), at_the_end, "{result}");
        let aborts = result["aborts"]["statement_timeout"].as_u64().expect("a count");
        assert!(aborts > 0, "{tx}: {}", result["aborts"]);
        let errors = result["errors"].to_string();
        assert!(errors.contains("Lydite closed the connection"), "{tx}: {errors}");
        assert_eq!(result["target"]["settings"]["statement_timeout of the client"], "200ms");
        Some(total(&result, "unknown"))
    };
    modes.iter().map(|tx| windows_from("6s", |window| run(tx, window))).collect()
}

#[test]
fn statements_of_postgresql_end_at_the_limit_and_no_commit_is_told_wrong() {
    let server = loaded::postgres(1, &postgres::FAST);
    let url = format!("{}?{LIMIT}", server.url("tpcc"));
    let configure = |setting: &str| {
        server.psql("postgres", &format!("ALTER SYSTEM {setting}"));
        server.psql("postgres", "SELECT pg_reload_conf()");
    };
    let unknown = unknown_in_each(
        ["statements", "batched"],
        &url,
        &Stalls {
            sql: &|sql| server.psql("tpcc", sql),
            sleep: "pg_sleep",
            // Commits wait for a standby that does not exist. A cancel ends the wait, and the commit stays.
            commits: &|| {
                configure("SET synchronous_standby_names = 'nobody'");
                wait();
                configure("RESET synchronous_standby_names");
            },
            signal: &|signal| server.signal(signal),
        },
    );
    assert!(unknown.iter().all(|&unknown| unknown > 0), "{unknown:?}");
}

#[test]
fn statements_of_mariadb_end_at_the_limit_and_no_commit_is_told_wrong() {
    let server = loaded::mariadb(1, &mariadb::FAST);
    let url = format!("{}?{LIMIT}", server.url("tpcc"));
    let unknown = unknown_in_each(
        // A procedure commits by itself.
        ["statements", "procedures"],
        &url,
        &Stalls {
            sql: &|sql| server.sql("tpcc", sql),
            sleep: "sleep",
            commits: &|| {
                let hold = format!("FLUSH TABLES WITH READ LOCK; SELECT sleep({STALL_S}); UNLOCK TABLES");
                server.sql("tpcc", &hold);
            },
            signal: &|signal| server.signal(signal),
        },
    );
    eprintln!("unknown: {unknown:?}");
}

#[test]
fn sessions_wait_with_patience_for_a_lock_that_keeps_their_statements_from_being_prepared() {
    let server = loaded::postgres(1, &postgres::FAST);
    let locked = "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted \
                  AND relation = 'stock'::regclass";
    // The limit of the client, then the server's own, which is shorter than many a plan takes.
    for limit in [LIMIT, "options=-c%20statement_timeout=100"] {
        thread::scope(|scope| {
            scope.spawn(|| server.psql("tpcc", "BEGIN; LOCK TABLE stock; SELECT pg_sleep(2); ROLLBACK"));
            while server.psql("tpcc", locked) == "0" {
                thread::sleep(Duration::from_millis(20));
            }
            let url = format!("{}?{limit}", server.url("tpcc"));
            let plan = [
                "run",
                &url,
                "--terminals",
                "2",
                "--warmup",
                "0",
                "--duration",
                "1s",
                "--quiet",
                "--no-check",
            ];
            lydite(&plan).code(0);
        });
    }
}

#[test]
fn a_limit_that_is_no_time_or_of_a_family_without_statements_is_rejected() {
    for (url, words) in [
        ("postgres://h/d?statement_timeout=soon", "must be a time from 1ms to 1h"),
        ("mariadb://h/d?statement_timeout=0", "must be a time from 1ms to 1h"),
        ("redis://h?statement_timeout=1s", "statement_timeout"),
        ("sqlite:file?statement_timeout=1s", "statement_timeout"),
    ] {
        let refused = lydite(&["run", url, "--quiet"]).code(2);
        assert!(refused.only_error().contains(words), "{url}: {}", refused.stderr);
    }
}
