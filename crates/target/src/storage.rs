//! Where the files of an embedded database lie: a file system in memory keeps nothing when power is lost, whatever
//! the database does at a commit.

use std::path::Path;

/// The kind of the file system in memory that `path` is on, or will be when it is made; none for any other, and where
/// the system does not tell.
pub(crate) fn in_memory(path: &Path) -> Option<&'static str> {
    let path = std::path::absolute(path).ok()?;
    // What is not there yet will be made in the closest directory above.
    kind(path.ancestors().find(|place| place.exists())?)
}

#[cfg(target_os = "linux")]
fn kind(path: &Path) -> Option<&'static str> {
    /// From linux/magic.h.
    const KINDS: [(u32, &str); 2] = [(0x0102_1994, "tmpfs"), (0x8584_58f6, "ramfs")];
    // The width of the field differs between processors, not its lower 32 bits.
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
        // Mounted by every usual system; where it is not there is nothing to look at.
        if Path::new("/dev/shm").exists() {
            assert_eq!(in_memory(Path::new("/dev/shm/lydite-is-not-here/tpcc.sqlite")), Some("tmpfs"));
        }
        assert_eq!(in_memory(Path::new("/proc/version")), None);
    }
}
