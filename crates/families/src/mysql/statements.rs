//! Counts of statements from MySQL's performance schema, if the server keeps them.

use crate::mysql::wire::Wire;
use lydite_database::sql::meta::Admin;
use lydite_database::sql::sql_error::SqlError;
use lydite_database::{StatementCounts, StatementUse, StatementWork, with_texts};
use std::collections::HashMap;

/// Counts of the statements in this database; the time is in picoseconds.
const COUNTS: &str = "SELECT digest, count_star, sum_timer_wait / 1e12, sum_rows_sent + sum_rows_affected, digest_text \
     FROM performance_schema.events_statements_summary_by_digest WHERE schema_name = database() AND digest IS NOT NULL";

/// The counts of statements in one database.
#[derive(Default)]
pub(super) struct Statements {
    counts: StatementCounts,
}

impl Statements {
    /// Returns the statements with the most time since the first call; none if the server does not count them.
    ///
    /// # Errors
    /// The server lacks the table, the account may not read it, or the connection is lost.
    pub(super) fn read(&mut self, wire: &mut Wire) -> Result<Vec<StatementUse>, SqlError> {
        let (mut now, mut texts) = (HashMap::new(), HashMap::new());
        wire.query_each(COUNTS, &mut |row| {
            if let [Some(digest), Some(calls), Some(seconds), Some(rows), Some(text)] = row
                && let (Ok(calls), Ok(seconds), Ok(rows)) = (calls.parse(), seconds.parse(), rows.parse())
            {
                now.insert((*digest).to_owned(), StatementWork { calls, seconds, rows, blocks: None });
                texts.insert((*digest).to_owned(), (*text).to_owned());
            }
        })?;
        Ok(with_texts(self.counts.since_first(now), &texts))
    }
}
