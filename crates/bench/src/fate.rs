//! The end of a transaction, as the run counts it.

/// End of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Committed,
    /// Rolled back as its input wants.
    RolledBack,
    Failed,
    /// The commit was sent and no answer came.
    Unknown,
}
