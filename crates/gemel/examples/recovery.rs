//! Measures the speed of opening a database after a crash. Rows like those of TPC-C's STOCK are in the memory engine,
//! once all in a checkpoint and once all in the log. A second process fills the database and aborts without closing it;
//! this one opens it.
//!
//! `cargo run --release -p gemel --example recovery -- [BYTES [DIRECTORY]]`

use gemel::{Database, Durability, Engine, Error, Isolation, Options};
use std::path::Path;
use std::time::{Duration, Instant};

/// Programs that hold much in memory use this allocator or one like it, and recovery allocates for every row.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const VALUE_BYTES: usize = 300;
const ROWS_PER_COMMIT: u64 = 12;
const DEFAULT_BYTES: u64 = 2_000_000_000;
/// Number of openings: first with the files as the crash left them, then with files that the system has cached.
const OPENED: usize = 3;

/// The place of the rows when the database crashes.
#[derive(Clone, Copy)]
enum Content {
    /// In a checkpoint, with one commit after it.
    Checkpoint,
    /// In the log: half of it inserts rows in order of their keys, the other half updates any of them.
    Log,
}

fn options() -> Options {
    Options {
        durability: Durability::Relaxed(Duration::from_millis(50)),
        memory_limit_bytes: 1 << 40,
        checkpoint_log_bytes: u64::MAX,
        ..Options::default()
    }
}

/// Warehouse and item: 8 bytes, in order.
fn key(row: u64) -> [u8; 8] {
    (((row / 100_000) << 32) | (row % 100_000)).to_be_bytes()
}

/// Fills a new database and ends the process like a crash.
fn fill(directory: &Path, content: Content, bytes: u64) -> Result<(), Error> {
    let db = Database::open(directory, options())?;
    let stock = db.keyspace("stock", Engine::Memory)?;
    let written = bytes / (VALUE_BYTES as u64 + 26);
    let rows = match content {
        Content::Checkpoint => written,
        Content::Log => written / 2,
    }
    .max(1);
    let mut state = 88_172_645_463_325_252_u64;
    for commit in 0..written.div_ceil(ROWS_PER_COMMIT) {
        let mut transaction = db.begin(Isolation::Snapshot)?;
        for number in commit * ROWS_PER_COMMIT..((commit + 1) * ROWS_PER_COMMIT).min(written) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let row = if number < rows { number } else { state % rows };
            transaction.put(&stock, &key(row), &[state as u8; VALUE_BYTES])?;
        }
        // The sync at the end makes this commit durable.
        let _ticket = transaction.commit()?;
    }
    if let Content::Checkpoint = content {
        db.checkpoint()?;
        let mut transaction = db.begin(Isolation::Snapshot)?;
        transaction.put(&stock, &key(0), &[1; VALUE_BYTES])?;
        let _ticket = transaction.commit()?;
    }
    db.sync()?;
    std::process::abort()
}

/// Returns the processor time of this process, user and system, if the system reports it.
fn processor_time() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The fields follow the name, which may contain anything. State is field 3; user and system time are 14 and 15, in
    // hundredths of a second.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    Some(Duration::from_millis((ticks()? + ticks()?) * 10))
}

fn measure(directory: &Path, name: &str) -> Result<(), Error> {
    for time in 0..OPENED {
        let (begun, before) = (Instant::now(), processor_time());
        let db = Database::open(directory, options())?;
        let took = begun.elapsed();
        let used = processor_time().zip(before).map(|(now, before)| now - before);
        let state = db.state();
        let recovered = &state.recovered;
        let bytes = (recovered.checkpoint_bytes + recovered.log_bytes) as f64 / 1e6;
        print!(
            "{name}, {}: {:.0} MB of checkpoint ({} rows), {:.0} MB of log ({} commits) in {:.2} s: {:.0} MB/s",
            if time == 0 { "as the crash left it" } else { "opened again" },
            recovered.checkpoint_bytes as f64 / 1e6,
            recovered.checkpoint_rows,
            recovered.log_bytes as f64 / 1e6,
            recovered.records,
            took.as_secs_f64(),
            bytes / took.as_secs_f64(),
        );
        match used {
            Some(used) if !used.is_zero() => println!(", {:.0} MB/s per core", bytes / used.as_secs_f64()),
            _ => println!(),
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, directory, bytes] = arguments.as_slice()
        && let Some(content) = match mode.as_str() {
            "fill-checkpoint" => Some(Content::Checkpoint),
            "fill-log" => Some(Content::Log),
            _ => None,
        }
    {
        return Ok(fill(Path::new(directory), content, bytes.parse()?)?);
    }
    let bytes = arguments.first().map_or(Ok(DEFAULT_BYTES), |text| text.parse())?;
    let parent = arguments.get(1).map_or_else(std::env::temp_dir, Into::into);
    let directory = parent.join(format!("gemel-recovery-{}", std::process::id()));
    for (mode, name) in [("fill-checkpoint", "checkpoint"), ("fill-log", "log")] {
        let filled = std::process::Command::new(std::env::current_exe()?)
            .args([mode.as_ref(), directory.as_os_str()])
            .arg(bytes.to_string())
            .stderr(std::process::Stdio::inherit())
            .status()?;
        // An abort has no exit code; an error has.
        if let Some(code) = filled.code() {
            return Err(format!("{mode} ended with code {code} instead of a crash").into());
        }
        let measured = measure(&directory, name);
        std::fs::remove_dir_all(&directory)?;
        measured?;
    }
    Ok(())
}
