//! Sessions that a test can leave behind when they do not answer: each has its own thread.

use super::trouble::{GRACE, Trouble};
use lydite_database::{BalanceTransaction, Balances, Session, Target, TargetError, TxError};
use lydite_tpcc::Cents;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// Interval at which a test looks for a stop.
const LOOK: Duration = Duration::from_millis(20);

/// Number of transactions without an answer, also of sessions that were left behind.
#[derive(Clone, Default)]
pub(super) struct Underway(Arc<AtomicUsize>);

/// One transaction without an answer, until it is dropped.
struct OneUnderway(Underway);

impl Underway {
    pub(super) fn count(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }

    fn one(&self) -> OneUnderway {
        self.0.fetch_add(1, Ordering::AcqRel);
        OneUnderway(self.clone())
    }
}

impl Drop for OneUnderway {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Answer to a transaction.
pub(super) struct Answer {
    pub(super) result: Result<Vec<Cents>, TxError>,
    /// Time of the answer.
    pub(super) at: Instant,
}

/// A session on its own thread, which plays one transaction after the other.
pub(super) struct Aside {
    /// Transactions to play; none while the session is being dropped.
    jobs: Option<Sender<BalanceTransaction>>,
    answers: Receiver<Answer>,
    thread: Option<JoinHandle<()>>,
    state: Cell<State>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Ready,
    Busy,
    Hanging,
    /// The connection is lost.
    Over,
}

fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, TargetError> {
    let refused = |error| TargetError::usage(format!("can't start a thread for a session: {error}"));
    Builder::new().name(name.into()).spawn(work).map_err(refused)
}

impl Aside {
    pub(super) fn connect(
        target: &Arc<dyn Target>,
        limit: Duration,
        underway: &Underway,
    ) -> Result<Self, TargetError> {
        let underway = underway.clone();
        let mut session = target.capabilities().balances()?.connect_balances(limit)?;
        let (jobs, to_do) = channel::<BalanceTransaction>();
        let (answer, answers) = channel();
        let work = move || {
            while let Ok(transaction) = to_do.recv() {
                let one = underway.one();
                let result = session.execute(&transaction);
                drop(one);
                if answer.send(Answer { result, at: Instant::now() }).is_err() {
                    return;
                }
            }
        };
        let thread = Some(spawn("verify", work)?);
        Ok(Self { jobs: Some(jobs), answers, thread, state: Cell::new(State::Ready) })
    }

    /// Begins a transaction.
    pub(super) fn begin(&self, transaction: BalanceTransaction) {
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send(transaction).is_ok());
        self.state.set(if sent { State::Busy } else { State::Over });
    }

    /// Waits for the answer until `deadline`; none if it has not come by then.
    pub(super) fn answer(&self, deadline: Instant) -> Option<Answer> {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.answers.recv_timeout(left) {
            Ok(answer) => {
                let lost = matches!(answer.result, Err(TxError::Unavailable { .. }));
                self.state.set(if lost { State::Over } else { State::Ready });
                Some(answer)
            }
            Err(RecvTimeoutError::Timeout) => {
                self.state.set(State::Hanging);
                None
            }
            Err(RecvTimeoutError::Disconnected) => {
                self.state.set(State::Over);
                None
            }
        }
    }

    /// Plays a transaction; none if there is no answer by `deadline`.
    pub(super) fn play(&self, transaction: BalanceTransaction, deadline: Instant) -> Option<Answer> {
        self.begin(transaction);
        self.answer(deadline)
    }

    /// True if the session can play another transaction.
    pub(super) fn is_ready(&self) -> bool {
        self.state.get() == State::Ready
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        drop(self.jobs.take());
        // A database within this process must be closed before the process ends.
        if self.state.get() != State::Hanging
            && self.state.get() != State::Busy
            && let Some(thread) = self.thread.take()
        {
            let _ended = thread.join();
        }
    }
}

/// Results of sessions that worked side by side.
pub(super) struct Together<R> {
    /// Results of the sessions that ended.
    pub(super) ended: Vec<R>,
    /// Number of sessions that did not end.
    pub(super) hang: usize,
    /// True if the user stopped them.
    pub(super) stopped: bool,
}

/// A flag that tells sessions to end.
#[derive(Clone, Default)]
pub(super) struct Over(Arc<AtomicBool>);

impl Over {
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Duration and limits of sessions that work side by side.
pub(super) struct Span<'a> {
    pub(super) duration: Duration,
    /// Longest wait of a transaction.
    pub(super) limit: Duration,
    pub(super) stop: &'a dyn Fn() -> bool,
    /// True once the sessions have shown what the test is about. Until then they go on after the duration, for at most
    /// another limit.
    pub(super) proved: &'a dyn Fn() -> bool,
}

/// Runs sessions until the time is over, the user stops them, or one of them sets the flag that all get.
pub(super) fn together<R: Send + 'static>(
    target: &Arc<dyn Target>,
    count: u32,
    span: &Span<'_>,
    underway: &Underway,
    work: impl Fn(u32, &mut dyn Session<Balances>, &Over) -> R + Send + Sync + 'static,
) -> Result<Together<R>, Trouble> {
    let balances = target.capabilities().balances().map_err(Trouble::Lost)?;
    let connect = || balances.connect_balances(span.limit).map_err(Trouble::Lost);
    let sessions: Vec<_> = (0..count).map(|_| connect()).collect::<Result<_, _>>()?;
    let (work, over) = (Arc::new(work), Over::default());
    let (ended, ends) = channel();
    let mut threads = Vec::new();
    for (number, mut session) in (0..count).zip(sessions) {
        let (work, flag, ended) = (Arc::clone(&work), over.clone(), ended.clone());
        let one = underway.one();
        let play = move || {
            let result = work(number, &mut *session, &flag);
            drop(session);
            drop(one);
            // Nobody receives the result of a session that was left behind.
            let _heard = ended.send(result);
        };
        match spawn("verify", play) {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                over.set();
                return Err(Trouble::Lost(error));
            }
        }
    }
    drop(ended);
    let mut all = Together { ended: Vec::new(), hang: 0, stopped: false };
    let end = Instant::now() + span.duration;
    let mut given_up = None;
    while all.ended.len() < threads.len() {
        let now = Instant::now();
        let done = now >= end && ((span.proved)() || now >= end + span.limit);
        if given_up.is_none() && ((span.stop)() || over.is_set() || done) {
            all.stopped = (span.stop)();
            over.set();
            given_up = Some(Instant::now() + span.limit + GRACE);
        }
        match ends.recv_timeout(LOOK) {
            Ok(result) => all.ended.push(result),
            Err(RecvTimeoutError::Timeout) if given_up.is_some_and(|at| Instant::now() >= at) => break,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Trouble::Failed("a session panicked: please report this".into()));
            }
        }
    }
    all.hang = threads.len() - all.ended.len();
    if all.hang == 0 {
        threads.into_iter().for_each(|thread| drop(thread.join()));
    }
    Ok(all)
}
