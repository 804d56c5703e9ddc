//! Stock-Level (clause 2.8).

use super::steps::{KvTxError, Moment, Played, get, missing};
use crate::kv::layout::{district, order, order_line, stock};
use crate::kv::store::{Direction, KeyRange, StoreTx};
use lydite_tpcc::transactions::{MAX_ORDER_LINES, StockLevel, StockLevelOutcome};
use lydite_tpcc::{DistrictId, OrderId, WarehouseId};
use std::ops::ControlFlow;

/// Orders that Stock-Level examines (clause 2.8.2.2).
const RECENT_ORDERS: u64 = 20;

/// Runs Stock-Level, clause 2.8.2.
pub(super) fn play(
    tx: &mut impl StoreTx,
    input: &StockLevel,
    _: &mut Moment<'_>,
) -> Played<StockLevelOutcome> {
    let mut low_stock = 0;
    for (w_id, d_id) in input.districts() {
        low_stock += low_stock_of(tx, w_id, d_id, input.threshold)?;
    }
    Ok(StockLevelOutcome { low_stock })
}

/// Returns the items of a district's last orders whose stock is below the threshold.
fn low_stock_of(
    tx: &mut impl StoreTx,
    w_id: WarehouseId,
    d_id: DistrictId,
    threshold: u8,
) -> Result<u32, KvTxError> {
    let next = get(
        tx,
        district::TABLE,
        &district::key(w_id, d_id),
        format_args!("district {w_id}/{d_id}"),
        |row| district::NEXT_O_ID.get(row),
    )?;
    let from = order::key(w_id, d_id, OrderId(next.0.saturating_sub(RECENT_ORDERS)));
    let below = order::key(w_id, d_id, next);
    let mut items = Vec::with_capacity(RECENT_ORDERS as usize * MAX_ORDER_LINES);
    let mut bad = Ok(());
    let range = KeyRange { from: &from, below: Some(&below) };
    // With skewed data a warehouse stocks a part of the items, and others supply the rest.
    let item = |row: &[u8]| {
        let item = order_line::I_ID.get(row)?;
        order_line::SUPPLY_W_ID.get(row).map(|supply_w_id| (item, supply_w_id != w_id))
    };
    tx.scan(order_line::TABLE, range, Direction::Forward, &mut |_, row| match item(row) {
        Ok(item) => {
            items.push(item);
            ControlFlow::Continue(())
        }
        Err(malformed) => {
            bad = Err(malformed);
            ControlFlow::Break(())
        }
    })?;
    bad?;
    // One that the warehouse has supplied itself, at least once, comes first and stays.
    items.sort_unstable();
    items.dedup_by_key(|(i_id, _)| *i_id);
    let mut quantities = vec![None; items.len()];
    tx.read_each(stock::TABLE, items.iter().map(|&(i_id, _)| stock::key(w_id, i_id)), |number, row| {
        quantities[number] = Some(stock::QUANTITY.get(row));
    })?;
    let mut low_stock = 0;
    for ((i_id, from_elsewhere), quantity) in items.into_iter().zip(quantities) {
        match quantity {
            Some(quantity) => low_stock += u32::from(quantity? < i32::from(threshold)),
            None if from_elsewhere => {}
            None => return Err(missing(format_args!("stock {w_id}/{i_id}"))),
        }
    }
    Ok(low_stock)
}
