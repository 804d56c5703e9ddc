//! A test that the standard does not have: one transaction reads two warehouses, and between its reads another one
//! changes both. None of the nine tests reads two nodes without locking there, so they say nothing about nodes that take
//! their snapshots one by one.

use crate::act::LOOK;
use crate::aside::{Aside, Ended};
use crate::finding::{Seen, Trouble};
use crate::stage::{Stage, require};
use lydite_database::{Balance, BalanceTransaction, Between, TxError};
use lydite_tpcc::Cents;
use lydite_tpcc::random::Stream;
use std::time::Instant;

/// Added amount, as in the Dike paper's dUpdateBalance.
const AMOUNT: Cents = Cents(1_000);

/// Returns an error for a change that did not commit.
fn changed(ended: Ended) -> Result<(), Trouble> {
    ended.map(drop).map_err(|error| Trouble::NotRun(format!("the balances could not be changed: {error}")))
}

/// Plays the test, and restores both balances on every way out.
pub(super) fn read(stage: &mut Stage<'_>, _: &mut Stream) -> Result<Seen, Trouble> {
    let (home, other) = (stage.ground.home, stage.ground.other);
    if home == other {
        return Err(Trouble::NotRun("one warehouse is too few: it needs two".into()));
    }
    let balances = [Balance::Warehouse(home), Balance::Warehouse(other)];
    let before = stage.balances(&balances)?;
    stage.step(format!("W_YTD: {} in warehouse {home}, {} in warehouse {other}", before[0], before[1]));
    let mut writer = None;
    let found = play(stage, &balances, &before, &mut writer);
    // It commits at some time, and must not do so after the balances are restored.
    let ended = writer.map(|writer| writer.end(stage.crew).map(drop));
    let values = balances.into_iter().zip(before).collect();
    let restored = ended.unwrap_or(Ok(())).and_then(|()| {
        changed(
            Aside::begin("restore", &**stage.target, BalanceTransaction::Set(values), true)?
                .end(stage.crew)?,
        )
    });
    match restored {
        Ok(()) => {
            stage.step("both balances are as before");
            found
        }
        Err(trouble) => Err(Trouble::NotRun(format!(
            "W_YTD of the two warehouses could not be restored ({}): conditions 3.3.2.1 and 3.3.2.8 do not hold; load again \
             with --fresh",
            trouble.words()
        ))),
    }
}

/// Reads both balances while `writer` changes them. Leaves the writer there if its end is not known.
fn play(
    stage: &Stage<'_>,
    balances: &[Balance; 2],
    before: &[Cents],
    writer: &mut Option<Aside>,
) -> Result<Seen, Trouble> {
    let (home, other) = (stage.ground.home, stage.ground.other);
    let select = |between| BalanceTransaction::Select { balances: balances.to_vec(), between };
    let (t1, reply) = Aside::begin_stopped("T1", &**stage.target, stage.crew, select)?;
    stage.step(format!("T1: reads warehouse {home}, and stops before it reads warehouse {other}"));
    let add =
        BalanceTransaction::Add { amount: AMOUNT, balances: balances.to_vec(), between: Between::NOTHING };
    let t2 = writer.insert(Aside::begin("T2", &**stage.target, add, true)?);
    let begun = Instant::now();
    let (early, how) = loop {
        if let Some(ended) = t2.ended_within(LOOK) {
            *writer = None;
            break (Some(ended), String::new());
        }
        if let Some(how) = stage.waits(begun)? {
            break (None, how);
        }
    };
    let waits = early.is_none();
    stage.step(if waits {
        format!("T2: adds {AMOUNT} to both: it waits: {how}")
    } else {
        format!("T2: adds {AMOUNT} to both, and does not wait")
    });
    drop(reply);
    let read = t1.end(stage.crew)?;
    let ended = match (early, writer.take()) {
        (Some(ended), _) => ended,
        (None, Some(t2)) => t2.end(stage.crew)?,
        (None, None) => return Err(Trouble::NotRun("T2 has no end: please report this".into())),
    };
    changed(ended)?;
    stage.step("T2 committed");
    let read = match read {
        Ok(read) => read,
        Err(TxError::Aborted { detail, .. }) => {
            stage.step(format!("T1 was forced to roll back: {detail}"));
            return Ok(Seen::plain("T2 committed, and T1 was forced to roll back"));
        }
        Err(error) => return Err(Trouble::NotRun(format!("T1: {error}"))),
    };
    let values: Vec<String> = read.iter().map(Cents::to_string).collect();
    stage.step(format!("T1 read {}", values.join(" and ")));
    let after: Vec<Cents> = before.iter().map(|&value| value + AMOUNT).collect();
    require(read == before || read == after, || {
        format!(
            "T1 read {} in warehouse {home} and {} in warehouse {other}: one from before T2, the other from after it",
            values[0], values[1]
        )
    })?;
    let seen =
        if waits { "T2 waited for T1, which read one state" } else { "T2 committed, and T1 read one state" };
    let note = stage.audit.engines.note().map_or_else(String::new, |note| format!("; {note}"));
    Ok(Seen::plain(format!("{seen}{note}")))
}
