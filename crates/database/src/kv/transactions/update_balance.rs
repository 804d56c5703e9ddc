//! dUpdateBalance of the Dike paper.

use super::steps::{Moment, Played, change};
use crate::kv::layout::warehouse;
use crate::kv::store::StoreTx;
use lydite_tpcc::transactions::{BALANCE_UPDATE, UpdateBalanceOutcome, WarehouseBalances};

/// Runs dUpdateBalance of the Dike paper.
pub(super) fn play(
    tx: &mut impl StoreTx,
    input: &WarehouseBalances,
    _: &mut Moment<'_>,
) -> Played<UpdateBalanceOutcome> {
    for &w_id in &input.warehouses {
        change(tx, warehouse::TABLE, &warehouse::key(w_id), format_args!("warehouse {w_id}"), |row| {
            warehouse::YTD.add(row, BALANCE_UPDATE)
        })?;
    }
    Ok(UpdateBalanceOutcome)
}
