//! The check of a database that nobody has open. It reads everything once, and compares rows with their indexes.

use crate::database::Database;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::keyspace::{Engine, PartKind};
use crate::manifest::{Manifest, TableEntry};
use crate::options::{Isolation, LogMode, Options};
use crate::prepared::PreparedTransaction;
use crate::recovery::Recovered;
use crate::transaction::Transaction;
use std::fmt;
use std::path::{Path, PathBuf};

/// A keyspace, the rows of a table, or an index, with the findings of the check.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckedPart {
    /// Name of the part. The name of an index begins with its table's name.
    pub name: String,
    /// Kind of the part.
    pub kind: PartKind,
    /// Engine of the part.
    pub engine: Engine,
    /// Rows or entries that could be read.
    pub rows: u64,
    /// Bytes of the keys and values that could be read.
    pub bytes: u64,
    /// The first fault found, in one line; none if the part is good.
    pub fault: Option<String>,
}

/// The findings of [`check()`]. `Display` shows them as a table.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CheckReport {
    /// Directory of the database.
    pub path: PathBuf,
    /// Log mode of the database.
    pub log: LogMode,
    /// Findings of opening the database, which runs the usual recovery.
    pub recovered: Recovered,
    /// Prepared transactions that are undecided. They are no fault: [`Database::commit_prepared`] and
    /// [`Database::roll_back_prepared`] decide them.
    pub prepared: Vec<PreparedTransaction>,
    /// All keyspaces, tables and indexes, in the order in which they were made.
    pub parts: Vec<CheckedPart>,
}

impl CheckReport {
    /// Returns true if no part has a fault.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.faults().next().is_none()
    }

    /// Returns the parts that have a fault.
    pub fn faults(&self) -> impl Iterator<Item = &CheckedPart> {
        self.parts.iter().filter(|part| part.fault.is_some())
    }
}

/// Opens the database in a directory, reads all of it, and closes it.
///
/// Opening verifies the manifest, the checkpoint and the logs, and that both engines agree on the commits. As after a
/// crash, it cuts off commits at the end of a log that were never acknowledged. Then the check reads every keyspace to
/// its end, which verifies the checksum of each block, and compares the disk engine's files with the checksums in their
/// lists. At last it compares the rows of each table with the table's
/// indexes.
///
/// ```
/// # fn main() -> gemel::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("db");
/// let db = gemel::Database::open(&path, gemel::Options::default())?;
/// db.keyspace("hot", gemel::Engine::Memory)?;
/// drop(db);
///
/// let report = gemel::check(&path)?;
/// assert!(report.is_good());
/// println!("{report}");
/// # Ok(())
/// # }
/// ```
///
/// The errors of [`Database::open_existing`]: among others, the database is open elsewhere, or damage keeps it from
/// being opened ([`Error::Corruption`]). Damage found after opening is in the report.
pub fn check(path: impl AsRef<Path>) -> Result<CheckReport> {
    // A check should not write a checkpoint.
    let options = Options { checkpoint_log_bytes: u64::MAX, ..Options::default() };
    report(&Database::open_existing(path, options)?)
}

/// Reads all of a database.
pub(crate) fn report(db: &Database) -> Result<CheckReport> {
    let catalog = db.catalog();
    let mut transaction = db.begin(Isolation::Snapshot)?;
    let mut parts = Vec::with_capacity(catalog.keyspaces.len());
    for entry in &catalog.keyspaces {
        let (mut rows, mut bytes) = (0, 0);
        let read = transaction.scan_all(&db.handle(entry), |key, value| {
            rows += 1;
            bytes += (key.len() + value.len()) as u64;
        });
        let files = match entry.engine {
            Engine::Memory => Ok(()),
            Engine::Disk => db.inner().disk.verify_contents(entry.id),
        };
        parts.push(CheckedPart {
            name: entry.name.clone(),
            kind: catalog.kind_of(entry.id),
            engine: entry.engine,
            rows,
            bytes,
            // The error of the files names the file.
            fault: files.and(read).err().map(|error| error.to_string()),
        });
    }
    for table in &catalog.tables {
        check_table(db, &mut transaction, &catalog, table, &mut parts);
    }
    let recovered = db.state().recovered;
    let prepared = db.prepared();
    Ok(CheckReport { path: db.path().to_path_buf(), log: catalog.log, recovered, prepared, parts })
}

/// Compares a table's rows with its indexes, unless one of its parts has a fault already.
fn check_table(
    db: &Database,
    transaction: &mut Transaction,
    catalog: &Manifest,
    table: &TableEntry,
    parts: &mut Vec<CheckedPart>,
) {
    // `parts` has the order of the catalog's keyspaces.
    let mut places =
        table.keyspaces.iter().filter_map(|id| catalog.keyspaces.iter().position(|entry| entry.id == *id));
    if places.clone().any(|place| parts[place].fault.is_some()) {
        return;
    }
    let Err(error) = db.table(&table.name).and_then(|table| table.verify(transaction)) else { return };
    let fault = Some(error.to_string());
    match places.next() {
        Some(place) => parts[place].fault = fault,
        None => parts.push(CheckedPart {
            name: table.name.clone(),
            kind: PartKind::Table,
            engine: table.engine,
            rows: 0,
            bytes: 0,
            fault,
        }),
    }
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let log = match self.log {
            LogMode::Shared => "one log",
            LogMode::PerEngine => "a log for each engine",
        };
        writeln!(f, "{}: {log}; {}", self.path.display(), self.recovered)?;
        let width = |least: usize, of: &dyn Fn(&CheckedPart) -> usize| {
            self.parts.iter().map(of).max().unwrap_or(0).max(least)
        };
        let name = width("name".len(), &|part| part.name.chars().count());
        let rows = width("rows".len(), &|part| part.rows.to_string().len());
        let bytes = width("bytes".len(), &|part| part.bytes.to_string().len());
        writeln!(f, "{:name$}  kind      engine  {:>rows$}  {:>bytes$}", "name", "rows", "bytes")?;
        for part in &self.parts {
            writeln!(
                f,
                "{:name$}  {:8}  {:6}  {:>rows$}  {:>bytes$}  {}",
                part.name,
                part.kind.name(),
                part.engine.name(),
                part.rows,
                part.bytes,
                if part.fault.is_some() { "DAMAGED" } else { "good" },
            )?;
        }
        for part in self.faults() {
            if let Some(fault) = &part.fault {
                writeln!(f, "{} {}: {fault}", part.kind.name(), part.name)?;
            }
        }
        for PreparedTransaction { name, rows, .. } in &self.prepared {
            writeln!(
                f,
                "prepared transaction {name:?} is undecided: {rows} rows wait for its commit or rollback"
            )?;
        }
        let damaged = self.faults().count();
        match damaged {
            0 => write!(f, "all {} parts are good", self.parts.len()),
            _ => write!(
                f,
                "{damaged} of {} parts are damaged: restore the directory from a backup",
                self.parts.len()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{ColumnType, Schema, Value};

    #[test]
    fn a_row_without_its_index_entry_is_a_fault_of_the_table() {
        let directory = tempfile::tempdir().unwrap();
        let db = Database::open(directory.path(), Options::default()).unwrap();
        for engine in [Engine::Memory, Engine::Disk] {
            let schema = Schema::new().column("id", ColumnType::I32).column("name", ColumnType::Text);
            let schema = schema.primary_key(["id"]).index("by_name", ["name"]);
            let table = db.create_table(engine.name(), engine, schema).unwrap();
            let mut transaction = db.begin(Isolation::Snapshot).unwrap();
            for id in 0..10 {
                table.insert(&mut transaction, &[Value::Int(id), "Ada".into()]).unwrap();
            }
            transaction.commit().unwrap().wait().unwrap();
        }
        // Deletes an index entry without the table's knowledge.
        let catalog = db.catalog();
        let index = db.handle(&catalog.keyspaces[1]);
        let mut transaction = db.begin(Isolation::Snapshot).unwrap();
        let mut entries = Vec::new();
        transaction.scan_all(&index, |key, _| entries.push(key.to_vec())).unwrap();
        transaction.delete(&index, &entries[3]).unwrap();
        transaction.commit().unwrap().wait().unwrap();
        drop(db);
        let report = check(directory.path()).unwrap();
        let faults: Vec<_> = report.faults().map(|part| (&*part.name, part.kind)).collect();
        assert_eq!(faults, [("memory", PartKind::Table)], "{report}");
        assert!(report.to_string().contains("9 entries for 10 rows"), "{report}");
    }
}
