//! The tree: finding leaves, and changing which nodes there are.

use super::inner::{Child, Children, Inner, load};
use super::leaf::{Added, Entry, Leaf, Replaced};
use super::sync::{AtomicPtr, FANOUT, Guard, Mutex, SLOTS};
use crate::engine::Direction;
use crate::key::{Key, KeyRange};
use std::ops::{Bound, ControlFlow};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

/// Leaves that are written anew have at most so many entries, so that there is room for more.
const ROOMY: usize = SLOTS * 2 / 3;
/// A leaf that is left with so few is put together with the next.
const FEW: usize = SLOTS / 4;

/// An ordered map from keys to values. Readers and scans take no locks and never wait. It never gets lower.
pub(in crate::memory) struct Tree<V> {
    /// Its leaves may be anywhere below; there is always one.
    root: AtomicPtr<Inner<V>>,
    /// Held by who changes which nodes there are. Adding and removing entries locks a leaf alone.
    structure: Mutex<()>,
}

/// A leaf, and the keys that it may have: from `lower` on, and less than `upper`. Without it there is no limit.
///
/// A leaf's share only grows while it is in the tree, so one that is narrower by now is still right for what it
/// says; but the leaf may have keys outside of it.
struct Place<'g, V> {
    leaf: &'g Leaf<V>,
    lower: Option<&'g Key>,
    upper: Option<&'g Key>,
}

/// A node on the way from the root, and which of its children comes next.
struct Step<'g, V> {
    node: *mut Inner<V>,
    inner: &'g Inner<V>,
    at: usize,
}

impl<V> Step<'_, V> {
    fn only_child(&self) -> bool {
        self.inner.separators.is_empty()
    }
}

/// What becomes of a child.
enum Change<V> {
    /// Another stands in its place.
    Put(Child<V>),
    /// Two do; keys from the separator on are in the second.
    Split(Child<V>, Key, Child<V>),
    /// It is merged with the next into one.
    Merge(Child<V>),
    /// It goes, and a neighbour has its keys from now on.
    Drop,
}

/// A new leaf.
fn leaf<V: Clone>(entries: Vec<Entry<V>>) -> Child<V> {
    Child::Leaf(Box::into_raw(Box::new(Leaf::new(entries))))
}

/// A new inner node.
fn inner<V>(separators: Vec<Key>, children: Vec<Child<V>>) -> Child<V> {
    Child::Inner(Box::into_raw(Inner::new(separators, children)))
}

/// The shortest key that is larger than `left` and not larger than `right`. Short ones are compared faster.
fn separator(left: &Key, right: &Key) -> Key {
    left.with(|left| {
        right.with(|right| {
            let common = left.iter().zip(right).take_while(|(a, b)| a == b).count();
            Key::new(right.get(..=common).unwrap_or(right))
        })
    })
}

impl<V: Clone + Send + Sync + 'static> Default for Tree<V> {
    fn default() -> Self {
        let root = Inner::new(Vec::new(), vec![leaf(Vec::new())]);
        Self { root: AtomicPtr::new(Box::into_raw(root)), structure: Mutex::new(()) }
    }
}

impl<V: Clone + Send + Sync + 'static> Tree<V> {
    /// Bytes of an entry in a leaf.
    pub(in crate::memory) const ENTRY_BYTES: usize = size_of::<OnceLock<Entry<V>>>();

    /// The leaf at which one arrives by going, in each inner node, to the child that `choose` says.
    #[inline]
    fn descend<'g>(&self, guard: &'g Guard, choose: impl Fn(&Inner<V>) -> usize) -> Place<'g, V> {
        // SAFETY: the root and what is below it are nodes that the tree holds, read under the guard.
        let mut inner = unsafe { guard.node(self.root.load(Ordering::Acquire)) };
        let (mut lower, mut upper) = (None, None);
        loop {
            let at = choose(inner);
            if at > 0 {
                lower = inner.separators.get(at - 1);
            }
            if let Some(separator) = inner.separators.get(at) {
                upper = Some(separator);
            }
            match &inner.children {
                // SAFETY: as above. A node that is not in the tree any more has children that were in it when this
                // thread was pinned, or after: they are retired no earlier than their last parent.
                Children::Inners(inners) => inner = unsafe { guard.node(load(inners, at)) },
                Children::Leaves(leaves) => {
                    // SAFETY: as above.
                    let leaf = unsafe { guard.node(load(leaves, at)) };
                    return Place { leaf, lower, upper };
                }
            }
        }
    }

    /// The leaf that has `key` if the tree has it.
    #[inline]
    fn leaf<'g>(&self, guard: &'g Guard, key: &Key) -> &'g Leaf<V> {
        self.descend(guard, |inner| inner.child_of(key)).leaf
    }

    /// Hands the value of `key` to `found`, in place.
    #[inline]
    pub(in crate::memory) fn get<R>(&self, key: &Key, found: impl FnOnce(&V) -> R) -> Option<R> {
        let guard = Guard::pin();
        self.leaf(&guard, key).get(key).map(found)
    }

    /// The value of `key`, which is `make`'s when there was none; tells whether it is.
    pub(in crate::memory) fn get_or_insert(&self, key: &Key, mut make: impl FnMut() -> V) -> (V, bool) {
        let guard = Guard::pin();
        loop {
            let leaf = self.leaf(&guard, key);
            // Without the lock first: most keys that are written are there.
            if let Some(value) = leaf.get(key) {
                return (value.clone(), false);
            }
            match leaf.add(key, &mut make) {
                Added::New(value) => return (value, true),
                Added::There(value) => return (value, false),
                Added::Full => self.make_room(&guard, key),
                Added::Replaced => {}
            }
        }
    }

    /// Removes `key` if its value `is` it.
    pub(in crate::memory) fn remove(&self, key: &Key, is: impl Fn(&V) -> bool) {
        let guard = Guard::pin();
        loop {
            match self.leaf(&guard, key).remove(key, &is) {
                Ok(Some(0 | FEW)) => return self.tidy(&guard, key),
                Ok(_) => return,
                Err(Replaced) => {}
            }
        }
    }

    /// Hands the entries of a range to `each`, in order, until it breaks. What is in the tree all the while is handed out,
    /// each key at most once.
    pub(in crate::memory) fn scan(
        &self,
        range: &KeyRange,
        direction: Direction,
        each: impl FnMut(&Key, &V) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match direction {
            Direction::Forward => self.scan_forward(range, each),
            Direction::Backward => self.scan_backward(range, each),
        }
    }

    fn scan_forward(
        &self,
        range: &KeyRange,
        mut each: impl FnMut(&Key, &V) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let guard = Guard::pin();
        let mut from = range.lower.as_ref();
        loop {
            let place = self.descend(&guard, |inner| match from {
                Bound::Unbounded => 0,
                Bound::Included(key) | Bound::Excluded(key) => inner.child_of(key),
            });
            let order = place.leaf.order();
            let first = place.leaf.count(order, |key| !is_from(from, key));
            let end = place.leaf.count(order, |key| {
                is_to(range.upper.as_ref(), key) && place.upper.is_none_or(|upper| key < upper)
            });
            for rank in first..end {
                let entry = place.leaf.entry(order, rank);
                each(&entry.key, &entry.value)?;
            }
            match place.upper {
                Some(next) if is_to(range.upper.as_ref(), next) => from = Bound::Included(next),
                _ => return ControlFlow::Continue(()),
            }
        }
    }

    fn scan_backward(
        &self,
        range: &KeyRange,
        mut each: impl FnMut(&Key, &V) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let guard = Guard::pin();
        let mut to = range.upper.as_ref();
        loop {
            let place = self.descend(&guard, |inner| match to {
                Bound::Unbounded => inner.separators.len(),
                Bound::Included(key) => inner.child_of(key),
                Bound::Excluded(key) => inner.child_before(key),
            });
            let order = place.leaf.order();
            let first = place.leaf.count(order, |key| {
                !is_from(range.lower.as_ref(), key) || place.lower.is_some_and(|lower| key < lower)
            });
            let end = place.leaf.count(order, |key| is_to(to, key));
            for rank in (first..end).rev() {
                let entry = place.leaf.entry(order, rank);
                each(&entry.key, &entry.value)?;
            }
            match place.lower {
                Some(before) if !begins_at(range.lower.as_ref(), before) => to = Bound::Excluded(before),
                _ => return ControlFlow::Continue(()),
            }
        }
    }

    /// The way to the leaf that has `key` if the tree has it, and its last step's child. Nobody else may change the
    /// structure.
    fn path<'g>(&self, guard: &'g Guard, key: &Key) -> (Vec<Step<'g, V>>, *mut Leaf<V>) {
        let mut node = self.root.load(Ordering::Acquire);
        let mut path = Vec::new();
        loop {
            // SAFETY: as in `descend`.
            let inner = unsafe { guard.node(node) };
            let at = inner.child_of(key);
            path.push(Step { node, inner, at });
            match &inner.children {
                Children::Inners(inners) => node = load(inners, at),
                Children::Leaves(leaves) => return (path, load(leaves, at)),
            }
        }
    }

    /// Puts leaves with room in the place of the full one that `key` belongs to.
    #[cold]
    fn make_room(&self, guard: &Guard, key: &Key) {
        let _structure = self.structure.lock();
        let (path, old) = self.path(guard, key);
        // SAFETY: as in `descend`.
        let full = unsafe { guard.node(old) };
        let mut writing = full.write();
        if writing.used < SLOTS {
            // Somebody was faster.
            return;
        }
        let mut entries: Vec<Entry<V>> = full.entries().cloned().collect();
        let change = if entries.len() <= ROOMY {
            Change::Put(leaf(entries))
        } else {
            let right = entries.split_off(full.cut(key));
            let first = right.first().map_or(key, |entry| &entry.key);
            let between = entries.last().map_or_else(|| first.clone(), |entry| separator(&entry.key, first));
            Change::Split(leaf(entries), between, leaf(right))
        };
        writing.replaced = true;
        self.change(guard, &path, change);
        drop(writing);
        // SAFETY: the tree has let go of it; nobody else changes the structure, so nobody else retires it.
        unsafe { guard.retire(old) };
    }

    /// Takes the leaf that `key` belongs to out of the tree if it is empty, or puts it together with the next if both
    /// have few entries.
    #[cold]
    fn tidy(&self, guard: &Guard, key: &Key) {
        let _structure = self.structure.lock();
        let (path, old) = self.path(guard, key);
        let Some(Step { inner, at, .. }) = path.last() else { return };
        let Children::Leaves(leaves) = &inner.children else { return };
        // SAFETY: as in `descend`.
        let left = unsafe { guard.node(old) };
        let mut writing = left.write();
        if left.order().len() == 0 {
            // A tree has a leaf.
            if !path.iter().all(Step::only_child) {
                writing.replaced = true;
                self.change(guard, &path, Change::Drop);
                drop(writing);
                // SAFETY: as in `make_room`.
                unsafe { guard.retire(old) };
            }
            return;
        }
        if at + 1 == leaves.len() {
            return;
        }
        let next = load(leaves, at + 1);
        // SAFETY: as in `descend`.
        let right = unsafe { guard.node(next) };
        // Only here are two leaves locked, and only one thread at a time is here.
        let mut writing_next = right.write();
        if left.order().len() + right.order().len() > ROOMY {
            return;
        }
        let entries = left.entries().chain(right.entries()).cloned().collect();
        (writing.replaced, writing_next.replaced) = (true, true);
        self.change(guard, &path, Change::Merge(leaf(entries)));
        drop((writing, writing_next));
        // SAFETY: as in `make_room`.
        unsafe { guard.retire(old) };
        // SAFETY: as in `make_room`.
        unsafe { guard.retire(next) };
    }

    /// Changes the child at the end of a path, and the nodes above it as far as they have to. Called by who holds
    /// `structure`.
    fn change(&self, guard: &Guard, path: &[Step<'_, V>], change: Change<V>) {
        let Some((Step { node, inner: old, at }, above)) = path.split_last() else {
            return self.change_root(change);
        };
        if let Change::Put(child) = change {
            return old.put(*at, child);
        }
        let (at, mut separators, mut children) = (*at, old.separators.to_vec(), old.children());
        match change {
            Change::Put(child) => children[at] = child,
            Change::Split(left, between, right) => {
                children[at] = left;
                children.insert(at + 1, right);
                separators.insert(at, between);
            }
            Change::Merge(both) => {
                children[at] = both;
                children.remove(at + 1);
                separators.remove(at);
            }
            Change::Drop => {
                children.remove(at);
                if !separators.is_empty() {
                    separators.remove(at.saturating_sub(1));
                }
            }
        }
        let change = if children.is_empty() {
            Change::Drop
        } else if children.len() <= FANOUT {
            Change::Put(inner(separators, children))
        } else {
            // As for leaves: what grows at its end stays full.
            let cut = if at + 2 == children.len() { FANOUT } else { children.len() / 2 };
            let (right, others) = (children.split_off(cut), separators.split_off(cut));
            // There is one separator less than children, so the left has one too many now.
            let Some(between) = separators.pop() else { unreachable!("two children have a separator") };
            Change::Split(inner(separators, children), between, inner(others, right))
        };
        self.change(guard, above, change);
        // SAFETY: what stood above it has another child now. Nobody else changes the structure, so nobody else retires it.
        unsafe { guard.retire(*node) };
    }

    /// Puts another root into its place; the old one is retired by the caller.
    fn change_root(&self, change: Change<V>) {
        let root = match change {
            Change::Put(Child::Inner(root)) => root,
            Change::Split(left, between, right) => {
                Box::into_raw(Inner::new(vec![between], vec![left, right]))
            }
            Change::Put(Child::Leaf(_)) | Change::Merge(_) | Change::Drop => {
                unreachable!("the root is an inner node with a child")
            }
        };
        self.root.store(root, Ordering::Release);
    }
}

impl<V> Drop for Tree<V> {
    fn drop(&mut self) {
        // Grows with the height of the tree alone.
        fn free<V>(node: *mut Inner<V>) {
            // SAFETY: nodes are made by `Box::into_raw`, the tree holds each once, and nobody else has the tree any more;
            // those that were retired are not in it.
            let inner = unsafe { Box::from_raw(node) };
            for child in inner.children() {
                match child {
                    Child::Inner(node) => free(node),
                    // SAFETY: as above.
                    Child::Leaf(leaf) => drop(unsafe { Box::from_raw(leaf) }),
                }
            }
        }
        free(self.root.load(Ordering::Acquire));
    }
}

/// Whether `key` lies at or behind a lower bound.
#[inline]
fn is_from(lower: Bound<&Key>, key: &Key) -> bool {
    match lower {
        Bound::Included(lower) => key >= lower,
        Bound::Excluded(lower) => key > lower,
        Bound::Unbounded => true,
    }
}

/// Whether no key before `key` lies behind a lower bound.
fn begins_at(lower: Bound<&Key>, key: &Key) -> bool {
    matches!(lower, Bound::Included(lower) | Bound::Excluded(lower) if lower >= key)
}

/// Whether `key` lies at or before an upper bound.
#[inline]
fn is_to(upper: Bound<&Key>, key: &Key) -> bool {
    match upper {
        Bound::Included(upper) => key <= upper,
        Bound::Excluded(upper) => key < upper,
        Bound::Unbounded => true,
    }
}
