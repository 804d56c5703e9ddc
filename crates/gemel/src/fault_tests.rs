//! The whole database over files that fail: a power cut before each file operation, an error at each, a disk that is
//! full from any write on, for good or for a while, a failing sync, a read-only file system. After each fault,
//! acknowledged commits are there as a whole, nothing is there in part, both engines agree, and work goes on.
//!
//! The faults strike manifest, logs and checkpoints. The crate `lsm-tree` writes the disk engine's files to a real
//! directory by itself, so here they are as they were at the power cut, or a little newer. A power cut leaves the same,
//! because the crate makes a table's file and its name durable when it has written it (`table/writer/mod.rs`,
//! `finish`), then the list of tables, then the file `current` that names the list (`version/persist.rs`, `file.rs`,
//! `rewrite_atomic`), and removes a table only once a list without it is durable. So non-durable data is not part of
//! the tree. Nor can the tree be ahead of the log: the log is made durable before each flush, and here that fails once
//! the power is off.
//!
//! `tests/crash` covers processes that are killed while the disk engine writes.

mod prepared;

use crate::check;
use crate::database::Database;
use crate::error::{Error, Result};
use crate::files::fail_point::{forget_here, once_here};
use crate::files::faulty::{FaultyFiles, Operation};
use crate::ids::Direction;
use crate::keyspace::Engine;
use crate::options::{Isolation, LogMode, Options};
use crate::row::{ColumnType, RowRange, Schema, Table, Value};
use crate::scratch::directory;
use crate::ticket::Ticket;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EIO: i32 = 5;
const ENOSPC: i32 = 28;
const EROFS: i32 = 30;
/// Number of transactions in a run.
const TRANSACTIONS: i64 = 18;
/// Primary key of the row with the number of the last transaction.
const LAST: i64 = 1000;

/// A database with one table in each engine, and its expected content.
struct Shop {
    db: Database,
    tables: [Table; 2],
}

fn shop(files: &FaultyFiles, path: &Path, log: LogMode) -> Result<Shop> {
    let options = Options { log, cache_bytes: 1 << 20, write_buffer_bytes: 1 << 16, ..Options::default() };
    let db = Database::open_with(Arc::new(files.clone()), path, options)?;
    let table = |engine: Engine| {
        let schema = Schema::new().column("id", ColumnType::I64).column("value", ColumnType::I64);
        let schema = schema.primary_key(["id"]).index("by_value", ["value"]);
        db.create_table(engine.name(), engine, schema)
    };
    let tables = [table(Engine::Memory)?, table(Engine::Disk)?];
    Ok(Shop { db, tables })
}

/// Applies transaction `n` to the rows, by primary key.
fn apply(n: i64, rows: &mut BTreeMap<i64, i64>) {
    rows.insert(n % 7, n * 10);
    rows.remove(&((n + 3) % 7));
    rows.insert(LAST, n);
}

fn expected(n: i64) -> BTreeMap<i64, i64> {
    let mut rows = BTreeMap::new();
    (1..=n).for_each(|n| apply(n, &mut rows));
    rows
}

impl Shop {
    /// Commits transaction `n`, the same in both engines.
    fn commit(&self, n: i64) -> Result<Ticket> {
        let mut transaction = self.db.begin(Isolation::Serializable)?;
        for table in &self.tables {
            table.upsert(&mut transaction, &[Value::Int(n % 7), Value::Int(n * 10)])?;
            table.delete(&mut transaction, &[Value::Int((n + 3) % 7)])?;
            table.upsert(&mut transaction, &[Value::Int(LAST), Value::Int(n)])?;
        }
        transaction.commit()
    }

    /// Checks that after an error further transactions are rejected with the reason, and everything can still be read.
    fn is_refused(&self, error: Error) -> Error {
        assert!(matches!(error, Error::Unknown(_) | Error::Poisoned(_) | Error::DiskFull(_)), "{error}");
        for n in 1..3 {
            let next = self.commit(n).map(drop).expect_err(&format!("rejected after {error:?}"));
            let is_same = matches!(next, Error::DiskFull(_)) == matches!(error, Error::DiskFull(_));
            assert!(
                is_same && matches!(next, Error::Poisoned(_) | Error::DiskFull(_)),
                "after {error}: {next}"
            );
            assert!(self.db.checkpoint().is_err(), "after {error}");
        }
        self.rows().unwrap();
        error
    }

    /// Waits until a commit is durable, but not for space on the disk.
    fn wait(&self, ticket: Ticket) -> Result<()> {
        self.db.sync().and_then(|()| ticket.wait())
    }

    /// Returns all rows of both tables.
    fn rows(&self) -> Result<[BTreeMap<i64, i64>; 2]> {
        let mut transaction = self.db.begin(Isolation::Snapshot)?;
        let mut all = [BTreeMap::new(), BTreeMap::new()];
        for (rows, table) in all.iter_mut().zip(&self.tables) {
            table.scan(&mut transaction, &RowRange::all(), Direction::Forward, |row| {
                rows.insert(row.int(0)?, row.int(1)?);
                Ok(ControlFlow::Continue(()))
            })?;
        }
        Ok(all)
    }
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    /// The last transaction that its ticket reported as durable.
    acknowledged: i64,
    /// The last transaction that was begun.
    begun: i64,
}

impl Done {
    /// Commits up to [`TRANSACTIONS`], sometimes without waiting, and writes checkpoints and reopens in between.
    /// Continues as long as possible: a failed checkpoint does not end the run.
    fn work(&mut self, files: &FaultyFiles, path: &Path, log: LogMode) -> Result<()> {
        let mut shop = Arc::new(shop(files, path, log)?);
        while self.begun < TRANSACTIONS {
            self.begun += 1;
            // Every fourth commit is still under way when the next one, or a checkpoint, comes.
            let waits = self.begun % 4 != 3;
            match shop.commit(self.begun).and_then(|ticket| if waits { shop.wait(ticket) } else { Ok(()) }) {
                Ok(()) if waits => self.acknowledged = self.begun,
                Ok(()) => {}
                Err(error) => return Err(shop.is_refused(error)),
            }
            if self.begun % 3 == 0 {
                self.checkpoint(&shop)?;
            }
            if self.begun == 8 {
                drop(shop);
                shop = Arc::new(self::shop(files, path, log)?);
            }
        }
        shop.db.sync()?;
        self.acknowledged = self.begun;
        Ok(())
    }

    /// Writes a checkpoint, and commits meanwhile: after the disk engine's flush, and between pieces of the memory
    /// engine's rows. So the flush lacks the commits, and the checkpoint has parts of them.
    fn checkpoint(&mut self, shop: &Arc<Shop>) -> Result<()> {
        let committed = Arc::new(Mutex::new(Vec::new()));
        for place in ["disk.after_flush", "checkpoint.after_piece", "checkpoint.after_piece"] {
            let (during, outcomes, before) = (Arc::clone(shop), Arc::clone(&committed), self.begun);
            once_here(place, move || {
                let mut outcomes = outcomes.lock();
                if outcomes.last().is_none_or(Result::is_ok) {
                    let next = before + outcomes.len() as i64 + 1;
                    outcomes.push(during.commit(next).map(drop));
                }
            });
        }
        // A failure of the log shows at the next commit.
        let _ = shop.db.checkpoint();
        forget_here();
        for outcome in std::mem::take(&mut *committed.lock()) {
            self.begun += 1;
            outcome.map_err(|error| shop.is_refused(error))?;
        }
        Ok(())
    }

    /// Opens the files that are left, and compares them with the acknowledged commits. Then works a little more, and
    /// checks again.
    fn check(&mut self, files: &FaultyFiles, path: &Path, log: LogMode, what: &str) {
        let opened = shop(files, path, log);
        self.hold(&opened.unwrap_or_else(|error| panic!("{what}: {error}")), what);
        let opened = shop(files, path, log).unwrap_or_else(|error| panic!("{what}, again: {error}"));
        self.hold(&opened, &format!("{what}, opened again"));
    }

    fn hold(&mut self, shop: &Shop, what: &str) {
        let [hot, cold] = shop.rows().unwrap_or_else(|error| panic!("{what}: {error}"));
        let n = hot.get(&LAST).copied().unwrap_or(0);
        assert!((self.acknowledged..=self.begun).contains(&n), "{what}: {n} are there of {self:?}");
        assert_eq!(hot, expected(n), "{what}: the memory engine after {n}");
        assert_eq!(cold, expected(n), "{what}: the disk engine after {n}");
        let report = check::report(&shop.db).unwrap();
        assert!(report.is_good(), "{what}: {report}");
        shop.commit(n + 1)
            .and_then(Ticket::wait)
            .unwrap_or_else(|error| panic!("{what}, more work: {error}"));
        shop.db.checkpoint().unwrap_or_else(|error| panic!("{what}, a checkpoint: {error}"));
        shop.commit(n + 2)
            .and_then(Ticket::wait)
            .unwrap_or_else(|error| panic!("{what}, more work: {error}"));
        *self = Self { acknowledged: n + 2, begun: n + 2 };
    }
}

/// A directory for a database, and files that fail.
struct Place {
    path: PathBuf,
    files: FaultyFiles,
    _directory: tempfile::TempDir,
}

fn place() -> Place {
    let directory = directory();
    Place { path: directory.path().join("db"), files: FaultyFiles::default(), _directory: directory }
}

const MODES: [LogMode; 2] = [LogMode::Shared, LogMode::PerEngine];

/// Returns the distance between operations at which a fault is tried. `GEMEL_FAULTS=1` tries each of them.
fn stride() -> u64 {
    std::env::var("GEMEL_FAULTS").ok().and_then(|stride| stride.parse().ok()).unwrap_or(5)
}

/// Runs with a fault at every [`stride`]-th operation until a run ends without one. `run` then returns true.
fn at_each(first: u64, mut run: impl FnMut(u64) -> bool) -> u64 {
    let mut nth = first;
    while !run(nth) {
        nth += stride();
        assert!(nth < 10_000, "a run never ends");
    }
    nth
}

#[test]
fn the_workload_ends_when_nothing_fails() {
    for log in MODES {
        let place = place();
        let mut done = Done::default();
        done.work(&place.files, &place.path, log).unwrap();
        assert!(done.acknowledged >= TRANSACTIONS);
        done.check(&place.files, &place.path, log, "nothing failed");
        assert!(place.files.made(&place.path), "the directory is not made through the file trait");
    }
}

#[test]
fn nothing_acknowledged_is_lost_in_a_power_cut_before_any_file_operation() {
    for log in MODES {
        // Seed 0 leaves nothing that was not synced. The other two seeds leave each piece of it by chance.
        for seed in 0..3 {
            let cuts = at_each(1 + seed % stride(), |nth| {
                let place = place();
                place.files.cut_power(nth, seed * nth);
                let mut done = Done::default();
                let outcome = done.work(&place.files, &place.path, log);
                let Some(left) = place.files.image() else {
                    outcome.unwrap();
                    return true;
                };
                let what = format!("{log:?}, power cut {nth}, seed {seed}");
                assert!(outcome.is_err() || done.begun >= TRANSACTIONS, "{what}");
                // Another power cut comes while the rest is being opened.
                left.cut_power(nth % 23 + 1, seed);
                let again = shop(&left, &place.path, log).map(drop);
                let left = left.image().unwrap_or_else(|| {
                    again.unwrap_or_else(|error| panic!("{what}: {error}"));
                    left.power_cut(seed)
                });
                done.check(&left, &place.path, log, &what);
                false
            });
            assert!(cuts > 100, "{cuts} operations are few");
        }
    }
}

/// The second checkpoint has the same name as the first, because nothing was committed before it began. It must not
/// replace the first before the log has what it contains.
#[test]
fn a_checkpoint_is_complete_before_it_replaces_one_of_the_same_name() {
    for log in MODES {
        let place = place();
        let shop = shop(&place.files, &place.path, log).unwrap();
        shop.commit(1).unwrap().wait().unwrap();
        shop.db.checkpoint().unwrap();
        let shop = Arc::new(shop);
        let left = Arc::new(Mutex::new(None));
        once_here("checkpoint.after_piece", {
            let shop = Arc::clone(&shop);
            move || drop(shop.commit(2).unwrap())
        });
        once_here("checkpoint.after_rename", {
            let (files, left) = (place.files.clone(), Arc::clone(&left));
            move || *left.lock() = Some(files.power_cut(0))
        });
        shop.db.checkpoint().unwrap();
        drop(shop);
        let left = left.lock().take().unwrap();
        let mut done = Done { acknowledged: 1, begun: 2 };
        done.check(&left, &place.path, log, &format!("{log:?}, cut between two names"));
    }
}

/// Runs with a fault, and opens the files that are left, as they are or after a power cut. Returns false if the fault
/// did not strike.
fn survives(log: LogMode, what: &str, nth: u64, says: &[&str], ask: impl Fn(&FaultyFiles)) -> bool {
    let place = place();
    ask(&place.files);
    let mut done = Done::default();
    let outcome = done.work(&place.files, &place.path, log);
    if !place.files.mend() {
        outcome.unwrap();
        return false;
    }
    let what = format!("{log:?}, {what} {nth}");
    if let Err(error) = outcome {
        let text = error.to_string();
        assert!(says.iter().any(|says| text.contains(says)), "{what}: {text}");
    }
    assert_eq!(place.files.retries(), 0, "{what}: a file was used again after a sync of it had failed");
    let left = if nth.is_multiple_of(2) { place.files.clone() } else { place.files.power_cut(nth / 2 % 3) };
    done.check(&left, &place.path, log, &what);
    true
}

#[test]
fn nothing_acknowledged_is_lost_when_any_file_operation_fails() {
    for log in MODES {
        let says = ["Input/output error"];
        let last = at_each(1, |nth| {
            !survives(log, "error", nth, &says, |files| files.fail(Operation::Any, nth, EIO, 3))
        });
        assert!(last > 100, "{last} operations are few");
    }
}

#[test]
fn a_failing_sync_is_never_retried_and_ends_all_commits() {
    for log in MODES {
        let says = ["the log could not be written (can't sync", "can't sync"];
        let last = at_each(1, |nth| {
            !survives(log, "sync", nth, &says, |files| files.fail(Operation::Sync, nth, EIO, 0))
        });
        assert!(last > 20, "{last} syncs are few");
    }
}

#[test]
fn nothing_acknowledged_is_lost_when_the_disk_is_full_at_any_write() {
    for log in MODES {
        let says = ["the disk is full", "No space left on device"];
        // Full once, as when somebody makes space; and full for good.
        let once = at_each(1, |nth| {
            !survives(log, "full once", nth, &says, |files| files.fail(Operation::Write, nth, ENOSPC, 7))
        });
        let lasting = at_each(1, |nth| {
            !survives(log, "full from", nth, &says, |files| files.fail_from(Operation::Write, nth, ENOSPC))
        });
        assert!(once > 20 && lasting > 20, "{once} and {lasting} writes are few");
    }
}

/// Commits until the disk is full, from the `nth` write on, and makes space. Returns false if the disk was never full.
fn goes_on_once_there_is_space(log: LogMode, nth: u64) -> bool {
    let place = place();
    let shop = shop(&place.files, &place.path, log).unwrap();
    place.files.fail_from(Operation::Write, nth, ENOSPC);
    let what = format!("{log:?}, full from {nth}");
    let mut n = 0;
    let pending = loop {
        if n == TRANSACTIONS {
            return false;
        }
        if n % 3 == 0 {
            // Fails if the disk is full.
            let _ = shop.db.checkpoint();
        }
        let ticket = match shop.commit(n + 1) {
            Ok(ticket) => ticket,
            Err(error) => {
                assert!(matches!(shop.is_refused(error), Error::DiskFull(_)), "{what}");
                break None;
            }
        };
        n += 1;
        match shop.db.sync() {
            Ok(()) => ticket.wait().unwrap(),
            Err(error) => {
                assert!(matches!(shop.is_refused(error), Error::DiskFull(_)), "{what}");
                assert!(!ticket.is_done(), "{what}: acknowledged without being durable");
                break Some(ticket);
            }
        }
    };
    // The commit that was not acknowledged is seen already.
    assert_eq!(shop.rows().unwrap(), [expected(n), expected(n)], "{what}");
    assert!(shop.db.state().disk_full.is_some());
    assert!(place.files.mend());
    n += 1;
    shop.commit(n).and_then(Ticket::wait).unwrap_or_else(|error| panic!("{what}: {error}"));
    pending.map_or(Ok(()), Ticket::wait).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(shop.rows().unwrap(), [expected(n), expected(n)], "{what}");
    shop.db.checkpoint().unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(shop.db.state().disk_full.is_none());
    let later = place.files.power_cut(0);
    drop(shop);
    assert_eq!(place.files.retries(), 0, "{what}");
    Done { acknowledged: n, begun: n }.check(&later, &place.path, log, &what);
    true
}

#[test]
fn a_full_disk_takes_commits_again_once_there_is_space_and_loses_none() {
    for log in MODES {
        let last = at_each(1, |nth| !goes_on_once_there_is_space(log, nth));
        assert!(last > 20, "{last} writes are few");
    }
}

#[test]
fn nothing_acknowledged_is_lost_when_the_file_system_becomes_read_only() {
    for log in MODES {
        let says = ["Read-only file system"];
        let last = at_each(1, |nth| {
            !survives(log, "read-only from", nth, &says, |files| files.fail_from(Operation::Any, nth, EROFS))
        });
        assert!(last > 100, "{last} operations are few");
    }
}

#[test]
fn opening_on_a_read_only_file_system_fails_and_changes_nothing() {
    for log in MODES {
        let place = place();
        let mut done = Done::default();
        done.work(&place.files, &place.path, log).unwrap();
        place.files.fail_from(Operation::Any, 1, EROFS);
        let error = shop(&place.files, &place.path, log).map(drop).unwrap_err();
        assert!(error.to_string().contains("Read-only file system"), "{error}");
        assert!(place.files.mend());
        done.check(&place.files, &place.path, log, "read-only for a while");
    }
}

/// Makes a shop with an earlier backup, and new transactions since. Returns the path of the backup.
fn backed_up(place: &Place, log: LogMode) -> (Shop, PathBuf) {
    let to = place.path.with_file_name("copy");
    let shop = shop(&place.files, &place.path, log).unwrap();
    shop.commit(1).and_then(Ticket::wait).unwrap();
    shop.db.checkpoint().unwrap();
    shop.db.backup(&to).unwrap();
    shop.commit(2).and_then(Ticket::wait).unwrap();
    shop.db.checkpoint().unwrap();
    shop.commit(3).and_then(Ticket::wait).unwrap();
    (shop, to)
}

/// Checks that a backup is the earlier one or the new one. Returns true if it is the new one.
fn backup_holds(files: &FaultyFiles, to: &Path, log: LogMode, what: &str) -> bool {
    let copy = shop(files, to, log).unwrap_or_else(|error| panic!("{what}: {error}"));
    let [hot, cold] = copy.rows().unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(hot, cold, "{what}");
    assert!([expected(1), expected(3)].contains(&hot), "{what}: {hot:?}");
    assert!(check::report(&copy.db).unwrap().is_good(), "{what}");
    hot == expected(3)
}

#[test]
fn a_backup_that_fails_at_any_file_operation_leaves_the_earlier_one_or_the_new_one() {
    for (log, code) in [(LogMode::Shared, ENOSPC), (LogMode::PerEngine, EIO)] {
        let last = at_each(1, |nth| {
            let place = place();
            let (shop, to) = backed_up(&place, log);
            place.files.fail(Operation::Any, nth, code, 3);
            let outcome = shop.db.backup(&to).map(drop);
            let struck = place.files.mend();
            drop(shop);
            let what = format!("{log:?}, error {nth}");
            let is_new = backup_holds(&place.files, &to, log, &what);
            assert!(is_new || (struck && outcome.is_err()), "{what}: {outcome:?}");
            !struck
        });
        assert!(last > 20, "{last} operations are few");
    }
}

#[test]
fn a_power_cut_during_a_backup_leaves_the_earlier_one_or_the_new_one() {
    for log in MODES {
        let last = at_each(1, |nth| {
            let place = place();
            let (shop, to) = backed_up(&place, log);
            place.files.cut_power(nth, nth % 3);
            let outcome = shop.db.backup(&to).map(drop);
            let left = place.files.image();
            drop(shop);
            let what = format!("{log:?}, power cut {nth}");
            // A backup that returned survives a power cut.
            let ended = left.is_none();
            let left = left.unwrap_or_else(|| place.files.power_cut(0));
            let is_new = backup_holds(&left, &to, log, &what);
            assert!(is_new || outcome.is_err(), "{what}");
            ended
        });
        assert!(last > 20, "{last} operations are few");
    }
}

#[test]
fn what_is_committed_and_flushed_during_a_backup_is_in_it_as_a_whole_or_not_at_all() {
    let points = [("backup.before_link", 2), ("backup.linked", 1), ("backup.copied_logs", 1)];
    for (log, (point, n)) in MODES.into_iter().flat_map(|log| points.map(|point| (log, point))) {
        let place = place();
        let shop = Arc::new(shop(&place.files, &place.path, log).unwrap());
        shop.commit(1).and_then(Ticket::wait).unwrap();
        let during = Arc::clone(&shop);
        let (passed, ends) = std::sync::mpsc::channel();
        once_here(point, move || {
            drop(during.commit(2).unwrap());
            // A record of a keyspace that was not there when the backup began.
            let new = during.db.keyspace("new", Engine::Disk).unwrap();
            let mut transaction = during.db.begin(Isolation::Snapshot).unwrap();
            transaction.put(&new, b"key", b"value").unwrap();
            drop(transaction.commit().unwrap());
            during.db.inner().disk.flush_all().unwrap();
            passed.send(()).unwrap();
        });
        let to = place.path.with_file_name("copy");
        shop.db.backup(&to).unwrap();
        assert!(ends.try_recv().is_ok(), "{point} was not passed");
        let copy =
            self::shop(&place.files, &to, log).unwrap_or_else(|error| panic!("{log:?}, {point}: {error}"));
        assert_eq!(copy.rows().unwrap(), [expected(n), expected(n)], "{log:?}, {point}");
        assert_eq!(copy.db.keyspaces().iter().any(|(name, _)| name == "new"), n == 2, "{log:?}, {point}");
        assert!(check::report(&copy.db).unwrap().is_good(), "{log:?}, {point}");
    }
}
