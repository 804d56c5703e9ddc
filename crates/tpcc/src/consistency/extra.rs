//! Conditions that the standard does not have, on what the transactions beside its own change: ITEM and STOCK are held against
//! what was loaded.

use super::Condition;
use crate::money::Cents;
use crate::population::Population;
use crate::schema::Table;

/// The number of the condition on ITEM.
pub const ITEMS_CONDITION: u8 = 13;
/// The number of the condition on STOCK.
pub const STOCK_CONDITION: u8 = 14;

/// The conditions that the standard does not have. They hold whatever transactions there were; their clause is the table.
pub static EXTRA_CONDITIONS: [Condition; 2] = [
    Condition {
        number: ITEMS_CONDITION,
        clause: "item",
        title: "I_PRICE has the sum that was loaded",
        statement: "There are as many items as were loaded, and I_PRICE sums to what was loaded: prices change hands only.",
        reads: &[Table::Item],
    },
    Condition {
        number: STOCK_CONDITION,
        clause: "stock",
        title: "S_QUANTITY and S_YTD fit what was loaded",
        statement: "For each row of stock, S_QUANTITY is 10 to 100, S_YTD is 1 to 10 times S_ORDER_CNT, S_REMOTE_CNT is at \
                    most S_ORDER_CNT, and S_QUANTITY + S_YTD differs from the S_QUANTITY that was loaded by a multiple of 91.",
        reads: &[Table::Stock],
    },
];

/// What S_QUANTITY + S_YTD is modulo 91: clause 2.4.2.2 takes from the one what it adds to the other, and may add 91.
#[must_use]
pub fn stock_residue(quantity: i32, ytd: u32) -> u32 {
    (i64::from(quantity) + i64::from(ytd)).rem_euclid(91) as u32
}

/// The sum of I_PRICE of all items as they were loaded.
#[must_use]
pub fn price_sum(population: &Population) -> Cents {
    population.items().map(|item| item.price).sum()
}
