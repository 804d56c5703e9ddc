//! Settings that a session inherits from the server, the role and the database, and that Lydite replaces.
//!
//! Some of them change what a transaction does, others end a statement or a connection. Lydite sets them by `SET` after
//! connecting, since poolers reject start-up parameters. It reads the values first and sets only those that differ:
//! products lack some settings, and a user may lack the right to set one that is as it should be. Choices of speed and
//! of durability (`synchronous_commit`, the planner's settings) stay as the user made them.

use crate::net::{self, Purpose};
use crate::postgres::config::Config;
use lydite_database::sql::meta::Admin;
use lydite_database::sql::sql_error::SqlError;

/// Connections for which Lydite replaces a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whom {
    /// All.
    All,
    /// All; those for transactions keep a value that the target option `options` gives.
    UnlessAsked,
    /// All but those for transactions.
    Administration,
}

/// A setting and the value that Lydite needs.
#[derive(Debug)]
pub(crate) struct Inherited {
    pub(crate) name: &'static str,
    pub(crate) value: &'static str,
    pub(crate) whom: Whom,
    /// Reason, as the book has it.
    pub(crate) why: &'static str,
    /// True if only servers with PostgreSQL's own tables are asked for it.
    pub(crate) heap: bool,
}

const fn all(name: &'static str, value: &'static str, why: &'static str) -> Inherited {
    Inherited { name, value, whom: Whom::All, why, heap: false }
}

const fn limit(name: &'static str, why: &'static str) -> Inherited {
    Inherited { name, value: "0", whom: Whom::UnlessAsked, why, heap: false }
}

/// The settings.
pub(crate) const INHERITED: &[Inherited] = &[
    all("DateStyle", "ISO, MDY", "texts of points in time"),
    all("IntervalStyle", "postgres", "texts of times"),
    all("TimeZone", "UTC", "texts of points in time"),
    all("extra_float_digits", "1", "floats keep all their digits"),
    all("standard_conforming_strings", "on", "a backslash in a literal is a backslash"),
    all("quote_all_identifiers", "off", "texts of the catalogs"),
    all("transform_null_equals", "off", "`= NULL` finds nothing"),
    all("array_nulls", "on", "`NULL` in an array is null"),
    all("default_transaction_read_only", "off", "transactions may write"),
    all("default_transaction_deferrable", "off", "read-only transactions wait for nothing"),
    Inherited {
        heap: true,
        ..all(
            "default_transaction_isolation",
            "read committed",
            "work beside the measured transactions, which name theirs",
        )
    },
    all("session_replication_role", "origin", "foreign keys and triggers act"),
    all("exit_on_error", "off", "an aborted transaction keeps its connection"),
    Inherited { heap: true, ..all("plpgsql.extra_errors", "none", "procedures compile") },
    all("restrict_nonsystem_relation_kind", "", "foreign tables can be read"),
    all("default_transaction_use_follower_reads", "off", "reads are not of the past"),
    all("sql_safe_updates", "off", "tables can be dropped"),
    limit("statement_timeout", "it would cut off the slowest answers, and loads"),
    limit("transaction_timeout", "it would end the connection of a slow transaction"),
    limit("idle_in_transaction_session_timeout", "it would end a transaction that waits for Lydite"),
    limit("idle_session_timeout", "it would end a session that waits for its next transaction"),
    Inherited { whom: Whom::Administration, ..limit("lock_timeout", "loads and checks wait for locks") },
];

/// Returns the limits of time that the target option `options` sets (`-c NAME=VALUE`, `--NAME=VALUE`).
pub(super) fn asked_limits(options: &str) -> impl Iterator<Item = &'static str> {
    let named = |word: &str, name| {
        let word = word.strip_prefix("--").or_else(|| word.strip_prefix("-c")).unwrap_or(word);
        word.split('=').next().is_some_and(|word| word.replace('-', "_").eq_ignore_ascii_case(name))
    };
    let limits = INHERITED.iter().filter(|setting| setting.whom == Whom::UnlessAsked);
    limits
        .map(|setting| setting.name)
        .filter(move |name| options.split_whitespace().any(|word| named(word, name)))
}

/// Returns the limits of time that the target option `options` sets, with their values as the server shows them. They
/// do not act on a connection for a description.
pub(super) fn asked_values(
    wire: &mut impl Admin,
    config: &Config,
) -> Result<Vec<(&'static str, String)>, SqlError> {
    let options = config.connection.options.as_deref().unwrap_or_default();
    let value = |name| {
        let shown = wire.column(&format!("RESET {name}; SHOW {name}; SET {name} TO 0"))?;
        Ok((name, shown.concat()))
    };
    asked_limits(options).map(value).collect()
}

/// Returns the SQL that lets the limits of the target option `options` begin, once a session has prepared its statements;
/// empty without any.
pub(super) fn begin_limits(config: &Config) -> String {
    let options = config.connection.options.as_deref().unwrap_or_default();
    let resets: Vec<String> = asked_limits(options).map(|name| format!("RESET {name}")).collect();
    resets.join("; ")
}

impl Inherited {
    /// True if Lydite replaces the value that a connection of this purpose has from `source`.
    fn is_for(&self, purpose: Purpose, source: &str) -> bool {
        purpose == Purpose::Administration
            || match self.whom {
                Whom::All => true,
                Whom::UnlessAsked => source != "client",
                Whom::Administration => false,
            }
    }
}

/// Returns a text as an SQL literal, whatever `standard_conforming_strings` says.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Returns the settings that a new connection must replace, with their values in SQL.
pub(super) fn differing(
    wire: &mut impl Admin,
    config: &Config,
    purpose: Purpose,
) -> Result<Vec<(&'static str, String)>, SqlError> {
    let heap = config.product.heap;
    // Limits that the URL sets are for the measured statements, and begin with [`begin_limits`].
    let options = config.connection.options.as_deref().unwrap_or_default();
    let asked: Vec<&str> =
        if purpose == Purpose::Administration { Vec::new() } else { asked_limits(options).collect() };
    for name in &asked {
        wire.execute(&format!("SET {name} TO 0"))?;
    }
    let known = || INHERITED.iter().filter(|setting| heap || !setting.heap);
    let names: Vec<String> = known().map(|setting| quoted(&setting.name.to_lowercase())).collect();
    let mut query =
        format!("SELECT name, setting, source FROM pg_settings WHERE lower(name) IN ({})", names.join(", "));
    if heap {
        // The view does not have settings of a language that the session has not used yet.
        query += " UNION ALL SELECT name, value, '' FROM (SELECT 'plpgsql.extra_errors' AS name, \
                  current_setting('plpgsql.extra_errors', true) AS value) AS language WHERE value <> ''";
    }
    let mut sets = Vec::new();
    let mut compare = |row: &[Option<&str>]| {
        let [Some(name), Some(value), source] = row else { return };
        let found = known().find(|setting| setting.name.eq_ignore_ascii_case(name));
        if let Some(setting) = found
            && !value.eq_ignore_ascii_case(setting.value)
            && setting.is_for(purpose, source.unwrap_or_default())
        {
            sets.push((setting.name, quoted(setting.value)));
        }
    };
    match wire.query_each(&query, &mut compare) {
        // Nobody may be allowed to read the view. The function says the same, but for the source.
        Err(SqlError::Database { unavailable: false, .. }) => {
            let names: Vec<String> = names.iter().map(|name| format!("({name})")).collect();
            let query = format!(
                "SELECT name, current_setting(name, true), '' FROM (VALUES {}) AS known (name)",
                names.join(", ")
            );
            wire.query_each(&query, &mut compare)?;
        }
        read => read?,
    }
    if let Some(schema) = &config.schema {
        sets.push(("search_path", format!("\"{}\"", schema.replace('"', "\"\""))));
    }
    Ok(sets)
}

/// Returns the error of replacing settings with the reason why Lydite replaces the one that the server names.
pub(super) fn with_reason(error: SqlError) -> SqlError {
    net::with_reason(error, INHERITED.iter().map(|setting| (setting.name, setting.why)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_book_has_each_setting() {
        let book = include_str!("../../../../docs/src/targets/postgres.md");
        for Inherited { name, value, whom, why, .. } in INHERITED {
            let value = if value.is_empty() { "empty".into() } else { format!("`{value}`") };
            let whom = match whom {
                Whom::All => "all",
                Whom::UnlessAsked => "all; `options`",
                Whom::Administration => "administration",
            };
            let row = format!("| `{name}` | {value} | {whom} | {why} |");
            assert!(book.contains(&row), "docs/src/targets/postgres.md lacks: {row}");
        }
    }

    #[test]
    fn limits_of_the_url_are_found_in_each_notation() {
        let found = |options| asked_limits(options).collect::<Vec<_>>();
        assert_eq!(
            found("-c statement_timeout=5 -cidle_session_timeout=3s"),
            ["statement_timeout", "idle_session_timeout"]
        );
        assert_eq!(found("--Statement-Timeout=5"), ["statement_timeout"]);
        assert!(found("-c lock_timeout=1 -c my.statement_timeout=1 -c work_mem=4MB").is_empty());
    }

    #[test]
    fn sessions_keep_limits_that_the_url_asks_for_and_administration_keeps_none() {
        let limit = INHERITED.iter().find(|setting| setting.name == "statement_timeout").expect("a limit");
        assert!(limit.is_for(Purpose::Transactions, "database"));
        assert!(!limit.is_for(Purpose::Transactions, "client"));
        assert!(limit.is_for(Purpose::Administration, "client"));
    }
}
