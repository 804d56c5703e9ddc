//! Templates of a database of Gemel: copies of its directory.

use super::{GemelTarget, Parsed, is_tpcc, micro_tables};
use crate::file_templates::FileTemplates;
use crate::templates::{KeepsTemplates, TemplateList};
use ::gemel::Database;
use lydite_database::TargetError;
use lydite_database::micro::is_table_name;
use std::path::Path;

/// The templates of a directory.
#[derive(Debug)]
pub(super) struct GemelTemplates {
    pub(super) files: FileTemplates,
    pub(super) parsed: Box<Parsed>,
}

impl KeepsTemplates for GemelTemplates {
    fn shown(&self) -> String {
        self.files.shown()
    }

    fn has(&self, name: &str) -> Result<bool, TargetError> {
        Ok(self.files.has(name))
    }

    fn is_there(&self) -> Result<bool, TargetError> {
        Ok(self.files.path().exists())
    }

    fn others(&self) -> Result<Vec<String>, TargetError> {
        others(&self.parsed, self.files.path())
    }

    fn save(&self, name: &str) -> Result<(), TargetError> {
        self.files.keep(name)
    }

    fn restore(&self, name: &str) -> Result<(), TargetError> {
        self.files.bring_back(name)
    }

    fn delete(&self, name: &str) -> Result<(), TargetError> {
        self.files.delete(name)
    }

    fn list(&self) -> Result<TemplateList, TargetError> {
        self.files.list()
    }

    fn delete_listed(&self, name: &str) -> Result<(), TargetError> {
        self.files.delete_listed(name)
    }
}

/// Returns everything in a directory that Lydite did not make: keyspaces of the database, if there is one, and other
/// files.
fn others(parsed: &Parsed, path: &Path) -> Result<Vec<String>, TargetError> {
    let config = parsed.config().map_err(|error| TargetError::database(format!("gemel: {error}")))?;
    let files = Database::foreign_entries(path)
        .map_err(|error| TargetError::database(format!("gemel:{}: {error}", path.display())))?;
    if !files.is_empty() {
        return Ok(files);
    }
    let keyspaces = GemelTarget::new(config).database_if_there()?.map(|database| database.keyspaces());
    let names = keyspaces.into_iter().flatten().map(|(name, _)| name);
    Ok(names.filter(|name| !is_tpcc(name) && !is_table_name(name) && !micro_tables::is_notes(name)).collect())
}
