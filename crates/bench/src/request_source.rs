//! The trait of modes, which bring requests to the sessions. Each session calls it once, not for each transaction.

use crate::clock::{Nanos, Window};
use crate::histogram::histogram;
use crate::measurement::OpenFacts;
use crate::phase_counts::OpenPhase;
use crate::worker::{Shared, Worker};
use crate::workload::Runnable;
use hdrhistogram::Histogram;
use std::sync::Arc;

/// A mode of a run.
pub(crate) trait RequestSource<W: Runnable>: Send + Sync {
    /// Makes a session play until the run is over.
    fn work(self: Arc<Self>, worker: &mut Worker<W>);

    /// Returns the work for a thread of its own while the sessions play, if there is any.
    fn scheduler(self: Arc<Self>) -> Option<Scheduling<W>> {
        None
    }

    /// Returns the number of requests that are due at `now` and wait for a session.
    fn queued(&self, _now: Nanos) -> u64 {
        0
    }

    /// Wakes all waiting threads, so that they see that the run is over.
    fn wake_all(&self) {}

    /// Returns the mode's results at the end, when `completed` transactions were completed in the window.
    fn finish(&self, _window: &Window, _end: Nanos, _completed: u64) -> SourceResults<W> {
        SourceResults::default()
    }
}

/// Work of the scheduler's thread.
pub(crate) type Scheduling<W> = Box<dyn FnOnce(&Shared<W>) + Send>;

/// Results of a mode at the end.
pub(crate) struct SourceResults<W: Runnable> {
    /// Requests that were due before the end but that no session had begun by then.
    pub(crate) backlog: u64,
    pub(crate) open: Option<OpenFacts>,
    /// Requests of an open loop in each phase that the run reached.
    pub(crate) open_phases: Vec<OpenPhase>,
    /// Times by which requests were handed over late, in nanoseconds.
    pub(crate) lateness: Histogram<u64>,
    /// Counts of the mode.
    pub(crate) facts: W::Facts,
    pub(crate) warnings: Vec<String>,
}

impl<W: Runnable> Default for SourceResults<W> {
    fn default() -> Self {
        Self {
            backlog: 0,
            open: None,
            open_phases: Vec::new(),
            lateness: histogram(),
            facts: W::Facts::default(),
            warnings: Vec::new(),
        }
    }
}
