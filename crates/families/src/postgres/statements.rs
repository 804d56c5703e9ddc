//! Counts of statements from the extension pg_stat_statements, if the database has it.

use crate::postgres::wire::Wire;
use lydite_database::sql::meta::Admin;
use lydite_database::sql::sql_error::SqlError;
use lydite_database::{StatementCounts, StatementUse, StatementWork, with_texts};
use std::collections::HashMap;

/// Schema of the extension, and true if it has the column of version 1.8 (PostgreSQL 13).
const EXTENSION: &str = "SELECT quote_ident(nspname), EXISTS (SELECT FROM pg_attribute \
     WHERE attrelid = format('%I.pg_stat_statements', nspname)::regclass AND attname = 'total_exec_time') \
     FROM pg_extension JOIN pg_namespace AS n ON n.oid = extnamespace WHERE extname = 'pg_stat_statements'";

/// Condition for statements of this database that this user may see.
const HERE: &str =
    "queryid IS NOT NULL AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())";

/// The counts of statements in one database.
pub(super) struct Statements {
    /// The extension's view.
    view: String,
    /// Column of the total time, in milliseconds.
    time: &'static str,
    counts: StatementCounts,
}

impl Statements {
    /// Looks for the extension; `None` if the database lacks it.
    pub(super) fn find(wire: &mut Wire) -> Result<Option<Self>, SqlError> {
        let mut found = None;
        let asked = wire.query_each(EXTENSION, &mut |row| {
            if let [Some(schema), Some(new)] = row {
                let time = if *new == "t" { "total_exec_time" } else { "total_time" };
                let view = format!("{schema}.pg_stat_statements");
                found = Some(Self { view, time, counts: StatementCounts::default() });
            }
        });
        // A server that only resembles PostgreSQL may lack the catalog, and then has no extensions.
        match asked {
            Err(SqlError::Database { unavailable: false, .. }) => Ok(None),
            asked => asked.map(|()| found),
        }
    }

    /// Returns the statements with the most time since the first call.
    ///
    /// # Errors
    /// The extension's library is not loaded, the user may not read its view, or the connection is lost.
    pub(super) fn read(&mut self, wire: &mut Wire) -> Result<Vec<StatementUse>, SqlError> {
        let Self { view, time, counts } = self;
        let mut now = HashMap::new();
        // Without the texts, which are in a file.
        let sql = format!(
            "SELECT queryid, sum(calls), sum({time}), sum(rows), sum(shared_blks_read), sum(shared_blks_hit) \
             FROM {view}(false) WHERE {HERE} GROUP BY queryid"
        );
        wire.query_each(&sql, &mut |row| {
            if let [Some(id), calls, ms, rows, read, hit] = row {
                let number = |text: &Option<&str>| text.and_then(|text| text.parse::<u64>().ok());
                now.insert(
                    (*id).to_owned(),
                    StatementWork {
                        calls: number(calls).unwrap_or_default(),
                        seconds: ms.and_then(|ms| ms.parse::<f64>().ok()).unwrap_or_default() / 1e3,
                        rows: number(rows).unwrap_or_default(),
                        blocks: number(read).zip(number(hit)),
                    },
                );
            }
        })?;
        let grown = counts.since_first(now);
        if grown.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<&str> = grown.iter().map(|(id, _)| id.as_str()).collect();
        let mut texts = HashMap::new();
        let sql = format!(
            "SELECT queryid, min(query) FROM {view} WHERE {HERE} AND queryid IN ({}) GROUP BY queryid",
            ids.join(", ")
        );
        wire.query_each(&sql, &mut |row| {
            if let [Some(id), Some(text)] = row {
                texts.insert((*id).to_owned(), (*text).to_owned());
            }
        })?;
        Ok(with_texts(grown, &texts))
    }
}
