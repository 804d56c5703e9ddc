//! Plain copies of a database that nobody writes to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{fs, io};

/// Copies a directory with all that is in it, as `cp -a` does. The background work of an open database, such as a merge,
/// may replace files meanwhile: then the copy begins again.
#[track_caller]
pub(crate) fn copy_directory(from: &Path, to: &Path) {
    loop {
        let (before, copied, after) = (files(from), copy(from, to), files(from));
        match (before, copied, after) {
            (Ok(before), Ok(()), Ok(after)) if before == after => return,
            (Ok(_), Ok(()), Ok(_)) => {}
            (Err(error), ..) | (_, Err(error), _) | (.., Err(error)) => {
                assert_eq!(error.kind(), io::ErrorKind::NotFound, "{error}");
            }
        }
        fs::remove_dir_all(to).unwrap();
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

/// Returns all files of a directory, with their length and the time of their last change.
fn files(directory: &Path) -> io::Result<BTreeMap<PathBuf, (u64, SystemTime)>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.extend(files(&entry.path())?);
        } else {
            let metadata = entry.metadata()?;
            found.insert(entry.path(), (metadata.len(), metadata.modified()?));
        }
    }
    Ok(found)
}
