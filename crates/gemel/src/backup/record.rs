//! The record of a backup: its files, and what shows whether somebody has written to it since.

use crate::error::{Error, Result, io};
use crate::files::{self, Files, RealFiles, length};
use crate::incarnation;
use crate::log::{Lsn, segments};
use crate::manifest::Manifest;
use crate::options::LogMode;
use crate::recovery::{DISK_DIRECTORY, log_names};
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::{Component, Path};

/// Name of the file.
pub(crate) const RECORD: &str = "gemel.backup";
const MAGIC: &str = "gemel-backup";
/// The format that is written, and the newest that can be read. Format 1 had no incarnation.
const FORMAT: u32 = 2;
const DAMAGED: &str = "the record of a backup is damaged: delete the directory and make another backup; if the directory \
                       is in use as a database, delete this file";

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
pub(super) struct Entry {
    /// Path in the backup's directory, with `/` between names.
    pub(super) path: String,
    pub(super) bytes: u64,
}

/// The files of a backup, as it was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) database: u64,
    /// The copy of the database that was backed up.
    #[serde(default)]
    pub(super) incarnation: u64,
    /// CRC-32 of what [`lasting`] returns for the manifest.
    pub(super) manifest: u32,
    pub(super) files: Vec<Entry>,
}

impl Record {
    /// Reads the record in a directory. Returns none if there is none.
    pub(super) fn read(files: &dyn Files, directory: &Path) -> Result<Option<Self>> {
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
        let damaged = || Error::Corruption { path: path.clone(), what: DAMAGED.into() };
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
    pub(super) fn write(&self, files: &dyn Files, directory: &Path) -> Result<()> {
        let path = directory.join(RECORD);
        let body = serde_json::to_string(self).map_err(|error| io("can't write", &path)(error.into()))?;
        let text = format!("{}\n{body}", Self::head(FORMAT, &body));
        files::replace(files, &path, text.as_bytes())
    }

    /// Rejects a backup of another copy than this incarnation: each copy may need its own.
    pub(super) fn check_incarnation(&self, incarnation: u64, to: &Path) -> Result<()> {
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

    /// Rejects a backup that has more of the logs than the database, which has them up to `ends`: it is of a copy that
    /// nothing else distinguishes.
    pub(super) fn check_earlier(&self, log: LogMode, ends: &[Lsn], to: &Path) -> Result<()> {
        for (name, end) in log_names(log).iter().zip(ends) {
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
    pub(super) fn is_unchanged(&self, files: &dyn Files, to: &Path, manifest: &Manifest) -> Result<bool> {
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
pub(super) fn lasting(manifest: &Manifest) -> Result<u32> {
    let mut manifest = Manifest {
        closed: None,
        trees: Vec::new(),
        identified: true,
        incarnation: incarnation::FIRST,
        inherited: Vec::new(),
        compression: None,
        ..manifest.clone()
    };
    manifest.forget_unfinished();
    let text = serde_json::to_vec(&manifest)
        .map_err(|error| Error::Usage(format!("the catalog can't be written as JSON: {error}")))?;
    Ok(crc32fast::hash(&text))
}

/// Returns the files to use for a path in a backup. The disk engine's crate knows only the operating system's.
pub(super) fn files_of<'a>(files: &'a dyn Files, path: &str) -> &'a dyn Files {
    let is_below = path.strip_prefix(DISK_DIRECTORY).is_some_and(|rest| rest.starts_with('/'));
    if is_below { &RealFiles } else { files }
}
