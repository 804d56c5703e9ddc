//! Directories for the files of one command.

use crate::exit::Failure;
use std::fs;
use std::path::{Path, PathBuf};

/// A directory for the files of a command, which is removed in the end.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Makes the directory, below that for temporary files.
    pub(crate) fn make(purpose: &str) -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("lydite-{purpose}-{}", std::process::id()));
        fs::create_dir(&path).map_err(|error| {
            Failure::usage(format!("{}: {error}: set TMPDIR to another place", path.display()))
        })?;
        Ok(Self(path))
    }

    /// Returns its path.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Left for the system to clean up if it can't be removed.
        let _removed = fs::remove_dir_all(&self.0);
    }
}
