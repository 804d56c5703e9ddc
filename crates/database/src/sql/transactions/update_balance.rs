//! dUpdateBalance of the Dike paper (its section 5): its statements, and a function for each way of sending them.

use crate::sql::connection::Step;
use crate::sql::session::{LONGEST_PIPELINE, Played, SqlSession, changed};
use crate::sql::statement::SqlText::Sql;
use crate::sql::statement::{Statement, Way, statements};
use crate::sql::value::Value;
use arrayvec::ArrayVec;
use lydite_tpcc::transactions::{BALANCE_UPDATE, MAX_ORDER_LINES, UpdateBalanceOutcome, WarehouseBalances};
use lydite_tpcc::{DikeKind, TransactionKind};

statements! {
    of Some(TransactionKind::Dike(DikeKind::UpdateBalance));

    /// The other ways use Payment's [`Statement::PayWarehouse`] for each warehouse.
    CallUpdateBalance [Procedures] Sql("{call} lydite_update_balance($1, $2)");
}

/// Runs one dUpdateBalance.
pub(crate) fn play(session: &mut SqlSession, input: &WarehouseBalances) -> Played<UpdateBalanceOutcome> {
    match session.way {
        Way::Statements => statements(session, input),
        Way::Batched | Way::MultiRow => batched(session, input),
        Way::Procedures => procedures(session, input),
    }
}

fn statements(session: &mut SqlSession, input: &WarehouseBalances) -> Played<UpdateBalanceOutcome> {
    session.step(Statement::BeginWrite, &[])?;
    for w_id in &input.warehouses {
        session.step(Statement::PayWarehouse, &[Value::Money(BALANCE_UPDATE), Value::Int(w_id.get())])?;
        changed(&session.rows[..1], 1, || format!("warehouse {w_id}"))?;
    }
    session.commit()?;
    Ok(UpdateBalanceOutcome)
}

fn batched(session: &mut SqlSession, input: &WarehouseBalances) -> Played<UpdateBalanceOutcome> {
    let params = input.warehouses.iter().map(|w_id| [Value::Money(BALANCE_UPDATE), Value::Int(w_id.get())]);
    let params: ArrayVec<[Value<'_>; 2], MAX_ORDER_LINES> = params.collect();
    let mut steps: ArrayVec<Step<'_>, LONGEST_PIPELINE> = ArrayVec::new();
    steps.push((Statement::BeginWrite, &[]));
    steps.extend(params.iter().map(|params| -> Step<'_> { (Statement::PayWarehouse, params) }));
    session.send(&steps)?;
    // The commit is sent later: an update without a row is no error, but must not be committed.
    for (w_id, rows) in input.warehouses.iter().zip(session.rows[1..].chunks(1)) {
        changed(rows, 1, || format!("warehouse {w_id}"))?;
    }
    session.commit()?;
    Ok(UpdateBalanceOutcome)
}

fn procedures(session: &mut SqlSession, input: &WarehouseBalances) -> Played<UpdateBalanceOutcome> {
    let warehouses: ArrayVec<i32, MAX_ORDER_LINES> =
        input.warehouses.iter().map(|w_id| w_id.0 as i32).collect();
    let params = [Value::Ints(&warehouses), Value::Money(BALANCE_UPDATE)];
    session.call(Statement::BeginWrite, Statement::CallUpdateBalance, &params, |_| Ok(UpdateBalanceOutcome))
}
