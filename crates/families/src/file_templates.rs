//! Templates of a database that is a directory or a file: copies beside it, with a longer name.

use crate::templates::{Template, TemplateList, is_template_name};
use lydite_database::TargetError;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A database in a directory or a file.
#[derive(Debug)]
pub(crate) struct FileTemplates(PathBuf);

impl FileTemplates {
    pub(crate) fn of(path: &Path) -> Self {
        Self(real(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn shown(&self) -> String {
        self.0.display().to_string()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        beside(&self.0, name).exists()
    }

    /// Copies the database to a template.
    pub(crate) fn keep(&self, name: &str) -> Result<(), TargetError> {
        replace(&self.0, &beside(&self.0, name)).map_err(|error| self.failed("copy", &error))
    }

    /// Replaces the database by a copy of a template.
    pub(crate) fn bring_back(&self, name: &str) -> Result<(), TargetError> {
        replace(&beside(&self.0, name), &self.0).map_err(|error| self.failed("restore", &error))
    }

    /// Deletes a template, if it exists.
    pub(crate) fn delete(&self, name: &str) -> Result<(), TargetError> {
        let deleted = set_aside(&beside(&self.0, name)).and_then(|gone| remove(&gone));
        deleted.map_err(|error| self.failed("delete the template of", &error))
    }

    /// Lists the templates, and what stopped copies and removals left, by the text behind the name of the database.
    pub(crate) fn list(&self) -> Result<TemplateList, TargetError> {
        let failed = |error: io::Error| self.failed("look for templates of", &error);
        let Some(own) = self.0.file_name() else { return Ok(TemplateList::default()) };
        let entries = match fs::read_dir(parent_of(&self.0)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(TemplateList::default()),
            entries => entries.map_err(failed)?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let name = entry.map_err(failed)?.file_name();
            let rest = name.as_encoded_bytes().strip_prefix(own.as_encoded_bytes());
            let Some(rest) = rest.and_then(|rest| std::str::from_utf8(rest).ok()) else { continue };
            if is_left(rest) {
                let path = with_suffix(&self.0, rest);
                let bytes = size(&path);
                found.push(Template { name: rest.to_owned(), shown: path.display().to_string(), bytes });
            }
        }
        found.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(TemplateList { found, unknown: Vec::new() })
    }

    /// Deletes one of those that [`FileTemplates::list`] lists.
    pub(crate) fn delete_listed(&self, name: &str) -> Result<(), TargetError> {
        remove(&with_suffix(&self.0, name)).map_err(|error| self.failed("delete the template of", &error))
    }

    pub(crate) fn failed(&self, doing: &str, error: &io::Error) -> TargetError {
        TargetError::database(format!("{}: {doing} the database: {error}", self.shown()))
    }
}

/// Returns the path without links and dots. With them a template could end up within the database or on another disk,
/// and a removal would take the link and leave the database.
pub(crate) fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (parent_of(path).canonicalize(), path.file_name()) {
        (Ok(parent), Some(name)) => parent.join(name),
        _ => path.to_path_buf(),
    }
}

/// Returns the directory of a path: the working directory for a name alone.
fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns the path of the template of a database in a directory or a file.
fn beside(path: &Path, name: &str) -> PathBuf {
    with_suffix(path, &format!(".{name}"))
}

/// Returns the path with a suffix behind its name.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Returns the bytes of a file, or of the files of a directory; `None` if they can't be read.
pub(crate) fn size(path: &Path) -> Option<u64> {
    let data = fs::symlink_metadata(path).ok()?;
    if !data.is_dir() {
        return Some(data.len());
    }
    fs::read_dir(path).ok()?.try_fold(0, |bytes, entry| Some(bytes + size(&entry.ok()?.path())?))
}

/// Removes a file or a directory, if it exists.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Suffix of a database that a removal has set aside.
const DISCARDED: &str = ".lydite-gone";

/// Deletes a database in a directory or a file; a link to it stays. A removal that is stopped leaves it under another
/// name, never in part under its own.
pub(crate) fn discard(path: &Path) -> io::Result<()> {
    let path = real(path);
    let gone = with_suffix(&path, DISCARDED);
    remove(&gone)?;
    fs::rename(&path, &gone)?;
    remove(&gone)
}

/// Returns the note that a removal leaves a link to a database, if the path is one.
pub(crate) fn note_of_link(path: &Path) -> Option<String> {
    let note = || format!("{} is a link: it stays, and {} goes", path.display(), real(path).display());
    path.is_symlink().then(note)
}

/// True if a name is that of a template of the database, or of what a stopped copy or removal left. `rest` is what follows
/// the database's own name.
fn is_left(rest: &str) -> bool {
    let name = rest.strip_suffix(".partial").or_else(|| rest.strip_suffix(".gone")).unwrap_or(rest);
    rest == DISCARDED || name.strip_prefix('.').is_some_and(is_template_name)
}

/// Renames a path before it is removed, because half a directory must not be taken for a whole one. Returns the new
/// name. An earlier removal may have left files there.
fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let gone = with_suffix(path, ".gone");
    remove(&gone)?;
    match fs::rename(path, &gone) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(gone),
    }
}

/// Copies a file or a directory. The copy takes its name once it is complete and on stable storage.
fn replace(from: &Path, to: &Path) -> io::Result<()> {
    let partial = with_suffix(to, ".partial");
    remove(&partial)?;
    copy(from, &partial)?;
    let gone = set_aside(to)?;
    fs::rename(&partial, to)?;
    remove(&gone)?;
    fs::File::open(parent_of(to))?.sync_all()
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if from.is_dir() {
        fs::create_dir(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
    } else {
        fs::copy(from, to)?;
    }
    fs::File::open(to)?.sync_all()
}
