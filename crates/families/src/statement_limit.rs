//! The longest time of a round trip of a measured session: the URL option `statement_timeout`.
//!
//! One thread per target looks at the round trips of all sessions. A session only notes when a round trip begins and that
//! it ended, in one atomic number. When a round trip is too old, a thread of its own cancels the statement at the server,
//! over another connection. When the answer is still not there [`GRACE`] later, the connection is shut down, so the
//! session is lost and replaced.
//!
//! A cancel must not hit the next statement of the session. So the session takes the lock under which cancels are sent
//! before it goes on, if there was one; else it locks nothing.

use crate::duration::time_option;
use lydite_database::sql::meta::Admin;
use lydite_database::sql::sql_error::SqlError;
use lydite_database::target_url::{OptionSpec, ParsedUrl};
use lydite_database::{AbortReason, TargetError};
use parking_lot::Mutex;
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

/// The option.
pub(crate) const STATEMENT_TIMEOUT: OptionSpec = OptionSpec {
    name: "statement_timeout",
    values: "a time from 1ms to 1h, such as 2s",
    default: "none",
    about: "longest time of a round trip of a measured session: then its statement is cancelled and its transaction aborted",
};

/// Time that the server has to answer a cancel, and that a cancel itself may take.
pub(crate) const GRACE: Duration = Duration::from_millis(500);
/// Time between two cancels of the same round trip, whose statements a server may run one after the other.
const AGAIN: Duration = Duration::from_millis(100);
/// Bounds of the time between two looks at the sessions.
const LOOKS: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(50)];
/// Number of round trips that [`note`] times. It compares the fastest one with the limit.
const TRIALS: usize = 5;

/// Bits of a turn that say what was done about it.
const STATE: u64 = 0b11;
/// The statement was cancelled, or is being cancelled.
const CANCELLED: u64 = 1;
/// The connection was shut down.
const CUT: u64 = 2;
/// Bit of a turn that is never cancelled.
const SPARED: u64 = 1 << 2;
/// Bits below the time at which a turn began.
const BITS: u32 = 3;

/// Reads the option.
pub(crate) fn limit(parsed: &ParsedUrl, errors: &mut Vec<String>) -> Option<Duration> {
    let bounds = [Duration::from_millis(1), Duration::from_secs(3600)];
    let must = "a time from 1ms to 1h, for example 2s";
    time_option(parsed, STATEMENT_TIMEOUT.name, bounds, must, errors)
}

/// Returns the setting of a result that has the option's value. Servers have a setting with the name of the option.
pub(crate) fn setting(longest: Option<Duration>) -> Option<(String, String)> {
    longest.map(|longest| ("statement_timeout of the client".to_owned(), format!("{longest:?}")))
}

/// Returns a note if no round trip over this connection is as fast as the limit.
///
/// # Errors
/// The connection fails.
pub(crate) fn note(
    admin: &mut impl Admin,
    longest: Duration,
    place: &str,
) -> Result<Option<String>, SqlError> {
    let mut fastest = Duration::MAX;
    for _ in 0..TRIALS {
        let sent = Instant::now();
        admin.execute("SELECT 1")?;
        fastest = fastest.min(sent.elapsed());
    }
    Ok((fastest >= longest).then(|| {
        format!(
            "{place}: statement_timeout={longest:?} is below the round trip to the server ({:.1} ms for SELECT 1): most \
             statements will be cancelled: raise it",
            fastest.as_secs_f64() * 1e3
        )
    }))
}

/// A second handle of a session's connection.
pub(crate) enum Line {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Line {
    fn shut_down(&self) {
        // A connection that is closed already needs no more.
        let _closed = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

/// Function that cancels the current statement of a session at its server. It may take [`GRACE`] in each of its steps, and
/// returns false unless the server has acted on it: it may do so later, when another statement runs.
pub(crate) type Cancel = Box<dyn Fn() -> bool + Send + Sync>;

/// The limit of a target's round trips.
pub(crate) struct Limit {
    longest: Duration,
    start: Instant,
    sessions: Mutex<Vec<Weak<Watched>>>,
    /// Set once the thread runs.
    running: OnceLock<()>,
}

impl Limit {
    pub(crate) fn new(longest: Duration) -> Arc<Self> {
        let (start, sessions) = (Instant::now(), Mutex::default());
        Arc::new(Self { longest, start, sessions, running: OnceLock::new() })
    }

    /// Watches a new session from now on.
    ///
    /// # Errors
    /// The system provides no thread.
    pub(crate) fn watch(self: &Arc<Self>, line: Line, cancel: Cancel) -> Result<Arc<Watched>, TargetError> {
        if self.running.get().is_none() {
            let (limit, pause) = (Arc::downgrade(self), (self.longest / 10).clamp(LOOKS[0], LOOKS[1]));
            // Of two sessions that come first together both may begin a thread. That does no harm.
            Builder::new().name("limit".into()).spawn(move || look(&limit, pause)).map_err(|error| {
                TargetError::usage(format!(
                    "statement_timeout: can't start its thread: {error}: raise ulimit -u"
                ))
            })?;
            self.running.get_or_init(|| ());
        }
        let watched = Arc::new(Watched {
            limit: Arc::clone(self),
            turn: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            over: AtomicBool::new(false),
            cancelling: Mutex::new(()),
            line,
            cancel,
        });
        self.sessions.lock().push(Arc::downgrade(&watched));
        Ok(watched)
    }

    /// Returns the time since the limit was made, in nanoseconds, never 0.
    fn now(&self) -> u64 {
        (self.start.elapsed().as_nanos() as u64).max(1)
    }
}

/// Looks at the sessions until their target and all of them are gone.
fn look(limit: &Weak<Limit>, pause: Duration) {
    loop {
        thread::sleep(pause);
        let Some(limit) = limit.upgrade() else { return };
        let now = limit.now();
        limit.sessions.lock().retain(|session| session.upgrade().map(|session| session.look(now)).is_some());
    }
}

/// A session under a limit.
pub(crate) struct Watched {
    limit: Arc<Limit>,
    /// Round trip under way: the time at which it began, shifted left by [`BITS`], with the bits [`SPARED`] and
    /// [`STATE`]. 0 between round trips.
    turn: AtomicU64,
    /// Time at which the last round trip began for which a cancel was begun.
    asked: AtomicU64,
    /// True if the session must not be used any more.
    over: AtomicBool,
    /// Held while a cancel is sent.
    cancelling: Mutex<()>,
    line: Line,
    cancel: Cancel,
}

/// Result of a round trip under a limit.
pub(crate) struct Trip {
    pub(crate) result: Result<(), SqlError>,
    /// True if the statement was cancelled. The round trip may have ended before the cancel came.
    pub(crate) cancelled: bool,
}

impl Watched {
    /// Makes a round trip under the limit. With `spared` it is never cancelled at the server, as a commit that is sent
    /// alone or a rollback. If a cancel was sent, an error for which `is_cancel` returns true becomes an abort
    /// ([`AbortReason::StatementTimeout`]).
    pub(crate) fn trip(
        &self,
        spared: bool,
        is_cancel: impl Fn(&SqlError) -> bool,
        run: impl FnOnce() -> Result<(), SqlError>,
    ) -> Trip {
        if self.over.load(Ordering::Relaxed) {
            let result = Err(SqlError::Lost(format!("{}: it connects anew", self.late())));
            return Trip { result, cancelled: false };
        }
        let spare = if spared { SPARED } else { 0 };
        let begun = self.limit.now();
        self.turn.store(begun << BITS | spare, Ordering::Release);
        let mut result = run();
        let state = self.turn.swap(0, Ordering::AcqRel) & STATE;
        if state == 0 {
            return Trip { result, cancelled: false };
        }
        if state == CUT || self.cancelling.try_lock_for(GRACE).is_none() {
            self.over.store(true, Ordering::Relaxed);
        }
        match &mut result {
            Err(SqlError::Lost(detail)) if state == CUT => {
                let asked = self.asked.load(Ordering::Acquire) == begun;
                let after = if asked { "after the cancel" } else { "later" };
                *detail = format!(
                    "{}, nor {GRACE:?} {after}: Lydite closed the connection: is the server frozen, or the network cut?",
                    self.late()
                );
            }
            Err(error) if is_cancel(error) => {
                if let SqlError::Database { retry, message, .. } = error {
                    *retry = Some(AbortReason::StatementTimeout);
                    *message += &format!(": {}", self.late());
                }
            }
            _ => {}
        }
        Trip { result, cancelled: true }
    }

    /// Lets no further round trip begin.
    pub(crate) fn give_up(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    fn late(&self) -> String {
        format!("no answer within statement_timeout={:?}", self.limit.longest)
    }

    /// Cancels the current round trip or shuts its connection down, if it is too old.
    fn look(self: &Arc<Self>, now: u64) {
        let turn = self.turn.load(Ordering::Acquire);
        let begun = turn >> BITS;
        let age = Duration::from_nanos(now.saturating_sub(begun));
        if turn == 0 || age < self.limit.longest {
            return;
        }
        if age >= self.limit.longest + GRACE {
            let cut = turn & !STATE | CUT;
            // A turn that has ended, or that a cancel changes just now, is looked at again.
            let late = turn & STATE != CUT
                && self.turn.compare_exchange(turn, cut, Ordering::AcqRel, Ordering::Relaxed).is_ok();
            if late {
                self.line.shut_down();
            }
        } else if turn & SPARED == 0 && self.asked.swap(begun, Ordering::AcqRel) != begun {
            let session = Arc::clone(self);
            // Without a thread the connection is shut down later.
            let _begun = Builder::new().name("cancel".into()).spawn(move || session.cancel_all(begun));
        }
    }

    /// Cancels what the round trip of this begin runs, again and again until it has ended.
    fn cancel_all(&self, begun: u64) {
        loop {
            let turn = {
                let _one = self.cancelling.lock();
                let mark =
                    |turn: u64| (turn >> BITS == begun && turn & STATE != CUT).then_some(turn | CANCELLED);
                let turn = self.turn.fetch_update(Ordering::AcqRel, Ordering::Acquire, mark);
                if turn.is_ok() && !(self.cancel)() {
                    self.give_up();
                }
                turn
            };
            if turn.is_err() {
                return;
            }
            thread::sleep(AGAIN);
        }
    }
}

#[cfg(test)]
#[path = "statement_limit_tests.rs"]
mod tests;
