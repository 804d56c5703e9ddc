//! The limit of background writing: a bucket of bytes that flushes, merges and checkpoints share.
//!
//! Work counts its bytes in pieces and pauses after a piece for which the bucket has nothing left. In two cases it does
//! not pause, because the limit *gives way*: somebody waits for such work to end, or commits would soon have to wait for
//! it. Bytes that are written meanwhile do not count against the limit, so nobody pauses longer afterwards.
//!
//! Work that pauses holds locks, such as the one that lets only one flush run. So whoever may wait for such a lock
//! calls [`Limit::give_way`]. Commits wait for none of them.

use parking_lot::{Condvar, Mutex};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Bytes that a flush or merge writes between two looks at the bucket.
const PIECE_BYTES: u64 = 256 << 10;
/// Time without writing that gives credit for later. It makes up for pauses that take longer than they should.
const MOST_CREDIT: Duration = Duration::from_millis(100);
/// Longest sleep without a [`Look`].
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A kind of background work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Writing memtables of the disk engine to files.
    Flush,
    /// Merging files of the disk engine.
    Merge,
    /// Writing the rows of the memory engine.
    Checkpoint,
}

/// Writing in the background under
/// [`Options::background_bytes_per_second`](crate::Options::background_bytes_per_second). All numbers stay 0 without
/// that limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackgroundState {
    /// Bytes of rows that flushes wrote, before compression.
    pub flush_bytes: u64,
    /// Bytes of rows that merges wrote, before compression.
    pub merge_bytes: u64,
    /// Bytes of rows that checkpoints wrote.
    pub checkpoint_bytes: u64,
    /// Bytes of these for which the limit gave way.
    pub unlimited_bytes: u64,
    /// Time that flushes, merges and checkpoints have paused, added up.
    pub paused: Duration,
}

/// The bytes that may be written. It knows no clock: each call gets the time since its beginning.
#[derive(Debug)]
struct Bucket {
    bytes_per_second: NonZeroU64,
    /// The time at which everything taken so far is paid for.
    paid_at: Duration,
}

impl Bucket {
    fn new(bytes_per_second: NonZeroU64) -> Self {
        Self { bytes_per_second, paid_at: Duration::ZERO }
    }

    fn time_of(&self, bytes: u64) -> Duration {
        let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(self.bytes_per_second.get());
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Takes bytes, and returns the time from which on they are paid for.
    fn take(&mut self, bytes: u64, now: Duration) -> Duration {
        let from = self.paid_at.max(now.saturating_sub(MOST_CREDIT));
        self.paid_at = from.saturating_add(self.time_of(bytes));
        self.paid_at
    }

    /// Returns bytes that were taken, as far as their time has not come.
    fn put_back(&mut self, bytes: u64, due: Duration, now: Duration) {
        let unpaid = due.saturating_sub(now).min(self.time_of(bytes));
        self.paid_at = self.paid_at.saturating_sub(unpaid);
    }
}

/// Returns true if somebody who can't call [`Limit::give_way`] waits for the end of background work: another process.
type Look = Box<dyn Fn() -> bool + Send + Sync>;

/// The limit. It does nothing if there is none.
pub(crate) struct Limit {
    begun: Instant,
    bucket: Option<Mutex<Bucket>>,
    /// Signals that the limit may give way.
    changed: Condvar,
    /// Number of those who wait for the end of background work.
    waiting: AtomicUsize,
    /// For each kind of work: true if commits would soon have to wait for it.
    urgent: [AtomicBool; 3],
    bytes: [AtomicU64; 3],
    unlimited_bytes: AtomicU64,
    paused_nanos: AtomicU64,
    look: OnceLock<Look>,
    /// Time of the last look, in nanoseconds since the beginning.
    looked_at: AtomicU64,
    /// Result of the last look.
    is_awaited: AtomicBool,
}

/// A panic leaves the limit as good as before: each field is changed in one step.
impl std::panic::RefUnwindSafe for Limit {}

impl std::fmt::Debug for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Limit").field("bucket", &self.bucket).finish_non_exhaustive()
    }
}

impl Limit {
    /// Makes a limit, or one that does nothing.
    pub(crate) fn new(bytes_per_second: Option<u64>) -> Self {
        Self {
            begun: Instant::now(),
            bucket: bytes_per_second.and_then(NonZeroU64::new).map(|bytes| Mutex::new(Bucket::new(bytes))),
            changed: Condvar::new(),
            waiting: AtomicUsize::new(0),
            urgent: Default::default(),
            bytes: Default::default(),
            unlimited_bytes: AtomicU64::new(0),
            paused_nanos: AtomicU64::new(0),
            look: OnceLock::new(),
            looked_at: AtomicU64::new(0),
            is_awaited: AtomicBool::new(false),
        }
    }

    /// Returns true if there is a limit.
    pub(crate) fn is_set(&self) -> bool {
        self.bucket.is_some()
    }

    /// Sets the look that paced work takes again and again, with locks of background work held. Only the first call
    /// counts.
    pub(crate) fn look_with(&self, look: impl Fn() -> bool + Send + Sync + 'static) {
        let _ = self.look.set(Box::new(look));
    }

    /// Makes the limit give way until the result is dropped: for a caller that waits for background work, or does it.
    pub(crate) fn give_way(&self) -> GivingWay<'_> {
        self.give_way_for_good();
        GivingWay(self)
    }

    /// Makes the limit give way from now on, because the database is being closed.
    pub(crate) fn give_way_for_good(&self) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        self.changed.notify_all();
    }

    /// Notes if commits would soon have to wait for a kind of work. Then the limit gives way to it.
    pub(crate) fn note(&self, work: Work, is_urgent: bool) {
        if self.is_set() && self.urgent[work as usize].swap(is_urgent, Ordering::SeqCst) != is_urgent {
            self.changed.notify_all();
        }
    }

    fn gives_way(&self, work: Work) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
            || self.is_awaited.load(Ordering::SeqCst)
            || self.urgent[work as usize].load(Ordering::SeqCst)
    }

    /// Returns true if the limit gives way to a kind of work, so that commits need not wait for it.
    #[cfg(test)]
    pub(crate) fn is_urgent(&self, work: Work) -> bool {
        self.urgent[work as usize].load(Ordering::SeqCst)
    }

    /// Takes a look, unless somebody has just taken one. Returns the time since the beginning.
    fn look(&self) -> Duration {
        let now = self.begun.elapsed();
        if let Some(look) = self.look.get() {
            let last = self.looked_at.load(Ordering::Relaxed);
            let nanos = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
            if nanos.saturating_sub(last) >= LOOK_EVERY.as_nanos() as u64
                && self.looked_at.compare_exchange(last, nanos, Ordering::Relaxed, Ordering::Relaxed).is_ok()
            {
                self.is_awaited.store(look(), Ordering::SeqCst);
            }
        }
        now
    }

    /// Counts bytes that were written, and pauses until they are paid for or the limit gives way.
    pub(crate) fn pace(&self, work: Work, bytes: u64) {
        let Some(bucket) = &self.bucket else { return };
        self.bytes[work as usize].fetch_add(bytes, Ordering::Relaxed);
        let begun = self.look();
        if self.gives_way(work) {
            self.unlimited_bytes.fetch_add(bytes, Ordering::Relaxed);
            return;
        }
        let due = bucket.lock().take(bytes, begun);
        let mut now = begun;
        while now < due {
            self.changed.wait_for(&mut bucket.lock(), (due - now).min(LOOK_EVERY));
            now = self.look();
            // A signal that comes just before the wait costs no more than the time between two looks.
            if self.gives_way(work) {
                bucket.lock().put_back(bytes, due, now);
                self.unlimited_bytes.fetch_add(bytes, Ordering::Relaxed);
                break;
            }
        }
        let paused = u64::try_from((now - begun).as_nanos()).unwrap_or(u64::MAX);
        self.paused_nanos.fetch_add(paused, Ordering::Relaxed);
    }

    /// Returns a counter for the bytes of one piece of work, if there is a limit.
    pub(crate) fn pacer(self: &Arc<Self>, work: Work) -> Option<Pacer> {
        self.is_set().then(|| Pacer { limit: Arc::clone(self), work, bytes: 0 })
    }

    /// Returns the counters.
    pub(crate) fn state(&self) -> BackgroundState {
        let [flush_bytes, merge_bytes, checkpoint_bytes] =
            self.bytes.each_ref().map(|bytes| bytes.load(Ordering::Relaxed));
        BackgroundState {
            flush_bytes,
            merge_bytes,
            checkpoint_bytes,
            unlimited_bytes: self.unlimited_bytes.load(Ordering::Relaxed),
            paused: Duration::from_nanos(self.paused_nanos.load(Ordering::Relaxed)),
        }
    }
}

/// Makes a limit give way until it is dropped.
pub(crate) struct GivingWay<'a>(&'a Limit);

impl Drop for GivingWay<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Counts the bytes of a flush or a merge, and pauses after each piece.
pub(crate) struct Pacer {
    limit: Arc<Limit>,
    work: Work,
    /// Bytes since the last pause.
    bytes: u64,
}

impl Pacer {
    /// Counts bytes that are about to be written.
    pub(crate) fn count(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        if self.bytes >= PIECE_BYTES {
            self.limit.pace(self.work, std::mem::take(&mut self.bytes));
        }
    }
}

impl Drop for Pacer {
    fn drop(&mut self) {
        if self.bytes > 0 && !std::thread::panicking() {
            self.limit.pace(self.work, self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::wait_until;
    use std::sync::mpsc;

    const MIB: u64 = 1 << 20;

    fn bucket(bytes_per_second: u64) -> Bucket {
        Bucket::new(NonZeroU64::new(bytes_per_second).unwrap())
    }

    fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn work_that_shares_a_bucket_writes_at_its_rate() {
        let mut bucket = bucket(1000);
        // Two threads take turns. Each of them sleeps until its bytes are paid for.
        let (mut clocks, mut last) = ([at(1000); 2], at(0));
        for turn in 0..100 {
            let now = clocks[turn % 2];
            last = bucket.take(50, now);
            clocks[turn % 2] = last.max(now);
        }
        // 5000 bytes take five seconds, less the credit of a tenth of a second at the beginning.
        assert_eq!(last, at(1000 + 5000 - 100));
    }

    #[test]
    fn time_without_writing_gives_credit_for_a_tenth_of_a_second() {
        let mut bucket = bucket(MIB);
        assert_eq!(bucket.take(MIB, at(0)), at(1000));
        assert_eq!(bucket.take(MIB, at(10_000)), at(10_900));
        assert_eq!(bucket.take(0, at(10_000)), at(10_900));
    }

    #[test]
    fn bytes_that_the_limit_gave_way_to_delay_nobody() {
        let mut bucket = bucket(1000);
        let due = bucket.take(1000, at(1000));
        assert_eq!(due, at(1900));
        bucket.put_back(1000, due, at(1500));
        // What was waited for stays paid: 600 bytes with the credit.
        assert_eq!(bucket.take(0, at(1500)), at(1500));
        let due = bucket.take(10, at(1500));
        bucket.put_back(10, due, at(100));
        assert_eq!(bucket.take(0, at(1500)), at(1500), "no more than was taken comes back");
    }

    #[test]
    fn the_largest_numbers_do_not_overflow() {
        let mut bucket = bucket(1);
        let due = bucket.take(u64::MAX, Duration::MAX);
        assert_eq!(due, Duration::MAX);
        bucket.put_back(u64::MAX, due, at(0));
        bucket.take(u64::MAX, at(0));
    }

    /// Returns true if pacing a gibibyte at a byte per second ends after `step`, whose result lives as long. Before, it
    /// pauses.
    fn ends_after<'l, T>(limit: &'l Arc<Limit>, step: impl FnOnce(&'l Limit) -> T) -> bool {
        let (ended, ending) = mpsc::channel();
        let paced = Arc::clone(limit);
        std::thread::spawn(move || {
            paced.pace(Work::Merge, 1 << 30);
            let _ = ended.send(());
        });
        let paid_at = || limit.bucket.as_ref().unwrap().lock().paid_at;
        wait_until(paid_at, |at| *at > Duration::ZERO, |_| "nothing is paced".into());
        assert!(ending.recv_timeout(at(100)).is_err(), "it did not pause");
        let _kept = step(limit);
        ending.recv_timeout(Duration::from_secs(60)).is_ok()
    }

    #[test]
    fn a_pause_ends_when_the_limit_gives_way() {
        let new = || Arc::new(Limit::new(Some(1)));
        assert!(ends_after(&new(), |limit| limit.note(Work::Merge, true)));
        assert!(ends_after(&new(), Limit::give_way_for_good));
        let looked = new();
        looked.look_with(|| true);
        looked.looked_at.store(u64::MAX, Ordering::Relaxed);
        assert!(ends_after(&looked, |limit| limit.looked_at.store(0, Ordering::Relaxed)));

        let limit = new();
        limit.note(Work::Flush, true);
        limit.note(Work::Checkpoint, true);
        assert!(ends_after(&limit, Limit::give_way));
        // Neither what is urgent for others nor what has ended counts.
        assert!(!limit.gives_way(Work::Merge));
        let state = limit.state();
        assert_eq!((state.merge_bytes, state.unlimited_bytes), (1 << 30, 1 << 30));
        assert!(state.paused > Duration::ZERO, "{state:?}");
    }

    #[test]
    fn a_pacer_counts_all_bytes_and_nothing_is_counted_without_a_limit() {
        let limit = Arc::new(Limit::new(Some(u64::MAX)));
        let mut pacer = limit.pacer(Work::Flush).unwrap();
        (0..1000).for_each(|_| pacer.count(1000));
        assert!(limit.state().flush_bytes > 0, "nothing is paced before the end");
        drop(pacer);
        assert_eq!(limit.state().flush_bytes, 1_000_000);
        let none = Arc::new(Limit::new(None));
        assert!(none.pacer(Work::Flush).is_none());
        none.pace(Work::Checkpoint, u64::MAX);
        assert_eq!(none.state(), BackgroundState::default());
    }
}
