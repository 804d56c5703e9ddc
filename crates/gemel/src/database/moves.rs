//! Moving tables and keyspaces to the other engine while transactions use them (`DESIGN.md`, "Moving a table").

use super::changes::{Failed, plain_keyspace, table_entry};
use super::state::RunningMove;
use super::{Database, Inner};
use crate::coordinator::Pair;
use crate::error::{Error, Result};
use crate::files::fail_point;
use crate::ids::{Direction, KeyspaceId};
use crate::keyspace::{Engine, Standing};
use crate::manifest::Manifest;
use crossbeam_utils::Backoff;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::{Bound, ControlFlow};

/// Maximum number of rows that are copied in one transaction. Few for tests, whose tables are small.
const COPIED_AT_ONCE: usize = if cfg!(any(test, feature = "fail-points")) { 16 } else { 500 };
/// A batch ends once it has this many bytes.
const BYTES_AT_ONCE: usize = 256 << 10;
/// A move into memory stops when less than this part of the memory limit is free. So other tables keep some room, and
/// the commits that write the table and its twin.
const RESERVED: u64 = 16;

impl Database {
    /// Moves a table with all its indexes to the other engine. Does nothing if it is there already.
    ///
    /// Transactions go on reading and writing the table meanwhile, at all isolation levels. Each commit that writes it
    /// then writes both engines, so it takes longer and needs room in both. Earlier handles of the table can be used
    /// during the move and afterwards.
    ///
    /// At the end, transactions that began before and have written the table, or use it afterwards, get
    /// [`Error::Moved`], which is retryable. A few commits may get it at the beginning too. [`Database::run`] retries
    /// them. After a crash the table is in one of the engines, with every acknowledged commit.
    ///
    /// Other changes of the catalog wait until the move is done. [`Database::state`] shows its progress. Afterwards
    /// [`Database::create_table`] needs the new engine; [`Database::table`] needs none.
    ///
    /// ```
    /// # fn main() -> gemel::Result<()> {
    /// # use gemel::row::{ColumnType, Schema, Value};
    /// # use gemel::{Database, Engine, Isolation, Options};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let db = Database::open(directory.path().join("db"), Options::default())?;
    /// let schema = Schema::new().column("year", ColumnType::I32).primary_key(["year"]);
    /// let archive = db.create_table("archive", Engine::Memory, schema)?;
    /// db.run(Isolation::Snapshot, |transaction| archive.insert(transaction, &[Value::Int(1999)]))?;
    /// db.move_table("archive", Engine::Disk)?;
    /// assert_eq!(db.tables(), [("archive".to_string(), Engine::Disk)]);
    /// let mut transaction = db.begin(Isolation::Snapshot)?;
    /// assert!(archive.get(&mut transaction, &[Value::Int(1999)])?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Unless said otherwise, the table stays where it was.
    ///
    /// - [`Error::Usage`] if there is no such table, [`Options::csr`](crate::Options::csr) is false, or a prepared
    ///   transaction that used the table is undecided.
    /// - [`Error::Capacity`] if the table does not fit in memory: the move stops when less than a sixteenth of the
    ///   limit is free.
    /// - [`Error::Io`] if a file can't be written. If the outcome of writing the manifest is unknown, the table can be
    ///   used, and each commit that writes it goes on writing both engines; the next opening shows where the table is.
    ///   If only files of the disk engine can't be removed, the table has moved, and the next opening removes them.
    pub fn move_table(&self, name: &str, engine: Engine) -> Result<()> {
        let _one = self.inner.changing()?;
        let ids = {
            let manifest = self.inner.manifest.look();
            let entry = table_entry(&manifest, name)?;
            if entry.engine == engine {
                return Ok(());
            }
            entry.keyspaces.clone()
        };
        self.move_all(name, &ids, engine)
    }

    /// Moves a keyspace that is not part of a table. The same as [`Database::move_table`] otherwise. Afterwards
    /// [`Database::keyspace`] needs the new engine.
    ///
    /// # Errors
    /// Same as [`Database::move_table`], and [`Error::Usage`] if the keyspace is part of a table.
    pub fn move_keyspace(&self, name: &str, engine: Engine) -> Result<()> {
        let _one = self.inner.changing()?;
        let id = {
            let manifest = self.inner.manifest.look();
            let entry = plain_keyspace(&manifest, name, "move")?;
            if entry.engine == engine {
                return Ok(());
            }
            entry.id
        };
        self.move_all(name, &[id], engine)
    }

    fn move_all(&self, name: &str, ids: &[KeyspaceId], engine: Engine) -> Result<()> {
        let core = &self.inner.core;
        if !core.options.csr {
            return Err(Error::Usage(format!(
                "{name:?} can't be moved without the registry: open the database with the option csr"
            )));
        }
        if core.have_twins(ids) {
            return Err(Error::Usage(format!(
                "it is unknown if {name:?} was moved before: close the database and open it again, then move it"
            )));
        }
        // Until the end: a transaction that is prepared meanwhile could not follow.
        let _blocked = core.prepared.block(ids, name, |name| Error::Moved(name.into()))?;
        self.inner.moves.lock().running = Some(RunningMove { name: name.into(), to: engine, copied: 0 });
        let mut mover = Mover { db: self, engine, pairs: Vec::new(), step: Cell::new(Step::Copying) };
        mover.make_twins(ids)?;
        mover.copy()?;
        mover.finish()
    }
}

/// The state of a move.
#[derive(Clone, Copy)]
enum Step {
    /// The manifest names the originals.
    Copying,
    /// The manifest names the twins, but transactions still use the originals.
    Named,
    Done,
}

/// A move in progress. Dropping it ends it: the keyspaces stay in their old engine, unless the manifest says otherwise.
struct Mover<'a> {
    db: &'a Database,
    engine: Engine,
    pairs: Vec<Pair>,
    step: Cell<Step>,
}

impl Mover<'_> {
    fn inner(&self) -> &Inner {
        &self.db.inner
    }

    /// Makes the twins. If the process ends before they are complete, the next opening drops them.
    fn make_twins(&mut self, ids: &[KeyspaceId]) -> Result<()> {
        let mut manifest = self.db.inner.manifest.replacing();
        let mut next = manifest.clone();
        let mut pairs = Vec::with_capacity(ids.len());
        for id in ids {
            let original = self.db.inner.core.handle(*id).ok_or_else(|| {
                Error::Usage(format!("keyspace {} is closed: open the database again, then move it", id.0))
            })?;
            let twin = self.db.add_unfinished(&mut next, original.name(), self.engine)?;
            pairs.push(Pair { original, twin: self.db.handle(&twin) });
        }
        let written = self.db.inner.replace_manifest(&mut manifest, next, |_| None);
        let written = written.map(drop);
        if let Err(Failed::Unchanged(error)) = written {
            return Err(error);
        }
        pairs.iter().for_each(|pair| self.db.register(&pair.twin));
        self.pairs = pairs;
        // From here on the end of the mover drops the twins.
        written.map_err(Failed::into_error)
    }

    fn copy(&self) -> Result<()> {
        let inner = self.inner();
        inner.core.begin_move(&self.pairs);
        fail_point("move.begun");
        // Every commit that does not write the twins is in all later snapshots.
        inner.core.settle()?;
        fail_point("move.settled");
        self.pairs.iter().try_for_each(|pair| self.copy_keyspace(pair))?;
        // The manifest must not name rows that can still be lost.
        self.db.sync()?;
        fail_point("move.copied");
        Ok(())
    }

    fn copy_keyspace(&self, pair: &Pair) -> Result<()> {
        let (mut after, mut limit, mut backoff) = (None, COPIED_AT_ONCE, Backoff::new());
        loop {
            self.inner().core.check_move()?;
            self.check_memory()?;
            match self.copy_some(pair, after.as_deref(), limit) {
                Ok(Some((last, copied))) => {
                    after = Some(last);
                    limit = (2 * limit).min(COPIED_AT_ONCE);
                    backoff = Backoff::new();
                    if let Some(running) = &mut self.inner().moves.lock().running {
                        running.copied += copied;
                    }
                    fail_point("move.copying");
                }
                Ok(None) => return Ok(()),
                Err(error) if error.is_retryable() => {
                    // Fewer rows are less likely to conflict with a commit.
                    limit = (limit / 2).max(1);
                    backoff.snooze();
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Copies the rows after a key, up to a number. Returns the last key, and the number of rows; none if no row is
    /// left.
    fn copy_some(&self, pair: &Pair, after: Option<&[u8]>, limit: usize) -> Result<Option<(Vec<u8>, u64)>> {
        let mut transaction = self.db.begin_own()?;
        let lower = after.map_or(Bound::Unbounded, Bound::Excluded);
        let (mut rows, mut bytes) = (Vec::new(), 0);
        transaction.scan(&pair.original, lower, Bound::Unbounded, Direction::Forward, |key, value| {
            bytes += key.len() + value.len();
            rows.push((key.to_vec(), value.to_vec()));
            let is_full = rows.len() >= limit || bytes >= BYTES_AT_ONCE;
            if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        let Some((last, _)) = rows.last() else { return Ok(None) };
        // Rows that were committed since the beginning are in the twin. So a row that changes all the time is not copied
        // over and over in vain.
        let mut there = BTreeSet::new();
        transaction.scan(&pair.twin, lower, Bound::Included(last), Direction::Forward, |key, _| {
            there.insert(key.to_vec());
            ControlFlow::Continue(())
        })?;
        fail_point("move.read");
        for (key, value) in rows.iter().filter(|(key, _)| !there.contains(key)) {
            transaction.put(&pair.twin, key, value)?;
        }
        // `sync` covers the ticket.
        let _ticket = transaction.commit()?;
        let copied = rows.len() as u64;
        Ok(rows.pop().map(|(last, _)| (last, copied)))
    }

    /// Fails if the memory engine would be nearly full with the next batch, so its other tables can go on.
    fn check_memory(&self) -> Result<()> {
        let memory = self.inner().memory.state();
        let usable = memory.limit_bytes - memory.limit_bytes / RESERVED;
        if self.engine != Engine::Memory || memory.bytes + BYTES_AT_ONCE as u64 <= usable {
            return Ok(());
        }
        Err(Error::Capacity(format!(
            "the memory engine holds {} bytes with the rows moved so far, and a move may fill it up to {usable}, \
             15/16 of its limit: raise memory_limit_bytes, or move less to memory",
            memory.bytes
        )))
    }

    /// Returns the manifest in which the twins have the places of the originals.
    fn named(&self, manifest: &Manifest) -> Manifest {
        let mut next = manifest.clone();
        for Pair { original, twin } in &self.pairs {
            next.keyspaces.retain(|entry| entry.id != original.id);
            for entry in next.keyspaces.iter_mut().filter(|entry| entry.id == twin.id) {
                entry.unfinished = false;
            }
            for table in next.tables.iter_mut().filter(|table| table.keyspaces.contains(&original.id)) {
                table.engine = self.engine;
                for id in table.keyspaces.iter_mut().filter(|id| **id == original.id) {
                    *id = twin.id;
                }
            }
        }
        next
    }

    /// Names the twins in the manifest, lets transactions use them, and drops the originals.
    fn finish(self) -> Result<()> {
        let db = self.db;
        let core = &db.inner.core;
        core.decide_move()?;
        let mut manifest = db.inner.manifest.replacing();
        let next = self.named(&manifest);
        fail_point("move.before_manifest");
        // The manifest and the switch come together for look-ups, so nobody gets a handle of a twin before.
        let written = db.inner.replace_manifest(&mut manifest, next, |is_unknown| {
            self.step.set(Step::Named);
            fail_point("move.after_manifest");
            // A power cut may bring back the manifest that names the originals, if it is unknown which one is on disk.
            let switched = core.switch(&self.pairs, is_unknown);
            self.step.set(Step::Done);
            Some(switched)
        });
        let written = written.map(drop);
        drop(manifest);
        if let Err(Failed::Unchanged(error)) = written {
            return Err(error);
        }
        db.inner.moves.lock().done += 1;
        written.map_err(Failed::into_error)?;
        fail_point("move.switched");
        let dropped = self
            .pairs
            .iter()
            .map(|Pair { original, .. }| core.engines[original.engine_index()].drop_keyspace(original.id));
        // An error of one must not keep the others.
        dropped.fold(Ok(()), Result::and)
    }

    /// Drops the twins.
    fn give_up(&self) {
        if self.pairs.is_empty() {
            return;
        }
        let inner = self.inner();
        inner.core.end_move(&self.pairs);
        let ids: Vec<KeyspaceId> = self.pairs.iter().map(|pair| pair.twin.id).collect();
        {
            let mut manifest = inner.manifest.replacing();
            let mut next = manifest.clone();
            next.keyspaces.retain(|entry| !ids.contains(&entry.id));
            // If the file can't be written, it names the twins as unfinished, and the next opening drops them.
            let _ = inner.write_next(&next);
            let core = &inner.core;
            drop(manifest.change(core, next, || Some(core.replace(&ids, Standing::Dropped, &[]))));
        }
        for Pair { twin, .. } in &self.pairs {
            // The caller gets the first error. The next opening removes files that stay.
            let _ = inner.core.engines[twin.engine_index()].drop_keyspace(twin.id);
        }
    }
}

impl Drop for Mover<'_> {
    fn drop(&mut self) {
        match self.step.get() {
            Step::Copying => self.give_up(),
            Step::Named => drop(self.inner().core.switch(&self.pairs, true)),
            Step::Done => {}
        }
        self.inner().moves.lock().running = None;
    }
}

#[cfg(test)]
mod tests;
