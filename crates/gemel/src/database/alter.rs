//! Changes of a table's columns (`DESIGN.md`, "Catalog").

use super::Database;
use super::changes::{Failed, table_entry, table_entry_mut};
use crate::coordinator::Coordinator;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::files::fail_point;
use crate::ids::KeyspaceId;
use crate::keyspace::Standing;
use crate::manifest::Manifest;
#[cfg(doc)]
use crate::options::Isolation;
use crate::row::{Altered, ColumnChange, Layout, Table};
use crossbeam_utils::Backoff;

/// The writers of a table are held while its rows are checked. Dropping this lets them go on.
struct Held<'a> {
    core: &'a Coordinator,
    ids: &'a [KeyspaceId],
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.core.change(self.ids, Standing::Open);
    }
}

impl Database {
    /// Renames, adds, drops and changes columns of a table. Returns the new handle of the table. All changes take effect
    /// together, after a crash too. Existing rows stay as they are on disk and in memory, so the call is quick however
    /// large the table is, unless it makes a column not nullable.
    ///
    /// An added column is null in existing rows, or has the default that the change gives. A dropped column's values are
    /// not returned any more; a row gives up their space when it is written again. Positions of columns behind a dropped
    /// one change. A column gets only a type that has all values of its old one ([`ColumnChange::SetType`]).
    ///
    /// To make a column not nullable, the call reads all rows. Reads go on meanwhile. Writes to the table get
    /// [`Error::Outdated`], and so does the commit of a transaction that has written it. If a row is null there, the error
    /// names its key, and the earlier handles can write again. After the change, earlier handles only read.
    ///
    /// After a rename, earlier handles go on, with the earlier name. After another change they are for the transactions at
    /// one snapshot that began before: these go on reading and writing the columns as they were. Rows that they write are
    /// as if they had been there before the change. The new handle needs a transaction that begins after the change; an
    /// earlier one gets [`Error::TooOld`]. Transactions that begin later get [`Error::Outdated`] through the earlier
    /// handles.
    ///
    /// A transaction at [`Isolation::ReadCommitted`] sees the newest rows: it gets [`Error::Outdated`] through the earlier
    /// handles, and goes on with the new one. The call waits for commits in progress, and for no transaction.
    ///
    /// ```
    /// # fn main() -> gemel::Result<()> {
    /// # use gemel::row::{ColumnChange, ColumnType, Schema, Value};
    /// # use gemel::{Database, Engine, Isolation, Options};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let db = Database::open(directory.path().join("db"), Options::default())?;
    /// let schema = Schema::new().column("id", ColumnType::I32).column("mail", ColumnType::Text).primary_key(["id"]);
    /// let people = db.create_table("people", Engine::Disk, schema)?;
    /// let mut transaction = db.begin(Isolation::Snapshot)?;
    /// people.insert(&mut transaction, &[Value::Int(1), "ann@example.org".into()])?;
    /// transaction.commit()?.wait()?;
    ///
    /// let changes = [ColumnChange::rename("mail", "email"), ColumnChange::add("phone", ColumnType::Text)];
    /// let people = db.alter_table("people", &changes)?;
    /// let mut transaction = db.begin(Isolation::Snapshot)?;
    /// let ann = people.get(&mut transaction, &[Value::Int(1)])?.unwrap();
    /// assert_eq!(ann.view().values()?, [Value::Int(1), "ann@example.org".into(), Value::Null]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no such table or column, a new name exists already, a type does not have all values of
    /// the old one, a column to drop or to change is part of the primary key or an index, or a prepared transaction that
    /// used the table is undecided and a column is to become not nullable; [`Error::Constraint`] if a default does not fit
    /// its column, or a row is null in a column that is to become not nullable; [`Error::Capacity`] if a default is too
    /// long, or columns were changed 127 times already. Then nothing has changed. [`Error::Io`] if the manifest can't be
    /// written: this process goes on with the columns as they were, and the next opening shows if the change was made. If
    /// a column was to become not nullable and the outcome is unknown, the table can't be written until then.
    pub fn alter_table(&self, name: &str, changes: &[ColumnChange]) -> Result<Table> {
        let _one = self.inner.changing()?;
        let entry = table_entry(&self.inner.manifest.look(), name)?.clone();
        let altered = entry.schema.altered(name, changes)?;
        Layout::new(name, &altered.schema)?;
        let ids = &*entry.keyspaces;
        if altered.not_null.is_empty() {
            // After an error the manifest on disk may be the new one. No row of the new form exists, so both fit all rows.
            let change = |next: &Manifest| self.inner.write_next(next);
            self.put_altered(name, altered, ids, Standing::Altered, change)?;
        } else {
            let _blocked = self.block_prepared(ids, name)?;
            let held = Held { core: &self.inner.core, ids };
            self.check_not_null(name, &altered, ids)?;
            let mut is_unknown = false;
            let put = self.put_altered(name, altered, ids, Standing::Tightened, |next| {
                self.inner.write_manifest(next).map_err(|failed| {
                    is_unknown = matches!(failed, Failed::Unknown(_));
                    failed.into_error()
                })
            });
            if put.is_ok() || is_unknown {
                // The gates are closed for good. Or they stay closed: a row that is null fits one manifest only, and a
                // row of the new form the other one.
                std::mem::forget(held);
            }
            put?;
        }
        fail_point("catalog.after_manifest");
        self.table(name)
    }

    /// Holds the writers of a table, and fails if a row is null in a column that is not nullable after the changes.
    fn check_not_null(&self, name: &str, altered: &Altered, ids: &[KeyspaceId]) -> Result<()> {
        let (table, layout) = (self.table(name)?, Layout::new(name, &altered.schema)?);
        self.inner.core.change(ids, Standing::Held);
        // From now on no commit that writes the table succeeds, except those in progress: this waits for them.
        self.inner.core.settle()?;
        fail_point("catalog.checking");
        let backoff = Backoff::new();
        loop {
            let checked = self.begin_own().and_then(|mut transaction| {
                table.check_not_null(&mut transaction, &layout, &altered.not_null)
            });
            match checked {
                Err(error) if error.is_retryable() => backoff.snooze(),
                checked => return checked,
            }
        }
    }

    /// Puts a table with other columns in the place of that with the keyspaces `ids`, whose handles get a standing.
    /// `write` writes the manifest; after an error the table is as before for this process.
    fn put_altered(
        &self,
        name: &str,
        altered: Altered,
        ids: &[KeyspaceId],
        standing: Standing,
        write: impl FnOnce(&Manifest) -> Result<()>,
    ) -> Result<()> {
        let mut manifest = self.inner.manifest.replacing();
        let mut next = manifest.clone();
        table_entry_mut(&mut next, name)?.schema = altered.schema;
        fail_point("catalog.before_manifest");
        write(&next)?;
        let core = &self.inner.core;
        // Whoever has the change in a snapshot can't use an earlier handle, and nobody else uses the new one. So nobody
        // meets a row that the handle does not know. A rename leaves the handles as they are.
        let closed = if altered.rows_change { ids } else { &[] };
        let replaced = manifest.change(core, next, || Some(core.replace(closed, standing, &[])));
        drop(manifest);
        drop(replaced);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::files::fail_point::{once_here, while_it_stands_at};
    use crate::files::faulty::{FaultyFiles, Operation};
    use crate::row::{ColumnType, Schema, Value};
    use crate::{Engine, Isolation, Options};
    use std::path::Path;
    use std::sync::Arc;

    fn open(files: &FaultyFiles, path: &Path) -> Database {
        Database::open_with(Arc::new(files.clone()), path, Options::default()).unwrap()
    }

    fn insert(db: &Database, table: &Table, values: &[Value<'_>]) -> Result<()> {
        let mut transaction = db.begin(Isolation::Snapshot)?;
        table.insert(&mut transaction, values)?;
        transaction.commit()?.wait()
    }

    /// Whatever fails: the handle in use goes on, or the new one does; and after a power cut all rows are there, with
    /// the columns as before or after.
    #[test]
    fn a_change_of_columns_that_fails_is_made_or_not_and_no_row_is_lost() {
        let (mut old, mut new) = (0, 0);
        for nth in 1.. {
            let directory = tempfile::tempdir().unwrap();
            let (path, files) = (directory.path().join("db"), FaultyFiles::default());
            let db = open(&files, &path);
            let schema = Schema::new().column("id", ColumnType::I64).column("gone", ColumnType::Text);
            let table = db.create_table("t", Engine::Memory, schema.primary_key(["id"])).unwrap();
            insert(&db, &table, &[Value::Int(1), "one".into()]).unwrap();
            files.fail(Operation::Any, nth, 5, 0);
            let add = ColumnChange::add_not_null("new", ColumnType::Bool, Value::Bool(false));
            let changes = [ColumnChange::drop("gone"), add];
            let altered = db.alter_table("t", &changes);
            let struck = files.mend();
            match &altered {
                Ok(table) => insert(&db, table, &[Value::Int(2), Value::Bool(true)]).unwrap(),
                Err(error) => {
                    assert!(matches!(error, Error::Io { .. }), "{error}");
                    insert(&db, &table, &[Value::Int(2), "two".into()]).unwrap();
                }
            }
            // A later replacement of the manifest keeps what this process knows.
            if nth % 2 == 0 {
                db.checkpoint().unwrap();
            }
            drop((db, table));
            let db = open(&files.power_cut(nth % 3), &path);
            let table = db.table("t").unwrap();
            let is_new = table.column("new").is_ok();
            assert!(is_new || altered.is_err(), "{nth}");
            (old, new) = (old + u32::from(!is_new), new + u32::from(is_new));
            let mut transaction = db.begin(Isolation::Snapshot).unwrap();
            for (id, name) in [(1, "one"), (2, "two")] {
                let row = table.get(&mut transaction, &[Value::Int(id)]).unwrap().unwrap();
                let expected = match (is_new, &altered) {
                    (false, _) => name.into(),
                    (true, Ok(_)) if id == 2 => Value::Bool(true),
                    (true, _) => Value::Bool(false),
                };
                assert_eq!(row.view().get(1).unwrap(), expected, "{nth}, row {id}");
            }
            if !struck {
                break;
            }
        }
        assert!(old > 1 && new > 0, "{old} {new}");
    }

    fn named() -> Schema {
        Schema::new().column("id", ColumnType::I64).nullable("name", ColumnType::Text).primary_key(["id"])
    }

    fn strict(db: &Database) -> Result<Table> {
        db.alter_table("t", &[ColumnChange::set_not_null("name")])
    }

    #[test]
    fn no_null_slips_in_while_a_column_is_checked() {
        for engine in [Engine::Memory, Engine::Disk] {
            for refuses in [false, true] {
                let directory = tempfile::tempdir().unwrap();
                let db = Database::open(directory.path(), Options::default()).unwrap();
                let old = db.create_table("t", engine, named()).unwrap();
                insert(&db, &old, &[Value::Int(1), "one".into()]).unwrap();
                if refuses {
                    insert(&db, &old, &[Value::Int(2), Value::Null]).unwrap();
                }
                let mut written = db.begin(Isolation::Snapshot).unwrap();
                old.insert(&mut written, &[Value::Int(3), Value::Null]).unwrap();
                once_here("catalog.checking", {
                    let (db, old) = (db.clone(), old.clone());
                    move || {
                        let null = [Value::Int(4), Value::Null];
                        for outcome in [written.commit().map(drop), insert(&db, &old, &null)] {
                            assert!(outcome.unwrap_err().is_outdated());
                        }
                        assert!(insert(&db, &db.table("t").unwrap(), &null).unwrap_err().is_outdated());
                        let mut reader = db.begin(Isolation::Snapshot).unwrap();
                        assert!(old.get(&mut reader, &[Value::Int(1)]).unwrap().is_some());
                    }
                });
                match strict(&db) {
                    Err(Error::Constraint(text)) => assert!(refuses && text.contains("(id = 2)"), "{text}"),
                    other => assert!(!other.unwrap().schema().columns[1].nullable && !refuses),
                }
                let null = insert(&db, &old, &[Value::Int(5), Value::Null]);
                assert_eq!(null.is_ok(), refuses, "{null:?}");
            }
        }
    }

    #[test]
    fn a_column_that_is_checked_waits_for_a_commit_that_writes_a_null() {
        for engine in [Engine::Memory, Engine::Disk] {
            let directory = tempfile::tempdir().unwrap();
            let db = Database::open(directory.path(), Options::default()).unwrap();
            let table = db.create_table("t", engine, named()).unwrap();
            let (written, checked) = while_it_stands_at(
                "commit.after_append",
                || insert(&db, &table, &[Value::Int(7), Value::Null]),
                // A check that does not wait begins before the commit goes on.
                ["catalog.settling", "catalog.checking"],
                || strict(&db),
            );
            written.unwrap();
            let error = checked.unwrap_err();
            assert!(matches!(&error, Error::Constraint(text) if text.contains("(id = 7)")), "{error:?}");
        }
    }

    /// Whatever fails: either nulls can be written and the column stays nullable, or none is there.
    #[test]
    fn a_column_that_fails_to_become_not_nullable_has_nulls_or_takes_none() {
        let (mut open_again, mut closed) = (0, 0);
        for nth in 1.. {
            let directory = tempfile::tempdir().unwrap();
            let (path, files) = (directory.path().join("db"), FaultyFiles::default());
            let db = open(&files, &path);
            let old = db.create_table("t", Engine::Memory, named()).unwrap();
            insert(&db, &old, &[Value::Int(1), "one".into()]).unwrap();
            files.fail(Operation::Any, nth, 5, 0);
            let altered = strict(&db);
            let struck = files.mend();
            let null = [Value::Int(2), Value::Null];
            let written = match &altered {
                Ok(table) => insert(&db, table, &null),
                Err(error) => {
                    assert!(matches!(error, Error::Io { .. }), "{error}");
                    insert(&db, &old, &null)
                }
            };
            match &written {
                Ok(()) => open_again += 1,
                Err(Error::Constraint(_)) => assert!(altered.is_ok()),
                Err(error) => {
                    assert!(error.is_outdated() && altered.is_err(), "{error:?}");
                    closed += 1;
                }
            }
            if nth % 2 == 0 {
                db.checkpoint().unwrap();
            }
            drop((db, old));
            let db = open(&files.power_cut(nth % 3), &path);
            let table = db.table("t").unwrap();
            let is_nullable = table.schema().columns[1].nullable;
            assert!(is_nullable || written.is_err(), "{nth}");
            assert!(!is_nullable || altered.is_err(), "{nth}");
            let mut transaction = db.begin(Isolation::Snapshot).unwrap();
            let rows = [1, 2].map(|id| table.get(&mut transaction, &[Value::Int(id)]).unwrap());
            assert_eq!(rows[0].as_ref().unwrap().view().text(1).unwrap(), "one");
            assert_eq!(rows[1].is_some(), written.is_ok(), "{nth}");
            insert(&db, &table, &[Value::Int(3), "three".into()]).unwrap();
            if !struck {
                break;
            }
        }
        assert!(open_again > 1 && closed > 0, "{open_again} {closed}");
    }
}
