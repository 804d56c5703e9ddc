//! Payment (clause 2.5).

use super::customer::CustomerSelector;
use super::profile::{Limited, Profile};
use crate::answer::Contradiction;
use crate::ids::{CustomerId, DistrictId, WarehouseId};
use crate::input::{InputPlan, Seat};
use crate::limits::KindLimits;
use crate::money::{Cents, Rate};
use crate::rows::Address;
use crate::statistics::{InputStatistics, NodesTouched};
use crate::text::{Credit, LastName, Text};
use crate::time::Timestamp;
use serde::Deserialize;

/// C_CREDIT of customers whose C_DATA a Payment changes and shows.
const BAD_CREDIT: &str = "BC";

/// Input of Payment (clause 2.5.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payment {
    /// The terminal's home warehouse, which receives the money.
    pub w_id: WarehouseId,
    /// The district that receives the money.
    pub d_id: DistrictId,
    /// The customer's own warehouse; not `w_id` in 15 % of the payments.
    pub c_w_id: WarehouseId,
    /// The customer's own district.
    pub c_d_id: DistrictId,
    /// The customer who pays.
    pub customer: CustomerSelector,
    /// H_AMOUNT, 1.00 to 5 000.00.
    pub amount: Cents,
}

/// Output of a Payment (clause 2.5.3.4).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PaymentOutcome {
    /// H_DATE, the database's clock.
    pub h_date: Timestamp,
    /// The warehouse's address.
    pub warehouse: Address,
    /// The district's address.
    pub district: Address,
    /// C_ID, also when the customer was found by name.
    pub c_id: CustomerId,
    /// C_FIRST.
    pub c_first: Text<16>,
    /// C_MIDDLE.
    pub c_middle: Text<2>,
    /// C_LAST.
    pub c_last: LastName,
    /// The customer's address.
    pub address: Address,
    /// C_PHONE.
    pub c_phone: Text<16>,
    /// C_SINCE.
    pub c_since: Timestamp,
    /// C_CREDIT.
    pub c_credit: Credit,
    /// C_CREDIT_LIM.
    pub c_credit_lim: Cents,
    /// C_DISCOUNT.
    pub c_discount: Rate,
    /// C_BALANCE after the payment.
    pub c_balance: Cents,
    /// The first 200 characters of C_DATA after the update; none for good credit.
    #[serde(deserialize_with = "Option::deserialize")]
    pub c_data: Option<Text<200>>,
}

impl Limited for Payment {
    const LIMITS: KindLimits =
        KindLimits { min_mix_percent: Some(43.0), keying_s: 3.0, mean_think_s: 12.0, p90_response_s: 5.0 };
}

impl Profile for Payment {
    type Input = Self;
    type Outcome = Box<PaymentOutcome>;

    const TITLE: &'static str = "Payment";

    /// Makes a Payment (clause 2.5.1).
    fn draw(seat: &mut Seat, plan: &InputPlan) -> Self {
        let Seat { ref mut stream, w_id, .. } = *seat;
        let d_id = plan.cool_district(w_id, stream);
        let controlled = plan.distribution.as_ref().and_then(|of| of.customer_warehouse(w_id, stream));
        let (c_w_id, c_d_id) = match controlled {
            Some(home) if home == w_id => (home, d_id),
            Some(other) => (other, plan.any_district(other, stream)),
            None if stream.percent(15) => {
                let other = plan.other_warehouse(w_id, stream);
                (other, plan.any_district(other, stream))
            }
            None => (w_id, d_id),
        };
        let customer = CustomerSelector::draw(plan, stream);
        let amount = Cents(i64::from(stream.uniform(100, 500_000)));
        Self { w_id, d_id, c_w_id, c_d_id, customer, amount }
    }

    fn touch(input: &Self, mut touch: impl FnMut(WarehouseId)) {
        touch(input.c_w_id);
    }

    fn count(input: &Self, counts: &mut InputStatistics) {
        counts.remote_payments += u64::from(input.c_w_id != input.w_id);
        counts.payments_by_name += u64::from(input.customer.is_by_name());
    }

    fn count_nodes(touched: &mut NodesTouched, nodes: usize) {
        if nodes == 1 {
            touched.local_payments += 1;
        } else {
            touched.distributed_payments += 1;
        }
    }

    fn contradiction(entered: &Self, answered: &Self::Outcome) -> Option<Contradiction> {
        let bad = answered.c_credit.as_str() == BAD_CREDIT;
        let of_customer = entered.customer.contradiction(answered.c_id, answered.c_last);
        of_customer
            .or_else(|| (answered.c_data.is_some() != bad).then_some(Contradiction::CreditData { bad }))
    }

    fn forget_times(answered: &mut Self::Outcome) {
        answered.h_date = Timestamp(0);
    }
}
