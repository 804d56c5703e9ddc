//! dUpdateStock of the Dike paper (its section 4.3.2).

use super::profile::{Extra, Profile};
use crate::coaccess::CoAccess;
use crate::distribution::Remote;
use crate::ids::WarehouseId;
use crate::input::{InputPlan, Seat};
use crate::order_line::{MAX_ORDER_LINES, OrderLineInput};
use crate::statistics::NodesTouched;
use arrayvec::ArrayVec;

/// Input of dUpdateStock, which updates stock like a New-Order (clause 2.4.2.2) and does nothing else. All rounds are
/// in one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateStock {
    /// The terminal's home warehouse.
    pub w_id: WarehouseId,
    /// The 1 to 15 rounds, each on another row of stock, in the order of warehouse and item. This is the order of
    /// [`NewOrder::access_order`](super::NewOrder::access_order), so two dUpdateStocks, or one and a New-Order, seldom
    /// wait for each other in a ring.
    pub rounds: ArrayVec<OrderLineInput, MAX_ORDER_LINES>,
}

/// Output of a dUpdateStock, whose terminal shows nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateStockOutcome {
    /// S_QUANTITY after each round, in the order of the input.
    pub quantities: Vec<i32>,
}

impl UpdateStock {
    /// True if the rounds use exactly the home's group in `groups`.
    #[must_use]
    pub fn is_of_a_group(&self, groups: &CoAccess) -> bool {
        let warehouses = self.rounds.iter().map(|round| &round.supply_w_id);
        groups.group(self.w_id).iter().eq(warehouses)
    }
}

impl Profile for UpdateStock {
    type Input = Self;
    type Outcome = UpdateStockOutcome;

    const TITLE: &'static str = "dUpdateStock";

    /// Makes a dUpdateStock: one round at the home, the others at as many other warehouses. Without co-access all other
    /// warehouses are equally likely.
    fn draw(seat: &mut Seat, plan: &InputPlan) -> Self {
        let Seat { ref mut stream, w_id, d_id } = *seat;
        let mut warehouses: Remote = match &plan.coaccess {
            Some(coaccess) => coaccess.draw(w_id, stream),
            None => std::iter::once(w_id).collect(),
        };
        plan.add_others(w_id, plan.update_stock_rounds, &mut warehouses, stream);
        warehouses.sort_unstable();
        let round = |supply_w_id| OrderLineInput {
            i_id: plan.stocked(supply_w_id, plan.constants.item(stream, plan.size)),
            supply_w_id,
            quantity: stream.uniform(1, 10) as u8,
        };
        let mut rounds: ArrayVec<_, MAX_ORDER_LINES> = warehouses.into_iter().map(round).collect();
        plan.keep_apart(d_id, &mut rounds);
        Self { w_id, rounds }
    }

    fn touch(input: &Self, touch: impl FnMut(WarehouseId)) {
        input.rounds.iter().map(|round| round.supply_w_id).for_each(touch);
    }

    fn count_nodes(touched: &mut NodesTouched, nodes: usize) {
        touched.update_stocks.0[nodes] += 1;
    }
}

impl Extra for UpdateStock {
    fn invent(input: &Self) -> UpdateStockOutcome {
        UpdateStockOutcome { quantities: vec![50; input.rounds.len()] }
    }
}
