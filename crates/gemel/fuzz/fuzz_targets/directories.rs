//! Bytes as damages of a closed database: see `gemel::fuzzing`.
#![no_main]

use gemel::fuzzing::closed::Closed;
use std::sync::LazyLock;

/// Databases of this process, and the directory that is removed with it.
static DATABASES: LazyLock<(tempfile::TempDir, [Closed; 2])> = LazyLock::new(|| {
    let memory = std::path::Path::new("/dev/shm");
    let directory = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let directory = directory.expect("a temporary directory");
    let databases = gemel::fuzzing::databases(directory.path());
    (directory, databases)
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| gemel::fuzzing::directories(&DATABASES.1, data));
