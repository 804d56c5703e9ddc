//! How the database can refuse.

use std::path::PathBuf;

/// A result of the database.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a transaction lost against another. The same transaction may be tried again from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Conflict {
    /// Another transaction wrote the same key after this one's snapshot, and committed first.
    Write,
    /// Another transaction is committing a write of the same key at this moment.
    Locked,
    /// Serializable only: something that this transaction read has been written since its snapshot.
    Read,
}

impl Conflict {
    /// A short name for messages and counters.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Locked => "locked",
            Self::Read => "read",
        }
    }
}

/// What went wrong, in one line, with what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Lost against a concurrent transaction; try the transaction again.
    #[error("{} conflict in the {engine} engine on a key of {keyspace}: try the transaction again", kind.name())]
    Conflict {
        /// In what way.
        kind: Conflict,
        /// Name of the engine.
        engine: &'static str,
        /// Name of the keyspace.
        keyspace: String,
    },
    /// The snapshot registry can't order this transaction over the engines; try the transaction again.
    #[error(
        "no pair of snapshots is left for this transaction over both engines: {0}; try the transaction again"
    )]
    Csr(&'static str),
    /// The request breaks a constraint of the data: a key that is there already, a value that does not fit.
    #[error("{0}")]
    Constraint(String),
    /// The request makes no sense: an unknown table, crossed bounds, a transaction that has ended.
    #[error("{0}")]
    Usage(String),
    /// A limit was reached: memory, length of a key or value, number of transactions.
    #[error("{0}")]
    Capacity(String),
    /// Stored data is not what was written.
    #[error("{}: {what}", path.display())]
    Corruption {
        /// The file.
        path: PathBuf,
        /// What is wrong, where in it, and what to do.
        what: String,
    },
    /// The operating system refused.
    #[error("{what} {}: {source}", path.display())]
    Io {
        /// What was tried, as `can't write`.
        what: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// Writing the log failed earlier, so nothing can be made durable any more.
    #[error("the database takes no more transactions since {0}; open it again after mending the cause")]
    Poisoned(String),
    /// Commits that were running when the log failed: whether they survive is decided when the database is opened again.
    #[error("it is not known whether this transaction is durable: {0}")]
    Unknown(String),
}

impl Error {
    /// Whether the same transaction may succeed when it is tried again.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Conflict { .. } | Self::Csr(_))
    }
}
