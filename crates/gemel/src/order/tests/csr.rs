//! Tests of the registry against its invariants.

use crate::order::clock::Timestamp;
use crate::order::csr::{Refused, Registry};
use proptest::prelude::*;

fn at(value: u64) -> Timestamp {
    Timestamp(value)
}

fn never() -> Timestamp {
    Timestamp::ZERO
}

#[test]
fn a_fresh_registry_selects_the_newest() {
    let registry = Registry::new(10, 10);
    assert_eq!(registry.select(at(5), at(40), never), Ok(at(40)));
}

#[test]
fn an_older_reader_never_sees_more_than_a_newer_one() {
    let registry = Registry::new(10, 10);
    assert_eq!(registry.select(at(9), at(40), never), Ok(at(40)));
    // The algorithm as printed in the thesis takes the largest candidate of the next key here.
    assert_eq!(registry.select(at(9), at(50), never), Ok(at(50)));
    assert_eq!(registry.select(at(7), at(60), never), Ok(at(40)));
}

#[test]
fn a_snapshot_before_a_commit_sees_none_of_it() {
    let registry = Registry::new(10, 10);
    registry.latch().admit(at(10), at(100)).unwrap();
    // The other engine has published its half already.
    assert_eq!(registry.select(at(9), at(120), never), Ok(at(99)));
}

#[test]
fn a_snapshot_after_a_commit_sees_all_of_it_and_waits_if_it_must() {
    let registry = Registry::new(10, 10);
    registry.latch().admit(at(10), at(100)).unwrap();
    assert_eq!(registry.select(at(10), at(90), never), Ok(at(100)));
}

/// The prototype kept at most 20 values for a key and overwrote the smallest one.
#[test]
fn the_registry_is_exact_for_any_number_of_snapshots_at_one_anchor_timestamp() {
    let registry = Registry::new(10, 1_000_000);
    for d in 40..140 {
        assert_eq!(registry.select(at(9), at(d), never), Ok(at(d)));
    }
    assert_eq!(registry.select(at(8), at(200), never), Ok(at(40)), "bounded by the smallest");
    assert_eq!(registry.least(at(10)), at(139), "and by the largest");
}

/// The prototype looked only at the chosen partition, so the first entry of a new one had no lower bound.
#[test]
fn bounds_hold_across_partitions() {
    let registry = Registry::new(1, 1_000_000);
    registry.latch().admit(at(10), at(100)).unwrap();
    registry.latch().admit(at(20), at(200)).unwrap();
    registry.latch().admit(at(30), at(300)).unwrap();
    assert_eq!(registry.state().partitions, 3);
    assert_eq!(registry.select(at(35), at(10), never), Ok(at(300)));
    assert_eq!(registry.select(at(15), at(400), never), Ok(at(199)));
    assert_eq!(registry.select(at(9), at(400), never), Ok(at(99)));
    assert_eq!(registry.latch().admit(at(40), at(250)), Err(Refused::Crossing));
}

#[test]
fn a_pair_for_a_closed_partition_is_rejected_and_counted() {
    let registry = Registry::new(2, 1_000_000);
    assert_eq!(registry.select(at(10), at(100), never), Ok(at(100)));
    assert_eq!(registry.select(at(20), at(200), never), Ok(at(200)));
    assert_eq!(registry.latch().admit(at(30), at(300)), Ok(()));
    // 250 lies between 200 and 299, so it would need an entry.
    assert_eq!(registry.select(at(25), at(250), never), Err(Refused::Closed));
    // At its upper bound a snapshot needs no entry, however old it is.
    assert_eq!(registry.select(at(15), at(250), never), Ok(at(200)));
    assert_eq!(registry.state().refused_closed, 1);
}

#[test]
fn crossing_commits_are_rejected() {
    let registry = Registry::new(10, 10);
    registry.latch().admit(at(10), at(100)).unwrap();
    assert_eq!(registry.latch().admit(at(9), at(101)), Err(Refused::Crossing));
    assert_eq!(registry.latch().admit(at(11), at(99)), Err(Refused::Crossing));
    assert_eq!(registry.latch().admit(at(11), at(101)), Ok(()));
    assert_eq!(registry.state().refused_crossing, 2);
}

#[test]
fn partitions_below_every_running_transaction_are_dropped_but_their_bound_stays() {
    let registry = Registry::new(1, 1);
    for k in 1..=5 {
        registry.latch().admit(at(k * 10), at(k * 100)).unwrap();
    }
    assert_eq!(registry.select(at(35), at(450), || at(35)), Ok(at(399)));
    assert_eq!(registry.state().partitions, 3, "those at 30, 40 and 50 are needed");
    assert_eq!(registry.select(at(60), at(450), || at(60)), Ok(at(500)));
    assert_eq!(registry.state().recycled, 4);
}

/// A reader may be late: others that came after it have brought newer horizons.
#[test]
fn a_horizon_read_long_ago_does_not_set_a_snapshot_behind_an_older_one() {
    let registry = Registry::new(10, 10);
    assert_eq!(registry.select(at(9), at(7), never), Ok(at(7)));
    assert_eq!(registry.select(at(5), at(7), never), Ok(at(7)));
    assert_eq!(registry.select(at(7), at(3), never), Ok(at(7)), "between two snapshots at 7");
}

#[derive(Clone, Debug)]
enum Step {
    Commit,
    CommitAnchor,
    CommitOther,
    /// Begins a transaction, which selects later.
    Begin,
    /// Reads the horizon for the i-th transaction that has begun.
    ReadHorizon(usize),
    /// Selects for the i-th transaction that has begun.
    Select(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        Just(Step::Commit),
        Just(Step::CommitAnchor),
        Just(Step::CommitOther),
        Just(Step::Begin),
        any::<usize>().prop_map(Step::ReadHorizon),
        any::<usize>().prop_map(Step::Select),
    ]
}

proptest! {
    /// Runs any order of commits and selections, over partitions of any capacity.
    #[test]
    fn snapshots_stay_monotone_and_no_commit_is_split(
        steps in proptest::collection::vec(step(), 1..200), capacity in 1_usize..6, recycle in 1_u64..6,
    ) {
        let registry = Registry::new(capacity, recycle);
        let (mut a, mut d) = (1, 1);
        // The anchor snapshot, and the horizon of the other engine once it is read.
        let mut waiting: Vec<(u64, Option<u64>)> = Vec::new();
        let mut selected: Vec<(u64, u64)> = Vec::new();
        let mut commits: Vec<(u64, u64)> = Vec::new();
        for step in steps {
            match step {
                Step::Commit => {
                    a += 1;
                    d += 1;
                    let mut latch = registry.latch();
                    prop_assert_eq!(latch.admit(at(a), at(d)), Ok(()), "timestamps drawn together never cross");
                    latch.recycle(|| at(waiting.iter().map(|(s, _)| *s).chain([a - 1]).min().unwrap()));
                    commits.push((a, d));
                }
                Step::CommitAnchor => a += 1,
                Step::CommitOther => d += 1,
                Step::Begin => waiting.push((a, None)),
                Step::ReadHorizon(index) if !waiting.is_empty() => {
                    let index = index % waiting.len();
                    waiting[index].1.get_or_insert(d);
                }
                Step::Select(index) if !waiting.is_empty() => {
                    let (s, horizon) = waiting.swap_remove(index % waiting.len());
                    let oldest = waiting.iter().map(|(s, _)| *s).chain([s]).min().unwrap();
                    if let Ok(choice) = registry.select(at(s), at(horizon.unwrap_or(d)), || at(oldest)) {
                        prop_assert!(choice.0 <= d);
                        selected.push((s, choice.0));
                    }
                }
                Step::ReadHorizon(_) | Step::Select(_) => {}
            }
        }
        for &(s, x) in &selected {
            for &(t, y) in &selected {
                prop_assert!(s >= t || x <= y, "({s}, {x}) and ({t}, {y})");
            }
            for &(c, e) in &commits {
                prop_assert!((s >= c) == (x >= e), "snapshot ({s}, {x}) splits commit ({c}, {e})");
            }
        }
    }
}
