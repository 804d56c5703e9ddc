//! New-Order whose lines are several rows in the text of a statement.

use super::lines::{FoundItem, item_is_missing, read_head, taken_from_stock};
use crate::error::RUN_CHECK;
use crate::profile::{is_brand, left_in_stock};
use crate::sql::connection::Step;
use crate::sql::session::{LONGEST_PIPELINE, Played, SqlSession, changed};
use crate::sql::sql_error::SqlError;
use crate::sql::statement::Statement;
use crate::sql::tx_error::SqlTxError;
use crate::sql::value::{Rows, Value};
use arrayvec::ArrayVec;
use lydite_tpcc::Cents;
use lydite_tpcc::text::Text;
use lydite_tpcc::transactions::{MAX_ORDER_LINES, NewOrder, NewOrderLine, NewOrderOutcome};
use std::slice;

/// Number of parameters of an order line.
const OF_LINE: usize = 9;

/// Returns the statement that inserts `count` order lines.
pub(super) fn insert_lines_text(count: usize) -> String {
    let parameters =
        |from: usize, to: usize| (from..to).map(|number| format!("${number}")).collect::<Vec<_>>().join(", ");
    let line = |first: usize| {
        format!("({}, NULL, {})", parameters(first, first + 6), parameters(first + 6, first + OF_LINE))
    };
    let lines: Vec<String> = (0..count).map(|number| line(1 + OF_LINE * number)).collect();
    format!(
        "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, \
         ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES {}",
        lines.join(", ")
    )
}

/// Columns of a line's stock: S_QUANTITY, S_DATA, S_DIST_xx; `None` if it does not exist.
type FoundStock = Option<(i32, Text<50>, Text<24>)>;

/// Runs one New-Order with several rows in a statement.
pub(super) fn play(session: &mut SqlSession, input: &NewOrder) -> Played<NewOrderOutcome> {
    let w = Value::Int(input.w_id.get());
    let d = Value::Int(input.d_id.get());
    let c = Value::Int(input.c_id.get());
    let order = input.access_order();
    let mut items = [Value::Int(0); MAX_ORDER_LINES];
    let mut stocks = [Value::Int(i64::from(input.d_id.stock_column())); 1 + 2 * MAX_ORDER_LINES];
    for place in 0..MAX_ORDER_LINES {
        let line = &input.lines[order[place.min(order.len() - 1)]];
        items[place] = Value::Int(line.i_id.get());
        stocks[1 + 2 * place] = Value::Int(line.supply_w_id.get());
        stocks[2 + 2 * place] = items[place];
    }
    session.send(&[
        (Statement::BeginWrite, &[]),
        (Statement::OrderWarehouse, &[w]),
        (Statement::OrderCustomer, &[w, d, c]),
        (Statement::OrderDistrict, &[w, d]),
        (Statement::TakeOrderId, &[w, d]),
        (Statement::ManyItems, &items),
        (Statement::ManyStocks, &stocks),
    ])?;
    let [_, warehouse, customer, district, taken, item_rows, stock_rows, ..] = &session.rows;
    let head = read_head(input, warehouse, customer, district)?;
    changed(slice::from_ref(taken), 1, || format!("district {}/{}", input.w_id, input.d_id))?;
    let (items, stocks) = found(input, item_rows, stock_rows)?;
    let mut lines: ArrayVec<Option<NewOrderLine>, MAX_ORDER_LINES> =
        input.lines.iter().map(|_| None).collect();
    let booked = book(input, &order, &items, stocks, &mut lines)?;

    let o = Value::Int(head.o_id.get());
    let count = Value::Int(input.lines.len() as i64);
    let all_local = Value::Int(i64::from(input.all_local()));
    let order_params = [o, d, w, c, Value::Time(head.entry_d), count, all_local];
    let new_order_params = [o, d, w];
    let updates: ArrayVec<[Value<'_>; 5], MAX_ORDER_LINES> = booked
        .iter()
        .map(|booked| taken_from_stock(booked.s_quantity, &input.lines[booked.index], input.w_id))
        .collect();
    let mut values: ArrayVec<Value<'_>, { OF_LINE * MAX_ORDER_LINES }> = ArrayVec::new();
    for Booked { index, amount, dist_info, .. } in &booked {
        let line = &input.lines[*index];
        values.extend([
            o,
            d,
            w,
            Value::Int(*index as i64 + 1),
            Value::Int(line.i_id.get()),
            Value::Int(line.supply_w_id.get()),
            Value::Int(i64::from(line.quantity)),
            Value::Money(*amount),
            Value::Text(dist_info),
        ]);
    }
    let mut steps: ArrayVec<Step<'_>, LONGEST_PIPELINE> = ArrayVec::new();
    steps.push((Statement::InsertOrder, &order_params));
    steps.push((Statement::InsertNewOrder, &new_order_params));
    steps.extend(updates.iter().map(|update| -> Step<'_> { (Statement::UpdateStock, update) }));
    if !booked.is_empty() {
        steps.push((Statement::InsertLines.nth(booked.len()), &values));
    }
    session.send(&steps)?;
    changed(&session.rows[..2], 1, || format!("order {}/{}/{}", input.w_id, input.d_id, head.o_id))?;
    changed(&session.rows[2..2 + updates.len()], 1, || format!("a stock of order {}", head.o_id))?;
    if !booked.is_empty() {
        let inserted = slice::from_ref(&session.rows[2 + updates.len()]);
        changed(inserted, booked.len() as u64, || format!("the lines of order {}", head.o_id))?;
    }
    if booked.len() < input.lines.len() {
        return Err(item_is_missing(input, head.rolled_back()));
    }
    session.commit()?;
    Ok(head.complete(lines.into_iter().flatten()))
}

/// Returns items and stocks by line, from the answers of [`Statement::ManyItems`] and [`Statement::ManyStocks`].
fn found(
    input: &NewOrder,
    item_rows: &Rows,
    stock_rows: &Rows,
) -> Result<(ArrayVec<FoundItem, MAX_ORDER_LINES>, ArrayVec<FoundStock, MAX_ORDER_LINES>), SqlError> {
    let mut items: ArrayVec<FoundItem, MAX_ORDER_LINES> = input.lines.iter().map(|_| None).collect();
    for row in 0..item_rows.len() {
        let i_id: i64 = item_rows.int(row, 0)?;
        let item = (item_rows.money(row, 1)?, item_rows.fixed(row, 2)?, item_rows.fixed(row, 3)?);
        for (line, slot) in input.lines.iter().zip(&mut items) {
            if line.i_id.get() == i_id {
                *slot = Some(item);
            }
        }
    }
    let mut stocks: ArrayVec<FoundStock, MAX_ORDER_LINES> = input.lines.iter().map(|_| None).collect();
    for row in 0..stock_rows.len() {
        let (supply_w_id, i_id): (i64, i64) = (stock_rows.int(row, 0)?, stock_rows.int(row, 1)?);
        let stock = (stock_rows.int(row, 2)?, stock_rows.fixed(row, 3)?, stock_rows.fixed(row, 4)?);
        for (line, slot) in input.lines.iter().zip(&mut stocks) {
            if (line.supply_w_id.get(), line.i_id.get()) == (supply_w_id, i_id) {
                *slot = Some(stock);
            }
        }
    }
    Ok((items, stocks))
}

/// A line whose item exists: its index, and values for its rows in STOCK and ORDER-LINE.
struct Booked {
    index: usize,
    s_quantity: i32,
    amount: Cents,
    dist_info: Text<24>,
}

/// Takes the quantities of the lines from their stock, in the order of accesses to stock. Fills the answer of the
/// terminal into `lines`.
fn book(
    input: &NewOrder,
    order: &[usize],
    items: &[FoundItem],
    mut stocks: ArrayVec<FoundStock, MAX_ORDER_LINES>,
    lines: &mut [Option<NewOrderLine>],
) -> Result<ArrayVec<Booked, MAX_ORDER_LINES>, SqlTxError> {
    let mut booked = ArrayVec::new();
    for &index in order {
        let line = &input.lines[index];
        let Some((i_price, i_name, i_data)) = &items[index] else { continue };
        let Some((in_stock, s_data, dist_info)) = stocks[index] else {
            return Err(SqlTxError::WrongRows(format!(
                "stock {}/{} is missing: {RUN_CHECK}",
                line.supply_w_id, line.i_id
            )));
        };
        let s_quantity = left_in_stock(in_stock, i32::from(line.quantity));
        // Later lines of the same stock find the new quantity.
        for (other, stock) in input.lines.iter().zip(&mut stocks) {
            if (other.i_id, other.supply_w_id) == (line.i_id, line.supply_w_id)
                && let Some((quantity, ..)) = stock
            {
                *quantity = s_quantity;
            }
        }
        let amount = i_price.times(u32::from(line.quantity));
        let brand = is_brand(i_data, &s_data);
        lines[index] = Some(NewOrderLine { i_name: *i_name, s_quantity, brand, i_price: *i_price, amount });
        booked.push(Booked { index, s_quantity, amount, dist_info });
    }
    Ok(booked)
}
