//! Tickets: commits on their way to stable storage.

use crate::error::{Error, Result};
use crate::log::waiter::{Outcome, Waiter};
use crate::log::{Log, Lsn};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A commit on its way to stable storage.
///
/// Other transactions see the commit already; the ticket resolves when a crash can't undo it any more. A ticket is a
/// future, so it can be awaited. [`Ticket::wait`] blocks the thread, and [`Ticket::on_done`] takes a callback. Dropping
/// a ticket loses only the answer, not the commit. While the disk is full the ticket stays open
/// ([`FullDisk`](crate::FullDisk)). The answer is [`Error::Unknown`] if the log could not be written:
/// then opening the database again shows if the commit survived.
#[derive(Debug)]
#[must_use = "a commit is durable only when its ticket says so"]
pub struct Ticket(State);

#[derive(Debug)]
enum State {
    Known(Outcome),
    Waiting(Arc<Waiter>),
}

impl Ticket {
    /// Returns a ticket that resolves when every log is durable up to its position. It does not wait for logs that
    /// acknowledge at once.
    pub(crate) fn after(waits: &[(&Log, Lsn)]) -> Self {
        let is_open = |(log, lsn): &&(&Log, Lsn)| log.is_awaited() && log.durable() < *lsn;
        let open = waits.iter().filter(is_open).count();
        if open == 0 {
            let failure =
                waits.iter().filter(|(log, lsn)| log.durable() < *lsn).find_map(|(log, _)| log.failure());
            return Self(State::Known(failure.map_or(Ok(()), Err)));
        }
        // The waiter counts all logs before the first one can report. A log that has become durable meanwhile reports
        // at once.
        let awaited = waits.iter().filter(|(log, _)| log.is_awaited());
        let waiter = Arc::new(Waiter::new(awaited.clone().count()));
        for (log, lsn) in awaited {
            log.enqueue(*lsn, &waiter);
        }
        Self(State::Waiting(waiter))
    }

    /// Blocks the thread until the commit is durable.
    ///
    /// # Errors
    /// [`Error::Unknown`] if the log failed.
    pub fn wait(self) -> Result<()> {
        answer(match self.0 {
            State::Known(outcome) => outcome,
            State::Waiting(waiter) => waiter.wait(),
        })
    }

    /// Returns true if the answer is known, so [`Ticket::wait`] would not block.
    #[must_use]
    pub fn is_done(&self) -> bool {
        match &self.0 {
            State::Known(_) => true,
            State::Waiting(waiter) => waiter.is_done(),
        }
    }

    /// Calls `callback` with the answer: at once if it is known, otherwise on the log's own thread. There it delays all
    /// other commits, so it should be short and must not wait for a commit.
    pub fn on_done(self, callback: impl FnOnce(Result<()>) + Send + 'static) {
        match self.0 {
            State::Known(outcome) => callback(answer(outcome)),
            State::Waiting(waiter) => waiter.on_done(Box::new(|outcome| callback(answer(outcome)))),
        }
    }
}

impl Future for Ticket {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &self.0 {
            State::Known(outcome) => Poll::Ready(answer(outcome.clone())),
            State::Waiting(waiter) => waiter.poll(context).map(answer),
        }
    }
}

fn answer(outcome: Outcome) -> Result<()> {
    outcome.map_err(|cause| Error::Unknown(cause.to_string()))
}
