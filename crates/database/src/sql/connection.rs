//! What a family's connection must do so that the one text of the transactions runs on it.

use crate::error::{AbortReason, Committed, TargetError, TxError};
use crate::replication::Positions;
use crate::sql::prepared::Prepared;
use crate::sql::statement::Statement;
use crate::sql::value::{Rows, Value};

/// Why a statement failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SqlError {
    /// The database answered with an error.
    Database {
        /// Whether the transaction may be tried again, and why.
        retry: Option<AbortReason>,
        /// Whether the database is going away or does not take connections now.
        unavailable: bool,
        /// Whether, as the answer to a commit, it leaves open what came of it.
        doubtful: bool,
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
    pub fn line(&self) -> String {
        match self {
            Self::Database { code, message, .. } => format!("{message} ({code})"),
            Self::Lost(detail) | Self::Decode(detail) => detail.clone(),
        }
    }

    /// The error of a transaction in which this statement failed. `committing`: the commit may have been sent.
    pub fn in_transaction(self, committing: bool) -> TxError {
        let line = self.line();
        match self {
            Self::Database { retry: Some(reason), .. } => TxError::Aborted { reason, detail: line },
            // A server (or a proxy before it) that goes away while it commits may have committed.
            Self::Lost(_) | Self::Database { unavailable: true, .. } => TxError::Unavailable {
                committed: if committing { Committed::Unknown } else { Committed::No },
                detail: line,
            },
            // Committed, and then not understood; or the server itself does not know.
            Self::Decode(_) | Self::Database { doubtful: true, .. } if committing => {
                TxError::Unavailable { committed: Committed::Unknown, detail: line }
            }
            Self::Database { .. } | Self::Decode(_) => TxError::Fatal(line),
        }
    }

    /// The error of an operation on a whole target.
    pub fn on_target(self, doing: &str, place: &str) -> TargetError {
        let message = format!("{place}: {doing}: {}", self.line());
        match self {
            Self::Lost(_) | Self::Database { unavailable: true, .. } => TargetError::unreachable(message),
            Self::Database { .. } | Self::Decode(_) => TargetError::database(message),
        }
    }
}

/// One step of a pipeline.
pub type Step<'a, S = Statement> = (S, &'a [Value<'a>]);

/// A connection on which the statements of a set are prepared.
pub trait Connection<S: Prepared = Statement>: Send {
    /// Runs one prepared statement and waits for its rows.
    fn run(&mut self, statement: S, params: &[Value<'_>], rows: &mut Rows) -> Result<(), SqlError>;

    /// Runs statements one after another; the first error ends it. `rows` has an entry for each step.
    /// Sent together and waited for once where the protocol allows.
    fn pipeline(&mut self, steps: &[Step<'_, S>], rows: &mut [Rows]) -> Result<(), SqlError> {
        for ((statement, params), rows) in steps.iter().zip(rows) {
            self.run(*statement, params, rows)?;
        }
        Ok(())
    }

    /// See [`crate::Session::positions`].
    fn positions(&mut self) -> Option<&mut dyn Positions> {
        None
    }

    /// Ends a transaction that failed, so that the connection can begin the next one.
    fn roll_back(&mut self) -> Result<(), SqlError>;
}
