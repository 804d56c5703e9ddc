//! Source of the locks, atomics and signals of the lock manager: the fast ones here, a model checker's in
//! `model/sync.rs`.

use super::table::Answer;
use parking_lot::Condvar;
use std::time::Instant;

pub(super) use parking_lot::Mutex;
pub(super) use std::sync::atomic::{AtomicUsize, fence};

/// A place where one thread waits for its answer.
#[derive(Default)]
pub(crate) struct Signal {
    answer: Mutex<Option<Answer>>,
    wake: Condvar,
}

impl Signal {
    pub(super) fn deliver(&self, answer: Answer) {
        answer.put(&mut self.answer.lock());
        self.wake.notify_one();
    }

    /// Waits for an answer, until the deadline.
    pub(super) fn wait(&self, deadline: Option<Instant>) -> Option<Answer> {
        let mut answer = self.answer.lock();
        while answer.is_none() {
            match deadline {
                None => self.wake.wait(&mut answer),
                Some(deadline) if self.wake.wait_until(&mut answer, deadline).timed_out() => break,
                Some(_) => {}
            }
        }
        answer.take()
    }
}
