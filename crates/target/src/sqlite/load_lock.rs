//! The right to load a file, which one process has at a time. SQLite's own locks end with each transaction.

use crate::error::TargetError;
use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A locked file beside the database. Dropping it deletes the file; one that a killed process left behind is taken over.
pub(super) struct LoadLock {
    path: PathBuf,
    /// Locked until it is closed, after the file is deleted.
    _file: File,
}

impl LoadLock {
    /// Takes the right to load the database at `database`.
    ///
    /// # Errors
    /// Another process has it, or no file can be made there.
    pub(super) fn take(database: &Path) -> Result<Self, TargetError> {
        // One lock for a file, by whatever links it is named. A new one has the name that it will be made by.
        let file = database.canonicalize().unwrap_or_else(|_| database.to_owned());
        let mut name = file.into_os_string();
        name.push("-lydite-load");
        let path = PathBuf::from(name);
        let failed = |error| {
            TargetError::database(format!("{}: {error}: check the path and its permissions", path.display()))
        };
        loop {
            let mut options = OpenOptions::new();
            options
                .write(true)
                .create(true)
                .truncate(false)
                .custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
            let file = options.open(&path).map_err(failed)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(TargetError::usage(format!(
                        "{}: another load is running on this database: wait for it, or end it",
                        database.display()
                    )));
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            // Whoever had it may have deleted the file in between.
            let same = |there: fs::Metadata| {
                file.metadata().is_ok_and(|ours| (ours.dev(), ours.ino()) == (there.dev(), there.ino()))
            };
            if fs::symlink_metadata(&path).is_ok_and(same) {
                return Ok(Self { path, _file: file });
            }
        }
    }
}

impl Drop for LoadLock {
    fn drop(&mut self) {
        // What stays is taken over by the next one.
        let _left = fs::remove_file(&self.path);
    }
}
