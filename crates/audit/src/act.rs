//! A transaction on a session and a thread of its own, which stops where the test wants it to. Every wait for it is
//! bounded: a session that gives no answer is left behind.

use crate::finding::Trouble;
use lydite_database::{Held, HeldTransaction, Point, Script, Session, Target, TargetError, Then, TxError};
use lydite_tpcc::{Outcome, Transaction};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, Builder, JoinHandle};
use std::time::{Duration, Instant};

/// Longest wait for an answer that no other transaction holds up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// Time between two attempts of a transaction that the database aborted.
const AGAIN: Duration = Duration::from_millis(10);
/// Time between two looks at the database's locks.
pub(crate) const LOOK: Duration = Duration::from_millis(25);
/// Aborts after which a transaction counts as rejected as long as the other one is open.
const REJECTIONS: u32 = 3;

/// Result of the last attempt of a transaction.
pub(crate) type Ended = Result<Outcome, TxError>;

/// Behaviour of a transaction that the database aborts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aborts {
    /// It is retried, as a terminal would.
    Retried,
    /// It ends there.
    Final,
    /// It is retried until it has stopped once, and ends after that: only then another transaction can be the reason.
    FinalOnceStopped,
}

impl Aborts {
    fn are_retried(self, has_stopped: bool) -> bool {
        match self {
            Self::Retried => true,
            Self::Final => false,
            Self::FinalOnceStopped => !has_stopped,
        }
    }
}

enum Event {
    At(Point),
    Aborted(String),
    Ended(Ended),
}

/// Observation of a transaction while another one is open.
pub(crate) enum Look {
    /// It ended.
    Ended(Ended),
    /// It has no answer; the text says how that was seen.
    Waits(String),
    /// The database aborts it again and again.
    Rejected(u32),
}

/// The reins of a transaction, which the test holds and its thread obeys.
#[derive(Default)]
struct Reins {
    /// Set when nobody waits for the transaction any more.
    over: AtomicBool,
    replies: Mutex<Option<Sender<Then>>>,
}

impl Reins {
    /// Ends the test's interest: the transaction continues from where it stops, and rolls back.
    fn let_go(&self) {
        self.over.store(true, Ordering::Relaxed);
        lock(&self.replies).take();
    }
}

/// Locks what no thread leaves half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sessions that are free, the transactions under way, and the fate of those that were left behind.
#[derive(Clone, Default)]
pub(crate) struct Crew {
    free: Arc<Mutex<Vec<Box<dyn Session<Held>>>>>,
    under_way: Arc<Mutex<Vec<Weak<Reins>>>>,
    hung: Arc<AtomicBool>,
}

impl Crew {
    /// Takes a free session, or opens one.
    fn session(&self, target: &dyn Target) -> Result<Box<dyn Session<Held>>, TargetError> {
        let free = lock(&self.free).pop();
        free.map_or_else(|| target.capabilities().held()?.connect_held(), Ok)
    }

    fn give_back(&self, session: Box<dyn Session<Held>>) {
        lock(&self.free).push(session);
    }

    fn add(&self, reins: &Arc<Reins>) {
        let mut under_way = lock(&self.under_way);
        under_way.retain(|reins| reins.strong_count() > 0);
        under_way.push(Arc::downgrade(reins));
    }

    /// Lets all transactions go. One may wait for locks of another one, so none is waited for before.
    pub(crate) fn let_go(&self) {
        let under_way = std::mem::take(&mut *lock(&self.under_way));
        under_way.iter().filter_map(Weak::upgrade).for_each(|reins| reins.let_go());
    }

    /// Notes that a session had to be left behind.
    pub(crate) fn leave_behind(&self) {
        self.hung.store(true, Ordering::Relaxed);
    }

    /// True if a session had to be left behind.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.hung.load(Ordering::Relaxed)
    }
}

/// A transaction that was begun.
pub(crate) struct Act {
    name: &'static str,
    events: Receiver<Event>,
    reins: Arc<Reins>,
    thread: Option<JoinHandle<()>>,
    crew: Crew,
    aborts: u32,
    last_abort: String,
    ended: Option<Ended>,
}

impl Act {
    /// Begins a transaction. It stops at the points that `stops` selects, until it is told to continue.
    pub(crate) fn begin(
        name: &'static str,
        target: &dyn Target,
        crew: &Crew,
        transaction: Transaction,
        aborts: Aborts,
        stops: impl Fn(&Point) -> bool + Send + Sync + 'static,
    ) -> Result<Self, Trouble> {
        let mut session = crew.session(target)?;
        let (send, events) = channel();
        let (replies, heard) = channel::<Then>();
        let reins = Arc::new(Reins { replies: Mutex::new(Some(replies)), ..Reins::default() });
        crew.add(&reins);
        let (obeyed, crew) = (Arc::clone(&reins), crew.clone());
        let own = crew.clone();
        let work = move || {
            let (at, armed) = (Mutex::new((send.clone(), heard)), AtomicBool::new(true));
            let (scripted, stopped) = (Arc::clone(&obeyed), Arc::new(AtomicBool::new(false)));
            let (has_stopped, gives_up) = (Arc::clone(&stopped), Arc::new(AtomicBool::new(false)));
            let gave_up = Arc::clone(&gives_up);
            let script = Script::new(move |point| {
                // The test is over, and the transaction must leave nothing behind.
                if scripted.over.load(Ordering::Relaxed) {
                    return Then::RollBack;
                }
                if !armed.load(Ordering::Relaxed) || !stops(&point) {
                    return Then::Continue;
                }
                stopped.store(true, Ordering::Relaxed);
                let at = lock(&at);
                let told = at.0.send(Event::At(point)).ok().and_then(|()| at.1.recv().ok());
                if told.is_some_and(|then| then != Then::Repeat) {
                    armed.store(false, Ordering::Relaxed);
                }
                gives_up.store(told == Some(Then::RollBack), Ordering::Relaxed);
                told.unwrap_or(Then::RollBack)
            });
            let held = HeldTransaction { transaction, script };
            loop {
                let ended = session.execute(&held);
                let event = match ended {
                    Err(TxError::Aborted { detail, .. })
                        if aborts.are_retried(has_stopped.load(Ordering::Relaxed))
                            && !obeyed.over.load(Ordering::Relaxed)
                            // A transaction that was told to roll back is over: an abort rolls it back, too.
                            && !gave_up.load(Ordering::Relaxed) =>
                    {
                        Event::Aborted(detail)
                    }
                    ended => Event::Ended(ended),
                };
                if let Event::Ended(ended) = &event {
                    if !matches!(ended, Err(TxError::Unavailable { .. } | TxError::Broken(_))) {
                        crew.give_back(session);
                    }
                    // Nobody waits for a transaction that was left behind.
                    let _heard = send.send(event);
                    return;
                }
                if send.send(event).is_err() {
                    return;
                }
                thread::sleep(AGAIN);
            }
        };
        let thread = Builder::new()
            .name("audit".into())
            .spawn(work)
            .map_err(|error| Trouble::NotRun(format!("can't start a thread for a session: {error}")))?;
        Ok(Self {
            name,
            events,
            reins,
            thread: Some(thread),
            crew: own,
            aborts: 0,
            last_abort: String::new(),
            ended: None,
        })
    }

    /// Receives the next event; none if it has not come by then. Counts aborts and passes over them.
    fn next(&mut self, deadline: Instant) -> Result<Option<Event>, Trouble> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(left) {
                Ok(Event::Aborted(detail)) => {
                    self.aborts += 1;
                    self.last_abort = detail;
                }
                Ok(event) => return Ok(Some(event)),
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Trouble::NotRun(format!(
                        "the session of {} panicked: please report this",
                        self.name
                    )));
                }
            }
        }
    }

    fn hangs(&self) -> Trouble {
        Trouble::Failed(format!(
            "{} has no answer after {} s{}",
            self.name,
            PATIENCE.as_secs(),
            self.aborts()
        ))
    }

    /// Returns the aborts so far in words; empty if there were none.
    pub(crate) fn aborts(&self) -> String {
        match self.aborts {
            0 => String::new(),
            1 => format!(", after the database aborted it once ({})", self.last_abort),
            count => format!(", after the database aborted it {count} times ({})", self.last_abort),
        }
    }

    /// True if the database aborted it at least once.
    pub(crate) fn was_aborted(&self) -> bool {
        self.aborts > 0
    }

    /// Waits until the transaction stops.
    pub(crate) fn stop(&mut self) -> Result<Point, Trouble> {
        match self.next(Instant::now() + PATIENCE)? {
            Some(Event::At(point)) => Ok(point),
            Some(Event::Ended(ended)) => {
                let words = match &ended {
                    Ok(_) => "it committed".to_string(),
                    Err(error) => error.to_string(),
                };
                self.ended = Some(ended);
                Err(Trouble::Failed(format!("{} ended before it could be stopped: {words}", self.name)))
            }
            _ => Err(self.hangs()),
        }
    }

    /// Lets a stopped transaction continue.
    pub(crate) fn go(&self, then: Then) {
        // A session that is gone answers the next wait.
        let _gone = lock(&self.reins.replies).as_ref().map(|replies| replies.send(then));
    }

    /// Looks at the transaction until it ends, or until `waits` says in words that it waits. `waits` gets the begin of the
    /// look.
    pub(crate) fn look(
        &mut self,
        waits: &dyn Fn(Instant) -> Result<Option<String>, Trouble>,
    ) -> Result<Look, Trouble> {
        let begun = Instant::now();
        loop {
            if let Some(Event::Ended(ended)) = self.next(Instant::now() + LOOK)? {
                self.ended = Some(ended.clone());
                return Ok(Look::Ended(ended));
            }
            if self.aborts >= REJECTIONS {
                return Ok(Look::Rejected(self.aborts));
            }
            match waits(begun)? {
                Some(_) if self.aborts > 0 => return Ok(Look::Rejected(self.aborts)),
                Some(how) => return Ok(Look::Waits(how)),
                None => {}
            }
        }
    }

    /// Waits for the end.
    pub(crate) fn end(&mut self) -> Result<Ended, Trouble> {
        if let Some(ended) = self.ended.clone() {
            return Ok(ended);
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.next(deadline)? {
                Some(Event::Ended(ended)) => {
                    self.ended = Some(ended.clone());
                    return Ok(ended);
                }
                // A stop that the test did not ask about.
                Some(_) => self.go(Then::Continue),
                None => return Err(self.hangs()),
            }
        }
    }
}

impl Drop for Act {
    fn drop(&mut self) {
        if self.ended.is_none() {
            self.crew.let_go();
        }
        let deadline = Instant::now() + PATIENCE;
        while self.ended.is_none() {
            match self.next(deadline) {
                Ok(Some(Event::Ended(ended))) => self.ended = Some(ended),
                Ok(Some(_)) => {}
                Ok(None) => {
                    self.crew.leave_behind();
                    return;
                }
                Err(_) => break,
            }
        }
        // A database within this process must be closed before the process ends.
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}
