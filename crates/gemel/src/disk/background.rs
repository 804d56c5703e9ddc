//! Background work from memory to files: sealing, flushing, compaction, and stalling writers when these can't keep up.

use super::interrupt::Interrupts;
use super::keyspace::Keyspace;
use super::space::Space;
use super::store::Compaction;
use super::{BeforeFlush, DiskState, NAME};
use crate::error::{Error, Result};
use crate::files::fail_point;
use crate::keyspaces::Keyspaces;
use crate::limit::{Limit, Work};
use crate::options::Options;
use crate::order::clock::{Clock, Timestamp};
use parking_lot::lock_api::RawRwLock as _;
use parking_lot::{Condvar, Mutex, MutexGuard, RawRwLock};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

/// Bytes of writes in memory at which commits wait, as a multiple of the write buffer.
const FULL_BUFFERS: u64 = 3;
/// Bytes of writes in memory at which a flush is late, as a multiple of the write buffer: one buffer fills while another
/// is flushed. From there on the limit of background writing gives way to flushes.
const NEAR_FULL_BUFFERS: u64 = 2;
/// Number of unsorted runs of files in one keyspace at which commits wait.
const FULL_RUNS: usize = 24;
/// Number of unsorted runs in one keyspace from which on commits may soon have to wait. Then merges that nobody waits
/// for end early, and the limit of background writing gives way to the other merges.
const NEAR_FULL_RUNS: usize = FULL_RUNS / 2;
/// Interval at which work that must wait is retried: a flush without space, or a compaction that waits for what
/// [`Compaction::Later`] names.
const LATER: Duration = Duration::from_millis(200);

/// The state that commits and the background threads share.
pub(crate) struct Shared {
    pub(crate) clock: Clock,
    pub(crate) keyspaces: Keyspaces<Keyspace>,
    /// Held shared by a commit from before its first lock to its last insert: see [`Shared::rotate`].
    pub(crate) latch: RawRwLock,
    /// The watermark: no older snapshot will be read.
    pub(crate) watermark: AtomicU64,
    before_flush: BeforeFlush,
    pub(super) space: Space,
    /// Reasons for which merges end early, if nobody waits for them.
    pub(super) interrupts: Arc<Interrupts>,
    /// The limit of background writing.
    pub(super) limit: Arc<Limit>,
    write_buffer_bytes: u64,
    /// Bytes of writes that are not sealed.
    active_bytes: AtomicU64,
    /// Bytes of sealed writes that are not in files.
    sealed_bytes: AtomicU64,
    /// Maximum number of unsorted runs in a keyspace, as of the last flush or compaction.
    runs: AtomicUsize,
    flushes: AtomicU64,
    compactions: AtomicU64,
    stalls: AtomicU64,
    /// True if a flush has been ordered and has not begun, so it is ordered only once.
    asked: AtomicBool,
    /// True once a compaction was ordered for the files that were there at the opening.
    begun: AtomicBool,
    /// Held during a flush.
    flushing: Mutex<()>,
    /// Held during a compaction.
    compacting: Mutex<()>,
    orders: Mutex<Orders>,
    /// Signals new orders.
    ordered: Condvar,
    /// Signals space for writes.
    room: Condvar,
    failure: OnceLock<String>,
}

/// Orders for the background threads.
#[derive(Default)]
struct Orders {
    flush: bool,
    compact: bool,
    stop: bool,
    /// The reason why the last flush found no space on the disk.
    flush_waits: Option<String>,
    /// The same for the last compaction.
    compaction_waits: Option<String>,
}

impl Orders {
    fn full(&self) -> Option<&String> {
        self.flush_waits.as_ref().or(self.compaction_waits.as_ref())
    }
}

/// Starts the background threads.
pub(crate) fn start(shared: &Arc<Shared>) -> io::Result<Vec<JoinHandle<()>>> {
    let mut threads = Vec::new();
    for (name, work) in [
        ("gemel-flush", Shared::flush_on_demand as fn(&Shared)),
        ("gemel-compact", Shared::compact_on_demand),
    ] {
        let worker = Arc::clone(shared);
        let thread = std::thread::Builder::new().name(name.into()).spawn(move || worker.guard(work));
        match thread {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                shared.stop();
                return Err(error);
            }
        }
    }
    Ok(threads)
}

impl Shared {
    pub(crate) fn new(directory: &Path, options: &Options, before_flush: BeforeFlush) -> Self {
        Self {
            clock: Clock::new(Timestamp::ZERO),
            keyspaces: Keyspaces::of(NAME),
            latch: RawRwLock::INIT,
            watermark: AtomicU64::new(0),
            before_flush,
            space: Space::new(directory),
            interrupts: Arc::default(),
            limit: Arc::new(Limit::new(options.background_bytes_per_second)),
            write_buffer_bytes: options.write_buffer_bytes,
            active_bytes: AtomicU64::new(0),
            sealed_bytes: AtomicU64::new(0),
            runs: AtomicUsize::new(0),
            flushes: AtomicU64::new(0),
            compactions: AtomicU64::new(0),
            stalls: AtomicU64::new(0),
            asked: AtomicBool::new(false),
            begun: AtomicBool::new(false),
            flushing: Mutex::new(()),
            compacting: Mutex::new(()),
            orders: Mutex::default(),
            ordered: Condvar::new(),
            room: Condvar::new(),
            failure: OnceLock::new(),
        }
    }

    /// Returns all keyspaces, without the dropped ones.
    pub(crate) fn keyspaces_in_use(&self) -> impl Iterator<Item = &Keyspace> {
        self.keyspaces.all().filter(|keyspace| !keyspace.is_gone.load(Ordering::SeqCst))
    }

    /// Returns the counters that are kept here.
    pub(crate) fn state(&self) -> DiskState {
        DiskState {
            memtable_bytes: self.active_bytes.load(Ordering::Relaxed),
            sealed_bytes: self.sealed_bytes.load(Ordering::Relaxed),
            flushes: self.flushes.load(Ordering::Relaxed),
            compactions: self.compactions.load(Ordering::Relaxed),
            stalls: self.stalls.load(Ordering::Relaxed),
            ..DiskState::default()
        }
    }

    /// Returns the error of an earlier flush or compaction, if one failed.
    pub(crate) fn check(&self) -> Result<()> {
        self.failure.get().map_or(Ok(()), |why| Err(Error::Poisoned(why.clone())))
    }

    /// Records a failure for good. The data that was being flushed is in memory only, and a retry could hide its loss.
    pub(crate) fn fail(&self, error: &Error) {
        self.keep(match error {
            Error::Poisoned(why) => why.clone(),
            other => format!("the disk engine could not write its files ({other})"),
        });
    }

    fn keep(&self, why: String) {
        // Only the first failure is kept: it is the cause.
        let _ = self.failure.set(why);
        let _orders = self.orders.lock();
        self.ordered.notify_all();
        self.room.notify_all();
    }

    /// Tells the threads to end.
    pub(crate) fn stop(&self) {
        self.interrupts.interrupt_for_good();
        self.limit.give_way_for_good();
        self.orders.lock().stop = true;
        self.ordered.notify_all();
        self.room.notify_all();
    }

    /// Lets a commit begin, once there is space for its writes.
    pub(crate) fn admit(&self) -> Result<()> {
        self.check()?;
        if self.has_room() {
            return Ok(());
        }
        self.stalls.fetch_add(1, Ordering::Relaxed);
        // Recovery fills the write buffer without ordering a flush, so it is ordered here.
        self.flush_if_full();
        let mut orders = self.orders.lock();
        loop {
            self.check()?;
            if orders.stop {
                return Err(Error::Usage("the disk engine is closed: open the database again".into()));
            }
            if self.has_room() {
                return Ok(());
            }
            if let Some(why) = orders.full() {
                return Err(Error::DiskFull(why.clone()));
            }
            crate::log::may_wait()?;
            // A thread that makes space signals it. The timeout covers a signal that came just before the wait.
            self.room.wait_for(&mut orders, Duration::from_millis(10));
        }
    }

    /// Returns the bytes of writes that are not in files.
    fn unwritten_bytes(&self) -> u64 {
        self.active_bytes.load(Ordering::Relaxed) + self.sealed_bytes.load(Ordering::Relaxed)
    }

    /// Makes the limit of background writing give way to flushes, if commits would soon have to wait for one.
    fn note_unwritten(&self) {
        let near_full = NEAR_FULL_BUFFERS.saturating_mul(self.write_buffer_bytes);
        self.limit.note(Work::Flush, self.unwritten_bytes() >= near_full);
    }

    fn has_room(&self) -> bool {
        let bytes = self.unwritten_bytes();
        bytes < FULL_BUFFERS.saturating_mul(self.write_buffer_bytes)
            && self.runs.load(Ordering::Relaxed) < FULL_RUNS
    }

    /// Counts bytes that were inserted into memtables.
    pub(crate) fn inserted(&self, bytes: u64) {
        self.active_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Orders a flush if the write buffer is full.
    pub(crate) fn flush_if_full(&self) {
        if self.active_bytes.load(Ordering::Relaxed) >= self.write_buffer_bytes {
            self.note_unwritten();
            if !self.asked.swap(true, Ordering::SeqCst) {
                self.order_flush();
            }
        }
    }

    pub(crate) fn order_flush(&self) {
        self.orders.lock().flush = true;
        self.ordered.notify_all();
    }

    /// Runs a thread's work. A panic is recorded as a failure.
    fn guard(&self, work: fn(&Self)) {
        if catch_unwind(AssertUnwindSafe(|| work(self))).is_err() {
            self.keep("a background thread of the disk engine panicked".into());
        }
    }

    /// Waits until `take` takes an order, or until the time `again` is over. Returns false if the thread must end.
    fn await_order(&self, again: Option<Duration>, take: fn(&mut Orders) -> bool) -> bool {
        let mut orders = self.orders.lock();
        loop {
            if orders.stop || self.failure.get().is_some() {
                return false;
            }
            if take(&mut orders) {
                return true;
            }
            match again {
                None => self.ordered.wait(&mut orders),
                Some(time) => {
                    if self.ordered.wait_for(&mut orders, time).timed_out() {
                        return !orders.stop;
                    }
                }
            }
        }
    }

    fn flush_on_demand(&self) {
        let mut again = None;
        while self.await_order(again, |orders| std::mem::take(&mut orders.flush)) {
            again = match self.flush_or_fail() {
                Err(Error::DiskFull(_)) => Some(LATER),
                _ => None,
            };
            self.remove_strays();
        }
    }

    /// Writes all earlier commits to files. A failure is kept for good, unless there is no space on the disk: then the
    /// trees are as before, and the memtables wait for the next flush.
    pub(crate) fn flush_or_fail(&self) -> Result<()> {
        let flushed = self.flush();
        self.note_space(&flushed, |orders| &mut orders.flush_waits);
        flushed.inspect_err(|error| {
            if !matches!(error, Error::DiskFull(_)) {
                self.fail(error);
            }
        })
    }

    /// Notes if there was no space on the disk, for commits that wait.
    fn note_space<T>(&self, outcome: &Result<T>, waits: fn(&mut Orders) -> &mut Option<String>) {
        let mut orders = self.orders.lock();
        *waits(&mut orders) = match outcome {
            Err(Error::DiskFull(why)) => Some(why.clone()),
            _ => None,
        };
        self.interrupts.note_space(orders.flush_waits.is_some());
        self.room.notify_all();
    }

    /// Returns the reason why a flush or compaction waits for space on the disk, if one does.
    pub(crate) fn full(&self) -> Option<String> {
        self.orders.lock().full().cloned()
    }

    fn compact_on_demand(&self) {
        let mut again = None;
        while self.await_order(again, |orders| std::mem::take(&mut orders.compact)) {
            let compacted = self.compact();
            self.note_space(&compacted, |orders| &mut orders.compaction_waits);
            again = match compacted {
                Ok(Compaction::Later) | Err(Error::DiskFull(_)) => Some(LATER),
                Ok(_) => None,
                Err(error) => {
                    self.fail(&error);
                    None
                }
            };
        }
    }

    fn flush(&self) -> Result<()> {
        let _flushing = self.flushing.lock();
        self.check()?;
        self.note_unwritten();
        let bytes = self.unwritten_bytes();
        if bytes > 0 {
            // Before the memtables are sealed: each attempt would add one to those that reads must visit.
            self.space.check(bytes)?;
        }
        // The memtables that an attempt without space has sealed go first. Otherwise each attempt would seal one more.
        self.write_out()?;
        self.rotate();
        self.write_out()
    }

    /// Writes the sealed memtables to files, if there are some.
    fn write_out(&self) -> Result<()> {
        if self.sealed_bytes.load(Ordering::Relaxed) > 0 {
            // A commit that panicked may have inserted a part of its writes.
            self.clock.check()?;
            (self.before_flush)()?;
            fail_point("disk.before_flush");
            self.write_sealed()?;
            fail_point("disk.after_flush");
        }
        Ok(())
    }

    /// Removes the files that flushes and merges have left when they failed, unless one is running. Then that one or a
    /// later one removes them.
    fn remove_strays(&self) {
        if !self.keyspaces_in_use().any(|keyspace| keyspace.store.has_strays()) {
            return;
        }
        if let Some(_compacting) = self.compacting.try_lock()
            && let Some(_flushing) = self.flushing.try_lock()
        {
            self.keyspaces_in_use().for_each(|keyspace| keyspace.store.remove_strays());
        }
    }

    /// Waits for a flush and a step of compaction, and keeps others from beginning.
    fn hold_files(&self) -> [MutexGuard<'_, ()>; 2] {
        let _unlimited = self.limit.give_way();
        // Always in this order, so no two wait for each other. A compaction can take long, and waiting for it first does
        // not hold up flushes.
        [self.interrupts.while_waiting(|| self.compacting.lock()), self.flushing.lock()]
    }

    /// Calls `work` while no flush and no compaction changes the trees' lists of files.
    pub(crate) fn while_files_stay<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let _held = self.hold_files();
        self.check()?;
        work()
    }

    /// Seals the memtables of all keyspaces at once.
    ///
    /// The exclusive latch waits until no commit is between drawing its timestamp and its last insert. So every commit
    /// is wholly before the rotation or wholly after it, and the sealed memtables are a prefix of the order of commits.
    /// A commit takes the latch before it locks a key or draws a timestamp, so one that waits here holds up nobody.
    fn rotate(&self) {
        self.asked.store(false, Ordering::SeqCst);
        self.latch.lock_exclusive();
        for keyspace in self.keyspaces_in_use() {
            keyspace.store.rotate();
        }
        self.sealed_bytes.fetch_add(self.active_bytes.swap(0, Ordering::Relaxed), Ordering::Relaxed);
        // SAFETY: this thread took the latch above.
        unsafe { self.latch.unlock_exclusive() };
    }

    /// Writes the sealed memtables to files.
    fn write_sealed(&self) -> Result<()> {
        let mut written = Ok(());
        for keyspace in self.keyspaces_in_use() {
            match keyspace.store.flush(self.watermark()) {
                Ok(()) => {}
                // A smaller keyspace may find the space that it needs.
                Err(full @ Error::DiskFull(_)) => written = written.and(Err(full)),
                Err(error) => {
                    written = Err(error);
                    break;
                }
            }
        }
        let left = self.keyspaces_in_use().map(|keyspace| keyspace.store.sealed_bytes()).sum();
        self.sealed_bytes.store(left, Ordering::Relaxed);
        self.note_unwritten();
        self.files_changed();
        self.order_compaction();
        written?;
        self.flushes.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn order_compaction(&self) {
        self.orders.lock().compact = true;
        self.ordered.notify_all();
    }

    /// Orders a compaction at the first call: an earlier process may have left files that are worth merging. The caller
    /// has opened the database, so nothing compares the files with the manifest any more.
    pub(crate) fn begin_to_compact(&self) {
        if !self.begun.load(Ordering::Relaxed) && !self.begun.swap(true, Ordering::SeqCst) {
            self.order_compaction();
        }
    }

    /// Merges files until all keyspaces are in good order, or wait for what [`Compaction::Later`] names.
    fn compact(&self) -> Result<Compaction> {
        loop {
            let (mut all, mut tidied) = (Ok(Compaction::Idle), false);
            for keyspace in self.keyspaces_in_use() {
                loop {
                    if self.orders.lock().stop {
                        return Ok(Compaction::Idle);
                    }
                    let step = self.compact_once(keyspace);
                    self.remove_strays();
                    match step {
                        Ok(Compaction::Done) => continue,
                        Ok(Compaction::Idle) => {}
                        // One such merge for each keyspace in a pass: under load there may always be another.
                        Ok(Compaction::Tidied) => tidied = true,
                        Ok(Compaction::Later) => all = all.and(Ok(Compaction::Later)),
                        // A smaller keyspace may find the space that it needs.
                        Err(Error::DiskFull(why)) => all = Err(Error::DiskFull(why)),
                        Err(error) => return Err(error),
                    }
                    break;
                }
            }
            if !tidied {
                return all;
            }
        }
    }

    /// Runs one step of compaction for one keyspace.
    pub(crate) fn compact_once(&self, keyspace: &Keyspace) -> Result<Compaction> {
        let _compacting = self.compacting.lock();
        if keyspace.is_gone.load(Ordering::SeqCst) {
            return Ok(Compaction::Idle);
        }
        fail_point("disk.before_compact");
        let step = keyspace.store.compact(self.watermark(), &|bytes| self.space.check(bytes))?;
        if matches!(step, Compaction::Done | Compaction::Tidied) {
            self.count_compaction();
        }
        Ok(step)
    }

    /// Counts a compaction that has changed a tree's files.
    fn count_compaction(&self) {
        fail_point("disk.after_compact");
        self.compactions.fetch_add(1, Ordering::Relaxed);
        self.files_changed();
    }

    /// Merges all files of a keyspace. Returns false if old versions had to stay, because a snapshot may read them.
    /// Other merges wait meanwhile.
    pub(crate) fn compact_all(&self, keyspace: &Keyspace) -> Result<bool> {
        let merged = {
            let _compacting = self.interrupts.while_waiting(|| self.compacting.lock());
            self.check()?;
            if keyspace.is_gone.load(Ordering::SeqCst) {
                return Ok(true);
            }
            fail_point("disk.before_compact");
            keyspace.store.compact_all(self.watermark(), &|bytes| self.space.check(bytes))
        };
        match &merged {
            Ok(_) => self.count_compaction(),
            Err(Error::DiskFull(_)) => {}
            // Nobody knows which files the tree needs.
            Err(error) => self.fail(error),
        }
        self.remove_strays();
        merged
    }

    /// Drops the content of a keyspace to which nobody commits any more. Waits for a flush or a step of compaction.
    pub(crate) fn clear(&self, keyspace: &Keyspace) -> Result<()> {
        let _held = self.hold_files();
        if keyspace.is_gone.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        let store = &keyspace.store;
        for (counter, bytes) in
            [(&self.active_bytes, store.memtable_bytes()), (&self.sealed_bytes, store.sealed_bytes())]
        {
            let counted = |counted: u64| Some(counted.saturating_sub(bytes));
            let _ = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, counted);
        }
        keyspace.recent.clear();
        let cleared = keyspace.store.clear();
        self.files_changed();
        cleared
    }

    fn files_changed(&self) {
        // Under the lock: a flush and a compaction may end at once, and the last number must stay.
        let _orders = self.orders.lock();
        let most = self.keyspaces_in_use().map(|keyspace| keyspace.store.unsorted_runs()).max();
        let most = most.unwrap_or(0);
        self.runs.store(most, Ordering::Relaxed);
        self.interrupts.note_writers(most >= NEAR_FULL_RUNS);
        self.limit.note(Work::Merge, most >= NEAR_FULL_RUNS);
        self.room.notify_all();
    }

    fn watermark(&self) -> Timestamp {
        Timestamp(self.watermark.load(Ordering::SeqCst))
    }
}
