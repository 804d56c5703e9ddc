//! Order-Status (clause 2.6).

use super::customer::CustomerSelector;
use super::profile::{Limited, Profile};
use crate::answer::Contradiction;
use crate::ids::{CarrierId, CustomerId, DistrictId, ItemId, OrderId, WarehouseId};
use crate::input::{InputPlan, Seat};
use crate::limits::KindLimits;
use crate::money::Cents;
use crate::order_line::{MAX_ORDER_LINES, MIN_ORDER_LINES};
use crate::statistics::InputStatistics;
use crate::text::{LastName, Text};
use crate::time::Timestamp;
use serde::Deserialize;

/// Input of Order-Status (clause 2.6.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderStatus {
    /// The terminal's home warehouse.
    pub w_id: WarehouseId,
    /// The customer's district.
    pub d_id: DistrictId,
    /// The customer whose last order is shown.
    pub customer: CustomerSelector,
}

/// Output of an Order-Status (clause 2.6.3.3).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct OrderStatusOutcome {
    /// C_ID, also when the customer was found by name.
    pub c_id: CustomerId,
    /// C_FIRST.
    pub c_first: Text<16>,
    /// C_MIDDLE.
    pub c_middle: Text<2>,
    /// C_LAST.
    pub c_last: LastName,
    /// C_BALANCE.
    pub c_balance: Cents,
    /// O_ID of the customer's last order.
    pub o_id: OrderId,
    /// O_ENTRY_D.
    pub entry_d: Timestamp,
    /// O_CARRIER_ID; none while undelivered.
    #[serde(deserialize_with = "Option::deserialize")]
    pub carrier_id: Option<CarrierId>,
    /// The order's lines by OL_NUMBER.
    pub lines: Vec<OrderStatusLine>,
}

/// One line of an Order-Status.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct OrderStatusLine {
    /// OL_I_ID.
    pub i_id: ItemId,
    /// OL_SUPPLY_W_ID.
    pub supply_w_id: WarehouseId,
    /// OL_QUANTITY.
    pub quantity: u8,
    /// OL_AMOUNT.
    pub amount: Cents,
    /// OL_DELIVERY_D; none while undelivered.
    #[serde(deserialize_with = "Option::deserialize")]
    pub delivery_d: Option<Timestamp>,
}

impl Limited for OrderStatus {
    const LIMITS: KindLimits =
        KindLimits { min_mix_percent: Some(4.0), keying_s: 2.0, mean_think_s: 10.0, p90_response_s: 5.0 };
}

impl Profile for OrderStatus {
    type Input = Self;
    type Outcome = OrderStatusOutcome;

    const TITLE: &'static str = "Order-Status";
    const ONLY_READS: bool = true;

    /// Makes an Order-Status (clause 2.6.1).
    fn draw(seat: &mut Seat, plan: &InputPlan) -> Self {
        let Seat { ref mut stream, w_id, .. } = *seat;
        let d_id = plan.any_district(w_id, stream);
        Self { w_id, d_id, customer: CustomerSelector::draw(plan, stream) }
    }

    fn count(input: &Self, counts: &mut InputStatistics) {
        counts.order_status_by_name += u64::from(input.customer.is_by_name());
    }

    fn contradiction(entered: &Self, answered: &OrderStatusOutcome) -> Option<Contradiction> {
        let lines = answered.lines.len();
        entered.customer.contradiction(answered.c_id, answered.c_last).or_else(|| {
            (!(MIN_ORDER_LINES..=MAX_ORDER_LINES).contains(&lines))
                .then_some(Contradiction::OrderLines(lines))
        })
    }

    fn forget_times(answered: &mut OrderStatusOutcome) {
        answered.entry_d = Timestamp(0);
        for line in &mut answered.lines {
            line.delivery_d = line.delivery_d.map(|_| Timestamp(0));
        }
    }
}
