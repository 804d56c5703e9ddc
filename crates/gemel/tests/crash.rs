//! Processes that are killed while they work, again and again on one directory. After each: everything that was
//! acknowledged is there, nothing is there in part, and both engines agree.
//!
//! `GEMEL_CRASHES=500 cargo test --release -p gemel --test crash -- --nocapture` is the long suite.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use gemel::{CommitStamps, Database, Direction, Durability, Engine, Isolation, Keyspace, LogMode, Options};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const WORKERS: u64 = 4;
const ACCOUNTS: u64 = 50;
const MONEY: u64 = 1000;

fn options(log: LogMode, commit_stamps: CommitStamps) -> Options {
    Options {
        log,
        commit_stamps,
        durability: Durability::Full,
        // Small, so that checkpoints, flushes and compactions happen within a second.
        checkpoint_log_bytes: 1 << 20,
        write_buffer_bytes: 1 << 18,
        csr_capacity: 50,
        csr_recycle: 20,
        ..Options::default()
    }
}

struct Bank {
    db: Database,
    hot: Keyspace,
    cold: Keyspace,
}

fn bank(path: &Path, options: Options) -> gemel::Result<Bank> {
    let db = Database::open(path, options)?;
    let (hot, cold) = (db.keyspace("hot", Engine::Memory)?, db.keyspace("cold", Engine::Disk)?);
    Ok(Bank { db, hot, cold })
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes.try_into().unwrap())
}

/// A cheap generator: the test needs variety, not quality.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Works until it is killed. Each transaction moves money from an account in one engine to one in any, counts itself in both
/// engines, and leaves a row with its number on disk. Prints `worker number` once the commit is durable.
fn work(path: &Path, options: Options, seed: u64) {
    let bank = bank(path, options).unwrap();
    let mut setup = bank.db.begin(Isolation::Serializable).unwrap();
    if setup.get(&bank.hot, b"account/0").unwrap().is_none() {
        for account in 0..ACCOUNTS {
            let space = if account.is_multiple_of(2) { &bank.hot } else { &bank.cold };
            setup.put(space, format!("account/{account}").as_bytes(), &MONEY.to_be_bytes()).unwrap();
        }
        setup.commit().unwrap().wait().unwrap();
    }
    std::thread::scope(|scope| {
        for worker in 0..WORKERS {
            let bank = &bank;
            scope.spawn(move || {
                let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(worker + 1) | 1;
                let counter = format!("count/{worker}");
                loop {
                    let outcome = (|| {
                        let mut transaction = bank.db.begin(Isolation::Snapshot)?;
                        let done =
                            transaction.get(&bank.hot, counter.as_bytes())?.map_or(0, |bytes| number(&bytes));
                        for step in [u64::MAX, 1] {
                            let account = next(&mut random) % ACCOUNTS;
                            let space = if account.is_multiple_of(2) { &bank.hot } else { &bank.cold };
                            transaction.update(space, format!("account/{account}").as_bytes(), |value| {
                                let money = number(value).wrapping_add(step);
                                value.copy_from_slice(&money.to_be_bytes());
                            })?;
                        }
                        transaction.put(&bank.hot, counter.as_bytes(), &(done + 1).to_be_bytes())?;
                        transaction.put(&bank.cold, counter.as_bytes(), &(done + 1).to_be_bytes())?;
                        transaction.put(
                            &bank.cold,
                            format!("row/{worker}/{:010}", done + 1).as_bytes(),
                            &[7; 100],
                        )?;
                        transaction.commit()?.wait()?;
                        Ok::<_, gemel::Error>(done + 1)
                    })();
                    match outcome {
                        Ok(done) => {
                            let mut out = std::io::stdout().lock();
                            writeln!(out, "ack {worker} {done}").and_then(|()| out.flush()).unwrap();
                        }
                        Err(error) if error.is_retryable() => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
}

/// Opens what a killed process left and checks it against what it acknowledged. Returns how many transactions there are.
fn check(path: &Path, options: Options, acknowledged: &HashMap<u64, u64>) -> u64 {
    let bank = bank(path, options).unwrap();
    let mut reader = bank.db.begin(Isolation::Snapshot).unwrap();
    let mut all = 0;
    for worker in 0..WORKERS {
        let counter = format!("count/{worker}");
        let hot = reader.get(&bank.hot, counter.as_bytes()).unwrap().map_or(0, |bytes| number(&bytes));
        let cold = reader.get(&bank.cold, counter.as_bytes()).unwrap().map_or(0, |bytes| number(&bytes));
        assert_eq!(hot, cold, "worker {worker}: a transaction is there in one engine only");
        let promised = acknowledged.get(&worker).copied().unwrap_or(0);
        assert!(hot >= promised, "worker {worker}: {promised} acknowledged, {hot} there");
        let prefix = format!("row/{worker}/");
        let end = format!("row/{worker}0");
        let mut rows = 0;
        reader
            .scan(
                &bank.cold,
                Bound::Included(prefix.as_bytes()),
                Bound::Excluded(end.as_bytes()),
                Direction::Forward,
                |_, _| {
                    rows += 1;
                    ControlFlow::Continue(())
                },
            )
            .unwrap();
        assert_eq!(rows, hot, "worker {worker}: rows and count differ");
        all += hot;
    }
    let mut money = 0_u64;
    for account in 0..ACCOUNTS {
        let space = if account.is_multiple_of(2) { &bank.hot } else { &bank.cold };
        // The very first transaction may not have come through.
        let Some(value) = reader.get(space, format!("account/{account}").as_bytes()).unwrap() else {
            assert_eq!(all, 0);
            return 0;
        };
        money = money.wrapping_add(number(&value));
    }
    assert_eq!(money, ACCOUNTS * MONEY, "money was made or lost");
    all
}

const CHILD: &str = "GEMEL_CRASH_CHILD";

fn mode(index: usize) -> Options {
    let log = [LogMode::Shared, LogMode::PerEngine][index % 2];
    let stamps = [CommitStamps::Latched, CommitStamps::Independent][index / 2 % 2];
    options(log, stamps)
}

/// Where a process is killed from inside, and after how many visits at most.
const FAIL_POINTS: &[(&str, u64)] = &[
    ("log.before_write", 200),
    ("log.after_write", 200),
    ("log.before_sync", 200),
    ("log.after_sync", 200),
    ("commit.after_append", 300),
    ("commit.after_install", 300),
    ("commit.between_publications", 300),
    ("checkpoint.before_sync", 3),
    ("checkpoint.before_rename", 3),
    ("checkpoint.before_manifest", 3),
    ("checkpoint.after_manifest", 3),
    ("disk.before_flush", 3),
    ("disk.after_flush", 3),
    ("disk.before_compact", 3),
    ("disk.after_compact", 3),
];

#[test]
fn nothing_acknowledged_is_lost_and_nothing_is_there_in_part() {
    if let Ok(child) = std::env::var(CHILD) {
        let mut parts = child.splitn(3, ' ');
        let mode_index: usize = parts.next().unwrap().parse().unwrap();
        let seed = parts.next().unwrap().parse().unwrap();
        work(Path::new(parts.next().unwrap()), mode(mode_index), seed);
        return;
    }
    let crashes: u64 = std::env::var("GEMEL_CRASHES").map_or(50, |count| count.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let mut random = 0x2545_F491_4F6C_DD1D;
    let mut acknowledged: Vec<HashMap<u64, u64>> = vec![HashMap::new(); 4];
    let (mut by_point, mut recoveries, mut there) = (0, 0, [0; 4]);
    for crash in 0..crashes {
        let mode_index = (crash % 4) as usize;
        let path = directory.path().join(format!("db{mode_index}"));
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "nothing_acknowledged_is_lost_and_nothing_is_there_in_part", "--nocapture"]);
        child.env(CHILD, format!("{mode_index} {crash} {}", path.display()));
        // Two of three die at a named point, the others whenever the signal comes.
        let point = FAIL_POINTS[(crash / 4) as usize % FAIL_POINTS.len()];
        let named = !crash.is_multiple_of(3);
        if named {
            child.env("GEMEL_FAIL_POINT", format!("{}:{}", point.0, 1 + next(&mut random) % point.1));
        }
        let mut child = child.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let acks = std::thread::spawn(move || {
            let mut acks = HashMap::new();
            for line in lines.map_while(Result::ok) {
                let mut words = line.split(' ');
                if let (Some("ack"), Some(worker), Some(done)) = (words.next(), words.next(), words.next()) {
                    // The last line may be cut short by the death of its writer.
                    if let (Ok(worker), Ok(done)) = (worker.parse::<u64>(), done.parse::<u64>()) {
                        acks.insert(worker, done);
                    }
                }
            }
            acks
        });
        // A named point that is not reached within this time is left for the signal.
        let patience = if named {
            Duration::from_millis(1500)
        } else {
            Duration::from_millis(50 + next(&mut random) % 500)
        };
        let until = Instant::now() + patience;
        let mut died = None;
        while died.is_none() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
            died = child.try_wait().unwrap();
        }
        by_point += u64::from(died.is_some());
        child.kill().unwrap();
        child.wait().unwrap();
        acknowledged[mode_index].extend(acks.join().unwrap());
        there[mode_index] = check(&path, mode(mode_index), &acknowledged[mode_index]);
        recoveries += 1;
    }
    let acknowledged: u64 = acknowledged.iter().flat_map(HashMap::values).sum();
    println!(
        "{crashes} crashes ({by_point} at named points), {recoveries} recoveries, {acknowledged} transactions acknowledged, \
         {} there, lost 0, partial 0",
        there.iter().sum::<u64>()
    );
    assert!(acknowledged > 0);
}
