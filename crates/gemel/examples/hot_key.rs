//! Measures increments of one hot key: with optimistic reads that are retried, and with locking reads, in turns. Prints
//! commits per second, and aborts per commit.
//!
//! `cargo run --release -p gemel --example hot_key -- DIRECTORY memory|disk SECONDS THREADS…`

use gemel::{Database, Durability, Engine, Error, Isolation, Keyspace, Options, Result, Wait};
use std::path::Path;
use std::time::{Duration, Instant};

/// Measurements of each way. The ways take turns.
const TURNS: usize = 3;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, engine, seconds, threads @ ..] = &arguments[..] else { return Err(usage()) };
    let engine = match engine.as_str() {
        "memory" => Engine::Memory,
        "disk" => Engine::Disk,
        _ => return Err(usage()),
    };
    let time = Duration::from_secs_f64(seconds.parse().map_err(|_| usage())?);
    let options = Options { durability: Durability::None, ..Options::default() };
    let db = Database::open(Path::new(directory), options)?;
    let space = db.keyspace("hot", engine)?;
    for threads in threads {
        let threads: u64 = threads.parse().map_err(|_| usage())?;
        for _ in 0..TURNS {
            for locks in [false, true] {
                measure(&db, &space, threads, time, locks)?;
            }
        }
    }
    Ok(())
}

/// Runs the threads for a time.
fn measure(db: &Database, space: &Keyspace, threads: u64, time: Duration, locks: bool) -> Result<()> {
    let (begun, before) = (Instant::now(), db.state());
    let counts: Result<Vec<(u64, Duration)>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(|| work(db, space, time, locks))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let counts = counts?;
    let commits: u64 = counts.iter().map(|(commits, _)| commits).sum();
    let longest = counts.iter().map(|(_, longest)| *longest).max().unwrap_or_default();
    let (after, aborted) = (db.state().aborted, before.aborted);
    let aborts = after.write_conflict + after.locked - aborted.write_conflict - aborted.locked;
    println!(
        "{threads} threads, {}: {:.0} commits per second, {:.2} aborts per commit, longest transaction {longest:.1?}",
        if locks { "locking" } else { "optimistic" },
        commits as f64 / begun.elapsed().as_secs_f64(),
        aborts as f64 / commits as f64,
    );
    Ok(())
}

/// Adds to the hot key for a time. Returns the commits, and the longest time that one took with its attempts.
fn work(db: &Database, space: &Keyspace, time: Duration, locks: bool) -> Result<(u64, Duration)> {
    let (begun, mut commits, mut longest) = (Instant::now(), 0, Duration::ZERO);
    while begun.elapsed() < time {
        let attempt = Instant::now();
        let outcome = db.run_pipelined(Isolation::Snapshot, |transaction| {
            let old = if locks {
                transaction.get_locked(space, b"hot", Wait::Forever)?
            } else {
                transaction.get(space, b"hot")?
            };
            let old = old.and_then(|old| old.try_into().ok()).map_or(0, u64::from_be_bytes);
            transaction.put(space, b"hot", &(old + 1).to_be_bytes())
        });
        match outcome {
            Ok(_) => commits += 1,
            // All attempts were in vain.
            Err(error) if error.is_retryable() => {}
            Err(error) => return Err(error),
        }
        longest = longest.max(attempt.elapsed());
    }
    Ok((commits, longest))
}

fn usage() -> Error {
    Error::Usage("hot_key DIRECTORY memory|disk SECONDS THREADS…".into())
}
