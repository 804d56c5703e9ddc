//! Answers held against themselves and against their inputs. A database that confuses rows of two transactions, or a
//! driver that rounds money, shows it to its terminals.

use crate::ids::{CustomerId, DistrictId};
use crate::money::Cents;
use crate::text::LastName;
use serde::{Deserialize, Serialize};
use std::fmt;

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
