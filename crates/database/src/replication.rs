//! Replication: the role of a server, and the position of its data.

use crate::error::TxError;
use std::time::Duration;

/// A connection that reports the position of its server's data. It must not be in a transaction.
pub trait Positions: Send {
    /// Returns a position of the primary. A replica that has reached it has every commit of this connection; if this
    /// connection commits nothing, it has every earlier commit.
    ///
    /// # Errors
    /// The connection is lost, or the server does not report positions.
    fn position(&mut self) -> Result<String, TxError>;

    /// Returns true if the replica's data has reached `position`. Waits for that for at most `longest`.
    ///
    /// # Errors
    /// See [`Positions::position`].
    fn reach(&mut self, position: &str, longest: Duration) -> Result<bool, TxError>;
}

/// Role of a server among those with the same data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Accepts writes and follows no other server.
    Primary,
    /// Follows a primary.
    Replica,
    /// Belongs to a cluster whose servers all accept reads and writes.
    Member,
}

/// Role and database of one server; see [`crate::Replicated`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replication {
    /// Role of the server.
    pub role: Role,
    /// Identity of the database, the same on all servers that have it; `None` if the server does not report it.
    pub database: Option<String>,
}
