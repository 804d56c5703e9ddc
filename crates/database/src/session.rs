//! One connection to the database under test, and its commits.

use crate::endpoints::Seat;
use crate::error::TxError;
use crate::replication::Positions;
use crate::workload::{Tpcc, Workload};
use lydite_tpcc::StandardKind;
use lydite_tpcc::input::Contended;
use lydite_tpcc::transactions::Delivery;
use std::fmt;
use std::sync::Arc;

/// One connection to the database under test, for the transactions of a workload.
pub trait Session<W: Workload = Tpcc>: Send {
    /// Runs one transaction to its end.
    ///
    /// # Errors
    /// See [`TxError`]. After [`TxError::Unavailable`] the session is unusable. After any other error it is ready for
    /// the next transaction, unless that one finds at once that the connection is lost.
    fn execute(&mut self, transaction: &W::Transaction) -> Result<W::Outcome, TxError>;

    /// Sets a function that is called just before a New-Order requests the contended row of this table: its first stock
    /// row, or its district. Returns false if the session can't observe that moment, because it sends the whole
    /// transaction together.
    fn watch(&mut self, _row: Contended, _asked: Arc<dyn Fn() + Send + Sync>) -> bool {
        false
    }

    /// Returns the session's connection for positions, if its server reports them.
    fn positions(&mut self) -> Option<&mut dyn Positions> {
        None
    }

    /// Returns the session's seat at an endpoint of its database, if the database has several or if connections have a
    /// life time.
    fn seat(&self) -> Option<&Seat> {
        None
    }

    /// Returns the lines of terminals that the session's transactions go over, if they go over any.
    fn lines(&mut self) -> Option<&mut dyn TerminalLines> {
        None
    }

    /// Runs one transaction until the session can take the next one. With pipelined commits that is before the commit
    /// is durable; the caller must not acknowledge the transaction earlier.
    ///
    /// # Errors
    /// See [`Session::execute`].
    fn submit(&mut self, transaction: &W::Transaction) -> Result<Submitted<W>, TxError> {
        self.execute(transaction).map(Submitted::Done)
    }

    /// Tells a database that pipelines commits that this session is about to wait, for these commits or for anything
    /// else.
    fn hurry(&mut self) {}
}

/// Lines of emulated terminals to a tier between them and the database.
pub trait TerminalLines {
    /// Chooses the terminal that does the following.
    fn sit_at(&mut self, terminal: u32);

    /// Chooses a transaction from the menu. Returns once the terminal shows its input screen (clause 5.2.2).
    ///
    /// # Errors
    /// The line is lost and does not come back. The transaction has not begun.
    fn choose(&mut self, kind: StandardKind) -> Result<(), TxError>;

    /// Enters a Delivery. Returns once the terminal shows that it is queued (clause 2.7.2). The next
    /// [`Session::execute`] with it waits for its result, or returns the error of queuing it.
    fn queue(&mut self, delivery: Delivery);
}

/// Result of [`Session::submit`].
pub enum Submitted<W: Workload = Tpcc> {
    /// The transaction is complete.
    Done(W::Outcome),
    /// The transaction is committed, but not yet on stable storage.
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

/// A commit that is not yet on stable storage.
pub trait Commit: Send {
    /// Calls `done` once the commit is on stable storage, or once that has failed: at once, or later on a thread of the
    /// database. So `done` must be short.
    fn on_done(self: Box<Self>, done: Box<dyn FnOnce(Result<(), TxError>) + Send>);
}
