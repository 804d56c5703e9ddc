//! Tests of the memory engine, used as the coordinator uses it.

mod chains;
mod limits;

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

const SPACE: KeyspaceId = KeyspaceId(1);

fn engine() -> MemoryEngine {
    engine_of(u64::MAX)
}

fn engine_of(limit_bytes: u64) -> MemoryEngine {
    let engine = MemoryEngine::new(Timestamp::ZERO, limit_bytes);
    engine.open_keyspace(SPACE).unwrap();
    engine
}

fn key(text: &str) -> Key {
    Key::new(text.as_bytes())
}

/// Waits until `done` returns true, and helps the epoch on meanwhile. Readers of other tests may hold the epoch.
#[track_caller]
fn help_until(done: impl Fn() -> bool) {
    for round in 0..60_000 {
        if done() {
            return;
        }
        crossbeam_epoch::pin().flush();
        if round < 100 {
            std::thread::yield_now();
        } else {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    panic!("the epoch frees nothing");
}

fn put(key: &str, value: &str, since: Timestamp) -> Write {
    write(key.as_bytes(), Some(value.as_bytes()), since)
}

fn delete(key: &str, since: Timestamp) -> Write {
    write(key.as_bytes(), None, since)
}

fn write(key: &[u8], value: Option<&[u8]>, since: Timestamp) -> Write {
    Write { keyspace: SPACE, key: Key::new(key), value: value.map(Draft::from), since, handle: Handle::None }
}

/// Commits in one engine, with the coordinator's steps.
fn commit(engine: &MemoryEngine, owner: u32, writes: &mut [Write]) -> Result<Timestamp, Refusal> {
    engine.lock(Owner::from(owner), writes)?;
    let at = engine.clock().draw();
    engine.install(writes, at);
    engine.clock().publish(at);
    Ok(at)
}

/// Commits without a concurrent transaction.
fn commit_now(engine: &MemoryEngine, writes: impl IntoIterator<Item = Write>) -> Timestamp {
    let mut writes: Vec<_> = writes.into_iter().collect();
    commit(engine, 1, &mut writes).unwrap()
}

fn read(engine: &MemoryEngine, key: &str, at: Timestamp) -> Option<(String, u64)> {
    let mut value = None;
    let found = engine
        .get(SPACE, &self::key(key), at, None, &mut |bytes, timestamp| {
            value = Some((String::from_utf8(bytes.to_vec()).unwrap(), timestamp.0));
        })
        .unwrap();
    assert_eq!(found, value.is_some());
    value
}

fn all() -> KeyRange {
    KeyRange::ALL
}

fn scan(
    engine: &MemoryEngine,
    range: &KeyRange,
    direction: Direction,
    at: Timestamp,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut found = Vec::new();
    engine
        .scan(SPACE, range, direction, at, &mut |key, value, _| {
            found.push((key.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        })
        .unwrap();
    found
}

#[track_caller]
fn assert_clash(result: Result<Timestamp, Refusal>, kind: Conflict) {
    match result {
        Err(Refusal::Clash(clash)) => assert_eq!((clash.kind, clash.keyspace), (kind, SPACE)),
        other => panic!("expected a {} conflict, got {other:?}", kind.name()),
    }
}

#[test]
fn a_snapshot_contains_exactly_the_commits_before_it() {
    let engine = engine();
    let first = commit_now(&engine, [put("a", "1", Timestamp::ZERO), put("b", "1", Timestamp::ZERO)]);
    let second = commit_now(&engine, [put("a", "2", first), delete("b", first)]);
    assert_eq!(read(&engine, "a", Timestamp::ZERO), None);
    assert_eq!(read(&engine, "a", first), Some(("1".into(), 1)));
    assert_eq!(read(&engine, "b", first), Some(("1".into(), 1)));
    assert_eq!(read(&engine, "a", second), Some(("2".into(), 2)));
    assert_eq!(read(&engine, "b", second), None);
    assert_eq!(read(&engine, "c", second), None);
}

#[test]
fn the_first_committer_wins() {
    let engine = engine();
    let start = commit_now(&engine, [put("a", "0", Timestamp::ZERO)]);
    assert_eq!(commit(&engine, 1, &mut [put("a", "1", start)]).unwrap(), Timestamp(2));
    assert_clash(commit(&engine, 2, &mut [put("b", "2", start), put("a", "2", start)]), Conflict::Write);
    assert_clash(commit(&engine, 2, &mut [delete("a", start)]), Conflict::Write);
    // Inserting a key that another transaction inserted after the snapshot is a conflict too.
    assert_clash(commit(&engine, 3, &mut [put("a", "3", Timestamp::ZERO)]), Conflict::Write);
    assert_eq!(read(&engine, "a", Timestamp(9)), Some(("1".into(), 2)));
    assert_eq!(read(&engine, "b", Timestamp(9)), None);
    assert_eq!(engine.state().records, 1, "the loser's new key is gone");
}

#[test]
fn a_locked_key_is_a_conflict_at_once_and_free_after_giving_up() {
    let engine = engine();
    let start = commit_now(&engine, [put("a", "0", Timestamp::ZERO)]);
    let before = engine.state();
    let mut slow = [put("a", "1", start), put("new", "1", start)];
    engine.lock(Owner::from(7), &mut slow).unwrap();
    for key in ["a", "new"] {
        assert_clash(commit(&engine, 8, &mut [put("z", "2", start), put(key, "2", start)]), Conflict::Locked);
    }
    let drawn = engine.clock().draw();
    engine.give_up(&mut slow);
    engine.clock().publish(drawn);
    help_until(|| engine.state() == before);
    assert_eq!(scan(&engine, &all(), Direction::Forward, drawn).len(), 1);
    assert_eq!(
        commit(&engine, 8, &mut [put("a", "2", start), put("new", "2", start)]).unwrap(),
        Timestamp(3)
    );
}

#[test]
fn a_handle_left_by_a_read_leads_to_the_same_record() {
    let engine = engine();
    let start = commit_now(&engine, [put("a", "0", Timestamp::ZERO)]);
    let mut handle = Handle::None;
    engine.get(SPACE, &key("a"), start, Some(&mut handle), &mut |_, _| {}).unwrap();
    assert!(matches!(handle, Handle::Memory(_)));
    let mut write = put("a", "1", start);
    write.handle = handle.clone();
    commit(&engine, 1, &mut [write]).unwrap();
    let mut late = put("a", "2", start);
    late.handle = handle;
    assert_clash(commit(&engine, 2, &mut [late]), Conflict::Write);
}

#[test]
fn a_write_with_the_handle_of_a_collected_record_looks_up_its_key_again() {
    let engine = engine();
    let start = commit_now(&engine, [put("a", "0", Timestamp::ZERO)]);
    let mut handle = Handle::None;
    engine.get(SPACE, &key("a"), start, Some(&mut handle), &mut |_, _| {}).unwrap();
    let gone = commit_now(&engine, [delete("a", start)]);
    engine.collect(gone);
    assert_eq!(format!("{handle:?}"), "Memory(dead record)");
    let mut again = put("a", "1", gone);
    again.handle = handle;
    let at = commit(&engine, 1, &mut [again]).unwrap();
    assert_eq!(read(&engine, "a", at), Some(("1".into(), at.0)));
    assert_eq!(engine.state().records, 1);
}

#[test]
fn validation_finds_newer_commits_and_the_locks_of_others() {
    let engine = engine();
    let start = commit_now(&engine, [put("a", "0", Timestamp::ZERO)]);
    let valid = |owner, since| engine.validate_key(Owner::from(owner), SPACE, &key("a"), since).unwrap();
    assert!(valid(1, start));
    assert!(engine.validate_key(Owner::from(1), SPACE, &key("missing"), start).unwrap());
    let mut writes = [put("a", "1", start)];
    engine.lock(Owner::from(1), &mut writes).unwrap();
    assert!(valid(1, start), "one's own lock is no conflict");
    assert!(!valid(2, start));
    let at = engine.clock().draw();
    engine.install(&mut writes, at);
    engine.clock().publish(at);
    assert!(!valid(2, start));
    assert!(valid(2, at));
}

#[test]
fn validating_a_range_finds_a_key_that_is_just_being_inserted() {
    let engine = engine();
    let start = commit_now(&engine, [put("a", "0", Timestamp::ZERO), put("d", "0", Timestamp::ZERO)]);
    let range = |lower: &str, upper: &str| KeyRange {
        lower: Bound::Included(key(lower)),
        upper: Bound::Excluded(key(upper)),
    };
    let valid = |owner, range: &KeyRange, since| {
        engine.validate_range(Owner::from(owner), SPACE, range, since).unwrap()
    };
    let mut phantom = [put("b", "1", start)];
    engine.lock(Owner::from(1), &mut phantom).unwrap();
    assert!(valid(1, &range("a", "d"), start));
    assert!(!valid(2, &range("a", "d"), start));
    assert!(valid(2, &range("c", "e"), start));
    assert!(valid(2, &range("a", "b"), start));
    engine.give_up(&mut phantom);
    assert!(valid(2, &range("a", "d"), start));
    let at = commit_now(&engine, [put("b", "1", start)]);
    assert!(!valid(2, &range("a", "d"), start));
    assert!(valid(2, &range("a", "d"), at));
    let gone = commit_now(&engine, [delete("b", at)]);
    assert!(!valid(2, &range("a", "d"), at), "a deletion changes a range as well");
    assert!(valid(2, &range("a", "d"), gone));
}

#[test]
fn one_of_two_transactions_that_insert_what_the_other_looked_for_fails_validation() {
    let engine = engine();
    for _ in 0..2_000 {
        let start = engine.clock().horizon();
        let won = std::thread::scope(|scope| {
            let transaction = |owner: u32, mine: &'static str, other: &'static str| {
                let engine = &engine;
                scope.spawn(move || {
                    let mut writes = [put(mine, "x", start)];
                    engine.lock(Owner::from(owner), &mut writes).unwrap();
                    let at = engine.clock().draw();
                    let range =
                        KeyRange { lower: Bound::Included(key(other)), upper: Bound::Included(key(other)) };
                    let valid = engine.validate_range(Owner::from(owner), SPACE, &range, start).unwrap();
                    if valid {
                        engine.install(&mut writes, at)
                    } else {
                        engine.give_up(&mut writes)
                    }
                    engine.clock().publish(at);
                    valid
                })
            };
            [transaction(1, "a", "b"), transaction(2, "b", "a")].map(|thread| thread.join().unwrap())
        });
        assert_ne!(won, [true, true]);
        let now = engine.clock().horizon();
        let left = scan(&engine, &all(), Direction::Forward, now);
        assert_eq!(left.len(), won.iter().filter(|won| **won).count());
        for (key, _) in left {
            commit_now(&engine, [write(&key, None, now)]);
        }
        engine.collect(engine.clock().horizon());
        assert_eq!(engine.state().records, 0);
    }
    help_until(|| engine.state().bytes == 0);
}

#[test]
fn deleted_keys_are_collected_and_can_be_inserted_again() {
    let engine = engine();
    let first = commit_now(&engine, [put("a", "1", Timestamp::ZERO)]);
    let one_key = engine.state();
    let gone = commit_now(&engine, [delete("a", first)]);
    engine.collect(first);
    assert_eq!(read(&engine, "a", first), Some(("1".into(), 1)));
    assert_eq!(engine.state().versions_collected, 0);
    engine.collect(gone);
    let empty = MemoryState { limit_bytes: u64::MAX, versions_collected: 2, ..MemoryState::default() };
    help_until(|| engine.state() == empty);
    let back = commit_now(&engine, [put("a", "2", gone)]);
    assert_eq!(read(&engine, "a", back), Some(("2".into(), 3)));
    assert_eq!(engine.state().bytes, one_key.bytes);
}

#[test]
fn a_tombstone_under_a_lock_is_collected_when_its_locker_gave_up() {
    let engine = engine();
    let first = commit_now(&engine, [put("a", "1", Timestamp::ZERO)]);
    let gone = commit_now(&engine, [delete("a", first)]);
    let mut again = [put("a", "2", gone)];
    engine.lock(Owner::from(5), &mut again).unwrap();
    engine.collect(gone);
    assert_eq!(engine.state().records, 1);
    engine.give_up(&mut again);
    engine.collect(gone);
    assert_eq!(engine.state().records, 0);
    help_until(|| engine.state().bytes == 0);
}

#[test]
fn an_open_snapshot_keeps_the_versions_from_its_own_on() {
    let engine = engine();
    let mut last = commit_now(&engine, [put("a", "0", Timestamp::ZERO)]);
    let smallest = engine.state();
    last = commit_now(&engine, [put("a", "1", last)]);
    let open = last;
    for n in 2..100 {
        last = commit_now(&engine, [put("a", &n.to_string(), last)]);
        engine.collect(open);
    }
    assert_eq!(read(&engine, "a", open), Some(("1".into(), 2)));
    assert_eq!(engine.state().versions_collected, 1);
    // Only the watermark counts, so versions between two snapshots are kept as well.
    assert_eq!(read(&engine, "a", Timestamp(50)), Some(("49".into(), 50)));
    engine.collect(last);
    help_until(|| engine.state() == MemoryState { versions_collected: 99, ..smallest });
    assert_eq!(read(&engine, "a", last), Some(("99".into(), 100)));
}

#[test]
fn scans_go_both_ways_across_many_pins_and_stop_on_a_break() {
    let engine = engine();
    let count = ENTRIES_PER_PIN * 3 + 7;
    let name = |n: usize| format!("a key that is longer than its head {n:06}");
    let first = commit_now(&engine, (0..count).map(|n| put(&name(n), &n.to_string(), Timestamp::ZERO)));
    let second = commit_now(&engine, (0..count).step_by(2).map(|n| delete(&name(n), first)));
    let numbers = |range: &KeyRange, direction, at| -> Vec<usize> {
        scan(&engine, range, direction, at)
            .into_iter()
            .map(|(key, value)| {
                let n = String::from_utf8(value).unwrap().parse().unwrap();
                assert_eq!(key, name(n).into_bytes());
                n
            })
            .collect()
    };
    assert_eq!(numbers(&all(), Direction::Forward, first), (0..count).collect::<Vec<_>>());
    assert_eq!(numbers(&all(), Direction::Backward, first), (0..count).rev().collect::<Vec<_>>());
    assert_eq!(numbers(&all(), Direction::Forward, second), (1..count).step_by(2).collect::<Vec<_>>());
    let part = KeyRange { lower: Bound::Excluded(key(&name(5))), upper: Bound::Included(key(&name(130))) };
    assert_eq!(numbers(&part, Direction::Forward, first), (6..=130).collect::<Vec<_>>());
    assert_eq!(numbers(&part, Direction::Backward, first), (6..=130).rev().collect::<Vec<_>>());
    let mut seen = 0;
    engine
        .scan(SPACE, &all(), Direction::Backward, first, &mut |_, _, _| {
            seen += 1;
            if seen == ENTRIES_PER_PIN { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
    assert_eq!(seen, ENTRIES_PER_PIN);
}

#[test]
fn an_unknown_keyspace_is_rejected_and_leaves_nothing_locked() {
    let engine = engine();
    let mut wrong = put("b", "1", Timestamp::ZERO);
    wrong.keyspace = KeyspaceId(9);
    let refusal = commit(&engine, 1, &mut [put("a", "1", Timestamp::ZERO), wrong]);
    assert!(matches!(refusal, Err(Refusal::Error(Error::Usage(_)))));
    assert_eq!((engine.state().bytes, engine.state().records), (0, 0));
    assert!(engine.get(KeyspaceId(9), &key("a"), Timestamp::MAX, None, &mut |_, _| {}).is_err());
}

#[test]
fn restoring_in_any_order_by_many_threads_keeps_the_newest_version_of_each_key() {
    const KEYS: u64 = 200;
    let engine = MemoryEngine::new(Timestamp(1_000), 0);
    engine.open_keyspace(SPACE).unwrap();
    assert!(engine.restore(KeyspaceId(2), &key("a"), None, Timestamp(1), &mut engine.retired()).is_err());
    // Version t of a key is a tombstone if t is a multiple of 4. The newest version is 40 + key % 4.
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let engine = &engine;
            scope.spawn(move || {
                let mut retired = engine.retired();
                for round in 0..=45 {
                    for n in 0..KEYS {
                        let at = (round * 7 + thread * 13) % (41 + n % 4);
                        let value = (at % 4 != 0).then(|| format!("{n} at {at}"));
                        let key = key(&format!("{n}"));
                        let value = value.as_ref().map(|value| value.as_bytes());
                        engine.restore(SPACE, &key, value, Timestamp(at), &mut retired).unwrap();
                    }
                }
                for n in 0..KEYS {
                    let at = 40 + n % 4;
                    let value = (at % 4 != 0).then(|| format!("{n} at {at}"));
                    let value = value.as_ref().map(|value| value.as_bytes());
                    engine.restore(SPACE, &key(&format!("{n}")), value, Timestamp(at), &mut retired).unwrap();
                }
            });
        }
    });
    engine.finish_restore();
    let mut bytes = 0;
    for n in 0..KEYS {
        let expected = (n % 4 != 0).then(|| (format!("{n} at {}", 40 + n % 4), 40 + n % 4));
        if let Some((value, _)) = &expected {
            bytes += version_bytes(value.len()) + record_bytes(&key(&format!("{n}")));
        }
        assert_eq!(read(&engine, &format!("{n}"), Timestamp(1_000)), expected);
    }
    assert_eq!(engine.state().records, KEYS * 3 / 4);
    help_until(|| engine.state().bytes == bytes);
    commit_now(&engine, [delete("1", Timestamp(1_000))]);
    assert_eq!(engine.clock().horizon(), Timestamp(1_001));
}

/// Returns a number below `n`, and advances the state.
fn random(state: &mut u64, n: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % n
}

#[test]
fn the_sum_over_all_accounts_is_the_same_in_every_snapshot() {
    const ACCOUNTS: u64 = 64;
    const SUM: i64 = ACCOUNTS as i64 * 100;
    let engine = engine();
    let name = |n: u64| n.to_be_bytes();
    let balance = |value: &[u8]| i64::from_le_bytes(value.try_into().unwrap());
    commit_now(
        &engine,
        (0..ACCOUNTS).map(|n| write(&name(n), Some(&100_i64.to_le_bytes()), Timestamp::ZERO)),
    );
    // Each thread publishes its snapshot before it takes it, like transactions in their slots.
    let open: [AtomicU64; 4] = std::array::from_fn(|_| AtomicU64::new(u64::MAX));
    let begin = |slot: usize| {
        open[slot].store(engine.clock().horizon().0, Ordering::SeqCst);
        engine.clock().horizon()
    };
    let collect = || {
        let horizon = engine.clock().horizon().0;
        let oldest = open.iter().map(|slot| slot.load(Ordering::SeqCst)).min().unwrap();
        engine.collect(Timestamp(horizon.min(oldest)));
    };
    let (done, transfers, sums) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for slot in 0..2 {
            let (engine, done, begin, collect, transfers) = (&engine, &done, &begin, &collect, &transfers);
            scope.spawn(move || {
                let mut state = slot as u64 + 1;
                while !done.load(Ordering::Relaxed) {
                    let at = begin(slot);
                    let (from, to) = (random(&mut state, ACCOUNTS), random(&mut state, ACCOUNTS));
                    if from == to {
                        continue;
                    }
                    let amount = random(&mut state, 50) as i64;
                    let mut writes: Vec<_> = [(from, -amount), (to, amount)]
                        .map(|(account, change)| {
                            let mut handle = Handle::None;
                            let mut now = 0;
                            let key = Key::new(&name(account));
                            engine
                                .get(SPACE, &key, at, Some(&mut handle), &mut |value, _| now = balance(value))
                                .unwrap();
                            // An empty account is deleted, so keys come and go.
                            let value = Some(now + change).filter(|balance| *balance != 0);
                            let value = value.map(|balance| Draft::from(&balance.to_le_bytes()));
                            Write { keyspace: SPACE, key, value, since: at, handle }
                        })
                        .into();
                    match commit(engine, slot as u32 + 1, &mut writes) {
                        Ok(_) => _ = transfers.fetch_add(1, Ordering::Relaxed),
                        Err(Refusal::Clash(_)) => {}
                        Err(Refusal::Error(error)) => panic!("{error}"),
                    }
                    collect();
                }
            });
        }
        for slot in 2..4 {
            let (engine, done, begin, collect, sums) = (&engine, &done, &begin, &collect, &sums);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    let at = begin(slot);
                    for direction in [Direction::Forward, Direction::Backward] {
                        let found = scan(engine, &all(), direction, at);
                        assert_eq!(
                            found.iter().map(|(_, value)| balance(value)).sum::<i64>(),
                            SUM,
                            "at {at}"
                        );
                    }
                    let mut sum = 0;
                    for n in 0..ACCOUNTS {
                        let key = Key::new(&name(n));
                        engine.get(SPACE, &key, at, None, &mut |value, _| sum += balance(value)).unwrap();
                    }
                    assert_eq!(sum, SUM, "at {at}");
                    sums.fetch_add(1, Ordering::Relaxed);
                    collect();
                }
            });
        }
        let end = Instant::now() + Duration::from_secs(2);
        while Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(transfers.into_inner() > 100 && sums.into_inner() > 10);
    help_until(|| {
        engine.collect(engine.clock().horizon());
        engine.garbage.is_empty()
    });
    let left = scan(&engine, &all(), Direction::Forward, engine.clock().horizon());
    let bytes: u64 = left.iter().map(|(key, _)| record_bytes(&Key::new(key)) + version_bytes(8)).sum();
    assert_eq!(engine.state().records, left.len() as u64);
    // One version of each account is left.
    help_until(|| engine.state().bytes == bytes);
}

#[derive(Clone, Debug)]
enum Step {
    /// Commits writes of keys 0 to 7, all with the given value or none, on the snapshot `back` commits ago.
    Commit { keys: BTreeSet<u8>, value: Option<u8>, back: u64 },
    /// Locks the keys and gives up.
    GiveUp { keys: BTreeSet<u8> },
    /// Moves the watermark to `back` commits ago.
    Collect { back: u64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let keys = || proptest::collection::btree_set(0_u8..8, 1..4);
    let step = prop_oneof![
        4 => (keys(), proptest::option::of(any::<u8>()), 0_u64..3)
            .prop_map(|(keys, value, back)| Step::Commit { keys, value, back }),
        1 => keys().prop_map(|keys| Step::GiveUp { keys }),
        2 => (0_u64..4).prop_map(|back| Step::Collect { back }),
    ];
    proptest::collection::vec(step, 1..60)
}

proptest! {
    #[test]
    fn the_engine_behaves_like_a_map_of_versions(steps in steps()) {
        let engine = engine();
        let mut model: BTreeMap<u8, BTreeMap<u64, Option<u8>>> = BTreeMap::new();
        let (mut watermark, mut owner) = (0, 0);
        // Every other key is long enough for a tail.
        let bytes = |key: u8| if key.is_multiple_of(2) { vec![key] } else { vec![key; 30] };
        for step in steps {
            owner += 1;
            let now = engine.clock().horizon().0;
            match step {
                Step::Commit { keys, value, back } => {
                    let since = now.saturating_sub(back).max(watermark);
                    let newest = |key| model.get(key).and_then(|versions| versions.keys().last()).copied();
                    let conflict = keys.iter().any(|key| newest(key) > Some(since));
                    let mut writes: Vec<_> = keys
                        .iter()
                        .map(|key| write(&bytes(*key), value.as_ref().map(std::slice::from_ref), Timestamp(since)))
                        .collect();
                    match commit(&engine, owner, &mut writes) {
                        Ok(at) => {
                            prop_assert!(!conflict);
                            for key in keys {
                                model.entry(key).or_default().insert(at.0, value);
                            }
                        }
                        Err(Refusal::Clash(clash)) => prop_assert!(conflict && clash.kind == Conflict::Write),
                        Err(Refusal::Error(error)) => prop_assert!(false, "{}", error),
                    }
                }
                Step::GiveUp { keys } => {
                    let mut writes: Vec<_> =
                        keys.iter().map(|key| write(&bytes(*key), Some(b"never"), Timestamp(now))).collect();
                    prop_assert!(engine.lock(Owner::from(owner), &mut writes).is_ok());
                    engine.give_up(&mut writes);
                }
                Step::Collect { back } => {
                    watermark = now.saturating_sub(back).max(watermark);
                    engine.collect(Timestamp(watermark));
                }
            }
            for at in watermark..=engine.clock().horizon().0 {
                let visible = |versions: &BTreeMap<u64, Option<u8>>| {
                    versions.range(..=at).next_back().and_then(|(_, value)| *value)
                };
                let mut expected: Vec<_> = model
                    .iter()
                    .filter_map(|(key, versions)| Some((bytes(*key), vec![visible(versions)?])))
                    .collect();
                prop_assert_eq!(&scan(&engine, &all(), Direction::Forward, Timestamp(at)), &expected);
                expected.reverse();
                prop_assert_eq!(&scan(&engine, &all(), Direction::Backward, Timestamp(at)), &expected);
                for key in 0..8 {
                    let mut value = None;
                    let key_bytes = Key::new(&bytes(key));
                    engine.get(SPACE, &key_bytes, Timestamp(at), None, &mut |found, _| value = Some(found[0])).unwrap();
                    prop_assert_eq!(value, model.get(&key).and_then(visible));
                    let unchanged = model.get(&key).and_then(|versions| versions.keys().last()) <= Some(&at);
                    prop_assert_eq!(engine.validate_key(Owner::from(owner), SPACE, &key_bytes, Timestamp(at)).unwrap(), unchanged);
                }
            }
        }
        engine.collect(engine.clock().horizon());
        let left = model.values().filter(|versions| versions.values().last().is_some_and(Option::is_some)).count();
        prop_assert_eq!(engine.state().records, left as u64);
        let keys = model.iter().filter(|(_, versions)| versions.values().last().is_some_and(Option::is_some));
        let held: u64 = keys.map(|(key, _)| record_bytes(&Key::new(&bytes(*key))) + version_bytes(1)).sum();
        help_until(|| engine.state().bytes == held);
    }
}
