//! Errors of statements.

use crate::error::{AbortReason, Committed, RUN_CHECK, TargetError, TxError, asks_for_check};
use crate::load_rows::RowsLost;

/// Codes of errors that the stored procedures, and statements that check their own rows, raise for a wrong number of
/// rows: an exception of PL/pgSQL, a row that is missing or has a twin, and MySQL's SIGNAL.
const WRONG_ROWS: [&str; 4] = ["P0001", "P0002", "P0003", "1644"];
/// Code of PostgreSQL for a text that is no number: statements that check their own rows cast their message to one.
pub(super) const NO_NUMBER: &str = "22P02";

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

impl From<RowsLost> for SqlError {
    fn from(RowsLost(message): RowsLost) -> Self {
        Self::Decode(message)
    }
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
            Self::Database { code, message, .. }
                if WRONG_ROWS.contains(&code.as_str()) && asks_for_check(&message)
                    // CockroachDB says more behind the text.
                    || code == NO_NUMBER && message.contains(&format!(": {RUN_CHECK}")) =>
            {
                TxError::wrong_rows(line)
            }
            Self::Database { .. } => TxError::Fatal(line),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_of_the_database_decides_which_message_reports_wrong_rows() {
        let of = |code: &str, message: &str| {
            let error = SqlError::Database {
                retry: None,
                unavailable: false,
                doubtful: false,
                code: code.into(),
                message: message.into(),
                detail: None,
            };
            matches!(error.in_transaction(true), TxError::WrongRows { .. })
        };
        let missing = "stock is missing: run lydite check";
        for (code, message) in [
            ("P0001", missing.to_owned()),
            ("1644", missing.to_owned()),
            ("22P02", format!("invalid input syntax for type integer: \"{missing}\"")),
            ("22P02", format!("could not parse \"{missing}\" as type int: invalid syntax")),
            ("P0002", "query returned no rows: run lydite check".to_owned()),
        ] {
            assert!(of(code, &message), "{code} {message}");
        }
        for (code, message) in [
            ("23505", "duplicate key value violates unique constraint: run lydite check"),
            ("1062", "Duplicate entry 'stock is missing: run lydite check'"),
            ("P0001", "a trigger rejects (run lydite check) of a customer"),
        ] {
            assert!(!of(code, message), "{code} {message}");
        }
    }
}
