//! Changes of the catalog within a transaction (`DESIGN.md`, "Changes of the catalog with rows").

use super::catalog::{check_name, check_unused, no_table, own_doing, taken};
use super::changes::check_unchanged;
use super::current::{Replacing, undo};
use super::prepared::being_changed;
use super::retired::Retired;
use super::{Database, Inner};
use crate::coordinator::{Failure, Outcome};
use crate::error::{Conflict, Error, Result};
use crate::files::fail_point;
use crate::ids::KeyspaceId;
use crate::keyspace::{Engine, Gate, Keyspace, Standing};
use crate::log::may_wait;
use crate::manifest::{CatalogChange, KeyspaceEntry, Manifest, TableEntry};
use crate::order::active::Count;
use crate::order::clock::Timestamp;
use crate::recovery;
use crate::row::{ColumnChange, Layout, Schema, Table};
use crate::transaction::{Changed, Fate, Maker, Transaction, Withdraw};
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// The catalog of a database that may have been closed meanwhile: a transaction must not keep it open.
struct Catalog(Weak<Inner>);

impl Database {
    /// Makes a table within a transaction. The table and what the transaction writes appear together at the commit, in
    /// both engines, or not at all, also after a crash. Until then the transaction alone has the table:
    /// [`Database::table_in`] finds it there, and nobody else can use the handle. Transactions that began before the
    /// commit get [`Error::TooOld`] for it.
    ///
    /// A transaction can make several tables, and also drop, rename, truncate and alter some:
    /// [`Database::drop_table_in`], [`Database::rename_table_in`], [`Database::truncate_table_in`],
    /// [`Database::drop_index_in`], [`Database::alter_table_in`]. All of it holds after the commit, and nothing of it
    /// after a rollback, a conflict or a crash. A rollback to a savepoint undoes the changes since then. The
    /// transaction's own look-ups ([`Database::table_in`], [`Database::tables_in`]) find what it has changed.
    ///
    /// Until the transaction ends, nobody else can make a table or keyspace of a name that it uses, or of an index
    /// (`TABLE.INDEX`), nor change a table that it changes: they get a retryable [`Error::Conflict`]. Other changes of
    /// the catalog are not part of any transaction.
    ///
    /// The calls wait for other changes of the catalog. So does the commit, which writes the manifest: it waits for the
    /// disk and for a backup to begin. A rollback costs nothing of that, unless it follows a failed commit.
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
    /// [`Error::Usage`] if the table exists, the schema is not valid, a keyspace has the name of the table or of one of
    /// its indexes, or the transaction is read-only, failed earlier, or one of another database. A retryable error if
    /// another transaction makes something of this name ([`Error::Conflict`]), or a table of this name was made or
    /// dropped after this transaction began. [`Error::Capacity`] if the transaction has no room, or no number for a
    /// keyspace is left. [`Error::Io`] if the files of a table on disk can't be made. Then the transaction is as
    /// before.
    pub fn create_table_in(
        &self,
        transaction: &mut Transaction,
        name: &str,
        home: Engine,
        schema: Schema,
    ) -> Result<Table> {
        self.check_may_change(transaction, name)?;
        Layout::new(name, &schema)?;
        let made = self.edit(transaction, |edit, transaction| {
            let entry = TableEntry {
                name: name.to_owned(),
                engine: home,
                schema,
                keyspaces: Vec::new(),
                building: None,
            };
            edit.check_free(transaction, &entry)?;
            edit.give_new(transaction, entry)
        });
        transaction.noted(made)?;
        self.table_in(transaction, name)
    }

    /// Drops a table within a transaction, with its rows and indexes ([`Database::create_table_in`]). The transaction
    /// itself can't use the table any more, and can make a new one of its name.
    ///
    /// The drop is a write of the whole table, so the first committer wins, as for rows. If another transaction has
    /// committed a write of the table since the snapshot of this one, or holds the lock of a row, the commit fails with
    /// a retryable error. At [`Isolation::ReadCommitted`] the transaction's oldest read of a part of the table counts,
    /// or this call if there was none. So a transaction that copies a table and then drops it loses no row. Others read
    /// and write the table until the commit; during the commit their writes get a retryable error. Afterwards it is the
    /// same as after [`Database::drop_table`]. A table that is written all the time may make each attempt to copy it
    /// fail: keep its writers away meanwhile.
    ///
    /// Memory and files are freed when the last transaction ends that may read the table. If that is this one and there
    /// are files, its commit also waits until it is durable.
    ///
    /// This is `ALTER TABLE … ALGORITHM=COPY` of an SQL layer, which makes a key column wider:
    ///
    /// ```
    /// # fn main() -> gemel::Result<()> {
    /// # use gemel::row::{ColumnType, RowRange, Schema, Value};
    /// # use gemel::{Database, Engine, Isolation, Options};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let db = Database::open(directory.path().join("db"), Options::default())?;
    /// # let schema = |id| Schema::new().column("id", id).column("name", ColumnType::Text).primary_key(["id"]);
    /// # let old = db.create_table("people", Engine::Disk, schema(ColumnType::I32))?;
    /// # db.run(Isolation::Snapshot, |transaction| old.insert(transaction, &[Value::Int(1), "Ann".into()]))?;
    /// db.run(Isolation::Snapshot, |transaction| {
    ///     let old = db.table_in(transaction, "people")?;
    ///     let new = db.create_table_in(transaction, "people (copy)", Engine::Disk, schema(ColumnType::I64))?;
    ///     let mut rows = old.cursor(transaction, &RowRange::all())?;
    ///     while let Some(row) = rows.next(transaction)? {
    ///         new.insert(transaction, &row.values()?)?;
    ///     }
    ///     db.drop_table_in(transaction, "people")?;
    ///     db.rename_table_in(transaction, "people (copy)", "people").map(drop)
    /// })?;
    ///
    /// let people = db.table("people")?;
    /// assert_eq!(people.schema().columns[0].kind, ColumnType::I64);
    /// assert!(people.get(&mut db.begin_read_only()?, &[Value::Int(1)])?.is_some());
    /// assert_eq!(db.tables().len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no such table, a prepared transaction that used it is undecided, or the transaction
    /// is read-only, failed earlier, or one of another database. A retryable error if another transaction changes the
    /// table ([`Error::Conflict`]), or if it was changed after this transaction began ([`Error::TooOld`]).
    /// [`Error::Capacity`] if the transaction has no room, or no number for a keyspace is left. Then the transaction is
    /// as before.
    ///
    /// [`Isolation::ReadCommitted`]: crate::Isolation::ReadCommitted
    pub fn drop_table_in(&self, transaction: &mut Transaction, name: &str) -> Result<()> {
        self.change_in(transaction, name, |edit, transaction| {
            let entry = edit.table(transaction, name)?;
            edit.drop_rows(transaction, &entry)
        })
    }

    /// Gives a table another name within a transaction ([`Database::create_table_in`]). Returns a handle with the new
    /// name. Handles and transactions go on as after [`Database::rename_table`].
    ///
    /// Names are free once the transaction itself has given them up. So a transaction can exchange the names of two
    /// tables:
    ///
    /// ```
    /// # fn main() -> gemel::Result<()> {
    /// # use gemel::row::{ColumnType, Schema};
    /// # use gemel::{Database, Engine, Isolation, Options};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let db = Database::open(directory.path().join("db"), Options::default())?;
    /// # let schema = || Schema::new().column("id", ColumnType::I64).primary_key(["id"]);
    /// db.create_table("a", Engine::Memory, schema())?;
    /// db.create_table("b", Engine::Disk, schema())?;
    /// db.run(Isolation::Snapshot, |transaction| {
    ///     db.rename_table_in(transaction, "a", "c")?;
    ///     db.rename_table_in(transaction, "b", "a")?;
    ///     db.rename_table_in(transaction, "c", "b").map(drop)
    /// })?;
    /// let mut tables = db.tables();
    /// tables.sort_by_key(|(name, _)| name.clone());
    /// assert_eq!(tables, [("a".to_owned(), Engine::Disk), ("b".to_owned(), Engine::Memory)]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`Database::drop_table_in`], but prepared transactions do not matter; and those of
    /// [`Database::create_table_in`] for the new name.
    pub fn rename_table_in(&self, transaction: &mut Transaction, from: &str, to: &str) -> Result<Table> {
        self.change_in(transaction, from, |edit, transaction| {
            let old = edit.table(transaction, from)?;
            if from == to {
                return Ok(());
            }
            Layout::new(to, &old.schema)?;
            let new = TableEntry { name: to.to_owned(), ..old.clone() };
            edit.now.change.take(&old);
            edit.check_free(transaction, &new)?;
            edit.now.change.give(new);
            Ok(())
        })?;
        self.table_in(transaction, to)
    }

    /// Deletes all rows of a table at once, within a transaction ([`Database::create_table_in`]). Returns the new
    /// handle of the table, which the transaction can use at once. Conflicts are those of [`Database::drop_table_in`].
    /// Earlier handles are treated as by [`Database::truncate_table`]; the transaction itself can't use them any more.
    ///
    /// # Errors
    /// Same as [`Database::drop_table_in`]; [`Error::Io`] if the files of a table on disk can't be made.
    pub fn truncate_table_in(&self, transaction: &mut Transaction, name: &str) -> Result<Table> {
        self.change_in(transaction, name, |edit, transaction| {
            let entry = edit.table(transaction, name)?;
            edit.drop_rows(transaction, &entry)?;
            edit.give_new(transaction, TableEntry { keyspaces: Vec::new(), ..entry })
        })?;
        self.table_in(transaction, name)
    }

    /// Drops an index of a table within a transaction ([`Database::create_table_in`]). Returns a handle of the table
    /// without the index, for this transaction. Get the table again after the commit. Earlier handles are treated as by
    /// [`Database::drop_index`]; the transaction itself can go on with them.
    ///
    /// There is no `add_index_in`: [`Database::add_index`] lets others write the table while it reads all rows, in
    /// transactions of its own. To add an index within a transaction, copy the table into a new one that has it.
    ///
    /// # Errors
    /// Same as [`Database::drop_table_in`]; [`Error::Usage`] also if there is no such index.
    pub fn drop_index_in(&self, transaction: &mut Transaction, table: &str, index: &str) -> Result<Table> {
        self.change_in(transaction, table, |edit, transaction| {
            let old = edit.table(transaction, table)?;
            // Now there is a keyspace for each index.
            self.table_of(&edit.manifest, &old)?;
            let place = old.schema.indexes.iter().position(|known| known.name == index);
            let Some(place) = place else {
                return Err(Error::Usage(format!("table {table}: there is no index {index}")));
            };
            drop(self.block_prepared(&old.keyspaces, table)?);
            let mut new = old.clone();
            new.schema.indexes.remove(place);
            // The rows come first.
            new.keyspaces.remove(place + 1);
            edit.now.change.take(&old);
            edit.now.change.give(new);
            Ok(())
        })?;
        self.table_in(transaction, table)
    }

    /// Renames, adds, drops and changes columns of a table within a transaction ([`Database::create_table_in`]).
    /// Returns a handle with the new columns, for this transaction. It must not read rows through an earlier handle
    /// that it has written through this one. Get the table again after the commit. Other transactions and their handles
    /// are treated as by [`Database::alter_table`].
    ///
    /// # Errors
    /// Those of [`Database::drop_table_in`], but prepared transactions do not matter; those of
    /// [`Database::alter_table`] for the changes; [`Error::Usage`] also if a column would become not nullable, since
    /// others may write nulls until the commit: use [`Database::alter_table`], or copy the table into a new one.
    pub fn alter_table_in(
        &self,
        transaction: &mut Transaction,
        name: &str,
        changes: &[ColumnChange],
    ) -> Result<Table> {
        self.change_in(transaction, name, |edit, transaction| {
            let old = edit.table(transaction, name)?;
            let altered = old.schema.altered(name, changes)?;
            Layout::new(name, &altered.schema)?;
            if !altered.not_null.is_empty() {
                return Err(Error::Usage(format!(
                    "table {name}: a column can't become not nullable within a transaction, since others may write nulls \
                     until its commit: use alter_table, or copy the rows into a new table"
                )));
            }
            edit.now.change.take(&old);
            edit.now.change.give(TableEntry { schema: altered.schema, ..old });
            Ok(())
        })?;
        self.table_in(transaction, name)
    }

    /// Returns an error if a transaction can't change the catalog. `name` is the name of a table.
    fn check_may_change(&self, transaction: &Transaction, name: &str) -> Result<()> {
        self.check_own(transaction)?;
        transaction.alive()?;
        if transaction.read_only {
            return Err(Error::Usage(format!(
                "the transaction is read-only and can't make or change table {name:?}: begin one with Database::begin"
            )));
        }
        Ok(())
    }

    /// Changes a table that is there.
    fn change_in(
        &self,
        transaction: &mut Transaction,
        name: &str,
        change: impl FnOnce(&mut Edit<'_>, &mut Transaction) -> Result<()>,
    ) -> Result<()> {
        self.check_may_change(transaction, name)?;
        // A move or a new index of the table is done or has failed by then, and the next one finds it taken.
        let _one = self.inner.changing()?;
        let changed = self.edit(transaction, change);
        transaction.noted(changed)
    }

    /// Adds a change to those of a transaction. After an error the transaction is as before.
    fn edit(
        &self,
        transaction: &mut Transaction,
        change: impl FnOnce(&mut Edit<'_>, &mut Transaction) -> Result<()>,
    ) -> Result<()> {
        let mut edit = Edit::begin(self, transaction)?;
        change(&mut edit, transaction)?;
        edit.finish(transaction)
    }
}

/// A change of the catalog that is being added to those of a transaction.
struct Edit<'d> {
    db: &'d Database,
    manifest: Replacing<'d>,
    /// The manifest with the numbers of the keyspaces in `made` taken.
    next: Manifest,
    now: Changed,
    made: Vec<Keyspace>,
    /// The table whose rows go, if it was there before the transaction.
    taken: Option<Keyspace>,
}

impl<'d> Edit<'d> {
    fn begin(db: &'d Database, transaction: &Transaction) -> Result<Self> {
        let manifest = db.inner.replacing()?;
        let mut edit = Self {
            db,
            next: manifest.clone(),
            manifest,
            now: Changed { change: CatalogChange::new(KeyspaceId(0)), closed: Vec::new() },
            made: Vec::new(),
            taken: None,
        };
        match transaction.ddl.now() {
            Some(now) => edit.now = now.clone(),
            None => {
                edit.now.change.mark = edit.make(transaction, "mark of a transaction", Engine::Memory)?.id
            }
        }
        Ok(edit)
    }

    /// Makes a keyspace that only the transaction can use.
    fn make(&mut self, transaction: &Transaction, name: &str, engine: Engine) -> Result<KeyspaceEntry> {
        check_name(name)?;
        let id = self.db.open_new(&mut self.next, engine)?;
        let entry = KeyspaceEntry { id, name: name.to_owned(), engine, unfinished: false };
        let gate = Arc::new(Gate::made_by(transaction.seat.number));
        self.made.push(Keyspace { gate, ..recovery::handle(self.db.inner.core.owner, &entry) });
        Ok(entry)
    }

    /// Returns the table that has this name in the transaction's catalog.
    fn table(&self, transaction: &Transaction, name: &str) -> Result<TableEntry> {
        let Changed { change, .. } = &self.now;
        if let Some(own) = change.table(name) {
            return Ok(own.clone());
        }
        // None if that is the same in the snapshot.
        let others = self.db.in_catalog(transaction, |_, others| others.contains_key(name))?;
        match self.manifest.tables.iter().find(|entry| entry.name == name) {
            Some(entry) if change.takes(entry) => Err(own_doing(name)),
            _ if others => {
                Err(Error::TooOld(format!("table {name:?} was changed after the transaction began")))
            }
            Some(entry) => check_unchanged(&self.manifest, entry).map(|()| entry.clone()),
            None => Err(no_table(&self.manifest, name)),
        }
    }

    /// Returns an error if a table can't get its name.
    fn check_free(&self, transaction: &Transaction, table: &TableEntry) -> Result<()> {
        let Changed { change, .. } = &self.now;
        let mut after = self.manifest.clone();
        after.apply(change);
        let name = &*table.name;
        let exists = || Err(Error::Usage(format!("table {name:?} exists already: choose another name")));
        if change.table(name).is_some() {
            return exists();
        }
        let is_there = after.tables.iter().any(|other| other.name == *name);
        // None if that is the same in the snapshot.
        let was_there = self.db.in_catalog(transaction, |_, others| others.get(name).map(Option::is_some))?;
        match (is_there, was_there) {
            (true, Some(false)) => {
                let (kind, engine) = (Conflict::Write, table.engine.name());
                return Err(Error::Conflict { kind, engine, keyspace: name.to_owned() });
            }
            (true, _) => return exists(),
            (false, Some(true)) => {
                return Err(Error::TooOld(format!("table {name:?} was dropped after the transaction began")));
            }
            (false, _) => {}
        }
        let others = || self.manifest.running.iter().filter(|other| other.mark != change.mark);
        for (at, name) in table.names().enumerate() {
            check_name(&name)?;
            if others().any(|other| other.names(&name)) {
                return Err(taken(table.engine, &name));
            }
            check_unused(&after, &name, if at == 0 { "table" } else { "index" })?;
        }
        Ok(())
    }

    /// Adds a table with new keyspaces.
    fn give_new(&mut self, transaction: &Transaction, mut table: TableEntry) -> Result<()> {
        for name in table.names().collect::<Vec<_>>() {
            let entry = self.make(transaction, &name, table.engine)?;
            table.keyspaces.push(entry.id);
            self.now.change.keyspaces.push(entry);
        }
        self.now.change.give(table);
        Ok(())
    }

    /// Takes a table away with its rows.
    fn drop_rows(&mut self, transaction: &Transaction, table: &TableEntry) -> Result<()> {
        let rows = table.keyspaces.first().copied();
        let is_own = |id| transaction.ddl.coming().any(|keyspace| keyspace.id == id);
        if let Some(rows) = rows.filter(|rows| !is_own(*rows)) {
            drop(self.db.block_prepared(&table.keyspaces, &table.name)?);
            self.taken = self.db.inner.core.handle(rows);
        }
        self.now.change.take(table);
        self.now.closed.extend(&table.keyspaces);
        Ok(())
    }

    /// Makes the change one of the transaction's.
    fn finish(mut self, transaction: &mut Transaction) -> Result<()> {
        self.now.change.settle();
        if let Some(rows) = &self.taken {
            transaction.take_table(rows)?;
        }
        let mark = transaction.ddl.mark().or_else(|| self.made.first()).cloned();
        mark.map_or(Ok(()), |mark| transaction.mark(&mark))?;
        self.made.iter().for_each(|keyspace| self.db.register(keyspace));
        self.next.run(self.now.change.clone());
        // For everybody else the tables are as before.
        self.manifest.put(self.next);
        let catalog = || Arc::new(Catalog(Arc::downgrade(&self.db.inner.inner))) as Arc<dyn Maker>;
        transaction.ddl.add(catalog, self.now, self.made);
        Ok(())
    }
}

/// Returns the standings that the commit of a change gives to handles of keyspaces.
fn closing(manifest: &Manifest, change: &CatalogChange) -> Vec<(KeyspaceId, Standing)> {
    let mut closing: Vec<_> = change.lost.iter().map(|id| (*id, Standing::Dropped)).collect();
    for old in manifest.tables.iter().filter(|table| change.takes(table)) {
        let is_it = |table: &&TableEntry| table.keyspaces.first() == old.keyspaces.first();
        let Some(new) = change.tables.iter().find(is_it) else { continue };
        let standing = match (old.keyspaces != new.keyspaces, old.schema.has_same_rows(&new.schema)) {
            (false, true) => continue,
            (true, true) => Standing::Outdated,
            (false, false) => Standing::Altered,
            (true, false) => Standing::Tightened,
        };
        closing.extend(new.keyspaces.iter().map(|id| (*id, standing)));
    }
    closing
}

/// Returns the keyspaces that undecided prepared transactions must not have used: they go, or are outdated.
fn unused_by_prepared(closing: &[(KeyspaceId, Standing)]) -> Vec<KeyspaceId> {
    let is_one = |standing| !matches!(standing, Standing::Altered);
    closing.iter().filter(|(_, standing)| is_one(*standing)).map(|(id, _)| *id).collect()
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
        let core = &inner.core;
        let Some(change) = transaction.ddl.change().cloned() else { return core.commit(transaction, None) };
        // From here to the end nobody else replaces the manifest. So a manifest that is written before has nothing of
        // the changes but what the log decides, and one that is written later has them.
        let mut manifest = inner.manifest.replacing();
        let closing = closing(&manifest, &change);
        let table = manifest.tables.iter().find(|table| change.takes(table));
        let name = table.map_or("", |table| &table.name);
        let blocked =
            core.prepared.block(&unused_by_prepared(&closing), name, being_changed).map_err(failed)?;
        let mut named = manifest.clone();
        named.committing = vec![change.clone()];
        fail_point("ddl.before_manifest");
        transaction.ddl.name();
        inner.write_next(&named).map_err(failed)?;
        fail_point("ddl.after_manifest");
        // After a panic it is not known if the log has the commit. Then each later manifest has the changes in this
        // form.
        manifest.put(named);
        let mut next = manifest.clone();
        next.committing.clear();
        next.end(change.mark);
        let gone = next.apply(&change);
        let handles = core.handles();
        let mut earlier = undo((&manifest, &handles), (&next, &handles), |table| change.takes(table));
        if !core.options.csr {
            // All transactions have the changes of tables that were there.
            earlier.retain(|_, table| table.is_none());
        }
        let names: BTreeMap<KeyspaceId, String> = change.tables.iter().flat_map(TableEntry::named).collect();
        let coming: Vec<Keyspace> = transaction.ddl.coming().cloned().collect();
        let mut made = Some((next, earlier));
        let mut until = Timestamp::ZERO;
        let mut appear = |at: Timestamp, publish: &mut dyn FnMut()| {
            let Some((next, earlier)) = made.take() else { return publish() };
            until = core.closes_at(at);
            manifest.commit(next, earlier, at, || {
                fail_point("ddl.publishing");
                core.close_by_commit(at, &closing, &names);
                publish();
                // Nobody can use the tables before all look-ups find them.
                coming.iter().for_each(|handle| handle.gate.open_at(at));
            });
            fail_point("ddl.published");
        };
        transaction.ddl.decide(Fate::Unknown);
        let outcome = core.commit_change(transaction, &change.lost, &mut appear);
        if outcome.is_ok() {
            transaction.ddl.decide(Fate::Committed);
            drop(manifest);
            let retired = gone.into_iter().map(|KeyspaceEntry { id, engine, .. }| Retired {
                until,
                engine: engine.index(),
                id,
            });
            inner.retired.add(retired);
        } else {
            transaction.ddl.decide(Fate::Open);
            let mut before = manifest.clone();
            before.committing.clear();
            manifest.put(before);
        }
        drop(blocked);
        outcome
    }

    fn clean_up(&self) {
        if let Some(inner) = self.0.upgrade() {
            inner.free_retired();
        }
    }
}

impl Withdraw for Catalog {
    fn withdraw(&self, change: &CatalogChange, made: &[Keyspace]) {
        let Some(inner) = self.0.upgrade() else { return };
        let mut manifest = inner.manifest.replacing();
        let mut next = manifest.clone();
        if change.is_nothing() {
            next.end(change.mark);
        } else {
            next.run(change.clone());
        }
        made.iter().for_each(|handle| handle.gate.close(Standing::Dropped, Timestamp::ZERO));
        manifest.put(next);
    }

    fn free(&self, made: &[Keyspace], are_named: bool) {
        let Some(inner) = self.0.upgrade() else { return };
        let has_files =
            are_named && made.iter().any(|keyspace| keyspace.engine_index() == Engine::Disk.index());
        // A manifest that names a keyspace needs its files.
        let is_unnamed = !has_files || {
            let manifest = inner.manifest.replacing();
            inner.write_next(&manifest).is_ok()
        };
        fail_point("ddl.withdrawn");
        inner.core.keyspaces.write().retain(|known| made.iter().all(|keyspace| keyspace.id != known.id));
        for keyspace in made.iter().filter(|_| is_unnamed) {
            // Otherwise the next opening removes what is left.
            let _ = inner.core.engines[keyspace.engine_index()].drop_keyspace(keyspace.id);
        }
    }
}

#[cfg(test)]
mod tests;
