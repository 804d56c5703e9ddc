//! The errors of a key-value store.

use crate::error::{AbortReason, Committed, TargetError, TxError};
use crate::load_rows::RowsLost;

/// Error of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// The transaction lost against a concurrent one and may be retried.
    Retry {
        /// Abort reason.
        reason: AbortReason,
        /// Message of the store.
        detail: String,
    },
    /// The store is away, or was away during a commit. It may be back at the next request.
    Unavailable {
        /// State of the commit.
        committed: Committed,
        /// Message of the store.
        detail: String,
    },
    /// The store accepts no transactions until it is opened again, so every later one would fail too. The transaction
    /// was not committed.
    Broken(String),
    /// Any other error. A retry would not help.
    Failed(String),
}

impl From<RowsLost> for StoreError {
    fn from(RowsLost(message): RowsLost) -> Self {
        Self::Failed(message)
    }
}

impl StoreError {
    /// Returns the store's message in one line.
    pub fn line(&self) -> &str {
        match self {
            Self::Retry { detail, .. }
            | Self::Unavailable { detail, .. }
            | Self::Broken(detail)
            | Self::Failed(detail) => detail,
        }
    }

    /// Converts the error for a transaction that did not commit.
    pub fn in_transaction(self) -> TxError {
        match self {
            Self::Retry { reason, detail } => TxError::Aborted { reason, detail },
            Self::Unavailable { committed, detail } => TxError::Unavailable { committed, detail },
            Self::Broken(detail) => TxError::Broken(detail),
            Self::Failed(detail) => TxError::Fatal(detail),
        }
    }

    /// Converts the error for a transaction whose commit was accepted, but may not have become durable.
    pub fn in_wait(self) -> TxError {
        TxError::Unavailable { committed: Committed::Unknown, detail: self.line().to_string() }
    }

    /// Returns the error of an operation on the whole target.
    pub fn on_target(self, doing: &str, place: &str) -> TargetError {
        let message = format!("{place}: {doing}: {}", self.line());
        match self {
            Self::Unavailable { .. } | Self::Broken(_) => TargetError::unreachable(message),
            Self::Retry { .. } | Self::Failed(_) => TargetError::database(message),
        }
    }
}
