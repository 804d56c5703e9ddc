//! Measures what included columns save: scans of an index with and without its rows, in memory and on disk, and the
//! updates of an included column.
//!
//! `cargo run --release -p gemel --example index_only`

use gemel::row::{ColumnType, IndexDef, RowRange, RowView, Schema, Table, Value};
use gemel::{Database, Direction, Engine, Isolation, Options, Result};
use std::ops::ControlFlow;
use std::time::Instant;

const ROWS: i64 = 100_000;
const ROUNDS: usize = 5;

fn schema(index: IndexDef) -> Schema {
    Schema::new()
        .column("id", ColumnType::I64)
        .column("customer", ColumnType::I32)
        .column("total", ColumnType::Decimal { scale: 2 })
        .column("note", ColumnType::Text)
        .primary_key(["id"])
        .with_index(index)
}

/// A number that looks like any other, so that the order of the index is not that of the rows.
fn scattered(n: i64) -> i64 {
    n.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64.cast_signed()).rotate_right(32).rem_euclid(ROWS)
}

/// Returns the sum of the totals, and the least time of some scans in seconds.
fn scan(db: &Database, table: &Table, is_index_only: bool) -> Result<(i64, f64)> {
    let (mut sum, mut least) = (0, f64::MAX);
    for _ in 0..ROUNDS {
        let (mut transaction, begin) = (db.begin(Isolation::Snapshot)?, Instant::now());
        sum = 0;
        let each = |row: RowView<'_>| {
            sum += row.int(1)? + row.decimal(2)?;
            Ok(ControlFlow::Continue(()))
        };
        let (all, forward) = (RowRange::all(), Direction::Forward);
        match is_index_only {
            true => table.scan_index_only(&mut transaction, "by_customer", &all, forward, each)?,
            false => table.scan_index(&mut transaction, "by_customer", &all, forward, each)?,
        }
        least = least.min(begin.elapsed().as_secs_f64());
    }
    Ok((sum, least))
}

fn main() -> Result<()> {
    let path = std::env::temp_dir().join(format!("gemel-index-only-{}", std::process::id()));
    // A cache that has a tenth of the rows.
    let db = Database::open(&path, Options { cache_bytes: 2 << 20, ..Options::default() })?;
    let plain = || IndexDef::new("by_customer", ["customer"]);
    let note = "n".repeat(150);
    println!("table            scan with rows  index only  updates of totals  bytes of the index");
    for engine in [Engine::Memory, Engine::Disk] {
        for (kind, index) in [("plain", plain()), ("covering", plain().include(["total"]))] {
            let name = format!("{kind} {}", engine.name());
            let table = db.create_table(&name, engine, schema(index))?;
            for first in (0..ROWS).step_by(1000) {
                db.run(Isolation::Snapshot, |transaction| {
                    (first..first + 1000).try_for_each(|id| {
                        let customer = Value::Int(scattered(id));
                        table.insert(
                            transaction,
                            &[Value::Int(id), customer, Value::Decimal(id), note.as_str().into()],
                        )
                    })
                })?;
            }
            db.checkpoint()?;
            if engine == Engine::Disk {
                db.compact(&name)?;
            }
            let bytes = db
                .exact_sizes()?
                .iter()
                .find(|part| part.name == format!("{name}.by_customer"))
                .map(|p| p.bytes);
            let (sum, rows) = scan(&db, &table, false)?;
            let only = match kind {
                "covering" => {
                    let (same, only) = scan(&db, &table, true)?;
                    assert_eq!(sum, same);
                    format!("{:.0} ms", only * 1000.0)
                }
                _ => "-".to_owned(),
            };
            let begin = Instant::now();
            db.run(Isolation::Snapshot, |transaction| {
                let set = |id| table.set(transaction, &[Value::Int(id)], &[(2, Value::Decimal(id + 1))]);
                (0..ROWS).step_by(10).map(set).try_for_each(|found| found.map(drop))
            })?;
            let updates = begin.elapsed().as_secs_f64() * 1000.0;
            let (rows, bytes) = (rows * 1000.0, bytes.unwrap_or(0));
            println!("{name:15}  {rows:11.0} ms  {only:>10}  {updates:14.0} ms  {bytes:18}");
        }
    }
    drop(db);
    let _ = std::fs::remove_dir_all(path);
    Ok(())
}
