//! A failover: the primary of a cluster is killed in a run, and the script of the experiments promotes a replica.

use crate::faults::Lab;
use crate::program::{Ended, check_after, json, text, windows_from};
use lydite_testkit::postgres::query;
use serde_json::Value;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

/// A new cluster with a small warehouse.
fn cluster(options: &[&str]) -> Lab {
    Lab::try_start_of("pg-replicas", options).unwrap_or_else(|ended| panic!("{ended:?}"))
}

/// Runs a command of the script.
pub(crate) fn script(lab: &Lab, command: &str) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/failover/pg-replicas.sh");
    let mut shell = Command::new(script);
    shell.args([command, text(&lab.directory())]);
    // The servers that it starts would keep pipes open.
    let ended = shell.stdin(Stdio::null()).stdout(Stdio::null()).status().expect("a shell");
    assert!(ended.success(), "{command}: {ended}");
}

fn orders(lab: &Lab) -> u64 {
    query(&lab.url, "SELECT sum(d_next_o_id) FROM district").parse().expect("a sum")
}

fn signal(pid: i32, signal: i32) {
    // SAFETY: kill has no memory preconditions. The process is the lab's own.
    unsafe { libc::kill(pid, signal) };
}

/// Kills all processes of the primary at one moment, and waits until it has ended.
fn kill_primary(lab: &Lab) {
    let primary = lab.postmaster().expect("a primary") as i32;
    // It starts no further processes.
    signal(primary, libc::SIGSTOP);
    let children = fs::read_to_string(format!("/proc/{primary}/task/{primary}/children")).expect("children");
    let children: Vec<i32> = children.split(' ').filter_map(|pid| pid.parse().ok()).collect();
    children.iter().for_each(|pid| signal(*pid, libc::SIGSTOP));
    children.iter().chain([&primary]).for_each(|pid| signal(*pid, libc::SIGKILL));
    // The script would find it running. A process that has ended has no program.
    while fs::read_link(format!("/proc/{primary}/exe")).is_ok() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A run on a new cluster whose primary is killed once `is_ripe` is true, and replaced. None if the run ended before the
/// failover, as it may on a machine under load.
fn run(
    window: &str,
    options: &[&str],
    is_ripe: impl FnOnce(&Lab) -> Box<dyn FnMut() -> bool + '_>,
) -> Option<(Ended, Value)> {
    let lab = cluster(options);
    let (file, log) = (lab.place.file("result.json"), lab.place.file("success.log"));
    let mut running = lab.run(window, &[], &["--json", text(&file), "--success-log", text(&log)]);
    if !running.reaches("its failover", is_ripe(&lab)) {
        return None;
    }
    kill_primary(&lab);
    script(&lab, "promote");
    let ended = running.wait();
    matches!(ended.code, Some(0 | 1)).then(|| (ended, json(&file)))
}

fn count(result: &Value, name: &str) -> u64 {
    result["success_log"][name].as_u64().unwrap_or_else(|| panic!("{name}: {result}"))
}

#[test]
fn a_replica_that_lags_and_is_promoted_loses_what_the_success_log_names() {
    let (ended, result) = windows_from("8s", |window| {
        run(window, &[], |lab| {
            let before = orders(lab);
            let mut lags_since = None;
            Box::new(move || {
                let now = orders(lab);
                if lags_since.is_none() && now > before {
                    script(lab, "lag");
                    lags_since = Some(orders(lab));
                }
                lags_since.is_some_and(|then| now > then + 20)
            })
        })
    });
    ended.code(1);
    let (ok, detail) = check_after(&result, "success-log");
    // The last ones may not be acknowledged yet.
    assert!(!ok && count(&result, "lost") >= 15, "{detail}");
    assert_eq!(count(&result, "resurrected"), 0, "{detail}");
    let checks = result["checks"].as_array().expect("checks");
    let conditions = checks.iter().filter(|check| check["id"].as_str().is_some_and(|id| id.starts_with('3')));
    assert!(
        conditions.clone().count() == 24 && conditions.clone().all(|check| check["ok"] == true),
        "{checks:?}"
    );
}

#[test]
fn a_replica_that_commits_wait_for_has_each_acknowledged_transaction_when_it_is_promoted() {
    let (ended, result) = windows_from("8s", |window| {
        run(window, &["--sync"], |lab| {
            let waiting = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'quorum'";
            assert_eq!(query(&lab.url, waiting), "2");
            let before = orders(lab);
            Box::new(move || orders(lab) > before + 20)
        })
    });
    let (ok, detail) = check_after(&result, "success-log");
    assert!(ok && count(&result, "committed") >= 20, "{detail}");
    assert_eq!((count(&result, "lost"), count(&result, "resurrected")), (0, 0), "{detail}");
    ended.code(0);
}
