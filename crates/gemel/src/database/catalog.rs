//! The catalog: keyspaces, tables and their places in the manifest.

use super::Database;
use super::current::{Earlier, EarlierTable};
use crate::error::{Conflict, Error, Result};
use crate::ids::KeyspaceId;
use crate::key::MAX_NAME_BYTES;
use crate::keyspace::{Engine, Keyspace};
use crate::manifest::{KeyspaceEntry, Manifest, TableEntry, index_keyspace};
#[cfg(doc)]
use crate::options::Isolation;
use crate::order::clock::Timestamp;
use crate::recovery;
use crate::row::{Layout, Schema, Table};
use crate::transaction::Transaction;

impl Database {
    /// Returns the keyspace of this name, and makes it if it does not exist.
    ///
    /// # Errors
    /// [`Error::Usage`] if the keyspace exists in the other engine or as part of a table. [`Error::Conflict`] if a
    /// transaction makes a table of this name ([`Database::create_table_in`]). [`Error::Io`] if the manifest can't be
    /// written.
    pub fn keyspace(&self, name: &str, engine: Engine) -> Result<Keyspace> {
        self.open_or_make_keyspace(name, engine, true)
    }

    /// Returns the keyspace of this name, in whatever engine it is. Makes it in the engine `home` if it does not exist.
    /// So a program can call this at each start, also after the keyspace has moved.
    ///
    /// # Errors
    /// Same as [`Database::keyspace`], except that the engine does not matter.
    pub fn open_or_create_keyspace(&self, name: &str, home: Engine) -> Result<Keyspace> {
        self.open_or_make_keyspace(name, home, false)
    }

    /// Returns a keyspace, or makes it. One that exists must be in the engine if `must_be_there`.
    fn open_or_make_keyspace(&self, name: &str, engine: Engine, must_be_there: bool) -> Result<Keyspace> {
        let engine_must_be = must_be_there.then_some(engine);
        if let Some(found) = self.find_keyspace(&self.inner.manifest.look(), name, engine_must_be) {
            return found;
        }
        let mut manifest = self.inner.replacing()?;
        // Somebody may have made it meanwhile.
        if let Some(found) = self.find_keyspace(&manifest, name, engine_must_be) {
            return found;
        }
        // An index with this name may be in the making.
        check_free(&manifest, name, "keyspace")?;
        let mut next = manifest.clone();
        let entry = self.add_keyspace(&mut next, name, engine)?;
        self.inner.write_next(&next)?;
        let keyspace = self.handle(&entry);
        let core = &self.inner.core;
        drop(manifest.change(core, next, || Some(core.register([&keyspace]))));
        Ok(keyspace)
    }

    /// Returns a keyspace of this name, or the reason why it can't be used. Returns none if there is none.
    fn find_keyspace(
        &self,
        manifest: &Manifest,
        name: &str,
        engine_must_be: Option<Engine>,
    ) -> Option<Result<Keyspace>> {
        let entry = manifest.keyspaces.iter().find(|entry| entry.name == name && !entry.unfinished)?;
        if let Some(table) = manifest.table_of(entry.id) {
            return Some(Err(Error::Usage(format!(
                "keyspace {name:?} is part of table {:?}: use the table, which keeps rows and indexes consistent",
                table.name
            ))));
        }
        match engine_must_be {
            Some(engine) if entry.engine != engine => {
                Some(Err(elsewhere("keyspace", name, entry.engine, engine)))
            }
            _ => Some(Ok(self.handle(entry))),
        }
    }

    /// Returns a copy of the manifest: keyspaces, tables and their places.
    pub(crate) fn catalog(&self) -> Manifest {
        self.inner.manifest.look().clone()
    }

    pub(crate) fn handle(&self, entry: &KeyspaceEntry) -> Keyspace {
        // All handles share a gate: see `Gate`.
        let known = self.inner.core.handle(entry.id);
        known.unwrap_or_else(|| recovery::handle(self.inner.core.owner, entry))
    }

    /// Makes a keyspace in `manifest`, which is not written yet.
    pub(super) fn add_keyspace(
        &self,
        manifest: &mut Manifest,
        name: &str,
        engine: Engine,
    ) -> Result<KeyspaceEntry> {
        check_name(name)?;
        let id = self.open_new(manifest, engine)?;
        let entry = KeyspaceEntry { id, name: name.to_string(), engine, unfinished: false };
        manifest.keyspaces.push(entry.clone());
        Ok(entry)
    }

    /// Makes a keyspace in an engine, and takes its number in `manifest`, which does not get the keyspace.
    pub(super) fn open_new(&self, manifest: &mut Manifest, engine: Engine) -> Result<KeyspaceId> {
        let disk = &self.inner.disk;
        let id = self.inner.numbers.lock().take(manifest.next_keyspace, |id| disk.has_no_files(id))?;
        self.inner.core.engines[engine.index()].open_keyspace(id)?;
        manifest.next_keyspace = manifest.next_keyspace.max(id.0.saturating_add(1));
        // The state of a dropped keyspace's files is no state of this one's.
        manifest.trees.retain(|tree| tree.keyspace != id);
        Ok(id)
    }

    /// Does the same as [`Database::add_keyspace`], for a keyspace that belongs to nothing yet. The next opening drops it.
    pub(super) fn add_unfinished(
        &self,
        manifest: &mut Manifest,
        name: &str,
        engine: Engine,
    ) -> Result<KeyspaceEntry> {
        let entry = KeyspaceEntry { unfinished: true, ..self.add_keyspace(manifest, name, engine)? };
        manifest.keyspaces.retain(|other| other.id != entry.id);
        manifest.keyspaces.push(entry.clone());
        Ok(entry)
    }

    /// Lets transactions use a keyspace.
    pub(super) fn register(&self, keyspace: &Keyspace) {
        self.inner.core.keyspaces.write().push(keyspace.clone());
    }

    /// Returns the table of this name, and makes it if it does not exist.
    ///
    /// # Errors
    /// [`Error::Usage`] if the table exists with another schema or in the other engine, the schema is not valid, or a
    /// keyspace has the name of the table or of one of its indexes (`TABLE.INDEX`). The order of indexes does not
    /// matter. [`Error::Conflict`] if a transaction makes something of one of these names
    /// ([`Database::create_table_in`]). [`Error::Io`] if the manifest can't be written.
    pub fn create_table(&self, name: &str, engine: Engine, schema: Schema) -> Result<Table> {
        self.open_or_make_table(name, engine, schema, true)
    }

    /// Returns the table of this name, in whatever engine it is. Makes it in the engine `home` if it does not exist. So
    /// a program can call this at each start, also after the table has moved.
    ///
    /// ```
    /// # fn main() -> gemel::Result<()> {
    /// # use gemel::row::{ColumnType, Schema};
    /// # use gemel::{Database, Engine, Options};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let db = Database::open(directory.path().join("db"), Options::default())?;
    /// let schema = || Schema::new().column("number", ColumnType::I64).primary_key(["number"]);
    /// db.open_or_create_table("orders", Engine::Memory, schema())?;
    /// db.move_table("orders", Engine::Disk)?;
    /// db.open_or_create_table("orders", Engine::Memory, schema())?;
    /// assert_eq!(db.tables(), [("orders".to_owned(), Engine::Disk)]);
    ///
    /// let wider = schema().nullable("note", ColumnType::Text);
    /// let error = db.open_or_create_table("orders", Engine::Memory, wider).unwrap_err();
    /// assert!(error.to_string().contains("column note (a text, nullable) is missing"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Same as [`Database::create_table`], except that the engine does not matter. If the table exists with another
    /// schema, the error lists the differences.
    pub fn open_or_create_table(&self, name: &str, home: Engine, schema: Schema) -> Result<Table> {
        self.open_or_make_table(name, home, schema, false)
    }

    /// Returns a table, or makes it. One that exists must be in the engine if `must_be_there`.
    fn open_or_make_table(
        &self,
        name: &str,
        engine: Engine,
        schema: Schema,
        must_be_there: bool,
    ) -> Result<Table> {
        // The whole schema is validated before anything is made.
        Layout::new(name, &schema)?;
        let engine_must_be = must_be_there.then_some(engine);
        if let Some(found) = self.find_table(&self.inner.manifest.look(), name, &schema, engine_must_be) {
            return found;
        }
        let mut manifest = self.inner.replacing()?;
        // Somebody may have made it meanwhile.
        if let Some(found) = self.find_table(&manifest, name, &schema, engine_must_be) {
            return found;
        }
        check_free(&manifest, name, "table")?;
        let mut next = manifest.clone();
        let mut added = vec![self.add_keyspace(&mut next, name, engine)?];
        for index in &schema.indexes {
            let name = index_keyspace(name, &index.name);
            check_free(&manifest, &name, "index")?;
            added.push(self.add_keyspace(&mut next, &name, engine)?);
        }
        let entry = TableEntry {
            name: name.to_string(),
            engine,
            schema,
            keyspaces: added.iter().map(|entry| entry.id).collect(),
            building: None,
        };
        next.tables.push(entry.clone());
        self.inner.write_next(&next)?;
        let handles: Vec<Keyspace> = added.iter().map(|entry| self.handle(entry)).collect();
        let core = &self.inner.core;
        drop(manifest.change(core, next, || Some(core.register(&handles))));
        self.table_of(&manifest, &entry)
    }

    /// Returns a table of this name, or the reason why it can't be used. Returns none if there is none.
    fn find_table(
        &self,
        manifest: &Manifest,
        name: &str,
        schema: &Schema,
        engine_must_be: Option<Engine>,
    ) -> Option<Result<Table>> {
        let entry = manifest.tables.iter().find(|entry| entry.name == name)?;
        if let Some(engine) = engine_must_be.filter(|engine| entry.engine != *engine) {
            return Some(Err(elsewhere("table", name, entry.engine, engine)));
        }
        let differences = entry.schema.differences(schema);
        if !differences.is_empty() {
            return Some(Err(Error::Usage(format!(
                "table {name:?} already exists with another schema: {}; give the schema that it has, change it \
                 with alter_table and add_index, or use another name",
                differences.join("; ")
            ))));
        }
        Some(self.table_of(manifest, entry))
    }

    /// Returns the table of this name. Does not wait for an index that is being added: the handle writes it, and does not
    /// know it otherwise.
    ///
    /// # Errors
    /// [`Error::Usage`] if no table has this name.
    pub fn table(&self, name: &str) -> Result<Table> {
        let manifest = self.inner.manifest.look();
        match manifest.tables.iter().find(|entry| entry.name == name) {
            Some(entry) => self.table_of(&manifest, entry),
            None => Err(no_table(&manifest, name)),
        }
    }

    pub(super) fn table_of(&self, manifest: &Manifest, entry: &TableEntry) -> Result<Table> {
        let known =
            manifest.keyspaces.iter().chain(manifest.running.iter().flat_map(|change| &change.keyspaces));
        let handle = |id: KeyspaceId| match known.clone().find(|keyspace| keyspace.id == id) {
            Some(keyspace) => Ok(self.handle(keyspace)),
            None => Err(Error::Corruption {
                path: Manifest::path(&self.inner.path),
                what: format!(
                    "a keyspace of table {:?} is missing: restore the directory from a backup",
                    entry.name
                ),
            }),
        };
        let mut keyspaces = entry.keyspaces.iter().map(|id| handle(*id)).collect::<Result<Vec<_>>>()?;
        let building = match &entry.building {
            Some(of) => Some((&of.index, handle(of.keyspace)?)),
            None => None,
        };
        let rows = if keyspaces.is_empty() { None } else { Some(keyspaces.remove(0)) };
        let rows = rows.ok_or_else(|| Error::Corruption {
            path: Manifest::path(&self.inner.path),
            what: format!("table {:?} has no keyspace: restore the directory from a backup", entry.name),
        })?;
        Table::new(&entry.name, entry.schema.clone(), rows, keyspaces, building)
    }

    /// Returns the table that has this name in the catalog of a transaction: as it was when the transaction's snapshot was
    /// taken. So a program that looks up schemas by itself never reads rows by another schema than that of the snapshot,
    /// whatever became of the table: a table may have been renamed, changed or dropped since.
    ///
    /// At [`Isolation::ReadCommitted`] it is the table as it is now, since the next read sees the newest rows. A table
    /// that was made after the snapshot is not in the catalog. [`Database::table`] finds it, and the transaction can use
    /// it, unless another transaction made it. The catalog also has the transaction's own changes: the tables that it has made
    /// ([`Database::create_table_in`]), and those that it has renamed, altered or dropped.
    ///
    /// ```
    /// # fn main() -> gemel::Result<()> {
    /// # use gemel::row::{ColumnChange, ColumnType, Schema, Table, Value};
    /// # use gemel::{Database, Engine, Isolation, Options};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let db = Database::open(directory.path().join("db"), Options::default())?;
    /// let schema = Schema::new().column("id", ColumnType::I32).column("mail", ColumnType::Text);
    /// let schema = schema.nullable("fax", ColumnType::Text).primary_key(["id"]);
    /// let people = db.create_table("people", Engine::Disk, schema)?;
    /// let ann = [Value::Int(1), "ann@example.org".into(), "555".into()];
    /// db.run(Isolation::Snapshot, |transaction| people.insert(transaction, &ann))?;
    ///
    /// // Under an open snapshot, rename a column, add one, and drop one.
    /// let mut report = db.begin_read_only()?;
    /// db.alter_table("people", &[ColumnChange::rename("mail", "email")])?;
    /// db.alter_table("people", &[ColumnChange::add("phone", ColumnType::Text)])?;
    /// let now = db.alter_table("people", &[ColumnChange::drop("fax")])?;
    /// let bob = [Value::Int(2), "bob@example.org".into(), "777".into()];
    /// db.run(Isolation::Snapshot, |transaction| now.insert(transaction, &bob))?;
    ///
    /// // The snapshot has the columns and the rows that it began with.
    /// let then = db.table_in(&report, "people")?;
    /// let names = |table: &Table| table.schema().columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>();
    /// assert_eq!(names(&then), ["id", "mail", "fax"]);
    /// assert_eq!(then.get(&mut report, &[Value::Int(1)])?.unwrap().view().values()?, ann);
    /// assert!(then.get(&mut report, &[Value::Int(2)])?.is_none());
    ///
    /// // A later one has those of now.
    /// let mut later = db.begin_read_only()?;
    /// let now = db.table_in(&later, "people")?;
    /// assert_eq!(names(&now), ["id", "email", "phone"]);
    /// let ann = now.get(&mut later, &[Value::Int(1)])?.unwrap();
    /// assert_eq!(ann.view().values()?, [Value::Int(1), "ann@example.org".into(), Value::Null]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] if no table has this name there, or the transaction is one of another database;
    /// [`Error::TooOld`] if the transaction exceeded
    /// [`Options::max_snapshot_age`](crate::Options::max_snapshot_age).
    pub fn table_in(&self, transaction: &Transaction, name: &str) -> Result<Table> {
        self.check_own(transaction)?;
        let own = transaction.ddl.change();
        if let Some(entry) = own.and_then(|change| change.table(name)) {
            return self.table_of(&self.inner.manifest.look(), entry);
        }
        let takes = |table: &TableEntry| own.is_some_and(|change| change.takes(table));
        self.in_catalog(transaction, |manifest, others| match others.get(name) {
            Some(Some(table)) if takes(&table.entry) => Err(own_doing(name)),
            Some(Some(table)) => match table.keyspaces.split_first() {
                Some((rows, indexes)) => {
                    let EarlierTable { entry, building, .. } = &**table;
                    let building = entry.building.as_ref().zip(building.clone());
                    let building = building.map(|(of, keyspace)| (&of.index, keyspace));
                    let (schema, indexes) = (entry.schema.clone(), indexes.to_vec());
                    Table::new(&entry.name, schema, rows.clone(), indexes, building)
                }
                None => Err(no_table(manifest, name)),
            },
            Some(None) => Err(Error::Usage(format!(
                "there is no table {name:?} in the snapshot of the transaction: Database::tables_in returns the names of \
                 its tables, and a later transaction finds this one"
            ))),
            None => match manifest.tables.iter().find(|entry| entry.name == name) {
                Some(entry) if takes(entry) => Err(own_doing(name)),
                Some(entry) => self.table_of(manifest, entry),
                None => Err(no_table(manifest, name)),
            },
        })?
    }

    /// Returns the names of all tables in the catalog of a transaction ([`Database::table_in`]), and their engines.
    ///
    /// # Errors
    /// Same as [`Database::table_in`].
    pub fn tables_in(&self, transaction: &Transaction) -> Result<Vec<(String, Engine)>> {
        let own = transaction.ddl.change();
        self.in_catalog(transaction, |manifest, others| {
            let now = manifest.tables.iter().filter(|entry| !others.contains_key(&entry.name));
            let then = others.values().flatten().map(|table| &table.entry);
            let others = now.chain(then).filter(|entry| !own.is_some_and(|change| change.takes(entry)));
            let own = own.iter().flat_map(|change| &change.tables);
            others.chain(own).map(|entry| (entry.name.clone(), entry.engine)).collect()
        })
    }

    pub(super) fn check_own(&self, transaction: &Transaction) -> Result<()> {
        if transaction.core.owner == self.inner.core.owner {
            return Ok(());
        }
        Err(Error::Usage("the transaction is one of another database: look up its tables there".into()))
    }

    pub(super) fn in_catalog<T>(
        &self,
        transaction: &Transaction,
        found: impl FnOnce(&Manifest, &Earlier) -> T,
    ) -> Result<T> {
        self.check_own(transaction)?;
        let view = transaction.catalog();
        let snapshot = if view.moves_on { Timestamp::MAX } else { view.began };
        let found = self.inner.manifest.look_in(snapshot, found);
        // An expired snapshot holds back nothing.
        transaction.alive()?;
        Ok(found)
    }

    /// Returns the names of all tables, and their engines.
    #[must_use]
    pub fn tables(&self) -> Vec<(String, Engine)> {
        self.inner.manifest.look().tables.iter().map(|entry| (entry.name.clone(), entry.engine)).collect()
    }

    /// Returns the names of all keyspaces, including those of tables and indexes, and their engines.
    #[must_use]
    pub fn keyspaces(&self) -> Vec<(String, Engine)> {
        let manifest = self.inner.manifest.look();
        let finished = manifest.keyspaces.iter().filter(|entry| !entry.unfinished);
        finished.map(|entry| (entry.name.clone(), entry.engine)).collect()
    }
}

/// Returns the error for a table or keyspace that exists in another engine than the one that was named.
fn elsewhere(kind: &str, name: &str, is: Engine, named: Engine) -> Error {
    Error::Usage(format!(
        "{kind} {name:?} already exists in the {} engine, not in the {} engine: use that engine, another name, or \
         open_or_create_{kind}, which takes either engine",
        is.name(),
        named.name()
    ))
}

/// Returns an error if no keyspace may have this name.
pub(super) fn check_name(name: &str) -> Result<()> {
    if (1..=MAX_NAME_BYTES).contains(&name.len()) {
        return Ok(());
    }
    Err(Error::Usage(format!("{name:?} is not a valid name: use 1 to {MAX_NAME_BYTES} bytes")))
}

/// Returns an error if a keyspace has this name already, or gets it from a transaction. `what` is the thing that would get
/// it.
pub(super) fn check_free(manifest: &Manifest, name: &str, what: &str) -> Result<()> {
    check_not_coming(manifest, name)?;
    check_unused(manifest, name, what)
}

/// Returns an error if a keyspace has this name already. `what` is the thing that would get it.
pub(super) fn check_unused(manifest: &Manifest, name: &str, what: &str) -> Result<()> {
    match kind_of(manifest, name) {
        None => Ok(()),
        Some(kind) => {
            Err(Error::Usage(format!("{name:?} is {kind} already: choose another name for the {what}")))
        }
    }
}

/// Returns the error for a table or a name that another transaction changes. It may change nothing in the end.
pub(super) fn taken(engine: Engine, name: &str) -> Error {
    Error::Conflict { kind: Conflict::Locked, engine: engine.name(), keyspace: name.to_owned() }
}

/// Returns an error if a transaction makes something of this name, or gives something this name.
pub(super) fn check_not_coming(manifest: &Manifest, name: &str) -> Result<()> {
    match manifest.running.iter().find(|change| change.names(name)).and_then(|change| change.tables.first()) {
        Some(table) => Err(taken(table.engine, name)),
        None => Ok(()),
    }
}

/// Returns in words what has this name.
fn kind_of(manifest: &Manifest, name: &str) -> Option<String> {
    let entry = manifest.keyspaces.iter().find(|entry| entry.name == name)?;
    Some(match manifest.table_of(entry.id) {
        None => "a keyspace".to_owned(),
        Some(table) if table.name == name => "a table".to_owned(),
        Some(table) => format!("an index of table {:?}", table.name),
    })
}

/// Returns the error for a table that is gone for the transaction that looks for it, by its own changes.
pub(super) fn own_doing(name: &str) -> Error {
    Error::Usage(format!(
        "there is no table {name:?}: the transaction itself has dropped it, or given it another name"
    ))
}

/// Returns the error for a table that does not exist.
pub(super) fn no_table(manifest: &Manifest, name: &str) -> Error {
    let new = manifest.running.iter().any(|change| change.table(name).is_some());
    Error::Usage(match kind_of(manifest, name) {
        _ if new => {
            format!("there is no table {name:?}: a transaction makes it, and has not committed")
        }
        Some(kind) => format!("there is no table {name:?}, which is {kind}"),
        None => format!("there is no table {name:?}: Database::tables returns the names of all tables"),
    })
}
