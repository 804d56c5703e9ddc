//! Sources of rows for checks and checksums: scans of a key-value store, or a driver that reads tables back.

use crate::kv::any::AnyTx;
use crate::kv::codec::{Key, KeyPart, KvRow, behind};
use crate::kv::columns::FromColumns;
use crate::kv::layout::warehouse;
use crate::kv::store::{Direction, KeyRange, KvTable, StoreTx};
use crate::kv::store_error::StoreError;
use lydite_tpcc::WarehouseId;
use lydite_tpcc::schema::Table;
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
        let from = of.map(warehouse::key).unwrap_or_default();
        let below = behind(&from);
        rows_of(self.0, KeyRange { from: &from, below: below.as_deref() }, each)
    }
}

/// Passes all rows of a range to `each`, by key.
pub fn rows_of<R: KvRow>(
    tx: &mut AnyTx<'_>,
    range: KeyRange<'_>,
    mut each: impl FnMut(&R),
) -> Result<(), StoreError> {
    let mut decoded = Ok(());
    tx.scan(R::KV_TABLE, range, Direction::Forward, &mut |key, value| match R::decode(key, value) {
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
