//! Settings in a `sqlite:` URL, and the dialect of SQLite's SQL.

use crate::own_schema::OwnSchema;
use lydite_database::sql::dialect::{Batches, Dialect};
use lydite_database::target_url::{OptionSpec, ParsedUrl};
use lydite_tpcc::schema::ColumnType;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Options after `?`.
pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "synchronous",
        values: "full, normal, off",
        default: "full",
        about: "when commits reach the disk; below full a power cut loses the last ones",
    },
    OptionSpec {
        name: "foreign_keys",
        values: "on, off",
        default: "on",
        about: "whether foreign keys are enforced",
    },
    OptionSpec {
        name: "cache_mb",
        values: "1 to 65536",
        default: "64",
        about: "page cache of each session, in MiB",
    },
];

/// Amounts are whole cents and rates whole ten-thousandths, because SQLite would store decimals as binary floats.
pub(crate) static DIALECT: Dialect = Dialect {
    column_type: |kind| match kind {
        ColumnType::Integer { .. } | ColumnType::Money { .. } | ColumnType::Rate => "INTEGER".into(),
        ColumnType::VarText(_) | ColumnType::FixedText(_) | ColumnType::Time => "TEXT".into(),
    },
    money_text: |cents| format!("printf('%.2f', ({cents}) / 100.0)"),
    exact: str::to_string,
    amount: |amount| amount.0.to_string(),
    joins_by_row: false,
    as_text: |value| format!("CAST({value} AS varchar(500))"),
    placeholder: '?',
    now: "strftime('%Y-%m-%d %H:%M:%f', 'now')",
    // A writer has the whole database to itself.
    for_update: "",
    customer_lock: "",
    newest: "",
    call: "CALL",
    procedures_commit: false,
    batches: Batches::Rows,
    delete_new_order: "DELETE FROM new_order",
    begin_write: "BEGIN IMMEDIATE",
    begin_read: "BEGIN",
};

/// A target `sqlite:…`.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// The file; `None` for a temporary one.
    pub(super) path: Option<PathBuf>,
    pub(super) synchronous: &'static str,
    pub(super) foreign_keys: bool,
    pub(super) cache_mb: u32,
    /// Files of the user's statements.
    pub(super) scripts: Arc<OwnSchema>,
}

impl Config {
    /// Returns the file, or `None` if it is temporary.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }
}

/// Reads the URL.
pub(crate) fn parse(parsed: &ParsedUrl) -> Result<Config, Vec<String>> {
    let mut errors = Vec::new();
    let synchronous = parsed.choice("synchronous", &["full", "normal", "off"], &mut errors);
    let foreign_keys = parsed.choice("foreign_keys", &["on", "off"], &mut errors) == "on";
    let cache_mb = match parsed.options.get("cache_mb").map(|text| text.parse::<u32>()) {
        None => 64,
        Some(Ok(size @ 1..=65_536)) => size,
        Some(_) => {
            errors.push("target option cache_mb must be a whole number from 1 to 65536".into());
            64
        }
    };
    let path = parsed.path(OPTIONS).unwrap_or_else(|problem| {
        errors.push(problem);
        None
    });
    if path.as_ref().is_some_and(|path| path.to_string_lossy().starts_with(":memory:")) {
        errors
            .push("sqlite::memory: has a database for each session: use sqlite: for a temporary file".into());
    }
    if errors.is_empty() {
        Ok(Config { path, synchronous, foreign_keys, cache_mb, scripts: Arc::default() })
    } else {
        Err(errors)
    }
}
