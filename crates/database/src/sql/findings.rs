//! Findings of consistency conditions, from queries for the keys that break them.

use crate::facts::ConditionFinding;
use crate::sql::meta::Admin;
use crate::sql::sql_error::SqlError;

/// Most offending keys that a finding names.
pub(crate) const EXAMPLES: usize = 5;

/// Queries the offenders and adds them to the finding, in the order of the keys.
pub(crate) fn ask<A: Admin + ?Sized>(
    admin: &mut A,
    offenders: &str,
    finding: &mut ConditionFinding,
) -> Result<(), SqlError> {
    let sql = format!(
        "SELECT example, count(*) OVER () FROM ({offenders}) AS offenders ORDER BY example LIMIT {EXAMPLES}"
    );
    admin.query_each(&sql, &mut |row| {
        if let [example, Some(count)] = row {
            // A text with a null is null.
            finding.examples.push(example.unwrap_or("a row with nulls").to_string());
            finding.offenders = count.parse().unwrap_or(u64::MAX);
        }
    })
}
