//! A bounded, unbiased sample of acknowledged answers with their inputs, so that their rows can be read again after the
//! run.
//!
//! Each answer has a pseudo-random priority, made of its contents; the answers with the least priorities are kept. So the
//! kept ones of several sessions can be merged without a bias, and an answer that is not kept costs a hash and a
//! comparison.

use lydite_tpcc::transactions::{
    Delivery, NewOrder, NewOrderOutcome, OrderLineInput, Payment, PaymentOutcome,
};
use lydite_tpcc::{
    CarrierId, Cents, CustomerId, DistrictId, OrderId, Outcome, Standard, StandardOutcome, Transaction,
    WarehouseId,
};
use std::collections::BTreeMap;

/// Answers that are kept of each kind.
pub const SAMPLED: usize = 200;
/// Deliveries that are kept. Each has several orders.
const DELIVERIES: usize = 20;
/// C_CREDIT of customers whose C_DATA a Payment changes (clause 2.5.2.2).
const BAD_CREDIT: &str = "BC";

/// The kept answers.
#[derive(Clone, Debug)]
pub struct Samples {
    /// New-Orders.
    pub orders: Reservoir<SampledOrder>,
    /// Payments of customers with good credit.
    pub payments: Reservoir<SampledPayment>,
    /// Payments of customers with bad credit, which are one in ten.
    pub bad_credit: Reservoir<SampledPayment>,
    /// Deliveries.
    pub deliveries: Reservoir<SampledDelivery>,
}

impl Default for Samples {
    fn default() -> Self {
        Self {
            orders: Reservoir::new(SAMPLED),
            payments: Reservoir::new(SAMPLED / 2),
            bad_credit: Reservoir::new(SAMPLED / 2),
            deliveries: Reservoir::new(DELIVERIES),
        }
    }
}

/// An acknowledged New-Order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledOrder {
    /// Warehouse of the order.
    pub w_id: WarehouseId,
    /// District of the order.
    pub d_id: DistrictId,
    /// O_ID of the answer.
    pub o_id: OrderId,
    /// Customer.
    pub c_id: CustomerId,
    /// Lines as they were entered, with S_QUANTITY and OL_AMOUNT of the answer.
    pub lines: Vec<(OrderLineInput, i32, Cents)>,
}

/// An acknowledged Payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledPayment {
    /// Warehouse of the payment.
    pub w_id: WarehouseId,
    /// District of the payment.
    pub d_id: DistrictId,
    /// Warehouse of the customer.
    pub c_w_id: WarehouseId,
    /// District of the customer.
    pub c_d_id: DistrictId,
    /// C_ID of the answer.
    pub c_id: CustomerId,
    /// Amount.
    pub amount: Cents,
}

/// An acknowledged Delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledDelivery {
    /// Warehouse.
    pub w_id: WarehouseId,
    /// Carrier that was entered.
    pub carrier_id: CarrierId,
    /// Delivered orders of the answer.
    pub delivered: Vec<(DistrictId, OrderId)>,
}

impl Samples {
    /// Takes an answer into the sample, or leaves it out.
    pub(crate) fn offer(&mut self, transaction: &Transaction, outcome: &Outcome) {
        let (Transaction::Standard(transaction), Outcome::Standard(outcome)) = (transaction, outcome) else {
            return;
        };
        match (transaction, outcome) {
            (Standard::NewOrder(input), StandardOutcome::NewOrder(answer)) => {
                let identity = [input.w_id.get(), input.d_id.get(), answer.o_id.get()];
                self.orders.offer(identity, || order(input, answer));
            }
            (Standard::Payment(input), StandardOutcome::Payment(answer)) => {
                let bad = answer.c_credit.as_str() == BAD_CREDIT;
                let reservoir = if bad { &mut self.bad_credit } else { &mut self.payments };
                let identity = [answer.h_date.0, answer.c_id.get(), input.amount.0];
                reservoir.offer(identity, || payment(input, answer));
            }
            (Standard::Delivery(input), StandardOutcome::Delivery(answer)) => {
                let first = answer.delivered.first().map_or(0, |(_, o_id)| o_id.get());
                self.deliveries.offer([input.w_id.get(), first, -1], || delivery(input, &answer.delivered));
            }
            _ => {}
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.orders.merge(&other.orders);
        self.payments.merge(&other.payments);
        self.bad_credit.merge(&other.bad_credit);
        self.deliveries.merge(&other.deliveries);
    }

    /// True if no answer was kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.orders.kept.is_empty()
            && self.payments.kept.is_empty()
            && self.bad_credit.kept.is_empty()
            && self.deliveries.kept.is_empty()
    }
}

fn order(input: &NewOrder, answer: &NewOrderOutcome) -> SampledOrder {
    let lines = input.lines.iter().zip(&answer.lines);
    SampledOrder {
        w_id: input.w_id,
        d_id: input.d_id,
        o_id: answer.o_id,
        c_id: input.c_id,
        lines: lines.map(|(entered, answered)| (*entered, answered.s_quantity, answered.amount)).collect(),
    }
}

fn payment(input: &Payment, answer: &PaymentOutcome) -> SampledPayment {
    let Payment { w_id, d_id, c_w_id, c_d_id, amount, .. } = *input;
    SampledPayment { w_id, d_id, c_w_id, c_d_id, c_id: answer.c_id, amount }
}

fn delivery(input: &Delivery, delivered: &[(DistrictId, OrderId)]) -> SampledDelivery {
    SampledDelivery { w_id: input.w_id, carrier_id: input.carrier_id, delivered: delivered.to_vec() }
}

/// The answers of one kind with the least priorities.
#[derive(Clone, Debug)]
pub struct Reservoir<T> {
    most: usize,
    kept: BTreeMap<u64, T>,
}

impl<T: Clone> Reservoir<T> {
    fn new(most: usize) -> Self {
        Self { most, kept: BTreeMap::new() }
    }

    fn offer(&mut self, identity: [i64; 3], answer: impl FnOnce() -> T) {
        let priority = identity.iter().fold(0, |mixed, part| mix(mixed ^ *part as u64));
        if self.kept.len() == self.most
            && self.kept.last_key_value().is_some_and(|(last, _)| *last <= priority)
        {
            return;
        }
        self.kept.insert(priority, answer());
        if self.kept.len() > self.most {
            self.kept.pop_last();
        }
    }

    fn merge(&mut self, other: &Self) {
        for (priority, answer) in &other.kept {
            self.kept.insert(*priority, answer.clone());
            if self.kept.len() > self.most {
                self.kept.pop_last();
            }
        }
    }

    /// Returns the kept answers, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.kept.values()
    }
}

/// Mixes the bits of a number, so that near numbers become unrelated ones (SplitMix64).
fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reservoir_is_bounded_and_unbiased_and_merges_to_the_sample_of_all() {
        let (mut all, mut even, mut odd) = (Reservoir::new(100), Reservoir::new(100), Reservoir::new(100));
        for number in 0..100_000_i64 {
            all.offer([1, 2, number], || number);
            let half = if number % 2 == 0 { &mut even } else { &mut odd };
            half.offer([1, 2, number], || number);
        }
        even.merge(&odd);
        assert_eq!(even.iter().collect::<Vec<_>>(), all.iter().collect::<Vec<_>>());
        assert_eq!(all.iter().count(), 100);
        // The mean of 100 uniform numbers has a standard deviation of 2 887.
        let mean = all.iter().sum::<i64>() / 100;
        assert!((40_000..60_000).contains(&mean), "{mean}");
    }
}
