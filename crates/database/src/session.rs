//! One connection to the database under test, and its commits.

use crate::error::TxError;
use crate::replication::Positions;
use crate::workload::{Tpcc, Workload};
use lydite_tpcc::input::Contended;
use std::fmt;
use std::sync::Arc;

/// One connection to the database under test, for the transactions of a workload.
pub trait Session<W: Workload = Tpcc>: Send {
    /// Runs one transaction to its end.
    ///
    /// # Errors
    /// See [`TxError`]. After [`TxError::Unavailable`] the session is of no more use; after any other it is
    /// ready for the next transaction, unless that says at once that the connection is lost.
    fn execute(&mut self, transaction: &W::Transaction) -> Result<W::Outcome, TxError>;

    /// Has `asked` called each time just before a New-Order asks for the row of this table that others may want to change as
    /// well: its first stock row, or its district. Whether the session can tell; one that can't sends all of the transaction
    /// together.
    fn watch(&mut self, _row: Contended, _asked: Arc<dyn Fn() + Send + Sync>) -> bool {
        false
    }

    /// The session's connection as one that tells how far the data of its server have come, if it does.
    fn positions(&mut self) -> Option<&mut dyn Positions> {
        None
    }

    /// Runs one transaction up to where the session can take the next: with pipelined commit that is before the
    /// commit is durable. Whoever sent it must not be told before it is.
    ///
    /// # Errors
    /// As [`Session::execute`].
    fn submit(&mut self, transaction: &W::Transaction) -> Result<Submitted<W>, TxError> {
        self.execute(transaction).map(Submitted::Done)
    }
}

/// What came of [`Session::submit`].
pub enum Submitted<W: Workload = Tpcc> {
    /// It is done.
    Done(W::Outcome),
    /// It is committed, and on its way to stable storage.
    Committing(W::Outcome, Box<dyn Commit>),
}

impl<W: Workload> fmt::Debug for Submitted<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done(outcome) => f.debug_tuple("Done").field(outcome).finish(),
            Self::Committing(outcome, _) => {
                f.debug_tuple("Committing").field(outcome).finish_non_exhaustive()
            }
        }
    }
}

/// A commit on its way to stable storage.
pub trait Commit: Send {
    /// Calls `done` when it is there, or when that is given up: at once, or later on a thread of the database, so it
    /// must be short.
    fn on_done(self: Box<Self>, done: Box<dyn FnOnce(Result<(), TxError>) + Send>);
}
