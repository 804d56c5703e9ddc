//! Tests of a keyspace as memtables and files, below the engine.

use super::*;
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

fn shared(interrupts: Arc<Interrupts>) -> LsmShared {
    LsmShared::new(1 << 20, Compression::Lz4, interrupts, Arc::new(Limit::new(Some(u64::MAX))))
}

fn put(store: &LsmStore, key: &str, value: Option<&str>, at: u64) {
    store.insert(&Key::new(key.as_bytes()), value.map(Draft::from), Timestamp(at));
}

/// Returns the timestamp of a key's newest version at or before `at`.
fn stamp(store: &LsmStore, key: &str, at: u64) -> Option<u64> {
    let mut stamp = None;
    store.get(&Key::new(key.as_bytes()), Timestamp(at), &mut |_, at| stamp = Some(at.0)).unwrap();
    stamp
}

fn store() -> (tempfile::TempDir, LsmStore) {
    let directory = tempfile::tempdir().unwrap();
    let store = LsmStore::open(directory.path(), &shared(Arc::default())).unwrap();
    (directory, store)
}

#[test]
fn a_flush_adds_no_files_while_a_compaction_chooses_its_files() {
    let (_directory, store) = store();
    put(&store, "k", Some("v"), 1);
    store.rotate();
    store.relying.store(true, Ordering::SeqCst);
    std::thread::scope(|scope| {
        let flush = scope.spawn(|| store.flush(Timestamp(1)));
        std::thread::sleep(Duration::from_millis(100));
        let waits = !flush.is_finished() && store.persisted() == Timestamp::ZERO;
        store.relying.store(false, Ordering::SeqCst);
        flush.join().unwrap().unwrap();
        assert!(waits);
    });
    assert_eq!(store.persisted(), Timestamp(1));
}

#[test]
fn a_flush_keeps_exactly_the_versions_that_snapshots_from_the_watermark_on_read() {
    let (_directory, store) = store();
    for at in 1..=9 {
        put(&store, "k", Some("v"), at);
        put(&store, "other", (at == 1).then_some("v"), at);
    }
    store.rotate();
    store.flush(Timestamp(6)).unwrap();
    assert_eq!(
        [5, 6, 7, 8, 9, 10].map(|at| stamp(&store, "k", at)),
        [None, Some(6), Some(7), Some(8), Some(9), Some(9)]
    );
    assert_eq!(stamp(&store, "other", 6), None);
    assert_eq!(store.tree.approximate_len(), 8);
}

#[test]
fn compactions_wait_for_the_watermark_until_there_are_too_many_files() {
    let (_directory, store) = store();
    let mut steps = Vec::new();
    for at in 1..=URGENT_RUNS as u64 {
        put(&store, "k", Some("v"), at);
        store.rotate();
        store.flush(Timestamp(0)).unwrap();
        steps.push(store.compact(Timestamp(0), &|_| Ok(())).unwrap());
    }
    let last = steps.pop();
    assert!(steps.iter().all(|step| *step == Compaction::Later), "{steps:?}");
    assert_eq!(last, Some(Compaction::Done));
    for at in 1..=URGENT_RUNS as u64 {
        assert_eq!(stamp(&store, "k", at), Some(at), "every version is kept");
    }
}

/// Writes versions of large rows, and flushes them as if a snapshot before the first one still read them.
fn put_versions(store: &LsmStore, at: std::ops::RangeInclusive<u64>) {
    for at in at {
        for key in 0_u8..34 {
            store.insert(&Key::new(&[key]), Some(Draft::from(&[at as u8; 1 << 20])), Timestamp(at));
        }
    }
    store.rotate();
    store.flush(Timestamp(0)).unwrap();
}

/// Returns the names of the files in the tree's directory of tables, in their order.
fn table_files(store: &LsmStore) -> Vec<String> {
    let entries = std::fs::read_dir(store.path.join(intact::TABLES)).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

#[test]
fn dead_versions_of_a_table_larger_than_a_file_go_into_its_last_level() {
    let (_directory, store) = store();
    let compact = |at| store.compact(Timestamp(at), &|_| Ok(())).unwrap();
    put_versions(&store, 1..=1);
    while compact(1) != Compaction::Idle {}
    put_versions(&store, 2..=4);
    let before = store.disk_bytes();
    assert_eq!(compact(4), Compaction::Tidied);
    assert_eq!(compact(4), Compaction::Idle);
    assert!(store.disk_bytes() < before / 3, "{} of {before}", store.disk_bytes());
    let levels: Vec<usize> =
        store.tree.current_version().iter_levels().map(|level| level.table_count()).collect();
    assert!(levels[..6].iter().all(|files| *files == 0) && levels[6] > 0, "{levels:?}");
    assert_eq!(store.tree.approximate_len(), 34);
}

#[test]
fn dead_versions_go_into_the_next_level_that_has_files_and_deletions_stay_above_the_last_one() {
    let (_directory, store) = store();
    let compact = |at| store.compact(Timestamp(at), &|_| Ok(())).unwrap();
    let files = || -> Vec<usize> {
        store.tree.current_version().iter_levels().map(|level| level.table_count()).collect()
    };
    let write = |keys: std::ops::Range<u8>, value: Option<&[u8]>, at| {
        for key in keys {
            store.insert(&Key::new(&[key]), value.map(Draft::from), Timestamp(at));
        }
        store.rotate();
        store.flush(Timestamp(0)).unwrap();
    };
    write(0..100, Some(b"old"), 1);
    while compact(1) != Compaction::Idle {}
    assert_eq!(files(), [0, 0, 0, 0, 0, 0, 1]);
    write(0..10, Some(b"new"), 2);
    store.tree.compact(Arc::new(lsm_tree::compaction::MoveDown(0, 5)), 0).unwrap();
    write(0..10, None, 3);
    assert_eq!(compact(3), Compaction::Tidied);
    assert_eq!((files(), store.tree.tombstone_count()), (vec![0, 0, 0, 0, 0, 1, 1], 10));
    assert_eq!(compact(3), Compaction::Idle, "too few rows are dead to merge all files");
    let count = |at| {
        let mut rows = 0;
        let each: &mut Each<'_> = &mut |_, _, _| {
            rows += 1;
            ControlFlow::Continue(())
        };
        store.scan(&KeyRange::ALL, Direction::Forward, Timestamp(at), each).unwrap();
        rows
    };
    assert_eq!(count(3), 90);
    // A deletion above the last level stands for two versions: its own, and that of the row below.
    write(10..40, None, 4);
    assert_eq!(
        (compact(4), store.tree.tombstone_count()),
        (Compaction::Done, 40),
        "a move to the other deletions"
    );
    assert_eq!(compact(4), Compaction::Tidied);
    assert_eq!((files(), store.tree.tombstone_count()), (vec![0, 0, 0, 0, 0, 0, 1], 0));
    assert_eq!((compact(4), count(4), store.tree.approximate_len()), (Compaction::Idle, 60, 60));
}

#[test]
fn a_merge_of_dead_versions_is_interrupted_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let interrupts = Arc::new(Interrupts::default());
    let shared = shared(Arc::clone(&interrupts));
    let store = LsmStore::open(directory.path(), &shared).unwrap();
    put_versions(&store, 1..=3);
    let compact = || store.compact(Timestamp(3), &|_| Ok(())).unwrap();
    // The way to the last level is free, so the first step is no merge.
    assert_eq!(compact(), Compaction::Done);
    let (before, files) = (store.disk_bytes(), table_files(&store));
    // The first file of the result is whole by then.
    *interrupts.after_keys.lock().unwrap() = Some(33);
    for times in 1..=2 {
        assert_eq!(compact(), Compaction::Later);
        assert!(!store.pause.lock().is_over());
        assert!(!store.relying.load(Ordering::SeqCst));
        assert!(store.has_strays());
        let with_strays = table_files(&store).len();
        assert!(with_strays > files.len(), "{with_strays} files, {times}");
        store.remove_strays();
        assert_eq!((store.disk_bytes(), table_files(&store)), (before, files.clone()));
        // As long as others wait, it does not even begin.
        store.pause.lock().end();
        assert_eq!(compact(), Compaction::Later);
        assert!(!store.has_strays());
        interrupts.note_writers(false);
    }
    *interrupts.after_keys.lock().unwrap() = None;
    // A flush comes between.
    put(&store, "k", Some("v"), 4);
    store.rotate();
    store.flush(Timestamp(4)).unwrap();
    while store.compact(Timestamp(4), &|_| Ok(())).unwrap() != Compaction::Idle {}
    assert!(store.disk_bytes() < before / 2);
    assert_eq!(table_files(&store).len(), store.tree.table_count());
    assert_eq!(stamp(&store, "k", 4), Some(4));
    assert_eq!(store.tree.approximate_len(), 35);
}

#[test]
fn a_merge_on_request_asks_for_twice_its_files_and_ends_the_pause_of_other_merges() {
    let (_directory, store) = store();
    put_versions(&store, 1..=2);
    store.pause.lock().begin(std::time::Duration::from_secs(3600));
    let (before, asked) = (store.disk_bytes(), Cell::new(0));
    let room = |refuses: bool| {
        let asked = &asked;
        move |bytes| {
            asked.set(bytes);
            if refuses { Err(Error::DiskFull("for the test".into())) } else { Ok(()) }
        }
    };
    assert!(matches!(store.compact_all(Timestamp(2), &room(true)), Err(Error::DiskFull(_))));
    assert_eq!((asked.get(), store.disk_bytes()), (2 * before, before));
    assert!(!store.pause.lock().is_over(), "nothing was merged");
    assert!(store.compact_all(Timestamp(2), &room(false)).unwrap());
    assert!(store.disk_bytes() < 2 * before / 3 && store.pause.lock().is_over());
}

/// A change of the store.
#[derive(Clone, Debug)]
enum Step {
    /// Writes keys; false deletes one.
    Write(Vec<(u8, bool)>),
    Rotate,
    /// Moves the watermark by this share of the way to the last write.
    Collect(u8),
    Flush,
    Compact,
    /// Moves the unsorted files into this level, if there are no others down to there.
    Sink(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => proptest::collection::vec((0_u8..200, proptest::bool::weighted(0.7)), 1..150).prop_map(Step::Write),
        2 => Just(Step::Rotate),
        1 => any::<u8>().prop_map(Step::Collect),
        1 => Just(Step::Flush),
        2 => Just(Step::Compact),
        1 => (1_u8..6).prop_map(Step::Sink),
    ]
}

fn bound() -> impl Strategy<Value = Bound<u8>> {
    prop_oneof![
        (0_u8..201).prop_map(Bound::Included),
        (0_u8..201).prop_map(Bound::Excluded),
        Just(Bound::Unbounded)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 500, ..ProptestConfig::default() })]

    #[test]
    fn a_scan_merges_memtables_and_files_as_in_the_model(
        steps in proptest::collection::vec(step(), 1..20),
        ranges in proptest::collection::vec((bound(), bound(), any::<bool>()), 8),
    ) {
        let (_directory, store) = store();
        let key = |key: &u8| Key::new(&[*key]);
        // The content after each timestamp.
        let mut states = vec![BTreeMap::<u8, u64>::new()];
        let mut watermark = 0;
        for step in steps {
            let at = states.len() as u64;
            match step {
                Step::Write(rows) => {
                    let mut state = states[states.len() - 1].clone();
                    for (name, put) in rows.into_iter().collect::<BTreeMap<_, _>>() {
                        store.insert(&key(&name), put.then(|| Draft::from(&at.to_be_bytes())), Timestamp(at));
                        if put {
                            state.insert(name, at);
                        } else {
                            state.remove(&name);
                        }
                    }
                    states.push(state);
                }
                Step::Rotate => store.rotate(),
                Step::Collect(part) => watermark += (at - 1 - watermark) * u64::from(part) / 255,
                Step::Flush => store.flush(Timestamp(watermark)).unwrap(),
                Step::Compact => drop(store.compact(Timestamp(watermark), &|_| Ok(())).unwrap()),
                Step::Sink(level) => {
                    let version = store.tree.current_version();
                    let unsorted = version.l0();
                    let is_free = version.iter_levels().skip(1).take(level.into()).all(|level| level.is_empty());
                    if is_free && !unsorted.is_empty() && unsorted.is_disjoint() {
                        store.tree.compact(Arc::new(lsm_tree::compaction::MoveDown(0, level)), 0).unwrap();
                    }
                }
            }
        }
        for (at, state) in (0..).zip(&states).skip(watermark as usize) {
            let at = Timestamp(at);
            for (lower, upper, forward) in &ranges {
                let range = KeyRange { lower: lower.as_ref().map(key), upper: upper.as_ref().map(key) };
                let direction = if *forward { Direction::Forward } else { Direction::Backward };
                let mut found = Vec::new();
                store.scan(&range, direction, at, &mut |key, value, written| {
                    found.push((key[0], written.0));
                    assert_eq!(value, written.0.to_be_bytes());
                    ControlFlow::Continue(())
                }).unwrap();
                let mut expected: Vec<_> =
                    state.iter().map(|(key, at)| (*key, *at)).filter(|(name, _)| range.contains(&key(name))).collect();
                if !forward {
                    expected.reverse();
                }
                prop_assert_eq!(found, expected, "{:?} at {}", range, at);
            }
        }
    }
}
