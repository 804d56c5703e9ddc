//! Changes of a table's columns (`DESIGN.md`, "Catalog").

use super::Database;
use super::changes::table_entry_mut;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::files::fail_point;
use crate::keyspace::Standing;
#[cfg(doc)]
use crate::options::Isolation;
use crate::row::{ColumnChange, Layout, Table};

impl Database {
    /// Renames, adds and drops columns of a table. Returns the new handle of the table. All changes take effect
    /// together, after a crash too. Existing rows stay as they are on disk and in memory, so the call is quick however
    /// large the table is.
    ///
    /// An added column is nullable, and null in existing rows. A dropped column's values are not returned any more; a
    /// row gives up their space when it is written again. Positions of columns behind a dropped one change.
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
    /// [`Error::Usage`] if there is no such table or column, a new name exists already, or a column to drop is part of the
    /// primary key or an index; [`Error::Capacity`] if columns were added or dropped 127 times already. Then nothing has
    /// changed. [`Error::Io`] if the manifest can't be written: this process goes on with the columns as they were, and the
    /// next opening shows if the change was made.
    pub fn alter_table(&self, name: &str, changes: &[ColumnChange]) -> Result<Table> {
        let _one = self.inner.changing.lock();
        let mut manifest = self.inner.manifest.replacing();
        let mut next = manifest.clone();
        let entry = table_entry_mut(&mut next, name)?;
        let (schema, rows_change) = entry.schema.altered(name, changes)?;
        Layout::new(name, &schema)?;
        entry.schema = schema;
        let ids = entry.keyspaces.clone();
        fail_point("catalog.before_manifest");
        // After an error the manifest on disk may be the new one. No row of the new form exists, so both fit all rows.
        next.write(&*self.inner.files, &self.inner.path)?;
        let core = &self.inner.core;
        // Whoever has the change in a snapshot can't use an earlier handle, and nobody else uses the new one. So nobody
        // meets a row that the handle does not know. A rename leaves the handles as they are.
        let closed = if rows_change { &*ids } else { &[] };
        let replaced = manifest.change(core, next, || Some(core.replace(closed, Standing::Altered, &[])));
        drop(manifest);
        drop(replaced);
        fail_point("catalog.after_manifest");
        self.table(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
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
            let changes = [ColumnChange::drop("gone"), ColumnChange::add("new", ColumnType::Bool)];
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
                    (true, _) => Value::Null,
                };
                assert_eq!(row.view().get(1).unwrap(), expected, "{nth}, row {id}");
            }
            if !struck {
                break;
            }
        }
        assert!(old > 1 && new > 0, "{old} {new}");
    }
}
