//! Measures a walk with a cursor beside a scan, in nanoseconds per row, in turns: `cargo run --release -p gemel --example
//! cursor -- [ROWS] [ROUNDS]`.

#![expect(clippy::unwrap_used, reason = "a measurement ends where something is not as it should be")]

use gemel::{Database, Direction, Engine, Isolation, Keyspace, Options, Transaction};
use std::ops::{Bound, ControlFlow};
use std::time::Instant;

fn scan(transaction: &mut Transaction, rows: &Keyspace) -> u64 {
    let mut bytes = 0;
    let (all, forward) = (Bound::Unbounded, Direction::Forward);
    let each = |key: &[u8], value: &[u8]| {
        bytes += (key.len() + value.len()) as u64;
        ControlFlow::Continue(())
    };
    transaction.scan(rows, all, all, forward, each).unwrap();
    bytes
}

fn walk(transaction: &mut Transaction, rows: &Keyspace) -> u64 {
    let mut bytes = 0;
    let mut cursor = transaction.cursor(rows, Bound::Unbounded, Bound::Unbounded).unwrap();
    while let Some((key, value)) = cursor.next(transaction).unwrap() {
        bytes += (key.len() + value.len()) as u64;
    }
    bytes
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>().unwrap());
    let (count, rounds) = (arguments.next().unwrap_or(200_000), arguments.next().unwrap_or(5));
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(directory.path(), Options::default()).unwrap();
    for engine in [Engine::Memory, Engine::Disk] {
        let rows = db.keyspace(engine.name(), engine).unwrap();
        for begin in (0..count).step_by(1000) {
            let mut transaction = db.begin(Isolation::Snapshot).unwrap();
            for key in begin..(begin + 1000).min(count) {
                transaction.put(&rows, &key.to_be_bytes(), &[key as u8; 100]).unwrap();
            }
            transaction.commit().unwrap().wait().unwrap();
        }
        db.checkpoint().unwrap();
        for (name, isolation, own) in [
            ("snapshot", Isolation::Snapshot, false),
            ("snapshot, every second row written", Isolation::Snapshot, true),
            ("read committed", Isolation::ReadCommitted, false),
            ("serializable", Isolation::Serializable, false),
        ] {
            let mut transaction = db.begin(isolation).unwrap();
            for key in (0..count).step_by(2).filter(|_| own) {
                transaction.put(&rows, &key.to_be_bytes(), &[1; 100]).unwrap();
            }
            // The first ones make the order of the own writes, and fill the cache.
            assert_eq!(scan(&mut transaction, &rows), walk(&mut transaction, &rows));
            let mut times = [f64::MAX; 2];
            for _ in 0..rounds {
                for (time, pass) in times.iter_mut().zip([scan, walk]) {
                    let begun = Instant::now();
                    assert!(pass(&mut transaction, &rows) > count);
                    *time = time.min(begun.elapsed().as_secs_f64() * 1e9 / count as f64);
                }
            }
            let [scanned, walked] = times;
            println!(
                "{}, {name}: scan {scanned:.0} ns, cursor {walked:.0} ns per row, {:.2} times (least of {rounds} each)",
                engine.name(),
                walked / scanned
            );
        }
    }
}
