//! Checks of sessions that work at the same time. They are a smoke test: a failure is an error, a pass proves little.
//! The history checker looks closer (`isolation.rs`).

use super::{SEED, Seen, Trouble, meta};
use lydite_database::{Session, TableChecksum, Target, TxError};
use lydite_tpcc::consistency::CONDITIONS;
use lydite_tpcc::deck::Mix;
use lydite_tpcc::input::UNUSED_ITEM;
use lydite_tpcc::schema::Table;
use lydite_tpcc::transactions::{
    CustomerSelector, NewOrder, OrderLineInput, OrderStatus, OrderStatusOutcome, Payment,
};
use lydite_tpcc::{
    Cents, CustomerId, DistrictId, InputPlan, ItemId, Outcome, StandardOutcome, Transaction, WarehouseId,
};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Sessions that compete, and transactions of each.
const FIGHTERS: u32 = 4;
const ROUNDS: usize = 100;
/// Payments of each of two sessions to one customer.
const PAYMENTS: usize = 100;
/// Least number of reads of a customer's last order, and of orders that are rolled back meanwhile.
const LOOKS: usize = 100;
const ROLLED_BACK: u64 = 20;
/// A transaction is given up after this time and [`ATTEMPTS`] attempts, whichever comes later.
const PATIENCE: Duration = Duration::from_secs(60);
/// The database may keep a single attempt waiting for longer than [`PATIENCE`].
const ATTEMPTS: u64 = 10;
/// Longest time for which a check may go on after it was stopped.
const STOPPING: Duration = Duration::from_secs(60);
/// Time for a stop to arrive at the target.
const ARRIVAL: Duration = Duration::from_millis(500);

pub(super) const W: WarehouseId = WarehouseId(1);
pub(super) const D: DistrictId = DistrictId(1);

/// Executes a transaction until it is not aborted. Returns the answer and the number of aborts.
pub(super) fn insist(
    session: &mut dyn Session,
    input: &Transaction,
) -> Result<(Option<Outcome>, u64), Trouble> {
    retry(PATIENCE, || session.execute(input))
}

/// Makes attempts until one is not aborted, or until `patience` is over and [`ATTEMPTS`] were made. Returns the answer
/// and the number of aborts.
fn retry(
    patience: Duration,
    mut attempt: impl FnMut() -> Result<Outcome, TxError>,
) -> Result<(Option<Outcome>, u64), Trouble> {
    let begun = Instant::now();
    let mut aborted = 0;
    loop {
        match attempt() {
            Ok(outcome) => return Ok((Some(outcome), aborted)),
            Err(TxError::RolledBack(_)) => return Ok((None, aborted)),
            Err(TxError::Aborted { detail, .. }) => {
                aborted += 1;
                let elapsed = begun.elapsed();
                if aborted >= ATTEMPTS && elapsed > patience {
                    let seconds = elapsed.as_secs();
                    return Err(Trouble::Failed(format!("aborted {aborted} times in {seconds} s: {detail}")));
                }
                // Two sessions that abort each other must fall out of step.
                std::thread::sleep(Duration::from_micros(200 * aborted.min(50)));
            }
            Err(error) => return Err(Trouble::Failed(error.to_string())),
        }
    }
}

/// Runs work in several sessions at the same time and returns the first error. All connect before any begins; otherwise
/// one could end before the next begins.
pub(super) fn together<R: Send>(
    target: &dyn Target,
    count: u32,
    work: impl Fn(u32, &mut dyn Session) -> Result<R, Trouble> + Sync,
) -> Result<Vec<R>, Trouble> {
    let sessions: Vec<_> = (0..count).map(|_| connect(target)).collect::<Result<_, _>>()?;
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..count)
            .zip(sessions)
            .map(|(number, mut session)| scope.spawn(move || work(number, &mut *session)))
            .collect();
        let ended: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
        ended
            .into_iter()
            .map(|ended| ended.unwrap_or_else(|_| Err(Trouble::Failed("a session panicked".into()))))
            .collect()
    })
}

pub(super) fn connect(target: &dyn Target) -> Result<Box<dyn Session>, Trouble> {
    Ok(target.connect()?)
}

/// Runs several sessions on one warehouse and retries what is aborted.
pub(super) fn contention(target: &dyn Target) -> Seen {
    let before = target.checksums()?;
    let rows = |sums: &[TableChecksum], table: Table| -> u64 {
        sums.iter().filter(|sum| sum.table == table).map(|sum| sum.rows).sum()
    };
    let fought = together(target, FIGHTERS, |number, session| {
        let mix = Mix::weights([40.0, 40.0, 5.0, 10.0, 5.0]).map_err(|error| error.to_string())?;
        let plan = InputPlan::on(&meta(1), SEED + 1, mix);
        let mut terminal = plan.terminal(number);
        let (mut payments, mut orders, mut aborts) = (0, 0, 0);
        for _ in 0..ROUNDS {
            let input = terminal.next(&plan);
            let (outcome, aborted) = insist(session, &input)?;
            aborts += aborted;
            payments += u64::from(matches!(outcome, Some(Outcome::Standard(StandardOutcome::Payment(_)))));
            orders += u64::from(matches!(outcome, Some(Outcome::Standard(StandardOutcome::NewOrder(_)))));
        }
        Ok((payments, orders, aborts))
    })?;
    let payments: u64 = fought.iter().map(|(payments, ..)| payments).sum();
    let orders: u64 = fought.iter().map(|(_, orders, _)| orders).sum();
    let aborts: u64 = fought.iter().map(|(.., aborts)| aborts).sum();
    let after = target.checksums()?;
    for (what, acknowledged, table) in
        [("payments", payments, Table::History), ("new orders", orders, Table::Orders)]
    {
        let (then, now) = (rows(&before, table), rows(&after, table));
        if now != then + acknowledged {
            return Err(Trouble::Anomaly(format!(
                "{acknowledged} {what} were acknowledged, but {} went from {then} to {now} rows",
                table.name().to_uppercase()
            )));
        }
    }
    let retries = match aborts {
        0 => "none was aborted".to_string(),
        count => format!("{count} attempts were aborted and retried"),
    };
    Ok(format!(
        "{FIGHTERS} sessions on one warehouse: {orders} orders and {payments} payments are all there, {retries}"
    ))
}

/// Returns the answer of Order-Status for a customer.
pub(super) fn status(session: &mut dyn Session, c_id: CustomerId) -> Result<OrderStatusOutcome, Trouble> {
    let query = OrderStatus { w_id: W, d_id: D, customer: CustomerSelector::Id(c_id) };
    match insist(session, &query.into())?.0 {
        Some(Outcome::Standard(StandardOutcome::OrderStatus(outcome))) => Ok(outcome),
        Some(other) => {
            Err(Trouble::Failed(format!("an Order-Status was answered as {}", other.kind().name())))
        }
        None => Err(Trouble::Failed("an Order-Status was rolled back".into())),
    }
}

/// Lets two sessions pay for the same customer. No payment may overwrite another one.
pub(super) fn lost_update(target: &dyn Target) -> Seen {
    let c_id = CustomerId(7);
    let mut session = connect(target)?;
    let before = status(&mut *session, c_id)?.c_balance;
    let pay = Transaction::from(Payment {
        w_id: W,
        d_id: D,
        c_w_id: W,
        c_d_id: D,
        customer: CustomerSelector::Id(c_id),
        amount: Cents(101),
    });
    together(target, 2, |_, session| (0..PAYMENTS).try_for_each(|_| insist(session, &pay).map(drop)))?;
    let after = status(&mut *session, c_id)?.c_balance;
    let wanted = before - Cents(101).times(2 * PAYMENTS as u32);
    if after != wanted {
        return Err(Trouble::Anomaly(format!(
            "after {} payments of 1.01, C_BALANCE is {after} instead of {wanted}",
            2 * PAYMENTS
        )));
    }
    Ok(format!("all {} payments of two sessions to one customer count", 2 * PAYMENTS))
}

/// Lets one session make orders that are rolled back. No other session may see one.
pub(super) fn dirty_read(target: &dyn Target) -> Seen {
    let c_id = CustomerId(11);
    let line = |i_id| OrderLineInput { i_id, supply_w_id: W, quantity: 1 };
    let lines = (1..=9).map(|id| line(ItemId(id))).chain([line(UNUSED_ITEM)]).collect();
    let order = Transaction::from(NewOrder { w_id: W, d_id: D, c_id, lines });
    let mut session = connect(target)?;
    let wanted = status(&mut *session, c_id)?.o_id;
    let (over, made) = (AtomicBool::new(false), AtomicU64::new(0));
    let write = |session: &mut dyn Session| {
        while !over.load(Ordering::Relaxed) {
            if let Some(outcome) = insist(session, &order)?.0 {
                let answer = outcome.kind().name();
                let why = format!("an order with an unused item was committed, and answered as {answer}");
                return Err(Trouble::Failed(why));
            }
            made.fetch_add(1, Ordering::Relaxed);
        }
        Ok(None)
    };
    let read = |session: &mut dyn Session| {
        let mut looks = 0;
        while !over.load(Ordering::Relaxed) && (looks < LOOKS || made.load(Ordering::Relaxed) < ROLLED_BACK) {
            let found = status(session, c_id)?.o_id;
            if found != wanted {
                return Ok(Some(found));
            }
            looks += 1;
        }
        Ok(None)
    };
    let seen = together(target, 2, |number, session| {
        let ended = if number == 0 { write(session) } else { read(session) };
        // The end of either session, also by an error, ends the other one.
        over.store(true, Ordering::Relaxed);
        ended
    })?;
    match seen.into_iter().flatten().next() {
        Some(o_id) => Err(Trouble::Anomaly(format!("a session saw order {o_id}, which was rolled back"))),
        None => Ok(format!(
            "{} orders were rolled back beside at least {LOOKS} reads, and no read saw one",
            made.load(Ordering::Relaxed)
        )),
    }
}

/// Stops a check. It must end and start no further condition, and the target's sessions must go on.
pub(super) fn cancellation(target: &dyn Target) -> Seen {
    let stopped = Mutex::new(None);
    let ended = target.check(&CONDITIONS, &|_| {
        let mut stopped = stopped.lock().unwrap_or_else(PoisonError::into_inner);
        if stopped.is_none() {
            *stopped = Some(Instant::now());
            target.capabilities().stop_work();
            // The kit's tables are small. The other conditions would be over before the stop arrives.
            std::thread::sleep(ARRIVAL);
        }
    });
    let begun = stopped.into_inner().unwrap_or_else(PoisonError::into_inner);
    let begun = begun.ok_or_else(|| "a check ended without reporting a condition".to_string())?;
    let time = begun.elapsed();
    if time > STOPPING {
        return Err(format!("a stopped check went on for {:.0} s", time.as_secs_f64()).into());
    }
    status(&mut *connect(target)?, CustomerId(1))?;
    match ended {
        Err(_) => Ok("a check was stopped after its first condition".into()),
        Ok(_) => Err(Trouble::NotSupported("a stopped check goes on to its end".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::{ATTEMPTS, Trouble, retry};
    use lydite_database::{AbortReason, TxError};
    use lydite_tpcc::Outcome;
    use lydite_tpcc::transactions::StockLevelOutcome;
    use std::time::Duration;

    fn aborted<T>() -> Result<T, TxError> {
        Err(TxError::Aborted { reason: AbortReason::Serialization, detail: "a conflict".into() })
    }

    #[test]
    fn an_attempt_that_takes_longer_than_the_patience_is_made_again() {
        let answer = Outcome::from(StockLevelOutcome { low_stock: 3 });
        let mut attempts = 0;
        let ended = retry(Duration::ZERO, || {
            attempts += 1;
            if attempts < ATTEMPTS { aborted() } else { Ok(answer.clone()) }
        });
        assert_eq!(ended, Ok((Some(answer), ATTEMPTS - 1)));
    }

    #[test]
    fn a_transaction_that_is_always_aborted_is_given_up() {
        let mut attempts = 0;
        let ended = retry(Duration::ZERO, || {
            attempts += 1;
            aborted()
        });
        assert_eq!(attempts, ATTEMPTS);
        let Err(Trouble::Failed(why)) = ended else { panic!("{ended:?}") };
        assert!(why.contains("10 times") && why.contains("a conflict"), "{why}");
    }
}
