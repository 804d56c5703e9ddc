//! Tests 1 to 4: an open New-Order, with an Order-Status or another New-Order of the same customer.

use super::beside;
use crate::finding::{Seen, Trouble};
use crate::stage::{Stage, order_of, require, status_of};
use lydite_database::{Then, TxError};
use lydite_tpcc::OrderId;
use lydite_tpcc::random::Stream;
use lydite_tpcc::transactions::OrderStatusOutcome;

/// Returns an order in words.
fn words(status: &OrderStatusOutcome) -> String {
    format!("order {} with {} lines", status.o_id, status.lines.len())
}

/// Test 1.
pub(super) fn status_commit(stage: &mut Stage<'_>, _: &mut Stream) -> Result<Seen, Trouble> {
    let before = stage.status("Order-Status")?;
    stage.step(format!("the last of {} is {}", stage.ground.who(), words(&before)));
    let mut t1 = stage.hold("T1", stage.ground.new_order())?;
    stage.step("T1: New-Order of this customer, stopped right before COMMIT");
    let mut t2 = stage.beside("T2", stage.ground.order_status())?;
    let seen = beside(stage, &mut t2, "T2: Order-Status of the same customer")?;
    if let Some(ended) = seen.early.clone() {
        let shown = status_of("T2", ended)?;
        require(shown == before, || format!("T2 saw {} of T1, which was not committed", words(&shown)))?;
    }
    t1.go(Then::Continue);
    let order = order_of("T1", t1.end()?)?;
    stage.step(format!("T1 commits order {}{}", order.o_id, t1.aborts()));
    let shown = status_of("T2", t2.end()?)?;
    stage.step(format!("T2 shows {}", words(&shown)));
    require(shown == before || is_order(&shown, order.o_id), || {
        format!("T2 shows {}: neither the one before T1 nor that of T1", words(&shown))
    })?;
    let last = stage.settled(|| stage.status("Order-Status"), |status| is_order(status, order.o_id))?;
    stage.step(format!("a later Order-Status shows {}", words(&last)));
    require(is_order(&last, order.o_id), || {
        format!("T1 committed order {}, but a later Order-Status shows {}", order.o_id, words(&last))
    })?;
    let which = if shown == before { "it shows the state before T1" } else { "it shows the order of T1" };
    Ok(Seen::plain(format!("T2 beside T1: {}; {which}", seen.words)))
}

/// True if this is the ground's order, with all its lines.
fn is_order(status: &OrderStatusOutcome, o_id: OrderId) -> bool {
    status.o_id == o_id && status.lines.len() == 5 && status.carrier_id.is_none()
}

/// Test 2.
pub(super) fn status_rollback(stage: &mut Stage<'_>, _: &mut Stream) -> Result<Seen, Trouble> {
    let before = stage.status("T0")?;
    stage.step(format!("T0: Order-Status of {} shows {}", stage.ground.who(), words(&before)));
    let mut t1 = stage.hold("T1", stage.ground.new_order())?;
    stage.step("T1: New-Order of this customer, stopped right before COMMIT");
    let mut t2 = stage.beside("T2", stage.ground.order_status())?;
    let seen = beside(stage, &mut t2, "T2: Order-Status of the same customer")?;
    t1.go(Then::RollBack);
    let order = order_of("T1", t1.end()?)?;
    stage.step(format!("T1 rolls back order {}", order.o_id));
    let shown = status_of("T2", t2.end()?)?;
    stage.step(format!("T2 shows {}", words(&shown)));
    require(shown == before, || format!("T2 shows {}, and T0 showed {}", words(&shown), words(&before)))?;
    Ok(Seen::plain(format!("T2 beside T1: {}; it shows the same as T0", seen.words)))
}

/// Test 3.
pub(super) fn orders_commit(stage: &mut Stage<'_>, _: &mut Stream) -> Result<Seen, Trouble> {
    let next = stage.probe()?.o_id;
    stage.step(format!("D_NEXT_O_ID is {next}"));
    let mut t1 = stage.hold("T1", stage.ground.new_order())?;
    stage.step(format!("T1: New-Order of {}, stopped right before COMMIT", stage.ground.who()));
    let mut t2 = stage.beside("T2", stage.ground.new_order())?;
    let seen = beside(stage, &mut t2, "T2: New-Order of the same customer")?;
    if let Some(ended) = seen.early.clone() {
        let early = order_of("T2", ended)?.o_id;
        require(early == next, || {
            format!("T2 committed order {early} while T1 had not committed order {next}")
        })?;
    }
    t1.go(Then::Continue);
    let first = order_of("T1", t1.end()?)?.o_id;
    stage.step(format!("T1 commits order {first}{}", t1.aborts()));
    let second = order_of("T2", t2.end()?)?.o_id;
    stage.step(format!("T2 commits order {second}{}", t2.aborts()));
    let end = OrderId(next.0 + 2);
    let after = stage.settled(|| Ok(stage.probe()?.o_id), |after| *after == end)?;
    stage.step(format!("D_NEXT_O_ID is {after}"));
    let (low, high) = (first.min(second), first.max(second));
    // T2 comes first if the database lets the later transaction commit and aborts the earlier one.
    let in_order = low == first || t1.was_aborted();
    require(in_order && low == next && high.0 == next.0 + 1 && after == end, || {
        format!(
            "from D_NEXT_O_ID {next} on, T1 got order {first}, T2 order {second}, and D_NEXT_O_ID is {after}"
        )
    })?;
    Ok(Seen::plain(format!(
        "T2 beside T1: {}; T1 got order {first}{}, T2 order {second}{}",
        seen.words,
        t1.aborts(),
        t2.aborts()
    )))
}

/// Test 4.
pub(super) fn orders_rollback(stage: &mut Stage<'_>, _: &mut Stream) -> Result<Seen, Trouble> {
    let next = stage.probe()?.o_id;
    stage.step(format!("D_NEXT_O_ID is {next}"));
    let mut t1 = stage.hold("T1", stage.ground.unused())?;
    stage.step(format!(
        "T1: New-Order of {} with an unused item, stopped right before ROLLBACK",
        stage.ground.who()
    ));
    let mut t2 = stage.beside("T2", stage.ground.new_order())?;
    let seen = beside(stage, &mut t2, "T2: New-Order of the same customer")?;
    t1.go(Then::Continue);
    match t1.end()? {
        Err(TxError::RolledBack(order)) => stage.step(format!("T1 rolls back order {}", order.o_id)),
        ended => {
            let order = order_of("T1", ended)?;
            return Err(Trouble::Failed(format!("T1 committed order {} with an unused item", order.o_id)));
        }
    }
    let second = order_of("T2", t2.end()?)?.o_id;
    stage.step(format!("T2 commits order {second}{}", t2.aborts()));
    let end = OrderId(next.0 + 1);
    let after = stage.settled(|| Ok(stage.probe()?.o_id), |after| *after == end)?;
    stage.step(format!("D_NEXT_O_ID is {after}"));
    require(second == next && after == end, || {
        format!(
            "from D_NEXT_O_ID {next} on, T2 got order {second}, and D_NEXT_O_ID is {after}: T1 left a trace"
        )
    })?;
    Ok(Seen::plain(format!("T2 beside T1: {}; it got order {second}, as if T1 had never been", seen.words)))
}
