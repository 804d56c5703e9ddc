//! The differences between SQL databases, as data.

use lydite_tpcc::Cents;
use lydite_tpcc::schema::ColumnType;

/// Form of several rows in one statement (`--tx batched`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Batches {
    /// An array for each column. Statements that change rows return rows.
    Arrays,
    /// Lists of rows in the text of the statement.
    Rows,
}

/// An SQL dialect.
#[derive(Debug)]
pub struct Dialect {
    /// SQL type of a column.
    pub column_type: fn(ColumnType) -> String,
    /// Expression that makes a text with two decimals of an amount, for people.
    pub money_text: fn(&str) -> String,
    /// Expression that makes texts equal only if they have the same characters, whatever the collation of the columns.
    pub exact: fn(&str) -> String,
    /// Literal of an amount.
    pub amount: fn(Cents) -> String,
    /// True if conditions should aggregate large tables instead of joining them: the database looks up each row of a
    /// join by itself, and the rows may be on other servers.
    pub joins_by_row: bool,
    /// Expression that makes a text of any value.
    pub as_text: fn(&str) -> String,
    /// Character before a parameter's number.
    pub placeholder: char,
    /// Expression for the database's clock, constant at least within a statement.
    pub now: &'static str,
    /// Suffix that makes a SELECT lock its rows.
    pub for_update: &'static str,
    /// Suffix that makes New-Order's SELECT of its customer lock the row. Empty unless the database needs it: there,
    /// New-Order and Payment would wait for each other.
    pub customer_lock: &'static str,
    /// Suffix that makes a SELECT of rows that the transaction has locked return their newest state, if it would return
    /// the state in its snapshot otherwise.
    pub newest: &'static str,
    /// Prefix of a call of a stored procedure.
    pub call: &'static str,
    /// True if stored procedures begin and commit by themselves.
    pub procedures_commit: bool,
    /// Form of several rows in one statement.
    pub batches: Batches,
    /// Statement that deletes from NEW-ORDER and reports the number of rows, up to its WHERE.
    pub delete_new_order: &'static str,
    /// Statement that begins a transaction that writes.
    pub begin_write: &'static str,
    /// Statement that begins a transaction that only reads.
    pub begin_read: &'static str,
}

impl Dialect {
    /// Replaces the names of fields in braces, such as `{now}`, by the values of this dialect.
    #[must_use]
    pub fn fill(&self, text: &str) -> String {
        let gaps = [
            ("{now}", self.now),
            ("{for_update}", self.for_update),
            ("{customer_lock}", self.customer_lock),
            ("{newest}", self.newest),
            ("{call}", self.call),
            ("{delete_new_order}", self.delete_new_order),
            ("{begin_write}", self.begin_write),
            ("{begin_read}", self.begin_read),
        ];
        gaps.iter().fold(text.to_string(), |text, (gap, sql)| text.replace(gap, sql))
    }

    /// Replaces the parameters `$1`, `$2` … of `text` by the dialect's form.
    pub fn placeholders(&self, text: &str) -> String {
        if self.placeholder == '$' {
            text.to_string()
        } else {
            text.replace('$', &self.placeholder.to_string())
        }
    }
}
