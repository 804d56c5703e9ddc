//! New-Order with a round trip for each step.

use super::lines::{item_is_missing, taken_from_stock};
use crate::profile::{OrderHead, is_brand, left_in_stock};
use crate::sql::session::{Played, SqlSession, one};
use crate::sql::statement::Statement;
use crate::sql::value::Value;
use arrayvec::ArrayVec;
use lydite_tpcc::OrderId;
use lydite_tpcc::input::Contended;
use lydite_tpcc::text::Text;
use lydite_tpcc::transactions::{MAX_ORDER_LINES, NewOrder, NewOrderLine, NewOrderOutcome};

/// Runs one New-Order step by step.
pub(super) fn play(session: &mut SqlSession, input: &NewOrder) -> Played<NewOrderOutcome> {
    let w = Value::Int(input.w_id.get());
    let d = Value::Int(input.d_id.get());
    let c = Value::Int(input.c_id.get());
    session.step(Statement::BeginWrite, &[])?;
    let rows = session.step(Statement::OrderWarehouse, &[w])?;
    one(rows, || format!("warehouse {}", input.w_id))?;
    let (w_tax, entry_d) = (rows.rate(0, 0)?, rows.time(0, 1)?);
    let rows = session.step(Statement::OrderCustomer, &[w, d, c])?;
    one(rows, || format!("customer {}/{}/{}", input.w_id, input.d_id, input.c_id))?;
    let (c_discount, c_last, c_credit) = (rows.rate(0, 0)?, rows.fixed(0, 1)?, rows.fixed(0, 2)?);
    session.report_request(Contended::District);
    let rows = session.step(Statement::OrderDistrict, &[w, d])?;
    one(rows, || format!("district {}/{}", input.w_id, input.d_id))?;
    let (d_tax, o_id) = (rows.rate(0, 0)?, OrderId(rows.int(0, 1)?));
    let head = OrderHead { o_id, entry_d, c_last, c_credit, c_discount, w_tax, d_tax };
    let o = Value::Int(o_id.get());
    session.change(Statement::TakeOrderId, &[w, d])?;
    let count = Value::Int(input.lines.len() as i64);
    let all_local = Value::Int(i64::from(input.all_local()));
    session.change(Statement::InsertOrder, &[o, d, w, c, Value::Time(entry_d), count, all_local])?;
    session.change(Statement::InsertNewOrder, &[o, d, w])?;

    let mut lines: ArrayVec<Option<NewOrderLine>, MAX_ORDER_LINES> =
        input.lines.iter().map(|_| None).collect();
    let stock = Statement::Stock.nth(usize::from(input.d_id.stock_column()));
    for (place, index) in input.access_order().into_iter().enumerate() {
        let line = &input.lines[index];
        let item = Value::Int(line.i_id.get());
        let supply = Value::Int(line.supply_w_id.get());
        let rows = session.step(Statement::Item, &[item])?;
        if rows.is_empty() {
            // The unused item: all valid lines are done, so the profile ends here (clause 2.4.2.3).
            return Err(item_is_missing(input, head.rolled_back()));
        }
        let i_price = rows.money(0, 0)?;
        let i_name = rows.fixed(0, 1)?;
        let i_data: Text<50> = rows.fixed(0, 2)?;
        if place == 0 {
            session.report_request(Contended::Stock);
        }
        let rows = session.step(stock, &[supply, item])?;
        one(rows, || format!("stock {}/{}", line.supply_w_id, line.i_id))?;
        let quantity = i32::from(line.quantity);
        let in_stock: i32 = rows.int(0, 0)?;
        let brand = is_brand(&i_data, rows.text(0, 1)?);
        let dist_info: Text<24> = rows.fixed(0, 2)?;
        let s_quantity = left_in_stock(in_stock, quantity);
        let ordered = Value::Int(i64::from(quantity));
        session.change(Statement::UpdateStock, &taken_from_stock(s_quantity, line, input.w_id))?;
        let amount = i_price.times(u32::from(line.quantity));
        let number = Value::Int(index as i64 + 1);
        session.change(
            Statement::InsertOrderLine,
            &[o, d, w, number, item, supply, ordered, Value::Money(amount), Value::Text(&dist_info)],
        )?;
        lines[index] = Some(NewOrderLine { i_name, s_quantity, brand, i_price, amount });
    }
    session.commit()?;
    Ok(head.complete(lines.into_iter().flatten()))
}
