//! New-Order whose lines are arrays of one statement.

use super::lines::{FoundItem, item_is_missing, read_head, rounds};
use crate::profile::is_brand;
use crate::sql::connection::Step;
use crate::sql::session::{Played, SqlSession, changed, committed_one_each, returned_one};
use crate::sql::sql_error::SqlError;
use crate::sql::statement::Statement;
use crate::sql::tx_error::SqlTxError;
use crate::sql::value::{Rows, Value};
use arrayvec::ArrayVec;
use lydite_tpcc::Cents;
use lydite_tpcc::transactions::{MAX_ORDER_LINES, NewOrder, NewOrderLine, NewOrderOutcome};
use std::slice;

/// Runs one New-Order with arrays.
pub(super) fn play(session: &mut SqlSession, input: &NewOrder) -> Played<NewOrderOutcome> {
    let w = Value::Int(input.w_id.get());
    let d = Value::Int(input.d_id.get());
    let c = Value::Int(input.c_id.get());
    let items: ArrayVec<i32, MAX_ORDER_LINES> = input.lines.iter().map(|line| line.i_id.0 as i32).collect();
    session.send(&[
        (Statement::BeginWrite, &[]),
        (Statement::OrderWarehouse, &[w]),
        (Statement::OrderCustomer, &[w, d, c]),
        (Statement::BatchItems, &[Value::Ints(&items)]),
        (Statement::BatchTakeOrderId, &[w, d]),
    ])?;
    let [_, warehouse, customer, item_rows, district, ..] = &session.rows;
    returned_one(district, || format!("UPDATE district {}/{}", input.w_id, input.d_id))?;
    let head = read_head(input, warehouse, customer, district)?;
    let found = items_of_lines(input, item_rows)?;
    let unused_item = found.iter().any(Option::is_none);

    let rounds = rounds(input);
    let last_round = rounds.iter().copied().max().unwrap_or(1);
    let mut lines: ArrayVec<Option<NewOrderLine>, MAX_ORDER_LINES> =
        input.lines.iter().map(|_| None).collect();
    let o = Value::Int(head.o_id.get());
    let count = Value::Int(input.lines.len() as i64);
    let all_local = Value::Int(i64::from(input.all_local()));
    let order_params = [o, d, w, c, Value::Time(head.entry_d), count, all_local];
    let new_order_params = [o, d, w];
    for round in 1..=last_round {
        let columns = Columns::of_round(input, &found, &rounds, round);
        let line_params = [
            o,
            d,
            w,
            Value::Ints(&columns.numbers),
            Value::Ints(&columns.items),
            Value::Ints(&columns.supplies),
            Value::Ints(&columns.quantities),
            Value::Monies(&columns.amounts),
        ];
        let mut steps: ArrayVec<Step<'_>, 4> = ArrayVec::new();
        if round == 1 {
            // The order comes before its lines, which refer to it.
            steps.push((Statement::InsertOrder, &order_params));
            steps.push((Statement::InsertNewOrder, &new_order_params));
        }
        let lines_step = steps.len();
        steps.push((Statement::BatchLines, &line_params));
        let committed = round == last_round && !unused_item;
        let sent = if committed {
            steps.push((Statement::Commit, &[]));
            session.send_with_commit(&steps)
        } else {
            session.send(&steps)
        };
        let order = || format!("order {}/{}/{}", input.w_id, input.d_id, head.o_id);
        sent.map_err(|error| error.named("the order", order))?;
        let inserts = [Statement::InsertOrder, Statement::InsertNewOrder];
        let answers = || inserts.into_iter().zip(&session.rows).take(lines_step);
        if committed {
            committed_one_each(answers(), session.dialect)?;
        } else {
            for (statement, rows) in answers() {
                changed(slice::from_ref(rows), 1, || statement.in_words(session.dialect))?;
            }
        }
        taken(&session.rows[lines_step], input, &found, &mut lines).map_err(|error| {
            if committed { SqlTxError::CommitFailed(error) } else { SqlTxError::Failed(error) }
        })?;
    }
    if unused_item {
        return Err(item_is_missing(input, head.rolled_back()));
    }
    Ok(head.complete(lines.into_iter().flatten()))
}

/// Reads the answer of [`Statement::BatchItems`].
fn items_of_lines(input: &NewOrder, rows: &Rows) -> Result<ArrayVec<FoundItem, MAX_ORDER_LINES>, SqlError> {
    let mut found: ArrayVec<FoundItem, MAX_ORDER_LINES> = input.lines.iter().map(|_| None).collect();
    for row in 0..rows.len() {
        let number: usize = rows.int(row, 0)?;
        let slot = found
            .get_mut(number.wrapping_sub(1))
            .ok_or_else(|| SqlError::Decode(format!("no line {number}")))?;
        *slot = Some((rows.money(row, 1)?, rows.fixed(row, 2)?, rows.fixed(row, 3)?));
    }
    Ok(found)
}

/// Lines of an order, as the columns of [`Statement::BatchLines`].
#[derive(Default)]
struct Columns {
    numbers: ArrayVec<i32, MAX_ORDER_LINES>,
    items: ArrayVec<i32, MAX_ORDER_LINES>,
    supplies: ArrayVec<i32, MAX_ORDER_LINES>,
    quantities: ArrayVec<i32, MAX_ORDER_LINES>,
    amounts: ArrayVec<Cents, MAX_ORDER_LINES>,
}

impl Columns {
    /// Returns the lines of one round whose items exist.
    fn of_round(input: &NewOrder, found: &[FoundItem], rounds: &[i32], round: i32) -> Self {
        let mut columns = Self::default();
        for index in input.access_order() {
            let line = &input.lines[index];
            let Some((i_price, _, _)) = &found[index] else { continue };
            if rounds[index] == round {
                columns.numbers.push(index as i32 + 1);
                columns.items.push(line.i_id.0 as i32);
                columns.supplies.push(line.supply_w_id.0 as i32);
                columns.quantities.push(i32::from(line.quantity));
                columns.amounts.push(i_price.times(u32::from(line.quantity)));
            }
        }
        columns
    }
}

/// Reads the answer of [`Statement::BatchLines`] into its lines.
fn taken(
    rows: &Rows,
    input: &NewOrder,
    found: &[FoundItem],
    lines: &mut [Option<NewOrderLine>],
) -> Result<(), SqlError> {
    if rows.is_null(0, 0) {
        // No line had an item that exists.
        return Ok(());
    }
    let (numbers, stocks, data) = (rows.array(0, 0)?, rows.array(0, 1)?, rows.array(0, 2)?);
    for row in 0..numbers.len() {
        let index = numbers.int::<usize>(row)?.wrapping_sub(1);
        let (Some(line), Some(Some((i_price, i_name, i_data))), Some(slot)) =
            (input.lines.get(index), found.get(index), lines.get_mut(index))
        else {
            return Err(SqlError::Decode(format!(
                "an order line number {} came back",
                index.wrapping_add(1)
            )));
        };
        *slot = Some(NewOrderLine {
            i_name: *i_name,
            s_quantity: stocks.int(row)?,
            brand: is_brand(i_data, &data.fixed::<50>(row)?),
            i_price: *i_price,
            amount: i_price.times(u32::from(line.quantity)),
        });
    }
    Ok(())
}
