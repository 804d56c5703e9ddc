//! What differs from one SQL database to the next, as data.

use lydite_tpcc::schema::ColumnType;

/// How statements take several rows at once (`--tx batched`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Batches {
    /// One array for each column, and answers of statements that change rows.
    Arrays,
    /// Lists of rows in the text.
    Rows,
}

/// An SQL dialect.
#[derive(Debug)]
pub struct Dialect {
    /// The type of a column.
    pub column_type: fn(ColumnType) -> String,
    /// An amount of money as text with two decimals, for people.
    pub money_text: fn(&str) -> String,
    /// True if conditions should aggregate large tables instead of joining them: the database looks up each row of a join by
    /// itself, and the rows may be on other servers.
    pub joins_by_row: bool,
    /// A value of any type as text.
    pub as_text: fn(&str) -> String,
    /// What stands before a parameter's number.
    pub placeholder: char,
    /// The database's clock, constant at least within a statement.
    pub now: &'static str,
    /// What makes a SELECT lock its rows.
    pub for_update: &'static str,
    /// What makes a SELECT of rows that the transaction has locked show what they are now, where it would show what they
    /// were in its snapshot.
    pub newest: &'static str,
    /// What stands before a stored procedure and its parameters.
    pub call: &'static str,
    /// Whether stored procedures begin and commit by themselves.
    pub procedures_commit: bool,
    /// How statements take several rows at once.
    pub batches: Batches,
    /// A statement that deletes from NEW-ORDER and tells how many rows, up to its WHERE.
    pub delete_new_order: &'static str,
    /// Begins a transaction that writes.
    pub begin_write: &'static str,
    /// Begins a transaction that only reads.
    pub begin_read: &'static str,
}

impl Dialect {
    /// Puts what differs from one dialect to the next into a text that names it in braces, as the fields here.
    pub(crate) fn fill(&self, text: &str) -> String {
        let gaps = [
            ("{now}", self.now),
            ("{for_update}", self.for_update),
            ("{newest}", self.newest),
            ("{call}", self.call),
            ("{delete_new_order}", self.delete_new_order),
            ("{begin_write}", self.begin_write),
            ("{begin_read}", self.begin_read),
        ];
        gaps.iter().fold(text.to_string(), |text, (gap, sql)| text.replace(gap, sql))
    }

    /// Gives the parameters `$1`, `$2` … of `text` the dialect's form.
    pub fn placeholders(&self, text: &str) -> String {
        if self.placeholder == '$' {
            text.to_string()
        } else {
            text.replace('$', &self.placeholder.to_string())
        }
    }
}
