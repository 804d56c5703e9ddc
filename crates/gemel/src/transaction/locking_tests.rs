//! Locking reads beside commits that have the key locked in its engine at that moment.

use super::Transaction;
use crate::files::fail_point::once_here;
use crate::wait::wait_until;
use crate::{Conflict, Database, Engine, Error, Isolation, Keyspace, Options, Wait};
use std::sync::mpsc::{Receiver, Sender, channel};

fn database(path: &std::path::Path) -> (Database, [Keyspace; 2]) {
    let db = Database::open(path, Options::default()).unwrap();
    let spaces = [db.keyspace("hot", Engine::Memory).unwrap(), db.keyspace("cold", Engine::Disk).unwrap()];
    (db, spaces)
}

fn written(db: &Database, space: &Keyspace, key: &[u8]) -> Transaction {
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    transaction.put(space, key, b"theirs").unwrap();
    transaction
}

/// Lets this thread's next pass of a fail point wait. Returns what it waits for, after it has told that it is there.
fn pause_here(name: &'static str, there: Sender<()>, go_on: Receiver<()>) {
    once_here(name, move || {
        there.send(()).unwrap();
        go_on.recv().unwrap();
    });
}

#[test]
fn a_locking_read_waits_for_a_commit_that_has_not_seen_the_lock() {
    let directory = tempfile::tempdir().unwrap();
    let (db, spaces) = database(directory.path());
    for space in &spaces {
        for isolation in [Isolation::ReadCommitted, Isolation::Snapshot, Isolation::Serializable] {
            let (transaction, (there, is_there), (go_on, waits)) =
                (written(&db, space, b"k"), channel(), channel());
            std::thread::scope(|scope| {
                let commit = scope.spawn(move || {
                    pause_here("commit.after_append", there, waits);
                    transaction.commit().map(drop)
                });
                is_there.recv().unwrap();
                let mut late = db.begin(isolation).unwrap();
                assert!(!late.try_lock(space, b"k").unwrap());
                let reader = scope.spawn(|| {
                    let mut reader = db.begin(isolation).unwrap();
                    let value = reader.get_locked(space, b"k", Wait::Forever).unwrap();
                    reader.put(space, b"k", b"mine").unwrap();
                    reader.commit().map(drop).unwrap();
                    value
                });
                wait_until(|| db.state().locks, |locks| locks.waiting == 1, |locks| format!("{locks:?}"));
                go_on.send(()).unwrap();
                commit.join().unwrap().unwrap();
                assert_eq!(reader.join().unwrap().unwrap(), b"theirs");
            });
        }
    }
    assert_eq!(db.state().locks.held, 0);
}

/// The commit has locked the key in its engine before it sees the lock.
#[test]
fn the_holder_of_a_lock_outlasts_a_commit_that_is_about_to_give_up() {
    let directory = tempfile::tempdir().unwrap();
    let (db, spaces) = database(directory.path());
    for space in &spaces {
        for (isolation, writes, prepares) in [
            (Isolation::Snapshot, true, false),
            (Isolation::Serializable, true, false),
            (Isolation::Serializable, true, true),
            (Isolation::Serializable, false, false),
            (Isolation::Snapshot, false, true),
        ] {
            let mut holder = db.begin(isolation).unwrap();
            holder.get_locked(space, b"k", Wait::No).unwrap();
            let (transaction, (there, is_there), (go_on, waits)) =
                (written(&db, space, b"k"), channel(), channel());
            std::thread::scope(|scope| {
                let commit = scope.spawn(move || {
                    pause_here("commit.locked", there, waits);
                    transaction.commit().map(drop)
                });
                is_there.recv().unwrap();
                // A read of the key is no reason to wait for the other commit, a write is.
                holder.get(space, b"k").unwrap();
                holder.put(space, if writes { b"k" } else { b"l" }, b"mine").unwrap();
                if writes {
                    once_here("commit.locked_again", move || go_on.send(()).unwrap());
                    end(&db, holder, prepares);
                } else {
                    end(&db, holder, prepares);
                    go_on.send(()).unwrap();
                }
                // Once the holder is gone, so is the obstacle.
                match commit.join().unwrap() {
                    Ok(()) => assert!(!writes),
                    Err(Error::Conflict { kind: Conflict::Locked, .. }) => assert!(writes),
                    Err(error) => panic!("{error}"),
                }
            });
        }
    }
    assert_eq!(db.state().aborted.locked, 6);
}

fn end(db: &Database, transaction: Transaction, prepares: bool) {
    if prepares {
        drop(transaction.prepare("p").unwrap());
        drop(db.commit_prepared("p").unwrap());
    } else {
        drop(transaction.commit().unwrap());
    }
}
