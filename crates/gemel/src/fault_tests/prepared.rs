//! Prepared transactions over files that fail. After each fault, a prepared transaction is undecided with its
//! protection, committed as a whole, or rolled back, and as it was acknowledged.

use super::{EIO, ENOSPC, MODES, Place, at_each, place};
use crate::database::Database;
use crate::error::{Conflict, Error, Result};
use crate::files::faulty::{FaultyFiles, Operation};
use crate::keyspace::{Engine, Keyspace};
use crate::options::{Isolation, LogMode, Options};
use crate::ticket::Ticket;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Number of prepared transactions in a run.
const TRANSACTIONS: u32 = 6;

struct Shop {
    db: Database,
    spaces: [Keyspace; 2],
}

fn open(files: &FaultyFiles, path: &Path, log: LogMode) -> Result<Shop> {
    let options = Options { log, cache_bytes: 1 << 20, write_buffer_bytes: 1 << 16, ..Options::default() };
    let db = Database::open_with(Arc::new(files.clone()), path, options)?;
    let spaces = [db.keyspace("hot", Engine::Memory)?, db.keyspace("cold", Engine::Disk)?];
    Ok(Shop { db, spaces })
}

/// Odd ones are rolled back.
fn commits(n: u32) -> bool {
    n.is_multiple_of(2)
}

impl Shop {
    fn prepare(&self, n: u32) -> Result<()> {
        let mut transaction = self.db.begin(Isolation::Serializable)?;
        transaction.get(&self.spaces[n as usize % 2], format!("guard {n}").as_bytes())?;
        for space in &self.spaces {
            // Some of the records are large.
            transaction.put(space, format!("row {n}").as_bytes(), &vec![1; n as usize * 80])?;
        }
        let ticket = transaction.prepare(&n.to_string())?;
        self.wait(ticket)
    }

    fn decide(&self, n: u32) -> Result<()> {
        let name = n.to_string();
        let ticket =
            if commits(n) { self.db.commit_prepared(&name) } else { self.db.roll_back_prepared(&name) };
        self.wait(ticket?)
    }

    /// Waits until a ticket resolves, but not for space on the disk.
    fn wait(&self, ticket: Ticket) -> Result<()> {
        self.db.sync().and_then(|()| ticket.wait())
    }

    fn rows(&self, n: u32) -> usize {
        let mut transaction = self.db.begin(Isolation::Snapshot).unwrap();
        let key = format!("row {n}");
        let mut is_there = |space: &&Keyspace| transaction.get(space, key.as_bytes()).unwrap().is_some();
        self.spaces.iter().filter(&mut is_there).count()
    }

    /// Returns true if others can't write what a transaction wrote or has read.
    fn protects(&self, n: u32) -> bool {
        let (row, guard) = (format!("row {n}"), format!("guard {n}"));
        let [hot, cold] = &self.spaces;
        let places = [(hot, &row), (cold, &row), (&self.spaces[n as usize % 2], &guard)];
        places.iter().all(|(space, key)| {
            let mut other = self.db.begin(Isolation::Snapshot).unwrap();
            other.delete(space, key.as_bytes()).unwrap();
            matches!(other.commit(), Err(Error::Conflict { kind: Conflict::Locked, .. }))
        })
    }
}

/// What is known of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Known {
    PrepareBegun,
    Prepared,
    DecisionBegun,
    Decided,
}

type All = BTreeMap<u32, Known>;

/// Prepares transactions and decides them, with checkpoints and an opening in between, until something fails.
fn work(files: &FaultyFiles, path: &Path, log: LogMode, known: &mut All) -> Result<()> {
    let mut shop = open(files, path, log)?;
    for n in 0..TRANSACTIONS {
        known.insert(n, Known::PrepareBegun);
        shop.prepare(n)?;
        known.insert(n, Known::Prepared);
        if n % 2 == 1 {
            // Its failure shows at the next step, or does no harm.
            let _ = shop.db.checkpoint();
        }
        if n == 3 {
            drop(shop);
            shop = open(files, path, log)?;
        }
        if let Some(earlier) = n.checked_sub(2) {
            known.insert(earlier, Known::DecisionBegun);
            shop.decide(earlier)?;
            known.insert(earlier, Known::Decided);
        }
    }
    Ok(())
}

/// Opens the files that are left, compares, and decides the rest.
fn check(files: &FaultyFiles, path: &Path, log: LogMode, known: &All, what: &str) {
    for decides in [false, true] {
        let shop = open(files, path, log).unwrap_or_else(|error| panic!("{what}: {error}"));
        let names: Vec<u32> = shop.db.prepared().iter().map(|found| found.name.parse().unwrap()).collect();
        for (&n, &state) in known {
            let (rows, is_undecided) = (shop.rows(n), names.contains(&n));
            let what = format!("{what}: {n} is {state:?}, undecided {is_undecided}, {rows} rows");
            assert!(!(is_undecided && state == Known::Decided), "{what}");
            assert!(is_undecided || state != Known::Prepared, "{what}");
            let is_committed = !is_undecided && commits(n) && state > Known::Prepared;
            assert_eq!(rows, if is_committed { 2 } else { 0 }, "{what}");
            assert!(!is_undecided || shop.protects(n), "{what}: not protected");
            if is_undecided && decides {
                shop.decide(n).unwrap_or_else(|error| panic!("{what}: {error}"));
                assert_eq!(shop.rows(n), if commits(n) { 2 } else { 0 }, "{what}");
            }
        }
        shop.db.checkpoint().unwrap_or_else(|error| panic!("{what}: {error}"));
    }
    assert!(open(files, path, log).unwrap().db.prepared().is_empty(), "{what}");
}

#[test]
fn a_prepared_transaction_survives_a_power_cut_before_any_file_operation() {
    for log in MODES {
        for seed in 0..3 {
            let cuts = at_each(1 + seed, |nth| {
                let (Place { path, files, _directory }, mut known) = (place(), All::new());
                files.cut_power(nth, seed * nth);
                let outcome = work(&files, &path, log, &mut known);
                let Some(left) = files.image() else {
                    outcome.unwrap();
                    return true;
                };
                check(&left, &path, log, &known, &format!("{log:?}, power cut {nth}, seed {seed}"));
                false
            });
            assert!(cuts > 60, "{cuts} operations are few");
        }
    }
}

#[test]
fn a_prepared_transaction_survives_an_error_of_any_file_operation() {
    for log in MODES {
        for (operation, code) in [(Operation::Any, EIO), (Operation::Write, ENOSPC), (Operation::Sync, EIO)] {
            let last = at_each(1, |nth| {
                let (Place { path, files, _directory }, mut known) = (place(), All::new());
                files.fail(operation, nth, code, 3);
                let outcome = work(&files, &path, log, &mut known);
                if !files.mend() {
                    outcome.unwrap();
                    return true;
                }
                assert_eq!(files.retries(), 0, "a file was used again after a sync of it had failed");
                let left = if nth.is_multiple_of(2) { files.clone() } else { files.power_cut(nth / 2 % 3) };
                check(&left, &path, log, &known, &format!("{log:?}, {operation:?} {nth}"));
                false
            });
            assert!(last > 10, "{last} operations are few");
        }
    }
}

#[test]
fn a_full_disk_delays_decisions_and_loses_none() {
    for log in MODES {
        let Place { path, files, _directory } = place();
        let shop = open(&files, &path, log).unwrap();
        (0..2).for_each(|n| shop.prepare(n).unwrap());
        files.fail_from(Operation::Write, 1, ENOSPC);
        assert!(matches!(shop.prepare(2), Err(Error::DiskFull(_))), "its ticket stays open");
        for n in 0..2 {
            assert!(matches!(shop.decide(n), Err(Error::DiskFull(_))));
            assert!(matches!(shop.prepare(3 + n), Err(Error::DiskFull(_))));
            assert!(shop.db.prepared().iter().any(|found| found.name == n.to_string()));
            assert_eq!(shop.rows(n), 0);
        }
        assert!(files.mend());
        for n in 0..3 {
            shop.decide(n).unwrap();
            assert_eq!(shop.rows(n), if commits(n) { 2 } else { 0 });
        }
        assert!(shop.db.prepared().is_empty());
        let left = files.power_cut(0);
        drop(shop);
        let known = (0..3).map(|n| (n, Known::Decided)).collect();
        check(&left, &path, log, &known, "after a full disk");
    }
}
