//! The part that a server plays beside others with the same data, and how far its data have come.

use crate::error::TxError;
use std::time::Duration;

/// A connection that tells how far the data of its server have come. Not within a transaction.
pub trait Positions: Send {
    /// Of a primary: where a replica has come that has at least all that this connection has committed; of a connection that
    /// commits nothing, all that was committed before by anybody.
    ///
    /// # Errors
    /// The connection is lost, or the server does not tell.
    fn position(&mut self) -> Result<String, TxError>;

    /// Of a replica: whether its data have come as far as `position`, waiting for that no longer than `longest`.
    ///
    /// # Errors
    /// As [`Positions::position`].
    fn reach(&mut self, position: &str, longest: Duration) -> Result<bool, TxError>;
}

/// What a server is to others with the same data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It takes writes, and follows nobody.
    Primary,
    /// It follows a primary.
    Replica,
    /// One of a cluster whose servers all take reads and writes.
    Member,
}

/// The part of one server; see [`crate::Replicated`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replication {
    /// What the server is.
    pub role: Role,
    /// What its database is known by on all servers that have it; none if the server does not tell.
    pub database: Option<String>,
}
