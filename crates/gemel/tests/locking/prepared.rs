//! Locks and prepared transactions.

use super::outcome::conflict;
use super::shop::{lock, locked_by, shop};
use gemel::{Conflict, Direction, Isolation, LockHolder, Wait};
use std::ops::{Bound, ControlFlow};
use std::time::Duration;

#[test]
fn a_prepared_transaction_keeps_its_locks_until_it_is_decided() {
    for reopens in [false, true] {
        for commits in [false, true] {
            let mut shop = shop();
            for space in 0..2 {
                shop.put(&shop.spaces[space], "read", "0").unwrap();
                shop.put(&shop.spaces[space], "written", "0").unwrap();
            }
            let mut prepared = shop.begin(Isolation::Snapshot);
            for space in &shop.spaces {
                prepared.get_locked(space, b"read", Wait::No).unwrap();
                prepared.get_locked(space, b"written", Wait::No).unwrap();
                prepared.put(space, b"written", b"1").unwrap();
            }
            prepared.prepare("p").unwrap().wait().unwrap();
            if reopens {
                shop = shop.reopen();
            }
            let shop = &shop;
            let places = shop.spaces.iter().flat_map(|space| [(space, "read"), (space, "written")]);
            let by = LockHolder::Prepared("p".into());
            for (space, key) in places.clone() {
                for wait in [Wait::No, Wait::For(Duration::from_millis(2))] {
                    locked_by(lock(shop.begin(Isolation::Snapshot), space, key, wait).1, &by);
                }
                assert!(!shop.begin(Isolation::Snapshot).try_lock(space, key.as_bytes()).unwrap());
                shop.assert_free();
                conflict(shop.put(space, key, "2"), Conflict::Locked);
            }
            std::thread::scope(|scope| {
                let waiters: Vec<_> = places
                    .map(|(space, key)| {
                        let transaction = shop.begin(Isolation::Snapshot);
                        (key, scope.spawn(move || lock(transaction, space, key, Wait::Forever)))
                    })
                    .collect();
                shop.until_waiting(4);
                if commits {
                    shop.db.commit_prepared("p").unwrap().wait().unwrap();
                } else {
                    shop.db.roll_back_prepared("p").unwrap().wait().unwrap();
                }
                for (key, waiter) in waiters {
                    let expected = if commits && key == "written" { "1" } else { "0" };
                    assert_eq!(waiter.join().unwrap().1.unwrap().unwrap(), expected);
                }
            });
            shop.assert_free();
        }
    }
}

#[test]
fn a_transaction_is_not_prepared_with_what_another_one_has_locked() {
    let shop = shop();
    for space in &shop.spaces {
        let holder = shop.holder(space, "k");
        let mut writer = shop.begin(Isolation::Snapshot);
        writer.put(space, b"k", b"1").unwrap();
        conflict(writer.prepare("writer"), Conflict::Locked);
        let mut reader = shop.begin(Isolation::Snapshot);
        reader.get_for_update(space, b"k").unwrap();
        conflict(reader.prepare("reader"), Conflict::Locked);
        let mut scanner = shop.begin(Isolation::Serializable);
        let each = |_: &[u8], _: &[u8]| ControlFlow::Continue(());
        scanner.scan(space, Bound::Unbounded, Bound::Unbounded, Direction::Forward, each).unwrap();
        conflict(scanner.prepare("scanner"), Conflict::Locked);
        let mut other = shop.begin(Isolation::Serializable);
        other.get(space, b"j").unwrap();
        other.prepare("other").unwrap().wait().unwrap();
        drop(holder.commit().unwrap());
        shop.db.roll_back_prepared("other").unwrap().wait().unwrap();
    }
}
