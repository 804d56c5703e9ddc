//! The synchronisation core of a log: the buffer that appenders fill and the writer takes, and the queue of those who
//! wait for a position. It knows of no file, so that a model checker can run it (see `model.rs`).
//!
//! One mutex guards all of it. The writer takes the whole buffer, and while it writes and syncs the next batch collects:
//! this is all there is to group commit. Whoever waits for a position is in the queue before the writer can publish
//! that position, or sees it published: both happen under the mutex.

use super::sync::{AtomicU64, Condvar, Mutex, MutexGuard};
use super::waiter::Waiter;
use super::{Lsn, frame};
use crate::error::{Error, Result};
use crate::options::Durability;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// Bytes in the buffer that are written although nobody waits for them.
const MUCH: usize = 1 << 20;
/// Bytes in the buffer beyond which new transactions should wait.
const FULL: usize = 256 << 20;
/// How long a log that need not be durable lets its buffer fill.
const SOON: Duration = Duration::from_millis(5);

/// What the writer sleeps for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sleep {
    Awake,
    /// Until somebody wants something. Appending is enough where writing goes by time.
    UntilWork,
    /// Until a time; appending is nothing new.
    UntilTime,
}

#[derive(Debug)]
struct State {
    /// The batch that collects: room for its header, then records. Or empty.
    buffer: Vec<u8>,
    /// Where the log ended when it was opened.
    opened: u64,
    /// Position after the buffer.
    end: u64,
    written: u64,
    durable: u64,
    /// The largest position that somebody waits for.
    wanted: u64,
    /// Those who wait, smallest position first.
    waiting: VecDeque<(u64, Arc<Waiter>)>,
    sleep: Sleep,
    /// When what is in the buffer, or is not synced, is due.
    due: Option<Instant>,
    /// Somebody waits for the buffer to shrink.
    crowded: bool,
    closing: bool,
    /// Whether a closing log still has to get its mark.
    unmarked: bool,
    failed: Option<Arc<str>>,
}

/// What the writer is to do.
#[derive(Debug)]
pub(super) struct Work {
    /// A batch, its header to be filled in; empty when there is only something to sync.
    pub(super) batch: Vec<u8>,
    /// Position of the batch.
    pub(super) start: u64,
    /// Position after it.
    pub(super) end: u64,
    /// Up to where the log is durable.
    pub(super) durable: u64,
    pub(super) sync: bool,
}

#[derive(Debug)]
pub(super) struct Pipeline {
    state: Mutex<State>,
    /// For the writer alone.
    work: Condvar,
    /// For those who wait for the buffer to shrink.
    room: Condvar,
    /// Copies of the state's, to be read without the lock.
    end: AtomicU64,
    durable: AtomicU64,
    durability: Durability,
}

impl Pipeline {
    /// For a log that ends at `end`, durable.
    pub(super) fn new(end: Lsn, durability: Durability) -> Self {
        Self {
            state: Mutex::new(State {
                buffer: Vec::new(),
                opened: end.0,
                end: end.0,
                written: end.0,
                durable: end.0,
                wanted: 0,
                waiting: VecDeque::new(),
                sleep: Sleep::Awake,
                due: None,
                crowded: false,
                closing: false,
                unmarked: false,
                failed: None,
            }),
            work: Condvar::new(),
            room: Condvar::new(),
            end: AtomicU64::new(end.0),
            durable: AtomicU64::new(end.0),
            durability,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is held, but for a lack of memory, which ends the process.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn end(&self) -> Lsn {
        Lsn(self.end.load(Ordering::Acquire))
    }

    pub(super) fn durable(&self) -> Lsn {
        Lsn(self.durable.load(Ordering::Acquire))
    }

    /// Whether a commit is to wait until it is durable.
    pub(super) fn is_awaited(&self) -> bool {
        self.durability == Durability::Full
    }

    /// Why the log takes nothing more, if it failed.
    pub(super) fn failure(&self) -> Option<Arc<str>> {
        self.lock().failed.clone()
    }

    pub(super) fn append(&self, payload: &[u8]) -> Result<Lsn> {
        // The checksum is made before the lock is taken.
        let header = frame::record_header(payload)?;
        let mut state = self.lock();
        state.check()?;
        Ok(self.push(&mut state, header, payload))
    }

    /// Appends to two different pipelines, with nothing in between in either.
    pub(super) fn append_both(first: (&Self, &[u8]), second: (&Self, &[u8])) -> Result<(Lsn, Lsn)> {
        let headers = (frame::record_header(first.1)?, frame::record_header(second.1)?);
        // Always in the same order, whatever the order of the caller: no deadlock.
        let (mut one, mut two);
        if std::ptr::from_ref(first.0) < std::ptr::from_ref(second.0) {
            one = first.0.lock();
            two = second.0.lock();
        } else {
            two = second.0.lock();
            one = first.0.lock();
        }
        one.check()?;
        two.check()?;
        Ok((first.0.push(&mut one, headers.0, first.1), second.0.push(&mut two, headers.1, second.1)))
    }

    /// The ends of two logs at one moment: no record of [`Pipeline::append_both`] lies before one and behind the other.
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

    fn push(&self, state: &mut State, header: [u8; frame::RECORD_HEADER], payload: &[u8]) -> Lsn {
        let before = state.buffer.len();
        if before == 0 {
            state.buffer.resize(frame::BATCH_HEADER, 0);
        }
        state.buffer.extend_from_slice(&header);
        state.buffer.extend_from_slice(payload);
        state.end += (state.buffer.len() - before) as u64;
        self.end.store(state.end, Ordering::Release);
        let timed = !self.is_awaited() && state.sleep == Sleep::UntilWork;
        if timed || (before < MUCH && state.buffer.len() >= MUCH) {
            self.wake(state);
        }
        Lsn(state.end)
    }

    fn wake(&self, state: &mut State) {
        if state.sleep != Sleep::Awake {
            state.sleep = Sleep::Awake;
            self.work.notify_one();
        }
    }

    /// Has `waiter` told when the log is durable up to `lsn`, and sees to it that it will be.
    pub(super) fn enqueue(&self, lsn: Lsn, waiter: &Arc<Waiter>) {
        if self.durable() >= lsn {
            return waiter.arrive();
        }
        let mut state = self.lock();
        // Nothing behind the end can be waited for.
        let lsn = lsn.0.min(state.end);
        if state.durable >= lsn {
            drop(state);
            return waiter.arrive();
        }
        if let Some(cause) = state.failed.clone() {
            drop(state);
            return waiter.finish(Err(cause));
        }
        // Nearly always at the end: who appended later comes later, but for a few.
        let place = match state.waiting.back() {
            Some((last, _)) if *last > lsn => state.waiting.partition_point(|(other, _)| *other <= lsn),
            _ => state.waiting.len(),
        };
        state.waiting.insert(place, (lsn, waiter.clone()));
        if lsn > state.wanted {
            state.wanted = lsn;
            self.wake(&mut state);
        }
    }

    /// Waits while the buffer is much larger than it should be. Not for those who hold locks.
    pub(super) fn wait_for_room(&self) -> Result<()> {
        let mut state = self.lock();
        loop {
            state.check()?;
            if state.buffer.len() < FULL {
                return Ok(());
            }
            state.crowded = true;
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// For the writer: waits for something to do; none when there will be nothing more. `spare` is a buffer to be
    /// used again.
    pub(super) fn next(&self, mut spare: Vec<u8>) -> Option<Work> {
        spare.clear();
        spare.shrink_to(8 * MUCH);
        let mut state = self.lock();
        loop {
            if state.failed.is_some() {
                return None;
            }
            if state.closing && state.durable == state.end {
                if !state.unmarked {
                    return None;
                }
                // An empty batch that says that everything before it is durable: damage to what was written last
                // will not be taken for a torn tail.
                state.unmarked = false;
                state.buffer.resize(frame::BATCH_HEADER, 0);
                state.end += frame::BATCH_HEADER as u64;
                self.end.store(state.end, Ordering::Release);
            }
            if let Some(sync) = self.due(&mut state) {
                let batch = std::mem::replace(&mut state.buffer, spare);
                let start = state.end - batch.len() as u64;
                if std::mem::take(&mut state.crowded) {
                    self.room.notify_all();
                }
                return Some(Work { batch, start, end: state.end, durable: state.durable, sync });
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

    /// Whether there is something to write now, and if so whether to sync it.
    fn due(&self, state: &mut State) -> Option<bool> {
        if state.wanted > state.durable || (state.closing && state.durable < state.end) {
            return Some(true);
        }
        let much = state.buffer.len() >= MUCH;
        let (late, after, sync) = match self.durability {
            Durability::Full => return much.then_some(true),
            Durability::Relaxed(interval) => (state.durable, interval, true),
            Durability::None => (state.written, SOON, false),
        };
        if late == state.end {
            return None;
        }
        let now = Instant::now();
        let due = *state.due.get_or_insert_with(|| now + after);
        if due <= now { Some(sync) } else { much.then_some(false) }
    }

    /// For the writer: says that `work` is done.
    pub(super) fn finished(&self, work: &Work) {
        let mut state = self.lock();
        state.written = work.end;
        if work.sync || self.durability == Durability::None {
            state.due = None;
        }
        if !work.sync {
            return;
        }
        state.durable = work.end;
        self.durable.store(work.end, Ordering::Release);
        let released = state.waiting.partition_point(|(lsn, _)| *lsn <= work.end);
        let released: Vec<_> = state.waiting.drain(..released).collect();
        drop(state);
        for (_, waiter) in released {
            waiter.arrive();
        }
    }

    /// For the writer: nothing can be made durable any more.
    pub(super) fn fail(&self, cause: &Arc<str>) {
        let mut state = self.lock();
        state.failed.get_or_insert_with(|| cause.clone());
        state.buffer = Vec::new();
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        self.room.notify_all();
        for (_, waiter) in waiting {
            waiter.finish(Err(cause.clone()));
        }
    }

    /// Takes no more records; the writer writes what is there and ends.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        if !state.closing {
            state.closing = true;
            // Nothing to mark when nothing has been written since the log was opened.
            state.unmarked = state.end > state.opened;
            self.wake(&mut state);
        }
        drop(state);
        self.room.notify_all();
    }
}

impl State {
    /// Whether records can be appended.
    fn check(&self) -> Result<()> {
        match &self.failed {
            Some(cause) => Err(Error::Poisoned(cause.to_string())),
            None if self.closing => Err(Error::Usage("the database is closed: open it again".to_owned())),
            None => Ok(()),
        }
    }
}
