//! Sources of rows for checks and checksums: scans of a key-value store, or a driver that reads tables back.

use crate::kv::any::AnyTx;
use crate::kv::codec::{Key, KeyPart, KvRow, Malformed, behind};
use crate::kv::columns::FromColumns;
use crate::kv::layout::{stock, warehouse};
use crate::kv::store::{Direction, KeyRange, KvTable, StoreTx};
use crate::kv::store_error::StoreError;
use lydite_tpcc::consistency::StockCounts;
use lydite_tpcc::rows::Stock;
use lydite_tpcc::schema::Table;
use lydite_tpcc::{ItemId, WarehouseId};
use std::ops::ControlFlow;

/// A state of the database from which typed rows can be read.
pub trait RowSource {
    /// Returns the first warehouse after `last` with a row in any of the tables.
    fn next_warehouse(
        &mut self,
        tables: &[Table],
        last: Option<WarehouseId>,
    ) -> Result<Option<WarehouseId>, StoreError>;

    /// Passes all rows of a table, or of one warehouse, to `each`.
    fn rows<R: KvRow + FromColumns>(
        &mut self,
        of: Option<WarehouseId>,
        each: impl FnMut(&R),
    ) -> Result<(), StoreError>;

    /// Passes the counts of a warehouse's rows of STOCK to `each`.
    fn stock_counts(
        &mut self,
        of: WarehouseId,
        mut each: impl FnMut(&StockCounts),
    ) -> Result<(), StoreError> {
        self.rows(Some(of), |row: &Stock| each(&row.into()))
    }
}

/// Rows that a transaction of a store sees, by key.
pub struct Scanned<'a, 'b>(pub &'a mut AnyTx<'b>);

impl RowSource for Scanned<'_, '_> {
    fn next_warehouse(
        &mut self,
        tables: &[Table],
        last: Option<WarehouseId>,
    ) -> Result<Option<WarehouseId>, StoreError> {
        let from = match last {
            None => Key::new(),
            Some(last) => match behind(&warehouse::key(last)) {
                Some(key) => key,
                None => return Ok(None),
            },
        };
        let mut next: Option<WarehouseId> = None;
        for &table in tables {
            let range = KeyRange { from: &from, below: None };
            self.0.scan(KvTable::from(table), range, Direction::Forward, &mut |mut key, _| {
                let found = WarehouseId::take(&mut key);
                next = next.into_iter().chain(found).min();
                ControlFlow::Break(())
            })?;
        }
        Ok(next)
    }

    fn rows<R: KvRow + FromColumns>(
        &mut self,
        of: Option<WarehouseId>,
        each: impl FnMut(&R),
    ) -> Result<(), StoreError> {
        self.decoded(R::KV_TABLE, of, R::decode, each)
    }

    fn stock_counts(&mut self, of: WarehouseId, each: impl FnMut(&StockCounts)) -> Result<(), StoreError> {
        self.decoded(KvTable::Stock, Some(of), counts, each)
    }
}

impl Scanned<'_, '_> {
    /// Decodes the entries of a table, or of one warehouse in it, and passes them to `each` in the order of the keys.
    fn decoded<R>(
        &mut self,
        table: KvTable,
        of: Option<WarehouseId>,
        decode: impl Fn(&[u8], &[u8]) -> Result<R, Malformed>,
        mut each: impl FnMut(&R),
    ) -> Result<(), StoreError> {
        let from = of.map(warehouse::key).unwrap_or_default();
        let below = behind(&from);
        let range = KeyRange { from: &from, below: below.as_deref() };
        let mut decoded = Ok(());
        self.0.scan(table, range, Direction::Forward, &mut |key, value| match decode(key, value) {
            Ok(row) => {
                each(&row);
                ControlFlow::Continue(())
            }
            Err(malformed) => {
                decoded = Err(malformed);
                ControlFlow::Break(())
            }
        })?;
        Ok(decoded?)
    }
}

/// Reads the counts of a row of STOCK.
fn counts(mut key: &[u8], value: &[u8]) -> Result<StockCounts, Malformed> {
    const KEY: Malformed = Malformed("the key of stock");
    Ok(StockCounts {
        w_id: WarehouseId::take(&mut key).ok_or(KEY)?,
        i_id: ItemId::take(&mut key).ok_or(KEY)?,
        quantity: stock::QUANTITY.get(value)?,
        ytd: stock::YTD.get(value)?,
        order_cnt: stock::ORDER_CNT.get(value)?,
        remote_cnt: stock::REMOTE_CNT.get(value)?,
    })
}
