//! A run on Gemel that is killed again and again at any moment: after each, the twelve conditions hold, the files are
//! whole, and what the run had done before is there.

use crate::program::{Program, assert_consistent, lydite, scratch, text};
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
    lydite(&["load", &url, "--warehouses", "1", "--size", "small", "--quiet"]).code(0);
    let mut done = orders(&database);
    for kill in 0..KILLS {
        let mut running = Program::new(&["run", &url, "--duration", "1h", "--quiet"]).start();
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

#[test]
fn the_next_run_deletes_the_temporary_directory_of_one_that_was_killed_and_no_other() {
    let temporary = scratch();
    let entries = || std::fs::read_dir(temporary.path()).expect("a directory").flatten();
    let databases = || entries().filter(|entry| entry.path().join("gemel/gemel.manifest").exists()).count();
    let micro = ["--workload", "micro", "--set", "micro.records=50", "--set", "micro.tables=1"];
    let run = |time| {
        let run = [&["run", "gemel:", "--warmup", "0", "-d", time][..], &micro].concat();
        Program::new(&run).env("TMPDIR", temporary.path())
    };
    let mut killed = run("1h").start();
    killed.wait_until("its database", || databases() == 1);
    let mut other = run("1h").start();
    other.wait_until("its database", || databases() == 2);
    killed.signal(libc::SIGKILL);
    assert_eq!(killed.wait().code, None);
    run("200ms").run().code(0);
    assert_eq!(entries().count(), 1, "that of the run that goes on");
    other.signal(libc::SIGKILL);
    other.wait();
    run("200ms").run().code(0);
    assert_eq!(entries().count(), 0);
}
