//! Tickets: commits on their way to stable storage.

use crate::error::{Error, Result};
use crate::ids::MAX_ENGINES;
use crate::log::waiter::{Outcome, Waiter};
use crate::log::{Log, Lsn, Place, may_wait};
use arrayvec::ArrayVec;
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
    /// The logs gather commits, and nobody waits for this one yet.
    Open(Places),
    Waiting(Arc<Waiter>),
}

/// A position in each of some logs.
type Places = ArrayVec<Place, MAX_ENGINES>;

/// Returns a waiter that is released when all places are durable, for a thread or task that can't go on until then.
fn blocked(places: &Places) -> Arc<Waiter> {
    let waiter = Arc::new(Waiter::new(places.len()));
    places.iter().for_each(|place| place.enqueue(&waiter, true));
    waiter
}

impl Ticket {
    /// Returns a ticket that resolves when every log is durable up to its position. It does not wait for logs that
    /// acknowledge at once.
    pub(crate) fn after(waits: &[(&Log, Lsn)]) -> Self {
        let undurable = waits.iter().filter(|(log, lsn)| log.durable() < *lsn);
        let places: Places =
            undurable.clone().filter(|(log, _)| log.is_awaited()).map(|(log, lsn)| log.place(*lsn)).collect();
        if places.is_empty() {
            let failure = undurable.clone().find_map(|(log, _)| log.failure());
            return Self(State::Known(failure.map_or(Ok(()), Err)));
        }
        if places.iter().all(Place::gathers) {
            return Self(State::Open(places));
        }
        Self(State::Waiting(blocked(&places)))
    }

    /// Blocks the thread until the commit is durable.
    ///
    /// # Errors
    /// [`Error::Unknown`] if the log failed. [`Error::Usage`] in the callback of a ticket, if the answer is not known yet.
    pub fn wait(self) -> Result<()> {
        if !self.is_done() {
            may_wait()?;
        }
        answer(match self.0 {
            State::Known(outcome) => outcome,
            State::Open(places) => blocked(&places).wait(),
            State::Waiting(waiter) => waiter.wait(),
        })
    }

    /// Returns true if the answer is known, so [`Ticket::wait`] would not block.
    #[must_use]
    pub fn is_done(&self) -> bool {
        match &self.0 {
            State::Known(_) => true,
            State::Open(places) => {
                let mut missing = places.iter().filter(|place| !place.is_durable()).peekable();
                missing.peek().is_none() || missing.any(|place| place.failure().is_some())
            }
            State::Waiting(waiter) => waiter.is_done(),
        }
    }

    /// Calls `callback` with the answer: at once if it is known, otherwise on the thread that writes the log, or on one
    /// whose commit panicked. There it delays all other commits, so it should be short. It must not wait for another
    /// thread that commits. Calls that would wait for the log return [`Error::Usage`] there: [`Ticket::wait`],
    /// [`Database::run`](crate::Database::run), [`Database::sync`](crate::Database::sync), checkpoints, backups, all changes
    /// of tables and keyspaces, the commit of a transaction that has changed the catalog, and others while the write
    /// buffers or the log's buffer are full. So do locking reads that may wait.
    ///
    /// With [`Options::gather`](crate::Options::gather) the log may wait for more commits before it writes this one.
    pub fn on_done(self, callback: impl FnOnce(Result<()>) + Send + 'static) {
        match self.0 {
            State::Known(outcome) => callback(answer(outcome)),
            State::Open(places) => {
                let waiter = Arc::new(Waiter::new(places.len()));
                waiter.on_done(Box::new(|outcome| callback(answer(outcome))));
                places.iter().for_each(|place| place.enqueue(&waiter, false));
            }
            State::Waiting(waiter) => waiter.on_done(Box::new(|outcome| callback(answer(outcome)))),
        }
    }
}

impl Future for Ticket {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let waiter = match &self.0 {
            State::Known(outcome) => return Poll::Ready(answer(outcome.clone())),
            State::Waiting(waiter) => Arc::clone(waiter),
            State::Open(places) => {
                let waiter = blocked(places);
                self.0 = State::Waiting(Arc::clone(&waiter));
                waiter
            }
        };
        waiter.poll(context).map(answer)
    }
}

fn answer(outcome: Outcome) -> Result<()> {
    outcome.map_err(|cause| Error::Unknown(cause.to_string()))
}
