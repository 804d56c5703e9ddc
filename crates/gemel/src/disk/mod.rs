//! The disk engine: versions in an ordered store larger than memory, and conflict checks in memory.
//!
//! Each part knows only those below it:
//!
//! - here: the commit protocol of [`Engine`], recovery, opening and closing;
//! - `background`: sealing, flushing and compaction, and stalling writers when these can't keep up;
//! - `recent`: the keys committed since the watermark, for first-committer-wins;
//! - `gaps`: ranges that scans can skip, because all rows there were deleted;
//! - `space`: a look at the free space before files are written;
//! - `store`, `lsm`: the versions themselves, the newest in a `memtable`, the others in files; `merge` scans both;
//!   `intact` verifies files that the store's crate does not verify; `dead` finds files that are worth merging, and
//!   `interrupt` ends such a merge if others wait; `attempts` finds files that a flush or merge has left when it
//!   failed; `identity` binds a tree to its database and keyspace.

mod attempts;
mod background;
mod dead;
mod draw;
mod dropping;
mod gaps;
pub(crate) mod identity;
mod intact;
mod interrupt;
mod keyspace;
mod lsm;
mod memtable;
mod merge;
mod recent;
mod space;
mod store;
#[cfg(test)]
mod tests;

use crate::draw::{EachDrawn, Random};
use crate::engine::{Clash, Each, Engine, Found, Handle, Refusal, Write};
use crate::error::{Conflict, Error, Result};
use crate::ids::{Direction, KeyspaceId, Owner};
use crate::key::{Key, KeyRange};
use crate::limit::Limit;
use crate::manifest::{KeyspaceEntry, Manifest, TreeEntry};
use crate::mvcc::Draft;
use crate::options::Options;
use crate::order::clock::{Clock, Timestamp};
use background::Shared;
pub(crate) use intact::{TABLES, TreeFiles};
use keyspace::Keyspace;
use lsm::{LsmShared, LsmStore};
use parking_lot::Mutex;
use parking_lot::lock_api::RawRwLock as _;
use recent::Obstacle;
use std::io::ErrorKind;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use store::StoreSize;

/// Name of the engine in messages and counters.
const NAME: &str = "disk";

/// A hook that makes the log durable up to its end as of the call. The engine calls it before every flush.
pub(crate) type BeforeFlush = Arc<dyn Fn() -> Result<()> + Send + Sync>;

/// Sizes of the disk engine, and its counters since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskState {
    /// Bytes of writes in memtables that are not sealed.
    pub memtable_bytes: u64,
    /// Bytes of writes in sealed memtables that wait to be flushed.
    pub sealed_bytes: u64,
    /// Bytes of files in use.
    pub file_bytes: u64,
    /// Bytes of blocks in the cache.
    pub cached_bytes: u64,
    /// Blocks that reads found in the cache.
    pub blocks_cached: u64,
    /// Blocks that reads had to read from files.
    pub blocks_from_files: u64,
    /// Number of flushes of all memtables.
    pub flushes: u64,
    /// Number of compactions.
    pub compactions: u64,
    /// Commits that had to wait for flushes or compactions.
    pub stalls: u64,
    /// Keys being committed or committed since the watermark.
    pub recent_keys: u64,
}

/// Prefix of the name of a keyspace's directory. The keyspace's number follows.
pub(crate) const TREE_PREFIX: &str = "ks-";

/// Returns the name of a keyspace's directory.
pub(crate) fn tree_name(keyspace: KeyspaceId) -> String {
    format!("{TREE_PREFIX}{}", keyspace.0)
}

/// The disk engine. The module's comment describes it.
pub(crate) struct DiskEngine {
    directory: PathBuf,
    /// Number of the database.
    database: u64,
    trees: LsmShared,
    shared: Arc<Shared>,
    /// See [`Options::remembered_writes`].
    remembered_writes: usize,
    /// Held while a keyspace is made or opened.
    opening: Mutex<()>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl DiskEngine {
    /// Opens an engine over a directory, and makes the directory if it is missing. The caller opens the keyspaces one
    /// by one. A keyspace's files are complete up to some commit; [`DiskEngine::restore`] brings the rest from the log.
    ///
    /// # Errors
    /// The directory can't be made, or the threads can't be started.
    pub(crate) fn open(
        directory: &Path,
        database: u64,
        options: &Options,
        before_flush: BeforeFlush,
    ) -> Result<Self> {
        std::fs::create_dir_all(directory).map_err(|source| Error::Io {
            what: "can't make directory",
            path: directory.into(),
            source,
        })?;
        let shared = Arc::new(Shared::new(directory, options, before_flush));
        let threads = background::start(&shared).map_err(|source| Error::Io {
            what: "can't start a thread for",
            path: directory.into(),
            source,
        })?;
        Ok(Self {
            directory: directory.into(),
            database,
            trees: LsmShared::new(
                options.cache_bytes,
                options.compression,
                Arc::clone(&shared.interrupts),
                Arc::clone(&shared.limit),
            ),
            shared,
            remembered_writes: options.remembered_writes,
            opening: Mutex::new(()),
            threads: Mutex::new(threads),
        })
    }

    /// Verifies that the files of an existing keyspace are there, belong to it, and are not older than the manifest
    /// says. Opening it without files would make a new, empty one.
    ///
    /// # Errors
    /// Any of these is not so, or a file can't be read.
    pub(crate) fn verify(&self, manifest: &Manifest, keyspace: &KeyspaceEntry) -> Result<()> {
        let path = self.path_of(keyspace.id);
        let corrupt = |what: String| Error::Corruption {
            path: path.clone(),
            what: format!("{what}: restore the directory from a backup"),
        };
        let missing = |file| corrupt(format!("the file {file} of keyspace {:?} is missing", keyspace.name));
        let (list, checksum) = match intact::state(&path) {
            Ok(state) => state,
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(missing(intact::CURRENT)),
            Err(error) if error.kind() == ErrorKind::InvalidData => return Err(corrupt(error.to_string())),
            Err(source) => return Err(Error::Io { what: "can't read", path, source }),
        };
        if !identity::verify(&path, self.database, keyspace.id)? && manifest.identified {
            return Err(missing(identity::FILE));
        }
        let Some(expected) = manifest.trees.iter().find(|tree| tree.keyspace == keyspace.id) else {
            return Ok(());
        };
        if list < expected.list {
            return Err(corrupt(format!(
                "the files of keyspace {:?} are older than the database (list {list}, and list {} is known): they \
                 were restored from an earlier copy",
                keyspace.name, expected.list
            )));
        }
        match &expected.checksum {
            Some(known) if list > expected.list || *known != hex(checksum) => Err(corrupt(format!(
                "the files of keyspace {:?} (list {list}) are not those with which the database was closed (list {}): \
                 they or the manifest were restored from another copy",
                keyspace.name, expected.list
            ))),
            _ => Ok(()),
        }
    }

    /// Returns a state that each tree's durable files have reached, for the keyspaces of a manifest. Later files have a
    /// higher one.
    pub(crate) fn reached(&self, manifest: &Manifest) -> Vec<TreeEntry> {
        let reached = |id: KeyspaceId| {
            let list = self.shared.keyspaces.find(id)?.store.list_number();
            Some(TreeEntry { keyspace: id, list, checksum: None })
        };
        on_disk(manifest).filter_map(reached).collect()
    }

    /// Returns the exact state of each tree's files, for the keyspaces of a manifest. Only after [`DiskEngine::close`],
    /// when nothing writes files any more.
    ///
    /// # Errors
    /// The engine has failed, so the files' state is unknown, or a file can't be read.
    pub(crate) fn closed_at(&self, manifest: &Manifest) -> Result<Vec<TreeEntry>> {
        self.shared.check()?;
        let exact = |id: KeyspaceId| {
            let path = self.path_of(id);
            match intact::state(&path) {
                Ok((list, checksum)) => Ok(TreeEntry { keyspace: id, list, checksum: Some(hex(checksum)) }),
                Err(source) => Err(Error::Io { what: "can't read", path, source }),
            }
        };
        on_disk(manifest).map(exact).collect()
    }

    fn path_of(&self, keyspace: KeyspaceId) -> PathBuf {
        self.directory.join(tree_name(keyspace))
    }

    /// Returns the newest commit in the files of a keyspace. The files have all commits before it too.
    #[cfg(test)]
    pub(crate) fn persisted(&self, keyspace: KeyspaceId) -> Result<Timestamp> {
        Ok(self.keyspace(keyspace)?.store.persisted())
    }

    /// Restores a write from the log, unless the files had it when the keyspace was opened. Only before the first
    /// transaction. Nothing is flushed meanwhile: log records need not be in timestamp order, and files must never
    /// contain a commit without those before it.
    pub(crate) fn restore(
        &self,
        keyspace: KeyspaceId,
        key: &Key,
        value: Option<&[u8]>,
        at: Timestamp,
    ) -> Result<()> {
        let keyspace = self.keyspace(keyspace)?;
        if key.len() == 0 {
            return Err(empty_key());
        }
        self.shared.clock.recover(at);
        if value.is_none() {
            keyspace.gaps.note_delete();
        }
        if at > keyspace.found {
            self.shared.inserted(keyspace.store.restore(key, value.map(Draft::from), at));
        }
        Ok(())
    }

    /// Flushes everything committed.
    pub(crate) fn flush_all(&self) -> Result<()> {
        self.shared.check()?;
        // The background thread tries again by itself.
        self.shared.flush_or_fail().inspect_err(|_| self.shared.order_flush())
    }

    /// Returns the reason why a flush or compaction waits for space on the disk, if one does.
    pub(crate) fn full(&self) -> Option<String> {
        self.shared.full()
    }

    /// Declares so many bytes of the disk to be free, for a test.
    #[cfg(test)]
    pub(crate) fn declare_free(&self, bytes: u64) {
        self.declare_free_by(move || bytes);
    }

    /// Declares as many bytes of the disk to be free as a function of a test returns.
    #[cfg(test)]
    pub(crate) fn declare_free_by(&self, bytes: impl Fn() -> u64 + Send + Sync + 'static) {
        *self.shared.space.declared.lock() = Box::new(bytes);
    }

    /// Returns the limit of background writing.
    pub(crate) fn limit(&self) -> &Arc<Limit> {
        &self.shared.limit
    }

    /// Returns the size of a keyspace. Rows and bytes are estimates.
    pub(crate) fn size_of(&self, keyspace: KeyspaceId) -> Result<StoreSize> {
        Ok(self.keyspace(keyspace)?.store.size())
    }

    /// Returns the bytes of a keyspace's files in use.
    pub(crate) fn file_bytes(&self, keyspace: KeyspaceId) -> Result<u64> {
        Ok(self.keyspace(keyspace)?.store.disk_bytes())
    }

    /// Merges all files of a keyspace. Returns false if old versions had to stay, because a snapshot may read them.
    pub(crate) fn compact_all(&self, keyspace: KeyspaceId) -> Result<bool> {
        self.shared.compact_all(self.keyspace(keyspace)?)
    }

    /// Calls `work` while no tree's list of files changes.
    ///
    /// # Errors
    /// Those of `work`, and the error of an earlier flush or compaction.
    pub(crate) fn while_files_stay<T>(&self, work: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        self.shared.while_files_stay(|| work(self))
    }

    /// Reads all files of a keyspace, and compares them with their checksums. No flush and no compaction ends meanwhile.
    pub(crate) fn verify_contents(&self, keyspace: KeyspaceId) -> Result<()> {
        let path = self.path_of(keyspace);
        self.shared.while_files_stay(|| {
            intact::verify_contents(&path).map_err(|error| lsm::damaged_files(&path, error))
        })
    }

    /// Links the tables of a keyspace into a directory, and returns the tree's files. A table's file never changes, so
    /// the link keeps its content, even if a compaction removes the table. Call it within
    /// [`DiskEngine::while_files_stay`].
    pub(crate) fn link(&self, keyspace: KeyspaceId, to: &Path) -> Result<TreeFiles> {
        lsm::link(&self.path_of(keyspace), to)
    }

    /// Ends the background threads and waits for their current work. Data that is only in memory is not flushed.
    pub(crate) fn close(&self) {
        self.shared.stop();
        for thread in self.threads.lock().drain(..) {
            // The thread has caught its panic and kept it as the engine's failure.
            let _ = thread.join();
        }
    }

    /// Returns sizes and counters.
    pub(crate) fn state(&self) -> DiskState {
        let mut state = DiskState { cached_bytes: self.trees.cached_bytes(), ..self.shared.state() };
        for keyspace in self.shared.keyspaces_in_use() {
            state.file_bytes += keyspace.store.disk_bytes();
            let blocks = keyspace.store.block_reads();
            state.blocks_cached += blocks.cached;
            state.blocks_from_files += blocks.from_files;
            state.recent_keys += keyspace.recent.len() as u64;
        }
        state
    }

    fn keyspace(&self, keyspace: KeyspaceId) -> Result<&Keyspace> {
        self.shared.keyspaces.get(keyspace)
    }

    /// Locks writes until one fails. Returns the number of locked ones.
    fn lock_some(&self, owner: Owner, writes: &[Write]) -> (usize, Result<(), Refusal>) {
        for (index, write) in writes.iter().enumerate() {
            let keyspace = match self.keyspace(write.keyspace) {
                Ok(keyspace) => keyspace,
                Err(error) => return (index, Err(Refusal::Error(error))),
            };
            if write.key.len() == 0 {
                return (index, Err(Refusal::Error(empty_key())));
            }
            if let Err(obstacle) = keyspace.recent.lock(owner.number, &write.key, write.since) {
                let refusal = match obstacle {
                    Obstacle::Conflict(kind) => {
                        Refusal::Clash(Clash { kind, keyspace: write.keyspace, number: index })
                    }
                    Obstacle::Forgotten => Refusal::Error(forgotten()),
                };
                return (index, Err(refusal));
            }
        }
        (writes.len(), Ok(()))
    }

    fn unlock(&self, writes: &[Write]) {
        for write in writes {
            if let Some(keyspace) = self.shared.keyspaces.find(write.keyspace) {
                keyspace.recent.unlock(&write.key);
            }
        }
    }
}

impl Drop for DiskEngine {
    fn drop(&mut self) {
        self.close();
    }
}

impl Engine for DiskEngine {
    fn name(&self) -> &'static str {
        NAME
    }

    fn clock(&self) -> &Clock {
        &self.shared.clock
    }

    fn open_keyspace(&self, keyspace: KeyspaceId) -> Result<()> {
        self.shared.check()?;
        let _opening = self.opening.lock();
        if self.shared.keyspaces.find(keyspace).is_some() {
            return Ok(());
        }
        let path = self.path_of(keyspace);
        let identified = identity::verify(&path, self.database, keyspace)?;
        let store = LsmStore::open(&path, &self.trees)?;
        if !identified {
            // The tree is new, or of a version that wrote no such file. The manifest names a new keyspace, or says that
            // all trees have one, only after this.
            identity::write(&path, self.database, keyspace)?;
        }
        std::fs::File::open(&self.directory)
            .and_then(|directory| directory.sync_all())
            .map_err(|source| Error::Io { what: "can't sync", path: self.directory.clone(), source })?;
        let opened = Keyspace::new(Box::new(store));
        self.shared.clock.recover(opened.found);
        self.shared.keyspaces.open(keyspace, || opened)
    }

    fn drop_keyspace(&self, keyspace: KeyspaceId) -> Result<()> {
        self.drop_tree(keyspace)
    }

    fn get(
        &self,
        keyspace: KeyspaceId,
        key: &Key,
        at: Timestamp,
        _handle: Option<&mut Handle>,
        found: &mut Found<'_>,
    ) -> Result<bool> {
        let store = &self.keyspace(keyspace)?.store;
        store.get(key, at, found)
    }

    fn scan(
        &self,
        keyspace: KeyspaceId,
        range: &KeyRange,
        direction: Direction,
        at: Timestamp,
        each: &mut Each<'_>,
    ) -> Result<()> {
        let keyspace = self.keyspace(keyspace)?;
        // A forward scan that begins after a key goes on where another one ended, so there is no gap to find.
        let goes_on = direction == Direction::Forward && matches!(range.lower, Bound::Excluded(_));
        if keyspace.gaps.are_likely() && !goes_on && !range.is_empty() {
            keyspace.scan_over_gaps(range, direction, at, each)
        } else {
            keyspace.store.scan(range, direction, at, each)
        }
    }

    fn draw(
        &self,
        keyspace: KeyspaceId,
        draws: u64,
        at: Timestamp,
        random: &mut Random,
        each: &mut EachDrawn<'_>,
    ) -> Result<()> {
        self.keyspace(keyspace)?.store.draw(draws, at, random, each)
    }

    fn enter(&self, writes: bool) -> Result<()> {
        if writes {
            self.shared.admit()?;
        }
        // The memtables must not be sealed before they have the whole commit: see `Shared::rotate`.
        self.shared.latch.lock_shared();
        Ok(())
    }

    fn leave(&self) {
        // SAFETY: `enter` took the latch shared for this commit, and the protocol calls `leave` once for each `enter`
        // that succeeded.
        unsafe { self.shared.latch.unlock_shared() };
    }

    fn lock(&self, owner: Owner, writes: &mut [Write]) -> Result<(), Refusal> {
        let (locked, result) = self.lock_some(owner, writes);
        if result.is_err() {
            self.unlock(&writes[..locked]);
        }
        result
    }

    fn find_conflict(
        &self,
        owner: Owner,
        keyspace: KeyspaceId,
        key: &Key,
        since: Timestamp,
    ) -> Result<Option<Conflict>> {
        match self.keyspace(keyspace)?.recent.validate_key(owner.number, key, since) {
            Ok(()) => Ok(None),
            Err(Obstacle::Conflict(kind)) => Ok(Some(kind)),
            Err(Obstacle::Forgotten) => Err(forgotten()),
        }
    }

    fn validate_range(
        &self,
        owner: Owner,
        keyspace: KeyspaceId,
        range: &KeyRange,
        since: Timestamp,
    ) -> Result<bool> {
        unchanged(self.keyspace(keyspace)?.recent.validate_range(owner.number, range, since))
    }

    fn install(&self, writes: &mut [Write], at: Timestamp) {
        let mut bytes = 0;
        for write in writes.iter_mut() {
            // The keyspace is open, because the write is locked.
            if let Some(keyspace) = self.shared.keyspaces.find(write.keyspace) {
                match write.value {
                    Some(_) => keyspace.gaps.note_put(&write.key),
                    None => keyspace.gaps.note_delete(),
                }
                bytes += keyspace.store.insert(&write.key, write.value.take(), at);
            }
        }
        self.shared.inserted(bytes);
        for write in writes.iter() {
            if let Some(keyspace) = self.shared.keyspaces.find(write.keyspace) {
                keyspace.recent.commit(&write.key, at);
            }
        }
        self.shared.flush_if_full();
    }

    fn give_up(&self, writes: &mut [Write]) {
        self.unlock(writes);
    }

    fn collect(&self, watermark: Timestamp) {
        self.shared.watermark.fetch_max(watermark.0, Ordering::SeqCst);
        self.shared.begin_to_compact();
        let horizon = self.shared.clock.horizon();
        for keyspace in self.shared.keyspaces_in_use() {
            keyspace.recent.collect(watermark, horizon, self.remembered_writes);
        }
    }
}

/// Returns true if a validation found no obstacle, and false if it found a conflict.
///
/// # Errors
/// The commits that could conflict were forgotten.
fn unchanged(validated: Result<(), Obstacle>) -> Result<bool> {
    match validated {
        Ok(()) => Ok(true),
        Err(Obstacle::Conflict(_)) => Ok(false),
        Err(Obstacle::Forgotten) => Err(forgotten()),
    }
}

fn forgotten() -> Error {
    Error::TooOld(
        "the disk engine has forgotten writes that it may conflict with (option remembered_writes limits them), so \
         keep transactions that write short"
            .into(),
    )
}

/// Returns the keyspaces of the disk engine.
fn on_disk(manifest: &Manifest) -> impl Iterator<Item = KeyspaceId> {
    manifest
        .keyspaces
        .iter()
        .filter(|entry| entry.engine == crate::keyspace::Engine::Disk)
        .map(|entry| entry.id)
}

fn hex(checksum: u128) -> String {
    format!("{checksum:032x}")
}

fn empty_key() -> Error {
    Error::Usage("a key of the disk engine must have at least one byte: use a longer key".into())
}
