//! Concurrent threads with all operations. The database records every read and commit, and the oracle checks them
//! exactly. There are no faults in any way of stamping and logging commits, and many without the registry.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use gemel::oracle::{self, Recorder};
use gemel::{
    CommitStamps, Database, Direction, Durability, Engine, Isolation, Keyspace, LogMode, Options, Result,
    Wait,
};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const THREADS: u64 = 4;
const KEYS: u64 = 40;
/// Commits over both engines, while keyspaces move, that say enough.
const ENOUGH: u64 = 100;
/// Longest time until a machine has got so far.
const PATIENCE: Duration = Duration::from_secs(60);

/// A cheap generator: the test needs variety, not quality.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Runs a transaction. Prepares one of `prepares` and decides it some time later; none if that is zero.
fn transaction(db: &Database, spaces: &[Keyspace], random: &mut Random, prepares: u64) -> Result<()> {
    let isolation = match random.below(8) {
        0 => Isolation::ReadCommitted,
        1..5 => Isolation::Snapshot,
        _ => Isolation::Serializable,
    };
    let mut transaction = db.begin(isolation)?;
    for _ in 0..=random.below(6) {
        let space = &spaces[random.below(spaces.len() as u64) as usize];
        let key = format!("key {:03}", random.below(KEYS));
        let (key, value) = (key.as_bytes(), random.below(1000).to_be_bytes());
        let near = format!("key {:03}", random.below(KEYS));
        let several = [key, near.as_bytes(), key];
        match random.below(14) {
            0..2 => drop(transaction.get(space, key)?),
            2 => drop(transaction.get_for_update(space, key)?),
            3 => {
                let mut left = 1 + random.below(8);
                let direction = [Direction::Forward, Direction::Backward][random.below(2) as usize];
                transaction.scan(space, Bound::Included(key), Bound::Unbounded, direction, |_, _| {
                    left -= 1;
                    if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                })?;
            }
            4..7 => transaction.put(space, key, &value)?,
            7 => drop(transaction.update(space, key, |old| old.extend_from_slice(&value[6..]))?),
            8 => match transaction.insert(space, key, &value) {
                Err(gemel::Error::Constraint(_)) => {}
                other => other?,
            },
            9 => transaction.delete(space, key)?,
            // Not for ever: the holder may be a prepared transaction that this thread decides later.
            12 => drop(transaction.get_locked(space, key, Wait::For(Duration::from_millis(5)))?),
            13 => drop(transaction.try_lock(space, key)?),
            10 => transaction.read_each(space, several, |_, _| std::thread::yield_now())?,
            _ => transaction.update_each(space, several, |_, value| {
                std::thread::yield_now();
                value.reverse();
            })?,
        }
    }
    if prepares == 0 || random.below(prepares) > 0 {
        return transaction.commit().map(drop);
    }
    let name = transaction.number().to_string();
    drop(transaction.prepare(&name)?);
    // Some of these meet it, and fail.
    for _ in 0..random.below(4) {
        let _ = self::transaction(db, spaces, random, 0);
    }
    let decide = if random.below(3) == 0 { Database::roll_back_prepared } else { Database::commit_prepared };
    decide(db, &name).map(drop)
}

/// Runs the threads for some time. Moves two keyspaces meanwhile if `moves`. Returns the faults, and the number of
/// commits over both engines.
fn stress(options: Options, time: Duration, moves: bool) -> (Vec<String>, u64) {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(directory.path().join("db"), options).unwrap();
    let spaces: Vec<_> =
        [("a", Engine::Memory), ("b", Engine::Memory), ("c", Engine::Disk), ("d", Engine::Disk)]
            .into_iter()
            .map(|(name, engine)| db.keyspace(name, engine).unwrap())
            .collect();
    let recorder = Arc::new(Recorder::default());
    assert!(db.record_into(Arc::clone(&recorder)));
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (db, is_done) = (&db, &is_done);
        scope.spawn(move || {
            while moves && !is_done.load(Ordering::Relaxed) {
                for (name, engine) in
                    [("a", Engine::Disk), ("d", Engine::Memory), ("a", Engine::Memory), ("d", Engine::Disk)]
                {
                    // A prepared transaction may have used it, but not for long.
                    while let Err(error) = db.move_keyspace(name, engine) {
                        assert!(error.to_string().contains("prepared transaction"), "{error}");
                    }
                }
            }
        });
        for thread in 0..THREADS {
            let spaces = &spaces;
            scope.spawn(move || {
                let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ (thread + 1));
                while !is_done.load(Ordering::Relaxed) {
                    match transaction(db, spaces, &mut random, 8) {
                        Ok(()) => {}
                        Err(error) => assert!(error.is_retryable(), "{error}"),
                    }
                }
            });
        }
        std::thread::sleep(time);
        // A machine under load needs longer for as much.
        let enough = |state: &gemel::State| state.committed.cross > ENOUGH && state.moves.done >= 4;
        let begun = Instant::now();
        while moves && !enough(&db.state()) && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(20));
        }
        is_done.store(true, Ordering::Relaxed);
    });
    let state = db.state();
    assert_eq!(state.running, []);
    // While keyspaces move, few transactions leave these alone.
    assert!((moves || state.prepared.prepared > 0) && state.prepared.undecided == 0, "{:?}", state.prepared);
    assert!(!moves || state.moves.done >= 4);
    assert!(state.csr.entries <= 10_000, "{:?}", state.csr);
    (oracle::check(&recorder.take()), state.committed.cross)
}

fn options(csr: bool, commit_stamps: CommitStamps, log: LogMode) -> Options {
    Options {
        csr,
        commit_stamps,
        log,
        durability: Durability::None,
        csr_capacity: 100,
        csr_recycle: 50,
        // Small, so flushes and compactions happen meanwhile.
        write_buffer_bytes: 1 << 17,
        ..Options::default()
    }
}

fn nothing_is_wrong(commit_stamps: CommitStamps, log: LogMode) {
    let (wrong, cross) = stress(options(true, commit_stamps, log), Duration::from_millis(1500), false);
    assert!(wrong.is_empty(), "{} faults, the first: {:#?}", wrong.len(), &wrong[..wrong.len().min(5)]);
    assert!(cross > 100, "only {cross} commits over both engines");
}

/// The engine may return keys after the one at which a scan breaks off. The scan has not read them, so they cause no
/// conflict and no fault.
#[test]
fn a_scan_that_ends_at_an_own_write_has_not_read_the_keys_after_it() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(directory.path().join("db"), Options::default()).unwrap();
    let rows = db.keyspace("rows", Engine::Memory).unwrap();
    let recorder = Arc::new(Recorder::default());
    assert!(db.record_into(Arc::clone(&recorder)));
    let put = |key: &[u8]| {
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        transaction.put(&rows, key, b"v").unwrap();
        transaction.commit().map(drop)
    };
    put(b"c").unwrap();
    let mut reader = db.begin(Isolation::Serializable).unwrap();
    reader.put(&rows, b"b", b"own").unwrap();
    let mut first = None;
    let mut note = |key: &[u8], _: &[u8]| {
        first = Some(key.to_vec());
        ControlFlow::Break(())
    };
    reader.scan(&rows, Bound::Unbounded, Bound::Unbounded, Direction::Forward, &mut note).unwrap();
    assert_eq!(first.unwrap(), b"b");
    put(b"c").unwrap();
    drop(reader.commit().unwrap());
    assert_eq!(oracle::check(&recorder.take()), [] as [String; 0]);
}

#[test]
fn nothing_is_wrong_with_stamps_under_the_latch_and_one_log() {
    nothing_is_wrong(CommitStamps::Latched, LogMode::Shared);
}

#[test]
fn nothing_is_wrong_with_stamps_under_the_latch_and_two_logs() {
    nothing_is_wrong(CommitStamps::Latched, LogMode::PerEngine);
}

#[test]
fn nothing_is_wrong_with_independent_stamps_and_one_log() {
    nothing_is_wrong(CommitStamps::Independent, LogMode::Shared);
}

#[test]
fn nothing_is_wrong_with_independent_stamps_and_two_logs() {
    nothing_is_wrong(CommitStamps::Independent, LogMode::PerEngine);
}

#[test]
fn nothing_is_wrong_while_keyspaces_move() {
    for (stamps, log) in
        [(CommitStamps::Latched, LogMode::PerEngine), (CommitStamps::Independent, LogMode::Shared)]
    {
        let (wrong, cross) = stress(options(true, stamps, log), Duration::from_millis(1000), true);
        assert!(wrong.is_empty(), "{} faults, the first: {:#?}", wrong.len(), &wrong[..wrong.len().min(5)]);
        assert!(cross > ENOUGH, "only {cross} commits over both engines");
    }
}

#[test]
fn the_oracle_finds_faults_without_the_registry() {
    let (wrong, _) =
        stress(options(false, CommitStamps::Latched, LogMode::Shared), Duration::from_millis(500), false);
    assert!(wrong.iter().any(|wrong| wrong.contains("in engine 1")), "{:?}", wrong.first());
}

/// The prototype leaked partitions of its registry.
#[test]
fn partitions_of_the_registry_are_dropped_as_snapshots_end() {
    let directory = tempfile::tempdir().unwrap();
    let options =
        Options { csr_capacity: 4, csr_recycle: 8, ..options(true, CommitStamps::Latched, LogMode::Shared) };
    let db = Database::open(directory.path().join("db"), options).unwrap();
    let spaces = [db.keyspace("a", Engine::Memory).unwrap(), db.keyspace("b", Engine::Disk).unwrap()];
    let commits = |count: u64| {
        for round in 0..count {
            let mut transaction = db.begin(Isolation::Snapshot).unwrap();
            for space in &spaces {
                transaction.put(space, b"k", &round.to_be_bytes()).unwrap();
            }
            drop(transaction.commit().unwrap());
        }
    };
    commits(1000);
    let state = db.state().csr;
    assert!(state.partitions <= 8 && state.entries <= 32 && state.recycled > 200, "{state:?}");
    let held = db.begin(Isolation::Snapshot).unwrap();
    commits(200);
    assert!(db.state().csr.partitions >= 40, "an old snapshot keeps what it may need: {:?}", db.state().csr);
    drop(held);
    commits(40);
    assert!(db.state().csr.partitions <= 8, "{:?}", db.state().csr);
}
