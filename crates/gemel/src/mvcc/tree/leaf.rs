//! Leaves: a few entries, each written once, and one word that says which of them are live and in what order.

use super::sync::{AtomicU64, Mutex, MutexGuard, SLOTS};
use crate::key::Key;
use crate::mvcc::prefetch::{prefetch, prefetch_value};
use std::cell::UnsafeCell;
use std::mem::{MaybeUninit, offset_of};
use std::sync::atomic::Ordering;

/// The live entries of a leaf, in the order of their keys.
///
/// The lowest four bits are their number. Each of the 15 groups of four bits above them names the slot of an entry,
/// beginning with the smallest key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order(u64);

/// Bits of a slot number in an [`Order`].
const BITS: usize = 4;

const _: () = assert!(SLOTS < 1 << BITS && BITS * (SLOTS + 1) <= u64::BITS as usize);

impl Order {
    const EMPTY: Self = Self(0);

    /// Returns the number of live entries.
    #[inline]
    pub(super) fn len(self) -> usize {
        self.0 as usize % (1 << BITS)
    }

    /// Returns the slot of the entry with rank `rank`, counted from 0 at the smallest key.
    #[inline]
    fn slot(self, rank: usize) -> usize {
        (self.0 >> (BITS * (rank + 1))) as usize % (1 << BITS)
    }

    /// Returns the bits below those of `rank`, and the other bits.
    fn split(self, rank: usize) -> (u64, u64) {
        let below = self.0 & ((1 << (BITS * (rank + 1))) - 1);
        (below, self.0 ^ below)
    }

    /// Returns true if the order names `slot`.
    #[inline]
    fn names(self, slot: usize) -> bool {
        const ONES: u64 = u64::MAX / 15;
        // Groups of `others` are zero where the slot is named. The bit trick is exact for the lowest zero group.
        let others = (self.0 >> BITS) ^ (slot as u64 * ONES);
        let zeros = others.wrapping_sub(ONES) & !others & (ONES << (BITS - 1));
        zeros.trailing_zeros() as usize / BITS < self.len()
    }

    /// Returns the order with `slot` added at `rank`, and the entries from there on moved up by one. There must be a
    /// free group.
    fn with(self, rank: usize, slot: usize) -> Self {
        let (below, above) = self.split(rank);
        Self((below | (slot as u64) << (BITS * (rank + 1)) | above << BITS) + 1)
    }

    /// Returns the order without the entry at `rank`.
    fn without(self, rank: usize) -> Self {
        let (below, _) = self.split(rank);
        let (_, above) = Self(self.0 >> BITS).split(rank);
        Self((below | above) - 1)
    }
}

/// An entry of a leaf.
#[derive(Clone, Debug)]
pub(super) struct Entry<V> {
    pub(super) key: Key,
    pub(super) value: V,
}

/// The state of a leaf that only the holder of its lock reads and changes.
#[derive(Debug)]
pub(super) struct Writing {
    /// Number of slots that have been written, live or not. A slot is never written twice, because a reader may still
    /// be on it.
    pub(super) used: u8,
    /// True if other leaves have taken this one's place. It never becomes false again.
    pub(super) replaced: bool,
}

/// One byte per slot: zero until the slot is written. A search finds the slot of a key by its byte, without reading the
/// other keys.
#[derive(Clone, Copy)]
struct Marks([u64; 2]);

/// Slots in one word of [`Marks`].
const MARKS: usize = size_of::<u64>();

const _: () = assert!(SLOTS <= 2 * MARKS && SLOTS <= u8::MAX as usize);

impl Marks {
    const ONES: u64 = u64::MAX / 255;

    /// Returns the mark of a key, which is never zero.
    #[inline]
    fn mark(key: &Key) -> u64 {
        let head = key.head();
        let mixed =
            (head as u64 ^ (head >> 64) as u64 ^ key.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 56).max(1)
    }

    /// Returns the slots that have a mark, and maybe others.
    #[inline]
    fn slots_with(self, mark: u64) -> impl Iterator<Item = usize> {
        self.0.into_iter().enumerate().flat_map(move |(word, marks)| {
            let others = marks ^ (mark * Self::ONES);
            let mut zeros = others.wrapping_sub(Self::ONES) & !others & (Self::ONES << 7);
            std::iter::from_fn(move || {
                let slot = (zeros != 0).then(|| word * MARKS + zeros.trailing_zeros() as usize / 8);
                zeros &= zeros.wrapping_sub(1);
                slot
            })
        })
    }
}

/// The place of an entry. It has one as soon as its mark is not zero, and from then on never changes: a lock for each slot
/// would take as much memory as a quarter of the entry.
struct Slot<V>(UnsafeCell<MaybeUninit<Entry<V>>>);

/// A leaf of the tree.
#[repr(C)]
pub(super) struct Leaf<V> {
    order: AtomicU64,
    marks: [AtomicU64; 2],
    writing: Mutex<Writing>,
    slots: [Slot<V>; SLOTS],
}

// SAFETY: an entry is written under the lock, into a slot whose mark is zero, so nobody reads the slot meanwhile. Then the
// mark is set. From then on the entry is only read, by whoever has seen the mark.
unsafe impl<V: Send + Sync> Sync for Leaf<V> {}

impl<V> Leaf<V> {
    /// Returns the entry of a slot, if it is written.
    #[inline]
    fn written(&self, slot: usize) -> Option<&Entry<V>> {
        // Acquire: a thread that sees the mark sees the entry.
        let marks = self.marks[slot / MARKS].load(Ordering::Acquire);
        if marks >> (8 * (slot % MARKS)) & 0xFF == 0 {
            return None;
        }
        // SAFETY: the mark was set after the entry was written, and nobody writes the slot again.
        Some(unsafe { (*self.slots.get(slot)?.0.get()).assume_init_ref() })
    }

    /// Writes an entry into a slot that is not written yet. The caller has the lock, or the leaf is not shared yet.
    fn fill(&self, slot: usize, entry: Entry<V>) {
        let marks = &self.marks[slot / MARKS];
        let before = marks.load(Ordering::Relaxed);
        let shift = 8 * (slot % MARKS);
        assert!(before >> shift & 0xFF == 0, "a slot is written once");
        let mark = Marks::mark(&entry.key);
        // SAFETY: the mark is zero, so nobody reads the slot, and the lock keeps others from writing it.
        unsafe { (*self.slots[slot].0.get()).write(entry) };
        marks.store(before | mark << shift, Ordering::Release);
    }
}

impl<V> Drop for Leaf<V> {
    fn drop(&mut self) {
        for slot in 0..SLOTS {
            if self.written(slot).is_some() {
                // SAFETY: the entry is written, nobody else has the leaf any more, and each slot is dropped once.
                unsafe { self.slots[slot].0.get_mut().assume_init_drop() };
            }
        }
    }
}

/// The result of adding an entry to a leaf.
pub(super) enum Added<V> {
    /// The entry was added.
    New(V),
    /// The key already has a value.
    There(V),
    /// Every slot has been written.
    Full,
    /// The leaf is not in the tree any more.
    Replaced,
}

impl<V: Clone> Leaf<V> {
    /// Makes a leaf of these entries, which are in order and at most [`SLOTS`].
    pub(super) fn new(entries: impl IntoIterator<Item = Entry<V>>) -> Self {
        let mut leaf = Self {
            order: AtomicU64::new(Order::EMPTY.0),
            marks: [0; 2].map(AtomicU64::new),
            writing: Mutex::new(Writing { used: 0, replaced: false }),
            slots: std::array::from_fn(|_| Slot(UnsafeCell::new(MaybeUninit::uninit()))),
        };
        let mut order = Order::EMPTY;
        for entry in entries {
            leaf.fill(order.len(), entry);
            order = order.with(order.len(), order.len());
        }
        leaf.order = AtomicU64::new(order.0);
        leaf.writing = Mutex::new(Writing { used: order.len() as u8, replaced: false });
        leaf
    }

    /// Returns the live entries at this moment. They stay readable, whatever is added or removed meanwhile.
    #[inline]
    pub(super) fn order(&self) -> Order {
        Order(self.order.load(Ordering::Acquire))
    }

    /// Returns the entry at `rank` in an order of this leaf.
    #[inline]
    pub(super) fn entry(&self, order: Order, rank: usize) -> &Entry<V> {
        let Some(entry) = self.written(order.slot(rank)) else {
            unreachable!("a slot is written before an order names it")
        };
        entry
    }

    /// Returns the number of entries of an order for which `is_before` is true. These must be the smallest ones.
    #[inline]
    pub(super) fn count(&self, order: Order, is_before: impl Fn(&Key) -> bool) -> usize {
        let (mut from, mut to) = (0, order.len());
        while from < to {
            let middle = usize::midpoint(from, to);
            if is_before(&self.entry(order, middle).key) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        from
    }

    /// Returns the rank of a key, or as an error the rank that the key would have.
    #[inline]
    fn search(&self, order: Order, key: &Key) -> Result<usize, usize> {
        let rank = self.count(order, |other| other < key);
        if rank < order.len() && self.entry(order, rank).key == *key { Ok(rank) } else { Err(rank) }
    }

    /// Returns the marks. Relaxed suffices for a reader that has read the order before.
    #[inline]
    fn marks(&self) -> Marks {
        Marks([0, 1].map(|word| self.marks[word].load(Ordering::Relaxed)))
    }

    /// Returns the value of a key.
    #[inline]
    pub(super) fn get(&self, key: &Key) -> Option<&V> {
        // The order is read first: the marks of the slots that it names were written before it.
        let order = self.order();
        for slot in self.marks().slots_with(Marks::mark(key)) {
            if order.names(slot)
                && let Some(entry) = self.written(slot)
                && entry.key == *key
            {
                return Some(&entry.value);
            }
        }
        None
    }

    /// Brings the head of the leaf, which every access reads first, into the processor's caches.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch(self, offset_of!(Self, slots));
    }

    /// Brings the slot of a key into the processor's caches.
    #[inline]
    pub(super) fn prefetch_slot(&self, key: &Key) {
        for slot in self.marks().slots_with(Marks::mark(key)) {
            self.slots.get(slot).into_iter().for_each(prefetch_value);
        }
    }

    /// Returns the live entries, in order.
    pub(super) fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry<V>> + ExactSizeIterator {
        let order = self.order();
        (0..order.len()).map(move |rank| self.entry(order, rank))
    }

    /// Locks the leaf for writing.
    pub(super) fn write(&self) -> MutexGuard<'_, Writing> {
        self.writing.lock()
    }

    /// Adds `key` with the value that `make` returns, unless the key has a value.
    pub(super) fn add(&self, key: &Key, make: &mut impl FnMut() -> V) -> Added<V> {
        let mut writing = self.write();
        if writing.replaced {
            return Added::Replaced;
        }
        let order = self.order();
        let rank = match self.search(order, key) {
            Ok(rank) => return Added::There(self.entry(order, rank).value.clone()),
            Err(rank) => rank,
        };
        let slot = usize::from(writing.used);
        if slot == SLOTS {
            return Added::Full;
        }
        let value = make();
        self.fill(slot, Entry { key: key.clone(), value: value.clone() });
        self.order.store(order.with(rank, slot).0, Ordering::Release);
        writing.used += 1;
        Added::New(value)
    }

    /// Removes a key if `is` returns true for its value. Returns the number of entries left if it removed the key, and
    /// an error if the leaf was replaced.
    pub(super) fn remove(&self, key: &Key, is: impl FnOnce(&V) -> bool) -> Result<Option<usize>, Replaced> {
        let writing = self.write();
        if writing.replaced {
            return Err(Replaced);
        }
        let order = self.order();
        let Ok(rank) = self.search(order, key) else { return Ok(None) };
        if !is(&self.entry(order, rank).value) {
            return Ok(None);
        }
        let order = order.without(rank);
        self.order.store(order.0, Ordering::Release);
        Ok(Some(order.len()))
    }

    /// Returns the number of entries that stay on the left when a full leaf is split to add `key`.
    ///
    /// If `key` comes right after the entry that was added last, keys probably arrive in order, and the left leaf will
    /// get no more. Then the split is at `key`, otherwise in the middle.
    pub(super) fn cut(&self, key: &Key) -> usize {
        let order = self.order();
        let rank = self.count(order, |other| other < key);
        let ascending = rank > order.len() / 2 && order.slot(rank - 1) == SLOTS - 1;
        if ascending { rank } else { order.len() / 2 }
    }
}

/// The leaf is not in the tree any more.
#[derive(Debug)]
pub(super) struct Replaced;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_order_behaves_like_a_list_of_slots(steps in proptest::collection::vec((any::<bool>(), 0_usize..SLOTS, 0_usize..SLOTS), 0..60)) {
            let (mut order, mut list) = (Order::EMPTY, Vec::new());
            for (add, at, slot) in steps {
                if add && list.len() < SLOTS {
                    let at = at % (list.len() + 1);
                    (order, _) = (order.with(at, slot), list.insert(at, slot));
                } else if !add && !list.is_empty() {
                    let at = at % list.len();
                    (order, _) = (order.without(at), list.remove(at));
                }
                let slots: Vec<usize> = (0..order.len()).map(|rank| order.slot(rank)).collect();
                prop_assert_eq!(&slots, &list);
                prop_assert!((0..SLOTS).all(|slot| order.names(slot) == list.contains(&slot)));
            }
        }
    }
}
