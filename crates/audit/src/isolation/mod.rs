//! Isolation (clause 3.4.2): nine tests of two transactions each, one of which stops while the other is looked at, and one
//! test of Lydite's own.
//!
//! The second transaction may wait, read an earlier state, or be aborted and retried. All three pass where the clause
//! allows them; the finding names the one that was seen.

mod delivery;
mod orders;
mod phantoms;
mod prices;
mod snapshot;

use crate::act::{Act, Ended, Look};
use crate::finding::{Property, Trouble};
use crate::stage::{Stage, committed};
use crate::{Extent, Test};

/// Makes a row of the table.
const fn test(
    id: &'static str,
    clause: &'static str,
    title: &'static str,
    play: fn(&mut Stage<'_>, &mut lydite_tpcc::random::Stream) -> Result<crate::Seen, Trouble>,
) -> Test {
    Test { property: Property::Isolation, id, clause, title, extent: Extent::Rows, play }
}

pub(crate) static TESTS: &[Test] = &[
    test(
        "isolation-1",
        "3.4.2.1",
        "Order-Status beside an open New-Order that commits",
        orders::status_commit,
    ),
    test(
        "isolation-2",
        "3.4.2.2",
        "Order-Status beside an open New-Order that rolls back",
        orders::status_rollback,
    ),
    test("isolation-3", "3.4.2.3", "two New-Orders, the first commits", orders::orders_commit),
    test("isolation-4", "3.4.2.4", "two New-Orders, the first rolls back", orders::orders_rollback),
    test("isolation-5", "3.4.2.5", "Payment beside an open Delivery that commits", delivery::commit),
    test("isolation-6", "3.4.2.6", "Payment beside an open Delivery that rolls back", delivery::rollback),
    test("isolation-7", "3.4.2.7", "prices that change during a New-Order", prices::change),
    test(
        "isolation-8",
        "3.4.2.8",
        "a New-Order in a district that a Delivery found empty",
        phantoms::delivery,
    ),
    test("isolation-9", "3.4.2.9", "a New-Order of the customer of an open Order-Status", phantoms::status),
    test(
        "snapshot",
        "3.4.1",
        "one read of two warehouses while both change (not in the standard)",
        snapshot::read,
    ),
];

/// Observation of a transaction while another one was open.
pub(crate) struct Beside {
    /// The end, if it came while the other one was open.
    early: Option<Ended>,
    /// The observation in words.
    pub(crate) words: String,
}

/// Looks at a transaction while another one is open, and notes that as a step.
pub(crate) fn beside(stage: &Stage<'_>, act: &mut Act, what: &str) -> Result<Beside, Trouble> {
    let (early, words) = match stage.look(act)? {
        Look::Waits(how) => (None, format!("it waits: {how}")),
        Look::Rejected(times) => {
            (None, format!("the database aborts it: {times} times so far, and it is retried"))
        }
        Look::Ended(ended) => {
            let words = match &ended {
                Ok(_) => "it does not wait, and commits".to_string(),
                Err(error) => format!("it does not wait: {error}"),
            };
            (Some(ended), words)
        }
    };
    stage.step(format!("{what}: {words}"));
    Ok(Beside { early, words })
}

/// Waits for the end of a transaction that must commit, and notes that as a step.
pub(crate) fn ends(
    stage: &Stage<'_>,
    name: &'static str,
    act: &mut Act,
) -> Result<lydite_tpcc::Outcome, Trouble> {
    let outcome = committed(name, act.end()?)?;
    stage.step(format!("{name} commits{}", act.aborts()));
    Ok(outcome)
}
