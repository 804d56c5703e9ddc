//! What differs from one SQL database to the next, as data.

use lydite_tpcc::schema::ColumnType;

/// An SQL dialect.
#[derive(Debug)]
pub(crate) struct Dialect {
    /// The type of a column.
    pub(crate) column_type: fn(ColumnType) -> String,
    /// An amount of money as text with two decimals, for people.
    pub(crate) money_text: fn(&str) -> String,
    /// What stands before a parameter's number.
    pub(crate) placeholder: char,
    /// The database's clock, constant at least within a statement.
    pub(crate) now: &'static str,
    /// What makes a SELECT lock its rows.
    pub(crate) for_update: &'static str,
    /// Begins a transaction that writes.
    pub(crate) begin_write: &'static str,
    /// Begins a transaction that only reads.
    pub(crate) begin_read: &'static str,
}

impl Dialect {
    /// Gives the parameters `$1`, `$2` … of `text` the dialect's form.
    pub(crate) fn placeholders(&self, text: &str) -> String {
        if self.placeholder == '$' {
            text.to_string()
        } else {
            text.replace('$', &self.placeholder.to_string())
        }
    }
}
