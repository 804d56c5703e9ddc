//! A file system of its own for the data of a lab: ext4 in a sparse file on a loop device, mounted in the lab's directory.

use crate::error::LabError;
use crate::privacy::own_user;
use crate::programs::{program, run_to_end};
use lydite_console::exit::{Failure, Outcome};
use lydite_faults::{FaultError, Volume};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Smallest file system, in bytes: a new server and its log fit.
const LEAST: u64 = 256 << 20;
/// Longest wait until the processes of ended servers have left the file system.
const PATIENCE: Duration = Duration::from_secs(30);
/// Package of the programs.
const PACKAGES: &str = "e2fsprogs mount";

/// The file system of a lab.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct Disk {
    /// File that it is in, and the directory where it is mounted.
    #[serde(flatten)]
    pub(crate) volume: Volume,
    /// Size in bytes.
    bytes: u64,
}

impl Disk {
    /// Plans the file system of the lab in a directory. Nothing is made yet.
    ///
    /// # Errors
    /// This user can't mount, the programs are missing, or the size is wrong.
    pub(crate) fn plan(size: &str, directory: &Path) -> Result<Self, Failure> {
        let bytes = bytes(size).ok_or_else(|| {
            Failure::usage(format!("--disk {size}: write a size from {}M, as 4G or 512M", LEAST >> 20))
        })?;
        if own_user() != 0 {
            return Err(Failure::usage("--disk mounts a file system: run lydite as root"));
        }
        for name in ["mkfs.ext4", "mount", "umount"] {
            program(name, PACKAGES)?;
        }
        let volume = Volume { mount: directory.join("disk"), image: directory.join("disk.image") };
        Ok(Self { volume, bytes })
    }

    /// Makes the file system and mounts it. `user` is the user and group of the servers.
    pub(crate) fn make(&self, user: Option<(u32, u32)>) -> Outcome {
        self.try_make(user).map_err(|problem| {
            Failure::usage(format!("--disk: {problem}: name another directory with --dir"))
        })
    }

    fn try_make(&self, user: Option<(u32, u32)>) -> Result<(), LabError> {
        let of = |path: &Path| {
            let path = path.display().to_string();
            move |error| LabError::system(&path, error)
        };
        let group = user.map(|(_, group)| group);
        let Volume { mount, image } = &self.volume;
        let above = image.parent().unwrap_or(Path::new("/"));
        let free = free(above).map_err(of(above))?;
        // Without room for the image, the servers would meet a broken disk instead of a full one.
        if free < self.bytes {
            let words = format!("{} has only {} MiB of free space", above.display(), free >> 20);
            return Err(LabError::Failed(words));
        }
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(image);
        file.and_then(|file| file.set_len(self.bytes)).map_err(of(image))?;
        let mut mkfs = Command::new(program("mkfs.ext4", PACKAGES)?);
        // No space that only root can use: a full disk is full for the servers.
        mkfs.args(["-q", "-m", "0"]).arg(image).stdin(Stdio::null());
        run_to_end(mkfs, "mkfs.ext4")?;
        DirBuilder::new().mode(0o700).create(mount).map_err(of(mount))?;
        self.volume.mount()?;
        chown(mount, Some(own_user()), group).map_err(of(mount))?;
        fs::set_permissions(mount, fs::Permissions::from_mode(0o710)).map_err(of(mount))
    }

    /// Brings everything that the file system has in memory to its file. Programs that make the data of a server skip that,
    /// and a server syncs only what it writes itself: a power cut would lose the rest.
    ///
    /// # Errors
    /// The file rejects it.
    pub(crate) fn sync(&self) -> Outcome {
        let failed = |error: io::Error| {
            Failure::Target(format!("{} can't be synced: {error}", self.volume.mount.display()))
        };
        let directory = fs::File::open(&self.volume.mount).map_err(failed)?;
        // SAFETY: the descriptor is open, and syncfs has no memory preconditions.
        match unsafe { libc::syncfs(directory.as_raw_fd()) } {
            0 => Ok(()),
            _ => Err(failed(io::Error::last_os_error())),
        }
    }

    /// Mounts the file system unless it is mounted. `end` ends the servers: it is called if a power cut that was broken off
    /// has left the file system without power, which no server can use.
    ///
    /// # Errors
    /// The system rejects it, or the servers don't end.
    pub(crate) fn mount_again(&self, end: impl FnOnce() -> Outcome) -> Outcome {
        if self.is_cut()? {
            end()?;
            self.unmount()?;
        }
        self.volume.mount().map_err(rejected)
    }

    /// Returns true if the file system is mounted and has no power: a power cut was broken off.
    ///
    /// # Errors
    /// The directory can't be seen.
    pub(crate) fn is_cut(&self) -> Result<bool, Failure> {
        // Without its directory the lab's start was broken off before.
        Ok(self.volume.mount.exists() && self.volume.is_cut().map_err(rejected)?)
    }

    /// Unmounts the file system, if it is mounted.
    pub(crate) fn unmount(&self) -> Outcome {
        if self.volume.mount.exists() { self.volume.unmount(PATIENCE).map_err(rejected) } else { Ok(()) }
    }
}

/// Returns the failure of a file system that the system rejects.
fn rejected(problem: FaultError) -> Failure {
    Failure::Target(problem.to_string())
}

/// Returns the free space of the file system that has a directory, in bytes.
fn free(directory: &Path) -> io::Result<u64> {
    let found = rustix::fs::statvfs(directory)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Reads a size in bytes, as `4G` or `512M`.
fn bytes(size: &str) -> Option<u64> {
    let units = [('M', 20), ('G', 30), ('T', 40)];
    let (number, shift) = units.iter().find_map(|(unit, shift)| Some((size.strip_suffix(*unit)?, *shift)))?;
    let number: u64 = number.parse().ok()?;
    number.checked_mul(1 << shift).filter(|bytes| *bytes >= LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        assert_eq!(bytes("256M"), Some(256 << 20));
        assert_eq!(bytes("4G"), Some(4 << 30));
        for wrong in ["255M", "4", "G", "-1G", "1.5G", "4GB", "99999999999999T"] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
    }
}
