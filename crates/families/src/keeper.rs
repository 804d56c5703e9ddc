//! A thread that renews the right to load. It serves stores that can tell a live holder only by an expiry time.

use lydite_database::kv::{LoadLock, StoreError};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Time between renewals.
const AGAIN: Duration = Duration::from_secs(3);
/// Time in seconds without a renewal after which the right may expire.
pub(crate) const EXPIRES_S: u64 = 15;

/// Result of a renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Renewed {
    /// The right is held for the expiry time, counted from the moment of the request.
    Held,
    /// The right has expired. Somebody else may have it now.
    Lost,
    /// The server is away. It may keep the right meanwhile.
    Away,
}

/// Renews the right until it is dropped.
pub(crate) struct Keeper {
    /// Earliest time at which the last renewal may expire; `None` once the right is lost.
    until: Arc<Mutex<Option<Instant>>>,
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Starts the thread. It calls `renew` every three seconds, and `end` when the keeper is dropped. `taken` is the
    /// time of the first request for the right.
    ///
    /// # Errors
    /// The thread can't be started.
    pub(crate) fn start<T: Send + 'static>(
        taken: Instant,
        mut held: T,
        renew: fn(&mut T) -> Renewed,
        end: fn(&mut T),
    ) -> Result<Self, StoreError> {
        let expires = Duration::from_secs(EXPIRES_S);
        let until = Arc::new(Mutex::new(Some(taken + expires)));
        let known = Arc::clone(&until);
        let (sender, ended) = channel();
        let keep = move || {
            while ended.recv_timeout(AGAIN) == Err(RecvTimeoutError::Timeout) {
                let asked = Instant::now();
                match renew(&mut held) {
                    Renewed::Held => *known.lock() = Some(asked + expires),
                    Renewed::Away => {}
                    Renewed::Lost => {
                        *known.lock() = None;
                        return;
                    }
                }
            }
            end(&mut held);
        };
        let thread = std::thread::Builder::new().name("load-lock".into()).spawn(keep);
        let thread =
            thread.map_err(|error| StoreError::Failed(format!("a thread can't be started: {error}")))?;
        Ok(Self { until, end: Some(sender), thread: Some(thread) })
    }
}

impl LoadLock for Keeper {
    fn check(&self) -> Result<(), StoreError> {
        // The clock is checked too: after the process was stopped, this thread may run before the one that renews.
        if self.until.lock().is_some_and(|until| Instant::now() < until) {
            return Ok(());
        }
        Err(StoreError::Failed(format!(
            "the right to load is lost: it was not renewed for {EXPIRES_S} s, and another load may have begun meanwhile: load \
             again, alone"
        )))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // The thread gives the right back, or has lost the server.
            let _ended = thread.join();
        }
    }
}

/// Returns the name of this load, for messages and to distinguish it from every other load.
pub(crate) fn holder() -> String {
    static LOADS: AtomicU32 = AtomicU32::new(1);
    let host = rustix::system::uname();
    let begun = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!(
        "process {} on {}, load {} since {}.{:09}",
        std::process::id(),
        host.nodename().to_string_lossy(),
        LOADS.fetch_add(1, Ordering::Relaxed),
        begun.as_secs(),
        begun.subsec_nanos()
    )
}

/// Returns the error of a load that finds another one at work.
pub(crate) fn held_by(other: &str) -> StoreError {
    StoreError::Failed(format!(
        "another load is running on this database ({other}): wait for it, or end it; a killed one holds the lock \
         for up to {EXPIRES_S} s"
    ))
}
