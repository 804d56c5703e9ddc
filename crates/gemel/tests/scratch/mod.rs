//! Directories for databases that no power cut meets.

use std::path::Path;

/// Makes a directory, in memory where possible: otherwise syncs take most of the time.
pub(crate) fn directory() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}
