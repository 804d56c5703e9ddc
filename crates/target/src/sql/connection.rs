//! What a family's connection must do so that the one text of the transactions runs on it.

use crate::error::{AbortReason, Committed, TargetError, TxError};
use crate::sql::statement::Statement;
use crate::sql::value::{Rows, Value};

/// Why a statement failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SqlError {
    /// The database answered with an error.
    Database {
        /// Whether the transaction may be tried again, and why.
        retry: Option<AbortReason>,
        /// Whether the database is going away or does not take connections now.
        unavailable: bool,
        /// The database's own code.
        code: String,
        /// Its words, on one line.
        message: String,
        /// More words of a kind that our own procedures send.
        detail: Option<String>,
    },
    /// The connection broke.
    Lost(String),
    /// The answer does not fit the statement.
    Decode(String),
}

impl SqlError {
    /// The error in one line.
    pub(crate) fn line(&self) -> String {
        match self {
            Self::Database { code, message, .. } => format!("{message} ({code})"),
            Self::Lost(detail) | Self::Decode(detail) => detail.clone(),
        }
    }

    /// The error of a transaction in which this statement failed. `committing`: the commit may have been sent.
    pub(crate) fn in_transaction(self, committing: bool) -> TxError {
        let line = self.line();
        match self {
            Self::Database { retry: Some(reason), .. } => TxError::Aborted { reason, detail: line },
            // A server that goes away may say so after it has committed and before it has told us.
            Self::Lost(_) | Self::Database { unavailable: true, .. } => TxError::Unavailable {
                committed: if committing { Committed::Unknown } else { Committed::No },
                detail: line,
            },
            Self::Database { .. } | Self::Decode(_) => TxError::Fatal(line),
        }
    }

    /// The error of an operation on a whole target.
    pub(crate) fn on_target(self, doing: &str, place: &str) -> TargetError {
        let message = format!("{place}: {doing}: {}", self.line());
        match self {
            Self::Lost(_) | Self::Database { unavailable: true, .. } => TargetError::unreachable(message),
            Self::Database { .. } | Self::Decode(_) => TargetError::database(message),
        }
    }
}

/// One step of a pipeline.
pub(crate) type Step<'a> = (Statement, &'a [Value<'a>]);

/// A connection on which the transactions' statements are prepared.
pub(crate) trait Connection: Send {
    /// Runs one prepared statement and waits for its rows.
    fn run(&mut self, statement: Statement, params: &[Value<'_>], rows: &mut Rows) -> Result<(), SqlError>;

    /// Runs statements one after another; the first error ends it. `rows` has an entry for each step.
    /// Sent together and waited for once where the protocol allows.
    fn pipeline(&mut self, steps: &[Step<'_>], rows: &mut [Rows]) -> Result<(), SqlError> {
        for ((statement, params), rows) in steps.iter().zip(rows) {
            self.run(*statement, params, rows)?;
        }
        Ok(())
    }

    /// Ends a transaction that failed, so that the connection can begin the next one.
    fn roll_back(&mut self) -> Result<(), SqlError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn going_away() -> SqlError {
        SqlError::Database {
            retry: None,
            unavailable: true,
            code: "57P02".into(),
            message: "terminating connection because of crash of another server process".into(),
            detail: None,
        }
    }

    #[test]
    fn a_commit_is_unknown_when_the_server_goes_away_in_the_midst_of_it_with_or_without_a_word() {
        for error in [going_away(), SqlError::Lost("connection reset by peer".into())] {
            for (committing, expected) in [(true, Committed::Unknown), (false, Committed::No)] {
                match error.clone().in_transaction(committing) {
                    TxError::Unavailable { committed, .. } => assert_eq!(committed, expected, "{error:?}"),
                    other => panic!("{error:?} became {other:?}"),
                }
            }
        }
    }
}
