//! Values and snapshots of locking reads, beside commits of others.

use super::outcome::conflict;
use super::shop::{LEVELS, lock, shop};
use gemel::{Conflict, Error, Isolation, Wait};

#[test]
fn the_holder_of_a_lock_commits_whatever_others_do() {
    let shop = shop();
    for space in &shop.spaces {
        let other = if space.name() == "hot" { &shop.spaces[1] } else { &shop.spaces[0] };
        for isolation in LEVELS {
            shop.put(space, "k", "0").unwrap();
            // It has read the key before anybody locks it.
            let mut decided = shop.begin(Isolation::Snapshot);
            decided.get_for_update(space, b"k").unwrap();
            let mut holder = shop.begin(isolation);
            assert_eq!(holder.get_locked(space, b"k", Wait::No).unwrap().unwrap(), b"0");
            // Writers without the lock give up.
            conflict(shop.put(space, "k", "1"), Conflict::Locked);
            let mut deleter = shop.begin(isolation);
            deleter.delete(space, b"k").unwrap();
            conflict(deleter.commit(), Conflict::Locked);
            // Readers go on, and see the committed value.
            for level in LEVELS {
                let mut reader = shop.begin(level);
                assert_eq!(reader.get(space, b"k").unwrap().unwrap(), b"0");
                reader.put(other, b"elsewhere", b"1").unwrap();
                drop(reader.commit().unwrap());
            }
            decided.put(other, b"result", b"1").unwrap();
            drop(decided.commit().unwrap());
            let value = holder.get(space, b"k").unwrap().unwrap();
            holder.put(space, b"k", &[&value[..], b"+"].concat()).unwrap();
            drop(holder.commit().unwrap());
            assert_eq!(shop.value(space, "k").unwrap(), "0+");
            shop.put(space, "k", "1").unwrap();
        }
    }
    shop.assert_free();
}

#[test]
fn the_lock_of_a_missing_key_keeps_others_from_inserting_it() {
    let shop = shop();
    for space in &shop.spaces {
        let mut holder = shop.begin(Isolation::Serializable);
        assert_eq!(holder.get_locked(space, b"new", Wait::No).unwrap(), None);
        let mut other = shop.begin(Isolation::Snapshot);
        other.insert(space, b"new", b"theirs").unwrap();
        conflict(other.commit(), Conflict::Locked);
        holder.insert(space, b"new", b"mine").unwrap();
        drop(holder.commit().unwrap());
        assert_eq!(shop.value(space, "new").unwrap(), "mine");
    }
}

#[test]
fn a_locking_read_returns_the_newest_value_or_a_conflict_with_the_snapshot() {
    let shop = shop();
    for space in &shop.spaces {
        for isolation in LEVELS {
            shop.put(space, "k", "old").unwrap();
            // Nothing rests on the snapshot of the first one.
            let (mut fresh, mut used) = (shop.begin(isolation), shop.begin(isolation));
            used.get(&shop.spaces[0], b"other").unwrap();
            used.get(&shop.spaces[1], b"other").unwrap();
            shop.put(space, "k", "new").unwrap();
            assert_eq!(fresh.get_locked(space, b"k", Wait::No).unwrap().unwrap(), b"new");
            fresh.rollback();
            match isolation {
                Isolation::ReadCommitted => {
                    assert_eq!(used.get_locked(space, b"k", Wait::No).unwrap().unwrap(), b"new");
                    used.put(space, b"k", b"newer").unwrap();
                    drop(used.commit().unwrap());
                }
                _ => {
                    let before = shop.db.state().aborted.write_conflict;
                    conflict(used.get_locked(space, b"k", Wait::No), Conflict::Write);
                    shop.assert_free();
                    assert!(matches!(used.commit(), Err(Error::Usage(_))));
                    assert_eq!(shop.db.state().aborted.write_conflict, before + 1);
                }
            }
        }
    }
}

#[test]
fn each_lock_takes_a_new_snapshot_until_something_else_rests_on_one() {
    let shop = shop();
    for space in &shop.spaces {
        for isolation in [Isolation::Snapshot, Isolation::Serializable] {
            for key in ["a", "b", "c"] {
                shop.put(space, key, "old").unwrap();
            }
            let mut transaction = shop.begin(isolation);
            assert_eq!(transaction.get_locked(space, b"a", Wait::No).unwrap().unwrap(), b"old");
            transaction.update(space, b"a", |value| value.extend_from_slice(b" a")).unwrap();
            let savepoint = transaction.savepoint().unwrap();
            shop.put(space, "b", "new").unwrap();
            // Enough commits that both engines forget those before.
            for _ in 0..40 {
                shop.put(space, "unrelated", "1").unwrap();
            }
            assert_eq!(transaction.get_locked(space, b"b", Wait::No).unwrap().unwrap(), b"new");
            transaction.put(space, b"b", b"mine").unwrap();
            transaction.release(savepoint).unwrap();
            // The snapshot of all later reads is the one of the last lock.
            shop.put(space, "c", "new").unwrap();
            assert_eq!(transaction.get(space, b"c").unwrap().unwrap(), b"old");
            conflict(transaction.get_locked(space, b"c", Wait::No).map(drop), Conflict::Write);
            drop(transaction);

            let mut transaction = shop.begin(isolation);
            for key in [b"a", b"b", b"c"] {
                shop.put(space, "unrelated", "2").unwrap();
                transaction.get_locked(space, key, Wait::No).unwrap();
                transaction.put(space, key, b"mine").unwrap();
            }
            assert_eq!(transaction.get(space, b"unrelated").unwrap().unwrap(), b"2");
            drop(transaction.commit().unwrap());
        }
    }
}

#[test]
fn a_lock_after_an_own_write_finds_a_commit_in_between() {
    let shop = shop();
    for space in &shop.spaces {
        for isolation in LEVELS {
            shop.put(space, "k", "old").unwrap();
            let mut late = shop.begin(isolation);
            late.put(space, b"k", b"mine").unwrap();
            shop.put(space, "k", "theirs").unwrap();
            conflict(late.get_locked(space, b"k", Wait::No), Conflict::Write);
            let mut early = shop.begin(isolation);
            early.put(space, b"k", b"mine").unwrap();
            assert_eq!(early.get_locked(space, b"k", Wait::No).unwrap().unwrap(), b"mine");
            conflict(shop.put(space, "k", "theirs again"), Conflict::Locked);
            drop(early.commit().unwrap());
        }
    }
}

#[test]
fn a_rollback_to_a_savepoint_releases_the_locks_after_it_and_keeps_their_reads() {
    let shop = shop();
    for space in &shop.spaces {
        for isolation in LEVELS {
            for changes in [false, true] {
                for key in ["before", "after", "unrelated"] {
                    shop.put(space, key, "0").unwrap();
                }
                let mut transaction = shop.begin(isolation);
                transaction.get_locked(space, b"before", Wait::No).unwrap();
                let savepoint = transaction.savepoint().unwrap();
                transaction.get_locked(space, b"after", Wait::No).unwrap();
                transaction.put(space, b"after", b"1").unwrap();
                let inner = transaction.savepoint().unwrap();
                for key in [b"p", b"q"] {
                    shop.put(space, "unrelated", "1").unwrap();
                    transaction.get_locked(space, key, Wait::No).unwrap();
                }
                assert_eq!(shop.locks().held, 4);
                transaction.rollback_to(&inner).unwrap();
                assert_eq!(shop.locks().held, 2);
                std::thread::scope(|scope| {
                    let waiter = scope.spawn(|| lock(shop.begin(isolation), space, "after", Wait::Forever));
                    shop.until_waiting(1);
                    transaction.rollback_to(&savepoint).unwrap();
                    assert_eq!(waiter.join().unwrap().1.unwrap().unwrap(), "0");
                });
                assert_eq!(shop.locks().held, 1);
                conflict(shop.put(space, "before", "theirs"), Conflict::Locked);
                if changes {
                    shop.put(space, "after", "theirs").unwrap();
                }
                // Enough commits that both engines forget those before.
                for _ in 0..40 {
                    shop.put(space, "unrelated", "2").unwrap();
                }
                transaction.put(space, b"result", b"1").unwrap();
                let outcome = transaction.commit();
                if changes {
                    conflict(outcome, Conflict::Read);
                } else {
                    drop(outcome.unwrap());
                }
                shop.assert_free();
            }
        }
    }
}
