//! Measures the memory that one large transaction takes: the process's memory before it, before its commit, at most
//! during the commit, and when it is durable. Prints bytes per byte of keys and values. Linux only.
//!
//! `cargo run --release -p gemel --example commit_memory -- DIRECTORY memory|disk MIB VALUE_BYTES`

use gemel::{Database, Engine, Error, Isolation, Options};

const KEY_BYTES: u64 = 8;

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, engine, mib, value] = &arguments[..] else { return Err(usage()) };
    let engine = match engine.as_str() {
        "memory" => Engine::Memory,
        "disk" => Engine::Disk,
        _ => return Err(usage()),
    };
    let number = |text: &str| text.parse::<u64>().map_err(|_| usage());
    let (bytes, value) = (number(mib)? << 20, number(value)?);
    let rows = bytes / (value + KEY_BYTES);
    let db = Database::open(directory, Options { pending_limit_bytes: 64 << 30, ..Options::default() })?;
    let space = db.keyspace("space", engine)?;
    let before = memory("VmRSS")?;
    let mut transaction = db.begin(Isolation::Snapshot)?;
    let content = vec![7; value as usize];
    for row in 0..rows {
        // Not in order: the keys of an index seldom are.
        transaction.put(&space, &row.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes(), &content)?;
    }
    let counted = db.state().pending_bytes;
    let pending = memory("VmRSS")?;
    let ticket = transaction.commit()?;
    let committed = memory("VmRSS")?;
    ticket.wait()?;
    let (highest, durable) = (memory("VmHWM")?, memory("VmRSS")?);
    let of = |memory: u64| memory.saturating_sub(before) as f64 / (rows * (value + KEY_BYTES)) as f64;
    println!(
        "{mib} MiB in rows of {value} bytes: counted {:.2}; memory before the commit {:.2}, after it {:.2}, \
         durable {:.2}, at most {:.2} bytes per byte",
        counted as f64 / (rows * (value + KEY_BYTES)) as f64,
        of(pending),
        of(committed),
        of(durable),
        of(highest)
    );
    db.close()
}

fn usage() -> Error {
    Error::Usage("name a directory for the database, memory or disk, MiB, and bytes of a value".into())
}

/// Returns a number of bytes of the process's status.
fn memory(name: &str) -> Result<u64, Error> {
    let status = std::fs::read_to_string("/proc/self/status").map_err(|source| Error::Io {
        what: "can't read",
        path: "/proc/self/status".into(),
        source,
    })?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.map(|kib| kib << 10).ok_or_else(|| Error::Usage(format!("the system reports no {name}")))
}
