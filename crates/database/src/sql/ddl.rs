//! DDL made from the schema.

use crate::sql::dialect::Dialect;
use lydite_tpcc::schema::{ForeignKey, Table};

/// `CREATE TABLE` without keys; `suffix` goes behind the columns (an inline primary key, storage options).
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

/// The columns of the primary key, `a, b`; none for HISTORY.
pub fn primary_key(table: Table) -> Option<String> {
    let key = table.schema().primary_key;
    (!key.is_empty()).then(|| key.join(", "))
}

/// `CREATE INDEX IF NOT EXISTS` for each secondary index.
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

/// `FOREIGN KEY (…) REFERENCES … (…)`.
pub fn foreign_key(key: &ForeignKey) -> String {
    format!(
        "FOREIGN KEY ({}) REFERENCES {} ({})",
        key.columns.join(", "),
        key.references.name(),
        key.referenced.join(", ")
    )
}

/// The table's columns, `a, b, c`.
pub fn column_list(table: Table) -> String {
    let names: Vec<&str> = table.schema().columns.iter().map(|column| column.name).collect();
    names.join(", ")
}
