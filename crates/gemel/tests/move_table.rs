//! Moving tables between the engines: beside writers and readers, what handles and transactions see, what is there after
//! reopening and after a crash in between. (`src/database/moves/tests.rs` stops moves at single places.)

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod outcome;
mod scratch;
mod wait;

use gemel::oracle::{self, Recorder};
use gemel::row::{ColumnType, RowBuf, RowRange, Schema, Table, Value};
use gemel::{
    CommitStamps, Database, Direction, Durability, Engine, Error, Isolation, Keyspace, LogMode, Options,
    Transaction,
};
use outcome::{outdated, rejected};
use scratch::directory;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use wait::wait_until;

const ENGINES: [Engine; 2] = [Engine::Memory, Engine::Disk];
const MODES: [LogMode; 2] = [LogMode::Shared, LogMode::PerEngine];
const LEVELS: [Isolation; 3] = [Isolation::ReadCommitted, Isolation::Snapshot, Isolation::Serializable];

fn other(engine: Engine) -> Engine {
    if engine == Engine::Memory { Engine::Disk } else { Engine::Memory }
}

fn open(path: &Path, log: LogMode) -> Database {
    // Small, so flushes and compactions happen meanwhile.
    let options = Options { log, write_buffer_bytes: 1 << 16, cache_bytes: 1 << 20, ..Options::default() };
    Database::open(path, options).unwrap()
}

fn schema() -> Schema {
    let schema = Schema::new().column("id", ColumnType::I64).column("value", ColumnType::I64);
    schema.primary_key(["id"]).index("by_value", ["value"])
}

fn row(id: i64, value: i64) -> [Value<'static>; 2] {
    [Value::Int(id), Value::Int(value)]
}

fn fill(db: &Database, table: &Table, ids: std::ops::Range<i64>) {
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    for id in ids {
        assert!(!table.upsert(&mut transaction, &row(id, id * 10)).unwrap());
    }
    transaction.commit().unwrap().wait().unwrap();
}

fn content(transaction: &mut Transaction, table: &Table) -> gemel::Result<BTreeMap<i64, i64>> {
    let mut rows = BTreeMap::new();
    table.scan(transaction, &RowRange::all(), Direction::Forward, |row| {
        assert_eq!(rows.insert(row.int(0)?, row.int(1)?), None);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(rows)
}

fn rows(db: &Database, table: &Table) -> BTreeMap<i64, i64> {
    let mut transaction = db.begin(Isolation::Snapshot).unwrap();
    table.verify(&mut transaction).unwrap();
    content(&mut transaction, table).unwrap()
}

fn engine_of(db: &Database, name: &str) -> Engine {
    db.tables().into_iter().find(|(table, _)| table == name).unwrap().1
}

fn good(path: &Path) {
    let report = gemel::check(path).unwrap();
    assert!(report.is_good(), "{report}");
}

fn trees(path: &Path) -> usize {
    std::fs::read_dir(path.join("disk")).unwrap().count()
}

fn moved<T: std::fmt::Debug>(outcome: gemel::Result<T>) {
    let error = outcome.unwrap_err();
    assert!(matches!(error, Error::Moved(_)) && error.is_retryable(), "{error:?}");
    assert!(error.to_string().contains("retry"), "{error}");
}

#[test]
fn a_moved_table_has_all_rows_and_handles_from_before_go_on() {
    for log in MODES {
        for engine in ENGINES {
            let directory = directory();
            let path = directory.path().join("db");
            let db = open(&path, log);
            let oldest = db.create_table("t", engine, schema()).unwrap();
            let plain = db.keyspace("k", engine).unwrap();
            fill(&db, &oldest, 0..700);
            let expected = rows(&db, &oldest);
            let mut put = db.begin(Isolation::Snapshot).unwrap();
            put.put(&plain, b"key", b"value").unwrap();
            put.commit().unwrap().wait().unwrap();
            for (round, to) in [other(engine), engine, other(engine)].into_iter().enumerate() {
                db.move_table("t", to).unwrap();
                db.move_keyspace("k", to).unwrap();
                assert_eq!((engine_of(&db, "t"), db.keyspaces().len()), (to, 3));
                assert!(db.keyspaces().iter().all(|(_, engine)| *engine == to));
                assert_eq!(trees(&path), if to == Engine::Disk { 3 } else { 0 });
                if to == Engine::Disk {
                    let memory = db.state().memory;
                    assert_eq!((memory.records, memory.bytes - memory.unfreed_bytes), (0, 0));
                }
                for handle in [&oldest, &db.table("t").unwrap()] {
                    assert_eq!(rows(&db, handle), expected);
                    let mut writer = db.begin(LEVELS[round]).unwrap();
                    assert!(handle.delete(&mut writer, &[Value::Int(5)]).unwrap());
                    handle.insert(&mut writer, &row(5, 50)).unwrap();
                    writer.commit().unwrap().wait().unwrap();
                }
                let mut reader = db.begin(LEVELS[round]).unwrap();
                assert_eq!(reader.get(&plain, b"key").unwrap().unwrap(), b"value");
                rejected(db.keyspace("k", other(to)), "already exists in the");
            }
            // Where it is already.
            db.move_table("t", other(engine)).unwrap();
            db.move_keyspace("k", other(engine)).unwrap();
            assert_eq!(db.state().moves.done, 6);
            // Later changes reach the oldest handle.
            let indexed = db.add_index("t", schema().index("second", ["value"]).indexes.remove(1)).unwrap();
            assert_eq!(rows(&db, &oldest), expected);
            let mut writer = db.begin(Isolation::Snapshot).unwrap();
            outdated(oldest.insert(&mut writer, &row(-1, 0)), "get the table again");
            drop(writer);
            db.move_table("t", engine).unwrap();
            assert_eq!((rows(&db, &oldest), rows(&db, &indexed)), (expected.clone(), expected.clone()));
            let mut writer = db.begin(Isolation::Snapshot).unwrap();
            outdated(oldest.insert(&mut writer, &row(-1, 0)), "get the table again");
            indexed.insert(&mut writer, &row(-1, 0)).unwrap();
            writer.commit().unwrap().wait().unwrap();
            let mut expected = expected;
            expected.insert(-1, 0);
            drop(db);
            good(&path);
            let db = open(&path, log);
            assert_eq!(rows(&db, &db.table("t").unwrap()), expected);
            assert_eq!(engine_of(&db, "t"), engine);
            let table = db.table("t").unwrap();
            db.move_table("t", other(engine)).unwrap();
            db.drop_table("t").unwrap();
            let mut reader = db.begin(Isolation::Snapshot).unwrap();
            outdated(content(&mut reader, &table), "was dropped");
        }
    }
}

#[test]
fn transactions_that_began_before_the_end_of_a_move_are_retried() {
    for engine in ENGINES {
        for level in LEVELS {
            let directory = directory();
            let db = open(directory.path(), LogMode::Shared);
            let table = db.create_table("t", engine, schema()).unwrap();
            let fixed = db.create_table("fixed", engine, schema()).unwrap();
            fill(&db, &table, 0..50);
            let begin = || db.begin(level).unwrap();
            let [mut reader, mut writer, mut cursed, mut undone, mut beside, mut late, mut seen] =
                std::array::from_fn(|_| begin());
            assert_eq!(content(&mut reader, &table).unwrap().len(), 50);
            table.upsert(&mut writer, &row(1, 1)).unwrap();
            let mut cursor = table.cursor(&cursed, &RowRange::all()).unwrap();
            assert!(cursor.next(&mut cursed).unwrap().is_some());
            let savepoint = undone.savepoint().unwrap();
            table.upsert(&mut undone, &row(2, 1)).unwrap();
            undone.rollback_to(&savepoint).unwrap();
            fixed.upsert(&mut undone, &row(2, 1)).unwrap();
            fixed.upsert(&mut beside, &row(3, 1)).unwrap();
            table.get(&mut seen, &[Value::Int(1)]).unwrap();
            fixed.upsert(&mut seen, &row(4, 1)).unwrap();
            db.move_table("t", other(engine)).unwrap();

            moved(table.get(&mut reader, &[Value::Int(1)]));
            moved(content(&mut reader, &db.table("t").unwrap()));
            moved(table.insert(&mut late, &row(100, 1)));
            moved(cursor.next(&mut cursed).map(drop));
            moved(table.cursor(&reader, &RowRange::all()).map(drop));
            moved(writer.commit().map(drop));
            drop(reader.commit().unwrap());
            drop(beside.commit().unwrap());
            // At serializable, reads that were rolled back are validated nevertheless.
            for outcome in [undone.commit().map(drop), seen.commit().map(drop)] {
                if level == Isolation::Serializable { moved(outcome) } else { outcome.unwrap() }
            }
            let mut attempts = 0;
            db.run(level, |transaction| {
                attempts += 1;
                table.upsert(transaction, &row(1, attempts))?;
                if attempts == 1 {
                    db.move_table("t", engine)?;
                }
                Ok(())
            })
            .unwrap();
            assert_eq!((attempts, rows(&db, &table)[&1]), (2, 2));
            assert!(db.state().aborted.moved >= 2);
        }
    }
}

#[test]
fn a_move_that_can_not_be_is_rejected() {
    let directory = directory();
    let path = directory.path().join("db");
    let db = open(&path, LogMode::Shared);
    db.create_table("t", Engine::Memory, schema()).unwrap();
    rejected(db.move_table("none", Engine::Disk), "there is no table");
    rejected(db.move_keyspace("none", Engine::Disk), "there is no keyspace");
    rejected(db.move_keyspace("t.by_value", Engine::Disk), "move the table");
    drop(db);
    let options = Options { csr: false, ..Options::default() };
    let db = Database::open(&path, options).unwrap();
    rejected(db.move_table("t", Engine::Disk), "option csr");
    db.move_table("t", Engine::Memory).unwrap();
    assert_eq!((engine_of(&db, "t"), trees(&path)), (Engine::Memory, 0));
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

const ACCOUNTS: i64 = 60;
const MONEY: i64 = 100;

/// Moves money between accounts of both tables, and opens and closes accounts of the worker's own in the moving table.
fn transfer(db: &Database, tables: [&Table; 2], random: &mut Random, own: i64, n: i64) -> gemel::Result<()> {
    let level = LEVELS[random.below(3) as usize];
    let mut transaction = db.begin(level)?;
    for step in [-1, 1] {
        let table = tables[random.below(2) as usize];
        let key = [Value::Int(random.below(ACCOUNTS as u64) as i64)];
        let add = |row: &mut RowBuf<'_>| {
            let money = row.view().int(1)?;
            row.set(1, Value::Int(money + step))
        };
        assert!(table.update(&mut transaction, &key, add)?.is_some(), "an account is missing");
    }
    let base = 1_000_000 * (own + 1);
    tables[0].insert(&mut transaction, &row(base + n, 0))?;
    if n >= 5 {
        assert!(tables[0].delete(&mut transaction, &[Value::Int(base + n - 5)])?, "a row is missing");
    }
    transaction.commit()?.wait()
}

/// Reads both tables, and checks that no money is lost and rows and indexes agree.
fn audit(db: &Database, tables: [&Table; 2], level: Isolation) -> gemel::Result<()> {
    let mut transaction = db.begin(level)?;
    let mut sum = 0;
    for table in tables {
        sum += content(&mut transaction, table)?.values().sum::<i64>();
    }
    if level != Isolation::ReadCommitted {
        assert_eq!(sum, 2 * ACCOUNTS * MONEY);
        tables.into_iter().try_for_each(|table| match table.verify(&mut transaction) {
            Err(error @ Error::Corruption { .. }) => panic!("{error}"),
            other => other,
        })?;
    }
    transaction.commit().map(drop)
}

/// Ends all threads of a test when one of them panics.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_table_moves_back_and_forth_beside_writers_and_readers() {
    const WRITERS: i64 = 3;
    for (log, commit_stamps) in MODES.into_iter().zip([CommitStamps::Latched, CommitStamps::Independent]) {
        let directory = directory();
        let path = directory.path().join("db");
        let options = Options {
            log,
            commit_stamps,
            durability: Durability::None,
            write_buffer_bytes: 1 << 16,
            ..Options::default()
        };
        let db = Database::open(&path, options).unwrap();
        let recorder = Arc::new(Recorder::default());
        assert!(db.record_into(Arc::clone(&recorder)));
        let tables = [("moving", Engine::Memory), ("fixed", Engine::Disk)];
        let tables = tables.map(|(name, engine)| db.create_table(name, engine, schema()).unwrap());
        let tables = [&tables[0], &tables[1]];
        let mut setup = db.begin(Isolation::Snapshot).unwrap();
        for table in tables {
            (0..ACCOUNTS).for_each(|id| table.insert(&mut setup, &row(id, MONEY)).unwrap());
        }
        setup.commit().unwrap().wait().unwrap();
        let (stop, audits) = (AtomicBool::new(false), AtomicU64::new(0));
        let done: [AtomicU64; WRITERS as usize] = std::array::from_fn(|_| AtomicU64::new(0));
        std::thread::scope(|scope| {
            let (db, stop, audits) = (&db, &stop, &audits);
            for (own, done) in done.iter().enumerate() {
                scope.spawn(move || {
                    let _ends = Ends(stop);
                    let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ (own as u64 + 1));
                    while !stop.load(Ordering::Relaxed) {
                        let n = done.load(Ordering::Relaxed) as i64;
                        match transfer(db, tables, &mut random, own as i64, n) {
                            Ok(()) => drop(done.fetch_add(1, Ordering::Relaxed)),
                            Err(error) => assert!(error.is_retryable(), "{error}"),
                        }
                    }
                });
            }
            scope.spawn(move || {
                let _ends = Ends(stop);
                for round in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    match audit(db, tables, LEVELS[round % 3]) {
                        Ok(()) => drop(audits.fetch_add(1, Ordering::Relaxed)),
                        Err(error) => assert!(error.is_retryable(), "{error}"),
                    }
                }
            });
            let _ends = Ends(stop);
            let commits = || done.iter().map(|done| done.load(Ordering::Relaxed)).min().unwrap();
            for engine in [Engine::Disk, Engine::Memory, Engine::Disk, Engine::Memory, Engine::Disk] {
                let (commits_before, audits_before) = (commits(), audits.load(Ordering::Relaxed));
                let progress = || {
                    assert!(!stop.load(Ordering::Relaxed), "a thread has ended");
                    (commits() - commits_before, audits.load(Ordering::Relaxed) - audits_before)
                };
                wait_until(
                    progress,
                    |(commits, audits)| *commits >= 10 && *audits > 0,
                    |progress| format!("of commits and audits, only {progress:?} come"),
                );
                db.move_table("moving", engine).unwrap();
                assert_eq!(engine_of(db, "moving"), engine);
            }
            stop.store(true, Ordering::Relaxed);
        });
        let wrong = oracle::check(&recorder.take());
        assert!(wrong.is_empty(), "{} faults, the first: {:#?}", wrong.len(), &wrong[..wrong.len().min(5)]);
        audit(&db, tables, Isolation::Snapshot).unwrap();
        let expected: Vec<i64> = done
            .iter()
            .enumerate()
            .flat_map(|(own, done)| {
                let (base, done) = (1_000_000 * (own as i64 + 1), done.load(Ordering::Relaxed) as i64);
                (base + (done - 5).max(0))..(base + done)
            })
            .collect();
        let own_rows = |db: &Database| -> Vec<i64> {
            rows(db, &db.table("moving").unwrap()).into_keys().filter(|id| *id >= ACCOUNTS).collect()
        };
        assert_eq!(own_rows(&db), expected);
        db.sync().unwrap();
        let tables = tables.map(|table| rows(&db, table));
        drop(db);
        good(&path);
        let db = Database::open_existing(&path, Options::default()).unwrap();
        assert_eq!(["moving", "fixed"].map(|name| rows(&db, &db.table(name).unwrap())), tables);
        assert_eq!(own_rows(&db), expected);
    }
}

/// Places where a process is killed, and which pass; true if the table must have moved by then.
const DEATHS: &[(&str, bool)] = &[
    ("files.before_rename:1", false),
    ("move.begun", false),
    ("move.settled", false),
    ("move.read:3", false),
    ("move.copying:5", false),
    ("move.copied", false),
    ("move.before_manifest", false),
    ("files.before_rename:2", false),
    ("move.after_manifest", true),
    ("move.switching", true),
    ("move.switched", true),
    ("disk.before_remove:1", true),
    ("disk.before_remove:2", true),
];

const SETTING: &str = "GEMEL_MOVE_SETTING";
const DIRECTORY: &str = "GEMEL_MOVE_DIRECTORY";

fn mode_of(setting: &str) -> (Engine, LogMode) {
    let (engine, log) = setting.split_once(' ').unwrap();
    let engine = if engine == "memory" { Engine::Memory } else { Engine::Disk };
    (engine, if log == "shared" { LogMode::Shared } else { LogMode::PerEngine })
}

/// The process that is killed. As a test by itself it does nothing. Writers print what is durable.
#[test]
fn the_process_that_dies() {
    let (Ok(path), Ok(setting)) = (std::env::var(DIRECTORY), std::env::var(SETTING)) else { return };
    let (engine, log) = mode_of(&setting);
    let db = open(Path::new(&path), log);
    let table = db.table("t").unwrap();
    let begun = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for writer in 1..=2 {
            let (db, table, begun) = (&db, &table, &begun);
            scope.spawn(move || {
                for n in 0..900 {
                    db.run(Isolation::Snapshot, |transaction| {
                        table.insert(transaction, &row(writer * 1_000_000 + n, n))?;
                        table.delete(transaction, &[Value::Int(1000 * writer + n)])
                    })
                    .unwrap();
                    let mut out = std::io::stdout().lock();
                    writeln!(out, "\nack {writer} {n}").and_then(|()| out.flush()).unwrap();
                    begun.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        while begun.load(Ordering::SeqCst) < 20 {
            std::thread::yield_now();
        }
        db.move_table("t", other(engine)).unwrap();
        unreachable!("the process should have died");
    });
}

#[test]
fn a_killed_move_leaves_the_whole_table_in_one_engine() {
    for (number, (place, done)) in DEATHS.iter().enumerate() {
        for (engine, name) in [(Engine::Memory, "memory"), (Engine::Disk, "disk")] {
            // Only a move from the disk engine removes its files.
            if place.starts_with("disk.") && engine == Engine::Memory {
                continue;
            }
            let log = MODES[number % 2];
            let setting = format!("{name} {}", if log == LogMode::Shared { "shared" } else { "each" });
            let directory = directory();
            let path = directory.path().join("db");
            let db = open(&path, log);
            let table = db.create_table("t", engine, schema()).unwrap();
            fill(&db, &table, 0..100);
            fill(&db, &table, 1000..3000);
            drop((db, table));
            let mut child = Command::new(std::env::current_exe().unwrap());
            child.args(["--exact", "the_process_that_dies", "--nocapture"]);
            child.env(DIRECTORY, &path).env(SETTING, &setting).env("GEMEL_FAIL_POINT", place);
            let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let mut acks = [-1_i64; 2];
            for line in BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok) {
                // The last line may be cut short.
                if let ["ack", writer, n] = line.split(' ').collect::<Vec<_>>()[..] {
                    let ack = &mut acks[writer.parse::<usize>().unwrap() - 1];
                    *ack = n.parse().unwrap_or(-1).max(*ack);
                }
            }
            let died = child.wait_with_output().unwrap();
            assert_eq!(died.status.code(), None, "{place}: {}", String::from_utf8_lossy(&died.stderr));
            let db = open(&path, log);
            let table = db.table("t").unwrap();
            let found = rows(&db, &table);
            let now = engine_of(&db, "t");
            assert_eq!(now == other(engine), *done, "{place} from {name}");
            assert_eq!(trees(&path), if now == Engine::Disk { 2 } else { 0 }, "{place} from {name}");
            assert!((0..100).all(|id| found[&id] == id * 10));
            for writer in 1..=2_i64 {
                let base = writer * 1_000_000;
                let count = found.range(base..base + 1_000_000).count() as i64;
                assert!(count > acks[writer as usize - 1], "{place} from {name}: {count}, {acks:?}");
                assert!((0..count).all(|n| found[&(base + n)] == n), "{place} from {name}: a hole");
                let deleted = |id: i64| (0..count).contains(&(id - 1000 * writer));
                assert!(
                    (0..1000).map(|n| 1000 * writer + n).all(|id| found.contains_key(&id) != deleted(id))
                );
            }
            // The next move finds nothing of this one.
            db.move_table("t", other(now)).unwrap();
            assert_eq!(rows(&db, &table), found);
            drop((db, table));
            good(&path);
        }
    }
}

#[test]
fn the_command_moves_a_table_or_a_keyspace_of_a_closed_database() {
    let directory = directory();
    let path = directory.path().join("db");
    let db = open(&path, LogMode::PerEngine);
    let table = db.create_table("t", Engine::Memory, schema()).unwrap();
    fill(&db, &table, 0..100);
    let expected = rows(&db, &table);
    let plain: Keyspace = db.keyspace("k", Engine::Disk).unwrap();
    let mut put = db.begin(Isolation::Snapshot).unwrap();
    put.put(&plain, b"key", b"value").unwrap();
    put.commit().unwrap().wait().unwrap();
    let gemel = |arguments: [&str; 2]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gemel"));
        let output = command.arg("move").arg(&path).args(arguments).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    };
    let (code, text) = gemel(["t", "disk"]);
    assert!(code == Some(3) && text.contains("is open in another process"), "{text}");
    drop((db, table, plain));
    let (code, text) = gemel(["t", "disk"]);
    assert!(code == Some(0) && text.contains("table t is in the disk engine now"), "{text}");
    assert_eq!(gemel(["t", "disk"]).0, Some(0));
    let (code, text) = gemel(["k", "memory"]);
    assert!(code == Some(0) && text.contains("keyspace k is in the memory engine now"), "{text}");
    let (code, text) = gemel(["none", "memory"]);
    assert!(code == Some(3) && text.contains("there is no table or keyspace 'none'"), "{text}");
    let (code, text) = gemel(["t", "tape"]);
    assert!(code == Some(2) && text.contains("gemel move PATH"), "{text}");
    good(&path);
    let db = open(&path, LogMode::PerEngine);
    assert_eq!((engine_of(&db, "t"), rows(&db, &db.table("t").unwrap())), (Engine::Disk, expected));
    let plain = db.keyspace("k", Engine::Memory).unwrap();
    let mut found = 0;
    db.begin(Isolation::Snapshot)
        .unwrap()
        .scan(&plain, Bound::Unbounded, Bound::Unbounded, Direction::Forward, |_, _| {
            found += 1;
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(found, 1);
}
