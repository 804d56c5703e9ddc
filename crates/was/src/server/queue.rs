//! The bounded queue between lines and sessions.

use crate::message::TerminalId;
use lydite_tpcc::Transaction;
use lydite_tpcc::transactions::Delivery;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;

/// A transaction to execute.
#[derive(Debug)]
pub(super) enum Job {
    /// The terminal waits for the answer.
    Interactive(TerminalId, Box<Transaction>),
    /// The operator with this number waits for the result; the terminal has continued.
    Deferred(u32, Delivery),
}

#[derive(Debug, Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    most: usize,
}

/// A first-in first-out queue.
#[derive(Debug)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    filled: Condvar,
    emptied: Condvar,
    bound: usize,
}

impl Queue {
    pub(super) fn new(bound: usize) -> Self {
        Self { waiting: Mutex::default(), filled: Condvar::new(), emptied: Condvar::new(), bound }
    }

    /// Adds a job. Waits for room unless `stopping` returns true.
    pub(super) fn push(&self, job: Job, stopping: impl Fn() -> bool) {
        let mut waiting = self.waiting.lock();
        while waiting.jobs.len() >= self.bound && !stopping() {
            self.emptied.wait(&mut waiting);
        }
        waiting.jobs.push_back(job);
        waiting.most = waiting.most.max(waiting.jobs.len());
        drop(waiting);
        self.filled.notify_one();
    }

    /// Takes the next job. Returns `None` once `stopping` returns true.
    pub(super) fn pop(&self, stopping: impl Fn() -> bool) -> Option<Job> {
        let mut waiting = self.waiting.lock();
        loop {
            if stopping() {
                return None;
            }
            if let Some(job) = waiting.jobs.pop_front() {
                drop(waiting);
                self.emptied.notify_one();
                return Some(job);
            }
            self.filled.wait(&mut waiting);
        }
    }

    /// Wakes all waiting threads, so that they see that the tier stops.
    pub(super) fn wake_all(&self) {
        // With the lock no thread can be between its look and its sleep.
        let _asleep = self.waiting.lock();
        self.filled.notify_all();
        self.emptied.notify_all();
    }

    /// Returns the most jobs that have waited at the same time.
    pub(super) fn most(&self) -> u64 {
        self.waiting.lock().most as u64
    }
}
