//! Directories for the files of one command.

use lydite_console::exit::Failure;
use lydite_faults::process::ProcessId;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A directory for the files of a command, which is removed in the end.
pub(crate) struct Scratch {
    path: PathBuf,
    /// Locks the directory, so that others see that it is in use.
    _locked: File,
}

impl Scratch {
    /// Makes the directory, below that for temporary files. Removes those of commands that were killed.
    pub(crate) fn make(purpose: &str) -> Result<Self, Failure> {
        let (parent, prefix) = (std::env::temp_dir(), format!("lydite-{purpose}-"));
        remove_left(&parent, &prefix);
        let path = parent.join(format!("{prefix}{}", std::process::id()));
        let made = make_locked(&path);
        let locked = made.map_err(|error| {
            Failure::usage(format!("{}: {error}: set TMPDIR to another place", path.display()))
        })?;
        Ok(Self { path, _locked: locked })
    }

    /// Returns its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Left for the system to clean up if it can't be removed.
        let _removed = fs::remove_dir_all(&self.path);
    }
}

/// Makes a directory and locks it.
fn make_locked(path: &Path) -> io::Result<File> {
    loop {
        DirBuilder::new().mode(0o700).create(path)?;
        // Before the lock another command may have taken the directory to be left, and have removed it.
        let locked = File::open(path).and_then(|directory| directory.lock().map(|()| directory));
        match locked {
            Ok(directory) if path.exists() => return Ok(directory),
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
}

/// Removes directories of this user with this prefix and the number of a process that has ended, if nobody has locked
/// them. What can't be removed stays.
fn remove_left(parent: &Path, prefix: &str) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(prefix)).map(str::parse::<u32>);
        // A process of another container may have the same number, so the lock counts, too.
        if let Some(Ok(number)) = number
            && ProcessId::of(number).is_none()
            && is_unlocked(&entry.path()).unwrap_or(false)
        {
            let _removed = fs::remove_dir_all(entry.path());
        }
    }
}

/// Returns true for a directory of this user that nobody has locked.
fn is_unlocked(path: &Path) -> io::Result<bool> {
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let directory = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    // SAFETY: geteuid has no preconditions.
    let own = directory.metadata()?.uid() == unsafe { libc::geteuid() };
    Ok(own && directory.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_that_nobody_uses_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        // No process has these numbers: they are above the largest of Linux.
        let [used, left, file] =
            ["work-4194305", "work-4194306", "work-4194307"].map(|name| parent.path().join(name));
        let own = parent.path().join(format!("work-{}", std::process::id()));
        let others = [own, parent.path().join("work-of-somebody"), parent.path().join("4194308")];
        let locked = make_locked(&used).unwrap();
        drop(make_locked(&left).unwrap());
        fs::write(left.join("file"), "").unwrap();
        fs::write(&file, "").unwrap();
        others.iter().for_each(|other| fs::create_dir(other).unwrap());
        remove_left(parent.path(), "work-");
        assert!(used.exists() && !left.exists() && file.exists());
        assert!(others.iter().all(|other| other.exists()));
        drop(locked);
        assert_eq!(make_locked(&used).unwrap_err().kind(), ErrorKind::AlreadyExists);
    }
}
