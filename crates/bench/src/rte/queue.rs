//! The bounded queue between terminals and sessions.

use crate::clock::{Clock, Nanos, Window};
use lydite_tpcc::TransactionKind;
use lydite_tpcc::transaction::Delivery;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;

/// What a terminal asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) terminal: u32,
    pub(super) work: Work,
    pub(super) due: Nanos,
}

/// Who waits for the answer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    /// The terminal: its input is made when a session takes it up.
    Interactive(TransactionKind),
    /// Nobody: the terminal has gone on (clause 2.7.2).
    Deferred(Delivery),
}

/// First in, first out.
#[derive(Debug)]
pub(super) struct Queue {
    requests: Mutex<VecDeque<Request>>,
    filled: Condvar,
    bound: usize,
}

impl Queue {
    pub(super) fn new(bound: usize) -> Self {
        Self { requests: Mutex::default(), filled: Condvar::new(), bound }
    }

    /// Requests that may still be put in. Only the scheduler puts in, so it can rely on it.
    pub(super) fn room(&self) -> usize {
        self.bound - self.len()
    }

    pub(super) fn len(&self) -> usize {
        self.requests.lock().len()
    }

    /// Puts requests in, and leaves `batch` empty.
    pub(super) fn push(&self, batch: &mut Vec<Request>) {
        let count = batch.len();
        let mut requests = self.requests.lock();
        requests.extend(batch.drain(..));
        assert!(requests.len() <= self.bound, "the scheduler asked for room");
        drop(requests);
        for _ in 0..count {
            // Once nobody sleeps there is nobody to wake.
            if !self.filled.notify_one() {
                break;
            }
        }
    }

    /// The next request; none once the run is over.
    pub(super) fn pop(&self, clock: &Clock, window: &Window) -> Option<Request> {
        let mut requests = self.requests.lock();
        loop {
            if window.over(clock.now()) {
                return None;
            }
            if let Some(request) = requests.pop_front() {
                return Some(request);
            }
            self.filled.wait_until(&mut requests, clock.instant(window.end()));
        }
    }

    /// Wakes all who wait, so that they see that the run is over.
    pub(super) fn wake_all(&self) {
        // The lock makes sure that nobody is between looking at the clock and falling asleep.
        let _asleep = self.requests.lock();
        self.filled.notify_all();
    }
}
