//! Templates: copies of a loaded database that many runs can begin with, without loading it anew for each.
//!
//! A template is a database of its own beside the one under test: with PostgreSQL in the same server, else a directory or a
//! file with a longer name. Restoring replaces the database under test as a whole, so it is refused where that holds more
//! than Lydite's tables.

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
    /// Limits its requests; none if they last as long as the server takes.
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

    /// Whether there is a template of this name, which is of letters, digits and `_`.
    ///
    /// # Errors
    /// The database is away.
    pub fn has(&self, name: &str) -> Result<bool, TargetError> {
        match &self.0 {
            Place::Gemel(path, _) | Place::Sqlite(path) => Ok(beside(path, name).exists()),
            Place::Postgres(server) => {
                let name = name.to_owned();
                server.ask("which templates there are", move |config| postgres::templates::has(config, &name))
            }
        }
    }

    /// Whether the database itself is there. Restoring that was cut off may have left none.
    ///
    /// # Errors
    /// The server is away.
    pub fn database_is_there(&self) -> Result<bool, TargetError> {
        match &self.0 {
            Place::Gemel(path, _) | Place::Sqlite(path) => Ok(path.exists()),
            Place::Postgres(server) => server.ask("which databases there are", postgres::templates::is_there),
        }
    }

    /// Refuses a database that is there and holds more than what Lydite makes, because restoring would cost it.
    ///
    /// # Errors
    /// It does; it is away; or somebody else has it open.
    pub fn check(&self) -> Result<(), TargetError> {
        if let Place::Postgres(server) = &self.0 {
            server.ask("who has the database open", postgres::templates::check_alone)?;
        }
        let others = match &self.0 {
            Place::Gemel(path, parsed) => gemel::others(parsed, path)?,
            Place::Sqlite(path) => sqlite::others(path)?,
            Place::Postgres(server) => server.ask("what the database holds", postgres::templates::others)?,
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

    /// Makes the database what a template holds. Nobody has it open.
    ///
    /// # Errors
    /// As [`Templates::save`].
    pub fn restore(&self, name: &str) -> Result<(), TargetError> {
        match &self.0 {
            Place::Gemel(path, _) => self.bring_back(path, name),
            Place::Sqlite(path) => {
                // What stands beside the old file must not become part of the new one.
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

    /// Deletes a template, if it is there.
    ///
    /// # Errors
    /// As [`Templates::save`].
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

/// A path without links and dots, so that a template is beside the database and not within it, nor on another disk.
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

/// Gives what is to be removed another name, all of it at once: half a directory must not be taken for a whole one. Returns
/// that name, under which an earlier removal may have left something.
fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let gone = with_suffix(path, ".gone");
    remove(&gone)?;
    match fs::rename(path, &gone) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(gone),
    }
}

/// Copies a file or a directory to a place that it takes when it is complete, and on stable storage.
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
