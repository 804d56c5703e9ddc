//! The start of a run: sessions connect, and their threads wait for a common signal.

use crate::control::RunControl;
use crate::os;
use crate::request_source::RequestSource;
use crate::run_error::RunError;
use crate::worker::{Shared, Worker};
use crate::workload::{Connect, Runnable};
use lydite_database::Session;
use parking_lot::{Condvar, Mutex};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Instant;

/// Connections that are opened at the same time. Servers handle hundreds at once badly.
const CONNECTING_MAX: usize = 16;

/// Signal that threads wait for before the run begins; `None` means that the run does not begin. It comes before the
/// start, and each thread waits for that by itself: if another had to wake it, it would wait for the processor twice.
pub(crate) struct StartSignal<W: Runnable> {
    shared: Mutex<Option<Option<Arc<Shared<W>>>>>,
    given: Condvar,
    /// Instant at which the first thread began.
    begun: Arc<OnceLock<Instant>>,
}

impl<W: Runnable> StartSignal<W> {
    pub(crate) fn new(begun: Arc<OnceLock<Instant>>) -> Self {
        Self { shared: Mutex::new(None), given: Condvar::new(), begun }
    }

    fn wait(&self) -> Option<Arc<Shared<W>>> {
        let given = {
            let mut shared = self.shared.lock();
            self.given.wait_while(&mut shared, |shared| shared.is_none());
            shared.clone()
        };
        let shared = given.flatten()?;
        let ahead = shared.clock.instant(0).saturating_duration_since(Instant::now());
        // Sessions that have begun, also those of another agent on this machine, keep the processors busy.
        let prompt = (!ahead.is_zero()).then(os::prompt_wakeups);
        std::thread::sleep(ahead);
        let _first = self.begun.set(Instant::now());
        drop(prompt);
        // Those that wake at the same time would wait until this one has used up its slice.
        std::thread::yield_now();
        Some(shared)
    }

    pub(crate) fn give(&self, shared: Option<Arc<Shared<W>>>) {
        *self.shared.lock() = Some(shared);
        self.given.notify_all();
    }
}

/// Connects all sessions, several at a time.
pub(crate) fn connect_all<W: Runnable>(
    connect: &Connect<W>,
    sessions: u32,
    control: &RunControl,
) -> Result<Vec<Box<dyn Session<W>>>, RunError> {
    let count = sessions as usize;
    let connected = Mutex::new(Vec::with_capacity(count));
    let failure = Mutex::new(None);
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let work = || {
            while next.fetch_add(1, Ordering::Relaxed) < count
                && !failed.load(Ordering::Relaxed)
                && !control.is_stopped()
            {
                match connect() {
                    Ok(session) => connected.lock().push(session),
                    Err(error) => {
                        failed.store(true, Ordering::Relaxed);
                        failure.lock().get_or_insert(error);
                    }
                }
            }
        };
        for _ in 1..count.min(CONNECTING_MAX) {
            // If the system provides no thread, the others do its work.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    if let Some(error) = failure.into_inner() {
        return Err(error.into());
    }
    if control.is_stopped() {
        return Err(RunError::Interrupted);
    }
    Ok(connected.into_inner())
}

/// Starts a thread for each session, and one for the scheduler if there is one.
pub(crate) fn spawn_all<W: Runnable>(
    connect: &Arc<Connect<W>>,
    source: &Arc<dyn RequestSource<W>>,
    sessions: Vec<Box<dyn Session<W>>>,
    start: &Arc<StartSignal<W>>,
) -> Result<Option<JoinHandle<()>>, RunError> {
    let count = sessions.len() as u32;
    let no_thread = |error| RunError::Threads { sessions: count, error };
    for (index, session) in sessions.into_iter().enumerate() {
        let (connect, source, start) = (Arc::clone(connect), Arc::clone(source), Arc::clone(start));
        let work = move || {
            let Some(shared) = start.wait() else { return };
            let mut worker = Worker::new(shared, index, connect, session);
            source.work(&mut worker);
            worker.await_commits();
        };
        std::thread::Builder::new().name(format!("session-{index}")).spawn(work).map_err(no_thread)?;
    }
    let Some(schedule) = Arc::clone(source).scheduler() else { return Ok(None) };
    let start = Arc::clone(start);
    let work = move || {
        if let Some(shared) = start.wait() {
            schedule(&shared);
        }
    };
    std::thread::Builder::new().name("scheduler".to_owned()).spawn(work).map(Some).map_err(no_thread)
}
