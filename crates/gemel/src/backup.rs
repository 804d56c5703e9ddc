//! Backups: a copy of a database while it is open, which is a database itself. (`DESIGN.md`, "Backup".)
//!
//! A backup is first staged in a directory of its own inside the target. Files that an earlier backup has already stay
//! where they are. The durable *record* in the staging directory is the commit: before it, the target is the earlier
//! backup; from then on it is the new one, and [`settle`] moves the staged files to their places, as often as needed.

mod record;
mod target;

use crate::database::{Database, Inner};
use crate::directory::absolute;
use crate::disk::{self, TABLES, TreeFiles, tree_name};
use crate::error::{Error, Result};
use crate::files::{self, File, Files, RealFiles, fail_point, length, remove_tree};
use crate::ids::KeyspaceId;
use crate::keyspace::Engine;
use crate::lock::{self, Lock};
use crate::log::{Lsn, may_wait, reader};
use crate::mailbox;
use crate::manifest::Manifest;
use crate::options::Options;
use crate::recovery::{DISK_DIRECTORY, log_names};
use record::{Entry, Record, files_of, lasting};
pub(crate) use record::{RECORD, is_unwritten};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
pub(crate) use target::{STAGING, settle};
use target::{admit, check_place, remove_staging};
use xxhash_rust::xxh3::Xxh3Default;

/// Directory in the database for links to the disk engine's files while a backup copies them.
pub(crate) const LINKS: &str = "backup-links";
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
    let (path, to) = (absolute(path.as_ref())?, absolute(to.as_ref())?);
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
        run(self.inner(), &absolute(to.as_ref())?, &mut |_| Ok(()))
    }
}

/// Makes a backup. Passes its progress to `watch`, whose error ends it.
pub(crate) fn run(
    inner: &Inner,
    to: &Path,
    watch: &mut dyn FnMut(&BackupReport) -> Result<()>,
) -> Result<BackupReport> {
    may_wait()?;
    let begun = Instant::now();
    let files = &*inner.files;
    let _one = inner.backing_up.lock();
    check_place(&inner.path, to)?;
    files.create_dir(to)?;
    let _target = Lock::of_database(to)?;
    let manifest = inner.manifest.look().clone();
    admit(files, to, &manifest, &inner.core.logs.ends())?;
    let report = BackupReport { path: to.to_path_buf(), ..BackupReport::default() };
    let mut stage = Stage {
        database: manifest.database,
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
            let mut segments = log.segments_between(source.manifest.log_from(index), *end);
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
/// the logs have no record of a keyspace that the catalog lacks. No transaction that changes the catalog commits
/// meanwhile either: one whose changes are not in the catalog is not before the ends.
fn link(inner: &Inner) -> Result<Source> {
    remove_links(&inner.path)?;
    let links = inner.path.join(LINKS);
    fail_point("backup.before_link");
    // Taken first: a commit that changes the catalog has this right, and may wait for a flush.
    let manifest = inner.manifest.replacing();
    inner.disk.while_files_stay(|disk| {
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
