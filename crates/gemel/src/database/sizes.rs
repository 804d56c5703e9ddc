//! Sizes of tables, indexes and keyspaces, and the merge of their files.

use super::Database;
use super::catalog::no_table;
use crate::error::{Error, Result};
use crate::ids::KeyspaceId;
use crate::keyspace::{Engine, Keyspace, PartKind};
use crate::log::may_wait;
use crate::manifest::{KeyspaceEntry, Manifest};
use crate::transaction::Transaction;
use std::io;

/// The size of a keyspace, of the rows of a table, or of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartSize {
    /// Name. The name of an index begins with its table's name: `TABLE.INDEX`.
    pub name: String,
    /// Kind.
    pub kind: PartKind,
    /// Engine.
    pub engine: Engine,
    /// Rows of the table, or entries of the index or keyspace.
    pub rows: u64,
    /// Bytes of their keys and values.
    pub bytes: u64,
    /// True if `rows` and `bytes` were counted, false if they are estimates.
    pub is_exact: bool,
    /// Files on disk; 0 in the memory engine.
    pub files: u64,
    /// Bytes of these files. They contain old versions and deleted rows until a merge drops them.
    pub file_bytes: u64,
}

/// The work of [`Database::compact`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compacted {
    /// Bytes of files before the merge, with the rows that were only in memory and in the log before.
    pub bytes_before: u64,
    /// Bytes of files after the merge.
    pub bytes_after: u64,
    /// False if old versions had to stay, because a transaction may read them.
    pub is_complete: bool,
}

impl Database {
    /// Returns the sizes of all keyspaces, tables and indexes, in the order in which they were made.
    ///
    /// Rows in memory are counted, at some 100 ns a row. Rows on disk are estimated from the lists of files and from
    /// the write buffers; no row is read from a file. A row that was written again counts once for each file that has
    /// a version of it, until a merge drops the older versions. [`Database::exact_sizes`] counts all rows.
    ///
    /// ```
    /// # fn main() -> gemel::Result<()> {
    /// # use gemel::row::{ColumnType, Schema, Value};
    /// # use gemel::{Database, Engine, Isolation, Options};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let db = Database::open(directory.path().join("db"), Options::default())?;
    /// let schema = Schema::new().column("id", ColumnType::I32).primary_key(["id"]);
    /// let people = db.create_table("people", Engine::Disk, schema)?;
    /// db.run(Isolation::Snapshot, |transaction| people.insert(transaction, &[Value::Int(1)]))?;
    /// let sizes = db.sizes()?;
    /// assert_eq!((&*sizes[0].name, sizes[0].rows), ("people", 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of reading a table. [`Error::Usage`], [`Error::Outdated`], [`Error::TooOld`] or [`Error::Moved`] if a
    /// table is dropped, changed or moved meanwhile: then the call can be repeated.
    pub fn sizes(&self) -> Result<Vec<PartSize>> {
        self.sizes_of(false)
    }

    /// Same as [`Database::sizes`], but reads every row, at one snapshot: all rows and bytes are exact.
    ///
    /// # Errors
    /// Same as [`Database::sizes`].
    pub fn exact_sizes(&self) -> Result<Vec<PartSize>> {
        self.sizes_of(true)
    }

    fn sizes_of(&self, exact: bool) -> Result<Vec<PartSize>> {
        let catalog = self.catalog();
        let mut transaction = self.begin_own()?;
        let finished = catalog.keyspaces.iter().filter(|entry| !entry.unfinished);
        finished.map(|entry| self.size_of(&catalog, entry, exact, &mut transaction)).collect()
    }

    fn size_of(
        &self,
        catalog: &Manifest,
        entry: &KeyspaceEntry,
        exact: bool,
        transaction: &mut Transaction,
    ) -> Result<PartSize> {
        let on_disk = match entry.engine {
            Engine::Memory => None,
            Engine::Disk => Some(self.inner.disk.size_of(entry.id)?),
        };
        let estimate = on_disk.filter(|_| !exact);
        let (rows, bytes) = match estimate {
            Some(size) => (size.rows, size.bytes),
            None => counted(transaction, &self.handle(entry))?,
        };
        Ok(PartSize {
            name: entry.name.clone(),
            kind: catalog.kind_of(entry.id),
            engine: entry.engine,
            rows,
            bytes,
            is_exact: estimate.is_none(),
            files: on_disk.map_or(0, |size| size.files),
            file_bytes: on_disk.map_or(0, |size| size.file_bytes),
        })
    }

    /// Merges all files of a table on disk with its indexes, or of a keyspace on disk, and drops deleted rows and old
    /// versions. Gemel merges files by itself; call this after many deletions or updates, to have the space at once, or
    /// before many reads.
    ///
    /// Reads and commits go on. Other merges wait meanwhile, and so do a backup and the removal of tables; if the merge
    /// takes long, commits that write tables on disk may have to wait too. It may need as much space as the files take.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no such table or keyspace, or it is in memory and has no files. [`Error::Io`] if
    /// there is no space for the merged files, which leaves everything as it was; after another error of a file, tables
    /// on disk reject writes until the database is opened again.
    pub fn compact(&self, name: &str) -> Result<Compacted> {
        may_wait()?;
        let keyspaces = self.files_of(name)?;
        let (disk, core) = (&self.inner.disk, &self.inner.core);
        core.collect_now();
        disk.flush_all()?;
        // Moves the watermark up to what was just flushed, if no transaction is older.
        core.collect_now();
        let bytes = || keyspaces.iter().map(|id| disk.file_bytes(*id)).sum::<Result<u64>>();
        let bytes_before = bytes()?;
        let mut is_complete = true;
        for keyspace in &keyspaces {
            is_complete &= disk.compact_all(*keyspace).map_err(|error| self.no_room_to_merge(error))?;
        }
        Ok(Compacted { bytes_before, bytes_after: bytes()?, is_complete })
    }

    /// Returns the keyspaces on disk of a table or keyspace.
    fn files_of(&self, name: &str) -> Result<Vec<KeyspaceId>> {
        let catalog = self.catalog();
        let (engine, ids) = if let Some(table) = catalog.tables.iter().find(|table| table.name == name) {
            (table.engine, table.keyspaces.clone())
        } else {
            let known = |entry: &&KeyspaceEntry| entry.name == name && !entry.unfinished;
            match catalog.keyspaces.iter().find(known) {
                Some(entry) if catalog.table_of(entry.id).is_none() => (entry.engine, vec![entry.id]),
                _ => return Err(no_table(&catalog, name)),
            }
        };
        if engine == Engine::Disk {
            return Ok(ids);
        }
        Err(Error::Usage(format!(
            "{name:?} is in the memory engine and has no files: compact a table on disk"
        )))
    }

    /// Commits go on after such an error, so it must not say that they are rejected.
    fn no_room_to_merge(&self, error: Error) -> Error {
        match error {
            Error::DiskFull(why) => Error::Io {
                what: "can't merge files in",
                path: self.inner.path.clone(),
                source: io::Error::new(io::ErrorKind::StorageFull, format!("{why}; make space, and retry")),
            },
            other => other,
        }
    }
}

/// Counts the rows of a keyspace, and the bytes of their keys and values.
fn counted(transaction: &mut Transaction, keyspace: &Keyspace) -> Result<(u64, u64)> {
    let (mut rows, mut bytes) = (0, 0);
    transaction.scan_all(keyspace, |key, value| {
        rows += 1;
        bytes += (key.len() + value.len()) as u64;
    })?;
    Ok((rows, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Direction;
    use crate::options::{Isolation, Options};
    use crate::row::{ColumnType, RowRange, RowView, Schema, Table, Value};
    use std::ops::ControlFlow;

    fn schema() -> Schema {
        let schema = Schema::new().column("id", ColumnType::I32).column("name", ColumnType::Text);
        schema.primary_key(["id"]).index("by_name", ["name"])
    }

    fn upsert(db: &Database, table: &Table, ids: std::ops::Range<i64>, name: &str) {
        let work = |transaction: &mut Transaction| {
            ids.clone().try_for_each(|id| table.upsert(transaction, &[Value::Int(id), name.into()]).map(drop))
        };
        db.run(Isolation::Snapshot, work).unwrap();
    }

    #[test]
    fn sizes_count_memory_and_estimate_files_and_the_exact_ones_are_those_of_a_check() {
        let directory = tempfile::tempdir().unwrap();
        let db = Database::open(directory.path(), Options::default()).unwrap();
        for engine in [Engine::Memory, Engine::Disk] {
            let table = db.create_table(engine.name(), engine, schema()).unwrap();
            upsert(&db, &table, 0..500, "Ada");
        }
        // The rows are in the write buffers first, then in files.
        for in_files in [false, true] {
            let sizes = db.sizes().unwrap();
            let rows: Vec<_> = sizes.iter().map(|part| (&*part.name, part.rows, part.is_exact)).collect();
            let expected = [
                ("memory", 500, true),
                ("memory.by_name", 500, true),
                ("disk", 500, false),
                ("disk.by_name", 500, false),
            ];
            assert_eq!(rows, expected);
            assert_eq!(sizes.iter().filter(|part| part.files > 0).count(), if in_files { 2 } else { 0 });
            assert!(sizes.iter().all(|part| (part.files > 0) == (part.file_bytes > 0)), "{sizes:?}");
            db.checkpoint().unwrap();
        }
        let exact = db.exact_sizes().unwrap();
        let report = crate::check::report(&db).unwrap();
        for (size, part) in exact.iter().zip(&report.parts) {
            assert!(size.is_exact);
            assert_eq!((&size.name, size.kind, size.engine), (&part.name, part.kind, part.engine));
            assert_eq!((size.rows, size.bytes), (part.rows, part.bytes));
        }
        assert_eq!(exact.len(), report.parts.len());
    }

    #[test]
    fn compacting_frees_old_versions_and_deleted_rows_unless_a_transaction_may_read_them() {
        let directory = tempfile::tempdir().unwrap();
        let db = Database::open(directory.path(), Options::default()).unwrap();
        let table = db.create_table("t", Engine::Disk, schema()).unwrap();
        let note = "a longer note, so that a row takes some space ".repeat(20);
        upsert(&db, &table, 0..500, &note);
        let mut reader = db.begin(Isolation::Snapshot).unwrap();
        assert!(table.get(&mut reader, &[Value::Int(0)]).unwrap().is_some());
        upsert(&db, &table, 0..500, "short");
        let held = db.compact("t").unwrap();
        assert!(!held.is_complete && held.bytes_after > 500 * note.len() as u64, "{held:?}");
        let row = table.get(&mut reader, &[Value::Int(499)]).unwrap().unwrap();
        assert_eq!(row.view().text(1).unwrap(), note);
        drop(reader);
        let done = db.compact("t").unwrap();
        assert!(done.is_complete && done.bytes_after < done.bytes_before / 4, "{done:?}");
        assert_eq!(db.sizes().unwrap()[0].rows, 500);

        let delete = |transaction: &mut Transaction| {
            (0..400).try_for_each(|id| table.delete(transaction, &[Value::Int(id)]).map(drop))
        };
        db.run(Isolation::Snapshot, delete).unwrap();
        assert!(db.compact("t").unwrap().is_complete);
        assert_eq!((db.sizes().unwrap()[0].rows, db.sizes().unwrap()[1].rows), (100, 100));
        drop((db, table));
        let report = crate::check(directory.path()).unwrap();
        assert!(report.is_good() && report.parts[0].rows == 100, "{report}");
    }

    #[test]
    fn compacting_beside_writers_and_readers_loses_no_row() {
        const ACCOUNTS: i64 = 200;
        let directory = tempfile::tempdir().unwrap();
        let options = Options { write_buffer_bytes: 1 << 16, ..Options::default() };
        let db = Database::open(directory.path(), options.clone()).unwrap();
        let schema = Schema::new().column("id", ColumnType::I32).column("amount", ColumnType::I64);
        let table = db.create_table("accounts", Engine::Disk, schema.primary_key(["id"])).unwrap();
        let fill = |transaction: &mut Transaction| {
            (0..ACCOUNTS).try_for_each(|id| table.insert(transaction, &[Value::Int(id), Value::Int(100)]))
        };
        db.run(Isolation::Snapshot, fill).unwrap();
        let sum = |db: &Database| {
            let (mut transaction, mut sum) = (db.begin(Isolation::Snapshot).unwrap(), (0, 0));
            let each = |row: RowView<'_>| {
                sum = (sum.0 + 1, sum.1 + row.int(1)?);
                Ok(ControlFlow::Continue(()))
            };
            table.scan(&mut transaction, &RowRange::all(), Direction::Forward, each).unwrap();
            sum
        };
        std::thread::scope(|scope| {
            let writers = [7, 11].map(|step| {
                let (db, table) = (&db, &table);
                scope.spawn(move || {
                    for n in 0..1500 {
                        let (from, to) = (n * step % ACCOUNTS, (n * step + 1 + n % 50) % ACCOUNTS);
                        let transfer = |transaction: &mut Transaction| {
                            for (id, by) in [(from, -1), (to, 1)] {
                                table.update(transaction, &[Value::Int(id)], |row| {
                                    let amount = row.view().int(1)?;
                                    row.set(1, Value::Int(amount + by))
                                })?;
                            }
                            Ok(())
                        };
                        drop(db.run_pipelined(Isolation::Snapshot, transfer).unwrap());
                    }
                })
            });
            while writers.iter().any(|writer| !writer.is_finished()) {
                db.compact("accounts").unwrap();
                assert_eq!(sum(&db), (ACCOUNTS, 100 * ACCOUNTS));
            }
        });
        assert!(db.compact("accounts").unwrap().is_complete);
        assert_eq!((db.sizes().unwrap()[0].rows, sum(&db)), (200, (ACCOUNTS, 100 * ACCOUNTS)));
        drop((db, table));
        let report = crate::check(directory.path()).unwrap();
        assert!(report.is_good() && report.parts[0].rows == 200, "{report}");
    }

    #[test]
    fn what_has_no_files_is_not_compacted_and_a_full_disk_changes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let db = Database::open(directory.path(), Options::default()).unwrap();
        db.create_table("hot", Engine::Memory, schema()).unwrap();
        let cold = db.create_table("cold", Engine::Disk, schema()).unwrap();
        upsert(&db, &cold, 0..10, "Ada");
        for (name, words) in
            [("hot", "memory engine"), ("none", "there is no table"), ("cold.by_name", "an index of table")]
        {
            let error = db.compact(name).unwrap_err();
            assert!(matches!(&error, Error::Usage(text) if text.contains(words)), "{error}");
        }
        db.checkpoint().unwrap();
        db.inner.disk.declare_free(1 << 10);
        let error = db.compact("cold").unwrap_err();
        assert!(error.is_for_lack_of_space() && error.to_string().contains("make space"), "{error}");
        assert_eq!(db.exact_sizes().unwrap()[2].rows, 10);
        upsert(&db, &cold, 10..11, "Bob");
        db.inner.disk.declare_free(u64::MAX);
        assert!(db.compact("cold").unwrap().is_complete);
        assert_eq!(db.exact_sizes().unwrap()[2].rows, 11);
    }
}
