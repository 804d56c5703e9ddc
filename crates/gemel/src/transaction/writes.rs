//! The pending writes of a transaction.

use crate::engine::{Handle, Write};
use crate::ids::{Direction, KeyspaceId, MAX_ENGINES};
use crate::key::{Key, KeyRange};
use crate::mvcc::{Draft, version_bytes};
use crate::order::clock::Timestamp;
use crate::pending::{LONG_KEY_BYTES, key_bytes, map_entry_bytes};
use crate::record;
use foldhash::fast::RandomState;
use indexmap::IndexMap;
use indexmap::map::Entry;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::mem;
use std::ops::Bound;

/// A key of a keyspace.
pub(crate) type Place = (KeyspaceId, Key);
/// A value to write; none deletes the key.
pub(crate) type Value = Option<Draft>;

/// A write that waits for the commit.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) engine: usize,
    pub(crate) value: Value,
    pub(crate) since: Timestamp,
    pub(crate) handle: Handle,
}

type Map = IndexMap<Place, Pending, RandomState>;

/// Number of writes that fit without growing. Most transactions of TPC-C need no more.
const USUAL: usize = 28;
/// Maximum number of writes for which a thread keeps memory after a transaction.
const KEPT: usize = 512;
/// Maximum number of writes that a scan looks through one by one. Few in tests, so they run both ways.
const FEW: usize = if cfg!(any(test, feature = "fail-points")) { 3 } else { 256 };

thread_local! {
    /// The empty table of an earlier transaction. Growing a table and freeing it costs more than filling it.
    static EMPTY: Cell<Option<Map>> = const { Cell::new(None) };
}

/// The writes of a transaction, one for each key. Most transactions only look for single keys among their writes, so
/// the writes are in a hash table. Their order is made by the first scan that needs it, and kept from then on. A scan
/// of few writes needs none.
#[derive(Debug, Default)]
pub(crate) struct Writes {
    map: Map,
    ordered: Option<BTreeSet<Place>>,
    /// Number of changes of the set of keys.
    state: u64,
    /// Bytes of memory that the writes take, and their commit in addition, without `ordered`.
    bytes: u64,
    /// Bytes that the keys take on the heap.
    heap_bytes: u64,
    /// Bytes of the versions that the writes make, by engine. Deletions do not count.
    version_bytes: [u64; MAX_ENGINES],
}

/// Bytes of a write without the heap memory of its key, and without its value: its place in the table, which may be half
/// empty, and in the list of the commit, and its part of the log record.
const WRITE_BYTES: u64 =
    (2 * (size_of::<(usize, Place, Pending)>() + 9) + size_of::<Write>() + record::WRITE_BYTES) as u64;
/// Bytes of a write's place in the order.
const ORDER_BYTES: u64 = map_entry_bytes(size_of::<Place>());

/// The rate at which further writes take memory.
#[derive(Clone, Copy)]
pub(super) struct WriteRate {
    is_ordered: bool,
}

impl WriteRate {
    /// Returns the most bytes that a number of writes add, with so many bytes of keys and values in total.
    pub(super) fn most_bytes(self, writes: usize, keys: usize, values: usize) -> u64 {
        let ordered = if self.is_ordered { ORDER_BYTES + LONG_KEY_BYTES } else { 0 };
        // The size of a version is rounded up to a multiple of 16.
        let each = WRITE_BYTES + version_bytes(0) + 15 + LONG_KEY_BYTES + ordered;
        // A key is in the table, in the record, and in the order.
        writes as u64 * each + 3 * keys as u64 + 2 * values as u64
    }
}

fn write_bytes(key: &Key) -> u64 {
    WRITE_BYTES + key_bytes(key) + key.len() as u64
}

impl Drop for Writes {
    fn drop(&mut self) {
        let mut map = mem::take(&mut self.map);
        if (1..=KEPT).contains(&map.capacity()) {
            map.clear();
            // Fails on a thread that ends: then the table is freed here.
            let _ = EMPTY.try_with(|empty| empty.set(Some(map)));
        }
    }
}

impl Writes {
    pub(crate) fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.map.len()
    }

    pub(crate) fn get(&self, place: &Place) -> Option<&Pending> {
        if self.map.is_empty() { None } else { self.map.get(place) }
    }

    /// Returns the bytes of memory that the writes take, and those that their commit takes in addition.
    pub(super) fn bytes(&self) -> u64 {
        let order = if self.ordered.is_some() { self.whole_order() } else { 0 };
        self.bytes + order
    }

    /// Returns the bytes of the versions that the writes make in an engine.
    pub(super) fn version_bytes(&self, engine: usize) -> u64 {
        self.version_bytes[engine]
    }

    /// Returns the rate at which further writes take memory.
    pub(super) fn rate(&self) -> WriteRate {
        WriteRate { is_ordered: self.ordered.is_some() }
    }

    fn whole_order(&self) -> u64 {
        self.map.len() as u64 * ORDER_BYTES + self.heap_bytes
    }

    /// Returns the bytes that [`Writes::order`] adds.
    pub(super) fn bytes_of_order(&self) -> u64 {
        if self.ordered.is_some() { 0 } else { self.whole_order() }
    }

    /// Returns the bytes that [`Writes::order_if_many`] adds.
    pub(super) fn bytes_of_order_if_many(&self) -> u64 {
        if self.map.len() > FEW { self.bytes_of_order() } else { 0 }
    }

    /// Adds the bytes of a value that is new, or subtracts those of one that is gone.
    fn count(&mut self, engine: usize, value: &Value, is_new: bool) {
        let Some(length) = value.as_ref().map(|value| value.len()) else { return };
        let version = version_bytes(length);
        // The log record has a copy.
        let all = version + length as u64;
        if is_new {
            self.bytes += all;
            self.version_bytes[engine] += version;
        } else {
            self.bytes -= all;
            self.version_bytes[engine] -= version;
        }
    }

    /// Adds a write, or changes the value of the key's earlier write, which it returns.
    pub(super) fn write(&mut self, place: Place, pending: Pending) -> Option<Value> {
        if self.map.capacity() == 0 {
            self.map = EMPTY.try_with(Cell::take).ok().flatten().unwrap_or_default();
            self.map.reserve(USUAL);
        }
        self.count(pending.engine, &pending.value, true);
        match self.map.entry(place) {
            // The first write fixes the snapshot on which the key's write rests.
            Entry::Occupied(mut entry) => {
                let before = mem::replace(&mut entry.get_mut().value, pending.value);
                self.count(pending.engine, &before, false);
                Some(before)
            }
            Entry::Vacant(entry) => {
                self.state += 1;
                self.bytes += write_bytes(&entry.key().1);
                self.heap_bytes += key_bytes(&entry.key().1);
                if let Some(ordered) = &mut self.ordered {
                    ordered.insert(entry.key().clone());
                }
                entry.insert(pending);
                None
            }
        }
    }

    /// Replaces the value of a write.
    pub(super) fn replace(&mut self, place: &Place, value: Value) {
        let Some(pending) = self.map.get_mut(place) else { return };
        let engine = pending.engine;
        let before = pending.value.take();
        self.count(engine, &before, false);
        self.count(engine, &value, true);
        if let Some(pending) = self.map.get_mut(place) {
            pending.value = value;
        }
    }

    /// Returns a number that changes with the set of keys.
    pub(super) fn state(&self) -> u64 {
        self.state
    }

    pub(super) fn remove(&mut self, place: &Place) {
        self.state += 1;
        if let Some(Pending { engine, value, .. }) = self.map.swap_remove(place) {
            self.count(engine, &value, false);
            self.bytes -= write_bytes(&place.1);
            self.heap_bytes -= key_bytes(&place.1);
        }
        if let Some(ordered) = &mut self.ordered {
            ordered.remove(place);
        }
    }

    /// Frees the memory of a large table that is nearly empty.
    pub(super) fn shrink(&mut self) {
        if self.map.capacity() > KEPT && self.map.len() < self.map.capacity() / 4 {
            self.map.shrink_to((2 * self.map.len()).max(USUAL));
        }
    }

    /// Makes the order of the writes, unless they are so few that [`Writes::range`] looks through all of them.
    pub(super) fn order_if_many(&mut self) {
        if self.map.len() > FEW {
            self.order();
        }
    }

    /// Makes the order of the writes. Worthwhile before many calls of [`Writes::range`].
    pub(super) fn order(&mut self) {
        self.ordered.get_or_insert_with(|| self.map.keys().cloned().collect());
    }

    /// Returns the writes of a range in the order of a scan; a key without a value is deleted.
    pub(super) fn range<'a>(
        &'a self,
        keyspace: KeyspaceId,
        range: &'a KeyRange,
        direction: Direction,
    ) -> Box<dyn Iterator<Item = (&'a Key, Option<&'a [u8]>)> + 'a> {
        let Some(ordered) = &self.ordered else { return self.few(keyspace, range, direction) };
        let from = match &range.lower {
            Bound::Included(key) | Bound::Excluded(key) => key.clone(),
            Bound::Unbounded => Key::new(&[]),
        };
        let until = match &range.upper {
            Bound::Included(key) | Bound::Excluded(key) => Bound::Included((keyspace, key.clone())),
            Bound::Unbounded => Bound::Excluded((KeyspaceId(keyspace.0 + 1), Key::new(&[]))),
        };
        let places = ordered.range((Bound::Included((keyspace, from)), until));
        let items = places
            .filter(|(_, key)| range.contains(key))
            .filter_map(|place| Some((&place.1, self.map.get(place)?.value.as_deref())));
        match direction {
            Direction::Forward => Box::new(items),
            Direction::Backward => Box::new(items.rev()),
        }
    }

    /// Does the same as [`Writes::range`], with a look at each write.
    fn few<'a>(
        &'a self,
        keyspace: KeyspaceId,
        range: &KeyRange,
        direction: Direction,
    ) -> Box<dyn Iterator<Item = (&'a Key, Option<&'a [u8]>)> + 'a> {
        let inside = self.map.iter().filter(|((of, key), _)| *of == keyspace && range.contains(key));
        let mut items: Vec<_> = inside.map(|((_, key), pending)| (key, pending.value.as_deref())).collect();
        if items.is_empty() {
            return Box::new(std::iter::empty());
        }
        items.sort_unstable_by_key(|(key, _)| *key);
        match direction {
            Direction::Forward => Box::new(items.into_iter()),
            Direction::Backward => Box::new(items.into_iter().rev()),
        }
    }

    /// Frees the memory of a large table, whose writes were taken.
    pub(crate) fn free_if_large(&mut self) {
        if self.map.capacity() > KEPT {
            self.map = Map::default();
        }
    }

    /// Removes all writes, and returns them in the order of their first writes. They still count.
    pub(crate) fn take(&mut self) -> impl ExactSizeIterator<Item = (Place, Pending)> {
        self.ordered = None;
        self.map.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(value: u8) -> Pending {
        Pending { engine: 0, value: Some((&[value]).into()), since: Timestamp::ZERO, handle: Handle::None }
    }

    fn place(keyspace: u32, key: u8) -> Place {
        (KeyspaceId(keyspace), Key::new(&[key]))
    }

    fn scanned(writes: &Writes, range: &KeyRange, direction: Direction) -> Vec<(u8, Option<u8>)> {
        let found = writes.range(KeyspaceId(2), range, direction);
        found.map(|(key, value)| (key.to_vec()[0], value.map(|value| value[0]))).collect()
    }

    #[test]
    fn writes_are_scanned_alike_with_an_order_and_without() {
        let mut writes = Writes::default();
        for key in [9, 3, 7, 1, 5] {
            for keyspace in 1..=3 {
                writes.write(place(keyspace, key), pending(key));
            }
        }
        writes.replace(&place(2, 7), None);
        let bounds = [
            Bound::Unbounded,
            Bound::Included(Key::new(&[3])),
            Bound::Excluded(Key::new(&[3])),
            Bound::Included(Key::new(&[8])),
        ];
        let ranges = bounds.iter().flat_map(|lower| {
            bounds.iter().map(|upper| KeyRange { lower: lower.clone(), upper: upper.clone() })
        });
        let ranges: Vec<KeyRange> = ranges.filter(|range| !range.is_empty()).collect();
        let all = |writes: &Writes| -> Vec<_> {
            let both = [Direction::Forward, Direction::Backward];
            let scans =
                ranges.iter().flat_map(|range| both.map(|direction| scanned(writes, range, direction)));
            scans.collect()
        };
        let without = all(&writes);
        assert_eq!(without[0], [(1, Some(1)), (3, Some(3)), (5, Some(5)), (7, None), (9, Some(9))]);
        writes.order_if_many();
        assert!(writes.ordered.is_some(), "these are many in a test");
        assert_eq!(all(&writes), without);
    }

    #[test]
    fn a_thread_keeps_the_table_of_a_usual_transaction_and_frees_that_of_a_large_one() {
        std::thread::spawn(|| {
            let fill = |count: u32| {
                let mut writes = Writes::default();
                (0..count).for_each(|key| drop(writes.write(place(key, 0), pending(0))));
            };
            fill(100);
            let kept = EMPTY.take().expect("the table of a usual transaction");
            assert!(kept.is_empty() && kept.capacity() >= 100);
            fill(10 * KEPT as u32);
            assert!(EMPTY.take().is_none());
        })
        .join()
        .unwrap();
    }
}
