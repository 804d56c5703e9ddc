//! Mixes of transactions, in the words of a plan.

use crate::decimal::{Milli, WHOLE, to_hundred};

/// Lydite's types of transactions, in its order.
pub(super) const TYPES: [&str; 5] = ["new_order", "payment", "order_status", "delivery", "stock_level"];

/// Returns the mix of shares in Lydite's order, scaled to 100; none if all are zero.
pub(super) fn mix(shares: &[Milli; 5]) -> Option<String> {
    let shares = to_hundred(shares)?;
    Some(shares.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
}

/// Returns the mix in which New-Orders are what the four other shares leave; none if these are more than 100.
pub(super) fn mix_of_rest(others: [Milli; 4]) -> Option<String> {
    let sum: u64 = others.iter().map(|share| share.0).sum();
    let rest = WHOLE.0.checked_sub(sum)?;
    let [payment, order_status, delivery, stock_level] = others;
    mix(&[Milli(rest), payment, order_status, delivery, stock_level])
}
