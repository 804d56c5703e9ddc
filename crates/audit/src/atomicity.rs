//! Atomicity (clause 3.2.2): a transaction changes all its rows or none.

use crate::act::Ended;
use crate::finding::{Property, Seen, Trouble};
use crate::stage::{Stage, committed, require};
use crate::{Extent, Test};
use lydite_database::{Balance, LedgerCounts, Then, TxError};
use lydite_tpcc::random::Stream;
use lydite_tpcc::{Cents, DistrictId, Outcome};

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

/// Reads the values until they are as expected, and returns them in words.
fn values(stage: &Stage<'_>, expected: Values) -> Result<String, Trouble> {
    let found = stage.settled(|| Values::read(stage), |found| *found == expected)?;
    stage.step(format!("read: {}", found.words()));
    require(found == expected, || format!("expected {}, but found {}", expected.words(), found.words()))?;
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
    let after = values(stage, before.paid(stage.ground.amount))?;
    Ok(Seen::plain(format!("all rows changed by {}: {after}", stage.ground.amount)))
}

fn rolled_back_payment(stage: &mut Stage<'_>, _: &mut Stream) -> Result<Seen, Trouble> {
    let before = Values::read(stage)?;
    stage.step(format!("read: {}", before.words()));
    pay(stage, Then::RollBack)?;
    let after = values(stage, before)?;
    Ok(Seen::plain(format!("no row changed: {after}")))
}

/// Atomicity of a New-Order: with an unused item it changes nothing.
fn rolled_back_order(stage: &mut Stage<'_>, _: &mut Stream) -> Result<Seen, Trouble> {
    let look = |stage: &Stage<'_>| -> Result<_, Trouble> {
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
        Ok(Outcome::NewOrder(order)) => {
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
        format!(
            "the next order was number {}, left stock {:?}, and came after {} of the customer; now it is number {}, {:?}, \
             and {}; counts before and after: {:?}, {:?}",
            before.0, before.1, before.2, after.0, after.1, after.2, before.3, after.3
        )
    })?;
    Ok(Seen::plain(format!(
        "D_NEXT_O_ID is still {}, stock, orders and the rows of NEW-ORDER are as before",
        before.0
    )))
}
