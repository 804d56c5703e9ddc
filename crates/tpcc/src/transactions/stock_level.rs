//! Stock-Level (clause 2.8).

use super::profile::{Limited, Profile};
use crate::answer::Contradiction;
use crate::ids::{DistrictId, WarehouseId};
use crate::input::{InputPlan, Seat};
use crate::limits::KindLimits;
use crate::order_line::MAX_ORDER_LINES;
use crate::statistics::NodesTouched;
use arrayvec::ArrayVec;
use serde::Deserialize;

/// Orders that a Stock-Level looks at in a district (clause 2.8.2.2).
const RECENT_ORDERS: usize = 20;

/// Input of Stock-Level (clause 2.8.1). With other districts it is the input of the Dike paper's dStockLevel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StockLevel {
    /// The terminal's home warehouse.
    pub w_id: WarehouseId,
    /// The terminal's own district, fixed for the run.
    pub d_id: DistrictId,
    /// Threshold, 10 to 20: stock below it is low.
    pub threshold: u8,
    /// Districts of other warehouses whose low stock is counted in the same transaction and added. Empty in the
    /// standard.
    pub others: ArrayVec<(WarehouseId, DistrictId), MAX_ORDER_LINES>,
}

/// Output of a Stock-Level (clause 2.8.3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct StockLevelOutcome {
    /// Field low_stock: the number of distinct items in the district's last 20 orders whose stock is below the
    /// threshold.
    pub low_stock: u32,
}

impl StockLevel {
    /// Returns the districts whose low stock is counted, the terminal's own first.
    pub fn districts(&self) -> impl Iterator<Item = (WarehouseId, DistrictId)> + '_ {
        std::iter::once((self.w_id, self.d_id)).chain(self.others.iter().copied())
    }
}

impl Limited for StockLevel {
    const LIMITS: KindLimits =
        KindLimits { min_mix_percent: Some(4.0), keying_s: 2.0, mean_think_s: 5.0, p90_response_s: 20.0 };
}

impl Profile for StockLevel {
    type Input = Self;
    type Outcome = StockLevelOutcome;

    const TITLE: &'static str = "Stock-Level";
    const ONLY_READS: bool = true;

    /// Makes a Stock-Level (clause 2.8.1). With skewed data it draws any district, because the ten terminals of a
    /// warehouse do not have one each.
    fn draw(seat: &mut Seat, plan: &InputPlan) -> Self {
        let Seat { ref mut stream, w_id, d_id: own } = *seat;
        let d_id = match plan.districts.skew() {
            None => own,
            Some(_) => plan.any_district(w_id, stream),
        };
        let threshold = stream.uniform(10, 20) as u8;
        let remote = plan.distribution.as_ref().map(|of| of.stock_level_remote(w_id, stream));
        let others = remote.into_iter().flatten();
        let others = others.map(|w_id| (w_id, plan.any_district(w_id, stream))).collect();
        Self { w_id, d_id, threshold, others }
    }

    fn touch(input: &Self, touch: impl FnMut(WarehouseId)) {
        input.others.iter().map(|(w_id, _)| *w_id).for_each(touch);
    }

    fn count_nodes(touched: &mut NodesTouched, nodes: usize) {
        touched.stock_levels.0[nodes] += 1;
    }

    fn contradiction(entered: &Self, answered: &StockLevelOutcome) -> Option<Contradiction> {
        let most = entered.districts().count() * RECENT_ORDERS * MAX_ORDER_LINES;
        (answered.low_stock as usize > most)
            .then_some(Contradiction::LowStock { answered: answered.low_stock, most })
    }
}
