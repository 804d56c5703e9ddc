//! Measures how long commits of tables in memory take while another thread commits to the disk engine, whose buffer is
//! small, so it flushes and merges all the time. Prints the 50th, 99th and 99.9th percentile and the maximum in µs, the
//! number of commits in memory and on disk, and the number of flushes. `benches/tail.sh` runs it.
//!
//! `cargo run --release -p gemel --example tail -- DIRECTORY [SECONDS]`

use gemel::{Database, Durability, Engine, Error, Isolation, Keyspace, Options};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Programs that hold much in memory use this allocator or one like it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const THREADS: u64 = 2;
/// Keys of each thread, so the threads have no conflicts.
const KEYS: u64 = 10_000;
const MEMORY_VALUE: [u8; 100] = [7; 100];
const DISK_VALUE: [u8; 1000] = [7; 1000];

/// Buckets for each power of two: a percentile is off by at most 1.6 %.
const BUCKETS: u64 = 64;

/// A histogram of nanoseconds. It does not grow, so recording never waits for memory.
struct Histogram {
    counts: Vec<u64>,
    max: u64,
}

impl Histogram {
    fn new() -> Self {
        Self { counts: vec![0; (BUCKETS * u64::from(u64::BITS)) as usize], max: 0 }
    }

    fn record(&mut self, nanos: u64) {
        self.max = self.max.max(nanos);
        let shift = (nanos / BUCKETS).checked_ilog2().map_or(0, |log| log + 1);
        // From the second power of two on, the upper half of the buckets is in use.
        self.counts[(u64::from(shift) * BUCKETS + (nanos >> shift)) as usize] += 1;
    }

    fn add(&mut self, other: &Self) {
        self.max = self.max.max(other.max);
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, other)| *count += other);
    }

    fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the upper end of the bucket that holds a percentile, in µs.
    fn percentile(&self, percent: f64) -> f64 {
        let wanted = (self.total() as f64 * percent / 100.0).ceil() as u64;
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                let (shift, rest) = (bucket as u64 / BUCKETS, bucket as u64 % BUCKETS);
                return (((rest + 1) << shift) as f64).min(self.max as f64) / 1000.0;
            }
        }
        self.max as f64 / 1000.0
    }
}

fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn commit(db: &Database, keyspace: &Keyspace, key: u64, value: &[u8]) -> Result<(), Error> {
    let mut transaction = db.begin(Isolation::Snapshot)?;
    transaction.put(keyspace, &key.to_be_bytes(), value)?;
    transaction.commit().map(drop)
}

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let Some(directory) = arguments.next() else {
        return Err(Error::Usage("name a directory for the database".into()));
    };
    let seconds = match arguments.next().map(|seconds| seconds.parse::<f64>()) {
        None => 5.0,
        Some(Ok(seconds)) => seconds,
        Some(Err(_)) => return Err(Error::Usage("the second argument is a number of seconds".into())),
    };
    let options = Options {
        durability: Durability::Relaxed(Duration::from_millis(10)),
        write_buffer_bytes: 1 << 20,
        ..Options::default()
    };
    let db = Database::open(&directory, options)?;
    let (hot, cold) = (db.keyspace("hot", Engine::Memory)?, db.keyspace("cold", Engine::Disk)?);
    for key in 0..THREADS * KEYS {
        commit(&db, &hot, key, &MEMORY_VALUE)?;
    }
    let done = AtomicBool::new(false);
    let (mut all, mut on_disk) = (Histogram::new(), 0);
    std::thread::scope(|scope| -> Result<(), Error> {
        let disk = scope.spawn(|| {
            let (mut random, mut commits) = (0x9E37_79B9_7F4A_7C15, 0_u64);
            while !done.load(Ordering::Relaxed) {
                commit(&db, &cold, next(&mut random) % 100_000, &DISK_VALUE)?;
                commits += 1;
            }
            Ok::<_, Error>(commits)
        });
        let memory: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (db, hot, done) = (&db, &hot, &done);
                scope.spawn(move || {
                    let (mut random, mut histogram) = (thread + 1, Histogram::new());
                    while !done.load(Ordering::Relaxed) {
                        let key = thread * KEYS + next(&mut random) % KEYS;
                        let begun = Instant::now();
                        commit(db, hot, key, &MEMORY_VALUE)?;
                        histogram.record(begun.elapsed().as_nanos() as u64);
                    }
                    Ok::<_, Error>(histogram)
                })
            })
            .collect();
        std::thread::sleep(Duration::from_secs_f64(seconds));
        done.store(true, Ordering::Relaxed);
        let panicked = |_| Error::Usage("a thread panicked".into());
        for thread in memory {
            all.add(&thread.join().map_err(panicked)??);
        }
        on_disk = disk.join().map_err(panicked)??;
        Ok(())
    })?;
    let [p50, p99, p999] = [50.0, 99.0, 99.9].map(|percent| all.percentile(percent));
    let (max, commits, flushes) = (all.max as f64 / 1000.0, all.total(), db.state().disk.flushes);
    println!("{p50:.2} {p99:.2} {p999:.2} {max:.2} {commits} {on_disk} {flushes}");
    db.close()
}
