//! Changes of existing tables and keyspaces: dropping, truncating, renaming (`DESIGN.md`, "Catalog").

use super::catalog::{check_free, check_name, no_table, taken};
use super::current::Replacing;
use super::retired::Retired;
use super::{Database, Inner};
use crate::coordinator::{Coordinator, Stamping};
use crate::error::{Error, Result};
use crate::files::fail_point;
use crate::ids::KeyspaceId;
use crate::keyspace::{Keyspace, Standing};
use crate::log::may_wait;
use crate::manifest::{KeyspaceEntry, Manifest, TableEntry};
#[cfg(doc)]
use crate::options::Isolation;
use crate::order::clock::Timestamp;
use crate::recovery;
use crate::row::{Layout, Table};
use parking_lot::MutexGuard;
use std::collections::BTreeMap;

/// The reason why the manifest could not be replaced.
pub(super) enum Failed {
    /// The manifest is as before.
    Unchanged(Error),
    /// Opening the database again shows if the manifest is the old or the new one.
    Unknown(Error),
}

impl Failed {
    pub(super) fn into_error(self) -> Error {
        match self {
            Self::Unchanged(error) | Self::Unknown(error) => error,
        }
    }
}

/// Returns the entry of a table that the caller wants to change.
pub(super) fn table_entry<'m>(manifest: &'m Manifest, name: &str) -> Result<&'m TableEntry> {
    let entry =
        manifest.tables.iter().find(|entry| entry.name == name).ok_or_else(|| no_table(manifest, name))?;
    check_unchanged(manifest, entry)?;
    Ok(entry)
}

/// Returns an error if a running transaction changes a table.
pub(super) fn check_unchanged(manifest: &Manifest, table: &TableEntry) -> Result<()> {
    if manifest.running.iter().any(|change| change.takes(table)) {
        return Err(taken(table.engine, &table.name));
    }
    Ok(())
}

pub(super) fn table_entry_mut<'m>(manifest: &'m mut Manifest, name: &str) -> Result<&'m mut TableEntry> {
    let place = manifest.tables.iter().position(|entry| entry.name == name);
    match place {
        Some(place) => Ok(&mut manifest.tables[place]),
        None => Err(no_table(manifest, name)),
    }
}

/// Returns the entry of a keyspace that is not part of a table. `action` is what the caller wants to do with it.
pub(super) fn plain_keyspace<'m>(
    manifest: &'m Manifest,
    name: &str,
    action: &str,
) -> Result<&'m KeyspaceEntry> {
    let found = manifest.keyspaces.iter().find(|entry| entry.name == name && !entry.unfinished);
    let entry = found.ok_or_else(|| Error::Usage(format!("there is no keyspace {name:?}")))?;
    match manifest.table_of(entry.id) {
        None => Ok(entry),
        Some(table) => Err(Error::Usage(format!(
            "keyspace {name:?} is part of table {:?}: {action} the table",
            table.name
        ))),
    }
}

impl Database {
    /// Drops a table with its rows and indexes, for good. Waits for commits in progress.
    ///
    /// Transactions that began before go on reading the table, at the snapshot that they have. Their memory and files are
    /// freed when the last of them ends; if there is none, before this returns. A transaction that holds them for long can
    /// be limited by [`Options::max_snapshot_age`](crate::Options::max_snapshot_age). Otherwise whoever uses a handle of
    /// the table gets [`Error::Outdated`]: later transactions, those at [`Isolation::ReadCommitted`], and writers. So does
    /// the commit of a transaction that wrote the table, or that read it at [`Isolation::Serializable`] and wrote
    /// anything. A new table may have the name.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no such table, or a prepared transaction that used it is undecided. [`Error::Io`] if the
    /// manifest can't be written: if its outcome is unknown, the table can't be used until the database is opened again,
    /// which shows if it was dropped. Also if only the table's files can't be removed: then the table is dropped, and the
    /// next opening removes them.
    pub fn drop_table(&self, name: &str) -> Result<()> {
        let _one = self.inner.changing()?;
        let manifest = self.inner.manifest.replacing();
        let ids = table_entry(&manifest, name)?.keyspaces.clone();
        let _blocked = self.block_prepared(&ids, name)?;
        let mut next = manifest.clone();
        next.tables.retain(|entry| entry.name != name);
        self.give_up(manifest, next, &ids, |core| core.replace(&ids, Standing::Dropped, &[]))
    }

    /// Drops a keyspace that is not part of a table, for good. The same as [`Database::drop_table`] otherwise.
    ///
    /// # Errors
    /// Same as [`Database::drop_table`], and [`Error::Usage`] if the keyspace is part of a table.
    pub fn drop_keyspace(&self, name: &str) -> Result<()> {
        let _one = self.inner.changing()?;
        let manifest = self.inner.manifest.replacing();
        let id = plain_keyspace(&manifest, name, "drop")?.id;
        let _blocked = self.block_prepared(&[id], name)?;
        let next = manifest.clone();
        self.give_up(manifest, next, &[id], |core| core.replace(&[id], Standing::Dropped, &[]))
    }

    /// Deletes all rows of a table at once, and frees their memory and files. Returns the new handle of the table.
    ///
    /// Transactions that began before go on reading the rows through earlier handles, as after [`Database::drop_table`].
    /// They can't use the new handle: they get [`Error::TooOld`]. Later transactions can't use the earlier handles: they
    /// get [`Error::Outdated`]. So nobody sees the table empty at a snapshot where it had rows. Commits and the memory are
    /// treated as by [`Database::drop_table`].
    ///
    /// # Errors
    /// Same as [`Database::drop_table`].
    pub fn truncate_table(&self, name: &str) -> Result<Table> {
        let _one = self.inner.changing()?;
        let manifest = self.inner.manifest.replacing();
        let entry = table_entry(&manifest, name)?.clone();
        let _blocked = self.block_prepared(&entry.keyspaces, name)?;
        let mut next = manifest.clone();
        let mut added = Vec::with_capacity(entry.keyspaces.len());
        for id in &entry.keyspaces {
            let old = manifest.keyspaces.iter().find(|keyspace| keyspace.id == *id);
            let name = old.map_or(name, |old| old.name.as_str());
            added.push(self.add_keyspace(&mut next, name, entry.engine)?);
        }
        table_entry_mut(&mut next, name)?.keyspaces = added.iter().map(|entry| entry.id).collect();
        let core = &self.inner.core;
        let added: Vec<Keyspace> = added.iter().map(|entry| recovery::handle(core.owner, entry)).collect();
        let ids = &entry.keyspaces;
        self.give_up(manifest, next, ids, |core| core.replace(ids, Standing::Truncated, &added))?;
        self.table(name)
    }

    /// Drops an index of a table, and frees its memory and files as [`Database::drop_table`] does. Returns the new handle
    /// of the table.
    ///
    /// Reads through earlier handles go on, also by the index for transactions at one snapshot that began before. Writes
    /// through earlier handles get [`Error::Outdated`], and so does the commit of an earlier transaction that wrote the
    /// table, because these handles write to the index. The new handle needs a transaction that begins after the change; an
    /// earlier one gets [`Error::TooOld`].
    ///
    /// ```
    /// # fn main() -> gemel::Result<()> {
    /// # use gemel::row::{ColumnChange, ColumnType, Schema};
    /// # use gemel::{Database, Engine, Options};
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let db = Database::open(directory.path().join("db"), Options::default())?;
    /// let schema = Schema::new().column("id", ColumnType::I32).nullable("town", ColumnType::Text);
    /// db.create_table("people", Engine::Disk, schema.primary_key(["id"]).index("by_town", ["town"]))?;
    /// db.drop_index("people", "by_town")?;
    /// db.alter_table("people", &[ColumnChange::drop("town")])?; // An index kept the column.
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no such table or index, or a prepared transaction that used the table is undecided;
    /// otherwise the same as [`Database::drop_table`].
    pub fn drop_index(&self, table: &str, index: &str) -> Result<Table> {
        let _one = self.inner.changing()?;
        let manifest = self.inner.manifest.replacing();
        let old = table_entry(&manifest, table)?.clone();
        // Now there is a keyspace for each index.
        self.table_of(&manifest, &old)?;
        let _blocked = self.block_prepared(&old.keyspaces, table)?;
        let place = old.schema.indexes.iter().position(|known| known.name == index);
        let Some(place) = place else {
            return Err(Error::Usage(format!("table {table}: there is no index {index}")));
        };
        let mut next = manifest.clone();
        let entry = table_entry_mut(&mut next, table)?;
        entry.schema.indexes.remove(place);
        // The rows come first.
        let gone = [entry.keyspaces.remove(place + 1)];
        let kept = entry.keyspaces.clone();
        self.give_up(manifest, next, &gone, |core| {
            core.replace_each(&[(&kept, Standing::Outdated), (&gone, Standing::Dropped)], &[])
        })?;
        self.table(table)
    }

    /// Gives a table another name, also in the names of its indexes' keyspaces. Returns a handle with the new name.
    ///
    /// Earlier handles go on, with the earlier name, and so do all transactions. [`Database::table_in`] finds the table by
    /// the name that it had at a transaction's snapshot.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no such table, or a keyspace has the new name or that of one of its indexes
    /// (`TABLE.INDEX`), or the name is not valid. [`Error::Conflict`] if a transaction makes something of the new name. Then
    /// nothing has changed. [`Error::Io`] if the manifest can't be written: this process goes on with the earlier name, and
    /// the next opening shows if the change was made.
    pub fn rename_table(&self, from: &str, to: &str) -> Result<Table> {
        let _one = self.inner.changing()?;
        let mut manifest = self.inner.manifest.replacing();
        let old = table_entry(&manifest, from)?.clone();
        if from == to {
            return self.table_of(&manifest, &old);
        }
        Layout::new(to, &old.schema)?;
        let new = TableEntry { name: to.to_owned(), ..old };
        let names: BTreeMap<KeyspaceId, String> = new.named().collect();
        for name in names.values() {
            check_name(name)?;
            check_free(&manifest, name, "table")?;
        }
        let mut next = manifest.clone();
        new.name_keyspaces(&mut next.keyspaces);
        *table_entry_mut(&mut next, from)? = new;
        fail_point("catalog.before_manifest");
        // After an error the manifest on disk may be the new one. The rows are the same by both.
        self.inner.write_next(&next)?;
        let core = &self.inner.core;
        drop(manifest.change(core, next, || Some(core.rename(&names))));
        drop(manifest);
        fail_point("catalog.after_manifest");
        self.table(to)
    }

    /// Writes the manifest `next` without keyspaces, and drops them. `replace` closes their handles, and makes others usable
    /// in the same moment.
    fn give_up<'c>(
        &'c self,
        mut manifest: Replacing<'_>,
        mut next: Manifest,
        ids: &[KeyspaceId],
        replace: impl FnOnce(&'c Coordinator) -> Stamping<'c>,
    ) -> Result<()> {
        let core = &self.inner.core;
        next.keyspaces.retain(|entry| !ids.contains(&entry.id));
        fail_point("catalog.before_manifest");
        let engines: Vec<(usize, KeyspaceId)> =
            ids.iter().filter_map(|id| core.handle(*id).map(|handle| (handle.engine_index(), *id))).collect();
        let written = self.inner.replace_manifest(&mut manifest, next, |_| {
            fail_point("catalog.after_manifest");
            Some(replace(core))
        });
        // If the outcome is unknown, a power cut may bring back the old manifest, which needs the keyspaces' files.
        let stamping = written.map_err(Failed::into_error)?;
        drop(manifest);
        let until = stamping.as_ref().map_or(Timestamp::ZERO, |stamping| stamping.closes_at);
        drop(stamping);
        self.inner.retire(engines.into_iter().map(|(engine, id)| Retired { until, engine, id }))
    }
}

impl Inner {
    /// Frees dropped keyspaces, unless a running transaction needs them. Those that stay wait for the housekeeper.
    pub(super) fn retire(&self, dropped: impl Iterator<Item = Retired>) -> Result<()> {
        self.retired.retire(&self.core, dropped, || self.write_unwritten())
    }

    /// Frees the dropped keyspaces that no running transaction needs any more, unless a drop is doing that. Reports no
    /// error: the next opening removes files that stay.
    pub(super) fn free_retired(&self) {
        self.retired.free(&self.core, || self.write_unwritten());
    }

    /// Writes the manifest if the one on disk may name what transactions have dropped. Returns false if that is not
    /// possible now.
    fn write_unwritten(&self) -> bool {
        // Who replaces the manifest may wait for space on the disk, and must not be waited for.
        !self.manifest.is_unwritten()
            || self.manifest.try_replacing().is_some_and(|manifest| self.write_next(&manifest).is_ok())
    }

    /// Returns the right to change tables and keyspaces that are there.
    ///
    /// # Errors
    /// [`Error::Usage`] on a thread that writes a log: whoever has the right may wait for the log.
    pub(super) fn changing(&self) -> Result<MutexGuard<'_, ()>> {
        may_wait()?;
        Ok(self.changing.lock())
    }

    /// Returns the right to replace the manifest.
    ///
    /// # Errors
    /// Same as [`Inner::changing`].
    pub(super) fn replacing(&self) -> Result<Replacing<'_>> {
        may_wait()?;
        Ok(self.manifest.replacing())
    }

    /// Replaces the manifest, on disk and in memory. In memory also if the outcome is unknown: otherwise a table that
    /// is gone on disk would take commits that the next opening loses. Look-ups find the new manifest together with the
    /// effects of `also`, which must not wait for a disk. It gets true if the outcome is unknown. Returns what it returns.
    pub(super) fn replace_manifest<'c>(
        &'c self,
        manifest: &mut Replacing<'_>,
        next: Manifest,
        also: impl FnOnce(bool) -> Option<Stamping<'c>>,
    ) -> Result<Option<Stamping<'c>>, Failed> {
        let core = &self.core;
        match self.write_manifest(&next) {
            Ok(()) => Ok(manifest.change(core, next, || also(false))),
            Err(Failed::Unchanged(error)) => Err(Failed::Unchanged(error)),
            Err(Failed::Unknown(error)) => {
                drop(manifest.change(core, next, || also(true)));
                Err(Failed::Unknown(error))
            }
        }
    }

    /// Writes a manifest that follows the current one. A transaction's changes must not be in it while a power cut can
    /// still take the transaction's rows, so the log is synced before.
    pub(super) fn write_next(&self, next: &Manifest) -> Result<()> {
        self.manifest.settle(|| self.core.logs.sync())?;
        next.write(&*self.files, &self.path)?;
        self.manifest.note_written();
        Ok(())
    }

    /// Replaces the manifest on disk.
    pub(super) fn write_manifest(&self, next: &Manifest) -> Result<(), Failed> {
        let Err(error) = self.write_next(next) else { return Ok(()) };
        // If the new file has not even got the manifest's name, the old one stays.
        match Manifest::read(&*self.files, &self.path) {
            Ok(Some(found)) if !next.was_written_as(&found) => Err(Failed::Unchanged(error)),
            _ => Err(Failed::Unknown(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Handle, Write};
    use crate::files::fail_point::{forget_here, on_fail_point, once_here};
    use crate::files::faulty::{FaultyFiles, Operation};
    use crate::key::Key;
    use crate::keyspace::Engine;
    use crate::options::{Isolation, Options};
    use crate::record::{Group, Stamp};
    use crate::row::{ColumnType, IndexDef, Schema, Value};
    use parking_lot::Mutex;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    fn schema() -> Schema {
        Schema::new().column("id", ColumnType::I64).primary_key(["id"])
    }

    fn insert(db: &Database, table: &Table, id: i64) -> Result<()> {
        let mut transaction = db.begin(Isolation::Snapshot)?;
        table.upsert(&mut transaction, &[Value::Int(id)])?;
        transaction.commit()?.wait()
    }

    fn has(db: &Database, table: &Table, id: i64) -> Result<bool> {
        Ok(table.get(&mut db.begin(Isolation::Snapshot)?, &[Value::Int(id)])?.is_some())
    }

    fn open(files: &FaultyFiles, path: &Path) -> Result<Database> {
        Database::open_with(Arc::new(files.clone()), path, Options::default())
    }

    #[test]
    fn a_drop_waits_for_a_commit_that_has_its_locks() {
        for engine in [Engine::Memory, Engine::Disk] {
            let directory = tempfile::tempdir().unwrap();
            let db = Database::open(directory.path(), Options::default()).unwrap();
            let table = db.create_table("t", engine, schema()).unwrap();
            let (stands, standing) = channel();
            let (go, going) = channel::<()>();
            let (stands, going) = (Mutex::new(stands), Mutex::new(going));
            let (db, table) = (&db, &table);
            std::thread::scope(|scope| {
                let (ready, begin) = channel::<()>();
                let writer = scope.spawn(move || {
                    begin.recv().unwrap();
                    insert(db, table, 1)
                });
                let (committer, dropper) = (writer.thread().id(), std::thread::current().id());
                on_fail_point("commit.after_append", move || {
                    if std::thread::current().id() == committer {
                        stands.lock().send(()).unwrap();
                        going.lock().recv().unwrap();
                    }
                });
                let go = Mutex::new(Some(go));
                let is_waiting = move || (std::thread::current().id() == dropper).then(|| go.lock().take());
                // The commit goes on only when the table is gone from the manifest.
                on_fail_point("catalog.after_manifest", move || {
                    if let Some(Some(go)) = is_waiting() {
                        go.send(()).unwrap();
                    }
                });
                ready.send(()).unwrap();
                standing.recv().unwrap();
                db.drop_table("t").unwrap();
                writer.join().unwrap().unwrap();
            });
            assert!(db.tables().is_empty());
            // The commit had a snapshot from before, so the rows may be freed later.
            let is_freed = || {
                let state = db.state();
                (state.memory.records, state.disk.memtable_bytes, state.disk.recent_keys) == (0, 0, 0)
            };
            while !is_freed() {
                std::thread::yield_now();
            }
        }
    }

    /// The commit draws its timestamps before the change does, or after that and before the change is counted.
    #[test]
    fn a_new_index_waits_for_commits_that_do_not_know_of_it() {
        for (engine, draws_later) in
            [Engine::Memory, Engine::Disk].into_iter().flat_map(|engine| [(engine, false), (engine, true)])
        {
            let directory = tempfile::tempdir().unwrap();
            let db = Database::open(directory.path(), Options::default()).unwrap();
            let table = db.create_table("t", engine, schema()).unwrap();
            let (begin, begun) = channel();
            let (stands, standing) = channel();
            let (go, going) = channel();
            std::thread::scope(|scope| {
                let (db, table) = (&db, &table);
                let writer = scope.spawn(move || {
                    begun.recv().unwrap();
                    once_here("commit.after_append", move || {
                        stands.send(()).unwrap();
                        going.recv().unwrap();
                    });
                    insert(db, table, 1)
                });
                let commits = move || {
                    begin.send(()).unwrap();
                    standing.recv().unwrap();
                };
                if draws_later {
                    once_here("catalog.stamped", commits)
                } else {
                    commits()
                }
                // An index that does not wait is filled before the commit goes on.
                let waits = if draws_later { "catalog.settling" } else { "catalog.publishing" };
                for place in [waits, "catalog.index_filled"] {
                    let go = go.clone();
                    once_here(place, move || {
                        let _ = go.send(());
                    });
                }
                let index = IndexDef::new("second", ["id"]);
                db.add_index("t", index).unwrap();
                forget_here();
                writer.join().unwrap().unwrap();
            });
            let new = db.table("t").unwrap();
            new.verify(&mut db.begin(Isolation::Snapshot).unwrap()).unwrap();
            assert!(has(&db, &new, 1).unwrap());
        }
    }

    #[test]
    fn a_change_does_not_wait_for_a_commit_that_panicked() {
        for engine in [Engine::Memory, Engine::Disk] {
            let directory = tempfile::tempdir().unwrap();
            let db = Database::open(directory.path(), Options::default()).unwrap();
            let table = db.create_table("t", engine, schema()).unwrap();
            insert(&db, &table, 1).unwrap();
            once_here("commit.after_append", || panic!("for the test"));
            assert!(catch_unwind(AssertUnwindSafe(|| insert(&db, &table, 2))).is_err());
            let index = IndexDef::new("second", ["id"]);
            for outcome in [db.add_index("t", index).map(drop), db.drop_table("t")] {
                assert!(matches!(outcome, Err(Error::Poisoned(_))), "{outcome:?}");
            }
            drop((db, table));
            let db = Database::open(directory.path(), Options::default()).unwrap();
            assert!(db.tables().is_empty());
        }
    }

    #[test]
    fn a_manifest_without_the_next_number_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let files = crate::files::RealFiles;
        let db = Database::open(directory.path(), Options::default()).unwrap();
        let table = db.create_table("t", Engine::Memory, schema()).unwrap();
        insert(&db, &table, 1).unwrap();
        drop((db, table));
        let path = Manifest::path(directory.path());
        let text = std::fs::read_to_string(&path).unwrap();
        let body = text.split_once('\n').unwrap().1.replace("\"next_keyspace\":2,", "");
        assert!(!body.contains("next_keyspace"), "{body}");
        let head = format!("gemel {} {:08x}\n", crate::manifest::FORMAT, crc32fast::hash(body.as_bytes()));
        std::fs::write(&path, head + &body).unwrap();
        let db = Database::open(directory.path(), Options::default()).unwrap();
        assert!(has(&db, &db.table("t").unwrap(), 1).unwrap());
        db.create_table("other", Engine::Disk, schema()).unwrap();
        db.drop_table("other").unwrap();
        drop(db);
        assert_eq!(Manifest::read(&files, directory.path()).unwrap().unwrap().next_keyspace, 3);
    }

    #[test]
    fn a_log_record_of_a_keyspace_that_never_existed_is_damage() {
        for (number, engine, is_good) in
            [(1, 0, true), (1, 1, true), (2, 0, true), (2, 1, false), (9, 0, false)]
        {
            let directory = tempfile::tempdir().unwrap();
            let db = Database::open(directory.path(), Options::default()).unwrap();
            db.keyspace("dropped", Engine::Disk).unwrap();
            db.keyspace("kept", Engine::Memory).unwrap();
            db.drop_keyspace("dropped").unwrap();
            let stamps = [Stamp { engine, at: Timestamp(1), writes: true }];
            let (value, handle) = (Some(b"v".as_slice().into()), Handle::None);
            let keyspace = KeyspaceId(number);
            let writes = [Write { keyspace, key: Key::new(b"k"), value, since: Timestamp::ZERO, handle }];
            let group = Group { engine, writes: &writes };
            let logs = &db.inner.core.logs;
            logs.append(logs.encode(&stamps, None, std::iter::once(group)), &stamps).unwrap();
            drop(db);
            let opened = Database::open(directory.path(), Options::default()).map(drop);
            let is_refused =
                matches!(&opened, Err(Error::Corruption { what, .. }) if what.contains("is not a commit"));
            assert!(opened.is_ok() == is_good && is_refused != is_good, "{number} {engine}: {opened:?}");
        }
    }

    /// Whatever fails, the table is there and takes commits, or it is refused, now and after a power cut. A commit that
    /// was acknowledged after the failure is never lost.
    #[test]
    fn a_drop_that_fails_leaves_the_table_or_takes_it_for_good() {
        let (mut stayed, mut unknown) = (0, 0);
        for nth in 1.. {
            let directory = tempfile::tempdir().unwrap();
            let (path, files) = (directory.path().join("db"), FaultyFiles::default());
            let db = open(&files, &path).unwrap();
            let table = db.create_table("t", Engine::Memory, schema()).unwrap();
            insert(&db, &table, 1).unwrap();
            files.fail(Operation::Any, nth, 5, 0);
            let dropped = db.drop_table("t");
            if !files.mend() {
                dropped.unwrap();
                assert!(nth > 3);
                break;
            }
            let error = dropped.unwrap_err();
            assert!(matches!(error, Error::Io { .. }), "{error}");
            let taken = insert(&db, &table, 2);
            stayed += u32::from(taken.is_ok());
            unknown += u32::from(taken.is_err());
            assert_eq!(db.table("t").is_ok(), taken.is_ok(), "{nth}");
            drop((db, table));
            let db = open(&files.power_cut(0), &path).unwrap();
            match (db.table("t"), taken) {
                (Ok(table), Ok(())) => assert!(has(&db, &table, 1).unwrap() && has(&db, &table, 2).unwrap()),
                (Ok(table), Err(_)) => assert!(has(&db, &table, 1).unwrap() && !has(&db, &table, 2).unwrap()),
                (Err(error), taken) => assert!(taken.is_err(), "{nth}: an acknowledged row is lost: {error}"),
            }
        }
        assert!(stayed > 1 && unknown > 0, "{stayed} {unknown}");
    }
}
