//! The entry of SQLite in the table of families.

use super::config::{Config, DIALECT, OPTIONS, parse};
use super::templates::SqliteTemplates;
use super::{Sqlite, create_table};
use crate::family::{Configured, Family, Home, Scheme};
use crate::file_templates::FileTemplates;
use crate::own_schema::{OwnSchema, ScriptForm, Syntax};
use crate::templates::Templates;
use lydite_database::code::Code;
use lydite_database::patience::Patience;
use lydite_database::sql::statement::Statement;
use lydite_database::{Target, TargetError, TxMode};
use std::sync::Arc;

/// The entry in the table of families.
pub(crate) static FAMILY: Family = Family {
    schemes: &[Scheme::without_port("sqlite")],
    url: "sqlite: (a temporary file) or sqlite:PATH",
    about: "SQLite, built in; needs no server",
    modes: &[TxMode::Statements],
    guarantees: "serializable, one writer; durable commits",
    placement: &[],
    tested: "the version that is built in",
    options: OPTIONS,
    tpcc_options: &["foreign_keys"],
    parse: |url, _| parse(url).map(|config| Arc::new(config) as _),
};

impl Configured for Config {
    fn home(&self) -> Home<'_> {
        self.path().map_or(Home::Temporary, Home::Path)
    }

    fn loads_one_node(&self) -> bool {
        true
    }

    fn templates(&self, _patience: &dyn Fn(Arc<dyn Target>) -> Option<Patience>) -> Option<Templates> {
        self.path().map(|path| Templates::of(SqliteTemplates(FileTemplates::of(path))))
    }

    fn script_form(&self) -> Option<ScriptForm<'_>> {
        Some(ScriptForm { syntax: Syntax::Sqlite, schema: None, shapes: |_| false })
    }

    fn with_scripts(&self, scripts: &Arc<OwnSchema>) -> Option<Arc<dyn Configured>> {
        let mut config = self.clone();
        config.scripts = Arc::clone(scripts);
        Some(Arc::new(config))
    }

    fn code(&self, _version: &str) -> Option<Code> {
        let create = |table| create_table(table).trim_end_matches("; ").to_owned();
        Some(Code::sql(&DIALECT, TxMode::Statements, create, Statement::text, ""))
    }

    fn open(&self) -> Result<Arc<dyn Target>, TargetError> {
        Ok(Arc::new(Sqlite::new(self.clone())?))
    }
}
