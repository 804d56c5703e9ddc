//! Templates: copies of a loaded database that many runs can begin with, without a new load for each run.
//!
//! A template is a database of its own beside the database under test. With PostgreSQL it is in the same server, else
//! it is a directory or a file with a longer name. Restoring replaces the database under test as a whole, so it is
//! rejected if that database holds more than Lydite's tables.

use crate::gemel;
use crate::postgres;
use crate::sqlite;
use lydite_database::TargetError;
use lydite_database::patience::Patience;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The templates of one target.
#[derive(Debug)]
pub struct Templates(Place);

/// A server that keeps templates.
#[derive(Debug)]
struct Server {
    config: Box<postgres::Config>,
    /// Limit of its requests; `None` if they may last as long as the server takes.
    patience: Option<Patience>,
}

impl Server {
    fn ask<R: Send + 'static>(
        &self,
        what: &str,
        work: impl FnOnce(&postgres::Config) -> Result<R, TargetError> + Send + 'static,
    ) -> Result<R, TargetError> {
        let Some(patience) = &self.patience else { return work(&self.config) };
        let config = self.config.clone();
        patience.ask(what, move || work(&config))
    }
}

#[derive(Debug)]
enum Place {
    /// Gemel's directory.
    Gemel(PathBuf, Box<gemel::Parsed>),
    /// SQLite's file.
    Sqlite(PathBuf),
    Postgres(Server),
}

impl Templates {
    pub(crate) fn of_gemel(path: &Path, parsed: &gemel::Parsed) -> Self {
        Self(Place::Gemel(real(path), Box::new(parsed.clone())))
    }

    pub(crate) fn of_sqlite(path: &Path) -> Self {
        Self(Place::Sqlite(real(path)))
    }

    pub(crate) fn of_postgres(config: postgres::Config, patience: Option<Patience>) -> Self {
        Self(Place::Postgres(Server { config: Box::new(config), patience }))
    }

    /// Returns true if there is a template of this name, which consists of letters, digits and `_`.
    ///
    /// # Errors
    /// The database is away.
    pub fn has(&self, name: &str) -> Result<bool, TargetError> {
        match &self.0 {
            Place::Gemel(path, _) | Place::Sqlite(path) => Ok(beside(path, name).exists()),
            Place::Postgres(server) => {
                let name = name.to_owned();
                server.ask("the list of templates", move |config| postgres::templates::has(config, &name))
            }
        }
    }

    /// Returns true if the database itself exists. An interrupted restore may have left none.
    ///
    /// # Errors
    /// The server is away.
    pub fn database_is_there(&self) -> Result<bool, TargetError> {
        match &self.0 {
            Place::Gemel(path, _) | Place::Sqlite(path) => Ok(path.exists()),
            Place::Postgres(server) => server.ask("the list of databases", postgres::templates::is_there),
        }
    }

    /// Rejects an existing database that holds more than Lydite's tables, because restoring would delete the rest.
    ///
    /// # Errors
    /// The database holds more; it is away; or somebody else has it open.
    pub fn check(&self) -> Result<(), TargetError> {
        if let Place::Postgres(server) = &self.0 {
            server.ask("the clients of the database", postgres::templates::check_alone)?;
        }
        let others = match &self.0 {
            Place::Gemel(path, parsed) => gemel::others(parsed, path)?,
            Place::Sqlite(path) => sqlite::others(path)?,
            Place::Postgres(server) => {
                server.ask("the contents of the database", postgres::templates::others)?
            }
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

    /// Makes a template from the database as it is now. Nobody may have it open.
    ///
    /// # Errors
    /// The disk is full, a privilege is missing, or somebody has it open.
    pub fn save(&self, name: &str) -> Result<(), TargetError> {
        match &self.0 {
            Place::Gemel(path, _) => self.keep(path, name),
            Place::Sqlite(path) => {
                sqlite::close_journal(path)?;
                self.keep(path, name)?;
                sqlite::open_journal(path)
            }
            Place::Postgres(server) => {
                let name = name.to_owned();
                server.ask("a copy of the database as a template", move |config| {
                    postgres::templates::save(config, &name)
                })
            }
        }
    }

    /// Replaces the database by a copy of a template. Nobody may have it open.
    ///
    /// # Errors
    /// See [`Templates::save`].
    pub fn restore(&self, name: &str) -> Result<(), TargetError> {
        match &self.0 {
            Place::Gemel(path, _) => self.bring_back(path, name),
            Place::Sqlite(path) => {
                // The journal beside the old file must not become part of the new one.
                if path.exists() {
                    sqlite::close_journal(path)?;
                } else {
                    for suffix in ["-wal", "-shm", "-journal"] {
                        remove(&with_suffix(path, suffix)).map_err(|error| self.failed("restore", &error))?;
                    }
                }
                self.bring_back(path, name)?;
                sqlite::open_journal(path)
            }
            Place::Postgres(server) => {
                let name = name.to_owned();
                server
                    .ask("a copy of the template", move |config| postgres::templates::restore(config, &name))
            }
        }
    }

    /// Deletes a template, if it exists.
    ///
    /// # Errors
    /// See [`Templates::save`].
    pub fn delete(&self, name: &str) -> Result<(), TargetError> {
        match &self.0 {
            Place::Gemel(path, _) | Place::Sqlite(path) => {
                let failed = |error| self.failed("delete the template of", &error);
                let template = beside(path, name);
                set_aside(&template).and_then(|gone| remove(&gone)).map_err(failed)
            }
            Place::Postgres(server) => {
                let name = name.to_owned();
                server.ask("dropping the template", move |config| postgres::templates::delete(config, &name))
            }
        }
    }

    fn keep(&self, path: &Path, name: &str) -> Result<(), TargetError> {
        replace(path, &beside(path, name)).map_err(|error| self.failed("copy", &error))
    }

    fn bring_back(&self, path: &Path, name: &str) -> Result<(), TargetError> {
        replace(&beside(path, name), path).map_err(|error| self.failed("restore", &error))
    }

    fn shown(&self) -> String {
        match &self.0 {
            Place::Gemel(path, _) | Place::Sqlite(path) => path.display().to_string(),
            Place::Postgres(server) => server.config.place(),
        }
    }

    fn failed(&self, doing: &str, error: &io::Error) -> TargetError {
        TargetError::database(format!("{}: {doing} the database: {error}", self.shown()))
    }
}

/// Returns the path without links and dots. With them a template could end up within the database or on another disk.
fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (parent.canonicalize(), path.file_name()) {
        (Ok(parent), Some(name)) => parent.join(name),
        _ => path.to_path_buf(),
    }
}

/// Returns the path of the template of a database in a directory or a file.
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

/// Renames a path before it is removed, because half a directory must not be taken for a whole one. Returns the new
/// name, under which an earlier removal may have left files.
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
