//! The synchronisation core of a log: the buffer that appenders fill and the writer takes, and the queue of waiters for
//! positions. It knows no files, so a model checker can run it (see `model.rs`).
//!
//! One mutex guards all of it. The writer takes the whole buffer; while it writes and syncs, the next batch collects. A
//! large record becomes a batch of its own, without a copy. That is all that group commit needs. A log that gathers
//! commits also leaves a batch in the buffer until enough commits have come, or somebody can't wait.
//!
//! A waiter for a position either enters the queue before the writer publishes that position, or sees the position
//! published: both happen under the mutex.

use super::entry::Entry;
use super::sync::{AtomicBool, AtomicU64, Condvar, Mutex, MutexGuard, yield_now};
use super::waiter::Waiter;
use super::{Lsn, frame};
use crate::error::{Error, Result};
use crate::log::LogCounts;
use crate::options::Durability;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// Bytes in the buffer that are written even if nobody waits for them.
const MUCH: usize = 1 << 20;
/// Largest number of commits that a log gathers before it writes.
const ENOUGH_MAX: usize = 64;
/// Number of writes without a hurry after which a log gathers one commit more.
const CALM: usize = 64;
/// Maximum capacity that a buffer keeps after its batch was written, in bytes. A batch of [`MUCH`] bytes ends with a record
/// that exceeds it, so its buffer has grown to twice that.
const KEPT: usize = 2 * MUCH;
/// Bytes in the buffer above which new transactions wait.
const FULL: usize = 256 << 20;
/// Time for which a log without syncs lets its buffer fill.
const SOON: Duration = Duration::from_millis(5);
/// Time after which a batch that found no space is written again, if nobody asks for it before.
const RETRY_EVERY: Duration = Duration::from_secs(1);

/// Events that wake the log writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sleep {
    Awake,
    /// Sleeps until there is work. If records become durable by a time, without being asked for, an append is work.
    UntilWork,
    /// Sleeps until a time, at the latest. An append does not wake it.
    UntilTime,
}

#[derive(Debug)]
struct State {
    /// Batches that are complete, before the one that collects, with their positions: large records, and those before.
    closed: VecDeque<(u64, Vec<u8>)>,
    /// The batch that collects: space for its header, then records. Empty if there are no records.
    buffer: Vec<u8>,
    /// End of the log when it was opened.
    opened: u64,
    /// Position after the buffer.
    end: u64,
    written: u64,
    durable: u64,
    /// The largest position that must become durable without delay.
    wanted: u64,
    gathering: Gathering,
    /// Position after the last batch that the writer has taken.
    taken: u64,
    /// Waiters, the smallest position first.
    waiting: VecDeque<Waiting>,
    sleep: Sleep,
    counts: LogCounts,
    /// Deadline for writing the log up to its end. With relaxed durability or gathered commits, it is synced by then too.
    due: Option<Instant>,
    /// True if somebody waits for the buffer to shrink.
    crowded: bool,
    /// The reason why the writer's batch could not be written, while it waits for space on the disk.
    full: Option<Arc<str>>,
    /// Number of attempts to write a batch again that have begun.
    attempts: u64,
    /// Number of these attempts that have found no space. The first attempt of all does not count.
    refused: u64,
    /// True if somebody asks for another attempt.
    retry: bool,
    closing: bool,
    /// True if a closing log must still write its mark: an empty batch whose header says that all before it is durable.
    unmarked: bool,
    failed: Option<Arc<str>>,
}

/// Counts and times by which a log that gathers commits decides when it writes.
#[derive(Debug)]
struct Gathering {
    /// Number of waiters for positions that the writer has not taken yet.
    count: usize,
    /// The count with which a write begins.
    enough: usize,
    /// Number of writes that began with enough waiters, since `enough` has changed.
    calm: usize,
    /// Time at which the writer was woken or took its last step.
    stepped: Instant,
    /// Mean time of a write with its sync. Older ones weigh less.
    usual: Duration,
}

impl Gathering {
    fn new() -> Self {
        Self { count: 0, enough: ENOUGH_MAX, calm: 0, stepped: Instant::now(), usual: Duration::ZERO }
    }

    /// Notes that the writer takes a batch. `left` is the number of waiters for later positions.
    fn take(&mut self, left: usize) {
        if self.count >= self.enough {
            // As long as nobody is in a hurry, more may come before a write.
            self.calm += 1;
            if self.calm >= CALM {
                self.calm = 0;
                self.enough = (self.enough + 1).min(ENOUGH_MAX);
            }
        }
        self.count = left;
        self.stepped = Instant::now();
    }

    /// Notes that the writer has written and synced a batch.
    fn finish(&mut self) {
        let now = Instant::now();
        self.usual = (self.usual * 7 + (now - self.stepped)) / 8;
        self.stepped = now;
    }

    /// Notes that somebody can't wait any more while `waiting` commits were gathered and none was being written.
    fn gathered_too_long(&mut self, waiting: usize) {
        // The one half can be written while the other is gathered.
        self.enough = (waiting / 2).clamp(1, ENOUGH_MAX);
        self.calm = 0;
    }

    /// Returns true if the writer, which is not asleep, takes much longer for its step than usual.
    fn is_late(&self) -> bool {
        self.count >= self.enough && self.stepped.elapsed() > 2 * self.usual
    }
}

#[derive(Debug)]
struct Waiting {
    lsn: u64,
    waiter: Arc<Waiter>,
    /// The attempt to write again with which the waiter gives up if it finds no space; none if it never gives up.
    patience: Option<u64>,
}

/// The writer's next step.
#[derive(Debug)]
pub(super) struct Work {
    /// A batch with an empty header; no bytes if there is only something to sync.
    pub(super) batch: Vec<u8>,
    /// Position of the batch.
    pub(super) start: u64,
    /// Position after the batch.
    pub(super) end: u64,
    /// Durable LSN when the batch was taken.
    pub(super) durable: u64,
    pub(super) sync: bool,
}

#[derive(Debug)]
pub(super) struct Pipeline {
    state: Mutex<State>,
    /// Wakes the writer.
    work: Condvar,
    /// Wakes the threads that wait for the buffer to shrink, or for an attempt to write again.
    room: Condvar,
    /// Copies of the state's fields, for reading without the lock.
    end: AtomicU64,
    durable: AtomicU64,
    has_failed: AtomicBool,
    durability: Durability,
    /// See [`Policy::gather`](super::Policy::gather).
    gather: Option<Duration>,
}

/// Occupation of a waiter until it is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meanwhile {
    /// None: a thread or task can't go on. It waits for space if the disk is full.
    Nothing,
    /// None: a thread or task can't go on. If the disk is full, it asks for an attempt to write, and is released with its
    /// failure.
    NothingForLong,
    /// Other work: a callback tells the thread.
    Work,
}

impl Pipeline {
    /// Makes the core of a log that is durable up to its end, `end`.
    pub(super) fn new(end: Lsn, durability: Durability, gather: Option<Duration>) -> Self {
        Self {
            state: Mutex::new(State {
                closed: VecDeque::new(),
                buffer: Vec::new(),
                opened: end.0,
                end: end.0,
                written: end.0,
                durable: end.0,
                wanted: 0,
                gathering: Gathering::new(),
                taken: end.0,
                waiting: VecDeque::new(),
                sleep: Sleep::Awake,
                counts: LogCounts::default(),
                due: None,
                crowded: false,
                full: None,
                attempts: 0,
                refused: 0,
                retry: false,
                closing: false,
                unmarked: false,
                failed: None,
            }),
            work: Condvar::new(),
            room: Condvar::new(),
            end: AtomicU64::new(end.0),
            durable: AtomicU64::new(end.0),
            has_failed: AtomicBool::new(false),
            durability,
            gather,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while holding this lock, except for lack of memory, which ends the process.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn end(&self) -> Lsn {
        Lsn(self.end.load(Ordering::Acquire))
    }

    pub(super) fn durable(&self) -> Lsn {
        Lsn(self.durable.load(Ordering::Acquire))
    }

    /// Returns true if commits wait until they are durable.
    pub(super) fn is_awaited(&self) -> bool {
        self.durability == Durability::Full
    }

    /// Returns the reason why the log rejects records, if it failed.
    pub(super) fn failure(&self) -> Option<Arc<str>> {
        // Tickets ask often, and the lock is the one of every commit.
        if self.has_failed.load(Ordering::Acquire) { self.lock().failed.clone() } else { None }
    }

    /// Returns the reason why the log waits for space on the disk, if it does.
    pub(super) fn full(&self) -> Option<Arc<str>> {
        self.lock().full.clone()
    }

    /// Appends a record. A full disk is no reason to reject it: the caller came while there was space, or before a write
    /// had found none ([`Pipeline::wait_for_room`]).
    pub(super) fn append<'a>(&self, entry: impl Into<Entry<'a>>) -> Result<Lsn> {
        let entry = entry.into();
        // The checksum is computed before the lock is taken.
        let header = entry.header()?;
        let mut state = self.lock();
        state.check_open()?;
        Ok(self.push(&mut state, header, entry))
    }

    /// Appends to two different pipelines, with nothing in between in either.
    pub(super) fn append_both(first: (&Self, Entry<'_>), second: (&Self, Entry<'_>)) -> Result<(Lsn, Lsn)> {
        let headers = (first.1.header()?, second.1.header()?);
        // The two locks are always taken in the order of their addresses, so there is no deadlock.
        let (mut one, mut two);
        if std::ptr::from_ref(first.0) < std::ptr::from_ref(second.0) {
            one = first.0.lock();
            two = second.0.lock();
        } else {
            two = second.0.lock();
            one = first.0.lock();
        }
        one.check_open()?;
        two.check_open()?;
        Ok((first.0.push(&mut one, headers.0, first.1), second.0.push(&mut two, headers.1, second.1)))
    }

    /// Returns the ends of two logs at one moment: no pair of records of [`Pipeline::append_both`] has one before them
    /// and one behind.
    pub(super) fn ends_of_both(first: &Self, second: &Self) -> (Lsn, Lsn) {
        let (one, two);
        if std::ptr::from_ref(first) < std::ptr::from_ref(second) {
            one = first.lock();
            two = second.lock();
        } else {
            two = second.lock();
            one = first.lock();
        }
        (Lsn(one.end), Lsn(two.end))
    }

    fn push(&self, state: &mut State, header: [u8; frame::RECORD_HEADER], entry: Entry<'_>) -> Lsn {
        let before = state.unwritten();
        match entry {
            Entry::Copied(payload) => {
                if state.buffer.is_empty() {
                    state.buffer.resize(frame::BATCH_HEADER, 0);
                }
                state.buffer.extend_from_slice(&header);
                state.buffer.extend_from_slice(payload);
            }
            Entry::Moved(large) => {
                if !state.buffer.is_empty() {
                    let start = state.end - state.buffer.len() as u64;
                    let collected = std::mem::take(&mut state.buffer);
                    state.closed.push_back((start, collected));
                }
                state.closed.push_back((state.end, large.into_batch(header)));
            }
        }
        let now = state.unwritten();
        state.end += (now - before) as u64;
        self.end.store(state.end, Ordering::Release);
        let timed = (!self.is_awaited() || self.gather.is_some()) && state.sleep == Sleep::UntilWork;
        if timed || (before < MUCH && now >= MUCH) {
            self.wake(state);
        }
        Lsn(state.end)
    }

    fn wake(&self, state: &mut State) {
        if state.sleep != Sleep::Awake {
            state.sleep = Sleep::Awake;
            state.gathering.stepped = Instant::now();
            self.work.notify_one();
        }
    }

    /// Returns true if the log gathers commits.
    pub(super) fn gathers(&self) -> bool {
        self.gather.is_some()
    }

    /// Asks a log that gathers commits to write them now. See [`Database::hurry`](crate::Database::hurry).
    pub(super) fn hurry(&self) {
        if !self.gathers() || self.durable() == self.end() {
            return;
        }
        let mut state = self.lock();
        let waiting = state.waiting.len();
        // A writer that waits for space on the disk sleeps for another reason.
        if waiting > 0 && state.sleep != Sleep::Awake && state.full.is_none() {
            state.gathering.gathered_too_long(waiting);
        }
        let end = state.end;
        self.want(&mut state, end);
    }

    fn want(&self, state: &mut State, lsn: u64) {
        if lsn > state.wanted {
            state.wanted = lsn;
            self.wake(state);
        }
    }

    /// Notifies `waiter` when the log is durable up to `lsn`. Wakes the writer, unless the commit can be gathered. May
    /// yield the processor to the writer.
    pub(super) fn enqueue(&self, lsn: Lsn, waiter: &Arc<Waiter>, meanwhile: Meanwhile) {
        if self.durable() >= lsn {
            return waiter.arrive();
        }
        let mut state = self.lock();
        // A position after the end would never become durable, so the end counts.
        let lsn = lsn.0.min(state.end);
        if state.durable >= lsn {
            drop(state);
            return waiter.arrive();
        }
        if let Some(cause) = state.failed.clone() {
            drop(state);
            return waiter.finish(Err(cause));
        }
        // The place is nearly always the end: most later appenders also come here later.
        let place = match state.waiting.back() {
            Some(last) if last.lsn > lsn => state.waiting.partition_point(|other| other.lsn <= lsn),
            _ => state.waiting.len(),
        };
        // An attempt that has begun already may have found the disk full before the caller made space.
        let patience = (meanwhile == Meanwhile::NothingForLong).then_some(state.attempts + 1);
        state.waiting.insert(place, Waiting { lsn, waiter: waiter.clone(), patience });
        if patience.is_some() && state.full.is_some() {
            self.ask_to_retry(&mut state);
        }
        state.gathering.count += usize::from(lsn > state.taken);
        let gathers = self.gathers() && meanwhile == Meanwhile::Work;
        // It may wait for this processor: the system's scheduler lets it wait for milliseconds.
        let yields = gathers && state.sleep == Sleep::Awake && state.gathering.is_late();
        if !gathers || state.gathering.count >= state.gathering.enough {
            self.want(&mut state, lsn);
        }
        drop(state);
        if yields {
            yield_now();
        }
    }

    /// Waits while the buffer is too large. If the disk is full, waits for one attempt to write. Callers must not hold
    /// locks. `may_wait` is asked before a wait.
    pub(super) fn wait_for_room(&self, may_wait: impl Fn() -> Result<()>) -> Result<()> {
        let mut state = self.lock();
        // An attempt that has begun already may have found the disk full before the caller made space.
        let patience = state.attempts + 1;
        loop {
            if state.full.is_none() || state.refused >= patience {
                state.check()?;
                if state.unwritten() < FULL {
                    return Ok(());
                }
                state.crowded = true;
            } else {
                state.check_open()?;
                if state.attempts < patience {
                    self.ask_to_retry(&mut state);
                }
            }
            may_wait()?;
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn ask_to_retry(&self, state: &mut State) {
        state.retry = true;
        self.wake(state);
    }

    /// Waits until the writer should write its batch again, which has found no space. Returns false if it must give up,
    /// because the log is being closed or has failed. Only the writer calls this.
    pub(super) fn wait_for_space(&self, cause: &Arc<str>) -> bool {
        let mut state = self.lock();
        state.full = Some(cause.clone());
        state.refused = state.attempts;
        let attempts = state.attempts;
        let gives_up = |waiting: &Waiting| waiting.patience.is_some_and(|patience| patience <= attempts);
        let (released, waiting) =
            std::mem::take(&mut state.waiting).into_iter().partition::<Vec<_>, _>(gives_up);
        state.waiting = waiting.into();
        // Those who came before the first attempt failed ask for another one.
        state.retry |= state.waiting.iter().any(|waiting| waiting.patience.is_some());
        drop(state);
        self.room.notify_all();
        for waiting in released {
            waiting.waiter.finish(Err(cause.clone()));
        }
        let due = Instant::now() + RETRY_EVERY;
        let mut state = self.lock();
        loop {
            if state.failed.is_some() {
                return false;
            }
            let left = due.saturating_duration_since(Instant::now());
            if std::mem::take(&mut state.retry) || (left.is_zero() && !state.closing) {
                state.attempts += 1;
                return true;
            }
            // The attempt for which `close` asked has failed.
            if state.closing {
                return false;
            }
            state.sleep = Sleep::UntilTime;
            state = self.work.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            state.sleep = Sleep::Awake;
        }
    }

    /// Waits for the writer's next step. Returns none if there will be no more. `spare` is a buffer to reuse. Only the
    /// writer calls this.
    pub(super) fn next(&self, mut spare: Vec<u8>) -> Option<Work> {
        spare.clear();
        spare.shrink_to(KEPT);
        let mut state = self.lock();
        loop {
            if state.failed.is_some() {
                return None;
            }
            if state.closing && state.durable == state.end {
                if !state.unmarked {
                    return None;
                }
                // The mark: an empty batch whose header says that everything before it is durable. With it, later
                // damage to the last records is not taken for a torn tail.
                state.unmarked = false;
                state.buffer.resize(frame::BATCH_HEADER, 0);
                state.end += frame::BATCH_HEADER as u64;
                self.end.store(state.end, Ordering::Release);
            }
            if let Some(sync) = self.due(&mut state) {
                let (start, batch) = state.closed.pop_front().unwrap_or_else(|| {
                    let batch = std::mem::replace(&mut state.buffer, spare);
                    (state.end - batch.len() as u64, batch)
                });
                if std::mem::take(&mut state.crowded) {
                    self.room.notify_all();
                }
                let end = start + batch.len() as u64;
                state.took(end);
                return Some(Work { batch, start, end, durable: state.durable, sync });
            }
            state = match state.due {
                None => {
                    state.sleep = Sleep::UntilWork;
                    self.work.wait(state).unwrap_or_else(PoisonError::into_inner)
                }
                Some(due) => {
                    state.sleep = Sleep::UntilTime;
                    let left = due.saturating_duration_since(Instant::now());
                    self.work.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
            state.sleep = Sleep::Awake;
        }
    }

    /// Returns none if there is nothing to write now; otherwise true if the write must be synced.
    fn due(&self, state: &mut State) -> Option<bool> {
        if state.wanted > state.durable || (state.closing && state.durable < state.end) {
            return Some(true);
        }
        let much = state.unwritten() >= MUCH;
        let (late, after, sync) = match self.durability {
            Durability::Full => match self.gather {
                None => return much.then_some(true),
                Some(delay) => (state.durable, delay, true),
            },
            Durability::Relaxed(interval) => (state.durable, interval, true),
            Durability::None => (state.written, SOON, false),
        };
        if late == state.end {
            return None;
        }
        let now = Instant::now();
        let due = *state.due.get_or_insert_with(|| now + after);
        if due <= now && sync {
            // All of it, not only the first batch.
            state.wanted = state.end;
        }
        if due <= now { Some(sync) } else { much.then_some(self.is_awaited()) }
    }

    /// Returns true if there is something to write now.
    #[cfg(test)]
    #[allow(dead_code, reason = "the model's copy of this file is not asked")]
    pub(super) fn is_due(&self) -> bool {
        self.due(&mut self.lock()).is_some()
    }

    /// Returns true if the writer sleeps, or is about to.
    #[cfg(test)]
    #[allow(dead_code, reason = "only the model's copy of this file is asked")]
    pub(super) fn rests(&self) -> bool {
        self.lock().sleep != Sleep::Awake
    }

    /// Returns the work of the writer since the log was opened.
    pub(super) fn counts(&self) -> LogCounts {
        self.lock().counts
    }

    /// Publishes that `work` is done, and releases the waiters. Only the writer calls this.
    pub(super) fn finished(&self, work: &Work) {
        let mut state = self.lock();
        state.counts.bytes += work.batch.len() as u64;
        state.counts.batches += u64::from(!work.batch.is_empty());
        state.counts.syncs += u64::from(work.sync);
        state.written = work.end;
        state.gathering.finish();
        if state.full.take().is_some() {
            state.retry = false;
            self.room.notify_all();
        }
        if work.sync || self.durability == Durability::None {
            state.due = None;
        }
        if !work.sync {
            return;
        }
        state.durable = work.end;
        self.durable.store(work.end, Ordering::Release);
        let released = state.waiting.partition_point(|waiting| waiting.lsn <= work.end);
        let released: Vec<_> = state.waiting.drain(..released).collect();
        drop(state);
        for waiting in released {
            waiting.waiter.arrive();
        }
    }

    /// Poisons the log, because nothing can become durable any more, and releases all waiters with the cause.
    pub(super) fn fail(&self, cause: &Arc<str>) {
        let mut state = self.lock();
        state.failed.get_or_insert_with(|| cause.clone());
        self.has_failed.store(true, Ordering::Release);
        state.full = None;
        state.buffer = Vec::new();
        state.closed = VecDeque::new();
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        self.room.notify_all();
        for waiting in waiting {
            waiting.waiter.finish(Err(cause.clone()));
        }
    }

    /// Rejects further records. The writer writes the remaining bytes and ends.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        if !state.closing {
            state.closing = true;
            // Without a write since the log was opened, no mark is needed.
            state.unmarked = state.end > state.opened;
            // A batch that has found no space is tried once more.
            state.retry = state.full.is_some();
            self.wake(&mut state);
        }
        drop(state);
        self.room.notify_all();
    }
}

impl State {
    /// Notes that the writer takes a batch that ends at `end`.
    fn took(&mut self, end: u64) {
        self.taken = end;
        let left = self.waiting.len() - self.waiting.partition_point(|waiting| waiting.lsn <= end);
        self.gathering.take(left);
    }

    /// Returns the bytes of the batches that the writer has not taken.
    fn unwritten(&self) -> usize {
        self.buffer.len() + self.closed.iter().map(|(_, batch)| batch.len()).sum::<usize>()
    }

    /// Returns an error if records can't be appended.
    fn check(&self) -> Result<()> {
        self.check_open()?;
        self.full.as_ref().map_or(Ok(()), |cause| Err(Error::DiskFull(cause.to_string())))
    }

    /// Returns an error if no record can be appended any more.
    fn check_open(&self) -> Result<()> {
        match &self.failed {
            Some(cause) => Err(Error::Poisoned(cause.to_string())),
            None if self.closing => Err(Error::Usage("the database is closed: open it again".to_owned())),
            None => Ok(()),
        }
    }
}
