//! How a run or a load is stopped from outside.

use std::sync::atomic::{AtomicBool, Ordering};

/// Shared between whoever runs something and whoever may want to end it.
#[derive(Debug, Default)]
pub struct RunControl {
    stopped: AtomicBool,
}

impl RunControl {
    /// Asks for a clean end: what is measured so far is returned, marked as interrupted. From any thread, and as
    /// often as you like; also from a signal handler.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether [`RunControl::stop`] was called.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}
