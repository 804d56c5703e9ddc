//! Stops a run or a load from outside.

use std::sync::atomic::{AtomicBool, Ordering};

/// Request to stop, shared by a run or a load and the code that may end it.
#[derive(Debug, Default)]
pub struct RunControl {
    stopped: AtomicBool,
}

impl RunControl {
    /// Asks for a clean end: the results so far are returned, marked as interrupted. May be called from any thread,
    /// repeatedly, and from a signal handler.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// True if [`RunControl::stop`] was called.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}
