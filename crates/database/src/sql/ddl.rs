//! DDL made from the schema.

use crate::sql::dialect::Dialect;
use lydite_tpcc::schema::{ForeignKey, Table};

/// Returns `CREATE TABLE` without keys. `suffix` follows the columns: an inline primary key, or storage options.
pub fn create_table(dialect: &Dialect, table: Table, suffix: &str) -> String {
    let columns: Vec<String> = table
        .schema()
        .columns
        .iter()
        .map(|column| {
            let null = if column.nullable { "" } else { " NOT NULL" };
            format!("{} {}{null}", column.name, (dialect.column_type)(column.kind))
        })
        .collect();
    format!("CREATE TABLE {} ({}{suffix})", table.name(), columns.join(", "))
}

/// Returns the columns of the primary key as `a, b`; `None` for HISTORY.
pub fn primary_key(table: Table) -> Option<String> {
    let key = table.schema().primary_key;
    (!key.is_empty()).then(|| key.join(", "))
}

/// Returns `CREATE INDEX IF NOT EXISTS` for each secondary index.
pub fn create_indexes(table: Table) -> impl Iterator<Item = String> {
    table.schema().indexes.iter().map(move |index| {
        format!(
            "CREATE INDEX IF NOT EXISTS {} ON {} ({})",
            index.name,
            table.name(),
            index.columns.join(", ")
        )
    })
}

/// Returns `FOREIGN KEY (…) REFERENCES … (…)`.
pub fn foreign_key(key: &ForeignKey) -> String {
    format!(
        "FOREIGN KEY ({}) REFERENCES {} ({})",
        key.columns.join(", "),
        key.references.name(),
        key.referenced.join(", ")
    )
}

/// Returns the columns of the table as `a, b, c`.
pub fn column_list(table: Table) -> String {
    let names: Vec<&str> = table.schema().columns.iter().map(|column| column.name).collect();
    names.join(", ")
}
