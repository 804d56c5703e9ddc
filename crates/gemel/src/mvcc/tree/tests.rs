//! Tests of the tree through its interface.

use super::Tree;
use super::sync::{FANOUT, SLOTS};
use crate::ids::Direction;
use crate::key::{Key, KeyRange};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

fn key(n: u64) -> Key {
    Key::new(&n.to_be_bytes())
}

fn number(key: &Key) -> u64 {
    u64::from_be_bytes(key.to_vec().try_into().unwrap())
}

fn scanned(tree: &Tree<u64>, lower: Bound<u64>, upper: Bound<u64>, direction: Direction) -> Vec<u64> {
    let range = KeyRange { lower: lower.map(key), upper: upper.map(key) };
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
    found
}

#[test]
fn a_key_keeps_its_first_value_until_that_one_is_removed() {
    let tree = Tree::default();
    assert_eq!(tree.get_or_insert(&key(1), || 1), (1, true));
    assert_eq!(tree.get_or_insert(&key(1), || 2), (1, false));
    tree.remove(&key(1), |value| *value == 2);
    assert_eq!(tree.get(&key(1), |value| *value), Some(1));
    tree.remove(&key(1), |value| *value == 1);
    assert_eq!(tree.get(&key(1), |value| *value), None);
    assert_eq!(tree.get_or_insert(&key(1), || 2), (2, true));
}

#[test]
fn a_look_up_of_many_keys_finds_those_that_exist() {
    let tree = Tree::default();
    for n in 0..1000 {
        tree.get_or_insert(&key(n * 2), || n * 2);
    }
    let keys: Vec<Key> = (0..100).map(|n| key(n * 21)).collect();
    let mut found = Vec::new();
    tree.get_each(&keys, |values| found.extend(values.iter().map(|(number, value)| (*number, **value))));
    let all = (0..100).map(|n| (n as usize, n * 21));
    let expected: Vec<(usize, u64)> = all.filter(|(_, key)| key % 2 == 0 && *key < 2000).collect();
    assert_eq!(found, expected);
    tree.get_each(&[], |values| assert!(values.is_empty()));
}

#[test]
fn scans_keep_to_their_bounds_in_both_directions() {
    use Bound::{Excluded, Included, Unbounded};
    let tree = Tree::<u64>::default();
    assert!(scanned(&tree, Unbounded, Unbounded, Direction::Backward).is_empty());
    for n in 0..100 {
        tree.get_or_insert(&key(n * 10), || n);
    }
    let bounds = [
        Unbounded,
        Included(0),
        Excluded(0),
        Included(200),
        Excluded(200),
        Included(205),
        Excluded(990),
        Included(2000),
    ];
    for lower in bounds {
        for upper in bounds {
            let mut expected: Vec<u64> = (0..100)
                .map(|n| n * 10)
                .filter(|n| KeyRange { lower: lower.map(key), upper: upper.map(key) }.contains(&key(*n)))
                .collect();
            assert_eq!(scanned(&tree, lower, upper, Direction::Forward), expected, "{lower:?} {upper:?}");
            expected.reverse();
            assert_eq!(scanned(&tree, lower, upper, Direction::Backward), expected, "{lower:?} {upper:?}");
        }
    }
}

/// Orders of several districts are such keys: each district has its own end.
#[test]
fn keys_that_come_in_order_at_several_places_fill_the_nodes() {
    const PLACES: u64 = 10;
    const KEYS: u64 = if cfg!(miri) { 100 } else { 5_000 };
    let tree = Tree::default();
    for n in 0..KEYS {
        for place in 0..PLACES {
            tree.get_or_insert(&key(place << 32 | n), || n);
        }
    }
    let (leaves, parents) = tree.nodes();
    let (entries, places) = ((PLACES * KEYS) as usize, PLACES as usize);
    // At each place there may be two nodes that are not full, and the last one.
    assert!(leaves <= entries / SLOTS + 2 * places, "{leaves} leaves of {entries} entries");
    assert!(parents <= leaves / FANOUT + 2 * places, "{parents} parents of {leaves} leaves");
}

/// Three threads insert and remove keys between keys that never change, while two scan. An index library that is fast
/// and well maintained loses keys in this test.
#[test]
fn keys_that_never_change_are_seen_by_every_scan_beside_churning_writers() {
    const STABLE: u64 = if cfg!(miri) { 120 } else { 2_000 };
    const STEP: u64 = 8;
    let tree = Tree::<u64>::default();
    for n in 0..STABLE {
        tree.get_or_insert(&key(n * STEP), || n);
    }
    let (done, scans) = (AtomicBool::new(false), AtomicU64::new(0));
    let random = |state: &mut u64| {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *state >> 33
    };
    std::thread::scope(|scope| {
        for writer in 1..=3 {
            let (tree, done) = (&tree, &done);
            scope.spawn(move || {
                let mut state = writer;
                while !done.load(Ordering::Relaxed) {
                    // Each writer has keys of its own, so nobody else removes them.
                    let from = random(&mut state) % STABLE;
                    let keys: Vec<_> =
                        (from..(from + 40).min(STABLE)).map(|n| key(n * STEP + writer)).collect();
                    let made: Vec<_> = keys.iter().map(|key| tree.get_or_insert(key, || writer)).collect();
                    for (key, made) in keys.iter().zip(made) {
                        assert_eq!((made, tree.get(key, |value| *value)), ((writer, true), Some(writer)));
                        tree.remove(key, |value| *value == writer);
                        assert!(tree.get(key, |_| ()).is_none());
                    }
                }
            });
        }
        for scanner in 1..=2 {
            let (tree, done, scans) = (&tree, &done, &scans);
            scope.spawn(move || {
                let mut state = scanner * 77;
                while !done.load(Ordering::Relaxed) {
                    let from = random(&mut state) % (STABLE - 100);
                    let (lower, upper) = (from * STEP + random(&mut state) % STEP, (from + 99) * STEP);
                    let direction =
                        if from.is_multiple_of(2) { Direction::Forward } else { Direction::Backward };
                    let mut found = scanned(tree, Bound::Included(lower), Bound::Excluded(upper), direction);
                    if direction == Direction::Backward {
                        found.reverse();
                    }
                    assert!(found.is_sorted_by(|a, b| a < b), "out of order: {found:?}");
                    assert!(found.iter().all(|n| (lower..upper).contains(n)), "out of bounds: {found:?}");
                    found.retain(|n| n % STEP == 0);
                    let expected: Vec<u64> =
                        (lower.next_multiple_of(STEP)..upper).step_by(STEP as usize).collect();
                    assert_eq!(found, expected, "a key that never changed was missed");
                    assert!(tree.get(&key(from * STEP), |_| ()).is_some());
                    scans.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let end = Instant::now() + Duration::from_secs(if cfg!(miri) { 60 } else { 2 });
        while Instant::now() < end && scans.load(Ordering::Relaxed) < if cfg!(miri) { 10 } else { 100_000 } {
            std::thread::sleep(Duration::from_millis(10));
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(scans.into_inner() > if cfg!(miri) { 3 } else { 100 });
}

/// A key of a small alphabet. Keys may be prefixes of each other, or equal in the first 16 bytes.
fn any_key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(0_u8..3, 1..4),
        (0_u16..400).prop_map(|n| n.to_be_bytes().to_vec()),
        (0_u16..200).prop_map(|n| [&[7; 30][..], &n.to_be_bytes()].concat()),
    ]
}

#[derive(Clone, Debug)]
enum Step {
    Insert(Vec<u8>),
    Remove(Vec<u8>),
    /// Removes a range of keys.
    Clear(Vec<u8>, Vec<u8>),
    Scan(Bound<Vec<u8>>, Bound<Vec<u8>>, bool),
}

fn any_bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
    prop_oneof![
        Just(Bound::Unbounded),
        any_key().prop_map(Bound::Included),
        any_key().prop_map(Bound::Excluded),
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => any_key().prop_map(Step::Insert),
        10 => any_key().prop_map(Step::Remove),
        1 => (any_key(), any_key()).prop_map(|(a, b)| Step::Clear(a.clone().min(b.clone()), a.max(b))),
        3 => (any_bound(), any_bound(), any::<bool>()).prop_map(|(lower, upper, back)| Step::Scan(lower, upper, back)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 3 } else { 64 }, ..ProptestConfig::default() })]
    #[test]
    fn the_tree_behaves_like_a_sorted_map(steps in proptest::collection::vec(any_step(), 0..if cfg!(miri) { 200 } else { 3000 })) {
        let tree = Tree::default();
        let mut map = BTreeMap::new();
        for (n, step) in steps.into_iter().enumerate() {
            match step {
                Step::Insert(bytes) => {
                    let new = !map.contains_key(&bytes);
                    let value = *map.entry(bytes.clone()).or_insert(n);
                    prop_assert_eq!(tree.get_or_insert(&Key::new(&bytes), || n), (value, new));
                }
                Step::Remove(bytes) => {
                    prop_assert_eq!(tree.get(&Key::new(&bytes), |value| *value), map.remove(&bytes));
                    tree.remove(&Key::new(&bytes), |_| true);
                }
                Step::Clear(from, to) => {
                    for (bytes, _) in map.extract_if(from..to, |_, _| true) {
                        tree.remove(&Key::new(&bytes), |_| true);
                    }
                }
                Step::Scan(lower, upper, back) => {
                    let bound = |bound: &Bound<Vec<u8>>| bound.as_ref().map(|bytes| Key::new(bytes));
                    let range = KeyRange { lower: bound(&lower), upper: bound(&upper) };
                    let direction = if back { Direction::Backward } else { Direction::Forward };
                    let mut found = Vec::new();
                    let _ = tree.scan(&range, direction, |_| (), |key, value| {
                        found.push((key.to_vec(), *value));
                        ControlFlow::Continue(())
                    });
                    let mut expected: Vec<_> = map
                        .iter()
                        .filter(|(bytes, _)| range.contains(&Key::new(bytes)))
                        .map(|(bytes, value)| (bytes.clone(), *value))
                        .collect();
                    if back {
                        expected.reverse();
                    }
                    prop_assert_eq!(found, expected);
                }
            }
        }
    }
}
