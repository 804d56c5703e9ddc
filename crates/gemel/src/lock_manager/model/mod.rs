//! A model check of the lock manager. It compiles the same files with a model checker's locks and atomics.
//!
//! The check verifies in every order: a lock has one holder; who has read a locked key can write it, and no update is
//! lost, whatever commits without the lock; a deadlock has one victim; every thread finishes, also if waits end early or
//! transactions are ended from outside; and at the end nobody holds or awaits a lock.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::duplicate_mod,
    reason = "the model uses a part of the files, with other locks"
)]

#[path = "../manager.rs"]
mod manager;
mod sync;
#[path = "../table.rs"]
mod table;

use crate::ids::KeyspaceId;
use crate::key::Key;
use crate::model_checker;
use manager::{LockManager, Requested, Waited};
use shuttle::sync::atomic::AtomicU64;
use shuttle::thread;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use table::Answer;

const FREE: u64 = 0;

fn place(key: u8) -> (KeyspaceId, Key) {
    (KeyspaceId(1), Key::new(&[key]))
}

/// The end of a request.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Granted,
    Deadlock,
    TimedOut,
    Ended,
}

/// Asks for a lock, and waits for it: with a deadline or without.
fn lock(locks: &LockManager, number: u64, key: u8, deadline: Option<Instant>) -> End {
    let place = place(key);
    let signal = match locks.request(number, 0, &place, true) {
        Requested::Granted => return End::Granted,
        Requested::Deadlock(cycle) => {
            assert_eq!(cycle[0], number);
            return End::Deadlock;
        }
        Requested::Waits(signal) => signal,
        Requested::Busy(_) | Requested::Closed => panic!("the request may wait, and nobody closes"),
    };
    loop {
        match locks.wait(number, &place, &signal, deadline) {
            Waited::Answer(Answer::Granted) => return End::Granted,
            Waited::Answer(Answer::Deadlock(cycle)) => {
                assert!(cycle[0] == number && cycle.len() > 1 && cycle.iter().all(|other| *other <= number));
                return End::Deadlock;
            }
            Waited::Answer(Answer::Ended) => return End::Ended,
            Waited::Answer(Answer::Look) => {}
            Waited::Answer(Answer::Closed) => panic!("nobody closes"),
            Waited::TimedOut(holder) => {
                assert_ne!(holder, number);
                return End::TimedOut;
            }
        }
    }
}

fn assert_free(locks: &LockManager) {
    let state = locks.state();
    assert_eq!((state.held, state.waiting), (0, 0));
}

/// A key in its engine: the owner of its lock there, and a number.
#[derive(Default)]
struct Cell {
    owner: AtomicU64,
    value: AtomicU64,
}

impl Cell {
    fn try_lock(&self, owner: u64) -> bool {
        self.owner.compare_exchange(FREE, owner, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    fn unlock(&self) {
        self.owner.store(FREE, Ordering::SeqCst);
    }
}

#[derive(Default)]
struct World {
    locks: LockManager,
    cell: Cell,
}

impl World {
    /// Adds one under the lock.
    fn add(&self, number: u64) {
        assert_eq!(lock(&self.locks, number, 0, None), End::Granted);
        // A commit that has not seen the lock.
        while self.cell.owner.load(Ordering::SeqCst) != FREE {
            thread::yield_now();
        }
        let value = self.cell.value.load(Ordering::SeqCst);
        thread::yield_now();
        // A commit that is about to give up.
        while !self.cell.try_lock(number) {
            thread::yield_now();
        }
        assert_eq!(self.cell.value.load(Ordering::SeqCst), value, "it was changed under the lock");
        self.cell.value.store(value + 1, Ordering::SeqCst);
        self.cell.unlock();
        self.locks.release(number, [&place(0)]);
    }

    /// Adds one without the lock, or gives up. Returns true if it has added one.
    fn add_without_lock(&self, number: u64) -> bool {
        let value = self.cell.value.load(Ordering::SeqCst);
        if !self.cell.try_lock(number) {
            return false;
        }
        sync::fence(Ordering::SeqCst);
        let key = Key::new(&[0]);
        let is_held = self.locks.are_held()
            && self.locks.first_held(number, std::iter::once((0, KeyspaceId(1), &key))).is_some();
        let adds = !is_held && self.cell.value.load(Ordering::SeqCst) == value;
        if adds {
            thread::yield_now();
            self.cell.value.store(value + 1, Ordering::SeqCst);
        }
        self.cell.unlock();
        adds
    }
}

#[test]
fn commits_without_a_lock_change_nothing_under_one() {
    model_checker::check(10_000, || {
        let world = Arc::new(World::default());
        let with_lock = [1, 2].map(|number| {
            let world = Arc::clone(&world);
            thread::spawn(move || world.add(number))
        });
        let without = [3, 4].map(|number| {
            let world = Arc::clone(&world);
            thread::spawn(move || u64::from(world.add_without_lock(number)))
        });
        with_lock.into_iter().for_each(|thread| thread.join().unwrap());
        let added: u64 = without.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!(world.cell.value.load(Ordering::SeqCst), 2 + added);
        assert_free(&world.locks);
    });
}

/// Transactions that lock keys one after the other, each in its own order, and release them. A victim gives up.
fn deadlocks(orders: &'static [&'static [u8]], most: u64) {
    model_checker::check(10_000, move || {
        let world = Arc::new((LockManager::default(), [const { AtomicU64::new(FREE) }; 3]));
        let threads: Vec<_> = (1..)
            .zip(orders)
            .map(|(number, order)| {
                let world = Arc::clone(&world);
                thread::spawn(move || {
                    let (locks, holders) = &*world;
                    let mut held = Vec::new();
                    let mut is_victim = false;
                    for key in *order {
                        match lock(locks, number, *key, None) {
                            End::Granted => {
                                let before = holders[usize::from(*key)].swap(number, Ordering::SeqCst);
                                assert_eq!(before, FREE, "two hold one lock");
                                held.push(*key);
                            }
                            End::Deadlock => {
                                is_victim = true;
                                break;
                            }
                            end => panic!("{end:?}"),
                        }
                    }
                    held.iter().for_each(|key| holders[usize::from(*key)].store(FREE, Ordering::SeqCst));
                    locks.release(number, &held.into_iter().map(place).collect::<Vec<_>>());
                    u64::from(is_victim)
                })
            })
            .collect();
        let victims: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!(world.0.state().deadlocks, victims);
        assert!(victims <= most, "{victims} victims");
        assert_free(&world.0);
    });
}

#[test]
fn a_deadlock_of_two_has_one_victim() {
    deadlocks(&[&[0, 1], &[1, 0]], 1);
}

#[test]
fn a_deadlock_of_three_has_one_victim() {
    deadlocks(&[&[0, 1], &[1, 2], &[2, 0]], 1);
}

#[test]
fn each_of_several_deadlocks_has_one_victim() {
    deadlocks(&[&[0, 1, 2], &[1, 0, 2], &[2, 1, 0]], 2);
}

/// Waits that end early, and transactions that are ended from outside, lose no lock and no signal.
#[test]
fn a_lock_is_passed_on_beside_waits_that_end() {
    model_checker::check(10_000, || {
        let locks = Arc::new(LockManager::default());
        assert_eq!(lock(&locks, 1, 0, None), End::Granted);
        let wait = |number, deadline| {
            let locks = Arc::clone(&locks);
            thread::spawn(move || {
                let end = lock(&locks, number, 0, deadline);
                locks.release(number, [&place(0)]);
                end
            })
        };
        let (short, ended, long) = (wait(2, Some(Instant::now())), wait(3, None), wait(4, None));
        let other = Arc::clone(&locks);
        let ends = thread::spawn(move || {
            other.look_again();
            other.end(3);
            // It may have asked only now.
            other.look_again();
        });
        locks.release(1, [&place(0)]);
        assert!([End::Granted, End::TimedOut].contains(&short.join().unwrap()));
        assert!([End::Granted, End::Ended].contains(&ended.join().unwrap()));
        assert_eq!(long.join().unwrap(), End::Granted);
        ends.join().unwrap();
        assert_free(&locks);
    });
}
