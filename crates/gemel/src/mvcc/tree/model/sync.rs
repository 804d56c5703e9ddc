//! The model checker's locks and atomics, with the interface of `tree/sync.rs`. Its reclamation frees nothing before
//! the end, but fails if a thread reaches a node that could have been freed.

use std::cell::RefCell;
use std::sync::Arc;

pub(super) use crate::model_checker::Mutex;
pub(super) use shuttle::sync::MutexGuard;
pub(super) use shuttle::sync::atomic::{AtomicPtr, AtomicU64};

/// Small, so few keys make a tree of some height.
pub(super) const FANOUT: usize = 2;
pub(super) const SLOTS: usize = 4;

/// The model counts nothing.
#[derive(Default)]
pub(crate) struct Counters;

std::thread_local! {
    /// The nodes retired in this order of steps, oldest first. All threads of the model run on one thread.
    static RETIRED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    /// Closures that free these nodes.
    static FREE: RefCell<Vec<Box<dyn FnOnce()>>> = const { RefCell::new(Vec::new()) };
}

/// Frees the nodes retired in the previous order of steps.
pub(super) fn begin() {
    RETIRED.take();
    for free in FREE.take() {
        free();
    }
}

pub(super) struct Guard {
    /// Number of nodes that had been retired before.
    gone: usize,
}

impl Guard {
    pub(super) fn pin() -> Self {
        Self { gone: RETIRED.with_borrow(Vec::len) }
    }

    pub(super) fn flush(&self) {}

    pub(super) unsafe fn node<T>(&self, node: *mut T) -> &T {
        let freed = RETIRED.with_borrow(|retired| retired[..self.gone].contains(&(node as usize)));
        assert!(!freed, "a node was found that may have been freed");
        // SAFETY: nothing is freed before all threads have ended.
        unsafe { &*node }
    }

    pub(super) unsafe fn retire<T: 'static>(&self, node: *mut T, _: &Arc<Counters>) {
        // SAFETY: nobody has the node once all threads of this order of steps have ended.
        FREE.with_borrow_mut(|free| free.push(Box::new(move || drop(unsafe { Box::from_raw(node) }))));
        RETIRED.with_borrow_mut(|retired| {
            assert!(!retired.contains(&(node as usize)), "a node was retired twice");
            retired.push(node as usize);
        });
    }
}
