//! Inner nodes, which lead from keys to children. They never change, except for the pointers to their children. Another
//! number of children needs a new node.

use super::leaf::Leaf;
use super::sync::{AtomicPtr, FANOUT};
use crate::key::Key;
use arrayvec::ArrayVec;
use std::sync::atomic::Ordering;

/// Pointers to nodes of one kind.
pub(super) type Nodes<T> = ArrayVec<AtomicPtr<T>, FANOUT>;

/// The children of an inner node. All are of one kind, because all leaves have the same distance from the root.
pub(super) enum Children<V> {
    Leaves(Nodes<Leaf<V>>),
    Inners(Nodes<Inner<V>>),
}

/// An inner node.
pub(super) struct Inner<V> {
    /// Separators, one fewer than children. Keys in the children before a separator are smaller than it; keys in those
    /// after it are not.
    pub(super) separators: ArrayVec<Key, { FANOUT - 1 }>,
    pub(super) children: Children<V>,
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
    pub(super) fn new(separators: Vec<Key>, children: Vec<Child<V>>) -> Box<Self> {
        let (mut leaves, mut inners) = (Nodes::new(), Nodes::new());
        for child in children {
            match child {
                Child::Leaf(leaf) => leaves.push(AtomicPtr::new(leaf)),
                Child::Inner(inner) => inners.push(AtomicPtr::new(inner)),
            }
        }
        debug_assert!(leaves.is_empty() != inners.is_empty(), "a node has children of one kind");
        let children = if inners.is_empty() { Children::Leaves(leaves) } else { Children::Inners(inners) };
        Box::new(Self { separators: separators.into_iter().collect(), children })
    }

    /// Returns the child that contains `key` if the tree does.
    #[inline]
    pub(super) fn child_of(&self, key: &Key) -> usize {
        let head = key.head();
        let smaller = self.separators.partition_point(|separator| separator.head() < head);
        match self.separators.get(smaller) {
            Some(next) if next.head() == head => {
                smaller + self.separators[smaller..].partition_point(|separator| separator <= key)
            }
            _ => smaller,
        }
    }

    /// Returns the child that contains the keys just before `key`.
    #[inline]
    pub(super) fn child_before(&self, key: &Key) -> usize {
        self.separators.partition_point(|separator| separator < key)
    }

    /// Returns the pointers to the children.
    pub(super) fn children(&self) -> Vec<Child<V>> {
        let places = 0..=self.separators.len();
        match &self.children {
            Children::Leaves(leaves) => places.map(|at| Child::Leaf(load(leaves, at))).collect(),
            Children::Inners(inners) => places.map(|at| Child::Inner(load(inners, at))).collect(),
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
