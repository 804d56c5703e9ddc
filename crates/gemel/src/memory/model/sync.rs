//! The model checker's locks and atomics, with the interface of `mvcc/sync.rs`.
//!
//! The reclamation here runs deferred work as early as the epoch ever may: at the end of the last pin that there was
//! when the work was deferred. Freed memory stays allocated until the end, so the model sees who still uses it.

use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::ptr::NonNull;

pub(super) use crate::model_checker::{Backoff, Mutex};
pub(super) use shuttle::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

/// Deferred work, and the pins that it waits for.
struct Deferred {
    pins: BTreeSet<u64>,
    work: Box<dyn FnOnce()>,
}

/// Allocations by address, with their layouts. All threads of the model run on one thread.
type Blocks = RefCell<BTreeMap<usize, Layout>>;

std::thread_local! {
    static USED: Blocks = const { RefCell::new(BTreeMap::new()) };
    static FREED: Blocks = const { RefCell::new(BTreeMap::new()) };
    static PINS: RefCell<BTreeSet<u64>> = const { RefCell::new(BTreeSet::new()) };
    static PINNED: Cell<u64> = const { Cell::new(0) };
    static DEFERRED: RefCell<Vec<Deferred>> = const { RefCell::new(Vec::new()) };
}

/// Allocates memory.
///
/// # Safety
/// See [`std::alloc::alloc`].
pub(super) unsafe fn alloc(layout: Layout) -> *mut u8 {
    // SAFETY: same contract.
    let block = unsafe { std::alloc::alloc(layout) };
    USED.with_borrow_mut(|used| used.insert(block as usize, layout));
    block
}

/// Marks memory as freed, and overwrites it, so no reader finds the value of a version there.
///
/// # Safety
/// See [`std::alloc::dealloc`].
pub(super) unsafe fn dealloc(block: *mut u8, layout: Layout) {
    let used = USED.with_borrow_mut(|used| used.remove(&(block as usize)));
    assert_eq!(used, Some(layout), "a version was freed twice");
    // SAFETY: the block is as large, and it stays allocated until `end`.
    unsafe { block.write_bytes(0xDD, layout.size()) };
    FREED.with_borrow_mut(|freed| freed.insert(block as usize, layout));
}

/// Forgets what an earlier order of steps left when it failed.
pub(super) fn begin() {
    PINS.take();
    DEFERRED.take();
    USED.take();
    FREED.take();
}

/// Checks that everything was freed, and frees it. No thread may have a pin.
pub(super) fn end() {
    assert!(PINS.with_borrow(BTreeSet::is_empty), "a pin is left");
    assert!(DEFERRED.with_borrow(Vec::is_empty), "deferred work is left");
    assert_eq!(USED.with_borrow(BTreeMap::len), 0, "versions that nobody freed");
    for (block, layout) in FREED.take() {
        // SAFETY: allocated with this layout, and nobody uses it any more.
        unsafe { std::alloc::dealloc(block as *mut u8, layout) };
    }
}

pub(super) struct Pin(u64);

impl Pin {
    pub(super) fn new() -> Self {
        let number = PINNED.get() + 1;
        PINNED.set(number);
        PINS.with_borrow_mut(|pins| pins.insert(number));
        Self(number)
    }

    pub(super) fn flush(&self) {}

    pub(super) unsafe fn see<T>(&self, pointer: NonNull<T>) -> &T {
        // Others may run between the load of the pointer and the look at what is there.
        shuttle::thread::yield_now();
        // The pointer may be to a place within its block.
        let (address, end) = (pointer.addr().get(), pointer.addr().get() + size_of::<T>());
        let used = USED.with_borrow(|used| {
            used.range(..=address).next_back().is_some_and(|(block, layout)| end <= block + layout.size())
        });
        assert!(used, "a version was found that is freed");
        // SAFETY: what was once allocated stays so until `end`.
        unsafe { pointer.as_ref() }
    }

    pub(super) unsafe fn defer(&self, work: impl FnOnce() + 'static) {
        let pins = PINS.with_borrow(Clone::clone);
        DEFERRED.with_borrow_mut(|deferred| deferred.push(Deferred { pins, work: Box::new(work) }));
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        PINS.with_borrow_mut(|pins| pins.remove(&self.0));
        let ready = DEFERRED.with_borrow_mut(|deferred| {
            for work in deferred.iter_mut() {
                work.pins.remove(&self.0);
            }
            let (ready, rest) = mem::take(deferred).into_iter().partition(|work| work.pins.is_empty());
            *deferred = rest;
            let ready: Vec<Deferred> = ready;
            ready
        });
        ready.into_iter().for_each(|deferred| (deferred.work)());
    }
}
