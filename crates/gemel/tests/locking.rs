//! Locking reads, through the public interface: who gets a lock and when, who must go on without it, and what commits
//! beside them. No test depends on the machine's speed: each one looks at the state to see that somebody waits.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use gemel::row::{ColumnType, Schema, Table, Value};
use gemel::{
    Aborted, Conflict, Database, Engine, Error, Isolation, Keyspace, LockHolder, LockState, Options,
    Transaction, Wait,
};
use std::path::Path;
use std::sync::Mutex;
use std::thread::ScopedJoinHandle;
use std::time::Duration;

const LEVELS: [Isolation; 3] = [Isolation::ReadCommitted, Isolation::Snapshot, Isolation::Serializable];
/// Longer than any test runs.
const LONG: Wait = Wait::For(Duration::from_secs(3600));

struct Shop {
    db: Database,
    /// A keyspace in memory and one on disk.
    spaces: [Keyspace; 2],
    directory: tempfile::TempDir,
}

fn directory() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

fn shop_with(options: Options) -> Shop {
    let directory = directory();
    let db = Database::open(directory.path().join("db"), options).unwrap();
    let spaces = [db.keyspace("hot", Engine::Memory).unwrap(), db.keyspace("cold", Engine::Disk).unwrap()];
    Shop { db, spaces, directory }
}

fn shop() -> Shop {
    shop_with(Options::default())
}

impl Shop {
    fn begin(&self, isolation: Isolation) -> Transaction {
        self.db.begin(isolation).unwrap()
    }

    /// Returns a transaction at `Snapshot` that has locked a key.
    fn holder(&self, space: &Keyspace, key: &str) -> Transaction {
        let mut transaction = self.begin(Isolation::Snapshot);
        transaction.get_locked(space, key.as_bytes(), Wait::No).unwrap();
        transaction
    }

    fn put(&self, space: &Keyspace, key: &str, value: &str) -> gemel::Result<()> {
        let mut transaction = self.begin(Isolation::Snapshot);
        transaction.put(space, key.as_bytes(), value.as_bytes()).unwrap();
        transaction.commit().map(drop)
    }

    fn value(&self, space: &Keyspace, key: &str) -> Option<String> {
        let value = self.begin(Isolation::Snapshot).get(space, key.as_bytes()).unwrap();
        value.map(|value| String::from_utf8(value).unwrap())
    }

    fn locks(&self) -> LockState {
        self.db.state().locks
    }

    /// Waits until so many transactions wait for locks.
    fn until_waiting(&self, count: usize) {
        while self.locks().waiting != count {
            std::thread::yield_now();
        }
    }

    /// Fails unless nobody holds or awaits a lock.
    fn assert_free(&self) {
        let LockState { held, waiting, .. } = self.locks();
        assert_eq!((held, waiting), (0, 0));
    }
}

/// Locks a key, which may take long. Returns the transaction and the result.
fn lock(
    mut transaction: Transaction,
    space: &Keyspace,
    key: &str,
    wait: Wait,
) -> (Transaction, gemel::Result<Option<String>>) {
    let value = transaction.get_locked(space, key.as_bytes(), wait);
    let value = value.map(|value| value.map(|value| String::from_utf8(value).unwrap()));
    (transaction, value)
}

fn conflict<T: std::fmt::Debug>(outcome: gemel::Result<T>, expected: Conflict) {
    match outcome {
        Err(Error::Conflict { kind, .. }) if kind == expected => {}
        other => panic!("{other:?} is not a {} conflict", expected.name()),
    }
}

fn locked_by<T: std::fmt::Debug>(outcome: gemel::Result<T>, expected: &LockHolder) -> Duration {
    match outcome {
        Err(Error::Locked { holder, waited, .. }) if holder == *expected => waited,
        other => panic!("{other:?} does not name {expected:?}"),
    }
}

fn deadlock<T: std::fmt::Debug>(outcome: gemel::Result<T>, expected: &[u64]) {
    let error = outcome.unwrap_err();
    assert!(error.is_retryable(), "{error}");
    match error {
        Error::Deadlock { transactions, .. } if transactions == expected => {}
        other => panic!("{other:?} is not a deadlock of {expected:?}"),
    }
}

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

type Joined<'s> = ScopedJoinHandle<'s, (Transaction, gemel::Result<Option<String>>)>;

/// Lets transactions, each with the lock of one key, wait in a cycle: each for the key of the next one. The cycle is
/// closed by `last`.
fn cycle(shop: &Shop, space: &Keyspace, size: usize, last: usize) {
    let before = shop.locks().deadlocks;
    let keys: Vec<String> = (0..size).map(|member| format!("cycle {member}")).collect();
    let holders: Vec<_> = keys.iter().map(|key| shop.holder(space, key)).collect();
    let numbers: Vec<u64> = holders.iter().map(Transaction::number).collect();
    let mut holders: Vec<_> = holders.into_iter().map(Some).collect();
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
        // The youngest is the victim, whoever came last.
        let victim = size - 1;
        let mut expected = numbers.clone();
        expected.rotate_left(victim);
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
                let Shop { db, spaces, directory } = shop;
                drop((db, spaces));
                let db = Database::open(directory.path().join("db"), Options::default()).unwrap();
                let spaces =
                    ["hot", "cold"].map(|name| db.open_or_create_keyspace(name, Engine::Memory).unwrap());
                shop = Shop { db, spaces, directory };
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
        scanner
            .scan(
                space,
                std::ops::Bound::Unbounded,
                std::ops::Bound::Unbounded,
                gemel::Direction::Forward,
                |_, _| std::ops::ControlFlow::Continue(()),
            )
            .unwrap();
        conflict(scanner.prepare("scanner"), Conflict::Locked);
        let mut other = shop.begin(Isolation::Serializable);
        other.get(space, b"j").unwrap();
        other.prepare("other").unwrap().wait().unwrap();
        drop(holder.commit().unwrap());
        shop.db.roll_back_prepared("other").unwrap().wait().unwrap();
    }
}

/// Returns a table with the row 1, whose second column is 9.
fn table(shop: &Shop) -> Table {
    let schema = Schema::new().column("id", ColumnType::I64).column("left", ColumnType::I64);
    let table = shop.db.create_table("t", Engine::Memory, schema.primary_key(["id"])).unwrap();
    let mut transaction = shop.begin(Isolation::Snapshot);
    table.insert(&mut transaction, &[Value::Int(1), Value::Int(9)]).unwrap();
    drop(transaction.commit().unwrap());
    table
}

#[test]
fn whoever_waits_for_a_row_learns_that_its_table_is_gone() {
    let changes: [fn(&Database); 3] = [
        |db| db.drop_table("t").unwrap(),
        |db| drop(db.truncate_table("t").unwrap()),
        |db| db.move_table("t", Engine::Disk).unwrap(),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let (shop, row) = (shop(), [Value::Int(1)]);
        let table = table(&shop);
        let is_told = |error: &Error| match error {
            Error::Outdated(_) => number < 2,
            Error::Moved(_) => number == 2,
            _ => false,
        };
        let mut holder = shop.begin(Isolation::Snapshot);
        let left = table.get_locked(&mut holder, &row, Wait::No).unwrap().unwrap();
        assert_eq!(left.view().int(1).unwrap(), 9);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let mut waiter = shop.begin(Isolation::Snapshot);
                table.get_locked(&mut waiter, &row, Wait::Forever).map(drop)
            });
            shop.until_waiting(1);
            // Another table is no reason to end the wait.
            shop.db.keyspace("other", Engine::Memory).unwrap();
            shop.db.drop_keyspace("other").unwrap();
            assert_eq!(shop.locks().waiting, 1);
            change(&shop.db);
            let error = waiter.join().unwrap().unwrap_err();
            assert!(is_told(&error), "{number}: {error:?}");
        });
        assert_eq!((shop.locks().held, shop.locks().waiting), (1, 0));
        // What the holder decided on is gone too.
        holder.put(&shop.spaces[0], b"result", b"1").unwrap();
        let error = holder.commit().map(drop).unwrap_err();
        assert!(is_told(&error), "{number}: {error:?}");
        shop.assert_free();
    }
}

#[test]
fn rows_are_locked_updated_and_skipped() {
    let shop = shop();
    let table = table(&shop);
    let (row, missing) = ([Value::Int(1)], [Value::Int(2)]);
    let (mut one, mut two) = (shop.begin(Isolation::Snapshot), shop.begin(Isolation::Snapshot));
    assert!(table.try_lock(&mut one, &row).unwrap());
    assert!(!table.try_lock(&mut two, &row).unwrap());
    assert!(table.get_locked(&mut two, &missing, Wait::No).unwrap().is_none());
    assert!(table.set(&mut one, &row, &[(1, Value::Int(8))]).unwrap());
    drop(one.commit().unwrap());
    // Nothing but locks rests on the snapshot, so it moves on.
    assert!(table.try_lock(&mut two, &row).unwrap());
    assert_eq!(table.read(&mut two, &row, |row| row.int(1)).unwrap(), Some(8));
    table.insert(&mut two, &[Value::Int(2), Value::Int(8)]).unwrap();
    drop(two.commit().unwrap());
    let error = table.get_locked(&mut shop.begin(Isolation::Snapshot), &[Value::Bool(true)], Wait::No);
    assert!(matches!(error, Err(Error::Constraint(_))));
    shop.assert_free();
}

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
        while db.state().locks.waiting == 0 {
            std::thread::yield_now();
        }
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
    let shop = shop();
    let space = &shop.spaces[0];
    let usage = |outcome: gemel::Result<Option<Vec<u8>>>, says: &str| match outcome {
        Err(Error::Usage(text)) if text.contains(says) => {}
        other => panic!("{other:?} does not say {says:?}"),
    };
    let mut reader = shop.db.begin_read_only().unwrap();
    usage(reader.get_locked(space, b"k", Wait::Forever), "read-only");
    let mut transaction = shop.begin(Isolation::Snapshot);
    usage(transaction.get_locked(space, b"", Wait::No), "at least one byte");
    assert!(matches!(transaction.get_locked(space, &[0; 3000], Wait::No), Err(Error::Capacity(_))));
    usage(transaction.get_locked(&self::shop().spaces[0], b"k", Wait::No), "another database");
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

/// The callback of a ticket runs on the log's thread, for which the holder of the lock may wait.
#[test]
fn a_callback_does_not_wait_for_a_lock() {
    let shop = shop();
    loop {
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
        if thread != std::thread::current().id() {
            assert!(matches!(waits, Err(Error::Usage(text)) if text.contains("callback")));
            break;
        }
        waits.unwrap();
    }
}
