//! dSelectBalance of the Dike paper (its section 5): its statements, and a function for each way of sending them.

use crate::sql::connection::Step;
use crate::sql::session::{LONGEST_PIPELINE, Played, SqlSession, one};
use crate::sql::statement::SqlText::Sql;
use crate::sql::statement::{Statement, Way, statements};
use crate::sql::tx_error::SqlTxError;
use crate::sql::value::{Rows, Value};
use arrayvec::ArrayVec;
use lydite_tpcc::transactions::{MAX_ORDER_LINES, SelectBalanceOutcome, WarehouseBalances};
use lydite_tpcc::{Cents, DikeKind, TransactionKind, WarehouseId};

statements! {
    of Some(TransactionKind::Dike(DikeKind::SelectBalance));

    WarehouseBalance [Statements Batched MultiRow] Sql("SELECT w_ytd FROM warehouse WHERE w_id = $1");

    CallSelectBalance [Procedures] Sql("{call} lydite_select_balance($1)");
}

/// Runs one dSelectBalance.
pub(crate) fn play(session: &mut SqlSession, input: &WarehouseBalances) -> Played<SelectBalanceOutcome> {
    match session.way {
        Way::Statements => statements(session, input),
        Way::Batched | Way::MultiRow => batched(session, input),
        Way::Procedures => procedures(session, input),
    }
}

fn statements(session: &mut SqlSession, input: &WarehouseBalances) -> Played<SelectBalanceOutcome> {
    session.step(Statement::BeginRead, &[])?;
    let mut balances = Vec::with_capacity(input.warehouses.len());
    for &w_id in &input.warehouses {
        let rows = session.step(Statement::WarehouseBalance, &[Value::Int(w_id.get())])?;
        balances.push(balance(rows, w_id)?);
    }
    session.commit()?;
    Ok(SelectBalanceOutcome { balances })
}

/// Reads the answer of [`Statement::WarehouseBalance`].
fn balance(rows: &Rows, w_id: WarehouseId) -> Result<Cents, SqlTxError> {
    one(rows, || format!("warehouse {w_id}"))?;
    Ok(rows.money(0, 0)?)
}

/// Sends the commit together with the reads, in [`Way::MultiRow`] too, because the transaction changes nothing.
fn batched(session: &mut SqlSession, input: &WarehouseBalances) -> Played<SelectBalanceOutcome> {
    let params: ArrayVec<[Value<'_>; 1], MAX_ORDER_LINES> =
        input.warehouses.iter().map(|w_id| [Value::Int(w_id.get())]).collect();
    let mut steps: ArrayVec<Step<'_>, LONGEST_PIPELINE> = ArrayVec::new();
    steps.push((Statement::BeginRead, &[]));
    steps.extend(params.iter().map(|params| -> Step<'_> { (Statement::WarehouseBalance, params) }));
    steps.push((Statement::Commit, &[]));
    session.send_with_commit(&steps)?;
    let answers = input.warehouses.iter().zip(&session.rows[1..]);
    let balances = answers.map(|(&w_id, rows)| balance(rows, w_id)).collect::<Result<_, _>>()?;
    Ok(SelectBalanceOutcome { balances })
}

fn procedures(session: &mut SqlSession, input: &WarehouseBalances) -> Played<SelectBalanceOutcome> {
    let warehouses: ArrayVec<i32, MAX_ORDER_LINES> =
        input.warehouses.iter().map(|w_id| w_id.0 as i32).collect();
    session.call(Statement::BeginRead, Statement::CallSelectBalance, &[Value::Ints(&warehouses)], |rows| {
        let found = rows.array(0, 0)?;
        let balances = (0..input.warehouses.len()).map(|place| found.money(place));
        Ok(SelectBalanceOutcome { balances: balances.collect::<Result<_, _>>()? })
    })
}
