//! The rows of some transactions, and counts that show half a commit, of a key-value store or a driver.

use crate::kv::scan::RowSource;
use crate::kv::store_error::StoreError;
use crate::reread::{
    FoundCustomer, FoundLine, FoundOrder, FoundPayment, FoundRows, FoundStock, HalfCounts, RowKeys,
};
use lydite_tpcc::{OrderId, WarehouseId, rows};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// Reads the rows of these keys. See [`crate::Target::reread`].
pub fn reread(source: &mut impl RowSource, keys: &RowKeys) -> Result<FoundRows, StoreError> {
    let mut found = FoundRows::default();
    let homes: BTreeSet<WarehouseId> = keys.orders.iter().map(|(w_id, ..)| *w_id).collect();
    for w_id in homes {
        source.rows(Some(w_id), |row: &rows::Order| {
            let key = (row.w_id, row.d_id, row.id);
            if keys.orders.contains(&key) {
                let order = FoundOrder {
                    c_id: row.c_id,
                    is_dated: true,
                    carrier_id: row.carrier_id.map(|carrier| carrier.get()),
                    ol_cnt: row.ol_cnt.into(),
                    all_local: row.all_local,
                };
                found.orders.push((key, order));
            }
        })?;
        source.rows(Some(w_id), |row: &rows::OrderLine| {
            let key = (row.w_id, row.d_id, row.o_id);
            if keys.orders.contains(&key) {
                let line = FoundLine {
                    number: row.number.into(),
                    i_id: row.i_id,
                    supply_w_id: row.supply_w_id,
                    quantity: row.quantity.into(),
                    amount: row.amount,
                    is_delivered: row.delivery_d.is_some(),
                    dist_info: row.dist_info.to_string(),
                };
                found.lines.push((key, line));
            }
        })?;
        source.rows(Some(w_id), |row: &rows::NewOrder| {
            let key = (row.w_id, row.d_id, row.o_id);
            if keys.orders.contains(&key) {
                found.new_orders.push(key);
            }
        })?;
    }
    let homes: BTreeSet<WarehouseId> = keys.customers.iter().map(|(w_id, ..)| *w_id).collect();
    for w_id in homes {
        source.rows(Some(w_id), |row: &rows::Customer| {
            let key = (row.w_id, row.d_id, row.id);
            if keys.customers.contains(&key) {
                let (credit, data) = (row.credit.to_string(), row.data.to_string());
                found.customers.push((key, FoundCustomer { credit, data }));
            }
        })?;
    }
    if !keys.customers.is_empty() {
        // A payment may be of any warehouse.
        source.rows(None, |row: &rows::History| {
            let key = (row.c_w_id, row.c_d_id, row.c_id);
            if keys.customers.contains(&key) {
                let payment = FoundPayment {
                    w_id: row.w_id,
                    d_id: row.d_id,
                    amount: row.amount,
                    date: format!("{:020}", row.date.0),
                    data: row.data.to_string(),
                };
                found.payments.push((key, payment));
            }
        })?;
        source.rows(None, |row: &rows::Warehouse| {
            found.warehouses.insert(row.id, row.name.to_string());
        })?;
        source.rows(None, |row: &rows::District| {
            found.districts.insert((row.w_id, row.id), row.name.to_string());
        })?;
    }
    let homes: BTreeSet<WarehouseId> = keys.stocks.iter().map(|(w_id, _)| *w_id).collect();
    for w_id in homes {
        source.rows(Some(w_id), |row: &rows::Stock| {
            let key = (row.w_id, row.i_id);
            if keys.stocks.contains(&key) {
                let stock = FoundStock { quantity: row.quantity.into(), ytd: row.ytd.into(), dist: row.dist };
                found.stocks.push((key, stock));
            }
        })?;
    }
    Ok(found)
}

/// Counts both sides of transactions in these warehouses. See [`crate::Target::halves`].
pub fn halves(
    source: &mut impl RowSource,
    warehouses: &RangeInclusive<u32>,
    loaded_orders: OrderId,
) -> Result<HalfCounts, StoreError> {
    let mut found = HalfCounts::default();
    let within = |w_id: WarehouseId| i64::from(warehouses.contains(&w_id.0));
    for w_id in warehouses.clone().map(WarehouseId) {
        source.rows(Some(w_id), |row: &rows::District| {
            found.order_ids += row.next_o_id.get() - 1;
            found.districts_ytd += row.ytd;
        })?;
        source.rows(Some(w_id), |row: &rows::Order| {
            found.orders += 1;
            found.announced_lines += i64::from(row.ol_cnt);
        })?;
        source.rows(Some(w_id), |_: &rows::OrderLine| found.lines += 1)?;
        source.rows(Some(w_id), |row: &rows::Stock| found.stock_orders += i64::from(row.order_cnt))?;
        source.rows(Some(w_id), |row: &rows::Customer| found.paid += i64::from(row.payment_cnt))?;
        source.rows(Some(w_id), |row: &rows::History| found.amounts += row.amount)?;
    }
    // These belong to another warehouse than the one that they are stored with.
    source.rows(None, |row: &rows::OrderLine| {
        if row.o_id > loaded_orders {
            found.supplied_lines += within(row.supply_w_id);
        }
    })?;
    source.rows(None, |row: &rows::History| found.payments += within(row.c_w_id))?;
    Ok(found)
}
