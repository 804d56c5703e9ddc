//! Templates: copies of a loaded database that many runs can begin with, without loading it anew for each.
//!
//! A template is a database of its own beside the one under test: with PostgreSQL in the same server, else a directory or a
//! file with a longer name. Restoring replaces the database under test as a whole, so it is refused where that holds more
//! than Lydite's tables.

use crate::error::TargetError;
use crate::postgres;
use crate::sqlite;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The templates of one target.
#[derive(Debug)]
pub struct Templates(Place);

#[derive(Debug)]
enum Place {
    /// A directory that is nobody's but the database's.
    Directory(PathBuf),
    /// SQLite's file.
    Sqlite(PathBuf),
    Postgres(Box<postgres::Config>),
}

impl Templates {
    pub(crate) fn of_directory(path: PathBuf) -> Self {
        Self(Place::Directory(path))
    }

    pub(crate) fn of_sqlite(path: PathBuf) -> Self {
        Self(Place::Sqlite(path))
    }

    pub(crate) fn of_postgres(config: postgres::Config) -> Self {
        Self(Place::Postgres(Box::new(config)))
    }

    /// Whether there is a template of this name, which is of letters, digits and `_`.
    ///
    /// # Errors
    /// The database is away.
    pub fn has(&self, name: &str) -> Result<bool, TargetError> {
        match &self.0 {
            Place::Directory(path) | Place::Sqlite(path) => Ok(beside(path, name).exists()),
            Place::Postgres(config) => postgres::templates::has(config, name),
        }
    }

    /// Refuses a database that holds more than what Lydite makes, because restoring would cost it.
    ///
    /// # Errors
    /// It does; or it is away.
    pub fn check(&self) -> Result<(), TargetError> {
        let others = match &self.0 {
            // Gemel refuses a directory that is not its own.
            Place::Directory(_) => Vec::new(),
            Place::Sqlite(path) => sqlite::others(path)?,
            Place::Postgres(config) => postgres::templates::others(config)?,
        };
        match others.first() {
            None => Ok(()),
            Some(first) => Err(TargetError::usage(format!(
                "{}: holds {first:?}, which Lydite did not make, and a database that is restored is replaced as a whole: use \
                 a database of its own, or reload = \"each-run\"",
                self.shown()
            ))),
        }
    }

    /// Makes the database as it is now a template. Nobody has it open.
    ///
    /// # Errors
    /// The disk is full, a privilege is missing, or somebody has it open.
    pub fn save(&self, name: &str) -> Result<(), TargetError> {
        match &self.0 {
            Place::Directory(path) | Place::Sqlite(path) => {
                replace(path, &beside(path, name)).map_err(|error| self.failed("copy", &error))
            }
            Place::Postgres(config) => postgres::templates::save(config, name),
        }
    }

    /// Makes the database what a template holds. Nobody has it open.
    ///
    /// # Errors
    /// As [`Templates::save`].
    pub fn restore(&self, name: &str) -> Result<(), TargetError> {
        match &self.0 {
            Place::Directory(path) => self.bring_back(path, name),
            Place::Sqlite(path) => {
                // What the last one who had it open left beside it belongs to the old file.
                for rest in ["-wal", "-shm", "-journal"] {
                    remove(&with_suffix(path, rest)).map_err(|error| self.failed("remove", &error))?;
                }
                self.bring_back(path, name)
            }
            Place::Postgres(config) => postgres::templates::restore(config, name),
        }
    }

    /// Deletes a template, if it is there.
    ///
    /// # Errors
    /// As [`Templates::save`].
    pub fn delete(&self, name: &str) -> Result<(), TargetError> {
        match &self.0 {
            Place::Directory(path) | Place::Sqlite(path) => {
                remove(&beside(path, name)).map_err(|error| self.failed("delete the template of", &error))
            }
            Place::Postgres(config) => postgres::templates::delete(config, name),
        }
    }

    /// Whether it is files that this process opens itself.
    #[must_use]
    pub fn is_of_files(&self) -> bool {
        !matches!(self.0, Place::Postgres(_))
    }

    fn bring_back(&self, path: &Path, name: &str) -> Result<(), TargetError> {
        replace(&beside(path, name), path).map_err(|error| self.failed("restore", &error))
    }

    fn shown(&self) -> String {
        match &self.0 {
            Place::Directory(path) | Place::Sqlite(path) => path.display().to_string(),
            Place::Postgres(config) => config.place(),
        }
    }

    fn failed(&self, doing: &str, error: &io::Error) -> TargetError {
        TargetError::database(format!("{}: {doing} the database: {error}", self.shown()))
    }
}

/// Where the template of a database in a directory or a file is.
fn beside(path: &Path, name: &str) -> PathBuf {
    with_suffix(path, &format!(".{name}"))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn remove(path: &Path) -> io::Result<()> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Copies a file or a directory to a place that it takes when it is complete, and on stable storage.
fn replace(from: &Path, to: &Path) -> io::Result<()> {
    let partial = with_suffix(to, ".partial");
    remove(&partial)?;
    copy(from, &partial)?;
    remove(to)?;
    fs::rename(&partial, to)?;
    match to.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => fs::File::open(parent)?.sync_all(),
        None => fs::File::open(".")?.sync_all(),
    }
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
