//! The rows that New-Orders and Payments write, of a key-value store or a driver.

use crate::kv::scan::RowSource;
use crate::kv::store_error::StoreError;
use crate::written::{PaymentKey, Written, WrittenOrder};
use lydite_tpcc::{OrderId, WarehouseId, rows};
use std::ops::RangeInclusive;

/// Reads the rows of these warehouses. See [`crate::Target::written`].
pub fn written(
    source: &mut impl RowSource,
    warehouses: &RangeInclusive<u32>,
    orders_from: Option<OrderId>,
) -> Result<Written, StoreError> {
    let mut written = Written::default();
    for w_id in warehouses.clone().map(WarehouseId) {
        source.rows(Some(w_id), |row: &rows::District| {
            written.next_orders.insert((row.w_id, row.id), row.next_o_id);
        })?;
        if let Some(from) = orders_from {
            source.rows(Some(w_id), |row: &rows::Order| {
                if row.id >= from {
                    let (d_id, o_id, c_id) = (row.d_id, row.id, row.c_id);
                    written.orders.push(WrittenOrder { w_id: row.w_id, d_id, o_id, c_id });
                }
            })?;
        }
        source.rows(Some(w_id), |row: &rows::History| {
            let (c_w_id, c_d_id, amount) = (row.c_w_id, row.c_d_id, row.amount);
            let key = PaymentKey { w_id: row.w_id, d_id: row.d_id, c_w_id, c_d_id, amount };
            written.payments.entry(key).or_default().add(row.c_id);
        })?;
    }
    Ok(written)
}
