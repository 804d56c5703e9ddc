//! A database: opening, tables, transactions, checkpoints, state.

use crate::active::{Count, RunningTransaction};
use crate::checkpoint;
use crate::coordinator::Coordinator;
use crate::csr::CsrState;
use crate::disk::{DiskEngine, DiskState};
use crate::engine::{Direction, Engine as _, KeyspaceId};
use crate::error::{Error, Result};
use crate::files::{Files, RealFiles, fail_point};
use crate::key::{Key, KeyRange};
use crate::keyspace::{Engine, Keyspace};
use crate::log::Lsn;
use crate::manifest::{Checkpoint, KeyspaceEntry, Manifest, TableEntry};
use crate::memory::{MemoryEngine, MemoryState};
use crate::options::{Isolation, LogMode, Options};
use crate::oracle::Recorder;
use crate::recovery::{self, Recovered};
use crate::row::{Layout, Schema, Table};
use crate::transaction::Transaction;
use parking_lot::{Condvar, Mutex};
use std::fs;
use std::mem::ManuallyDrop;
use std::ops::{Bound, ControlFlow, Deref};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often the housekeeper looks whether a checkpoint is due.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How the names of checkpoints begin.
const CHECKPOINT_PREFIX: &str = "checkpoint-";
/// Rows that a checkpoint reads at a time.
const CHECKPOINT_PIECE: usize = 1000;
/// How long it leaves a checkpoint alone that failed.
const RETRY_CHECKPOINT: Duration = Duration::from_secs(10);

/// An open database. Cheap to clone; closed when the last clone is dropped, or by [`Database::close`].
///
/// Closing makes every commit durable, whatever the durability option, and waits for a checkpoint that is being written. It
/// is done when the call returns: the directory can be opened again. Only when the last clone is dropped by a ticket's
/// callback it closes in the background, because the callback runs on the log's own thread.
///
/// ```
/// # fn main() -> gemel::Result<()> {
/// use gemel::{Database, Engine, Isolation, Options};
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("db");
/// let db = Database::open(&path, Options::default())?;
/// let hot = db.keyspace("hot", Engine::Memory)?;
/// let cold = db.keyspace("cold", Engine::Disk)?;
/// let mut transaction = db.begin(Isolation::Snapshot)?;
/// transaction.put(&hot, b"counter", b"1")?;
/// transaction.put(&cold, b"history/1", b"counted")?;
/// transaction.commit()?.wait()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Database {
    inner: Arc<Handle>,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").field("path", &self.inner.path).finish_non_exhaustive()
    }
}

/// The state that clones share. The housekeeper shares [`Inner`] with it, so this is dropped with the last clone, whatever the
/// housekeeper is doing.
struct Handle {
    inner: ManuallyDrop<Arc<Inner>>,
    closing: Arc<Closing>,
    housekeeper: Option<JoinHandle<()>>,
}

/// Tells the housekeeper that the last clone is gone. It is not part of [`Inner`], which the housekeeper drops afterwards.
#[derive(Default)]
struct Closing {
    begun: Mutex<bool>,
    wake: Condvar,
}

impl Closing {
    fn begin(&self) {
        *self.begun.lock() = true;
        self.wake.notify_all();
    }

    /// Waits at most so long. Returns true if it has begun.
    fn wait_for(&self, time: Duration) -> bool {
        let mut begun = self.begun.lock();
        if !*begun {
            self.wake.wait_for(&mut begun, time);
        }
        *begun
    }
}

impl Deref for Handle {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.inner
    }
}

struct Inner {
    path: PathBuf,
    files: Arc<dyn Files>,
    core: Arc<Coordinator>,
    memory: Arc<MemoryEngine>,
    disk: Arc<DiskEngine>,
    manifest: Mutex<Manifest>,
    recovered: Recovered,
    /// One checkpoint at a time.
    checkpointing: Mutex<()>,
    checkpoints: Mutex<CheckpointState>,
    /// Log bytes ever appended, as of the last checkpoint.
    log_at_checkpoint: AtomicU64,
    /// The directory, locked as long as the database is open: the lock ends with the process, however that ends.
    lock: fs::File,
}

/// Checkpoints of the memory engine.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CheckpointState {
    /// Checkpoints since the database was opened.
    pub done: u64,
    /// Bytes of the last one.
    pub bytes: u64,
    /// How long the last one took.
    pub took: Duration,
    /// Why the last attempt failed, if it did. The log keeps growing until one succeeds.
    pub failure: Option<String>,
}

/// What a database is doing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct State {
    /// Transactions that committed, by what they wrote.
    pub committed: Committed,
    /// Transactions that were rolled back by their owner.
    pub rolled_back: u64,
    /// Transactions that were refused.
    pub aborted: Aborted,
    /// Transactions that are running, oldest first. The oldest ones hold old versions.
    pub running: Vec<RunningTransaction>,
    /// The registry of the disk engine.
    pub csr: CsrState,
    /// The memory engine.
    pub memory: MemoryState,
    /// The disk engine.
    pub disk: DiskState,
    /// Bytes of log files.
    pub log_bytes: u64,
    /// Bytes of log that are not durable yet.
    pub durable_lag_bytes: u64,
    /// Checkpoints of the memory engine.
    pub checkpoints: CheckpointState,
    /// What opening found.
    pub recovered: Recovered,
}

/// Committed transactions by what they wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Committed {
    /// Nothing.
    pub read_only: u64,
    /// Tables in memory.
    pub memory: u64,
    /// Tables on disk.
    pub disk: u64,
    /// Both.
    pub cross: u64,
}

/// Refused transactions by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Aborted {
    /// Another transaction had committed the same key.
    pub write_conflict: u64,
    /// Another transaction was just committing the same key.
    pub locked: u64,
    /// Something that was read had changed (serializable).
    pub read_conflict: u64,
    /// By the registry of snapshots.
    pub csr: u64,
    /// Memory limit, I/O.
    pub failed: u64,
}

fn io(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_path_buf();
    move |source| Error::Io { what, path, source }
}

impl Database {
    /// Opens the database in a directory, or makes one when the directory is missing or empty. After a crash this
    /// brings back every transaction whose commit was acknowledged, and none in part.
    ///
    /// # Errors
    /// The directory is in use by another process, holds something else, can't be read or written, was written
    /// by a newer version or with another log mode, or is damaged.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        Self::open_with(Arc::new(RealFiles), path.as_ref(), options)
    }

    /// What is in the directory of a database beside the files that Gemel makes, by name: it is nobody's business here, but
    /// would be lost with the directory.
    ///
    /// # Errors
    /// The directory can't be read.
    pub fn foreign_entries(path: impl AsRef<Path>) -> Result<Vec<String>> {
        let path = path.as_ref();
        let mut foreign = Vec::new();
        for entry in fs::read_dir(path).map_err(io("can't read the directory", path))? {
            let name = entry.map_err(io("can't read the directory", path))?.file_name();
            let name = name.to_string_lossy();
            if !is_own(&name) {
                foreign.push(name.into_owned());
            }
        }
        foreign.sort_unstable();
        Ok(foreign)
    }

    /// Returns true if a directory holds a database, or something in its place that [`Database::open`] rejects. Returns
    /// false if opening it would make a new database.
    ///
    /// # Errors
    /// The directory can't be read.
    pub fn is_in(path: impl AsRef<Path>) -> Result<bool> {
        let path = path.as_ref();
        match fs::metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(io("can't open", path)(error)),
            Ok(found) if !found.is_dir() => Ok(true),
            Ok(_) => Ok(Manifest::path(path).exists() || check_fresh(path).is_err()),
        }
    }

    /// Opens a database that is there already, with the log mode that it was made with, whatever
    /// [`Options::log`] says. For tools that are handed a path. Makes nothing when there is no database.
    ///
    /// # Errors
    /// As [`Database::open`], and [`Error::Usage`] when there is no database.
    pub fn open_existing(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        let path = absolute(path.as_ref())?;
        if !(path.try_exists().map_err(io("can't open", &path))? && path.is_dir()) {
            return Err(no_database(&path));
        }
        let begun = Instant::now();
        let (files, lock) = (Arc::new(RealFiles), lock(&path)?);
        let manifest = Manifest::read(&*files, &path)?.ok_or_else(|| no_database(&path))?;
        let options = Options { log: manifest.log, ..options };
        options.check()?;
        Self::start(files, path, lock, manifest, options, begun)
    }

    /// As [`Database::open`], with the given way to files.
    pub(crate) fn open_with(files: Arc<dyn Files>, path: &Path, options: Options) -> Result<Self> {
        options.check()?;
        let begun = Instant::now();
        let path = absolute(path)?;
        match fs::metadata(&path) {
            Ok(found) if !found.is_dir() => {
                return Err(Error::Usage(format!(
                    "{} is not a directory: name another path",
                    path.display()
                )));
            }
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                files.create_dir(&path)?;
            }
            Err(error) => return Err(io("can't open", &path)(error)),
        }
        fail_point("open.before_lock");
        let lock = lock(&path)?;
        // Under the lock only: until then another process may be making or changing the database.
        let manifest = match Manifest::read(&*files, &path)? {
            Some(manifest) => manifest,
            None => {
                check_fresh(&path)?;
                let manifest = Manifest::new(options.log);
                manifest.write(&*files, &path)?;
                manifest
            }
        };
        if manifest.log != options.log {
            return Err(Error::Usage(format!(
                "{}: the database was made with {} and can't be opened with {}: it stays with what it was made with",
                path.display(),
                manifest.log.words(),
                options.log.words()
            )));
        }
        Self::start(files, path, lock, manifest, options, begun)
    }

    /// Recovers a database that this process has locked, and starts its threads.
    fn start(
        files: Arc<dyn Files>,
        path: PathBuf,
        lock: fs::File,
        manifest: Manifest,
        options: Options,
        begun: Instant,
    ) -> Result<Self> {
        remove_strays(&*files, &path, &manifest)?;
        let opened = recovery::recover(Arc::clone(&files), &path, manifest, &options, begun)?;
        let core = opened.core;
        let inner = Arc::new(Inner {
            log_at_checkpoint: AtomicU64::new(opened.manifest.log_from.iter().sum()),
            path,
            files,
            core,
            memory: opened.memory,
            disk: opened.disk,
            manifest: Mutex::new(opened.manifest),
            recovered: opened.recovered,
            checkpointing: Mutex::new(()),
            checkpoints: Mutex::default(),
            lock,
        });
        let closing = Arc::new(Closing::default());
        let housekeeper = std::thread::Builder::new()
            .name("gemel-housekeeper".into())
            .spawn({
                let (inner, closing) = (Arc::clone(&inner), Arc::clone(&closing));
                move || {
                    // After a panic too it holds `inner` until the last clone is gone: a log's thread leaves closing to it.
                    let house = std::panic::catch_unwind(AssertUnwindSafe(|| keep_house(&inner, &closing)));
                    while house.is_err() && !closing.wait_for(LOOK_EVERY) {}
                }
            })
            .map_err(io("can't start a thread for", &inner.path))?;
        let inner = ManuallyDrop::new(inner);
        Ok(Self { inner: Arc::new(Handle { inner, closing, housekeeper: Some(housekeeper) }) })
    }

    #[cfg(test)]
    fn housekeeper(&self) -> std::thread::ThreadId {
        self.inner.housekeeper.as_ref().unwrap().thread().id()
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// The keyspace of this name; made when there is none.
    ///
    /// # Errors
    /// It is there already in the other engine or as part of a table, or the manifest can't be written.
    pub fn keyspace(&self, name: &str, engine: Engine) -> Result<Keyspace> {
        let mut manifest = self.inner.manifest.lock();
        if let Some(entry) = manifest.keyspaces.iter().find(|entry| entry.name == name) {
            if let Some(table) = manifest.tables.iter().find(|table| table.keyspaces.contains(&entry.id)) {
                return Err(Error::Usage(format!(
                    "keyspace {name:?} is part of table {:?}: use the table, which keeps rows and indexes in step",
                    table.name
                )));
            }
            if entry.engine != engine {
                return Err(Error::Usage(format!(
                    "keyspace {name:?} is there already, in the {} engine and not in the {} engine",
                    entry.engine.name(),
                    engine.name()
                )));
            }
            return Ok(self.handle(entry));
        }
        let mut next = manifest.clone();
        let entry = self.add_keyspace(&mut next, name, engine)?;
        next.write(&*self.inner.files, &self.inner.path)?;
        *manifest = next;
        Ok(self.register(&entry))
    }

    /// What the database consists of, at this moment.
    pub(crate) fn catalog(&self) -> Manifest {
        self.inner.manifest.lock().clone()
    }

    pub(crate) fn handle(&self, entry: &KeyspaceEntry) -> Keyspace {
        recovery::handle(self.inner.core.database, entry)
    }

    fn add_keyspace(&self, manifest: &mut Manifest, name: &str, engine: Engine) -> Result<KeyspaceEntry> {
        if name.is_empty() || name.len() > 200 {
            return Err(Error::Usage(format!("{name:?} is no name: write 1 to 200 bytes")));
        }
        let last = manifest.keyspaces.iter().map(|entry| entry.id.0).max().unwrap_or(0);
        let entry = KeyspaceEntry { id: KeyspaceId(last + 1), name: name.to_string(), engine };
        self.inner.core.engines[engine.index()].open_keyspace(entry.id)?;
        manifest.keyspaces.push(entry.clone());
        Ok(entry)
    }

    fn register(&self, entry: &KeyspaceEntry) -> Keyspace {
        let keyspace = self.handle(entry);
        self.inner.core.keyspaces.write().push(keyspace.clone());
        keyspace
    }

    /// The table of this name; made when there is none.
    ///
    /// # Errors
    /// It is there already with another schema or in the other engine, the schema makes no sense, or the manifest
    /// can't be written.
    pub fn create_table(&self, name: &str, engine: Engine, schema: Schema) -> Result<Table> {
        // All that is wrong with a schema, before anything is made.
        Layout::new(name, &schema)?;
        let mut manifest = self.inner.manifest.lock();
        if let Some(entry) = manifest.tables.iter().find(|entry| entry.name == name) {
            if entry.engine != engine {
                return Err(Error::Usage(format!(
                    "table {name:?} is there already, in the {} engine and not in the {} engine",
                    entry.engine.name(),
                    engine.name()
                )));
            }
            if entry.schema != schema {
                return Err(Error::Usage(format!("table {name:?} is there already, with another schema")));
            }
            return self.table_of(&manifest, entry);
        }
        if manifest.keyspaces.iter().any(|entry| entry.name == name) {
            return Err(Error::Usage(format!("{name:?} is a keyspace already: name the table otherwise")));
        }
        let mut next = manifest.clone();
        let mut added = vec![self.add_keyspace(&mut next, name, engine)?];
        for index in &schema.indexes {
            added.push(self.add_keyspace(&mut next, &format!("{name}.{}", index.name), engine)?);
        }
        let entry = TableEntry {
            name: name.to_string(),
            engine,
            schema,
            keyspaces: added.iter().map(|entry| entry.id).collect(),
        };
        next.tables.push(entry.clone());
        next.write(&*self.inner.files, &self.inner.path)?;
        *manifest = next;
        for entry in &added {
            self.register(entry);
        }
        self.table_of(&manifest, &entry)
    }

    /// The table of this name.
    ///
    /// # Errors
    /// There is none.
    pub fn table(&self, name: &str) -> Result<Table> {
        let manifest = self.inner.manifest.lock();
        match manifest.tables.iter().find(|entry| entry.name == name) {
            Some(entry) => self.table_of(&manifest, entry),
            None => Err(Error::Usage(format!("there is no table {name:?}"))),
        }
    }

    fn table_of(&self, manifest: &Manifest, entry: &TableEntry) -> Result<Table> {
        let mut keyspaces = Vec::with_capacity(entry.keyspaces.len());
        for id in &entry.keyspaces {
            let keyspace =
                manifest.keyspaces.iter().find(|keyspace| keyspace.id == *id).ok_or_else(|| {
                    Error::Corruption {
                        path: Manifest::path(&self.inner.path),
                        what: format!(
                            "table {:?} has a keyspace that is missing: restore the file from a backup",
                            entry.name
                        ),
                    }
                })?;
            keyspaces.push(self.handle(keyspace));
        }
        let rows = if keyspaces.is_empty() { None } else { Some(keyspaces.remove(0)) };
        let rows = rows.ok_or_else(|| Error::Corruption {
            path: Manifest::path(&self.inner.path),
            what: format!("table {:?} has no keyspace: restore the file from a backup", entry.name),
        })?;
        Table::new(&entry.name, entry.schema.clone(), rows, keyspaces)
    }

    /// Names of all tables, and the engines in which they live.
    #[must_use]
    pub fn tables(&self) -> Vec<(String, Engine)> {
        self.inner.manifest.lock().tables.iter().map(|entry| (entry.name.clone(), entry.engine)).collect()
    }

    /// Names of all keyspaces, those of tables and indexes included, and the engines in which they live.
    #[must_use]
    pub fn keyspaces(&self) -> Vec<(String, Engine)> {
        self.inner.manifest.lock().keyspaces.iter().map(|entry| (entry.name.clone(), entry.engine)).collect()
    }

    /// Begins a transaction.
    ///
    /// # Errors
    /// 65 536 transactions are running already.
    pub fn begin(&self, isolation: Isolation) -> Result<Transaction> {
        Transaction::begin(Arc::clone(&self.inner.core), isolation)
    }

    /// Makes everything durable that is committed now, whatever the durability option.
    ///
    /// # Errors
    /// The log can't be written.
    pub fn sync(&self) -> Result<()> {
        self.inner.core.logs.sync()
    }

    /// Writes a checkpoint of the memory engine and the disk engine's buffers, and drops the log before it. Happens by itself
    /// after [`Options::checkpoint_log_bytes`]. Transactions go on meanwhile.
    ///
    /// # Errors
    /// A file can't be written. A checkpoint of the memory engine that fails costs nothing but a longer log; when the disk
    /// engine's files can't be written, its tables take no more writes until the database is opened again.
    pub fn checkpoint(&self) -> Result<()> {
        self.inner.checkpoint()
    }

    /// What it is doing.
    #[must_use]
    pub fn state(&self) -> State {
        let core = &self.inner.core;
        let count = |count| core.active.count(count);
        State {
            committed: Committed {
                read_only: count(Count::ReadOnly),
                memory: count(Count::MemoryOnly),
                disk: count(Count::DiskOnly),
                cross: count(Count::Cross),
            },
            rolled_back: count(Count::RolledBack),
            aborted: Aborted {
                write_conflict: count(Count::ConflictWrite),
                locked: count(Count::ConflictLocked),
                read_conflict: count(Count::ConflictRead),
                csr: count(Count::Csr),
                failed: count(Count::Failed),
            },
            running: core.active.running(),
            csr: core.registries[0].state(),
            memory: self.inner.memory.state(),
            disk: self.inner.disk.state(),
            log_bytes: core.logs.bytes(),
            durable_lag_bytes: core.logs.lag(),
            checkpoints: self.inner.checkpoints.lock().clone(),
            recovered: self.inner.recovered.clone(),
        }
    }

    /// Records what every transaction from now on sees and does; for tests. False when a recorder was set before.
    #[doc(hidden)]
    pub fn record_into(&self, recorder: Arc<Recorder>) -> bool {
        self.inner.core.record_into(recorder)
    }

    /// Makes everything durable and closes, when this is the last clone; else only makes everything durable.
    ///
    /// # Errors
    /// The log can't be written. The database is closed all the same.
    pub fn close(self) -> Result<()> {
        self.sync()
    }
}

impl Inner {
    fn checkpoint(&self) -> Result<()> {
        let _one = self.checkpointing.lock();
        let begun = Instant::now();
        let outcome = self.write_checkpoint();
        let mut state = self.checkpoints.lock();
        match outcome {
            Ok(bytes) => {
                *state =
                    CheckpointState { done: state.done + 1, bytes, took: begun.elapsed(), failure: None };
                Ok(())
            }
            Err(error) => {
                state.failure = Some(error.to_string());
                Err(error)
            }
        }
    }

    fn write_checkpoint(&self) -> Result<u64> {
        // Every commit that is in the log before these positions has drawn its timestamps; once they are all published, a
        // snapshot has it. The positions are taken together, so no commit has one half before them and one behind.
        let from = self.core.logs.ends();
        self.disk.flush_all()?;
        let clock = self.memory.clock();
        clock.wait_for(clock.drawn());
        let seat = self.core.active.begin(Isolation::Snapshot)?;
        let at = self.core.refresh(seat);
        let written = self.write_rows(at);
        self.core.active.end(seat, Count::ReadOnly);
        let (file, bytes) = written?;
        // What the checkpoint holds must not be newer than what the log can still bring back to the other engine.
        self.core.logs.sync()?;
        let old = {
            let mut manifest = self.manifest.lock();
            let mut next = manifest.clone();
            let old = next.checkpoint.replace(Checkpoint { file: file.clone(), at: at.0 });
            next.log_from = from.iter().map(|lsn| lsn.0).collect();
            next.clocks = self.core.engines.iter().map(|engine| engine.clock().drawn().0).collect();
            fail_point("checkpoint.before_manifest");
            if let Err(error) = next.write(&*self.files, &self.path) {
                // Else each attempt would leave one behind. When nobody can tell which one counts, both stay.
                if let Ok(Some(counts)) = Manifest::read(&*self.files, &self.path)
                    && counts.checkpoint.is_none_or(|counts| counts.file != file)
                {
                    let _ = self.files.remove(&self.path.join(&file));
                }
                return Err(error);
            }
            fail_point("checkpoint.after_manifest");
            *manifest = next;
            old
        };
        self.log_at_checkpoint.store(from.iter().map(|lsn| lsn.0).sum(), Ordering::Relaxed);
        self.core.logs.drop_before(&from)?;
        if let Some(old) = old.filter(|old| old.file != file) {
            let path = self.path.join(old.file);
            self.files.remove(&path)?;
        }
        Ok(bytes)
    }

    fn write_rows(&self, at: crate::Timestamp) -> Result<(String, u64)> {
        let name = format!("{CHECKPOINT_PREFIX}{:016x}.gmc", at.0);
        let temporary = self.path.join(format!("{name}.new"));
        // A leftover of an attempt at the same snapshot.
        let _ = self.files.remove(&temporary);
        let written = self.write_rows_to(&temporary, at);
        if written.is_err() {
            // On a full disk it would keep the disk full. That it can't be removed is no news then.
            let _ = self.files.remove(&temporary);
        }
        let bytes = written?;
        fail_point("checkpoint.before_rename");
        self.files.rename(&temporary, &self.path.join(&name))?;
        self.files.sync_dir(&self.path)?;
        Ok((name, bytes))
    }

    fn write_rows_to(&self, temporary: &Path, at: crate::Timestamp) -> Result<u64> {
        let mut writer = checkpoint::Writer::new(self.files.create(temporary)?, self.core.database, at)?;
        let keyspaces: Vec<KeyspaceId> = self
            .manifest
            .lock()
            .keyspaces
            .iter()
            .filter(|entry| entry.engine == Engine::Memory)
            .map(|entry| entry.id)
            .collect();
        for keyspace in keyspaces {
            // In pieces, so that no part of an index is held on to for long.
            let mut lower = Bound::Unbounded;
            loop {
                let range = KeyRange { lower, upper: Bound::Unbounded };
                let (mut rows, mut last, mut outcome) = (0, None, Ok(()));
                self.memory.scan(keyspace, &range, Direction::Forward, at, &mut |key, value, written| {
                    outcome = writer.entry(keyspace, key, value, written);
                    rows += 1;
                    if outcome.is_err() || rows == CHECKPOINT_PIECE {
                        last = Some(Key::new(key));
                        return ControlFlow::Break(());
                    }
                    ControlFlow::Continue(())
                })?;
                outcome?;
                match last {
                    Some(key) => lower = Bound::Excluded(key),
                    None => break,
                }
            }
        }
        fail_point("checkpoint.before_sync");
        writer.finish()
    }

    fn checkpoint_is_due(&self) -> bool {
        let end: u64 = self.core.logs.ends().iter().map(|lsn: &Lsn| lsn.0).sum();
        end - self.log_at_checkpoint.load(Ordering::Relaxed) >= self.core.options.checkpoint_log_bytes
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let of_a_log = self.inner.core.logs.is_thread_of_one();
        let release = |handle: &mut Self| {
            // SAFETY: each of the two ways below releases it once, and nothing uses it afterwards.
            unsafe { ManuallyDrop::drop(&mut handle.inner) };
        };
        if of_a_log {
            // A ticket's callback, on a log's thread, can't close that log. The housekeeper holds `inner` until it is told, so it
            // is the one that closes.
            release(self);
            self.closing.begin();
            return;
        }
        self.closing.begin();
        if let Some(housekeeper) = self.housekeeper.take() {
            // It ends without a panic, and there would be nothing left to do for it.
            let _ = housekeeper.join();
        }
        release(self);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Nobody is left to be told; what was acknowledged as durable is durable already.
        let _ = self.core.logs.close();
        self.disk.close();
        // Not only by closing the file: a process that another thread is just starting may hold a copy of it.
        let _ = self.lock.unlock();
    }
}

/// Writes checkpoints when they are due, and collects garbage where no commit does.
fn keep_house(inner: &Inner, closing: &Closing) {
    let mut not_before = Instant::now();
    while !closing.wait_for(LOOK_EVERY) {
        inner.core.collect_now();
        if inner.checkpoint_is_due() && Instant::now() >= not_before && inner.checkpoint().is_err() {
            // The failure stands in the state; the log goes on growing meanwhile.
            not_before = Instant::now() + RETRY_CHECKPOINT;
        }
    }
}

/// Checkpoints that the manifest does not name: a crash left them before they counted, or after they did.
fn remove_strays(files: &dyn Files, path: &Path, manifest: &Manifest) -> Result<()> {
    let kept = manifest.checkpoint.as_ref().map(|checkpoint| checkpoint.file.as_str());
    for name in files.list(path)? {
        if name.starts_with(CHECKPOINT_PREFIX) && Some(name.as_str()) != kept {
            files.remove(&path.join(name))?;
        }
    }
    Ok(())
}

/// A directory without a manifest may be used only when there is nothing else in it.
fn check_fresh(path: &Path) -> Result<()> {
    let entries = fs::read_dir(path).map_err(io("can't read the directory", path))?;
    for entry in entries {
        let name = entry.map_err(io("can't read the directory", path))?.file_name();
        // What an interrupted first opening may have left.
        if name != crate::manifest::TEMPORARY {
            return Err(Error::Usage(format!(
                "{} holds {} and is not a Gemel database: name an empty directory or another path",
                path.display(),
                name.display()
            )));
        }
    }
    Ok(())
}

/// Whether Gemel makes entries of this name in the directory of a database.
fn is_own(name: &str) -> bool {
    let is_log = |log: &&str| name.strip_prefix(log).is_some_and(|rest| rest.starts_with('-'));
    let logs = [LogMode::Shared, LogMode::PerEngine].into_iter().flat_map(recovery::log_names);
    [crate::manifest::FILE, crate::manifest::TEMPORARY, recovery::DISK_DIRECTORY].contains(&name)
        || name.starts_with(CHECKPOINT_PREFIX) && name.ends_with(".gmc")
        || name.ends_with(".log") && logs.copied().any(|log| is_log(&log))
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(io("can't find", path))
}

fn no_database(path: &Path) -> Error {
    Error::Usage(format!(
        "there is no Gemel database in {}: name the directory that was opened",
        path.display()
    ))
}

/// Locks the directory itself: a file in it could be deleted, and another process would lock a new one.
fn lock(path: &Path) -> Result<fs::File> {
    let directory = fs::File::open(path).map_err(io("can't open", path))?;
    match directory.try_lock() {
        Ok(()) => Ok(directory),
        Err(fs::TryLockError::WouldBlock) => Err(Error::Usage(format!(
            "{} is open already, here or in another process: close it there first",
            path.display()
        ))),
        Err(fs::TryLockError::Error(error)) => Err(io("can't lock", path)(error)),
    }
}

#[cfg(test)]
mod tests;
