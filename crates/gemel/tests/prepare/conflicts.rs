//! Others that meet a prepared transaction: their writes, reads, snapshots and decisions.

use super::outcome::conflict;
use super::scratch::directory;
use super::shop::{MODES, begin, check, locked, open, prepare};
use gemel::{Conflict, Direction, Isolation, LogMode};
use std::ops::{Bound, ControlFlow};

/// Reads a key of a keyspace, or a range from a key on.
#[derive(Clone, Copy, Debug)]
enum Read {
    Key,
    /// A key that is missing.
    Missing,
    Range,
    ForUpdate,
}

#[test]
fn nobody_changes_what_a_prepared_transaction_has_read() {
    for log in MODES {
        for space in 0..2 {
            for read in [Read::Key, Read::Missing, Read::Range, Read::ForUpdate] {
                for writes in [true, false] {
                    let what = format!("{log:?} {space} {read:?} {writes}");
                    let directory = directory();
                    let mut shop = open(directory.path(), log);
                    shop.put(space, "b", "1").unwrap();
                    shop.put(space, "d", "1").unwrap();
                    let level = match read {
                        Read::ForUpdate => Isolation::Snapshot,
                        _ => Isolation::Serializable,
                    };
                    let mut transaction = shop.db.begin(level).unwrap();
                    let keys = &shop.spaces[space];
                    // Keys that nobody may write now.
                    let kept: &[&str] = match read {
                        Read::Key => {
                            transaction.get(keys, b"b").unwrap();
                            &["b"]
                        }
                        Read::Missing => {
                            transaction.get(keys, b"c").unwrap();
                            &["c"]
                        }
                        Read::ForUpdate => {
                            transaction.get_for_update(keys, b"b").unwrap();
                            &["b"]
                        }
                        Read::Range => {
                            let (lower, upper) = (Bound::Included(&b"a"[..]), Bound::Excluded(&b"d"[..]));
                            let each = |_: &[u8], _: &[u8]| ControlFlow::Continue(());
                            transaction.scan(keys, lower, upper, Direction::Forward, each).unwrap();
                            &["a", "b", "c", "cc"]
                        }
                    };
                    // The write is in the other engine.
                    if writes {
                        transaction.put(&shop.spaces[1 - space], b"w", b"1").unwrap();
                    }
                    transaction.prepare("reader").unwrap().wait().unwrap();
                    for turn in 0..3 {
                        for key in kept {
                            locked(shop.put(space, key, "2"));
                            let other = shop.written(Isolation::Snapshot, &[(space, key, None)]);
                            locked(other.prepare("other"));
                        }
                        // Reads, and writes elsewhere, go on.
                        assert_eq!(shop.get(space, "b").as_deref(), Some("1"), "{what}");
                        shop.put(space, "e", "2").unwrap();
                        if turn == 1 {
                            shop.db.checkpoint().unwrap();
                        }
                        drop(shop);
                        shop = open(directory.path(), log);
                        assert_eq!(shop.names(), ["reader"], "{what}");
                    }
                    shop.decide("reader", writes).unwrap().wait().unwrap();
                    for key in kept {
                        shop.put(space, key, "2").unwrap();
                    }
                    assert_eq!(shop.get(1 - space, "w").is_some(), writes, "{what}");
                }
            }
        }
    }
}

#[test]
fn a_transaction_that_lost_can_not_be_prepared() {
    let directory = directory();
    let shop = open(directory.path(), LogMode::Shared);
    for space in 0..2 {
        shop.put(space, "k", "0").unwrap();
        let writer =
            shop.written(Isolation::Snapshot, &[(space, "k", Some("1")), (1 - space, "l", Some("1"))]);
        let mut reader = shop.written(Isolation::Serializable, &[(space, "m", Some("1"))]);
        reader.get(&shop.spaces[space], b"k").unwrap();
        let mut only_reader = shop.db.begin(Isolation::Serializable).unwrap();
        only_reader.get(&shop.spaces[space], b"k").unwrap();
        shop.put(space, "k", "2").unwrap();
        conflict(writer.prepare("w"), Conflict::Write);
        conflict(reader.prepare("r"), Conflict::Read);
        // What it read here may be the reason of what it wrote in another database.
        conflict(only_reader.prepare("o"), Conflict::Read);
        assert_eq!(shop.names(), [""; 0]);
        // Nothing is locked.
        for key in ["k", "m"] {
            shop.put(space, key, "3").unwrap();
        }
        shop.put(1 - space, "l", "3").unwrap();
    }
    let state = shop.db.state();
    assert_eq!((state.aborted.write_conflict, state.aborted.read_conflict), (2, 4));
    assert_eq!((state.prepared.undecided, state.prepared.bytes, state.prepared.prepared), (0, 0, 0));
}

/// Two doctors are on call, and each may leave if the other one stays.
#[test]
fn of_two_prepared_transactions_with_write_skew_one_is_rejected() {
    for space in 0..2 {
        let directory = directory();
        let shop = open(directory.path(), LogMode::PerEngine);
        let leave = |own: &[u8], other: &[u8]| {
            let mut transaction = shop.db.begin(Isolation::Serializable).unwrap();
            transaction.get(&shop.spaces[space], other).unwrap();
            transaction.put(&shop.spaces[space], own, b"off").unwrap();
            transaction
        };
        let (ann, bob, carl) = (leave(b"ann", b"bob"), leave(b"bob", b"ann"), leave(b"bob", b"ann"));
        ann.prepare("ann").unwrap().wait().unwrap();
        assert!(bob.prepare("bob").is_err_and(|error| error.is_retryable()));
        assert!(carl.commit().is_err_and(|error| error.is_retryable()));
        shop.db.commit_prepared("ann").unwrap().wait().unwrap();
    }
}

/// A transaction gets the slot of the one before it on the thread, and its locks stay.
#[test]
fn the_next_transaction_does_not_take_the_locks_of_a_prepared_one_for_its_own() {
    for space in 0..2 {
        let directory = directory();
        let mut shop = open(directory.path(), LogMode::Shared);
        shop.put(space, "a", "1").unwrap();
        let writer = |shop: &super::shop::Shop, name: &str, key| {
            let transaction = shop.written(Isolation::Snapshot, &[(space, key, Some("2"))]);
            transaction.prepare(name).unwrap().wait().unwrap();
        };
        writer(&shop, "first", "a");
        writer(&shop, "second", "c");
        for _ in 0..2 {
            for key in ["a", "c"] {
                let reader = || {
                    let mut reader = shop.written(Isolation::Serializable, &[(space, "w", Some("1"))]);
                    reader.get(&shop.spaces[space], key.as_bytes()).unwrap();
                    reader
                };
                conflict(reader().commit(), Conflict::Read);
                conflict(reader().prepare("third"), Conflict::Read);
            }
            let mut scanner = shop.written(Isolation::Serializable, &[(space, "w", Some("1"))]);
            let range = (Bound::Included(&b"b"[..]), Bound::Excluded(&b"d"[..]));
            let each = |_: &[u8], _: &[u8]| ControlFlow::Continue(());
            scanner.scan(&shop.spaces[space], range.0, range.1, Direction::Forward, each).unwrap();
            conflict(scanner.commit(), Conflict::Read);
            drop(shop);
            shop = open(directory.path(), LogMode::Shared);
        }
        // A decided one gives its place to the next, and only then.
        shop.decide("first", true).unwrap().wait().unwrap();
        writer(&shop, "third", "e");
        let mut reader = shop.written(Isolation::Serializable, &[(space, "w", Some("1"))]);
        assert_eq!(reader.get(&shop.spaces[space], b"a").unwrap().as_deref(), Some(&b"2"[..]));
        reader.get(&shop.spaces[space], b"e").unwrap();
        conflict(reader.commit(), Conflict::Read);
        for name in ["second", "third"] {
            shop.decide(name, false).unwrap().wait().unwrap();
        }
        shop.put(space, "c", "3").unwrap();
    }
}

#[test]
fn a_snapshot_from_before_the_decision_stays_as_it_is() {
    let directory = directory();
    let shop = open(directory.path(), LogMode::Shared);
    begin(&shop);
    let mut before = shop.db.begin(Isolation::Snapshot).unwrap();
    prepare(&shop, &[0, 1], "one");
    let mut between = shop.db.begin(Isolation::Snapshot).unwrap();
    let late = shop.written(Isolation::Snapshot, &[(0, "changed", Some("mine"))]);
    assert_eq!(between.get(&shop.spaces[0], b"changed").unwrap().unwrap(), b"old");
    shop.db.commit_prepared("one").unwrap().wait().unwrap();
    for reader in [&mut before, &mut between] {
        for space in &shop.spaces {
            assert_eq!(reader.get(space, b"changed").unwrap().unwrap(), b"old");
            assert_eq!(reader.get(space, b"deleted").unwrap().unwrap(), b"old");
            assert_eq!(reader.get(space, b"added/1").unwrap(), None);
        }
    }
    // The first committer has won.
    conflict(late.commit(), Conflict::Write);
    check(&shop, &[0, 1], true, "committed");
}

#[test]
fn only_one_thread_decides() {
    let directory = directory();
    let shop = open(directory.path(), LogMode::Shared);
    for turn in 0..50 {
        let name = turn.to_string();
        shop.written(Isolation::Snapshot, &[(0, &name, Some("v")), (1, &name, Some("v"))])
            .prepare(&name)
            .unwrap()
            .wait()
            .unwrap();
        let outcomes = std::thread::scope(|scope| {
            let decide = |commits| {
                let (shop, name) = (&shop, &name);
                scope.spawn(move || shop.decide(name, commits))
            };
            [true, false, true, false].map(decide).map(|thread| thread.join().unwrap().is_ok())
        });
        assert_eq!(outcomes.iter().filter(|decided| **decided).count(), 1);
        let commits = outcomes[0] || outcomes[2];
        for space in 0..2 {
            assert_eq!(shop.get(space, &name).is_some(), commits);
            shop.put(space, &name, "w").unwrap();
        }
    }
    let state = shop.db.state();
    assert_eq!(state.prepared.prepared, 50);
    assert!(state.rolled_back + state.committed.cross >= 50);
}
