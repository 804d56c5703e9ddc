//! Ends of a transaction that did not commit, and the rollback after them.

use crate::error::{AbortReason, Committed, RUN_CHECK, TxError};
use crate::sql::connection::Connection;
use crate::sql::prepared::Prepared;
use crate::sql::sql_error::{NO_NUMBER, SqlError};
use lydite_tpcc::RolledBackOrder;
use lydite_tpcc::schema::Table;

/// Reason why a transaction did not commit.
pub(crate) enum SqlTxError {
    /// A statement failed.
    Failed(SqlError),
    /// The commit was sent and failed.
    CommitFailed(SqlError),
    /// The order has an unused item, as its input wants (clause 2.4.1.4).
    UnusedItem(RolledBackOrder),
    /// Another transaction took a row that this one had found (possible below repeatable read).
    Overtaken(&'static str),
    /// There are other rows than there must be (clause 2.3.6). Has the message.
    WrongRows(String),
    /// The same, and the commit was sent with the statement and succeeded.
    CommittedWrongRows(String),
}

impl From<SqlError> for SqlTxError {
    fn from(error: SqlError) -> Self {
        Self::Failed(error)
    }
}

/// Codes of a number that its column can't take, in PostgreSQL and in MySQL. Families add the column to the message, if
/// the server names it.
const FULL: [&str; 3] = ["22003", "1264", "1690"];

/// Codes of a row that a foreign key refers to and that is missing, in PostgreSQL, MySQL and SQLite. With the first two,
/// a row that is deleted or changed may be the one that is referred to.
const NO_PARENT: [&str; 6] = ["23503", "1452", "1451", "1216", "1217", "sqlite 787"];

/// Codes of a key that a row has already, in the same databases.
const KEY_TAKEN: [&str; 4] = ["23505", "1062", "sqlite 1555", "sqlite 2067"];

/// Returns the message in a text that a statement casts to a number to fail. The database quotes it in its own words.
fn own_message(message: &str) -> Option<&str> {
    let end = message.find(RUN_CHECK)? + RUN_CHECK.len();
    let ours = |letter: char| letter.is_ascii_alphanumeric() || " :,_".contains(letter);
    let begin = message[..end].char_indices().rev().take_while(|(_, letter)| ours(*letter)).last()?.0;
    Some(message[begin..end].trim_start())
}

/// Returns true if an error about a key may speak of a table of ours. The names of constraints begin with their table's. SQLite
/// names no table for a missing row, and MariaDB none for a primary key.
fn is_of_ours(code: &str, message: &str) -> bool {
    let mut words = message.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let is_ours = |word: &str| {
        let of = |table: Table| {
            word.strip_prefix(table.name()).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        };
        Table::ALL.into_iter().any(of)
    };
    words.any(is_ours) || code == "sqlite 787" || message.ends_with("for key 'PRIMARY'")
}

/// Says what to do about a column that is full.
fn explained(mut error: SqlError) -> SqlError {
    if let SqlError::Database { code, message, .. } = &mut error
        && FULL.contains(&code.as_str())
    {
        *message +=
            ": a column is full, and those of an older Lydite had fewer digits: load again with --fresh";
    }
    error
}

impl SqlTxError {
    /// Returns the error of a statement that checks its own rows as its message alone, with `subject` in it replaced by
    /// `name`. Other errors stay as they are.
    pub(crate) fn named(self, subject: &str, name: impl Fn() -> String) -> Self {
        match &self {
            Self::Failed(SqlError::Database { code, message, .. })
            | Self::CommitFailed(SqlError::Database { code, message, .. })
                if code == NO_NUMBER =>
            {
                let own = own_message(message).map(|own| own.replace(subject, &name()));
                own.map_or(self, Self::WrongRows)
            }
            _ => self,
        }
    }

    /// Returns an error of a key of TPC-C's tables as a wrong number of rows.
    ///
    /// No order of the transactions explains a foreign key without its row: all the rows that keys refer to were loaded,
    /// or inserted by the transaction itself, and none is ever deleted. A key that is taken proves as much only of an order
    /// (`takes_number`), whose number is read and raised under a lock or at the risk of a serialization error, and only if
    /// `judges_keys`: a database that finds conflicts at the commit may look at the new key first, so it may answer a
    /// conflict so. Keys of tables that a user's trigger writes prove nothing.
    pub(crate) fn of_keys(self, judges_keys: bool, takes_number: bool) -> Self {
        let (Self::Failed(error) | Self::CommitFailed(error)) = &self else { return self };
        let SqlError::Database { retry: None, unavailable: false, doubtful: false, code, message, detail } =
            error
        else {
            return self;
        };
        if !is_of_ours(code, message) {
            return self;
        }
        if NO_PARENT.contains(&code.as_str()) {
            // PostgreSQL names the missing row there.
            let row = detail.as_ref().map_or(String::new(), |row| format!(": {}", row.trim_end_matches('.')));
            return Self::WrongRows(format!(
                "{message} ({code}){row}: it was loaded, or this transaction inserted it: look for a trigger, rule, view or \
                 proxy on the table, or {RUN_CHECK}"
            ));
        }
        if judges_keys && takes_number && KEY_TAKEN.contains(&code.as_str()) {
            return Self::WrongRows(format!(
                "{message} ({code}): D_NEXT_O_ID gave the number of an order that is there already: {RUN_CHECK}"
            ));
        }
        self
    }

    /// Rolls back, unless the connection is lost, so that the session can begin the next transaction. Returns the error
    /// of the transaction.
    pub(crate) fn roll_back<S: Prepared>(self, connection: &mut dyn Connection<S>) -> TxError {
        let (error, alive) = match self {
            Self::Failed(error) => {
                let error = explained(error);
                let alive = !matches!(error, SqlError::Lost(_));
                (error.in_transaction(false), alive)
            }
            // A procedure works in the round trip of its commit.
            Self::CommitFailed(error) => {
                let error = explained(error);
                let alive = !matches!(error, SqlError::Lost(_));
                (error.in_transaction(true), alive)
            }
            Self::UnusedItem(order) => (TxError::RolledBack(Box::new(order)), true),
            Self::Overtaken(what) => {
                (TxError::Aborted { reason: AbortReason::Other, detail: what.to_string() }, true)
            }
            Self::WrongRows(detail) => (TxError::wrong_rows(detail), true),
            Self::CommittedWrongRows(detail) => {
                (TxError::WrongRows { committed: Committed::Unknown, detail }, true)
            }
        };
        if alive
            && !matches!(error, TxError::Unavailable { .. })
            && let Err(failed) = connection.roll_back()
            // A lost connection rolls back an order with an unused item as well.
            && !matches!(error, TxError::RolledBack(_))
        {
            return failed.in_transaction(false);
        }
        error
    }
}
