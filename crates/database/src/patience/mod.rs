//! Waits for servers outside of the measured window. Each wait has a limit, reports what it waits for, and ends when
//! the user interrupts it.
//!
//! A server may work on one statement for hours without sending a byte (a condition over a thousand warehouses, an
//! index on a large table), so silence alone proves nothing. When an answer is late, a new connection is tried. A
//! server that answers new connections is alive, and the wait goes on. The wait fails when neither the answer nor a new
//! connection came within the limit that the URL sets.
//!
//! A thread of its own sends the request and reads the answer. When the wait fails, that thread is left behind: nothing
//! else ends a read from a connection that delivers no bytes.

mod lent;
mod target;

use crate::connecting::{CONNECT_TIMEOUT, Connecting};
use crate::error::{TargetError, TargetErrorKind};
use crate::target_url::OptionSpec;
use std::fmt;
use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};
pub use target::Patient;

/// Longest silence of a server, unless its URL says otherwise.
pub const SILENCE: Duration = Duration::from_secs(30);
/// URL option that sets it.
pub const TIMEOUT: OptionSpec = OptionSpec {
    name: "timeout",
    values: "a time from 1s to 1h, such as 90s",
    default: "30s",
    about: "longest silence of the server outside of the measured window: no answer to a request, nor to a new connection",
};

/// Time between two looks for messages.
const LOOK: Duration = Duration::from_millis(50);
/// The most that counts as waited between two looks. A longer gap means that this process itself was stopped.
const STEP_MAX: Duration = Duration::from_secs(1);
/// Time between two trial connections to a silent server, and before the first.
const TRY: Duration = Duration::from_secs(3);
/// Time without an answer after which a line reports the wait.
const LATE: Duration = Duration::from_secs(5);
/// Limit for a server that an earlier wait gave up.
const ONCE_MORE: Duration = Duration::from_secs(3);
/// Time that an interrupted request has to end by itself.
const GRACE: Duration = Duration::from_secs(1);
/// The longest time between two lines about one wait.
const TELL_MAX: Duration = Duration::from_secs(60);

/// The user's side of a wait: ends it, and receives its reports.
pub trait Waiter: fmt::Debug + Send + Sync {
    /// True once the user wants to wait no longer.
    fn has_enough(&self) -> bool;

    /// Reports a wait. `alive` is true if the server answers new connections, so it is at work.
    fn tell(&self, line: &str, alive: bool);
}

/// The limit of waits for one target and everything that it opens.
#[derive(Clone)]
pub struct Patience(Arc<WaitState>);

struct WaitState {
    place: String,
    limit: Duration,
    waiter: Arc<dyn Waiter>,
    /// Function that tries a new connection. It returns true if the server answers.
    answers: Box<dyn Fn() -> bool + Send + Sync>,
    pulse: Mutex<Pulse>,
}

impl fmt::Debug for Patience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Patience").field("limit", &self.0.limit).finish_non_exhaustive()
    }
}

/// Signs of life of the server, shared by all requests that wait for it.
struct Pulse {
    waiting: usize,
    looked: Instant,
    /// Time waited since the last sign of life.
    silent: Duration,
    /// The silence at the last trial connection.
    tried: Duration,
    trying: bool,
    /// True if a trial connection was the last sign of life.
    by_connection: bool,
    /// True if a wait has given up on the server.
    gone: bool,
    told: Option<Instant>,
}

/// Messages from the thread of a request to the thread that waits.
enum Said<E, R> {
    Heard(E),
    End(Result<R, TargetError>),
}

/// A request that waits, as long as this lives.
struct Turn<'a>(&'a WaitState);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.pulse().waiting -= 1;
    }
}

impl WaitState {
    fn pulse(&self) -> MutexGuard<'_, Pulse> {
        self.pulse.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the silence before the first trial connection and between two of them.
    fn patient_for(&self) -> Duration {
        TRY.min(self.limit / 4)
    }

    fn begin(&self) -> Turn<'_> {
        let mut pulse = self.pulse();
        if pulse.waiting == 0 {
            pulse.looked = Instant::now();
            pulse.silent = if pulse.gone { self.limit.saturating_sub(ONCE_MORE) } else { Duration::ZERO };
            pulse.tried = Duration::ZERO;
            pulse.by_connection = false;
        }
        pulse.waiting += 1;
        Turn(self)
    }

    fn sign_of_life(&self, by_connection: bool) {
        let mut pulse = self.pulse();
        pulse.silent = Duration::ZERO;
        pulse.tried = Duration::ZERO;
        pulse.by_connection = by_connection;
        pulse.gone = false;
    }
}

impl Patience {
    /// Makes the limit for the server at `place`. `limit` is its longest silence, `answers` tries a new connection.
    pub fn new(
        (place, limit): (String, Duration),
        waiter: Arc<dyn Waiter>,
        answers: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        let pulse = Pulse {
            waiting: 0,
            looked: Instant::now(),
            silent: Duration::ZERO,
            tried: Duration::ZERO,
            trying: false,
            by_connection: false,
            gone: false,
            told: None,
        };
        let answers = Box::new(answers);
        Self(Arc::new(WaitState { place, limit, waiter, answers, pulse: Mutex::new(pulse) }))
    }

    /// Sends a request with one answer and waits for it.
    pub fn ask<R: Send + 'static>(
        &self,
        what: &str,
        work: impl FnOnce() -> Result<R, TargetError> + Send + 'static,
    ) -> Result<R, TargetError> {
        self.ask_for(&|| what.to_owned(), &|| 0, &mut |()| {}, move |_| work())
    }

    /// Sends a request with partial answers and passes them to `heard` as they come. `moved` returns a number that
    /// changes as long as the work makes progress.
    fn ask_for<E: Send + 'static, R: Send + 'static>(
        &self,
        what: &dyn Fn() -> String,
        moved: &dyn Fn() -> u64,
        heard: &mut dyn FnMut(E),
        work: impl FnOnce(&(dyn Fn(E) + Sync)) -> Result<R, TargetError> + Send + 'static,
    ) -> Result<R, TargetError> {
        let shared = &*self.0;
        // Requests after an interruption clean up, so the interruption must not end them.
        let deaf = shared.waiter.has_enough();
        let turn = shared.begin();
        let (sender, receiver) = channel();
        let connecting = Connecting::default();
        let asking_connects = connecting.clone();
        let asking = move || {
            asking_connects.watch_this_thread();
            // Nobody receives it if the thread was left behind.
            let result = work(&|event| drop(sender.send(Said::Heard(event))));
            let _heard = sender.send(Said::End(result));
        };
        let thread = Builder::new().name("asking".to_owned()).spawn(asking).map_err(|error| {
            TargetError::usage(format!(
                "can't start a thread to ask {}: {error}: raise ulimit -u",
                shared.place
            ))
        })?;
        let (mut quiet_since, mut next, mut known, mut stopped) = (Instant::now(), LATE, moved(), None);
        loop {
            match receiver.recv_timeout(LOOK) {
                Ok(Said::End(result)) => {
                    if !matches!(&result, Err(error) if error.kind == TargetErrorKind::Unreachable) {
                        shared.sign_of_life(false);
                    }
                    return result;
                }
                Ok(Said::Heard(event)) => {
                    heard(event);
                    shared.sign_of_life(false);
                    (quiet_since, next) = (Instant::now(), LATE);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => match thread.join() {
                    Err(panic) => resume_unwind(panic),
                    Ok(()) => return Err(TargetError::database("a request ended without an answer")),
                },
            }
            let now = moved();
            if now != known {
                known = now;
                shared.sign_of_life(false);
                (quiet_since, next) = (Instant::now(), LATE);
            }
            if !deaf && shared.waiter.has_enough() {
                let since = *stopped.get_or_insert_with(Instant::now);
                if since.elapsed() >= GRACE {
                    drop(turn);
                    return Err(TargetError::interrupted(format!(
                        "interrupted while waiting for the server: {}",
                        what()
                    )));
                }
            }
            let quiet = quiet_since.elapsed();
            let late = quiet >= next;
            if late {
                next += next.min(TELL_MAX);
            }
            self.look(what, late.then_some(quiet), connecting.is_on())?;
        }
    }

    /// Counts the silence, tries a new connection when one is due, and fails at the limit. Reports the wait if an
    /// answer is `late`. `connecting` is true if the request waits for a connection, which has a shorter limit.
    fn look(
        &self,
        what: &dyn Fn() -> String,
        late: Option<Duration>,
        connecting: bool,
    ) -> Result<(), TargetError> {
        let shared = &*self.0;
        let (silent, alive, tell) = {
            let mut pulse = shared.pulse();
            let now = Instant::now();
            let step = now.saturating_duration_since(pulse.looked).min(STEP_MAX);
            pulse.silent += step;
            pulse.looked = now;
            if !pulse.trying && pulse.silent >= pulse.tried + shared.patient_for() {
                pulse.tried = pulse.silent;
                pulse.trying = self.try_it();
            }
            pulse.gone |= pulse.silent >= shared.limit;
            // Only one of several requests that wait for the same server reports the wait.
            let tell = late.filter(|_| pulse.told.is_none_or(|told| told.elapsed() >= LATE));
            if tell.is_some() {
                pulse.told = Some(now);
            }
            (pulse.silent, pulse.by_connection && pulse.silent < 2 * TRY, tell)
        };
        let (limit, place) = (shared.limit.as_secs(), &shared.place);
        if silent >= shared.limit {
            return Err(TargetError::unreachable(format!(
                "{place}: waited for {}: no answer for {limit} s, nor to a new connection: is the server frozen, or the network \
                 cut? (?timeout=TIME in the URL sets the limit)",
                what()
            )));
        }
        if let Some(quiet) = tell {
            let state = if alive {
                format!("{} s; it answers new connections", quiet.as_secs())
            } else {
                let limit = if connecting { limit.min(CONNECT_TIMEOUT.as_secs()) } else { limit };
                format!("{} s; silent for {} s of at most {limit} s", quiet.as_secs(), silent.as_secs())
            };
            shared.waiter.tell(&format!("waiting for the server: {} ({state})", what()), alive);
        }
        Ok(())
    }

    /// Tries a new connection on a thread of its own. Returns false if the system provides no thread.
    fn try_it(&self) -> bool {
        let patience = self.clone();
        let work = move || {
            let answered = (patience.0.answers)();
            if answered {
                patience.0.sign_of_life(true);
            }
            patience.0.pulse().trying = false;
        };
        Builder::new().name("trying".to_owned()).spawn(work).is_ok()
    }

    /// Runs `work` on a thread and waits for it at most [`GRACE`].
    fn leave(&self, work: impl FnOnce() + Send + 'static) {
        let (done, end) = channel();
        let work = move || {
            work();
            let _heard = done.send(());
        };
        // Without a thread the work is dropped with the closure.
        if Builder::new().name("leaving".to_owned()).spawn(work).is_ok() {
            let _ended = end.recv_timeout(GRACE);
        }
    }
}
