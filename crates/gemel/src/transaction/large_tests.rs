//! Commits of many rows, which install them before they draw a timestamp.

use super::*;
use crate::coordinator::MANY_ROWS;
use crate::files::fail_point::once_here;
use crate::keyspace::Engine;
use crate::{Conflict, Database, Direction, Options};
use std::ops::{Bound, ControlFlow};

const ROWS: u64 = 2 * MANY_ROWS as u64;

/// A database with a keyspace in each engine, whose rows below [`ROWS`] have the value `old`, and a row `x` in memory.
fn shop(path: &std::path::Path) -> (Database, [Keyspace; 2]) {
    let db = Database::open(path, Options::default()).unwrap();
    let spaces = [("memory", Engine::Memory), ("disk", Engine::Disk)];
    let spaces = spaces.map(|(name, engine)| db.keyspace(name, engine).unwrap());
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    put_all(&mut transaction, &spaces, b"old");
    transaction.put(&spaces[0], b"x", b"0").unwrap();
    transaction.commit().unwrap().wait().unwrap();
    (db, spaces)
}

fn put_all(transaction: &mut Transaction, spaces: &[Keyspace], value: &[u8]) {
    for space in spaces {
        (0..ROWS).for_each(|row| transaction.put(space, &row.to_be_bytes(), value).unwrap());
    }
}

/// Returns the values of all rows of a keyspace, without `x`.
fn values(db: &Database, space: &Keyspace) -> Vec<Vec<u8>> {
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    let mut values = Vec::new();
    let upper = Bound::Excluded(&b"x"[..]);
    transaction
        .scan(space, Bound::Unbounded, upper, Direction::Forward, |_, value| {
            values.push(value.to_vec());
            ControlFlow::Continue(())
        })
        .unwrap();
    values
}

fn all(value: &[u8]) -> Vec<Vec<u8>> {
    vec![value.to_vec(); ROWS as usize]
}

#[test]
fn others_commit_and_read_the_old_rows_while_a_large_commit_installs() {
    let directory = tempfile::tempdir().unwrap();
    let (db, spaces) = shop(directory.path());
    let mut large = db.begin(Isolation::Snapshot).unwrap();
    put_all(&mut large, &spaces, b"new");
    large.delete(&spaces[0], &0_u64.to_be_bytes()).unwrap();
    large.put(&spaces[0], b"first", b"new").unwrap();
    let (inner, handles) = (db.clone(), spaces.clone());
    once_here("commit.hidden", move || {
        for space in &handles {
            assert_eq!(values(&inner, space), all(b"old"));
        }
        let mut small = inner.begin(Isolation::Snapshot).unwrap();
        small.put(&handles[0], b"x", b"1").unwrap();
        small.commit().unwrap().wait().unwrap();
        let mut reader = inner.begin(Isolation::Snapshot).unwrap();
        assert_eq!(reader.get(&handles[0], b"x").unwrap().as_deref(), Some(&b"1"[..]));
        assert_eq!(reader.get(&handles[0], b"first").unwrap(), None);
        let mut other = inner.begin(Isolation::Snapshot).unwrap();
        other.put(&handles[0], &1_u64.to_be_bytes(), b"other").unwrap();
        let refused = other.commit().map(drop);
        assert!(matches!(refused, Err(Error::Conflict { kind: Conflict::Locked, .. })), "{refused:?}");
    });
    large.commit().unwrap().wait().unwrap();
    assert_eq!((values(&db, &spaces[0]), values(&db, &spaces[1])), (all(b"new"), all(b"new")));
    // Nothing stays locked, and the collector finds what the commit replaced.
    let mut next = db.begin(Isolation::Snapshot).unwrap();
    put_all(&mut next, &spaces, b"next");
    next.commit().unwrap().wait().unwrap();
    drop(db);
    let db = Database::open(directory.path(), Options::default()).unwrap();
    assert_eq!(values(&db, &db.keyspace("memory", Engine::Memory).unwrap())[..ROWS as usize], all(b"next"));
    assert_eq!(values(&db, &db.keyspace("disk", Engine::Disk).unwrap()), all(b"next"));
}

#[test]
fn a_large_commit_that_fails_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (db, spaces) = shop(directory.path());
    let held = || {
        db.inner().core.collect_now();
        let memory = db.state().memory;
        (memory.bytes, memory.records)
    };
    let before = held();
    for value in [Some(&b"value"[..]), None] {
        let mut large = db.begin(Isolation::Serializable).unwrap();
        large.get(&spaces[0], b"x").unwrap();
        for row in 1..3 * ROWS {
            match value {
                Some(value) => large.put(&spaces[0], &row.to_be_bytes(), value).unwrap(),
                None => large.delete(&spaces[0], &row.to_be_bytes()).unwrap(),
            }
        }
        let (inner, handle) = (db.clone(), spaces[0].clone());
        once_here("commit.hidden", move || {
            let mut small = inner.begin(Isolation::Snapshot).unwrap();
            small.put(&handle, b"x", b"1").unwrap();
            small.commit().unwrap().wait().unwrap();
        });
        let outcome = large.commit().map(drop);
        assert!(matches!(outcome, Err(Error::Conflict { kind: Conflict::Read, .. })), "{outcome:?}");
        assert_eq!(values(&db, &spaces[0]), all(b"old"));
    }
    // The collector removes what the small commits replaced, and the epoch frees it once nobody reads it.
    let is_as_before = (0..100_000).any(|_| {
        std::thread::yield_now();
        held() == before
    });
    assert!(is_as_before, "{:?}, and before {before:?}", held());
    let mut next = db.begin(Isolation::Snapshot).unwrap();
    put_all(&mut next, &spaces, b"next");
    next.commit().unwrap().wait().unwrap();
}

#[test]
fn garbage_of_large_commits_is_collected_as_fast_as_it_is_made() {
    const COMMITS: u64 = 100;
    const ROWS: u64 = 200;
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(directory.path(), Options::default()).unwrap();
    for (name, engine) in [("memory", Engine::Memory), ("disk", Engine::Disk)] {
        let space = db.keyspace(name, engine).unwrap();
        // The second time each commit replaces the rows of one of the first.
        for commit in (0..COMMITS).chain(0..COMMITS) {
            let mut transaction = db.begin(Isolation::Snapshot).unwrap();
            for row in commit * ROWS..(commit + 1) * ROWS {
                transaction.put(&space, &row.to_be_bytes(), b"value").unwrap();
            }
            drop(transaction.commit().unwrap());
        }
    }
    let state = db.state();
    let left = COMMITS * ROWS - state.memory.versions_collected;
    assert!(left < 20 * ROWS, "{left} of {} replaced versions are left", COMMITS * ROWS);
    assert!(state.disk.recent_keys < 20 * ROWS, "{state:?}");
}
