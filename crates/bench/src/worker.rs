//! One session at work: it sends a transaction until it has an answer, reconnects, and records the result.

use crate::clock::{Clock, Nanos, Window, nanos};
use crate::connections::Connections;
use crate::contention::{Contender, Contention};
use crate::error_log::{self, ErrorLog};
use crate::failures::{Failures, Trouble};
use crate::fate::Fate;
use crate::in_flight::InFlight;
use crate::plan::{RetryPolicy, RunSettings};
use crate::recorder::{EndedTransaction, Recorder};
use crate::share::Share;
use crate::stages::{Cursor, Stages};
use crate::success_log::{Lines, Taken};
use crate::workload::{Connect, Runnable};
use lydite_database::{Commit, Committed, Seat, Session, Submitted, TxError};
use lydite_tpcc::StandardKind;
use lydite_tpcc::input::Contended;
use lydite_tpcc::random::{Purpose, Stream};
use lydite_tpcc::transactions::Delivery;
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Longest single sleep of a wait, so that the wait notices the end of the run. Hundreds of idle sessions wait so: shorter
/// sleeps cost processor time, which the database may need.
const NAP: Nanos = 100_000_000;
/// Bounds of the back-off between two attempts to reconnect.
const RECONNECT: RetryPolicy = RetryPolicy {
    attempts: u32::MAX,
    backoff_min: Duration::from_millis(50),
    backoff_max: Duration::from_secs(1),
};
/// Longest wait for answers after the end of the run.
const PATIENCE: Nanos = 5_000_000_000;
/// Largest number of recorders. Recording takes a fraction of a microsecond, so more would only cost memory.
const RECORDERS_MAX: usize = 32;

/// State that the sessions of a run share. A session that hangs keeps it alive beyond the run.
#[derive(Debug)]
pub(crate) struct Shared<W: Runnable> {
    pub(crate) clock: Clock,
    pub(crate) window: Window,
    pub(crate) recorders: Vec<Mutex<Recorder<W>>>,
    /// True if the run has a success log.
    pub(crate) logs: bool,
    pub(crate) in_flight: Vec<InFlight>,
    pub(crate) connections: Connections,
    pub(crate) errors: Mutex<ErrorLog>,
    /// Number of sessions that have not finished.
    pub(crate) active: AtomicUsize,
    pub(crate) failures: Failures,
    pub(crate) retry: RetryPolicy,
    pub(crate) seed: u64,
    pub(crate) share: Share,
    pub(crate) contention: Option<Arc<Contention>>,
    /// Table that holds the hot rows.
    pub(crate) contended: Contended,
}

impl<W: Runnable> Shared<W> {
    /// Takes the lines of the success log out of all recorders.
    pub(crate) fn take_log(&self, taken: &mut Taken) {
        for recorder in &self.recorders {
            recorder.lock().log.iter_mut().for_each(|lines| taken.take(lines));
        }
    }

    pub(crate) fn new(window: Window, settings: &RunSettings, stages: &Arc<Stages<W::Inputs>>) -> Self {
        let RunSettings { sessions, retry, seed, contended, share, .. } = *settings;
        let count = sessions as usize;
        let recorders = count.min(RECORDERS_MAX);
        let logs = settings.success_log.is_some();
        let contention = (!settings.contention.is_empty()).then(|| {
            Arc::new(Contention::new(settings.contention.clone(), sessions, settings.contention_method))
        });
        Self {
            window,
            contention,
            contended,
            recorders: (0..recorders)
                .map(|_| Recorder::new(Cursor::new(stages), logs.then(|| Lines::of_one(recorders))))
                .map(Mutex::new)
                .collect(),
            logs,
            in_flight: (0..count).map(|_| InFlight::default()).collect(),
            connections: Connections::new(sessions),
            errors: Mutex::default(),
            active: AtomicUsize::new(count),
            failures: Failures::new(W::KINDS),
            retry,
            seed,
            share,
            clock: Clock::start(),
        }
    }

    /// Locks the recorder of a session.
    pub(crate) fn recorder(&self, session: usize) -> MutexGuard<'_, Recorder<W>> {
        self.recorders[session % self.recorders.len()].lock()
    }

    /// Waits until `at`. Returns false if the run is over first.
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

    /// Counts a transaction whose answer has just come. `by_session` is true on the session's own thread, which waited
    /// for the answer.
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
            // The end of the run cut the attempts short. The transaction was due in the run and has no answer. The
            // result must show that, so it counts as if it were known at the last moment.
            answered = answered.min(self.window.end().saturating_sub(1)).max(picked);
        }
        let kind = W::kind(transaction);
        let Ending { fate, outcome, trouble, wrong_rows, .. } = ending;
        match (fate, &trouble) {
            (Fate::Committed | Fate::RolledBack, _) => self.failures.succeeded(kind, answered),
            (_, Some(trouble)) => {
                self.failures.failed(kind, answered, self.window.counts(due, answered), trouble);
            }
            (_, None) => {}
        }
        let outcome_of = outcome.as_ref();
        let ended = EndedTransaction {
            session,
            transaction,
            fate,
            outcome: outcome_of,
            wrong_rows: wrong_rows.as_deref(),
            due,
            picked,
            answered,
            retries,
        };
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
    /// Answer of the database; only if it committed.
    pub(crate) outcome: Option<W::Outcome>,
}

/// End of the attempts at a transaction.
struct Ending<W: Runnable> {
    fate: Fate,
    outcome: Option<W::Outcome>,
    /// Reason why the transaction did not succeed; `None` if it did, or if the end of the run cut it short.
    trouble: Option<Trouble>,
    /// Wrong numbers of rows that the transaction found, if it did.
    wrong_rows: Option<String>,
    /// True if the transaction counts as ended before the end of the run, even if its end was noticed later.
    given_up: bool,
    /// Commit that is not durable yet. Until it is, the transaction has no answer.
    commit: Option<Box<dyn Commit>>,
}

impl<W: Runnable> Ending<W> {
    fn new(fate: Fate) -> Self {
        Self { fate, outcome: None, trouble: None, wrong_rows: None, given_up: false, commit: None }
    }
}

/// A session with its thread's state.
pub(crate) struct Worker<W: Runnable> {
    pub(crate) shared: Arc<Shared<W>>,
    pub(crate) index: usize,
    connect: Arc<Connect<W>>,
    /// `None` while the connection is lost.
    session: Option<Box<dyn Session<W>>>,
    /// The session's part in contention control.
    pub(crate) contender: Option<Arc<Contender>>,
    /// True if the session reports when it requests a hot row.
    reports_row: bool,
    /// Random stream of the back-offs.
    waits: Stream,
    /// True if the session had no answer since it last lost its connection.
    down: bool,
}

impl<W: Runnable> Worker<W> {
    pub(crate) fn new(
        shared: Arc<Shared<W>>,
        index: usize,
        connect: Arc<Connect<W>>,
        session: Box<dyn Session<W>>,
    ) -> Self {
        let session_of_run = shared.share.nth(index as u32);
        let waits = Stream::new(shared.seed, Purpose::Retries, session_of_run.into());
        let contender = shared
            .contention
            .as_ref()
            .map(|contention| Arc::new(Contender::new(Arc::clone(contention), shared.clock, index)));
        let mut worker =
            Self { shared, index, connect, session: None, contender, reports_row: false, waits, down: false };
        worker.use_session(session);
        worker
    }

    /// Uses `session` from now on.
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

    /// Joins a hot row for the next transaction, if the run has contention control and a row has room. The caller calls
    /// [`Worker::leave_hot_row`] once the transaction has been played. The session may be parked meanwhile.
    pub(crate) fn join_hot_row(&self, now: Nanos) -> Option<usize> {
        let over = || self.shared.window.over(self.now());
        self.contender.as_ref().and_then(|contender| contender.join(now, over))
    }

    /// True if [`Worker::join_hot_row`] may park the session.
    pub(crate) fn parks(&self) -> bool {
        self.contender.as_ref().is_some_and(|contender| contender.parks())
    }

    /// Leaves the hot row that the last transaction joined, at the time of its answer; by default now.
    pub(crate) fn leave_hot_row(&self, answered: Option<Nanos>) {
        if let Some(contender) = &self.contender {
            let answered = answered.unwrap_or_else(|| self.now());
            // A transaction that ends after the run competed until the end of the run.
            contender.leave(answered.min(self.shared.window.end()));
        }
    }

    /// True if fewer sessions play in the stage of `now`, so that this one rests.
    pub(crate) fn must_rest<I>(&self, cursor: &mut Cursor<I>, now: Nanos) -> bool {
        self.index as u64 >= u64::from(cursor.stage(now).sessions)
    }

    /// Rests while the session must rest. Sets `now` to the time at which it plays again. Returns false if the run is
    /// over first.
    pub(crate) fn rest<I>(&mut self, cursor: &mut Cursor<I>, now: &mut Nanos) -> bool {
        while self.must_rest(cursor, *now) {
            if !self.wait_until(cursor.next(*now)) {
                return false;
            }
            *now = self.now();
        }
        true
    }

    /// Sends a transaction until it is answered, and records it. `due` is the time at which the request was due,
    /// `picked` the time at which this session took it.
    ///
    /// If the database pipelines commits, the session is free before the answer comes. Then this returns `None`, and
    /// the function that `later` makes is called with the answer, on a thread of the database, so it must be short.
    pub(crate) fn play<F>(
        &mut self,
        (due, picked): (Nanos, Nanos),
        transaction: W::Transaction,
        later: impl FnOnce() -> F,
    ) -> Option<Answer<W>>
    where
        F: FnOnce(Answer<W>) + Send + 'static,
    {
        if self.shared.logs {
            self.shared.recorder(self.index).begin(self.index, &transaction);
        }
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
            // The lock makes the count of transactions in flight at the end see this commit exactly once.
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

    /// Plays a transaction as [`Worker::play`] does and calls `then` with the answer, at once or later.
    pub(crate) fn play_then(
        &mut self,
        times: (Nanos, Nanos),
        transaction: W::Transaction,
        then: impl FnOnce(Answer<W>) + Send + 'static,
    ) {
        let mut then = Some(then);
        // Called once: now, or by the pipelined commit.
        let mut take = || then.take().unwrap_or_else(|| unreachable!("it is taken once"));
        if let Some(answer) = self.play(times, transaction, &mut take) {
            take()(answer);
        }
    }

    /// Waits until `at`. Returns false if the run is over first.
    pub(crate) fn wait_until(&mut self, at: Nanos) -> bool {
        self.hurry();
        self.shared.sleep_until(at)
    }

    /// Tells the database that the session is about to wait.
    pub(crate) fn hurry(&mut self) {
        if let Some(session) = &mut self.session {
            session.hurry();
        }
    }

    /// Lets the next transaction be entered at a terminal. Without lines of terminals that makes no difference.
    pub(crate) fn sit_at(&mut self, terminal: u32) {
        if let Some(lines) = self.session.as_mut().and_then(|session| session.lines()) {
            lines.sit_at(terminal);
        }
    }

    /// Chooses a transaction at a terminal. Returns the time at which it shows the input screen; `None` if the run is
    /// over first.
    pub(crate) fn choose(&mut self, terminal: u32, kind: StandardKind) -> Option<Nanos> {
        while self.ensure_connected() {
            let sent = self.now();
            let Some(lines) = self.session.as_mut().and_then(|session| session.lines()) else {
                return Some(sent);
            };
            lines.sit_at(terminal);
            match lines.choose(kind) {
                Ok(()) => return Some(self.now()),
                Err(TxError::Broken(message)) => {
                    self.end_run(&message);
                    return None;
                }
                Err(error) => self.lose_connection(sent, &error.to_string()),
            }
        }
        None
    }

    /// Enters a Delivery at a terminal. If that fails, its execution fails.
    pub(crate) fn queue(&mut self, terminal: u32, delivery: Delivery) {
        if let Some(lines) = self.session.as_mut().and_then(|session| session.lines()) {
            lines.sit_at(terminal);
            lines.queue(delivery);
        }
    }

    /// Ends the run, because each transaction would only add a failure.
    fn end_run(&self, message: &str) {
        let why = error_log::line(message);
        self.shared.failures.end_run(format!("the run ended early: {why}"));
        self.shared.sleep_until(Nanos::MAX);
    }

    /// Makes all attempts at one transaction, the first at `sent`.
    fn attempt(
        &mut self,
        (due, mut sent): (Nanos, Nanos),
        transaction: &W::Transaction,
        retries: &mut u32,
        mut send: impl FnMut(&mut dyn Session<W>) -> Result<Submitted<W>, TxError>,
    ) -> Ending<W> {
        let lost = || Ending { given_up: true, ..Ending::new(Fate::Failed) };
        if let Some(contender) = self.contender.as_ref().filter(|contender| contender.must_queue()) {
            if !contender.take_turn(|| self.shared.window.over(self.now())) {
                return Ending::new(Fate::Failed);
            }
            sent = self.now();
        }
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
                Err(TxError::WrongRows { committed, detail }) => {
                    let fate = match committed {
                        Committed::No => Fate::Failed,
                        Committed::Unknown => Fate::Unknown,
                    };
                    return Ending { fate, wrong_rows: Some(detail.clone()), ..self.rejected(detail) };
                }
                Err(TxError::Broken(message)) => {
                    in_flight.note_answer(self.now());
                    let ending = Ending { given_up: true, ..self.rejected(message.clone()) };
                    self.end_run(&message);
                    return ending;
                }
                Err(TxError::Aborted { reason, detail }) => {
                    // Counted now, because the transaction may never end.
                    let now = self.now();
                    in_flight.note_answer(now);
                    self.shared.recorder(self.index).record_abort(&self.shared.window, reason, (due, now));
                    if last {
                        return self.rejected(format!("given up after {} attempts: {detail}", *retries + 1));
                    }
                    if let Some(contender) =
                        self.contender.as_ref().filter(|contender| contender.has_joined())
                    {
                        let again = contender.has_queued();
                        if !contender.take_turn(|| self.shared.window.over(self.now())) {
                            return Ending::new(Fate::Failed);
                        }
                        // If it was aborted even in its turn, it backs off: an earlier transaction needs time to end.
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

    /// Returns the end of a transaction that the database rejects. A retry would not help.
    fn rejected(&self, message: String) -> Ending<W> {
        self.shared.note_error(&message);
        Ending { trouble: Some(Trouble::Rejected(message)), ..Ending::new(Fate::Failed) }
    }

    /// Records the loss of the connection, with the request that was sent at `sent`.
    fn lose_connection(&mut self, sent: Nanos, detail: &str) {
        self.session = None;
        if let Some(contender) = &self.contender {
            contender.leave_row(self.now().min(self.shared.window.end()));
        }
        self.shared.note_error(detail);
        self.shared.connections.lost(sent, !self.down, detail);
        self.down = true;
    }

    /// Returns the number of the endpoint that the session is connected to, if the database has several.
    pub(crate) fn endpoint(&self) -> Option<usize> {
        self.session.as_ref()?.seat().map(Seat::endpoint)
    }

    /// Opens a new connection in place of one whose seat is over. If that fails, the connection counts as lost.
    fn renew(&mut self) {
        // The old connection makes room for the new one.
        self.session = None;
        match (self.connect)() {
            Ok(session) => self.use_session(session),
            Err(error) => self.lose_connection(self.now(), &error.message),
        }
    }

    /// Reconnects if the connection was lost, however long it takes, or renews it if its time is over. Returns false if
    /// the run is over first.
    pub(crate) fn ensure_connected(&mut self) -> bool {
        if self.session.as_ref().and_then(|session| session.seat()).is_some_and(Seat::is_over) {
            self.renew();
        }
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
                    // Connecting may take longer than the run. A transaction that is sent now would not count.
                    if self.shared.window.over(self.now()) {
                        return false;
                    }
                }
                Err(error) => self.shared.note_error(&error.message),
            }
        }
        true
    }

    /// Waits for the answers of pipelined commits, because the last session may close the database when it ends.
    pub(crate) fn await_commits(&mut self) {
        self.hurry();
        let patience = self.shared.window.end().saturating_add(PATIENCE);
        while self.shared.in_flight[self.index].unanswered_commits() > 0 && self.now() < patience {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Returns a random time, uniform between zero and `longest`.
    fn random_wait(&mut self, longest: Duration) -> Nanos {
        (self.waits.unit_open_low() * nanos(longest) as f64) as Nanos
    }
}

/// Records the end of a session's thread, even by a panic.
impl<W: Runnable> Drop for Worker<W> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let why = "a session's thread panicked; this is an error in Lydite or in a driver";
            self.shared.note_error(why);
            // No session plays its share of the warehouses any more.
            self.shared.failures.end_run(format!("the run ended early, {why}"));
        }
        self.shared.active.fetch_sub(1, Ordering::Release);
    }
}
