//! Errors of statements.

use crate::error::{AbortReason, Committed, TargetError, TxError};

/// Error of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SqlError {
    /// The database answered with an error.
    Database {
        /// Abort reason, if the transaction may be retried.
        retry: Option<AbortReason>,
        /// True if the database is shutting down or accepts no connections now.
        unavailable: bool,
        /// True if the answer to a commit leaves its outcome unknown.
        doubtful: bool,
        /// Code of the database.
        code: String,
        /// Message of the database, in one line.
        message: String,
        /// Detail that Lydite's own procedures send.
        detail: Option<String>,
    },
    /// The connection was lost.
    Lost(String),
    /// The answer does not fit the statement.
    Decode(String),
}

impl SqlError {
    /// Returns the error in one line.
    pub fn line(&self) -> String {
        match self {
            Self::Database { code, message, .. } => format!("{message} ({code})"),
            Self::Lost(detail) | Self::Decode(detail) => detail.clone(),
        }
    }

    /// Converts the error for the transaction of the statement. `committing` is true if the commit may have been sent.
    pub fn in_transaction(self, committing: bool) -> TxError {
        let line = self.line();
        match self {
            Self::Database { retry: Some(reason), .. } => TxError::Aborted { reason, detail: line },
            // A server (or a proxy before it) that goes away while it commits may have committed.
            Self::Lost(_) | Self::Database { unavailable: true, .. } => TxError::Unavailable {
                committed: if committing { Committed::Unknown } else { Committed::No },
                detail: line,
            },
            // The commit was answered, but the answer can't be read; or the server itself does not know its outcome.
            Self::Decode(_) | Self::Database { doubtful: true, .. } if committing => {
                TxError::Unavailable { committed: Committed::Unknown, detail: line }
            }
            // An error of the database undoes the commit that was sent behind it.
            Self::Database { .. } => TxError::of_message(line),
            Self::Decode(_) => TxError::Fatal(line),
        }
    }

    /// Returns the error of an operation on the whole target.
    pub fn on_target(self, doing: &str, place: &str) -> TargetError {
        let message = format!("{place}: {doing}: {}", self.line());
        match self {
            Self::Lost(_) | Self::Database { unavailable: true, .. } => TargetError::unreachable(message),
            Self::Database { .. } | Self::Decode(_) => TargetError::database(message),
        }
    }
}
