//! A keyspace as an LSM tree (crate `lsm-tree`), with Gemel's commit timestamps as its sequence numbers.
//!
//! The crate gives a reader at sequence number `s` the newest *state of the tree* whose stamp is below `s`. A stamp
//! comes from a counter that its users share between inserts, flushes and compactions. So old snapshots are protected:
//! they continue to read the state from before a compaction. Gemel's commits draw their timestamp long before they
//! insert, so this would be wrong here: a reader could get a state whose memtable misses a late insert. Therefore Gemel
//! shifts its timestamps by [`SHIFT`]. Each tree has a counter of its own that starts at zero when the tree is opened,
//! and counts only its flushes and compactions. So every stamp is below every reader, and every reader gets the newest
//! state.
//!
//! Hence flush and compaction themselves must keep every version that a snapshot may still read. The crate's garbage
//! collector does not: it drops any version below its threshold that has a newer one, even if a snapshot at the
//! threshold cannot see the newer one. So:
//!
//! - a flush goes through [`Survivors`], which keeps for each key the versions above the watermark and the newest one
//!   at or below it;
//! - a compaction may drop versions only if everything in the tree's files is at or below the watermark (then the
//!   newest version of each key serves every snapshot); otherwise it keeps all versions.

use super::intact::{self, TreeFiles};
use super::store::{BlockReads, Compaction, Store};
use crate::clock::Timestamp;
use crate::engine::{Direction, Each, Found};
use crate::error::{Error, Result};
use crate::key::{Key, KeyRange};
use lsm_tree::compaction::Leveled;
use lsm_tree::merge::Merger;
use lsm_tree::{
    AbstractTree, AnyTree, Cache, Config, DescriptorTable, InternalValue, Memtable, SeqNo,
    SequenceNumberCounter, Table, Tree, UserKey,
};
use parking_lot::Mutex;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Sequence number of timestamp zero. It is more than the number of flushes and compactions while a tree is open, and
/// still short in the files, which store sequence numbers with variable length.
const SHIFT: SeqNo = 1 << 32;

/// Number of runs of files in level 0 from which a compaction no longer waits for the watermark.
const URGENT_RUNS: usize = 8;

/// Target size of a file, in bytes.
const FILE_BYTES: u64 = 32 << 20;

/// Resources that the trees of an engine share.
#[derive(Clone)]
pub(crate) struct LsmShared {
    cache: Arc<Cache>,
    descriptors: Arc<DescriptorTable>,
}

impl LsmShared {
    /// Makes a block cache and a table of open files.
    pub(crate) fn new(cache_bytes: u64) -> Self {
        Self {
            cache: Arc::new(Cache::with_capacity_bytes(cache_bytes)),
            descriptors: Arc::new(DescriptorTable::new(OPEN_FILES)),
        }
    }

    /// Returns the bytes of blocks in the cache.
    pub(crate) fn cached_bytes(&self) -> u64 {
        self.cache.size()
    }
}

/// Maximum number of files kept open, well below the usual limit of 1,024 descriptors.
const OPEN_FILES: usize = 256;

/// A keyspace as an LSM tree. The module's comment describes it.
pub(crate) struct LsmStore {
    path: PathBuf,
    tree: Tree,
    /// Sealed memtables that are not in files yet, oldest first.
    sealed: Mutex<Vec<Arc<Memtable>>>,
    /// Held while a flush adds its files, and while a compaction checks the files' newest timestamp.
    files: Mutex<()>,
    /// True while a compaction runs that may drop versions because of this check.
    relying: AtomicBool,
}

impl LsmStore {
    /// Opens the tree in a directory, and makes it if there is none.
    pub(crate) fn open(path: &Path, shared: &LsmShared) -> Result<Self> {
        intact::verify(path).map_err(|error| refused("can't open", path, error.into()))?;
        let opened = Config::new(path, SequenceNumberCounter::default(), SequenceNumberCounter::default())
            .use_cache(Arc::clone(&shared.cache))
            .use_descriptor_table(Some(Arc::clone(&shared.descriptors)))
            .open();
        match opened {
            Ok(AnyTree::Standard(tree)) => Ok(Self {
                path: path.into(),
                tree,
                sealed: Mutex::default(),
                files: Mutex::default(),
                relying: AtomicBool::new(false),
            }),
            // A blob tree has values in files of their own, which Gemel never configures.
            Ok(AnyTree::Blob(_)) => Err(refused("can't open", path, lsm_tree::Error::Unrecoverable)),
            Err(error) => Err(refused("can't open", path, error)),
        }
    }

    fn refused(&self, what: &'static str, error: lsm_tree::Error) -> Error {
        refused(what, &self.path, error)
    }

    fn persisted_seqno(&self) -> SeqNo {
        self.tree.get_highest_persisted_seqno().unwrap_or(SHIFT)
    }

    /// Writes memtables to files, which are not part of the tree yet.
    fn write_files(&self, memtables: &[Arc<Memtable>], watermark: Timestamp) -> lsm_tree::Result<Vec<Table>> {
        let entries = Merger::new(memtables.iter().map(|memtable| memtable.iter().map(Ok)).collect());
        let survivors = Survivors { entries, watermark: seqno(watermark), newer: None };
        Ok(self.tree.flush_to_tables(survivors)?.map_or_else(Vec::new, |(tables, _)| tables))
    }

    /// Replaces memtables by the files that were written from them.
    fn add_files(&self, tables: &[Table], memtables: &[Arc<Memtable>]) -> lsm_tree::Result<()> {
        let _files = self.files.lock();
        // A compaction chooses its files right after it has begun. Until then, no newer files than it checked may
        // appear.
        while self.relying.load(Ordering::SeqCst) && !self.tree.is_compacting() {
            std::thread::sleep(Duration::from_micros(50));
        }
        let ids: Vec<_> = memtables.iter().map(|memtable| memtable.id()).collect();
        // Here the watermark only prunes the tree's list of old states, which nobody reads.
        self.tree.register_tables(tables, None, None, &ids, SHIFT)
    }

    /// Merges some files. Drops versions that have a newer one if the files contain nothing above the watermark.
    fn merge_files(&self, watermark: Timestamp) -> Result<Compaction> {
        let before = self.tree.current_version().id();
        let threshold = {
            let _files = self.files.lock();
            if self.persisted_seqno() <= seqno(watermark) {
                self.relying.store(true, Ordering::SeqCst);
                seqno(watermark) + 1
            } else if self.tree.l0_run_count() < URGENT_RUNS {
                return Ok(Compaction::Later);
            } else {
                // No version has a sequence number below this, so none is dropped.
                SHIFT
            }
        };
        let strategy = Leveled::default().with_table_target_size(FILE_BYTES);
        let merged = self.tree.compact(Arc::new(strategy), threshold);
        self.relying.store(false, Ordering::SeqCst);
        merged.map_err(|error| self.refused("can't merge files of", error))?;
        // A flush in between changes the version too. Then the next step finds nothing to do.
        let changed = self.tree.current_version().id() != before;
        Ok(if changed { Compaction::Done } else { Compaction::Idle })
    }
}

impl Store for LsmStore {
    fn insert(&self, key: &[u8], value: Option<&[u8]>, at: Timestamp) -> u64 {
        match value {
            Some(value) => self.tree.insert(key, value, seqno(at)).0,
            None => self.tree.remove(key, seqno(at)).0,
        }
    }

    fn get(&self, key: &[u8], at: Timestamp, found: &mut Found<'_>) -> Result<bool> {
        match self.tree.get_internal_entry(key, reader(at)) {
            Ok(Some(entry)) => {
                found(&entry.value, timestamp(entry.key.seqno));
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(error) => Err(self.refused("can't read", error)),
        }
    }

    fn scan(&self, range: &KeyRange, direction: Direction, at: Timestamp, each: &mut Each<'_>) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let bounds = (bytes(&range.lower), bytes(&range.upper));
        let state = self.tree.get_version_history_lock().latest_version();
        let mut entries = Tree::create_internal_range(state, &bounds, reader(at), None);
        loop {
            let next = match direction {
                Direction::Forward => entries.next(),
                Direction::Backward => entries.next_back(),
            };
            let Some(entry) = next else { return Ok(()) };
            let entry = entry.map_err(|error| self.refused("can't read", error))?;
            if each(&entry.key.user_key, &entry.value, timestamp(entry.key.seqno)).is_break() {
                return Ok(());
            }
        }
    }

    fn memtable_bytes(&self) -> u64 {
        self.tree.active_memtable().size()
    }

    fn clear(&self) -> Result<()> {
        self.sealed.lock().clear();
        // Files that are only forgotten would stay open in the table of descriptors. This marks them as deleted.
        self.tree
            .drop_range::<&[u8], _>(..)
            .and_then(|()| self.tree.clear())
            .and_then(|()| {
                // The tree keeps its old states, with their memtables, until this prunes them.
                self.tree.get_version_history_lock().maintenance(&self.path, SHIFT)
            })
            .map_err(|error| self.refused("can't clear", error))
    }

    fn rotate(&self) {
        self.sealed.lock().extend(self.tree.rotate_memtable());
    }

    fn flush(&self, watermark: Timestamp) -> Result<()> {
        let memtables = self.sealed.lock().clone();
        if memtables.is_empty() {
            return Ok(());
        }
        self.write_files(&memtables, watermark)
            .and_then(|tables| self.add_files(&tables, &memtables))
            .map_err(|error| self.refused("can't write files of", error))?;
        self.sealed.lock().retain(|sealed| !memtables.iter().any(|flushed| flushed.id() == sealed.id()));
        Ok(())
    }

    fn compact(&self, watermark: Timestamp) -> Result<Compaction> {
        if self.tree.table_count() == 0 { Ok(Compaction::Idle) } else { self.merge_files(watermark) }
    }

    fn unsorted_runs(&self) -> usize {
        self.tree.l0_run_count()
    }

    fn persisted(&self) -> Timestamp {
        timestamp(self.persisted_seqno())
    }

    fn list_number(&self) -> u64 {
        // The crate makes a list durable before its number is visible here.
        self.tree.current_version().id()
    }

    fn disk_bytes(&self) -> u64 {
        self.tree.disk_space()
    }

    fn block_reads(&self) -> BlockReads {
        let metrics = self.tree.metrics();
        BlockReads {
            cached: metrics.block_load_cached_count() as u64,
            from_files: metrics.block_load_io_count() as u64,
        }
    }
}

/// Filters the entries of a flush: drops the versions that no snapshot at or after the watermark reads. Entries come by
/// key, the newest version of a key first.
struct Survivors<I> {
    entries: I,
    watermark: SeqNo,
    /// The last entry passed on.
    newer: Option<(UserKey, SeqNo)>,
}

impl<I: Iterator<Item = lsm_tree::Result<InternalValue>>> Iterator for Survivors<I> {
    type Item = lsm_tree::Result<InternalValue>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let entry = match self.entries.next()? {
                Ok(entry) => entry,
                Err(error) => return Some(Err(error)),
            };
            let hidden = self
                .newer
                .as_ref()
                .is_some_and(|(key, newer)| *key == entry.key.user_key && *newer <= self.watermark);
            if !hidden {
                self.newer = Some((entry.key.user_key.clone(), entry.key.seqno));
                return Some(Ok(entry));
            }
        }
    }
}

/// Links a tree's tables into a directory, which is made. Nothing may change the tree's list meanwhile.
pub(super) fn link(path: &Path, to: &Path) -> Result<TreeFiles> {
    let tree = intact::tree_files(path).map_err(|error| refused("can't read", path, error.into()))?;
    let made = |what| move |source| Error::Io { what, path: to.into(), source };
    std::fs::create_dir_all(to).map_err(made("can't make the directory"))?;
    for table in &tree.tables {
        let name = table.id.to_string();
        let linked = std::fs::hard_link(path.join("tables").join(&name), to.join(name));
        linked.map_err(made(
            "the backup needs hard links within the database's file system and can't make one in",
        ))?;
    }
    Ok(tree)
}

fn seqno(at: Timestamp) -> SeqNo {
    at.0.saturating_add(SHIFT)
}

fn timestamp(seqno: SeqNo) -> Timestamp {
    Timestamp(seqno.saturating_sub(SHIFT))
}

/// Returns the sequence number for a reader at `at`. A reader sees the versions below its sequence number.
fn reader(at: Timestamp) -> SeqNo {
    seqno(at).saturating_add(1)
}

fn bytes(bound: &Bound<Key>) -> Bound<Vec<u8>> {
    bound.as_ref().map(Key::to_vec)
}

fn refused(what: &'static str, path: &Path, error: lsm_tree::Error) -> Error {
    use std::io::ErrorKind::{InvalidData, InvalidInput, NotFound, UnexpectedEof};
    match error {
        // These kinds come from wrong offsets and names in a file, not from the system.
        lsm_tree::Error::Io(source)
            if !matches!(source.kind(), InvalidData | InvalidInput | NotFound | UnexpectedEof) =>
        {
            Error::Io { what, path: path.into(), source }
        }
        other => Error::Corruption {
            path: path.into(),
            what: format!(
                "{what} this tree ({other:?}): its files were changed or lost; restore the directory from a backup"
            ),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> (tempfile::TempDir, LsmStore) {
        let directory = tempfile::tempdir().unwrap();
        let store = LsmStore::open(directory.path(), &LsmShared::new(1 << 20)).unwrap();
        (directory, store)
    }

    #[test]
    fn a_flush_adds_no_files_while_a_compaction_chooses_its_files() {
        let (_directory, store) = store();
        store.insert(b"k", Some(b"v"), Timestamp(1));
        store.rotate();
        store.relying.store(true, Ordering::SeqCst);
        std::thread::scope(|scope| {
            let flush = scope.spawn(|| store.flush(Timestamp(1)));
            std::thread::sleep(Duration::from_millis(100));
            let waits = !flush.is_finished() && store.persisted() == Timestamp::ZERO;
            store.relying.store(false, Ordering::SeqCst);
            flush.join().unwrap().unwrap();
            assert!(waits);
        });
        assert_eq!(store.persisted(), Timestamp(1));
    }

    #[test]
    fn a_flush_keeps_exactly_the_versions_that_snapshots_from_the_watermark_on_read() {
        let (_directory, store) = store();
        for at in 1..=9 {
            store.insert(b"k", Some(b"v"), Timestamp(at));
            store.insert(b"other", (at == 1).then_some(b"v"), Timestamp(at));
        }
        store.rotate();
        store.flush(Timestamp(6)).unwrap();
        let stamp = |at| {
            let mut stamp = None;
            store.get(b"k", Timestamp(at), &mut |_, at| stamp = Some(at.0)).unwrap();
            stamp
        };
        assert_eq!([5, 6, 7, 8, 9, 10].map(stamp), [None, Some(6), Some(7), Some(8), Some(9), Some(9)]);
        assert!(!store.get(b"other", Timestamp(6), &mut |_, _| ()).unwrap());
        assert_eq!(store.tree.approximate_len(), 8);
    }

    #[test]
    fn compactions_wait_for_the_watermark_until_there_are_too_many_files() {
        let (_directory, store) = store();
        let mut steps = Vec::new();
        for at in 1..=URGENT_RUNS as u64 {
            store.insert(b"k", Some(b"v"), Timestamp(at));
            store.rotate();
            store.flush(Timestamp(0)).unwrap();
            steps.push(store.compact(Timestamp(0)).unwrap());
        }
        let last = steps.pop();
        assert!(steps.iter().all(|step| *step == Compaction::Later), "{steps:?}");
        assert_eq!(last, Some(Compaction::Done));
        for at in 1..=URGENT_RUNS as u64 {
            let mut stamp = None;
            store.get(b"k", Timestamp(at), &mut |_, at| stamp = Some(at.0)).unwrap();
            assert_eq!(stamp, Some(at), "every version is kept");
        }
    }
}
