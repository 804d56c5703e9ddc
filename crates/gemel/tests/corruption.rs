//! Damage in the files of a closed database. After each flipped bit, each cut and each removed file, the damage is found
//! or changes nothing: opening or reading fails, or every row is as before. Nothing panics.
//!
//! The usual suite takes a few places in every file. `GEMEL_CORRUPTIONS=10000` takes that many places, and
//! `GEMEL_CORRUPTIONS=1` each bit and each length. This test has a `main` of its own, so its last line is shown.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod alone;

use gemel::row::{ColumnType, RowRange, Schema, Value};
use gemel::{Database, Direction, Engine, Isolation, LogMode, Options};
use std::collections::BTreeMap;
use std::fs;
use std::ops::{Bound, ControlFlow};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

const NAME: &str = "damage_is_found_or_changes_nothing";
const ENGINES: [Engine; 2] = [Engine::Memory, Engine::Disk];
/// Panics of all threads.
static PANICS: AtomicU64 = AtomicU64::new(0);

fn options(log: LogMode) -> Options {
    Options { log, cache_bytes: 1 << 20, ..Options::default() }
}

/// Makes a database with a table, an index and a keyspace in each engine. All have rows in files and in the log.
fn make(path: &Path, log: LogMode) {
    let db = Database::open(path, options(log)).unwrap();
    for first in [0, 10] {
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        for engine in ENGINES {
            let schema = Schema::new().column("id", ColumnType::I64).column("name", ColumnType::Text);
            let schema = schema.primary_key(["id"]).index("by_name", ["name"]);
            let table = db.create_table(engine.name(), engine, schema).unwrap();
            let notes = db.keyspace(&format!("{} notes", engine.name()), engine).unwrap();
            for id in first..first + 20 {
                let name = format!("name {id} of {first}");
                table.upsert(&mut transaction, &[Value::Int(id), Value::from(&name)]).unwrap();
                transaction.put(&notes, &id.to_be_bytes(), name.as_bytes()).unwrap();
            }
        }
        transaction.commit().unwrap().wait().unwrap();
        if first == 0 {
            db.checkpoint().unwrap();
        }
    }
    db.close().unwrap();
}

type Rows = Vec<Vec<u8>>;

/// Returns everything in a database: the rows of each table by key and by index, and the keyspaces.
fn content(path: &Path, log: LogMode) -> gemel::Result<Rows> {
    let db = Database::open(path, options(log))?;
    let mut transaction = db.begin(Isolation::Snapshot)?;
    let mut rows = Rows::new();
    for engine in ENGINES {
        let table = db.table(engine.name())?;
        table.scan(&mut transaction, &RowRange::all(), Direction::Forward, |row| {
            rows.push(row.as_bytes().to_vec());
            Ok(ControlFlow::Continue(()))
        })?;
        table.scan_index(&mut transaction, "by_name", &RowRange::all(), Direction::Backward, |row| {
            rows.push(row.as_bytes().to_vec());
            Ok(ControlFlow::Continue(()))
        })?;
        let notes = db.keyspace(&format!("{} notes", engine.name()), engine)?;
        let all = (Bound::Unbounded, Bound::Unbounded);
        transaction.scan(&notes, all.0, all.1, Direction::Forward, |key, value| {
            rows.push([key, value].concat());
            ControlFlow::Continue(())
        })?;
    }
    Ok(rows)
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort_unstable();
    found
}

/// The files of a database, to be restored after each damage.
struct Image(BTreeMap<PathBuf, Vec<u8>>);

impl Image {
    fn of(directory: &Path) -> Self {
        Self(files(directory).into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect())
    }

    /// Undoes the damage, and everything that opening and closing wrote.
    fn restore(&self, directory: &Path) {
        for path in files(directory) {
            if !self.0.contains_key(&path) {
                fs::remove_file(path).unwrap();
            }
        }
        for (path, content) in &self.0 {
            if fs::read(path).ok().as_ref() != Some(content) {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, content).unwrap();
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Damage {
    Flip { bit: usize },
    Cut { to: usize },
    Remove,
}

impl Damage {
    fn apply(self, path: &Path, content: &[u8]) {
        match self {
            Self::Flip { bit } => {
                let mut content = content.to_vec();
                content[bit / 8] ^= 1 << (bit % 8);
                fs::write(path, content).unwrap();
            }
            Self::Cut { to } => fs::write(path, &content[..to]).unwrap(),
            Self::Remove => fs::remove_file(path).unwrap(),
        }
    }
}

/// Returns at most `most` numbers below `end`, with the same distance between them.
fn places(end: usize, most: usize) -> impl Iterator<Item = usize> {
    let stride = end.div_ceil(most).max(1);
    // Not always the first bit of a file.
    (0..end).skip(stride * 5 / 8).step_by(stride)
}

#[derive(Default)]
struct Counts {
    flips: u64,
    cuts: u64,
    removals: u64,
    found: u64,
    harmless: u64,
    bad: u64,
}

fn suite() -> ExitCode {
    let cases = match std::env::var("GEMEL_CORRUPTIONS").ok().map(|cases| cases.parse().unwrap()) {
        None => 120,
        Some(1) => usize::MAX,
        Some(cases) => cases,
    };
    std::panic::set_hook(Box::new(|panic| {
        PANICS.fetch_add(1, Ordering::SeqCst);
        eprintln!("{panic}");
    }));
    let mut counts = Counts::default();
    for log in [LogMode::Shared, LogMode::PerEngine] {
        // In memory where possible: otherwise syncs take most of the time.
        let memory = Path::new("/dev/shm");
        let directory = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        let directory = directory.unwrap();
        make(directory.path(), log);
        // Opening cuts the zeros after the log's end, so all places are in use.
        let whole = content(directory.path(), log).unwrap();
        let image = Image::of(directory.path());
        // Half of the cases are in each database. Each file has flips, cuts and one removal.
        let most = (cases / 4 / image.0.len()).max(1);
        for (path, bytes) in &image.0 {
            let flips = places(bytes.len() * 8, most).map(|bit| Damage::Flip { bit });
            let cuts = places(bytes.len(), most).map(|to| Damage::Cut { to });
            for damage in flips.chain(cuts).chain([Damage::Remove]) {
                match damage {
                    Damage::Flip { .. } => counts.flips += 1,
                    Damage::Cut { .. } => counts.cuts += 1,
                    Damage::Remove => counts.removals += 1,
                }
                damage.apply(path, bytes);
                let panics = PANICS.load(Ordering::SeqCst);
                let read = catch_unwind(AssertUnwindSafe(|| content(directory.path(), log)));
                let panicked = PANICS.load(Ordering::SeqCst) > panics;
                let bad = match read {
                    _ if panicked => Some("a panic".to_owned()),
                    Ok(Ok(rows)) if rows == whole => {
                        counts.harmless += 1;
                        None
                    }
                    Ok(Ok(rows)) => Some(format!("{} rows of {}, or wrong ones", rows.len(), whole.len())),
                    Ok(Err(_)) => {
                        counts.found += 1;
                        None
                    }
                    Err(_) => Some("a panic".to_owned()),
                };
                if let Some(bad) = bad {
                    counts.bad += 1;
                    let name = path.strip_prefix(directory.path()).unwrap().display();
                    eprintln!("{log:?}: {damage:?} of {name} ({} bytes): {bad}", bytes.len());
                }
                image.restore(directory.path());
            }
        }
        assert_eq!(content(directory.path(), log).unwrap(), whole, "the image was not restored");
    }
    let Counts { flips, cuts, removals, found, harmless, bad } = counts;
    println!(
        "{flips} bits flipped, {cuts} files cut, {removals} files removed: {found} found, {harmless} harmless, {bad} \
         accepted with wrong rows or panicked"
    );
    if bad == 0 && found > harmless { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn main() -> ExitCode {
    alone::run(NAME, suite)
}
