//! The right to load a file, which one process has at a time. SQLite's own locks end with each transaction, so they
//! can't protect a load.

use crate::storage::{Lock, lock};
use lydite_database::TargetError;
use rustix::fs::{Mode, OFlags};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A locked file beside the database. Dropping it deletes the file. The next load takes over a file that a killed
/// process left.
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
        // Links to one file share its lock. A file that does not exist yet is locked by the path under which it will be
        // made.
        let mut name = database.canonicalize().unwrap_or_else(|_| database.to_owned()).into_os_string();
        name.push("-lydite-load");
        let path = PathBuf::from(name);
        loop {
            match lock(&path, OFlags::WRONLY | OFlags::CREATE, Mode::from_raw_mode(0o666)) {
                Ok(Lock::Ours(file)) => return Ok(Self { path, _file: file }),
                Ok(Lock::Gone) => {}
                Ok(Lock::Others) => {
                    return Err(TargetError::usage(format!(
                        "{}: another load is running on this database: wait for it, or end it",
                        database.display()
                    )));
                }
                Err(error) => {
                    return Err(TargetError::database(format!(
                        "{}: {error}: check the path and its permissions",
                        path.display()
                    )));
                }
            }
        }
    }
}

impl Drop for LoadLock {
    fn drop(&mut self) {
        // The next load takes over a file that stays.
        let _left = fs::remove_file(&self.path);
    }
}
