//! dUpdateItem of the Dike paper (its appendix A.1): its statements, and a function for each way of sending them.

use crate::sql::connection::Step;
use crate::sql::session::{LONGEST_PIPELINE, Played, SqlSession, changed, committed_one_each, one};
use crate::sql::statement::SqlText::Sql;
use crate::sql::statement::{Statement, Way, statements};
use crate::sql::tx_error::SqlTxError;
use crate::sql::value::{Rows, Value};
use arrayvec::ArrayVec;
use lydite_tpcc::transactions::{MAX_ITEM_ROUNDS, UpdateItem, UpdateItemOutcome};
use lydite_tpcc::{Cents, DikeKind, ItemId, TransactionKind};

statements! {
    of Some(TransactionKind::Dike(DikeKind::UpdateItem));

    ItemPrice [Statements Batched MultiRow Procedures] Sql("SELECT i_price FROM item WHERE i_id = $1{for_update}");

    SetPrice [Statements Batched MultiRow Procedures] Sql("UPDATE item SET i_price = $1 WHERE i_id = $2");

    /// For a single round.
    CallUpdateItem [Procedures] Sql("{call} lydite_update_item($1, $2)");
}

/// Items of all rounds.
const MOST: usize = 2 * MAX_ITEM_ROUNDS;

/// Runs one dUpdateItem.
pub(crate) fn play(session: &mut SqlSession, input: &UpdateItem) -> Played<UpdateItemOutcome> {
    match (session.way, input.rounds.as_slice()) {
        (Way::Batched | Way::MultiRow, _) => batched(session, input),
        (Way::Procedures, [items]) => procedure(session, *items),
        // The procedure has one round, and commits on some databases.
        (Way::Statements | Way::Procedures, _) => statements(session, input),
    }
}

fn statements(session: &mut SqlSession, input: &UpdateItem) -> Played<UpdateItemOutcome> {
    session.step(Statement::BeginWrite, &[])?;
    let mut prices = ArrayVec::new();
    for items in &input.rounds {
        let [one, other] = items.map(|item| Value::Int(item.get()));
        let price_of_one = item_price(session.step(Statement::ItemPrice, &[one])?, items[0])?;
        let price_of_other = item_price(session.step(Statement::ItemPrice, &[other])?, items[1])?;
        session.change(Statement::SetPrice, &[Value::Money(price_of_other), one])?;
        session.change(Statement::SetPrice, &[Value::Money(price_of_one), other])?;
        prices.push([price_of_other, price_of_one]);
    }
    session.commit()?;
    Ok(UpdateItemOutcome { prices })
}

/// Reads the answer of [`Statement::ItemPrice`].
fn item_price(rows: &Rows, item: ItemId) -> Result<Cents, SqlTxError> {
    one(rows, || format!("item {item}"))?;
    Ok(rows.money(0, 0)?)
}

/// Sends the reads of all rounds at once, and then all changes.
fn batched(session: &mut SqlSession, input: &UpdateItem) -> Played<UpdateItemOutcome> {
    let items: ArrayVec<ItemId, MOST> = input.rounds.iter().flatten().copied().collect();
    let ids: ArrayVec<[Value<'_>; 1], MOST> = items.iter().map(|item| [Value::Int(item.get())]).collect();
    let mut steps: ArrayVec<Step<'_>, LONGEST_PIPELINE> = ArrayVec::new();
    steps.push((Statement::BeginWrite, &[]));
    steps.extend(ids.iter().map(|id| -> Step<'_> { (Statement::ItemPrice, id) }));
    session.send(&steps)?;
    let mut prices = ArrayVec::new();
    for (items, rows) in input.rounds.iter().zip(session.rows[1..].chunks_exact(2)) {
        prices.push([item_price(&rows[1], items[1])?, item_price(&rows[0], items[0])?]);
    }
    let changes: ArrayVec<[Value<'_>; 2], MOST> =
        prices.iter().flatten().zip(&ids).map(|(price, [id])| [Value::Money(*price), *id]).collect();
    let mut steps: ArrayVec<Step<'_>, LONGEST_PIPELINE> =
        changes.iter().map(|change| -> Step<'_> { (Statement::SetPrice, change) }).collect();
    // All rows are locked, so all exist, and the commit may go with their changes.
    if session.way == Way::MultiRow {
        session.send(&steps)?;
        changed(&session.rows[..changes.len()], 1, || Statement::SetPrice.in_words(session.dialect))?;
        session.commit()?;
    } else {
        steps.push((Statement::Commit, &[]));
        session.send_with_commit(&steps)?;
        let answers = session.rows[..changes.len()].iter().map(|rows| (Statement::SetPrice, rows));
        committed_one_each(answers, session.dialect)?;
    }
    Ok(UpdateItemOutcome { prices })
}

fn procedure(session: &mut SqlSession, items: [ItemId; 2]) -> Played<UpdateItemOutcome> {
    let params = items.map(|item| Value::Int(item.get()));
    session.call(Statement::BeginWrite, Statement::CallUpdateItem, &params, |rows| {
        let prices = rows.array(0, 0)?;
        let prices = [prices.money(0)?, prices.money(1)?];
        Ok(UpdateItemOutcome { prices: [prices].into_iter().collect() })
    })
}
