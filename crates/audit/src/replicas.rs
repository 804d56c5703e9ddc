//! Replicas (clause 1.4.6): each copy of the data is as consistent as the database itself. The test is the last one, so
//! that it sees what the others wrote.

use crate::consistency::conditions;
use crate::finding::{Property, Seen, Trouble};
use crate::stage::Stage;
use crate::{Extent, Test};
use lydite_database::{CATCH_UP_WITH_LOAD, LedgerCounts, Target};
use lydite_tpcc::consistency::CONDITIONS;
use std::sync::Arc;

pub(crate) static TESTS: &[Test] = &[Test {
    property: Property::Consistency,
    id: "consistency-3",
    clause: "1.4.6",
    title: "the twelve conditions on each replica",
    extent: Extent::Replicas,
    play: |stage, _| on_replicas(stage),
}];

/// Looks at each replica once it has everything that the primary has.
fn on_replicas(stage: &Stage<'_>) -> Result<Seen, Trouble> {
    let Some(replicas) = stage.audit.replicas else {
        return Err(Trouble::NotRun("no replicas are named".into()));
    };
    let caught_up = replicas.catch_up(stage.meta, CATCH_UP_WITH_LOAD, stage.audit.say, stage.stop);
    let caught_up = caught_up.map_err(|error| match Trouble::from(error) {
        // The server that is away may be a replica. If it is the primary, the next test says so.
        Trouble::Lost(words) => Trouble::NotRun(words),
        other => other,
    })?;
    if !caught_up {
        return Err(Trouble::Stopped);
    }
    let wanted = stage.all_counts(stage.target)?;
    let (mut failed, mut not_run) = (Vec::new(), Vec::new());
    for (url, replica) in replicas.servers() {
        match on_replica(stage, url, replica, wanted) {
            Ok(()) => {}
            Err(Trouble::Stopped) => return Err(Trouble::Stopped),
            Err(Trouble::Failed(words)) => failed.push(format!("replica {url}: {words}")),
            Err(Trouble::NotRun(words) | Trouble::Lost(words)) => {
                not_run.push(format!("replica {url}: {words}"));
            }
        }
    }
    if !failed.is_empty() {
        return Err(Trouble::Failed(failed.join("; ")));
    }
    if !not_run.is_empty() {
        return Err(Trouble::NotRun(not_run.join("; ")));
    }
    let on = match replicas.servers().count() {
        1 => "on the replica".to_string(),
        count => format!("on each of the {count} replicas"),
    };
    Ok(Seen::plain(format!(
        "all {} conditions hold {on}; orders and payments are as many as on the primary",
        CONDITIONS.len()
    )))
}

/// Compares the counts of one replica with those of the primary, and evaluates its conditions.
fn on_replica(
    stage: &Stage<'_>,
    url: &str,
    replica: &Arc<dyn Target>,
    wanted: LedgerCounts,
) -> Result<(), Trouble> {
    let found = stage.all_counts(replica)?;
    let differences: Vec<String> = [
        ("the sum of D_NEXT_O_ID is", found.next_order_ids, wanted.next_order_ids),
        ("the rows of HISTORY are", found.payments, wanted.payments),
        ("the rows of NEW-ORDER are", found.new_orders, wanted.new_orders),
    ]
    .iter()
    .filter(|(_, found, wanted)| found != wanted)
    .map(|(what, found, wanted)| format!("{what} {found}, on the primary {wanted}"))
    .collect();
    if !differences.is_empty() {
        return Err(Trouble::Failed(differences.join("; ")));
    }
    stage.step(format!("replica {url}: orders and payments are as many as on the primary"));
    conditions(stage, replica).map(drop)
}
