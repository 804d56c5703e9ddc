//! Ctrl-C and a lost server while a run checks its database, before and after its window.

use super::{Held, Victim, assert_partial, check_waits, conditions_rule, hold, start, victim};
use crate::program::{
    Program, Running, assert_checks_hold, assert_consistent, json, longer_windows, scratch, text, total,
    windows_from,
};
use lydite_testkit::postgres::Server;
use serde_json::Value;
use std::thread;
use std::time::Duration;

/// A ledger of this database waits for a lock.
fn ledger_waits(server: &Server, database: &str) -> bool {
    let waiting = format!(
        "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = '{database}' AND wait_event_type = 'Lock' \
         AND query LIKE 'SELECT next_order_ids%'"
    );
    server.psql("postgres", &waiting) == "t"
}

/// Runs New-Orders, which do not touch HISTORY, until the ledger waits for this table, and returns the run.
fn run_until_the_ledger_waits(victim: &mut Victim) -> Running {
    windows_from("3s", |window| {
        let mut running = victim.run(&["--terminals", "1", "--duration", window, "--mix", "100,0,0,0,0"])?;
        hold(victim.server(), &victim.database, "history");
        if running.reaches("the ledger", || ledger_waits(victim.server(), &victim.database)) {
            return Some(running);
        }
        drop(Held { server: victim.server(), database: &victim.database });
        None
    })
}

#[test]
fn ctrl_c_while_the_ledger_is_counted_ends_it_at_once_and_in_the_server_too() {
    let mut victim = victim("impatient_ledger");
    let running = run_until_the_ledger_waits(&mut victim);
    let held = Held { server: victim.server(), database: &victim.database };
    // The table is locked until after the end.
    running.signal(libc::SIGINT);
    let ended = running.wait().code(130);
    assert!(ended.only_error().contains("interrupted during the check after the run"), "{ended:?}");
    assert!(ended.stdout.contains("NOPM") && ended.stdout.contains("PARTIAL"), "the table: {ended:?}");
    assert_checks_hold(&assert_partial(&victim.result()), &["before"]);
    assert!(!ledger_waits(victim.server(), &victim.database), "the server has given it up too");
    drop(held);
    assert_consistent(&victim.url);
}

#[test]
fn a_server_lost_while_the_ledger_is_counted_is_told_once() {
    let mut victim = victim("lost_ledger");
    let running = run_until_the_ledger_waits(&mut victim);
    let held = Held { server: victim.server(), database: &victim.database };
    victim.server().kill();
    let ended = running.wait().code(3);
    assert!(ended.only_error().contains("count orders and payments"), "{ended:?}");
    let result = assert_partial(&victim.result());
    let after: Vec<&Value> = result["checks"]
        .as_array()
        .expect("checks")
        .iter()
        .filter(|check| check["when"] == "after")
        .collect();
    assert_eq!(after.iter().map(|check| &check["id"]).collect::<Vec<_>>(), ["ledger", "3.3.2"]);
    for check in after {
        let told = check["detail"].as_str().is_some_and(|words| words.contains("could not be checked"));
        assert!(check["ok"] == false && told, "{check}");
    }
    assert!(conditions_rule(&result)["met"].is_null(), "nobody knows");
    victim.server().restart();
    drop(held);
    assert_consistent(&victim.url);
}

#[test]
fn ctrl_c_during_the_check_before_a_run_ends_it_at_once() {
    let victim = victim("impatient_before");
    let held = Held::new(victim.server(), &victim.database, "history");
    let mut running = start(&victim.url, &victim.result(), &["--terminals", "1", "--duration", "1h"]);
    running.wait_until("the check", || check_waits(victim.server(), &victim.database));
    // The table is locked until after the end.
    running.signal(libc::SIGINT);
    let ended = running.wait().code(130);
    assert_eq!(ended.only_error(), "interrupted during the check before the run: nothing was measured");
    assert!(!victim.result().exists());
    assert!(!check_waits(victim.server(), &victim.database), "the server has given it up too");
    drop(held);
}

#[test]
fn ctrl_c_ends_a_check_at_once_and_in_the_server_too() {
    let victim = victim("impatient_check");
    let held = Held::new(victim.server(), &victim.database, "history");
    let mut running = Program::new(&["check", &victim.url]).start();
    running.wait_until("the check", || check_waits(victim.server(), &victim.database));
    // The table is locked until after the end.
    running.signal(libc::SIGINT);
    let ended = running.wait().code(130);
    assert!(ended.only_error().contains("of 20 conditions were evaluated"), "{ended:?}");
    assert!(!check_waits(victim.server(), &victim.database), "the server has given it up too");
    drop(held);
}

#[test]
fn a_condition_found_broken_before_ctrl_c_is_told_and_outweighs_it() {
    let victim = victim("broken_and_impatient");
    victim.server().psql(&victim.database, "UPDATE warehouse SET w_ytd = w_ytd + 1");
    let held = Held::new(victim.server(), &victim.database, "new_order");
    let mut running = start(&victim.url, &victim.result(), &["--terminals", "1", "--duration", "1h"]);
    // Each of the check's connections has come to a condition that reads NEW-ORDER; what can be known is known.
    let waiting = format!(
        "SELECT count(*) = 2 FROM pg_stat_activity WHERE datname = '{}' AND wait_event_type = 'Lock' \
         AND query LIKE 'SELECT %'",
        victim.database
    );
    running.wait_until("the checks", || victim.server().psql("postgres", &waiting) == "t");
    running.signal(libc::SIGINT);
    let ended = running.wait().code(1);
    ended.told(&[&["condition 3.3.2.1 does not hold before the run"], &["interrupted during the check"]]);
    drop(held);
}

#[test]
fn ctrl_c_during_the_check_after_a_run_ends_it_at_once_with_the_result_so_far() {
    let mut victim = victim("impatient_after");
    // Payment never touches the lines of orders.
    let running = windows_from("3s", |window| {
        let mut running = victim.run(&["--terminals", "1", "--duration", window, "--mix", "0,100,0,0,0"])?;
        hold(victim.server(), &victim.database, "order_line");
        if running.reaches("the check", || check_waits(victim.server(), &victim.database)) {
            return Some(running);
        }
        drop(Held { server: victim.server(), database: &victim.database });
        None
    });
    let held = Held { server: victim.server(), database: &victim.database };
    // The table is locked until after the end.
    running.signal(libc::SIGINT);
    let ended = running.wait().code(130);
    assert!(ended.only_error().contains("interrupted during the check after the run"), "{ended:?}");
    assert!(ended.stdout.contains("tps") && ended.stdout.contains("PARTIAL"), "the table: {ended:?}");
    let result = assert_partial(&victim.result());
    let checks = result["checks"].as_array().expect("checks");
    assert_eq!(checks[20]["id"], "ledger", "it was made before the conditions: {checks:?}");
    assert!((22..43).contains(&checks.len()) && checks.iter().all(|check| check["ok"] == true), "{checks:?}");
    assert!(conditions_rule(&result)["met"].is_null(), "not all are known");
    let shown = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let of_standard = |check: &&Value| check["id"].as_str().is_some_and(|id| id.starts_with("3.3.2."));
    let made = checks[22..].iter().filter(of_standard).count();
    let words = if made == 0 { "none".to_owned() } else { format!("{made} of 12") };
    assert!(shown.contains(&format!("{words} made after the run")), "{shown}");
    assert!(!check_waits(victim.server(), &victim.database), "the server has given it up too");
    drop(held);
    assert_consistent(&victim.url);
}

#[test]
fn ctrl_c_during_the_check_after_a_run_in_a_temporary_database_leaves_nothing_behind() {
    let directory = scratch();
    let temporary = scratch();
    let result = directory.path().join("result.json");
    longer_windows(|window| {
        let run = ["run", "sqlite:", "-w", "8", "--size", "small", "--quiet", "--json", text(&result)];
        let arguments = [&run[..], &["--warmup", "0", "-d", window]].concat();
        let mut running = Program::new(&arguments).env("TMPDIR", temporary.path()).start();
        // What was measured is written before the check begins, which takes long with so many warehouses.
        running.wait_until("the measurement", || result.exists());
        running.signal(libc::SIGINT);
        let ended = running.wait();
        assert_eq!(std::fs::read_dir(temporary.path()).expect("a directory").count(), 0);
        let found = json(&result);
        std::fs::remove_file(&result).expect("the result");
        // This process may have stood still until the check was over, too.
        if ended.code == Some(0) || total(&found, "committed") == 0 {
            return None;
        }
        ended.code(130);
        assert_eq!(found["status"], "partial");
        let checks = found["checks"].as_array().expect("checks").len();
        assert!((20..41).contains(&checks), "{checks}");
        Some(())
    });
}

#[test]
fn a_check_tells_how_long_it_took_and_not_the_sum_of_what_was_done_side_by_side() {
    let victim = victim("slow_check");
    let held = Held::new(victim.server(), &victim.database, "order_line");
    // Both of the check's connections have to wait.
    let mut running = Program::new(&["check", &victim.url]).start();
    running.wait_until("the check", || check_waits(victim.server(), &victim.database));
    thread::sleep(Duration::from_secs(2));
    drop(held);
    let ended = running.wait().code(0);
    let last = ended.stdout.lines().last().expect("a line");
    let seconds: f64 = last
        .split_once("conditions hold (")
        .and_then(|(_, time)| time.strip_suffix(" s)")?.parse().ok())
        .expect(last);
    assert!(2.0 <= seconds && seconds <= ended.took.as_secs_f64() + 0.1, "{ended:?}");
}
