//! The bounded queue between terminals and sessions.

use crate::clock::{Clock, Nanos, Window};
use lydite_tpcc::StandardKind;
use lydite_tpcc::transactions::Delivery;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;

/// Request of a terminal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) terminal: u32,
    pub(super) work: Work,
    pub(super) due: Nanos,
}

/// Kind of request, by who waits for the answer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    /// The terminal waits for the input screen.
    Menu(StandardKind),
    /// The terminal waits. A session makes the input when it takes the request.
    Interactive(StandardKind),
    /// Nobody waits: the terminal has continued (clause 2.7.2).
    Deferred(Delivery),
}

/// A first-in first-out queue.
#[derive(Debug)]
pub(super) struct RequestQueue {
    requests: Mutex<VecDeque<Request>>,
    filled: Condvar,
    bound: usize,
}

impl RequestQueue {
    pub(super) fn new(bound: usize) -> Self {
        Self { requests: Mutex::default(), filled: Condvar::new(), bound }
    }

    /// Returns the number of requests for which there is room. Only the scheduler adds requests, so it can rely on the
    /// number.
    pub(super) fn room(&self) -> usize {
        self.bound - self.len()
    }

    pub(super) fn len(&self) -> usize {
        self.requests.lock().len()
    }

    /// Adds requests and leaves `batch` empty.
    pub(super) fn push(&self, batch: &mut Vec<Request>) {
        let count = batch.len();
        let mut requests = self.requests.lock();
        requests.extend(batch.drain(..));
        assert!(requests.len() <= self.bound, "the scheduler asked for room");
        drop(requests);
        for _ in 0..count {
            // If no session sleeps, none must be woken.
            if !self.filled.notify_one() {
                break;
            }
        }
    }

    /// Takes the next request. Calls `before_waiting` if there is none yet. Returns `None` once the run is over.
    pub(super) fn pop(
        &self,
        clock: &Clock,
        window: &Window,
        before_waiting: impl FnOnce(),
    ) -> Option<Request> {
        let mut before_waiting = Some(before_waiting);
        let mut requests = self.requests.lock();
        loop {
            if window.over(clock.now()) {
                return None;
            }
            if let Some(request) = requests.pop_front() {
                return Some(request);
            }
            if let Some(before) = before_waiting.take() {
                MutexGuard::unlocked(&mut requests, before);
                continue;
            }
            self.filled.wait_until(&mut requests, clock.instant(window.end()));
        }
    }

    /// Wakes all waiting sessions, so that they see that the run is over.
    pub(super) fn wake_all(&self) {
        // With the lock no session can be between its look at the clock and its sleep.
        let _asleep = self.requests.lock();
        self.filled.notify_all();
    }
}
