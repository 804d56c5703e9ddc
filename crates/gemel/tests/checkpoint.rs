//! Checkpoints, and the leftovers of failed ones.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod wait;

use gemel::{CheckpointState, Database, Engine, Isolation, Options};
use wait::wait_until;

#[test]
fn a_checkpoint_replaces_the_one_before_and_strays_are_removed_when_the_database_is_opened() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let checkpoints = || {
        let names =
            std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| name.starts_with("checkpoint-")).collect();
        names.sort();
        names
    };
    let db = Database::open(&path, Options::default()).unwrap();
    let rows = db.keyspace("rows", Engine::Memory).unwrap();
    for value in [b"1", b"2"] {
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        transaction.put(&rows, b"key", value).unwrap();
        transaction.commit().unwrap().wait().unwrap();
        db.checkpoint().unwrap();
    }
    // Nothing has changed since, so this is the same snapshot again.
    db.checkpoint().unwrap();
    let one = checkpoints();
    assert_eq!(one.len(), 1, "{one:?}");
    db.close().unwrap();
    drop(rows);
    for stray in ["checkpoint-00000000000000ff.gmc", "checkpoint-00000000000000ff.gmc.new"] {
        std::fs::write(path.join(stray), b"cut short by a crash").unwrap();
    }
    let db = Database::open(&path, Options::default()).unwrap();
    assert_eq!(checkpoints(), one);
    let rows = db.keyspace("rows", Engine::Memory).unwrap();
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    assert_eq!(transaction.get(&rows, b"key").unwrap().unwrap(), b"2");
    assert_eq!(db.state().recovered.checkpoint_rows, 1);
}

/// Otherwise the log of a database that is always closed before a checkpoint is due would grow forever.
#[test]
fn log_from_before_the_database_was_opened_counts_towards_the_next_checkpoint() {
    let directory = tempfile::tempdir().unwrap();
    let open = || {
        let options = Options { checkpoint_log_bytes: 1 << 20, ..Options::default() };
        Database::open(directory.path().join("db"), options).unwrap()
    };
    for _ in 0..2 {
        let db = open();
        let rows = db.keyspace("rows", Engine::Memory).unwrap();
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        transaction.put(&rows, b"key", &[7; 700_000]).unwrap();
        transaction.commit().unwrap().wait().unwrap();
        db.close().unwrap();
    }
    let db = open();
    let problem = |state: &CheckpointState| format!("1.4 MB of log and no checkpoint: {state:?}");
    wait_until(|| db.state().checkpoints, |state| state.done > 0, problem);
}

/// Names of the files in a database's directory that end with `suffix`.
fn names(path: &std::path::Path, suffix: &str) -> Vec<String> {
    let names =
        std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(suffix)).collect()
}

#[test]
fn log_files_before_a_checkpoint_are_overwritten_and_gone_when_the_database_is_closed_or_was_killed() {
    const SEGMENT: u64 = 1 << 20;
    let directory = tempfile::tempdir().unwrap();
    let (path, copy) = (directory.path().join("db"), directory.path().join("copy"));
    let options =
        Options { checkpoint_log_bytes: 3 * SEGMENT, log_segment_bytes: SEGMENT, ..Options::default() };
    let db = Database::open(&path, options.clone()).unwrap();
    let rows = db.keyspace("rows", Engine::Memory).unwrap();
    let write = |byte: u8, segments: u64| {
        for _ in 0..segments * 8 {
            let mut transaction = db.begin(Isolation::Snapshot).unwrap();
            transaction.put(&rows, b"key", &vec![byte; SEGMENT as usize / 8]).unwrap();
            transaction.commit().unwrap().wait().unwrap();
        }
    };
    write(1, 2);
    db.checkpoint().unwrap();
    let spares = db.state().log_spare_bytes / SEGMENT;
    assert!(spares >= 2 && names(&path, ".spare").len() as u64 == spares, "{spares}");
    let files = names(&path, "").len();
    write(2, 1);
    let left = db.state().log_spare_bytes / SEGMENT;
    assert!(left < spares && names(&path, "").len() == files, "{left} of {spares} spares");
    // What a killed process leaves.
    std::fs::create_dir(&copy).unwrap();
    for name in names(&path, "").iter().filter(|name| *name != "disk") {
        std::fs::copy(path.join(name), copy.join(name)).unwrap();
    }
    drop(rows);
    db.close().unwrap();
    assert!(names(&path, ".spare").is_empty() && !names(&copy, ".spare").is_empty());
    for path in [&path, &copy] {
        let db = Database::open(path, options.clone()).unwrap();
        let rows = db.keyspace("rows", Engine::Memory).unwrap();
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        assert_eq!(transaction.get(&rows, b"key").unwrap().unwrap(), vec![2; SEGMENT as usize / 8]);
        assert!(names(path, ".spare").is_empty() && db.state().log_spare_bytes == 0);
    }
}
