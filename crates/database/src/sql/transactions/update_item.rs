//! dUpdateItem of the Dike paper (its appendix A.1): its statements, and a function for each way of sending them.

use crate::sql::connection::Step;
use crate::sql::session::{Played, SqlSession, changed, committed_one_each, one};
use crate::sql::statement::SqlText::Sql;
use crate::sql::statement::{Statement, Way, statements};
use crate::sql::tx_error::SqlTxError;
use crate::sql::value::{Rows, Value};
use lydite_tpcc::transactions::{UpdateItem, UpdateItemOutcome};
use lydite_tpcc::{Cents, DikeKind, ItemId, TransactionKind};

statements! {
    of Some(TransactionKind::Dike(DikeKind::UpdateItem));

    ItemPrice [Statements Batched MultiRow] Sql("SELECT i_price FROM item WHERE i_id = $1{for_update}");

    SetPrice [Statements Batched MultiRow] Sql("UPDATE item SET i_price = $1 WHERE i_id = $2");

    CallUpdateItem [Procedures] Sql("{call} lydite_update_item($1, $2)");
}

/// Runs one dUpdateItem.
pub(crate) fn play(session: &mut SqlSession, input: &UpdateItem) -> Played<UpdateItemOutcome> {
    match session.way {
        Way::Statements => statements(session, input),
        Way::Batched | Way::MultiRow => batched(session, input),
        Way::Procedures => procedures(session, input),
    }
}

fn statements(session: &mut SqlSession, input: &UpdateItem) -> Played<UpdateItemOutcome> {
    let [one, other] = input.items.map(|item| Value::Int(item.get()));
    session.step(Statement::BeginWrite, &[])?;
    let price_of_one = item_price(session.step(Statement::ItemPrice, &[one])?, input.items[0])?;
    let price_of_other = item_price(session.step(Statement::ItemPrice, &[other])?, input.items[1])?;
    session.change(Statement::SetPrice, &[Value::Money(price_of_other), one])?;
    session.change(Statement::SetPrice, &[Value::Money(price_of_one), other])?;
    session.commit()?;
    Ok(UpdateItemOutcome { prices: [price_of_other, price_of_one] })
}

/// Reads the answer of [`Statement::ItemPrice`].
fn item_price(rows: &Rows, item: ItemId) -> Result<Cents, SqlTxError> {
    one(rows, || format!("item {item}"))?;
    Ok(rows.money(0, 0)?)
}

fn batched(session: &mut SqlSession, input: &UpdateItem) -> Played<UpdateItemOutcome> {
    let [one, other] = input.items.map(|item| Value::Int(item.get()));
    session.send(&[
        (Statement::BeginWrite, &[]),
        (Statement::ItemPrice, &[one]),
        (Statement::ItemPrice, &[other]),
    ])?;
    let price_of_one = item_price(&session.rows[1], input.items[0])?;
    let price_of_other = item_price(&session.rows[2], input.items[1])?;
    let (new_one, new_other) = ([Value::Money(price_of_other), one], [Value::Money(price_of_one), other]);
    let steps: [Step<'_>; 3] =
        [(Statement::SetPrice, &new_one), (Statement::SetPrice, &new_other), (Statement::Commit, &[])];
    // Both rows are locked, so both exist, and the commit may go with their changes.
    if session.way == Way::MultiRow {
        session.send(&steps[..2])?;
        changed(&session.rows[..2], 1, || Statement::SetPrice.in_words(session.dialect))?;
        session.commit()?;
    } else {
        session.send_with_commit(&steps)?;
        let answers = session.rows[..2].iter().map(|rows| (Statement::SetPrice, rows));
        committed_one_each(answers, session.dialect)?;
    }
    Ok(UpdateItemOutcome { prices: [price_of_other, price_of_one] })
}

fn procedures(session: &mut SqlSession, input: &UpdateItem) -> Played<UpdateItemOutcome> {
    let params = input.items.map(|item| Value::Int(item.get()));
    session.call(Statement::BeginWrite, Statement::CallUpdateItem, &params, |rows| {
        let prices = rows.array(0, 0)?;
        Ok(UpdateItemOutcome { prices: [prices.money(0)?, prices.money(1)?] })
    })
}
