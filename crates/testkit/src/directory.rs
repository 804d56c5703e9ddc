//! Temporary directories of tests. Each is deleted with its owner; after a kill, by the next process that makes one.
//!
//! A directory is in use while its process holds a lock on it, as with Lydite's own temporary directories
//! (`families/src/storage.rs`): the kernel releases the lock however the process ends.

use crate::process::own_user;
use rustix::fs::statvfs;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::ops::Deref;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tempfile::TempDir;

/// Free bytes that the data of the servers of a test program fit into.
const ROOM: u64 = 4 << 30;

/// A temporary directory, in use as long as this lives.
#[derive(Debug)]
pub struct Directory {
    directory: TempDir,
    /// Lock of the directory, released after its deletion.
    _lock: File,
}

impl Directory {
    /// Makes a directory whose name has the purpose. The first one of a process deletes those of killed processes.
    ///
    /// # Panics
    /// The system's place for temporary files takes none.
    #[must_use]
    pub fn new(purpose: &str) -> Self {
        Self::below(&std::env::temp_dir(), purpose)
    }

    /// Makes a directory for the data of a server: in memory, if the machine has room there and the user has not named a
    /// place for temporary files. Servers make and delete thousands of files, and on a disk the search for the numbers of
    /// new ones took a sixth of the tests' processor time.
    ///
    /// # Panics
    /// The place takes no directory.
    #[must_use]
    pub fn for_server(purpose: &str) -> Self {
        let memory = Path::new("/dev/shm");
        let named = std::env::var_os("TMPDIR").is_some();
        if !named && free_bytes(memory) >= ROOM { Self::below(memory, purpose) } else { Self::new(purpose) }
    }

    fn below(place: &Path, purpose: &str) -> Self {
        static CLEARED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
        let prefix = prefix();
        if CLEARED.lock().unwrap_or_else(PoisonError::into_inner).insert(place.to_path_buf()) {
            delete_abandoned(place, &prefix);
        }
        loop {
            let directory = tempfile::Builder::new()
                .prefix(&format!("{prefix}{purpose}-"))
                // Servers run as users of their own, and reach their files in it.
                .permissions(Permissions::from_mode(0o755))
                .tempdir_in(place)
                .expect("a temporary directory");
            match locked(directory.path()) {
                Ok(Some(lock)) => return Self { directory, _lock: lock },
                // Before it was locked, another process took it for an abandoned one, and deletes it.
                Ok(None) => _ = directory.keep(),
                Err(error) => panic!("{}: {error}", directory.path().display()),
            }
        }
    }
}

impl Deref for Directory {
    type Target = TempDir;

    fn deref(&self) -> &TempDir {
        &self.directory
    }
}

/// Returns the beginning of the names of this user's directories. A server's user may own one, but the name stays. Nothing
/// else has such a name, in particular no directory that older tests made: they locked none.
fn prefix() -> String {
    format!("lydite-kit-{}-", own_user())
}

/// Returns the free bytes of a file system; 0 if it does not tell.
fn free_bytes(place: &Path) -> u64 {
    statvfs(place).map_or(0, |found| found.f_bavail.saturating_mul(found.f_frsize))
}

/// Opens and locks a directory. None if another process holds the lock, or has deleted the directory.
fn locked(path: &Path) -> io::Result<Option<File>> {
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
        Ok(()) => {}
    }
    let ours = file.metadata()?;
    let there = fs::symlink_metadata(path);
    Ok(there.is_ok_and(|there| (ours.dev(), ours.ino()) == (there.dev(), there.ino())).then_some(file))
}

/// Deletes the directories with this prefix that no process has locked. What can't be deleted stays: a later process
/// tries again.
fn delete_abandoned(place: &Path, prefix: &str) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(prefix);
        if ours && let Ok(Some(_lock)) = locked(&entry.path()) {
            let _tried = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::spawn_for_life;
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};

    /// Variable that makes the test below a process of the other test.
    const ROLE: &str = "LYDITE_TESTKIT_DIRECTORY";

    #[test]
    fn a_process_that_is_killed_leaves_a_directory_to_the_next_one() {
        if std::env::var_os(ROLE).is_some() {
            let directory = Directory::new("role");
            fs::write(directory.path().join("file"), "").unwrap();
            eprintln!("made");
            std::io::stdin().read_line(&mut String::new()).unwrap();
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let directories = || fs::read_dir(place.path()).unwrap().flatten().count();
        let start = || -> Child {
            let mut command = Command::new(std::env::current_exe().unwrap());
            let name = "directory::tests::a_process_that_is_killed_leaves_a_directory_to_the_next_one";
            command.args(["--exact", name, "--nocapture"]).env(ROLE, "on").env("TMPDIR", place.path());
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
            let mut child = spawn_for_life(command, libc::SIGKILL);
            let said = BufReader::new(child.stderr.as_mut().unwrap());
            assert!(said.lines().map_while(Result::ok).any(|line| line.contains("made")));
            child
        };
        // Others of this name are not ours: a file, a link, and a directory of a test that locks nothing.
        let link = place.path().join(format!("{}link", prefix()));
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), &link).unwrap();
        fs::create_dir(place.path().join("lydite-pg-old")).unwrap();
        let (mut used, mut killed) = (start(), start());
        assert_eq!(directories(), 4);
        killed.kill().unwrap();
        killed.wait().unwrap();
        assert_eq!(directories(), 4, "nobody has deleted it");
        let mut next = start();
        assert_eq!(directories(), 4, "that of the killed one is gone, and that of the other is in use");
        for child in [&mut used, &mut next] {
            drop(child.stdin.take());
            child.wait().unwrap();
        }
        assert_eq!(directories(), 2);
        assert!(link.exists() && elsewhere.path().exists());
    }
}
