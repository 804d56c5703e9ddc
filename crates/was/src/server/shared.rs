//! The state that all threads of the tier share.

use super::contexts::Contexts;
use super::queue::Queue;
use crate::message::Served;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// State that all threads share.
pub(super) struct Shared {
    pub(super) contexts: Mutex<Contexts>,
    pub(super) queue: Queue,
    pub(super) served: Served,
    pub(super) stopping: AtomicBool,
}

impl Shared {
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.queue.wake_all();
    }
}
