//! A waiter for positions in one or several logs. It is released once, when the logs are durable up to all positions.

use super::sync::{AtomicUsize, Condvar, Mutex, MutexGuard};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};

/// Success if durable; otherwise the reason why the outcome is unknown.
pub(crate) type Outcome = Result<(), Arc<str>>;

type Callback = Box<dyn FnOnce(Outcome) + Send>;

/// The party to notify.
enum Slot {
    Nobody,
    Task(Waker),
    Thread,
    Callback(Callback),
    Done(Outcome),
}

pub(crate) struct Waiter {
    /// Number of logs that are not durable up to their position yet.
    missing: AtomicUsize,
    slot: Mutex<Slot>,
    /// Wakes a thread; used with [`Slot::Thread`] only.
    released: Condvar,
}

impl Waiter {
    /// Makes a waiter for a number of logs, at least one.
    pub(crate) fn new(logs: usize) -> Self {
        assert!(logs > 0, "a waiter without a log would never be released");
        Self { missing: AtomicUsize::new(logs), slot: Mutex::new(Slot::Nobody), released: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Slot> {
        // Nothing panics while holding this lock.
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that one more log is durable up to its position.
    pub(crate) fn arrive(&self) {
        // Acquire and release: the thread that releases the waiter has seen everything that the other logs published.
        if self.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.finish(Ok(()));
        }
    }

    /// Releases the waiter. Only the first outcome counts: a log that fails doesn't wait for the others.
    pub(crate) fn finish(&self, outcome: Outcome) {
        let mut slot = self.lock();
        if matches!(*slot, Slot::Done(_)) {
            return;
        }
        let before = std::mem::replace(&mut *slot, Slot::Done(outcome.clone()));
        drop(slot);
        match before {
            Slot::Nobody | Slot::Done(_) => {}
            Slot::Thread => self.released.notify_one(),
            // This is foreign code on the thread that all waiters depend on, so its panics are caught.
            Slot::Task(waker) => drop(catch_unwind(AssertUnwindSafe(|| waker.wake()))),
            Slot::Callback(callback) => drop(catch_unwind(AssertUnwindSafe(|| callback(outcome)))),
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(*self.lock(), Slot::Done(_))
    }

    pub(crate) fn poll(&self, context: &mut Context<'_>) -> Poll<Outcome> {
        let mut slot = self.lock();
        match &mut *slot {
            Slot::Done(outcome) => Poll::Ready(outcome.clone()),
            Slot::Task(waker) => {
                waker.clone_from(context.waker());
                Poll::Pending
            }
            other => {
                *other = Slot::Task(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Blocks the thread until the release.
    pub(crate) fn wait(&self) -> Outcome {
        let mut slot = self.lock();
        loop {
            if let Slot::Done(outcome) = &*slot {
                return outcome.clone();
            }
            *slot = Slot::Thread;
            slot = self.released.wait(slot).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Calls `callback` on release, or at once if the waiter is released already.
    pub(crate) fn on_done(&self, callback: Callback) {
        let mut slot = self.lock();
        let outcome = match &*slot {
            Slot::Done(outcome) => outcome.clone(),
            _ => {
                *slot = Slot::Callback(callback);
                return;
            }
        };
        drop(slot);
        callback(outcome);
    }
}

impl fmt::Debug for Waiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiter")
            .field("missing", &self.missing.load(Ordering::Relaxed))
            .finish_non_exhaustive()
    }
}
