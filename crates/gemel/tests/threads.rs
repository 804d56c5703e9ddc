//! The threads of a database are those that the README lists, with the names that the system shows.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod wait;

use gemel::{Database, LogMode, Options};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use wait::wait_until;

const README: &str = include_str!("../README.md");

/// Returns the names of this process's threads that are Gemel's.
fn running() -> BTreeSet<String> {
    let threads = fs::read_dir("/proc/self/task").unwrap();
    let names = threads.filter_map(|thread| fs::read_to_string(thread.unwrap().path().join("comm")).ok());
    names.map(|name| name.trim_end().to_owned()).filter(|name| name.starts_with("gemel-")).collect()
}

/// Returns the names in the README's table, each with the time at which its thread runs.
fn listed() -> Vec<(String, &'static str)> {
    let rows = README.lines().filter(|line| line.starts_with("| `gemel-"));
    let cells = rows.filter_map(|row| Some((row.split('|').nth(1)?, row.split('|').nth(2)?.trim())));
    let names = |(names, when): (&'static str, &'static str)| {
        names.split('`').skip(1).step_by(2).map(move |name| (name.to_owned(), when)).collect::<Vec<_>>()
    };
    cells.flat_map(names).collect()
}

/// Waits until this process has so many of Gemel's threads: a new one sets its name itself.
fn wait_for(count: usize) -> BTreeSet<String> {
    let problem = |names: &BTreeSet<String>| format!("{count} threads are expected: {names:?}");
    wait_until(running, |names| names.len() == count, problem)
}

/// One test: another one beside it would have threads of its own.
#[test]
fn the_readme_lists_each_thread() {
    let while_open: BTreeSet<String> = listed()
        .into_iter()
        .filter(|(_, when)| *when == "the database is open")
        .map(|(name, _)| name)
        .collect();
    let mut seen = BTreeSet::new();
    for log in [LogMode::Shared, LogMode::PerEngine] {
        let directory = tempfile::tempdir().unwrap();
        let db = Database::open(directory.path().join("db"), Options { log, ..Options::default() }).unwrap();
        seen.extend(wait_for(if log == LogMode::Shared { 5 } else { 6 }));
        db.close().unwrap();
        wait_for(0);
    }
    assert_eq!(seen, while_open);
    // The others run for a moment only.
    let listed: Vec<String> = listed().into_iter().map(|(name, _)| name).collect();
    for file in ["src/restore.rs", "src/database.rs", "src/disk/background.rs", "src/transaction/ddl.rs"] {
        let source = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
        for name in source.split("\"gemel-").skip(1).filter_map(|rest| rest.split('"').next()) {
            let name: String = format!("gemel-{name}").chars().take(15).collect();
            assert!(listed.contains(&name), "{file}: {name}");
        }
    }
}
