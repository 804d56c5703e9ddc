//! dUpdateItem of the Dike paper (its appendix A.1: broadcastTest and batchUpdate).

use super::profile::{Extra, Profile};
use crate::ids::{ItemId, WarehouseId};
use crate::input::{InputPlan, Seat};
use crate::money::Cents;
use arrayvec::ArrayVec;

/// The most rounds of a dUpdateItem: the changes of all rounds and a commit fit into one pipeline of statements.
pub const MAX_ITEM_ROUNDS: usize = 7;

/// Input of dUpdateItem: in each round two items change prices with each other. So the table changes that clusters
/// replicate to every node, while the sum of I_PRICE stays the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateItem {
    /// The terminal's home warehouse.
    pub w_id: WarehouseId,
    /// The two items of each round. All are different, in the order of I_ID. They are locked in this order.
    pub rounds: ArrayVec<[ItemId; 2], MAX_ITEM_ROUNDS>,
}

/// Output of a dUpdateItem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateItemOutcome {
    /// I_PRICE of the two items of each round after the change.
    pub prices: ArrayVec<[Cents; 2], MAX_ITEM_ROUNDS>,
}

impl UpdateItem {
    /// Returns a dUpdateItem of one round.
    #[must_use]
    pub fn once(w_id: WarehouseId, items: [ItemId; 2]) -> Self {
        Self { w_id, rounds: [items].into_iter().collect() }
    }
}

impl Profile for UpdateItem {
    type Input = Self;
    type Outcome = UpdateItemOutcome;

    const TITLE: &'static str = "dUpdateItem";

    /// Makes a dUpdateItem of different items, drawn like those of an order.
    fn draw(seat: &mut Seat, plan: &InputPlan) -> Self {
        let mut items = ArrayVec::<ItemId, { 2 * MAX_ITEM_ROUNDS }>::new();
        while items.len() < 2 * plan.update_item_rounds as usize {
            let item = plan.constants.item(&mut seat.stream, plan.size);
            if !items.contains(&item) {
                items.push(item);
            }
        }
        items.sort_unstable();
        let rounds = items.chunks_exact(2).map(|round| [round[0], round[1]]).collect();
        Self { w_id: seat.w_id, rounds }
    }
}

impl Extra for UpdateItem {
    fn invent(input: &Self) -> UpdateItemOutcome {
        UpdateItemOutcome { prices: input.rounds.iter().map(|_| [Cents(100); 2]).collect() }
    }
}
