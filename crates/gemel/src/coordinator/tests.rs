//! The protocol over three plain engines. It needs so little of an engine that it works with any number of them.

use super::*;
use crate::error::Error;
use crate::files::RealFiles;
use crate::files::fail_point::on_fail_point;
use crate::log::{Log, Lsn};
use crate::map_engine::MapEngine;
use crate::options::{CommitStamps, Durability, Isolation};
use crate::oracle;
use crate::wait::wait_until;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

const ENGINES: usize = 3;
/// All orders in which a reader may read the engines.
const WAYS: [[usize; ENGINES]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

struct Rig {
    core: Arc<Coordinator>,
    maps: Vec<Arc<MapEngine>>,
    /// One keyspace in each engine.
    spaces: Vec<Keyspace>,
    _directory: tempfile::TempDir,
}

/// Returns a keyspace in an engine.
fn space(engine: u8) -> Keyspace {
    Keyspace {
        owner: 1,
        id: KeyspaceId(u32::from(engine) + 1),
        engine,
        name: format!("space {engine}").into(),
        gate: Arc::default(),
    }
}

fn rig(options: Options) -> Rig {
    let directory = tempfile::tempdir().unwrap();
    let log = Log::open(Arc::new(RealFiles), directory.path(), "log", 1, Lsn(0), Durability::None).unwrap();
    let maps: Vec<_> = ["anchor", "second", "third"].map(|name| Arc::new(MapEngine::new(name))).into();
    let engines = maps.iter().map(|map| Arc::clone(map) as Arc<dyn Engine>).collect();
    let core = Arc::new(Coordinator::new(1, engines, Logs::Shared(log), options, None));
    let spaces = (0..ENGINES as u8).map(space).collect();
    Rig { core, maps, spaces, _directory: directory }
}

impl Rig {
    fn begin(&self, isolation: Isolation) -> Transaction {
        Transaction::begin(Arc::clone(&self.core), isolation, None).unwrap()
    }

    fn read(&self, transaction: &mut Transaction, engine: usize) -> Result<u64> {
        let value = transaction.get(&self.spaces[engine], b"k")?;
        Ok(value.map_or(0, |value| u64::from_be_bytes(value.try_into().unwrap())))
    }

    fn write(&self, transaction: &mut Transaction, engine: usize, value: u64) {
        transaction.put(&self.spaces[engine], b"k", &value.to_be_bytes()).unwrap();
    }

    /// Commits one value in all engines.
    fn commit_everywhere(&self, value: u64) {
        let mut transaction = self.begin(Isolation::Snapshot);
        (0..ENGINES).for_each(|engine| self.write(&mut transaction, engine, value));
        drop(transaction.commit().unwrap());
    }

    /// Reads the engines in the given order, and returns the values of the snapshot.
    fn look(&self, transaction: &mut Transaction, way: [usize; ENGINES]) -> Result<[u64; ENGINES]> {
        let mut seen = [0; ENGINES];
        for engine in way {
            seen[engine] = self.read(transaction, engine)?;
        }
        Ok(seen)
    }
}

/// Minimum number of commits, and of reads, in a test of concurrent threads.
const ENOUGH: u64 = 50;

/// Runs writers that count in all three engines or in one or two of them, and readers in all orders. The oracle checks
/// the record of all of them.
fn stress(stamps: CommitStamps) -> (u64, u64) {
    let rig = rig(Options { commit_stamps: stamps, csr_capacity: 20, csr_recycle: 10, ..Options::default() });
    let recorder = Arc::new(Recorder::default());
    assert!(rig.core.record_into(Arc::clone(&recorder)));
    let (stop, committed, read) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let (committed, read) = (&committed, &read);
        let writers: Vec<_> = (0..3)
            .map(|writer: usize| {
                let (rig, stop) = (&rig, &stop);
                scope.spawn(move || {
                    let mut round = writer;
                    while !stop.load(Ordering::Relaxed) {
                        round += 1;
                        let mut transaction = rig.begin(Isolation::Snapshot);
                        let done = match rig.look(&mut transaction, WAYS[round % WAYS.len()]) {
                            Ok([a, b, c]) => {
                                assert!(a == b && b == c, "a snapshot splits a commit: {a} {b} {c}");
                                (0..ENGINES).for_each(|engine| rig.write(&mut transaction, engine, a + 1));
                                // Another commit in one or two engines keeps the timestamps of the engines out of step.
                                let mut beside = rig.begin(Isolation::Snapshot);
                                let put = [writer, round % ENGINES].into_iter().try_for_each(|engine| {
                                    beside.put(&rig.spaces[engine], &[b'o', writer as u8], b"1")
                                });
                                // The transaction's snapshot may have become too old for the registry meanwhile.
                                if let Err(error) = put.and_then(|()| beside.commit().map(drop)) {
                                    assert!(error.is_retryable(), "{error}");
                                }
                                transaction.commit().map(drop)
                            }
                            Err(error) => Err(error),
                        };
                        match done {
                            Ok(()) => drop(committed.fetch_add(1, Ordering::Relaxed)),
                            Err(error) => assert!(error.is_retryable(), "{error}"),
                        }
                    }
                })
            })
            .collect();
        let readers: Vec<_> = (0..2)
            .map(|reader: usize| {
                let (rig, stop) = (&rig, &stop);
                scope.spawn(move || {
                    let (mut round, mut last) = (reader, 0);
                    while !stop.load(Ordering::Relaxed) {
                        round += 1;
                        let mut transaction = rig.begin(Isolation::Snapshot);
                        match rig.look(&mut transaction, WAYS[round % WAYS.len()]) {
                            Ok([a, b, c]) => {
                                assert!(a == b && b == c, "a snapshot splits a commit: {a} {b} {c}");
                                assert!(a >= last, "a later snapshot is older: {last}, then {a}");
                                last = a;
                                read.fetch_add(1, Ordering::Relaxed);
                            }
                            Err(error) => assert!(error.is_retryable(), "{error}"),
                        }
                        drop(transaction.commit());
                    }
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(700));
        // A busy machine gets more time. A thread that failed makes no progress, and reports its failure when it is
        // joined.
        let failed = || writers.iter().chain(&readers).any(std::thread::ScopedJoinHandle::is_finished);
        wait_until(
            || [committed, read].map(|count| count.load(Ordering::Relaxed)),
            |counts| counts.iter().all(|count| *count > ENOUGH) || failed(),
            |counts| {
                // Otherwise the threads would go on for ever.
                stop.store(true, Ordering::Relaxed);
                format!("of commits and reads, only {counts:?} come")
            },
        );
        stop.store(true, Ordering::Relaxed);
        writers.into_iter().chain(readers).for_each(|thread| thread.join().unwrap());
    });
    let (commits, reads) = (committed.into_inner(), read.into_inner());
    let mut last = rig.begin(Isolation::Snapshot);
    assert_eq!(rig.look(&mut last, WAYS[0]).unwrap(), [commits; ENGINES], "an update was lost");
    let wrong = oracle::check(&recorder.take());
    assert!(wrong.is_empty(), "{:#?}", &wrong[..wrong.len().min(5)]);
    (commits, reads)
}

#[test]
fn transactions_over_three_engines_are_atomic_and_have_one_order() {
    for stamps in [CommitStamps::Latched, CommitStamps::Independent] {
        let (commits, reads) = stress(stamps);
        assert!(commits > ENOUGH && reads > ENOUGH, "{stamps:?}: {commits} commits, {reads} reads");
    }
}

#[test]
fn a_snapshot_of_three_engines_is_consistent_whatever_commits_between_its_reads() {
    for way in WAYS {
        let look = |csr| {
            let rig = rig(Options { csr, ..Options::default() });
            rig.commit_everywhere(1);
            let mut reader = rig.begin(Isolation::Snapshot);
            let mut seen = [0; ENGINES];
            for engine in way {
                seen[engine] = rig.read(&mut reader, engine).unwrap();
                rig.commit_everywhere(2);
            }
            seen
        };
        assert_eq!(look(true), [1; ENGINES], "{way:?}");
        assert_ne!(look(false), [1; ENGINES], "{way:?} without the registry");
    }
}

/// Each transaction reads all engines and writes in its own. Only one of three may commit at serializable; all do at
/// snapshot isolation.
#[test]
fn write_skew_over_three_engines_is_caught_at_serializable() {
    for isolation in [Isolation::Serializable, Isolation::Snapshot] {
        let rig = rig(Options::default());
        let mut all: Vec<_> = (0..ENGINES).map(|_| rig.begin(isolation)).collect();
        for (engine, transaction) in all.iter_mut().enumerate() {
            assert_eq!(rig.look(transaction, WAYS[engine]).unwrap(), [0; ENGINES]);
            rig.write(transaction, engine, 1);
        }
        let outcomes: Vec<_> = all.into_iter().map(Transaction::commit).collect();
        let committed = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        let refused = outcomes
            .iter()
            .filter(|outcome| matches!(outcome, Err(Error::Conflict { kind: Conflict::Read, .. })))
            .count();
        let expected = if isolation == Isolation::Serializable { (1, 2) } else { (3, 0) };
        assert_eq!((committed, refused), expected, "{isolation:?}: {outcomes:?}");
    }
}

/// Each transaction reads in one engine and writes in the next. They form a ring, and no two of them share two engines.
#[test]
fn a_ring_of_dependencies_over_three_engines_is_caught_at_serializable() {
    let rig = rig(Options::default());
    let mut all: Vec<_> = (0..ENGINES).map(|_| rig.begin(Isolation::Serializable)).collect();
    for (engine, transaction) in all.iter_mut().enumerate() {
        assert_eq!(rig.read(transaction, engine).unwrap(), 0);
        rig.write(transaction, (engine + 1) % ENGINES, 1);
    }
    let committed = all.into_iter().filter_map(|transaction| transaction.commit().ok()).count();
    assert!((1..ENGINES).contains(&committed), "{committed} of a ring committed");
}

/// Threads that commit at the same moment race for one place per round.
#[test]
fn one_transaction_wins_the_race_for_the_last_place_over_three_engines() {
    for stamps in [CommitStamps::Latched, CommitStamps::Independent] {
        let rig = rig(Options { commit_stamps: stamps, ..Options::default() });
        let barrier = std::sync::Barrier::new(ENGINES);
        let mut taken = 0;
        for round in 0..200_u64 {
            let won: u64 = std::thread::scope(|scope| {
                let racers: Vec<_> = (0..ENGINES)
                    .map(|engine| {
                        let (rig, barrier) = (&rig, &barrier);
                        scope.spawn(move || {
                            let mut transaction = rig.begin(Isolation::Serializable);
                            let seen = rig.look(&mut transaction, WAYS[(round as usize + engine) % 6]);
                            barrier.wait();
                            // The place of this round is free while the sum over the engines equals the round's number.
                            let Ok(seen) = seen else { return 0 };
                            rig.write(&mut transaction, engine, seen[engine] + 1);
                            u64::from(transaction.commit().is_ok())
                        })
                    })
                    .collect();
                racers.into_iter().map(|racer| racer.join().unwrap()).sum()
            });
            assert!(won <= 1, "{stamps:?}, round {round}: {won} took the same place");
            taken += won;
        }
        let mut last = rig.begin(Isolation::Snapshot);
        assert_eq!(rig.look(&mut last, WAYS[0]).unwrap().iter().sum::<u64>(), taken);
    }
}

#[test]
fn old_versions_stay_in_all_three_engines_while_a_snapshot_may_read_them() {
    let rig = rig(Options::default());
    rig.commit_everywhere(1);
    let mut reader = rig.begin(Isolation::Snapshot);
    for value in 2..10 {
        rig.commit_everywhere(value);
    }
    rig.core.collect_now();
    assert_eq!(rig.look(&mut reader, WAYS[3]).unwrap(), [1; ENGINES]);
    drop(reader);
    rig.core.collect_now();
    assert_eq!(rig.maps.iter().map(|map| map.versions()).collect::<Vec<_>>(), [1; ENGINES]);
}

/// A fail point, a channel that reports its pass, and a channel that lets the thread continue.
type Stop = (&'static str, Sender<()>, Receiver<()>);

thread_local! {
    /// The fail point at which this thread stops at its next pass: it reports, then waits.
    static STOP: RefCell<Option<Stop>> = const { RefCell::new(None) };
}

/// Registers a stop. Fail points belong to the process, so only a thread that registered one stops there.
fn stop_at(place: &'static str, reached: Sender<()>, go_on: Receiver<()>) {
    on_fail_point(place, move || {
        let mine = STOP.with_borrow_mut(|held| held.take_if(|(asked, ..)| *asked == place));
        if let Some((_, reached, go_on)) = mine {
            reached.send(()).unwrap();
            go_on.recv().unwrap();
        }
    });
    STOP.set(Some((place, reached, go_on)));
}

/// Runs `during` while a commit of 1 in all engines is stopped at `place`. `during` gets the sender that lets the
/// commit continue.
fn with_a_commit_at<R>(rig: &Rig, place: &'static str, during: impl FnOnce(Sender<()>) -> R) -> R {
    with_stopped(place, || rig.commit_everywhere(1), during)
}

/// Runs `during` while `commit` is stopped at `place` in a thread of its own.
fn with_stopped<R>(
    place: &'static str,
    commit: impl FnOnce() + Send,
    during: impl FnOnce(Sender<()>) -> R,
) -> R {
    std::thread::scope(|scope| {
        let (reached, told) = channel();
        let (go_on, waits) = channel();
        let committer = scope.spawn(move || {
            stop_at(place, reached, waits);
            commit();
        });
        told.recv().unwrap();
        let result = during(go_on.clone());
        // The thread may have continued already.
        let _ = go_on.send(());
        committer.join().unwrap();
        result
    })
}

/// Figure 2.1 (b) of Skeena: the snapshot falls between a commit's two publications.
#[test]
fn a_reader_between_two_publications_of_a_commit_waits_and_sees_all_of_it() {
    for engine in [1, 2] {
        let rig = rig(Options::default());
        let seen = with_a_commit_at(&rig, "commit.between_publications", |go_on| {
            let mut reader = rig.begin(Isolation::Snapshot);
            assert_eq!(rig.read(&mut reader, 0).unwrap(), 1, "the anchor has published it");
            std::thread::scope(|scope| {
                let (rig, (done, answer)) = (&rig, channel());
                scope.spawn(move || done.send(rig.read(&mut reader, engine).unwrap()).unwrap());
                assert!(answer.recv_timeout(Duration::from_millis(50)).is_err(), "it did not wait");
                go_on.send(()).unwrap();
                answer.recv().unwrap()
            })
        });
        assert_eq!(seen, 1);
    }
}

#[test]
fn a_reader_between_two_publications_sees_half_of_a_commit_without_the_registry() {
    let rig = rig(Options { csr: false, ..Options::default() });
    let seen = with_a_commit_at(&rig, "commit.between_publications", |_| {
        let mut reader = rig.begin(Isolation::Snapshot);
        rig.look(&mut reader, WAYS[0]).unwrap()
    });
    assert_eq!(seen, [1, 0, 0]);
}

/// Read committed has no common snapshot. Still a reader that has seen a commit in the anchor sees the rest of it.
#[test]
fn a_reader_at_read_committed_waits_for_the_rest_of_a_commit_too() {
    let rig = rig(Options::default());
    with_a_commit_at(&rig, "commit.between_publications", |go_on| {
        let mut reader = rig.begin(Isolation::ReadCommitted);
        assert_eq!(rig.read(&mut reader, 0).unwrap(), 1);
        go_on.send(()).unwrap();
        assert_eq!(rig.look(&mut reader, WAYS[0]).unwrap(), [1; ENGINES]);
    });
}

/// The prototype drew a commit's timestamp before it marked the transaction as committing. A reader that began in
/// between saw the old version first and the new one later.
#[test]
fn a_reader_that_begins_after_a_commit_drew_its_timestamps_never_sees_it() {
    for place in ["commit.after_append", "commit.after_install"] {
        let rig = rig(Options::default());
        let mut reader = with_a_commit_at(&rig, place, |_| {
            let mut reader = rig.begin(Isolation::Snapshot);
            assert_eq!(rig.look(&mut reader, WAYS[5]).unwrap(), [0; ENGINES], "{place}");
            reader
        });
        assert_eq!(rig.look(&mut reader, WAYS[0]).unwrap(), [0; ENGINES], "{place}: the same snapshot later");
        let mut next = rig.begin(Isolation::Snapshot);
        assert_eq!(rig.look(&mut next, WAYS[0]).unwrap(), [1; ENGINES], "{place}: the next one");
    }
}

/// With the algorithm as printed in the thesis, a session gets an older snapshot of the other engine than its own
/// commit there.
#[test]
fn a_session_sees_its_own_commit_at_once_in_every_engine() {
    let rig = rig(Options::default());
    // Keeps an entry at this anchor timestamp, older than the session's commits.
    let mut older = rig.begin(Isolation::Snapshot);
    assert_eq!(rig.look(&mut older, WAYS[0]).unwrap(), [0; ENGINES]);
    for value in 1..20 {
        for engine in (0..ENGINES).rev() {
            let mut writer = rig.begin(Isolation::Snapshot);
            rig.write(&mut writer, engine, value);
            drop(writer.commit().unwrap());
            let mut reader = rig.begin(Isolation::Snapshot);
            assert_eq!(rig.read(&mut reader, engine).unwrap(), value, "engine {engine}");
        }
    }
    assert_eq!(rig.look(&mut older, WAYS[0]).unwrap(), [0; ENGINES]);
}

/// A time after which a thread that should go on is taken for one that hangs.
const HANGS: Duration = Duration::from_secs(120);

#[test]
fn an_engine_that_waits_for_its_disk_holds_up_no_commit_of_the_anchor() {
    let rig = rig(Options::default());
    let (reached, told) = channel();
    let (go_on, waits) = channel();
    let waits = parking_lot::Mutex::new(waits);
    let stop_once = move || {
        if reached.send(()).is_ok() {
            let _ = waits.lock().recv();
        }
    };
    assert!(rig.maps[1].before_install.set(Box::new(stop_once)).is_ok());
    std::thread::scope(|scope| {
        let rig = &rig;
        let stopped = scope.spawn(|| rig.commit_everywhere(1));
        told.recv().unwrap();
        // Later installs in the second engine do not stop.
        drop(told);
        let (done, answer) = channel();
        scope.spawn(move || {
            let mut last = 0;
            for value in 2..50 {
                let mut transaction = rig.begin(Isolation::Snapshot);
                last = rig.read(&mut transaction, 0).unwrap();
                rig.write(&mut transaction, 0, value);
                drop(transaction.commit().unwrap());
            }
            done.send(last).unwrap();
        });
        let last = answer.recv_timeout(HANGS);
        assert!(!stopped.is_finished());
        go_on.send(()).unwrap();
        assert_eq!(last.expect("a commit of the anchor waited for the other engine"), 48);
    });
    let mut after = rig.begin(Isolation::Snapshot);
    assert_eq!(rig.look(&mut after, WAYS[0]).unwrap(), [49, 1, 1]);
}

#[test]
fn after_a_panic_during_a_commit_nothing_hangs_and_nothing_commits() {
    let rig = rig(Options::default());
    rig.commit_everywhere(1);
    assert!(rig.maps[1].before_install.set(Box::new(|| panic!("on purpose"))).is_ok());
    let mut reader = rig.begin(Isolation::Snapshot);
    let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| rig.commit_everywhere(2)));
    assert!(died.is_err());
    for engine in 0..ENGINES {
        let mut writer = rig.begin(Isolation::Snapshot);
        let written = writer.put(&rig.spaces[engine], b"k", b"v").and_then(|()| writer.commit().map(drop));
        let error = written.unwrap_err();
        assert!(matches!(&error, Error::Poisoned(why) if why.contains("panicked")), "{error:?}");
    }
    assert_eq!(rig.look(&mut reader, WAYS[0]).unwrap(), [1; ENGINES], "an earlier snapshot stays");
    // The commit was published in the anchor, and will never be in the others.
    for isolation in [Isolation::Snapshot, Isolation::ReadCommitted] {
        let mut later = rig.begin(isolation);
        let error = rig.look(&mut later, WAYS[0]).unwrap_err();
        assert!(matches!(error, Error::Poisoned(_)), "{error:?}");
    }
}

#[test]
fn a_commit_that_waits_for_space_on_disk_locks_nothing_in_memory() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { write_buffer_bytes: 10_000, ..Options::default() };
    let log = Log::open(Arc::new(RealFiles), directory.path(), "log", 1, Lsn(0), Durability::None).unwrap();
    let (go_on, waits) = channel::<()>();
    let waits = parking_lot::Mutex::new(waits);
    // Flushes wait until the sender is gone.
    let stalled: crate::disk::BeforeFlush = Arc::new(move || {
        let _ = waits.lock().recv();
        Ok(())
    });
    let disk = Arc::new(
        crate::disk::DiskEngine::open(&directory.path().join("disk"), 1, &options, stalled).unwrap(),
    );
    let memory = Arc::new(crate::memory::MemoryEngine::new(Timestamp::ZERO, u64::MAX));
    let engines: Vec<Arc<dyn Engine>> = vec![memory, Arc::clone(&disk) as Arc<dyn Engine>];
    let core = Arc::new(Coordinator::new(1, engines, Logs::Shared(log), options, None));
    let spaces = [space(0), space(1)];
    for (engine, space) in core.engines.iter().zip(&spaces) {
        engine.open_keyspace(space.id).unwrap();
    }
    let begin = || Transaction::begin(Arc::clone(&core), Isolation::Snapshot, None).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for row in 0..20_u8 {
                let mut transaction = begin();
                transaction.put(&spaces[0], b"hot", &[row]).unwrap();
                transaction.put(&spaces[1], &[row + 1], &[0; 4000]).unwrap();
                drop(transaction.commit().unwrap());
            }
        });
        while disk.state().stalls == 0 && !writer.is_finished() {
            std::thread::yield_now();
        }
        let mut beside = begin();
        beside.put(&spaces[0], b"hot", b"beside").unwrap();
        let outcome = beside.commit().map(drop);
        drop(go_on);
        let writers = writer.join();
        outcome.expect("the row in memory is locked by a commit that waits for the disk");
        // The stalled transaction rests on an older version of the row now.
        assert!(writers.is_err(), "the stalled commit has lost the race for the row");
    });
}

/// The prototype let a transaction without a snapshot do all its work first, and rolled it back at its end.
#[test]
fn a_snapshot_that_cannot_be_served_fails_at_once_and_not_at_the_commit() {
    let rig = rig(Options { csr_capacity: 1, ..Options::default() });
    let mut late = rig.begin(Isolation::Snapshot);
    // At read committed a write needs no snapshot, so only the commit makes an entry. It fills the partition, and waits
    // behind a commit in the second engine alone. The late reader would need an entry of its own, before the last of a
    // full partition.
    let write = |engines: &[usize], key: &[u8]| {
        let mut transaction = rig.begin(Isolation::ReadCommitted);
        for engine in engines {
            transaction.put(&rig.spaces[*engine], key, &1_u64.to_be_bytes()).unwrap();
        }
        drop(transaction.commit().unwrap());
    };
    let (first, again, last) = with_stopped(
        "commit.after_append",
        || write(&[1], b"other"),
        |go_on| {
            std::thread::scope(|scope| {
                let both = scope.spawn(|| write(&[1, 2], b"k"));
                while rig.core.registries[1].state().commits == 0 && !both.is_finished() {
                    std::thread::yield_now();
                }
                let seen = (rig.read(&mut late, 1), rig.read(&mut late, 0), late.commit());
                go_on.send(()).unwrap();
                seen
            })
        },
    );
    let first = first.unwrap_err();
    assert!(matches!(first, Error::Csr(_)) && first.is_retryable(), "{first}");
    assert!(matches!(again, Err(Error::Usage(_))), "{again:?}");
    assert!(matches!(last, Err(Error::Usage(_))), "{last:?}");
    assert_eq!(rig.core.active.count(Count::Csr), 1);
    let mut next = rig.begin(Isolation::Snapshot);
    assert_eq!(rig.look(&mut next, WAYS[0]).unwrap(), [0, 1, 1]);
}

/// At read committed nobody selects a snapshot, so the commits themselves must drop partitions.
#[test]
fn commits_drop_the_partitions_of_the_registry_that_nobody_needs() {
    let rig = rig(Options { csr_capacity: 4, csr_recycle: 1_000_000, ..Options::default() });
    let commit = || {
        let mut transaction = rig.begin(Isolation::ReadCommitted);
        (0..ENGINES).for_each(|engine| rig.write(&mut transaction, engine, 1));
        drop(transaction.commit().unwrap());
    };
    (0..400).for_each(|_| commit());
    for registry in &rig.core.registries {
        let state = registry.state();
        assert_eq!((state.commits, state.partitions, state.recycled), (400, 2, 98));
    }
    let mut old = rig.begin(Isolation::Snapshot);
    (0..400).for_each(|_| commit());
    assert_eq!(rig.core.registries[0].state().partitions, 101, "a running transaction may need them");
    assert_eq!(rig.look(&mut old, WAYS[0]).unwrap(), [1; ENGINES]);
    drop(old);
    (0..8).for_each(|_| commit());
    assert_eq!(rig.core.registries[0].state().partitions, 2);
}

#[test]
fn slots_of_ended_transactions_are_not_searched_any_more() {
    let rig = rig(Options::default());
    let mut open: Vec<_> = (0..5000).map(|_| rig.begin(Isolation::Snapshot)).collect();
    let peak = rig.core.active.scanned();
    assert!((5000..5200).contains(&peak), "{peak} slots for 5000 transactions");
    let oldest = open.swap_remove(2500);
    rig.commit_everywhere(1);
    open.clear();
    (0..100).for_each(|_| rig.core.collect_now());
    let few = rig.core.active.scanned();
    assert!(few <= 128, "{few} slots for one transaction");
    let running: Vec<_> = rig.core.active.running().iter().map(|running| running.number).collect();
    assert_eq!(running, [oldest.number()]);
    assert_eq!(rig.core.watermark(0), oldest.anchor, "its slot is not missed");
    drop(oldest);
    assert_eq!(rig.core.watermark(0), rig.core.engines[0].clock().horizon());
    assert_eq!(rig.core.active.count(Count::RolledBack), 5000, "the counters of all slots stay");
    let again: Vec<_> = (0..1000).map(|_| rig.begin(Isolation::Snapshot)).collect();
    assert_eq!(rig.core.active.running().len(), again.len());
}
