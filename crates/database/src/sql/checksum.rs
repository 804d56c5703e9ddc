//! Checksums of tables. They depend neither on the order of the rows nor on the database.

use crate::facts::TableChecksum;
use crate::sql::meta::Admin;
use crate::sql::sql_error::SqlError;
use lydite_tpcc::schema::{ColumnType, Table};

/// A dialect's expressions for the canonical text of a column: amounts in cents, rates in ten-thousandths.
pub struct CanonicalText {
    /// Expression for an amount of money.
    pub money: fn(&str) -> String,
    /// Expression for a rate.
    pub rate: fn(&str) -> String,
    /// Expression that makes a text of any value.
    pub as_text: fn(&str) -> String,
}

/// Returns the query for one text per row: the columns joined by `|`. A time counts only as null or not null.
fn select(canonical: &CanonicalText, table: Table) -> String {
    let columns: Vec<String> = table
        .schema()
        .columns
        .iter()
        .map(|column| {
            let name = column.name;
            let text = match column.kind {
                ColumnType::Money { .. } => (canonical.money)(name),
                ColumnType::Rate => (canonical.rate)(name),
                ColumnType::Time => format!("CASE WHEN {name} IS NULL THEN 0 ELSE 1 END"),
                ColumnType::Integer { .. } | ColumnType::VarText(_) | ColumnType::FixedText(_) => {
                    name.to_string()
                }
            };
            format!("coalesce({}, '-')", (canonical.as_text)(&text))
        })
        .collect();
    format!("SELECT {} FROM {}", columns.join(" || '|' || "), table.name())
}

/// Returns the checksums of all nine tables. Reads all their rows.
pub fn checksums(admin: &mut impl Admin, canonical: &CanonicalText) -> Result<Vec<TableChecksum>, SqlError> {
    Table::ALL
        .into_iter()
        .map(|table| {
            let mut checksum = TableChecksum::empty(table);
            admin.query_each(&select(canonical, table), &mut |row| {
                checksum.add(row.first().copied().flatten().unwrap_or(""));
            })?;
            Ok(checksum)
        })
        .collect()
}
