//! The disk engine: versions in an ordered store larger than memory, conflicts found in memory.
//!
//! Each part knows only those below it:
//!
//! - here: the commit protocol of [`Engine`], recovery, opening and closing;
//! - `background`: sealing, flushing and compaction, and holding writers back when those can't keep up;
//! - `recent`: which keys were committed since the oldest snapshot, for first-committer-wins;
//! - `gaps`: where scans need not look, since all was deleted there;
//! - `store`, `lsm`: where the versions are; `intact` verifies what the store's crate does not.

mod background;
mod gaps;
mod intact;
mod keyspaces;
mod lsm;
mod recent;
mod store;
#[cfg(test)]
mod tests;

use crate::clock::{Clock, Timestamp};
use crate::engine::{Clash, Direction, Each, Engine, Found, Handle, KeyspaceId, Refusal, Write};
use crate::error::{Error, Result};
use crate::key::{Key, KeyRange};
use crate::options::Options;
use background::Shared;
use keyspaces::Keyspace;
use lsm::{LsmShared, LsmStore};
use parking_lot::Mutex;
use parking_lot::lock_api::RawRwLock as _;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

/// Makes the log durable up to its end as of the call. Called before anything is flushed.
pub(crate) type BeforeFlush = Arc<dyn Fn() -> Result<()> + Send + Sync>;

/// What the disk engine holds and has done since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskState {
    /// Bytes of writes in memory that are not sealed.
    pub memtable_bytes: u64,
    /// Bytes of sealed writes that wait to be flushed.
    pub sealed_bytes: u64,
    /// Bytes of files in use.
    pub file_bytes: u64,
    /// Bytes of blocks in the cache.
    pub cached_bytes: u64,
    /// Blocks that reads found in the cache.
    pub blocks_cached: u64,
    /// Blocks that reads had to take from files.
    pub blocks_from_files: u64,
    /// Times that all memtables were flushed.
    pub flushes: u64,
    /// Times that files were merged.
    pub compactions: u64,
    /// Commits that had to wait for flushes or compactions.
    pub stalls: u64,
    /// Keys being committed or committed since the watermark.
    pub recent_keys: u64,
}

/// See the module.
pub(crate) struct DiskEngine {
    directory: PathBuf,
    trees: LsmShared,
    shared: Arc<Shared>,
    /// Held while a keyspace is made or opened.
    opening: Mutex<()>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl DiskEngine {
    /// An engine over a directory, which is made if it is missing. Keyspaces are opened one by one; what their files
    /// hold is complete up to some commit, and the rest comes from the log by
    /// [`DiskEngine::restore`].
    ///
    /// # Errors
    /// When the directory can't be made, or the threads can't be started.
    pub(crate) fn open(directory: &Path, options: &Options, before_flush: BeforeFlush) -> Result<Self> {
        std::fs::create_dir_all(directory).map_err(|source| Error::Io {
            what: "can't make directory",
            path: directory.into(),
            source,
        })?;
        let shared = Arc::new(Shared::new(options.write_buffer_bytes, before_flush));
        let threads = background::start(&shared).map_err(|source| Error::Io {
            what: "can't start a thread for",
            path: directory.into(),
            source,
        })?;
        Ok(Self {
            directory: directory.into(),
            trees: LsmShared::new(options.cache_bytes),
            shared,
            opening: Mutex::new(()),
            threads: Mutex::new(threads),
        })
    }

    /// Refuses when a keyspace that was made once has lost its files: opening would make it anew, empty.
    pub(crate) fn must_be_there(&self, keyspace: KeyspaceId) -> Result<()> {
        let path = self.path_of(keyspace);
        if path.join(intact::CURRENT).exists() {
            return Ok(());
        }
        Err(Error::Corruption {
            what: format!(
                "the keyspace's file {} is missing: restore the directory from a backup",
                intact::CURRENT
            ),
            path,
        })
    }

    fn path_of(&self, keyspace: KeyspaceId) -> PathBuf {
        self.directory.join(format!("ks-{}", keyspace.0))
    }

    /// The newest commit that the files of a keyspace hold; they hold all before it.
    #[cfg(test)]
    pub(crate) fn persisted(&self, keyspace: KeyspaceId) -> Result<Timestamp> {
        Ok(self.keyspace(keyspace)?.store.persisted())
    }

    /// Brings a commit back from the log, unless the files had it when the keyspace was opened. Before the first
    /// transaction only. Nothing is flushed meanwhile: log records need not come in the order of their timestamps, and
    /// files must never hold a commit without those before it.
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
        if at > keyspace.found {
            self.shared.inserted(key.with(|key| keyspace.store.insert(key, value, at)));
        }
        Ok(())
    }

    /// Flushes all that is committed, for a clean end.
    pub(crate) fn flush_all(&self) -> Result<()> {
        self.shared.check()?;
        self.shared.flush().inspect_err(|error| self.shared.fail(error))
    }

    /// Ends the background work, waiting for what is being done. What is in memory only stays there.
    pub(crate) fn close(&self) {
        self.shared.stop();
        for thread in self.threads.lock().drain(..) {
            // A panic in a thread was caught there, and is kept as the engine's failure.
            let _ = thread.join();
        }
    }

    /// Counters.
    pub(crate) fn state(&self) -> DiskState {
        let mut state = DiskState { cached_bytes: self.trees.cached_bytes(), ..self.shared.state() };
        for keyspace in self.shared.keyspaces.all() {
            state.file_bytes += keyspace.store.disk_bytes();
            let blocks = keyspace.store.block_reads();
            state.blocks_cached += blocks.cached;
            state.blocks_from_files += blocks.from_files;
            state.recent_keys += keyspace.recent.len() as u64;
        }
        state
    }

    fn keyspace(&self, keyspace: KeyspaceId) -> Result<&Keyspace> {
        self.shared.keyspaces.get(keyspace).ok_or_else(|| {
            Error::Usage(format!("keyspace {} is not open in the disk engine: open it first", keyspace.0))
        })
    }

    /// Locks the first writes until one is refused; tells how many are locked.
    fn lock_some(&self, owner: u64, writes: &[Write]) -> (usize, Result<(), Refusal>) {
        for (index, write) in writes.iter().enumerate() {
            let keyspace = match self.keyspace(write.keyspace) {
                Ok(keyspace) => keyspace,
                Err(error) => return (index, Err(Refusal::Error(error))),
            };
            if write.key.len() == 0 {
                return (index, Err(Refusal::Error(empty_key())));
            }
            if let Err(kind) = keyspace.recent.lock(owner, &write.key, write.since) {
                return (index, Err(Refusal::Clash(Clash { kind, keyspace: write.keyspace })));
            }
        }
        (writes.len(), Ok(()))
    }

    fn unlock(&self, writes: &[Write]) {
        for write in writes {
            if let Some(keyspace) = self.shared.keyspaces.get(write.keyspace) {
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
        "disk"
    }

    fn clock(&self) -> &Clock {
        &self.shared.clock
    }

    fn open_keyspace(&self, keyspace: KeyspaceId) -> Result<()> {
        self.shared.check()?;
        let _opening = self.opening.lock();
        if self.shared.keyspaces.get(keyspace).is_some() {
            return Ok(());
        }
        let store = LsmStore::open(&self.path_of(keyspace), &self.trees)?;
        std::fs::File::open(&self.directory).and_then(|directory| directory.sync_all()).map_err(
            |source| Error::Io { what: "can't make durable directory", path: self.directory.clone(), source },
        )?;
        let opened = Keyspace::new(Box::new(store));
        self.shared.clock.recover(opened.found);
        self.shared.keyspaces.add(keyspace, opened)
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
        key.with(|key| store.get(key, at, found))
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
        match &range.lower {
            Bound::Included(lower) if direction == Direction::Forward && keyspace.gaps.are_likely() => {
                keyspace.scan_over_gaps(lower, &range.upper, at, each)
            }
            _ => keyspace.store.scan(range, direction, at, each),
        }
    }

    fn lock(&self, owner: u64, writes: &mut [Write]) -> Result<(), Refusal> {
        self.shared.admit().map_err(Refusal::Error)?;
        let (locked, result) = self.lock_some(owner, writes);
        if result.is_err() {
            self.unlock(&writes[..locked]);
        }
        result
    }

    fn draw(&self) -> Timestamp {
        // Until all of the commit is in the memtables they must not be sealed: see `Shared::rotate`.
        self.shared.latch.lock_shared();
        self.shared.clock.draw()
    }

    fn validate_key(&self, owner: u64, keyspace: KeyspaceId, key: &Key, since: Timestamp) -> Result<bool> {
        Ok(self.keyspace(keyspace)?.recent.validate_key(owner, key, since))
    }

    fn validate_range(
        &self,
        owner: u64,
        keyspace: KeyspaceId,
        range: &KeyRange,
        since: Timestamp,
    ) -> Result<bool> {
        Ok(self.keyspace(keyspace)?.recent.validate_range(owner, range, since))
    }

    fn install(&self, writes: &mut [Write], at: Timestamp) {
        let mut bytes = 0;
        for write in writes.iter() {
            // It is open, since the write was locked.
            if let Some(keyspace) = self.shared.keyspaces.get(write.keyspace) {
                bytes += write.key.with(|key| keyspace.store.insert(key, write.value.as_deref(), at));
                match write.value {
                    Some(_) => keyspace.gaps.note_put(&write.key),
                    None => keyspace.gaps.note_delete(),
                }
            }
        }
        self.shared.inserted(bytes);
        // SAFETY: `draw` locked it shared for this commit, and the protocol calls `install` or `give_up` once for
        // each `draw`.
        unsafe { self.shared.latch.unlock_shared() };
        for write in writes.iter() {
            if let Some(keyspace) = self.shared.keyspaces.get(write.keyspace) {
                keyspace.recent.commit(&write.key, at);
            }
        }
        self.shared.flush_if_full();
    }

    fn give_up(&self, writes: &mut [Write], drawn: bool) {
        if drawn {
            // SAFETY: as in `install`.
            unsafe { self.shared.latch.unlock_shared() };
        }
        self.unlock(writes);
    }

    fn collect(&self, watermark: Timestamp) {
        self.shared.watermark.fetch_max(watermark.0, Ordering::SeqCst);
        for keyspace in self.shared.keyspaces.all() {
            keyspace.recent.collect(watermark);
        }
    }
}

fn empty_key() -> Error {
    Error::Usage("a key of the disk engine needs at least one byte: give it one".into())
}
