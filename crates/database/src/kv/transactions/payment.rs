//! Payment (clause 2.5).

use super::customer::find_customer;
use super::steps::{Moment, Played, change, missing};
use crate::kv::codec::{KvRow, Malformed};
use crate::kv::layout::{customer, district, history, warehouse};
use crate::kv::store::StoreTx;
use crate::profile::{bad_credit_data, history_data};
use lydite_tpcc::text::truncated;
use lydite_tpcc::transactions::{Payment, PaymentOutcome};
use lydite_tpcc::{CustomerId, Timestamp, rows};

/// Runs Payment, clause 2.5.2.
pub(super) fn play(
    tx: &mut impl StoreTx,
    input: &Payment,
    moment: &mut Moment<'_>,
) -> Played<Box<PaymentOutcome>> {
    let (now, number) = (moment.now, moment.next_payment());
    let Payment { w_id, d_id, c_w_id, c_d_id, amount, .. } = *input;
    let c_id = find_customer(tx, c_w_id, c_d_id, &input.customer)?;
    // Warehouse and district come last, as in SQL.
    // C_DATA of a customer with bad credit may change its length.
    let paid = tx.modify(customer::TABLE, &customer::key(c_w_id, c_d_id, c_id), |row| {
        pay_customer(row, input, c_id)
    })?;
    let mut outcome = paid.ok_or_else(|| missing(format_args!("customer {c_w_id}/{c_d_id}/{c_id}")))??;
    let (address, d_name) = change(
        tx,
        district::TABLE,
        &district::key(w_id, d_id),
        format_args!("district {w_id}/{d_id}"),
        |row| {
            district::YTD.add(row, amount)?;
            Ok((district::ADDRESS.get(row)?, district::NAME.get(row)?))
        },
    )?;
    outcome.district = address;
    let (address, w_name) =
        change(tx, warehouse::TABLE, &warehouse::key(w_id), format_args!("warehouse {w_id}"), |row| {
            warehouse::YTD.add(row, amount)?;
            Ok((warehouse::ADDRESS.get(row)?, warehouse::NAME.get(row)?))
        })?;
    outcome.warehouse = address;
    outcome.h_date = now;
    let data = history_data(&w_name, &d_name);
    let row = rows::History { c_id, c_d_id, c_w_id, d_id, w_id, date: now, amount, data };
    let mut value = Vec::with_capacity(64);
    row.encode(&mut value)?;
    tx.put(history::TABLE, &number.key(w_id, d_id), &value)?;
    Ok(Box::new(outcome))
}

/// Applies a payment to the customer's row. Returns the values that the terminal shows.
fn pay_customer(row: &mut Vec<u8>, input: &Payment, c_id: CustomerId) -> Result<PaymentOutcome, Malformed> {
    customer::BALANCE.add(row, -input.amount)?;
    customer::YTD_PAYMENT.add(row, input.amount)?;
    customer::PAYMENT_CNT.add(row, 1)?;
    let c_credit = customer::CREDIT.get(row)?;
    let mut c_data = None;
    if c_credit.as_str() == "BC" {
        let data = bad_credit_data(input, c_id, customer::data(row)?);
        row.truncate(customer::WIDTH);
        row.extend_from_slice(data.as_bytes());
        c_data = Some(truncated(&data));
    }
    let address = customer::ADDRESS.get(row)?;
    Ok(PaymentOutcome {
        // These three are filled in later.
        h_date: Timestamp(0),
        warehouse: address.clone(),
        district: address.clone(),
        c_id,
        c_first: customer::FIRST.get(row)?,
        c_middle: customer::MIDDLE.get(row)?,
        c_last: customer::LAST.get(row)?,
        address,
        c_phone: customer::PHONE.get(row)?,
        c_since: customer::SINCE.get(row)?,
        c_credit,
        c_credit_lim: customer::CREDIT_LIM.get(row)?,
        c_discount: customer::DISCOUNT.get(row)?,
        c_balance: customer::BALANCE.get(row)?,
        c_data,
    })
}
