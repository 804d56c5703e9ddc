//! Half a commit: only one side of a transaction over two servers committed. The tables of both sides name it.

use super::reading::{Reading, settled};
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use lydite_database::{HalfCounts, Target};
use lydite_tpcc::OrderId;

/// Both sides of the transactions of a run.
pub(crate) struct Sides {
    reading: Reading,
    /// Orders with which each district was loaded.
    loaded_orders: OrderId,
    /// True if dUpdateStocks change S_ORDER_CNT, too.
    plays_update_stock: bool,
}

impl Sides {
    /// See [`Reading::new`].
    pub(crate) fn new(reading: Reading, loaded_orders: u32, plays_update_stock: bool) -> Self {
        Self { reading, loaded_orders: OrderId(loaded_orders.into()), plays_update_stock }
    }

    /// Counts both sides, and describes those that differ for some seconds; `None` if all transactions are whole, or if
    /// the user interrupted.
    ///
    /// # Errors
    /// The database fails.
    pub(super) fn half_a_commit(&self, interrupt: &Interrupt) -> Result<Option<String>, Failure> {
        // A commit of unknown outcome may be under way on one of the servers.
        settled(Option::is_none, || self.look(interrupt))
    }

    fn look(&self, interrupt: &Interrupt) -> Result<Option<String>, Failure> {
        let loaded_orders = self.loaded_orders;
        let read = move |target: &dyn Target, warehouses: &_| target.halves(warehouses, loaded_orders);
        let counts = self.reading.read(interrupt, read)?;
        Ok(counts.and_then(|counts| describe(&counts, self.plays_update_stock)))
    }
}

/// Adds half a commit to the words of a failed check, in place of its guess at the causes.
pub(super) fn blamed(detail: &str, guess: &str, half: &str) -> String {
    if detail.contains(guess) { detail.replace(guess, half) } else { format!("{detail}: {half}") }
}

/// Describes the sides that differ.
fn describe(counts: &HalfCounts, plays_update_stock: bool) -> Option<String> {
    let HalfCounts { order_ids, orders, announced_lines, lines, supplied_lines, stock_orders, .. } = *counts;
    let cents = |cents: lydite_tpcc::Cents| cents.0;
    let sides = [
        ("New-Order", ("ORDERS", orders, "rows"), ("Σ (D_NEXT_O_ID − 1)", order_ids)),
        ("New-Order", ("ORDER_LINE", lines, "rows"), ("Σ O_OL_CNT", announced_lines)),
        ("New-Order", ("ORDER_LINE", supplied_lines, "rows since the load"), ("Σ S_ORDER_CNT", stock_orders)),
        ("Payment", ("HISTORY", counts.payments, "rows"), ("Σ C_PAYMENT_CNT", counts.paid)),
    ];
    let mut found: Vec<String> = sides
        .into_iter()
        .filter(|(_, (_, one, _), (sum, other))| {
            // A dUpdateStock takes from stock without an order.
            one != other && !(plays_update_stock && *sum == "Σ S_ORDER_CNT" && other > one)
        })
        .map(|(kind, (table, one, unit), (sum, other))| {
            format!("of a {kind}: {table} has {one} {unit}, and {sum} is {other}")
        })
        .collect();
    if cents(counts.amounts) != cents(counts.districts_ytd) {
        found.push(format!(
            "of a Payment: Σ H_AMOUNT is {}, and Σ D_YTD is {}",
            counts.amounts, counts.districts_ytd
        ));
    }
    (!found.is_empty()).then(|| format!("half a commit {}", found.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lydite_tpcc::Cents;

    const WHOLE: HalfCounts = HalfCounts {
        order_ids: 6_000,
        orders: 6_000,
        announced_lines: 60_000,
        lines: 60_000,
        supplied_lines: 1_000,
        stock_orders: 1_000,
        payments: 6_100,
        paid: 6_100,
        amounts: Cents(60_000),
        districts_ytd: Cents(60_000),
    };

    #[test]
    fn each_side_of_a_transaction_is_named_with_its_numbers() {
        assert_eq!(describe(&WHOLE, false), None);
        let said = |counts: HalfCounts| describe(&counts, false).expect("a half");
        assert_eq!(
            said(HalfCounts { paid: 6_099, ..WHOLE }),
            "half a commit of a Payment: HISTORY has 6100 rows, and Σ C_PAYMENT_CNT is 6099"
        );
        assert_eq!(
            said(HalfCounts { stock_orders: 997, ..WHOLE }),
            "half a commit of a New-Order: ORDER_LINE has 1000 rows since the load, and Σ S_ORDER_CNT is 997"
        );
        assert_eq!(
            said(HalfCounts { order_ids: 6_001, lines: 59_990, districts_ytd: Cents(59_000), ..WHOLE }),
            "half a commit of a New-Order: ORDERS has 6000 rows, and Σ (D_NEXT_O_ID − 1) is 6001, of a New-Order: \
             ORDER_LINE has 59990 rows, and Σ O_OL_CNT is 60000, of a Payment: Σ H_AMOUNT is 600.00, and Σ D_YTD is \
             590.00"
        );
    }

    #[test]
    fn a_dupdatestock_is_no_half_of_an_order() {
        let more = HalfCounts { stock_orders: 1_400, ..WHOLE };
        assert_eq!(describe(&more, true), None);
        assert!(describe(&more, false).is_some());
        assert!(describe(&HalfCounts { stock_orders: 900, ..WHOLE }, true).is_some());
    }
}
