//! Chains of versions.
//!
//! A version is one allocation: a header followed by the bytes of the value. Most rows have a single version, so a version
//! has room for a pointer to an older one only if it was made for a chain that has one. Once the older ones are cut off, a
//! copy without that room takes its place ([`Chain::cut`]).
//!
//! A thread that removes the pointer to a version from its chain does so by an atomic swap or exchange. So it is the only
//! one that has the pointer, and passes it to the epoch. The epoch frees the version when no reader that could have seen it
//! is left. So memory safety does not depend on locks: the records' locks keep the *timestamps* in order, not the memory
//! sound.
//!
//! Versions are passed to the epoch many at a time ([`Retired`]), and their bytes count as held until they are free.

use super::Counters;
use super::stamp::{Mark, Stamp};
use super::sync::{AtomicPtr, Pin, alloc, dealloc};
use crate::key::MAX_VALUE_BYTES;
use crate::mvcc::counters::ALLOCATION_BYTES;
use crate::mvcc::prefetch::prefetch;
use crate::order::clock::Timestamp;
use std::alloc::{Layout, handle_alloc_error};
use std::fmt;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Set in the head of a version that is linked: it has a link in front of it.
const LINKED: u32 = 1 << 31;
/// One trim in the head of a version: a version of its key lost its link.
const TRIM: u32 = 1 << 29;
/// Maximum number of trims of a key. A row that changes again and again would be copied in vain each time.
const MOST_TRIMS: u32 = 3;
const TRIMS: u32 = MOST_TRIMS * TRIM;
/// The length that marks a version as a tombstone.
const TOMBSTONE: u32 = TRIM - 1;

const _: () = assert!(LINKED & TRIMS == 0 && MAX_VALUE_BYTES < TOMBSTONE as usize);

/// Returns the bytes of a value behind an `Arc`, with the two reference counts and the allocator's overhead.
pub(crate) const fn shared_bytes<T>() -> u64 {
    (size_of::<T>() + 2 * size_of::<usize>() + ALLOCATION_BYTES).next_multiple_of(16) as u64
}

/// Bytes of a version that are worth a prefetch. The processor itself fetches the rest of a long value ahead of whoever
/// copies it.
const FETCHED_BYTES: usize = 128;
/// A timestamp later than that of every version that is not hidden.
const NEWEST: Timestamp = Timestamp(u64::MAX - 1);
/// Maximum number of versions that the epoch frees at once.
const FREED_AT_ONCE: usize = 1024;

/// The next older version.
type Link = AtomicPtr<Version>;

/// A version, followed by its bytes in the same allocation, and with a [`Link`] in front of it if it is linked. It is never
/// made as a value, only written through a pointer.
#[repr(C)]
struct Version {
    stamp: Stamp,
    /// Length of the value in bytes, or [`TOMBSTONE`]; with [`LINKED`], and with trims in units of [`TRIM`].
    len: u32,
}

/// Offset of the value's bytes. The first ones are in the padding of the header.
const VALUE: usize = mem::offset_of!(Version, len) + size_of::<u32>();

const _: () = assert!(size_of::<Link>().is_multiple_of(align_of::<Version>()));

/// Returns the bytes that an allocation of `bytes` takes, at least one: multiples of 16 up to 128, then four sizes for
/// each power of two, as mimalloc and jemalloc have them.
const fn size_class(bytes: usize) -> usize {
    let quarter = (1 << (bytes - 1).ilog2()) / 4;
    bytes.next_multiple_of(if quarter > 16 { quarter } else { 16 })
}

impl Version {
    /// Returns the layout of a version with a value of `len` bytes, and the version's offset.
    fn layout(len: usize, linked: bool) -> (Layout, usize) {
        let offset = if linked { size_of::<Link>() } else { 0 };
        // The header with its padding must be within the allocation, also if the value is shorter.
        let size = offset + (VALUE + len).max(size_of::<Self>());
        let Ok(layout) = Layout::from_size_align(size, align_of::<Self>()) else {
            // Values are at most `MAX_VALUE_BYTES` long, far below what a layout can describe.
            unreachable!("a value of {len} bytes")
        };
        (layout, offset)
    }

    /// Allocates a new version, which nobody else knows. `flags` are [`LINKED`] and trims.
    fn allocate(stamp: Stamp, value: Option<&[u8]>, flags: u32) -> NonNull<Self> {
        let bytes = value.unwrap_or_default();
        assert!(bytes.len() < TOMBSTONE as usize, "values are limited to far less");
        let linked = flags & LINKED != 0;
        let (layout, offset) = Self::layout(bytes.len(), linked);
        let len = value.map_or(TOMBSTONE, |value| value.len() as u32);
        let header = Self { stamp, len: len | flags };
        // SAFETY: the layout is never empty, because it contains a header.
        let Some(memory) = NonNull::new(unsafe { alloc(layout) }) else { handle_alloc_error(layout) };
        // SAFETY: nobody else has the memory. It is aligned for the link and for the header, and as large as these and the
        // bytes. The bytes are written last, because the header is written with its padding.
        unsafe {
            if linked {
                memory.cast::<Link>().write(Link::default());
            }
            let version = memory.add(offset).cast::<Self>();
            version.write(header);
            let value = version.cast::<u8>().add(VALUE);
            value.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len());
            version
        }
    }

    fn is_linked(&self) -> bool {
        self.len & LINKED != 0
    }

    /// Returns true if the version deletes.
    fn is_tombstone(&self) -> bool {
        self.len & TOMBSTONE == TOMBSTONE
    }

    /// Returns the length of the value.
    fn value_len(&self) -> usize {
        if self.is_tombstone() { 0 } else { (self.len & TOMBSTONE) as usize }
    }

    /// Returns the flags for a copy without a link, if it takes less memory. Tombstones stay: they are removed soon.
    fn trimmed(&self) -> Option<u32> {
        let class = |linked| size_class(Self::layout(self.value_len(), linked).0.size());
        let trims = self.len & TRIMS;
        let may_trim = self.is_linked() && trims < TRIMS && !self.is_tombstone();
        (may_trim && class(false) < class(true)).then_some(trims + TRIM)
    }

    /// Returns the pointer to the next older version, if the version has one.
    ///
    /// # Safety
    /// `version` comes from [`Version::allocate`] and is not freed during `'a`.
    unsafe fn link<'a>(version: NonNull<Self>) -> Option<&'a Link> {
        // SAFETY: the caller guarantees that the version lives. A linked version has the link in front of it, in the same
        // allocation. The pointer comes from that allocation, so it may be used for all of it.
        unsafe { version.as_ref().is_linked().then(|| version.cast::<Link>().sub(1).as_ref()) }
    }

    /// Returns the value of a version; none if it deletes.
    ///
    /// # Safety
    /// `version` comes from [`Version::allocate`] and is not freed during `'a`.
    unsafe fn value<'a>(version: NonNull<Self>) -> Option<&'a [u8]> {
        // SAFETY: the caller guarantees that the version lives. Header and bytes were written before it was shared and
        // never change, except for the stamp, which is atomic. The pointer comes from the allocation, so it may be used
        // for all of it.
        unsafe {
            let header = version.as_ref();
            let bytes = version.as_ptr().cast::<u8>().add(VALUE);
            (!header.is_tombstone()).then(|| slice::from_raw_parts(bytes, header.value_len()))
        }
    }

    /// Returns a linked version with the same content, which takes the place of `version`.
    ///
    /// # Safety
    /// `version` comes from [`Version::allocate`], and nobody else knows it.
    unsafe fn linked(version: NonNull<Self>) -> NonNull<Self> {
        // SAFETY: the version lives until it is freed here, and the caller owns it.
        unsafe {
            if version.as_ref().is_linked() {
                return version;
            }
            let stamp = mem::replace(&mut (*version.as_ptr()).stamp, Stamp::new(Timestamp::ZERO));
            let trims = version.as_ref().len & TRIMS;
            let linked = Self::allocate(stamp, Self::value(version), trims | LINKED);
            Self::free(version);
            linked
        }
    }

    /// Frees a version.
    ///
    /// # Safety
    /// `version` comes from [`Version::allocate`], nobody else can reach it any more, and it is freed only once.
    unsafe fn free(version: NonNull<Self>) {
        // SAFETY: the version lives until here, and neither the header nor the link needs a drop.
        unsafe {
            let header = version.as_ref();
            let (layout, offset) = Self::layout(header.value_len(), header.is_linked());
            dealloc(version.cast::<u8>().sub(offset).as_ptr(), layout);
        }
    }
}

/// A value to write, which nobody else knows, in memory that has room for the head of a version too. So a commit does not
/// copy the value once more: it hands the memory over.
pub(crate) struct Draft(NonNull<Version>);

// SAFETY: a draft owns its memory, and changes it only when it is handed over.
unsafe impl Send for Draft {}
// SAFETY: same as above; a shared draft can only be read.
unsafe impl Sync for Draft {}

impl Draft {
    /// Makes a value that will probably be the only one of its key, so it needs less memory. A chain that has a version
    /// already copies it.
    pub(crate) fn first(value: &[u8]) -> Self {
        Self(Version::allocate(Stamp::new(Timestamp::ZERO), Some(value), 0))
    }

    /// Makes the draft ready to follow the versions of a chain, which needs no copy then. The caller holds the record's
    /// lock from here on until the chain has the draft.
    pub(crate) fn follow(&mut self, chain: &Chain, pin: &Pin) {
        let Some(newest) = NonNull::new(chain.head.load(Ordering::Acquire)) else { return };
        // SAFETY: the version was reachable under this pin, as in `Chain::find`.
        let trims = unsafe { pin.see(newest) }.len & TRIMS;
        // SAFETY: the draft owns the memory, and nobody else knows it.
        unsafe {
            self.0 = Version::linked(self.0);
            let head = &mut (*self.0.as_ptr()).len;
            *head = *head & !TRIMS | trims;
        }
    }

    /// Turns the draft, or the lack of one, which is a tombstone, into a version. The caller has to free it.
    fn into_version(draft: Option<Self>, stamp: Stamp) -> NonNull<Version> {
        let Some(draft) = draft else { return Version::allocate(stamp, None, LINKED) };
        let version = draft.0;
        mem::forget(draft);
        // SAFETY: nobody else has the memory, and it lives: the draft was not dropped.
        unsafe { (*version.as_ptr()).stamp = stamp };
        version
    }
}

impl<T: AsRef<[u8]> + ?Sized> From<&T> for Draft {
    fn from(value: &T) -> Self {
        Self(Version::allocate(Stamp::new(Timestamp::ZERO), Some(value.as_ref()), LINKED))
    }
}

impl Clone for Draft {
    fn clone(&self) -> Self {
        // SAFETY: the memory lives as long as the draft.
        let flags = unsafe { self.0.as_ref() }.len & (LINKED | TRIMS);
        Self(Version::allocate(Stamp::new(Timestamp::ZERO), Some(self), flags))
    }
}

impl Deref for Draft {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the memory lives as long as the draft.
        unsafe { Version::value(self.0) }.unwrap_or_default()
    }
}

impl DerefMut for Draft {
    fn deref_mut(&mut self) -> &mut [u8] {
        let version = self.0;
        // SAFETY: the draft owns the memory, nobody else knows it, and the borrow of the draft keeps it alive and to the
        // caller alone. The bytes follow the header in the same allocation and were all written.
        unsafe {
            let len = version.as_ref().value_len();
            slice::from_raw_parts_mut(version.as_ptr().cast::<u8>().add(VALUE), len)
        }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // SAFETY: the draft owns the memory, and nobody else knows it.
        unsafe { Version::free(self.0) };
    }
}

impl fmt::Debug for Draft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.escape_ascii())
    }
}

/// Returns the bytes of memory that a version with a value of `len` bytes takes, if it is linked. Others count alike.
pub(crate) fn version_bytes(len: usize) -> u64 {
    (size_of::<Link>() + VALUE + len + ALLOCATION_BYTES).next_multiple_of(16) as u64
}

/// The content of a version for a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen<'a> {
    /// Timestamp of the commit that wrote the version.
    pub(crate) timestamp: Timestamp,
    /// The value; none if the version deletes.
    pub(crate) value: Option<&'a [u8]>,
}

/// Number and bytes of the versions that were cut off a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) versions: u64,
    pub(crate) bytes: u64,
}

/// Memory that nobody finds any more: versions that were cut off their chains, and removed records. Dropping it passes
/// all of it to the epoch. The bytes count as held until the epoch has freed the versions.
///
/// One closure frees many versions, because each closure needs a reference of its own to the counters.
pub(crate) struct Retired<'a> {
    counters: &'a Arc<Counters>,
    versions: Vec<NonNull<Version>>,
    bytes: u64,
}

impl<'a> Retired<'a> {
    pub(crate) fn new(counters: &'a Arc<Counters>) -> Self {
        Self { counters, versions: Vec::new(), bytes: 0 }
    }

    /// Adds the bytes of a record that was removed from the index. The handles of the record free it.
    pub(crate) fn add_bytes(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    /// Adds a version.
    ///
    /// # Safety
    /// `version` comes from [`Version::allocate`], the caller has removed the only pointer through which it could be
    /// found, and adds it only once.
    unsafe fn add(&mut self, version: NonNull<Version>, bytes: u64) {
        self.versions.push(version);
        self.bytes += bytes;
        if self.versions.len() == FREED_AT_ONCE {
            self.pass_on();
        }
    }

    /// Adds a version that a copy has replaced. The version's bytes count until it is free, beside those of the copy.
    ///
    /// # Safety
    /// Same as for [`Retired::add`].
    unsafe fn add_replaced(&mut self, version: NonNull<Version>, bytes: u64) {
        self.counters.add(bytes);
        // SAFETY: same contract.
        unsafe { self.add(version, bytes) };
    }

    /// Passes everything to the epoch.
    fn pass_on(&mut self) {
        if self.bytes == 0 {
            return;
        }
        let (versions, bytes) = (mem::take(&mut self.versions), mem::take(&mut self.bytes));
        let counters = Arc::clone(self.counters);
        counters.note_retired(bytes);
        let pin = Pin::new();
        // SAFETY: `add` guarantees that nobody finds the versions any more, and that nobody else frees them. Threads
        // that found them before are pinned, and the epoch waits for them. The closure holds plain pointers to plain
        // bytes and a reference to counters, valid on any thread and after the engine is gone.
        unsafe {
            pin.defer(move || {
                for version in versions {
                    Version::free(version);
                }
                counters.note_freed(bytes);
            });
        }
        pin.flush();
    }
}

impl Drop for Retired<'_> {
    fn drop(&mut self) {
        self.pass_on();
    }
}

/// The versions of a key, newest first.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    head: Link,
}

impl Chain {
    /// Returns true if there is no version.
    pub(crate) fn is_empty(&self) -> bool {
        self.head.load(Ordering::Acquire).is_null()
    }

    /// Returns the newest version.
    pub(crate) fn newest<'a>(&'a self, pin: &'a Pin) -> Option<Seen<'a>> {
        self.at(Timestamp::MAX, pin)
    }

    /// Brings the newest version into the processor's caches: its header and the beginning of its value.
    pub(crate) fn prefetch_newest(&self, _: &Pin) {
        prefetch(self.head.load(Ordering::Acquire), FETCHED_BYTES);
    }

    /// Returns the newest version committed at or before `at`.
    #[inline]
    pub(crate) fn at<'a>(&'a self, at: Timestamp, pin: &'a Pin) -> Option<Seen<'a>> {
        let (version, timestamp) = self.find(at, pin)?;
        // SAFETY: the pin keeps the version from being freed by a cut, and the borrow of the chain keeps it from being
        // dropped with the chain.
        Some(Seen { timestamp, value: unsafe { Version::value(version) } })
    }

    /// Finds the newest version at or before `at`, and its timestamp. The pointer is valid as long as the pin and the
    /// chain.
    fn find(&self, at: Timestamp, pin: &Pin) -> Option<(NonNull<Version>, Timestamp)> {
        // A hidden version has no timestamp yet, whoever asks.
        let at = at.min(NEWEST);
        let mut next = &self.head;
        loop {
            let version = NonNull::new(next.load(Ordering::Acquire))?;
            // SAFETY: the version was reachable after the thread was pinned, so the epoch does not free it before the
            // pin ends. The borrow of the chain keeps those that would be dropped with the chain.
            let header = unsafe { pin.see(version) };
            let timestamp = header.stamp.get(pin);
            if timestamp <= at {
                return Some((version, timestamp));
            }
            // SAFETY: same as above.
            next = unsafe { Version::link(version) }?;
        }
    }

    /// Returns all versions, newest first. None of them may be hidden.
    pub(crate) fn versions<'a>(&'a self, pin: &'a Pin) -> impl Iterator<Item = Seen<'a>> {
        let behind = |next: &Link| NonNull::new(next.load(Ordering::Acquire));
        // SAFETY: same as in `find`.
        let older = move |version: &NonNull<Version>| behind(unsafe { Version::link(*version) }?);
        std::iter::successors(behind(&self.head), older).map(move |version| {
            // SAFETY: same as in `at`.
            let (header, value) = unsafe { (pin.see(version), Version::value(version)) };
            Seen { timestamp: header.stamp.get(pin), value }
        })
    }

    /// Adds a version. Nobody else adds one meanwhile, and `timestamp` is newer than all existing versions.
    pub(crate) fn push(&self, timestamp: Timestamp, value: Option<Draft>) {
        self.push_version(Draft::into_version(value, Stamp::new(timestamp)));
    }

    /// Adds a version that no snapshot contains yet. The caller holds the record's lock until it has settled the version
    /// or taken it back.
    pub(crate) fn push_hidden(&self, mark: Mark, value: Option<Draft>) {
        self.push_version(Draft::into_version(value, Stamp::of(mark)));
    }

    /// Gives the newest version, which was hidden, its timestamp, so it needs the mark no more.
    pub(crate) fn settle(&self, at: Timestamp, pin: &Pin) {
        if let Some(newest) = NonNull::new(self.head.load(Ordering::Acquire)) {
            // SAFETY: same as in `find`.
            unsafe { pin.see(newest) }.stamp.settle(at);
        }
    }

    /// Removes the newest version, which is hidden. Returns a copy of its value.
    pub(crate) fn take_back(&self, pin: &Pin, retired: &mut Retired<'_>) -> Option<Draft> {
        let newest = NonNull::new(self.head.load(Ordering::Acquire))?;
        // SAFETY: same as in `find`.
        let header = unsafe { pin.see(newest) };
        // SAFETY: same as in `find`.
        let older =
            unsafe { Version::link(newest) }.map_or(ptr::null_mut(), |link| link.load(Ordering::Acquire));
        // Only the owner of the record's lock, who calls this, changes the head, and nobody cuts after a hidden version.
        self.head.store(older, Ordering::Release);
        // SAFETY: same as in `find`. The only pointer to the version is gone.
        unsafe {
            let value = Version::value(newest).map(Draft::from);
            retired.add(newest, version_bytes(header.value_len()));
            value
        }
    }

    fn push_version(&self, mut version: NonNull<Version>) {
        let mut head = self.head.load(Ordering::Acquire);
        loop {
            if !head.is_null() {
                // SAFETY: nobody else knows the version yet.
                version = unsafe { Version::linked(version) };
            }
            // SAFETY: same as above.
            if let Some(link) = unsafe { Version::link(version) } {
                link.store(head, Ordering::Relaxed);
            }
            // If this succeeds, `head` is the head at that very moment, whatever it was in between. It is the same version
            // as before, too: only this thread adds one, and a copy of it has no link, so no other copy replaces that.
            match self.head.compare_exchange(head, version.as_ptr(), Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Cuts off all versions that are older than the newest one at or before `watermark`: no snapshot at or after
    /// `watermark` sees them. If that one is the only one then, it loses its link.
    pub(crate) fn cut(&self, watermark: Timestamp, pin: &Pin, retired: &mut Retired<'_>) -> Cut {
        let Some((version, timestamp)) = self.find(watermark, pin) else { return Cut::default() };
        // SAFETY: same as in `find`.
        let Some(link) = (unsafe { Version::link(version) }) else { return Cut::default() };
        let cut = Self::retire(link, retired);
        self.trim(version, timestamp, pin, retired);
        cut
    }

    /// Puts a copy without a link in the place of a version that was found under this pin and has no older one, if it is
    /// the newest one and the copy takes less memory. Threads that are on the version stay there.
    ///
    /// A link that was cut stays null, so nothing is lost with it. A version that is not hidden any more may still have its
    /// mark; the copy has the timestamp instead.
    fn trim(&self, version: NonNull<Version>, at: Timestamp, pin: &Pin, retired: &mut Retired<'_>) {
        if self.head.load(Ordering::Relaxed) != version.as_ptr() {
            return;
        }
        // SAFETY: same as in `find`.
        let header = unsafe { pin.see(version) };
        let Some(flags) = header.trimmed() else { return };
        // SAFETY: same as in `find`.
        let copy = Version::allocate(Stamp::new(at), unsafe { Version::value(version) }, flags);
        // The writer that holds the record's lock, and other collectors, exchange the head too: one of them succeeds. The
        // version is not freed under this pin, so no other version has its address meanwhile.
        let exchanged =
            self.head.compare_exchange(version.as_ptr(), copy.as_ptr(), Ordering::AcqRel, Ordering::Relaxed);
        // SAFETY: in the first case, the exchange has removed the only pointer to the version. In the second, nobody else
        // knows the copy.
        unsafe {
            match exchanged {
                Ok(_) => retired.add_replaced(version, version_bytes(header.value_len())),
                Err(_) => Version::free(copy),
            }
        }
    }

    /// Returns the bytes that the allocations of all versions take.
    #[cfg(test)]
    pub(crate) fn allocated(&self, pin: &Pin) -> usize {
        let mut bytes = 0;
        let mut next = self.head.load(Ordering::Acquire);
        while let Some(version) = NonNull::new(next) {
            // SAFETY: same as in `find`.
            let (header, link) = unsafe { (pin.see(version), Version::link(version)) };
            bytes += size_class(Version::layout(header.value_len(), header.is_linked()).0.size());
            next = link.map_or(ptr::null_mut(), |link| link.load(Ordering::Acquire));
        }
        bytes
    }

    /// Removes all versions.
    pub(crate) fn clear(&self, retired: &mut Retired<'_>) -> Cut {
        Self::retire(&self.head, retired)
    }

    /// Removes the versions after `from`, one by one, so two threads that do it at once never get the same version.
    fn retire(from: &Link, retired: &mut Retired<'_>) -> Cut {
        let mut cut = Cut::default();
        let mut next = from.swap(ptr::null_mut(), Ordering::AcqRel);
        while let Some(version) = NonNull::new(next) {
            // SAFETY: the swap that returned the pointer removed the only one there was. So nobody else frees the
            // version, and it is only passed to the epoch below.
            let (header, link) = unsafe { (version.as_ref(), Version::link(version)) };
            next = link.map_or(ptr::null_mut(), |link| link.swap(ptr::null_mut(), Ordering::AcqRel));
            let bytes = version_bytes(header.value_len());
            cut.versions += 1;
            cut.bytes += bytes;
            // SAFETY: same as above: nobody finds the version any more.
            unsafe { retired.add(version, bytes) };
        }
        cut
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        let mut next = *self.head.get_mut();
        while let Some(version) = NonNull::new(next) {
            // SAFETY: a version that is still reachable has not been retired. Readers borrow the chain, so there are
            // none.
            unsafe {
                next = Version::link(version).map_or(ptr::null_mut(), |link| link.load(Ordering::Relaxed));
                Version::free(version);
            }
        }
    }
}
