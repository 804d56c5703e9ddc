//! Inner nodes, which lead from keys to children. They never change, except for the pointers to their children. Another
//! number of children needs a new node.

use super::leaf::Leaf;
use super::sync::{AtomicPtr, FANOUT};
use crate::key::Key;
use crate::mvcc::prefetch::prefetch_value;
use arrayvec::ArrayVec;
use std::cmp;
use std::sync::atomic::Ordering;

/// Pointers to nodes of one kind.
pub(super) type Nodes<T> = ArrayVec<AtomicPtr<T>, FANOUT>;

/// The children of an inner node. All are of one kind, because all leaves have the same distance from the root.
pub(super) enum Children<V> {
    Leaves(Nodes<Leaf<V>>),
    Inners(Nodes<Inner<V>>),
}

/// An inner node.
#[repr(C)]
pub(super) struct Inner<V> {
    words: Words,
    pub(super) children: Children<V>,
    /// Separators, one fewer than children. Keys in the children before a separator are smaller than it; keys in those
    /// after it are not.
    pub(super) separators: ArrayVec<Key, { FANOUT - 1 }>,
}

/// Maximum number of leading bytes that [`Words`] leave out, so that eight more are in [`Key::head`].
const SKIPPED: usize = 8;

/// Eight bytes of each separator: those after the bytes that all separators of the node have in common. A search reads
/// a quarter of the memory that the keys take, and needs the keys only if the words are equal.
struct Words {
    /// Bits of the common bytes.
    skipped: u32,
    len: u32,
    /// The common bytes.
    common: u64,
    words: [u64; FANOUT - 1],
}

impl Words {
    fn new(separators: &[Key]) -> Self {
        let heads = || separators.iter().map(Key::head);
        let first = heads().next().unwrap_or_default();
        let different = heads().fold(0, |bits, head| bits | (first ^ head));
        let skipped = cmp::min(different.leading_zeros() as usize / 8, SKIPPED) as u32 * 8;
        let mut words = [u64::MAX; FANOUT - 1];
        for (word, head) in words.iter_mut().zip(heads()) {
            *word = split(head, skipped).1;
        }
        Self { skipped, len: separators.len() as u32, common: split(first, skipped).0, words }
    }

    /// Returns the number of separators whose words are smaller than that of `key`, and true if the next one's is equal.
    #[inline]
    fn smaller(&self, key: &Key) -> (usize, bool) {
        let words = &self.words[..self.len as usize];
        let (common, word) = split(key.head(), self.skipped);
        match common.cmp(&self.common) {
            cmp::Ordering::Less => (0, false),
            cmp::Ordering::Greater => (words.len(), false),
            cmp::Ordering::Equal => {
                let smaller = words.partition_point(|other| *other < word);
                (smaller, words.get(smaller) == Some(&word))
            }
        }
    }
}

/// Splits a head into its first `bits` bits and the 64 bits after them. There are at most 64 before.
#[inline]
fn split(head: u128, bits: u32) -> (u64, u64) {
    // Two steps, because a shift by all 128 bits is not allowed.
    ((head >> 64 >> (64 - bits)) as u64, (head << bits >> 64) as u64)
}

/// A pointer to a node.
pub(super) enum Child<V> {
    Leaf(*mut Leaf<V>),
    Inner(*mut Inner<V>),
}

impl<V> Clone for Child<V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for Child<V> {}

impl<V> Inner<V> {
    /// Makes a node of these children, all of one kind, at least one and at most [`FANOUT`].
    pub(super) fn new(
        separators: impl IntoIterator<Item = Key>,
        children: impl IntoIterator<Item = Child<V>>,
    ) -> Box<Self> {
        let (mut leaves, mut inners) = (Nodes::new(), Nodes::new());
        for child in children {
            match child {
                Child::Leaf(leaf) => leaves.push(AtomicPtr::new(leaf)),
                Child::Inner(inner) => inners.push(AtomicPtr::new(inner)),
            }
        }
        debug_assert!(leaves.is_empty() != inners.is_empty(), "a node has children of one kind");
        let children = if inners.is_empty() { Children::Leaves(leaves) } else { Children::Inners(inners) };
        let separators: ArrayVec<_, _> = separators.into_iter().collect();
        Box::new(Self { words: Words::new(&separators), children, separators })
    }

    /// Returns the child that contains `key` if the tree does.
    #[inline]
    pub(super) fn child_of(&self, key: &Key) -> usize {
        self.count(key, |separator| separator <= key)
    }

    /// Returns the child that contains the keys just before `key`.
    #[inline]
    pub(super) fn child_before(&self, key: &Key) -> usize {
        self.count(key, |separator| separator < key)
    }

    /// Returns the number of separators before `key`. If their words are equal, `is_before` decides.
    #[inline]
    fn count(&self, key: &Key, is_before: impl Fn(&Key) -> bool) -> usize {
        match self.words.smaller(key) {
            (smaller, false) => smaller,
            (smaller, true) => smaller + self.separators[smaller..].partition_point(is_before),
        }
    }

    /// Returns the separators, with room for one more.
    pub(super) fn separators(&self) -> ArrayVec<Key, FANOUT> {
        self.separators.iter().cloned().collect()
    }

    /// Returns the pointers to the children, with room for one more.
    pub(super) fn children(&self) -> ArrayVec<Child<V>, { FANOUT + 1 }> {
        let places = 0..=self.separators.len();
        match &self.children {
            Children::Leaves(leaves) => places.map(|at| Child::Leaf(load(leaves, at))).collect(),
            Children::Inners(inners) => places.map(|at| Child::Inner(load(inners, at))).collect(),
        }
    }

    /// Brings what [`Inner::child_of`] reads into the processor's caches.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch_value(&self.words);
    }

    /// Brings the pointer to a child into the processor's caches.
    #[inline]
    pub(super) fn prefetch_pointer(&self, at: usize) {
        match &self.children {
            Children::Leaves(leaves) => prefetch_value(&leaves[at]),
            Children::Inners(inners) => prefetch_value(&inners[at]),
        }
    }

    /// Replaces a child. A thread that reads the pointer sees the node behind it.
    pub(super) fn put(&self, at: usize, child: Child<V>) {
        match (&self.children, child) {
            (Children::Leaves(leaves), Child::Leaf(leaf)) => leaves[at].store(leaf, Ordering::Release),
            (Children::Inners(inners), Child::Inner(inner)) => inners[at].store(inner, Ordering::Release),
            _ => unreachable!("a node has children of one kind"),
        }
    }
}

/// Returns the pointer in one place.
#[inline]
pub(super) fn load<T>(nodes: &Nodes<T>, at: usize) -> *mut T {
    nodes[at].load(Ordering::Acquire)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Keys that have much in common, of all lengths around those of heads and words.
    fn key() -> impl Strategy<Value = Key> {
        let bytes = proptest::collection::vec(prop_oneof![Just(0_u8), Just(1), Just(255)], 0..4);
        (0_usize..20, bytes).prop_map(|(common, rest)| Key::new(&[vec![7; common], rest].concat()))
    }

    proptest! {
        #[test]
        fn a_key_belongs_to_the_child_after_the_separators_that_are_not_larger(
            separators in proptest::collection::btree_set(key().prop_map(|key| key.to_vec()), 0..FANOUT),
            keys in proptest::collection::vec(key(), 1..20),
        ) {
            let separators: Vec<Key> = separators.iter().map(|bytes| Key::new(bytes)).collect();
            let leaf = || Child::<u8>::Leaf(std::ptr::null_mut());
            let inner = Inner::new(separators.clone(), (0..=separators.len()).map(|_| leaf()));
            for key in keys.iter().chain(&separators) {
                let count = |is_before: &dyn Fn(&Key) -> bool| separators.iter().filter(|other| is_before(other)).count();
                prop_assert_eq!(inner.child_of(key), count(&|separator| separator <= key));
                prop_assert_eq!(inner.child_before(key), count(&|separator| separator < key));
            }
        }
    }
}
