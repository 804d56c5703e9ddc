//! Transactions that exceed `Options::max_snapshot_age`.

use super::Transaction;
use crate::coordinator::Coordinator;
use crate::error::{Error, Result};
use crate::ids::Direction;
use crate::keyspace::Keyspace;
use crate::order::active::Seat;
use crate::wait::wait_until;
use crate::{Database, Engine, Isolation, Options};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::time::Duration;

const LEVELS: [Isolation; 3] = [Isolation::ReadCommitted, Isolation::Snapshot, Isolation::Serializable];
/// More than a scan reads under one pin.
const ROWS: u8 = 200;

struct Shop {
    db: Database,
    spaces: [Keyspace; 2],
    _directory: tempfile::TempDir,
}

/// Makes a database with the rows 0 to 199 in each engine.
fn shop() -> Shop {
    let directory = tempfile::tempdir().unwrap();
    // So long that no transaction of a test exceeds it by itself.
    let options = Options { max_snapshot_age: Some(Duration::from_secs(3600)), ..Options::default() };
    let db = Database::open(directory.path().join("db"), options).unwrap();
    let spaces = [db.keyspace("hot", Engine::Memory).unwrap(), db.keyspace("cold", Engine::Disk).unwrap()];
    let shop = Shop { db, spaces, _directory: directory };
    shop.commit(|transaction, space| (0..ROWS).try_for_each(|row| transaction.put(space, &[row], b"old")));
    shop
}

impl Shop {
    /// Commits the same work in both engines.
    fn commit(&self, work: impl Fn(&mut Transaction, &Keyspace) -> Result<()>) {
        let mut transaction = self.db.begin(Isolation::Snapshot).unwrap();
        self.spaces.iter().for_each(|space| work(&mut transaction, space).unwrap());
        transaction.commit().unwrap().wait().unwrap();
    }

    /// Returns a function that lets the transaction exceed its age, and collects all garbage.
    fn aging(&self, transaction: &Transaction) -> impl Fn() + use<'_> {
        let (core, seat): (Arc<Coordinator>, Seat) = (Arc::clone(&transaction.core), transaction.seat);
        move || {
            core.active.limit(seat, Duration::ZERO);
            core.collect_now();
            self.db.inner().disk.flush_all().unwrap();
        }
    }
}

fn assert_too_old<T: std::fmt::Debug>(outcome: Result<T>) {
    let error = outcome.unwrap_err();
    assert!(matches!(error, Error::TooOld(_)) && error.is_retryable(), "{error:?}");
    let text = error.to_string();
    for word in ["began ", " ago", "after 3600s", "max_snapshot_age", "retry it"] {
        assert!(text.contains(word), "{text}");
    }
}

#[test]
fn a_transaction_that_exceeds_its_age_holds_back_no_garbage_and_every_access_says_so() {
    for isolation in LEVELS {
        let shop = shop();
        let mut old = shop.db.begin(isolation).unwrap();
        for space in &shop.spaces {
            assert_eq!(old.get(space, &[1]).unwrap().unwrap(), b"old");
        }
        shop.commit(|transaction, space| {
            (0..ROWS).try_for_each(|row| transaction.put(space, &[row], b"new"))
        });
        shop.db.inner().core.collect_now();
        let before = shop.db.state();
        assert_eq!((before.expired, before.disk.recent_keys), (0, u64::from(ROWS)));
        if isolation != Isolation::ReadCommitted {
            assert_eq!(old.get(&shop.spaces[0], &[2]).unwrap().unwrap(), b"old");
        }
        shop.aging(&old)();
        let state = shop.db.state();
        assert_eq!((state.expired, state.disk.recent_keys), (1, 0));
        assert_eq!(state.memory.versions_collected - before.memory.versions_collected, u64::from(ROWS));
        assert!(state.running.iter().any(|one| one.number == old.number() && one.expired));
        for space in &shop.spaces {
            let all = || (Bound::Unbounded, Bound::Unbounded);
            assert_too_old(old.get(space, &[1]));
            assert_too_old(old.get_for_update(space, &[1]));
            assert_too_old(old.put(space, &[1], b"mine"));
            assert_too_old(old.insert(space, &[201], b"mine"));
            assert_too_old(old.update(space, &[1], |_| ()));
            assert_too_old(old.delete(space, &[1]));
            assert_too_old(old.cursor(space, all().0, all().1).map(drop));
            let each = |_: &[u8], _: &[u8]| ControlFlow::Continue(());
            assert_too_old(old.scan(space, all().0, all().1, Direction::Forward, each));
        }
        assert_too_old(old.savepoint());
        // Nothing was written, and everything that was read is right.
        drop(old.commit().unwrap());
        let state = shop.db.state();
        assert_eq!((state.running.len(), state.expired), (0, 1));
    }
}

#[test]
fn a_read_or_scan_during_which_the_snapshot_expires_returns_no_wrong_row_and_misses_none() {
    for (number, direction) in (0..8).zip([Direction::Forward, Direction::Backward].into_iter().cycle()) {
        let shop = shop();
        let space = &shop.spaces[number / 2 % 2];
        let mut old = shop.db.begin(Isolation::Snapshot).unwrap();
        let with_own = number >= 4;
        if with_own {
            old.put(space, &[ROWS], b"own").unwrap();
            old.put(space, &[0], b"own").unwrap();
        }
        let age = shop.aging(&old);
        let mut rows = Vec::new();
        let scanned = old.scan(space, Bound::Unbounded, Bound::Unbounded, direction, |key, value| {
            rows.push((key.to_vec(), value.to_vec()));
            if rows.len() == 70 {
                shop.commit(|transaction, space| {
                    (0..ROWS).step_by(2).try_for_each(|row| transaction.delete(space, &[row]))?;
                    (1..ROWS).step_by(2).try_for_each(|row| transaction.put(space, &[row], b"new"))
                });
                age();
            }
            ControlFlow::Continue(())
        });
        assert_too_old(scanned);
        assert_eq!(rows.len(), 70);
        let expected = |(index, (key, value)): (usize, &(Vec<u8>, Vec<u8>))| {
            let index = index as u8;
            let row = match (direction, with_own) {
                (Direction::Forward, _) => index,
                (Direction::Backward, true) => ROWS - index,
                (Direction::Backward, false) => ROWS - 1 - index,
            };
            let own = with_own && [0, ROWS].contains(&row);
            *key == [row] && value == if own { b"own" } else { b"old" }
        };
        assert!(rows.iter().enumerate().all(expected), "{rows:?}");
    }
    let shop = shop();
    for space in &shop.spaces {
        let mut old = shop.db.begin(Isolation::Snapshot).unwrap();
        let age = shop.aging(&old);
        assert_too_old(old.read(space, &[1], |_| age()));
    }
}

/// The collected versions and keys are those with which the writes conflict.
#[test]
fn a_commit_whose_conflicts_were_collected_fails() {
    for (engine, isolation) in [0, 1].into_iter().flat_map(|engine| LEVELS.map(|level| (engine, level))) {
        let shop = shop();
        let space = &shop.spaces[engine];
        let begin = || shop.db.begin(isolation).unwrap();
        let mut writer = begin();
        writer.put(space, &[1], b"mine").unwrap();
        let mut decided = begin();
        assert!(decided.get_for_update(space, &[2]).unwrap().is_some());
        decided.put(space, &[201], b"mine").unwrap();
        let mut scanner = begin();
        scanner
            .scan(space, Bound::Unbounded, Bound::Unbounded, Direction::Forward, |_, _| {
                ControlFlow::Continue(())
            })
            .unwrap();
        scanner.put(space, &[3], b"mine").unwrap();
        shop.commit(|transaction, space| (1..4).try_for_each(|row| transaction.delete(space, &[row])));
        for transaction in [&writer, &decided, &scanner] {
            shop.aging(transaction)();
        }
        for transaction in [writer, decided, scanner] {
            assert_too_old(transaction.commit());
        }
        assert_eq!(shop.db.state().aborted.too_old, 3);
        assert_eq!(begin().get(space, &[1]).unwrap(), None);
    }
}

/// Otherwise the gap would hide a key from all later scans, because nobody remembers the commit that wrote it.
#[test]
fn a_scan_whose_snapshot_expires_teaches_the_disk_engine_no_gap() {
    let shop = shop();
    let cold = &shop.spaces[1];
    shop.commit(|transaction, space| (0..ROWS - 1).try_for_each(|row| transaction.delete(space, &[row])));
    let mut old = shop.db.begin(Isolation::Snapshot).unwrap();
    let age = shop.aging(&old);
    let (all, mut rows) = ((Bound::Included(&[0_u8][..]), Bound::Unbounded), 0);
    let scanned = old.scan(cold, all.0, all.1, Direction::Forward, |_, _| {
        rows += 1;
        shop.commit(|transaction, space| transaction.put(space, &[7], b"new"));
        age();
        ControlFlow::Continue(())
    });
    assert_too_old(scanned);
    let mut found = Vec::new();
    let mut next = shop.db.begin(Isolation::Snapshot).unwrap();
    next.scan(cold, all.0, all.1, Direction::Forward, |key, _| {
        found.push(key.to_vec());
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!((rows, found), (1, vec![vec![7], vec![ROWS - 1]]));
}

#[test]
fn a_forgotten_transaction_expires_by_itself() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { max_snapshot_age: Some(Duration::from_secs(1)), ..Options::default() };
    let db = Database::open(directory.path().join("db"), options).unwrap();
    let hot = db.keyspace("hot", Engine::Memory).unwrap();
    let mut forgotten = db.begin(Isolation::Snapshot).unwrap();
    wait_until(|| db.state().expired, |expired| *expired > 0, |_| "it never expires".into());
    let error = forgotten.get(&hot, b"k").unwrap_err();
    assert!(matches!(&error, Error::TooOld(text) if text.contains("after 1s")), "{error}");
}

#[test]
fn a_transaction_that_exceeds_its_age_gives_back_what_it_holds_when_it_ends() {
    for is_committed in [true, false] {
        let shop = shop();
        let pending = || shop.db.state().pending_bytes;
        let mut old = shop.db.begin(Isolation::Snapshot).unwrap();
        for space in &shop.spaces {
            (0..ROWS).for_each(|row| old.put(space, &[row], &[7; 1000]).unwrap());
        }
        assert!(pending() > 400_000, "{}", pending());
        shop.aging(&old)();
        assert_too_old(old.put(&shop.spaces[0], b"k", b"v"));
        assert!(pending() > 400_000, "it still holds its writes");
        if is_committed {
            assert_too_old(old.commit().map(drop));
        } else {
            old.rollback();
        }
        assert_eq!(pending(), 0);
    }
}
