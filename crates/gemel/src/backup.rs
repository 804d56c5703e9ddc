//! Backups: a copy of a database while it is open, which is a database itself. (`DESIGN.md`, "Backup".)
//!
//! A backup is first staged in a directory of its own inside the target. Files that an earlier backup has already stay
//! where they are. The durable *record* in the staging directory is the commit: before it, the target is the earlier
//! backup; from then on it is the new one, and [`settle`] moves the staged files to their places, as often as needed.

use crate::database::{self, Database, Inner};
use crate::disk::{self, TABLES, TreeFiles, tree_name};
use crate::error::{Error, Result, io};
use crate::files::{self, File, Files, RealFiles, fail_point, remove_tree};
use crate::ids::KeyspaceId;
use crate::incarnation;
use crate::keyspace::Engine;
use crate::lock::{self, Lock};
use crate::log::{Lsn, reader, segments};
use crate::mailbox;
use crate::manifest::Manifest;
use crate::options::{LogMode, Options};
use crate::recovery::{DISK_DIRECTORY, log_names};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};
use xxhash_rust::xxh3::Xxh3Default;

/// The record of a backup: its files, and what shows whether somebody has changed it since.
pub(crate) const RECORD: &str = "gemel.backup";
/// Directory in the target for the files of a backup that is not complete.
pub(crate) const STAGING: &str = "backup-new";
/// Directory in the database for links to the disk engine's files while a backup copies them.
pub(crate) const LINKS: &str = "backup-links";
const MAGIC: &str = "gemel-backup";
/// The format that is written, and the newest that can be read. Format 1 had no incarnation.
const FORMAT: u32 = 2;
/// Bytes copied at once.
const PIECE: usize = 1 << 20;

/// The result of a backup. `Display` shows it in one line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BackupReport {
    /// Directory of the backup.
    pub path: PathBuf,
    /// Files copied.
    pub files_copied: u64,
    /// Bytes copied.
    pub bytes_copied: u64,
    /// Files that an earlier backup had already.
    pub files_kept: u64,
    /// Bytes of these files.
    pub bytes_kept: u64,
    /// Duration of the backup.
    pub took: Duration,
}

impl fmt::Display for BackupReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} files with {} bytes copied, {} files with {} bytes kept, in {} ms",
            self.path.display(),
            self.files_copied,
            self.bytes_copied,
            self.files_kept,
            self.bytes_kept,
            self.took.as_millis()
        )
    }
}

/// The progress of [`backup()`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum BackupProgress {
    /// Another process has the database open and was asked to make the backup.
    Asked,
    /// The files so far.
    Copied(BackupReport),
}

/// Backs up the database in a directory, whether it is open or not. If another process has it open, that process makes
/// the backup, and this call waits for it. If this process ends meanwhile, the other one gives up the backup.
///
/// ```
/// # fn main() -> gemel::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// # let (path, copy) = (directory.path().join("db"), directory.path().join("copy"));
/// let db = gemel::Database::open(&path, gemel::Options::default())?;
/// db.keyspace("hot", gemel::Engine::Memory)?;
/// let report = gemel::backup(&path, &copy, |_| ())?;
/// println!("{report}");
/// assert!(gemel::check(&copy)?.is_good());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Same as [`Database::open_existing`] and [`Database::backup`].
pub fn backup(
    path: impl AsRef<Path>,
    to: impl AsRef<Path>,
    mut progress: impl FnMut(&BackupProgress),
) -> Result<BackupReport> {
    let (path, to) = (database::absolute(path.as_ref())?, database::absolute(to.as_ref())?);
    while lock::is_open(&path) {
        if let Some(report) = mailbox::ask(&path, &to, &mut progress)? {
            return Ok(report);
        }
        // The other process has closed the database.
    }
    // A backup should not write a checkpoint.
    let options = Options { checkpoint_log_bytes: u64::MAX, ..Options::default() };
    let db = Database::open_existing(path, options)?;
    run(db.inner(), &to, &mut |report| {
        progress(&BackupProgress::Copied(report.clone()));
        Ok(())
    })
}

impl Database {
    /// Copies the database to another directory while transactions go on. The copy is a database with exactly the
    /// commits up to a moment during the call: open it, or copy it back. Everything durable before the call is in it.
    ///
    /// A directory with an earlier backup of this database becomes the new backup. Files of the disk engine that it has
    /// already are not copied again. If the call fails or the process ends, the directory still holds the earlier
    /// backup, or the new one as a whole.
    ///
    /// ```
    /// # fn main() -> gemel::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let (path, copy) = (directory.path().join("db"), directory.path().join("copy"));
    /// # let db = gemel::Database::open(&path, gemel::Options::default())?;
    /// let report = db.backup(&copy)?;
    /// println!("{report}");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The target is not empty and not an unchanged backup of this database, is in the database's directory, or is
    /// open; a file can't be read or written; a file of the disk engine is damaged; or an earlier error stopped the
    /// database.
    pub fn backup(&self, to: impl AsRef<Path>) -> Result<BackupReport> {
        run(self.inner(), &database::absolute(to.as_ref())?, &mut |_| Ok(()))
    }
}

/// Makes a backup. Passes its progress to `watch`, whose error ends it.
pub(crate) fn run(
    inner: &Inner,
    to: &Path,
    watch: &mut dyn FnMut(&BackupReport) -> Result<()>,
) -> Result<BackupReport> {
    let begun = Instant::now();
    let files = &*inner.files;
    let _one = inner.backing_up.lock();
    check_place(&inner.path, to)?;
    files.create_dir(to)?;
    let _target = Lock::of_database(to)?;
    admit(inner, to)?;
    let report = BackupReport { path: to.to_path_buf(), ..BackupReport::default() };
    let mut stage = Stage {
        database: inner.manifest.look().database,
        files,
        from: &inner.path,
        to,
        staging: to.join(STAGING),
        entries: Vec::new(),
        report,
        watch,
    };
    let staged = stage.all(inner);
    // The next backup, or the next opening, removes links that are left.
    let _ = remove_links(&inner.path);
    if let Err(error) = staged {
        // A full disk should not stay full. The caller gets the first error.
        let _ = remove_staging(files, to);
        return Err(error);
    }
    fail_point("backup.staged");
    settle(files, to)?;
    let mut report = stage.report;
    report.took = begun.elapsed();
    Ok(report)
}

/// Rejects a target that is the database or in it, before anything is made.
fn check_place(database: &Path, to: &Path) -> Result<()> {
    let database = database.canonicalize().map_err(io("can't find", database))?;
    let mut existing = to;
    while !existing.try_exists().map_err(io("can't look at", existing))? {
        let Some(parent) = existing.parent() else { break };
        if existing.components().next_back() == Some(Component::ParentDir) {
            return Err(Error::Usage(format!("{}: name the target without '..'", to.display())));
        }
        existing = parent;
    }
    let real = existing.canonicalize().map_err(io("can't find", existing))?;
    if real.starts_with(&database) {
        return Err(Error::Usage(format!(
            "{} is the database's own directory or in it: name a directory elsewhere",
            to.display()
        )));
    }
    if !real.is_dir() {
        return Err(Error::Usage(format!("{} is not a directory: name another path", existing.display())));
    }
    Ok(())
}

/// Admits a target that is empty or an unchanged backup of this database. Completes an interrupted backup in it.
fn admit(inner: &Inner, to: &Path) -> Result<()> {
    let (files, database) = (&*inner.files, inner.manifest.look().database);
    let other = || {
        Error::Usage(format!(
            "{} holds another database: name an empty directory or an earlier backup of this one",
            to.display()
        ))
    };
    let staged = Record::read(files, &to.join(STAGING))?;
    if staged.as_ref().is_some_and(|staged| staged.database != database) {
        return Err(other());
    }
    let manifest = Manifest::read(files, to)?;
    if manifest.as_ref().is_some_and(|manifest| manifest.database != database) {
        return Err(other());
    }
    if let Some(staged) = &staged {
        staged.check_incarnation(inner, to)?;
    }
    if manifest.is_some() || staged.is_some() {
        settle(files, to)?;
    }
    let Some(manifest) = Manifest::read(files, to)? else {
        for entry in std::fs::read_dir(to).map_err(io("can't read the directory", to))? {
            let name = entry.map_err(io("can't read the directory", to))?.file_name();
            if name != STAGING {
                return Err(Error::Usage(format!(
                    "{} holds {} and is not a backup: name an empty directory or an earlier backup of this database",
                    to.display(),
                    name.display()
                )));
            }
        }
        return remove_staging(files, to);
    };
    let Some(record) = Record::read(files, to)? else {
        return Err(Error::Usage(format!(
            "{} holds this database and is not a backup of it: name an empty directory or an earlier backup",
            to.display()
        )));
    };
    record.check_incarnation(inner, to)?;
    record.check_earlier(inner, manifest.log, to)?;
    if record.is_unchanged(files, to, &manifest)? {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "{} was changed after it had been backed up: name another directory, or delete this one",
        to.display()
    )))
}

/// Returns true if a directory is a backup, or a copy of one, to which nobody has written.
///
/// # Errors
/// The record of the backup is damaged, or a file can't be read.
pub(crate) fn is_unwritten(files: &dyn Files, path: &Path, manifest: &Manifest) -> Result<bool> {
    match Record::read(files, path)? {
        Some(record) => record.is_unchanged(files, path, manifest),
        None => Ok(false),
    }
}

/// A file of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    /// Path in the backup's directory, with `/` between names.
    path: String,
    bytes: u64,
}

/// The files of a backup, as it was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    database: u64,
    /// The copy of the database that was backed up.
    #[serde(default)]
    incarnation: u64,
    /// CRC-32 of what [`lasting`] returns for the manifest.
    manifest: u32,
    files: Vec<Entry>,
}

impl Record {
    /// Reads the record in a directory. Returns none if there is none.
    fn read(files: &dyn Files, directory: &Path) -> Result<Option<Self>> {
        let path = directory.join(RECORD);
        let bytes = match files::read_all(files, &path) {
            Ok(bytes) => bytes,
            Err(Error::Io { source, .. })
                if matches!(source.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let damaged = || {
            Error::Corruption {
            path: path.clone(),
            what: "the record of a backup is damaged: delete the directory and make another backup; if the directory \
                   is in use as a database, delete this file"
                .into(),
        }
        };
        let text = String::from_utf8(bytes).map_err(|_| damaged())?;
        let (head, body) = text.split_once('\n').ok_or_else(damaged)?;
        let format = head.split(' ').nth(1).and_then(|format| format.parse::<u32>().ok());
        let format = format.filter(|format| head == Self::head(*format, body)).ok_or_else(damaged)?;
        if !(1..=FORMAT).contains(&format) {
            return Err(Error::Usage(format!(
                "{} has format {format}, and this version reads up to {FORMAT}: use the version that wrote it, or a newer \
                 one",
                path.display()
            )));
        }
        let record: Self = serde_json::from_str(body).map_err(|_| damaged())?;
        // Each path is joined to a directory, where files are replaced.
        let plain =
            |path: &str| Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
        if record.files.iter().all(|entry| plain(&entry.path)) { Ok(Some(record)) } else { Err(damaged()) }
    }

    fn head(format: u32, body: &str) -> String {
        format!("{MAGIC} {format} {:08x}", crc32fast::hash(body.as_bytes()))
    }

    /// Writes the record. It is durable when this returns.
    fn write(&self, files: &dyn Files, directory: &Path) -> Result<()> {
        let path = directory.join(RECORD);
        let body = serde_json::to_string(self).map_err(|error| io("can't write", &path)(error.into()))?;
        let text = format!("{}\n{body}", Self::head(FORMAT, &body));
        files::replace(files, &path, text.as_bytes())
    }

    /// Rejects a backup of another copy of the database: each copy may need its own.
    fn check_incarnation(&self, inner: &Inner, to: &Path) -> Result<()> {
        let incarnation = inner.manifest.look().incarnation;
        if self.incarnation == incarnation {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "{} is a backup of another copy of this database (incarnation {:x}, and this one is {incarnation:x}), which \
             went its own way after a backup was restored: name another directory",
            to.display(),
            self.incarnation
        )))
    }

    /// Rejects a backup that has more of the log than the database: it is of a copy that nothing else distinguishes.
    fn check_earlier(&self, inner: &Inner, log: LogMode, to: &Path) -> Result<()> {
        for (name, end) in log_names(log).iter().zip(inner.core.logs.ends()) {
            let ends = self.files.iter().filter_map(|entry| segments::end_of(name, &entry.path, entry.bytes));
            if let Some(there) = ends.max().filter(|there| *there > end.0) {
                return Err(Error::Usage(format!(
                    "{} is a backup of a later state (log position {there}, and this database is at {}): the files of \
                     one were copied while it was closed, or restored from an earlier copy; name another directory",
                    to.display(),
                    end.0
                )));
            }
        }
        Ok(())
    }

    /// Returns true if nobody has written to a backup, or to a copy of it. Opening it is not writing.
    fn is_unchanged(&self, files: &dyn Files, to: &Path, manifest: &Manifest) -> Result<bool> {
        if lasting(manifest)? != self.manifest {
            return Ok(false);
        }
        // Every commit makes a log longer, or is in a new segment.
        let is_log = |name: &str| name.ends_with(".log");
        for entry in self.files.iter().filter(|entry| is_log(&entry.path)) {
            if length(files, &to.join(&entry.path))? != Some(entry.bytes) {
                return Ok(false);
            }
        }
        let named = |name: &str| self.files.iter().any(|entry| entry.path == name);
        for name in files.list(to)?.iter().filter(|name| is_log(name) && !named(name)) {
            if length(files, &to.join(name))?.is_some_and(|bytes| bytes > segments::EMPTY_BYTES) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Returns a checksum of a manifest without what changes when a database is opened and closed.
fn lasting(manifest: &Manifest) -> Result<u32> {
    let mut manifest = Manifest {
        closed: None,
        trees: Vec::new(),
        identified: true,
        incarnation: incarnation::FIRST,
        inherited: Vec::new(),
        compression: None,
        ..manifest.clone()
    };
    manifest.keyspaces.retain(|entry| !entry.unfinished);
    let text = serde_json::to_vec(&manifest)
        .map_err(|error| Error::Usage(format!("the catalog can't be written as JSON: {error}")))?;
    Ok(crc32fast::hash(&text))
}

/// Returns the length of a file, or none if it is missing.
fn length(files: &dyn Files, path: &Path) -> Result<Option<u64>> {
    match files.open(path) {
        Ok(mut file) => file.len().map(Some),
        Err(error) if error.is_missing_file() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the files to use for a path in a backup. The disk engine's crate knows only the operating system's.
fn files_of<'a>(files: &'a dyn Files, path: &str) -> &'a dyn Files {
    let is_below = path.strip_prefix(DISK_DIRECTORY).is_some_and(|rest| rest.starts_with('/'));
    if is_below { &RealFiles } else { files }
}

/// The files of a database as of one moment.
struct Source {
    manifest: Manifest,
    /// Ends of the logs, taken together after the trees were linked.
    ends: Vec<Lsn>,
    trees: Vec<(KeyspaceId, TreeFiles)>,
}

/// A backup that is being staged.
struct Stage<'a> {
    /// Number of the database.
    database: u64,
    files: &'a dyn Files,
    from: &'a Path,
    to: &'a Path,
    staging: PathBuf,
    entries: Vec<Entry>,
    report: BackupReport,
    watch: &'a mut dyn FnMut(&BackupReport) -> Result<()>,
}

impl Stage<'_> {
    /// Stages a backup and writes its record.
    fn all(&mut self, inner: &Inner) -> Result<()> {
        self.files.create_dir(&self.staging)?;
        let disk = self.staging.join(DISK_DIRECTORY);
        RealFiles.create_dir(&disk)?;
        let source = {
            // No checkpoint is replaced and no log is dropped while these are copied.
            let unlimited = inner.disk.limit().give_way();
            let _no_checkpoint = inner.checkpointing.lock();
            drop(unlimited);
            let source = link(inner)?;
            fail_point("backup.linked");
            inner.core.logs.sync()?;
            self.checkpoint(&source.manifest)?;
            self.logs(inner, &source)?;
            source
        };
        fail_point("backup.copied_logs");
        for (keyspace, tree) in &source.trees {
            self.tree(*keyspace, tree)?;
        }
        RealFiles.sync_dir(&disk)?;
        source.manifest.write(self.files, &self.staging)?;
        let manifest = files::read_all(self.files, &Manifest::path(&self.staging))?;
        self.report.bytes_copied += manifest.len() as u64;
        self.copied(crate::manifest::FILE, manifest.len() as u64)?;
        self.files.sync_dir(&self.staging)?;
        fail_point("backup.before_record");
        let record = Record {
            database: source.manifest.database,
            incarnation: source.manifest.incarnation,
            manifest: lasting(&source.manifest)?,
            files: std::mem::take(&mut self.entries),
        };
        record.write(self.files, &self.staging)
    }

    fn copied(&mut self, path: &str, bytes: u64) -> Result<()> {
        self.report.files_copied += 1;
        self.entries.push(Entry { path: path.into(), bytes });
        (self.watch)(&self.report)
    }

    fn kept(&mut self, path: &str, bytes: u64) -> Result<()> {
        self.report.files_kept += 1;
        self.report.bytes_kept += bytes;
        self.entries.push(Entry { path: path.into(), bytes });
        (self.watch)(&self.report)
    }

    fn checkpoint(&mut self, manifest: &Manifest) -> Result<()> {
        let Some(checkpoint) = &manifest.checkpoint else { return Ok(()) };
        let mut file = self.files.open(&self.from.join(&checkpoint.file))?;
        let bytes = file.len()?;
        self.keep_or_copy(&checkpoint.file, &mut *file, bytes)
    }

    /// Copies the logs from the positions where recovery begins up to their ends, and cuts them there.
    fn logs(&mut self, inner: &Inner, source: &Source) -> Result<()> {
        let logs = inner.core.logs.all();
        for ((log, name), (index, end)) in
            logs.iter().zip(log_names(source.manifest.log)).zip(source.ends.iter().enumerate())
        {
            let from = Lsn(source.manifest.log_from.get(index).copied().unwrap_or(0));
            let mut segments = log.segments_between(from, *end);
            let last = segments.pop();
            for (path, bytes) in segments {
                self.keep_or_copy(&name_of(&path)?, &mut *self.files.open(&path)?, bytes)?;
            }
            let Some((path, bytes)) = last else { continue };
            let name_of_last = name_of(&path)?;
            self.copy(
                &name_of_last,
                &mut *self.files.open(&path)?,
                bytes,
                &self.staging.join(&name_of_last),
            )?;
            // The batch at the end may contain more records than those before the end.
            reader::truncate(self.files, &self.staging, name, *end)?;
            let bytes = length(self.files, &self.staging.join(&name_of_last))?.unwrap_or(0);
            self.copied(&name_of_last, bytes)?;
        }
        Ok(())
    }

    /// Keeps a file of the target that has the same bytes, or stages a copy.
    fn keep_or_copy(&mut self, name: &str, file: &mut dyn File, bytes: u64) -> Result<()> {
        let there = self.to.join(name);
        if length(self.files, &there)? == Some(bytes) && self.is_same(file, &there, bytes)? {
            return self.kept(name, bytes);
        }
        self.copy(name, file, bytes, &self.staging.join(name))?;
        self.copied(name, bytes)
    }

    fn is_same(&mut self, file: &mut dyn File, there: &Path, bytes: u64) -> Result<bool> {
        let mut other = self.files.open(there)?;
        let (mut one, mut two) = (vec![0; PIECE], vec![0; PIECE]);
        let mut at = 0;
        while at < bytes {
            let now = usize::try_from(bytes - at).unwrap_or(PIECE).min(PIECE);
            if file.read_at(at, &mut one[..now])? != now
                || other.read_at(at, &mut two[..now])? != now
                || one[..now] != two[..now]
            {
                return Ok(false);
            }
            at += now as u64;
            (self.watch)(&self.report)?;
        }
        Ok(true)
    }

    /// Copies the first bytes of a file, and makes them durable.
    fn copy(&mut self, name: &str, file: &mut dyn File, bytes: u64, to: &Path) -> Result<u128> {
        let mut output = files_of(self.files, name).create(to)?;
        let mut sum = Xxh3Default::new();
        let mut piece = vec![0; PIECE];
        let mut at = 0;
        while at < bytes {
            let now = usize::try_from(bytes - at).unwrap_or(PIECE).min(PIECE);
            if file.read_at(at, &mut piece[..now])? < now {
                return Err(Error::Corruption {
                    path: self.from.join(name),
                    what: format!(
                        "the file ends before byte {bytes}: check the database once it is closed, or restore it"
                    ),
                });
            }
            sum.update(&piece[..now]);
            output.write_at(at, &piece[..now])?;
            at += now as u64;
            self.report.bytes_copied += now as u64;
            (self.watch)(&self.report)?;
        }
        output.sync()?;
        Ok(sum.digest128())
    }

    /// Stages a tree of the disk engine, without the tables that the target has already.
    fn tree(&mut self, keyspace: KeyspaceId, tree: &TreeFiles) -> Result<()> {
        let name = format!("{DISK_DIRECTORY}/{}", tree_name(keyspace));
        let (links, there, staged) =
            (self.from.join(LINKS).join(tree_name(keyspace)), self.to.join(&name), self.staging.join(&name));
        let tables = staged.join(TABLES);
        RealFiles.create_dir(&tables)?;
        for table in &tree.tables {
            let id = table.id;
            let path = format!("{name}/{TABLES}/{id}");
            let mut file = RealFiles.open(&links.join(id.to_string()))?;
            let bytes = file.len()?;
            let old = there.join(TABLES).join(id.to_string());
            // What was whole once may be damaged by now.
            if length(&RealFiles, &old)? == Some(bytes) && table.is_whole(&old).unwrap_or(false) {
                self.kept(&path, bytes)?;
                continue;
            }
            if self.copy(&path, &mut *file, bytes, &tables.join(id.to_string()))? != table.checksum {
                return Err(Error::Corruption {
                    path: self.from.join(path),
                    what: "the checksum of the file is wrong: restore the directory from an earlier backup"
                        .into(),
                });
            }
            self.copied(&path, bytes)?;
        }
        RealFiles.sync_dir(&tables)?;
        let identity = disk::identity::text(self.database, keyspace).into_bytes();
        let small = [
            (disk::identity::FILE, &identity),
            (tree.list_name.as_str(), &tree.list),
            ("current", &tree.current),
        ];
        for (file, content) in small {
            let mut output = RealFiles.create(&staged.join(file))?;
            output.write_at(0, content)?;
            output.sync()?;
            self.report.bytes_copied += content.len() as u64;
            self.copied(&format!("{name}/{file}"), content.len() as u64)?;
        }
        RealFiles.sync_dir(&staged)
    }
}

fn name_of(path: &Path) -> Result<String> {
    let name = path.file_name().and_then(|name| name.to_str());
    name.map(str::to_owned).ok_or_else(|| Error::Usage(format!("{} is not a file's name", path.display())))
}

/// Links the files of all trees, and takes the catalog and the logs' ends afterwards. No keyspace is made meanwhile, so
/// the logs have no record of a keyspace that the catalog lacks.
fn link(inner: &Inner) -> Result<Source> {
    remove_links(&inner.path)?;
    let links = inner.path.join(LINKS);
    fail_point("backup.before_link");
    inner.disk.while_files_stay(|disk| {
        let manifest = inner.manifest.replacing();
        let mut trees = Vec::new();
        for entry in manifest.keyspaces.iter().filter(|entry| entry.engine == Engine::Disk) {
            trees.push((entry.id, disk.link(entry.id, &links.join(tree_name(entry.id)))?));
        }
        Ok(Source { ends: inner.core.logs.ends(), manifest: manifest.clone(), trees })
    })
}

/// Removes the links that a backup, or one that was killed, made in the database's directory.
pub(crate) fn remove_links(database: &Path) -> Result<()> {
    remove_tree(&database.join(LINKS))
}

fn has_staging(to: &Path) -> bool {
    to.join(STAGING).is_dir()
}

fn remove_staging(files: &dyn Files, to: &Path) -> Result<()> {
    let staging = to.join(STAGING);
    if has_staging(to) {
        // First the record, which promises that all the others are there.
        if length(files, &staging.join(RECORD))?.is_some() {
            files.remove(&staging.join(RECORD))?;
            files.sync_dir(&staging)?;
        }
        for name in files.list(&staging)? {
            if !staging.join(&name).is_dir() {
                files.remove(&staging.join(name))?;
            }
        }
        remove_tree(&staging)?;
        files.sync_dir(to)?;
    }
    Ok(())
}

/// Completes a backup that was interrupted after its record was durable, and removes one that was interrupted before.
/// Does nothing in a directory without a trace of one. The caller has locked the directory.
///
/// # Errors
/// The first backup into the directory was interrupted; a file is missing, or can't be moved.
pub(crate) fn settle(files: &dyn Files, to: &Path) -> Result<()> {
    if !has_staging(to) {
        return Ok(());
    }
    let staging = to.join(STAGING);
    let Some(record) = Record::read(files, &staging)? else {
        if Manifest::read(files, to)?.is_none() {
            return Err(Error::Usage(format!(
                "{} holds only an unfinished backup: run the backup again, or delete the directory",
                to.display()
            )));
        }
        return remove_staging(files, to);
    };
    let mut directories = BTreeMap::new();
    let mut staged = Vec::new();
    for entry in &record.files {
        let files = files_of(files, &entry.path);
        let (from, place) = (staging.join(&entry.path), to.join(&entry.path));
        let is_staged = length(files, &from)?;
        if is_staged.or(length(files, &place)?) != Some(entry.bytes) {
            return Err(Error::Corruption {
                path: place,
                what: "a file of the backup is missing or has a wrong length: make another backup".into(),
            });
        }
        let directory = place.parent().unwrap_or(to);
        // A tree without tables has the directory for them nevertheless.
        if place.ends_with("current") {
            directories.insert(directory.join(TABLES), files);
        }
        directories.insert(directory.to_path_buf(), files);
        if is_staged.is_some() {
            staged.push((files, from, place));
        }
    }
    for (directory, files) in &directories {
        files.create_dir(directory)?;
    }
    for (files, from, place) in &staged {
        files.rename(from, place)?;
        fail_point("backup.moved");
    }
    for (directory, files) in &directories {
        files.sync_dir(directory)?;
    }
    RealFiles.create_dir(&to.join(DISK_DIRECTORY))?;
    RealFiles.sync_dir(&to.join(DISK_DIRECTORY))?;
    fail_point("backup.before_removal");
    remove_others(files, to, &record)?;
    files.rename(&staging.join(RECORD), &to.join(RECORD))?;
    files.sync_dir(to)?;
    fail_point("backup.before_end");
    files.sync_dir(&staging)?;
    remove_staging(files, to)
}

/// Removes the files of an earlier backup that the new one does not name.
fn remove_others(files: &dyn Files, to: &Path, record: &Record) -> Result<()> {
    let named: BTreeSet<PathBuf> = record.files.iter().map(|entry| to.join(&entry.path)).collect();
    for name in files.list(to)? {
        let path = to.join(&name);
        if database::is_data(&name) && !named.contains(&path) && !path.is_dir() {
            files.remove(&path)?;
        }
    }
    let disk = to.join(DISK_DIRECTORY);
    let trees = RealFiles.list(&disk)?.into_iter().filter(|name| name.starts_with(disk::TREE_PREFIX));
    for tree in trees.map(|name| disk.join(name)) {
        if !named.contains(&tree.join("current")) {
            remove_tree(&tree)?;
            continue;
        }
        for directory in [tree.join(TABLES), tree] {
            for path in RealFiles.list(&directory)?.into_iter().map(|name| directory.join(name)) {
                if !named.contains(&path) && !path.is_dir() {
                    RealFiles.remove(&path)?;
                }
            }
        }
    }
    Ok(())
}
