//! Tables that are made within a transaction, together with their rows (`DESIGN.md`, "A table and its rows").

use super::catalog::{check_free, index_keyspace};
use super::{Database, Inner};
use crate::coordinator::{Failure, Outcome};
use crate::error::{Conflict, Error, Result};
use crate::files::fail_point;
use crate::ids::KeyspaceId;
use crate::keyspace::{Engine, Gate, Keyspace, Standing};
use crate::log::may_wait;
use crate::manifest::{Manifest, TableEntry};
use crate::order::active::Count;
use crate::order::clock::Timestamp;
use crate::recovery;
use crate::row::{Layout, Schema, Table};
use crate::transaction::{Maker, Transaction, Withdraw};
use std::sync::{Arc, Weak};

/// The catalog of a database that may have been closed meanwhile: a transaction must not keep it open.
struct Catalog(Weak<Inner>);

impl Database {
    /// Makes a table within a transaction. The table and what the transaction writes appear together at the commit, in both
    /// engines, or not at all, also after a crash. Until then the transaction alone has the table: [`Database::table_in`]
    /// finds it there, and nobody else can use the handle. Transactions that began before the commit get
    /// [`Error::TooOld`] for it.
    ///
    /// Dropping the transaction drops the table, and so does a rollback to a savepoint from before. Until the transaction
    /// ends, nobody else can make a table or keyspace of this name, or of its indexes (`TABLE.INDEX`). Other changes of
    /// the catalog are not part of any transaction, and find the table only after the commit.
    ///
    /// The call writes the manifest, so it waits for the disk, and for other changes of the catalog. A rollback of a table
    /// on disk does so too. The commit waits for other changes of the catalog, and for a backup to begin.
    ///
    /// ```
    /// # fn main() -> gemel::Result<()> {
    /// # use gemel::row::{ColumnType, Schema, Value};
    /// # use gemel::{Database, Engine, Isolation, Options};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let db = Database::open(directory.path().join("db"), Options::default())?;
    /// let schema = Schema::new().column("id", ColumnType::I64).primary_key(["id"]);
    /// let mut transaction = db.begin(Isolation::Snapshot)?;
    /// let table = db.create_table_in(&mut transaction, "orders", Engine::Disk, schema)?;
    /// table.insert(&mut transaction, &[Value::Int(1)])?;
    /// assert!(db.table("orders").is_err()); // Nobody else has the table,
    /// assert!(db.table_in(&transaction, "orders").is_ok()); // but the transaction.
    /// transaction.commit()?.wait()?;
    ///
    /// let mut transaction = db.begin(Isolation::Snapshot)?;
    /// assert!(db.table("orders")?.get(&mut transaction, &[Value::Int(1)])?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] if the table exists, the schema is not valid, a keyspace has the name of the table or of one of its
    /// indexes, or the transaction is read-only, failed earlier, or one of another database. A retryable error if another
    /// transaction makes something of this name ([`Error::Conflict`]), or a table of this name was made or dropped after
    /// this transaction began. [`Error::Capacity`] if the transaction has no room, or no number for a keyspace is left.
    /// [`Error::Io`] if the manifest can't be written. Then the transaction is as before.
    pub fn create_table_in(
        &self,
        transaction: &mut Transaction,
        name: &str,
        home: Engine,
        schema: Schema,
    ) -> Result<Table> {
        self.check_own(transaction)?;
        transaction.alive()?;
        if transaction.read_only {
            return Err(Error::Usage(format!(
                "the transaction is read-only and can't make table {name:?}: begin one with Database::begin"
            )));
        }
        Layout::new(name, &schema)?;
        let reserved = self.reserve(transaction, name, home, schema);
        let (table, rows) = transaction.noted(reserved)?;
        let before = transaction.tables.rows().len();
        let catalog = || Arc::new(Catalog(Arc::downgrade(&self.inner.inner))) as Arc<dyn Maker>;
        transaction.tables.add(catalog, rows.id);
        if let Err(error) = transaction.mark_new(&rows) {
            transaction.tables.keep(before);
            return Err(error);
        }
        Ok(table)
    }

    /// Makes the keyspaces of a table that nobody but the transaction can use, and names them in the manifest.
    fn reserve(
        &self,
        transaction: &Transaction,
        name: &str,
        home: Engine,
        schema: Schema,
    ) -> Result<(Table, Keyspace)> {
        let mut manifest = self.inner.replacing()?;
        self.check_name_in(transaction, &manifest, name, home)?;
        let mut names = vec![name.to_owned()];
        for index in &schema.indexes {
            let name = index_keyspace(name, &index.name);
            check_free(&manifest, &name, "index")?;
            names.push(name);
        }
        let (mut next, mut handles) = (manifest.clone(), Vec::with_capacity(names.len()));
        for name in &names {
            let entry = self.add_unfinished(&mut next, name, home)?;
            let gate = Arc::new(Gate::made_by(transaction.seat.number));
            handles.push(Keyspace { gate, ..recovery::handle(self.inner.core.owner, &entry) });
        }
        let entry = TableEntry {
            name: name.to_owned(),
            engine: home,
            schema,
            keyspaces: handles.iter().map(|handle| handle.id).collect(),
            building: None,
        };
        next.new_tables.push(entry.clone());
        fail_point("new_table.before_manifest");
        // After an error the manifest on disk may name the table. The next opening drops it.
        self.inner.write_next(&next)?;
        fail_point("new_table.after_manifest");
        handles.iter().for_each(|handle| self.register(handle));
        // For everybody else the tables are as before.
        drop(manifest.change(&self.inner.core, next, || None));
        Ok((self.table_of(&manifest, &entry)?, handles.swap_remove(0)))
    }

    /// Returns an error if a transaction can't make a table of this name.
    fn check_name_in(
        &self,
        transaction: &Transaction,
        manifest: &Manifest,
        name: &str,
        home: Engine,
    ) -> Result<()> {
        let exists = || Error::Usage(format!("table {name:?} exists already: choose another name"));
        if manifest
            .new_tables
            .iter()
            .any(|table| table.name == name && transaction.tables.have(&table.keyspaces))
        {
            return Err(exists());
        }
        let is_there = manifest.tables.iter().any(|table| table.name == name);
        // None if that is the same in the snapshot.
        let was_there = self.in_catalog(transaction, |_, others| others.get(name).map(Option::is_some))?;
        match (is_there, was_there) {
            (true, Some(false)) => {
                Err(Error::Conflict { kind: Conflict::Write, engine: home.name(), keyspace: name.to_owned() })
            }
            (true, _) => Err(exists()),
            (false, Some(true)) => {
                Err(Error::TooOld(format!("table {name:?} was dropped after the transaction began")))
            }
            (false, _) => check_free(manifest, name, "table"),
        }
    }

    /// Returns the table of this name among those that a transaction has made.
    pub(super) fn new_table_in(&self, transaction: &Transaction, name: &str) -> Option<Result<Table>> {
        if transaction.tables.is_empty() {
            return None;
        }
        let manifest = self.inner.manifest.look();
        let is_it = |table: &&TableEntry| table.name == name && transaction.tables.have(&table.keyspaces);
        manifest.new_tables.iter().find(is_it).map(|entry| self.table_of(&manifest, entry))
    }
}

impl Maker for Catalog {
    fn commit(&self, transaction: &mut Transaction) -> Result<Outcome, Failure> {
        let failed = |error| (Count::Failed, error);
        // The commit waits for others who replace the manifest, and these may wait for the log.
        may_wait().map_err(failed)?;
        let inner = self.0.upgrade().ok_or_else(|| {
            failed(Error::Usage(
                "the database is closed, so nothing can be committed: open it again".to_owned(),
            ))
        })?;
        // From here to the end nobody else replaces the manifest. So a manifest that is written before has the tables as
        // new, and the log that opening reads has the commit; one that is written later has the tables.
        let mut manifest = inner.manifest.replacing();
        let mut next = manifest.clone();
        next.add_new_tables(transaction.tables.rows());
        let new: Vec<&TableEntry> =
            manifest.new_tables.iter().filter(|table| transaction.tables.have(&table.keyspaces)).collect();
        let ids = new.iter().flat_map(|table| &table.keyspaces);
        let handles: Vec<Keyspace> = ids.filter_map(|id| inner.core.handle(*id)).collect();
        let names: Vec<String> = new.iter().map(|table| table.name.clone()).collect();
        let mut next = Some((next, names));
        let mut appear = |at: Timestamp, publish: &mut dyn FnMut()| {
            let Some((next, names)) = next.take() else { return publish() };
            manifest.add(next, names.into_iter(), at, || {
                fail_point("new_table.publishing");
                publish();
                // Nobody can use the tables before all look-ups find them.
                handles.iter().for_each(|handle| handle.gate.open_at(at));
            });
            fail_point("new_table.published");
        };
        transaction.tables.decide(true);
        let outcome = inner.core.commit(transaction, Some(&mut appear));
        // After a panic it is not known if the log has the commit, so the tables stay new. The next opening decides.
        transaction.tables.decide(outcome.is_ok());
        outcome
    }
}

impl Withdraw for Catalog {
    fn withdraw(&self, rows: &[KeyspaceId]) -> Vec<Keyspace> {
        let Some(inner) = self.0.upgrade().filter(|_| !rows.is_empty()) else { return Vec::new() };
        let mut manifest = inner.manifest.replacing();
        let mut next = manifest.clone();
        let gone = next.remove_new_tables(|id| rows.contains(&id));
        let handles: Vec<Keyspace> = gone.iter().filter_map(|entry| inner.core.handle(entry.id)).collect();
        handles.iter().for_each(|handle| handle.gate.close(Standing::Dropped, Timestamp::ZERO));
        drop(manifest.change(&inner.core, next, || None));
        handles
    }

    fn free(&self, keyspaces: &[Keyspace]) {
        let Some(inner) = self.0.upgrade() else { return };
        let has_files = keyspaces.iter().any(|keyspace| keyspace.engine_index() == Engine::Disk.index());
        // A manifest that names a keyspace needs its files.
        let is_unnamed = !has_files || {
            let manifest = inner.manifest.replacing();
            inner.write_next(&manifest).is_ok()
        };
        fail_point("new_table.withdrawn");
        inner.core.keyspaces.write().retain(|known| keyspaces.iter().all(|keyspace| keyspace.id != known.id));
        for keyspace in keyspaces.iter().filter(|_| is_unnamed) {
            // Otherwise the next opening removes what is left.
            let _ = inner.core.engines[keyspace.engine_index()].drop_keyspace(keyspace.id);
        }
    }
}

#[cfg(test)]
mod tests;
