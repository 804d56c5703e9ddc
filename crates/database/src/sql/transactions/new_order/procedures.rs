//! New-Order as a call of a stored procedure.

use super::lines::{item_is_missing, rounds};
use crate::sql::session::{Played, SqlSession};
use crate::sql::sql_error::SqlError;
use crate::sql::statement::Statement;
use crate::sql::tx_error::SqlTxError;
use crate::sql::value::{Rows, Value};
use arrayvec::ArrayVec;
use lydite_tpcc::text::Text;
use lydite_tpcc::transactions::{MAX_ORDER_LINES, NewOrder, NewOrderLine, NewOrderOutcome};
use lydite_tpcc::{OrderId, RolledBackOrder};

/// SQLSTATE that `lydite_new_order` raises for an unused item. The detail is `O_ID|C_CREDIT|C_LAST`.
pub const UNUSED_ITEM: &str = "LY001";

/// Runs one New-Order as a call.
pub(super) fn play(session: &mut SqlSession, input: &NewOrder) -> Played<NewOrderOutcome> {
    type Column = ArrayVec<i32, MAX_ORDER_LINES>;
    let order = input.access_order();
    let rounds = rounds(input);
    let numbers: Column = order.iter().map(|&index| index as i32 + 1).collect();
    let items: Column = order.iter().map(|&index| input.lines[index].i_id.0 as i32).collect();
    let supplies: Column = order.iter().map(|&index| input.lines[index].supply_w_id.0 as i32).collect();
    let quantities: Column = order.iter().map(|&index| i32::from(input.lines[index].quantity)).collect();
    let rounds: Column = order.iter().map(|&index| rounds[index]).collect();
    let params = [
        Value::Int(input.w_id.get()),
        Value::Int(input.d_id.get()),
        Value::Int(input.c_id.get()),
        Value::Ints(&numbers),
        Value::Ints(&items),
        Value::Ints(&supplies),
        Value::Ints(&quantities),
        Value::Ints(&rounds),
    ];
    let read = |rows: &Rows| called(rows, input);
    match session.call(Statement::BeginWrite, Statement::CallNewOrder, &params, read) {
        Err(SqlTxError::CommitFailed(SqlError::Database { code, detail: Some(detail), .. }))
            if code == UNUSED_ITEM =>
        {
            Err(item_is_missing(input, rolled_back(&detail)?))
        }
        played => played,
    }
}

/// Reads the detail of [`UNUSED_ITEM`].
fn rolled_back(detail: &str) -> Result<RolledBackOrder, SqlError> {
    let parse = || {
        let mut parts = detail.splitn(3, '|');
        let o_id = OrderId(parts.next()?.parse().ok()?);
        let c_credit = Text::from(parts.next()?).ok()?;
        let c_last = Text::from(parts.next()?).ok()?;
        Some(RolledBackOrder { o_id, c_last, c_credit })
    };
    parse().ok_or_else(|| {
        SqlError::Decode(format!("lydite_new_order reported {detail:?}: load the database again"))
    })
}

/// Reads the answer of [`Statement::CallNewOrder`].
fn called(rows: &Rows, input: &NewOrder) -> Result<NewOrderOutcome, SqlError> {
    let names = rows.array(0, 8)?;
    let quantities = rows.array(0, 9)?;
    let brands = rows.array(0, 10)?;
    let prices = rows.array(0, 11)?;
    let mut lines = Vec::with_capacity(input.lines.len());
    for (index, line) in input.lines.iter().enumerate() {
        let i_price = prices.money(index)?;
        lines.push(NewOrderLine {
            i_name: names.fixed(index)?,
            s_quantity: quantities.int(index)?,
            brand: brands.bool(index)?,
            i_price,
            amount: i_price.times(u32::from(line.quantity)),
        });
    }
    Ok(NewOrderOutcome {
        o_id: OrderId(rows.int(0, 0)?),
        entry_d: rows.time(0, 1)?,
        c_last: rows.fixed(0, 2)?,
        c_credit: rows.fixed(0, 3)?,
        c_discount: rows.rate(0, 4)?,
        w_tax: rows.rate(0, 5)?,
        d_tax: rows.rate(0, 6)?,
        total: rows.money(0, 7)?,
        lines,
    })
}
