//! The microbenchmark of Skeena's evaluation (section 6.2), as far as it concerns the database alone: tables in both engines,
//! records of 232 bytes, ten uniform accesses in a transaction, and a share of them on disk.
//!
//! `cargo run --release -p gemel --example micro -- [SECONDS [THREADS [RECORDS]]]`

use gemel::{Database, Durability, Engine, Error, Isolation, Keyspace, Options};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const TABLES: usize = 4;
const ACCESSES: u64 = 10;
const RECORD_BYTES: usize = 232;

struct Setting {
    seconds: u64,
    threads: u64,
    records: u64,
}

fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Transactions per second, and the share of attempts that lost, with `percent` of the accesses on disk and
/// `writes` of ten accesses updates.
fn run(
    setting: &Setting,
    csr: bool,
    percent: u64,
    writes: u64,
) -> Result<(f64, f64), Box<dyn std::error::Error>> {
    let directory = std::env::temp_dir().join(format!("gemel-micro-{}", std::process::id()));
    let options =
        Options { csr, durability: Durability::Relaxed(Duration::from_millis(50)), ..Options::default() };
    let db = Database::open(&directory, options)?;
    let mut keyspaces: [Vec<Keyspace>; 2] = Default::default();
    for (keyspaces, engine) in keyspaces.iter_mut().zip([Engine::Memory, Engine::Disk]) {
        for table in 0..TABLES {
            let keyspace = db.keyspace(&format!("{}{table}", engine.name()), engine)?;
            for batch in 0..setting.records.div_ceil(1000) {
                let mut transaction = db.begin(Isolation::Snapshot)?;
                for key in batch * 1000..((batch + 1) * 1000).min(setting.records) {
                    transaction.put(&keyspace, &key.to_be_bytes(), &[7; RECORD_BYTES - 8])?;
                }
                transaction.commit()?.wait()?;
            }
            keyspaces.push(keyspace);
        }
    }
    db.checkpoint()?;
    let (stop, done, lost) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let begun = Instant::now();
    let outcome = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..setting.threads)
            .map(|thread| {
                let (db, keyspaces, stop, done, lost) = (&db, &keyspaces, &stop, &done, &lost);
                scope.spawn(move || {
                    let mut random = 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(thread + 1);
                    while !stop.load(Ordering::Relaxed) {
                        let mut work = || {
                            let mut transaction = db.begin(Isolation::Snapshot)?;
                            for access in 0..ACCESSES {
                                let on_disk = next(&mut random) % 100 < percent;
                                let keyspace =
                                    &keyspaces[usize::from(on_disk)][next(&mut random) as usize % TABLES];
                                let key = (next(&mut random) % setting.records).to_be_bytes();
                                if access < ACCESSES - writes {
                                    transaction
                                        .read(keyspace, &key, |value| std::hint::black_box(value[0]))?;
                                } else {
                                    transaction.update(keyspace, &key, |value| {
                                        value[0] = value[0].wrapping_add(1)
                                    })?;
                                }
                            }
                            transaction.commit()?.wait()
                        };
                        match work() {
                            Ok(()) => done.fetch_add(1, Ordering::Relaxed),
                            Err(error) if error.is_retryable() => lost.fetch_add(1, Ordering::Relaxed),
                            Err(error) => return Err(error),
                        };
                    }
                    Ok::<_, Error>(())
                })
            })
            .collect();
        std::thread::sleep(Duration::from_secs(setting.seconds));
        stop.store(true, Ordering::Relaxed);
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or(Ok(())))
    });
    let seconds = begun.elapsed().as_secs_f64();
    db.close()?;
    std::fs::remove_dir_all(&directory)?;
    outcome?;
    let (done, lost) = (done.into_inner() as f64, lost.into_inner() as f64);
    Ok((done / seconds, 100.0 * lost / (done + lost).max(1.0)))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let mut argument = |default: u64| arguments.next().unwrap_or(Ok(default));
    let setting = Setting { seconds: argument(3)?, threads: argument(2)?, records: argument(25_000)? };
    println!(
        "{} threads, {TABLES} tables of {} records in each engine, {} s each; transactions per second, and aborts in %",
        setting.threads, setting.records, setting.seconds
    );
    println!(
        "{:<12} {:>7} {:>12} {:>12} {:>8} {:>9}",
        "mix", "% disk", "csr on", "csr off", "on/off", "aborts"
    );
    for (name, writes) in [("read-only", 0), ("read-write", 2), ("write-only", ACCESSES)] {
        for percent in [0, 30, 50, 80, 100] {
            let (on, aborts) = run(&setting, true, percent, writes)?;
            let (off, _) = run(&setting, false, percent, writes)?;
            println!("{name:<12} {percent:>7} {on:>12.0} {off:>12.0} {:>8.2} {aborts:>9.3}", on / off);
        }
    }
    Ok(())
}
