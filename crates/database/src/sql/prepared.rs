//! Statements that a session prepares, as a connection sees them: numbers, of which three have a meaning to it.

use std::fmt;

/// A statement of a set that sessions prepare.
pub trait Prepared: Copy + fmt::Debug + Send {
    /// A dense number within its set, for tables of prepared statements.
    fn index(self) -> usize;

    /// What it means to the connection.
    fn role(self) -> Role;
}

/// What a statement means to the connection that runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It begins a transaction that writes.
    BeginWrite,
    /// It begins a transaction that only reads.
    BeginRead,
    /// It commits.
    Commit,
    /// Anything else.
    Other,
}
