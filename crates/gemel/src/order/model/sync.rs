//! The model checker's locks and atomics, with the interface of `order/sync.rs`.

pub(super) use crate::model_checker::{Backoff, Mutex};
pub(super) use shuttle::sync::MutexGuard;
pub(super) use shuttle::sync::atomic::{AtomicU64, AtomicUsize};
pub(super) use shuttle::thread_local;

/// Few, because a thread that computes the watermark reads every open slot.
pub(super) const CHUNK: usize = 2;
pub(super) const CHUNKS: usize = 4;
pub(super) const IDLE: u64 = 1;
