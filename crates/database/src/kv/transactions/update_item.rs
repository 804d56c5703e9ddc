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
    let mut price = |i_id: ItemId, set: Option<Cents>| {
        change(tx, item::TABLE, &item::key(i_id), format_args!("item {i_id}"), |row| {
            let old = item::PRICE.get(row)?;
            item::PRICE.set(row, &set.unwrap_or(old))?;
            Ok(old)
        })
    };
    // The first item is changed twice: the first change locks it, or marks it as changed, before the second item is
    // read.
    let mut swap = |[one, other]: [ItemId; 2]| {
        let price_of_one = price(one, None)?;
        let price_of_other = price(other, Some(price_of_one))?;
        price(one, Some(price_of_other))?;
        Ok([price_of_other, price_of_one])
    };
    let prices = input.rounds.iter().map(|items| swap(*items)).collect::<Played<_>>()?;
    Ok(UpdateItemOutcome { prices })
}
