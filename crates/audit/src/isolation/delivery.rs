//! Tests 5 and 6: a Payment by a customer whose order an open Delivery delivers.

use super::{beside, ends};
use crate::finding::{Seen, Trouble};
use crate::stage::{Stage, order_of, require};
use lydite_database::Then;
use lydite_tpcc::Cents;
use lydite_tpcc::random::Stream;

/// Test 5.
pub(super) fn commit(stage: &mut Stage<'_>, _: &mut Stream) -> Result<Seen, Trouble> {
    play(stage, Then::Continue)
}

/// Test 6.
pub(super) fn rollback(stage: &mut Stage<'_>, _: &mut Stream) -> Result<Seen, Trouble> {
    play(stage, Then::RollBack)
}

fn play(stage: &mut Stage<'_>, then: Then) -> Result<Seen, Trouble> {
    let who = stage.ground.who();
    let emptied = stage.drain()?;
    let order = order_of("New-Order", stage.play("New-Order", stage.ground.new_order())?)?;
    let owed = Cents(order.lines.iter().map(|line| line.amount.0).sum());
    stage.step(format!(
        "{emptied} Deliveries empty the district, and a New-Order of {who} over {owed} is its only undelivered one"
    ));
    let before =
        stage.settled(|| stage.status("Order-Status"), |status| status.o_id == order.o_id)?.c_balance;
    stage.step(format!("C_BALANCE is {before}"));
    let mut t1 = stage.hold("T1", stage.ground.delivery())?;
    stage.step(format!("T1: Delivery of order {}, stopped right before COMMIT", order.o_id));
    let paid = stage.ground.amount;
    let mut t2 = stage.beside("T2", stage.ground.payment())?;
    let what = format!("T2: Payment of {paid} by the same customer at warehouse {}", stage.ground.other);
    let seen = beside(stage, &mut t2, &what)?;
    t1.go(then);
    if then == Then::RollBack {
        // An error at the rollback leaves nothing either.
        let _gone = t1.end()?;
        stage.step("T1 rolls back");
    } else {
        ends(stage, "T1", &mut t1)?;
    }
    ends(stage, "T2", &mut t2)?;
    let delivered = if then == Then::RollBack { Cents(0) } else { owed };
    let expected = before + delivered - paid;
    let is_right = |status: &lydite_tpcc::transactions::OrderStatusOutcome| {
        status.c_balance == expected && status.carrier_id.is_some() == (then != Then::RollBack)
    };
    let after = stage.settled(|| stage.status("Order-Status"), is_right)?;
    let carrier = if after.carrier_id.is_some() { "delivered" } else { "undelivered" };
    stage.step(format!("C_BALANCE is {}, order {} is {carrier}", after.c_balance, after.o_id));
    require(is_right(&after), || {
        format!(
            "C_BALANCE was {before}, {delivered} was delivered and {paid} paid: it must be {expected}, but is {} (order {} \
             {carrier})",
            after.c_balance, after.o_id
        )
    })?;
    let which = if then == Then::RollBack { "T2 alone" } else { "both" };
    Ok(Seen::plain(format!("T2 beside T1: {}{}; C_BALANCE reflects {which}", seen.words, t2.aborts())))
}
