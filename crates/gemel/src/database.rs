//! A database: opening, tables, transactions, checkpoints, state.

mod add_index;
mod alter;
mod catalog;
mod changes;
mod checkpoints;
mod current;
mod ddl;
mod moves;
mod prepared;
mod retired;
mod sizes;
mod state;
mod statistics;

use crate::backup;
use crate::coordinator::Coordinator;
use crate::directory::{absolute, check_for_remains, check_fresh, is_data, no_database};
use crate::disk::DiskEngine;
use crate::error::{Error, Result, io};
use crate::files::{Files, RealFiles, fail_point};
use crate::keyspaces::Numbers;
use crate::lock::Lock;
use crate::log::may_wait;
use crate::log::segments::remove_spares;
use crate::mailbox;
use crate::manifest::Manifest;
use crate::memory::MemoryEngine;
use crate::options::{Isolation, Options};
use crate::oracle::Recorder;
use crate::order::active::Count;
use crate::recovery::{self, Recovered};
use crate::transaction::Transaction;
use checkpoints::remove_strays;
use current::Current;
use parking_lot::{Condvar, Mutex};
use retired::RetiredKeyspaces;
pub use sizes::{Compacted, PartSize};
pub use state::{Aborted, CheckpointState, Committed, MoveState, RunningMove, State};
use std::fs;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread::{JoinHandle, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// Interval at which garbage is collected, and at which the housekeeper checks if a checkpoint is due.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Rows that a checkpoint reads in one scan. Few for tests, whose tables are small.
const CHECKPOINT_PIECE: usize = if cfg!(test) {
    3
} else if cfg!(feature = "fail-points") {
    16
} else {
    1000
};
/// Time between a failed checkpoint and the next attempt.
const RETRY_CHECKPOINT: Duration = Duration::from_millis(if cfg!(test) { 100 } else { 10_000 });
/// The failure of a checkpoint after one of these threads panicked.
const HOUSEKEEPER_PANICKED: &str =
    "the thread that writes checkpoints or the one that collects garbage panicked";

/// An open database. Cheap to clone; closed when the last clone is dropped, or by [`Database::close`].
///
/// Closing makes every commit durable, whatever the durability option, and waits for a checkpoint in progress. When the
/// call returns, the directory can be opened again. There is one exception: if a ticket's callback drops the last
/// clone, the database closes in the background, because the callback runs on a log's own thread.
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

/// The state that the clones share. The database's threads share only [`Inner`]. So this handle is dropped with the last
/// clone, even while they work.
struct Handle {
    inner: ManuallyDrop<Arc<Inner>>,
    closing: Arc<Closing>,
    /// The threads that collect garbage and write checkpoints, the housekeeper last.
    threads: Vec<JoinHandle<()>>,
}

/// The signal to the database's threads that the last clone is gone. It is not part of [`Inner`], because one of these
/// threads may be the one that drops [`Inner`].
#[derive(Default)]
pub(crate) struct Closing {
    begun: Mutex<bool>,
    wake: Condvar,
}

impl Closing {
    fn begin(&self) {
        *self.begun.lock() = true;
        self.wake.notify_all();
    }

    pub(crate) fn has_begun(&self) -> bool {
        *self.begun.lock()
    }

    /// Waits until closing has begun, at most for `time`. Returns true if it has begun.
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

pub(crate) struct Inner {
    pub(crate) path: PathBuf,
    pub(crate) files: Arc<dyn Files>,
    memory: Arc<MemoryEngine>,
    pub(crate) disk: Arc<DiskEngine>,
    pub(crate) manifest: Current,
    /// Held while a table or keyspace is dropped, changed or moved: one at a time. Taken before the right to replace the
    /// manifest.
    pub(crate) changing: Mutex<()>,
    /// The numbers for new keyspaces. Used by those who replace the manifest.
    numbers: Mutex<Numbers>,
    /// Dropped keyspaces that are not freed yet.
    retired: RetiredKeyspaces,
    recovered: Recovered,
    /// Held while a checkpoint is written: one checkpoint at a time.
    pub(crate) checkpointing: Mutex<()>,
    /// Held while a backup is made: one backup at a time.
    pub(crate) backing_up: Mutex<()>,
    checkpoints: Mutex<CheckpointState>,
    moves: Mutex<MoveState>,
    /// Log bytes ever appended, as of the last checkpoint.
    log_at_checkpoint: AtomicU64,
    /// The last field: it has the lock of the directory, so the engines must be closed before it is dropped.
    pub(crate) core: Arc<Coordinator>,
}

impl Database {
    /// Opens the database in a directory, or makes one if the directory is missing or empty. After a crash the database
    /// has every acknowledged commit, and no transaction in part.
    ///
    /// # Errors
    /// [`Error::AlreadyOpen`] if the directory is open, here or in another process. Others if it holds something else,
    /// can't be read or written, was written by another format or with another log mode, or is damaged.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        Self::open_with(Arc::new(RealFiles), path.as_ref(), options)
    }

    /// Returns the names of entries in a database's directory that Gemel did not make, sorted. Gemel does not touch
    /// them, but they would be lost if the directory were deleted.
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

    /// Opens an existing database with the log mode that it was made with and the compression that it was last opened
    /// with, and ignores [`Options::log`] and [`Options::compression`]. For tools that get a path from their user. Makes
    /// nothing if there is no database.
    ///
    /// # Errors
    /// Same as [`Database::open`], and [`Error::Usage`] if there is no database.
    pub fn open_existing(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        let path = absolute(path.as_ref())?;
        if !(path.try_exists().map_err(io("can't open", &path))? && path.is_dir()) {
            return Err(no_database(&path));
        }
        let begun = Instant::now();
        let (files, lock) = (Arc::new(RealFiles), Lock::of_database(&path)?);
        backup::settle(&*files, &path)?;
        let Some(manifest) = Manifest::read(&*files, &path)? else {
            check_for_remains(&path)?;
            return Err(no_database(&path));
        };
        let compression = manifest.compression.unwrap_or_default();
        let options = Options { log: manifest.log, compression, ..options };
        options.check()?;
        Self::start(files, path, lock, manifest, options, begun)
    }

    /// Does the same as [`Database::open`], over the given file system.
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
        let lock = Lock::of_database(&path)?;
        backup::settle(&*files, &path)?;
        // The manifest is read only under the lock: before that, another process may be making or changing the
        // database.
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
                "{}: the database was made with {} and can't be opened with {}: open it with the log mode \
                 that it was made with",
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
        lock: Lock,
        mut manifest: Manifest,
        options: Options,
        begun: Instant,
    ) -> Result<Self> {
        // A crash interrupted what was filling them. The next replacement of the manifest forgets them.
        manifest.forget_unfinished();
        remove_strays(&*files, &path, &manifest)?;
        for log in recovery::log_names(manifest.log) {
            remove_spares(&*files, &path, log)?;
        }
        backup::remove_links(&path)?;
        mailbox::remove(&path)?;
        let is_copy = backup::is_unwritten(&*files, &path, &manifest)?;
        let opened = recovery::recover(Arc::clone(&files), &path, lock, manifest, is_copy, &options, begun)?;
        let core = opened.core;
        let inner = Arc::new(Inner {
            log_at_checkpoint: AtomicU64::new(opened.manifest.log_from.iter().sum()),
            path,
            files,
            core,
            memory: opened.memory,
            disk: opened.disk,
            manifest: Current::new(opened.manifest),
            changing: Mutex::new(()),
            numbers: Mutex::new(opened.numbers),
            retired: RetiredKeyspaces::default(),
            recovered: opened.recovered,
            checkpointing: Mutex::new(()),
            backing_up: Mutex::new(()),
            checkpoints: Mutex::default(),
            moves: Mutex::default(),
        });
        let closing = Arc::new(Closing::default());
        // A paced checkpoint keeps the housekeeper from this work.
        let directory = inner.path.clone();
        inner.disk.limit().look_with(move || mailbox::has_mail(&directory));
        let threads = vec![
            start_thread("gemel-collector", &inner, &closing, collect_garbage)?,
            start_thread("gemel-housekeeper", &inner, &closing, keep_house)?,
        ];
        let inner = ManuallyDrop::new(inner);
        Ok(Self { inner: Arc::new(Handle { inner, closing, threads }) })
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.inner
    }

    #[cfg(test)]
    fn housekeeper(&self) -> std::thread::ThreadId {
        self.inner.threads.last().unwrap().thread().id()
    }

    /// Returns the database's directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Begins a transaction. [`Database::run`] also commits it, and retries it after a conflict.
    ///
    /// # Errors
    /// 65 536 transactions are running already, the most that a database allows.
    pub fn begin(&self, isolation: Isolation) -> Result<Transaction> {
        let core = &self.inner.core;
        Transaction::begin(Arc::clone(core), isolation, core.options.max_snapshot_age)
    }

    /// Begins a transaction that only reads, on a snapshot: all that it reads was current at one moment. Calls that write
    /// get [`Error::Usage`]. It has no conflicts, because nothing that it reads is validated.
    ///
    /// ```
    /// # fn main() -> gemel::Result<()> {
    /// # use gemel::{Database, Engine, Error, Options};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let db = Database::open(directory.path().join("db"), Options::default())?;
    /// let accounts = db.keyspace("accounts", Engine::Memory)?;
    /// let mut report = db.begin_read_only()?;
    /// assert_eq!(report.get(&accounts, b"ann")?, None);
    /// assert!(matches!(report.put(&accounts, b"ann", b"rich"), Err(Error::Usage(_))));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Same as [`Database::begin`].
    pub fn begin_read_only(&self) -> Result<Transaction> {
        let mut transaction = self.begin(Isolation::Snapshot)?;
        transaction.read_only = true;
        Ok(transaction)
    }

    /// Begins a transaction of the database itself, on a snapshot. No limit of age applies: on a slow disk each attempt
    /// at its piece of work might exceed the limit.
    fn begin_own(&self) -> Result<Transaction> {
        let transaction = Transaction::begin(Arc::clone(&self.inner.core), Isolation::Snapshot, None)?;
        // Large transactions must not keep a move or a new index from going on.
        Ok(transaction.without_limit())
    }

    /// Makes all current commits durable, whatever the durability option. Does not wait for space on the disk.
    ///
    /// # Errors
    /// The log can't be written; [`Error::DiskFull`] if it can be once there is space.
    pub fn sync(&self) -> Result<()> {
        self.inner.core.logs.sync()
    }

    /// Asks a database with [`Options::gather`] to write its commits now. Returns at once. Call it when a thread that
    /// leaves its commits to callbacks is about to wait.
    pub fn hurry(&self) {
        self.inner.core.logs.hurry();
    }

    /// Writes a checkpoint of the memory engine, flushes the disk engine's buffers, and drops the log before the
    /// checkpoint. The database does the same by itself after every [`Options::checkpoint_log_bytes`]. Transactions go
    /// on meanwhile.
    ///
    /// # Errors
    /// A file can't be written. If only the checkpoint fails, the log grows until one succeeds. If the disk engine's
    /// files can't be written, its tables reject writes until the database is opened again, or, after
    /// [`Error::DiskFull`], until there is space.
    pub fn checkpoint(&self) -> Result<()> {
        may_wait()?;
        let _unlimited = self.inner.disk.limit().give_way();
        self.inner.checkpoint()
    }

    /// Returns the current state: counters, sizes, and running transactions.
    #[must_use]
    pub fn state(&self) -> State {
        let core = &self.inner.core;
        let count = |count| core.active.count(count) + core.prepared.counted(count);
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
                deadlock: count(Count::Deadlock),
                csr: count(Count::Csr),
                too_old: count(Count::TooOld),
                moved: count(Count::Moved),
                failed: count(Count::Failed),
            },
            running: core.active.running(),
            pending_bytes: core.pending.taken(),
            expired: core.active.expired(),
            prepared: core.prepared.state(core.active.count(Count::Prepared)),
            locks: core.locks.state(),
            csr: core.registries[0].state(),
            memory: self.inner.memory.state(),
            disk: self.inner.disk.state(),
            log_bytes: core.logs.bytes(),
            log_spare_bytes: core.logs.spare_bytes(),
            log: core.logs.counts(),
            durable_lag_bytes: core.logs.lag(),
            disk_full: self.inner.disk_full(),
            checkpoints: self.inner.checkpoints.lock().clone(),
            background: self.inner.disk.limit().state(),
            moves: self.inner.moves.lock().clone(),
            recovered: self.inner.recovered.clone(),
        }
    }

    /// Records the reads, writes and timestamps of every transaction from now on, for tests. Returns false if a
    /// recorder is set already.
    #[doc(hidden)]
    pub fn record_into(&self, recorder: Arc<Recorder>) -> bool {
        self.inner.core.record_into(recorder)
    }

    /// Makes all commits durable, and closes the database if this is the last clone. The directory can be opened again when
    /// this returns, or when the last transaction ends, if one is still there.
    ///
    /// # Errors
    /// The log can't be written. The database is closed nevertheless.
    pub fn close(self) -> Result<()> {
        self.sync()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.inner.core.locks.close();
        let of_a_log = self.inner.core.logs.is_thread_of_one();
        self.inner.disk.limit().give_way_for_good();
        let release = |handle: &mut Self| {
            // SAFETY: each of the two paths below calls this once, and nothing uses `inner` afterwards.
            unsafe { ManuallyDrop::drop(&mut handle.inner) };
        };
        if of_a_log {
            // A ticket's callback runs on a log's thread, which can't close its own log. The database's threads hold
            // `inner` until `closing` begins, so one of them drops it last and thereby closes the database.
            release(self);
            self.closing.begin();
            return;
        }
        self.closing.begin();
        for thread in self.threads.drain(..) {
            // The thread catches its panics, so `join` has no error worth reporting.
            let _ = thread.join();
        }
        release(self);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Nobody is left who could receive an error. Everything acknowledged as durable is durable already.
        let logs = self.core.logs.close();
        self.disk.close();
        if logs.is_ok() {
            // Without the mark, the next opening takes the database for one that crashed.
            let _ = self.mark_closed();
        }
    }
}

/// Starts a thread that works until the last clone is gone, also after a panic.
fn start_thread(
    name: &str,
    inner: &Arc<Inner>,
    closing: &Arc<Closing>,
    work: fn(&Inner, &Closing),
) -> Result<JoinHandle<()>> {
    let started = std::thread::Builder::new().name(name.into()).spawn({
        let (inner, closing) = (Arc::clone(inner), Arc::clone(closing));
        move || {
            // Even after a panic the thread keeps `inner` until the last clone is gone. A log's thread that drops the
            // last clone relies on that: it leaves the closing to this thread.
            while std::panic::catch_unwind(AssertUnwindSafe(|| work(&inner, &closing))).is_err() {
                inner.checkpoints.lock().failure = Some(HOUSEKEEPER_PANICKED.to_owned());
                closing.wait_for(RETRY_CHECKPOINT);
            }
        }
    });
    started.map_err(|error| {
        // A thread that was started before ends.
        closing.begin();
        io("can't start a thread for", &inner.path)(error)
    })
}

/// Collects garbage while no commits do, and ends old snapshots. On a thread of its own: a checkpoint may take long, or
/// wait for a disk.
fn collect_garbage(inner: &Inner, closing: &Closing) {
    while !closing.wait_for(LOOK_EVERY) {
        inner.core.collect_now();
        inner.manifest.forget(inner.core.watermark(0));
    }
}

/// Writes checkpoints when they are due, and starts the backups that other processes ask for.
fn keep_house(inner: &Inner, closing: &Closing) {
    std::thread::scope(|scope| {
        let mut backup: Option<ScopedJoinHandle<'_, ()>> = None;
        look_around(inner, closing, || {
            let idle = backup.as_ref().is_none_or(ScopedJoinHandle::is_finished);
            if idle && mailbox::has_mail(&inner.path) {
                let name = "gemel-backup".to_owned();
                let thread = std::thread::Builder::new().name(name);
                // Without a thread the request waits for the next look.
                backup = thread.spawn_scoped(scope, move || mailbox::serve(inner, closing)).ok();
            }
        });
    });
}

fn look_around(inner: &Inner, closing: &Closing, mut look: impl FnMut()) {
    let mut not_before = Instant::now();
    while !closing.wait_for(LOOK_EVERY) {
        look();
        let is_due = inner.checkpoint_is_due() && Instant::now() >= not_before;
        if is_due && inner.checkpoint_unless_busy().is_some_and(|done| done.is_err()) {
            // The state reports the failure; the log grows until the next attempt.
            not_before = Instant::now() + RETRY_CHECKPOINT;
        }
        inner.free_retired();
        if inner.disk_full().is_some() {
            inner.core.logs.drop_spares();
        }
    }
}

/// Returns true if Gemel makes entries of this name in a database's directory.
fn is_own(name: &str) -> bool {
    is_data(name) || [backup::RECORD, backup::STAGING, backup::LINKS].contains(&name) || mailbox::is_own(name)
}

#[cfg(test)]
mod tests;
