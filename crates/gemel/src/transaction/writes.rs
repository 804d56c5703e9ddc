//! The pending writes of a transaction.

use crate::clock::Timestamp;
use crate::engine::{Handle, KeyspaceId};
use crate::key::{Key, KeyRange};
use crate::memory::Draft;
use foldhash::fast::RandomState;
use indexmap::IndexMap;
use indexmap::map::Entry;
use std::collections::BTreeSet;
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

/// Number of writes that fit without growing. Most transactions of TPC-C need no more.
const USUAL: usize = 28;

/// The writes of a transaction, one for each key. Most transactions only look for single keys among their writes, so
/// the writes are in a hash table. Their order is made by the first scan that needs it, and kept from then on.
#[derive(Debug, Default)]
pub(crate) struct Writes {
    map: IndexMap<Place, Pending, RandomState>,
    ordered: Option<BTreeSet<Place>>,
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
            self.map.reserve(USUAL);
        }
        match self.map.entry(place) {
            // The first write fixes the snapshot on which the key's write rests.
            Entry::Occupied(mut entry) => Some(std::mem::replace(&mut entry.get_mut().value, pending.value)),
            Entry::Vacant(entry) => {
                if let Some(ordered) = &mut self.ordered {
                    ordered.insert(entry.key().clone());
                }
                entry.insert(pending);
                None
            }
        }
    }

    pub(super) fn remove(&mut self, place: &Place) {
        self.map.swap_remove(place);
        if let Some(ordered) = &mut self.ordered {
            ordered.remove(place);
        }
    }

    /// Makes the order that [`Writes::range`] needs.
    pub(super) fn order(&mut self) {
        self.ordered.get_or_insert_with(|| self.map.keys().cloned().collect());
    }

    /// Returns the writes of a range in the order of their keys; a key without a value is deleted. [`Writes::order`]
    /// must have been called.
    pub(super) fn range<'a>(
        &'a self,
        keyspace: KeyspaceId,
        range: &'a KeyRange,
    ) -> impl DoubleEndedIterator<Item = (&'a Key, Option<&'a [u8]>)> {
        let from = match &range.lower {
            Bound::Included(key) | Bound::Excluded(key) => key.clone(),
            Bound::Unbounded => Key::new(&[]),
        };
        let until = match &range.upper {
            Bound::Included(key) | Bound::Excluded(key) => Bound::Included((keyspace, key.clone())),
            Bound::Unbounded => Bound::Excluded((KeyspaceId(keyspace.0 + 1), Key::new(&[]))),
        };
        let places = self.ordered.iter().flat_map(move |ordered| {
            ordered.range((Bound::Included((keyspace, from.clone())), until.clone()))
        });
        places
            .filter(|(_, key)| range.contains(key))
            .filter_map(|place| Some((&place.1, self.map.get(place)?.value.as_deref())))
    }

    /// Removes all writes, and returns them in the order of their first writes.
    pub(crate) fn take(&mut self) -> impl ExactSizeIterator<Item = (Place, Pending)> + use<> {
        self.ordered = None;
        std::mem::take(&mut self.map).into_iter()
    }
}
