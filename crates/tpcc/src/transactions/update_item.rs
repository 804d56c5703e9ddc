//! dUpdateItem of the Dike paper (its appendix A.1: broadcastTest).

use super::profile::{Extra, Profile};
use crate::ids::{ItemId, WarehouseId};
use crate::input::{InputPlan, Seat};
use crate::money::Cents;

/// Input of dUpdateItem: two items change prices with each other. So the table changes that clusters replicate to every
/// node, while the sum of I_PRICE stays the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateItem {
    /// The terminal's home warehouse.
    pub w_id: WarehouseId,
    /// Two different items in the order of I_ID. They are locked in this order.
    pub items: [ItemId; 2],
}

/// Output of a dUpdateItem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateItemOutcome {
    /// I_PRICE of the two items after the change.
    pub prices: [Cents; 2],
}

impl Profile for UpdateItem {
    type Input = Self;
    type Outcome = UpdateItemOutcome;

    const TITLE: &'static str = "dUpdateItem";

    /// Makes a dUpdateItem of two different items, drawn like those of an order.
    fn draw(seat: &mut Seat, plan: &InputPlan) -> Self {
        let one = plan.constants.item(&mut seat.stream, plan.size);
        let mut other = one;
        while other == one {
            other = plan.constants.item(&mut seat.stream, plan.size);
        }
        Self { w_id: seat.w_id, items: [one.min(other), one.max(other)] }
    }
}

impl Extra for UpdateItem {
    fn invent(_: &Self) -> UpdateItemOutcome {
        UpdateItemOutcome { prices: [Cents(100); 2] }
    }
}
