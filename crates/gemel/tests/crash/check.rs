//! The state that a killed process leaves, compared with what it has acknowledged.

use super::bank::{
    ACCOUNTS, Bank, CHAIN, COPIED, COPIES, KEPT, LINKS, MONEY, WORKERS, bank, last_link, number, place,
};
use super::promise::Promise;
use gemel::row::RowRange;
use gemel::{Direction, Isolation, Options, Transaction};
use std::collections::{HashMap, HashSet};
use std::ops::{Bound, ControlFlow};
use std::path::Path;

/// Number of crashes of a database after which the test decides what they left undecided.
const DECIDED_AFTER: u64 = 3;

/// The state that a killed process left.
#[derive(Default)]
pub(crate) struct Found {
    /// Number of transactions that are there.
    pub(crate) there: u64,
    /// Acknowledged commits that are lost, one line each.
    pub(crate) lost: Vec<String>,
    pub(crate) partial: Vec<String>,
    /// Number of prepared transactions that are undecided.
    pub(crate) undecided: u64,
}

/// Prepared transactions, and those whose decision must be there.
#[derive(Default)]
pub(crate) struct Promised {
    pub(crate) prepared: HashSet<Promise>,
    pub(crate) decided: HashSet<Promise>,
}

/// Checks that the chain has no gap, up to its last link.
fn check_chain(bank: &Bank, reader: &mut Transaction, promised: u64, found: &mut Found) {
    let last = last_link(bank, reader).unwrap();
    if last < promised {
        found.lost.push(format!("link {promised} acknowledged, {last} is the last"));
    }
    for link in (last.saturating_sub(LINKS) + 1)..=last {
        let (space, key) = place(bank, link);
        let there = reader.get(space, key.as_bytes()).unwrap().map(|bytes| number(&bytes));
        if there != Some(link) {
            found.partial.push(format!("link {link} of {last}: its place has {there:?}"));
        }
    }
    found.there += last;
}

/// Checks that the table that is copied is there with the rows of the last copy, and nothing of another one.
fn check_copies(bank: &Bank, reader: &mut Transaction, promised: u64, found: &mut Found) {
    let counted = [&bank.hot, &bank.cold]
        .map(|space| reader.get(space, COPIED.as_bytes()).unwrap().map_or(0, |bytes| number(&bytes)));
    let done = counted[0];
    if done < promised {
        found.lost.push(format!("copy {promised} acknowledged, {done} is the last"));
    }
    let (mut ids, tables) = (Vec::new(), bank.db.tables_in(reader).unwrap().len());
    if done > 0 {
        let table = bank.db.table_in(reader, COPIED).unwrap();
        table.verify(reader).unwrap();
        let all = table.scan(reader, &RowRange::all(), Direction::Forward, |row| {
            ids.push(row.int(0)? as u64);
            Ok(ControlFlow::Continue(()))
        });
        all.unwrap();
    }
    let expected: Vec<u64> = (done.saturating_sub(KEPT) + 1..=done).collect();
    if counted[1] != done || ids != expected || tables != usize::from(done > 0) {
        found.partial.push(format!("copies {counted:?}, rows {ids:?} in one of {tables} tables"));
    }
    found.there += done;
}

/// Checks what became of prepared transactions. Those that are undecided for long are decided here.
fn check_promises(
    bank: &Bank,
    reader: &mut Transaction,
    crash: u64,
    promised: &mut Promised,
    found: &mut Found,
) {
    let undecided: HashSet<Promise> =
        bank.db.prepared().iter().map(|prepared| Promise::parse(&prepared.name).unwrap()).collect();
    // A ticket may have resolved with nobody left to print that.
    let known: HashSet<Promise> = promised.prepared.union(&undecided).copied().collect();
    for promise in known {
        let (rows, name) = (promise.rows(bank, reader), promise.name());
        if undecided.contains(&promise) {
            if promised.decided.contains(&promise) {
                found.lost.push(format!("{name}: its decision was acknowledged, and it is undecided"));
            }
            if rows > 0 || !promise.is_protected(bank) {
                found.partial.push(format!("{name}: undecided, with {rows} rows, or not protected"));
            }
        } else {
            // Decided, also if that was not acknowledged. Nothing else ends it.
            promised.decided.insert(promise);
            let expected = if promise.commits() { 2 } else { 0 };
            match rows {
                _ if rows == expected => {}
                1 => found.partial.push(format!("{name}: one of two rows")),
                _ => found.lost.push(format!("{name}: {rows} rows instead of {expected}")),
            }
        }
    }
    promised.prepared.extend(&undecided);
    found.undecided = undecided.len() as u64;
    for promise in undecided.iter().filter(|promise| promise.crash + 4 * DECIDED_AFTER <= crash) {
        promise.decide(bank).unwrap();
        promised.decided.insert(*promise);
    }
}

/// Opens the directory that a killed process left, and compares it with the acknowledged commits.
pub(crate) fn check(
    path: &Path,
    options: Options,
    crash: u64,
    acknowledged: &HashMap<u64, u64>,
    promised: &mut Promised,
) -> Found {
    let bank = bank(path, options).unwrap();
    let mut reader = bank.db.begin(Isolation::Snapshot).unwrap();
    let mut found = Found::default();
    check_promises(&bank, &mut reader, crash, promised, &mut found);
    for worker in 0..WORKERS {
        let counter = format!("count/{worker}");
        let hot = reader.get(&bank.hot, counter.as_bytes()).unwrap().map_or(0, |bytes| number(&bytes));
        let cold = reader.get(&bank.cold, counter.as_bytes()).unwrap().map_or(0, |bytes| number(&bytes));
        let promised = acknowledged.get(&worker).copied().unwrap_or(0);
        if hot < promised {
            found.lost.push(format!("worker {worker}: {promised} acknowledged, {hot} there"));
        }
        let moving = reader.get(&bank.moving, counter.as_bytes()).unwrap().map_or(0, |bytes| number(&bytes));
        let (prefix, end) = (format!("row/{worker}/"), format!("row/{worker}0"));
        let mut rows = |space| {
            let (lower, upper) = (Bound::Included(prefix.as_bytes()), Bound::Excluded(end.as_bytes()));
            let mut rows = 0;
            let count = |_: &[u8], _: &[u8]| {
                rows += 1;
                ControlFlow::Continue(())
            };
            reader.scan(space, lower, upper, Direction::Forward, count).unwrap();
            rows
        };
        let (rows, moving_rows) = (rows(&bank.cold), rows(&bank.moving));
        if (cold, rows) != (hot, hot) {
            let what = format!("{hot} in the memory engine, {cold} and {rows} rows in the disk engine");
            found.partial.push(format!("worker {worker}: {what}"));
        }
        if (moving, moving_rows) != (hot, hot.min(KEPT)) {
            let what = format!("{hot} in the memory engine, {moving} and {moving_rows} rows where it moves");
            found.partial.push(format!("worker {worker}: {what}"));
        }
        found.there += hot;
    }
    let promised = acknowledged.get(&CHAIN).copied().unwrap_or(0);
    check_chain(&bank, &mut reader, promised, &mut found);
    let promised = acknowledged.get(&COPIES).copied().unwrap_or(0);
    check_copies(&bank, &mut reader, promised, &mut found);
    let mut money = Some(0_u64);
    for account in 0..ACCOUNTS {
        let value = reader.get(bank.home(account), format!("account/{account}").as_bytes()).unwrap();
        money = money.zip(value).map(|(money, value)| money.wrapping_add(number(&value)));
    }
    // The very first transaction may not have been durable.
    if money.is_some_and(|money| money != ACCOUNTS * MONEY) || (money.is_none() && found.there > 0) {
        found.partial.push(format!("the accounts have {money:?} and not {}", ACCOUNTS * MONEY));
    }
    found
}
