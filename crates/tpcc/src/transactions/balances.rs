//! The input that dUpdateBalance and dSelectBalance share.

use crate::distribution::Remote;
use crate::ids::WarehouseId;
use crate::input::{BalanceOrder, InputPlan, Seat};
use crate::order_line::MAX_ORDER_LINES;
use crate::statistics::NodesTouched;
use arrayvec::ArrayVec;

/// Input of dUpdateBalance and dSelectBalance, which change or read W_YTD of several warehouses in one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarehouseBalances {
    /// The terminal's home warehouse.
    pub w_id: WarehouseId,
    /// The 1 to 15 different warehouses in the order of their locks or reads.
    pub warehouses: ArrayVec<WarehouseId, MAX_ORDER_LINES>,
}

impl WarehouseBalances {
    /// Makes the warehouses of a dUpdateBalance or dSelectBalance: the home and others, all equally likely.
    pub(super) fn draw(seat: &mut Seat, plan: &InputPlan) -> Self {
        let w_id = seat.w_id;
        let mut warehouses: Remote = std::iter::once(w_id).collect();
        plan.add_others(w_id, plan.balances.warehouses, &mut warehouses, &mut seat.stream);
        if plan.balances.order == BalanceOrder::Ascending {
            warehouses.sort_unstable();
        }
        Self { w_id, warehouses }
    }

    /// Passes the warehouses to `touch`.
    pub(super) fn touch(&self, touch: impl FnMut(WarehouseId)) {
        self.warehouses.iter().copied().for_each(touch);
    }

    /// Counts a transaction by the number of nodes that it touched.
    pub(super) fn count_nodes(touched: &mut NodesTouched, nodes: usize) {
        touched.balances.0[nodes] += 1;
    }
}
