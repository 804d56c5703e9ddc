//! Test 7: prices change while a New-Order reads them.
//!
//! The clause raises both prices by a tenth. Here they are swapped, by the Dike paper's dUpdateItem, and swapped back in
//! the end: so ITEM is as it was.

use super::beside;
use crate::act::{Aborts, Ended};
use crate::finding::{Seen, Trouble};
use crate::stage::{Stage, committed, order_of, require};
use lydite_database::{Point, Then, TxError};
use lydite_tpcc::Cents;
use lydite_tpcc::random::Stream;
use lydite_tpcc::transactions::NewOrderOutcome;

/// Most attempts to find two items with different prices.
const ATTEMPTS: usize = 20;

/// Returns the prices of the two items: the first line has one, the second line the other.
fn prices(order: &NewOrderOutcome) -> [Cents; 2] {
    [0, 1].map(|line| order.lines.get(line).map_or(Cents(0), |line| line.i_price))
}

/// Test 7.
pub(super) fn change(stage: &mut Stage<'_>, stream: &mut Stream) -> Result<Seen, Trouble> {
    let mut left = ATTEMPTS;
    while {
        let [x, y] = prices(&stage.probe()?);
        x == y
    } {
        left -= 1;
        if left == 0 {
            return Err(Trouble::NotRun("all items have the same price: load again with --fresh".into()));
        }
        stage.ground.choose_items(stage.meta, stream);
    }
    let [x, y, ..] = stage.ground.items;
    let old = prices(&order_of("T1", stage.play("T1", stage.ground.new_order())?)?);
    stage.step(format!("T1: New-Order reads item {x} at {} and item {y} at {}, and commits", old[0], old[1]));
    let found = swap(stage, old);
    // T2 and T3 are over. Only T3 can have swapped them.
    let restored = stage.restore(|| {
        if prices(&stage.probe()?) != old {
            committed("swap back", stage.play("swap back", stage.ground.swap_prices())?)?;
            stage.step("the prices are swapped back");
        }
        Ok(())
    });
    restored.map_err(|trouble| {
        Trouble::NotRun(format!(
            "the prices of items {x} and {y} may be swapped, and could not be swapped back ({}): load again with --fresh",
            trouble.words()
        ))
    })?;
    found
}

/// Swaps the prices while a New-Order is stopped between its reads.
fn swap(stage: &Stage<'_>, old: [Cents; 2]) -> Result<Seen, Trouble> {
    let [x, y, ..] = stage.ground.items;
    let first_read = |point: &Point| *point == Point::Item(1);
    let mut t2 = stage.begin("T2", stage.ground.new_order(), Aborts::FinalOnceStopped, first_read)?;
    t2.stop()?;
    stage.step(format!("T2: New-Order with items {x}, {y}, {x}, stopped after its first read of item {x}"));
    let mut t3 = stage.begin("T3", stage.ground.swap_prices(), Aborts::Final, |_| false)?;
    let seen = beside(stage, &mut t3, "T3: swaps the two prices")?;
    t2.go(Then::Continue);
    let t2 = t2.end()?;
    let t3 = t3.end()?;
    judge(stage, old, t2, t3, seen.early.is_some())
}

/// Finds the case of the clause from the ends of T2 and T3. `early` is true if T3 ended while T2 was stopped.
fn judge(stage: &Stage<'_>, old: [Cents; 2], t2: Ended, t3: Ended, early: bool) -> Result<Seen, Trouble> {
    let new = [old[1], old[0]];
    let aborted = |ended: &Ended| matches!(ended, Err(TxError::Aborted { .. }));
    let rolled_back = aborted(&t2);
    if rolled_back {
        stage.step("T2 was forced to roll back");
    } else {
        let order = order_of("T2", t2)?;
        let read: Vec<String> = order.lines.iter().take(3).map(|line| line.i_price.to_string()).collect();
        stage.step(format!("T2 commits with the prices {}", read.join(", ")));
        let again = order.lines.get(2).map_or(Cents(0), |line| line.i_price);
        require(prices(&order) == old && again == old[0], || {
            format!(
                "T2 began at the prices {} and {}, and then read others: {} for the first item, the second one, and the \
                 first one again",
                old[0],
                old[1],
                read.join(", ")
            )
        })?;
    }
    let swapped = if aborted(&t3) {
        stage.step("T3 was forced to roll back");
        false
    } else {
        committed("T3", t3)?;
        stage.step("T3 commits");
        true
    };
    let expected = if swapped { new } else { old };
    let now = stage.settled(|| Ok(prices(&stage.probe()?)), |now| *now == expected)?;
    stage.step(format!("T4: reads {} and {}", now[0], now[1]));
    require(now == expected, || {
        format!("T4 must read {} and {}, but reads {} and {}", expected[0], expected[1], now[0], now[1])
    })?;
    match (rolled_back, swapped, early) {
        (false, true, false) => Ok(Seen::case('A', "T3 waited for T2, which read the old prices")),
        (true, true, _) => Ok(Seen::case('B', "T3 committed, and T2 was forced to roll back")),
        (false, false, _) => Ok(Seen::case('C', "T3 was forced to roll back, and T2 read the old prices")),
        (false, true, true) => Ok(Seen::case('D', "T3 committed, and T2 still read the old prices")),
        (true, false, _) => Ok(Seen::plain("T2 and T3 were both forced to roll back, and no price changed")),
    }
}
