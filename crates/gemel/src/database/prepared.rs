//! Prepared transactions: listing and deciding them.

use super::Database;
use crate::error::{Error, Result};
use crate::ids::KeyspaceId;
use crate::prepared::{Blocked, PreparedTransaction};
use crate::ticket::Ticket;

impl Database {
    /// Returns the prepared transactions that are undecided, in the order in which they were prepared. Those of earlier
    /// openings are among them.
    ///
    /// ```
    /// # fn main() -> gemel::Result<()> {
    /// # use gemel::{Database, Engine, Isolation, Options};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("db");
    /// let db = Database::open(&path, Options::default())?;
    /// let accounts = db.keyspace("accounts", Engine::Memory)?;
    /// let mut transaction = db.begin(Isolation::Serializable)?;
    /// transaction.put(&accounts, b"ann", b"9")?;
    /// transaction.prepare("transfer 17")?.wait()?; // From here on it survives a crash.
    /// drop(db);
    ///
    /// let db = Database::open(&path, Options::default())?;
    /// let accounts = db.keyspace("accounts", Engine::Memory)?;
    /// for undecided in db.prepared() {
    ///     println!("{} has {} rows since {:?}", undecided.name, undecided.rows, undecided.prepared_at);
    /// }
    /// db.commit_prepared("transfer 17")?.wait()?;
    /// assert_eq!(db.begin(Isolation::Snapshot)?.get(&accounts, b"ann")?.unwrap(), b"9");
    /// assert!(db.prepared().is_empty());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn prepared(&self) -> Vec<PreparedTransaction> {
        self.inner.core.prepared.list()
    }

    /// Commits a prepared transaction. Others see its writes at once, in both engines; the ticket resolves when the
    /// decision is durable. No conflict keeps it from succeeding
    /// ([`Transaction::prepare`](crate::Transaction::prepare)).
    ///
    /// # Errors
    /// [`Error::Usage`] if no undecided transaction has this name, or the database is closed. [`Error::DiskFull`] or
    /// [`Error::Poisoned`] if the decision can't be written: then the transaction is undecided, as before. After
    /// [`Error::Unknown`] of the ticket, opening the database again shows if it was decided.
    pub fn commit_prepared(&self, name: &str) -> Result<Ticket> {
        let core = &self.inner.core;
        let (ticket, rows) = core.commit_prepared(name)?;
        core.collect(usize::try_from(rows).unwrap_or(usize::MAX));
        Ok(ticket)
    }

    /// Rolls a prepared transaction back, so nothing of it is left. The ticket resolves when the decision is durable.
    ///
    /// # Errors
    /// Same as [`Database::commit_prepared`].
    pub fn roll_back_prepared(&self, name: &str) -> Result<Ticket> {
        self.inner.core.roll_back_prepared(name)
    }

    /// Keeps the keyspaces of the table or keyspace `name` from being used by prepared transactions while they are
    /// changed.
    pub(super) fn block_prepared(&self, ids: &[KeyspaceId], name: &str) -> Result<Blocked<'_>> {
        self.inner.core.prepared.block(ids, name, being_changed)
    }
}

/// Returns the error for a transaction that can't be prepared because the table or keyspace `name` is being changed.
pub(super) fn being_changed(name: &str) -> Error {
    Error::Outdated(format!(
        "{name:?} is being changed, so a transaction that used it can't be prepared: begin a new transaction, and get the \
         table again"
    ))
}

#[cfg(test)]
mod tests {
    use super::super::tests::set_next_number;
    use super::*;
    use crate::copy::copy_directory;
    use crate::error::Conflict;
    use crate::files::fail_point::{forget_here, once_here};
    use crate::ids::Direction;
    use crate::keyspace::{Engine, Keyspace};
    use crate::keyspaces::ROOM;
    use crate::options::{Isolation, LogMode, Options};
    use crate::row::{ColumnType, IndexDef, Schema, Table, Value};
    use crate::transaction::Transaction;
    use std::cell::RefCell;
    use std::ops::{Bound, ControlFlow};
    use std::path::Path;
    use std::rc::Rc;

    const ENGINES: [Engine; 2] = [Engine::Memory, Engine::Disk];

    fn locked<T: std::fmt::Debug>(outcome: Result<T>) {
        assert!(matches!(outcome, Err(Error::Conflict { kind: Conflict::Locked, .. })), "{outcome:?}");
    }

    fn put(db: &Database, space: &Keyspace, key: &[u8]) -> Result<()> {
        let mut transaction = db.begin(Isolation::Snapshot)?;
        transaction.put(space, key, b"put")?;
        transaction.commit()?.wait()
    }

    /// Begins a transaction that has read a key or a range with that key, and wrote another key.
    fn reader(db: &Database, space: &Keyspace, by_range: bool) -> Transaction {
        let mut transaction = db.begin(Isolation::Serializable).unwrap();
        if by_range {
            let (lower, upper) = (Bound::Included(&b"a"[..]), Bound::Excluded(&b"z"[..]));
            let each = |_: &[u8], _: &[u8]| ControlFlow::Continue(());
            transaction.scan(space, lower, upper, Direction::Forward, each).unwrap();
        } else {
            transaction.get(space, b"k").unwrap();
        }
        transaction.put(space, b"zz", b"prepared").unwrap();
        transaction
    }

    /// A commit and a transaction that is being prepared, which has read what the commit writes, meet at each place.
    #[test]
    fn of_a_commit_and_a_prepare_that_meet_one_finds_the_other() {
        for (engine, by_range) in ENGINES.into_iter().flat_map(|engine| [(engine, false), (engine, true)]) {
            let directory = tempfile::tempdir().unwrap();
            let db = Database::open(directory.path(), Options::default()).unwrap();
            let space = db.keyspace("s", engine).unwrap();
            put(&db, &space, b"k").unwrap();
            // The commit comes while the other one is between its protection and its validation.
            let transaction = reader(&db, &space, by_range);
            let met: Rc<RefCell<Vec<Result<()>>>> = Rc::default();
            once_here("prepare.locked", {
                let (db, space, met) = (db.clone(), space.clone(), Rc::clone(&met));
                move || met.borrow_mut().push(put(&db, &space, b"k"))
            });
            transaction.prepare("p").unwrap().wait().unwrap();
            locked(met.borrow_mut().remove(0));
            db.roll_back_prepared("p").unwrap().wait().unwrap();
            // The other one comes when the commit has locked its key, or when it is about to.
            for (place, commit_wins) in [("commit.hidden", true), ("commit.collected", false)] {
                let transaction = reader(&db, &space, by_range);
                let met: Rc<RefCell<Vec<Result<Ticket>>>> = Rc::default();
                once_here(place, {
                    let met = Rc::clone(&met);
                    move || met.borrow_mut().push(transaction.prepare("p"))
                });
                let committed = put(&db, &space, b"k");
                let prepared = met.borrow_mut().remove(0);
                if commit_wins {
                    committed.unwrap();
                    assert!(
                        matches!(prepared, Err(Error::Conflict { kind: Conflict::Read, .. })),
                        "{prepared:?}"
                    );
                } else {
                    locked(committed);
                    prepared.unwrap().wait().unwrap();
                    db.roll_back_prepared("p").unwrap().wait().unwrap();
                }
            }
            put(&db, &space, b"k").unwrap();
            forget_here();
        }
    }

    fn schema() -> Schema {
        Schema::new().column("id", ColumnType::I64).column("name", ColumnType::Text).primary_key(["id"])
    }

    fn upsert(db: &Database, table: &Table, id: i64) -> Result<Transaction> {
        let mut transaction = db.begin(Isolation::Snapshot)?;
        table.upsert(&mut transaction, &[Value::Int(id), "name".into()])?;
        Ok(transaction)
    }

    #[test]
    fn a_transaction_is_not_prepared_while_its_table_is_changed() {
        for engine in ENGINES {
            let directory = tempfile::tempdir().unwrap();
            let db = Database::open(directory.path(), Options::default()).unwrap();
            let mut table = db.create_table("t", engine, schema()).unwrap();
            for id in 0..3 {
                upsert(&db, &table, id).unwrap().commit().unwrap().wait().unwrap();
            }
            let other = if engine == Engine::Memory { Engine::Disk } else { Engine::Memory };
            type Change<'c> = (&'static str, bool, Box<dyn Fn(&Database) -> Result<Table> + 'c>);
            let index = || IndexDef::new("by_name", ["name"]);
            let changes: [Change<'_>; 3] = [
                ("move.copying", true, Box::new(|db| db.move_table("t", other).and_then(|()| db.table("t")))),
                ("catalog.indexing", false, Box::new(|db| db.add_index("t", index()))),
                ("catalog.after_manifest", false, Box::new(|db| db.truncate_table("t"))),
            ];
            for (place, is_move, change) in changes {
                // Begun before the change, through the handle from before.
                let transaction = upsert(&db, &table, 7);
                let met: Rc<RefCell<Vec<Result<Ticket>>>> = Rc::default();
                once_here(place, {
                    let met = Rc::clone(&met);
                    move || {
                        met.borrow_mut().push(transaction.and_then(|transaction| transaction.prepare("p")))
                    }
                });
                table = change(&db).unwrap();
                let prepared = met.borrow_mut().remove(0);
                match prepared {
                    Err(Error::Moved(_)) if is_move => {}
                    Err(Error::Outdated(_)) if !is_move => {}
                    other => panic!("{place}: {other:?}"),
                }
                assert!(db.prepared().is_empty());
            }
            let transaction = upsert(&db, &table, 8).unwrap();
            transaction.prepare("p").unwrap().wait().unwrap();
            db.commit_prepared("p").unwrap().wait().unwrap();
        }
    }

    /// Otherwise each checkpoint would make the next one due.
    #[test]
    fn records_that_a_checkpoint_writes_again_make_no_checkpoint_due() {
        for log in [LogMode::Shared, LogMode::PerEngine] {
            let directory = tempfile::tempdir().unwrap();
            let options = Options { log, checkpoint_log_bytes: 1 << 20, ..Options::default() };
            let db = Database::open(directory.path(), options).unwrap();
            let space = db.keyspace("s", Engine::Memory).unwrap();
            let mut transaction = db.begin(Isolation::Snapshot).unwrap();
            for row in 0..4_u8 {
                transaction.put(&space, &[row], &vec![row; 1 << 20]).unwrap();
            }
            transaction.prepare("large").unwrap().wait().unwrap();
            for _ in 0..2 {
                db.checkpoint().unwrap();
                assert!(!db.inner().checkpoint_is_due());
                let from = db.inner().manifest.look().log_from.iter().sum::<u64>();
                let end = db.inner().core.logs.ends().iter().map(|end| end.0).sum::<u64>();
                assert!((4 << 20..5 << 20).contains(&(end - from)), "{from} to {end}");
            }
            put(&db, &space, b"k").unwrap();
            assert!(!db.inner().checkpoint_is_due());
        }
    }

    /// A checkpoint begins when a record is in the log and the transaction does not know it yet. The transaction is in
    /// memory only, because one on disk keeps the checkpoint's flush from beginning.
    #[test]
    fn a_checkpoint_beside_a_prepare_or_a_decision_keeps_what_they_append() {
        let points = [
            ("prepare.after_append", None),
            ("prepare.commit_appended", Some(true)),
            ("prepare.rolled_back", Some(false)),
        ];
        for (point, commits) in points {
            let directory = tempfile::tempdir().unwrap();
            let open = || {
                let db = Database::open(directory.path(), Options::default()).unwrap();
                let space = db.keyspace("s", Engine::Memory).unwrap();
                (db, space)
            };
            let (db, space) = open();
            let mut transaction = db.begin(Isolation::Snapshot).unwrap();
            transaction.put(&space, b"k", b"v").unwrap();
            let (start, started) = std::sync::mpsc::channel();
            let (end, ended) = std::sync::mpsc::channel();
            std::thread::scope(|scope| {
                let db = &db;
                scope.spawn(move || {
                    started.recv().unwrap();
                    db.checkpoint().unwrap();
                    // Nobody may wait for it any more.
                    let _ = end.send(());
                });
                once_here(point, move || {
                    start.send(()).unwrap();
                    // It waits for this thread. If it does not, it has the time to lose the record.
                    let _ = ended.recv_timeout(std::time::Duration::from_millis(300));
                });
                transaction.prepare("p").unwrap().wait().unwrap();
                match commits {
                    Some(true) => db.commit_prepared("p").unwrap().wait().unwrap(),
                    Some(false) => db.roll_back_prepared("p").unwrap().wait().unwrap(),
                    None => {}
                }
            });
            drop((db, space));
            let (db, space) = open();
            assert_eq!(db.prepared().len(), usize::from(commits.is_none()), "{point}");
            if commits.is_none() {
                db.commit_prepared("p").unwrap().wait().unwrap();
            }
            let there = db.begin(Isolation::Snapshot).unwrap().get(&space, b"k").unwrap();
            assert_eq!(there.is_some(), commits != Some(false), "{point}");
        }
    }

    /// Copies the files of logs into another directory.
    fn copy_logs(from: &Path, to: &Path) {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            if entry.path().extension().is_some_and(|kind| kind == "log") {
                std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
            }
        }
    }

    fn get(db: &Database, space: &Keyspace) -> Option<Vec<u8>> {
        db.begin(Isolation::Snapshot).unwrap().get(space, b"k").unwrap()
    }

    /// The process is killed after the drop. With `is_lost`, a power cut has taken the decision, so the transaction is
    /// undecided again and its keyspace is gone.
    fn decide_drop_and_use_the_number_again(log: LogMode, engine: Engine, commits: bool, is_lost: bool) {
        let directory = tempfile::tempdir().unwrap();
        let [path, logs, crashed, cut, last] =
            ["db", "logs", "crashed", "cut", "last"].map(|name| directory.path().join(name));
        let open = |path: &Path| Database::open(path, Options { log, ..Options::default() }).unwrap();
        let db = open(&path);
        let old = db.keyspace("old", engine).unwrap();
        let mut transaction = db.begin(Isolation::Serializable).unwrap();
        transaction.get(&old, b"read").unwrap();
        transaction.put(&old, b"k", b"prepared").unwrap();
        transaction.prepare("p").unwrap().wait().unwrap();
        copy_logs(&path, &logs);
        assert!(matches!(db.drop_keyspace("old"), Err(Error::Usage(_))));
        if commits {
            db.commit_prepared("p").unwrap().wait().unwrap();
        } else {
            db.roll_back_prepared("p").unwrap().wait().unwrap();
        }
        db.drop_keyspace("old").unwrap();
        copy_directory(&path, &crashed);
        if is_lost {
            copy_logs(&logs, &crashed);
        }
        set_next_number(&crashed, ROOM);
        let names = |db: &Database| db.prepared().into_iter().map(|found| found.name).collect::<Vec<_>>();
        let undecided = if is_lost { vec!["p"] } else { vec![] };
        // While the log has a record of the transaction, the number stays: a power cut may take its decision.
        let db = open(&crashed);
        assert_eq!(names(&db), undecided);
        let other = db.keyspace("other", engine).unwrap();
        assert_ne!(other.id, old.id);
        put(&db, &other, b"k").unwrap();
        copy_directory(&crashed, &cut);
        copy_logs(&logs, &cut);
        let other = open(&cut);
        assert_eq!(names(&other), ["p"]);
        let space = other.keyspace("other", engine).unwrap();
        put(&other, &space, b"k").unwrap();
        other.commit_prepared("p").unwrap().wait().unwrap();
        assert_eq!(get(&other, &space).as_deref(), Some(&b"put"[..]));
        db.checkpoint().unwrap();
        drop(db);
        let db = open(&crashed);
        assert_eq!(names(&db), undecided);
        let new = db.keyspace("new", engine).unwrap();
        assert_eq!(new.id, old.id, "the log has no record with the number any more");
        put(&db, &new, b"k").unwrap();
        put(&db, &new, b"read").unwrap();
        for commits in [false, true] {
            // What was dropped stays dropped, whatever the decision is.
            copy_directory(&crashed, &last.join(commits.to_string()));
            let db = open(&last.join(commits.to_string()));
            assert_eq!(names(&db), undecided);
            match (is_lost, commits) {
                (true, true) => db.commit_prepared("p").unwrap().wait().unwrap(),
                (true, false) => db.roll_back_prepared("p").unwrap().wait().unwrap(),
                _ => {}
            }
            db.close().unwrap();
            let db = open(&last.join(commits.to_string()));
            assert_eq!(names(&db), [""; 0]);
            assert_eq!(get(&db, &db.keyspace("new", engine).unwrap()).as_deref(), Some(&b"put"[..]));
        }
    }

    #[test]
    fn a_record_of_a_prepared_transaction_never_comes_into_a_keyspace_that_has_its_number_again() {
        for (log, engine) in [LogMode::Shared, LogMode::PerEngine]
            .into_iter()
            .flat_map(|log| ENGINES.map(|engine| (log, engine)))
        {
            for commits in [true, false] {
                decide_drop_and_use_the_number_again(log, engine, commits, false);
            }
            decide_drop_and_use_the_number_again(log, engine, false, true);
        }
    }
}
