//! Counts that New-Orders, Payments and Deliveries change, of a key-value store or a driver.

use crate::facts::LedgerCounts;
use crate::kv::scan::RowSource;
use crate::kv::store_error::StoreError;
use lydite_tpcc::{WarehouseId, rows};
use std::ops::RangeInclusive;

/// Counts in these warehouses. See [`crate::Target::counts`].
pub fn counts(
    source: &mut impl RowSource,
    warehouses: &RangeInclusive<u32>,
) -> Result<LedgerCounts, StoreError> {
    let mut counts = LedgerCounts::default();
    for w_id in warehouses.clone().map(WarehouseId) {
        source.rows(Some(w_id), |row: &rows::District| counts.next_order_ids += row.next_o_id.0)?;
        source.rows(Some(w_id), |_: &rows::History| counts.payments += 1)?;
        source.rows(Some(w_id), |_: &rows::NewOrder| counts.new_orders += 1)?;
    }
    Ok(counts)
}
