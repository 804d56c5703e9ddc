//! Waiting for locks: the order of the waiters, and waits that end without the lock.

use super::shop::{LEVELS, LONG, lock, locked_by, shop};
use gemel::{Aborted, Isolation, LockHolder, Wait};
use std::sync::Mutex;
use std::time::Duration;

#[test]
fn increments_of_a_hot_key_queue_and_none_aborts() {
    const THREADS: usize = 4;
    const EACH: usize = 50;
    for isolation in LEVELS {
        let shop = shop();
        for space in &shop.spaces {
            std::thread::scope(|scope| {
                for _ in 0..THREADS {
                    scope.spawn(|| {
                        for _ in 0..EACH {
                            let mut transaction = shop.begin(isolation);
                            let old = transaction.get_locked(space, b"hot", Wait::Forever).unwrap();
                            let old = old.map_or(0, |old| u64::from_be_bytes(old.try_into().unwrap()));
                            // Lets the others come in between.
                            std::thread::yield_now();
                            transaction.put(space, b"hot", &(old + 1).to_be_bytes()).unwrap();
                            drop(transaction.commit().unwrap());
                        }
                    });
                }
            });
            let sum = shop.begin(Isolation::Snapshot).get(space, b"hot").unwrap().unwrap();
            assert_eq!(u64::from_be_bytes(sum.try_into().unwrap()), (THREADS * EACH) as u64);
        }
        assert_eq!(shop.db.state().aborted, Aborted::default());
        shop.assert_free();
    }
}

#[test]
fn several_hot_keys_of_both_engines_are_locked_in_an_order_and_nobody_aborts() {
    for isolation in LEVELS {
        let shop = shop();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..30 {
                        let mut transaction = shop.begin(isolation);
                        for space in &shop.spaces {
                            for key in [b"a", b"b"] {
                                let old = transaction.get_locked(space, key, LONG).unwrap();
                                let new = old.map_or(0, |old| old[0]) + 1;
                                std::thread::yield_now();
                                transaction.put(space, key, &[new]).unwrap();
                            }
                        }
                        // What is read last is newer than all that was read under locks.
                        transaction.get(&shop.spaces[0], b"other").unwrap();
                        drop(transaction.commit().unwrap());
                    }
                });
            }
        });
        let mut reader = shop.begin(Isolation::Snapshot);
        for space in &shop.spaces {
            assert_eq!(reader.get(space, b"a").unwrap().unwrap(), [90]);
            assert_eq!(reader.get(space, b"b").unwrap().unwrap(), [90]);
        }
        assert_eq!(shop.db.state().aborted, Aborted::default());
    }
}

#[test]
fn waiters_get_a_lock_in_the_order_in_which_they_came() {
    const WAITERS: usize = 8;
    let shop = shop();
    for space in &shop.spaces {
        let (holder, order) = (shop.holder(space, "k"), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for waiter in 0..WAITERS {
                let (shop, order) = (&shop, &order);
                scope.spawn(move || {
                    let (mut transaction, value) =
                        lock(shop.begin(Isolation::Snapshot), space, "k", Wait::Forever);
                    let value = value.unwrap().unwrap_or_default();
                    transaction.put(space, b"k", format!("{value}{waiter}").as_bytes()).unwrap();
                    order.lock().unwrap().push(waiter);
                    drop(transaction.commit().unwrap());
                });
                shop.until_waiting(waiter + 1);
            }
            holder.rollback();
        });
        assert_eq!(*order.lock().unwrap(), (0..WAITERS).collect::<Vec<_>>());
        assert_eq!(shop.value(space, "k").unwrap(), "01234567");
    }
    let state = shop.locks();
    assert_eq!((state.waits, state.timeouts, state.deadlocks), (2 * WAITERS as u64, 0, 0));
    assert!(state.waited > Duration::ZERO);
    shop.assert_free();
}

#[test]
fn a_read_that_does_not_wait_fails_at_once_and_its_transaction_goes_on() {
    let shop = shop();
    for space in &shop.spaces {
        let holder = shop.holder(space, "k");
        for isolation in LEVELS {
            let mut other = shop.begin(isolation);
            let outcome = other.get_locked(space, b"k", Wait::No);
            let error = outcome.as_ref().unwrap_err();
            assert!(error.is_retryable());
            let text = error.to_string();
            let number = holder.number();
            assert!(text.contains(space.name()) && text.contains(&format!("transaction {number}")), "{text}");
            locked_by(outcome, &LockHolder::Transaction(number));
            // Whoever skips locked rows takes the next one.
            assert!(!other.try_lock(space, b"k").unwrap());
            assert!(other.try_lock(space, b"next").unwrap());
            other.put(space, b"next", b"taken").unwrap();
            drop(other.commit().unwrap());
        }
        holder.rollback();
        let mut other = shop.begin(Isolation::Snapshot);
        assert!(other.try_lock(space, b"k").unwrap());
        // Once more is no wait for oneself.
        assert!(other.try_lock(space, b"k").unwrap());
        assert_eq!(other.get_locked(space, b"k", Wait::Forever).unwrap(), None);
    }
    assert_eq!((shop.locks().waits, shop.locks().timeouts), (0, 0));
    shop.assert_free();
}

#[test]
fn a_wait_ends_at_its_time_and_the_others_keep_their_places() {
    let shop = shop();
    let space = &shop.spaces[0];
    let holder = shop.holder(space, "k");
    std::thread::scope(|scope| {
        let first = scope.spawn(|| lock(shop.begin(Isolation::Snapshot), space, "k", LONG));
        shop.until_waiting(1);
        let time = Duration::from_millis(5);
        let (late, outcome) = lock(shop.begin(Isolation::Snapshot), space, "k", Wait::For(time));
        assert!(locked_by(outcome, &LockHolder::Transaction(holder.number())) >= time);
        shop.until_waiting(1);
        let third = scope.spawn(|| lock(shop.begin(Isolation::Snapshot), space, "k", LONG));
        shop.until_waiting(2);
        holder.rollback();
        let (first, value) = first.join().unwrap();
        value.unwrap();
        shop.until_waiting(1);
        drop((first, late));
        third.join().unwrap().1.unwrap();
    });
    assert_eq!((shop.locks().timeouts, shop.locks().waits), (1, 3));
    shop.assert_free();
}

/// `run` retries a transaction whose wait was too short.
#[test]
fn run_retries_a_transaction_that_did_not_get_a_lock() {
    let shop = shop();
    let space = &shop.spaces[0];
    let (mut holder, mut attempts) = (Some(shop.holder(space, "k")), 0);
    shop.db
        .run(Isolation::Snapshot, |transaction| {
            attempts += 1;
            let outcome = transaction.get_locked(space, b"k", Wait::No);
            drop(holder.take());
            outcome.map(drop)
        })
        .unwrap();
    assert_eq!(attempts, 2);
}
