//! dUpdateItem of the Dike paper.

use super::steps::{Moment, Played, change};
use crate::kv::layout::item;
use crate::kv::store::StoreTx;
use lydite_tpcc::transactions::{UpdateItem, UpdateItemOutcome};
use lydite_tpcc::{Cents, ItemId};

/// Runs dUpdateItem of the Dike paper.
pub(super) fn play(
    tx: &mut impl StoreTx,
    input: &UpdateItem,
    _: &mut Moment<'_>,
) -> Played<UpdateItemOutcome> {
    // The first item is changed twice: the first change locks it, or marks it as changed, before the second item is
    // read.
    let [one, other] = input.items;
    let mut price = |i_id: ItemId, set: Option<Cents>| {
        change(tx, item::TABLE, &item::key(i_id), format_args!("item {i_id}"), |row| {
            let old = item::PRICE.get(row)?;
            item::PRICE.set(row, &set.unwrap_or(old))?;
            Ok(old)
        })
    };
    let price_of_one = price(one, None)?;
    let price_of_other = price(other, Some(price_of_one))?;
    price(one, Some(price_of_other))?;
    Ok(UpdateItemOutcome { prices: [price_of_other, price_of_one] })
}
