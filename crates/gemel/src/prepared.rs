//! The prepared transactions that are undecided: their names, limits and protection (`DESIGN.md`, "Prepared
//! transactions").
//!
//! The locks of their writes are in the engines. What they have read is protected here: a commit that writes it finds
//! it.

use crate::engine::Write;
use crate::error::{Error, Result};
use crate::ids::{KeyspaceId, MAX_ENGINES, Owner};
use crate::key::{Key, KeyRange, MAX_NAME_BYTES};
use crate::options::Options;
use crate::oracle::Trace;
use crate::order::active::{COUNTERS, Count, SEATS};
use crate::order::protocol::Part;
use parking_lot::{Mutex, RwLock};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use std::time::{Duration, SystemTime};

/// A transaction that was prepared and is undecided, as [`Database::prepared`](crate::Database::prepared) lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PreparedTransaction {
    /// Name of the transaction.
    pub name: String,
    /// Time at which it was prepared, by the system's clock.
    pub prepared_at: SystemTime,
    /// Rows and index entries that it wrote.
    pub rows: u64,
    /// Bytes of its record in the log: its writes, and the reads that it protects.
    pub bytes: u64,
}

/// Prepared transactions, as [`Database::state`](crate::Database::state) reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PreparedState {
    /// Transactions that are undecided.
    pub undecided: usize,
    /// Bytes of [`Options::prepared_limit_bytes`] that they take.
    pub bytes: u64,
    /// Time since the oldest undecided one was prepared, by the system's clock. Zero if there is none.
    pub oldest_age: Duration,
    /// Transactions prepared since the database was opened.
    pub prepared: u64,
}

/// Keys and ranges that a transaction has read and that nobody else may change.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    keys: BTreeSet<(usize, KeyspaceId, Key)>,
    ranges: BTreeMap<(usize, KeyspaceId), Vec<KeyRange>>,
}

impl Reads {
    pub(crate) fn add_key(&mut self, engine: usize, keyspace: KeyspaceId, key: Key) {
        self.keys.insert((engine, keyspace, key));
    }

    pub(crate) fn add_range(&mut self, engine: usize, keyspace: KeyspaceId, range: KeyRange) {
        let ranges = self.ranges.entry((engine, keyspace)).or_default();
        if !ranges.contains(&range) {
            ranges.push(range);
        }
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = (usize, KeyspaceId, &Key)> {
        self.keys.iter().map(|(engine, keyspace, key)| (*engine, *keyspace, key))
    }

    pub(crate) fn ranges(&self) -> impl Iterator<Item = (usize, KeyspaceId, &KeyRange)> {
        let of = |(place, ranges): (&(usize, KeyspaceId), _)| (*place, ranges);
        self.ranges.iter().map(of).flat_map(|((engine, keyspace), ranges): (_, &Vec<KeyRange>)| {
            ranges.iter().map(move |range| (engine, keyspace, range))
        })
    }

    /// Returns the number of keys and ranges.
    pub(crate) fn len(&self) -> usize {
        self.keys.len() + self.ranges.values().map(Vec::len).sum::<usize>()
    }

    /// Returns the most bytes that the reads take in a record.
    pub(crate) fn bytes(&self) -> usize {
        let of_bound = |bound: &Bound<Key>| match bound {
            Bound::Included(key) | Bound::Excluded(key) => 3 + key.len(),
            Bound::Unbounded => 1,
        };
        let keys = self.keys.iter().map(|(.., key)| 8 + key.len()).sum::<usize>();
        let ranges = self.ranges.values().flatten();
        4 + keys + ranges.map(|range| 6 + of_bound(&range.lower) + of_bound(&range.upper)).sum::<usize>()
    }

    /// Returns true if a key is one of the keys or in one of the ranges.
    pub(crate) fn contain(&self, engine: usize, keyspace: KeyspaceId, key: &Key) -> bool {
        let in_range = |ranges: &Vec<KeyRange>| ranges.iter().any(|range| range.contains(key));
        self.ranges.get(&(engine, keyspace)).is_some_and(in_range)
            || !self.keys.is_empty() && self.keys.contains(&(engine, keyspace, key.clone()))
    }

    /// Removes the reads of a keyspace.
    pub(crate) fn forget(&mut self, engine: usize, keyspace: KeyspaceId) {
        self.keys.retain(|(of, space, _)| (*of, *space) != (engine, keyspace));
        self.ranges.remove(&(engine, keyspace));
    }

    /// Returns the engines and keyspaces that were read.
    pub(crate) fn places(&self) -> impl Iterator<Item = (usize, KeyspaceId)> {
        self.keys().map(|(engine, keyspace, _)| (engine, keyspace)).chain(self.ranges.keys().copied())
    }
}

/// The parts of a prepared transaction that its decision needs.
pub(crate) struct Work {
    /// The writes by engine, locked.
    pub(crate) parts: Vec<Part<Vec<Write>>>,
    pub(crate) trace: Option<Box<Trace>>,
}

/// A prepared transaction that recovery has found in the log.
pub(crate) struct Found<'a> {
    pub(crate) number: u64,
    pub(crate) name: &'a str,
    pub(crate) at_us: u64,
    /// Length of the record in bytes.
    pub(crate) bytes: u64,
    pub(crate) reads: Reads,
    /// The writes by engine.
    pub(crate) writes: [Vec<Write>; MAX_ENGINES],
}

/// A transaction that is prepared or is being prepared.
pub(crate) struct Entry {
    pub(crate) name: String,
    /// Number in the log. No other prepared transaction in the log has it.
    pub(crate) number: u64,
    /// Owner of its locks. Its place is not the one that it had while it ran, which another transaction may have now.
    pub(crate) owner: Owner,
    /// Time at which it was prepared, in microseconds since 1970.
    pub(crate) at_us: u64,
    /// Engines in which it takes part, each with true if it wrote there.
    pub(crate) engines: Vec<(usize, bool)>,
    /// Number of writes.
    pub(crate) rows: u64,
    pub(crate) reads: Reads,
    keyspaces: BTreeSet<KeyspaceId>,
    bytes: AtomicU64,
    /// True once it is prepared.
    is_ready: AtomicBool,
    /// The writes, once it is prepared; none again once it is decided. Held while its records are appended to the log,
    /// so a checkpoint finds it in the log or here.
    pub(crate) work: Mutex<Option<Work>>,
}

impl Entry {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn listed(&self) -> PreparedTransaction {
        PreparedTransaction {
            name: self.name.clone(),
            prepared_at: SystemTime::UNIX_EPOCH + Duration::from_micros(self.at_us),
            rows: self.rows,
            bytes: self.bytes(),
        }
    }

    /// Marks a transaction as prepared.
    pub(crate) fn set_ready(&self) {
        self.is_ready.store(true, Ordering::Release);
    }

    fn is_ready(&self) -> bool {
        self.is_ready.load(Ordering::Acquire)
    }
}

/// A transaction to be prepared.
pub(crate) struct Draft<'n> {
    pub(crate) name: &'n str,
    /// Number of the transaction.
    pub(crate) transaction: u64,
    pub(crate) at_us: u64,
    pub(crate) engines: Vec<(usize, bool)>,
    pub(crate) rows: u64,
    /// Keyspaces of the writes. Those of the reads are added.
    pub(crate) keyspaces: BTreeSet<KeyspaceId>,
    pub(crate) reads: Reads,
}

/// A change of the catalog that keeps its keyspaces from being used by prepared transactions. Dropping it ends that.
pub(crate) struct Blocked<'a> {
    of: &'a PreparedTransactions,
    number: u64,
}

impl Drop for Blocked<'_> {
    fn drop(&mut self) {
        self.of.table.write().blocks.retain(|block| block.number != self.number);
    }
}

struct Block {
    number: u64,
    ids: Vec<KeyspaceId>,
    /// The error for a transaction that uses one of the keyspaces.
    error: fn(&str) -> Error,
    /// Name of the table or keyspace.
    name: String,
}

/// The places of prepared transactions as [`Owner`]s, behind those of running ones.
struct Places {
    /// The next place that no transaction has had.
    next: u32,
    /// Places below `next` that no transaction has.
    free: Vec<u32>,
}

impl Places {
    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }
}

struct Table {
    entries: BTreeMap<String, Arc<Entry>>,
    places: Places,
    blocks: Vec<Block>,
    /// Bytes of all entries.
    bytes: u64,
}

/// The prepared transactions that are undecided, and those that are being prepared.
pub(crate) struct PreparedTransactions {
    limit: usize,
    limit_bytes: u64,
    /// The last number that a transaction or a block got.
    numbers: AtomicU64,
    table: RwLock<Table>,
    /// Number of entries with reads, so a commit takes no lock while there are none.
    protecting: AtomicUsize,
    /// Decisions since the database was opened, by their outcomes.
    decided: [AtomicU64; COUNTERS],
}

/// Returns the error for a name that is not valid.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let bytes = name.len();
    if (1..=MAX_NAME_BYTES).contains(&bytes) {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "the name of a prepared transaction has {bytes} bytes: give it 1 to {MAX_NAME_BYTES}"
    )))
}

impl PreparedTransactions {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            limit: options.prepared_limit,
            limit_bytes: options.prepared_limit_bytes,
            numbers: AtomicU64::new(0),
            table: RwLock::new(Table {
                entries: BTreeMap::new(),
                places: Places { next: SEATS as u32 + 1, free: Vec::new() },
                blocks: Vec::new(),
                bytes: 0,
            }),
            protecting: AtomicUsize::new(0),
            decided: Default::default(),
        }
    }

    /// Lets numbers follow `last`, the largest in the log. Only before the first transaction.
    pub(crate) fn recover(&self, last: u64) {
        self.numbers.fetch_max(last, Ordering::Relaxed);
    }

    fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Enters a transaction that is about to be prepared. From here on its reads are protected, and its keyspaces can't
    /// be changed.
    ///
    /// # Errors
    /// The name is in use, there are too many, or one of the keyspaces is being changed.
    pub(crate) fn reserve(&self, draft: Draft<'_>) -> Result<Arc<Entry>> {
        let number = self.next_number();
        let mut table = self.table.write();
        if table.entries.contains_key(draft.name) {
            return Err(Error::Usage(format!(
                "a prepared transaction {:?} is undecided: commit it or roll it back, or use another name",
                draft.name
            )));
        }
        if table.entries.len() >= self.limit {
            return Err(Error::Capacity(format!(
                "{} prepared transactions are undecided, the limit (prepared_limit): commit or roll back some, or raise \
                 the limit",
                table.entries.len()
            )));
        }
        let mut entry = Entry::new(draft, number);
        let is_used = |block: &&Block| block.ids.iter().any(|id| entry.keyspaces.contains(id));
        if let Some(block) = table.blocks.iter().find(is_used) {
            return Err((block.error)(&block.name));
        }
        entry.owner.place = table.places.take();
        Ok(self.insert(&mut table, entry))
    }

    /// Enters a transaction that recovery has found. No limit applies: what was prepared stays so.
    pub(crate) fn restore(&self, draft: Draft<'_>, number: u64, bytes: u64) -> Arc<Entry> {
        let mut entry = Entry::new(draft, number);
        entry.bytes.store(bytes, Ordering::Relaxed);
        let mut table = self.table.write();
        entry.owner.place = table.places.take();
        table.bytes += bytes;
        self.insert(&mut table, entry)
    }

    fn insert(&self, table: &mut Table, entry: Entry) -> Arc<Entry> {
        let entry = Arc::new(entry);
        table.entries.insert(entry.name.clone(), Arc::clone(&entry));
        if entry.reads.len() > 0 {
            self.protecting.fetch_add(1, Ordering::SeqCst);
            // Pairs with the fence of a commit between its locks and `protects`: either the commit finds the reads, or
            // their validation, which comes after this, finds the locks.
            fence(Ordering::SeqCst);
        }
        entry
    }

    /// Counts the bytes of an entry's record.
    ///
    /// # Errors
    /// They exceed the limit.
    pub(crate) fn take_bytes(&self, entry: &Entry, bytes: u64) -> Result<()> {
        let mut table = self.table.write();
        if table.bytes.saturating_add(bytes) > self.limit_bytes {
            return Err(Error::Capacity(format!(
                "the transaction takes {bytes} bytes while it is prepared, and of the limit of {} bytes \
                 (prepared_limit_bytes) others take {}: commit or roll back prepared transactions, or raise the limit",
                self.limit_bytes, table.bytes
            )));
        }
        table.bytes += bytes;
        entry.bytes.store(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Removes an entry that was decided or could not be prepared. Its owner must have no locks any more: another
    /// transaction gets its place.
    pub(crate) fn remove(&self, entry: &Entry) {
        let mut table = self.table.write();
        table.entries.remove(&entry.name);
        table.places.free.push(entry.owner.place);
        table.bytes -= entry.bytes();
        if entry.reads.len() > 0 {
            self.protecting.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Returns the undecided transaction of this name.
    pub(crate) fn find(&self, name: &str) -> Result<Arc<Entry>> {
        let table = self.table.read();
        let found = table.entries.get(name).filter(|entry| entry.is_ready());
        found.cloned().ok_or_else(|| unknown(name))
    }

    /// Returns all entries, those included that are being prepared.
    pub(crate) fn all(&self) -> Vec<Arc<Entry>> {
        self.table.read().entries.values().cloned().collect()
    }

    /// Returns the undecided transactions, oldest first.
    pub(crate) fn list(&self) -> Vec<PreparedTransaction> {
        let mut ready: Vec<_> = self.all().into_iter().filter(|entry| entry.is_ready()).collect();
        ready.sort_by_key(|entry| entry.number);
        ready.iter().map(|entry| entry.listed()).collect()
    }

    /// Returns true if prepared transactions protect reads. A commit asks this after it has locked its keys, with a
    /// fence in between, and before it draws a timestamp.
    #[inline]
    pub(crate) fn protects(&self) -> bool {
        self.protecting.load(Ordering::SeqCst) > 0
    }

    /// Returns the first of the keys that a prepared transaction other than number `owner` has read.
    pub(crate) fn first_protected<'k>(
        &self,
        owner: u64,
        mut keys: impl Iterator<Item = (usize, KeyspaceId, &'k Key)>,
    ) -> Option<(usize, KeyspaceId)> {
        if !self.protects() {
            return None;
        }
        let table = self.table.read();
        let others: Vec<_> = table
            .entries
            .values()
            .filter(|entry| entry.owner.number != owner && entry.reads.len() > 0)
            .collect();
        let found = keys.find(|(engine, keyspace, key)| {
            others.iter().any(|entry| entry.reads.contain(*engine, *keyspace, key))
        });
        found.map(|(engine, keyspace, _)| (engine, keyspace))
    }

    /// Returns the name of the undecided transaction that has read or written a key.
    pub(crate) fn name_of_holder(&self, engine: usize, keyspace: KeyspaceId, key: &Key) -> Option<String> {
        let wrote = |entry: &Entry| {
            // One that is being decided is about to be gone.
            let work = entry.work.try_lock();
            let parts = work.iter().filter_map(|work| work.as_ref()).flat_map(|work| &work.parts);
            let mut writes = parts.flat_map(|part| &part.writes);
            writes.any(|write| write.keyspace == keyspace && write.key == *key)
        };
        let all = self.all();
        let holder = all.iter().find(|entry| entry.reads.contain(engine, keyspace, key) || wrote(entry));
        holder.map(|entry| entry.name.clone())
    }

    /// Keeps keyspaces, those of the table or keyspace `name`, from being used by prepared transactions while they are
    /// changed. `error` makes the error for such a transaction.
    ///
    /// # Errors
    /// A prepared transaction uses one of them already.
    pub(crate) fn block(
        &self,
        ids: &[KeyspaceId],
        name: &str,
        error: fn(&str) -> Error,
    ) -> Result<Blocked<'_>> {
        let number = self.next_number();
        let mut table = self.table.write();
        let uses = |entry: &&Arc<Entry>| ids.iter().any(|id| entry.keyspaces.contains(id));
        if let Some(entry) = table.entries.values().find(uses) {
            return Err(Error::Usage(format!(
                "{name:?} can't be changed while the prepared transaction {:?} that used it is undecided: commit it or \
                 roll it back first",
                entry.name
            )));
        }
        table.blocks.push(Block { number, ids: ids.to_vec(), error, name: name.to_owned() });
        Ok(Blocked { of: self, number })
    }

    /// Counts a decision.
    pub(crate) fn count(&self, outcome: Count) {
        self.decided[outcome as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of decisions of this outcome.
    pub(crate) fn counted(&self, outcome: Count) -> u64 {
        self.decided[outcome as usize].load(Ordering::Relaxed)
    }

    /// Returns the state. `prepared` is the number of transactions that were prepared.
    pub(crate) fn state(&self, prepared: u64) -> PreparedState {
        let table = self.table.read();
        let ready = || table.entries.values().filter(|entry| entry.is_ready());
        let oldest = ready().map(|entry| entry.listed().prepared_at).min();
        PreparedState {
            undecided: ready().count(),
            bytes: table.bytes,
            // A clock that was set back makes no negative age.
            oldest_age: oldest.and_then(|at| at.elapsed().ok()).unwrap_or_default(),
            prepared,
        }
    }
}

/// Returns the error for a name that no undecided transaction has.
pub(crate) fn unknown(name: &str) -> Error {
    Error::Usage(format!(
        "no prepared transaction {name:?} is undecided: Database::prepared lists those that are"
    ))
}

impl Entry {
    fn new(draft: Draft<'_>, number: u64) -> Self {
        let Draft { name, transaction, at_us, engines, rows, mut keyspaces, reads } = draft;
        keyspaces.extend(reads.places().map(|(_, keyspace)| keyspace));
        Self {
            name: name.to_owned(),
            number,
            owner: Owner { number: transaction, place: 0 },
            at_us,
            engines,
            rows,
            reads,
            keyspaces,
            bytes: AtomicU64::new(0),
            is_ready: AtomicBool::new(false),
            work: Mutex::new(None),
        }
    }
}
