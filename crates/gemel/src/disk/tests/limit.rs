//! Flushes and merges under a limit of background writing so low that they would never end.

use super::*;
use crate::limit::Work;
use crate::wait::wait_until;
use std::sync::mpsc;
use std::time::Duration;

fn slow(path: &Path) -> DiskEngine {
    let options =
        Options { write_buffer_bytes: 1 << 16, background_bytes_per_second: Some(1), ..Options::default() };
    open_with(path, &options, no_log())
}

/// Runs work on a thread of its own, and fails if it does not end.
fn ends<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let (done, doing) = mpsc::channel();
        scope.spawn(move || {
            // Nobody waits any more if the time is over.
            let _ = done.send(work());
        });
        doing.recv_timeout(Duration::from_secs(120)).unwrap_or_else(|_| {
            // A scope would wait for its thread.
            eprintln!("it does not end");
            std::process::abort()
        })
    })
}

fn until(condition: impl Fn() -> bool) {
    wait_until(condition, |so| *so, |_| "it never comes".into());
}

impl DiskEngine {
    fn is_flushing(&self) -> bool {
        self.shared.state().sealed_bytes > 0
    }
}

/// Returns an engine in the pause of a flush.
fn flushing(path: &Path) -> DiskEngine {
    let engine = slow(path);
    for row in 0..80 {
        put(&engine, &format!("row {row}"), &"x".repeat(1000));
    }
    until(|| engine.is_flushing());
    engine
}

#[test]
fn a_limit_does_not_stop_commits() {
    let directory = tempfile::tempdir().unwrap();
    let engine = slow(directory.path());
    let filler = "x".repeat(1000);
    // Twenty write buffers. The watermark stays, so the merges keep all versions.
    ends(|| {
        for row in 0..1300_u32 {
            commit(&engine, &[(row.to_be_bytes(), Some(&*filler))]);
        }
    });
    let state = engine.state();
    assert!(state.flushes > 5, "{state:?}");
    assert!(engine.limit().state().unlimited_bytes > 1 << 20, "{:?}", engine.limit().state());
    let at = engine.clock().horizon();
    assert_eq!(scan(&engine, &all(), Direction::Forward, at, usize::MAX).len(), 1300);
    ends(|| drop(engine));
}

#[test]
fn a_flush_within_the_limit_pauses_and_commits_and_reads_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let engine = flushing(directory.path());
    // A buffer is being flushed, and the next one is not full.
    for _ in 0..20 {
        put(&engine, "row 0", "y");
        assert_eq!(get(&engine, "row 1", engine.clock().horizon()), Some("x".repeat(1000)));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(engine.is_flushing() && engine.state().flushes == 0, "it did not pause");
    assert_eq!(engine.state().stalls, 0);
    // Whoever waits for it does not wait for long.
    ends(|| engine.while_files_stay(|_| Ok(())).unwrap());
    until(|| engine.state().flushes == 1);
    let written = engine.limit().state();
    assert!((50_000..100_000).contains(&written.flush_bytes), "{written:?}");
    assert!(written.paused > Duration::ZERO);
    ends(|| drop(engine));
}

#[test]
fn merges_count_the_bytes_of_their_rows_and_go_on_once_there_are_many_files() {
    let directory = tempfile::tempdir().unwrap();
    let engine = slow(directory.path());
    let flush = || {
        let _unlimited = engine.limit().give_way();
        engine.shared.flush_or_fail().unwrap();
    };
    let merged = || engine.limit().state().merge_bytes;
    ends(|| {
        for round in 0..30 {
            for row in 0..10 {
                put(&engine, &format!("row {row}"), &"x".repeat(1000));
            }
            put(&engine, &format!("round {round}"), "y");
            engine.collect(engine.clock().horizon());
            flush();
        }
    });
    until(|| engine.state().compactions > 0 && merged() >= 10_000);
    // No more unsorted files than it takes for the limit to give way.
    until(|| !engine.limit().is_urgent(Work::Merge));
    let at = engine.clock().horizon();
    assert_eq!(scan(&engine, &all(), Direction::Forward, at, usize::MAX).len(), 40);
    ends(|| drop(engine));
}

#[test]
fn closing_ends_a_pause() {
    let directory = tempfile::tempdir().unwrap();
    let engine = flushing(directory.path());
    ends(|| drop(engine));
    let engine = open(directory.path());
    let at = engine.clock().horizon();
    assert!(scan(&engine, &all(), Direction::Forward, at, usize::MAX).len() >= 50);
}
