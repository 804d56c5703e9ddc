//! The end of a key in one word.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::hash::{Hash, Hasher};
use std::num::NonZero;
use std::ptr::NonNull;
use std::slice;

/// Length of the bytes behind it.
type Length = u32;

/// The bytes of a key behind its head; or, if the key is only a head, the key's length.
///
/// A length is stored as twice itself and one. Bytes are behind their number in an allocation, whose address is even.
pub(super) struct Tail(NonNull<Length>);

const _: () = assert!(align_of::<Length>() > 1);

// SAFETY: a tail owns its bytes, and never changes them.
unsafe impl Send for Tail {}
// SAFETY: same as above.
unsafe impl Sync for Tail {}

impl Tail {
    /// Makes the tail of a key of `len` bytes that is only a head.
    pub(super) fn short(len: usize) -> Self {
        Self(NonNull::without_provenance(NonZero::<usize>::MIN | (len << 1)))
    }

    /// Makes a tail of bytes.
    pub(super) fn long(bytes: &[u8]) -> Self {
        let layout = Self::layout(bytes.len());
        // SAFETY: the layout is not empty, because it contains a length.
        let memory = unsafe { alloc(layout) };
        let Some(tail) = NonNull::new(memory.cast::<Length>()) else { handle_alloc_error(layout) };
        // SAFETY: nobody else has the memory. It is aligned for the length, and as large as the length and the bytes.
        unsafe {
            tail.write(bytes.len() as Length);
            tail.add(1).cast::<u8>().copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len());
        }
        Self(tail)
    }

    fn layout(len: usize) -> Layout {
        let Ok((layout, _)) =
            Layout::array::<u8>(len).and_then(|bytes| Layout::new::<Length>().extend(bytes))
        else {
            // Keys are at most `MAX_KEY_BYTES` long, far below what a layout can describe.
            unreachable!("a key with {len} more bytes")
        };
        layout
    }

    /// Returns the bytes; or, as an error, the length of a key that is only a head.
    #[inline]
    pub(super) fn get(&self) -> Result<&[u8], usize> {
        let address = self.0.addr().get();
        if address & 1 == 1 {
            return Err(address >> 1);
        }
        // SAFETY: the address is even, so `long` made it. The allocation has a length and so many bytes, which were
        // written before and never change, and it lives as long as the tail.
        unsafe { Ok(slice::from_raw_parts(self.0.add(1).cast().as_ptr(), *self.0.as_ref() as usize)) }
    }

    /// Returns the bytes that the tail takes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        self.get().map_or(0, |bytes| Self::layout(bytes.len()).size())
    }
}

impl Clone for Tail {
    #[inline]
    fn clone(&self) -> Self {
        match self.get() {
            Ok(bytes) => Self::long(bytes),
            Err(_) => Self(self.0),
        }
    }
}

impl Drop for Tail {
    #[inline]
    fn drop(&mut self) {
        if let Ok(bytes) = self.get() {
            let layout = Self::layout(bytes.len());
            // SAFETY: `long` allocated it with this layout, and nobody else has it.
            unsafe { dealloc(self.0.as_ptr().cast(), layout) };
        }
    }
}

impl PartialEq for Tail {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Tail {}

impl Hash for Tail {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.get() {
            Ok(bytes) => state.write(bytes),
            Err(len) => state.write_usize(len),
        }
    }
}
