//! Checkpoints, and what is left of those that came to nothing.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use gemel::{Database, Engine, Isolation, Options};

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
    // Nothing has changed since: the same snapshot once more.
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
