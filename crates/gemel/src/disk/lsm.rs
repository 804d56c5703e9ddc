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
//!
//! Nor does the crate merge files because their versions are dead: see [`super::dead`].

use super::attempts::{Attempts, Outcome};
use super::dead::{Dead, Tidying};
use super::draw::draw_from;
use super::intact::{self, TreeFiles};
use super::interrupt::{Interruptible, Interrupts, Pause, is_interruption};
use super::memtable::Memtable;
use super::merge::{Row, SHIFT, merge, source, timestamp};
use super::store::{BlockReads, Compaction, Room, Store, StoreSize};
use crate::draw::{EachDrawn, Random};
use crate::engine::{Each, Found};
use crate::error::{Error, Result};
use crate::ids::Direction;
use crate::key::{Key, KeyRange};
use crate::limit::{Limit, Work};
use crate::mvcc::{Draft, History, Seen};
use crate::options::Compression;
use crate::order::clock::Timestamp;
use arc_swap::ArcSwap;
use lsm_tree::compaction::{Leveled, PullDown};
use lsm_tree::config::CompressionPolicy;
use lsm_tree::{
    AbstractTree, AnyTree, Cache, CompressionType, Config, DescriptorTable, InternalValue, SeqNo,
    SequenceNumberCounter, Table, Tree, ValueType,
};
use parking_lot::Mutex;
use std::iter;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Number of files in level 0 from which they are merged with those below.
const USUAL_RUNS: u8 = 4;

/// Number of runs of files in level 0 from which a compaction no longer waits for the watermark.
const URGENT_RUNS: usize = 8;

/// Time that a flush waits for the readers of a memtable. A longer scan may have to free the memtable itself.
const LONGEST_READ: Duration = Duration::from_millis(10);

/// Target size of a file, in bytes.
const FILE_BYTES: u64 = 32 << 20;

/// Maximum bytes of a keyspace's files that must be free for a usual merge, which rewrites a part of them.
const MERGED_BYTES: u64 = 512 << 20;

/// Maximum bytes that a merge for the sake of dead versions reads.
const TIDIED_BYTES: u64 = 8 * MERGED_BYTES;

/// Threshold of a merge that keeps all versions: none has a sequence number below it.
const KEEP_ALL: SeqNo = SHIFT;

/// Number of looks at the list of files on disk, a millisecond apart, until it counts as a different one.
const LOOKS: usize = 1000;

/// Resources that the trees of an engine share.
#[derive(Clone)]
pub(crate) struct LsmShared {
    cache: Arc<Cache>,
    descriptors: Arc<DescriptorTable>,
    compression: Compression,
    interrupts: Arc<Interrupts>,
    limit: Arc<Limit>,
}

impl LsmShared {
    /// Makes a block cache and a table of open files.
    pub(crate) fn new(
        cache_bytes: u64,
        compression: Compression,
        interrupts: Arc<Interrupts>,
        limit: Arc<Limit>,
    ) -> Self {
        Self {
            cache: Arc::new(Cache::with_capacity_bytes(cache_bytes)),
            descriptors: Arc::new(DescriptorTable::new(OPEN_FILES)),
            compression,
            interrupts,
            limit,
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
    dead: Dead,
    /// The pause of merges for the sake of dead versions.
    pause: Mutex<Pause>,
    interruptible: Interruptible,
    attempts: Attempts,
    limit: Arc<Limit>,
}

impl LsmStore {
    /// Opens the tree in a directory, and makes it if there is none.
    pub(crate) fn open(path: &Path, shared: &LsmShared) -> Result<Self> {
        intact::verify(path).map_err(|error| damaged_files(path, error))?;
        let interruptible = Interruptible::new(Arc::clone(&shared.interrupts), Arc::clone(&shared.limit));
        let opened = Config::new(path, SequenceNumberCounter::default(), SequenceNumberCounter::default())
            .use_cache(Arc::clone(&shared.cache))
            .use_descriptor_table(Some(Arc::clone(&shared.descriptors)))
            // Index blocks are small, and the bits of filters do not compress.
            .data_block_compression_policy(CompressionPolicy::all(match shared.compression {
                Compression::None => CompressionType::None,
                Compression::Lz4 => CompressionType::Lz4,
            }))
            .with_compaction_filter_factory(Some(Arc::new(interruptible.clone())))
            .open();
        match opened {
            Ok(AnyTree::Standard(tree)) => Ok(Self {
                path: path.into(),
                tree,
                memtables: ArcSwap::from_pointee(vec![Arc::default()]),
                files: Mutex::default(),
                relying: AtomicBool::new(false),
                dead: Dead::default(),
                pause: Mutex::default(),
                interruptible,
                attempts: Attempts::default(),
                limit: Arc::clone(&shared.limit),
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
        let mut pacer = self.limit.pacer(Work::Flush);
        let entries = memtable
            .range(&KeyRange::ALL, Direction::Forward, Timestamp::MAX)
            .flat_map(|(key, history)| surviving(&key, &history, watermark))
            .inspect(|entry| {
                if let Some(pacer) = &mut pacer {
                    pacer.count(entry.key.user_key.len() + entry.value.len());
                }
            })
            .map(Ok);
        Ok(self.tree.flush_to_tables(entries)?.map_or_else(Vec::new, |(tables, _)| tables))
    }

    /// Adds files to the tree.
    fn add_files(&self, tables: &[Table]) -> lsm_tree::Result<()> {
        // Before a merge may drop them.
        self.attempts.list(tables.iter().map(Table::id));
        let added = self.register(tables);
        if added.is_err() {
            self.attempts.unlist(tables.iter().map(Table::id));
        }
        added
    }

    fn register(&self, tables: &[Table]) -> lsm_tree::Result<()> {
        let _files = self.files.lock();
        // A compaction chooses its files right after it has begun. Until then, no newer files than it checked may
        // appear.
        while self.relying.load(Ordering::SeqCst) && !self.tree.is_compacting() {
            std::thread::sleep(Duration::from_micros(50));
        }
        // Here the watermark only prunes the tree's list of old states, which nobody reads.
        self.tree.register_tables(tables, None, None, &[], SHIFT)
    }

    /// Runs an attempt to write files.
    ///
    /// # Errors
    /// [`Error::DiskFull`] if there was no space and the tree is as before, so the attempt can be repeated. Then it
    /// writes all its files anew and syncs them, so nothing depends on files that were written or synced in vain. A
    /// merge that was interrupted leaves the tree as before too.
    fn attempt<T>(&self, what: &'static str, write: impl FnOnce() -> lsm_tree::Result<T>) -> Result<T> {
        let first = self.attempts.begin(|| self.tree.next_table_id());
        let (result, outcome) = match write() {
            Ok(written) => (Ok(written), Outcome::Done),
            Err(error) => {
                let error = self.refused(what, error);
                if is_interruption(&error) {
                    (Err(error), Outcome::Failed)
                } else if error.is_for_lack_of_space() && self.is_as_on_disk() {
                    (Err(Error::DiskFull(format!("the disk is full ({error})"))), Outcome::Failed)
                } else {
                    // If the list on disk is not the one in memory, nobody knows which files it needs.
                    (Err(error), Outcome::Unknown)
                }
            }
        };
        self.attempts.end(first, self.tree.next_table_id(), outcome);
        result
    }

    /// Returns true if the list of files on disk is the one in memory.
    fn is_as_on_disk(&self) -> bool {
        for _ in 0..LOOKS {
            let before = self.tree.current_version().id();
            let on_disk = intact::state(&self.path).map(|(number, _)| number);
            if before == self.tree.current_version().id() && on_disk.is_ok_and(|number| number == before) {
                return true;
            }
            // Another attempt may be between its list on disk and the one in memory.
            std::thread::sleep(Duration::from_millis(1));
        }
        false
    }

    /// Returns the threshold of a merge that may drop versions that have a newer one, or none if the files contain
    /// something above the watermark. If there is a threshold, no newer files appear until the next call of
    /// [`LsmStore::merge`] has chosen its files.
    fn dropping(&self, watermark: Timestamp) -> Option<SeqNo> {
        let _files = self.files.lock();
        let watermark = seqno(watermark);
        if self.persisted_seqno() > watermark {
            return None;
        }
        self.relying.store(true, Ordering::SeqCst);
        Some(watermark + 1)
    }

    /// Merges files. Returns true if that changed the tree.
    fn merge(&self, merge: impl FnOnce(&Tree) -> lsm_tree::Result<()>) -> Result<bool> {
        let before = self.tree.current_version().id();
        self.attempt("can't merge files of", || {
            let relying = Relying(&self.relying);
            let merged = merge(&self.tree);
            drop(relying);
            // Only merges drop files, so all that this one has made are still there.
            self.attempts.list(self.tree.current_version().iter_tables().map(Table::id));
            merged
        })?;
        // A flush in between changes the version too. Then there is one more step, which finds nothing to do.
        Ok(self.tree.current_version().id() != before)
    }

    /// Merges files whose versions are mostly dead. There must be nothing usual to merge.
    fn tidy(&self, watermark: Timestamp, room: &Room<'_>) -> Result<Compaction> {
        if self.interruptible.interrupts.are_due() || !self.pause.lock().is_over() {
            return Ok(Compaction::Later);
        }
        let Some((tidying, bytes)) = self.dead.worth_merging(&self.tree, TIDIED_BYTES) else {
            return Ok(Compaction::Idle);
        };
        // Nobody waits for this merge. So it does not report a lack of space, and it must not take the last space,
        // which a flush may need meanwhile.
        if room(bytes.saturating_mul(2)).is_err() {
            return Ok(Compaction::Later);
        }
        let Some(threshold) = self.dropping(watermark) else { return Ok(Compaction::Later) };
        let begun = Instant::now();
        let merged = self.merge(|tree| {
            let _on = self.interruptible.on();
            match tidying {
                Tidying::Unsorted { into } => tree.compact(Arc::new(PullDown(0, into)), threshold),
                Tidying::All => tree.major_compact(FILE_BYTES, threshold),
            }
        });
        match merged {
            Ok(changed) => {
                self.pause.lock().end();
                Ok(if changed { Compaction::Tidied } else { Compaction::Idle })
            }
            Err(error) if is_interruption(&error) || matches!(error, Error::DiskFull(_)) => {
                self.pause.lock().begin(begun.elapsed());
                Ok(Compaction::Later)
            }
            Err(error) => Err(error),
        }
    }
}

/// Ends the reliance of a merge on the check of [`LsmStore::dropping`], also if the merge panics: flushes wait for it.
struct Relying<'a>(&'a AtomicBool);

impl Drop for Relying<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
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

    fn draw(&self, draws: u64, at: Timestamp, random: &mut Random, each: &mut EachDrawn<'_>) -> Result<()> {
        // In this order: a version that a flush moves meanwhile may be in both places, but is in one at least.
        let memtables = self.memtables.load_full();
        let version = self.tree.current_version();
        let written: Vec<_> = memtables.iter().filter(|memtable| memtable.bytes() > 0).collect();
        let mut sizes: Vec<u64> = written.iter().map(|memtable| memtable.estimated_keys(random)).collect();
        sizes.extend(version.iter_tables().map(|table| table.metadata.item_count));
        let all: u64 = sizes.iter().sum();
        let counts = shares(&sizes, draws, random);
        // A version counts only where the snapshot reads it. So a key that is in several places counts once.
        let mut pass = |key: &Key, at_place: Timestamp, weight: f64| {
            self.get(key, at, &mut |value, newest| {
                if newest == at_place {
                    key.with(|key| each(key, value, weight));
                }
            })
            .map(drop)
        };
        let mut places = sizes.iter().map(|size| all as f64 / *size as f64).zip(counts);
        for (memtable, (factor, count)) in written.iter().zip(&mut places) {
            for _ in 0..count {
                if let Some((key, at_place, weight)) = memtable.draw(at, random) {
                    pass(&key, at_place, weight * factor)?;
                }
            }
        }
        for (table, (factor, count)) in
            version.iter_tables().zip(&mut places).filter(|(_, (_, count))| *count > 0)
        {
            let mut failure = Ok(());
            draw_from(table, count, random, |key, seqno, weight| {
                if failure.is_ok() {
                    failure = pass(&Key::new(key), timestamp(seqno), weight * factor);
                }
            })
            .map_err(|error| self.refused("can't read", error))?;
            failure?;
        }
        Ok(())
    }

    fn memtable_bytes(&self) -> u64 {
        self.memtables.load()[0].bytes()
    }

    fn sealed_bytes(&self) -> u64 {
        self.memtables.load().iter().skip(1).map(|memtable| memtable.bytes()).sum()
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
            self.attempt("can't write files of", || {
                self.write_files(&oldest, watermark).and_then(|tables| self.add_files(&tables))
            })?;
            self.memtables.store(Arc::new(memtables.clone()));
            free(oldest);
        }
        Ok(())
    }

    fn compact(&self, watermark: Timestamp, room: &Room<'_>) -> Result<Compaction> {
        if self.tree.table_count() == 0 {
            return Ok(Compaction::Idle);
        }
        if let Err(full) = room(self.disk_bytes().min(MERGED_BYTES)) {
            // Nothing needs the space as long as the unsorted files are few.
            return if self.unsorted_runs() < usize::from(USUAL_RUNS) {
                Ok(Compaction::Later)
            } else {
                Err(full)
            };
        }
        let threshold = match self.dropping(watermark) {
            Some(threshold) => threshold,
            None if self.tree.l0_run_count() < URGENT_RUNS => return Ok(Compaction::Later),
            None => KEEP_ALL,
        };
        let usual = Leveled::default().with_table_target_size(FILE_BYTES).with_l0_threshold(USUAL_RUNS);
        let changed = self.merge(|tree| tree.compact(Arc::new(usual), threshold))?;
        if changed { Ok(Compaction::Done) } else { self.tidy(watermark, room) }
    }

    fn compact_all(&self, watermark: Timestamp, room: &Room<'_>) -> Result<bool> {
        if self.tree.table_count() == 0 {
            return Ok(true);
        }
        // It must not take the last space, which a flush may need meanwhile.
        room(self.disk_bytes().saturating_mul(2))?;
        let dropping = self.dropping(watermark);
        self.merge(|tree| tree.major_compact(FILE_BYTES, dropping.unwrap_or(KEEP_ALL)))?;
        self.pause.lock().end();
        Ok(dropping.is_some())
    }

    fn has_strays(&self) -> bool {
        self.attempts.have_failed()
    }

    fn remove_strays(&self) {
        for stray in self.attempts.take_strays() {
            // Many numbers have no file. If a file can't be removed, the next opening does it.
            let _ = std::fs::remove_file(self.path.join(intact::TABLES).join(stray.to_string()));
        }
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

    fn size(&self) -> StoreSize {
        let file_bytes = self.disk_bytes();
        let version = self.tree.current_version();
        let compressed = version.iter_tables().map(|table| &table.metadata);
        let compressed = compressed.filter(|file| file.data_block_compression != CompressionType::None);
        let mut size = StoreSize {
            rows: self.dead.rows(&self.tree),
            bytes: file_bytes,
            files: self.tree.table_count() as u64,
            file_bytes,
            compressed_bytes: compressed.map(|file| file.file_size).sum(),
        };
        for memtable in self.memtables.load().iter() {
            for (key, history) in memtable.range(&KeyRange::ALL, Direction::Forward, Timestamp::MAX) {
                let newest = history.at(Timestamp::MAX);
                if let Some(value) = newest.and_then(|seen| seen.value) {
                    size.rows += 1;
                    size.bytes += (key.len() + value.len()) as u64;
                }
            }
        }
        size
    }

    fn block_reads(&self) -> BlockReads {
        let metrics = self.tree.metrics();
        BlockReads {
            cached: metrics.block_load_cached_count() as u64,
            from_files: metrics.block_load_io_count() as u64,
        }
    }
}

/// Distributes draws at random over places, in proportion to their sizes.
fn shares(sizes: &[u64], draws: u64, random: &mut Random) -> Vec<u64> {
    let mut end = 0;
    let ends: Vec<u64> = sizes
        .iter()
        .map(|size| {
            end += size;
            end
        })
        .collect();
    let mut counts = vec![0; sizes.len()];
    if end > 0 {
        for _ in 0..draws {
            let drawn = random.below(end);
            counts[ends.partition_point(|end| *end <= drawn)] += 1;
        }
    }
    counts
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
            what: format!("{}; restore the directory from a backup", in_words(&other)),
        },
    }
}

/// Describes an error of the tree's crate, whose own text is that of a program's values.
fn in_words(error: &lsm_tree::Error) -> String {
    use lsm_tree::Error as E;
    match error {
        E::Io(error) => format!("a file can't be read as a whole ({error})"),
        E::Decompress(_) => "a block can't be decompressed".to_owned(),
        E::InvalidVersion(version) => format!("a file has the unknown format {version}"),
        E::Unrecoverable => "a file is missing or is not of this table".to_owned(),
        E::ChecksumMismatch { .. } => "a block has a wrong checksum".to_owned(),
        E::InvalidTag((_, tag)) => format!("a block has the unknown tag {tag}"),
        E::InvalidTrailer => "the end of a block is damaged".to_owned(),
        E::InvalidHeader(_) => "the beginning of a block is damaged".to_owned(),
        E::Utf8(_) => "a name in a file is not UTF-8".to_owned(),
        // The crate may get new ones.
        _ => "a file is damaged".to_owned(),
    }
}

#[cfg(test)]
mod tests;
