//! A test that the standard does not have: one transaction reads two warehouses, and between its reads another one
//! changes both. None of the nine tests reads two nodes without locking there, so they say nothing about nodes that take
//! their snapshots one by one.

use crate::act::{LOOK, PATIENCE};
use crate::finding::{Seen, Trouble};
use crate::stage::{Stage, require};
use lydite_database::{Balance, BalanceTransaction, Balances, Between, Session, TxError};
use lydite_tpcc::Cents;
use lydite_tpcc::random::Stream;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

/// Added amount, as in the Dike paper's dUpdateBalance.
const AMOUNT: Cents = Cents(1_000);
/// Limit of a wait for a lock.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// Time between two attempts.
const AGAIN: Duration = Duration::from_millis(10);

/// Result of a transaction on balances.
type Ended = Result<Vec<Cents>, TxError>;

fn connect(stage: &Stage<'_>) -> Result<Box<dyn Session<Balances>>, Trouble> {
    Ok(stage.target.capabilities().balances()?.connect_balances(LONGEST_WAIT)?)
}

/// Plays a transaction on a thread of its own, and retries it for a while if `retried` is set.
fn aside(
    mut session: Box<dyn Session<Balances>>,
    transaction: BalanceTransaction,
    retried: bool,
) -> Result<Receiver<Ended>, Trouble> {
    let (send, ended) = channel();
    let work = move || {
        let begun = Instant::now();
        let result = loop {
            match session.execute(&transaction) {
                Err(TxError::Aborted { .. }) if retried && begun.elapsed() < PATIENCE / 2 => {
                    thread::sleep(AGAIN)
                }
                result => break result,
            }
        };
        drop(session);
        // Nobody waits for a session that was left behind.
        let _heard = send.send(result);
    };
    Builder::new()
        .name("audit".into())
        .spawn(work)
        .map_err(|error| Trouble::NotRun(format!("can't start a thread for a session: {error}")))?;
    Ok(ended)
}

/// Waits for the end of a transaction.
fn end(stage: &Stage<'_>, name: &str, ended: &Receiver<Ended>) -> Result<Ended, Trouble> {
    ended.recv_timeout(PATIENCE).map_err(|_| {
        stage.crew.leave_behind();
        Trouble::Failed(format!("{name} has no answer after {} s", PATIENCE.as_secs()))
    })
}

/// Adds to both balances.
fn add(stage: &Stage<'_>, amount: Cents, balances: &[Balance; 2]) -> Result<Receiver<Ended>, Trouble> {
    let add = BalanceTransaction::Add { amount, balances: balances.to_vec(), between: Between::NOTHING };
    aside(connect(stage)?, add, true)
}

/// Returns an error for an addition that did not commit.
fn added(ended: Ended) -> Result<(), Trouble> {
    ended.map(drop).map_err(|error| Trouble::NotRun(format!("the balances could not be changed: {error}")))
}

/// Plays the test.
pub(super) fn read(stage: &mut Stage<'_>, _: &mut Stream) -> Result<Seen, Trouble> {
    let (home, other) = (stage.ground.home, stage.ground.other);
    if home == other {
        return Err(Trouble::NotRun("one warehouse is too few: it needs two".into()));
    }
    let balances = [Balance::Warehouse(home), Balance::Warehouse(other)];
    let before = stage.balances(&balances)?;
    stage.step(format!("W_YTD: {} in warehouse {home}, {} in warehouse {other}", before[0], before[1]));

    let (reached, at) = channel();
    let (reply, told) = channel::<()>();
    let ends = Mutex::new((reached, told));
    let between = Between::new(move || {
        if let Ok(ends) = ends.lock()
            && ends.0.send(()).is_ok()
        {
            // Without a reply the test is over.
            let _over = ends.1.recv();
        }
    });
    let t1 =
        aside(connect(stage)?, BalanceTransaction::Select { balances: balances.to_vec(), between }, false)?;
    if at.recv_timeout(PATIENCE).is_err() {
        let why = end(stage, "T1", &t1)?.err().map_or_else(String::new, |error| error.to_string());
        return Err(Trouble::NotRun(format!("T1 ended before its second read: {why}")));
    }
    stage.step(format!("T1: reads warehouse {home}, and stops before it reads warehouse {other}"));
    let t2 = add(stage, AMOUNT, &balances)?;
    let begun = Instant::now();
    let (early, how) = loop {
        if let Ok(ended) = t2.recv_timeout(LOOK) {
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
    let read = end(stage, "T1", &t1)?;
    added(match early {
        Some(ended) => ended,
        None => end(stage, "T2", &t2)?,
    })?;
    added(end(stage, "the restoring transaction", &add(stage, -AMOUNT, &balances)?)?)?;
    stage.step("T2 committed, and both balances are restored");
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
    Ok(Seen::plain(if waits {
        "T2 waited for T1, which read one state"
    } else {
        "T2 committed, and T1 read one state"
    }))
}
