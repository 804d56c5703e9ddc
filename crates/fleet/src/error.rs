//! Errors of fleets, one line each.

/// Reason why a fleet can't begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// The user's input is wrong.
    #[error("{0}")]
    Usage(String),
    /// NATS or an agent is not there, or was lost.
    #[error("{0}")]
    Lost(String),
    /// The user stopped it before the first transaction.
    #[error("interrupted before the first transaction")]
    Interrupted,
}
