//! Measures how long one commit of many rows holds up the small commits of another thread. Prints, for each engine of the
//! large commit: its duration, and the longest small commit in memory meanwhile and in as much time before, in ms.
//!
//! `cargo run --release -p gemel --example large_commit -- DIRECTORY [ROWS]`

use gemel::{Database, Durability, Engine, Error, Isolation, Options};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Programs that hold much in memory use this allocator or one like it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const VALUE: [u8; 100] = [7; 100];
const HOT_KEYS: u64 = 10_000;

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let Some(directory) = arguments.next() else {
        return Err(Error::Usage("name a directory for the database".into()));
    };
    let rows = match arguments.next().map(|rows| rows.parse::<u64>()) {
        None => 1_000_000,
        Some(Ok(rows)) => rows,
        Some(Err(_)) => return Err(Error::Usage("the second argument is a number of rows".into())),
    };
    let options = Options {
        durability: Durability::Relaxed(Duration::from_millis(50)),
        write_buffer_bytes: 1 << 30,
        ..Options::default()
    };
    let db = Database::open(&directory, options)?;
    let hot = db.keyspace("hot", Engine::Memory)?;
    let (done, longest) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| -> Result<(), Error> {
        let small = scope.spawn(|| {
            for key in (0..HOT_KEYS).cycle() {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                let begun = Instant::now();
                let mut transaction = db.begin(Isolation::Snapshot)?;
                transaction.put(&hot, &key.to_be_bytes(), &VALUE)?;
                drop(transaction.commit()?);
                longest.fetch_max(begun.elapsed().as_micros() as u64, Ordering::Relaxed);
            }
            Ok::<_, Error>(())
        });
        for (engine, name) in [(Engine::Memory, "memory"), (Engine::Disk, "disk")] {
            let bulk = db.keyspace(name, engine)?;
            for what in ["new", "replaced"] {
                let mut transaction = db.begin(Isolation::Snapshot)?;
                for row in 0..rows {
                    transaction.put(&bulk, &row.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes(), &VALUE)?;
                }
                longest.store(0, Ordering::Relaxed);
                let begun = Instant::now();
                let ticket = transaction.commit()?;
                let took = begun.elapsed();
                // A small commit that was held up ends after the large one.
                std::thread::sleep(Duration::from_millis(20));
                let meanwhile = longest.swap(0, Ordering::Relaxed) as f64 / 1e3;
                ticket.wait()?;
                longest.store(0, Ordering::Relaxed);
                std::thread::sleep(took);
                let otherwise = longest.load(Ordering::Relaxed) as f64 / 1e3;
                let took = took.as_secs_f64() * 1e3;
                println!(
                    "{rows} {what} rows in {name}: commit {took:.0} ms; longest small commit {meanwhile:.1} ms \
                     meanwhile, {otherwise:.1} ms otherwise"
                );
            }
        }
        done.store(true, Ordering::Relaxed);
        small.join().map_err(|_| Error::Usage("a thread panicked".into()))?
    })?;
    db.close()
}
