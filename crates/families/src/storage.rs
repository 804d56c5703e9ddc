//! Places of an embedded database's files.
//!
//! A file system in memory loses everything when power is lost, whatever the database does at a commit. A temporary
//! directory is deleted when its process ends; after a kill, the next process deletes it.

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::process::geteuid;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use tempfile::TempDir;

/// Returns the prefix of the names of this host's temporary directories. A run deletes the directories with this prefix
/// that nobody has locked. Other hosts need other prefixes, because hosts that share a file system may not see each
/// other's locks.
fn prefix() -> String {
    format!("lydite-tmp-{}-", rustix::system::uname().nodename().to_string_lossy())
}

/// A temporary directory of this process. Dropping it deletes it. After a kill, the next process that makes one deletes
/// it.
#[derive(Debug)]
pub(crate) struct Temporary {
    directory: TempDir,
    /// Lock of the directory, held as long as the process lives and dropped after the directory. `None` on a file
    /// system without locks, where no process takes the directory for an abandoned one.
    _lock: Option<File>,
}

impl Temporary {
    /// Makes a directory in the system's place for temporary files, and deletes those of killed processes.
    pub(crate) fn new() -> io::Result<Self> {
        Self::new_in(&std::env::temp_dir())
    }

    fn new_in(place: &Path) -> io::Result<Self> {
        let prefix = prefix();
        delete_abandoned(place, &prefix);
        loop {
            let private = fs::Permissions::from_mode(0o700);
            let directory =
                tempfile::Builder::new().prefix(&prefix).permissions(private).tempdir_in(place)?;
            // Until it is locked, another process may take it for an abandoned one and delete it.
            match lock_directory(directory.path()) {
                Ok(Lock::Ours(lock)) => return Ok(Self { directory, _lock: Some(lock) }),
                Ok(Lock::Others | Lock::Gone) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(_) => return Ok(Self { directory, _lock: None }),
            }
            // The other process deletes it.
            let _gone = directory.keep();
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Outcome of [`lock`].
pub(crate) enum Lock {
    /// The lock is held until the file is closed.
    Ours(File),
    /// Another process holds the lock.
    Others,
    /// Another process held the lock and deleted the file.
    Gone,
}

/// Opens and locks the file at `path`. Does not follow a symbolic link.
pub(crate) fn lock(path: &Path, flags: OFlags, mode: Mode) -> io::Result<Lock> {
    let file = File::from(open(path, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, mode)?);
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => return Ok(Lock::Others),
        Err(error) => return Err(error.into()),
    }
    let ours = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(there) if (ours.dev(), ours.ino()) == (there.dev(), there.ino()) => Ok(Lock::Ours(file)),
        Ok(_) => Ok(Lock::Gone),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Lock::Gone),
        Err(error) => Err(error),
    }
}

fn lock_directory(path: &Path) -> io::Result<Lock> {
    lock(path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())
}

/// Deletes the temporary directories of killed processes of this user on this host. Errors are ignored: a later process
/// tries again.
fn delete_abandoned(place: &Path, prefix: &str) {
    let Ok(entries) = fs::read_dir(place) else { return };
    for entry in entries.flatten() {
        if !entry.file_name().to_string_lossy().starts_with(prefix) {
            continue;
        }
        let path = entry.path();
        let Ok(Lock::Ours(lock)) = lock_directory(&path) else { continue };
        let own = |there: fs::Metadata| there.uid() == geteuid().as_raw() && there.mode() & 0o7777 == 0o700;
        if lock.metadata().is_ok_and(own) {
            let _tried = fs::remove_dir_all(&path);
        }
    }
}

/// Returns the kind of the file system in memory that `path` is on, or will be on when it is made. `None` for any other
/// file system, and if the system does not say.
pub(crate) fn in_memory(path: &Path) -> Option<&'static str> {
    let path = std::path::absolute(path).ok()?;
    // A missing path will be made in the closest existing directory above it.
    kind(path.ancestors().find(|place| place.exists())?)
}

#[cfg(target_os = "linux")]
fn kind(path: &Path) -> Option<&'static str> {
    /// Magic numbers and names, from `linux/magic.h`.
    const KINDS: [(u32, &str); 2] = [(0x0102_1994, "tmpfs"), (0x8584_58f6, "ramfs")];
    // The width of the field differs between processors, its lower 32 bits do not.
    let found = rustix::fs::statfs(path).ok()?.f_type as u32;
    KINDS.into_iter().find(|(magic, _)| *magic == found).map(|(_, name)| name)
}

#[cfg(not(target_os = "linux"))]
fn kind(_path: &Path) -> Option<&'static str> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn shared_memory_is_memory_also_for_a_file_that_is_not_there_yet_and_the_kernels_own_files_are_not() {
        // Every usual system mounts it. Without it there is nothing to test.
        if Path::new("/dev/shm").exists() {
            assert_eq!(in_memory(Path::new("/dev/shm/lydite-is-not-here/tpcc.sqlite")), Some("tmpfs"));
        }
        assert_eq!(in_memory(Path::new("/proc/version")), None);
    }

    fn names(place: &Path) -> Vec<String> {
        let entries = fs::read_dir(place).unwrap().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_temporary_directory_is_private_and_goes_when_it_is_dropped() {
        let place = tempfile::tempdir().unwrap();
        let directory = Temporary::new_in(place.path()).unwrap();
        assert_eq!(fs::metadata(directory.path()).unwrap().mode() & 0o7777, 0o700);
        drop(directory);
        assert!(names(place.path()).is_empty());
    }

    #[test]
    fn only_private_directories_that_nobody_has_locked_are_deleted() {
        let place = tempfile::tempdir().unwrap();
        let held = Temporary::new_in(place.path()).unwrap();
        let make = |name: &str, mode: u32| {
            let path = place.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("data"), "kept").unwrap();
            fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            path
        };
        let prefix = prefix();
        let ours = |name: &str| format!("{prefix}{name}");
        make(&ours("killed"), 0o700);
        make(&ours("shared"), 0o755);
        // A directory that a live process of another host has; its lock can't be seen here.
        make("lydite-tmp-elsewhere-abcdef", 0o700);
        let other = make("another", 0o700);
        fs::write(place.path().join(ours("file")), "kept").unwrap();
        std::os::unix::fs::symlink(&other, place.path().join(ours("link"))).unwrap();
        let next = Temporary::new_in(place.path()).unwrap();
        let named =
            |directory: &Temporary| directory.path().file_name().unwrap().to_str().unwrap().to_owned();
        let mut expected = vec!["another".to_owned(), "lydite-tmp-elsewhere-abcdef".to_owned()];
        expected.extend(["file", "link", "shared"].map(ours));
        expected.extend([named(&held), named(&next)]);
        expected.sort();
        assert_eq!(names(place.path()), expected);
        assert_eq!(fs::read_to_string(other.join("data")).unwrap(), "kept");
    }

    #[test]
    fn directories_made_at_once_by_many_are_never_deleted_under_their_owners() {
        let place = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let directory = Temporary::new_in(place.path()).unwrap();
                        fs::write(directory.path().join("data"), "own").unwrap();
                        assert_eq!(fs::read_to_string(directory.path().join("data")).unwrap(), "own");
                    }
                });
            }
        });
        assert!(names(place.path()).is_empty());
    }
}
