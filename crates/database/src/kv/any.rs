//! Stores and their transactions behind trait objects.
//!
//! A function over [`StoreTx`] is compiled for each store, a function over [`AnyTx`] once. So all but the measured
//! transactions runs on [`AnyTx`]: a call through a pointer costs little beside a row that is loaded or checked.

use crate::kv::store::{Access, Direction, Each, KeyRange, KvTable, Pending, Store, StoreTx};
use crate::kv::store_error::StoreError;

/// Any store.
pub trait AnyStore: Send + Sync {
    /// Begins a transaction, as [`Store::begin`] does.
    ///
    /// # Errors
    /// See [`Store::begin`].
    fn begin_any(&self, access: Access) -> Result<AnyTx<'_>, StoreError>;

    /// Removes all entries of a table, as [`Store::clear`] does.
    ///
    /// # Errors
    /// See [`Store::clear`].
    fn clear_any(&self, table: KvTable) -> Result<(), StoreError>;
}

impl<S: Store> AnyStore for S {
    fn begin_any(&self, access: Access) -> Result<AnyTx<'_>, StoreError> {
        Ok(AnyTx(Box::new(self.begin(access)?)))
    }

    fn clear_any(&self, table: KvTable) -> Result<(), StoreError> {
        self.clear(table)
    }
}

/// A transaction of any store.
pub struct AnyTx<'a>(Box<dyn Object + 'a>);

/// A commit of any store: the wait for it.
pub struct AnyPending(Box<dyn FnOnce() -> Result<(), StoreError> + Send>);

/// Keys of several changes.
type Keys<'a> = dyn Iterator<Item = Vec<u8>> + 'a;

/// [`StoreTx`] without types of the caller. What a function of the caller returns stays with the caller.
trait Object {
    fn read(&mut self, table: KvTable, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<(), StoreError>;
    fn modify(
        &mut self,
        table: KvTable,
        key: &[u8],
        change: &mut dyn FnMut(&mut Vec<u8>),
    ) -> Result<(), StoreError>;
    fn modify_in_place(
        &mut self,
        table: KvTable,
        key: &[u8],
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), StoreError>;
    fn modify_each(
        &mut self,
        table: KvTable,
        keys: &mut Keys<'_>,
        change: &mut dyn FnMut(usize, &mut [u8]),
    ) -> Result<(), StoreError>;
    fn put(&mut self, table: KvTable, key: &[u8], value: &[u8]) -> Result<(), StoreError>;
    fn delete(&mut self, table: KvTable, key: &[u8]) -> Result<(), StoreError>;
    fn scan(
        &mut self,
        table: KvTable,
        range: KeyRange<'_>,
        direction: Direction,
        each: &mut Each<'_>,
    ) -> Result<(), StoreError>;
    fn commit(self: Box<Self>) -> Result<AnyPending, StoreError>;
}

impl<T: StoreTx> Object for T {
    fn read(&mut self, table: KvTable, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<(), StoreError> {
        StoreTx::read(self, table, key, found).map(drop)
    }

    fn modify(
        &mut self,
        table: KvTable,
        key: &[u8],
        change: &mut dyn FnMut(&mut Vec<u8>),
    ) -> Result<(), StoreError> {
        StoreTx::modify(self, table, key, change).map(drop)
    }

    fn modify_in_place(
        &mut self,
        table: KvTable,
        key: &[u8],
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), StoreError> {
        StoreTx::modify_in_place(self, table, key, change).map(drop)
    }

    fn modify_each(
        &mut self,
        table: KvTable,
        keys: &mut Keys<'_>,
        change: &mut dyn FnMut(usize, &mut [u8]),
    ) -> Result<(), StoreError> {
        StoreTx::modify_each(self, table, keys, change)
    }

    fn put(&mut self, table: KvTable, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        StoreTx::put(self, table, key, value)
    }

    fn delete(&mut self, table: KvTable, key: &[u8]) -> Result<(), StoreError> {
        StoreTx::delete(self, table, key)
    }

    fn scan(
        &mut self,
        table: KvTable,
        range: KeyRange<'_>,
        direction: Direction,
        each: &mut Each<'_>,
    ) -> Result<(), StoreError> {
        StoreTx::scan(self, table, range, direction, each)
    }

    fn commit(self: Box<Self>) -> Result<AnyPending, StoreError> {
        let pending = StoreTx::commit(*self)?;
        Ok(AnyPending(Box::new(|| pending.wait())))
    }
}

impl StoreTx for AnyTx<'_> {
    type Pending = AnyPending;

    fn read<R>(
        &mut self,
        table: KvTable,
        key: &[u8],
        found: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, StoreError> {
        let (mut found, mut result) = (Some(found), None);
        self.0.read(table, key, &mut |value| result = found.take().map(|found| found(value)))?;
        Ok(result)
    }

    fn modify<R>(
        &mut self,
        table: KvTable,
        key: &[u8],
        change: impl FnOnce(&mut Vec<u8>) -> R,
    ) -> Result<Option<R>, StoreError> {
        let (mut change, mut result) = (Some(change), None);
        self.0.modify(table, key, &mut |value| result = change.take().map(|change| change(value)))?;
        Ok(result)
    }

    fn modify_in_place<R>(
        &mut self,
        table: KvTable,
        key: &[u8],
        change: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<Option<R>, StoreError> {
        let (mut change, mut result) = (Some(change), None);
        self.0
            .modify_in_place(table, key, &mut |value| result = change.take().map(|change| change(value)))?;
        Ok(result)
    }

    fn modify_each<K: AsRef<[u8]>>(
        &mut self,
        table: KvTable,
        keys: impl IntoIterator<Item = K>,
        mut change: impl FnMut(usize, &mut [u8]),
    ) -> Result<(), StoreError> {
        let mut keys = keys.into_iter().map(|key| key.as_ref().to_vec());
        self.0.modify_each(table, &mut keys, &mut change)
    }

    fn put(&mut self, table: KvTable, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        self.0.put(table, key, value)
    }

    fn delete(&mut self, table: KvTable, key: &[u8]) -> Result<(), StoreError> {
        self.0.delete(table, key)
    }

    fn scan(
        &mut self,
        table: KvTable,
        range: KeyRange<'_>,
        direction: Direction,
        each: &mut Each<'_>,
    ) -> Result<(), StoreError> {
        self.0.scan(table, range, direction, each)
    }

    fn commit(self) -> Result<AnyPending, StoreError> {
        self.0.commit()
    }
}

impl Pending for AnyPending {
    fn wait(self) -> Result<(), StoreError> {
        (self.0)()
    }
}
