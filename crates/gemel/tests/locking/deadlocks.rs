//! Waits in a cycle, and waits that are in none.

use super::shop::{Shop, lock, shop};
use gemel::{Aborted, Error, Isolation, Keyspace, Transaction, Wait};
use std::thread::ScopedJoinHandle;

fn deadlock<T: std::fmt::Debug>(outcome: gemel::Result<T>, expected: &[u64]) {
    let error = outcome.unwrap_err();
    assert!(error.is_retryable(), "{error}");
    match error {
        Error::Deadlock { transactions, .. } if transactions == expected => {}
        other => panic!("{other:?} is not a deadlock of {expected:?}"),
    }
}

type Joined<'s> = ScopedJoinHandle<'s, (Transaction, gemel::Result<Option<String>>)>;

/// Lets transactions, each with the lock of one key, wait in a cycle: each for the key of the next one. The cycle is
/// closed by `last`.
fn cycle(shop: &Shop, space: &Keyspace, size: usize, last: usize) {
    let before = shop.locks().deadlocks;
    let keys: Vec<String> = (0..size).map(|member| format!("cycle {member}")).collect();
    let mut holders: Vec<_> = keys.iter().map(|key| Some(shop.holder(space, key))).collect();
    // The youngest is the victim, whoever came last.
    let victim = size - 1;
    let mut expected: Vec<u64> = holders.iter().flatten().map(Transaction::number).collect();
    expected.rotate_left(victim);
    std::thread::scope(|scope| {
        let keys = &keys;
        let mut waiters: Vec<Option<Joined<'_>>> = (0..size).map(|_| None).collect();
        for step in 1..=size {
            let member = (last + step) % size;
            let transaction = holders[member].take().unwrap();
            let next = (member + 1) % size;
            waiters[member] = Some(scope.spawn(move || lock(transaction, space, &keys[next], Wait::Forever)));
            if step < size {
                shop.until_waiting(step);
            }
        }
        let (mut failed, outcome) = waiters[victim].take().unwrap().join().unwrap();
        deadlock(outcome, &expected);
        // Its locks are free before it is dropped, so the others go on, each after the one it waits for.
        for member in (0..victim).rev() {
            let (mut transaction, value) = waiters[member].take().unwrap().join().unwrap();
            value.unwrap();
            transaction.put(space, keys[member].as_bytes(), b"done").unwrap();
            drop(transaction.commit().unwrap());
        }
        assert!(matches!(failed.get(space, b"k"), Err(Error::Usage(_))));
        assert!(matches!(failed.commit(), Err(Error::Usage(_))));
    });
    assert_eq!(shop.locks().deadlocks, before + 1, "one cycle has one victim");
    shop.assert_free();
}

#[test]
fn a_deadlock_ends_the_youngest_transaction_and_no_other() {
    let shop = shop();
    let mut cycles = 0;
    for space in &shop.spaces {
        for size in 2..=4 {
            for last in 0..size {
                cycle(&shop, space, size, last);
                cycles += 1;
            }
        }
    }
    let mut aborted = Aborted::default();
    aborted.deadlock = cycles;
    assert_eq!((shop.db.state().aborted, shop.locks().deadlocks), (aborted, cycles));
}

#[test]
fn a_wait_behind_others_is_no_deadlock() {
    let shop = shop();
    let space = &shop.spaces[0];
    let (a, b) = (shop.holder(space, "a"), shop.holder(space, "b"));
    std::thread::scope(|scope| {
        // Two wait for a, one of them is waited for: no cycle.
        let (second, third) = (shop.holder(space, "c"), shop.begin(Isolation::Snapshot));
        let second = scope.spawn(move || lock(second, space, "a", Wait::Forever));
        shop.until_waiting(1);
        let third = scope.spawn(move || lock(third, space, "a", Wait::Forever));
        shop.until_waiting(2);
        let b = scope.spawn(move || lock(b, space, "c", Wait::Forever));
        shop.until_waiting(3);
        drop(a);
        let (second, value) = second.join().unwrap();
        value.unwrap();
        shop.until_waiting(2);
        drop(second);
        third.join().unwrap().1.unwrap();
        b.join().unwrap().1.unwrap();
    });
    assert_eq!(shop.locks().deadlocks, 0);
    shop.assert_free();
}
