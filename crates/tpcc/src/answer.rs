//! Answers held against themselves and against their inputs. A database that confuses rows of two transactions, or a
//! driver that rounds money, shows it to its terminals.

use crate::ids::{CustomerId, DistrictId};
use crate::money::{Cents, order_total};
use crate::outcome::{NewOrderOutcome, Outcome};
use crate::text::LastName;
use crate::transaction::{CustomerSelector, MAX_ORDER_LINES, NewOrder, Transaction};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Fewest lines of an order (clause 2.4.1.3).
const MIN_ORDER_LINES: usize = 5;
/// C_CREDIT of customers whose C_DATA a Payment changes and shows.
const BAD_CREDIT: &str = "BC";
/// Orders that a Stock-Level looks at in a district (clause 2.8.2.2).
const RECENT_ORDERS: usize = 20;

/// A part of an answer that contradicts another part, or the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Contradiction {
    /// The answer belongs to another type of transaction.
    Type,
    /// Number of lines of a New-Order.
    Lines {
        /// Lines that were entered.
        entered: usize,
        /// Lines of the answer.
        answered: usize,
    },
    /// OL_AMOUNT of a line of a New-Order is not OL_QUANTITY times I_PRICE (clause 2.4.2.2).
    Amount {
        /// OL_NUMBER.
        line: usize,
        /// OL_AMOUNT of the answer.
        answered: Cents,
        /// OL_QUANTITY times I_PRICE.
        computed: Cents,
    },
    /// Field total-amount of a New-Order does not follow from its lines, the discount and the taxes (clause 2.4.2.2).
    Total {
        /// Total of the answer.
        answered: Cents,
        /// Total of the lines.
        computed: Cents,
    },
    /// C_ID of the answer is not the one that was entered.
    Customer {
        /// C_ID that was entered.
        entered: CustomerId,
        /// C_ID of the answer.
        answered: CustomerId,
    },
    /// C_LAST of the answer is not the one that was entered.
    Name {
        /// C_LAST that was entered.
        entered: LastName,
        /// C_LAST of the answer.
        answered: LastName,
    },
    /// C_DATA of a Payment is shown for good credit, or missing for bad credit (clause 2.5.3.4).
    CreditData {
        /// True if the customer has bad credit.
        bad: bool,
    },
    /// Number of lines of an Order-Status; an order has 5 to 15.
    OrderLines(usize),
    /// A Delivery delivered twice in this district, or the warehouse has no such district.
    District(DistrictId),
    /// A Stock-Level found more items than the last 20 orders of its districts can have.
    LowStock {
        /// Items of the answer.
        answered: u32,
        /// Greatest possible number.
        most: usize,
    },
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type => f.write_str("the answer is that of another type of transaction"),
            Self::Lines { entered, answered } => {
                write!(f, "{entered} lines were entered, {answered} answered")
            }
            Self::Amount { line, answered, computed } => {
                write!(f, "the amount of line {line} is {answered}, and quantity times price {computed}")
            }
            Self::Total { answered, computed } => {
                write!(f, "the total is {answered}, and that of the lines {computed}")
            }
            Self::Customer { entered, answered } => {
                write!(f, "customer {entered} was entered, customer {answered} answered")
            }
            Self::Name { entered, answered } => {
                write!(f, "a customer {entered} was entered, a customer {answered} answered")
            }
            Self::CreditData { bad: false } => f.write_str("C_DATA is shown for good credit"),
            Self::CreditData { bad: true } => f.write_str("C_DATA is missing for bad credit"),
            Self::OrderLines(lines) => write!(f, "an order has {lines} lines, not 5 to 15"),
            Self::District(district) => {
                write!(f, "district {district} delivered twice, or its warehouse does not have it")
            }
            Self::LowStock { answered, most } => {
                write!(f, "{answered} items are low in stock, and the orders have at most {most}")
            }
        }
    }
}

/// Returns the first contradiction in the answer to a committed transaction; none if the answer is consistent.
#[must_use]
pub fn contradiction(transaction: &Transaction, outcome: &Outcome) -> Option<Contradiction> {
    match (transaction, outcome) {
        (Transaction::NewOrder(entered), Outcome::NewOrder(answered)) => new_order(entered, answered),
        (Transaction::Payment(entered), Outcome::Payment(answered)) => {
            let bad = answered.c_credit.as_str() == BAD_CREDIT;
            customer(entered.customer, answered.c_id, answered.c_last)
                .or_else(|| (answered.c_data.is_some() != bad).then_some(Contradiction::CreditData { bad }))
        }
        (Transaction::OrderStatus(entered), Outcome::OrderStatus(answered)) => {
            let lines = answered.lines.len();
            customer(entered.customer, answered.c_id, answered.c_last).or_else(|| {
                (!(MIN_ORDER_LINES..=MAX_ORDER_LINES).contains(&lines))
                    .then_some(Contradiction::OrderLines(lines))
            })
        }
        (Transaction::Delivery(entered), Outcome::Delivery(answered)) => {
            let known = |district: DistrictId| (1..=entered.districts).contains(&district.0);
            let districts = || answered.delivered.iter().map(|(district, _)| *district);
            let again = |(index, district)| districts().take(index).any(|before| before == district);
            let wrong = districts().enumerate().find(|each| !known(each.1) || again(*each));
            wrong.map(|(_, district)| Contradiction::District(district))
        }
        (Transaction::StockLevel(entered), Outcome::StockLevel(answered)) => {
            let most = entered.districts().count() * RECENT_ORDERS * MAX_ORDER_LINES;
            (answered.low_stock as usize > most)
                .then_some(Contradiction::LowStock { answered: answered.low_stock, most })
        }
        (Transaction::UpdateStock(_), Outcome::UpdateStock(_))
        | (Transaction::UpdateItem(_), Outcome::UpdateItem(_))
        | (Transaction::UpdateBalance(_), Outcome::UpdateBalance)
        | (Transaction::SelectBalance(_), Outcome::SelectBalance(_)) => None,
        _ => Some(Contradiction::Type),
    }
}

fn new_order(entered: &NewOrder, answered: &NewOrderOutcome) -> Option<Contradiction> {
    if entered.lines.len() != answered.lines.len() {
        return Some(Contradiction::Lines { entered: entered.lines.len(), answered: answered.lines.len() });
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

fn customer(entered: CustomerSelector, c_id: CustomerId, c_last: LastName) -> Option<Contradiction> {
    match entered {
        CustomerSelector::Id(entered) => {
            (entered != c_id).then_some(Contradiction::Customer { entered, answered: c_id })
        }
        CustomerSelector::LastName(entered) => {
            (entered != c_last).then_some(Contradiction::Name { entered, answered: c_last })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CarrierId;
    use crate::ids::{ItemId, OrderId, WarehouseId};
    use crate::money::Rate;
    use crate::outcome::{DeliveryOutcome, NewOrderLine, StockLevelOutcome};
    use crate::text::truncated;
    use crate::time::Timestamp;
    use crate::transaction::{Delivery, OrderLineInput, StockLevel};

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
        contradiction(&Transaction::NewOrder(entered), &Outcome::NewOrder(answered))
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

    #[test]
    fn a_delivery_delivers_once_in_each_district_of_its_warehouse() {
        let entered =
            Transaction::Delivery(Delivery { w_id: WarehouseId(1), districts: 10, carrier_id: CarrierId(1) });
        let delivered = |districts: &[u16]| {
            let delivered = districts.iter().map(|district| (DistrictId(*district), OrderId(1))).collect();
            contradiction(&entered, &Outcome::Delivery(DeliveryOutcome { delivered }))
        };
        assert_eq!(delivered(&[]), None);
        assert_eq!(delivered(&[1, 2, 10]), None);
        assert_eq!(delivered(&[1, 2, 1]), Some(Contradiction::District(DistrictId(1))));
        assert_eq!(delivered(&[11]), Some(Contradiction::District(DistrictId(11))));
    }

    #[test]
    fn a_customer_is_the_one_that_was_entered() {
        let name = |text: &str| -> LastName { truncated(text) };
        let (id, other) = (CustomerId(7), CustomerId(8));
        assert_eq!(customer(CustomerSelector::Id(id), id, name("A")), None);
        assert_eq!(
            customer(CustomerSelector::Id(id), other, name("A")),
            Some(Contradiction::Customer { entered: id, answered: other })
        );
        assert_eq!(customer(CustomerSelector::LastName(name("A")), id, name("A")), None);
        assert!(customer(CustomerSelector::LastName(name("A")), id, name("B")).is_some());
    }

    #[test]
    fn low_stock_is_bounded_by_the_recent_orders_and_an_answer_has_its_type() {
        let entered = Transaction::StockLevel(StockLevel {
            w_id: WarehouseId(1),
            d_id: DistrictId(1),
            threshold: 10,
            others: Default::default(),
        });
        let low = |low_stock| contradiction(&entered, &Outcome::StockLevel(StockLevelOutcome { low_stock }));
        assert_eq!(low(300), None);
        assert_eq!(low(301), Some(Contradiction::LowStock { answered: 301, most: 300 }));
        assert_eq!(contradiction(&entered, &Outcome::UpdateBalance), Some(Contradiction::Type));
    }
}
