//! Measures what compression of the disk engine's files saves and costs. Two databases get the same rows, one of them
//! with LZ4: the three largest tables of one warehouse of TPC-C, with the columns of the standard and random letters and
//! digits in its texts. Then both play the same accesses in turns of a tenth of a second. A machine whose speed changes
//! by the second disturbs both alike.
//!
//! The first lines have the bytes of files after merging, and the processor time of loading and merging, of each
//! database. Then comes, for each kind of access, the ratio of the processor time of an access with LZ4 to that without:
//! a geometric mean over the pairs of turns, with a 95 % interval. The block cache is far smaller than the tables
//! (`cold`), or larger (`warm`).
//!
//! `cargo run --release -p gemel --example compression -- DIRECTORY [PAIRS [PERCENT]]`, where PERCENT is the share of
//! the warehouse's rows that is loaded

#![expect(clippy::expect_used, reason = "a measurement ends where something is not as it should be")]

use gemel::row::{ColumnType, RowRange, RowView, Schema, Table, Value};
use gemel::{Compression, Database, Direction, Durability, Engine, Isolation, Options, Transaction};
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::time::{Duration, Instant};

/// Programs that hold much in memory use this allocator or one like it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const TURN: Duration = Duration::from_millis(100);
const PAIRS: usize = 30;
/// Pairs of turns at the beginning of each kind of access that do not count.
const WARMUP: usize = 2;
/// Rows that a commit of the load has.
const BATCH: i64 = 1000;
/// Rows that a scan reads.
const SCANNED: usize = 100;
const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// A cheap generator.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn between(&mut self, least: u64, greatest: u64) -> i64 {
        (least + self.below(greatest - least + 1)) as i64
    }

    /// Returns a text of random letters and digits, TPC-C's a-string.
    fn text(&mut self, least: u64, greatest: u64) -> String {
        let length = self.between(least, greatest);
        (0..length).map(|_| char::from(LETTERS[self.below(62) as usize])).collect()
    }
}

/// A value that owns its text.
enum Cell {
    Int(i64),
    Text(String),
}

impl Cell {
    fn value(&self) -> Value<'_> {
        match self {
            Self::Int(number) => Value::Int(*number),
            Self::Text(text) => text.as_str().into(),
        }
    }
}

/// A table of one warehouse.
struct Kind {
    name: &'static str,
    /// Rows of a warehouse.
    rows: i64,
    /// Number of the columns of integers, which come first. The first one is the primary key.
    ints: usize,
    /// Number of the columns of texts.
    texts: usize,
    /// Returns the row of a number.
    row: fn(i64, &mut Random) -> Vec<Cell>,
}

const KINDS: [Kind; 3] = [
    // s_i_id; s_quantity, s_ytd, s_order_cnt, s_remote_cnt; ten times s_dist, s_data.
    Kind { name: "stock", rows: 100_000, ints: 5, texts: 11, row: stock },
    // The number of the line; o_id, d_id, i_id, supply_w_id, delivery_d, quantity, amount; dist_info.
    Kind { name: "order_line", rows: 300_000, ints: 8, texts: 1, row: order_line },
    // c_id; balance, ytd, payments, deliveries, limit, discount, since; last, first, street twice, city, zip, phone,
    // data.
    Kind { name: "customer", rows: 30_000, ints: 8, texts: 8, row: customer },
];

fn cells(ints: &[i64], texts: Vec<String>) -> Vec<Cell> {
    ints.iter().map(|number| Cell::Int(*number)).chain(texts.into_iter().map(Cell::Text)).collect()
}

fn stock(id: i64, random: &mut Random) -> Vec<Cell> {
    let mut texts: Vec<String> = (0..10).map(|_| random.text(24, 24)).collect();
    texts.push(random.text(26, 50));
    cells(&[id, random.between(10, 100), 0, 0, 0], texts)
}

fn order_line(id: i64, random: &mut Random) -> Vec<Cell> {
    let (item, amount) = (random.between(1, 100_000), random.between(1, 999_999));
    let made = 1_700_000_000_000_000;
    cells(&[id, id / 10, id / 30_000, item, 1, made, 5, amount], vec![random.text(24, 24)])
}

fn customer(id: i64, random: &mut Random) -> Vec<Cell> {
    let texts = vec![
        ["BAR", "OUGHT", "ABLE"][random.below(3) as usize].repeat(3),
        random.text(8, 16),
        random.text(10, 20),
        random.text(10, 20),
        random.text(10, 20),
        format!("{:04}11111", random.below(10_000)),
        random.between(1_000_000_000_000_000, 9_999_999_999_999_999).to_string(),
        random.text(300, 500),
    ];
    let made = 1_700_000_000_000_000;
    cells(&[id, -1000, 1000, 1, 0, 5_000_000, random.between(0, 5000), made], texts)
}

impl Kind {
    fn schema(&self) -> Schema {
        let mut schema = Schema::new();
        for number in 0..self.ints {
            schema = schema.column(&format!("int_{number}"), ColumnType::I64);
        }
        for number in 0..self.texts {
            schema = schema.column(&format!("text_{number}"), ColumnType::Text);
        }
        schema.primary_key(["int_0"])
    }
}

/// One of the two databases.
struct Side {
    name: &'static str,
    db: Database,
    tables: Vec<Table>,
}

impl Side {
    fn open(directory: &Path, name: &'static str, compression: Compression, cache_bytes: u64) -> Self {
        let options =
            Options { compression, cache_bytes, durability: Durability::None, ..Options::default() };
        let db = Database::open(directory.join(name), options).expect("the database opens");
        let made = |kind: &Kind| db.create_table(kind.name, Engine::Disk, kind.schema());
        let tables = KINDS.iter().map(|kind| made(kind).expect("the table opens")).collect();
        Self { name, db, tables }
    }

    fn load(&self, percent: i64) {
        for (kind, table) in KINDS.iter().zip(&self.tables) {
            let (rows, mut random) = (kind.rows * percent / 100, Random(0x9E37_79B9_7F4A_7C15));
            for first in (0..rows).step_by(BATCH as usize) {
                let batch: Vec<Vec<Cell>> =
                    (first..(first + BATCH).min(rows)).map(|id| (kind.row)(id, &mut random)).collect();
                let work = |transaction: &mut Transaction| {
                    for row in &batch {
                        let values: Vec<Value<'_>> = row.iter().map(Cell::value).collect();
                        table.insert(transaction, &values)?;
                    }
                    Ok(())
                };
                self.db.run(Isolation::Snapshot, work).expect("the rows are new");
            }
        }
    }

    fn merge(&self) {
        for kind in &KINDS {
            self.db.compact(kind.name).expect("the files can be merged");
        }
    }

    fn bytes(&self) -> Vec<u64> {
        self.db.sizes().expect("the sizes can be read").iter().map(|part| part.file_bytes).collect()
    }

    /// Reads rows for a turn. Returns the processor time of each access.
    fn turn(&self, access: Access, percent: i64, random: &mut Random) -> f64 {
        let (begun, before, mut done) = (Instant::now(), processor_time(), 0_u32);
        while begun.elapsed() < TURN {
            for _ in 0..10 {
                self.access(access, percent, random).expect("the rows can be read");
                done += 1;
            }
        }
        (processor_time() - before).as_secs_f64() / f64::from(done)
    }

    fn access(&self, access: Access, percent: i64, random: &mut Random) -> gemel::Result<()> {
        let table = random.below(KINDS.len() as u64) as usize;
        let rows = KINDS[table].rows * percent / 100;
        let id = [Value::Int(random.below(rows as u64) as i64)];
        let mut transaction = self.db.begin(Isolation::Snapshot)?;
        match access {
            Access::Read => {
                let found = self.tables[table].get(&mut transaction, &id)?;
                assert!(found.is_some(), "a row is missing");
            }
            Access::Scan => {
                let (mut left, range) = (SCANNED, RowRange::new(Bound::Included(&id), Bound::Unbounded));
                let each = |_: RowView<'_>| {
                    left -= 1;
                    Ok(if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
                };
                self.tables[table].scan(&mut transaction, &range, Direction::Forward, each)?;
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Access {
    Read,
    Scan,
}

/// Returns the processor time of this process.
fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to `time` only.
    let done = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    assert_eq!(done, 0, "the system has no clock of the process");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Prints a mean of ratios with its interval.
fn print_ratio(what: &str, ratios: &[f64]) {
    let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    let count = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / count;
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    // Student's t for some dozens of pairs.
    let half = 2.05 * (variance / count).sqrt();
    println!("{what:<24} {:.3} ({:.3} to {:.3})", mean.exp(), (mean - half).exp(), (mean + half).exp());
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().expect("name a directory");
    let directory = Path::new(&directory);
    let pairs = arguments.next().map_or(PAIRS, |pairs| pairs.parse().expect("PAIRS is a number"));
    let percent = arguments.next().map_or(100, |percent| percent.parse().expect("PERCENT is a number"));
    let kinds = [("plain", Compression::None), ("lz4", Compression::Lz4)];
    for (name, compression) in kinds {
        let side = Side::open(directory, name, compression, 256 << 20);
        let before = processor_time();
        side.load(percent);
        side.db.checkpoint().expect("the rows can be written");
        let loaded = processor_time();
        side.merge();
        let (load, merge) = (loaded - before, processor_time() - loaded);
        let bytes = side.bytes();
        let all: u64 = bytes.iter().sum();
        println!(
            "{:<8} {all} bytes, {bytes:?} of stock, order_line, customer; load {:.2} s, merge {:.2} s",
            side.name,
            load.as_secs_f64(),
            merge.as_secs_f64()
        );
        side.db.close().expect("the database closes");
    }
    for (cache, cache_bytes) in [("cold", 1 << 20), ("warm", 512 << 20)] {
        let sides = kinds.map(|(name, compression)| Side::open(directory, name, compression, cache_bytes));
        for (what, access) in [("read of a row", Access::Read), ("scan of 100 rows", Access::Scan)] {
            if cache == "warm" {
                // All blocks come into the cache.
                sides.iter().for_each(|side| drop(side.db.exact_sizes()));
            }
            let mut ratios = Vec::new();
            for pair in 0..WARMUP + pairs {
                let times: Vec<f64> = sides
                    .iter()
                    .map(|side| side.turn(access, percent, &mut Random(pair as u64 + 1)))
                    .collect();
                if pair >= WARMUP {
                    ratios.push(times[1] / times[0]);
                }
            }
            print_ratio(&format!("{cache} {what}"), &ratios);
        }
    }
}
