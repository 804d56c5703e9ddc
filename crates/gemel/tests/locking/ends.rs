//! Ends of locks and of waits other than a commit: age, panics, closing, limits and misuse.

use super::outcome::rejected;
use super::shop::{LONG, Shop, lock, shop, shop_with, until_waiting};
use super::wait::wait_until;
use gemel::{Database, Error, Isolation, Options, Wait};
use std::time::Duration;

#[test]
fn a_transaction_that_exceeds_its_age_loses_its_locks() {
    let open = || shop_with(Options { max_snapshot_age: Some(Duration::from_secs(1)), ..Options::default() });
    // Its thread may have to wait for a processor.
    let holder = |shop: &Shop| loop {
        let (holder, outcome) = lock(shop.begin(Isolation::Snapshot), &shop.spaces[0], "k", Wait::No);
        if outcome.is_ok() {
            break holder;
        }
    };
    let shop = open();
    let space = &shop.spaces[0];
    let mut first = holder(&shop);
    // The waiter may exceed its age too, then it begins again.
    shop.db
        .run(Isolation::Snapshot, |waiter| waiter.get_locked(space, b"k", Wait::Forever).map(drop))
        .unwrap();
    assert!(matches!(first.get(space, b"k"), Err(Error::TooOld(_))));
    first.rollback();
    shop.assert_free();
    // One that waits does not wait on. Either it gets the lock of the other one, or it expires in the same moment.
    let shop = open();
    let first = holder(&shop);
    let (second, outcome) = lock(shop.begin(Isolation::Snapshot), &shop.spaces[0], "k", Wait::Forever);
    assert!(matches!(outcome, Ok(_) | Err(Error::TooOld(_))), "{outcome:?}");
    drop((first, second));
    shop.assert_free();
}

#[test]
fn the_locks_of_a_thread_that_panics_are_released() {
    let shop = shop();
    let space = &shop.spaces[1];
    let (asks, may_panic) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let holder = shop.holder(space, "k");
        let panics = scope.spawn(move || {
            let _holder = holder;
            may_panic.recv().unwrap();
            panic!("part of the test");
        });
        let waiter = scope.spawn(|| lock(shop.begin(Isolation::Snapshot), space, "k", Wait::Forever));
        shop.until_waiting(1);
        asks.send(()).unwrap();
        assert!(panics.join().is_err());
        waiter.join().unwrap().1.unwrap();
    });
    shop.assert_free();
}

#[test]
fn whoever_waits_learns_that_the_database_is_closed() {
    let Shop { db, spaces, directory } = shop();
    let space = &spaces[0];
    let mut holder = db.begin(Isolation::Snapshot).unwrap();
    holder.get_locked(space, b"k", Wait::No).unwrap();
    let waiter = db.begin(Isolation::Snapshot).unwrap();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| lock(waiter, space, "k", Wait::Forever));
        until_waiting(&db, 1);
        db.close().unwrap();
        let (waiter, outcome) = waiter.join().unwrap();
        assert!(matches!(outcome, Err(Error::Usage(text)) if text.contains("closed")));
        drop(waiter);
    });
    assert!(matches!(holder.get_locked(space, b"l", Wait::Forever), Err(Error::Usage(_))));
    // The lock of before is still its own.
    assert_eq!(holder.get_locked(space, b"k", Wait::Forever).unwrap(), None);
    drop(holder);
    Database::open(directory.path().join("db"), Options::default()).unwrap();
}

#[test]
fn a_lock_that_can_not_be_is_rejected_and_leaves_nothing() {
    let (shop, another) = (shop(), shop());
    let space = &shop.spaces[0];
    let mut reader = shop.db.begin_read_only().unwrap();
    rejected(reader.get_locked(space, b"k", Wait::Forever), "read-only");
    let mut transaction = shop.begin(Isolation::Snapshot);
    rejected(transaction.get_locked(space, b"", Wait::No), "at least one byte");
    assert!(matches!(transaction.get_locked(space, &[0; 3000], Wait::No), Err(Error::Capacity(_))));
    rejected(transaction.get_locked(&another.spaces[0], b"k", Wait::No), "another database");
    shop.assert_free();
    // Locks count against the limit of what transactions hold.
    let shop = shop_with(Options { pending_limit_bytes: 1 << 20, ..Options::default() });
    let mut transaction = shop.begin(Isolation::Snapshot);
    let mut locks = 0_u32;
    let error = loop {
        match transaction.get_locked(&shop.spaces[0], &locks.to_be_bytes(), Wait::No) {
            Ok(_) => locks += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::Capacity(_)), "{error}");
    assert_eq!(shop.locks().held, locks as usize);
    drop(transaction.commit().unwrap());
    shop.assert_free();
    assert_eq!(shop.db.state().pending_bytes, 0);
}

/// The callback of a ticket runs on the log's thread. The holder of the lock may wait for that thread.
#[test]
fn a_callback_does_not_wait_for_a_lock() {
    let shop = shop();
    let try_a_callback = || {
        let space = shop.spaces[0].clone();
        let mut transaction = shop.begin(Isolation::Snapshot);
        transaction.put(&space, b"k", b"1").unwrap();
        let (mut other, (tell, told)) = (shop.begin(Isolation::Snapshot), std::sync::mpsc::channel());
        transaction.commit().unwrap().on_done(move |_| {
            let waits = other.get_locked(&space, b"l", LONG).map(drop);
            let does_not = other.get_locked(&space, b"l", Wait::No).map(drop);
            tell.send((std::thread::current().id(), waits, does_not)).unwrap();
        });
        let (thread, waits, does_not) = told.recv().unwrap();
        does_not.unwrap();
        // If the commit is durable by then, this thread calls.
        let is_the_logs = thread != std::thread::current().id();
        if is_the_logs {
            rejected(waits, "callback");
        } else {
            waits.unwrap();
        }
        is_the_logs
    };
    wait_until(try_a_callback, |is_the_logs| *is_the_logs, |_| "no callback runs on the log's thread".into());
}
