//! The model checker's locks, atomics and signals, with the interface of `lock_manager/sync.rs`.

use super::table::Answer;
use shuttle::sync::Condvar;
use std::sync::PoisonError;
use std::time::Instant;

pub(super) use crate::model_checker::Mutex;
pub(super) use shuttle::sync::atomic::{AtomicUsize, fence};

pub(crate) struct Signal {
    answer: Mutex<Option<Answer>>,
    wake: Condvar,
}

impl Default for Signal {
    fn default() -> Self {
        Self { answer: Mutex::default(), wake: Condvar::new() }
    }
}

impl Signal {
    pub(super) fn deliver(&self, answer: Answer) {
        answer.put(&mut self.answer.lock());
        self.wake.notify_one();
    }

    /// A deadline is over as soon as the thread looks.
    pub(super) fn wait(&self, deadline: Option<Instant>) -> Option<Answer> {
        if deadline.is_some() {
            shuttle::thread::yield_now();
            return self.answer.lock().take();
        }
        let mut answer = self.answer.lock();
        while answer.is_none() {
            answer = self.wake.wait(answer).unwrap_or_else(PoisonError::into_inner);
        }
        answer.take()
    }
}
