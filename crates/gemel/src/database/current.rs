//! The manifest of an open database, in memory.
//!
//! Replacing it takes some syncs of the disk, however long these take. Whoever only looks something up must not wait for
//! that. So there are two locks. One is held from before the new manifest is made until it is in use, and only by those who
//! replace it. The other one is held for a moment, and never while a file is read or written.

use crate::manifest::Manifest;
use parking_lot::{Mutex, MutexGuard};
use std::ops::Deref;

/// The manifest as of its last replacement.
pub(crate) struct Current {
    /// Held while the manifest is replaced. Taken before `manifest`.
    replacing: Mutex<()>,
    manifest: Mutex<Manifest>,
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
        Self { replacing: Mutex::new(()), manifest: Mutex::new(manifest) }
    }

    /// Returns the manifest, for a look-up. The caller must not wait for a disk while it has it.
    pub(crate) fn look(&self) -> MutexGuard<'_, Manifest> {
        self.manifest.lock()
    }

    /// Waits until nobody else replaces the manifest, and keeps others from it.
    pub(crate) fn replacing(&self) -> Replacing<'_> {
        let one = self.replacing.lock();
        let manifest = self.manifest.lock().clone();
        Replacing { current: self, manifest, _one: one }
    }
}

impl Replacing<'_> {
    /// Puts a manifest in the place of the current one. Look-ups find it together with the effects of `also`, which must
    /// not wait for a disk. Returns what `also` returns.
    pub(crate) fn put<T>(&mut self, next: Manifest, also: impl FnOnce() -> T) -> T {
        self.manifest.clone_from(&next);
        let mut manifest = self.current.manifest.lock();
        *manifest = next;
        also()
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
    use crate::{Database, Engine, Options, Result};
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

    fn by_name() -> IndexDef {
        IndexDef { name: "by_name".into(), columns: vec!["name".into()], unique: false }
    }
}
