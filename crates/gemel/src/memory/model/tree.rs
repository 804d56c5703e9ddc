//! A map in the place of the index, whose look-ups, insertions and removals are one step each, as `tree/model` shows of
//! the real one.

use super::sync::Mutex;
use crate::key::Key;
use std::collections::BTreeMap;

pub(super) struct Tree<V>(Mutex<BTreeMap<Key, V>>);

impl<V: Clone> Tree<V> {
    pub(super) fn new() -> Self {
        Self(Mutex::default())
    }

    pub(super) fn len(&self) -> usize {
        self.0.lock().len()
    }

    pub(super) fn get<R>(&self, key: &Key, found: impl FnOnce(&V) -> R) -> Option<R> {
        let value = self.0.lock().get(key).cloned();
        value.as_ref().map(found)
    }

    pub(super) fn get_or_insert(&self, key: &Key, make: impl FnOnce() -> V) -> (V, bool) {
        let mut entries = self.0.lock();
        let new = !entries.contains_key(key);
        (entries.entry(key.clone()).or_insert_with(make).clone(), new)
    }

    /// Removes a key. Records are removed exactly once, by whoever killed them, so the key must be there.
    pub(super) fn remove(&self, key: &Key, is: impl Fn(&V) -> bool) {
        let mut entries = self.0.lock();
        assert!(entries.get(key).is_some_and(is), "a record is removed that is not in the index");
        entries.remove(key);
    }
}
