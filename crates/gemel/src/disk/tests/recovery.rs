//! Tests of closing and reopening.

use super::*;

#[test]
fn flushed_rows_survive_reopening_and_restoring_is_idempotent() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = Vec::new();
    let engine = open(directory.path());
    for step in 0..50 {
        let (name, value) = (format!("{:02}", step % 20), format!("{step}"));
        log.push((name.clone(), value.clone(), put(&engine, &name, &value)));
        if step == 29 {
            engine.flush_all().unwrap();
        }
    }
    let persisted = engine.persisted(KS).unwrap();
    assert_eq!(persisted, log[29].2);
    let last = engine.clock().horizon();
    drop(engine);

    for _ in 0..2 {
        let engine = open(directory.path());
        assert_eq!(engine.persisted(KS).unwrap(), persisted);
        assert_eq!(engine.clock().horizon(), persisted, "the clock continues after the commits in files");
        let in_memory = |engine: &DiskEngine| engine.state().memtable_bytes;
        assert_eq!(in_memory(&engine), 0);
        for (name, value, at) in &log {
            engine.restore(KS, &key(name), Some(value.as_bytes()), *at).unwrap();
            assert_eq!(in_memory(&engine) > 0, *at > persisted);
        }
        for (name, value, at) in &log[..] {
            engine.restore(KS, &key(name), Some(value.as_bytes()), *at).unwrap();
        }
        assert_eq!(engine.clock().horizon(), last);
        for (name, value, _) in &log[30..] {
            assert_eq!(get(&engine, name, last).as_ref(), Some(value));
        }
        assert_eq!(scan(&engine, &all(), Direction::Forward, last, 100).len(), 20);
        // The end is not clean, so the second round finds the same.
    }

    let engine = open(directory.path());
    for (name, value, at) in &log {
        engine.restore(KS, &key(name), Some(value.as_bytes()), *at).unwrap();
    }
    engine.flush_all().unwrap();
    engine.close();
    drop(engine);
    let engine = open(directory.path());
    assert_eq!(engine.persisted(KS).unwrap(), last);
    for (name, value, _) in &log[30..] {
        assert_eq!(get(&engine, name, last).as_ref(), Some(value));
    }
    assert_eq!(put(&engine, "next", "v"), Timestamp(last.0 + 1));
}

#[test]
fn log_records_may_come_in_another_order_than_their_timestamps() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { write_buffer_bytes: 1, ..Options::default() };
    let engine = open_with(directory.path(), &options, no_log());
    for at in [2, 1, 4, 3] {
        engine.restore(KS, &key(format!("{at}")), Some(b"v"), Timestamp(at)).unwrap();
    }
    assert_eq!(engine.persisted(KS).unwrap(), Timestamp::ZERO, "nothing is flushed half way");
    // Recovery restored more than the buffers hold. That must not stall the first commit.
    put(&engine, "5", "v");
    assert_eq!(scan(&engine, &all(), Direction::Forward, Timestamp(5), 10).len(), 5);
}

#[test]
fn a_damaged_tree_is_reported_with_its_path() {
    let directory = tempfile::tempdir().unwrap();
    let engine = open(directory.path());
    put(&engine, "k", "v");
    engine.flush_all().unwrap();
    drop(engine);
    let tables = directory.path().join("ks-1").join("tables");
    for table in std::fs::read_dir(tables).unwrap() {
        std::fs::remove_file(table.unwrap().path()).unwrap();
    }
    let engine = DiskEngine::open(directory.path(), 1, &Options::default(), no_log()).unwrap();
    let message = engine.open_keyspace(KS).unwrap_err().to_string();
    assert!(message.contains("ks-1") && message.contains("restore"), "{message}");
}
