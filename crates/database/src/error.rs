//! How a database can fail us, and how we can fail it.

use lydite_tpcc::{RolledBackOrder, named_enum};
use std::fmt;

named_enum! {
    /// Why a database gave up a transaction that may be tried again; the names are those of results.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum AbortReason {
        /// It could not be ordered against a concurrent one.
        Serialization = "serialization",
        /// It was chosen to break a deadlock.
        Deadlock = "deadlock",
        /// It waited too long for a lock.
        LockTimeout = "lock_timeout",
        /// The cross-engine snapshot registry refused it.
        Csr = "csr",
        /// Another retryable reason.
        Other = "other",
    }
}

/// What is known of a transaction whose connection was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Committed {
    /// The commit was never sent, or the database said that it did not happen.
    No,
    /// The commit was sent and no answer came: it may or may not have happened.
    Unknown,
}

/// Why [`crate::Session::execute`] did not commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TxError {
    /// The database gave it up; the same input may be sent again on the same session.
    Aborted {
        /// Why.
        reason: AbortReason,
        /// The database's own code and words.
        detail: String,
    },
    /// A New-Order with an unused item was rolled back, as TPC-C wants of one in a hundred (clause 2.4.1.4).
    RolledBack(Box<RolledBackOrder>),
    /// The database went away. The session is of no more use.
    Unavailable {
        /// Whether the transaction may have been committed.
        committed: Committed,
        /// What happened.
        detail: String,
    },
    /// The database is open and takes no more transactions until it is opened again: every later one would fail too. The
    /// transaction was not committed.
    Broken(String),
    /// Anything else: trying again would not help. The transaction was rolled back.
    Fatal(String),
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
            Self::Broken(detail) | Self::Fatal(detail) => f.write_str(detail),
        }
    }
}

impl std::error::Error for TxError {}

/// Whose fault it is that an operation on a whole target failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetErrorKind {
    /// What was asked for does not fit the target or its state.
    Usage,
    /// The database was not reachable, refused us, or was lost.
    Unreachable,
    /// The database answered with an error (a full disk, a missing privilege, …).
    Database,
    /// The user did not want to wait for it any longer.
    Interrupted,
}

/// An operation on a target failed; one line that says what, where and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TargetError {
    /// Whose fault.
    pub kind: TargetErrorKind,
    /// One line.
    pub message: String,
}

impl TargetError {
    /// What was asked for does not fit.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { kind: TargetErrorKind::Usage, message: message.into() }
    }

    /// The database is not there or does not let us in.
    pub fn unreachable(message: impl Into<String>) -> Self {
        Self { kind: TargetErrorKind::Unreachable, message: message.into() }
    }

    /// The user interrupted it.
    pub fn interrupted(message: impl Into<String>) -> Self {
        Self { kind: TargetErrorKind::Interrupted, message: message.into() }
    }

    /// The database answered with an error.
    pub fn database(message: impl Into<String>) -> Self {
        Self { kind: TargetErrorKind::Database, message: message.into() }
    }
}
