//! Checksums of tables. They depend neither on the order of the rows nor on the database.

use crate::sql::meta::Admin;
use crate::sql::sql_error::SqlError;
use crate::target::TableChecksum;
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
            let mut checksum = TableChecksum { table, rows: 0, sum: 0 };
            admin.query_each(&select(canonical, table), &mut |row| {
                checksum.rows += 1;
                checksum.sum = checksum.sum.wrapping_add(hash(row.first().copied().flatten().unwrap_or("")));
            })?;
            Ok(checksum)
        })
        .collect()
}

/// Returns the 64-bit FNV-1a hash of a text, with a final mix so that sums of many hashes do not cancel out.
pub fn hash(text: &str) -> u64 {
    let mut hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^ (hash >> 32)
}
