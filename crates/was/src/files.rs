//! The limit on open files, which each line takes one of.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fmt;

/// Files that a process opens beside its lines: sessions, logs, documents.
const SPARE: u64 = 256;

/// A limit on open files that is too low for the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoFiles {
    /// Lines that were wanted.
    pub lines: u64,
    /// Files that this process may open.
    pub limit: u64,
}

impl fmt::Display for NoFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} lines of terminals need {} open files, and this process may open {}: raise the limit (ulimit -Hn) or \
             use fewer terminals",
            self.lines,
            self.lines.saturating_add(SPARE),
            self.limit
        )
    }
}

/// Raises the limit on open files as far as the system lets this process, and checks that it is enough for `lines`.
///
/// # Errors
/// The limit stays too low.
pub fn make_room(lines: u64) -> Result<(), NoFiles> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // If the system refuses, the limit that is left decides.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    match getrlimit(Resource::Nofile).current {
        Some(limit) if limit < lines.saturating_add(SPARE) => Err(NoFiles { lines, limit }),
        _ => Ok(()),
    }
}
