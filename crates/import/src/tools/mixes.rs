//! Mixes of transactions, in the words of a plan.

use crate::decimal::{Milli, WHOLE, to_hundred, total};
use crate::draft::Draft;
use crate::fate::Fate;
use crate::given::Given;

/// Lydite's types of transactions, in its order.
pub(super) const TYPES: [&str; 5] = ["new_order", "payment", "order_status", "delivery", "stock_level"];

/// Returns the mix of shares in Lydite's order, scaled to 100; none if all are zero.
pub(super) fn mix(shares: &[Milli; 5]) -> Option<String> {
    let shares = to_hundred(shares)?;
    Some(shares.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
}

/// Returns the mix of four shares, with the rest of 100 for New-Orders; none if they sum to more.
pub(super) fn mix_of_rest(others: [Milli; 4]) -> Option<String> {
    let rest = WHOLE.0.checked_sub(total(&others))?;
    let [payment, order_status, delivery, stock_level] = others;
    mix(&[Milli(rest), payment, order_status, delivery, stock_level])
}

/// Keeps a share of a mix as `share`. Its group is the place of the setting in `names`.
pub(super) fn keep_share(draft: &mut Draft, given: &Given, names: &[&str]) -> Fate {
    match Milli::parse(given.text(), 100.0) {
        Some(share) => {
            let at = names.iter().position(|name| *name == given.name).unwrap_or(0);
            draft.keep("share", at, share.0);
            Fate::translated("mix")
        }
        None => Fate::unknown("must be a number of percent"),
    }
}
