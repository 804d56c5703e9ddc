//! Tests of chains of versions, and of records. Miri runs them too.

use crate::mvcc::hidden::Hidden;
use crate::mvcc::record::{Attempt, MOST_HANDLES, RecordRef, UNCOUNTED};
use crate::mvcc::sync::Pin;
use crate::mvcc::version::{Chain, Cut, Draft, Retired, Seen, version_bytes};
use crate::order::clock::Timestamp;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Fewer rounds under Miri, which checks every access.
const ROUNDS: u64 = if cfg!(miri) { 50 } else { 50_000 };

fn chain(timestamps: impl IntoIterator<Item = u64>) -> Chain {
    let chain = Chain::default();
    for timestamp in timestamps {
        chain.push(Timestamp(timestamp), Some(format!("v{timestamp}").as_str().into()));
    }
    chain
}

#[test]
fn a_reader_gets_the_newest_version_at_or_before_its_snapshot() {
    let chain = chain([2, 4]);
    chain.push(Timestamp(6), None);
    chain.push(Timestamp(8), Some(b"".into()));
    let pin = Pin::new();
    let value = |at| chain.at(Timestamp(at), &pin).map(|seen| (seen.timestamp.0, seen.value));
    assert_eq!(value(1), None);
    assert_eq!(value(2), Some((2, Some(&b"v2"[..]))));
    assert_eq!(value(5), Some((4, Some(&b"v4"[..]))));
    assert_eq!(value(7), Some((6, None)));
    assert_eq!(value(8), Some((8, Some(&b""[..]))));
    assert_eq!(chain.newest(&pin).unwrap().timestamp, Timestamp(8));
}

fn cut(chain: &Chain, watermark: u64) -> Cut {
    chain.cut(Timestamp(watermark), &Pin::new(), &mut Retired::new(&Arc::default()))
}

fn clear(chain: &Chain) -> Cut {
    chain.clear(&mut Retired::new(&Arc::default()))
}

#[test]
fn a_cut_keeps_the_version_that_a_snapshot_at_the_watermark_sees() {
    let chain = chain([2, 4, 6]);
    let pin = Pin::new();
    assert_eq!(cut(&chain, 1), Cut::default());
    assert_eq!(cut(&chain, 3), Cut::default());
    assert_eq!(cut(&chain, 5), Cut { versions: 1, bytes: version_bytes(2) });
    assert_eq!(chain.at(Timestamp(5), &pin).unwrap().timestamp, Timestamp(4));
    assert_eq!(chain.at(Timestamp(3), &pin), None);
    assert_eq!(clear(&chain).versions, 2);
    assert!(chain.is_empty());
}

#[test]
fn a_version_outlives_its_cut_while_a_reader_holds_it() {
    let chain = chain([1]);
    let pin = Pin::new();
    let seen = chain.newest(&pin).unwrap();
    for timestamp in 2..100 {
        // If the version had been freed, one of these would overwrite it.
        chain.push(Timestamp(timestamp), Some(b"xx".into()));
        assert_eq!(cut(&chain, timestamp).versions, 1);
    }
    assert_eq!(seen.value, Some(&b"v1"[..]));
}

#[test]
fn a_draft_is_a_value_of_its_own_until_a_chain_takes_it() {
    let long = vec![5_u8; 100_000];
    for value in [&b""[..], b"v", &long] {
        let draft = Draft::from(value);
        let copy = draft.clone();
        assert_eq!((&*draft, &*copy), (value, value));
        let chain = chain([1]);
        chain.push(Timestamp(2), Some(draft));
        drop(copy);
        assert_eq!(chain.newest(&Pin::new()).unwrap(), Seen { timestamp: Timestamp(2), value: Some(value) });
    }
}

/// Most rows have one version, and most of these are made without a link to an older one.
#[test]
fn a_chain_takes_values_that_were_made_for_a_new_key_and_others_in_any_order() {
    let long = vec![5_u8; 100_000];
    for value in [&b""[..], b"v", b"four", b"five5", &long] {
        for linked in [[false, false, false], [false, true, false], [true, false, true]] {
            let chain = Chain::default();
            for (at, linked) in (1..).zip(linked) {
                let mut draft = if linked { Draft::from(value) } else { Draft::first(value) };
                if at == 2 {
                    draft.follow(&chain, &Pin::new());
                    draft = draft.clone();
                }
                chain.push(Timestamp(at), Some(draft));
            }
            let pin = Pin::new();
            let seen: Vec<_> = chain.versions(&pin).collect();
            let expected = [3, 2, 1].map(|at| Seen { timestamp: Timestamp(at), value: Some(value) });
            assert_eq!(seen, expected);
            assert_eq!(cut(&chain, 2).versions, 1);
            assert_eq!(cut(&chain, 3), Cut { versions: 1, bytes: version_bytes(value.len()) });
            assert_eq!(cut(&chain, 3), Cut::default());
            assert_eq!(chain.newest(&pin).unwrap().value, Some(value));
        }
    }
}

#[test]
fn a_row_that_changed_a_few_times_takes_no_more_memory_than_a_new_one() {
    const CHANGES: u64 = 3;
    for (len, classes) in [(0, [16, 32]), (4, [16, 32]), (49, [64, 80]), (292, [320, 320]), (501, [640, 640])]
    {
        let value = vec![7; len];
        let (chain, pin) = (Chain::default(), Pin::new());
        chain.push(Timestamp(1), Some(Draft::first(&value)));
        assert_eq!(chain.allocated(&pin), classes[0], "{len}");
        for at in 2..10 {
            let mut draft = Draft::from(&value);
            draft.follow(&chain, &pin);
            chain.push(Timestamp(at), Some(draft));
            // A snapshot before it keeps the older version.
            assert_eq!(cut(&chain, at - 1), Cut::default());
            assert_eq!(chain.versions(&pin).count(), 2);
            assert_eq!(cut(&chain, at), Cut { versions: 1, bytes: version_bytes(len) });
            // A row that changes more often will need the link again.
            let is_trimmed = at <= CHANGES + 1;
            assert_eq!(chain.allocated(&pin), classes[usize::from(!is_trimmed)], "{len} at {at}");
            assert_eq!(chain.newest(&pin), Some(Seen { timestamp: Timestamp(at), value: Some(&value) }));
        }
        // A tombstone is removed soon.
        chain.push(Timestamp(10), None);
        cut(&chain, 10);
        assert_eq!(chain.allocated(&pin), 32);
    }
}

#[test]
fn a_single_version_without_a_link_is_cut_taken_back_and_followed_by_a_tombstone() {
    let chain = Chain::default();
    chain.push(Timestamp(2), Some(Draft::first(b"one")));
    let pin = Pin::new();
    assert_eq!(cut(&chain, 5), Cut::default());
    assert_eq!(chain.at(Timestamp(1), &pin), None);
    let hidden = Hidden::new();
    chain.push_hidden(hidden.mark, Some(Draft::first(b"two")));
    let counters = Arc::default();
    let draft = chain.take_back(&pin, &mut Retired::new(&counters));
    assert_eq!(draft.as_deref(), Some(&b"two"[..]));
    // SAFETY: the version with the mark is gone.
    drop(unsafe { hidden.free() });
    assert_eq!(chain.newest(&pin).unwrap().value, Some(&b"one"[..]));
    chain.push(Timestamp(4), None);
    assert_eq!(chain.newest(&pin), Some(Seen { timestamp: Timestamp(4), value: None }));
    assert_eq!(clear(&chain).versions, 2);

    let hidden = Hidden::new();
    chain.push_hidden(hidden.mark, Some(Draft::first(b"new")));
    assert_eq!(chain.take_back(&pin, &mut Retired::new(&counters)).as_deref(), Some(&b"new"[..]));
    assert!(chain.is_empty());
    // SAFETY: same as above.
    drop(unsafe { hidden.free() });
}

#[test]
fn readers_cutters_and_a_writer_can_run_at_once() {
    let chain = chain([1]);
    let done = AtomicBool::new(false);
    let newest = AtomicU64::new(1);
    let (mut cut, counters) = (0, Arc::default());
    std::thread::scope(|scope| {
        let cutter = || {
            let mut cut = 0;
            while !done.load(Ordering::Relaxed) {
                let mut retired = Retired::new(&counters);
                // A thread may pass on versions that it cut off under several pins.
                for _ in 0..3 {
                    let pin = Pin::new();
                    let newest = Timestamp(newest.load(Ordering::Acquire));
                    cut += chain.cut(newest, &pin, &mut retired).versions;
                }
            }
            cut
        };
        let cutters = [scope.spawn(cutter), scope.spawn(cutter)];
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let pin = Pin::new();
                let seen = chain.newest(&pin).unwrap();
                assert_eq!(seen.value, Some(format!("v{}", seen.timestamp).as_bytes()));
            }
        });
        for timestamp in 2..ROUNDS {
            let value = format!("v{timestamp}");
            // Others cut all older versions meanwhile, so the chain has one version now and then.
            let draft =
                if timestamp % 2 == 0 { Draft::first(value.as_bytes()) } else { value.as_str().into() };
            chain.push(Timestamp(timestamp), Some(draft));
            newest.store(timestamp, Ordering::Release);
        }
        done.store(true, Ordering::Relaxed);
        for cutter in cutters {
            cut += cutter.join().unwrap();
        }
    });
    let left = clear(&chain).versions;
    assert_eq!(cut + left, ROUNDS - 1, "every version is cut off once");
}

#[test]
fn hidden_versions_are_seen_all_at_once() {
    let chains = [chain([1]), chain([1])];
    let horizon = AtomicU64::new(1);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut at = 1;
                while at < ROUNDS {
                    at = horizon.load(Ordering::Acquire);
                    let pin = Pin::new();
                    for chain in &chains {
                        let seen = chain.at(Timestamp(at), &pin).unwrap();
                        assert_eq!(seen.value, Some(format!("v{at}").as_bytes()));
                        assert_eq!(seen.timestamp, Timestamp(at));
                    }
                }
            });
        }
        for at in 2..=ROUNDS {
            let hidden = Hidden::new();
            for chain in &chains {
                chain.push_hidden(hidden.mark, Some(format!("v{at}").as_str().into()));
                let pin = Pin::new();
                assert_eq!(chain.newest(&pin).unwrap().timestamp, Timestamp(at - 1));
            }
            hidden.reveal(Timestamp(at));
            horizon.store(at, Ordering::Release);
            chains.iter().for_each(|chain| chain.settle(Timestamp(at), &Pin::new()));
            // SAFETY: each version has its timestamp now.
            drop(unsafe { hidden.free() });
        }
    });
    assert_eq!(chains.map(|chain| clear(&chain).versions), [ROUNDS, ROUNDS]);
}

#[test]
fn hidden_versions_that_are_taken_back_leave_the_older_ones() {
    let counters = Arc::default();
    let (chain, hidden) = (chain([1, 2]), Hidden::new());
    chain.push_hidden(hidden.mark, None);
    assert!(chain.take_back(&Pin::new(), &mut Retired::new(&counters)).is_none());
    chain.push_hidden(hidden.mark, Some(b"new".into()));
    let value = chain.take_back(&Pin::new(), &mut Retired::new(&counters));
    assert_eq!(value.as_deref(), Some(&b"new"[..]));
    assert_eq!(chain.newest(&Pin::new()).unwrap().timestamp, Timestamp(2));
    assert_eq!(clear(&chain).versions, 2);
    // SAFETY: both versions were taken back.
    drop(unsafe { hidden.free() });
}

#[test]
fn a_record_with_more_handles_than_fit_its_count_is_never_freed() {
    let record = RecordRef::locked(1);
    record.versions.push(Timestamp(1), Some(b"v1".into()));
    let count = || record.handles().load(Ordering::Relaxed);
    assert_eq!(count(), 1);
    record.handles().store(MOST_HANDLES - 1, Ordering::Relaxed);
    let last = record.clone();
    drop(last);
    assert_eq!(count(), MOST_HANDLES - 1, "so many are counted");
    let many = [(); 3].map(|()| record.clone());
    assert_eq!(count(), UNCOUNTED);
    drop(many);
    drop(record.clone());
    assert_eq!(count(), UNCOUNTED);
    record.handles().store(1, Ordering::Relaxed);
}

#[test]
fn handles_of_a_record_come_and_go_on_several_threads() {
    for _ in 0..ROUNDS.min(2_000) {
        let record = RecordRef::locked(1);
        record.versions.push(Timestamp(1), Some(b"v1".into()));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                let copy = record.clone();
                scope.spawn(move || {
                    let another = copy.clone();
                    drop(copy);
                    assert_eq!(another.versions.newest(&Pin::new()).unwrap().value, Some(&b"v1"[..]));
                });
            }
            drop(record);
        });
    }
}

#[test]
fn a_dead_record_is_never_locked_again() {
    let record = RecordRef::locked(1);
    assert_eq!(record.try_lock(2), Attempt::Busy);
    assert_eq!(record.try_kill(), Attempt::Busy);
    assert!(record.is_locked_by_another(2) && !record.is_locked_by_another(1));
    record.unlock();
    assert_eq!(record.try_lock(2), Attempt::Locked);
    record.kill();
    assert_eq!((record.try_lock(3), record.try_kill()), (Attempt::Dead, Attempt::Dead));
    assert!(!record.is_locked_by_another(3));
}
