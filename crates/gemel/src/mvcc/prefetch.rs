//! Hints to the processor about memory that will be read soon.

/// Bytes of a line of the processor's caches.
const LINE: usize = 64;

/// Brings memory from `first` on into the processor's caches, without waiting for it. Any address is allowed: a hint
/// reads nothing that the program could see. Does nothing where the standard library has no such hint.
#[inline]
pub(crate) fn prefetch<T>(first: *const T, bytes: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for offset in (0..bytes).step_by(LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction ignores addresses that can't be read.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(first.cast::<i8>().wrapping_add(offset)) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (first, bytes, LINE);
}

/// Same as [`prefetch`], for a whole value.
#[inline]
pub(crate) fn prefetch_value<T>(value: &T) {
    prefetch(std::ptr::from_ref(value), size_of::<T>());
}
