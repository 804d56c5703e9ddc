//! Where clocks, registry and slots take their locks and atomics from: the fast ones here, a model checker's in
//! `model/sync.rs`.

pub(super) use crossbeam_utils::Backoff;
pub(super) use parking_lot::{Mutex, MutexGuard};
pub(super) use std::sync::atomic::{AtomicU64, AtomicUsize};
pub(super) use std::thread_local;

/// Slots of transactions that are made at a time.
pub(super) const CHUNK: usize = 64;
/// Most times that such are made.
pub(super) const CHUNKS: usize = 1024;
