//! A transaction on balances, on a session and a thread of its own. Every wait for it is bounded.

use crate::act::{Crew, PATIENCE};
use crate::finding::Trouble;
use lydite_database::{BalanceTransaction, Between, Target, TxError};
use lydite_tpcc::Cents;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

/// Limit of a wait for a lock.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// Time between two attempts.
const AGAIN: Duration = Duration::from_millis(10);

/// Result of a transaction on balances.
pub(crate) type Ended = Result<Vec<Cents>, TxError>;

/// A transaction under way.
pub(crate) struct Aside {
    name: &'static str,
    ended: Receiver<Ended>,
}

impl Aside {
    /// Begins a transaction. If `retried` is set, one that the database aborts is retried for a while.
    pub(crate) fn begin(
        name: &'static str,
        target: &dyn Target,
        transaction: BalanceTransaction,
        retried: bool,
    ) -> Result<Self, Trouble> {
        let mut session = target.capabilities().balances()?.connect_balances(LONGEST_WAIT)?;
        let (send, ended) = channel();
        let work = move || {
            let begun = Instant::now();
            let result = loop {
                match session.execute(&transaction) {
                    Err(TxError::Aborted { .. }) if retried && begun.elapsed() < PATIENCE / 2 => {
                        thread::sleep(AGAIN);
                    }
                    result => break result,
                }
            };
            drop(session);
            // Nobody waits for a session that was left behind.
            let _heard = send.send(result);
        };
        Builder::new()
            .name("audit".into())
            .spawn(work)
            .map_err(|error| Trouble::NotRun(format!("can't start a thread for a session: {error}")))?;
        Ok(Self { name, ended })
    }

    /// Begins a transaction that reads, and waits until it stops before its second read. It goes on once what is returned
    /// beside it is dropped.
    pub(crate) fn begin_stopped(
        name: &'static str,
        target: &dyn Target,
        crew: &Crew,
        make: impl FnOnce(Between) -> BalanceTransaction,
    ) -> Result<(Self, Sender<()>), Trouble> {
        let (reached, at) = channel();
        let (reply, told) = channel::<()>();
        let ends = Mutex::new((reached, told));
        let between = Between::new(move || {
            if let Ok(ends) = ends.lock()
                && ends.0.send(()).is_ok()
            {
                // Without a reply the test is over.
                let _over = ends.1.recv();
            }
        });
        let reader = Self::begin(name, target, make(between), false)?;
        if at.recv_timeout(PATIENCE).is_err() {
            let why = reader.end(crew)?.err().map_or_else(String::new, |error| error.to_string());
            return Err(Trouble::NotRun(format!("{name} ended before its second read: {why}")));
        }
        Ok((reader, reply))
    }

    /// Returns the end if it comes within this time.
    pub(crate) fn ended_within(&self, time: Duration) -> Option<Ended> {
        self.ended.recv_timeout(time).ok()
    }

    /// Waits for the end.
    pub(crate) fn end(self, crew: &Crew) -> Result<Ended, Trouble> {
        self.ended.recv_timeout(PATIENCE).map_err(|error| match error {
            RecvTimeoutError::Timeout => {
                crew.leave_behind();
                Trouble::Failed(format!("{} has no answer after {} s", self.name, PATIENCE.as_secs()))
            }
            RecvTimeoutError::Disconnected => {
                Trouble::NotRun(format!("the session of {} panicked: please report this", self.name))
            }
        })
    }
}
