//! Source of the synchronisation core's locks: the standard library here, a model checker in `model.rs`.

pub(super) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
pub(super) use std::sync::{Condvar, Mutex, MutexGuard};
pub(super) use std::thread::yield_now;
