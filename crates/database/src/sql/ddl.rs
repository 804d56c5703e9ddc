//! DDL made from the schema.

use crate::error::TargetError;
use crate::sql::dialect::Dialect;
use crate::sql::meta::OWN_TABLES;
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

/// Name of the column that makes up HISTORY's primary key, where there is one: TPC-C's has none (clause 1.3.1), but some
/// servers and kinds of replication demand it. The database fills the column, and no statement of a load, a transaction
/// or a check names it, so the rows are the same with and without it.
pub const HISTORY_KEY: &str = "h_id";

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

/// Returns the names of the keys and indexes of the tables, as a list of SQL strings. Some databases have one space of
/// names for the indexes of all tables.
pub fn index_names(tables: &[Table]) -> String {
    let names = tables.iter().flat_map(|table| {
        let key = primary_key(*table).map(|_| format!("'{}_pkey'", table.name()));
        key.into_iter().chain(table.schema().indexes.iter().map(|index| format!("'{}'", index.name)))
    });
    names.collect::<Vec<_>>().join(", ")
}

/// Returns the error of a load whose indexes would have the names of `taken`, indexes of other tables: they would not be
/// made.
pub fn names_taken(taken: &[String]) -> TargetError {
    TargetError::usage(format!(
        "tables that Lydite did not make have indexes with names of Lydite's ({}): rename these indexes, or name another \
         database or schema",
        taken.join(", ")
    ))
}

/// Returns the names of the tables that a load makes, as a list of SQL strings.
pub fn table_names() -> String {
    let names = Table::ALL.map(Table::name).into_iter().chain(OWN_TABLES).map(|name| format!("'{name}'"));
    names.collect::<Vec<_>>().join(", ")
}

/// Returns the error of a load whose tables would have the names of `taken`: sequences, types or other objects that are
/// no tables, or tables that somebody has made since the load looked for them.
pub fn tables_taken(taken: &[String]) -> TargetError {
    TargetError::usage(format!(
        "there are objects with names of Lydite's tables already ({}): rename them, or name another database or schema",
        taken.join(", ")
    ))
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
