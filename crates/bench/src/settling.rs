//! The end of a warm-up that lasts until the throughput is steady.

use crate::clock::{Nanos, SECOND, Window};
use crate::measurement::Second;
use lydite_tpcc::steady::Trend;
use std::time::Duration;

/// Least number of seconds without a trend that end the warm-up.
pub const STEADY_SECONDS: usize = 30;
/// Drift in percent that counts as none, however exactly it is known.
const DRIFT_PERCENT: f64 = 2.0;
/// Most uncertainty of a drift in percent. With more of it a real trend would not show.
const MARGIN_PERCENT: f64 = 10.0;
/// Seconds between the decision and the start of the window: whoever waits for the start learns it before.
const AHEAD: usize = 2;

/// A warm-up whose end is not known yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settling {
    /// Least length of the warm-up.
    pub(crate) least: Duration,
}

/// Decision on the start of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// The throughput is steady; the window begins at this time.
    Steady(Nanos),
    /// It is not, and the longest warm-up is nearly over.
    Limit,
}

impl Settled {
    /// True if everybody can still learn the start of the window before it comes.
    pub(crate) fn is_ahead_of(self, now: Nanos) -> bool {
        match self {
            Self::Steady(start) => now + SECOND <= start,
            Self::Limit => true,
        }
    }
}

impl Settling {
    /// Decides after each second; none while the warm-up goes on. `seconds` are those of the warm-up that have ended.
    pub(crate) fn decide(self, window: &Window, seconds: &[Second]) -> Option<Settled> {
        let start = window.second_begins(seconds.len() + AHEAD);
        if start >= window.start() {
            return Some(Settled::Limit);
        }
        let long_enough = Duration::from_nanos(start) >= self.least;
        (long_enough && is_steady(seconds)).then_some(Settled::Steady(start))
    }
}

/// Returns true if the last half, and at least the last [`STEADY_SECONDS`], shows no trend: its drift is known well enough,
/// and small or explained by chance. The half grows with the warm-up, so noise prolongs it.
fn is_steady(seconds: &[Second]) -> bool {
    let length = STEADY_SECONDS.max(seconds.len() / 2);
    let Some(from) = seconds.len().checked_sub(length) else { return false };
    let completed = |second: &Second| second.completed.iter().sum();
    let counts: Vec<u64> = seconds[from..].iter().map(completed).collect();
    Trend::of(&counts).is_some_and(|trend| {
        trend.margin_percent <= MARGIN_PERCENT
            && trend.drift_percent.abs() <= trend.margin_percent.max(DRIFT_PERCENT)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Counting;

    fn seconds(counts: impl Iterator<Item = u64>) -> Vec<Second> {
        counts.map(|count| Second { completed: vec![count, 0], ..Second::new(2) }).collect()
    }

    fn decide(least_s: u64, counts: impl Iterator<Item = u64>) -> Option<Settled> {
        let limit = Duration::from_secs(120);
        let window = Window::new(limit, Duration::from_secs(10), Counting::DueAndAnswered);
        Settling { least: Duration::from_secs(least_s) }.decide(&window, &seconds(counts))
    }

    #[test]
    fn a_steady_throughput_ends_the_warm_up_once_it_is_long_enough() {
        let noise = |second: u64| 1_000 + second * second % 31;
        assert_eq!(decide(5, (0..29).map(noise)), None, "too few seconds");
        assert_eq!(decide(5, (0..30).map(noise)), Some(Settled::Steady(32 * SECOND)));
        assert_eq!(decide(60, (0..30).map(noise)), None, "the plan's warm-up is longer");
        assert_eq!(decide(60, (0..58).map(noise)), Some(Settled::Steady(60 * SECOND)));
    }

    #[test]
    fn a_rising_throughput_prolongs_the_warm_up_to_its_limit() {
        let rising = |second: u64| 1_000 + 5 * second + second % 3;
        assert_eq!(decide(5, (0..117).map(rising)), None);
        assert_eq!(decide(5, (0..118).map(rising)), Some(Settled::Limit));
        // It rose for 40 s only.
        assert_eq!(decide(5, (0..60).map(|second| rising(second.min(40)))), None);
        assert!(matches!(decide(5, (0..84).map(|second| rising(second.min(40)))), Some(Settled::Steady(_))));
        assert_eq!(decide(5, (0..60).map(|_| 0)), None, "nothing is no throughput");
    }

    #[test]
    fn a_start_that_is_less_than_a_second_away_is_not_taken() {
        assert!(Settled::Steady(32 * SECOND).is_ahead_of(31 * SECOND));
        assert!(!Settled::Steady(32 * SECOND).is_ahead_of(31 * SECOND + 1));
        assert!(Settled::Limit.is_ahead_of(700 * SECOND));
    }

    #[test]
    fn noise_prolongs_the_warm_up_until_a_trend_would_show() {
        let noisy = |second: u64| 1_000 + 300 * u64::from(second.is_multiple_of(3));
        assert_eq!(decide(5, (0..30).map(noisy)), None);
        assert!(matches!(decide(5, (0..110).map(noisy)), Some(Settled::Steady(_))));
    }
}
