//! Tests 8 and 9: a New-Order inserts the rows that an open transaction has looked for.

use super::beside;
use crate::act::{Aborts, Act};
use crate::finding::{Seen, Trouble};
use crate::stage::{Stage, committed, order_of, require};
use lydite_database::{Point, Then, TxError};
use lydite_tpcc::random::Stream;
use lydite_tpcc::{OrderId, Outcome, Standard, StandardOutcome, Transaction};

/// Test 8.
pub(super) fn delivery(stage: &mut Stage<'_>, _: &mut Stream) -> Result<Seen, Trouble> {
    let emptied = stage.drain()?;
    let (home, district) = (stage.ground.home, stage.ground.district);
    stage.step(format!("{emptied} Deliveries empty district {home}/{district} in NEW-ORDER"));
    let stops = move |point: &Point| matches!(point, Point::Oldest(d_id, _) if *d_id == district);
    play(stage, "Delivery", stage.ground.delivery(), stops)
}

/// Test 9.
pub(super) fn status(stage: &mut Stage<'_>, _: &mut Stream) -> Result<Seen, Trouble> {
    let stops = |point: &Point| matches!(point, Point::LastOrder(_));
    play(stage, "Order-Status", stage.ground.order_status(), stops)
}

/// Returns the order that a read found.
fn found(point: Point) -> Option<OrderId> {
    match point {
        Point::Oldest(_, order) | Point::LastOrder(order) => order,
        Point::Item(_) | Point::End => None,
    }
}

fn words(order: Option<OrderId>) -> String {
    order.map_or_else(|| "no order".into(), |order| format!("order {order}"))
}

/// Stops T1 after a read, runs a New-Order, and lets T1 read again.
fn play(
    stage: &Stage<'_>,
    name: &str,
    reader: Transaction,
    stops: impl Fn(&Point) -> bool + Send + Sync + 'static,
) -> Result<Seen, Trouble> {
    let mut t1: Act = stage.begin("T1", reader.clone(), Aborts::FinalOnceStopped, stops)?;
    let first = found(t1.stop()?);
    stage.step(format!("T1: {name} finds {}, and stops", words(first)));
    if let (Transaction::Standard(Standard::Delivery(_)), Some(order)) = (&reader, first) {
        return Err(Trouble::NotRun(format!(
            "order {order} came into the emptied district: somebody else works there"
        )));
    }
    let mut t2 = stage.beside("T2", stage.ground.new_order())?;
    let seen = beside(stage, &mut t2, &format!("T2: New-Order of {}", stage.ground.who()))?;
    let early = match &seen.early {
        Some(ended) => Some(order_of("T2", ended.clone())?.o_id),
        None => None,
    };
    t1.go(Then::Repeat);
    let again = match t1.stop() {
        Ok(point) => Some(found(point)),
        // The repeated read may be the one that the database aborts.
        Err(_) if matches!(t1.end()?, Err(TxError::Aborted { .. })) => None,
        Err(trouble) => return Err(trouble),
    };
    if let Some(again) = again {
        stage.step(format!("T1 reads again, and finds {}", words(again)));
        require(again == first, || {
            format!(
                "T1 found {} at first and {} in the same transaction: a phantom",
                words(first),
                words(again)
            )
        })?;
        t1.go(Then::Continue);
    }
    let forced = match t1.end()? {
        Err(TxError::Aborted { detail, .. }) => {
            stage.step(format!("T1 was forced to roll back: {detail}"));
            true
        }
        ended => {
            let outcome = committed("T1", ended)?;
            stage.step("T1 commits");
            if let Outcome::Standard(StandardOutcome::Delivery(delivery)) = outcome {
                let here = delivery.delivered.iter().find(|(d_id, _)| *d_id == stage.ground.district);
                require(here.is_none(), || {
                    "T1 found no order in the district, and then delivered one there: a phantom".into()
                })?;
            }
            false
        }
    };
    let order = match early {
        Some(order) => order,
        None => order_of("T2", t2.end()?)?.o_id,
    };
    stage.step(format!("T2 committed order {order}"));
    Ok(match (forced, early) {
        (true, _) => Seen::plain("T2 committed, and T1 was forced to roll back"),
        (false, None) => {
            Seen::case('A', format!("T2 did not commit before T1 ({}); T1 found the same twice", seen.words))
        }
        (false, Some(_)) => Seen::case('B', "T2 committed, and T1 found the same twice"),
    })
}
