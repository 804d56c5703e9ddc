//! The names in a database's directory, and what may be there without a manifest.

use crate::error::{Error, Result, io};
use crate::manifest::{self, Manifest};
use crate::options::LogMode;
use crate::recovery::{self, DISK_DIRECTORY};
use std::fs;
use std::path::{Path, PathBuf};

/// Prefix of the names of checkpoint files.
pub(crate) const CHECKPOINT_PREFIX: &str = "checkpoint-";

/// Returns a path as it is from the root.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf> {
    if path.as_os_str().is_empty() {
        return Err(Error::Usage("the path is empty: name a directory".to_owned()));
    }
    std::path::absolute(path).map_err(io("can't find", path))
}

/// Returns true if an entry of this name has a database's data.
pub(crate) fn is_data(name: &str) -> bool {
    let is_log = |log: &&str| name.strip_prefix(log).is_some_and(|rest| rest.starts_with('-'));
    let logs = [LogMode::Shared, LogMode::PerEngine].into_iter().flat_map(recovery::log_names);
    [manifest::FILE, manifest::TEMPORARY, DISK_DIRECTORY].contains(&name)
        || is_checkpoint(name)
        || (name.ends_with(".log") || name.ends_with(".spare")) && logs.copied().any(|log| is_log(&log))
}

/// Returns true for the name of a checkpoint, complete or not.
pub(crate) fn is_checkpoint(name: &str) -> bool {
    let rest = name.strip_prefix(CHECKPOINT_PREFIX);
    let digits = rest.and_then(|rest| rest.strip_suffix(".new").unwrap_or(rest).strip_suffix(".gmc"));
    digits.is_some_and(|digits| {
        digits.len() == 16 && digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// Checks that a directory without a manifest is empty: only then a database may be made in it.
pub(crate) fn check_fresh(path: &Path) -> Result<()> {
    check_for_remains(path)?;
    let entries = fs::read_dir(path).map_err(io("can't read the directory", path))?;
    for entry in entries {
        let name = entry.map_err(io("can't read the directory", path))?.file_name();
        // An interrupted first opening may have left this file.
        if name != manifest::TEMPORARY {
            return Err(Error::Usage(format!(
                "{} holds {} and is not a Gemel database: name an empty directory or another path",
                path.display(),
                name.display()
            )));
        }
    }
    Ok(())
}

/// Returns an error if a directory without a manifest has logs or checkpoints: those of a database that has lost its
/// manifest.
pub(crate) fn check_for_remains(path: &Path) -> Result<()> {
    let is_lost = |name: &str| is_data(name) && ![manifest::TEMPORARY, DISK_DIRECTORY].contains(&name);
    for entry in fs::read_dir(path).map_err(io("can't read the directory", path))? {
        let name = entry.map_err(io("can't read the directory", path))?.file_name();
        if is_lost(&name.to_string_lossy()) {
            return Err(Error::Corruption {
                path: Manifest::path(path),
                what: format!(
                    "the file is missing, but {} of a database is there: restore the directory from a backup",
                    name.display()
                ),
            });
        }
    }
    Ok(())
}

/// Returns the error for a directory without a database.
pub(crate) fn no_database(path: &Path) -> Error {
    Error::Usage(format!(
        "there is no Gemel database in {}: name the directory of a database",
        path.display()
    ))
}
