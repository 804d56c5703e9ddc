//! The ledger of a durability test: the transactions that a load saw acknowledged, against the counts of the database. The
//! success file has New-Orders alone.

use lydite_database::LedgerCounts;
use lydite_tpcc::StandardOutcome;
use serde::{Deserialize, Serialize};

/// Transactions that a load saw acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acknowledged {
    /// Committed New-Orders.
    pub new_orders: u64,
    /// Payments.
    pub payments: u64,
    /// Orders that Deliveries delivered.
    pub delivered: u64,
}

impl Acknowledged {
    /// Adds a committed transaction.
    pub(crate) fn add(&mut self, outcome: &StandardOutcome) {
        match outcome {
            StandardOutcome::NewOrder(_) => self.new_orders += 1,
            StandardOutcome::Payment(_) => self.payments += 1,
            StandardOutcome::Delivery(outcome) => self.delivered += outcome.delivered.len() as u64,
            StandardOutcome::OrderStatus(_) | StandardOutcome::StockLevel(_) => {}
        }
    }

    /// Adds those of another terminal.
    pub(crate) fn merge(&mut self, other: Self) {
        self.new_orders += other.new_orders;
        self.payments += other.payments;
        self.delivered += other.delivered;
    }

    /// Compares with the growth of the counts. Each of `terminals` may have one transaction without an answer; a Delivery
    /// of it delivers up to `districts` orders. Returns what is wrong; empty if the database has all of them.
    pub(crate) fn problems(
        &self,
        before: &LedgerCounts,
        after: &LedgerCounts,
        terminals: u32,
        districts: u64,
    ) -> Vec<String> {
        let growth = |of: fn(&LedgerCounts) -> u64| i128::from(of(after)) - i128::from(of(before));
        let orders = growth(|counts| counts.next_order_ids);
        let terminals = u64::from(terminals);
        let entries = [
            ("New-Orders", self.new_orders, orders, terminals),
            ("Payments", self.payments, growth(|counts| counts.payments), terminals),
            // A New-Order adds to both counts, a Delivery takes from one.
            (
                "deliveries of orders",
                self.delivered,
                orders - growth(|counts| counts.new_orders),
                terminals * districts,
            ),
        ];
        let problem = |(name, acknowledged, found, open): (&str, u64, i128, u64)| {
            let least = i128::from(acknowledged);
            if found < least {
                Some(format!("{} of {least} acknowledged {name} are missing", least - found))
            } else if found > least + i128::from(open) {
                Some(format!(
                    "{found} {name} are there, and {least} were acknowledged, {open} without an answer at most"
                ))
            } else {
                None
            }
        };
        entries.into_iter().filter_map(problem).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_and_what_nobody_can_have_sent_is_named() {
        let counts =
            |next_order_ids, payments, new_orders| LedgerCounts { next_order_ids, payments, new_orders };
        let acknowledged = Acknowledged { new_orders: 5, payments: 7, delivered: 20 };
        let problems = |after| acknowledged.problems(&counts(300, 30, 90), &after, 2, 10);
        assert!(problems(counts(305, 37, 75)).is_empty());
        assert!(problems(counts(307, 39, 57)).is_empty(), "each terminal has one without an answer");
        assert_eq!(
            problems(counts(304, 35, 74)),
            ["1 of 5 acknowledged New-Orders are missing", "2 of 7 acknowledged Payments are missing"]
        );
        assert_eq!(
            problems(counts(305, 30, 76)),
            [
                "7 of 7 acknowledged Payments are missing",
                "1 of 20 acknowledged deliveries of orders are missing"
            ]
        );
        assert_eq!(
            problems(counts(305, 40, 75)),
            ["10 Payments are there, and 7 were acknowledged, 2 without an answer at most"]
        );
    }
}
