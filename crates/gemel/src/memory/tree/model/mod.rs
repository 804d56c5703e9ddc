//! A model check of the tree: the very same files, compiled with a model checker's locks and atomics and with nodes of a
//! few entries, run in many orders of their steps by threads that add, remove, look up and scan.
//!
//! Checked in every order: keys that never change are found by every look-up and every scan; no scan hands out a key
//! twice, out of order, or out of its range, or one that nobody added; a key has the value of the last who added it; nobody reaches
//! a node that may have been freed, and no node is freed twice; and at the end the tree holds what it should.
//!
//! The checker knows one order of all steps only: that release and acquire suffice is argued where they are.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::duplicate_mod,
    reason = "the model uses a part of the files, with other locks"
)]

#[path = "../inner.rs"]
mod inner;
#[path = "../leaf.rs"]
mod leaf;
#[path = "../root.rs"]
mod root;
mod sync;

use crate::engine::Direction;
use crate::key::{Key, KeyRange};
use root::Tree;
use shuttle::thread;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

fn key(n: u8) -> Key {
    Key::new(&[n])
}

fn number(key: &Key) -> u8 {
    key.to_vec()[0]
}

/// The keys of a range, given as included and excluded.
fn scanned(tree: &Tree<u32>, from: u8, to: u8, direction: Direction) -> Vec<u8> {
    let range = KeyRange { lower: Bound::Included(key(from)), upper: Bound::Excluded(key(to)) };
    let mut found = Vec::new();
    let _ = tree.scan(&range, direction, |key, _| {
        found.push(number(key));
        ControlFlow::Continue(())
    });
    if direction == Direction::Backward {
        found.reverse();
    }
    assert!(found.is_sorted_by(|a, b| a < b), "keys come twice or out of order: {found:?}");
    assert!(found.iter().all(|n| (from..to).contains(n)), "keys outside of {from}..{to}: {found:?}");
    found
}

/// What a thread does.
type Work = Box<dyn FnOnce(&Tree<u32>) + Send>;

/// A multiple of this is there from the beginning and never changes.
const STEP: u8 = 10;

/// One thread adds and removes keys, one keys behind them in their order, one looks for those that never change, in one
/// direction and the other.
fn scene(stable: u8, churn: &'static [u8], ascending: u8) {
    sync::begin();
    let tree = Arc::new(Tree::<u32>::default());
    for n in 0..stable {
        tree.get_or_insert(&key(n * STEP), || 0);
    }
    let run = |work: Work| {
        let tree = Arc::clone(&tree);
        thread::spawn(move || work(&tree))
    };
    let last = (stable - 1) * STEP;
    let threads = [
        run(Box::new(move |tree| {
            for &n in churn {
                let (value, new) = tree.get_or_insert(&key(n), || 1);
                assert!(new && value == 1, "{n} was there");
            }
            for &n in churn {
                assert_eq!(tree.get(&key(n), |value| *value), Some(1), "{n} is gone");
                tree.remove(&key(n), |value| *value == 2);
                tree.remove(&key(n), |value| *value == 1);
                assert_eq!(tree.get(&key(n), |value| *value), None, "{n} is still there");
            }
        })),
        run(Box::new(move |tree| {
            for n in 1..=ascending {
                assert!(tree.get_or_insert(&key(last + n), || 2).1);
            }
            for n in 1..ascending {
                tree.remove(&key(last + n), |_| true);
            }
        })),
        run(Box::new(move |tree| {
            for direction in [Direction::Forward, Direction::Backward] {
                let mut found = scanned(tree, 0, u8::MAX, direction);
                found.retain(|n| !churn.contains(n) && *n != 5 && *n <= last);
                let expected: Vec<u8> = (0..stable).map(|n| n * STEP).collect();
                assert_eq!(found, expected, "keys that never change");
            }
            for n in 0..stable {
                assert_eq!(tree.get(&key(n * STEP), |value| *value), Some(0));
            }
        })),
        // Two that add the same key: one of them makes its value.
        run(Box::new(move |tree| {
            let (value, new) = tree.get_or_insert(&key(5), || 3);
            assert!(new || value == 4);
            tree.remove(&key(5), |value| *value == 3);
        })),
        run(Box::new(move |tree| {
            let (value, new) = tree.get_or_insert(&key(5), || 4);
            assert!(new || value == 3);
            tree.remove(&key(5), |value| *value == 4);
        })),
    ];
    for thread in threads {
        thread.join().unwrap();
    }
    let mut expected: Vec<u8> = (0..stable).map(|n| n * STEP).collect();
    expected.extend((ascending > 0).then_some(last + ascending));
    for direction in [Direction::Forward, Direction::Backward] {
        assert_eq!(scanned(&tree, 0, u8::MAX, direction), expected);
    }
}

/// Two threads fill and empty neighbouring leaves, so that these are split, merged, and dropped to be the neighbour's, while
/// a third scans.
fn neighbours() {
    sync::begin();
    let tree = Arc::new(Tree::<u32>::default());
    let stable = [0, 20];
    for n in stable {
        tree.get_or_insert(&key(n), || 0);
    }
    let cycle = |from: u8| {
        let tree = Arc::clone(&tree);
        thread::spawn(move || {
            for last in [4, 1, 3] {
                let keys = from..from + last;
                for n in keys.clone() {
                    assert!(tree.get_or_insert(&key(n), || 1).1, "{n} was there");
                }
                for n in keys {
                    assert_eq!(tree.get(&key(n), |value| *value), Some(1), "{n} is gone");
                    tree.remove(&key(n), |_| true);
                }
            }
        })
    };
    let threads = [cycle(1), cycle(11)];
    for direction in [Direction::Forward, Direction::Backward, Direction::Forward, Direction::Backward] {
        let found = scanned(&tree, 0, u8::MAX, direction);
        assert!(stable.iter().all(|n| found.contains(n)), "keys that never change: {found:?}");
    }
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(scanned(&tree, 0, u8::MAX, Direction::Forward), stable);
}

/// How many orders are tried; `GEMEL_MODEL` says another number.
fn orders() -> usize {
    std::env::var("GEMEL_MODEL").ok().and_then(|count| count.parse().ok()).unwrap_or(5000)
}

fn check(scene: impl Fn() + Copy + Send + Sync + 'static) {
    let mut config = shuttle::Config::new();
    config.max_steps = shuttle::MaxSteps::FailAfter(50_000);
    let random = shuttle::scheduler::RandomScheduler::new(orders());
    shuttle::Runner::new(random, config.clone()).run(scene);
    let by_priority = shuttle::scheduler::PctScheduler::new(4, orders());
    shuttle::Runner::new(by_priority, config).run(scene);
}

#[test]
fn nothing_is_missed_while_leaves_are_split_and_merged() {
    check(|| scene(5, &[11, 12, 13, 14, 31, 21], 6));
}

#[test]
fn nothing_is_missed_while_leaves_are_emptied_and_dropped() {
    check(|| scene(2, &[1, 2, 3, 4, 6, 7, 8, 9], 8));
}

#[test]
fn nothing_is_missed_or_seen_twice_while_neighbours_take_each_others_keys() {
    check(neighbours);
}
