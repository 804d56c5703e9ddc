//! dUpdateStock of the Dike paper.

use super::new_order::take_from_stock;
use super::steps::{Moment, Played, change};
use crate::kv::layout::stock;
use crate::kv::store::StoreTx;
use lydite_tpcc::transactions::{OrderLineInput, UpdateStock, UpdateStockOutcome};

/// Runs dUpdateStock of the Dike paper.
pub(super) fn play(
    tx: &mut impl StoreTx,
    input: &UpdateStock,
    _: &mut Moment<'_>,
) -> Played<UpdateStockOutcome> {
    let mut quantities = Vec::with_capacity(input.rounds.len());
    for round in &input.rounds {
        let OrderLineInput { i_id, supply_w_id, .. } = *round;
        let (key, what) = (stock::key(supply_w_id, i_id), format_args!("stock {supply_w_id}/{i_id}"));
        quantities.push(change(tx, stock::TABLE, &key, what, |row| take_from_stock(row, round, input.w_id))?);
    }
    Ok(UpdateStockOutcome { quantities })
}
