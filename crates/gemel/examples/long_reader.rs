//! Measures what a long reader costs the writers of a hot table, and what it leaves. Two threads overwrite 10 000 rows at
//! random, for some time without a reader, as long with a snapshot that stays open and reads a row of its own now and
//! then, and as long without it again. Prints, for a table in memory and one on disk: commits per second in each phase
//! beside those of the first, the bytes of the table and the time of a scan at the end of each phase, and how long after
//! the reader's end bytes and scan were within twice those of the first phase. Each round makes a database of its own.
//!
//! `cargo run --release -p gemel --example long_reader -- DIRECTORY [SECONDS] [ROUNDS]`

use gemel::{Database, Direction, Durability, Engine, Isolation, Keyspace, Options};
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Programs that hold much in memory use this allocator or one like it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const THREADS: u64 = 2;
const ROWS: u64 = 10_000;
const VALUE: [u8; 100] = [7; 100];
/// Time between two reads of the long reader.
const PAUSE: Duration = Duration::from_millis(100);

/// What a table takes.
#[derive(Clone, Copy)]
struct Cost {
    bytes: u64,
    scan: Duration,
}

impl Cost {
    fn of(db: &Database, rows: &Keyspace, engine: Engine) -> gemel::Result<Self> {
        let mut reader = db.begin(Isolation::Snapshot)?;
        let (begun, mut found) = (Instant::now(), 0);
        reader.scan(rows, Bound::Unbounded, Bound::Unbounded, Direction::Forward, |_, _| {
            found += 1;
            ControlFlow::Continue(())
        })?;
        assert_eq!(found, ROWS, "rows are missing");
        let (state, scan) = (db.state(), begun.elapsed());
        let bytes = match engine {
            Engine::Memory => state.memory.bytes,
            Engine::Disk => state.disk.file_bytes + state.disk.memtable_bytes + state.disk.sealed_bytes,
        };
        Ok(Self { bytes, scan })
    }

    fn is_within_twice(self, fresh: Self) -> bool {
        self.bytes <= 2 * fresh.bytes && self.scan <= 2 * fresh.scan
    }
}

/// The next pseudo-random number (xorshift).
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Overwrites rows until `stop`, and counts the commits.
fn write(
    db: &Database,
    rows: &Keyspace,
    seed: u64,
    commits: &AtomicU64,
    stop: &AtomicBool,
) -> gemel::Result<()> {
    let mut random = seed;
    while !stop.load(Ordering::Relaxed) {
        let mut transaction = db.begin(Isolation::Snapshot)?;
        transaction.put(rows, &(next(&mut random) % ROWS).to_be_bytes(), &VALUE)?;
        match transaction.commit() {
            Ok(_) => {
                commits.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) if error.is_retryable() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Waits for the length of a phase and calls `step` now and then. Returns commits per second.
fn phase(
    length: Duration,
    commits: &AtomicU64,
    mut step: impl FnMut(Duration) -> gemel::Result<()>,
) -> gemel::Result<f64> {
    let (begun, before) = (Instant::now(), commits.load(Ordering::Relaxed));
    while begun.elapsed() < length {
        std::thread::sleep(PAUSE.min(length.saturating_sub(begun.elapsed())));
        step(begun.elapsed())?;
    }
    Ok((commits.load(Ordering::Relaxed) - before) as f64 / begun.elapsed().as_secs_f64())
}

/// The three phases, while the writers work. Prints a line for each.
fn phases(
    db: &Database,
    rows: &Keyspace,
    engine: Engine,
    length: Duration,
    commits: &AtomicU64,
) -> gemel::Result<()> {
    let show = |what: &str, rate: f64, first: f64, cost: Cost| {
        println!(
            "{:6} {what:8} {rate:9.0} commits/s, {:.2} of the first; {:8.1} MB, scan {:7.1} ms",
            engine.name(),
            rate / first,
            cost.bytes as f64 / 1e6,
            cost.scan.as_secs_f64() * 1e3
        );
    };
    // What a first write of all rows costs more does not count.
    phase(length / 4, commits, |_| Ok(()))?;
    let first = phase(length, commits, |_| Ok(()))?;
    let fresh = Cost::of(db, rows, engine)?;
    show("without", first, first, fresh);

    let mut reader = db.begin(Isolation::Snapshot)?;
    let mut random = 0x9E37_79B9;
    let during = phase(length, commits, |_| {
        let key = (next(&mut random) % ROWS).to_be_bytes();
        reader.get(rows, &key).map(|row| assert!(row.is_some(), "a row is missing"))
    })?;
    show("with", during, first, Cost::of(db, rows, engine)?);
    drop(reader);

    let mut back = None;
    let after = phase(length, commits, |since| {
        if back.is_none() && Cost::of(db, rows, engine)?.is_within_twice(fresh) {
            back = Some(since);
        }
        Ok(())
    })?;
    show("after", after, first, Cost::of(db, rows, engine)?);
    let words =
        back.map_or("not within the phase".to_owned(), |since| format!("after {:.1} s", since.as_secs_f64()));
    println!("{:6} bytes and scan within twice those without a reader: {words}", engine.name());
    Ok(())
}

fn measure(path: &Path, engine: Engine, length: Duration) -> gemel::Result<()> {
    let options =
        Options { durability: Durability::Relaxed(Duration::from_millis(10)), ..Options::default() };
    let db = Database::open(path, options)?;
    let rows = db.keyspace("rows", engine)?;
    let mut transaction = db.begin(Isolation::Snapshot)?;
    for row in 0..ROWS {
        transaction.put(&rows, &row.to_be_bytes(), &VALUE)?;
    }
    transaction.commit()?.wait()?;
    let (commits, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let (db, rows, commits, stop) = (&db, &rows, &commits, &stop);
        let writers: Vec<_> =
            (1..=THREADS).map(|seed| scope.spawn(move || write(db, rows, seed, commits, stop))).collect();
        let outcome = phases(db, rows, engine, length, commits);
        stop.store(true, Ordering::Relaxed);
        for writer in writers {
            writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        outcome
    })?;
    drop(rows);
    db.close()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().ok_or("name a directory")?;
    let seconds: u64 = arguments.next().map_or(Ok(60), |seconds| seconds.parse())?;
    let rounds: u32 = arguments.next().map_or(Ok(1), |rounds| rounds.parse())?;
    for _ in 0..rounds {
        for engine in [Engine::Memory, Engine::Disk] {
            let place = tempfile::tempdir_in(&directory)?;
            measure(&place.path().join("db"), engine, Duration::from_secs(seconds))?;
        }
    }
    Ok(())
}
