//! Dropped keyspaces that snapshots from before the drop can still read (`DESIGN.md`, "Catalog").

use crate::coordinator::Coordinator;
use crate::error::Result;
use crate::files::fail_point;
use crate::ids::KeyspaceId;
use crate::keyspace::Engine;
use crate::order::clock::Timestamp;
use parking_lot::Mutex;

/// A dropped keyspace that is not freed yet.
pub(super) struct Retired {
    /// Stamp of the drop. Snapshots of the anchor from before it may need the rows.
    pub(super) until: Timestamp,
    pub(super) engine: usize,
    pub(super) id: KeyspaceId,
}

/// The dropped keyspaces that are not freed yet.
#[derive(Default)]
pub(super) struct RetiredKeyspaces(Mutex<Vec<Retired>>);

impl RetiredKeyspaces {
    /// Frees dropped keyspaces, unless a running transaction needs them. Those on disk stay unless `write` returns
    /// true: then no manifest on disk names them.
    pub(super) fn retire(
        &self,
        core: &Coordinator,
        dropped: impl Iterator<Item = Retired>,
        write: impl FnOnce() -> bool,
    ) -> Result<()> {
        // Nobody else frees them meanwhile: they are free when this returns.
        let mut retired = self.0.lock();
        retired.extend(dropped);
        free_some(core, &mut retired, write)
    }

    /// Adds dropped keyspaces, which the next call of another function frees.
    pub(super) fn add(&self, dropped: impl Iterator<Item = Retired>) {
        self.0.lock().extend(dropped);
    }

    /// Does the same as [`RetiredKeyspaces::retire`], unless a drop is doing that.
    pub(super) fn free(&self, core: &Coordinator, write: impl FnOnce() -> bool) {
        if let Some(mut retired) = self.0.try_lock() {
            let _ = free_some(core, &mut retired, write);
        }
    }
}

fn free_some(core: &Coordinator, retired: &mut Vec<Retired>, write: impl FnOnce() -> bool) -> Result<()> {
    if retired.is_empty() {
        return Ok(());
    }
    // No transaction has an older snapshot now or later, but for those that have expired and find out by themselves.
    let oldest = core.watermark(0);
    let is_due = |retired: &Retired| retired.until <= oldest;
    let on_disk = |retired: &Retired| retired.engine == Engine::Disk.index();
    // A manifest that names a keyspace needs its files.
    let may_free_files = retired.iter().any(|retired| is_due(retired) && on_disk(retired)) && write();
    fail_point("catalog.freeing");
    let free = retired.extract_if(.., |retired| is_due(retired) && (may_free_files || !on_disk(retired)));
    let freed = free.map(|Retired { engine, id, .. }| core.engines[engine].drop_keyspace(id));
    // An error of one must not keep the others.
    freed.fold(Ok(()), Result::and)
}

#[cfg(test)]
mod tests {
    use crate::files::fail_point::once_here;
    use crate::ids::Direction;
    use crate::row::{ColumnChange, ColumnType, RowRange, Schema, Table, Value};
    use crate::{Database, Engine, Error, Isolation, Options, Result, Transaction};
    use std::cell::RefCell;
    use std::ops::ControlFlow;
    use std::rc::Rc;

    fn rows(transaction: &mut Transaction, table: &Table) -> Result<usize> {
        let mut rows = 0;
        table.scan(transaction, &RowRange::all(), Direction::Forward, |_| {
            rows += 1;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(rows)
    }

    fn outdated<T: std::fmt::Debug>(outcome: Result<T>) {
        assert!(matches!(outcome, Err(Error::Outdated(_))), "{outcome:?}");
    }

    /// While a change is being published, its gates are closed and it is counted, but no snapshot has it. A transaction that
    /// begins at that moment is one from before the change.
    #[test]
    fn a_transaction_that_begins_while_a_change_is_published_is_one_from_before() {
        for engine in [Engine::Memory, Engine::Disk] {
            let directory = tempfile::tempdir().unwrap();
            let db = Database::open(directory.path(), Options::default()).unwrap();
            let schema = Schema::new().column("id", ColumnType::I64).primary_key(["id"]);
            let mut old = db.create_table("t", engine, schema.clone()).unwrap();
            let other = db.create_table("other", engine, schema).unwrap();
            let insert = |transaction: &mut Transaction, table: &Table, id| {
                table.insert(transaction, &[Value::Int(id)])
            };
            db.run(Isolation::Snapshot, |transaction| insert(transaction, &old, 1)).unwrap();
            type Change = fn(&Database) -> Result<Table>;
            let truncate: Change = |db| db.truncate_table("t");
            let alter: Change = |db| db.alter_table("t", &[ColumnChange::add("more", ColumnType::Text)]);
            for (change, is_altered) in [(alter, true), (truncate, false)] {
                let met: Rc<RefCell<Vec<Transaction>>> = Rc::default();
                once_here("catalog.publishing", {
                    let (db, old, other, met) = (db.clone(), old.clone(), other.clone(), Rc::clone(&met));
                    move || {
                        let mut transaction = db.begin(Isolation::Serializable).unwrap();
                        assert_eq!(rows(&mut transaction, &old).unwrap(), 1);
                        insert(&mut transaction, &other, i64::from(is_altered)).unwrap();
                        met.borrow_mut().push(transaction);
                    }
                });
                let new = change(&db).unwrap();
                let mut transaction = met.borrow_mut().remove(0);
                assert!(matches!(rows(&mut transaction, &new), Err(Error::TooOld(_))));
                assert_eq!(rows(&mut transaction, &old).unwrap(), 1);
                let found = transaction.commit();
                if is_altered {
                    found.unwrap().wait().unwrap()
                } else {
                    outdated(found)
                }
                outdated(rows(&mut db.begin(Isolation::Snapshot).unwrap(), &old));
                old = new;
            }
        }
    }
}
