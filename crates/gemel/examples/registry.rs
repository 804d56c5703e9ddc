//! Measures what the registry of snapshots costs. Two databases with the same rows, one with the registry and one
//! without it, play the microbenchmark of the Skeena thesis (chapter 6.2) in turns of a tenth of a second. A machine
//! whose speed changes by the second disturbs both alike.
//!
//! For each case it prints, with the registry and without it: the ratio of the throughputs, and the ratio of the
//! processor time of a transaction. Each is a geometric mean over all pairs of turns, with a 95 % interval.
//!
//! Two equal databases differ by some percent for as long as they are open, by the place of their rows in memory, and
//! because one is filled and read first: that one was 4 % slower in reads on disk. So each of ten rounds fills both anew
//! twice, and each of them comes first in one of the two. The interval comes from the means of the rounds.
//!
//! `cargo run --release -p gemel --example registry -- DIRECTORY [PAIRS [KIND]]`, where KIND is `read-only`, `read-write` or
//! `write-only`

use gemel::{Database, Durability, Engine, Error, Isolation, Keyspace, Options};
use std::path::Path;
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// Programs that hold much in memory use this allocator or one like it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Tables in each engine, records in each of them, and bytes of a record.
const TABLES: u32 = 4;
const RECORDS: u32 = 25_000;
const RECORD_BYTES: usize = 232;
/// Records that a transaction accesses.
const ACCESSES: u32 = 10;
const WORKERS: u32 = 2;
const TURN: Duration = Duration::from_millis(100);
const ROUNDS: u32 = 10;
/// Quantile of Student's t at 97.5 % for 9 degrees of freedom.
const QUANTILE: f64 = 2.262;
/// Pairs of turns in each case, over all rounds.
const PAIRS: u32 = 200;
/// Pairs that do not count, whenever a case begins.
const WARMUP: u32 = 2;

/// A kind of transaction.
struct Case {
    /// Accesses that are updates.
    updates: u32,
    /// Accesses to tables on disk.
    on_disk: u32,
}

/// One of the two databases.
struct Side {
    database: Database,
    /// Keyspaces of the memory engine, then those of the disk engine.
    keyspaces: [Vec<Keyspace>; 2],
}

/// Transactions of a turn, and the processor time of the workers.
#[derive(Clone, Copy, Default)]
struct Turn {
    transactions: u64,
    processor: Duration,
    elapsed: Duration,
}

impl Turn {
    fn add(&mut self, other: Self) {
        self.transactions += other.transactions;
        self.processor += other.processor;
        self.elapsed += other.elapsed;
    }
}

impl Side {
    fn fill(directory: &Path, csr: bool) -> Result<Self, Error> {
        let options = Options {
            durability: Durability::Relaxed(Duration::from_millis(50)),
            cache_bytes: 1 << 30,
            csr,
            ..Options::default()
        };
        let database = Database::open(directory, options)?;
        let fill = |(name, engine)| -> Result<Vec<Keyspace>, Error> {
            let mut keyspaces = Vec::new();
            for table in 0..TABLES {
                let keyspace = database.keyspace(&format!("{name}{table}"), engine)?;
                let mut transaction = database.begin(Isolation::Snapshot)?;
                for record in 0..RECORDS {
                    transaction.put(&keyspace, &record.to_be_bytes(), &[7; RECORD_BYTES])?;
                }
                transaction.commit()?.wait()?;
                keyspaces.push(keyspace);
            }
            Ok(keyspaces)
        };
        let keyspaces = [fill(("memory", Engine::Memory))?, fill(("disk", Engine::Disk))?];
        database.checkpoint()?;
        Ok(Self { database, keyspaces })
    }

    /// Plays one transaction; returns false if another one was in its way.
    fn play(&self, case: &Case, random: &mut Random) -> Result<bool, Error> {
        let mut transaction = self.database.begin(Isolation::Snapshot)?;
        // Which of the accesses are on disk, and which are updates, is independent of each other.
        let first = random.below(ACCESSES);
        let mut access = |number: u32| -> Result<(), Error> {
            let home = usize::from(number < case.on_disk);
            let keyspace = &self.keyspaces[home][random.below(TABLES) as usize];
            let key = random.below(RECORDS).to_be_bytes();
            if (number + first) % ACCESSES < case.updates {
                transaction.update(keyspace, &key, |value| value[0] = value[0].wrapping_add(1))?;
            } else {
                transaction.read(keyspace, &key, |value| std::hint::black_box(value.last().copied()))?;
            }
            Ok(())
        };
        let played = (0..ACCESSES).try_for_each(&mut access).and_then(|()| transaction.commit());
        match played {
            Ok(ticket) => {
                drop(ticket);
                Ok(true)
            }
            Err(error) if error.is_retryable() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Plays transactions for the time of a turn, on this thread.
    fn turn(&self, case: &Case, random: &mut Random) -> Result<Turn, Error> {
        let (begun, used) = (Instant::now(), thread_time()?);
        let mut transactions = 0;
        while begun.elapsed() < TURN {
            transactions += u64::from(self.play(case, random)?);
        }
        Ok(Turn { transactions, processor: thread_time()?.saturating_sub(used), elapsed: begun.elapsed() })
    }
}

/// Returns the processor time of this thread.
fn thread_time() -> Result<Duration, Error> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure outlives the call.
    if unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) } != 0 {
        return Err(Error::Usage("the system reports no processor time of threads".into()));
    }
    Ok(Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

/// Random numbers by xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u64::from(self.0 as u32) * u64::from(limit)) >> 32) as u32
    }
}

/// Plays a case on both databases in turns. Returns the turns of each.
fn measure(sides: &[Side; 2], case: &Case, pairs: u32) -> Result<[Vec<Turn>; 2], Error> {
    let barrier = Barrier::new(WORKERS as usize);
    let work = |worker: u32| -> Vec<[Result<Turn, Error>; 2]> {
        let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ (u64::from(worker) << 32));
        let mut turn = |side: &Side| {
            barrier.wait();
            side.turn(case, &mut random)
        };
        let mut pair = |number: u32| {
            // They take turns in going first.
            if number.is_multiple_of(2) {
                let one = turn(&sides[0]);
                [one, turn(&sides[1])]
            } else {
                let other = turn(&sides[1]);
                [turn(&sides[0]), other]
            }
        };
        (0..WARMUP + pairs).map(&mut pair).collect()
    };
    let work = &work;
    let played: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|worker| scope.spawn(move || work(worker))).collect();
        workers.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
    });
    let mut sums = [0, 1].map(|_| vec![Turn::default(); (WARMUP + pairs) as usize]);
    for worker in played {
        let turns = worker.map_err(|_| Error::Usage("a thread panicked".into()))?;
        for (number, pair) in turns.into_iter().enumerate() {
            for (side, turn) in pair.into_iter().enumerate() {
                sums[side][number].add(turn?);
            }
        }
    }
    Ok(sums.map(|turns| turns[WARMUP as usize..].to_vec()))
}

/// Ratios of a case, a mean of logarithms for each round, and the sums of its turns.
#[derive(Default)]
struct Ratios {
    throughput: Vec<f64>,
    processor: Vec<f64>,
    sums: [Turn; 2],
}

impl Ratios {
    /// Adds the turns of a round, with the registry and without it.
    fn add(&mut self, turns: &[Vec<Turn>; 2]) {
        let [with, without] = turns;
        let mean = |of: fn(&Turn) -> f64| {
            let logs = with.iter().zip(without).map(|(with, without)| (of(with) / of(without)).ln());
            logs.sum::<f64>() / with.len() as f64
        };
        self.throughput.push(mean(|turn| turn.transactions as f64 / turn.elapsed.as_secs_f64()));
        self.processor.push(mean(|turn| turn.processor.as_secs_f64() / turn.transactions as f64));
        for (sum, turns) in self.sums.iter_mut().zip(turns) {
            turns.iter().for_each(|turn| sum.add(*turn));
        }
    }
}

/// Returns the geometric mean of the rounds in words, with its 95 % interval.
fn interval(logs: &[f64]) -> String {
    let count = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / count;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    let half = QUANTILE * (squares / (count - 1.0) / count).sqrt();
    let [mean, low, high] = [mean, mean - half, mean + half].map(f64::exp);
    format!("{mean:.3} ({low:.3} to {high:.3})")
}

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let Some(directory) = arguments.next() else {
        return Err(Error::Usage("name an empty directory for the databases".into()));
    };
    let pairs = match arguments.next().map(|pairs| pairs.parse()) {
        None => PAIRS,
        Some(Ok(pairs)) if pairs >= 2 * ROUNDS => pairs,
        Some(_) => {
            return Err(Error::Usage(format!("the second argument is a number from {} on", 2 * ROUNDS)));
        }
    };
    let mut kinds = vec![("read-only", 0), ("read-write", 2), ("write-only", 10)];
    if let Some(kind) = arguments.next() {
        kinds.retain(|(name, _)| *name == kind);
        if kinds.is_empty() {
            return Err(Error::Usage(format!("{kind:?} is not read-only, read-write or write-only")));
        }
    }
    println!(
        "{:28} {:>12} {:>12} {:>24} {:>24}",
        "", "with, tx/s", "without", "throughput, with/without", "processor, with/without"
    );
    for (name, updates) in kinds {
        let cases = [0, 3, 5, 8, 10].map(|on_disk| Case { updates, on_disk });
        let mut ratios = [(); 5].map(|()| Ratios::default());
        for round in 0..ROUNDS {
            let mut turns = cases.each_ref().map(|_| <[Vec<Turn>; 2]>::default());
            for with_first in [true, false] {
                let place = Path::new(&directory).join(format!("{name}-{round}-{with_first}"));
                let fill = |csr| Side::fill(&place.join(if csr { "with" } else { "without" }), csr);
                let sides = [fill(with_first)?, fill(!with_first)?];
                for (case, [with, without]) in cases.iter().zip(&mut turns) {
                    let [mut one, mut other] = measure(&sides, case, pairs / ROUNDS / 2)?;
                    if !with_first {
                        std::mem::swap(&mut one, &mut other);
                    }
                    with.append(&mut one);
                    without.append(&mut other);
                }
                drop(sides);
                std::fs::remove_dir_all(&place)
                    .map_err(|error| Error::Usage(format!("{}: {error}", place.display())))?;
            }
            for (turns, ratios) in turns.iter().zip(&mut ratios) {
                ratios.add(turns);
            }
        }
        for (case, ratios) in cases.iter().zip(&ratios) {
            let [with, without] = ratios
                .sums
                .map(|sum| f64::from(WORKERS) * sum.transactions as f64 / sum.elapsed.as_secs_f64());
            println!(
                "{:28} {with:>12.0} {without:>12.0} {:>24} {:>24}",
                format!("{name}, {} % on disk", 100 * case.on_disk / ACCESSES),
                interval(&ratios.throughput),
                interval(&ratios.processor),
            );
        }
    }
    Ok(())
}
