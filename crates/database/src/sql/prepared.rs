//! Statements that a session prepares, as a connection sees them: numbers, and the role of each.

use std::fmt;

/// A statement that sessions prepare, one of a set.
pub trait Prepared: Copy + fmt::Debug + Send {
    /// Returns a dense number within the set, from 0, for tables of prepared statements.
    fn index(self) -> usize;

    /// Returns the role of the statement for the connection.
    fn role(self) -> StatementRole;
}

/// Role of a statement for the connection that runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementRole {
    /// Begins a transaction that writes.
    BeginWrite,
    /// Begins a transaction that only reads.
    BeginRead,
    /// Commits.
    Commit,
    /// Any other role.
    Other,
}
