//! The check of the tables that a file made: each column that a statement names must be there, with a type that takes its
//! values, and rows must need no others.

use lydite_database::sql::ddl;
use lydite_database::sql::meta::Admin;
use lydite_database::sql::sql_error::SqlError;
use lydite_tpcc::schema::{Column, ColumnType, Table};

/// The catalog of a family, as data.
pub(crate) struct Shape {
    /// Query for the columns of the tables whose names replace `#`, as table, column, type, true if it takes no null, and
    /// true if a row may leave it out.
    pub(crate) columns: &'static str,
    /// Returns true if a type takes the values of a column.
    pub(crate) fits: fn(ColumnType, &str) -> bool,
    /// Returns the types that a column may have, in words.
    pub(crate) wanted: fn(ColumnType) -> String,
    /// Query for tables without transactions, in words; empty if all have them.
    pub(crate) no_transactions: &'static str,
    /// Query for constraints that a load in parallel would break; empty if there are none.
    pub(crate) foreign_keys: &'static str,
    /// Character around names.
    pub(crate) quote: char,
}

/// A column of a table that is there.
struct Found {
    table: String,
    column: String,
    kind: String,
    not_null: bool,
    filled: bool,
}

impl Shape {
    /// Returns everything that is wrong with the columns of the tables, and with their transactions. `types` is false for
    /// tables whose types are not to be judged.
    pub(super) fn problems(&self, admin: &mut dyn Admin, types: bool) -> Result<Vec<String>, SqlError> {
        let mut found = Vec::new();
        let truth = |value: Option<&str>| matches!(value, Some("t" | "1"));
        admin.query_each(&of_tables(self.columns), &mut |row| {
            if let [Some(table), Some(column), kind, not_null, filled] = row {
                found.push(Found {
                    table: table.to_lowercase(),
                    column: column.to_lowercase(),
                    kind: kind.unwrap_or_default().to_lowercase(),
                    not_null: truth(*not_null),
                    filled: truth(*filled),
                });
            }
        })?;
        let mut problems: Vec<String> =
            Table::ALL.iter().flat_map(|&table| self.of_table(table, &found, types)).collect();
        if !self.no_transactions.is_empty() {
            problems.extend(admin.column(&of_tables(self.no_transactions))?);
        }
        Ok(problems)
    }

    /// Returns the constraints of the tables that a load would break.
    pub(super) fn problems_of_keys(&self, admin: &mut dyn Admin) -> Result<Vec<String>, SqlError> {
        if self.foreign_keys.is_empty() {
            return Ok(Vec::new());
        }
        let keys = admin.column(&of_tables(self.foreign_keys))?.into_iter();
        let problem = |key| {
            format!("{key} is a foreign key, and rows come in no order: move it to the file of --after-load")
        };
        Ok(keys.map(problem).collect())
    }

    fn of_table(&self, table: Table, found: &[Found], types: bool) -> Vec<String> {
        let name = table.name();
        let there: Vec<&Found> = found.iter().filter(|found| found.table == name).collect();
        if there.is_empty() {
            return vec![format!("there is no table {name} in the schema of the target")];
        }
        let columns = table.schema().columns;
        let mut problems: Vec<String> =
            columns.iter().filter_map(|column| self.of_column((name, column), &there, types)).collect();
        for more in there.iter().filter(|found| found.not_null && !found.filled) {
            if !columns.iter().any(|column| column.name == more.column) {
                problems.push(format!(
                    "{name}.{} is NOT NULL without a default, and no statement fills it",
                    more.column
                ));
            }
        }
        problems
    }

    fn of_column(&self, (table, column): (&str, &Column), there: &[&Found], types: bool) -> Option<String> {
        let Some(found) = there.iter().find(|found| found.column == column.name) else {
            return Some(format!("{table}.{} is missing", column.name));
        };
        if types && !(self.fits)(column.kind, &found.kind) {
            let (name, kind, wanted) = (column.name, &found.kind, (self.wanted)(column.kind));
            return Some(format!("{table}.{name} is {kind}, and must be {wanted}"));
        }
        (column.nullable && found.not_null)
            .then(|| format!("{table}.{} is NOT NULL, and must take nulls", column.name))
    }
}

/// Returns a query with the names of the nine tables in place of `#`.
fn of_tables(query: &str) -> String {
    query.replace('#', &ddl::table_names())
}

/// Returns the number in the brackets of a type, as in `varchar(16)`; `None` without one.
pub(crate) fn text_width(kind: &str) -> Option<u64> {
    let (_, rest) = kind.split_once('(')?;
    rest.split([',', ')']).next()?.trim().parse().ok()
}
