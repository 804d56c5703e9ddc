//! dSelectBalance of the Dike paper.

use super::steps::{Moment, Played, get};
use crate::kv::layout::warehouse;
use crate::kv::store::StoreTx;
use lydite_tpcc::transactions::{SelectBalanceOutcome, WarehouseBalances};

/// Runs dSelectBalance of the Dike paper.
pub(super) fn play(
    tx: &mut impl StoreTx,
    input: &WarehouseBalances,
    _: &mut Moment<'_>,
) -> Played<SelectBalanceOutcome> {
    let mut balances = Vec::with_capacity(input.warehouses.len());
    for &w_id in &input.warehouses {
        let key = warehouse::key(w_id);
        let what = format_args!("warehouse {w_id}");
        balances.push(get(tx, warehouse::TABLE, &key, what, |row| warehouse::YTD.get(row))?);
    }
    Ok(SelectBalanceOutcome { balances })
}
