//! The consistency conditions (clause 3.3.2), and Lydite's own, as data.
//!
//! SQL targets check them with queries of their own. For a store without SQL, [`Evaluator`] and [`OwnEvaluator`] read the
//! rows.

mod evaluator;
mod own;
mod own_evaluator;

pub use evaluator::{Evaluator, Finding, OFFENDERS_SHOWN};
pub use own::{
    CUSTOMER_CONDITION, DISTRICT_CONDITION, ENTRIES_THAT_FIT, HISTORY_CONDITION, ITEM_CONDITION,
    ORDER_LINE_CONDITION, ORDERS_CONDITION, OWN_CONDITIONS, PAYMENTS, PRICES, STOCK_CONDITION,
    WAREHOUSE_CONDITION, exchanged, may_have_entries, not_compared, own_conditions_apply, price_sum,
    stock_residue,
};
pub use own_evaluator::{OwnEvaluator, StockCounts, entries_of, paid};

use crate::meta::DatabaseMeta;
use crate::schema::Table;

/// A consistency condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Number: 1 to 12 is the last part of the clause's number; 13 and more are [`OWN_CONDITIONS`].
    pub number: u8,
    /// Clause of the standard, or the table's name for a condition that the standard does not have.
    pub clause: &'static str,
    /// Title of one line.
    pub title: &'static str,
    /// Statement that holds in every state between transactions.
    pub statement: &'static str,
    /// Tables that the condition reads.
    pub reads: &'static [Table],
}

/// Number of conditions in the standard.
pub const CONDITION_COUNT: usize = 12;

/// The conditions of the standard, by number. An audit need not demonstrate those from 5 on (clause 3.3.3.1), but a
/// correct database keeps them too.
pub static CONDITIONS: [Condition; CONDITION_COUNT] = [
    Condition {
        number: 1,
        clause: "3.3.2.1",
        title: "W_YTD is the sum of D_YTD",
        statement: "For each warehouse, W_YTD is the sum of D_YTD of its districts.",
        reads: &[Table::Warehouse, Table::District],
    },
    Condition {
        number: 2,
        clause: "3.3.2.2",
        title: "D_NEXT_O_ID follows the last order",
        statement: "For each district, D_NEXT_O_ID - 1 is the greatest O_ID and, if there are new orders, the \
                    greatest NO_O_ID.",
        reads: &[Table::District, Table::Orders, Table::NewOrder],
    },
    Condition {
        number: 3,
        clause: "3.3.2.3",
        title: "NO_O_ID has no gaps",
        statement: "For each district with new orders, the greatest NO_O_ID minus the least plus 1 is the \
                    number of its new orders.",
        reads: &[Table::NewOrder],
    },
    Condition {
        number: 4,
        clause: "3.3.2.4",
        title: "O_OL_CNT sums to the order lines",
        statement: "For each district, the sum of O_OL_CNT is the number of its order lines.",
        reads: &[Table::Orders, Table::OrderLine],
    },
    Condition {
        number: 5,
        clause: "3.3.2.5",
        title: "an order has no carrier while it is new",
        statement: "For each order, O_CARRIER_ID is null if and only if the order has a row in NEW-ORDER; and \
                    each row there has its order.",
        reads: &[Table::Orders, Table::NewOrder],
    },
    Condition {
        number: 6,
        clause: "3.3.2.6",
        title: "O_OL_CNT is the order's number of lines",
        statement: "For each order, O_OL_CNT is the number of its order lines; and each line has its order.",
        reads: &[Table::Orders, Table::OrderLine],
    },
    Condition {
        number: 7,
        clause: "3.3.2.7",
        title: "a line has no delivery date while its order has no carrier",
        statement: "For each order line, OL_DELIVERY_D is null if and only if O_CARRIER_ID of its order is null.",
        reads: &[Table::Orders, Table::OrderLine],
    },
    Condition {
        number: 8,
        clause: "3.3.2.8",
        title: "W_YTD is the sum of the warehouse's payments",
        statement: "For each warehouse, W_YTD is the sum of H_AMOUNT over its history.",
        reads: &[Table::Warehouse, Table::History],
    },
    Condition {
        number: 9,
        clause: "3.3.2.9",
        title: "D_YTD is the sum of the district's payments",
        statement: "For each district, D_YTD is the sum of H_AMOUNT over its history.",
        reads: &[Table::District, Table::History],
    },
    Condition {
        number: 10,
        clause: "3.3.2.10",
        title: "C_BALANCE is what was delivered less what was paid",
        statement: "For each customer, C_BALANCE is the sum of OL_AMOUNT of his delivered order lines minus the \
                    sum of H_AMOUNT that he paid, wherever he paid it.",
        reads: &[Table::Customer, Table::History, Table::Orders, Table::OrderLine],
    },
    Condition {
        number: 11,
        clause: "3.3.2.11",
        title: "orders that are not new are those loaded as delivered and those delivered since",
        statement: "For each district, the number of orders minus the number of new orders is 2 100 plus the \
                    sum of C_DELIVERY_CNT of its customers. The standard says 2 100 alone, which holds only \
                    until the first delivery.",
        reads: &[Table::Orders, Table::NewOrder, Table::Customer],
    },
    Condition {
        number: 12,
        clause: "3.3.2.12",
        title: "C_BALANCE and C_YTD_PAYMENT sum to what was delivered",
        statement: "For each customer, C_BALANCE plus C_YTD_PAYMENT is the sum of OL_AMOUNT of his delivered \
                    order lines.",
        reads: &[Table::Customer, Table::Orders, Table::OrderLine],
    },
];

/// Returns the twelve conditions of the standard and Lydite's own ones, by number.
#[must_use]
pub fn all_conditions() -> Vec<Condition> {
    CONDITIONS.iter().chain(&OWN_CONDITIONS).copied().collect()
}

/// Returns the conditions of a loaded database: those of the standard and, if the rows that were loaded are known,
/// Lydite's own.
#[must_use]
pub fn conditions_of(meta: &DatabaseMeta) -> Vec<Condition> {
    if own_conditions_apply(meta) { all_conditions() } else { CONDITIONS.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_stand_in_the_order_of_their_numbers_and_clauses() {
        for (condition, number) in CONDITIONS.iter().zip(1..) {
            assert_eq!(condition.number, number);
            assert_eq!(condition.clause, format!("3.3.2.{number}"));
        }
    }
}
