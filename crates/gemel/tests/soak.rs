//! Rounds of mixed work over both engines. After each round, once all readers have ended, a database is as it was
//! before: bytes of memory, records, partitions of the registry, remembered writes, log, files, threads and file
//! descriptors. The test waits until that is so, and fails only after a minute.
//!
//! `GEMEL_SOAK=1000 cargo test --release -p gemel --test soak` runs that many rounds. This test has a `main` of its own,
//! so its last line is shown, and nothing else has threads in the process.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod alone;
mod scratch;
mod wait;

use gemel::row::{ColumnType, IndexDef, RowRange, Schema, Table, Value};
use gemel::{
    Database, Direction, Durability, Engine, Error, Isolation, Keyspace, LogMode, Options, Result,
    Transaction, Wait,
};
use scratch::directory;
use std::collections::BTreeMap;
use std::fs;
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use wait::wait_until;

const NAME: &str = "everything_returns_to_where_it_was_after_each_round";
const ENGINES: [Engine; 2] = [Engine::Memory, Engine::Disk];
/// Rows of each table, and entries of each keyspace, at rest.
const ROWS: i64 = 200;
const WORKERS: u64 = 3;
/// Transactions of each worker in a round.
const TRANSACTIONS: u64 = 400;
/// Transactions that run at once.
const CROWD: u64 = 2_000;
/// Maximum bytes of a log's segment.
const SEGMENT_BYTES: u64 = 64 << 20;

fn options(log: LogMode) -> Options {
    Options {
        log,
        durability: Durability::Relaxed(Duration::from_millis(5)),
        // Small, so a round has checkpoints, flushes, compactions, closed partitions and forgotten writes.
        cache_bytes: 1 << 20,
        write_buffer_bytes: 1 << 16,
        checkpoint_log_bytes: 1 << 20,
        csr_capacity: 16,
        csr_recycle: 8,
        remembered_writes: 500,
        ..Options::default()
    }
}

fn schema() -> Schema {
    let schema = Schema::new().column("id", ColumnType::I64).column("name", ColumnType::Text);
    schema.nullable("number", ColumnType::I64).primary_key(["id"]).index("by_name", ["name"])
}

/// A cheap generator: the test needs variety, not quality.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// A database with a table and a keyspace in each engine.
struct Shop {
    db: Database,
    tables: [Table; 2],
    notes: [Keyspace; 2],
}

type Rows = Vec<Vec<u8>>;

impl Shop {
    fn open(path: &Path, log: LogMode) -> Self {
        let db = Database::open(path, options(log)).unwrap();
        let tables = ENGINES.map(|engine| db.create_table(engine.name(), engine, schema()).unwrap());
        let notes = ENGINES.map(|engine| db.keyspace(&format!("{} notes", engine.name()), engine).unwrap());
        Self { db, tables, notes }
    }

    /// Returns everything at one snapshot.
    fn content(&self, transaction: &mut Transaction) -> Result<Rows> {
        let mut rows = Rows::new();
        for (table, notes) in self.tables.iter().zip(&self.notes) {
            table.scan(transaction, &RowRange::all(), Direction::Forward, |row| {
                rows.push(row.as_bytes().to_vec());
                Ok(ControlFlow::Continue(()))
            })?;
            table.scan_index(transaction, "by_name", &RowRange::all(), Direction::Backward, |row| {
                rows.push(row.as_bytes().to_vec());
                Ok(ControlFlow::Continue(()))
            })?;
            let all = (Bound::Unbounded, Bound::Unbounded);
            transaction.scan(notes, all.0, all.1, Direction::Forward, |key, value| {
                rows.push([key, value].concat());
                ControlFlow::Continue(())
            })?;
        }
        Ok(rows)
    }

    /// Makes the content what it is at rest.
    fn reset(&self) {
        let reset = |transaction: &mut Transaction| {
            for (table, notes) in self.tables.iter().zip(&self.notes) {
                let (mut ids, mut keys) = (Vec::new(), Vec::new());
                table.scan(transaction, &RowRange::all(), Direction::Forward, |row| {
                    ids.extend((row.int(0)? >= ROWS).then_some(row.int(0)?));
                    Ok(ControlFlow::Continue(()))
                })?;
                for id in ids {
                    table.delete(transaction, &[Value::Int(id)])?;
                }
                let all = (Bound::Unbounded, Bound::Unbounded);
                transaction.scan(notes, all.0, all.1, Direction::Forward, |key, _| {
                    keys.push(key.to_vec());
                    ControlFlow::Continue(())
                })?;
                for key in keys.iter().filter(|key| note(ROWS) <= **key) {
                    transaction.delete(notes, key)?;
                }
                for id in 0..ROWS {
                    let name = format!("name {}", id % 7);
                    table.upsert(transaction, &[Value::Int(id), Value::from(&name), Value::Null])?;
                    transaction.put(notes, &note(id), name.as_bytes())?;
                }
            }
            Ok(())
        };
        self.db.run(Isolation::Snapshot, reset).unwrap();
    }

    /// Runs a transaction with some operations. Conflicts, and keys that are there already, are not errors.
    fn transaction(&self, random: &mut Random) -> Result<()> {
        let isolation = [Isolation::ReadCommitted, Isolation::Snapshot, Isolation::Serializable];
        let mut transaction = self.db.begin(isolation[random.below(3) as usize])?;
        for _ in 0..=random.below(6) {
            let engine = random.below(2) as usize;
            let (table, notes) = (&self.tables[engine], &self.notes[engine]);
            let id = random.below(2 * ROWS as u64) as i64;
            let name = format!("name {}", random.below(1000));
            let row = [Value::Int(id), Value::from(&name), Value::Int(id)];
            let mut left = 1 + random.below(20);
            let mut some = |_: gemel::row::RowView<'_>| {
                left -= 1;
                Ok(if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            };
            match random.below(11) {
                0 => drop(table.get(&mut transaction, &row[..1])?),
                1 => table.scan(&mut transaction, &RowRange::all(), Direction::Backward, &mut some)?,
                2 => table.scan_index(
                    &mut transaction,
                    "by_name",
                    &RowRange::all(),
                    Direction::Forward,
                    &mut some,
                )?,
                3 => match table.insert(&mut transaction, &row) {
                    Err(Error::Constraint(_)) => {}
                    other => other?,
                },
                4 => drop(table.delete(&mut transaction, &row[..1])?),
                5 => drop(transaction.get_for_update(notes, &note(id))?),
                6 => transaction.delete(notes, &note(id))?,
                // For a moment only: it is no error if many wait in vain.
                8 => drop(transaction.get_locked(notes, &note(id), Wait::For(Duration::from_millis(2)))?),
                7 => transaction.put(notes, &note(id), &vec![7; random.below(3000) as usize])?,
                _ => drop(table.upsert(&mut transaction, &row)?),
            }
        }
        match random.below(16) {
            0 | 1 => transaction.rollback(),
            2 => transaction.commit()?.wait()?,
            _ => drop(transaction.commit()?),
        }
        Ok(())
    }

    fn work(&self, seed: u64) {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for _ in 0..TRANSACTIONS {
            retried(self.transaction(&mut random));
        }
    }

    /// Begins many transactions, and ends them after all have begun.
    fn crowd(&self) {
        let mut crowd = Vec::new();
        for n in 0..CROWD {
            let mut transaction = self.db.begin(Isolation::Snapshot).unwrap();
            let key = note((n % 90) as i64);
            let mut read = || {
                for notes in &self.notes {
                    transaction.get(notes, &key)?;
                }
                if n.is_multiple_of(4) {
                    transaction.put(&self.notes[(n / 4 % 2) as usize], &key, b"crowd")?;
                }
                Ok(())
            };
            let outcome = read();
            if outcome.is_ok() {
                crowd.push(transaction);
            }
            retried(outcome);
        }
        for (n, transaction) in crowd.into_iter().enumerate() {
            if n % 3 > 0 {
                retried(transaction.commit().map(drop));
            }
        }
    }

    /// Makes tables and keyspaces, changes them and drops them.
    fn change(&self) {
        for engine in ENGINES {
            let (name, notes) = (format!("new {}", engine.name()), format!("new {} notes", engine.name()));
            let mut table = self.db.create_table(&name, engine, schema()).unwrap();
            let keyspace = self.db.keyspace(&notes, engine).unwrap();
            for step in 0..3 {
                for id in 0..60 {
                    let row = [Value::Int(id % 20), Value::from("name"), Value::Int(id)];
                    let write = |transaction: &mut Transaction| {
                        table.upsert(transaction, &row)?;
                        transaction.put(&keyspace, &note(id), &[7; 500])
                    };
                    drop(self.db.run_pipelined(Isolation::Snapshot, write).unwrap());
                }
                if step == 0 {
                    let index = IndexDef::new("by_number", ["number"]);
                    table = self.db.add_index(&name, index).unwrap();
                } else if step == 1 {
                    table = self.db.truncate_table(&name).unwrap();
                }
            }
            self.db.drop_table(&name).unwrap();
            self.db.drop_keyspace(&notes).unwrap();
        }
    }

    /// Writes more than a log's segment, while checkpoints are due all the time.
    fn fill_a_segment(&self) {
        let value = vec![7; 1 << 20];
        for n in 0..70 {
            let write =
                |transaction: &mut Transaction| transaction.put(&self.notes[0], &note(1000 + n % 10), &value);
            drop(self.db.run_pipelined(Isolation::Snapshot, write).unwrap());
        }
    }

    /// Returns what the database holds.
    fn rest(&self) -> Rest {
        // Partitions of the registry are dropped when it is used. Everything else returns without use.
        if self.db.state().csr.partitions > 2 {
            for _ in 0..=options(LogMode::Shared).csr_recycle {
                let mut transaction = self.db.begin(Isolation::Snapshot).unwrap();
                for notes in &self.notes {
                    transaction.get(notes, &note(0)).unwrap();
                }
            }
        }
        Rest::of(&self.db)
    }

    fn round(&self, number: u64, copy: &Path) {
        let mut reader = self.db.begin(Isolation::Snapshot).unwrap();
        let before = self.content(&mut reader).unwrap();
        std::thread::scope(|scope| {
            for worker in 0..WORKERS {
                scope.spawn(move || self.work(1 + number * WORKERS + worker));
            }
            scope.spawn(|| self.crowd());
            scope.spawn(|| self.change());
            scope.spawn(|| {
                self.db.checkpoint().unwrap();
                self.db.backup(copy).unwrap();
            });
        });
        if number == 0 {
            self.fill_a_segment();
        }
        assert!(self.content(&mut reader).unwrap() == before, "the reader's snapshot changed");
        drop(reader);
        self.reset();
        self.db.checkpoint().unwrap();
    }
}

fn note(id: i64) -> Vec<u8> {
    format!("note {id:05}").into_bytes()
}

fn retried(outcome: Result<()>) {
    if let Err(error) = outcome {
        assert!(error.is_retryable(), "{error}");
    }
}

/// Returns the number of files in a directory by name, with `#` for each number. Files may vanish meanwhile.
fn files(directory: &Path) -> BTreeMap<String, usize> {
    fn visit(directory: &Path, prefix: &str, found: &mut BTreeMap<String, usize>) {
        let Ok(entries) = fs::read_dir(directory) else { return };
        for entry in entries.filter_map(std::result::Result::ok) {
            let name = entry.file_name().into_string().unwrap();
            let (stem, extension) = name.split_once('.').unwrap_or((&name, ""));
            let stem = match stem.rsplit_once('-') {
                Some((stem, _)) => format!("{stem}-#"),
                None if stem.trim_start_matches('v').parse::<u64>().is_ok() => "#".to_owned(),
                None => stem.to_owned(),
            };
            let name = format!("{prefix}{stem}.{extension}");
            if entry.path().is_dir() {
                visit(&entry.path(), &format!("{name}/"), found);
            } else {
                *found.entry(name).or_default() += 1;
            }
        }
    }
    let mut found = BTreeMap::new();
    visit(directory, "", &mut found);
    found
}

/// Returns the number of entries of a directory of `/proc`, and zero on systems without it.
fn entries(directory: &str) -> usize {
    fs::read_dir(directory).map_or(0, Iterator::count)
}

/// What an open database holds at rest.
#[derive(Clone, Debug, PartialEq)]
struct Rest {
    memory_bytes: u64,
    records: u64,
    files: BTreeMap<String, usize>,
    threads: usize,
    /// What should be gone, or less. Empty at rest.
    left: Vec<(&'static str, u64)>,
}

impl Rest {
    fn of(db: &Database) -> Self {
        let state = db.state();
        let mut files = files(db.path());
        // The number of a tree's tables depends on its compactions.
        let tables = files.remove("disk./ks-#./tables./#.").unwrap_or_default();
        // A tree removes the file of an old version when it makes the next one, if no reader has the old one then.
        let versions = files.remove("disk./ks-#./#.").unwrap_or_default();
        // It writes the file `current` under such a name first.
        let temporary = files.extract_if(.., |name, _| name.starts_with("disk./ks-#./.tmp")).count();
        let most = |value: u64, most: u64| value.saturating_sub(most);
        let left = [
            ("running transactions", state.running.len() as u64),
            ("unfreed bytes", state.memory.unfreed_bytes),
            ("remembered writes", state.disk.recent_keys),
            ("bytes in memtables", state.disk.memtable_bytes + state.disk.sealed_bytes),
            ("bytes of log that are not durable", state.durable_lag_bytes),
            // The open partition and the one before it, which bounds it.
            ("partitions of the registry over two", most(state.csr.partitions as u64, 2)),
            ("bytes of log over a segment's", most(state.log_bytes, 2 * SEGMENT_BYTES)),
            // Deleted rows stay in the trees' files until enough of them are merged.
            ("bytes of the disk engine's files over 16 MB", most(state.disk.file_bytes, 16 << 20)),
            ("tables of the disk engine's trees over 50", most(tables as u64, 50)),
            ("versions of the disk engine's trees over 20", most(versions as u64, 20)),
            ("temporary files of the disk engine's trees", temporary as u64),
        ];
        Self {
            memory_bytes: state.memory.bytes,
            records: state.memory.records,
            files,
            threads: entries("/proc/self/task"),
            left: left.into_iter().filter(|(_, count)| *count > 0).collect(),
        }
    }
}

/// Waits until `look` returns what is expected.
fn wait_for<T: PartialEq + std::fmt::Debug>(what: &str, expected: &T, look: impl Fn() -> T) {
    wait_until(look, |found| found == expected, |found| format!("{what}: {found:#?}, not {expected:#?}"));
}

/// Threads and file descriptors of this process.
fn process() -> (usize, usize) {
    (entries("/proc/self/task"), entries("/proc/self/fd"))
}

#[derive(Default)]
struct Counts {
    rounds: u64,
    commits: u64,
    aborts: u64,
    checkpoints: u64,
    compactions: u64,
}

impl Counts {
    fn add(&mut self, db: &Database) {
        let state = db.state();
        self.rounds += 1;
        self.commits += state.committed.memory + state.committed.disk + state.committed.cross;
        let aborted = state.aborted;
        self.aborts += aborted.write_conflict + aborted.locked + aborted.read_conflict + aborted.too_old;
        self.checkpoints += state.checkpoints.done;
        self.compactions += state.disk.compactions;
        assert_eq!((aborted.failed, state.checkpoints.failure), (0, None));
    }
}

fn soak(log: LogMode, rounds: u64, counts: &mut Counts) {
    let alone = process();
    let directory = directory();
    let (path, copy) = (directory.path().join("db"), directory.path().join("copy"));
    let mut shop = Shop::open(&path, log);
    shop.reset();
    shop.db.checkpoint().unwrap();
    let whole = shop.content(&mut shop.db.begin(Isolation::Snapshot).unwrap()).unwrap();
    let rest = wait_until(
        || Rest::of(&shop.db),
        |rest| rest.left.is_empty(),
        |rest| format!("a new database does not come to rest: {rest:#?}"),
    );
    for number in 0..rounds {
        shop.round(number, &copy);
        wait_for(&format!("round {number}, {log:?}"), &rest, || shop.rest());
        counts.add(&shop.db);
        drop(shop);
        wait_for("threads and file descriptors", &alone, process);
        for _ in 0..2 {
            let shop = Shop::open(&path, log);
            // The housekeeper has a checkpoint to make while the database is closed.
            for _ in 0..2 {
                let put = |transaction: &mut Transaction| {
                    transaction.put(&shop.notes[0], b"much", &vec![7; 1 << 20])
                };
                drop(shop.db.run_pipelined(Isolation::Snapshot, put).unwrap());
            }
        }
        wait_for("threads and file descriptors", &alone, process);
        shop = Shop::open(&path, log);
        shop.db.run(Isolation::Snapshot, |transaction| transaction.delete(&shop.notes[0], b"much")).unwrap();
        let content = shop.content(&mut shop.db.begin(Isolation::Snapshot).unwrap()).unwrap();
        assert!(content == whole, "{} rows, not {}", content.len(), whole.len());
        shop.db.checkpoint().unwrap();
        wait_for(&format!("opened after round {number}, {log:?}"), &rest, || shop.rest());
    }
    shop.db.close().unwrap();
    let report = gemel::check(&copy).unwrap();
    assert!(report.is_good(), "{report}");
}

fn suite() -> ExitCode {
    let rounds: u64 = std::env::var("GEMEL_SOAK").map_or(4, |rounds| rounds.parse().unwrap());
    let mut counts = Counts::default();
    soak(LogMode::Shared, rounds.div_ceil(2), &mut counts);
    soak(LogMode::PerEngine, rounds / 2, &mut counts);
    let Counts { rounds, commits, aborts, checkpoints, compactions } = counts;
    println!(
        "{rounds} rounds, {commits} commits, {aborts} aborts, {checkpoints} checkpoints, {compactions} compactions: \
         everything returned to where it was"
    );
    ExitCode::SUCCESS
}

fn main() -> ExitCode {
    alone::run(NAME, suite)
}
