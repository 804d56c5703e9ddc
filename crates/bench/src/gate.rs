//! A gate at which a thread waits until another one opens it.

use parking_lot::{Condvar, Mutex};
use std::time::Duration;

/// Time between two looks at whether the wait is in vain, because the run may end.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Keeps a terminal from sending its next transaction before the answer to its last one, and an aborted transaction
/// from being retried before its turn. A new gate is open.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    shut: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    pub(crate) fn shut(&self) {
        *self.shut.lock() = true;
    }

    pub(crate) fn open(&self) {
        *self.shut.lock() = false;
        self.opened.notify_all();
    }

    pub(crate) fn is_open(&self) -> bool {
        !*self.shut.lock()
    }

    /// Waits until the gate is open. Returns false if `in_vain` returns true first.
    pub(crate) fn pass(&self, mut in_vain: impl FnMut() -> bool) -> bool {
        let mut shut = self.shut.lock();
        while *shut {
            if self.opened.wait_for(&mut shut, LOOK_AGAIN).timed_out() && *shut && in_vain() {
                return false;
            }
        }
        true
    }
}
