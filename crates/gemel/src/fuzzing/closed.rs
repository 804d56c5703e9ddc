//! A small closed database, and damages of its files. The fuzz target over directories uses them, and so does
//! `tests/corruption.rs`.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use super::source::Source;
use crate::row::{ColumnType, RowRange, Schema, Value};
use crate::{Compression, Database, Direction, Engine, Isolation, LogMode, Options, Result};
use std::collections::BTreeMap;
use std::fs;
use std::ops::{Bound, ControlFlow};
use std::path::{Path, PathBuf};

const ENGINES: [Engine; 2] = [Engine::Memory, Engine::Disk];

/// The rows of a database.
pub type Rows = Vec<Vec<u8>>;

fn options(log: LogMode) -> Options {
    // One of the two kinds of databases has compressed files.
    let compression = match log {
        LogMode::Shared => Compression::None,
        LogMode::PerEngine => Compression::Lz4,
    };
    Options { log, compression, cache_bytes: 1 << 20, ..Options::default() }
}

/// Makes a database with a table, an index and a keyspace in each engine. All have rows in files and in the log. One
/// prepared transaction is undecided, one is committed, and one is rolled back.
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
    for name in ["undecided", "rolled back", "committed"] {
        let mut transaction = db.begin(Isolation::Serializable).unwrap();
        for engine in ENGINES {
            let notes = db.keyspace(&format!("{} notes", engine.name()), engine).unwrap();
            assert!(transaction.get(&notes, b"guard").unwrap().is_none());
            transaction.put(&notes, name.as_bytes(), &[b'p'; 50]).unwrap();
        }
        transaction.prepare(name).unwrap().wait().unwrap();
    }
    db.commit_prepared("committed").unwrap().wait().unwrap();
    db.roll_back_prepared("rolled back").unwrap().wait().unwrap();
    db.close().unwrap();
}

/// Returns everything in a database: the rows of each table by key and by index, the keyspaces, and the prepared
/// transactions with what is theirs.
fn content(path: &Path, log: LogMode) -> Result<Rows> {
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
    for prepared in db.prepared() {
        rows.push(format!("{} {} {}", prepared.name, prepared.rows, prepared.bytes).into_bytes());
        let mut free = Vec::new();
        for (engine, key) in
            ENGINES.into_iter().flat_map(|engine| [(engine, &b"guard"[..]), (engine, b"undecided")])
        {
            let notes = db.keyspace(&format!("{} notes", engine.name()), engine)?;
            let mut other = db.begin(Isolation::Snapshot)?;
            other.delete(&notes, key)?;
            free.push(u8::from(other.commit().is_ok()));
        }
        rows.push(free);
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

/// A closed database in a directory, its files as they should be, and its rows.
#[derive(Debug)]
pub struct Closed {
    directory: PathBuf,
    log: LogMode,
    files: BTreeMap<PathBuf, Vec<u8>>,
    rows: Rows,
}

impl Closed {
    /// Makes a database in an empty directory.
    #[must_use]
    pub fn new(directory: &Path, log: LogMode) -> Self {
        make(directory, log);
        // Opening cuts the zeros after the log's end, so all bytes are in use.
        let rows = content(directory, log).unwrap();
        let files =
            files(directory).into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect();
        Self { directory: directory.to_path_buf(), log, files, rows }
    }

    /// Returns the files with their contents.
    #[must_use]
    pub fn files(&self) -> &BTreeMap<PathBuf, Vec<u8>> {
        &self.files
    }

    /// Opens the database, and reads all rows. Returns true if each row is as it should be, and nothing else is there.
    ///
    /// # Errors
    /// The damage was found.
    pub fn is_whole(&self) -> Result<bool> {
        Ok(content(&self.directory, self.log)? == self.rows)
    }

    /// Undoes all damages, and everything that opening and closing wrote.
    pub fn restore(&self) {
        for path in files(&self.directory) {
            if !self.files.contains_key(&path) {
                fs::remove_file(path).unwrap();
            }
        }
        for (path, content) in &self.files {
            if fs::read(path).ok().as_ref() != Some(content) {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, content).unwrap();
            }
        }
    }
}

/// A damage of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// One bit is another.
    Flip {
        /// Number of the bit.
        bit: usize,
    },
    /// The file ends early.
    Cut {
        /// Length that is left.
        to: usize,
    },
    /// The file is gone.
    Remove,
    /// Bytes at a place are others, or come after the end.
    Write {
        /// Offset of the first one.
        at: usize,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// The file has the content of another one.
    Replace {
        /// The content.
        with: Vec<u8>,
    },
}

impl Damage {
    /// Damages a file.
    pub fn apply(&self, path: &Path) {
        let Ok(mut content) = fs::read(path) else { return };
        match self {
            // An earlier damage may have cut the file.
            Self::Flip { bit } => {
                if let Some(byte) = content.get_mut(bit / 8) {
                    *byte ^= 1 << (bit % 8);
                }
            }
            Self::Cut { to } => content.truncate(*to),
            Self::Remove => return fs::remove_file(path).unwrap(),
            Self::Write { at, bytes } => {
                let end = at + bytes.len();
                content.resize(content.len().max(end), 0);
                content[*at..end].copy_from_slice(bytes);
            }
            Self::Replace { with } => content.clone_from(with),
        }
        fs::write(path, content).unwrap();
    }

    /// Returns the damage in a few words.
    fn summary(&self) -> String {
        match self {
            Self::Replace { with } => format!("replaced by {} bytes of another file", with.len()),
            other => format!("{other:?}"),
        }
    }

    /// Chooses a damage for a file with this content. `others` are the contents of the other files.
    fn choose(source: &mut Source<'_>, content: &[u8], others: &[&Vec<u8>]) -> Self {
        let kind = source.byte() % 8;
        let at = place(source, content.len());
        match kind {
            0 | 1 => Self::Flip { bit: at * 8 + source.below(8) },
            2 => Self::Cut { to: at },
            3 => Self::Remove,
            4 => {
                let some = 1 + source.below(64);
                Self::Write { at, bytes: source.bytes(some).to_vec() }
            }
            // A block that was never written.
            5 => Self::Write { at: at / 4096 * 4096, bytes: vec![0; 4096] },
            6 => {
                let some = 1 + source.below(5000);
                let end = content.len();
                let from = others.get(source.below(others.len())).map_or(&[][..], |other| other.as_slice());
                Self::Write { at: end, bytes: from.iter().copied().cycle().take(some).collect() }
            }
            _ => Self::Replace { with: others[source.below(others.len())].clone() },
        }
    }
}

/// Chooses an offset in a file, a small one or one near the end more often than others.
fn place(source: &mut Source<'_>, len: usize) -> usize {
    let offset = source.below(1 << 16);
    match source.byte() % 4 {
        0 => offset % 64 % len.max(1),
        1 => len.saturating_sub(1 + offset % 64),
        _ => offset % len.max(1),
    }
}

/// Damages some files as `data` says. The database then opens with all rows, or opening or reading returns an error.
///
/// There is one exception: opening does not read the tables of the disk engine as a whole. If one has the content of
/// another, only [`crate::check`] compares it with its checksum.
pub(super) fn damage(databases: &[Closed], data: &[u8]) {
    let mut source = Source(data);
    let closed = &databases[source.below(databases.len())];
    // The last call may have ended in a panic.
    closed.restore();
    let mut damages = Vec::new();
    for _ in 0..=source.below(3) {
        let chosen = source.below(closed.files.len());
        let Some((path, content)) = closed.files.iter().nth(chosen) else { continue };
        let others: Vec<_> = closed.files.values().filter(|other| *other != content).collect();
        let damage = Damage::choose(&mut source, content, &others);
        damages.push((path, damage));
    }
    let apply = || damages.iter().for_each(|(path, damage)| damage.apply(path));
    apply();
    if !matches!(closed.is_whole(), Ok(false)) {
        return;
    }
    // Opening and closing have changed files.
    closed.restore();
    apply();
    let is_table = |path: &Path| path.parent().is_some_and(|parent| parent.ends_with("tables"));
    let mut replaced = damages.iter().filter(|(_, damage)| matches!(damage, Damage::Replace { .. }));
    let found = replaced.any(|(path, _)| is_table(path))
        && crate::check(&closed.directory).is_ok_and(|report| !report.is_good());
    let damages: Vec<_> = damages.iter().map(|(path, damage)| (path, damage.summary())).collect();
    assert!(found, "rows are missing or wrong after {damages:?}");
}
