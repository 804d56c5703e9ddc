//! A run on Gemel that is killed again and again at any moment: after each, the twelve conditions hold, the files are
//! whole, and what the run had done before is there.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

mod program;

use program::{Program, assert_consistent, lydite, scratch, text};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

const KILLS: u64 = 4;

/// Names of the checkpoints in a database's directory.
fn checkpoints(database: &Path) -> BTreeSet<String> {
    let names =
        std::fs::read_dir(database).expect("the database").map(|entry| entry.expect("a name").file_name());
    names.filter_map(|name| name.into_string().ok()).filter(|name| name.ends_with(".gmc")).collect()
}

/// Rows of ORDERS, once everything in the files was read and found good.
#[track_caller]
fn orders(database: &Path) -> u64 {
    let report = gemel::check(database).expect("a database that can be opened");
    assert!(report.is_good(), "{report}");
    report.parts.iter().find(|part| part.name == "orders").expect("ORDERS").rows
}

/// Loads one warehouse with these options, kills runs on it and looks what is left.
fn kill_and_look(options: &str) {
    let directory = scratch();
    let database = directory.path().join("shop");
    // Small, so that checkpoints, flushes and compactions are always on their way.
    let url = format!("gemel:{}?checkpoint=1MB&write_buffer=1MB&{options}", text(&database));
    lydite(&["load", &url, "--warehouses", "1", "--quiet"]).code(0);
    let mut done = orders(&database);
    for kill in 0..KILLS {
        let mut running = Program::new(&["run", &url, "--duration", "60s", "--quiet"]).start();
        // The first may be of the log that the run before it left; by the third some hundred transactions were made.
        let mut seen = checkpoints(&database);
        let before = seen.len();
        running.wait_until("its third checkpoint", || {
            seen.extend(checkpoints(&database));
            seen.len() >= before + 3
        });
        // Somewhere between two of them, another place each time.
        std::thread::sleep(Duration::from_millis(kill * 97 % 300));
        running.signal(libc::SIGKILL);
        assert_eq!(running.wait().code, None, "it was killed");
        let now = orders(&database);
        assert!(now > done, "{now} orders after kill {kill}, {done} before");
        done = now;
        assert_consistent(&url);
    }
}

#[test]
fn all_conditions_hold_after_runs_over_both_engines_were_killed() {
    kill_and_look("placement=optimize-new-order");
}

#[test]
fn all_conditions_hold_after_runs_with_a_log_for_each_engine_were_killed() {
    kill_and_look("placement=archive-only&log=per-engine&commit_stamps=independent");
}
