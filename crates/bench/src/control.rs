//! Stops a run or a load from outside.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Request to stop, shared by a run or a load and the code that may end it.
#[derive(Debug, Default)]
pub struct RunControl {
    stopped: AtomicBool,
    window: OnceLock<Instant>,
}

impl RunControl {
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
