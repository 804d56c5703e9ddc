//! Lydite's own conditions: they speak of the tables and columns that transactions write and clause 3.3.2 does not see.
//! They compare rows with the loaded ones, and with the rows that the same transactions wrote elsewhere.

use super::Condition;
use crate::ids::ItemId;
use crate::meta::{DatabaseMeta, POPULATION_VERSION, Played};
use crate::money::Cents;
use crate::population::Population;
use crate::schema::Table;
use std::ops::RangeInclusive;

/// Number of the condition on ITEM.
pub const ITEM_CONDITION: u8 = 13;
/// Number of the condition on STOCK.
pub const STOCK_CONDITION: u8 = 14;
/// Number of the condition on ORDER.
pub const ORDERS_CONDITION: u8 = 15;
/// Number of the condition on ORDER-LINE.
pub const ORDER_LINE_CONDITION: u8 = 16;
/// Number of the condition on CUSTOMER.
pub const CUSTOMER_CONDITION: u8 = 17;
/// Number of the condition on HISTORY.
pub const HISTORY_CONDITION: u8 = 18;
/// Number of the condition on WAREHOUSE.
pub const WAREHOUSE_CONDITION: u8 = 19;
/// Number of the condition on DISTRICT.
pub const DISTRICT_CONDITION: u8 = 20;

/// The conditions that the standard does not have. They hold after any of its transactions. In place of a clause they
/// name the table.
pub static OWN_CONDITIONS: [Condition; 8] = [
    Condition {
        number: ITEM_CONDITION,
        clause: "item",
        title: "I_PRICE is what was loaded",
        statement: "The items and their prices are those that were loaded.",
        reads: &[Table::Item],
    },
    Condition {
        number: STOCK_CONDITION,
        clause: "stock",
        title: "STOCK is what was loaded less what was ordered",
        statement: "For each row of stock, S_YTD, S_ORDER_CNT and S_REMOTE_CNT are the sum of OL_QUANTITY, the number, \
                    and the number for other warehouses of the lines that were ordered from it since the load; \
                    S_QUANTITY is 10 to 100, and S_QUANTITY + S_YTD differs from the loaded S_QUANTITY by a multiple \
                    of 91.",
        reads: &[Table::Stock, Table::OrderLine],
    },
    Condition {
        number: ORDERS_CONDITION,
        clause: "orders",
        title: "O_ALL_LOCAL says where the lines come from",
        statement: "For each order, O_ALL_LOCAL is 1 if no line has another OL_SUPPLY_W_ID than O_W_ID, else 0, and \
                    O_CARRIER_ID is null or 1 to 10.",
        reads: &[Table::Orders, Table::OrderLine],
    },
    Condition {
        number: ORDER_LINE_CONDITION,
        clause: "order_line",
        title: "OL_AMOUNT is OL_QUANTITY times I_PRICE",
        statement: "For each line of an order since the load, OL_AMOUNT is OL_QUANTITY times I_PRICE, and OL_QUANTITY \
                    is 1 to 10; OL_NUMBER counts the lines of an order from 1; the loaded lines have the quantities, \
                    suppliers and sums of items and amounts that were loaded.",
        reads: &[Table::Item, Table::Orders, Table::OrderLine],
    },
    Condition {
        number: CUSTOMER_CONDITION,
        clause: "customer",
        title: "a customer counts his payments and deliveries",
        statement: "For each customer, C_PAYMENT_CNT and C_YTD_PAYMENT are the number and the sum of his rows of \
                    HISTORY, and C_DELIVERY_CNT is the number of his orders that were delivered since the load. With \
                    bad credit, C_DATA has an entry for each of his payments, as many as fit; with good credit it has \
                    none, and has the length that was loaded.",
        reads: &[Table::Customer, Table::History, Table::Orders],
    },
    Condition {
        number: HISTORY_CONDITION,
        clause: "history",
        title: "H_DATA names where a payment was made",
        statement: "For each row of HISTORY since the load, H_DATA is W_NAME, four blanks and D_NAME of the payment's \
                    district, and H_AMOUNT is 1.00 to 5000.00. The others are the loaded ones, one of 10.00 for each \
                    customer.",
        reads: &[Table::Warehouse, Table::District, Table::History],
    },
    Condition {
        number: WAREHOUSE_CONDITION,
        clause: "warehouse",
        title: "names, addresses and taxes of warehouses are as loaded",
        statement: "For each warehouse, W_NAME, its address and W_TAX are what was loaded.",
        reads: &[Table::Warehouse],
    },
    Condition {
        number: DISTRICT_CONDITION,
        clause: "district",
        title: "names, addresses and taxes of districts are as loaded",
        statement: "For each district, D_NAME, its address and D_TAX are what was loaded.",
        reads: &[Table::District],
    },
];

/// True if Lydite's own conditions can be evaluated: the rows that were loaded are known.
#[must_use]
pub fn own_conditions_apply(meta: &DatabaseMeta) -> bool {
    meta.population == POPULATION_VERSION
}

/// Returns the part of a condition that is not compared, since transactions beyond the standard's five were played; none
/// if all of it is.
#[must_use]
pub fn not_compared(condition: &Condition, played: Played) -> Option<&'static str> {
    match condition.number {
        ITEM_CONDITION if played.update_item => {
            Some("only the sum of the prices is compared: update_item ran")
        }
        ORDER_LINE_CONDITION if played.update_item => Some(
            "OL_AMOUNT is compared with multiples of OL_QUANTITY in the range of prices alone: update_item ran",
        ),
        STOCK_CONDITION if played.update_stock => {
            Some("growth is compared as at least what was ordered: update_stock ran")
        }
        _ => None,
    }
}

/// Returns the explanation of prices that are not what was loaded: each item with its price and the loaded one. None if
/// they are not two items with each other's price.
#[must_use]
pub fn exchanged(prices: &[(ItemId, Cents, Cents)]) -> Option<String> {
    let [(one, price, loaded), (other, other_price, other_loaded)] = *prices else { return None };
    (price == other_loaded && other_price == loaded).then(|| {
        format!(
            "items {one} and {other} have each other's price, as a killed `lydite audit` leaves them (isolation-7): set \
             both prices back, or load again with --fresh"
        )
    })
}

/// Returns S_QUANTITY + S_YTD modulo 91. This never changes: clause 2.4.2.2 adds to S_YTD what it takes from
/// S_QUANTITY, and may add 91 to S_QUANTITY.
#[must_use]
pub fn stock_residue(quantity: i32, ytd: u32) -> u32 {
    (i64::from(quantity) + i64::from(ytd)).rem_euclid(91) as u32
}

/// Sum of I_PRICE over all items as loaded.
#[must_use]
pub fn price_sum(population: &Population) -> Cents {
    population.items().map(|item| item.price).sum()
}

/// H_AMOUNT of a Payment (clause 2.5.1.3).
pub const PAYMENTS: RangeInclusive<Cents> = Cents(100)..=Cents(500_000);
/// I_PRICE (clause 4.3.3.1).
pub const PRICES: RangeInclusive<Cents> = Cents(100)..=Cents(10_000);

/// Least number of payments whose entries fit into C_DATA in full, however long they are.
pub const ENTRIES_THAT_FIT: u32 = 12;

/// Returns true if C_DATA of a customer with bad credit may have this number of entries after `payments` payments. An
/// entry is at most 41 characters long, and C_DATA 500, so the newest [`ENTRIES_THAT_FIT`] are there in full.
#[must_use]
pub fn may_have_entries(entries: u32, payments: u32) -> bool {
    entries >= payments.min(ENTRIES_THAT_FIT) && entries <= payments
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consistency::CONDITION_COUNT;

    #[test]
    fn own_conditions_follow_those_of_the_standard_and_are_named_by_their_tables() {
        for (condition, number) in OWN_CONDITIONS.iter().zip(CONDITION_COUNT as u8 + 1..) {
            assert_eq!(condition.number, number);
            let table = Table::from_name(condition.clause).expect("the name of a table");
            assert!(condition.reads.contains(&table));
        }
    }

    #[test]
    fn the_newest_entries_fit_whatever_the_numbers() {
        let longest = "3000 32767 1000000 32767 1000000 5000.00|".len();
        assert!(ENTRIES_THAT_FIT as usize * longest <= 500);
        let fits: Vec<u32> = (0..20).filter(|&entries| may_have_entries(entries, 15)).collect();
        assert_eq!(fits, [12, 13, 14, 15]);
        assert!(may_have_entries(3, 3) && !may_have_entries(2, 3) && !may_have_entries(4, 3));
    }
}
