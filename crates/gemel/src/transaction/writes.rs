//! The pending writes of a transaction.

use crate::engine::Handle;
use crate::ids::{Direction, KeyspaceId};
use crate::key::{Key, KeyRange};
use crate::mvcc::Draft;
use crate::order::clock::Timestamp;
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

    pub(super) fn get_mut(&mut self, place: &Place) -> Option<&mut Pending> {
        self.map.get_mut(place)
    }

    /// Adds a write, or changes the value of the key's earlier write, which it returns.
    pub(super) fn write(&mut self, place: Place, pending: Pending) -> Option<Value> {
        if self.map.capacity() == 0 {
            self.map = EMPTY.try_with(Cell::take).ok().flatten().unwrap_or_default();
            self.map.reserve(USUAL);
        }
        match self.map.entry(place) {
            // The first write fixes the snapshot on which the key's write rests.
            Entry::Occupied(mut entry) => Some(mem::replace(&mut entry.get_mut().value, pending.value)),
            Entry::Vacant(entry) => {
                self.state += 1;
                if let Some(ordered) = &mut self.ordered {
                    ordered.insert(entry.key().clone());
                }
                entry.insert(pending);
                None
            }
        }
    }

    /// Returns a number that changes with the set of keys.
    pub(super) fn state(&self) -> u64 {
        self.state
    }

    pub(super) fn remove(&mut self, place: &Place) {
        self.state += 1;
        self.map.swap_remove(place);
        if let Some(ordered) = &mut self.ordered {
            ordered.remove(place);
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

    /// Removes all writes, and returns them in the order of their first writes.
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
        writes.get_mut(&place(2, 7)).unwrap().value = None;
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
