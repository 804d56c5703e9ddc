//! Ends of a transaction that did not commit, and the rollback after them.

use crate::error::{AbortReason, Committed, TxError};
use crate::sql::connection::Connection;
use crate::sql::prepared::Prepared;
use crate::sql::sql_error::SqlError;
use lydite_tpcc::RolledBackOrder;

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
