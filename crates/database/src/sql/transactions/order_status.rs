//! Order-Status (clause 2.6): its statements, and a function for each way of sending them.

use super::payment::{find_customer, number_or_name};
use crate::error::RUN_CHECK;
use crate::sql::session::{Played, SqlSession, one, present};
use crate::sql::sql_error::SqlError;
use crate::sql::statement::SqlText::Sql;
use crate::sql::statement::{Statement, Way, statements};
use crate::sql::tx_error::SqlTxError;
use crate::sql::value::{Rows, Value};
use lydite_tpcc::transactions::{CustomerSelector, OrderStatus, OrderStatusLine, OrderStatusOutcome};
use lydite_tpcc::{
    CarrierId, CustomerId, ItemId, OrderId, StandardKind, Timestamp, TransactionKind, WarehouseId,
};

statements! {
    of Some(TransactionKind::Standard(StandardKind::OrderStatus));

    StatusCustomer [Statements Batched MultiRow]
        Sql("SELECT c_id, c_first, c_middle, c_last, c_balance FROM customer \
             WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3");

    LastOrder [Statements]
        Sql("SELECT o_id, o_entry_d, o_carrier_id FROM orders \
             WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 ORDER BY o_id DESC LIMIT 1");

    OrderLines [Statements]
        Sql("SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
             WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3 ORDER BY ol_number");

    BatchStatusByName [Batched MultiRow]
        Sql("SELECT c_id, c_first, c_middle, c_last, c_balance FROM (SELECT c_id, c_first, c_middle, c_last, \
             c_balance, row_number() OVER (ORDER BY c_first, c_id) AS place, count(*) OVER () AS found FROM customer \
             WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3) AS named WHERE place * 2 IN (found, found + 1)");

    BatchLastOrderLines [Batched MultiRow]
        Sql("SELECT o_id, o_entry_d, o_carrier_id, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d \
             FROM (SELECT o_id, o_entry_d, o_carrier_id FROM orders \
             WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 ORDER BY o_id DESC LIMIT 1) AS last JOIN order_line \
             ON ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = o_id ORDER BY ol_number");

    CallOrderStatus [Procedures] Sql("{call} lydite_order_status($1, $2, $3, $4)");
}

/// Runs one Order-Status.
pub(crate) fn play(session: &mut SqlSession, input: &OrderStatus) -> Played<OrderStatusOutcome> {
    match session.way {
        Way::Statements => statements(session, input),
        Way::Batched | Way::MultiRow => batched(session, input),
        Way::Procedures => procedures(session, input),
    }
}

fn statements(session: &mut SqlSession, input: &OrderStatus) -> Played<OrderStatusOutcome> {
    let w = Value::Int(input.w_id.get());
    let d = Value::Int(input.d_id.get());
    session.step(Statement::BeginRead, &[])?;
    let c_id = find_customer(session, input.w_id, input.d_id, &input.customer)?;
    let c = Value::Int(c_id.get());
    let rows = session.step(Statement::StatusCustomer, &[w, d, c])?;
    one(rows, || format!("customer {}/{}/{c_id}", input.w_id, input.d_id))?;
    let mut outcome = status_customer(rows)?;
    let rows = session.step(Statement::LastOrder, &[w, d, c])?;
    one(rows, || format!("an order of customer {}/{}/{c_id}", input.w_id, input.d_id))?;
    last_order(&mut outcome, rows, 0)?;
    let rows = session.step(Statement::OrderLines, &[w, d, Value::Int(outcome.o_id.get())])?;
    present(rows, || format!("a line of order {}/{}/{}", input.w_id, input.d_id, outcome.o_id))?;
    outcome.lines = (0..rows.len()).map(|row| status_line(rows, row, 0)).collect::<Result<_, _>>()?;
    session.commit()?;
    Ok(outcome)
}

/// Reads the customer's part of the answer from the columns of [`Statement::StatusCustomer`]. The caller adds the
/// order.
fn status_customer(rows: &Rows) -> Result<OrderStatusOutcome, SqlError> {
    Ok(OrderStatusOutcome {
        c_id: CustomerId(rows.int(0, 0)?),
        c_first: rows.fixed(0, 1)?,
        c_middle: rows.fixed(0, 2)?,
        c_last: rows.fixed(0, 3)?,
        c_balance: rows.money(0, 4)?,
        o_id: OrderId(0),
        entry_d: Timestamp(0),
        carrier_id: None,
        lines: Vec::new(),
    })
}

/// Reads the order into `outcome`, from three columns as in [`Statement::LastOrder`].
fn last_order(outcome: &mut OrderStatusOutcome, rows: &Rows, column: usize) -> Result<(), SqlError> {
    outcome.o_id = OrderId(rows.int(0, column)?);
    outcome.entry_d = rows.time(0, column + 1)?;
    outcome.carrier_id = rows.optional_int(0, column + 2)?.map(CarrierId);
    Ok(())
}

/// Reads an order line from five columns as in [`Statement::OrderLines`].
fn status_line(rows: &Rows, row: usize, column: usize) -> Result<OrderStatusLine, SqlError> {
    Ok(OrderStatusLine {
        i_id: ItemId(rows.int(row, column)?),
        supply_w_id: WarehouseId(rows.int(row, column + 1)?),
        quantity: rows.int(row, column + 2)?,
        amount: rows.money(row, column + 3)?,
        delivery_d: rows.optional_time(row, column + 4)?,
    })
}

/// Sends the commit together with the reads, in [`Way::MultiRow`] too, because the transaction changes nothing.
fn batched(session: &mut SqlSession, input: &OrderStatus) -> Played<OrderStatusOutcome> {
    let w = Value::Int(input.w_id.get());
    let d = Value::Int(input.d_id.get());
    let (mut outcome, order) = match &input.customer {
        CustomerSelector::Id(c_id) => {
            let customer = [w, d, Value::Int(c_id.get())];
            session.send_with_commit(&[
                (Statement::BeginRead, &[]),
                (Statement::StatusCustomer, &customer),
                (Statement::BatchLastOrderLines, &customer),
                (Statement::Commit, &[]),
            ])?;
            one(&session.rows[1], || format!("customer {}/{}/{c_id}", input.w_id, input.d_id))?;
            (status_customer(&session.rows[1])?, 2)
        }
        CustomerSelector::LastName(name) => {
            session.send(&[
                (Statement::BeginRead, &[]),
                (Statement::BatchStatusByName, &[w, d, Value::Text(name)]),
            ])?;
            one(&session.rows[1], || input.customer.in_words(input.w_id, input.d_id))?;
            let outcome = status_customer(&session.rows[1])?;
            let customer = [w, d, Value::Int(outcome.c_id.get())];
            session
                .send_with_commit(&[(Statement::BatchLastOrderLines, &customer), (Statement::Commit, &[])])?;
            (outcome, 0)
        }
    };
    let rows = &session.rows[order];
    present(rows, || {
        format!("an order of customer {}/{}/{} with lines", input.w_id, input.d_id, outcome.c_id)
    })?;
    last_order(&mut outcome, rows, 0)?;
    outcome.lines = (0..rows.len()).map(|row| status_line(rows, row, 3)).collect::<Result<_, _>>()?;
    Ok(outcome)
}

fn procedures(session: &mut SqlSession, input: &OrderStatus) -> Played<OrderStatusOutcome> {
    let (c_id, c_last) = number_or_name(&input.customer);
    let params = [Value::Int(input.w_id.get()), Value::Int(input.d_id.get()), c_id, c_last];
    let read = |rows: &Rows| if rows.is_empty() { Ok(None) } else { called(rows).map(Some) };
    session.call(Statement::BeginRead, Statement::CallOrderStatus, &params, read)?.ok_or_else(|| {
        let customer = input.customer.in_words(input.w_id, input.d_id);
        SqlTxError::WrongRows(format!("a line of the last order of {customer} is missing: {RUN_CHECK}"))
    })
}

/// Reads the answer of [`Statement::CallOrderStatus`].
fn called(rows: &Rows) -> Result<OrderStatusOutcome, SqlError> {
    let items = rows.array(0, 8)?;
    let supplies = rows.array(0, 9)?;
    let quantities = rows.array(0, 10)?;
    let amounts = rows.array(0, 11)?;
    let dates = rows.array(0, 12)?;
    let mut lines = Vec::with_capacity(items.len());
    for index in 0..items.len() {
        lines.push(OrderStatusLine {
            i_id: ItemId(items.int(index)?),
            supply_w_id: WarehouseId(supplies.int(index)?),
            quantity: quantities.int(index)?,
            amount: amounts.money(index)?,
            delivery_d: dates.optional_time(index)?,
        });
    }
    let mut outcome = status_customer(rows)?;
    last_order(&mut outcome, rows, 5)?;
    outcome.lines = lines;
    Ok(outcome)
}
