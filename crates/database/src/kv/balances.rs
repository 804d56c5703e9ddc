//! The transactions of the function tests over any key-value store.

use crate::balances::{Balance, BalanceTransaction, Balances, Between, missing};
use crate::error::TxError;
use crate::kv::any::{AnyStore, AnyTx};
use crate::kv::codec::{Field, Key, Malformed};
use crate::kv::layout::{district, warehouse};
use crate::kv::store::{Access, KvTable, Pending, StoreTx};
use crate::kv::store_error::StoreError;
use crate::session::Session;
use lydite_tpcc::Cents;
use std::sync::Arc;

/// Session for these transactions on an open store.
pub(super) struct KvBalances(pub(super) Arc<dyn AnyStore>);

impl Session<Balances> for KvBalances {
    fn execute(&mut self, transaction: &BalanceTransaction) -> Result<Vec<Cents>, TxError> {
        let access = match transaction {
            BalanceTransaction::Select { .. } => Access::Read,
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

fn in_turn<R>(
    balances: &[Balance],
    between: &Between,
    mut step: impl FnMut(Balance) -> Result<R, StoreError>,
) -> Result<Vec<R>, StoreError> {
    let steps = balances.iter().enumerate();
    steps
        .map(|(number, &balance)| {
            between.before(number);
            step(balance)
        })
        .collect()
}
