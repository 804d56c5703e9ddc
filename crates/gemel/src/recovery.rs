//! Opening a database: manifest, checkpoint, log.

use crate::agree::{self, Part};
use crate::checkpoint::{self, Fault};
use crate::coordinator::Coordinator;
use crate::disk::DiskEngine;
use crate::engine::{Engine as _, Handle, Write};
use crate::error::{Error, Result};
use crate::files::{Files, fail_point};
use crate::ids::{self, KeyspaceId, MAX_ENGINES};
use crate::key::Key;
use crate::keyspace::{Engine, Keyspace};
use crate::keyspaces::{Numbers, ROOM};
use crate::lock::Lock;
use crate::log::{Log, Lsn, Policy, reader};
use crate::logs::Logs;
use crate::manifest::{KeyspaceEntry, Manifest};
use crate::memory::MemoryEngine;
use crate::mvcc::Draft;
use crate::options::{LogMode, Options};
use crate::order::clock::Timestamp;
use crate::prepared::Found;
use crate::record::{Kind, Prepared, Record};
use crate::restore::{Rows, on_threads};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Findings of opening a database.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Recovered {
    /// Rows read from the checkpoint.
    pub checkpoint_rows: u64,
    /// Bytes of the checkpoint.
    pub checkpoint_bytes: u64,
    /// Commits, or halves of commits, replayed from the log. Prepared transactions and their decisions count too.
    pub records: u64,
    /// Bytes of log that were replayed.
    pub log_bytes: u64,
    /// Commits, or halves of commits, that were cut off because their other half, or an earlier commit, had not reached
    /// its log.
    pub cut_records: u64,
    /// Duration of opening.
    pub took: Duration,
}

impl fmt::Display for Recovered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "opened in {} ms: {} rows from the checkpoint, {} records from {} bytes of log, {} cut off",
            self.took.as_millis(),
            self.checkpoint_rows,
            self.records,
            self.log_bytes,
            self.cut_records
        )
    }
}

/// Names of the engines' logs.
const LOG_NAMES: [&str; 2] = ["memory", "disk"];
const SHARED_LOG: &str = "log";
/// Name of the disk engine's directory.
pub(crate) const DISK_DIRECTORY: &str = "disk";

pub(crate) struct Opened {
    pub(crate) core: Arc<Coordinator>,
    pub(crate) memory: Arc<MemoryEngine>,
    pub(crate) disk: Arc<DiskEngine>,
    pub(crate) manifest: Manifest,
    pub(crate) numbers: Numbers,
    pub(crate) recovered: Recovered,
}

pub(crate) fn handle(owner: u64, entry: &KeyspaceEntry) -> Keyspace {
    Keyspace {
        owner,
        id: entry.id,
        engine: entry.engine.index() as u8,
        name: entry.name.as_str().into(),
        gate: Arc::default(),
    }
}

/// Returns the names of a database's logs.
pub(crate) fn log_names(mode: LogMode) -> &'static [&'static str] {
    match mode {
        LogMode::Shared => &[SHARED_LOG],
        LogMode::PerEngine => &LOG_NAMES,
    }
}

/// Opens a database. If `is_copy`, it is a backup to which nobody has written, and becomes a new incarnation.
pub(crate) fn recover(
    files: Arc<dyn Files>,
    directory: &Path,
    lock: Lock,
    mut manifest: Manifest,
    is_copy: bool,
    options: &Options,
    begun: Instant,
) -> Result<Opened> {
    let mut recovered = Recovered::default();
    let memory = Arc::new(MemoryEngine::new(Timestamp::ZERO, options.memory_limit_bytes));
    // The disk engine makes the log durable before it writes files. But the log is opened only after recovery has read
    // it, so the engine gets a hook now and the hook gets the logs later.
    let durable: Arc<std::sync::OnceLock<Vec<Arc<Log>>>> = Arc::default();
    let hook = {
        let logs = Arc::clone(&durable);
        Arc::new(move || logs.get().into_iter().flatten().try_for_each(|log: &Arc<Log>| log.sync(log.end())))
    };
    let disk = Arc::new(DiskEngine::open(&directory.join(DISK_DIRECTORY), manifest.database, options, hook)?);
    let on_disk = manifest.all_keyspaces().filter(|entry| entry.engine == Engine::Disk);
    disk.remove_strays(&on_disk.map(|entry| entry.id).collect::<Vec<_>>())?;
    for entry in manifest.all_keyspaces() {
        match entry.engine {
            Engine::Memory => memory.open_keyspace(entry.id)?,
            Engine::Disk => {
                // The keyspace's files were durable before the manifest named it.
                disk.verify(&manifest, entry)?;
                disk.open_keyspace(entry.id)?;
            }
        }
    }
    let known = Known::new(&manifest);
    let mut last = [Timestamp::ZERO; MAX_ENGINES];
    for (last, clock) in last.iter_mut().zip(&manifest.clocks) {
        *last = Timestamp(*clock);
    }
    last[1] = last[1].max(disk.clock().drawn());
    if let Some(checkpoint) = &manifest.checkpoint {
        let path = directory.join(&checkpoint.file);
        let at = load_checkpoint(&*files, &path, manifest.database, &known, &memory, &mut recovered)?;
        if at.0 != checkpoint.at {
            return Err(Error::Corruption {
                path,
                what: "the checkpoint is not the one that the manifest names: restore the directory from a backup".into(),
            });
        }
        last[0] = last[0].max(at);
    }
    let (ends, undecided) =
        replay(&*files, directory, &manifest, &known, (&memory, &disk), &mut last, &mut recovered)?;
    memory.finish_restore();
    memory.clock().recover(last[0]);
    disk.clock().recover(last[1]);
    if is_copy {
        manifest.renew(&ends);
    }
    // A transaction that changes the catalog is the first one to write to its mark, and does so in any case. So a
    // record that writes to it says that the transaction has committed. By now the log is durable up to its end.
    let has_changes = !manifest.committing.is_empty();
    let gone = manifest.decide(|mark| known.is_marked(mark));
    let has_new_form = manifest.set_compression(options.compression);
    if is_copy || has_new_form || has_changes || manifest.closed.is_some() || !manifest.identified {
        fail_point("open.before_manifest");
        // The mark of closing must go before anything is appended or flushed, because that changes what it describes. If
        // the process ends before the manifest is replaced, the mark is still true. And a segment of a new incarnation is
        // another copy's unless the manifest names that incarnation. Nothing is flushed before this, so no file is
        // compressed before the manifest has the format that says so.
        manifest.open();
        manifest.write(&*files, directory)?;
        fail_point("open.after_manifest");
    }
    for entry in gone {
        // No manifest names them any more, so the next opening removes files that stay.
        let _ = match entry.engine {
            Engine::Memory => memory.drop_keyspace(entry.id),
            Engine::Disk => disk.drop_keyspace(entry.id),
        };
    }
    let names = log_names(manifest.log);
    let mut logs = Vec::with_capacity(names.len());
    for (index, (name, end)) in names.iter().zip(ends).enumerate() {
        logs.push(Log::open(
            Arc::clone(&files),
            directory,
            name,
            manifest.owner_of_log(index),
            end,
            Policy {
                durability: options.durability,
                gather: options.gather,
                full_disk: options.full_disk,
                spare_bytes: options.checkpoint_log_bytes / names.len() as u64,
                segment_bytes: options.log_segment_bytes,
            },
        )?);
    }
    let _ = durable.set(logs.clone());
    let logs = match manifest.log {
        LogMode::Shared => Logs::Shared(logs.swap_remove(0)),
        LogMode::PerEngine => Logs::PerEngine(logs),
    };
    let engines: Vec<Arc<dyn crate::engine::Engine>> = vec![memory.clone(), disk.clone()];
    // Another one for each opening. Numbers of transactions begin anew then, and numbers of keyspaces may be used again: a
    // handle of an earlier opening could mean another keyspace, and a cursor another transaction.
    let owner = ids::random();
    let core = Arc::new(Coordinator::new(owner, engines, logs, options.clone(), Some(lock)));
    *core.keyspaces.write() = manifest.keyspaces.iter().map(|entry| handle(owner, entry)).collect();
    undecided.reinstate(&core, &known, &directory.join(names[0]))?;
    recovered.took = begun.elapsed();
    Ok(Opened { core, memory, disk, manifest, numbers: known.numbers(), recovered })
}

fn load_checkpoint(
    files: &dyn Files,
    path: &Path,
    database: u64,
    known: &Known,
    memory: &MemoryEngine,
    recovered: &mut Recovered,
) -> Result<Timestamp> {
    let fault = |fault| match fault {
        Fault::Error(error) => error,
        Fault::Damaged(what) => Error::Corruption {
            path: path.to_path_buf(),
            what: format!("{what}: restore the directory from a backup"),
        },
    };
    let input = files.open(path).map_err(|error| {
        if error.is_missing_file() {
            return fault(Fault::Damaged("the checkpoint that the manifest names is missing".into()));
        }
        error
    })?;
    let rows = AtomicU64::new(0);
    let (at, said) = on_threads(
        |block: &Vec<u8>| {
            let (mut restored, mut retired) = (0, memory.retired());
            for entry in checkpoint::entries(block) {
                let entry = entry?;
                match known.find(entry.keyspace, 0) {
                    Numbered::Open => {
                        let (key, value) = (Key::new(entry.key), Some(entry.value));
                        memory.restore(entry.keyspace, &key, value, entry.at, &mut retired)?;
                    }
                    Numbered::Dropped => {}
                    Numbered::Never => {
                        let number = entry.keyspace.0;
                        return Err(Fault::Damaged(format!(
                            "keyspace {number} of the checkpoint never existed"
                        )));
                    }
                }
                restored += 1;
            }
            rows.fetch_add(restored, Ordering::Relaxed);
            Ok(())
        },
        |hand| {
            checkpoint::read(input, database, |block| {
                recovered.checkpoint_bytes += block.len() as u64;
                hand(block)
            })
        },
    )
    .map_err(fault)?;
    let rows = rows.into_inner();
    if rows != said {
        return Err(fault(Fault::Damaged(format!("the checkpoint has {rows} rows and should have {said}"))));
    }
    recovered.checkpoint_rows = rows;
    Ok(at)
}

/// The keyspaces of the manifest, by number.
struct Known {
    /// For each number up to the last keyspace its engine; none if the keyspace was dropped.
    engines: Vec<Option<u8>>,
    /// The number of the next keyspace.
    next: u32,
    /// For each lower number: true if a row of a dropped keyspace has it.
    met: Vec<AtomicBool>,
    /// The marks of transactions that changed the catalog: true if a record of the log writes to it.
    marks: BTreeMap<KeyspaceId, AtomicBool>,
}

/// State of a keyspace's number, by the manifest.
enum Numbered {
    /// The keyspace exists.
    Open,
    /// The keyspace was dropped, or its making was interrupted. Its rows are skipped.
    Dropped,
    /// Nothing was ever written to a keyspace of this number in this engine.
    Never,
}

impl Known {
    fn new(manifest: &Manifest) -> Self {
        let mut engines = Vec::new();
        for entry in manifest.all_keyspaces() {
            let number = entry.id.0 as usize;
            engines.resize(engines.len().max(number + 1), None);
            engines[number] = Some(entry.engine.index() as u8);
        }
        let met = (0..manifest.next_keyspace.min(ROOM)).map(|_| AtomicBool::new(false)).collect();
        let marks = manifest.committing.iter().map(|change| (change.mark, AtomicBool::new(false))).collect();
        Self { engines, next: manifest.next_keyspace, met, marks }
    }

    /// Notes that a record of the log writes to a keyspace.
    fn note_written(&self, keyspace: KeyspaceId) {
        // Nearly always there is none.
        if let Some(written) = self.marks.get(&keyspace) {
            written.store(true, Ordering::Relaxed);
        }
    }

    /// Returns true if a record of the log writes to a mark.
    fn is_marked(&self, mark: KeyspaceId) -> bool {
        self.marks.get(&mark).is_some_and(|written| written.load(Ordering::Relaxed))
    }

    /// Returns the numbers for new keyspaces. Call it when all rows were found.
    fn numbers(&self) -> Numbers {
        let is_open = |number: usize| self.engines.get(number).is_some_and(Option::is_some);
        let met = self.met.iter().enumerate();
        Numbers::new(met.map(|(number, met)| is_open(number) || met.load(Ordering::Relaxed)).collect())
    }

    fn find(&self, keyspace: KeyspaceId, engine: u8) -> Numbered {
        match self.engines.get(keyspace.0 as usize).copied().flatten() {
            Some(of) if of == engine => Numbered::Open,
            None if (1..self.next).contains(&keyspace.0) => {
                if let Some(met) = self.met.get(keyspace.0 as usize) {
                    met.store(true, Ordering::Relaxed);
                }
                Numbered::Dropped
            }
            _ => Numbered::Never,
        }
    }

    /// Notes the numbers of the keyspaces that a prepared transaction used. Returns none if one never existed.
    fn meet(&self, prepared: &Prepared<'_>) -> Option<()> {
        let read = prepared.reads.places().map(|(engine, keyspace)| (keyspace, engine as u8));
        let written = prepared.writes.iter().map(|write| (write.keyspace, write.engine));
        let mut used = read.chain(written);
        used.all(|(keyspace, engine)| !matches!(self.find(keyspace, engine), Numbered::Never)).then_some(())
    }

    /// Returns a prepared transaction without what it did in dropped keyspaces, or none if it used one that never
    /// existed.
    fn found<'a>(&self, number: u64, bytes: u64, prepared: Prepared<'a>) -> Option<Found<'a>> {
        let is_open = |keyspace, engine| match self.find(keyspace, engine) {
            Numbered::Open => Some(true),
            Numbered::Dropped => Some(false),
            Numbered::Never => None,
        };
        let Prepared { name, at_us, mut reads, writes: all } = prepared;
        let mut writes: [Vec<Write>; MAX_ENGINES] = Default::default();
        for write in &all {
            if is_open(write.keyspace, write.engine)? {
                writes[usize::from(write.engine)].push(Write {
                    keyspace: write.keyspace,
                    key: Key::new(write.key),
                    value: write.value.map(Draft::from),
                    since: Timestamp::ZERO,
                    handle: Handle::None,
                });
            }
        }
        for (engine, keyspace) in reads.places().collect::<BTreeSet<_>>() {
            if !is_open(keyspace, engine as u8)? {
                reads.forget(engine, keyspace);
            }
        }
        Some(Found { number, name, at_us, bytes, reads, writes })
    }
}

/// Replays the logs. Returns the positions at which appending continues.
fn replay(
    files: &dyn Files,
    directory: &Path,
    manifest: &Manifest,
    known: &Known,
    (memory, disk): (&MemoryEngine, &DiskEngine),
    last: &mut [Timestamp; MAX_ENGINES],
    recovered: &mut Recovered,
) -> Result<(Vec<Lsn>, Undecided)> {
    let names = log_names(manifest.log);
    let mut undecided = Undecided::default();
    let cut = match manifest.log {
        LogMode::Shared => vec![Lsn(u64::MAX)],
        LogMode::PerEngine => agree(files, directory, manifest, &mut undecided)?,
    };
    let mut ends = Vec::with_capacity(names.len());
    for (index, name) in names.iter().enumerate() {
        let corrupt = |at: Lsn| Error::Corruption {
            path: directory.join(name),
            what: format!(
                "the record at log position {} is not a commit of this log: restore the directory from a backup",
                at.0
            ),
        };
        let mut rows = Rows::default();
        let mut replay = |hand: &mut dyn FnMut(&mut Rows) -> Result<()>| {
            read_log(files, directory, manifest, index, &mut |start, end, payload| {
                if end > cut[index] {
                    recovered.cut_records += 1;
                    return Ok(());
                }
                recovered.records += 1;
                recovered.log_bytes += end.0 - start.0;
                let record = Record::decode(payload).ok_or_else(|| corrupt(start))?;
                if undecided.note(index, known, &record, payload).ok_or_else(|| corrupt(start))? {
                    return Ok(());
                }
                for stamp in &record.stamps {
                    let last = last.get_mut(usize::from(stamp.engine)).ok_or_else(|| corrupt(start))?;
                    *last = (*last).max(stamp.at);
                }
                record
                    .replay(|write| {
                        // Another engine's log in the place of this one has good records too.
                        if manifest.log == LogMode::PerEngine && usize::from(write.engine) != index {
                            return Err(corrupt(start));
                        }
                        known.note_written(write.keyspace);
                        match known.find(write.keyspace, write.engine) {
                            Numbered::Open => {}
                            Numbered::Dropped => return Ok(()),
                            Numbered::Never => return Err(corrupt(start)),
                        }
                        match write.engine {
                            0 => rows.push(&write),
                            1 => disk.restore(write.keyspace, &Key::new(write.key), write.value, write.at)?,
                            _ => return Err(corrupt(start)),
                        }
                        Ok(())
                    })
                    .ok_or_else(|| corrupt(start))??;
                if rows.are_a_chunk() {
                    hand(&mut rows)?;
                    rows.clear();
                }
                Ok(())
            })
        };
        let end = on_threads(|rows: &Rows| rows.restore(memory), &mut replay)?;
        rows.restore(memory)?;
        // The log goes on exactly at the cut, even if no record ends there: a record of the other log may need this
        // position.
        let end = end.min(cut[index]);
        check_closed(directory, manifest, index, end)?;
        reader::truncate(files, directory, name, end)?;
        ends.push(end);
    }
    Ok((ends, undecided))
}

/// The prepared transactions of the log that no record decides.
#[derive(Default)]
struct Undecided {
    /// Their records, by their numbers.
    records: BTreeMap<u64, Vec<u8>>,
    /// Numbers of transactions that are decided somewhere in the logs, so their records need no memory. Only with a log
    /// for each engine: in a shared log the decision follows soon.
    decided: HashSet<u64>,
    /// The largest number found.
    last: u64,
}

impl Undecided {
    /// Notes a record of a log. Returns true if it has nothing to replay, and none if it does not belong in this log.
    fn note(&mut self, log: usize, known: &Known, record: &Record<'_>, payload: &[u8]) -> Option<bool> {
        let number = match record.kind {
            Kind::Commit => return Some(false),
            Kind::Prepared(number) | Kind::RollBackPrepared(number) | Kind::CommitPrepared(number) => number,
        };
        self.last = self.last.max(number);
        if let Kind::Prepared(_) = record.kind {
            // Also of a decided one: a power cut may still take the decision, and leave this record.
            known.meet(&Prepared::decode(record)?)?;
        }
        match record.kind {
            // A checkpoint writes the record again.
            Kind::Prepared(_) if !self.decided.contains(&number) => {
                self.records.insert(number, payload.to_vec());
            }
            Kind::Prepared(_) => {}
            _ => {
                self.records.remove(&number);
            }
        }
        let is_commit = matches!(record.kind, Kind::CommitPrepared(_));
        // Records without writes in the order of an engine are in the first log.
        (is_commit || log == 0).then_some(!is_commit)
    }

    /// Reinstates all of them. `log` is the path of the log that has their records.
    fn reinstate(&self, core: &Coordinator, known: &Known, log: &Path) -> Result<()> {
        core.prepared.recover(self.last);
        for (number, record) in &self.records {
            let corrupt = |why: &str| Error::Corruption {
                path: log.to_path_buf(),
                what: format!("prepared transaction {number} {why}: restore the directory from a backup"),
            };
            let prepared = Record::decode(record).and_then(|record| Prepared::decode(&record));
            let prepared = prepared.ok_or_else(|| corrupt("has a record that is not one"))?;
            let found = known.found(*number, record.len() as u64, prepared);
            let found = found.ok_or_else(|| corrupt("uses a keyspace that never existed"))?;
            core.reinstate(found).map_err(|error| match error {
                Error::Conflict { .. } | Error::TooOld(_) => {
                    corrupt(&format!("can't be reinstated ({error})"))
                }
                error => error,
            })?;
        }
        Ok(())
    }
}

/// Reads the records of a log from the position where recovery begins. Returns the end of the intact part.
fn read_log(
    files: &dyn Files,
    directory: &Path,
    manifest: &Manifest,
    index: usize,
    each: &mut reader::Each<'_>,
) -> Result<Lsn> {
    let name = log_names(manifest.log)[index];
    reader::read(files, directory, name, manifest.owner_of_log(index), manifest.log_from(index), each)
}

/// Returns an error if a log of a closed database does not end where it ended when the database was closed.
fn check_closed(directory: &Path, manifest: &Manifest, index: usize, end: Lsn) -> Result<()> {
    let Some(&closed) = manifest.closed.as_ref().and_then(|closed| closed.get(index)) else { return Ok(()) };
    let why = match end.0.cmp(&closed) {
        std::cmp::Ordering::Equal => return Ok(()),
        std::cmp::Ordering::Less => "its end was damaged or cut off, or it was restored from an earlier copy",
        std::cmp::Ordering::Greater => "the manifest was restored from an earlier copy",
    };
    let name = log_names(manifest.log).get(index).copied().unwrap_or_default();
    Err(Error::Corruption {
        path: directory.join(name),
        what: format!(
            "the log ends at {end}, but the database was closed at {closed}: {why}; restore the directory from a backup"
        ),
    })
}

/// Reads both engines' logs. Returns the ends of the longest prefixes whose records need nothing behind them. Notes
/// which prepared transactions are decided before these ends.
fn agree(
    files: &dyn Files,
    directory: &Path,
    manifest: &Manifest,
    undecided: &mut Undecided,
) -> Result<Vec<Lsn>> {
    let mut decisions = Vec::new();
    let mut parts = [Part::default(), Part::default()];
    for (index, part) in parts.iter_mut().enumerate() {
        let end = read_log(files, directory, manifest, index, &mut |start, end, payload| {
            if let Some(record) = Record::decode(payload) {
                part.note(start, end, &record);
                if let Kind::CommitPrepared(number) | Kind::RollBackPrepared(number) = record.kind {
                    decisions.push((index, end, number));
                }
            }
            Ok(())
        })?;
        check_closed(directory, manifest, index, end)?;
        part.end = end;
    }
    let ends = agree::agree(&parts).to_vec();
    let kept = decisions.into_iter().filter(|(log, end, _)| *end <= ends[*log]);
    undecided.decided = kept.map(|(.., number)| number).collect();
    Ok(ends)
}
