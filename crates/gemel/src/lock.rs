//! Locks on directories, which keep processes apart.

use crate::error::{Error, Result, io};
use std::fs::{self, TryLockError};
use std::path::Path;

/// An exclusive lock on a directory. Dropping it releases the lock.
///
/// Closing a file alone may not release its lock: a process that another thread is just starting has a copy of the
/// descriptor until it runs its own program.
#[derive(Debug)]
pub(crate) struct Lock(fs::File);

impl Drop for Lock {
    fn drop(&mut self) {
        // There is nobody to tell. Closing the file releases the lock too, only later.
        let _ = self.0.unlock();
    }
}

impl Lock {
    /// Locks a directory, unless another holder has it locked: then this returns none.
    pub(crate) fn try_take(directory: &Path) -> Result<Option<Self>> {
        let file = fs::File::open(directory).map_err(io("can't open", directory))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(io("can't lock", directory)(error)),
        }
    }

    /// Locks a directory, and waits for that until the other holder releases it.
    pub(crate) fn wait_for(directory: &Path) -> Result<Self> {
        let file = fs::File::open(directory).map_err(io("can't open", directory))?;
        file.lock().map_err(io("can't lock", directory))?;
        Ok(Self(file))
    }

    /// Locks the directory of a database: the directory itself, because a file in it could be deleted, and another
    /// process would then lock a new one.
    pub(crate) fn of_database(path: &Path) -> Result<Self> {
        Self::try_take(path)?.ok_or_else(|| Error::AlreadyOpen(path.into()))
    }
}

/// Returns true if the database in a directory is open, here or in another process.
pub(crate) fn is_open(path: &Path) -> bool {
    matches!(Lock::try_take(path), Ok(None))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::io::{Read, Write, pipe};
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    #[test]
    fn a_lock_is_released_while_a_process_that_is_being_started_has_a_copy_of_its_descriptor() {
        let directory = tempfile::tempdir().unwrap();
        let lock = Lock::of_database(directory.path()).unwrap();
        assert!(is_open(directory.path()));
        let (mut is_started, mut started) = pipe().unwrap();
        let (mut goes_on, mut go_on) = pipe().unwrap();
        let child = std::thread::spawn(move || {
            let mut command = Command::new("true");
            let wait = move || {
                started.write_all(b"s")?;
                goes_on.read_exact(&mut [0])
            };
            // SAFETY: the closure only writes to a pipe and reads from one, both allowed between fork and exec.
            unsafe { command.pre_exec(wait) };
            command.status().unwrap()
        });
        is_started.read_exact(&mut [0]).unwrap();
        // Until it may go on, the child has a copy of the lock's descriptor.
        let before = is_open(directory.path());
        drop(lock);
        let after = is_open(directory.path());
        let again = Lock::of_database(directory.path());
        go_on.write_all(b"g").unwrap();
        assert!(before && !after && again.is_ok(), "{before}, {after}, {again:?}");
        assert!(child.join().unwrap().success());
    }
}
