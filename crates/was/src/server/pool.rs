//! The pool of database sessions: each has a thread that executes requests in the order of their arrival.

use super::queue::Job;
use super::shared::Shared;
use crate::message::Answer;
use lydite_database::{Committed, Session, Target, TargetError, TxError};
use lydite_tpcc::{Outcome, StandardKind, StandardOutcome, Transaction};
use std::fmt;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Bounds of the wait between two attempts to reconnect a session.
const RECONNECT_MIN: Duration = Duration::from_millis(50);
const RECONNECT_MAX: Duration = Duration::from_secs(1);

/// Connected sessions.
pub(super) struct Pool {
    target: Arc<dyn Target>,
    sessions: Vec<Box<dyn Session>>,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("sessions", &self.sessions.len()).finish_non_exhaustive()
    }
}

impl Pool {
    pub(super) fn connect(target: &Arc<dyn Target>, sessions: u32) -> Result<Self, TargetError> {
        let sessions = (0..sessions).map(|_| target.connect()).collect::<Result<_, _>>()?;
        Ok(Self { target: Arc::clone(target), sessions })
    }

    /// Starts a thread for each session.
    pub(super) fn start(self, shared: &Arc<Shared>) -> Result<Vec<JoinHandle<()>>, TargetError> {
        let count = self.sessions.len();
        let mut threads = Vec::with_capacity(count);
        for session in self.sessions {
            let worker = Worker {
                target: Arc::clone(&self.target),
                session: Some(session),
                shared: Arc::clone(shared),
            };
            let thread = std::thread::Builder::new().spawn(move || worker.work()).map_err(|error| {
                shared.stop();
                TargetError::usage(format!(
                    "can't start a thread for each of {count} sessions: {error}: use fewer, or raise ulimit -u"
                ))
            })?;
            threads.push(thread);
        }
        Ok(threads)
    }
}

/// One session.
struct Worker {
    target: Arc<dyn Target>,
    /// `None` while the connection is lost.
    session: Option<Box<dyn Session>>,
    shared: Arc<Shared>,
}

impl Worker {
    fn work(mut self) {
        let shared = Arc::clone(&self.shared);
        // Requests wait in the queue while no session is connected.
        while self.reconnect()
            && let Some(job) = shared.queue.pop(|| shared.is_stopping())
        {
            match job {
                Job::Interactive(id, transaction) => {
                    let result = self.execute(&transaction);
                    shared.contexts.lock().end(id, |number| screen(number, result));
                }
                Job::Deferred(operator, delivery) => {
                    let result = match self.execute(&delivery.into()) {
                        Ok(Outcome::Standard(StandardOutcome::Delivery(outcome))) => Ok(outcome),
                        Ok(_) => Err(wrong_answer()),
                        Err(error) => Err(error),
                    };
                    shared.contexts.lock().deliver(operator, &Answer::Delivered(result).frame());
                }
            }
        }
    }

    /// Executes a transaction and counts it.
    fn execute(&mut self, transaction: &Transaction) -> Result<Outcome, TxError> {
        let result = match &mut self.session {
            Some(session) => session.execute(transaction),
            None => {
                let detail = "the tier lost its connection".to_owned();
                Err(TxError::Unavailable { committed: Committed::No, detail })
            }
        };
        let mut contexts = self.shared.contexts.lock();
        let counts = contexts.counts.of(transaction.kind());
        match &result {
            Ok(_) => counts.committed += 1,
            Err(TxError::RolledBack(_)) => counts.rolled_back += 1,
            Err(TxError::Unavailable { committed, .. }) => {
                match committed {
                    Committed::No => counts.failed += 1,
                    Committed::Unknown => counts.unknown += 1,
                }
                self.session = None;
            }
            Err(TxError::WrongRows { committed: Committed::Unknown, .. }) => counts.unknown += 1,
            Err(_) => counts.failed += 1,
        }
        result
    }

    /// Reconnects if the connection was lost, however long it takes. Returns false if the tier stops first.
    fn reconnect(&mut self) -> bool {
        let mut wait = RECONNECT_MIN;
        while self.session.is_none() {
            if self.shared.is_stopping() {
                return false;
            }
            match self.target.connect() {
                Ok(session) => self.session = Some(session),
                Err(_) => {
                    std::thread::sleep(wait);
                    wait = (wait * 2).min(RECONNECT_MAX);
                }
            }
        }
        true
    }
}

fn wrong_answer() -> TxError {
    TxError::Fatal("the database answered with the result of another type of transaction".into())
}

/// Returns the answer to an interactive request.
fn screen(number: u32, result: Result<Outcome, TxError>) -> Answer {
    match result {
        // A Delivery is answered by its operator.
        Ok(Outcome::Standard(outcome)) if outcome.kind() != StandardKind::Delivery => {
            Answer::Output { number, outcome }
        }
        Ok(_) => Answer::Failed { number, error: wrong_answer() },
        Err(TxError::RolledBack(order)) => Answer::RolledBack { number, order: *order },
        Err(error) => Answer::Failed { number, error },
    }
}
