//! A keyspace as memtables and the files of an LSM tree (crate `lsm-tree`), with Gemel's commit timestamps as its sequence
//! numbers.
//!
//! The crate gives a reader at sequence number `s` the newest *state of the tree* whose stamp is below `s`. A stamp
//! comes from a counter that its users share between inserts, flushes and compactions. So old snapshots are protected:
//! they continue to read the state from before a compaction. Here this would be wrong: a reader that no longer finds a
//! memtable on the list must find the files that were written from it, so it needs the newest state. Therefore Gemel
//! shifts its timestamps by [`SHIFT`]. Each tree has a counter of its own that starts at zero when the tree is opened,
//! and counts only its flushes and compactions. So every stamp is below every reader, and every reader gets the newest
//! state.
//!
//! Hence flush and compaction themselves must keep every version that a snapshot may still read. The crate's garbage
//! collector does not: it drops any version below its threshold that has a newer one, even if a snapshot at the
//! threshold cannot see the newer one. So:
//!
//! - a flush writes, of each key, the versions above the watermark and the newest one at or below it;
//! - a compaction may drop versions only if everything in the tree's files is at or below the watermark (then the
//!   newest version of each key serves every snapshot); otherwise it keeps all versions.

use super::intact::{self, TreeFiles};
use super::memtable::Memtable;
use super::merge::{Row, SHIFT, merge, source, timestamp};
use super::store::{BlockReads, Compaction, Store};
use crate::engine::{Each, Found};
use crate::error::{Error, Result};
use crate::ids::Direction;
use crate::key::{Key, KeyRange};
use crate::mvcc::{Draft, History, Seen};
use crate::order::clock::Timestamp;
use arc_swap::ArcSwap;
use lsm_tree::compaction::Leveled;
use lsm_tree::{
    AbstractTree, AnyTree, Cache, Config, DescriptorTable, InternalValue, SeqNo, SequenceNumberCounter,
    Table, Tree, ValueType,
};
use parking_lot::Mutex;
use std::iter;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Number of runs of files in level 0 from which a compaction no longer waits for the watermark.
const URGENT_RUNS: usize = 8;

/// Time that a flush waits for the readers of a memtable. A longer scan may have to free the memtable itself.
const LONGEST_READ: Duration = Duration::from_millis(10);

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

/// A keyspace as memtables and files. The module's comment describes it.
pub(crate) struct LsmStore {
    path: PathBuf,
    /// The files. The tree's own memtable stays empty.
    tree: Tree,
    /// The writes that are not in files yet, newest first. The first memtable takes new ones; the others are sealed. A
    /// reader loads this before it looks for files, so it finds each write in at least one place.
    memtables: ArcSwap<Vec<Arc<Memtable>>>,
    /// Held while a flush adds its files, and while a compaction checks the files' newest timestamp.
    files: Mutex<()>,
    /// True while a compaction runs that may drop versions because of this check.
    relying: AtomicBool,
}

impl LsmStore {
    /// Opens the tree in a directory, and makes it if there is none.
    pub(crate) fn open(path: &Path, shared: &LsmShared) -> Result<Self> {
        intact::verify(path).map_err(|error| damaged_files(path, error))?;
        let opened = Config::new(path, SequenceNumberCounter::default(), SequenceNumberCounter::default())
            .use_cache(Arc::clone(&shared.cache))
            .use_descriptor_table(Some(Arc::clone(&shared.descriptors)))
            .open();
        match opened {
            Ok(AnyTree::Standard(tree)) => Ok(Self {
                path: path.into(),
                tree,
                memtables: ArcSwap::from_pointee(vec![Arc::default()]),
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

    /// Writes a memtable to files, which are not part of the tree yet.
    fn write_files(&self, memtable: &Memtable, watermark: Timestamp) -> lsm_tree::Result<Vec<Table>> {
        let entries = memtable
            .range(&KeyRange::ALL, Direction::Forward, Timestamp::MAX)
            .flat_map(|(key, history)| surviving(&key, &history, watermark))
            .map(Ok);
        Ok(self.tree.flush_to_tables(entries)?.map_or_else(Vec::new, |(tables, _)| tables))
    }

    /// Adds files to the tree.
    fn add_files(&self, tables: &[Table]) -> lsm_tree::Result<()> {
        let _files = self.files.lock();
        // A compaction chooses its files right after it has begun. Until then, no newer files than it checked may
        // appear.
        while self.relying.load(Ordering::SeqCst) && !self.tree.is_compacting() {
            std::thread::sleep(Duration::from_micros(50));
        }
        // Here the watermark only prunes the tree's list of old states, which nobody reads.
        self.tree.register_tables(tables, None, None, &[], SHIFT)
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
    fn insert(&self, key: &Key, value: Option<Draft>, at: Timestamp) -> u64 {
        self.memtables.load()[0].insert(key, value, at)
    }

    fn restore(&self, key: &Key, value: Option<Draft>, at: Timestamp) -> u64 {
        self.memtables.load()[0].restore(key, value, at)
    }

    fn get(&self, key: &Key, at: Timestamp, found: &mut Found<'_>) -> Result<bool> {
        for memtable in self.memtables.load().iter() {
            let seen = memtable.get(key, at, |value, written| {
                if let Some(value) = value {
                    found(value, written);
                }
                value.is_some()
            });
            if let Some(exists) = seen {
                return Ok(exists);
            }
        }
        match key.with(|key| self.tree.get_internal_entry(key, reader(at))) {
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
        let memtables = self.memtables.load();
        let mut sources = Vec::with_capacity(memtables.len() + 1);
        for memtable in memtables.iter().filter(|memtable| memtable.bytes() > 0) {
            let rows = memtable.range(range, direction, at);
            sources.push(source(rows.map(|(key, history)| Ok(Row::InMemory(key, history)))));
        }
        let bounds = (bytes(&range.lower), bytes(&range.upper));
        let state = self.tree.get_version_history_lock().latest_version();
        let mut entries = Tree::create_internal_range(state, &bounds, reader(at), None);
        let files = iter::from_fn(move || match direction {
            Direction::Forward => entries.next(),
            Direction::Backward => entries.next_back(),
        });
        sources.push(source(files.map(|entry| entry.map(Row::InFile))));
        merge(sources, direction, at, each).map_err(|error| self.refused("can't read", error))
    }

    fn memtable_bytes(&self) -> u64 {
        self.memtables.load()[0].bytes()
    }

    fn clear(&self) -> Result<()> {
        // Files that are only forgotten would stay open in the table of descriptors. This marks them as deleted.
        let cleared = self
            .tree
            .drop_range::<&[u8], _>(..)
            .and_then(|()| self.tree.clear())
            .and_then(|()| {
                // The tree keeps its old states until this prunes them.
                self.tree.get_version_history_lock().maintenance(&self.path, SHIFT)
            })
            .map_err(|error| self.refused("can't clear", error));
        // Last, so a reader never finds an older version in the files.
        self.memtables.store(Arc::new(vec![Arc::default()]));
        cleared
    }

    fn rotate(&self) {
        let memtables = self.memtables.load();
        if memtables[0].bytes() > 0 {
            let new = iter::once(Arc::default()).chain(memtables.iter().cloned());
            self.memtables.store(Arc::new(new.collect()));
        }
    }

    fn flush(&self, watermark: Timestamp) -> Result<()> {
        let mut memtables = self.memtables.load().to_vec();
        // The oldest first: the files always have all commits up to the newest in them.
        while memtables.len() > 1
            && let Some(oldest) = memtables.pop()
        {
            self.write_files(&oldest, watermark)
                .and_then(|tables| self.add_files(&tables))
                .map_err(|error| self.refused("can't write files of", error))?;
            self.memtables.store(Arc::new(memtables.clone()));
            free(oldest);
        }
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

    fn has_deletions(&self) -> bool {
        self.tree.tombstone_count() > 0
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

/// Frees a memtable that is on no list any more, once its last readers are done. Freeing takes long, and without the wait
/// a session would often be the last that has the memtable.
fn free(memtable: Arc<Memtable>) {
    let waited = Instant::now();
    while Arc::strong_count(&memtable) > 1 && waited.elapsed() < LONGEST_READ {
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// Returns the versions of a key that a flush writes: those that some snapshot at or after the watermark may read, newest
/// first.
fn surviving(key: &Key, history: &History, watermark: Timestamp) -> Vec<InternalValue> {
    let entry = |seen: Seen<'_>| {
        let kind = if seen.value.is_some() { ValueType::Value } else { ValueType::Tombstone };
        let value = seen.value.unwrap_or_default();
        key.with(|key| InternalValue::from_components(key, value, seqno(seen.timestamp), kind))
    };
    history.since(watermark).into_iter().map(entry).collect()
}

/// Links a tree's tables into a directory, which is made. Nothing may change the tree's list meanwhile.
pub(super) fn link(path: &Path, to: &Path) -> Result<TreeFiles> {
    let tree = intact::tree_files(path).map_err(|error| refused("can't read", path, error.into()))?;
    let made = |what| move |source| Error::Io { what, path: to.into(), source };
    std::fs::create_dir_all(to).map_err(made("can't make the directory"))?;
    for table in &tree.tables {
        let name = table.id.to_string();
        let linked = std::fs::hard_link(path.join(intact::TABLES).join(&name), to.join(name));
        linked.map_err(made(
            "the backup needs hard links within the database's file system and can't make one in",
        ))?;
    }
    Ok(tree)
}

fn seqno(at: Timestamp) -> SeqNo {
    at.0.saturating_add(SHIFT)
}

/// Returns the sequence number for a reader at `at`. A reader sees the versions below its sequence number.
fn reader(at: Timestamp) -> SeqNo {
    seqno(at).saturating_add(1)
}

fn bytes(bound: &Bound<Key>) -> Bound<Vec<u8>> {
    bound.as_ref().map(Key::to_vec)
}

/// Returns true if an error comes from wrong offsets and names in a file, or from a missing file, not from the system.
fn is_damage(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{InvalidData, InvalidInput, NotFound, UnexpectedEof};
    matches!(error.kind(), InvalidData | InvalidInput | NotFound | UnexpectedEof)
}

/// Returns the error for a tree whose files can't be read, or do not have the right content.
pub(super) fn damaged_files(path: &Path, error: std::io::Error) -> Error {
    if is_damage(&error) {
        let what = format!("{error}; restore the directory from a backup");
        return Error::Corruption { path: path.into(), what };
    }
    Error::Io { what: "can't read", path: path.into(), source: error }
}

fn refused(what: &'static str, path: &Path, error: lsm_tree::Error) -> Error {
    match error {
        lsm_tree::Error::Io(source) if !is_damage(&source) => Error::Io { what, path: path.into(), source },
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
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::ops::ControlFlow;

    fn put(store: &LsmStore, key: &str, value: Option<&str>, at: u64) {
        store.insert(&Key::new(key.as_bytes()), value.map(Draft::from), Timestamp(at));
    }

    /// Returns the timestamp of a key's newest version at or before `at`.
    fn stamp(store: &LsmStore, key: &str, at: u64) -> Option<u64> {
        let mut stamp = None;
        store.get(&Key::new(key.as_bytes()), Timestamp(at), &mut |_, at| stamp = Some(at.0)).unwrap();
        stamp
    }

    fn store() -> (tempfile::TempDir, LsmStore) {
        let directory = tempfile::tempdir().unwrap();
        let store = LsmStore::open(directory.path(), &LsmShared::new(1 << 20)).unwrap();
        (directory, store)
    }

    #[test]
    fn a_flush_adds_no_files_while_a_compaction_chooses_its_files() {
        let (_directory, store) = store();
        put(&store, "k", Some("v"), 1);
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
            put(&store, "k", Some("v"), at);
            put(&store, "other", (at == 1).then_some("v"), at);
        }
        store.rotate();
        store.flush(Timestamp(6)).unwrap();
        assert_eq!(
            [5, 6, 7, 8, 9, 10].map(|at| stamp(&store, "k", at)),
            [None, Some(6), Some(7), Some(8), Some(9), Some(9)]
        );
        assert_eq!(stamp(&store, "other", 6), None);
        assert_eq!(store.tree.approximate_len(), 8);
    }

    #[test]
    fn compactions_wait_for_the_watermark_until_there_are_too_many_files() {
        let (_directory, store) = store();
        let mut steps = Vec::new();
        for at in 1..=URGENT_RUNS as u64 {
            put(&store, "k", Some("v"), at);
            store.rotate();
            store.flush(Timestamp(0)).unwrap();
            steps.push(store.compact(Timestamp(0)).unwrap());
        }
        let last = steps.pop();
        assert!(steps.iter().all(|step| *step == Compaction::Later), "{steps:?}");
        assert_eq!(last, Some(Compaction::Done));
        for at in 1..=URGENT_RUNS as u64 {
            assert_eq!(stamp(&store, "k", at), Some(at), "every version is kept");
        }
    }

    /// A change of the store.
    #[derive(Clone, Debug)]
    enum Step {
        /// Writes keys; false deletes one.
        Write(Vec<(u8, bool)>),
        Rotate,
        /// Moves the watermark by this share of the way to the last write.
        Collect(u8),
        Flush,
        Compact,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => proptest::collection::vec((0_u8..200, proptest::bool::weighted(0.7)), 1..150).prop_map(Step::Write),
            2 => Just(Step::Rotate),
            1 => any::<u8>().prop_map(Step::Collect),
            1 => Just(Step::Flush),
            1 => Just(Step::Compact),
        ]
    }

    fn bound() -> impl Strategy<Value = Bound<u8>> {
        prop_oneof![
            (0_u8..201).prop_map(Bound::Included),
            (0_u8..201).prop_map(Bound::Excluded),
            Just(Bound::Unbounded)
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 500, ..ProptestConfig::default() })]

        #[test]
        fn a_scan_merges_memtables_and_files_as_in_the_model(
            steps in proptest::collection::vec(step(), 1..20),
            ranges in proptest::collection::vec((bound(), bound(), any::<bool>()), 8),
        ) {
            let (_directory, store) = store();
            let key = |key: &u8| Key::new(&[*key]);
            // The content after each timestamp.
            let mut states = vec![BTreeMap::<u8, u64>::new()];
            let mut watermark = 0;
            for step in steps {
                let at = states.len() as u64;
                match step {
                    Step::Write(rows) => {
                        let mut state = states[states.len() - 1].clone();
                        for (name, put) in rows.into_iter().collect::<BTreeMap<_, _>>() {
                            store.insert(&key(&name), put.then(|| Draft::from(&at.to_be_bytes())), Timestamp(at));
                            if put {
                                state.insert(name, at);
                            } else {
                                state.remove(&name);
                            }
                        }
                        states.push(state);
                    }
                    Step::Rotate => store.rotate(),
                    Step::Collect(part) => watermark += (at - 1 - watermark) * u64::from(part) / 255,
                    Step::Flush => store.flush(Timestamp(watermark)).unwrap(),
                    Step::Compact => drop(store.compact(Timestamp(watermark)).unwrap()),
                }
            }
            for (at, state) in (0..).zip(&states).skip(watermark as usize) {
                let at = Timestamp(at);
                for (lower, upper, forward) in &ranges {
                    let range = KeyRange { lower: lower.as_ref().map(key), upper: upper.as_ref().map(key) };
                    let direction = if *forward { Direction::Forward } else { Direction::Backward };
                    let mut found = Vec::new();
                    store.scan(&range, direction, at, &mut |key, value, written| {
                        found.push((key[0], written.0));
                        assert_eq!(value, written.0.to_be_bytes());
                        ControlFlow::Continue(())
                    }).unwrap();
                    let mut expected: Vec<_> =
                        state.iter().map(|(key, at)| (*key, *at)).filter(|(name, _)| range.contains(&key(name))).collect();
                    if !forward {
                        expected.reverse();
                    }
                    prop_assert_eq!(found, expected, "{:?} at {}", range, at);
                }
            }
        }
    }
}
