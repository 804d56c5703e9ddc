//! Where the tree takes its locks, atomics and reclamation from: the fast ones here, a model checker's in
//! `model/sync.rs`.

use crossbeam_epoch as epoch;
use std::sync::PoisonError;

pub(super) use std::sync::MutexGuard;
pub(super) use std::sync::atomic::{AtomicPtr, AtomicU64};

/// Most children of an inner node.
pub(super) const FANOUT: usize = 64;
/// Entries of a leaf: as many as an [`Order`](super::leaf::Order) can name.
pub(super) const SLOTS: usize = 15;

/// The standard library's, because Miri can run it. What it guards is whole at every step, so a panic poisons nothing.
#[derive(Debug)]
pub(super) struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(super) fn new(inner: T) -> Self {
        Self(std::sync::Mutex::new(inner))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps the nodes that are reached under it in memory.
pub(super) struct Guard(epoch::Guard);

impl Guard {
    #[inline]
    pub(super) fn pin() -> Self {
        Self(epoch::pin())
    }

    /// The node behind a pointer.
    ///
    /// # Safety
    /// `node` was made by [`Box::into_raw`], and read under this guard from where the tree keeps its nodes.
    #[inline]
    pub(super) unsafe fn node<T>(&self, node: *mut T) -> &T {
        // SAFETY: nodes are retired after the tree lets go of them, so what was found in the tree under the guard is
        // not freed before the guard ends. Nobody has a node mutably: what changes in it is atomic or under a mutex.
        unsafe { &*node }
    }

    /// Frees a node once nobody can have it any more.
    ///
    /// # Safety
    /// `node` was made by [`Box::into_raw`], the tree has let go of it, and it is retired but once.
    pub(super) unsafe fn retire<T>(&self, node: *mut T) {
        // SAFETY: who finds nodes from now on doesn't find this one; those who found it before are pinned, and the
        // epoch waits for them. A node may be dropped on any thread, since its keys and values may.
        unsafe { self.0.defer_unchecked(move || drop(Box::from_raw(node))) };
    }
}
