//! Reasons for an early end of a function test.

use lydite_database::{TargetError, TxError};
use std::time::Duration;

/// Time beyond the limit after which a session without an answer counts as hanging. It separates a wait that a timeout
/// ends from one without end.
pub(super) const GRACE: Duration = Duration::from_secs(5);

/// Reason for an early end of a test.
pub(super) enum Trouble {
    /// The user stopped the tests.
    Stopped,
    /// The connection to the database is lost.
    Lost(TargetError),
    /// An answer of the database is a failure, in one line.
    Failed(String),
    /// The values could not be made equal, for this reason.
    Unequal(String),
}

impl Trouble {
    pub(super) fn words(self) -> String {
        match self {
            Self::Stopped => "interrupted".into(),
            Self::Lost(error) => error.message,
            Self::Failed(why) | Self::Unequal(why) => why,
        }
    }
}

/// Returns the reason for the end of a test that can't go on after an abort.
pub(super) fn trouble(error: &TxError) -> Trouble {
    match error {
        TxError::Unavailable { .. } => Trouble::Lost(TargetError::unreachable(error.to_string())),
        TxError::Aborted { .. }
        | TxError::RolledBack(_)
        | TxError::Broken(_)
        | TxError::WrongRows { .. }
        | TxError::Fatal(_) => Trouble::Failed(error.to_string()),
    }
}
