//! Clocks that faults can move: the servers run with libfaketime, which reads the offset of a server's clock from a file.

use crate::privacy::write_private;
use lydite_console::exit::Failure;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The library for processes with one thread, as PostgreSQL's are.
const LIBRARY: &str = "faketime/libfaketime.so.1";
/// Directories of libraries. Debian has one for each architecture in the first.
const DIRECTORIES: [&str; 3] = ["/usr/lib", "/usr/lib64", "/usr/local/lib"];

/// The clock of a server.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Clock {
    library: PathBuf,
    /// File with the offset in seconds.
    file: PathBuf,
}

impl Clock {
    /// Writes an offset of zero, unless the server had a clock before.
    pub(crate) fn make(&self) -> io::Result<()> {
        if self.file.exists() {
            return Ok(());
        }
        write_private(&self.file, "+0\n", None)?;
        // For the servers' user; the lab's directory keeps others out.
        fs::set_permissions(&self.file, fs::Permissions::from_mode(0o644))
    }

    /// Returns the variables that a server is started with.
    pub(crate) fn environment(&self) -> [(&'static str, OsString); 5] {
        [
            ("LD_PRELOAD", self.library.clone().into()),
            ("FAKETIME_TIMESTAMP_FILE", self.file.clone().into()),
            // A process looks at the file in each new second.
            ("FAKETIME_CACHE_DURATION", "0".into()),
            // A jump moves the time of day alone: neither time-outs nor the times of files.
            ("DONT_FAKE_MONOTONIC", "1".into()),
            ("NO_FAKE_STAT", "1".into()),
        ]
    }
}

/// Returns the installed library.
pub(crate) fn library() -> Result<PathBuf, Failure> {
    let below = |directory: &str| {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        std::iter::once(PathBuf::from(directory)).chain(entries.map(|entry| entry.path())).collect::<Vec<_>>()
    };
    let mut found = DIRECTORIES.into_iter().flat_map(below).map(|directory| directory.join(LIBRARY));
    found.find(|library| library.exists()).ok_or_else(|| {
        Failure::usage(
            "--clock needs libfaketime, which is not found: install it (Debian: apt-get install libfaketime)",
        )
    })
}

/// Returns the clock of a server of the lab in a directory.
pub(crate) fn clock(library: &Path, directory: &Path, server: usize) -> Clock {
    Clock { library: library.to_owned(), file: directory.join(format!("clock-{server}")) }
}
