//! File systems of labs: ext4 in a file, mounted over a loop device, so that their power can be cut alone.

use crate::error::FaultError;
use crate::programs::program;
use serde::{Deserialize, Serialize};
use std::ffi::{CString, OsStr};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Package of `mount` and `umount`.
const PACKAGE: &str = "mount";
/// `EXT4_IOC_SHUTDOWN`, which takes a number of 32 bits.
const SHUT_DOWN: u64 = 0x8004_587d;
/// Way to shut down without a flush of the journal.
const NO_LOG_FLUSH: u32 = 2;
/// `BLKFLSBUF`: drops the cache of a block device.
const DROP_CACHE: u64 = 0x1261;
/// `LOOP_CLR_FD`: takes the file from a loop device.
const DETACH: u64 = 0x4c01;
/// Longest wait until a loop device lets its file go by itself.
const DETACHES: Duration = Duration::from_secs(5);
/// Time between two looks or tries.
const LOOK: Duration = Duration::from_millis(20);

/// A file system in a file of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    /// Directory where it is mounted.
    pub mount: PathBuf,
    /// File that it is in.
    pub image: PathBuf,
}

impl Volume {
    /// Mounts it, unless it is mounted. ext4 replays its journal first.
    ///
    /// # Errors
    /// The system rejects it.
    pub fn mount(&self) -> Result<(), FaultError> {
        if self.is_mounted()? {
            return Ok(());
        }
        run("mount", &["-o".as_ref(), "loop".as_ref(), self.image.as_os_str(), self.mount.as_os_str()])
    }

    /// Unmounts it if it is mounted, and waits until its loop device has let the file go: a device that is attached again
    /// has no cache of before. Tries as long as `patience`: processes that were killed may not have left it yet.
    ///
    /// # Errors
    /// Somebody uses it, or the system rejects it.
    pub fn unmount(&self, patience: Duration) -> Result<(), FaultError> {
        let begun = Instant::now();
        while self.is_mounted()? {
            let device = self.loop_device();
            match run("umount", &[self.mount.as_os_str()]) {
                Ok(()) => device.map_or(Ok(()), |device| self.detach(&device))?,
                Err(problem) if begun.elapsed() > patience => return Err(problem),
                Err(_) => thread::sleep(LOOK),
            }
        }
        Ok(())
    }

    /// Returns true if it is mounted.
    ///
    /// # Errors
    /// The directory can't be seen.
    pub fn is_mounted(&self) -> Result<bool, FaultError> {
        is_mounted(&self.mount).map_err(|error| FaultError::system(self.mount.display(), error))
    }

    /// Rejects a file system that is not mounted.
    ///
    /// # Errors
    /// It is not mounted, or its directory can't be seen.
    pub(crate) fn require_mounted(&self) -> Result<(), FaultError> {
        if self.is_mounted()? {
            return Ok(());
        }
        Err(FaultError::Lacks(format!("{}: no file system is mounted there", self.mount.display())))
    }

    /// Cuts its power: from now on it writes nothing any more, neither files nor its journal, and each access to a file
    /// fails. It stays mounted.
    ///
    /// # Errors
    /// The system rejects it.
    pub(crate) fn cut(&self) -> Result<(), FaultError> {
        let failed = |error| FaultError::system(format!("shut down {}", self.mount.display()), error);
        let directory = File::open(&self.mount).map_err(failed)?;
        let way = NO_LOG_FLUSH;
        // SAFETY: the descriptor is open, and the kernel reads the number, which outlives the call.
        match unsafe { libc::ioctl(directory.as_raw_fd(), SHUT_DOWN as _, &raw const way) } {
            0 => Ok(()),
            _ => Err(failed(io::Error::last_os_error())),
        }
    }

    /// Returns true if it is mounted, and its power is cut.
    ///
    /// # Errors
    /// The directory can't be seen.
    pub fn is_cut(&self) -> Result<bool, FaultError> {
        // A file without a name leaves nothing behind. A full or a read-only file system has other errors.
        let mut new = OpenOptions::new();
        new.write(true).mode(0o600).custom_flags(libc::O_TMPFILE);
        Ok(self.is_mounted()?
            && new.open(&self.mount).is_err_and(|error| error.raw_os_error() == Some(libc::EIO)))
    }

    /// Returns true if it is an ext4.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn is_ext4(&self) -> io::Result<bool> {
        let path = CString::new(self.mount.as_os_str().as_bytes())?;
        // SAFETY: an all-zero statfs is a valid value of this plain struct.
        let mut found: libc::statfs = unsafe { std::mem::zeroed() };
        // SAFETY: the path is a string with an end, and it and the struct outlive the call.
        match unsafe { libc::statfs(path.as_ptr(), &raw mut found) } {
            0 => Ok(found.f_type == libc::EXT4_SUPER_MAGIC),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Returns the loop device below it, as its folder in `/sys`; none if the file system is on another device.
    fn loop_device(&self) -> Option<PathBuf> {
        let device = fs::metadata(&self.mount).ok()?.dev();
        let about = format!("/sys/dev/block/{}:{}", libc::major(device), libc::minor(device));
        let about = Path::new(&about).canonicalize().ok()?;
        self.is_on(&about).then_some(about)
    }

    /// Returns true if a loop device has the file of this one.
    fn is_on(&self, device: &Path) -> bool {
        let file = fs::read(device.join("loop/backing_file")).unwrap_or_default();
        file.trim_ascii_end() == self.image.as_os_str().as_bytes()
    }

    /// Waits until a loop device has let the file go, which `mount -o loop` asks for. Takes it away if it does not: then its
    /// cache is dropped before.
    fn detach(&self, device: &Path) -> Result<(), FaultError> {
        let begun = Instant::now();
        while self.is_on(device) && begun.elapsed() < DETACHES {
            thread::sleep(LOOK);
        }
        if !self.is_on(device) {
            return Ok(());
        }
        let node = Path::new("/dev").join(device.file_name().unwrap_or_default());
        let failed = |error| FaultError::system(node.display(), error);
        let file = File::open(&node).map_err(failed)?;
        for request in [DROP_CACHE, DETACH] {
            // SAFETY: the descriptor is open, and neither request reads or writes memory.
            if unsafe { libc::ioctl(file.as_raw_fd(), request as _, 0) } != 0 {
                return Err(failed(io::Error::last_os_error()));
            }
        }
        Ok(())
    }
}

/// Runs a program to its end.
fn run(name: &str, arguments: &[&OsStr]) -> Result<(), FaultError> {
    let mut command = Command::new(program(name, PACKAGE)?);
    command.args(arguments).stdin(Stdio::null());
    let output = command.output().map_err(|error| FaultError::system(name, error))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let last = words.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it printed no error");
    // The programs put their own names before their errors.
    let last = last.strip_prefix(&format!("{name}: ")).unwrap_or(last);
    Err(FaultError::Failed(format!("{name}: {last}")))
}

/// Returns true if a file system is mounted at a directory.
///
/// # Errors
/// The directory can't be seen.
fn is_mounted(directory: &Path) -> io::Result<bool> {
    Ok(fs::metadata(directory)?.dev() != fs::metadata(directory.join(".."))?.dev())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_told_from_a_mounted_file_system() {
        let place = tempfile::tempdir().unwrap();
        assert!(!is_mounted(place.path()).unwrap());
        assert!(is_mounted(Path::new("/proc")).unwrap());
        assert!(is_mounted(&place.path().join("gone")).is_err());
    }
}
