//! The transactions of the function tests over any key-value store.

use crate::balances::{Balance, BalanceTransaction, Balances, Between, Trace, missing, missing_trace};
use crate::error::TxError;
use crate::kv::any::{AnyStore, AnyTx};
use crate::kv::codec::{Field, Key, Malformed, behind};
use crate::kv::layout::{customer, district, history, new_order, order, order_line, stock, warehouse};
use crate::kv::store::{Access, Direction, KeyRange, KvTable, Pending, StoreTx};
use crate::kv::store_error::StoreError;
use crate::session::Session;
use lydite_tpcc::Cents;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Session for these transactions on an open store.
pub(super) struct KvBalances(pub(super) Arc<dyn AnyStore>);

impl Session<Balances> for KvBalances {
    fn execute(&mut self, transaction: &BalanceTransaction) -> Result<Vec<Cents>, TxError> {
        let access = match transaction {
            BalanceTransaction::Select { .. } | BalanceTransaction::Trace { .. } => Access::Read,
            BalanceTransaction::Add { .. } | BalanceTransaction::Set(_) => Access::Write,
        };
        let mut tx = self.0.begin_any(access).map_err(StoreError::in_transaction)?;
        let values = play(&mut tx, transaction).map_err(StoreError::in_transaction)?;
        let pending = tx.commit().map_err(StoreError::in_transaction)?;
        pending.wait().map_err(StoreError::in_wait)?;
        Ok(values)
    }
}

/// Returns the row and column of a balance.
fn place(balance: Balance) -> (KvTable, Key, Field<Cents>) {
    match balance {
        Balance::Warehouse(id) => (warehouse::TABLE, warehouse::key(id), warehouse::YTD),
        Balance::District(id, number) => (district::TABLE, district::key(id, number), district::YTD),
    }
}

fn read(tx: &mut AnyTx<'_>, balance: Balance) -> Result<Cents, StoreError> {
    let (table, key, ytd) = place(balance);
    let found = tx.read(table, &key, |row| ytd.get(row))?;
    Ok(found.ok_or_else(|| StoreError::Failed(missing(balance)))??)
}

fn read_trace(tx: &mut AnyTx<'_>, trace: Trace) -> Result<Cents, StoreError> {
    let missing = || StoreError::Failed(missing_trace(trace));
    let count = |found: Option<()>| Cents(i64::from(found.is_some()));
    Ok(match trace {
        Trace::Ytd(balance) => read(tx, balance)?,
        Trace::Customer(w_id, d_id, c_id) => {
            let key = customer::key(w_id, d_id, c_id);
            let balance = tx.read(customer::TABLE, &key, |row| customer::BALANCE.get(row))?;
            balance.ok_or_else(missing)??
        }
        Trace::Payments(w_id, d_id) => {
            let from = history::key(w_id, d_id);
            let below = behind(&from);
            let range = KeyRange { from: &from, below: below.as_deref() };
            let mut rows = 0;
            tx.scan(history::TABLE, range, Direction::Forward, &mut |_, _| {
                rows += 1;
                ControlFlow::Continue(())
            })?;
            Cents(rows)
        }
        Trace::NextOrder(w_id, d_id) => {
            let key = district::key(w_id, d_id);
            let next = tx.read(district::TABLE, &key, |row| district::NEXT_O_ID.get(row))?;
            Cents(next.ok_or_else(missing)??.get())
        }
        Trace::Stock(w_id, i_id) => {
            let quantity = tx.read(stock::TABLE, &stock::key(w_id, i_id), |row| stock::QUANTITY.get(row))?;
            Cents(quantity.ok_or_else(missing)??.into())
        }
        Trace::Order(w_id, d_id, o_id) => {
            count(tx.read(order::TABLE, &order::key(w_id, d_id, o_id), |_| ())?)
        }
        Trace::NewOrder(w_id, d_id, o_id) => {
            count(tx.read(new_order::TABLE, &new_order::key(w_id, d_id, o_id), |_| ())?)
        }
        Trace::OrderLine(w_id, d_id, o_id) => {
            count(tx.read(order_line::TABLE, &order_line::key(w_id, d_id, o_id, 1), |_| ())?)
        }
    })
}

fn change(
    tx: &mut AnyTx<'_>,
    balance: Balance,
    change: impl Fn(&Field<Cents>, &mut Vec<u8>) -> Result<(), Malformed>,
) -> Result<(), StoreError> {
    let (table, key, ytd) = place(balance);
    let found = tx.modify(table, &key, |row| change(&ytd, row))?;
    Ok(found.ok_or_else(|| StoreError::Failed(missing(balance)))??)
}

fn play(tx: &mut AnyTx<'_>, transaction: &BalanceTransaction) -> Result<Vec<Cents>, StoreError> {
    match transaction {
        BalanceTransaction::Select { balances, between } => {
            in_turn(balances, between, |balance| read(tx, balance))
        }
        BalanceTransaction::Trace { traces, between } => {
            in_turn(traces, between, |trace| read_trace(tx, trace))
        }
        BalanceTransaction::Add { amount, balances, between } => {
            in_turn(balances, between, |balance| change(tx, balance, |ytd, row| ytd.add(row, *amount)))?;
            Ok(Vec::new())
        }
        BalanceTransaction::Set(values) => {
            for (balance, value) in values {
                change(tx, *balance, |ytd, row| ytd.set(row, value))?;
            }
            Ok(Vec::new())
        }
    }
}

fn in_turn<T: Copy, R>(
    places: &[T],
    between: &Between,
    mut step: impl FnMut(T) -> Result<R, StoreError>,
) -> Result<Vec<R>, StoreError> {
    let steps = places.iter().enumerate();
    steps
        .map(|(number, &place)| {
            between.before(number);
            step(place)
        })
        .collect()
}
