//! Transactions that stop at points of their own, over any key-value store: the usual text over a transaction of the
//! store that knows which reads are points.

use crate::error::TxError;
use crate::held::{Held, HeldTransaction, Point, Script, Then};
use crate::kv::any::{AnyPending, AnyStore, AnyTx};
use crate::kv::codec::{KeyPart, KvRow};
use crate::kv::layout::{HistoryNumber, order_by_customer};
use crate::kv::session::{access, failed, next_number, play};
use crate::kv::store::{Direction, Each, KeyRange, KvTable, Pending, StoreTx};
use crate::kv::store_error::StoreError;
use crate::kv::transactions::KvTxError;
use crate::session::Session;
use lydite_tpcc::{DistrictId, Outcome, WarehouseId, rows};
use std::sync::Arc;

/// Session for transactions that stop, on an open store.
pub(super) struct KvHeld {
    store: Arc<dyn AnyStore>,
    number: HistoryNumber,
}

impl KvHeld {
    /// Makes a session. Opens nothing.
    pub(super) fn new(store: Arc<dyn AnyStore>) -> Self {
        Self { store, number: next_number() }
    }
}

impl Session<Held> for KvHeld {
    fn execute(&mut self, held: &HeldTransaction) -> Result<Outcome, TxError> {
        let HeldTransaction { transaction, script } = held;
        let inner = self.store.begin_any(access(transaction)).map_err(StoreError::in_transaction)?;
        let mut tx = HeldTx { inner, script, items: 0 };
        match play(&mut tx, transaction, &mut self.number) {
            Ok(outcome) => {
                if script.reach(Point::End) != Then::RollBack {
                    let pending = tx.inner.commit().map_err(StoreError::in_transaction)?;
                    pending.wait().map_err(StoreError::in_wait)?;
                }
                Ok(outcome)
            }
            Err(error) => {
                if matches!(error, KvTxError::UnusedItem(_)) {
                    script.reach(Point::End);
                }
                Err(failed(error, transaction))
            }
        }
    }
}

/// A transaction of the store that calls a script.
struct HeldTx<'a> {
    inner: AnyTx<'a>,
    script: &'a Script,
    /// Items that it has read.
    items: usize,
}

/// Returns the point behind a scan, from the first entry that it found.
fn behind(table: KvTable, from: &[u8], first: Option<(Vec<u8>, Vec<u8>)>) -> Option<Point> {
    match table {
        KvTable::NewOrder => {
            let found = match first {
                Some((key, value)) => Some(rows::NewOrder::decode(&key, &value).ok()?),
                None => None,
            };
            let mut prefix = from;
            WarehouseId::take(&mut prefix)?;
            Some(Point::Oldest(DistrictId::take(&mut prefix)?, found.map(|row| row.o_id)))
        }
        KvTable::OrderByCustomer => {
            let found = match first {
                Some((key, _)) => Some(order_by_customer::o_id(&key).ok()?),
                None => None,
            };
            Some(Point::LastOrder(found))
        }
        _ => None,
    }
}

impl StoreTx for HeldTx<'_> {
    type Pending = AnyPending;

    /// Each item is a point, also if several are read: [`StoreTx::read_each`] reads them by this function.
    fn read<R>(
        &mut self,
        table: KvTable,
        key: &[u8],
        found: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, StoreError> {
        let read = self.inner.read(table, key, found)?;
        if table == KvTable::Item {
            self.items += 1;
            self.script.reach(Point::Item(self.items));
        }
        Ok(read)
    }

    fn modify<R>(
        &mut self,
        table: KvTable,
        key: &[u8],
        change: impl FnOnce(&mut Vec<u8>) -> R,
    ) -> Result<Option<R>, StoreError> {
        self.inner.modify(table, key, change)
    }

    fn modify_in_place<R>(
        &mut self,
        table: KvTable,
        key: &[u8],
        change: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<Option<R>, StoreError> {
        self.inner.modify_in_place(table, key, change)
    }

    fn modify_each<K: AsRef<[u8]>>(
        &mut self,
        table: KvTable,
        keys: impl IntoIterator<Item = K>,
        change: impl FnMut(usize, &mut [u8]),
    ) -> Result<(), StoreError> {
        self.inner.modify_each(table, keys, change)
    }

    fn put(&mut self, table: KvTable, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        self.inner.put(table, key, value)
    }

    fn delete(&mut self, table: KvTable, key: &[u8]) -> Result<(), StoreError> {
        self.inner.delete(table, key)
    }

    fn scan(
        &mut self,
        table: KvTable,
        range: KeyRange<'_>,
        direction: Direction,
        each: &mut Each<'_>,
    ) -> Result<(), StoreError> {
        loop {
            let mut first = None;
            self.inner.scan(table, range, direction, &mut |key, value| {
                first.get_or_insert_with(|| (key.to_vec(), value.to_vec()));
                each(key, value)
            })?;
            match behind(table, range.from, first) {
                Some(point) if self.script.reach(point) == Then::Repeat => {}
                _ => return Ok(()),
            }
        }
    }

    fn commit(self) -> Result<AnyPending, StoreError> {
        self.inner.commit()
    }
}
