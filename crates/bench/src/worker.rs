//! One session at work: sends a transaction until it has an answer, reconnects, and records.

use crate::clock::{Clock, Nanos, Window, nanos};
use crate::connections::Connections;
use crate::contention::{Contender, Contention};
use crate::error_log::{self, ErrorLog};
use crate::failures::{Failures, Trouble};
use crate::fate::Fate;
use crate::in_flight::InFlight;
use crate::plan::{RetryPolicy, RunSettings};
use crate::recorder::{EndedTransaction, Recorder};
use crate::stages::{Cursor, Stages};
use crate::workload::{Connect, Runnable};
use lydite_database::{Commit, Committed, Session, Submitted, TxError};
use lydite_tpcc::input::Contended;
use lydite_tpcc::random::{Purpose, Stream};
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Waits are cut into pieces of this length, so that the end of the run is noticed in them.
const NAP: Nanos = 20_000_000;
/// The first and the greatest longest wait between two attempts to reconnect.
const RECONNECT: RetryPolicy = RetryPolicy {
    attempts: u32::MAX,
    backoff_min: Duration::from_millis(50),
    backoff_max: Duration::from_secs(1),
};
/// How long answers are waited for after the end of the run.
const PATIENCE: Nanos = 5_000_000_000;
/// Recording takes a fraction of a microsecond, so more recorders than this would only cost memory.
const RECORDERS_MAX: usize = 32;

/// What the sessions of a run share. A session that hangs keeps it alive beyond the run.
#[derive(Debug)]
pub(crate) struct Shared<W: Runnable> {
    pub(crate) clock: Clock,
    pub(crate) window: Window,
    pub(crate) recorders: Vec<Mutex<Recorder<W>>>,
    pub(crate) in_flight: Vec<InFlight>,
    pub(crate) connections: Connections,
    pub(crate) errors: Mutex<ErrorLog>,
    /// Sessions that have not finished.
    pub(crate) active: AtomicUsize,
    pub(crate) failures: Failures,
    pub(crate) retry: RetryPolicy,
    pub(crate) seed: u64,
    pub(crate) contention: Option<Arc<Contention>>,
    /// Of which table the rows are that transactions contend for.
    pub(crate) contended: Contended,
}

impl<W: Runnable> Shared<W> {
    pub(crate) fn new(window: Window, settings: &RunSettings, stages: &Arc<Stages<W::Inputs>>) -> Self {
        let RunSettings { sessions, retry, seed, contended, .. } = *settings;
        let count = sessions as usize;
        let contention = (!settings.contention.is_empty())
            .then(|| Arc::new(Contention::new(settings.contention.clone(), sessions)));
        Self {
            window,
            contention,
            contended,
            recorders: (0..count.min(RECORDERS_MAX))
                .map(|_| Mutex::new(Recorder::new(Cursor::new(stages))))
                .collect(),
            in_flight: (0..count).map(|_| InFlight::default()).collect(),
            connections: Connections::new(sessions),
            errors: Mutex::default(),
            active: AtomicUsize::new(count),
            failures: Failures::new(W::KINDS),
            retry,
            seed,
            clock: Clock::start(),
        }
    }

    /// The recorder of a session.
    pub(crate) fn recorder(&self, session: usize) -> MutexGuard<'_, Recorder<W>> {
        self.recorders[session % self.recorders.len()].lock()
    }

    /// Waits until `at`, or at most until the run is over: then the answer is no.
    pub(crate) fn sleep_until(&self, at: Nanos) -> bool {
        loop {
            let now = self.clock.now();
            if self.window.over(now) {
                return false;
            }
            if now >= at {
                return true;
            }
            let left = at.min(self.window.end()) - now;
            std::thread::sleep(Duration::from_nanos(left.min(NAP)));
        }
    }

    pub(crate) fn note_error(&self, message: &str) {
        self.errors.lock().note(message);
    }

    /// Judges and counts a transaction whose answer is there now. `by_session`: on the session's own thread, which was
    /// waiting for it.
    fn answer(
        &self,
        (session, by_session): (usize, bool),
        transaction: &W::Transaction,
        (due, picked): (Nanos, Nanos),
        retries: u32,
        ending: Ending<W>,
    ) -> Answer<W> {
        let mut answered = self.clock.now();
        if ending.given_up {
            // The end of the run cut the attempts short. The transaction was due in it and has no answer: this
            // belongs to the result, so it is counted as if it were known at the last moment.
            answered = answered.min(self.window.end().saturating_sub(1)).max(picked);
        }
        let kind = W::kind(transaction);
        let Ending { fate, outcome, trouble, .. } = ending;
        match (fate, &trouble) {
            (Fate::Committed | Fate::RolledBack, _) => self.failures.succeeded(kind, answered),
            (_, Some(trouble)) => {
                self.failures.failed(kind, answered, self.window.counts(due, answered), trouble);
            }
            (_, None) => {}
        }
        let ended =
            EndedTransaction { transaction, fate, outcome: outcome.as_ref(), due, picked, answered, retries };
        let mut recorder = self.recorder(session);
        if by_session {
            self.in_flight[session].end_transaction(answered);
        } else {
            self.in_flight[session].end_commit();
        }
        recorder.record(&self.window, &ended);
        drop(recorder);
        Answer { at: answered, fate, outcome }
    }
}

/// The answer to a transaction.
#[derive(Debug)]
pub(crate) struct Answer<W: Runnable> {
    pub(crate) at: Nanos,
    pub(crate) fate: Fate,
    /// What the database answered; only if it committed.
    pub(crate) outcome: Option<W::Outcome>,
}

/// How the attempts at a transaction ended.
struct Ending<W: Runnable> {
    fate: Fate,
    outcome: Option<W::Outcome>,
    /// Why it did not succeed; none also if the end of the run cut it short.
    trouble: Option<Trouble>,
    /// The connection was lost, and the transaction has no other end than that of the run.
    given_up: bool,
    /// The commit is not durable yet, so there is no answer yet.
    commit: Option<Box<dyn Commit>>,
}

impl<W: Runnable> Ending<W> {
    fn new(fate: Fate) -> Self {
        Self { fate, outcome: None, trouble: None, given_up: false, commit: None }
    }
}

/// One session.
pub(crate) struct Worker<W: Runnable> {
    pub(crate) shared: Arc<Shared<W>>,
    pub(crate) index: usize,
    connect: Arc<Connect<W>>,
    session: Option<Box<dyn Session<W>>>,
    /// Its part in contention control.
    pub(crate) contender: Option<Arc<Contender>>,
    /// Whether the session reports_row when it asks for the row that transactions contend for.
    reports_row: bool,
    waits: Stream,
    /// Whether there was no answer since the connection was last lost.
    down: bool,
}

impl<W: Runnable> Worker<W> {
    pub(crate) fn new(
        shared: Arc<Shared<W>>,
        index: usize,
        connect: Arc<Connect<W>>,
        session: Box<dyn Session<W>>,
    ) -> Self {
        let waits = Stream::new(shared.seed, Purpose::Retries, index as u64);
        let contender = shared
            .contention
            .as_ref()
            .map(|contention| Arc::new(Contender::new(Arc::clone(contention), shared.clock, index)));
        let mut worker =
            Self { shared, index, connect, session: None, contender, reports_row: false, waits, down: false };
        worker.use_session(session);
        worker
    }

    /// Works with a session from now on.
    fn use_session(&mut self, mut session: Box<dyn Session<W>>) {
        if let Some(contender) = &self.contender {
            let contender = Arc::clone(contender);
            self.reports_row =
                session.watch(self.shared.contended, Arc::new(move || contender.request_row()));
        }
        self.session = Some(session);
    }

    pub(crate) fn now(&self) -> Nanos {
        self.shared.clock.now()
    }

    /// Whether the stage of the moment lets fewer sessions play.
    pub(crate) fn must_rest<I>(&self, cursor: &mut Cursor<I>, now: Nanos) -> bool {
        self.index as u64 >= u64::from(cursor.stage(now).sessions)
    }

    /// Rests as long as the stage of the moment lets fewer sessions play. `now`: that moment, moved to the one when it goes on.
    /// No if the run is over.
    pub(crate) fn rest<I>(&self, cursor: &mut Cursor<I>, now: &mut Nanos) -> bool {
        while self.must_rest(cursor, *now) {
            if !self.shared.sleep_until(cursor.next(*now)) {
                return false;
            }
            *now = self.now();
        }
        true
    }

    /// Sends a transaction until it is answered, and records it. `due` is when the terminal wanted it, `picked`
    /// when this session took it up.
    ///
    /// Where the database commits in a pipeline the session is free before the answer is there. Then none is returned, and
    /// what `later` makes is called with the answer when it comes, on a thread of the database, so it must be short.
    pub(crate) fn play<F>(
        &mut self,
        (due, picked): (Nanos, Nanos),
        transaction: W::Transaction,
        later: impl FnOnce() -> F,
    ) -> Option<Answer<W>>
    where
        F: FnOnce(Answer<W>) + Send + 'static,
    {
        self.shared.in_flight[self.index].begin_transaction(due, W::kind(&transaction), false);
        let mut retries = 0;
        let mut ending =
            self.attempt((due, picked), &transaction, &mut retries, |session| session.submit(&transaction));
        let Some(commit) = ending.commit.take() else {
            let session = (self.index, true);
            return Some(self.shared.answer(session, &transaction, (due, picked), retries, ending));
        };
        let then = later();
        {
            // So that whoever counts what is in flight at the end sees this commit once.
            let _counting = self.shared.recorder(self.index);
            self.shared.in_flight[self.index].begin_commit();
        }
        let (shared, session) = (Arc::clone(&self.shared), (self.index, false));
        commit.on_done(Box::new(move |durable| {
            let ending = match durable {
                Ok(()) => ending,
                Err(error) => {
                    let detail = error.to_string();
                    shared.note_error(&detail);
                    Ending { trouble: Some(Trouble::Lost(detail)), ..Ending::new(Fate::Unknown) }
                }
            };
            then(shared.answer(session, &transaction, (due, picked), retries, ending));
        }));
        None
    }

    /// As [`Worker::play`]; `then` gets the answer, at once or later.
    pub(crate) fn play_then(
        &mut self,
        times: (Nanos, Nanos),
        transaction: W::Transaction,
        then: impl FnOnce(Answer<W>) + Send + 'static,
    ) {
        let mut then = Some(then);
        // Made once at most: now, or for later.
        let mut take = || then.take().unwrap_or_else(|| unreachable!("it is taken once"));
        if let Some(answer) = self.play(times, transaction, &mut take) {
            take()(answer);
        }
    }

    /// All attempts at one transaction, the first at `sent`.
    fn attempt(
        &mut self,
        (due, mut sent): (Nanos, Nanos),
        transaction: &W::Transaction,
        retries: &mut u32,
        mut send: impl FnMut(&mut dyn Session<W>) -> Result<Submitted<W>, TxError>,
    ) -> Ending<W> {
        let lost = || Ending { given_up: true, ..Ending::new(Fate::Failed) };
        loop {
            let Some(session) = self.session.as_mut() else {
                return lost();
            };
            if let Some(contender) = self.contender.as_ref().filter(|_| !self.reports_row) {
                contender.request_row();
            }
            let in_flight = &self.shared.in_flight[self.index];
            in_flight.note_request(sent);
            let result = send(session.as_mut());
            if self.down && !matches!(result, Err(TxError::Unavailable { .. })) {
                self.down = false;
                self.shared.connections.answered(self.now());
            }
            let last = *retries + 1 >= self.shared.retry.attempts;
            match result {
                Ok(Submitted::Done(outcome)) => {
                    return Ending { outcome: Some(outcome), ..Ending::new(Fate::Committed) };
                }
                Ok(Submitted::Committing(outcome, commit)) => {
                    in_flight.note_answer(self.now());
                    let (outcome, commit) = (Some(outcome), Some(commit));
                    return Ending { outcome, commit, ..Ending::new(Fate::Committed) };
                }
                Err(TxError::RolledBack(_)) => return Ending::new(Fate::RolledBack),
                Err(TxError::Fatal(message)) => return self.rejected(message),
                Err(TxError::Broken(message)) => {
                    let why = error_log::line(&message);
                    self.shared.failures.end_run(format!("the run ended early: {why}"));
                    let ending = Ending { given_up: true, ..self.rejected(message) };
                    in_flight.note_answer(self.now());
                    // The run is about to end. Until then more transactions would only add failures.
                    self.shared.sleep_until(Nanos::MAX);
                    return ending;
                }
                Err(TxError::Aborted { reason, detail }) => {
                    // Now, since its transaction may never end.
                    let now = self.now();
                    in_flight.note_answer(now);
                    self.shared.recorder(self.index).record_abort(&self.shared.window, reason, now);
                    if last {
                        return self.rejected(format!("given up after {} attempts: {detail}", *retries + 1));
                    }
                    if let Some(contender) =
                        self.contender.as_ref().filter(|contender| contender.has_joined())
                    {
                        // In the queue instead of at the row: that is what it competes for now.
                        contender.request_row();
                        let again = contender.has_queued();
                        if !contender.take_turn(|| self.shared.window.over(self.now())) {
                            return Ending::new(Fate::Failed);
                        }
                        // Given up even in its turn: who was there first needs time to end.
                        if !again {
                            *retries += 1;
                            sent = self.now();
                            continue;
                        }
                    }
                    let wait = self.random_wait(self.shared.retry.backoff_bound(*retries + 1));
                    if !self.shared.sleep_until(self.now() + wait) {
                        return Ending::new(Fate::Failed);
                    }
                }
                Err(TxError::Unavailable { committed, detail }) => {
                    in_flight.forget_request();
                    self.lose_connection(sent, &detail);
                    if committed == Committed::Unknown {
                        let trouble = Some(Trouble::Lost(detail));
                        return Ending { trouble, given_up: true, ..Ending::new(Fate::Unknown) };
                    }
                    if last {
                        let trouble = Some(Trouble::Lost(detail));
                        return Ending { trouble, ..Ending::new(Fate::Failed) };
                    }
                    self.shared.in_flight[self.index].begin_transaction(due, W::kind(transaction), true);
                    if !self.ensure_connected() {
                        return lost();
                    }
                    self.shared.in_flight[self.index].begin_transaction(due, W::kind(transaction), false);
                }
            }
            *retries += 1;
            sent = self.now();
        }
    }

    /// The database does not do it, however often it is asked.
    fn rejected(&self, message: String) -> Ending<W> {
        self.shared.note_error(&message);
        Ending { trouble: Some(Trouble::Rejected(message)), ..Ending::new(Fate::Failed) }
    }

    /// The connection was lost with what was sent at `sent`: since then there was no answer on it.
    fn lose_connection(&mut self, sent: Nanos, detail: &str) {
        self.session = None;
        if let Some(contender) = &self.contender {
            contender.leave_row(self.now().min(self.shared.window.end()));
        }
        self.shared.note_error(detail);
        self.shared.connections.lost(sent, !self.down, detail);
        self.down = true;
    }

    /// Reconnects if the connection was lost, however long it takes; no if the run is over before.
    pub(crate) fn ensure_connected(&mut self) -> bool {
        let mut attempt = 0;
        while self.session.is_none() {
            attempt += 1;
            let wait = self.random_wait(RECONNECT.backoff_bound(attempt));
            if !self.shared.sleep_until(self.now() + wait) {
                return false;
            }
            match (self.connect)() {
                Ok(session) => {
                    self.use_session(session);
                    self.shared.connections.reconnected();
                    // Connecting may take longer than the run: what is sent now nobody would count.
                    if self.shared.window.over(self.now()) {
                        return false;
                    }
                }
                Err(error) => self.shared.note_error(&error.message),
            }
        }
        true
    }

    /// Waits for the answers of commits that are on their way: the last session may close the database when it goes.
    pub(crate) fn await_commits(&self) {
        let patience = self.shared.window.end().saturating_add(PATIENCE);
        while self.shared.in_flight[self.index].unanswered_commits() > 0 && self.now() < patience {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Uniform between zero and `longest`.
    fn random_wait(&mut self, longest: Duration) -> Nanos {
        (self.waits.unit_open_low() * nanos(longest) as f64) as Nanos
    }
}

/// However the thread of a session ends, the run must learn of it.
impl<W: Runnable> Drop for Worker<W> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let why = "a session's thread panicked; this is an error in Lydite or in a driver";
            self.shared.note_error(why);
            // Its share of the warehouses has nobody any more.
            self.shared.failures.end_run(format!("the run ended early, {why}"));
        }
        self.shared.active.fetch_sub(1, Ordering::Release);
    }
}
