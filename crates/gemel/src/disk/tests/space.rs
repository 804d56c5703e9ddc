//! A disk without space for the trees' files.

use super::*;
use crate::wait::wait_until;

/// Commits a row, if the engine admits it.
fn try_put(engine: &DiskEngine, row: u32) -> Result<(), Error> {
    let mut writes = [write(row.to_be_bytes(), Some(&"x".repeat(1000)), engine.clock().horizon())];
    engine.enter(true)?;
    engine.lock(Owner::from(1), &mut writes).unwrap();
    let at = engine.clock().draw();
    engine.install(&mut writes, at);
    engine.leave();
    engine.clock().publish(at);
    Ok(())
}

fn until(condition: impl Fn() -> bool) {
    wait_until(condition, |so| *so, |_| "it never comes".into());
}

#[test]
fn a_flush_waits_for_space_and_commits_are_rejected_once_the_memtables_are_full() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { write_buffer_bytes: 1 << 16, ..Options::default() };
    let engine = open_with(directory.path(), &options, no_log());
    try_put(&engine, 0).unwrap();
    engine.flush_all().unwrap();
    engine.declare_free(1 << 20);
    let mut rows = 1;
    let error = loop {
        match try_put(&engine, rows) {
            Ok(()) => rows += 1,
            Err(error) => break error,
        }
        assert!(rows < 10_000, "the memtables are never full");
    };
    assert!(matches!(&error, Error::DiskFull(why) if why.contains("1048576 are free")), "{error}");
    assert!(rows > 100, "{rows} rows are few");
    for _ in 0..5 {
        assert!(matches!(engine.flush_all(), Err(Error::DiskFull(_))));
        assert!(matches!(try_put(&engine, rows), Err(Error::DiskFull(_))));
    }
    let state = engine.state();
    assert_eq!((state.flushes, state.sealed_bytes), (1, 0), "nothing is sealed while there is no space");
    assert!(engine.full().is_some());
    let at = engine.clock().horizon();
    assert_eq!(scan(&engine, &all(), Direction::Forward, at, usize::MAX).len(), rows as usize);
    engine.declare_free(u64::MAX);
    // The background threads notice it by themselves.
    until(|| try_put(&engine, rows).is_ok());
    until(|| engine.full().is_none());
    engine.flush_all().unwrap();
    drop(engine);
    let engine = open(directory.path());
    let at = engine.clock().horizon();
    assert_eq!(scan(&engine, &all(), Direction::Forward, at, usize::MAX).len(), rows as usize + 1);
}

#[test]
fn a_compaction_waits_for_space() {
    let (_directory, engine) = engine();
    let keyspace = engine.shared.keyspaces.find(KS).unwrap();
    engine.declare_free(5 << 20);
    for round in 0..6 {
        put(&engine, "k", &round.to_string());
        put(&engine, &format!("row {round}"), &"x".repeat(1 << 20));
        engine.declare_free(u64::MAX);
        engine.shared.flush_or_fail().unwrap();
        engine.declare_free(5 << 20);
    }
    let before = engine.state();
    assert!(matches!(engine.shared.compact_once(keyspace), Err(Error::DiskFull(_))));
    assert_eq!(engine.state().compactions, before.compactions);
    engine.declare_free(u64::MAX);
    engine.collect(engine.clock().horizon());
    compact(&engine);
    assert!(engine.state().compactions > before.compactions);
    assert_eq!(get(&engine, "k", engine.clock().horizon()).as_deref(), Some("5"));
}
