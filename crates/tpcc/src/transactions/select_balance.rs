//! dSelectBalance of the Dike paper (its section 5).

use super::balances::WarehouseBalances;
use super::profile::{Extra, Profile};
use crate::ids::WarehouseId;
use crate::input::{InputPlan, Seat};
use crate::money::Cents;
use crate::statistics::NodesTouched;

/// Output of a dSelectBalance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectBalanceOutcome {
    /// W_YTD of each warehouse, in the order of the input.
    pub balances: Vec<Cents>,
}

/// The type dSelectBalance, which reads each warehouse.
pub(crate) enum SelectBalance {}

impl Profile for SelectBalance {
    type Input = WarehouseBalances;
    type Outcome = SelectBalanceOutcome;

    const TITLE: &'static str = "dSelectBalance";
    const ONLY_READS: bool = true;

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

impl Extra for SelectBalance {
    fn invent(input: &WarehouseBalances) -> SelectBalanceOutcome {
        SelectBalanceOutcome { balances: vec![Cents(30_000_000); input.warehouses.len()] }
    }
}
