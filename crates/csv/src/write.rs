//! Writing of CSV files: a file for each table of each warehouse, several at a time.
//!
//! A file gets its name once it is whole. A journal has a line for each of them, so that a second call goes on where an
//! interrupted one ended. The manifest takes all lines in the end.

use crate::error::CsvError;
use crate::manifest::{FileEntry, MANIFEST, Manifest, State, all_files, file_name, hex};
use crate::text::{Lines, time_text};
use lydite_database::LoadProgress;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::population::{Population, RowWriter};
use lydite_tpcc::rows::Row;
use lydite_tpcc::schema::Table;
use lydite_tpcc::{Timestamp, WarehouseId};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Name of the journal.
const JOURNAL: &str = ".journal";
/// Bytes that are written at once.
const CHUNK: usize = 256 * 1024;

/// Progress of a writer.
#[derive(Debug, Default)]
pub struct Writing {
    /// Rows and bytes that were written. Its stop ends the writing after the files at work.
    pub progress: LoadProgress,
    /// Warehouses whose files are all there.
    pub warehouses: AtomicU32,
}

/// Writes the rows of `meta` into `dir`, which is made if it is missing. Goes on with files of the same rows that an
/// interrupted call left. `now` is the time in the rows of new files.
///
/// # Errors
/// The directory holds other rows or other files; the system's error; the stop of `writing`.
pub fn write(
    dir: &Path,
    meta: &DatabaseMeta,
    now: Timestamp,
    jobs: usize,
    writing: &Writing,
) -> Result<(), CsvError> {
    fs::create_dir_all(dir).map_err(CsvError::system("can't make", dir))?;
    // Nothing is changed in a directory of other files, and the manifest is changed by the one that holds the journal.
    found(dir, meta)?;
    let journal = lock_journal(dir)?;
    let manifest = begin(dir, meta, now)?;
    let population = manifest.rows().map_err(|problem| CsvError::refused(&dir.join(MANIFEST), problem))?;
    let known = known(dir, &manifest)?;
    let units: Vec<(Table, WarehouseId)> = all_files(meta.warehouses).collect();
    let files = Files {
        dir,
        population: &population,
        units: &units,
        left: (0..=meta.warehouses).map(|_| AtomicU32::new(Table::OF_WAREHOUSE.len() as u32)).collect(),
        entries: Mutex::new(HashMap::new()),
        journal: Mutex::new(journal),
        known,
        writing,
    };
    files.all(jobs)?;
    let mut entries = files.entries.into_inner();
    let files = units.iter().filter_map(|unit| entries.remove(unit)).collect();
    Manifest { state: State::Complete, files, ..manifest }.save(dir)?;
    let journal = dir.join(JOURNAL);
    fs::remove_file(&journal).map_err(CsvError::system("can't remove", &journal))
}

/// Returns the manifest of the files: that of an earlier call, or a new one. The caller holds the journal.
fn begin(dir: &Path, meta: &DatabaseMeta, now: Timestamp) -> Result<Manifest, CsvError> {
    match found(dir, meta)? {
        Some(found) if found.state == State::Writing => Ok(found),
        found => {
            let new = || Manifest::begin(meta, &time_text(now));
            let begun = found.map_or_else(new, |found| Manifest { state: State::Writing, ..found });
            begun.save(dir)?;
            Ok(begun)
        }
    }
}

/// Returns the manifest of an earlier call; `None` for a directory that is empty. Rejects one with other files.
fn found(dir: &Path, meta: &DatabaseMeta) -> Result<Option<Manifest>, CsvError> {
    if let Some(found) = Manifest::read(dir)? {
        let there = found.meta().map_err(|problem| CsvError::refused(&dir.join(MANIFEST), problem))?;
        if !there.is_of_same_rows(meta) {
            return Err(CsvError::refused(
                dir,
                format!(
                    "holds CSV files of {}, not of {}: name another directory, or the same warehouses, size, skew and \
                     seed",
                    there.rows_in_words(),
                    meta.rows_in_words()
                ),
            ));
        }
        return Ok(Some(found));
    }
    let mut others = fs::read_dir(dir).map_err(CsvError::system("can't read", dir))?;
    // A writer that was killed at its begin leaves a part of the manifest.
    let is_part = |name: &OsStr| {
        name == JOURNAL || name.as_encoded_bytes().starts_with(format!(".{MANIFEST}.").as_bytes())
    };
    if others.any(|entry| entry.is_ok_and(|entry| !is_part(&entry.file_name()))) {
        return Err(CsvError::refused(dir, "holds other files: name an empty or a new directory"));
    }
    Ok(None)
}

/// Opens the journal for this writer alone.
fn lock_journal(dir: &Path) -> Result<File, CsvError> {
    let path = dir.join(JOURNAL);
    let open = OpenOptions::new().create(true).append(true).read(true).open(&path);
    let file = open.map_err(CsvError::system("can't write", &path))?;
    // Another writer may have ended, and removed the file, since it was opened here.
    let inode = |of: io::Result<fs::Metadata>| of.map(|of| of.ino()).ok();
    if file.try_lock().is_err() || inode(file.metadata()) != inode(fs::metadata(&path)) {
        return Err(CsvError::refused(dir, "another lydite writes files there: wait for it"));
    }
    Ok(file)
}

/// Returns the files that are whole, by their names.
fn known(dir: &Path, manifest: &Manifest) -> Result<HashMap<String, FileEntry>, CsvError> {
    let path = dir.join(JOURNAL);
    let text = fs::read_to_string(&path).map_err(CsvError::system("can't read", &path))?;
    // A line that was cut is of a file that is written again.
    let lines = text.lines().filter_map(|line| serde_json::from_str::<FileEntry>(line).ok());
    let entries = manifest.files.iter().cloned().chain(lines);
    let whole = |entry: &FileEntry| {
        fs::metadata(dir.join(&entry.file)).is_ok_and(|there| there.is_file() && there.len() == entry.bytes)
    };
    Ok(entries.filter(whole).map(|entry| (entry.file.clone(), entry)).collect())
}

struct Files<'a> {
    dir: &'a Path,
    population: &'a Population,
    units: &'a [(Table, WarehouseId)],
    /// Missing files of each warehouse.
    left: Vec<AtomicU32>,
    entries: Mutex<HashMap<(Table, WarehouseId), FileEntry>>,
    journal: Mutex<File>,
    /// Files of an earlier call.
    known: HashMap<String, FileEntry>,
    writing: &'a Writing,
}

impl Files<'_> {
    /// Writes all files by `jobs` threads.
    fn all(&self, jobs: usize) -> Result<(), CsvError> {
        let next = AtomicUsize::new(0);
        let failure = Mutex::new(None);
        std::thread::scope(|scope| {
            let work = || {
                while !self.writing.progress.stopped() {
                    let Some(unit) = self.units.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                    if let Err(error) = self.one(*unit) {
                        failure.lock().get_or_insert(error);
                        self.writing.progress.stop();
                    }
                }
            };
            for _ in 1..jobs.min(self.units.len()) {
                // With fewer threads it takes longer.
                let _started = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        match failure.into_inner() {
            Some(error) => Err(error),
            None if self.entries.lock().len() < self.units.len() => Err(CsvError::Interrupted),
            None => Ok(()),
        }
    }

    /// Writes a file, unless it is there.
    fn one(&self, (table, w): (Table, WarehouseId)) -> Result<(), CsvError> {
        let name = file_name(table, w);
        let entry = match self.known.get(&name) {
            Some(entry) => entry.clone(),
            None => {
                let entry = self.new_file(&name, (table, w))?;
                let mut line = serde_json::to_string(&entry).unwrap_or_default();
                line.push('\n');
                let journal = self.dir.join(JOURNAL);
                self.journal
                    .lock()
                    .write_all(line.as_bytes())
                    .map_err(CsvError::system("can't write", &journal))?;
                entry
            }
        };
        self.entries.lock().insert((table, w), entry);
        if table != Table::Item && self.left[w.0 as usize].fetch_sub(1, Ordering::Relaxed) == 1 {
            self.writing.warehouses.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn new_file(&self, name: &str, of: (Table, WarehouseId)) -> Result<FileEntry, CsvError> {
        let path = self.dir.join(name);
        // One name for all calls: what a killed one left is replaced.
        let temporary = self.dir.join(format!(".{name}.tmp"));
        let written = self.fill(&temporary, of).and_then(|(rows, bytes, crc)| {
            fs::rename(&temporary, &path)?;
            Ok(FileEntry {
                file: name.to_owned(),
                table: of.0.name().to_owned(),
                warehouse: of.1.0,
                rows,
                bytes,
                crc32: hex(crc),
            })
        });
        written.map_err(|error| {
            // The first error is the one that matters.
            let _removed = fs::remove_file(&temporary);
            if self.writing.progress.stopped() && error.kind() == io::ErrorKind::Interrupted {
                return CsvError::Interrupted;
            }
            CsvError::system("can't write", &path)(error)
        })
    }

    /// Writes the rows of a file. Returns rows, bytes and checksum.
    fn fill(&self, path: &Path, (table, w): (Table, WarehouseId)) -> io::Result<(u64, u64, u32)> {
        let mut out = Out {
            file: File::create(path)?,
            lines: Lines::default(),
            crc: crc32fast::Hasher::new(),
            rows: 0,
            bytes: 0,
            table,
            progress: &self.writing.progress,
        };
        let rows = self.population.write_table(table, w, &mut out)?;
        out.send()?;
        // The manifest will call the file whole, and is synced itself.
        out.file.sync_data()?;
        Ok((rows, out.bytes, out.crc.finalize()))
    }
}

struct Out<'a> {
    file: File,
    lines: Lines,
    crc: crc32fast::Hasher,
    /// Rows of the buffer.
    rows: u64,
    /// Bytes of the file.
    bytes: u64,
    table: Table,
    progress: &'a LoadProgress,
}

impl Out<'_> {
    fn send(&mut self) -> io::Result<()> {
        let buffer = &mut self.lines.buffer;
        self.crc.update(buffer);
        self.file.write_all(buffer)?;
        self.bytes += buffer.len() as u64;
        self.progress.add_to(self.table, std::mem::take(&mut self.rows), buffer.len() as u64);
        buffer.clear();
        if self.progress.stopped() {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "interrupted"));
        }
        Ok(())
    }
}

impl RowWriter for Out<'_> {
    type Error = io::Error;

    fn write<R: Row>(&mut self, row: &R) -> io::Result<()> {
        self.lines.row(row);
        self.rows += 1;
        if self.lines.buffer.len() >= CHUNK { self.send() } else { Ok(()) }
    }
}
