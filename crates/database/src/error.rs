//! Errors of a database, and errors in its use.

use lydite_tpcc::{RolledBackOrder, named_enum};
use std::fmt;

named_enum! {
    /// Reason why a database aborted a transaction that may be retried. The names are those of results.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum AbortReason {
        /// The transaction could not be serialized with a concurrent one.
        Serialization = "serialization",
        /// The database chose it to break a deadlock.
        Deadlock = "deadlock",
        /// It waited too long for a lock.
        LockTimeout = "lock_timeout",
        /// The cross-engine snapshot registry rejected it.
        Csr = "csr",
        /// Another retryable reason.
        Other = "other",
        /// A statement took longer than the client's limit, and was cancelled.
        StatementTimeout = "statement_timeout",
    }
}

/// Knowledge about the commit of a transaction whose connection was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Committed {
    /// The commit was never sent, or the database reported that it did not happen.
    No,
    /// The commit was sent and no answer came, so its outcome is unknown.
    Unknown,
}

/// Advice about a wrong number of rows. Messages that end with it (see `asks_for_check`) are [`TxError::WrongRows`]:
/// stored procedures, statements that check their own rows, and drivers report such rows so.
pub const RUN_CHECK: &str = "run lydite check";

/// True if a message ends with [`RUN_CHECK`] after a colon. A server may have put it in quotes. Text of a user's within
/// a message proves nothing.
pub(crate) fn asks_for_check(message: &str) -> bool {
    let message = message.trim_end_matches(|letter: char| !letter.is_alphanumeric());
    message.strip_suffix(RUN_CHECK).is_some_and(|before| before.ends_with(": "))
}

/// Advice about a change that hit a wrong number of rows and was rolled back, which no check of the database can find.
/// Contains [`RUN_CHECK`], because a row that an UPDATE does not find may be missing.
const FIND_CAUSE: &str =
    "look for a trigger, rule, view or proxy on the table, or run lydite check if a row may be missing";

/// Result of [`crate::Session::execute`] without a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TxError {
    /// The database aborted the transaction. The same input may be retried on the same session.
    Aborted {
        /// Abort reason.
        reason: AbortReason,
        /// Error code and message of the database.
        detail: String,
    },
    /// A New-Order with an unused item was rolled back, as TPC-C requires for one in a hundred (clause 2.4.1.4).
    RolledBack(Box<RolledBackOrder>),
    /// The connection is lost. The session is unusable.
    Unavailable {
        /// State of the commit.
        committed: Committed,
        /// Description of the loss.
        detail: String,
    },
    /// The database is open but accepts no transactions until it is opened again, so every later one would fail too.
    /// The transaction was not committed.
    Broken(String),
    /// The transaction found another number of rows than there must be: a row that must exist is missing (clause
    /// 2.3.6), one key has several rows, or a statement changed too few or too many. The database is broken: what it
    /// acknowledged before can't be trusted. A retry would prove nothing.
    WrongRows {
        /// State of the commit: unknown if the commit was sent together with the statement. Else the transaction was
        /// rolled back.
        committed: Committed,
        /// Statement or row, with the numbers expected and found.
        detail: String,
    },
    /// Any other error. A retry would not help. The transaction was rolled back.
    Fatal(String),
}

impl TxError {
    /// Returns the error of a transaction that was rolled back because of a wrong number of rows.
    pub fn wrong_rows(detail: impl Into<String>) -> Self {
        let mut detail = detail.into();
        if detail.contains(" changed ") && !detail.contains(FIND_CAUSE) {
            detail = detail.replace(RUN_CHECK, FIND_CAUSE);
        }
        Self::WrongRows { committed: Committed::No, detail }
    }

    /// Returns the error that the message of a driver stands for if a retry would not help.
    pub fn of_message(detail: String) -> Self {
        if asks_for_check(&detail) { Self::wrong_rows(detail) } else { Self::Fatal(detail) }
    }
}

impl fmt::Display for TxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Aborted { reason, detail } => write!(f, "aborted ({}): {detail}", reason.name()),
            Self::RolledBack(order) => {
                write!(f, "order {} rolled back: item number is not valid", order.o_id)
            }
            Self::Unavailable { committed: Committed::No, detail } => write!(f, "not committed: {detail}"),
            Self::Unavailable { committed: Committed::Unknown, detail } => {
                write!(f, "commit unknown: {detail}")
            }
            Self::Broken(detail) | Self::Fatal(detail) | Self::WrongRows { detail, .. } => {
                f.write_str(detail)
            }
        }
    }
}

impl std::error::Error for TxError {}

/// Class of an error of an operation on a whole target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetErrorKind {
    /// The request does not fit the target or its state.
    Usage,
    /// The database was not reachable, rejected the connection, or was lost.
    Unreachable,
    /// The database answered with an error (a full disk, a missing privilege, …).
    Database,
    /// The user ended the wait.
    Interrupted,
}

/// A failed operation on a target. One line that names the failure, the place and a remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TargetError {
    /// Class of the error.
    pub kind: TargetErrorKind,
    /// Message of one line.
    pub message: String,
}

impl TargetError {
    /// Makes an error for a request that does not fit.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { kind: TargetErrorKind::Usage, message: message.into() }
    }

    /// Makes an error for a database that is away or rejects the connection.
    pub fn unreachable(message: impl Into<String>) -> Self {
        Self { kind: TargetErrorKind::Unreachable, message: message.into() }
    }

    /// Makes an error for an operation that the user interrupted.
    pub fn interrupted(message: impl Into<String>) -> Self {
        Self { kind: TargetErrorKind::Interrupted, message: message.into() }
    }

    /// Makes an error that the database reported.
    pub fn database(message: impl Into<String>) -> Self {
        Self { kind: TargetErrorKind::Database, message: message.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::asks_for_check;

    #[test]
    fn only_the_end_of_a_message_says_that_rows_are_wrong() {
        for message in [
            "stock 1/2 is missing: run lydite check",
            "invalid input syntax for type integer: \"stock of the order is missing: run lydite check\"",
            "syntaxe invalide : « an order line was not inserted: run lydite check »",
            "driver ./demo: no row: run lydite check.",
        ] {
            assert!(asks_for_check(message), "{message}");
        }
        for message in [
            "duplicate key: (h_data)=(run lydite check)",
            "Duplicate entry 'x: run lydite check' for key 'PRIMARY'",
            "run lydite check",
            "note: run lydite checks",
        ] {
            assert!(!asks_for_check(message), "{message}");
        }
    }
}
