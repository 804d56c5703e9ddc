//! The model checker's locks and atomics, with the interface of `order/sync.rs`.

use std::sync::PoisonError;

pub(super) use shuttle::sync::MutexGuard;
pub(super) use shuttle::sync::atomic::{AtomicU64, AtomicUsize};
pub(super) use shuttle::thread_local;

/// Few, because a thread that computes the watermark reads every open slot.
pub(super) const CHUNK: usize = 2;
pub(super) const CHUNKS: usize = 4;
pub(super) const IDLE: u64 = 1;

#[derive(Debug)]
pub(super) struct Mutex<T>(shuttle::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(super) fn new(inner: T) -> Self {
        Self(shuttle::sync::Mutex::new(inner))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A back-off that lets other threads run.
pub(super) struct Backoff;

impl Backoff {
    pub(super) fn new() -> Self {
        Self
    }

    pub(super) fn snooze(&self) {
        shuttle::thread::yield_now();
    }
}
