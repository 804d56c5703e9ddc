//! Dropping a keyspace with its directory, and removing directories that a crash left.

use super::{DiskEngine, TREE_PREFIX, identity, intact};
use crate::error::{self, Error, Result};
use crate::files::{fail_point, remove_tree};
use crate::ids::KeyspaceId;
use std::fs;
use std::io;
use std::path::Path;

impl DiskEngine {
    /// See [`crate::engine::Engine::drop_keyspace`].
    pub(super) fn drop_tree(&self, id: KeyspaceId) -> Result<()> {
        let keyspace = self.keyspace(id)?;
        keyspace.recent.drain(|| self.shared.clock.check())?;
        let cleared = self.shared.clear(keyspace);
        fail_point("disk.before_remove");
        remove_tree(&self.path_of(id))?;
        cleared
    }

    /// Returns true if nothing is at the place of a keyspace's files. Opening leaves the directory of a dropped
    /// keyspace there if somebody else has put a file into it.
    pub(crate) fn has_no_files(&self, id: KeyspaceId) -> Result<bool> {
        let path = self.path_of(id);
        path.try_exists().map(|exists| !exists).map_err(error::io("can't look at", &path))
    }

    /// Removes directories of keyspaces that are not `known`. A crash left them: of a keyspace that was being made, or
    /// of one that was dropped. Leaves everything alone that Gemel did not make.
    ///
    /// # Errors
    /// A directory can't be read or removed.
    pub(crate) fn remove_strays(&self, known: &[KeyspaceId]) -> Result<()> {
        let listing = |source| Error::Io { what: "can't list", path: self.directory.clone(), source };
        for entry in fs::read_dir(&self.directory).map_err(listing)? {
            let entry = entry.map_err(listing)?;
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix(TREE_PREFIX)?.parse().ok());
            let Some(id) = number.map(KeyspaceId) else { continue };
            let path = self.path_of(id);
            // Another spelling of the number, such as with leading zeros, is not Gemel's. A link is no directory here.
            let is_own = path.file_name() == Some(name.as_os_str())
                && !known.contains(&id)
                && entry.file_type().map_err(listing)?.is_dir()
                && is_tree(&path).map_err(listing)?;
            if is_own {
                remove_tree(&path)?;
            }
        }
        Ok(())
    }
}

/// Returns true if a directory has nothing but a tree's files.
fn is_tree(path: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(path)? {
        let name = entry?.file_name();
        let Some(name) = name.to_str() else { return Ok(false) };
        let is_list = name
            .strip_prefix('v')
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
        // A temporary file, which replaces the file `current`, begins with `.tmp`.
        let is_identity = name.strip_suffix(".new").unwrap_or(name) == identity::FILE;
        let is_other = [intact::TABLES, "manifest", intact::CURRENT].contains(&name) || is_identity;
        if !(is_list || is_other || name.starts_with(".tmp")) {
            return Ok(false);
        }
    }
    Ok(true)
}
