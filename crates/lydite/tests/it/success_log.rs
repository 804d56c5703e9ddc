//! The success log of a run: it names what a database acknowledged and then lost, and finds nothing wrong with one that
//! keeps its promise.

use crate::loaded;
use crate::program::{
    Ended, Program, check_after, has_each, json, longer_windows, lydite, scratch, text, windows_from,
};
use lydite_testkit::postgres::Server;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Switches on that many kills instead of one.
const KILLS: &str = "LYDITE_TEST_KILLS";

/// The check of the success log in a result.
#[track_caller]
fn check(result: &Value) -> (bool, &str) {
    check_after(result, "success-log")
}

/// A count of the success log in a result.
#[track_caller]
fn count(result: &Value, name: &str) -> u64 {
    result["success_log"][name].as_u64().unwrap_or_else(|| panic!("{name}: {result}"))
}

/// The table of a run, in one line.
fn table(ended: &Ended) -> String {
    ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Lines of a log that begin with a word.
pub(crate) fn lines(log: &Path, word: &str) -> u64 {
    let text = fs::read_to_string(log).expect("a log");
    text.lines().filter(|line| line.split(' ').next() == Some(word)).count() as u64
}

/// The sum of D_NEXT_O_ID.
pub(crate) fn orders(server: &Server) -> u64 {
    server.psql("tpcc", "SELECT sum(d_next_o_id) FROM district").parse().expect("a sum")
}

/// Kills the server in a run once `is_ripe` is true, and starts it again. None if the run ended before, or found no
/// server at its end, as it may on a machine under load.
fn kill_within(
    window: &str,
    server: &Server,
    is_ripe: &mut dyn FnMut(&Server) -> bool,
) -> Option<(Ended, Value)> {
    let (place, url) = (scratch(), server.url("tpcc"));
    let (path, log) = (place.path().join("result.json"), place.path().join("success.log"));
    let plan = ["run", &url, "--duration", window, "--warmup", "0", "--terminals", "3", "--quiet"];
    let files = ["--json", text(&path), "--success-log", text(&log)];
    let mut running = Program::new(&[&plan[..], &files].concat()).start();
    if !running.reaches("its kill", || is_ripe(server)) {
        return None;
    }
    server.kill();
    server.restart();
    let ended = running.wait();
    if !matches!(ended.code, Some(0 | 1)) {
        return None;
    }
    let result = json(&path);
    assert_eq!(count(&result, "committed"), lines(&log, "new_order") + lines(&log, "payment"), "{result}");
    assert_eq!(result["success_log"]["path"], text(&log));
    Some((ended, result))
}

#[test]
fn a_server_that_does_not_wait_for_its_disk_loses_what_the_log_names_when_it_is_killed() {
    let server = loaded::postgres(1, &["synchronous_commit=off", "autovacuum=off"]);
    let (ended, result) = windows_from("6s", |window| {
        let before = orders(&server);
        let mut frozen_at = None;
        kill_within(window, &server, &mut |server| {
            let now = orders(server);
            if frozen_at.is_none() && now > before {
                freeze_writers(server);
                frozen_at = Some(orders(server));
            }
            // Their commits are in memory alone.
            frozen_at.is_some_and(|then| now > then + 20)
        })
    });
    let ended = ended.code(1);
    let (ok, detail) = check(&result);
    // The last ones may not be acknowledged yet.
    assert!(!ok && count(&result, "lost") >= 15, "{detail}");
    assert_eq!(count(&result, "resurrected"), 0, "{detail}");
    let words = format!("{} of {} acknowledged", count(&result, "lost"), count(&result, "committed"));
    assert!(detail.starts_with(&words) && detail.contains("order "), "{detail}");
    let examples = result["success_log"]["examples"].as_str().expect("examples");
    assert!(examples.starts_with("lost: order ") && examples.ends_with(" more"), "{examples}");
    assert!(table(&ended).contains("success log FAILS"), "{}", ended.stdout);
    let checks = result["checks"].as_array().expect("checks");
    let conditions = checks.iter().filter(|check| check["id"].as_str().is_some_and(|id| id.starts_with('3')));
    assert!(
        conditions.clone().count() == 24 && conditions.clone().all(|check| check["ok"] == true),
        "{checks:?}"
    );
}

/// Freezes the processes of a server that write its log in the background.
pub(crate) fn freeze_writers(server: &Server) {
    let writers = "SELECT pid FROM pg_stat_activity \
                   WHERE backend_type IN ('walwriter', 'background writer', 'checkpointer')";
    let pids = server.psql("postgres", writers);
    assert_eq!(pids.lines().count(), 3, "{pids}");
    for pid in pids.lines().map(|pid| pid.parse().expect("a number")) {
        // SAFETY: kill has no memory preconditions. The server has just named the process, which is its own.
        assert_eq!(unsafe { libc::kill(pid, libc::SIGSTOP) }, 0);
    }
}

#[test]
fn a_server_that_waits_for_its_disk_keeps_each_acknowledged_transaction_when_it_is_killed() {
    let kills: usize = std::env::var(KILLS).map_or(1, |kills| kills.parse().expect("a number of kills"));
    let server = loaded::postgres(1, &[]);
    for _ in 0..kills {
        let (ended, result) = windows_from("5s", |window| {
            let before = orders(&server);
            kill_within(window, &server, &mut |server| orders(server) > before + 20)
        });
        let (ok, detail) = check(&result);
        assert!(ok && count(&result, "committed") >= 20, "{detail}");
        assert_eq!((count(&result, "lost"), count(&result, "resurrected")), (0, 0), "{detail}");
        assert_eq!(count(&result, "unknown") > 0, detail.contains("of unknown outcome"), "{detail}");
        assert_eq!(result["success_log"]["examples"], "");
        assert!(table(&ended.code(0)).contains("success log holds"));
    }
}

#[test]
fn a_log_has_each_acknowledged_transaction_from_the_first_one_on_and_is_compared_without_conditions_too() {
    let place = scratch();
    let (path, log) = (place.path().join("result.json"), place.path().join("success.log"));
    let url = loaded::in_gemel(&place.path().join("shop"), 1);
    fs::write(&log, "the log of another run").expect("a file");
    longer_windows(|window| {
        let plan = ["run", &url, "--duration", window, "--warmup", "200ms", "--quiet", "--no-check"];
        let files = ["--json", text(&path), "--success-log", text(&log)];
        let ended = lydite(&[&plan[..], &files].concat()).code(0);
        let result = json(&path);
        let (ok, detail) = check(&result);
        assert!(ok && detail.contains("none that was rolled back"), "{detail}");
        assert_eq!(result["checks"].as_array().map(Vec::len), Some(1), "{}", result["checks"]);
        assert_eq!(count(&result, "committed"), lines(&log, "new_order") + lines(&log, "payment"));
        let measured = |kind: &str| result["transactions"][kind]["committed"].as_u64().expect("a count");
        assert!(lines(&log, "new_order") >= measured("new_order"), "{detail}");
        let warm_up_counts = lines(&log, "new_order") > measured("new_order");
        assert!(table(&ended).contains("consistency was not checked, success log holds"), "{}", ended.stdout);
        let rolled_back = result["transactions"]["new_order"]["rolled_back"].as_u64().expect("a count");
        (warm_up_counts && rolled_back > 0 && has_each(&result, &["new_order", "payment"])).then_some(())
    });
}

#[test]
fn a_log_that_can_not_be_written_ends_no_run_but_fails_its_check() {
    let place = scratch();
    let (url, log) = (loaded::on_postgres("unlogged", 1), place.path().join("success.log"));
    let ended = longer_windows(|window| {
        let plan = ["run", &url, "--duration", window, "--warmup", "0", "--quiet", "--no-check"];
        let program = Program::new(&[&plan[..], &["--success-log", text(&log)]].concat());
        let ended = program.file_size_at_most(1_000).run();
        // On a machine under load a window may end without a transaction, with code 3, and without a log.
        (!matches!(ended.code, Some(0 | 3))).then_some(ended)
    });
    let ended = ended.code(2);
    assert!(table(&ended).contains("success log FAILS") && ended.stdout.contains("NOPM"), "{ended:?}");
    let error = ended.only_error();
    assert!(error.contains(text(&log)) && error.contains("File too large"), "{error}");
}

#[test]
fn a_log_that_could_not_be_compared_is_rejected_before_the_run() {
    let place = scratch();
    let log = place.path().join("success.log");
    let rejected = |arguments: &[&str]| {
        let ended = lydite(&[&["run"], arguments, &["--success-log", text(&log)]].concat()).code(2);
        ended.only_error().to_owned()
    };
    let error = rejected(&["null:", "--quiet"]);
    assert!(error.contains("success_log: null: stores nothing"), "{error}");
    let error = rejected(&["gemel:", "--workload", "micro"]);
    assert!(error.contains("--success-log") && error.contains("is for --workload tpcc only"), "{error}");
    assert!(!log.exists());
}
