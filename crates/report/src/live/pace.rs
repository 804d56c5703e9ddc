//! The recent speed of a counter, and the time until it is done at that pace.

use std::collections::VecDeque;
use std::time::Duration;

/// Length of the time that the pace covers: long enough to be calm, short enough to notice a change.
const WINDOW: Duration = Duration::from_secs(15);
/// Shortest time between two samples; closer ones replace each other, which bounds the memory.
const SPACING: Duration = Duration::from_millis(250);
/// Shortest span of samples that gives a time to go: connecting and first batches would falsify it.
const SPAN_KNOWN: Duration = Duration::from_secs(2);
/// Longest time to go that is shown (99 hours): a longer one only means that nothing moves.
const TIME_TO_GO_MAX_S: f64 = 99.0 * 3600.0;

/// Value of the counter at a time.
#[derive(Debug, Clone, Copy)]
struct Sample {
    at: Duration,
    count: u64,
}

/// The recent speed of one growing counter. It starts from the first sample, not from zero, so that work
/// found already done (a resumed load) does not count as speed.
#[derive(Debug, Default)]
pub(super) struct Pace {
    samples: VecDeque<Sample>,
}

impl Pace {
    /// Adds the value `count` of the counter at time `at`.
    pub(super) fn note(&mut self, at: Duration, count: u64) {
        // The last sample is provisional until it is SPACING away from the one before it.
        if let [.., before, _] = self.samples.make_contiguous()
            && at.saturating_sub(before.at) < SPACING
        {
            self.samples.pop_back();
        }
        self.samples.push_back(Sample { at, count });
        while self.samples.len() > 2 && at.saturating_sub(self.samples[1].at) >= WINDOW {
            self.samples.pop_front();
        }
    }

    /// Returns the counts per second over the window; none before two samples.
    pub(super) fn per_s(&self) -> Option<f64> {
        let (first, last) = (self.samples.front()?, self.samples.back()?);
        let span = last.at.saturating_sub(first.at);
        (!span.is_zero()).then(|| last.count.saturating_sub(first.count) as f64 / span.as_secs_f64())
    }

    /// Returns the time for the rest up to `total` at this pace; none while it is unknown.
    pub(super) fn time_to_go(&self, total: u64) -> Option<Duration> {
        let (first, last) = (self.samples.front()?, self.samples.back()?);
        if last.at.saturating_sub(first.at) < SPAN_KNOWN || last.count >= total {
            return None;
        }
        let s = (total - last.count) as f64 / self.per_s()?;
        (s <= TIME_TO_GO_MAX_S).then(|| Duration::from_secs_f64(s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn the_time_to_go_is_unknown_at_the_start_and_when_nothing_moves() {
        let mut pace = Pace::default();
        assert_eq!(pace.time_to_go(100), None);
        pace.note(at(0), 0);
        pace.note(at(1900), 10);
        assert_eq!(pace.time_to_go(100), None);
        let mut stuck = Pace::default();
        stuck.note(at(0), 5);
        stuck.note(at(9000), 5);
        assert_eq!(stuck.time_to_go(100), None);
    }

    #[test]
    fn the_time_to_go_follows_the_recent_pace() {
        let mut pace = Pace::default();
        for s in 0..=10 {
            pace.note(at(s * 1000), s * 10);
        }
        assert_eq!(pace.time_to_go(200), Some(Duration::from_secs(10)));
        for s in 11..=40 {
            pace.note(at(s * 1000), 100 + (s - 10) * 20);
        }
        assert_eq!(pace.per_s(), Some(20.0));
    }

    #[test]
    fn rows_found_already_loaded_are_no_speed() {
        let mut pace = Pace::default();
        pace.note(at(0), 1_000_000);
        pace.note(at(4000), 1_000_400);
        assert_eq!(pace.per_s(), Some(100.0));
    }

    #[test]
    fn frequent_samples_take_no_more_memory_than_the_window_needs() {
        let mut pace = Pace::default();
        for ms in 0..60_000 {
            pace.note(at(ms), ms);
        }
        assert!(pace.samples.len() < 70, "{}", pace.samples.len());
        assert!((pace.per_s().unwrap() - 1000.0).abs() < 1e-6);
    }

    #[test]
    fn a_clock_or_counter_that_runs_backwards_does_no_harm() {
        let mut pace = Pace::default();
        pace.note(at(5000), 50);
        pace.note(at(1000), 10);
        assert_eq!(pace.per_s(), None);
        assert_eq!(pace.time_to_go(100), None);
    }
}
