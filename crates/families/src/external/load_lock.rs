//! One load at a time with the same driver on this machine: a lock on a file that is named after the driver's command
//! or the server's address.

use super::config::{Config, Reach};
use lydite_database::TargetError;
use std::fs::{File, OpenOptions, TryLockError};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// The right to load, held until this is dropped.
#[derive(Debug)]
pub(super) struct LoadLock {
    path: PathBuf,
    _file: File,
}

impl LoadLock {
    /// Takes the lock.
    ///
    /// # Errors
    /// Another load has it.
    pub(super) fn take(config: &Config) -> Result<Self, TargetError> {
        let mut name = DefaultHasher::new();
        match &config.reach {
            // A relative path in the command depends on the directory.
            Reach::Program(program) => {
                (&program.words, &program.pytpcc, std::env::current_dir().ok()).hash(&mut name);
            }
            Reach::Server(address) => (&address.host, address.port).hash(&mut name),
        }
        let path = std::env::temp_dir().join(format!("lydite-load-{:016x}.lock", name.finish()));
        let failed = |error: io::Error| {
            TargetError::usage(format!("{}: the lock {}: {error}: set TMPDIR", config.place, path.display()))
        };
        loop {
            let file = OpenOptions::new().create(true).append(true).open(&path).map_err(failed)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(TargetError::usage(format!(
                        "{}: another load with this driver is running: wait for it, or end it",
                        config.place
                    )));
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            // The previous holder has deleted the file, and somebody may have made another one.
            let ours = file.metadata().map_err(failed)?.ino();
            if std::fs::metadata(&path).is_ok_and(|there| there.ino() == ours) {
                return Ok(Self { path, _file: file });
            }
        }
    }
}

impl Drop for LoadLock {
    fn drop(&mut self) {
        // Deleted before the lock is released, so the file is nobody else's yet.
        let _deleted = std::fs::remove_file(&self.path);
    }
}
