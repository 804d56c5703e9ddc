//! How a transaction of plain statements ends before its commit is answered, and what becomes of its session.

use crate::error::TxError;
use crate::sql::connection::{Connection, SqlError};
use crate::sql::prepared::Prepared;
use crate::sql::session::roll_back;

/// Why it ended.
pub(crate) enum Stop {
    /// A statement failed.
    Failed(SqlError),
    /// The commit failed.
    CommitFailed(SqlError),
    /// A row is not there that must be: the message.
    Missing(String),
}

impl From<SqlError> for Stop {
    fn from(error: SqlError) -> Self {
        Self::Failed(error)
    }
}

impl Stop {
    /// Rolls back, unless the connection is lost; the error to tell.
    pub(crate) fn end<S: Prepared, C: Connection<S>>(self, connection: &mut C) -> TxError {
        let (error, alive) = match self {
            Self::Missing(what) => (TxError::Fatal(what), true),
            Self::Failed(error) => {
                let alive = !matches!(error, SqlError::Lost(_));
                (error.in_transaction(false), alive)
            }
            Self::CommitFailed(error) => {
                let alive = !matches!(error, SqlError::Lost(_));
                (error.in_transaction(true), alive)
            }
        };
        if alive { roll_back(connection, error) } else { error }
    }
}
