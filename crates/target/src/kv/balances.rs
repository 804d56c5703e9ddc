//! The transactions of the function tests over any key-value store.

use crate::balances::{BalanceTransaction, Balances, Between, missing};
use crate::error::TxError;
use crate::kv::layout::warehouse;
use crate::kv::store::{Access, Pending, Store, StoreError, StoreTx};
use crate::target::Session;
use lydite_tpcc::{Cents, WarehouseId};
use std::sync::Arc;

/// Plays them on an open store.
pub(super) struct KvBalances<S>(pub(super) Arc<S>);

impl<S: Store> Session<Balances> for KvBalances<S> {
    fn execute(&mut self, transaction: &BalanceTransaction) -> Result<Vec<Cents>, TxError> {
        let access = match transaction {
            BalanceTransaction::Select { .. } => Access::Read,
            BalanceTransaction::Add { .. } | BalanceTransaction::Set(_) => Access::Write,
        };
        let mut tx = self.0.begin(access).map_err(StoreError::in_transaction)?;
        let values = play(&mut tx, transaction).map_err(StoreError::in_transaction)?;
        let pending = tx.commit().map_err(StoreError::in_transaction)?;
        pending.wait().map_err(StoreError::in_wait)?;
        Ok(values)
    }
}

fn play(tx: &mut impl StoreTx, transaction: &BalanceTransaction) -> Result<Vec<Cents>, StoreError> {
    let gone = |id: WarehouseId| StoreError::Failed(missing(id));
    match transaction {
        BalanceTransaction::Select { warehouses, between } => in_turn(warehouses, between, |id| {
            let ytd = tx.read(warehouse::TABLE, &warehouse::key(id), |row| warehouse::YTD.get(row))?;
            Ok(ytd.ok_or_else(|| gone(id))??)
        }),
        BalanceTransaction::Add { amount, warehouses, between } => {
            in_turn(warehouses, between, |id| {
                let add = |row: &mut Vec<u8>| warehouse::YTD.add(row, *amount);
                Ok(tx.modify(warehouse::TABLE, &warehouse::key(id), add)?.ok_or_else(|| gone(id))??)
            })?;
            Ok(Vec::new())
        }
        BalanceTransaction::Set(values) => {
            for (id, value) in values {
                let set = |row: &mut Vec<u8>| warehouse::YTD.set(row, value);
                tx.modify(warehouse::TABLE, &warehouse::key(*id), set)?.ok_or_else(|| gone(*id))??;
            }
            Ok(Vec::new())
        }
    }
}

fn in_turn<R>(
    warehouses: &[WarehouseId],
    between: &Between,
    mut step: impl FnMut(WarehouseId) -> Result<R, StoreError>,
) -> Result<Vec<R>, StoreError> {
    let steps = warehouses.iter().enumerate();
    steps
        .map(|(number, &id)| {
            between.before(number);
            step(id)
        })
        .collect()
}
