//! The deferred part of Delivery (clause 2.7.4).

use super::steps::{KvTxError, Moment, Played, change, missing, scan_prefix};
use crate::kv::codec::KvRow;
use crate::kv::layout::{customer, district_prefix, new_order, order, order_line};
use crate::kv::store::{Direction, StoreTx};
use lydite_tpcc::transactions::{Delivery, DeliveryOutcome, MAX_ORDER_LINES};
use lydite_tpcc::{Cents, DistrictId, OrderId, Timestamp, WarehouseId, rows};
use std::ops::ControlFlow;

/// Runs the deferred part of Delivery, clause 2.7.4: all districts of the warehouse in one transaction.
pub(super) fn play(
    tx: &mut impl StoreTx,
    input: &Delivery,
    moment: &mut Moment<'_>,
) -> Played<DeliveryOutcome> {
    let mut delivered = Vec::with_capacity(usize::from(input.districts));
    for d_id in input.district_ids() {
        // A district without an undelivered order is skipped (clause 2.7.4.2).
        let Some(o_id) = oldest_new_order(tx, input.w_id, d_id)? else { continue };
        deliver(tx, input, d_id, o_id, moment.now)?;
        delivered.push((d_id, o_id));
    }
    Ok(DeliveryOutcome { delivered })
}

fn oldest_new_order(
    tx: &mut impl StoreTx,
    w_id: WarehouseId,
    d_id: DistrictId,
) -> Result<Option<OrderId>, KvTxError> {
    let mut oldest = None;
    let district = district_prefix(w_id, d_id);
    scan_prefix(tx, new_order::TABLE, &district, Direction::Forward, |key, value| {
        oldest = Some(rows::NewOrder::decode(key, value));
        ControlFlow::Break(())
    })?;
    Ok(oldest.transpose()?.map(|row| row.o_id))
}

fn deliver(
    tx: &mut impl StoreTx,
    input: &Delivery,
    d_id: DistrictId,
    o_id: OrderId,
    now: Timestamp,
) -> Result<(), KvTxError> {
    let Delivery { w_id, carrier_id, .. } = *input;
    tx.delete(new_order::TABLE, &new_order::key(w_id, d_id, o_id))?;
    let key = order::key(w_id, d_id, o_id);
    let c_id = change(tx, order::TABLE, &key, format_args!("order {w_id}/{d_id}/{o_id}"), |row| {
        order::CARRIER_ID.set(row, &Some(carrier_id))?;
        order::C_ID.get(row)
    })?;
    // The scan borrows the transaction, so it can't change the rows that it reads.
    let mut numbers = Vec::with_capacity(MAX_ORDER_LINES);
    scan_prefix(tx, order_line::TABLE, &key, Direction::Forward, |key, _| {
        numbers.extend(key.last());
        ControlFlow::Continue(())
    })?;
    if numbers.is_empty() {
        return Err(missing(format_args!("the lines of order {w_id}/{d_id}/{o_id}")));
    }
    let mut sum = Cents(0);
    for number in numbers {
        let line = order_line::key(w_id, d_id, o_id, number);
        let what = format_args!("line {number} of order {w_id}/{d_id}/{o_id}");
        sum += change(tx, order_line::TABLE, &line, what, |row| {
            order_line::DELIVERY_D.set(row, &Some(now))?;
            order_line::AMOUNT.get(row)
        })?;
    }
    change(
        tx,
        customer::TABLE,
        &customer::key(w_id, d_id, c_id),
        format_args!("customer {w_id}/{d_id}/{c_id}"),
        |row| {
            customer::BALANCE.add(row, sum)?;
            customer::DELIVERY_CNT.add(row, 1)
        },
    )
}
