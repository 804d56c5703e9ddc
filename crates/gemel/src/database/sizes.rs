//! Sizes of tables, indexes and keyspaces, and the merge of their files.

use super::Database;
use super::catalog::no_table;
use crate::error::{Error, Result};
use crate::files::fail_point;
use crate::ids::{Direction, KeyspaceId};
use crate::keyspace::{CatalogView, Engine, Keyspace, PartKind};
use crate::log::may_wait;
use crate::manifest::KeyspaceEntry;
use crate::transaction::Transaction;
use std::io;
use std::ops::{Bound, ControlFlow};

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
    /// Bytes of those files whose blocks are compressed ([`Options::compression`](crate::Options::compression)).
    pub compressed_bytes: u64,
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

/// Rows that are counted at one snapshot, which takes some milliseconds.
const COUNTED_AT_ONCE: u64 = if cfg!(test) { 16 } else { 100_000 };

/// A keyspace of the catalog, and its handle of the same moment.
struct Part {
    kind: PartKind,
    engine: Engine,
    keyspace: Keyspace,
}

/// Rows that were counted, and the bytes of their keys and values.
#[derive(Default)]
struct Counted {
    rows: u64,
    bytes: u64,
}

impl Counted {
    /// Counts the rows of a keyspace from a bound on, at most `limit`. Returns the last key if there may be more.
    fn add(
        &mut self,
        transaction: &mut Transaction,
        keyspace: &Keyspace,
        lower: Bound<&[u8]>,
        limit: u64,
    ) -> Result<Option<Vec<u8>>> {
        let (mut left, mut last) = (limit, None);
        transaction.scan(keyspace, lower, Bound::Unbounded, Direction::Forward, |key, value| {
            self.rows += 1;
            self.bytes += (key.len() + value.len()) as u64;
            left -= 1;
            if left > 0 {
                return ControlFlow::Continue(());
            }
            last = Some(key.to_vec());
            ControlFlow::Break(())
        })?;
        Ok(last)
    }
}

impl Database {
    /// Returns the sizes of all keyspaces, tables and indexes, in the order in which they were made.
    ///
    /// Rows in memory are counted, at some 100 ns a row, but not all at the same moment. Rows on disk are estimated
    /// from the lists of files and from the write buffers; no row is read from a file, so compressed files count with
    /// their compressed bytes. A row that was written again counts once for each file that has a version of it, until a
    /// merge drops the older versions. [`Database::exact_sizes`] counts all rows.
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
    /// Those of reading a table. [`Error::Outdated`] or [`Error::Moved`] if a table is dropped, truncated, changed or
    /// moved meanwhile: then the call can be repeated.
    pub fn sizes(&self) -> Result<Vec<PartSize>> {
        let parts = self.parts();
        fail_point("sizes.begun");
        parts.iter().map(|part| self.size_of(part, None)).collect()
    }

    /// Same as [`Database::sizes`], but reads every row, at one snapshot: all rows and bytes are exact. A table that is
    /// dropped, truncated or changed meanwhile counts as it is in the snapshot.
    ///
    /// # Errors
    /// Same as [`Database::sizes`], and [`Error::TooOld`] if the rows can't be read within
    /// [`Options::max_snapshot_age`](crate::Options::max_snapshot_age).
    pub fn exact_sizes(&self) -> Result<Vec<PartSize>> {
        let parts = self.parts();
        let mut transaction = self.begin_read_only()?;
        fail_point("sizes.begun");
        parts.iter().map(|part| self.size_of(part, Some(&mut transaction))).collect()
    }

    /// Returns the keyspaces of the catalog.
    fn parts(&self) -> Vec<Part> {
        // A change replaces entries and handles under this lock. So each handle is that of its entry.
        let manifest = self.inner.manifest.look();
        let finished = manifest.keyspaces.iter().filter(|entry| !entry.unfinished);
        let part = |entry: &KeyspaceEntry| Part {
            kind: manifest.kind_of(entry.id),
            engine: entry.engine,
            keyspace: self.handle(entry),
        };
        finished.map(part).collect()
    }

    /// Returns the size of a part. A transaction counts its rows exactly.
    fn size_of(&self, part: &Part, exact: Option<&mut Transaction>) -> Result<PartSize> {
        let keyspace = &part.keyspace;
        let on_disk = match part.engine {
            Engine::Memory => Default::default(),
            Engine::Disk => self.inner.disk.size_of(keyspace.id)?,
        };
        let is_exact = exact.is_some() || part.engine == Engine::Memory;
        let view = exact.as_ref().map_or(CatalogView::NEWEST, |transaction| transaction.catalog());
        let counted = match (exact, part.engine) {
            (Some(transaction), _) => {
                let mut counted = Counted::default();
                counted.add(transaction, keyspace, Bound::Unbounded, u64::MAX)?;
                counted
            }
            (None, Engine::Disk) => Counted { rows: on_disk.rows, bytes: on_disk.bytes },
            (None, Engine::Memory) => self.count_in_pieces(keyspace)?,
        };
        // A drop or a move since the look at the catalog may have emptied the keyspace.
        keyspace.check_read(view)?;
        Ok(PartSize {
            name: keyspace.name().to_owned(),
            kind: part.kind,
            engine: part.engine,
            rows: counted.rows,
            bytes: counted.bytes,
            is_exact,
            files: on_disk.files,
            file_bytes: on_disk.file_bytes,
            compressed_bytes: on_disk.compressed_bytes,
        })
    }

    /// Counts the rows of a keyspace, each piece at a snapshot of its own. So no old versions stay for long.
    fn count_in_pieces(&self, keyspace: &Keyspace) -> Result<Counted> {
        let (mut counted, mut after) = (Counted::default(), None::<Vec<u8>>);
        loop {
            let lower = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
            after = counted.add(&mut self.begin_own()?, keyspace, lower, COUNTED_AT_ONCE)?;
            if after.is_none() {
                return Ok(counted);
            }
        }
    }

    /// Merges all files of a table on disk with its indexes, or of a keyspace on disk, and drops deleted rows and old
    /// versions. Gemel merges files by itself; call this after many deletions or updates, to have the space at once, or
    /// before many reads.
    ///
    /// Reads and commits go on. Other merges wait meanwhile, and so do a backup and the removal of tables; if the merge
    /// takes long, commits that write tables on disk may have to wait too. It needs twice as much free space as the
    /// largest of the keyspaces takes: once for its merged files, and the rest stays free for what is written
    /// meanwhile.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no such table or keyspace, or it is in memory and has no files. [`Error::Io`] if
    /// there is no space for the files, which leaves everything as it was; after another error of a file, tables on
    /// disk reject writes until the database is opened again. [`Error::DiskFull`] if the log has no space.
    pub fn compact(&self, name: &str) -> Result<Compacted> {
        may_wait()?;
        let keyspaces = self.files_of(name)?;
        let _unlimited = self.inner.disk.limit().give_way();
        let (disk, core) = (&self.inner.disk, &self.inner.core);
        core.collect_now();
        let flushed = self.inner.or_without_spares(|| disk.flush_all());
        flushed.map_err(|error| self.no_room_to_merge(error))?;
        // Moves the watermark up to what was just flushed, if no transaction is older.
        core.collect_now();
        let bytes = || keyspaces.iter().map(|id| disk.file_bytes(*id)).sum::<Result<u64>>();
        let bytes_before = bytes()?;
        let mut is_complete = true;
        for keyspace in &keyspaces {
            let merged = self.inner.or_without_spares(|| disk.compact_all(*keyspace));
            is_complete &= merged.map_err(|error| self.no_room_to_merge(error))?;
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

    /// Commits go on after such an error, unless the log has no space either. So it must not say that they are
    /// rejected.
    fn no_room_to_merge(&self, error: Error) -> Error {
        match error {
            Error::DiskFull(why) if self.inner.core.logs.full().is_none() => Error::Io {
                what: "can't merge files in",
                path: self.inner.path.clone(),
                source: io::Error::new(io::ErrorKind::StorageFull, format!("{why}; make space, and retry")),
            },
            other => other,
        }
    }
}

#[cfg(test)]
mod tests;
