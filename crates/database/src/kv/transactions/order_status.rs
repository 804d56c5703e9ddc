//! Order-Status (clause 2.6).

use super::customer::find_customer;
use super::steps::{Moment, Played, get, missing, scan_prefix};
use crate::kv::codec::Malformed;
use crate::kv::layout::{customer, order, order_by_customer, order_line};
use crate::kv::store::{Direction, StoreTx};
use lydite_tpcc::transactions::{MAX_ORDER_LINES, OrderStatus, OrderStatusLine, OrderStatusOutcome};
use std::ops::ControlFlow;

/// Runs Order-Status, clause 2.6.2.
pub(super) fn play(
    tx: &mut impl StoreTx,
    input: &OrderStatus,
    _: &mut Moment<'_>,
) -> Played<OrderStatusOutcome> {
    let OrderStatus { w_id, d_id, .. } = *input;
    let c_id = find_customer(tx, w_id, d_id, &input.customer)?;
    let (c_first, c_middle, c_last, c_balance) = get(
        tx,
        customer::TABLE,
        &customer::key(w_id, d_id, c_id),
        format_args!("customer {w_id}/{d_id}/{c_id}"),
        |row| {
            Ok((
                customer::FIRST.get(row)?,
                customer::MIDDLE.get(row)?,
                customer::LAST.get(row)?,
                customer::BALANCE.get(row)?,
            ))
        },
    )?;
    let mut last = None;
    let orders = order_by_customer::prefix(w_id, d_id, c_id);
    scan_prefix(tx, order_by_customer::TABLE, &orders, Direction::Backward, |key, _| {
        last = Some(order_by_customer::o_id(key));
        ControlFlow::Break(())
    })?;
    let o_id = last.ok_or_else(|| missing(format_args!("an order of customer {w_id}/{d_id}/{c_id}")))??;
    let key = order::key(w_id, d_id, o_id);
    let (entry_d, carrier_id) =
        get(tx, order::TABLE, &key, format_args!("order {w_id}/{d_id}/{o_id}"), |row| {
            Ok((order::ENTRY_D.get(row)?, order::CARRIER_ID.get(row)?))
        })?;
    let mut lines = Vec::with_capacity(MAX_ORDER_LINES);
    // The keys come in the order of OL_NUMBER.
    scan_prefix(tx, order_line::TABLE, &key, Direction::Forward, |_, row| {
        lines.push(status_line(row));
        ControlFlow::Continue(())
    })?;
    if lines.is_empty() {
        return Err(missing(format_args!("a line of order {w_id}/{d_id}/{o_id}")));
    }
    let lines = lines.into_iter().collect::<Result<_, _>>()?;
    Ok(OrderStatusOutcome { c_id, c_first, c_middle, c_last, c_balance, o_id, entry_d, carrier_id, lines })
}

fn status_line(row: &[u8]) -> Result<OrderStatusLine, Malformed> {
    Ok(OrderStatusLine {
        i_id: order_line::I_ID.get(row)?,
        supply_w_id: order_line::SUPPLY_W_ID.get(row)?,
        quantity: order_line::QUANTITY.get(row)?,
        amount: order_line::AMOUNT.get(row)?,
        delivery_d: order_line::DELIVERY_D.get(row)?,
    })
}
