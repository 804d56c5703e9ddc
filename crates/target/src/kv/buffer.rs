//! Writes that wait in the client until the commit, and what a transaction sees of them: for stores that take them all at once.

use crate::kv::{Direction, KeyRange, KvTable, StoreError};
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

/// Keys that are asked for first in a scan, since most scans of the transactions want one or fifteen; and at most.
const KEYS_FIRST: usize = 16;
const KEYS_MOST: usize = 1024;

/// A key and its value.
pub(crate) type Entry = (Vec<u8>, Vec<u8>);
/// Two ends of a range of keys.
pub(crate) type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// What is to be written; none deletes.
#[derive(Debug, Default)]
pub(crate) struct Buffer(pub(crate) BTreeMap<(KvTable, Vec<u8>), Option<Vec<u8>>>);

impl Buffer {
    /// What the transaction itself has made of a key, if it has: its value, or none if it has deleted it.
    pub(crate) fn get(&self, table: KvTable, key: &[u8]) -> Option<&Option<Vec<u8>>> {
        self.0.get(&(table, key.to_vec()))
    }

    /// Notes that a key is to have a value.
    pub(crate) fn put(&mut self, table: KvTable, key: &[u8], value: Vec<u8>) {
        self.0.insert((table, key.to_vec()), Some(value));
    }

    /// Notes that a key is to be deleted.
    pub(crate) fn delete(&mut self, table: KvTable, key: &[u8]) {
        self.0.insert((table, key.to_vec()), None);
    }

    /// Hands over the entries of a range, in order, until `each` breaks: those of the store with these writes over them.
    /// `fetch` gives at most so many entries of the store in a range, in the order of the scan, and the last key that it
    /// looked at if there may be more behind it.
    pub(crate) fn scan(
        &self,
        table: KvTable,
        range: KeyRange<'_>,
        direction: Direction,
        mut fetch: impl FnMut(&Bounds, usize) -> Result<(Vec<Entry>, Option<Vec<u8>>), StoreError>,
        mut each: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let below = range.below.map_or(Bound::Unbounded, |below| Bound::Excluded(below.to_vec()));
        let mut rest: Bounds = (Bound::Included(range.from.to_vec()), below);
        if matches!(&rest, (Bound::Included(from), Bound::Excluded(below)) if from >= below) {
            return Ok(());
        }
        let mut count = KEYS_FIRST;
        loop {
            let (there, last) = fetch(&rest, count)?;
            // As far as these entries go, what the transaction itself wrote counts before them.
            let covered: Bounds = match (&last, direction) {
                (None, _) => rest.clone(),
                (Some(last), Direction::Forward) => (rest.0.clone(), Bound::Included(last.clone())),
                (Some(last), Direction::Backward) => (Bound::Included(last.clone()), rest.1.clone()),
            };
            let mut found: BTreeMap<Vec<u8>, Option<Vec<u8>>> =
                there.into_iter().map(|(key, value)| (key, Some(value))).collect();
            let own = |bound: &Bound<Vec<u8>>| bound.as_ref().map(|key| (table, key.clone()));
            let least = match own(&covered.0) {
                Bound::Unbounded => Bound::Included((table, Vec::new())),
                bound => bound,
            };
            // Tables are in order, so those behind this one are left out by name.
            let own = self.0.range((least, own(&covered.1))).take_while(|((of, _), _)| *of == table);
            found.extend(own.map(|((_, key), value)| (key.clone(), value.clone())));
            let mut hand = |(key, value): (&Vec<u8>, &Option<Vec<u8>>)| match value {
                Some(value) => each(key, value),
                None => ControlFlow::Continue(()),
            };
            let flow = match direction {
                Direction::Forward => found.iter().try_for_each(&mut hand),
                Direction::Backward => found.iter().rev().try_for_each(&mut hand),
            };
            match (last, direction) {
                (Some(last), Direction::Forward) => rest.0 = Bound::Excluded(last),
                (Some(last), Direction::Backward) => rest.1 = Bound::Excluded(last),
                (None, _) => return Ok(()),
            }
            if flow.is_break() {
                return Ok(());
            }
            count = (count * 4).min(KEYS_MOST);
        }
    }
}
