//! Readers beside Deliveries: an Order-Status reads the customer, the order and its lines, and a Delivery changes all
//! three. So a reader without a snapshot sees a part of a Delivery before long.

use super::claim::Claim;
use super::concurrency::{D, W, connect, insist, status, together};
use super::judge::judge;
use super::{Seen, Trouble};
use crate::history::{
    Action, History, Key, KeyId, Op, Outcome as Ended, Seen as Read, Transaction as Recorded,
};
use lydite_database::{Session, Target};
use lydite_tpcc::transactions::{Delivery, NewOrder, OrderLineInput, OrderStatusOutcome};
use lydite_tpcc::{CarrierId, Cents, CustomerId, ItemId, OrderId, Outcome, StandardOutcome};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Customer of all orders.
const CUSTOMER: CustomerId = CustomerId(13);
/// Orders are placed and delivered for this time, and until there are so many, but not for longer than that.
const DURATION: Duration = Duration::from_secs(2);
const ORDERS: usize = 100;
const DURATION_MOST: Duration = Duration::from_secs(10);
/// Sessions that read.
const READERS: u32 = 2;
/// Most Deliveries until the district of the customer has no undelivered order.
const DELIVERIES_MOST: usize = 10_000;
/// Version of a balance that no Delivery left.
const UNKNOWN: u64 = u64::MAX;

/// A delivered order, with the balance that its customer then had.
struct Delivered {
    invoked: u64,
    completed: u64,
    o_id: OrderId,
    balance: Cents,
}

/// An answer of an Order-Status.
struct Answered {
    process: u32,
    invoked: u64,
    completed: u64,
    seen: OrderStatusOutcome,
}

enum Played {
    Written(Vec<Delivered>),
    Read(Vec<Answered>),
}

/// Delivers one order of each district. Returns the order of the customer's district.
fn deliver(session: &mut dyn Session) -> Result<Option<OrderId>, Trouble> {
    let delivery = Delivery { w_id: W, districts: 10, carrier_id: CarrierId(7) }.into();
    match insist(session, &delivery)?.0 {
        Some(Outcome::Standard(StandardOutcome::Delivery(seen))) => {
            Ok(seen.delivered.iter().find(|(d_id, _)| *d_id == D).map(|(_, o_id)| *o_id))
        }
        _ => Err(Trouble::Failed("a Delivery was answered as another transaction".into())),
    }
}

fn order(session: &mut dyn Session) -> Result<OrderId, Trouble> {
    let line = |i_id| OrderLineInput { i_id: ItemId(i_id), supply_w_id: W, quantity: 1 };
    let order = NewOrder { w_id: W, d_id: D, c_id: CUSTOMER, lines: (1..=5).map(line).collect() };
    match insist(session, &order.into())?.0 {
        Some(Outcome::Standard(StandardOutcome::NewOrder(seen))) => Ok(seen.o_id),
        _ => Err(Trouble::Failed("an order without an unused item was rolled back".into())),
    }
}

/// Places and delivers orders of one customer beside sessions that read the customer.
pub(super) fn readers(target: &dyn Target, claim: &Claim) -> Seen {
    let mut session = connect(target)?;
    let mut deliveries = 0;
    while deliver(&mut *session)?.is_some() {
        deliveries += 1;
        if deliveries == DELIVERIES_MOST {
            return Err(format!("{deliveries} Deliveries did not deliver all orders of a district").into());
        }
    }
    let before = status(&mut *session, CUSTOMER)?;
    drop(session);
    let (over, clock) = (AtomicBool::new(false), AtomicU64::new(0));
    let tick = || clock.fetch_add(1, Ordering::SeqCst);
    let write = |session: &mut dyn Session| {
        let (begun, mut delivered) = (Instant::now(), Vec::new());
        let goes_on =
            |delivered: usize| begun.elapsed() < if delivered < ORDERS { DURATION_MOST } else { DURATION };
        while goes_on(delivered.len()) && !over.load(Ordering::Relaxed) {
            let o_id = order(session)?;
            let invoked = tick();
            let found = deliver(session)?;
            let completed = tick();
            if found != Some(o_id) {
                let found = found.map_or("no order".to_owned(), |found| format!("order {found}"));
                let why = format!("a Delivery delivered {found} of district {D} instead of order {o_id}");
                return Err(Trouble::Failed(why));
            }
            let balance = status(session, CUSTOMER)?.c_balance;
            delivered.push(Delivered { invoked, completed, o_id, balance });
        }
        Ok(Played::Written(delivered))
    };
    let read = |process: u32, session: &mut dyn Session| {
        let mut answered = Vec::new();
        while !over.load(Ordering::Relaxed) {
            let invoked = tick();
            let seen = status(session, CUSTOMER)?;
            answered.push(Answered { process, invoked, completed: tick(), seen });
        }
        Ok(Played::Read(answered))
    };
    let played = together(target, 1 + READERS, |number, session| {
        let ended = if number == 0 { write(session) } else { read(number, session) };
        // The end of any session, also by an error, ends the others.
        over.store(true, Ordering::Relaxed);
        ended
    })?;
    let (mut delivered, mut answered) = (Vec::new(), Vec::new());
    for of_session in played {
        match of_session {
            Played::Written(of_session) => delivered.extend(of_session),
            Played::Read(of_session) => answered.extend(of_session),
        }
    }
    let history = history(&before, &delivered, &answered);
    judge(&history, claim, "Order-Statuses beside Deliveries to their customer")?;
    if delivered.is_empty() || answered.is_empty() {
        return Err(Trouble::Failed("no Order-Status was answered beside a Delivery".into()));
    }
    Ok(format!(
        "{} is not refuted by {} Order-Statuses beside {} Deliveries to their customer",
        claim.words,
        answered.len(),
        delivered.len()
    ))
}

/// Makes the history: key 0 is the customer's balance by the number of the Delivery that left it, then come O_CARRIER_ID
/// and OL_DELIVERY_D of the orders.
fn history(before: &OrderStatusOutcome, delivered: &[Delivered], answered: &[Answered]) -> History {
    let named = |name: String| Key { name, engine: None };
    let of_order = |of: &Delivered| {
        ["o_carrier_id", "ol_delivery_d"].map(|column| named(format!("{column} {W}/{D}/{}", of.o_id)))
    };
    let keys_of: HashMap<OrderId, u32> = delivered.iter().map(|of| of.o_id).zip((1..).step_by(2)).collect();
    let balance_key = named(format!("c_balance {W}/{D}/{CUSTOMER} after Delivery"));
    let keys = std::iter::once(balance_key).chain(delivered.iter().flat_map(of_order)).collect();
    // Each Delivery adds to the balance, so each balance is of one Delivery.
    let versions: HashMap<Cents, u64> = delivered.iter().map(|of| of.balance).zip(1..).collect();
    let seen = |balance: Cents| {
        (balance != before.c_balance).then(|| versions.get(&balance).copied().unwrap_or(UNKNOWN))
    };
    let read = |key: u32, value: Option<u64>| Op {
        key: KeyId(key),
        action: Action::Read(Some(Read::Register(value))),
    };
    let write = |key: u32, value: u64| Op { key: KeyId(key), action: Action::Write(value) };
    let mut transactions = Vec::new();
    for (number, of) in (1..).zip(delivered) {
        let mut ops = vec![read(0, Some(number - 1).filter(|last| *last > 0)), write(0, number)];
        ops.extend(keys_of.get(&of.o_id).into_iter().flat_map(|key| [write(*key, 1), write(*key + 1, 1)]));
        let (invoked, completed, outcome) = (of.invoked, of.completed, Ended::Committed);
        transactions.push(Recorded { process: 0, invoked, completed, outcome, ops });
    }
    for of in answered {
        let mut ops = vec![read(0, seen(of.seen.c_balance))];
        // Older orders, and one that was placed and not delivered at the end, have no key.
        if let Some(key) = keys_of.get(&of.seen.o_id) {
            ops.push(read(*key, of.seen.carrier_id.map(|_| 1)));
            let [first, .., last] = &of.seen.lines[..] else { continue };
            ops.extend([first, last].map(|line| read(*key + 1, line.delivery_d.map(|_| 1))));
        }
        let Answered { process, invoked, completed, .. } = *of;
        transactions.push(Recorded { process, invoked, completed, outcome: Ended::Committed, ops });
    }
    transactions.sort_unstable_by_key(|tx| tx.invoked);
    History { keys, transactions, final_from: None }
}
