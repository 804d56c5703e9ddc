//! New-Order (clause 2.4).

use super::profile::{Limited, Profile};
use crate::answer::Contradiction;
use crate::distribution::Remote;
use crate::ids::{CustomerId, DistrictId, ITEMS, OrderId, WarehouseId};
use crate::input::{InputPlan, Seat, UNUSED_ITEM};
use crate::limits::KindLimits;
use crate::money::{Cents, Rate, order_total};
use crate::order_line::{MAX_ORDER_LINES, OrderLineInput};
use crate::random::Stream;
use crate::statistics::{InputStatistics, NodesTouched};
use crate::text::{Credit, LastName, Text};
use crate::time::Timestamp;
use arrayvec::ArrayVec;
use serde::Deserialize;

/// Input of New-Order (clause 2.4.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewOrder {
    /// The terminal's home warehouse.
    pub w_id: WarehouseId,
    /// The ordering customer's district.
    pub d_id: DistrictId,
    /// The ordering customer.
    pub c_id: CustomerId,
    /// The 5 to 15 lines in the order of OL_NUMBER. An unused item in the last line makes the order roll back.
    pub lines: ArrayVec<OrderLineInput, MAX_ORDER_LINES>,
}

/// Output of a committed New-Order (clause 2.4.3.3). It does not repeat the input (W_ID, D_ID, C_ID, and the item,
/// supplying warehouse and quantity of each line).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct NewOrderOutcome {
    /// O_ID of the new order.
    pub o_id: OrderId,
    /// O_ENTRY_D, the database's clock.
    pub entry_d: Timestamp,
    /// C_LAST.
    pub c_last: LastName,
    /// C_CREDIT.
    pub c_credit: Credit,
    /// C_DISCOUNT.
    pub c_discount: Rate,
    /// W_TAX.
    pub w_tax: Rate,
    /// D_TAX.
    pub d_tax: Rate,
    /// Field total-amount, rounded to the cent.
    pub total: Cents,
    /// One entry for each line of the input, in its order.
    pub lines: Vec<NewOrderLine>,
}

/// Output of one line of a New-Order.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct NewOrderLine {
    /// I_NAME.
    pub i_name: Text<24>,
    /// S_QUANTITY after the update.
    pub s_quantity: i32,
    /// True if both I_DATA and S_DATA contain `ORIGINAL`: shown as `B`, else `G`.
    pub brand: bool,
    /// I_PRICE.
    pub i_price: Cents,
    /// OL_AMOUNT.
    pub amount: Cents,
}

/// Output of a New-Order that was rolled back because of its unused item (clause 2.4.3.4).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RolledBackOrder {
    /// O_ID that the order would have had.
    pub o_id: OrderId,
    /// C_LAST.
    pub c_last: LastName,
    /// C_CREDIT.
    pub c_credit: Credit,
}

impl NewOrder {
    /// Returns O_ALL_LOCAL: true if the home warehouse supplies every line (clause 2.4.2.2).
    #[must_use]
    pub fn all_local(&self) -> bool {
        self.lines.iter().all(|line| line.supply_w_id == self.w_id)
    }

    /// True if the terminal entered an item that does not exist (clause 2.4.1.4), the only reason to roll back an order.
    #[must_use]
    pub fn has_unused_item(&self) -> bool {
        self.lines.iter().any(|line| line.i_id.0 > ITEMS)
    }

    /// Returns the indexes of the lines in the order of the locks on stock in every target: by supplying warehouse and
    /// item. So two orders seldom wait for each other in a ring. (Within one statement the database may choose another
    /// order.) A last line with the only unused item stays last, because the profile wants all valid lines done before
    /// the rollback (clause 2.4.2.3). An unused id is above all valid ones, but its warehouse may have a low number.
    #[must_use]
    pub fn access_order(&self) -> ArrayVec<usize, MAX_ORDER_LINES> {
        let mut order: ArrayVec<usize, MAX_ORDER_LINES> = (0..self.lines.len()).collect();
        order.sort_by_key(|&index| {
            let line = &self.lines[index];
            (line.i_id.0 > ITEMS, line.supply_w_id, line.i_id, index)
        });
        order
    }
}

impl Limited for NewOrder {
    const LIMITS: KindLimits =
        KindLimits { min_mix_percent: None, keying_s: 18.0, mean_think_s: 12.0, p90_response_s: 5.0 };
}

impl Profile for NewOrder {
    type Input = Self;
    type Outcome = NewOrderOutcome;

    const TITLE: &'static str = "New-Order";

    /// Makes a New-Order (clause 2.4.1). The same item may occur twice in an order.
    fn draw(seat: &mut Seat, plan: &InputPlan) -> Self {
        let Seat { ref mut stream, w_id, d_id: own } = *seat;
        let d_id = if plan.has_own_districts() { own } else { plan.any_district(w_id, stream) };
        let c_id = plan.constants.customer(stream, plan.size);
        let line_count = stream.uniform(5, 15);
        let rolls_back = stream.percent(1);
        if let Some(remote) = plan.distribution.as_ref().and_then(|of| of.remote(w_id, stream)) {
            let lines = distributed(plan, w_id, line_count, rolls_back, &remote, stream);
            return Self { w_id, d_id, c_id, lines };
        }
        let mut lines: ArrayVec<OrderLineInput, MAX_ORDER_LINES> = (0..line_count)
            .map(|_| {
                let i_id = plan.constants.item(stream, plan.size);
                let supply_w_id = if stream.percent(1) { plan.other_warehouse(w_id, stream) } else { w_id };
                let quantity = stream.uniform(1, 10) as u8;
                OrderLineInput { i_id: plan.stocked(supply_w_id, i_id), supply_w_id, quantity }
            })
            .collect();
        plan.keep_apart(own, &mut lines);
        if rolls_back && let Some(last) = lines.last_mut() {
            last.i_id = UNUSED_ITEM;
        }
        Self { w_id, d_id, c_id, lines }
    }

    fn touch(input: &Self, touch: impl FnMut(WarehouseId)) {
        input.lines.iter().map(|line| line.supply_w_id).for_each(touch);
    }

    fn count(input: &Self, counts: &mut InputStatistics) {
        counts.orders_by_lines[input.lines.len()] += 1;
        counts.rollbacks_asked += u64::from(input.has_unused_item());
        let remote = input.lines.iter().filter(|line| line.supply_w_id != input.w_id).count();
        counts.remote_lines += remote as u64;
        counts.remote_orders += u64::from(remote > 0);
    }

    fn count_nodes(touched: &mut NodesTouched, nodes: usize) {
        touched.new_orders.0[nodes] += 1;
    }

    fn contradiction(entered: &Self, answered: &NewOrderOutcome) -> Option<Contradiction> {
        if entered.lines.len() != answered.lines.len() {
            return Some(Contradiction::Lines {
                entered: entered.lines.len(),
                answered: answered.lines.len(),
            });
        }
        for (index, (input, line)) in entered.lines.iter().zip(&answered.lines).enumerate() {
            let computed = line.i_price.times(u32::from(input.quantity));
            if line.amount != computed {
                return Some(Contradiction::Amount { line: index + 1, answered: line.amount, computed });
            }
        }
        let sum = answered.lines.iter().map(|line| line.amount).sum();
        let computed = order_total(sum, answered.c_discount, answered.w_tax, answered.d_tax);
        (answered.total != computed).then_some(Contradiction::Total { answered: answered.total, computed })
    }

    fn forget_times(answered: &mut NewOrderOutcome) {
        answered.entry_d = Timestamp(0);
    }
}

/// Makes the lines of a New-Order (clause 2.4.1) whose supplying warehouses are given.
fn distributed(
    plan: &InputPlan,
    w_id: WarehouseId,
    line_count: u32,
    rolls_back: bool,
    remote: &Remote,
    stream: &mut Stream,
) -> ArrayVec<OrderLineInput, MAX_ORDER_LINES> {
    // The last line is the home's: it may name the unused item, which has no supplying warehouse to touch.
    let line_count = (line_count as usize).max(remote.len() + 1);
    (0..line_count)
        .map(|line| {
            let supply_w_id = remote.get(line).copied().unwrap_or(w_id);
            let i_id = if rolls_back && line + 1 == line_count {
                UNUSED_ITEM
            } else {
                plan.stocked(supply_w_id, plan.constants.item(stream, plan.size))
            };
            OrderLineInput { i_id, supply_w_id, quantity: stream.uniform(1, 10) as u8 }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ItemId;
    use crate::text::truncated;

    fn order(change: impl Fn(&mut NewOrderOutcome)) -> Option<Contradiction> {
        let line = |quantity| OrderLineInput { i_id: ItemId(1), supply_w_id: WarehouseId(1), quantity };
        let entered = NewOrder {
            w_id: WarehouseId(1),
            d_id: DistrictId(2),
            c_id: CustomerId(3),
            lines: [1, 10].map(line).into_iter().collect(),
        };
        let line = |price: i64, amount: i64| NewOrderLine {
            i_name: truncated("item"),
            s_quantity: 20,
            brand: false,
            i_price: Cents(price),
            amount: Cents(amount),
        };
        let mut answered = NewOrderOutcome {
            o_id: OrderId(3001),
            entry_d: Timestamp(0),
            c_last: truncated("BARBARBAR"),
            c_credit: truncated("GC"),
            c_discount: Rate(500),
            w_tax: Rate(1_000),
            d_tax: Rate(500),
            total: Cents(10_925),
            lines: vec![line(1_000, 1_000), line(900, 9_000)],
        };
        change(&mut answered);
        NewOrder::contradiction(&entered, &answered)
    }

    #[test]
    fn a_new_order_is_computed_again_from_its_lines() {
        assert_eq!(order(|_| {}), None);
        assert_eq!(
            order(|order| order.total = Cents(10_926)),
            Some(Contradiction::Total { answered: Cents(10_926), computed: Cents(10_925) })
        );
        assert_eq!(
            order(|order| order.lines[1].amount = Cents(900)),
            Some(Contradiction::Amount { line: 2, answered: Cents(900), computed: Cents(9_000) })
        );
        assert_eq!(
            order(|order| {
                order.lines.pop();
            }),
            Some(Contradiction::Lines { entered: 2, answered: 1 })
        );
        let words = order(|order| order.total = Cents(10_926)).map(|found| found.to_string());
        assert_eq!(words.as_deref(), Some("the total is 109.26, and that of the lines 109.25"));
    }
}
