//! The file in a tree's directory that says to which database and keyspace the tree belongs. Trees of one database look
//! alike, and like those of another, so a copied tree would otherwise be taken for the right one.
//!
//! The file is one line: `gemel-tree`, the database's number and the keyspace's number (16 and 8 hexadecimal digits),
//! and a checksum of the text before it. The tree's crate ignores a file of this name.

use crate::error::{Error, Result};
use crate::files::{self, RealFiles};
use crate::ids::KeyspaceId;
use std::io::ErrorKind;
use std::path::Path;

/// Name of the file.
pub(crate) const FILE: &str = "gemel.id";

/// Returns the file's content for a keyspace of a database.
pub(crate) fn text(database: u64, keyspace: KeyspaceId) -> String {
    sealed(&format!("gemel-tree {database:016x} {:08x}", keyspace.0))
}

fn sealed(said: &str) -> String {
    format!("{said} {:08x}\n", crc32fast::hash(said.as_bytes()))
}

/// Returns true if the tree in a directory belongs to this keyspace, and false if nothing says to which it belongs.
///
/// # Errors
/// The tree belongs to another database or keyspace, or the file is damaged or can't be read.
pub(super) fn verify(tree: &Path, database: u64, keyspace: KeyspaceId) -> Result<bool> {
    let path = tree.join(FILE);
    let found = match std::fs::read(&path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(source) => return Err(Error::Io { what: "can't read", path, source }),
    };
    if found == text(database, keyspace).as_bytes() {
        return Ok(true);
    }
    let said = std::str::from_utf8(&found).ok().and_then(|found| found.trim_end().rsplit_once(' '));
    let what = match said {
        Some((said, _)) if sealed(said).as_bytes() == found => {
            format!("the tree belongs to \"{said}\", not \"{}\"", text(database, keyspace).trim_end())
        }
        _ => "the file is damaged".into(),
    };
    Err(Error::Corruption { path, what: format!("{what}: restore the directory from a backup") })
}

/// Writes the file. It is durable when this returns.
pub(super) fn write(tree: &Path, database: u64, keyspace: KeyspaceId) -> Result<()> {
    files::replace(&RealFiles, &tree.join(FILE), text(database, keyspace).as_bytes())
}
