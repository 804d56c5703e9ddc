//! The pages of the book.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Returns the directory of the workspace, without links and dots.
///
/// # Errors
/// The system's error.
pub fn root() -> io::Result<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()
}

/// Returns the paths of the book's pages, which begin with [`root`], in no order.
///
/// # Errors
/// The system's error: a directory can't be read.
pub fn pages() -> io::Result<Vec<PathBuf>> {
    let mut pages = Vec::new();
    add(&root()?.join("docs/src"), &mut pages)?;
    Ok(pages)
}

fn add(directory: &Path, into: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            add(&path, into)?;
        } else if path.extension().is_some_and(|extension| extension == "md") {
            into.push(path);
        }
    }
    Ok(())
}
