//! A model check of the tree. It compiles the same files with a model checker's locks and atomics, and with nodes of a
//! few entries. Threads add, remove, look up and scan, and the checker runs them in many orders of their steps.
//!
//! The check verifies in every order: every look-up and every scan finds the keys that never change; no scan returns a
//! key twice, out of order, out of its range, or one that nobody added; a key has the value of the thread that added it
//! last; nobody reaches a node that may have been freed; no node is freed twice; and at the end the tree has the right
//! content.
//!
//! The checker knows one order of all steps only. The code argues at each place that release and acquire suffice.

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

use crate::ids::Direction;
use crate::key::{Key, KeyRange};
use crate::model_checker;
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

/// Returns the keys of a range with an included lower and an excluded upper bound.
fn scanned(tree: &Tree<u32>, from: u8, to: u8, direction: Direction) -> Vec<u8> {
    let range = KeyRange { lower: Bound::Included(key(from)), upper: Bound::Excluded(key(to)) };
    let mut found = Vec::new();
    let _ = tree.scan(
        &range,
        direction,
        |_| (),
        |key, _| {
            found.push(number(key));
            ControlFlow::Continue(())
        },
    );
    if direction == Direction::Backward {
        found.reverse();
    }
    assert!(found.is_sorted_by(|a, b| a < b), "keys come twice or out of order: {found:?}");
    assert!(found.iter().all(|n| (from..to).contains(n)), "keys outside of {from}..{to}: {found:?}");
    found
}

/// The work of a thread.
type Work = Box<dyn FnOnce(&Tree<u32>) + Send>;

/// Multiples of this are there from the beginning and never change.
const STEP: u8 = 10;

/// Runs one thread that adds and removes keys, one that adds and removes ascending keys after the others, two that add
/// the same key, and one that looks for the keys that never change, in both directions.
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
        // Two threads add the same key. One of them makes its value.
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

/// Runs two threads that fill and empty neighbouring leaves, while the main thread scans. The leaves are split, merged,
/// and dropped, so their keys become those of the neighbour.
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

fn check(scene: impl Fn() + Copy + Send + Sync + 'static) {
    model_checker::check(50_000, scene);
}

#[test]
fn no_key_is_missed_while_leaves_are_split_and_merged() {
    check(|| scene(5, &[11, 12, 13, 14, 31, 21], 6));
}

#[test]
fn no_key_is_missed_while_leaves_are_emptied_and_dropped() {
    check(|| scene(2, &[1, 2, 3, 4, 6, 7, 8, 9], 8));
}

#[test]
fn no_key_is_missed_or_seen_twice_while_neighbours_take_over_keys() {
    check(neighbours);
}
