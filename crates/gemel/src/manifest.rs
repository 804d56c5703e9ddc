//! The manifest: a small file that names the other parts of the database. It is always replaced as a whole.

use crate::error::{Error, Result, io};
use crate::files::{self, Files};
use crate::ids::{self, KeyspaceId};
use crate::incarnation::{self, Inherited, Owner};
use crate::keyspace::{Engine, PartKind};
use crate::log::Lsn;
use crate::options::{Compression, LogMode};
use crate::row::{IndexDef, Schema};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The format that this version writes, and the newest that it reads. Format 1 had no incarnations and no compression,
/// format 2 no descending columns of keys, format 3 no included columns of indexes, format 4 no defaults of added columns
/// and no earlier columns that have another type now or other nulls, format 5 no tables that transactions make, format
/// 6 no other changes of transactions.
pub(crate) const FORMAT: u32 = 7;
pub(crate) const FILE: &str = "gemel.manifest";
/// Name of the file that an interrupted replacement leaves behind.
pub(crate) const TEMPORARY: &str = "gemel.manifest.new";
const MAGIC: &str = "gemel";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// Random number of the database, in each of its files, so files of two databases are never mixed.
    pub(crate) database: u64,
    /// Number of this copy of the database.
    #[serde(default, skip_serializing_if = "is_first")]
    pub(crate) incarnation: u64,
    /// The parts of the logs that earlier incarnations wrote, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) inherited: Vec<Inherited>,
    pub(crate) log: LogMode,
    pub(crate) keyspaces: Vec<KeyspaceEntry>,
    pub(crate) tables: Vec<TableEntry>,
    /// Tables that transactions have made, in format 6. Reading makes changes of them.
    #[serde(default, skip_serializing)]
    pub(crate) new_tables: Vec<TableEntry>,
    /// The changes of transactions whose commits the log may have. Opening looks for them there. This version writes at
    /// most one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) committing: Vec<CatalogChange>,
    /// The changes of running transactions, which no file has.
    #[serde(skip)]
    pub(crate) running: Vec<CatalogChange>,
    /// The lowest number that no keyspace has had. Lower ones may be used again if the log has no record of them
    /// (`Numbers`). Manifests of databases that never dropped one may lack it.
    #[serde(default)]
    pub(crate) next_keyspace: u32,
    pub(crate) checkpoint: Option<Checkpoint>,
    /// Position in each log from which recovery must replay it.
    pub(crate) log_from: Vec<u64>,
    /// For each engine, a timestamp at or above every commit before `log_from`.
    pub(crate) clocks: Vec<u64>,
    /// The end of each log when the database was closed. None while the database is open, and after a crash. Opening
    /// removes it before anything is appended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) closed: Option<Vec<u64>>,
    /// States of the disk engine's trees at the last checkpoint or closing. A tree without one is
    /// bound by no state: all its commits are still in the log, or an older version wrote the checkpoint.
    #[serde(default)]
    pub(crate) trees: Vec<TreeEntry>,
    /// True if every tree has a file that identifies it. False in a database of a version that made none.
    #[serde(default)]
    pub(crate) identified: bool,
    /// The form of the blocks that trees write. None if no opening has ever asked for compression: then no file has
    /// compressed blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) compression: Option<Compression>,
}

/// The changes of the catalog by a transaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CatalogChange {
    /// The keyspace to which the transaction's record in the log writes, before any other record does.
    pub(crate) mark: KeyspaceId,
    /// The tables that go, by the keyspaces of their rows: dropped ones, and those that were changed.
    pub(crate) gone: Vec<KeyspaceId>,
    /// Keyspaces of these tables that go with them.
    pub(crate) lost: Vec<KeyspaceId>,
    /// The tables that come: new ones, and those that were changed.
    pub(crate) tables: Vec<TableEntry>,
    /// Keyspaces that come with them.
    pub(crate) keyspaces: Vec<KeyspaceEntry>,
}

impl CatalogChange {
    /// Returns a change that changes nothing.
    pub(crate) fn new(mark: KeyspaceId) -> Self {
        Self { mark, gone: Vec::new(), lost: Vec::new(), tables: Vec::new(), keyspaces: Vec::new() }
    }

    /// Returns true if nothing changes.
    pub(crate) fn is_nothing(&self) -> bool {
        self.gone.is_empty() && self.tables.is_empty()
    }

    /// Returns true if a table goes, or has gone already.
    pub(crate) fn takes(&self, table: &TableEntry) -> bool {
        table.keyspaces.first().is_some_and(|rows| self.gone.contains(rows))
    }

    /// Returns the table of this name among those that come.
    pub(crate) fn table(&self, name: &str) -> Option<&TableEntry> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// Takes a table away: one of the manifest, or one that comes.
    pub(crate) fn take(&mut self, table: &TableEntry) {
        self.tables.retain(|other| other.name != table.name);
        let is_new = |id: &KeyspaceId| self.keyspaces.iter().any(|entry| entry.id == *id);
        let old: Vec<KeyspaceId> = table.keyspaces.iter().copied().filter(|id| !is_new(id)).collect();
        if !self.takes(table) {
            self.gone.extend(table.keyspaces.first().filter(|id| !is_new(id)));
        }
        self.lost.extend(old);
    }

    /// Adds a table. Its keyspaces are among those that come, or of a table that was taken away.
    pub(crate) fn give(&mut self, table: TableEntry) {
        self.lost.retain(|id| !table.keyspaces.contains(id));
        table.name_keyspaces(&mut self.keyspaces);
        self.tables.push(table);
    }

    /// Forgets keyspaces that no table has.
    pub(crate) fn settle(&mut self) {
        let Self { keyspaces, tables, .. } = self;
        keyspaces.retain(|entry| table_with(tables, entry.id).is_some());
    }

    /// Returns true if something that comes has this name.
    pub(crate) fn names(&self, name: &str) -> bool {
        self.tables.iter().flat_map(TableEntry::names).any(|other| other == name)
    }
}

/// Returns the name of the keyspace of an index.
pub(crate) fn index_keyspace(table: &str, index: &str) -> String {
    format!("{table}.{index}")
}

/// Returns the table that a keyspace is part of.
fn table_with(tables: &[TableEntry], keyspace: KeyspaceId) -> Option<&TableEntry> {
    tables.iter().find(|table| table.keyspaces.contains(&keyspace))
}

/// Returns true for a database that was not restored from a backup.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "for serde")]
fn is_first(incarnation: &u64) -> bool {
    *incarnation == incarnation::FIRST
}

/// The state that a tree's files must have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TreeEntry {
    pub(crate) keyspace: KeyspaceId,
    /// Number of the tree's list of files. Flushes and compactions increase it, so older files have a lower one.
    pub(crate) list: u64,
    /// Checksum of this list, in hexadecimal digits, if the tree must have exactly this list: the database is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) checksum: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeyspaceEntry {
    pub(crate) id: KeyspaceId,
    pub(crate) name: String,
    pub(crate) engine: Engine,
    /// True while the keyspace is being filled and belongs to nothing yet. The next opening drops it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) unfinished: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TableEntry {
    pub(crate) name: String,
    pub(crate) engine: Engine,
    pub(crate) schema: Schema,
    /// Keyspaces of the table: first the rows, then the schema's indexes in their order.
    pub(crate) keyspaces: Vec<KeyspaceId>,
    /// The index that is being added. Its keyspace is unfinished, so the next opening drops both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) building: Option<BuildingIndex>,
}

impl TableEntry {
    /// Returns the names of the table's keyspaces, in their order.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        let indexes = self.schema.indexes.iter().map(|index| index_keyspace(&self.name, &index.name));
        std::iter::once(self.name.clone()).chain(indexes)
    }

    /// Returns the table's keyspaces with their names.
    pub(crate) fn named(&self) -> impl Iterator<Item = (KeyspaceId, String)> {
        self.keyspaces.iter().copied().zip(self.names())
    }

    /// Gives the table's keyspaces their names. Other keyspaces stay as they are.
    pub(crate) fn name_keyspaces(&self, keyspaces: &mut [KeyspaceEntry]) {
        for (id, name) in self.named() {
            keyspaces
                .iter_mut()
                .filter(|entry| entry.id == id)
                .for_each(|entry| entry.name.clone_from(&name));
        }
    }
}

/// An index that commits write, and that can't be read yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct BuildingIndex {
    pub(crate) index: IndexDef,
    pub(crate) keyspace: KeyspaceId,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    pub(crate) file: String,
    /// The first of the checkpoint's snapshots, which is the oldest.
    pub(crate) at: u64,
}

impl Manifest {
    /// Returns the manifest of an empty database.
    pub(crate) fn new(log: LogMode) -> Self {
        Self {
            database: ids::random(),
            incarnation: incarnation::FIRST,
            inherited: Vec::new(),
            log,
            keyspaces: Vec::new(),
            tables: Vec::new(),
            new_tables: Vec::new(),
            committing: Vec::new(),
            running: Vec::new(),
            next_keyspace: 1,
            checkpoint: None,
            log_from: Vec::new(),
            clocks: Vec::new(),
            closed: None,
            trees: Vec::new(),
            identified: true,
            compression: None,
        }
    }

    /// Notes the form of the blocks that trees write from now on. Returns true if that changes the manifest, which must
    /// be durable before a tree writes a file.
    pub(crate) fn set_compression(&mut self, compression: Compression) -> bool {
        let is_new = self.compression.unwrap_or_default() != compression;
        if is_new {
            self.compression = Some(compression);
        }
        is_new
    }

    /// Makes a new incarnation, which goes on at the ends of the logs. A crash may have come after an earlier one was made
    /// and before it wrote anything.
    pub(crate) fn renew(&mut self, ends: &[Lsn]) {
        let until: Vec<u64> = ends.iter().map(|end| end.0).collect();
        if self.inherited.last().is_none_or(|last| last.until != until) {
            self.inherited.push(Inherited { incarnation: self.incarnation, until });
        }
        self.incarnation = incarnation::new();
    }

    /// Forgets the inherited parts of the logs that recovery does not read any more. A log without a batch since then still
    /// ends in a segment of the part.
    pub(crate) fn forget_inherited(&mut self) {
        let Self { inherited, log_from, .. } = self;
        inherited.retain(|part| {
            part.until.iter().zip(&*log_from).any(|(until, from)| *until > 0 && until >= from)
        });
    }

    /// Returns the position from which recovery must replay a log.
    pub(crate) fn log_from(&self, index: usize) -> Lsn {
        Lsn(self.log_from.get(index).copied().unwrap_or(0))
    }

    /// Returns the owner of the segments of a log.
    pub(crate) fn owner_of_log(&self, index: usize) -> Owner {
        let part = |part: &Inherited| Some((*part.until.get(index)?, part.incarnation));
        Owner {
            database: self.database,
            incarnation: self.incarnation,
            inherited: self.inherited.iter().filter_map(part).collect(),
        }
    }

    /// Removes what only a closed database has. All trees have been opened, so each has a file that identifies it.
    pub(crate) fn open(&mut self) {
        self.closed = None;
        self.identified = true;
        for tree in &mut self.trees {
            // The files may grow from here on, but never lose anything of this list.
            tree.checksum = None;
        }
    }

    /// Forgets what was being filled.
    pub(crate) fn forget_unfinished(&mut self) {
        self.keyspaces.retain(|entry| !entry.unfinished);
        self.tables.iter_mut().for_each(|table| table.building = None);
    }

    /// Returns all keyspaces, with those that come with changes which may have been committed.
    pub(crate) fn all_keyspaces(&self) -> impl Iterator<Item = &KeyspaceEntry> {
        self.keyspaces.iter().chain(self.committing.iter().flat_map(|change| &change.keyspaces))
    }

    /// Makes the changes of a transaction that has committed. Returns the keyspaces that are gone.
    pub(crate) fn apply(&mut self, change: &CatalogChange) -> Vec<KeyspaceEntry> {
        self.tables.retain(|table| !change.takes(table));
        self.tables.extend(change.tables.iter().cloned());
        self.keyspaces.extend(change.keyspaces.iter().cloned());
        let lost = |id: &KeyspaceId| change.lost.contains(id);
        self.trees.retain(|tree| !lost(&tree.keyspace));
        let gone = self.keyspaces.extract_if(.., |entry| lost(&entry.id)).collect();
        change.tables.iter().for_each(|table| table.name_keyspaces(&mut self.keyspaces));
        gone
    }

    /// Makes the changes of those transactions that have committed, by their marks. Returns the keyspaces that are
    /// gone, and those that did not come.
    pub(crate) fn decide(&mut self, has_committed: impl Fn(KeyspaceId) -> bool) -> Vec<KeyspaceEntry> {
        let changes = std::mem::take(&mut self.committing);
        let decided = changes.into_iter().flat_map(|change| {
            if has_committed(change.mark) { self.apply(&change) } else { change.keyspaces }
        });
        decided.collect()
    }

    /// Puts the changes of a running transaction in the place of its earlier ones.
    pub(crate) fn run(&mut self, change: CatalogChange) {
        self.end(change.mark);
        self.running.push(change);
    }

    /// Removes the changes of a running transaction.
    pub(crate) fn end(&mut self, mark: KeyspaceId) {
        self.running.retain(|other| other.mark != mark);
    }

    /// Returns true if a manifest was read from a file that this one was written to.
    pub(crate) fn was_written_as(&self, found: &Self) -> bool {
        *found == Self { running: Vec::new(), ..self.clone() }
    }

    /// Returns the table that a keyspace is part of.
    pub(crate) fn table_of(&self, keyspace: KeyspaceId) -> Option<&TableEntry> {
        table_with(&self.tables, keyspace)
    }

    /// Returns the kind of a keyspace.
    pub(crate) fn kind_of(&self, keyspace: KeyspaceId) -> PartKind {
        match self.table_of(keyspace) {
            Some(table) if table.keyspaces.first() == Some(&keyspace) => PartKind::Table,
            Some(_) => PartKind::Index,
            None => PartKind::Keyspace,
        }
    }

    pub(crate) fn path(directory: &Path) -> PathBuf {
        directory.join(FILE)
    }

    /// Reads the manifest. Returns none if the file does not exist.
    pub(crate) fn read(files: &dyn Files, directory: &Path) -> Result<Option<Self>> {
        let path = Self::path(directory);
        let bytes = match files::read_all(files, &path) {
            Ok(bytes) => bytes,
            Err(error) if error.is_missing_file() => return Ok(None),
            Err(error) => return Err(error),
        };
        let corrupt = |what: &str| Error::Corruption {
            path: path.clone(),
            what: format!(
                "{what}: the file was damaged or is not Gemel's; restore the directory from a backup"
            ),
        };
        let text = String::from_utf8(bytes).map_err(|_| corrupt("not a manifest"))?;
        let (head, body) = text.split_once('\n').ok_or_else(|| corrupt("not a manifest"))?;
        let [magic, format, checksum] = head.split(' ').collect::<Vec<_>>()[..] else {
            return Err(corrupt("not a manifest"));
        };
        if magic != MAGIC {
            return Err(corrupt("not a manifest"));
        }
        match format.parse::<u32>() {
            Ok(1..=FORMAT) => {}
            Ok(format) => {
                return Err(Error::Usage(format!(
                    "{}: the database has format {format}, and this version of Gemel reads formats 1 to {FORMAT}: \
                     use the version that wrote it",
                    directory.display()
                )));
            }
            Err(_) => return Err(corrupt("not a manifest")),
        }
        if u32::from_str_radix(checksum, 16) != Ok(crc32fast::hash(body.as_bytes())) {
            return Err(corrupt("its checksum is wrong"));
        }
        let mut manifest: Self = serde_json::from_str(body).map_err(|error| corrupt(&error.to_string()))?;
        let last = manifest.keyspaces.iter().map(|entry| entry.id.0).max().unwrap_or(0);
        match manifest.next_keyspace {
            0 => manifest.next_keyspace = last.saturating_add(1),
            next if next <= last => return Err(corrupt("a keyspace has a number that was not given out")),
            _ => {}
        }
        manifest.read_new_tables();
        Ok(Some(manifest))
    }

    /// Makes changes of the new tables of format 6. Their keyspaces were unfinished, and those of their rows were the
    /// marks.
    fn read_new_tables(&mut self) {
        for table in std::mem::take(&mut self.new_tables) {
            let Some(&mark) = table.keyspaces.first() else { continue };
            let mut keyspaces: Vec<KeyspaceEntry> =
                self.keyspaces.extract_if(.., |entry| table.keyspaces.contains(&entry.id)).collect();
            keyspaces.iter_mut().for_each(|entry| entry.unfinished = false);
            self.committing.push(CatalogChange {
                tables: vec![table],
                keyspaces,
                ..CatalogChange::new(mark)
            });
        }
    }

    /// Replaces the manifest. It is durable when this returns.
    pub(crate) fn write(&self, files: &dyn Files, directory: &Path) -> Result<()> {
        let path = Self::path(directory);
        let body = serde_json::to_string(self).map_err(|error| io("can't write", &path)(error.into()))?;
        let text = format!("{MAGIC} {FORMAT} {:08x}\n{body}", crc32fast::hash(body.as_bytes()));
        files::replace(files, &path, text.as_bytes())
    }
}
