//! Inner nodes: which child has which keys. They never change but for the pointers to their children; what changes the
//! number of children makes a new node.

use super::leaf::Leaf;
use super::sync::{AtomicPtr, FANOUT};
use crate::key::Key;
use arrayvec::ArrayVec;
use std::sync::atomic::Ordering;

/// Pointers to nodes of one kind.
pub(super) type Nodes<T> = ArrayVec<AtomicPtr<T>, FANOUT>;

/// What is below an inner node: all of one kind, since all leaves are as far from the root.
pub(super) enum Children<V> {
    Leaves(Nodes<Leaf<V>>),
    Inners(Nodes<Inner<V>>),
}

/// An inner node.
pub(super) struct Inner<V> {
    /// One less than children: those before it are smaller, those from it on are not.
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
    /// A node of these children, all of one kind, at least one and at most [`FANOUT`] of them.
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

    /// The child that has `key` if there is one.
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

    /// The child that has the keys just before `key`.
    #[inline]
    pub(super) fn child_before(&self, key: &Key) -> usize {
        self.separators.partition_point(|separator| separator < key)
    }

    /// The pointers to its children.
    pub(super) fn children(&self) -> Vec<Child<V>> {
        let places = 0..=self.separators.len();
        match &self.children {
            Children::Leaves(leaves) => places.map(|at| Child::Leaf(load(leaves, at))).collect(),
            Children::Inners(inners) => places.map(|at| Child::Inner(load(inners, at))).collect(),
        }
    }

    /// Puts another child into a place. What is behind the pointer is seen by whoever reads it.
    pub(super) fn put(&self, at: usize, child: Child<V>) {
        match (&self.children, child) {
            (Children::Leaves(leaves), Child::Leaf(leaf)) => leaves[at].store(leaf, Ordering::Release),
            (Children::Inners(inners), Child::Inner(inner)) => inners[at].store(inner, Ordering::Release),
            _ => unreachable!("a node has children of one kind"),
        }
    }
}

/// The pointer in one place.
#[inline]
pub(super) fn load<T>(nodes: &Nodes<T>, at: usize) -> *mut T {
    nodes[at].load(Ordering::Acquire)
}
