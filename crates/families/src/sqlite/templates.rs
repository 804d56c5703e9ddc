//! Templates of an SQLite database: copies of its file.

use crate::file_templates::{FileTemplates, remove, with_suffix};
use crate::templates::{KeepsTemplates, TemplateList};
use lydite_database::TargetError;
use lydite_database::sql::meta;
use std::path::Path;

/// The templates of a file.
#[derive(Debug)]
pub(super) struct SqliteTemplates(pub(super) FileTemplates);

impl KeepsTemplates for SqliteTemplates {
    fn shown(&self) -> String {
        self.0.shown()
    }

    fn has(&self, name: &str) -> Result<bool, TargetError> {
        Ok(self.0.has(name))
    }

    fn is_there(&self) -> Result<bool, TargetError> {
        Ok(self.0.path().exists())
    }

    fn others(&self) -> Result<Vec<String>, TargetError> {
        others(self.0.path())
    }

    fn save(&self, name: &str) -> Result<(), TargetError> {
        close_journal(self.0.path())?;
        self.0.keep(name)?;
        open_journal(self.0.path())
    }

    fn restore(&self, name: &str) -> Result<(), TargetError> {
        let path = self.0.path();
        // The journal beside the old file must not become part of the new one.
        if path.exists() {
            close_journal(path)?;
        } else {
            for suffix in ["-wal", "-shm", "-journal"] {
                remove(&with_suffix(path, suffix)).map_err(|error| self.0.failed("restore", &error))?;
            }
        }
        self.0.bring_back(name)?;
        open_journal(path)
    }

    fn delete(&self, name: &str) -> Result<(), TargetError> {
        self.0.delete(name)
    }

    fn list(&self) -> Result<TemplateList, TargetError> {
        self.0.list()
    }

    fn delete_listed(&self, name: &str) -> Result<(), TargetError> {
        self.0.delete_listed(name)
    }
}

/// Returns the tables and views of a file that Lydite did not make; none if there is no file.
fn others(path: &Path) -> Result<Vec<String>, TargetError> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let failed = |error: rusqlite::Error| {
        TargetError::database(format!("{}: look for tables: {error}", path.display()))
    };
    let connection = rusqlite::Connection::open_with_flags(path, rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE)
        .map_err(failed)?;
    let mut names = connection
        .prepare("SELECT lower(name) FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
        .map_err(failed)?;
    let names: Vec<String> =
        names.query_map([], |row| row.get(0)).and_then(Iterator::collect).map_err(failed)?;
    Ok(names.into_iter().filter(|name| !meta::is_ours(name)).collect())
}

/// Moves all contents of a database into its file and removes the journal. The caller must have the database alone.
fn close_journal(path: &Path) -> Result<(), TargetError> {
    if journal(path, "delete")? == "delete" {
        return Ok(());
    }
    Err(TargetError::usage(format!(
        "{}: another program has the database open: it can't be copied or replaced meanwhile; close it there",
        path.display()
    )))
}

/// Sets the journal mode that loading gives a database. It is stored in the file.
fn open_journal(path: &Path) -> Result<(), TargetError> {
    journal(path, "wal").map(drop)
}

/// Sets the journal mode. Returns the mode that is then in effect.
fn journal(path: &Path, mode: &str) -> Result<String, TargetError> {
    let set = || -> rusqlite::Result<String> {
        let connection =
            rusqlite::Connection::open_with_flags(path, rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.query_row(&format!("PRAGMA journal_mode = {mode}"), [], |row| row.get(0))
    };
    match set() {
        // The mode stays as it was.
        Err(rusqlite::Error::SqliteFailure(error, _)) if error.code == rusqlite::ErrorCode::DatabaseBusy => {
            Ok(String::new())
        }
        set => set.map_err(|error| {
            TargetError::database(format!("{}: set the journal mode: {error}", path.display()))
        }),
    }
}
