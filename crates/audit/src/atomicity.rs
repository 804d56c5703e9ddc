//! Atomicity (clause 3.2.2): a transaction changes all its rows or none.

use crate::act::Ended;
use crate::finding::{Property, Seen, Trouble};
use crate::stage::{Stage, committed, require};
use crate::{Extent, Test};
use lydite_database::{Balance, LedgerCounts, Then, TxError};
use lydite_tpcc::random::Stream;
use lydite_tpcc::{Cents, DistrictId, OrderId, Outcome, StandardOutcome};

pub(crate) static TESTS: &[Test] = &[
    Test {
        property: Property::Atomicity,
        id: "atomicity-1",
        clause: "3.2.2.1",
        title: "a committed Payment changes customer, district and warehouse",
        extent: Extent::Rows,
        play: committed_payment,
    },
    Test {
        property: Property::Atomicity,
        id: "atomicity-2",
        clause: "3.2.2.2",
        title: "a rolled-back Payment changes nothing",
        extent: Extent::Rows,
        play: rolled_back_payment,
    },
    Test {
        property: Property::Atomicity,
        id: "atomicity-3",
        clause: "3.2.2.2",
        title: "a rolled-back New-Order changes nothing",
        extent: Extent::Rows,
        play: rolled_back_order,
    },
];

/// Values that a Payment changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Values {
    c_balance: Cents,
    d_ytd: Cents,
    w_ytd: Cents,
    /// Rows of HISTORY of the warehouse that is paid.
    payments: u64,
}

impl Values {
    fn read(stage: &Stage<'_>) -> Result<Self, Trouble> {
        let ground = &stage.ground;
        let ytd = [Balance::District(ground.other, DistrictId(1)), Balance::Warehouse(ground.other)];
        let balances = stage.balances(&ytd)?;
        let [d_ytd, w_ytd] = balances[..] else {
            return Err(Trouble::NotRun(
                "two balances were asked for, and not two came: please report this".into(),
            ));
        };
        let c_balance = stage.status("Order-Status")?.c_balance;
        let [_, LedgerCounts { payments, .. }] = stage.counts()?;
        Ok(Self { c_balance, d_ytd, w_ytd, payments })
    }

    /// Returns the values after a payment.
    fn paid(self, amount: Cents) -> Self {
        let Self { c_balance, d_ytd, w_ytd, payments } = self;
        Self {
            c_balance: c_balance - amount,
            d_ytd: d_ytd + amount,
            w_ytd: w_ytd + amount,
            payments: payments + 1,
        }
    }

    fn words(&self) -> String {
        let Self { c_balance, d_ytd, w_ytd, payments } = self;
        format!("C_BALANCE {c_balance}, D_YTD {d_ytd}, W_YTD {w_ytd}, {payments} rows of HISTORY")
    }
}

/// Names half a commit of a transaction by what it changed; empty if it changed all or nothing.
fn half(transaction: &str, changes: &[(&str, bool)]) -> String {
    let of = |wanted: bool| {
        let names: Vec<&str> =
            changes.iter().filter(|(_, changed)| *changed == wanted).map(|(name, _)| *name).collect();
        names.join(", ")
    };
    let (changed, unchanged) = (of(true), of(false));
    if changed.is_empty() || unchanged.is_empty() {
        return String::new();
    }
    format!("half a commit of a {transaction}: {changed} changed, and {unchanged} did not: ")
}

/// Reads the values until they are as expected, and returns them in words. `before` are those before the Payment.
fn values(stage: &Stage<'_>, before: Values, expected: Values) -> Result<String, Trouble> {
    let found = stage.settled(|| Values::read(stage), |found| *found == expected)?;
    stage.step(format!("read: {}", found.words()));
    require(found == expected, || {
        let half = half(
            "Payment",
            &[
                ("C_BALANCE", found.c_balance != before.c_balance),
                ("D_YTD", found.d_ytd != before.d_ytd),
                ("W_YTD", found.w_ytd != before.w_ytd),
                ("HISTORY", found.payments != before.payments),
            ],
        );
        format!("{half}expected {}, but found {}", expected.words(), found.words())
    })?;
    Ok(found.words())
}

fn pay(stage: &Stage<'_>, then: Then) -> Result<(), Trouble> {
    let ground = &stage.ground;
    let how = if then == Then::RollBack { "rolled back" } else { "committed" };
    let mut payment = stage.hold("Payment", ground.payment())?;
    payment.go(then);
    committed("Payment", payment.end()?)?;
    stage.step(format!(
        "Payment of {} by {} at warehouse {}: {how}",
        ground.amount,
        ground.who(),
        ground.other
    ));
    Ok(())
}

fn committed_payment(stage: &mut Stage<'_>, _: &mut Stream) -> Result<Seen, Trouble> {
    let before = Values::read(stage)?;
    stage.step(format!("read: {}", before.words()));
    pay(stage, Then::Continue)?;
    let after = values(stage, before, before.paid(stage.ground.amount))?;
    Ok(Seen::plain(format!("all rows changed by {}: {after}", stage.ground.amount)))
}

fn rolled_back_payment(stage: &mut Stage<'_>, _: &mut Stream) -> Result<Seen, Trouble> {
    let before = Values::read(stage)?;
    stage.step(format!("read: {}", before.words()));
    pay(stage, Then::RollBack)?;
    let after = values(stage, before, before)?;
    Ok(Seen::plain(format!("no row changed: {after}")))
}

/// Next number of an order, quantities that the probe would leave in stock, last order of the customer, and counts of
/// both warehouses.
type Looked = (OrderId, Vec<i32>, OrderId, [LedgerCounts; 2]);

/// Atomicity of a New-Order: with an unused item it changes nothing.
fn rolled_back_order(stage: &mut Stage<'_>, _: &mut Stream) -> Result<Seen, Trouble> {
    let look = |stage: &Stage<'_>| -> Result<Looked, Trouble> {
        let probe = stage.probe()?;
        let stock: Vec<i32> = probe.lines.iter().map(|line| line.s_quantity).collect();
        Ok((probe.o_id, stock, stage.status("Order-Status")?.o_id, stage.counts()?))
    };
    let before = look(stage)?;
    stage.step(format!("a New-Order of {} would have number {}", stage.ground.who(), before.0));
    let ended: Ended = stage.play("New-Order", stage.ground.unused())?;
    match ended {
        Err(TxError::RolledBack(order)) => {
            stage.step(format!("New-Order {} with an unused item in its last line: rolled back", order.o_id));
        }
        Ok(Outcome::Standard(StandardOutcome::NewOrder(order))) => {
            return Err(Trouble::Failed(format!(
                "New-Order {} with an unused item was committed",
                order.o_id
            )));
        }
        ended => return committed("New-Order", ended).map(|_| Seen::plain("")),
    }
    let after = stage.settled(|| look(stage), |after| *after == before)?;
    stage.step(format!("a New-Order of the customer would have number {}", after.0));
    require(after == before, || {
        let half = half(
            "New-Order",
            &[
                ("D_NEXT_O_ID", after.0 != before.0),
                ("STOCK", after.1 != before.1),
                ("ORDERS", after.2 != before.2),
                (
                    "NEW_ORDER",
                    after.3.map(|counts| counts.new_orders) != before.3.map(|counts| counts.new_orders),
                ),
            ],
        );
        let words = |(next, stock, last, counts): &Looked| {
            let stock: Vec<String> = stock.iter().map(i32::to_string).collect();
            let rows = counts.map(|counts| counts.new_orders.to_string()).join(" and ");
            format!(
                "D_NEXT_O_ID {next}, S_QUANTITY after the order {}, last order {last} of the customer, rows of NEW-ORDER \
                 {rows} in both warehouses",
                stock.join(", ")
            )
        };
        format!("{half}expected {}, but found {}", words(&before), words(&after))
    })?;
    Ok(Seen::plain(format!(
        "D_NEXT_O_ID is still {}, stock, orders and the rows of NEW-ORDER are as before",
        before.0
    )))
}

#[cfg(test)]
mod tests {
    use super::half;

    #[test]
    fn half_a_commit_names_what_changed_and_what_did_not() {
        let changes = [("C_BALANCE", true), ("D_YTD", false), ("W_YTD", false)];
        assert_eq!(
            half("Payment", &changes),
            "half a commit of a Payment: C_BALANCE changed, and D_YTD, W_YTD did not: "
        );
        assert_eq!(half("Payment", &changes[..1]), "");
        assert_eq!(half("Payment", &changes[1..]), "");
    }
}
