//! Several threads restore rows in any order. Still, opening restores the newest version of each row.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use gemel::{Database, Direction, Engine, Isolation, Keyspace, LogMode, Options};
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

const KEYS: u64 = 2_000;
const COMMITS: u64 = 12_000;

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

fn rows(db: &Database, keyspace: &Keyspace) -> Rows {
    let mut rows = Rows::new();
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    transaction
        .scan(keyspace, Bound::Unbounded, Bound::Unbounded, Direction::Forward, |key, value| {
            rows.insert(key.to_vec(), value.to_vec());
            ControlFlow::Continue(())
        })
        .unwrap();
    rows
}

/// Commits inserts, updates and deletes of the same keys again and again. All commits write one of the keys.
fn churn(db: &Database, keyspaces: [&Keyspace; 2], seed: u64) {
    let mut state = seed;
    for commit in 0..COMMITS {
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        for keyspace in keyspaces {
            for _ in 0..2 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let key = (state >> 40) % KEYS;
                let value = [&commit.to_be_bytes()[..], &[7; 200]].concat();
                match state >> 33 & 7 {
                    0 => transaction.delete(keyspace, &key.to_be_bytes()).unwrap(),
                    _ => transaction.put(keyspace, &key.to_be_bytes(), &value).unwrap(),
                }
            }
            transaction.put(keyspace, b"hot", &commit.to_be_bytes()).unwrap();
        }
        let _ticket = transaction.commit().unwrap();
    }
    db.sync().unwrap();
}

#[test]
fn a_log_of_many_chunks_brings_back_the_newest_version_of_every_row() {
    for log in [LogMode::Shared, LogMode::PerEngine] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        let open = || Database::open(&path, Options { log, ..Options::default() }).unwrap();
        let keyspaces = |db: &Database| {
            let memory = db.keyspace("memory", Engine::Memory).unwrap();
            (memory, db.keyspace("disk", Engine::Disk).unwrap())
        };
        let db = open();
        let (memory, disk) = keyspaces(&db);
        churn(&db, [&memory, &disk], 1);
        let before = (rows(&db, &memory), rows(&db, &disk));
        let held = db.state().memory.records;
        db.close().unwrap();
        drop((memory, disk));
        for _ in 0..3 {
            let db = open();
            let state = db.state();
            assert!(state.recovered.log_bytes > 4 << 20, "{log:?}: {:?}", state.recovered);
            assert_eq!(state.recovered.checkpoint_rows, 0);
            let (memory, disk) = keyspaces(&db);
            assert_eq!((rows(&db, &memory), rows(&db, &disk)), before, "{log:?}");
            assert!(state.memory.records <= held, "deleted rows leave nothing: {:?} of {held}", state.memory);
            db.close().unwrap();
        }
    }
}

#[test]
fn a_checkpoint_of_many_blocks_and_the_log_behind_it_bring_back_every_row() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let open = || Database::open(&path, Options::default()).unwrap();
    let keyspaces = |db: &Database| {
        let first = db.keyspace("first", Engine::Memory).unwrap();
        (first, db.keyspace("second", Engine::Memory).unwrap())
    };
    let db = open();
    let (first, second) = keyspaces(&db);
    for chunk in 0..100_u64 {
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        for row in 0..200 {
            transaction.put(&first, &(chunk * 200 + row).to_be_bytes(), &[chunk as u8; 400]).unwrap();
        }
        let _ticket = transaction.commit().unwrap();
    }
    db.checkpoint().unwrap();
    churn(&db, [&first, &second], 2);
    let before = (rows(&db, &first), rows(&db, &second));
    db.close().unwrap();
    drop((first, second));
    let db = open();
    let recovered = db.state().recovered;
    assert!(recovered.checkpoint_bytes > 4 << 20 && recovered.log_bytes > 4 << 20, "{recovered:?}");
    assert_eq!(recovered.checkpoint_rows, 20_000);
    let (first, second) = keyspaces(&db);
    assert_eq!((rows(&db, &first), rows(&db, &second)), before);
}
