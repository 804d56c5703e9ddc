//! Stops a run or a load from outside.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Time between two looks for the order to start.
const LOOK: Duration = Duration::from_millis(2);
/// Longest sleep before the start, so that the wait notices a stop.
const NAP: Duration = Duration::from_millis(20);

/// Request to stop, shared by a run or a load and the code that may end it.
#[derive(Debug, Default)]
pub struct RunControl {
    stopped: AtomicBool,
    window: OnceLock<Instant>,
    /// True if the run waits for its start.
    held: bool,
    ready: AtomicBool,
    start: OnceLock<Instant>,
    begun: Arc<OnceLock<Instant>>,
}

impl RunControl {
    /// Makes the control of a run that connects its sessions and then waits for [`RunControl::start_at`].
    #[must_use]
    pub fn held() -> Self {
        Self { held: true, ..Self::default() }
    }

    /// True once all sessions of a run that waits for its start are connected.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// Sets the start of a run that waits for it. The first call counts.
    pub fn start_at(&self, at: Instant) {
        let _first = self.start.set(at);
    }

    /// Waits until the time of the start is known, if the run waits for it, and returns it. Returns `None` if the run was
    /// stopped before.
    pub(crate) fn await_order(&self) -> Option<Instant> {
        self.ready.store(true, Ordering::Release);
        if !self.held {
            return Some(Instant::now());
        }
        loop {
            if self.is_stopped() {
                return None;
            }
            if let Some(&at) = self.start.get() {
                return Some(at);
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Waits for the start, at `at`. Returns false if the run was stopped before.
    pub(crate) fn await_start(&self, at: Instant) -> bool {
        loop {
            let left = at.saturating_duration_since(Instant::now());
            if left.is_zero() || self.is_stopped() {
                return left.is_zero();
            }
            std::thread::sleep(left.min(NAP));
        }
    }

    /// Asks for a clean end: the results so far are returned, marked as interrupted. May be called from any thread,
    /// repeatedly, and from a signal handler.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Returns the start of the measured window, once the run has begun. It may lie ahead: the warm-up is before it.
    #[must_use]
    pub fn window_start(&self) -> Option<Instant> {
        self.window.get().copied()
    }

    /// Returns the instant at which the first session began. It is not before that of [`RunControl::start_at`].
    #[must_use]
    pub fn begun(&self) -> Option<Instant> {
        self.begun.get().copied()
    }

    /// Returns the place where the first session notes the instant at which it begins.
    pub(crate) fn begun_place(&self) -> Arc<OnceLock<Instant>> {
        Arc::clone(&self.begun)
    }

    /// Announces the start of the window. The first call counts. Runs call it themselves.
    pub fn begins(&self, window: Instant) {
        let _first = self.window.set(window);
    }

    /// True if [`RunControl::stop`] was called.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}
