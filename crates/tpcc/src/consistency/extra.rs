//! Conditions that the standard does not have, for the transactions that it does not have: they compare ITEM and STOCK
//! with the loaded rows.

use super::Condition;
use crate::money::Cents;
use crate::population::Population;
use crate::schema::Table;

/// Number of the condition on ITEM.
pub const ITEMS_CONDITION: u8 = 13;
/// Number of the condition on STOCK.
pub const STOCK_CONDITION: u8 = 14;

/// The conditions that the standard does not have. They hold after any transactions. In place of a clause they name the
/// table.
pub static EXTRA_CONDITIONS: [Condition; 2] = [
    Condition {
        number: ITEMS_CONDITION,
        clause: "item",
        title: "I_PRICE has the sum that was loaded",
        statement: "The number of items and the sum of I_PRICE are as loaded: items only exchange prices.",
        reads: &[Table::Item],
    },
    Condition {
        number: STOCK_CONDITION,
        clause: "stock",
        title: "S_QUANTITY and S_YTD fit what was loaded",
        statement: "For each row of stock, S_QUANTITY is 10 to 100, S_YTD is 1 to 10 times S_ORDER_CNT, \
                    S_REMOTE_CNT is at most S_ORDER_CNT, and S_QUANTITY + S_YTD differs from the loaded S_QUANTITY by \
                    a multiple of 91.",
        reads: &[Table::Stock],
    },
];

/// Returns S_QUANTITY + S_YTD modulo 91. This never changes: clause 2.4.2.2 adds to S_YTD what it takes from
/// S_QUANTITY, and may add 91 to S_QUANTITY.
#[must_use]
pub fn stock_residue(quantity: i32, ytd: u32) -> u32 {
    (i64::from(quantity) + i64::from(ytd)).rem_euclid(91) as u32
}

/// Returns the sum of I_PRICE over all items as loaded.
#[must_use]
pub fn price_sum(population: &Population) -> Cents {
    population.items().map(|item| item.price).sum()
}
