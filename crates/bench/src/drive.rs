//! How requests come to the sessions: what each mode does. Asked once by each session, not for each transaction.

use crate::clock::{Nanos, Window};
use crate::measurement::{OpenFacts, histogram};
use crate::worker::{Shared, Worker};
use crate::workload::Runnable;
use hdrhistogram::Histogram;
use std::sync::Arc;

/// A mode at work.
pub(crate) trait Drive<W: Runnable>: Send + Sync {
    /// Has a session play until the run is over.
    fn work(self: Arc<Self>, worker: &mut Worker<W>);

    /// What is to be done on a thread of its own while the sessions play, if anything.
    fn scheduler(self: Arc<Self>) -> Option<Scheduling<W>> {
        None
    }

    /// Requests that are due at `now` and wait for a session.
    fn queued(&self, _now: Nanos) -> u64 {
        0
    }

    /// Wakes all who wait, so that they see that the run is over.
    fn wake_all(&self) {}

    /// What there is to tell at the end, when `completed` transactions were completed in the window.
    fn finish(&self, _window: &Window, _end: Nanos, _completed: u64) -> Finished<W> {
        Finished::default()
    }
}

/// The work of the scheduler's thread.
pub(crate) type Scheduling<W> = Box<dyn FnOnce(&Shared<W>) + Send>;

/// What a mode has to tell at the end.
pub(crate) struct Finished<W: Runnable> {
    /// Requests that were due before the end, but that no session had begun by then.
    pub(crate) backlog: u64,
    pub(crate) open: Option<OpenFacts>,
    /// How late requests were handed over, nanoseconds.
    pub(crate) lateness: Histogram<u64>,
    /// Counts of its own.
    pub(crate) facts: W::Facts,
    pub(crate) warnings: Vec<String>,
}

impl<W: Runnable> Default for Finished<W> {
    fn default() -> Self {
        Self {
            backlog: 0,
            open: None,
            lateness: histogram(),
            facts: W::Facts::default(),
            warnings: Vec::new(),
        }
    }
}
