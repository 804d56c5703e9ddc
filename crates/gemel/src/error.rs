//! Errors of the database.

use crate::lock_manager::LockHolder;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A result whose error is [`Error`] by default.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of a conflict between two transactions. The transaction that lost can be retried from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Conflict {
    /// Another transaction wrote the same key after this one's snapshot and committed first, or made a table of the same
    /// name ([`Database::create_table_in`](crate::Database::create_table_in)).
    Write,
    /// Another transaction is committing a write of the same key at this moment; or holds its lock
    /// ([`Transaction::get_locked`](crate::Transaction::get_locked)); or is prepared and undecided, and wrote it or has
    /// read it ([`Transaction::prepare`](crate::Transaction::prepare)). Or it makes a table of the same name, or
    /// changes or drops the table ([`Database::drop_table_in`](crate::Database::drop_table_in)).
    Locked,
    /// Another transaction wrote something that this one had read, after this one's snapshot. Only reads of a
    /// serializable transaction, [`Transaction::get_for_update`](crate::Transaction::get_for_update), and drops and
    /// truncations of tables within a transaction cause it.
    Read,
}

impl Conflict {
    /// Returns a short name for messages and counters.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Locked => "locked",
            Self::Read => "read",
        }
    }
}

/// Returns a function that makes an error of the operating system into an [`Error`].
pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_path_buf();
    move |source| Error::Io { what, path, source }
}

/// Returns who waits for whom in a deadlock.
fn in_words(transactions: &[u64]) -> String {
    let next = transactions.iter().cycle().skip(1);
    let waits = transactions.iter().zip(next).map(|(one, next)| format!("{one} waited for {next}"));
    format!("transaction {}", waits.collect::<Vec<_>>().join(", "))
}

impl From<crate::order::clock::Broken> for Error {
    fn from(_: crate::order::clock::Broken) -> Self {
        Self::Poisoned(crate::order::csr::Refused::Broken.text().into())
    }
}

/// An error: one line that names the cause and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The transaction lost a conflict with a concurrent one: retry it.
    #[error("{} conflict in the {engine} engine on a key of {keyspace}: retry the transaction", kind.name())]
    Conflict {
        /// Kind of the conflict.
        kind: Conflict,
        /// Name of the engine.
        engine: &'static str,
        /// Name of the keyspace.
        keyspace: String,
    },
    /// A locking read did not get its lock in time. The transaction is as before the call: it can go on without the
    /// lock. [`Database::run`](crate::Database::run) retries it.
    #[error(
        "a key of {keyspace} is locked by {holder}, after a wait of {waited:.1?}: retry the transaction, or wait longer"
    )]
    Locked {
        /// Name of the table or keyspace.
        keyspace: String,
        /// Holder of the lock at the end of the wait.
        holder: LockHolder,
        /// Time that the call has waited.
        waited: Duration,
    },
    /// The transaction was one of several that waited for each other's locks, and the one that began last. It has failed,
    /// so the others can go on: retry it.
    #[error("deadlock on a key of {keyspace}: {}; retry the transaction", in_words(transactions))]
    Deadlock {
        /// Name of the table or keyspace for whose key the transaction waited.
        keyspace: String,
        /// Numbers of the transactions, that of this one first. Each one waited for the next, the last one for the first.
        transactions: Vec<u64>,
    },
    /// The snapshot registry can't order this transaction over the engines: retry it.
    #[error("no pair of snapshots fits this transaction over both engines: {0}; retry the transaction")]
    Csr(&'static str),
    /// The transaction is so old that the database no longer has what it needs, or older than the change of a table
    /// that made the handle: retry it.
    #[error("the transaction is too old: {0}; retry it")]
    TooOld(String),
    /// A table that the transaction used was being moved to another engine: retry it.
    #[error(
        "a move of {0:?} to another engine began or ended while the transaction ran: retry the transaction"
    )]
    Moved(String),
    /// The request violates a constraint of the data: a key that exists already, a value that does not fit its column.
    #[error("{0}")]
    Constraint(String),
    /// The handle of a table or keyspace is older than a change that the transaction has to know of: columns were added or
    /// dropped, an index was added, or the rows were truncated or dropped. Get the table again
    /// ([`Database::table`](crate::Database::table)), for a new transaction.
    #[error("{0}")]
    Outdated(String),
    /// The request is invalid: an unknown table, an option out of its range, a transaction that has failed.
    #[error("{0}")]
    Usage(String),
    /// The database in a directory is open, here or in another process, or a transaction of it has not ended.
    #[error(
        "{} is open already, here or in another process: close it there first, and end its transactions",
        .0.display()
    )]
    AlreadyOpen(PathBuf),
    /// A limit is reached: memory, length of a key or value, number of transactions.
    #[error("{0}")]
    Capacity(String),
    /// A file does not have the content that was written to it.
    #[error("{}: {what}", path.display())]
    Corruption {
        /// Path of the file.
        path: PathBuf,
        /// The damage, its position, and what to do.
        what: String,
    },
    /// The operating system reported an error.
    #[error("{what} {}: {source}", path.display())]
    Io {
        /// The failed operation, such as `can't write`.
        what: &'static str,
        /// Path of the file or directory.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The disk has no space for the log, or for the files of tables on disk that the transaction wrote. The transaction
    /// has changed nothing. Once there is space, commits succeed again; the database need not be opened again.
    #[error("no commit is accepted: {0}; make space on the disk, and retry")]
    DiskFull(String),
    /// An earlier error of the log, or of the files of tables on disk, or a panic of a commit. After an error of those
    /// files only commits that write tables on disk are rejected.
    #[error(
        "the database rejects transactions since an earlier error: {0}; fix the cause and open the database again"
    )]
    Poisoned(String),
    /// The log failed while this commit was under way. Opening the database again shows if the commit survived.
    #[error(
        "the outcome of this transaction is unknown: {0}; open the database again to see if it was committed"
    )]
    Unknown(String),
}

impl Error {
    /// Returns true if the same transaction may succeed when it is retried.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.copy_if_retryable().is_some()
    }

    /// Returns a copy of the error if it is retryable.
    pub(crate) fn copy_if_retryable(&self) -> Option<Self> {
        match self {
            Self::Conflict { kind, engine, keyspace } => {
                Some(Self::Conflict { kind: *kind, engine, keyspace: keyspace.clone() })
            }
            Self::Locked { keyspace, holder, waited } => {
                Some(Self::Locked { keyspace: keyspace.clone(), holder: holder.clone(), waited: *waited })
            }
            Self::Deadlock { keyspace, transactions } => {
                Some(Self::Deadlock { keyspace: keyspace.clone(), transactions: transactions.clone() })
            }
            Self::Csr(why) => Some(Self::Csr(why)),
            Self::TooOld(why) => Some(Self::TooOld(why.clone())),
            Self::Moved(name) => Some(Self::Moved(name.clone())),
            _ => None,
        }
    }

    /// Returns true if a handle is older than the last change of its table or keyspace. Then get the table again, and
    /// begin a new transaction. The same handle never succeeds again.
    ///
    /// ```
    /// # fn main() -> gemel::Result<()> {
    /// # use gemel::row::{ColumnType, IndexDef, Schema, Value};
    /// # use gemel::{Database, Engine, Isolation, Options};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let db = Database::open(directory.path().join("db"), Options::default())?;
    /// let schema = Schema::new().column("id", ColumnType::I64).column("name", ColumnType::Text);
    /// let mut people = db.create_table("people", Engine::Memory, schema.primary_key(["id"]))?;
    /// std::thread::scope(|scope| {
    ///     let adding = scope.spawn(|| db.add_index("people", IndexDef::new("by_name", ["name"])));
    ///     let mut id = 0;
    ///     // Writers go on meanwhile.
    ///     while id < 1000 || !adding.is_finished() {
    ///         match db.run(Isolation::Snapshot, |transaction| people.insert(transaction, &[Value::Int(id), "Ann".into()])) {
    ///             Ok(()) => id += 1,
    ///             Err(error) if error.is_outdated() => people = db.table("people")?,
    ///             Err(error) => return Err(error),
    ///         }
    ///     }
    ///     let people = adding.join().unwrap()?;
    ///     people.verify(&mut db.begin(Isolation::Snapshot)?)
    /// })
    /// # }
    /// ```
    #[must_use]
    pub fn is_outdated(&self) -> bool {
        matches!(self, Self::Outdated(_))
    }

    /// Returns true if a file or directory does not exist.
    pub(crate) fn is_missing_file(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == ErrorKind::NotFound)
    }

    /// Returns true if a file found no space on the disk.
    pub(crate) fn is_for_lack_of_space(&self) -> bool {
        match self {
            Self::DiskFull(_) => true,
            Self::Io { source, .. } => {
                matches!(source.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
            }
            _ => false,
        }
    }
}
