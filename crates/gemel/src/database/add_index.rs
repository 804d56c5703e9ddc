//! Adding an index while transactions write the table (`DESIGN.md`, "Catalog").

use super::Database;
use super::catalog::check_free;
use super::changes::{Failed, table_entry, table_entry_mut};
use super::retired::Retired;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::files::fail_point;
use crate::ids::KeyspaceId;
use crate::keyspace::Standing;
use crate::manifest::{BuildingIndex, index_keyspace};
use crate::order::clock::Timestamp;
use crate::row::{IndexDef, Layout, Table};
use crossbeam_utils::Backoff;

/// Maximum number of rows whose index entries are written in one transaction. Few for tests, whose tables are small.
const INDEXED_AT_ONCE: usize = if cfg!(any(test, feature = "fail-points")) { 16 } else { 500 };

impl Database {
    /// Adds an index to a table, with entries for its rows. Returns the new handle of the table. After a crash the
    /// index is there with all entries, or not at all.
    ///
    /// Transactions go on reading and writing the table meanwhile, through handles that they get after the beginning
    /// ([`Database::table`]): these write the index, but do not have it in their schema yet. They go on afterwards too.
    /// Writes through handles from before the beginning get [`Error::Outdated`], and so does the commit of a transaction
    /// that has written the table by then; reads through them go on. [`Error::is_outdated`] has an example. Some commits
    /// may conflict with the call's own transactions, which write the entries of a few rows each.
    ///
    /// If the index is rejected, handles from before that get [`Error::Outdated`] for writes once more. Transactions that
    /// began before the end can't use the returned handle, because their snapshots lack entries: they get
    /// [`Error::TooOld`]. Other changes of the catalog wait until the index is there.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no such table, a prepared transaction that used it is undecided, the index does not
    /// fit its schema, or a keyspace has its name (`TABLE.INDEX`); [`Error::Constraint`] if the index is unique and two
    /// rows have the same values, also if one of them was written meanwhile; [`Error::Capacity`] if a key is too long or
    /// the memory engine is full; and the errors of files.
    pub fn add_index(&self, table: &str, index: IndexDef) -> Result<Table> {
        let _one = self.inner.changing()?;
        let ids = table_entry(&self.inner.manifest.look(), table)?.keyspaces.clone();
        // Until the end: a transaction that is prepared would keep rows without an entry, or entries without an index.
        let _blocked = self.block_prepared(&ids, table)?;
        let builder = Builder::begin(self, table, index)?;
        builder.fill()?;
        fail_point("catalog.index_filled");
        builder.finish()?;
        self.table(table)
    }
}

/// An index that is being added. Dropping it drops the index, unless it is finished.
struct Builder<'a> {
    db: &'a Database,
    table: &'a str,
    building: BuildingIndex,
    engine: usize,
    /// The keyspaces of the table without that of the index.
    ids: Vec<KeyspaceId>,
    is_finished: bool,
}

impl<'a> Builder<'a> {
    /// Makes the keyspace of the index, and lets all later transactions that write the table write it too.
    fn begin(db: &'a Database, table: &'a str, index: IndexDef) -> Result<Self> {
        let (inner, core) = (&db.inner, &db.inner.core);
        let mut manifest = inner.manifest.replacing();
        let old = table_entry(&manifest, table)?.clone();
        let mut schema = old.schema.clone();
        schema.indexes.push(index.clone());
        Layout::new(table, &schema)?;
        let name = index_keyspace(table, &index.name);
        check_free(&manifest, &name, "index")?;
        let mut next = manifest.clone();
        let added = db.add_unfinished(&mut next, &name, old.engine)?;
        let building = BuildingIndex { index, keyspace: added.id };
        table_entry_mut(&mut next, table)?.building = Some(building.clone());
        // After an error, the next opening forgets the index if it is on disk.
        inner.write_next(&next)?;
        let keyspace = db.handle(&added);
        let engine = keyspace.engine_index();
        let begun = manifest
            .change(core, next, || Some(core.replace(&old.keyspaces, Standing::Outdated, &[keyspace])));
        drop(manifest);
        drop(begun);
        Ok(Self { db, table, building, engine, ids: old.keyspaces, is_finished: false })
    }

    /// Writes the entries of the rows that were there before, in transactions of their own, and makes them durable.
    fn fill(&self) -> Result<()> {
        // From now on each commit that succeeds writes the index, except those in progress: this waits for them.
        self.db.inner.core.settle()?;
        fail_point("catalog.indexing");
        let table = self.db.table(self.table)?;
        let (mut after, mut most, mut backoff) = (None::<Vec<u8>>, INDEXED_AT_ONCE, Backoff::new());
        loop {
            let step = self.db.begin_own().and_then(|mut transaction| {
                let last = table.index_rows(&mut transaction, after.as_deref(), most)?;
                fail_point("catalog.index_read");
                // `sync` covers the ticket.
                transaction.commit().map(|_ticket| last)
            });
            match step {
                Ok(Some(last)) => {
                    after = Some(last);
                    most = (2 * most).min(INDEXED_AT_ONCE);
                    backoff = Backoff::new();
                    fail_point("catalog.index_step");
                }
                Ok(None) => break,
                Err(error) if error.is_retryable() => {
                    // Fewer rows are less likely to conflict with a commit.
                    most = (most / 2).max(1);
                    backoff.snooze();
                }
                Err(error) => return Err(error),
            }
        }
        // The manifest must not name entries that can still be lost.
        self.db.sync()
    }

    /// Makes the filled index part of its table.
    fn finish(mut self) -> Result<()> {
        let (inner, core) = (&self.db.inner, &self.db.inner.core);
        let mut manifest = inner.manifest.replacing();
        let mut next = manifest.clone();
        let BuildingIndex { index, keyspace } = self.building.clone();
        let entry = table_entry_mut(&mut next, self.table)?;
        entry.schema.indexes.push(index);
        entry.keyspaces.push(keyspace);
        entry.building = None;
        for entry in next.keyspaces.iter_mut().filter(|entry| entry.id == keyspace) {
            entry.unfinished = false;
        }
        let replaced =
            inner.replace_manifest(&mut manifest, next, |_| Some(core.open_filled(keyspace))).map(drop);
        drop(manifest);
        // If the outcome is unknown, the index is there, as far as this process goes. A power cut may still take it away
        // as a whole.
        self.is_finished = !matches!(replaced, Err(Failed::Unchanged(_)));
        replaced.map_err(Failed::into_error)
    }

    /// Drops the index.
    fn give_up(&self) {
        let (inner, core) = (&self.db.inner, &self.db.inner.core);
        let gone = [self.building.keyspace];
        let until = {
            let mut manifest = inner.manifest.replacing();
            let mut next = manifest.clone();
            next.keyspaces.retain(|entry| !gone.contains(&entry.id));
            if let Ok(entry) = table_entry_mut(&mut next, self.table) {
                entry.building = None;
            }
            // If the file can't be written, it names the index as unfinished, and the next opening drops it.
            let _ = inner.write_next(&next);
            let dropped = manifest.change(core, next, || {
                let closing = [(&*self.ids, Standing::Outdated), (&gone, Standing::Dropped)];
                Some(core.replace_each(&closing, &[]))
            });
            drop(manifest);
            dropped.map_or(Timestamp::ZERO, |dropped| dropped.closes_at)
        };
        // The caller gets the first error. The next opening removes files that stay.
        let retired = Retired { until, engine: self.engine, id: self.building.keyspace };
        let _ = inner.retire(std::iter::once(retired));
    }
}

impl Drop for Builder<'_> {
    fn drop(&mut self) {
        if !self.is_finished {
            self.give_up();
        }
    }
}

#[cfg(test)]
mod tests;
