//! Space on the disk for the trees' files.
//!
//! A flush or compaction that finds no space has worked in vain. So each of them looks first if there is space, and waits
//! if there is not. Another user of the disk may still take it in between; then the attempt is repeated.

use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// Bytes that stay free for the log, and for what a file takes beside its rows.
const SPARE_BYTES: u64 = 4 << 20;

pub(super) struct Space {
    directory: PathBuf,
    /// Returns the bytes that a test declares to be free.
    #[cfg(test)]
    pub(super) declared: parking_lot::Mutex<Box<dyn Fn() -> u64 + Send + Sync>>,
}

impl Space {
    pub(super) fn new(directory: &Path) -> Self {
        Self {
            directory: directory.into(),
            #[cfg(test)]
            declared: parking_lot::Mutex::new(Box::new(|| u64::MAX)),
        }
    }

    /// Checks that `bytes` more fit on the disk.
    ///
    /// # Errors
    /// [`Error::DiskFull`] if they don't. If the system does not tell, they count as fitting.
    pub(super) fn check(&self, bytes: u64) -> Result<()> {
        let needed = bytes.saturating_add(SPARE_BYTES);
        let free = self.free();
        #[cfg(test)]
        let free = free.map(|free| free.min(self.declared.lock()()));
        match free {
            Some(free) if free < needed => Err(Error::DiskFull(format!(
                "the disk is full (tables on disk need {needed} bytes in {}, and {free} are free)",
                self.directory.display()
            ))),
            _ => Ok(()),
        }
    }

    #[cfg(unix)]
    fn free(&self) -> Option<u64> {
        let system = rustix::fs::statvfs(&self.directory).ok()?;
        // Some file systems have no notion of size.
        (system.f_blocks > 0).then(|| system.f_bavail.saturating_mul(system.f_frsize))
    }

    #[cfg(not(unix))]
    fn free(&self) -> Option<u64> {
        None
    }
}
