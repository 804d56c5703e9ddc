//! Source of the locks and atomics of clocks, registry and slots: the fast ones here, a model checker's in
//! `model/sync.rs`.

pub(super) use crossbeam_utils::Backoff;
pub(super) use parking_lot::{Mutex, MutexGuard};
pub(super) use std::sync::atomic::{AtomicU64, AtomicUsize};
pub(super) use std::thread_local;

/// Slots in a chunk.
pub(super) const CHUNK: usize = 64;
/// Maximum number of chunks.
pub(super) const CHUNKS: usize = 1024;
/// Number of times in a row that a chunk is found without a transaction before it is closed. More than one, because
/// closing a chunk whose threads are about to use it again would slow them down.
pub(super) const IDLE: u64 = 16;
