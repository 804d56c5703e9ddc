//! The tree: finding leaves, and replacing nodes.

use super::inner::{Child, Children, Inner, Nodes, load};
use super::leaf::{Added, Entry, Leaf, Order, Replaced};
use super::sync::{AtomicPtr, Counters, FANOUT, Guard, Mutex, SLOTS};
use crate::draw::Random;
use crate::ids::Direction;
use crate::key::{Key, KeyRange};
use crate::mvcc::counters::ALLOCATION_BYTES;
use crate::mvcc::prefetch::prefetch;
use arrayvec::ArrayVec;
use std::ops::{Bound, ControlFlow, Range};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Maximum number of entries in a rewritten leaf, so more can be added.
const ROOMY: usize = SLOTS * 2 / 3;
/// Number of keys that are looked up side by side. A core waits for about as many lines of memory at once.
const SIDE_BY_SIDE: usize = 16;
/// Number of entries at which a leaf is merged with the next.
const FEW: usize = SLOTS / 4;

/// An ordered map from keys to values. Readers and scans take no locks and never wait. The tree never loses height.
pub(crate) struct Tree<V> {
    /// The root. Leaves may be at any depth below it; there is always one.
    root: AtomicPtr<Inner<V>>,
    /// Held while nodes are replaced. Adding and removing entries lock only a leaf.
    structure: Mutex<()>,
    /// Counters of nodes that have left the tree and are not freed yet.
    counters: Arc<Counters>,
}

/// A leaf, and its share of the keys: from `lower` on, and less than `upper`. None means no limit.
///
/// While it is in the tree, a leaf's share grows, or a full leaf gives away an end without keys. So a reader with an old
/// path may find keys outside of the share, and may miss keys that were inserted after it had read the path.
struct Place<'g, V> {
    leaf: &'g Leaf<V>,
    lower: Option<&'g Key>,
    upper: Option<&'g Key>,
    /// The leaves of the same parent, and the number of this one.
    leaves: &'g Nodes<Leaf<V>>,
    at: usize,
}

impl<V: Clone> Place<'_, V> {
    /// Brings another leaf of the same parent, if there is one with this number, into the processor's caches.
    #[inline]
    fn prefetch(&self, number: Option<usize>) {
        if let Some(leaf) = number.and_then(|number| self.leaves.get(number)) {
            prefetch(leaf.load(Ordering::Acquire), size_of::<Leaf<V>>());
        }
    }

    /// Passes the values of some entries to `coming`, if there are several.
    #[inline]
    fn announce(&self, order: Order, ranks: Range<usize>, coming: &impl Fn(&[&V])) {
        if ranks.len() > 1 {
            let values: ArrayVec<&V, SLOTS> = ranks.map(|rank| &self.leaf.entry(order, rank).value).collect();
            coming(&values);
        }
    }
}

/// A node on the path from the root, and the number of the child that comes next.
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

/// A change of a child.
enum Change<V> {
    /// Another child takes its place.
    Put(Child<V>),
    /// Two children take its place. Keys from the separator on are in the second.
    Split(Child<V>, Key, Child<V>, Growth),
    /// One child takes its place and that of the next.
    Merge(Child<V>),
    /// It is removed, and a neighbour gets its share of the keys.
    Drop,
}

/// Where keys will probably be added after a split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Growth {
    /// Anywhere.
    Anywhere,
    /// In the second part only: its keys come in order.
    InSecond,
}

/// Makes a new leaf.
fn leaf<V: Clone>(entries: impl IntoIterator<Item = Entry<V>>) -> Child<V> {
    Child::Leaf(Box::into_raw(Box::new(Leaf::new(entries))))
}

/// Makes a new inner node.
fn inner<V>(
    separators: impl IntoIterator<Item = Key>,
    children: impl IntoIterator<Item = Child<V>>,
) -> Child<V> {
    Child::Inner(Box::into_raw(Inner::new(separators, children)))
}

/// Returns the shortest key that is larger than `left` and not larger than `right`. Short keys compare faster.
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
        Self::new(Arc::default())
    }
}

impl<V: Clone + Send + Sync + 'static> Tree<V> {
    /// Makes an empty tree that counts its retired nodes in `counters`.
    pub(crate) fn new(counters: Arc<Counters>) -> Self {
        let root = Inner::new([], [leaf([])]);
        Self { root: AtomicPtr::new(Box::into_raw(root)), structure: Mutex::new(()), counters }
    }

    /// Returns the estimated bytes of memory of an entry with this key. Leaves are assumed to be two thirds full.
    pub(crate) fn entry_bytes(key: &Key) -> u64 {
        let heap = match key.heap_bytes() {
            0 => 0,
            heap => (heap + ALLOCATION_BYTES).next_multiple_of(16),
        };
        ((size_of::<Leaf<V>>() + ALLOCATION_BYTES) / ROOMY + heap) as u64
    }

    /// Returns the number of leaves and of their parents. Nobody else may use the tree meanwhile.
    #[cfg(test)]
    pub(crate) fn nodes(&self) -> (usize, usize) {
        fn count<V>(guard: &Guard, node: *mut Inner<V>) -> (usize, usize) {
            // SAFETY: same as in `descend`.
            match unsafe { &guard.node(node).children } {
                Children::Leaves(leaves) => (leaves.len(), 1),
                Children::Inners(inners) => (0..inners.len())
                    .map(|at| count(guard, load(inners, at)))
                    .fold((0, 0), |sum, more| (sum.0 + more.0, sum.1 + more.1)),
            }
        }
        count(&Guard::pin(), self.root.load(Ordering::Acquire))
    }

    /// Returns the leaf at the end of the path on which `choose` selects the child of each inner node.
    #[inline]
    fn descend<'g>(&self, guard: &'g Guard, mut choose: impl FnMut(&Inner<V>) -> usize) -> Place<'g, V> {
        // SAFETY: the root and the nodes below it are in the tree and were read under the guard.
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
                // SAFETY: same as above. The children of a node that has left the tree were in the tree when this
                // thread was pinned, or later: they are retired no earlier than their last parent.
                Children::Inners(inners) => inner = unsafe { guard.node(load(inners, at)) },
                Children::Leaves(leaves) => {
                    // SAFETY: same as above.
                    let leaf = unsafe { guard.node(load(leaves, at)) };
                    return Place { leaf, lower, upper, leaves, at };
                }
            }
        }
    }

    /// Returns the leaf that contains `key` if the tree does.
    #[inline]
    fn leaf<'g>(&self, guard: &'g Guard, key: &Key) -> &'g Leaf<V> {
        self.descend(guard, |inner| inner.child_of(key)).leaf
    }

    /// Passes the value of `key` to `found`, in place.
    #[inline]
    pub(crate) fn get<R>(&self, key: &Key, found: impl FnOnce(&V) -> R) -> Option<R> {
        let guard = Guard::pin();
        self.leaf(&guard, key).get(key).map(found)
    }

    /// Passes the values of keys that have one to `found`, in the order of the keys and with their numbers, some at a
    /// time. The keys descend side by side, so the memory serves several of them at once. A thread that looks up one key
    /// after another waits for the memory about five times for each.
    pub(crate) fn get_each(&self, keys: &[Key], mut found: impl FnMut(&[(usize, &V)])) {
        for (round, keys) in keys.chunks(SIDE_BY_SIDE).enumerate() {
            let guard = Guard::pin();
            // SAFETY: same as in `descend`.
            let root = unsafe { guard.node(self.root.load(Ordering::Acquire)) };
            let mut inners: ArrayVec<_, SIDE_BY_SIDE> = keys.iter().map(|key| (key, root)).collect();
            let mut leaves = ArrayVec::<_, SIDE_BY_SIDE>::new();
            while !inners.is_empty() {
                let mut chosen = ArrayVec::<_, SIDE_BY_SIDE>::new();
                for (key, inner) in inners.drain(..) {
                    let at = inner.child_of(key);
                    inner.prefetch_pointer(at);
                    chosen.push((key, inner, at));
                }
                for (key, inner, at) in chosen {
                    match &inner.children {
                        Children::Inners(nodes) => {
                            // SAFETY: same as in `descend`.
                            let inner = unsafe { guard.node(load(nodes, at)) };
                            inner.prefetch();
                            inners.push((key, inner));
                        }
                        Children::Leaves(nodes) => {
                            // SAFETY: same as in `descend`.
                            let leaf = unsafe { guard.node(load(nodes, at)) };
                            leaf.prefetch();
                            leaves.push((key, leaf));
                        }
                    }
                }
            }
            leaves.iter().for_each(|(key, leaf)| leaf.prefetch_slot(key));
            // All leaves have the same distance from the root, so they are in the order of the keys.
            let numbered = leaves.iter().zip(round * SIDE_BY_SIDE..);
            let values: ArrayVec<_, SIDE_BY_SIDE> =
                numbered.filter_map(|((key, leaf), number)| Some((number, leaf.get(key)?))).collect();
            found(&values);
        }
    }

    /// Walks from the root to an entry, and chooses each step at random. Passes the entry to `found`, with the
    /// reciprocal of its probability (Knuth, "Estimating the Efficiency of Backtrack Programs", 1975). Does nothing if
    /// the walk leads to a leaf without entries.
    pub(crate) fn draw(&self, random: &mut Random, found: impl FnOnce(&Key, &V, f64)) {
        let guard = Guard::pin();
        let mut weight = 1.0;
        let place = self.descend(&guard, |inner| {
            let children = inner.separators.len() as u64 + 1;
            weight *= children as f64;
            random.below(children) as usize
        });
        let order = place.leaf.order();
        let entries = order.len() as u64;
        if entries > 0 {
            let entry = place.leaf.entry(order, random.below(entries) as usize);
            found(&entry.key, &entry.value, weight * entries as f64);
        }
    }

    /// Returns the value of `key`. If there is none, adds the value that `make` returns, and returns true with it.
    pub(crate) fn get_or_insert(&self, key: &Key, mut make: impl FnMut() -> V) -> (V, bool) {
        let guard = Guard::pin();
        loop {
            let leaf = self.leaf(&guard, key);
            // Reads without the lock first: most keys that are written exist.
            if let Some(value) = leaf.get(key) {
                return (value.clone(), false);
            }
            match leaf.add(key, &mut make) {
                Added::New(value) => return (value, true),
                Added::There(value) => return (value, false),
                Added::Full => {
                    self.make_room(&guard, key);
                    guard.flush();
                }
                Added::Replaced => {}
            }
        }
    }

    /// Removes `key` if `is` returns true for its value.
    pub(crate) fn remove(&self, key: &Key, is: impl Fn(&V) -> bool) {
        let guard = Guard::pin();
        loop {
            match self.leaf(&guard, key).remove(key, &is) {
                Ok(Some(0 | FEW)) => {
                    self.tidy(&guard, key);
                    return guard.flush();
                }
                Ok(_) => return,
                Err(Replaced) => {}
            }
        }
    }

    /// Passes the entries of a range to `each`, in order, until it breaks. Entries that are in the tree during the
    /// whole scan are passed, and no key is passed twice. Before that, `coming` gets the values of some entries at a
    /// time, so it can bring what is behind them into the processor's caches side by side.
    pub(crate) fn scan(
        &self,
        range: &KeyRange,
        direction: Direction,
        coming: impl Fn(&[&V]),
        each: impl FnMut(&Key, &V) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match direction {
            Direction::Forward => self.scan_forward(range, coming, each),
            Direction::Backward => self.scan_backward(range, coming, each),
        }
    }

    fn scan_forward(
        &self,
        range: &KeyRange,
        coming: impl Fn(&[&V]),
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
            let next = place.upper.filter(|next| is_to(range.upper.as_ref(), next));
            if next.is_some() {
                place.prefetch(Some(place.at + 1));
            }
            place.announce(order, first..end, &coming);
            for rank in first..end {
                let entry = place.leaf.entry(order, rank);
                each(&entry.key, &entry.value)?;
            }
            match next {
                Some(next) => from = Bound::Included(next),
                None => return ControlFlow::Continue(()),
            }
        }
    }

    fn scan_backward(
        &self,
        range: &KeyRange,
        coming: impl Fn(&[&V]),
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
            let before = place.lower.filter(|before| !begins_at(range.lower.as_ref(), before));
            if before.is_some() {
                place.prefetch(place.at.checked_sub(1));
            }
            place.announce(order, first..end, &coming);
            for rank in (first..end).rev() {
                let entry = place.leaf.entry(order, rank);
                each(&entry.key, &entry.value)?;
            }
            match before {
                Some(before) => to = Bound::Excluded(before),
                None => return ControlFlow::Continue(()),
            }
        }
    }

    /// Returns the path to the leaf that contains `key` if the tree does, and that leaf. The caller must hold
    /// `structure`.
    fn path<'g>(&self, guard: &'g Guard, key: &Key) -> (Vec<Step<'g, V>>, *mut Leaf<V>) {
        let mut node = self.root.load(Ordering::Acquire);
        let mut path = Vec::new();
        loop {
            // SAFETY: same as in `descend`.
            let inner = unsafe { guard.node(node) };
            let at = inner.child_of(key);
            path.push(Step { node, inner, at });
            match &inner.children {
                Children::Inners(inners) => node = load(inners, at),
                Children::Leaves(leaves) => return (path, load(leaves, at)),
            }
        }
    }

    /// Replaces the full leaf to which `key` belongs by one or two leaves with free slots.
    #[cold]
    fn make_room(&self, guard: &Guard, key: &Key) {
        let _structure = self.structure.lock();
        let (path, old) = self.path(guard, key);
        // SAFETY: same as in `descend`.
        let full = unsafe { guard.node(old) };
        let mut writing = full.write();
        if usize::from(writing.used) < SLOTS {
            // Another thread has replaced it already.
            return;
        }
        let (order, cut) = (full.order(), full.cut(key));
        if order.len() > ROOMY && cut == order.len() {
            // Only new keys come after the leaf's. It is full for good, so it can stay, with a smaller share: whoever
            // comes to it by an outdated path adds nothing to it, and misses only keys that were added after he began.
            let between = separator(&full.entry(order, cut - 1).key, key);
            let split = Change::Split(Child::Leaf(old), between, leaf([]), Growth::InSecond);
            return self.change(guard, &path, split);
        }
        let mut entries: Vec<Entry<V>> = full.entries().cloned().collect();
        let change = if entries.len() <= ROOMY {
            Change::Put(leaf(entries))
        } else {
            let right = entries.split_off(cut);
            let first = right.first().map_or(key, |entry| &entry.key);
            let between = entries.last().map_or_else(|| first.clone(), |entry| separator(&entry.key, first));
            Change::Split(leaf(entries), between, leaf(right), Growth::Anywhere)
        };
        writing.replaced = true;
        self.change(guard, &path, change);
        drop(writing);
        // SAFETY: the leaf has left the tree. Nobody else changes the structure, so nobody else retires the leaf.
        unsafe { guard.retire(old, &self.counters) };
    }

    /// Removes the leaf to which `key` belongs if it is empty, or merges it with the next leaf if both have few
    /// entries.
    #[cold]
    fn tidy(&self, guard: &Guard, key: &Key) {
        let _structure = self.structure.lock();
        let (path, old) = self.path(guard, key);
        let Some(Step { inner, at, .. }) = path.last() else { return };
        let Children::Leaves(leaves) = &inner.children else { return };
        // SAFETY: same as in `descend`.
        let left = unsafe { guard.node(old) };
        let mut writing = left.write();
        if left.order().len() == 0 {
            // The tree must keep its last leaf.
            if !path.iter().all(Step::only_child) {
                writing.replaced = true;
                self.change(guard, &path, Change::Drop);
                drop(writing);
                // SAFETY: same as in `make_room`.
                unsafe { guard.retire(old, &self.counters) };
            }
            return;
        }
        if at + 1 == leaves.len() {
            return;
        }
        let next = load(leaves, at + 1);
        // SAFETY: same as in `descend`.
        let right = unsafe { guard.node(next) };
        // Two leaves are locked at once only here, and only by one thread at a time, so there is no deadlock.
        let mut writing_next = right.write();
        if left.order().len() + right.order().len() > ROOMY {
            return;
        }
        let entries: ArrayVec<_, ROOMY> = left.entries().chain(right.entries()).cloned().collect();
        (writing.replaced, writing_next.replaced) = (true, true);
        self.change(guard, &path, Change::Merge(leaf(entries)));
        drop((writing, writing_next));
        // SAFETY: same as in `make_room`.
        unsafe { guard.retire(old, &self.counters) };
        // SAFETY: same as in `make_room`.
        unsafe { guard.retire(next, &self.counters) };
    }

    /// Changes the child at the end of a path, and the nodes above it as far as necessary. The caller must hold
    /// `structure`.
    fn change(&self, guard: &Guard, path: &[Step<'_, V>], change: Change<V>) {
        let Some((Step { node, inner: old, at }, above)) = path.split_last() else {
            return self.change_root(change);
        };
        if let Change::Put(child) = change {
            return old.put(*at, child);
        }
        let (at, mut separators, mut children) = (*at, old.separators(), old.children());
        let mut grows = Growth::Anywhere;
        match change {
            Change::Put(child) => children[at] = child,
            Change::Split(left, between, right, growth) => {
                grows = growth;
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
            let (half, behind) = (children.len() / 2, at + 2);
            // Same rule as for leaves: a node that grows at its end stays full. One that grows at one place within it is
            // cut behind that place, so from then on it grows at its end.
            let cut = match grows {
                _ if behind == children.len() => FANOUT,
                Growth::InSecond => behind.max(half),
                Growth::Anywhere => half,
            };
            if behind < children.len() {
                grows = Growth::Anywhere;
            }
            let right: ArrayVec<_, FANOUT> = children.drain(cut..).collect();
            let others: ArrayVec<_, FANOUT> = separators.drain(cut..).collect();
            // There is one separator fewer than children, so the left part has one too many now.
            let Some(between) = separators.pop() else { unreachable!("two children have a separator") };
            Change::Split(inner(separators, children), between, inner(others, right), grows)
        };
        self.change(guard, above, change);
        // SAFETY: the tree has let go of the node: its parent has another child now. Nobody else changes the structure,
        // so nobody else retires the node.
        unsafe { guard.retire(*node, &self.counters) };
    }

    /// Replaces the root. The caller retires the old one.
    fn change_root(&self, change: Change<V>) {
        let root = match change {
            Change::Put(Child::Inner(root)) => root,
            Change::Split(left, between, right, _) => Box::into_raw(Inner::new([between], [left, right])),
            Change::Put(Child::Leaf(_)) | Change::Merge(_) | Change::Drop => {
                unreachable!("the root is an inner node with a child")
            }
        };
        self.root.store(root, Ordering::Release);
    }
}

impl<V> Drop for Tree<V> {
    fn drop(&mut self) {
        // The recursion is only as deep as the tree.
        fn free<V>(node: *mut Inner<V>) {
            // SAFETY: nodes are made by `Box::into_raw`, the tree holds each once, and nobody else has the tree any
            // more. Retired nodes are not in the tree.
            let inner = unsafe { Box::from_raw(node) };
            for child in inner.children() {
                match child {
                    Child::Inner(node) => free(node),
                    // SAFETY: same as above.
                    Child::Leaf(leaf) => drop(unsafe { Box::from_raw(leaf) }),
                }
            }
        }
        free(self.root.load(Ordering::Acquire));
    }
}

/// Returns true if `key` satisfies a lower bound.
#[inline]
fn is_from(lower: Bound<&Key>, key: &Key) -> bool {
    match lower {
        Bound::Included(lower) => key >= lower,
        Bound::Excluded(lower) => key > lower,
        Bound::Unbounded => true,
    }
}

/// Returns true if no key before `key` satisfies a lower bound.
fn begins_at(lower: Bound<&Key>, key: &Key) -> bool {
    matches!(lower, Bound::Included(lower) | Bound::Excluded(lower) if lower >= key)
}

/// Returns true if `key` satisfies an upper bound.
#[inline]
fn is_to(upper: Bound<&Key>, key: &Key) -> bool {
    match upper {
        Bound::Included(upper) => key <= upper,
        Bound::Excluded(upper) => key < upper,
        Bound::Unbounded => true,
    }
}
