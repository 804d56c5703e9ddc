//! dUpdateStock of the Dike paper (its section 4.3.2): its statements, and a function for each way of sending them.

use super::new_order::taken_from_stock;
use crate::profile::left_in_stock;
use crate::sql::connection::Step;
use crate::sql::session::{LONGEST_PIPELINE, Played, SqlSession, changed, one};
use crate::sql::sql_error::SqlError;
use crate::sql::statement::SqlText::Sql;
use crate::sql::statement::{Statement, Way, statements};
use crate::sql::tx_error::SqlTxError;
use crate::sql::value::{Rows, Value};
use arrayvec::ArrayVec;
use lydite_tpcc::transactions::{MAX_ORDER_LINES, UpdateStock, UpdateStockOutcome};
use lydite_tpcc::{DikeKind, TransactionKind};

statements! {
    of Some(TransactionKind::Dike(DikeKind::UpdateStock));

    /// Followed by New-Order's [`Statement::UpdateStock`].
    StockQuantity [Statements MultiRow]
        Sql("SELECT s_quantity FROM stock WHERE s_w_id = $1 AND s_i_id = $2{for_update}");

    /// Parameters: one array per column of the rounds, then the home. A missing row is an error as in
    /// [`Statement::BatchLines`].
    BatchUpdateStock [Batched]
        Sql("WITH line AS (SELECT * FROM unnest($1::int[], $2::int[], $3::int[], $4::int[]) \
             AS line (number, item, supply, quantity)), \
             taken AS (UPDATE stock SET \
             s_quantity = s_quantity - quantity + CASE WHEN s_quantity >= quantity + 10 THEN 0 ELSE 91 END, \
             s_ytd = s_ytd + quantity, s_order_cnt = s_order_cnt + 1, \
             s_remote_cnt = s_remote_cnt + CASE WHEN supply <> $5::int THEN 1 ELSE 0 END \
             FROM line WHERE s_w_id = supply AND s_i_id = item RETURNING number, s_quantity) \
             SELECT array_agg(number), array_agg(s_quantity), \
             CAST(CASE WHEN count(*) = cardinality($1::int[]) THEN '1' \
             ELSE 'UPDATE stock of the order changed too few rows: run lydite check' END AS int) FROM taken");

    CallUpdateStock [Procedures] Sql("{call} lydite_update_stock($1, $2, $3, $4)");
}

/// Runs one dUpdateStock.
pub(crate) fn play(session: &mut SqlSession, input: &UpdateStock) -> Played<UpdateStockOutcome> {
    match session.way {
        Way::Statements => statements(session, input),
        Way::Batched => batched(session, input),
        Way::MultiRow => multi_row(session, input),
        Way::Procedures => procedures(session, input),
    }
}

fn statements(session: &mut SqlSession, input: &UpdateStock) -> Played<UpdateStockOutcome> {
    session.step(Statement::BeginWrite, &[])?;
    let mut quantities = Vec::with_capacity(input.rounds.len());
    for round in &input.rounds {
        let (supply, item) = (Value::Int(round.supply_w_id.get()), Value::Int(round.i_id.get()));
        let rows = session.step(Statement::StockQuantity, &[supply, item])?;
        one(rows, || format!("stock {}/{}", round.supply_w_id, round.i_id))?;
        let left = left_in_stock(rows.int(0, 0)?, i32::from(round.quantity));
        session.change(Statement::UpdateStock, &taken_from_stock(left, round, input.w_id))?;
        quantities.push(left);
    }
    session.commit()?;
    Ok(UpdateStockOutcome { quantities })
}

/// Returns the rounds as columns: items, supplying warehouses, quantities.
fn columns(input: &UpdateStock) -> [ArrayVec<i32, MAX_ORDER_LINES>; 3] {
    [
        input.rounds.iter().map(|round| round.i_id.0 as i32).collect(),
        input.rounds.iter().map(|round| round.supply_w_id.0 as i32).collect(),
        input.rounds.iter().map(|round| i32::from(round.quantity)).collect(),
    ]
}

fn batched(session: &mut SqlSession, input: &UpdateStock) -> Played<UpdateStockOutcome> {
    let numbers: ArrayVec<i32, MAX_ORDER_LINES> = (0..).take(input.rounds.len()).collect();
    let [items, supplies, quantities] = columns(input);
    let params = [
        Value::Ints(&numbers),
        Value::Ints(&items),
        Value::Ints(&supplies),
        Value::Ints(&quantities),
        Value::Int(input.w_id.get()),
    ];
    let sent = session.send_with_commit(&[
        (Statement::BeginWrite, &[]),
        (Statement::BatchUpdateStock, &params),
        (Statement::Commit, &[]),
    ]);
    sent.map_err(|error| error.named("the order", || format!("a dUpdateStock of warehouse {}", input.w_id)))?;
    // The commit came with the update. An answer that can't be read does not undo it.
    left_in_rounds(&session.rows[1], input).map_err(SqlTxError::CommitFailed)
}

/// Reads the answer of [`Statement::BatchUpdateStock`].
fn left_in_rounds(rows: &Rows, input: &UpdateStock) -> Result<UpdateStockOutcome, SqlError> {
    let (numbers, left) = (rows.array(0, 0)?, rows.array(0, 1)?);
    let mut quantities = vec![0; input.rounds.len()];
    for row in 0..numbers.len() {
        let number: usize = numbers.int(row)?;
        let slot =
            quantities.get_mut(number).ok_or_else(|| SqlError::Decode(format!("no round {number}")))?;
        *slot = left.int(row)?;
    }
    Ok(UpdateStockOutcome { quantities })
}

fn multi_row(session: &mut SqlSession, input: &UpdateStock) -> Played<UpdateStockOutcome> {
    let rows_of: ArrayVec<[Value<'_>; 2], MAX_ORDER_LINES> = input
        .rounds
        .iter()
        .map(|round| [Value::Int(round.supply_w_id.get()), Value::Int(round.i_id.get())])
        .collect();
    let mut steps: ArrayVec<Step<'_>, LONGEST_PIPELINE> = ArrayVec::new();
    steps.push((Statement::BeginWrite, &[]));
    steps.extend(rows_of.iter().map(|row| -> Step<'_> { (Statement::StockQuantity, row) }));
    session.send(&steps)?;
    let mut quantities = Vec::with_capacity(input.rounds.len());
    for (round, rows) in input.rounds.iter().zip(&session.rows[1..]) {
        one(rows, || format!("stock {}/{}", round.supply_w_id, round.i_id))?;
        quantities.push(left_in_stock(rows.int(0, 0)?, i32::from(round.quantity)));
    }
    let updates: ArrayVec<[Value<'_>; 5], MAX_ORDER_LINES> = input
        .rounds
        .iter()
        .zip(&quantities)
        .map(|(round, &left)| taken_from_stock(left, round, input.w_id))
        .collect();
    let steps: ArrayVec<Step<'_>, MAX_ORDER_LINES> =
        updates.iter().map(|update| -> Step<'_> { (Statement::UpdateStock, update) }).collect();
    session.send(&steps)?;
    changed(&session.rows[..updates.len()], 1, || format!("a stock of warehouse {}", input.w_id))?;
    session.commit()?;
    Ok(UpdateStockOutcome { quantities })
}

fn procedures(session: &mut SqlSession, input: &UpdateStock) -> Played<UpdateStockOutcome> {
    let [items, supplies, quantities] = columns(input);
    let params =
        [Value::Int(input.w_id.get()), Value::Ints(&items), Value::Ints(&supplies), Value::Ints(&quantities)];
    session.call(Statement::BeginWrite, Statement::CallUpdateStock, &params, |rows| {
        let left = rows.array(0, 0)?;
        let quantities = (0..input.rounds.len()).map(|round| left.int(round));
        Ok(UpdateStockOutcome { quantities: quantities.collect::<Result<_, _>>()? })
    })
}
