//! The manifest of an open database, in memory, and the parts of earlier ones that snapshots still need.
//!
//! Replacing it takes some syncs of the disk, however long these take. Whoever only looks something up must not wait for
//! that. So there are two locks. One is held from before the new manifest is made until it is in use, and only by those who
//! replace it. The other one is held for a moment, and never while a file is read or written.

use crate::coordinator::{Coordinator, Stamping};
use crate::error::Result;
use crate::ids::KeyspaceId;
use crate::keyspace::Keyspace;
use crate::manifest::{Manifest, TableEntry};
use crate::order::clock::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The manifest as of its last replacement.
pub(crate) struct Current {
    /// Held while the manifest is replaced. Taken before `manifest`.
    replacing: Mutex<()>,
    manifest: Mutex<Manifest>,
    /// The changes that running transactions may not have, the oldest first. Taken after `manifest`.
    undos: Mutex<VecDeque<Undo>>,
    /// True if the log may not have the commit of a transaction whose changes are in the manifest. Changed by those who
    /// replace the manifest.
    is_ahead: AtomicBool,
    /// True if the manifest on disk lacks changes of a transaction that has committed. Changed by those who replace the
    /// manifest.
    is_unwritten: AtomicBool,
}

/// For names that meant something else after a change of the catalog: the table of that name before it, if there was
/// one.
pub(super) type Earlier = BTreeMap<String, Option<Arc<EarlierTable>>>;

/// Tables as they were before a change of the catalog. Kept while a running transaction may not have the change.
struct Undo {
    /// The change's stamp.
    at: Timestamp,
    tables: Earlier,
}

/// A table before a change of the catalog.
pub(crate) struct EarlierTable {
    pub(crate) entry: TableEntry,
    /// The handles of its keyspaces, in their order.
    pub(crate) keyspaces: Vec<Keyspace>,
    /// The handle of the keyspace of the index that was being added.
    pub(crate) building: Option<Keyspace>,
}

/// Handles of keyspaces by number.
type Handles = BTreeMap<KeyspaceId, Keyspace>;

/// Returns the tables that are others after a change, by name: as they were before, or none for a new name. They are
/// others also if `is_changed` says so.
pub(super) fn undo(
    (before, handles): (&Manifest, &Handles),
    (after, handles_after): (&Manifest, &Handles),
    is_changed: impl Fn(&TableEntry) -> bool,
) -> Earlier {
    let by_name = |manifest: &'_ Manifest| -> BTreeMap<String, usize> {
        manifest.tables.iter().enumerate().map(|(at, table)| (table.name.clone(), at)).collect()
    };
    let (old, new) = (by_name(before), by_name(after));
    let gate = |handles: &Handles, id| handles.get(&id).map(|handle| Arc::as_ptr(&handle.gate));
    let is_same = |table: &TableEntry| {
        let now = new.get(&table.name).map(|at| &after.tables[*at]);
        !is_changed(table)
            && now == Some(table)
            && table.keyspaces.iter().all(|id| gate(handles, *id) == gate(handles_after, *id))
    };
    let changed = before.tables.iter().filter(|table| !is_same(table)).map(|table| {
        let keyspaces = table.keyspaces.iter().filter_map(|id| handles.get(id).cloned()).collect();
        let building = table.building.as_ref().and_then(|of| handles.get(&of.keyspace).cloned());
        (table.name.clone(), Some(Arc::new(EarlierTable { entry: table.clone(), keyspaces, building })))
    });
    let made = new.keys().filter(|name| !old.contains_key(*name)).map(|name| (name.clone(), None));
    changed.chain(made).collect()
}

/// The right to replace the manifest. Nobody else replaces it meanwhile.
pub(crate) struct Replacing<'a> {
    current: &'a Current,
    /// A copy, to read without the lock.
    manifest: Manifest,
    _one: MutexGuard<'a, ()>,
}

impl Current {
    pub(crate) fn new(manifest: Manifest) -> Self {
        Self {
            replacing: Mutex::new(()),
            manifest: Mutex::new(manifest),
            undos: Mutex::default(),
            is_ahead: AtomicBool::new(false),
            is_unwritten: AtomicBool::new(false),
        }
    }

    /// Returns the manifest, for a look-up. The caller must not wait for a disk while it has it.
    pub(crate) fn look(&self) -> MutexGuard<'_, Manifest> {
        self.manifest.lock()
    }

    /// Passes the current manifest to `found`, and the tables that were others in a snapshot of the anchor, by their names
    /// then and now: none for a name that no table had. Nobody replaces the manifest meanwhile.
    pub(crate) fn look_in<T>(&self, snapshot: Timestamp, found: impl FnOnce(&Manifest, &Earlier) -> T) -> T {
        let manifest = self.manifest.lock();
        let mut others = BTreeMap::new();
        // The oldest change that the snapshot does not have comes last.
        for undo in self.undos.lock().iter().rev().take_while(|undo| undo.at > snapshot) {
            others.extend(undo.tables.clone());
        }
        found(&manifest, &others)
    }

    /// Forgets the changes that all running transactions have: those up to the oldest snapshot.
    pub(crate) fn forget(&self, oldest: Timestamp) {
        let mut undos = self.undos.lock();
        while undos.front().is_some_and(|undo| undo.at <= oldest) {
            undos.pop_front();
        }
    }

    /// Returns true if the manifest on disk may name keyspaces that transactions have dropped.
    pub(crate) fn is_unwritten(&self) -> bool {
        self.is_unwritten.load(Ordering::Acquire)
    }

    /// Notes that the manifest was written, by somebody who may replace it.
    pub(crate) fn note_written(&self) {
        self.is_unwritten.store(false, Ordering::Release);
    }

    /// Makes all commits durable by `sync` that the manifest rests on.
    pub(crate) fn settle(&self, sync: impl FnOnce() -> Result<()>) -> Result<()> {
        if self.is_ahead.load(Ordering::Relaxed) {
            sync()?;
            self.is_ahead.store(false, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Returns the number of changes that are known to be undone for earlier snapshots.
    #[cfg(test)]
    pub(crate) fn undos(&self) -> usize {
        self.undos.lock().len()
    }

    /// Waits until nobody else replaces the manifest, and keeps others from it.
    pub(crate) fn replacing(&self) -> Replacing<'_> {
        self.replacing_with(self.replacing.lock())
    }

    /// Does the same as [`Current::replacing`], unless somebody else replaces the manifest.
    pub(crate) fn try_replacing(&self) -> Option<Replacing<'_>> {
        self.replacing.try_lock().map(|one| self.replacing_with(one))
    }

    fn replacing_with<'a>(&'a self, one: MutexGuard<'a, ()>) -> Replacing<'a> {
        let manifest = self.manifest.lock().clone();
        Replacing { current: self, manifest, _one: one }
    }
}

impl Replacing<'_> {
    /// Puts a manifest in the place of the current one that has the changes of a transaction, whose commit `publish`
    /// publishes in the anchor, at this stamp. `tables` are those that were others before. Look-ups find the changes
    /// from then on.
    pub(crate) fn commit(&mut self, next: Manifest, tables: Earlier, at: Timestamp, publish: impl FnOnce()) {
        let mut manifest = self.current.manifest.lock();
        manifest.clone_from(&next);
        self.current.is_ahead.store(true, Ordering::Relaxed);
        self.current.is_unwritten.store(true, Ordering::Release);
        self.current.undos.lock().push_back(Undo { at, tables });
        publish();
        self.manifest = next;
    }

    /// Puts a manifest with the same catalog in the place of the current one.
    pub(crate) fn put(&mut self, next: Manifest) {
        self.manifest.clone_from(&next);
        *self.current.manifest.lock() = next;
    }

    /// Puts a manifest with another catalog in the place of the current one. Look-ups find it together with the effects of
    /// `also`, which must not wait for a disk. Returns what `also` returns: the stamp of the change, or none if the tables
    /// are as before.
    pub(crate) fn change<'c>(
        &mut self,
        core: &'c Coordinator,
        next: Manifest,
        also: impl FnOnce() -> Option<Stamping<'c>>,
    ) -> Option<Stamping<'c>> {
        let handles = core.handles();
        let mut manifest = self.current.manifest.lock();
        *manifest = next.clone();
        let stamping = also();
        // Without a stamp all snapshots have the change.
        let at = stamping.as_ref().map_or(Timestamp::ZERO, |stamping| stamping.closes_at);
        if at > Timestamp::ZERO {
            let tables = undo((&self.manifest, &handles), (&next, &core.handles()), |_| false);
            if !tables.is_empty() {
                self.current.undos.lock().push_back(Undo { at, tables });
            }
        }
        self.manifest = next;
        stamping
    }
}

impl Deref for Replacing<'_> {
    type Target = Manifest;

    fn deref(&self) -> &Manifest {
        &self.manifest
    }
}

#[cfg(test)]
mod tests {
    use crate::files::fail_point::once_here;
    use crate::files::faulty::{FaultyFiles, Stalled};
    use crate::row::{ColumnChange, ColumnType, IndexDef, Schema};
    use crate::{Database, Engine, Isolation, Options, Result};
    use std::sync::Arc;
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::Duration;

    fn schema() -> Schema {
        Schema::new().column("id", ColumnType::I64).column("name", ColumnType::Text).primary_key(["id"])
    }

    fn look_up(db: &Database) -> Result<usize> {
        let mut found = 0;
        for engine in [Engine::Memory, Engine::Disk] {
            found += usize::from(db.table("t").is_ok());
            db.table(engine.name())?;
            db.create_table(engine.name(), engine, schema())?;
            db.open_or_create_table(engine.name(), engine, schema())?;
            db.keyspace("plain", Engine::Memory)?;
            db.open_or_create_keyspace("plain", Engine::Disk)?;
        }
        Ok(found + db.tables().len() + db.keyspaces().len())
    }

    /// The change takes as long as its disk, however long that is. Nobody else waits for it.
    #[test]
    fn tables_are_found_while_a_change_of_the_catalog_waits_for_the_disk() {
        type Change = fn(&Database) -> Result<()>;
        let changes: [(&'static str, Change); 14] = [
            ("", |db| db.create_table("new", Engine::Memory, schema()).map(drop)),
            ("", |db| db.create_table("new", Engine::Disk, schema()).map(drop)),
            ("", |db| db.keyspace("new", Engine::Memory).map(drop)),
            ("", |db| db.drop_table("t")),
            ("", |db| db.drop_keyspace("plain too")),
            ("", |db| db.truncate_table("t").map(drop)),
            ("", |db| db.alter_table("t", &[ColumnChange::rename("name", "title")]).map(drop)),
            ("", |db| db.alter_table("t", &[ColumnChange::add("more", ColumnType::Text)]).map(drop)),
            ("", |db| db.add_index("t", by_name()).map(drop)),
            ("catalog.index_filled", |db| db.add_index("t", by_name()).map(drop)),
            ("", |db| db.move_table("t", Engine::Disk)),
            ("move.before_manifest", |db| db.move_table("t", Engine::Disk)),
            ("checkpoint.before_manifest", |db| db.checkpoint()),
            // The twins are dropped.
            ("move.copied", |db| {
                once_here("move.before_manifest", || panic!("for the test"));
                let moved = std::panic::AssertUnwindSafe(|| db.move_table("t", Engine::Disk));
                assert!(std::panic::catch_unwind(moved).is_err());
                Ok(())
            }),
        ];
        for (number, (place, change)) in changes.into_iter().enumerate() {
            let directory = tempfile::tempdir().unwrap();
            let files = FaultyFiles::default();
            let db = Database::open_with(
                Arc::new(files.clone()),
                &directory.path().join("db"),
                Options::default(),
            )
            .unwrap();
            for (name, engine) in [("memory", Engine::Memory), ("disk", Engine::Disk), ("t", Engine::Memory)]
            {
                db.create_table(name, engine, schema()).unwrap();
            }
            db.keyspace("plain", Engine::Memory).unwrap();
            db.keyspace("plain too", Engine::Memory).unwrap();
            let before = look_up(&db).unwrap();
            let (stalls, stalled) = channel::<Stalled>();
            let db = &db;
            std::thread::scope(|scope| {
                let changed = scope.spawn(move || {
                    let stall = move || stalls.send(files.stall()).unwrap();
                    if place.is_empty() {
                        stall()
                    } else {
                        once_here(place, stall)
                    }
                    change(db).unwrap();
                });
                let stall = stalled.recv().unwrap();
                stall.await_sync();
                let (done, answer) = channel();
                scope.spawn(move || done.send(look_up(db)));
                let found = answer.recv_timeout(Duration::from_secs(60));
                assert!(!changed.is_finished(), "change {number} did not wait for the disk");
                // Otherwise the threads would not end.
                drop(stall);
                changed.join().unwrap();
                match found {
                    Err(RecvTimeoutError::Timeout) => panic!("a look-up waited for change {number}"),
                    found => {
                        let found = found.unwrap().unwrap();
                        // A new index and twins are in keyspaces that are not there yet.
                        assert_eq!(found, before, "change {number} could be seen before it was durable");
                    }
                }
            });
        }
    }

    #[test]
    fn what_tables_were_is_forgotten_when_no_snapshot_needs_it() {
        let directory = tempfile::tempdir().unwrap();
        let db = Database::open(directory.path(), Options::default()).unwrap();
        db.create_table("t", Engine::Disk, schema()).unwrap();
        let inner = db.inner();
        let kept = || {
            inner.manifest.forget(inner.core.watermark(0));
            inner.manifest.undos()
        };
        let alter = |change| db.alter_table("t", &[change]).map(drop).unwrap();
        assert_eq!(kept(), 0);
        let old = db.begin(Isolation::Snapshot).unwrap();
        for _ in 0..5 {
            alter(ColumnChange::add("more", ColumnType::Text));
            alter(ColumnChange::drop("more"));
        }
        db.keyspace("no table", Engine::Memory).unwrap();
        assert_eq!(kept(), 10);
        let middle = db.begin(Isolation::Snapshot).unwrap();
        alter(ColumnChange::rename("name", "title"));
        assert_eq!(kept(), 11);
        drop(old);
        assert_eq!(kept(), 1);
        assert!(db.table_in(&middle, "t").unwrap().column("name").is_ok());
        drop(middle);
        assert_eq!(kept(), 0);
    }

    fn by_name() -> IndexDef {
        IndexDef::new("by_name", ["name"])
    }
}
