//! Time within a run: nanoseconds since its first transaction could be due, and the measured window.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// Nanoseconds since the run began.
pub(crate) type Nanos = u64;

/// Nanoseconds per second.
pub(crate) const SECOND: Nanos = 1_000_000_000;

/// Converts a duration to nanoseconds, at most 584 years.
pub(crate) fn nanos(duration: Duration) -> Nanos {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The clock of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin: Instant,
    wall: SystemTime,
}

impl Clock {
    /// Starts the clock of a run.
    pub(crate) fn start() -> Self {
        Self::begun_at(Instant::now())
    }

    /// Returns a clock that begins at an instant. It stands at zero before.
    pub(crate) fn begun_at(origin: Instant) -> Self {
        let ahead = origin.saturating_duration_since(Instant::now());
        Self { origin, wall: SystemTime::now() + ahead - origin.elapsed() }
    }

    pub(crate) fn now(&self) -> Nanos {
        nanos(self.origin.elapsed())
    }

    pub(crate) fn instant(&self, at: Nanos) -> Instant {
        self.origin + Duration::from_nanos(at)
    }

    /// Returns the time of day at `at`.
    pub(crate) fn wall(&self, at: Nanos) -> SystemTime {
        self.wall + Duration::from_nanos(at)
    }
}

/// Rule for the transactions that count in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counting {
    /// Transactions that were due and answered in it (clause 5.4.1).
    DueAndAnswered,
    /// Transactions that were answered in it, for an open loop. If the rate is more than the database can do, every
    /// answered transaction was due long before. It must count, with its whole waiting time.
    Answered,
}

/// The measured window, and the division of time into seconds around it.
#[derive(Debug)]
pub(crate) struct Window {
    counting: Counting,
    /// Start of the window. It moves at most once, see [`Window::begin_at`].
    start: AtomicU64,
    /// End of the window. It moves with the start, and to the present if the run is stopped early.
    end: AtomicU64,
    /// Difference between a whole second and the first second of the warm-up. It stays when the start moves.
    shift: Nanos,
}

impl Window {
    pub(crate) fn new(warmup: Duration, duration: Duration, counting: Counting) -> Self {
        let start = nanos(warmup);
        let end = start.saturating_add(nanos(duration));
        let shift = start.div_ceil(SECOND) * SECOND - start;
        Self { counting, start: AtomicU64::new(start), end: AtomicU64::new(end), shift }
    }

    pub(crate) fn start(&self) -> Nanos {
        self.start.load(Ordering::Relaxed)
    }

    /// Moves the window to an earlier start, at which a second begins. The start must lie ahead of now: what has
    /// happened until now stays before it.
    pub(crate) fn begin_at(&self, start: Nanos) {
        let earlier = self.start().saturating_sub(start);
        assert_eq!(earlier % SECOND, 0, "the seconds stay the same");
        self.end.fetch_sub(earlier, Ordering::Relaxed);
        self.start.fetch_sub(earlier, Ordering::Relaxed);
    }

    pub(crate) fn end(&self) -> Nanos {
        self.end.load(Ordering::Relaxed)
    }

    /// Ends the run at `now` if it would end later.
    pub(crate) fn cut(&self, now: Nanos) {
        self.end.fetch_min(now, Ordering::Relaxed);
    }

    /// True if the run is over at `now`.
    pub(crate) fn over(&self, now: Nanos) -> bool {
        now >= self.end()
    }

    /// True if a transaction counts.
    pub(crate) fn counts(&self, due: Nanos, answered: Nanos) -> bool {
        let since = match self.counting {
            Counting::DueAndAnswered => due,
            Counting::Answered => answered,
        };
        since >= self.start() && answered < self.end()
    }

    /// Returns the number of seconds of the warm-up. The first of them may be shorter.
    pub(crate) fn warmup_seconds(&self) -> usize {
        self.start().div_ceil(SECOND) as usize
    }

    /// Returns the number of the second that contains `at`. The window begins with a new second.
    pub(crate) fn second(&self, at: Nanos) -> usize {
        ((at + self.shift) / SECOND) as usize
    }

    /// Returns the beginning of the second `number`, or of the run if that is later.
    pub(crate) fn second_begins(&self, number: usize) -> Nanos {
        (number as u64 * SECOND).saturating_sub(self.shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_begins_with_a_second_even_after_a_crooked_warm_up() {
        let window =
            Window::new(Duration::from_millis(1_300), Duration::from_secs(2), Counting::DueAndAnswered);
        assert_eq!(window.warmup_seconds(), 2);
        assert_eq!(window.second(0), 0);
        assert_eq!(window.second(299_999_999), 0);
        assert_eq!(window.second(300_000_000), 1);
        assert_eq!(window.second(window.start() - 1), 1);
        assert_eq!(window.second(window.start()), 2);
        assert_eq!(window.second_begins(0), 0);
        assert_eq!(window.second_begins(2), window.start());
    }

    #[test]
    fn a_transaction_counts_only_if_it_was_due_and_answered_inside() {
        let window =
            Window::new(Duration::from_nanos(10), Duration::from_nanos(10), Counting::DueAndAnswered);
        assert!(window.counts(10, 19));
        assert!(!window.counts(9, 15));
        assert!(!window.counts(15, 20));
        window.cut(15);
        assert!(!window.counts(10, 15));
        window.cut(30);
        assert_eq!(window.end(), 15);
    }

    #[test]
    fn a_window_that_begins_earlier_keeps_its_length_and_its_seconds() {
        let window =
            Window::new(Duration::from_millis(60_300), Duration::from_secs(5), Counting::DueAndAnswered);
        let start = window.second_begins(10);
        let second = window.second(start);
        window.begin_at(start);
        assert_eq!((window.start(), window.end()), (9_300_000_000, 14_300_000_000));
        assert_eq!((window.second(start), window.warmup_seconds()), (second, 10));
        assert!(window.counts(start, start + 1));
        assert!(!window.counts(start - 1, start + 1));
    }
}
