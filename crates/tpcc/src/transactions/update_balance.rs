//! dUpdateBalance of the Dike paper (its section 5).

use super::balances::WarehouseBalances;
use super::profile::{Extra, Profile};
use crate::ids::WarehouseId;
use crate::input::{InputPlan, Seat};
use crate::money::Cents;
use crate::statistics::NodesTouched;

/// Amount that a dUpdateBalance adds to each W_YTD: 10, as in the Dike paper.
pub const BALANCE_UPDATE: Cents = Cents(1_000);

/// Output of a dUpdateBalance, whose terminal shows nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateBalanceOutcome;

/// The type dUpdateBalance, which adds [`BALANCE_UPDATE`] to each warehouse.
pub(crate) enum UpdateBalance {}

impl Profile for UpdateBalance {
    type Input = WarehouseBalances;
    type Outcome = UpdateBalanceOutcome;

    const TITLE: &'static str = "dUpdateBalance";

    fn draw(seat: &mut Seat, plan: &InputPlan) -> WarehouseBalances {
        WarehouseBalances::draw(seat, plan)
    }

    fn touch(input: &WarehouseBalances, touch: impl FnMut(WarehouseId)) {
        input.touch(touch);
    }

    fn count_nodes(touched: &mut NodesTouched, nodes: usize) {
        WarehouseBalances::count_nodes(touched, nodes);
    }
}

impl Extra for UpdateBalance {
    fn invent(_: &WarehouseBalances) -> UpdateBalanceOutcome {
        UpdateBalanceOutcome
    }
}
