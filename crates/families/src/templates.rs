//! Templates: copies of a loaded database that many runs can begin with, without a new load for each run.
//!
//! A template is a database of its own beside the database under test. With PostgreSQL it is in the same server, else
//! it is a directory or a file with a longer name. Restoring replaces the database under test as a whole, so it is
//! rejected if that database holds more than Lydite's tables.

use lydite_database::TargetError;
use std::fmt::Debug;

/// The templates of one target.
#[derive(Debug)]
pub struct Templates(Box<dyn KeepsTemplates>);

/// A database that keeps templates. Errors: the database is away, the disk is full, a privilege is missing, or somebody
/// has the database open.
pub(crate) trait KeepsTemplates: Debug + Send + Sync {
    /// Returns the database for messages.
    fn shown(&self) -> String;

    /// Returns true if there is a template of this name.
    fn has(&self, name: &str) -> Result<bool, TargetError>;

    /// Returns true if the database itself exists.
    fn is_there(&self) -> Result<bool, TargetError>;

    /// Returns what the database holds that Lydite did not make. Rejects a database that somebody else has open.
    fn others(&self) -> Result<Vec<String>, TargetError>;

    /// Makes a template.
    fn save(&self, name: &str) -> Result<(), TargetError>;

    /// Replaces the database by a copy of a template.
    fn restore(&self, name: &str) -> Result<(), TargetError>;

    /// Deletes a template, if it exists.
    fn delete(&self, name: &str) -> Result<(), TargetError>;

    /// Lists all templates of experiments, whoever made them.
    fn list(&self) -> Result<TemplateList, TargetError>;

    /// Deletes a template that [`KeepsTemplates::list`] has listed.
    fn delete_listed(&self, name: &str) -> Result<(), TargetError> {
        self.delete(name)
    }
}

/// A template that an experiment has made, or what a stopped copy left of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Name for [`Templates::delete_listed`].
    pub name: String,
    /// Database, directory or file that it is.
    pub shown: String,
    /// Bytes, as far as they are known.
    pub bytes: Option<u64>,
}

/// Templates of a database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TemplateList {
    /// Templates of this database.
    pub found: Vec<Template>,
    /// Databases with names of templates that may be this one's, each with the reason why that is not known.
    pub unknown: Vec<String>,
}

/// Prefix of the names that experiments give to templates.
const PREFIX: &str = "template_";

/// Returns the name of the template with this number.
#[must_use]
pub fn template_name(number: u64) -> String {
    format!("{PREFIX}{number:016x}")
}

/// True if a name has the form of [`template_name`].
pub(crate) fn is_template_name(name: &str) -> bool {
    let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    name.strip_prefix(PREFIX).is_some_and(|number| number.len() == 16 && number.bytes().all(digit))
}

impl Templates {
    pub(crate) fn of(database: impl KeepsTemplates + 'static) -> Self {
        Self(Box::new(database))
    }

    /// Returns true if there is a template of this name, which consists of letters, digits and `_`.
    ///
    /// # Errors
    /// The database is away.
    pub fn has(&self, name: &str) -> Result<bool, TargetError> {
        self.0.has(name)
    }

    /// Returns true if the database itself exists. An interrupted restore may have left none.
    ///
    /// # Errors
    /// The server is away.
    pub fn database_is_there(&self) -> Result<bool, TargetError> {
        self.0.is_there()
    }

    /// Rejects an existing database that holds more than Lydite's tables, because restoring would delete the rest.
    ///
    /// # Errors
    /// The database holds more; it is away; or somebody else has it open.
    pub fn check(&self) -> Result<(), TargetError> {
        match self.0.others()?.first() {
            None => Ok(()),
            Some(first) => Err(TargetError::usage(format!(
                "{}: holds {first:?}, which Lydite did not make, and a database that is restored is replaced as a whole: use \
                 a database of its own, or reload = \"each-run\"",
                self.0.shown()
            ))),
        }
    }

    /// Makes a template from the database as it is now. Nobody may have it open.
    ///
    /// # Errors
    /// The disk is full, a privilege is missing, or somebody has it open.
    pub fn save(&self, name: &str) -> Result<(), TargetError> {
        self.0.save(name)
    }

    /// Replaces the database by a copy of a template. Nobody may have it open.
    ///
    /// # Errors
    /// See [`Templates::save`].
    pub fn restore(&self, name: &str) -> Result<(), TargetError> {
        self.0.restore(name)
    }

    /// Lists all templates of the database, whatever experiment made them.
    ///
    /// # Errors
    /// The database is away.
    pub fn list(&self) -> Result<TemplateList, TargetError> {
        self.0.list()
    }

    /// Deletes a template of the list, if it exists.
    ///
    /// # Errors
    /// See [`Templates::save`].
    pub fn delete_listed(&self, name: &str) -> Result<(), TargetError> {
        self.0.delete_listed(name)
    }

    /// Deletes a template, if it exists.
    ///
    /// # Errors
    /// See [`Templates::save`].
    pub fn delete(&self, name: &str) -> Result<(), TargetError> {
        self.0.delete(name)
    }
}
