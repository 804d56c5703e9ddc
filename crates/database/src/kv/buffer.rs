//! Writes that wait in the client until the commit, and reads that see them: for stores that take all writes of a
//! transaction at once.

use crate::kv::store_test::hex;
use crate::kv::{Direction, Each, KeyRange, KvTable, StoreError, StoreTx};
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow, RangeBounds};

/// Keys in the first request of a scan, since most scans of the transactions want one or fifteen; and most keys of a
/// later request.
const KEYS_FIRST: usize = 16;
const KEYS_MOST: usize = 1024;

/// A key and its value.
pub type Entry = (Vec<u8>, Vec<u8>);
/// Ends of a range of keys.
pub type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// Writes of a transaction, by table and key; `None` deletes.
pub type Writes = BTreeMap<(KvTable, Vec<u8>), Option<Vec<u8>>>;

/// Requests of a store for a transaction whose writes wait.
pub trait Remote {
    /// Returns the value that the store has for a key.
    fn value(&mut self, table: KvTable, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError>;

    /// Returns at most `count` entries of the store in a range, in the order of the scan; and the last key that the
    /// store looked at, if more may follow.
    fn entries(
        &mut self,
        table: KvTable,
        range: &Bounds,
        direction: Direction,
        count: usize,
    ) -> Result<(Vec<Entry>, Option<Vec<u8>>), StoreError>;

    /// Makes all writes, if there are any, and commits.
    fn commit(self, writes: &Writes) -> Result<(), StoreError>;
}

/// A transaction whose writes wait for its commit.
pub struct Buffered<T> {
    remote: T,
    writes: Writes,
}

impl<T> Buffered<T> {
    /// Makes a transaction over `remote` without writes.
    pub fn new(remote: T) -> Self {
        Self { remote, writes: Writes::new() }
    }
}

impl<T: Remote> StoreTx for Buffered<T> {
    type Pending = ();

    fn read<R>(
        &mut self,
        table: KvTable,
        key: &[u8],
        found: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, StoreError> {
        // The transaction's own write to a key hides the store's value.
        match self.writes.get(&(table, key.to_vec())) {
            Some(written) => Ok(written.as_deref().map(found)),
            None => Ok(self.remote.value(table, key)?.as_deref().map(found)),
        }
    }

    fn put(&mut self, table: KvTable, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        self.writes.insert((table, key.to_vec()), Some(value.to_vec()));
        Ok(())
    }

    fn delete(&mut self, table: KvTable, key: &[u8]) -> Result<(), StoreError> {
        self.writes.insert((table, key.to_vec()), None);
        Ok(())
    }

    fn scan(
        &mut self,
        table: KvTable,
        range: KeyRange<'_>,
        direction: Direction,
        each: &mut Each<'_>,
    ) -> Result<(), StoreError> {
        let below = range.below.map_or(Bound::Unbounded, |below| Bound::Excluded(below.to_vec()));
        let mut rest: Bounds = (Bound::Included(range.from.to_vec()), below);
        if matches!(&rest, (Bound::Included(from), Bound::Excluded(below)) if from >= below) {
            return Ok(());
        }
        let mut count = KEYS_FIRST;
        loop {
            let (there, last) = self.remote.entries(table, &rest, direction, count)?;
            let keys = there.iter().map(|(key, _)| key);
            in_order(table, &rest, direction, keys, last.as_ref())?;
            // Within the range of these entries, the transaction's own writes hide the store's.
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
            // The writes are ordered by table. Those of later tables are filtered out by table.
            let own = self.writes.range((least, own(&covered.1))).take_while(|((of, _), _)| *of == table);
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

    fn commit(self) -> Result<(), StoreError> {
        self.remote.commit(&self.writes)
    }
}

/// Rejects keys of a store that are not in the order of the scan, or are outside of the range. `last` may be the last
/// of them, or come after it.
fn in_order<'a>(
    table: KvTable,
    range: &Bounds,
    direction: Direction,
    keys: impl Iterator<Item = &'a Vec<u8>>,
    last: Option<&'a Vec<u8>>,
) -> Result<(), StoreError> {
    let refused = |key: &[u8], what| {
        Err(StoreError::Failed(format!("a scan of {} gave the key {}, {what}", table.name(), hex(key))))
    };
    let behind = |key: &Vec<u8>, before: &Vec<u8>| match direction {
        Direction::Forward => key > before,
        Direction::Backward => key < before,
    };
    let mut before: Option<&Vec<u8>> = None;
    for key in keys {
        if !range.contains(key) {
            return refused(key, "outside of the range");
        }
        if before.is_some_and(|before| !behind(key, before)) {
            return refused(key, "not in the order of keys");
        }
        before = Some(key);
    }
    match last {
        Some(last) if !range.contains(last) => refused(last, "outside of the range"),
        Some(last) if before.is_some_and(|before| behind(before, last)) => {
            refused(last, "not in the order of keys")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A store that answers once, with these keys.
    struct Answer<'a> {
        keys: &'a [&'a [u8]],
        last: Option<&'a [u8]>,
    }

    impl Remote for Answer<'_> {
        fn value(&mut self, _table: KvTable, _key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
            Ok(None)
        }

        fn entries(
            &mut self,
            _table: KvTable,
            _range: &Bounds,
            _direction: Direction,
            _count: usize,
        ) -> Result<(Vec<Entry>, Option<Vec<u8>>), StoreError> {
            let keys = std::mem::take(&mut self.keys).iter();
            Ok((keys.map(|key| (key.to_vec(), Vec::new())).collect(), self.last.take().map(<[u8]>::to_vec)))
        }

        fn commit(self, _writes: &Writes) -> Result<(), StoreError> {
            Ok(())
        }
    }

    /// Returns the result of a scan if the store answers with these keys.
    fn scanned(direction: Direction, keys: &[&[u8]], last: Option<&[u8]>) -> Result<(), StoreError> {
        let mut tx = Buffered::new(Answer { keys, last });
        tx.put(KvTable::Stock, b"m", &[])?;
        let range = KeyRange { from: b"b", below: Some(b"y") };
        tx.scan(KvTable::Stock, range, direction, &mut |_, _| ControlFlow::Continue(()))
    }

    #[test]
    fn a_store_that_gives_keys_out_of_order_or_range_is_told_so_and_nothing_panics() {
        let (forward, backward) = (Direction::Forward, Direction::Backward);
        for (direction, keys, last) in [
            (forward, &[&b"b"[..], b"d"][..], Some(&b"d"[..])),
            (backward, &[b"x", b"c"], Some(b"c")),
            // Keys after the last one with a value were deleted meanwhile.
            (forward, &[b"c"], Some(b"e")),
            (forward, &[], Some(b"e")),
        ] {
            assert_eq!(scanned(direction, keys, last), Ok(()), "{keys:?}");
        }
        for (direction, keys, last, what) in [
            (forward, &[&b"d"[..], b"c"][..], Some(&b"c"[..]), "not in the order of keys"),
            (forward, &[b"c", b"c"], None, "not in the order of keys"),
            (backward, &[b"c", b"d"], Some(b"d"), "not in the order of keys"),
            (forward, &[b"d"], Some(b"c"), "not in the order of keys"),
            (forward, &[b"a"], Some(b"a"), "outside of the range"),
            (backward, &[b"z"], Some(b"z"), "outside of the range"),
            (forward, &[], Some(b"z"), "outside of the range"),
        ] {
            let refused = scanned(direction, keys, last).expect_err("a store that can't scan");
            assert!(refused.line().ends_with(what), "{keys:?}: {refused:?}");
        }
    }
}
